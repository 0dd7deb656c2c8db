//! The parameters of a tool as an answer shows them, and the questions for those that are missing.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Write as _;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::discovery::prose;
use crate::schema::outline::{Field, Outline};
use crate::schema::{self, Compiled, Unknown};

/// How much of a parameter is shown.
#[derive(Clone, Copy, Debug)]
pub struct Level {
    /// Most optional parameters whose schema is shown.
    pub optional: usize,
    /// Longest description.
    pub chars: usize,
    /// How deep objects are spelt out.
    pub depth: usize,
    /// Most values that are listed.
    pub values: usize,
}

/// The fields of an object and of its alternatives, each name once.
pub fn fields<'o, 'a>(outline: &'o Outline<'a>) -> Vec<&'o Field<'a>> {
    let mut fields: Vec<&Field<'_>> = outline.fields.iter().collect();
    for alternative in &outline.alternatives {
        for field in &alternative.fields {
            if !fields.iter().any(|known| known.name == field.name) {
                fields.push(field);
            }
        }
    }
    fields
}

/// The names that a call needs, and those that it may do without.
pub fn names<'a>(outline: &Outline<'a>) -> (Vec<&'a str>, Vec<&'a str>) {
    let required = outline.required();
    let optional = fields(outline)
        .into_iter()
        .map(|field| field.name)
        .filter(|name| !required.contains(name));
    let optional = optional.collect();
    (required, optional)
}

/// What each parameter is, required ones first; and whether anything was left out.
pub fn schemas(outline: &Outline<'_>, level: &Level) -> (Map<String, Value>, bool) {
    let mut shown = Map::new();
    let required = outline.required();
    let all = fields(outline);
    let (needed, others): (Vec<_>, Vec<_>) = all
        .into_iter()
        .partition(|field| required.contains(&field.name));
    let mut cut = others.len() > level.optional;
    for field in needed
        .into_iter()
        .chain(others.into_iter().take(level.optional))
    {
        let part = schema_of(&field.outline, field.name, level, level.depth, &mut cut);
        shown.insert(field.name.to_owned(), part);
    }
    (shown, cut)
}

/// Keywords that are short and tell what a value must be like.
const SHOWN: [&str; 8] = [
    "format",
    "pattern",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
];

/// Longest keyword that is shown.
const KEYWORD_CHARS_MAX: usize = 80;

fn schema_of(
    outline: &Outline<'_>,
    name: &str,
    level: &Level,
    depth: usize,
    cut: &mut bool,
) -> Value {
    let mut shown = Map::new();
    match outline.types.as_slice() {
        [] if outline.alternatives.is_empty() => {}
        [] => {
            let kinds: Vec<&str> = outline
                .alternatives
                .iter()
                .flat_map(|a| a.types.iter().copied())
                .collect();
            let mut once: Vec<&str> = Vec::new();
            for kind in kinds {
                if !once.contains(&kind) {
                    once.push(kind);
                }
            }
            if !once.is_empty() {
                shown.insert("type".into(), json!(once));
            }
        }
        [one] => {
            shown.insert("type".into(), (*one).into());
        }
        several => {
            shown.insert("type".into(), json!(several));
        }
    }
    if let Some(said) = outline.description() {
        let said = prose::sense(said, name);
        let (said, shortened) = prose::shorten(&said, level.chars);
        *cut |= shortened;
        if !said.is_empty() {
            shown.insert("description".into(), said.into_owned().into());
        }
    }
    for keyword in SHOWN {
        let value = outline
            .keyword(keyword)
            .filter(|value| value.to_string().len() <= KEYWORD_CHARS_MAX);
        if let Some(value) = value {
            shown.insert(keyword.into(), value.clone());
        }
    }
    if let Some(default) = outline
        .keyword("default")
        .filter(|d| !d.is_null() && d.to_string().len() <= KEYWORD_CHARS_MAX)
    {
        shown.insert("default".into(), default.clone());
    }
    if !outline.values.is_empty() {
        *cut |= outline.values.len() > level.values;
        let listed: Vec<&Value> = outline.values.iter().copied().take(level.values).collect();
        if !listed.is_empty() {
            shown.insert("enum".into(), json!(listed));
        }
    }
    if let Some(items) = &outline.items {
        shown.insert("items".into(), schema_of(items, name, level, depth, cut));
    }
    if outline.has_fields() {
        if depth == 0 {
            *cut = true;
        } else {
            let mut inside = Map::new();
            for field in &outline.fields {
                inside.insert(
                    field.name.to_owned(),
                    schema_of(&field.outline, field.name, level, depth - 1, cut),
                );
            }
            shown.insert("properties".into(), Value::Object(inside));
            let required = outline.required();
            if !required.is_empty() {
                shown.insert("required".into(), json!(required));
            }
        }
    }
    Value::Object(shown)
}

/// Something that has to be known before a call can be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Missing {
    /// What it is for.
    pub field: String,
    /// The question to whoever knows.
    pub question: String,
}

/// Most values that a question lists.
const CHOICES_MAX: usize = 8;

/// Longest part of a description in a question.
const QUESTION_CHARS: usize = 120;

