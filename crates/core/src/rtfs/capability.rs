//! Capability files: one tool as RTFS text, and back.

use std::fmt::Write as _;

use super::form::{Form, ReadError, is_keyword, read};
use super::grammar::{type_of, type_of_text};
use super::text::{is_plain, of_entry, of_type, quoted};
use super::{Dialect, Type};

/// The key of the metadata that says how the shape of the result is known, and its one value.
const OUTPUT_SOURCE: &str = "output-schema-source";
const INFERRED: &str = "inferred";

/// What a capability file says of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capability {
    /// `mcp.<server>.<tool>`
    pub id: String,
    /// The version of the definition.
    pub version: String,
    /// What the tool does.
    pub description: String,
    /// The shape of its arguments.
    pub input: Type,
    /// The shape of its result, where that is known.
    pub output: Option<Type>,
    /// Whether that shape was seen in an answer rather than declared by the server.
    pub output_inferred: bool,
    /// Where its server is; `stdio:` and a command line for a child process.
    pub server_url: String,
    /// The tool's name as its server spells it.
    pub tool_name: String,
    /// Domains such as `github.issues`.
    pub domains: Vec<String>,
    /// Categories such as `crud.read`.
    pub categories: Vec<String>,
}

impl Capability {
    /// The text of the file: the same capability always gives the same bytes.
    pub fn to_text(&self, dialect: Dialect) -> String {
        let mut out = String::from("(capability ");
        if dialect == Dialect::Document && is_keyword(&self.id) {
            let _ = write!(out, ":{}", self.id);
        } else {
            out.push_str(&quoted(&self.id));
        }
        let _ = write!(out, "\n  :version {}", quoted(&self.version));
        let _ = write!(out, "\n  :description {}", quoted(&self.description));
        let _ = write!(out, "\n  :input-schema {}", laid_out(&self.input, dialect));
        if let Some(output) = &self.output {
            let _ = write!(out, "\n  :output-schema {}", laid_out(output, dialect));
        }
        let _ = write!(
            out,
            "\n  :provider {{:type :mcp\n             :server-url {}\n             :tool-name {}}}",
            quoted(&self.server_url),
            quoted(&self.tool_name)
        );
        let _ = write!(out, "\n  :domains {}", texts(&self.domains));
        let _ = write!(out, "\n  :categories {}", texts(&self.categories));
        let metadata = self.metadata(dialect);
        if !metadata.is_empty() {
            let _ = write!(out, "\n  :metadata {{{}}}", metadata.join(" "));
        }
        out.push_str(")\n");
        out
    }

    /// What has no place of its own: types with keys that cannot be keywords, whole, as text, and
    /// that the output was seen rather than declared.
    fn metadata(&self, dialect: Dialect) -> Vec<String> {
        let mut parts = Vec::new();
        if dialect == Dialect::Ccos {
            let whole = |of: &Type| quoted(&of_type(of, Dialect::Document));
            if !is_plain(&self.input) {
                parts.push(format!(":input-schema {}", whole(&self.input)));
            }
            if let Some(output) = self.output.as_ref().filter(|of| !is_plain(of)) {
                parts.push(format!(":output-schema {}", whole(output)));
            }
        }
        if self.output_inferred {
            parts.push(format!(":{OUTPUT_SOURCE} {}", quoted(INFERRED)));
        }
        parts
    }

    /// Reads the one capability of a file.
    pub fn parse(text: &str, dialect: Dialect) -> Result<Self, ReadError> {
        let wrong = |what: String| ReadError {
            line: 1,
            column: 1,
            what,
        };
        match read(text)?.as_slice() {
            [form] => Fields::of(form, dialect)
                .and_then(|fields| fields.capability(dialect))
                .map_err(wrong),
            forms => Err(wrong(format!(
                "one capability is wanted, {} forms are there",
                forms.len()
            ))),
        }
    }
}

/// Checks every form of a text: capabilities have an id and pairs of keys and values. Everything else
/// that is RTFS passes.
pub fn check(text: &str, dialect: Dialect) -> Result<usize, ReadError> {
    let forms = read(text)?;
    for form in &forms {
        check_form(form, dialect).map_err(|what| ReadError {
            line: 1,
            column: 1,
            what,
        })?;
    }
    Ok(forms.len())
}

fn check_form(form: &Form, dialect: Dialect) -> Result<(), String> {
    let Form::List(items) = form else {
        return Ok(());
    };
    if items.first() == Some(&Form::Symbol("capability".to_owned())) {
        return Fields::of(form, dialect).map(drop);
    }
    items.iter().try_for_each(|item| check_form(item, dialect))
}

