//! The grammars of capability files in both dialects, written from their descriptions and not from the
//! writer: a recursive descent over the characters that accepts or says where it stops.

/// What a dialect says differently.
struct Rules {
    /// Whether an id may be a keyword.
    keyword_id: bool,
    /// Whether optional keys are written `{:optional true}`, else with a `?` at the end.
    optional_map: bool,
    /// Whether a key of an object may be a text.
    text_keys: bool,
}

/// The dialect that the documents print.
pub(super) fn document(text: &str) -> Result<(), String> {
    let rules = Rules {
        keyword_id: true,
        optional_map: true,
        text_keys: true,
    };
    accept(text, &rules)
}

/// The dialect that the CCOS reader takes.
pub(super) fn ccos(text: &str) -> Result<(), String> {
    let rules = Rules {
        keyword_id: false,
        optional_map: false,
        text_keys: false,
    };
    accept(text, &rules)
}

fn accept(text: &str, rules: &Rules) -> Result<(), String> {
    let mut cursor = Cursor { rest: text };
    let outcome = capability(&mut cursor, rules).and_then(|()| {
        cursor.space();
        if cursor.rest.is_empty() {
            Ok(())
        } else {
            Err("something behind the capability".to_owned())
        }
    });
    outcome.map_err(|why| {
        let near: String = cursor.rest.chars().take(30).collect();
        format!("{why} at {near:?}")
    })
}

struct Cursor<'a> {
    rest: &'a str,
}

impl Cursor<'_> {
    fn space(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\n']);
    }

    fn has(&mut self, token: &str) -> bool {
        self.space();
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn want(&mut self, token: &str) -> Result<(), String> {
        if self.has(token) {
            Ok(())
        } else {
            Err(format!("`{token}` is missing"))
        }
    }

    fn next_is(&mut self, start: char) -> bool {
        self.space();
        self.rest.starts_with(start)
    }

    /// `:word`
    fn keyword(&mut self) -> Result<String, String> {
        self.want(":")?;
        let starts = |c: char| c.is_ascii_alphabetic() || "_$*+".contains(c);
        let goes_on = |c: char| starts(c) || c.is_ascii_digit() || "-./:?!#".contains(c);
        let end = self.rest.find(|c| !goes_on(c)).unwrap_or(self.rest.len());
        if !self.rest.starts_with(starts) {
            return Err("a colon without a word".to_owned());
        }
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        Ok(word.to_owned())
    }

    /// `"text"`: on one line, with five escapes and no other.
    fn text(&mut self) -> Result<(), String> {
        self.want("\"")?;
        let mut escaped = false;
        for (at, c) in self.rest.char_indices() {
            match (escaped, c) {
                (true, 'n' | 't' | 'r' | '\\' | '"') => escaped = false,
                (true, _) => return Err("an escape that is none".to_owned()),
                (false, '\\') => escaped = true,
                (false, '"') => {
                    self.rest = &self.rest[at + 1..];
                    return Ok(());
                }
                (false, '\n' | '\r') => return Err("a text that leaves its line".to_owned()),
                (false, _) => {}
            }
        }
        Err("a text without an end".to_owned())
    }
}

fn capability(cursor: &mut Cursor<'_>, rules: &Rules) -> Result<(), String> {
    cursor.want("(capability ")?;
    if rules.keyword_id && cursor.next_is(':') {
        cursor.keyword()?;
    } else {
        cursor.text()?;
    }
    let mut keys = Vec::new();
    while !cursor.has(")") {
        let key = cursor.keyword()?;
        match key.as_str() {
            "version" | "description" => cursor.text()?,
            "input-schema" | "output-schema" => shape(cursor, rules, 0)?,
            "provider" => provider(cursor)?,
            "domains" | "categories" => texts(cursor)?,
            "metadata" => metadata(cursor)?,
            other => return Err(format!("`:{other}` has no place here")),
        }
        keys.push(key);
    }
    let wanted = [
        "version",
        "description",
        "input-schema",
        "provider",
        "domains",
        "categories",
    ];
    match wanted
        .iter()
        .find(|key| !keys.iter().any(|found| found == *key))
    {
        Some(missing) => Err(format!("`:{missing}` is missing")),
        None => Ok(()),
    }
}