/// The question for a parameter.
pub fn question(outline: &Outline<'_>, name: &str) -> Missing {
    let field = fields(outline).into_iter().find(|field| field.name == name);
    let mut question = format!("What should `{name}` be?");
    if let Some(field) = field {
        if let Some(said) = field.outline.description() {
            let said = prose::sense(said, name);
            let (said, _) = prose::shorten(&said, QUESTION_CHARS);
            if !said.is_empty() {
                question.push(' ');
                question.push_str(&said);
            }
        }
        let values: Vec<String> = field
            .outline
            .values
            .iter()
            .take(CHOICES_MAX)
            .map(|value| {
                value
                    .as_str()
                    .map_or_else(|| value.to_string(), str::to_owned)
            })
            .collect();
        if !values.is_empty() {
            let more = if field.outline.values.len() > CHOICES_MAX {
                ", …"
            } else {
                ""
            };
            if !question.ends_with(['.', '?', '!', ':', '…']) {
                question.push('.');
            }
            let _ = write!(question, " One of: {}{more}", values.join(", "));
        }
    }
    Missing {
        field: name.to_owned(),
        question,
    }
}

/// Checks single parameters of a schema, each compiled when it is first asked for.
pub struct Checks<'a> {
    schema: &'a Value,
    compiled: RefCell<HashMap<String, Option<Compiled>>>,
}

impl<'a> Checks<'a> {
    /// The checks of a schema.
    pub fn new(schema: &'a Value) -> Self {
        Self {
            schema,
            compiled: RefCell::default(),
        }
    }

    /// Whether a parameter takes a value. One that the schema does not spell out takes none.
    pub fn takes(&self, field: &str, value: &Value) -> bool {
        let mut compiled = self.compiled.borrow_mut();
        let check = compiled.entry(field.to_owned()).or_insert_with(|| {
            let part = self.schema.get("properties")?.get(field)?;
            let mut alone = json!({"type": "object", "properties": {field: part}});
            for shared in ["$defs", "definitions", "$schema", "components"] {
                if let Some(known) = self.schema.get(shared) {
                    alone[shared] = known.clone();
                }
            }
            schema::compile(&alone).ok()
        });
        let Some(check) = check else { return false };
        check.check(&json!({field: value}), Unknown::Refuse).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::outline::Reading;

    const LEVEL: Level = Level {
        optional: 9,
        chars: 40,
        depth: 1,
        values: 3,
    };

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "note": {"type": "string", "maxLength": 5},
                "amount": {"type": "integer", "description": "Amount in kobo", "minimum": 1},
                "email": {"type": "string", "format": "email", "description": "Email"},
                "plan": {"$ref": "#/$defs/plan"},
                "items": {"type": "array", "items": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}},
                "kind": {"type": ["string", "null"], "enum": ["a", "b", "c", "d"], "default": "a"},
            },
            "required": ["amount", "email"],
            "$defs": {"plan": {"type": "object", "properties": {"deep": {"type": "object", "properties": {"x": {"type": "string"}}}}}},
        })
    }

    #[test]
    fn parameters_are_split_and_described() {
        let schema = schema();
        let reading = Reading::new(&schema);
        let outline = reading.outline();
        let (required, optional) = names(&outline);
        assert_eq!(required, ["amount", "email"]);
        assert_eq!(optional, ["note", "plan", "items", "kind"]);
        let (shown, cut) = schemas(&outline, &LEVEL);
        assert!(cut, "what is deep and what is long is left out");
        let keys: Vec<&String> = shown.keys().collect();
        assert_eq!(keys, ["amount", "email", "note", "plan", "items", "kind"]);
        assert_eq!(
            shown["amount"],
            json!({"type": "integer", "description": "Amount in kobo", "minimum": 1})
        );
        assert_eq!(
            shown["email"],
            json!({"type": "string", "format": "email"}),
            "a name says it already"
        );
        assert_eq!(shown["items"]["items"]["required"], json!(["id"]));
        assert_eq!(shown["kind"]["enum"], json!(["a", "b", "c"]));
        let (few, cut) = schemas(
            &outline,
            &Level {
                optional: 0,
                ..LEVEL
            },
        );
        assert!(cut && few.len() == 2);
    }

    #[test]
    fn what_is_said_of_a_parameter_ends_before_its_values_begin() {
        for (said, expect) in [
            ("How it is paid", "How it is paid. One of: a, b"),
            ("How it is paid.", "How it is paid. One of: a, b"),
            ("How is it paid?", "How is it paid? One of: a, b"),
        ] {
            let way = json!({"type": "string", "description": said, "enum": ["a", "b"]});
            let schema = json!({"type": "object", "properties": {"way": way}});
            let reading = Reading::new(&schema);
            let asked = question(&reading.outline(), "way").question;
            assert_eq!(asked, format!("What should `way` be? {expect}"));
        }
    }

    #[test]
    fn a_question_says_what_is_known() {
        let schema = schema();
        let reading = Reading::new(&schema);
        let outline = reading.outline();
        assert_eq!(
            question(&outline, "amount").question,
            "What should `amount` be? Amount in kobo"
        );
        assert_eq!(
            question(&outline, "email").question,
            "What should `email` be?"
        );
        assert_eq!(
            question(&outline, "kind").question,
            "What should `kind` be? One of: a, b, c, d"
        );
        assert_eq!(
            question(&outline, "other").question,
            "What should `other` be?"
        );
    }

    #[test]
    fn a_parameter_takes_what_its_schema_allows() {
        let schema = schema();
        let checks = Checks::new(&schema);
        for (field, value, expect) in [
            ("note", json!("abc"), true),
            ("note", json!("abcdef"), false),
            ("amount", json!(0), false),
            ("amount", json!(1), true),
            ("plan", json!({"deep": {}}), true),
            ("plan", json!("x"), false),
            ("other", json!(1), false),
        ] {
            assert_eq!(checks.takes(field, &value), expect, "{field} {value}");
        }
    }
}