/// The parts of a `(capability …)` form.
struct Fields<'a> {
    id: &'a str,
    pairs: Vec<(&'a str, &'a Form)>,
}

impl<'a> Fields<'a> {
    fn of(form: &'a Form, dialect: Dialect) -> Result<Self, String> {
        let Form::List(items) = form else {
            return Err("a capability is written `(capability …)`".to_owned());
        };
        let [Form::Symbol(head), id, rest @ ..] = items.as_slice() else {
            return Err("a capability is written `(capability ID :key value …)`".to_owned());
        };
        if head != "capability" {
            return Err(format!("`{head}` is no capability"));
        }
        let ((Form::Text(id), _) | (Form::Keyword(id), Dialect::Document)) = (id, dialect) else {
            return Err("the id of a capability must be a text in quotes".to_owned());
        };
        let mut pairs = Vec::new();
        for pair in rest.chunks(2) {
            match pair {
                [Form::Keyword(key), value] => pairs.push((key.as_str(), value)),
                [Form::Keyword(key)] => return Err(format!("`:{key}` has no value")),
                _ => return Err("behind the id come keys and values in turn".to_owned()),
            }
        }
        Ok(Self { id, pairs })
    }

    fn get(&self, key: &str) -> Option<&'a Form> {
        let pair = self.pairs.iter().find(|(name, _)| *name == key);
        pair.map(|(_, value)| *value)
    }

    fn text(&self, key: &str) -> Result<String, String> {
        match self.get(key) {
            Some(Form::Text(text)) => Ok(text.clone()),
            _ => Err(format!("`:{key}` must be a text in quotes")),
        }
    }

    fn texts(&self, key: &str) -> Result<Vec<String>, String> {
        let wrong = || format!("`:{key}` must be a vector of texts");
        let Some(Form::Vector(items, false)) = self.get(key) else {
            return Err(wrong());
        };
        let text = |form: &Form| match form {
            Form::Text(text) => Ok(text.clone()),
            _ => Err(wrong()),
        };
        items.iter().map(text).collect()
    }

    /// A field of the provider, or of the metadata.
    fn within(&self, map: &str, key: &str) -> Option<&'a str> {
        let Some(Form::Map(pairs)) = self.get(map) else {
            return None;
        };
        pairs.iter().find_map(|(name, value)| match (name, value) {
            (Form::Keyword(name), Form::Text(text)) if name == key => Some(text.as_str()),
            _ => None,
        })
    }

    fn typed(&self, key: &str, dialect: Dialect) -> Result<Option<Type>, String> {
        if let Some(whole) = self.within("metadata", key) {
            let read = type_of_text(whole, Dialect::Document);
            return read.map(Some).map_err(|error| error.what);
        }
        let form = self.get(key);
        form.map(|form| type_of(form, dialect)).transpose()
    }

    fn capability(&self, dialect: Dialect) -> Result<Capability, String> {
        let provider = |key: &str| {
            let text = self.within("provider", key).map(str::to_owned);
            text.ok_or_else(|| format!("`:provider` must hold `:{key}` with a text"))
        };
        Ok(Capability {
            id: self.id.to_owned(),
            version: self.text("version")?,
            description: self.text("description")?,
            input: self
                .typed("input-schema", dialect)?
                .ok_or("`:input-schema` is missing")?,
            output: self.typed("output-schema", dialect)?,
            output_inferred: self.within("metadata", OUTPUT_SOURCE) == Some(INFERRED),
            server_url: provider("server-url")?,
            tool_name: provider("tool-name")?,
            domains: self.texts("domains")?,
            categories: self.texts("categories")?,
        })
    }
}

/// A type with the keys of an object, or of a list of objects, on lines of their own.
fn laid_out(of: &Type, dialect: Dialect) -> String {
    match of {
        Type::Vector(inner) if matches!(**inner, Type::Map(_)) => {
            format!("[:vector {}]", laid_out(inner, dialect))
        }
        Type::Map(entries) => {
            let mut out = String::from("[:map");
            for entry in entries.iter().filter_map(|entry| of_entry(entry, dialect)) {
                let _ = write!(out, "\n    {entry}");
            }
            out.push(']');
            out
        }
        other => of_type(other, dialect),
    }
}