fn shape(cursor: &mut Cursor<'_>, rules: &Rules, depth: usize) -> Result<(), String> {
    if depth > 200 {
        return Err("types nested without end".to_owned());
    }
    if !cursor.has("[") {
        return match cursor.keyword()?.as_str() {
            "any" | "string" | "int" | "float" | "bool" => Ok(()),
            other => Err(format!("`:{other}` is no type")),
        };
    }
    match cursor.keyword()?.as_str() {
        "vector" => shape(cursor, rules, depth + 1)?,
        "map-of" => {
            cursor.want(":string")?;
            shape(cursor, rules, depth + 1)?;
        }
        "union" => {
            shape(cursor, rules, depth + 1)?;
            while !cursor.next_is(']') {
                shape(cursor, rules, depth + 1)?;
            }
        }
        "map" => {
            while !cursor.next_is(']') {
                entry(cursor, rules, depth + 1)?;
            }
        }
        other => return Err(format!("`:{other}` makes no type")),
    }
    cursor.want("]")
}

fn entry(cursor: &mut Cursor<'_>, rules: &Rules, depth: usize) -> Result<(), String> {
    cursor.want("[")?;
    if rules.text_keys && cursor.next_is('"') {
        cursor.text()?;
    } else {
        cursor.keyword()?;
    }
    if rules.optional_map && cursor.has("{") {
        cursor.want(":optional true}")?;
    }
    shape(cursor, rules, depth)?;
    if !rules.optional_map {
        cursor.has("?");
    }
    cursor.want("]")
}

fn provider(cursor: &mut Cursor<'_>) -> Result<(), String> {
    cursor.want("{:type :mcp")?;
    cursor.want(":server-url")?;
    cursor.text()?;
    cursor.want(":tool-name")?;
    cursor.text()?;
    cursor.want("}")
}

fn texts(cursor: &mut Cursor<'_>) -> Result<(), String> {
    cursor.want("[")?;
    while !cursor.has("]") {
        cursor.text()?;
    }
    Ok(())
}

fn metadata(cursor: &mut Cursor<'_>) -> Result<(), String> {
    cursor.want("{")?;
    while !cursor.has("}") {
        cursor.keyword()?;
        cursor.text()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use toolcrib_core::capability::Output;
    use toolcrib_core::rtfs::{Dialect, from_value};
    use toolcrib_core::{CapabilityManifest, Tool, ToolId};

    use super::*;

    fn file(of: &str, rest: &str) -> String {
        format!(
            "(capability {of}\n  :version \"1\"\n  :description \"d\"\n  :input-schema {rest}\n  \
             :provider {{:type :mcp\n :server-url \"u\"\n :tool-name \"t\"}}\n  :domains [\"a\"]\n  \
             :categories [])\n"
        )
    }

    #[test]
    fn each_dialect_accepts_its_own_and_refuses_the_other() {
        let doc = file(
            ":mcp.a.b",
            "[:map [:k {:optional true} :int] [\"odd key\" :any]]",
        );
        assert_eq!(document(&doc), Ok(()));
        assert!(ccos(&doc).is_err());
        let other = file(
            "\"mcp.a.b\"",
            "[:map [:k [:union :int [:vector :any]] ?] [:m [:map-of :string :bool]]]",
        );
        assert_eq!(ccos(&other), Ok(()));
        assert!(document(&other).is_err());
    }

    #[test]
    fn what_leaves_the_grammar_is_refused() {
        for bad in [
            file("\"a\"", "[:map"),
            file("\"a\"", ":number"),
            file("\"a\"", "[:vector]"),
            file("\"a\"", "[:union]"),
            file("\"a\"", ":any :evil \"x\""),
            file("\"a\" (evil)", ":any"),
            file("\"a\\q\"", ":any"),
            file("\"a\n\"", ":any"),
            file("\"a", ":any"),
            file("5", ":any"),
            "(other \"a\")".to_owned(),
            "(capability \"a\")\n".to_owned(),
            format!("{} evil", file("\"a\"", ":any")),
        ] {
            assert!(ccos(&bad).is_err(), "{bad}");
            assert!(document(&bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_the_writer_writes_is_of_the_grammar() {
        let schema = json!({
            "type": "object",
            "properties": {
                "plain": {"type": "string"}, "odd key": {"type": ["integer", "string"]},
                "list": {"type": "array", "items": {"type": "object", "additionalProperties": {"type": "number"}}},
                "a\"b\n)": {},
            },
            "required": ["plain"],
        });
        let hostile = "x\") (evil :a \"\n; comment\n\\";
        let tool = Tool::new(ToolId::new("s", hostile), hostile, schema);
        let mut manifest = CapabilityManifest::new(&tool, hostile);
        manifest.domains = vec![hostile.to_owned()];
        manifest.output_schema = Some(Output::seen(&from_value(&json!({hostile: [1, "a"]}))));
        assert_eq!(document(&manifest.to_text(Dialect::Document)), Ok(()));
        assert_eq!(ccos(&manifest.to_text(Dialect::Ccos)), Ok(()));
    }
}