fn texts(items: &[String]) -> String {
    let items: Vec<String> = items.iter().map(|item| quoted(item)).collect();
    format!("[{}]", items.join(" "))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::rtfs::{from_arguments_schema, from_schema};

    fn issues() -> Capability {
        Capability {
            id: "mcp.github.list_issues".into(),
            version: "1.0.0".into(),
            description: "List issues in a GitHub repository".into(),
            input: from_arguments_schema(&json!({
                "type": "object",
                "properties": {
                    "owner": {"type": "string"},
                    "repo": {"type": "string"},
                    "state": {"type": "string"},
                },
                "required": ["owner", "repo"],
            })),
            output: Some(from_schema(&json!({
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "id": {"type": "integer"},
                        "title": {"type": "string"},
                        "state": {"type": "string"},
                    },
                    "required": ["id", "title", "state"],
                },
            }))),
            output_inferred: false,
            server_url: "https://api.github.com/mcp".into(),
            tool_name: "list_issues".into(),
            domains: vec!["github".into(), "github.issues".into()],
            categories: vec!["crud.read".into()],
        }
    }

    #[test]
    fn the_file_of_the_documents_is_written_as_printed() {
        let text = issues().to_text(Dialect::Document);
        let expected = r#"(capability :mcp.github.list_issues
  :version "1.0.0"
  :description "List issues in a GitHub repository"
  :input-schema [:map
    [:owner :string]
    [:repo :string]
    [:state {:optional true} :string]]
  :output-schema [:vector [:map
    [:id :int]
    [:title :string]
    [:state :string]]]
  :provider {:type :mcp
             :server-url "https://api.github.com/mcp"
             :tool-name "list_issues"}
  :domains ["github" "github.issues"]
  :categories ["crud.read"])
"#;
        assert_eq!(text, expected);
        assert_eq!(Capability::parse(&text, Dialect::Document), Ok(issues()));
        assert!(
            check(&text, Dialect::Ccos)
                .unwrap_err()
                .what
                .contains("text in quotes")
        );
    }

    #[test]
    fn the_other_dialect_keeps_odd_keys_aside() {
        let mut odd = issues();
        odd.input = from_schema(&json!({
            "type": "object",
            "properties": {"weird key": {"type": "string"}, "2fa": {"type": "integer"}, "ok": {}},
        }));
        odd.output = None;
        let text = odd.to_text(Dialect::Ccos);
        assert!(
            text.starts_with("(capability \"mcp.github.list_issues\"\n"),
            "{text}"
        );
        assert!(
            text.contains(":input-schema [:map\n    [:ok :any ?]]"),
            "{text}"
        );
        assert!(!text.contains(','), "{text}");
        assert_eq!(check(&text, Dialect::Ccos), Ok(1));
        assert_eq!(Capability::parse(&text, Dialect::Ccos), Ok(odd));
    }

    #[test]
    fn a_file_that_is_none_says_why() {
        let whole = issues().to_text(Dialect::Ccos);
        let without = |part: &str, by: &str| whole.replace(part, by);
        for (text, part) in [
            (String::new(), "0 forms"),
            ("5".into(), "written `(capability"),
            ("()".into(), "written `(capability"),
            ("(server \"a\")".into(), "`server` is no capability"),
            ("(capability \"a\" :name)".into(), "`:name` has no value"),
            ("(capability \"a\" \"x\")".into(), "keys and values"),
            (without("\"1.0.0\"", "1"), "`:version` must be"),
            (without(":tool-name", ":name"), "`:tool-name`"),
            (without("[\"crud.read\"]", "[1]"), "vector of texts"),
            (without("[\"crud.read\"]", "1"), "vector of texts"),
            (
                without(":input-schema", ":other"),
                "`:input-schema` is missing",
            ),
        ] {
            let error = Capability::parse(&text, Dialect::Ccos).unwrap_err();
            assert!(error.what.contains(part), "{text}: {error}");
        }
        assert!(check("(do (capability :a))", Dialect::Ccos).is_err());
        assert_eq!(
            check("(do (capability \"a\" :x 1)) 5", Dialect::Ccos),
            Ok(2)
        );
    }

    proptest! {
        #[test]
        fn no_text_of_a_tool_leaves_its_place(
            name in any::<String>(), description in any::<String>(), key in any::<String>(),
        ) {
            let capability = Capability {
                id: format!("mcp.x.{name}"),
                description,
                tool_name: name,
                input: from_schema(&json!({"type": "object", "properties": {key: {"type": "string"}}})),
                ..issues()
            };
            for dialect in [Dialect::Document, Dialect::Ccos] {
                let text = capability.to_text(dialect);
                prop_assert_eq!(Capability::parse(&text, dialect), Ok(capability.clone()), "{}", text);
            }
        }
    }
}
