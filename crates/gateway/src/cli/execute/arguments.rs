//! Arguments from the command line: JSON, a file, standard input, or pairs.

use std::io::Read;
use std::path::Path;

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use toolcrib_core::limits::ARGUMENTS_BYTES_MAX;
use toolcrib_core::schema::outline::{Field, Reading};

use crate::failure::{Failure, unread};

/// Arguments that were written as JSON, `@FILE` or `-`.
pub(super) fn of_json(written: &str, cwd: &Path) -> Result<Box<RawValue>, Failure> {
    let text = match written.strip_prefix('@') {
        Some(file) => std::fs::read_to_string(cwd.join(file)).map_err(|error| {
            let why = unread(&error);
            Failure::usage(format!("the arguments cannot be read from {file}: {why}"))
        })?,
        None if written == "-" => standard_input()?,
        None => written.to_owned(),
    };
    RawValue::from_string(text.trim().to_owned()).map_err(|error| {
        Failure::usage(format!(
            "the arguments are not JSON: {error}; quote them for the shell, as in --args '{{\"a\":1}}'"
        ))
    })
}

fn standard_input() -> Result<String, Failure> {
    let mut text = String::new();
    let bound = u64::try_from(ARGUMENTS_BYTES_MAX).unwrap_or(u64::MAX);
    let read = std::io::stdin().take(bound + 1).read_to_string(&mut text);
    read.map_err(|error| Failure::usage(format!("standard input cannot be read: {error}")))?;
    Ok(text)
}

/// Arguments that were written as pairs, each value read as the schema has it.
pub(super) fn of_pairs(pairs: &[String], schema: &Value) -> Result<Box<RawValue>, Failure> {
    let reading = Reading::new(schema);
    let outline = reading.outline();
    let mut arguments = Map::new();
    for pair in pairs {
        let (name, text) = pair.split_once('=').ok_or_else(|| {
            Failure::usage(format!(
                "{pair} is no argument; write NAME=VALUE, or use --args"
            ))
        })?;
        let field = outline.fields.iter().find(|field| field.name == name);
        arguments.insert(name.to_owned(), typed(text, field));
    }
    serde_json::value::to_raw_value(&arguments).map_err(|error| {
        Failure::usage(format!("the arguments cannot be written as JSON: {error}"))
    })
}

/// A value of the type that the schema allows: JSON where that fits, else the text itself.
fn typed(text: &str, field: Option<&Field<'_>>) -> Value {
    let read: Option<Value> = serde_json::from_str(text).ok();
    let text = Value::String(text.to_owned());
    let Some(value) = read else {
        return text;
    };
    let kind = match &value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => return value,
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let Some(field) = field else {
        return value;
    };
    let outlines = std::iter::once(&field.outline).chain(&field.outline.alternatives);
    let allowed = outlines.clone().any(|outline| {
        let number = kind == "integer" && outline.types.contains(&"number");
        let null = kind == "null" && outline.nullable;
        number || null || outline.types.contains(&kind)
    });
    let only_texts = outlines
        .flat_map(|outline| &outline.types)
        .any(|name| *name == "string");
    if allowed || !only_texts { value } else { text }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pairs_are_typed_by_the_schema() {
        let schema = json!({"type": "object", "properties": {
            "path": {"type": "string"},
            "count": {"type": "integer"},
            "ratio": {"type": "number"},
            "deep": {"type": "boolean"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "either": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        }});
        let check = |pair: &str, expected: Value| {
            let read = of_pairs(&[pair.to_owned()], &schema).unwrap();
            let read: Value = serde_json::from_str(read.get()).unwrap();
            assert_eq!(read, expected, "{pair}");
        };
        check("path=5", json!({"path": "5"}));
        check("path=a=b", json!({"path": "a=b"}));
        check("count=5", json!({"count": 5}));
        check("count=five", json!({"count": "five"}));
        check("ratio=2", json!({"ratio": 2}));
        check("deep=true", json!({"deep": true}));
        check("tags=[\"a\"]", json!({"tags": ["a"]}));
        check("either=5", json!({"either": 5}));
        check("other=5", json!({"other": 5}));
        check("other=x y", json!({"other": "x y"}));
        check("path=\"quoted\"", json!({"path": "quoted"}));
        assert!(
            of_pairs(&["path".to_owned()], &schema)
                .unwrap_err()
                .message
                .contains("NAME=VALUE")
        );
    }

    #[test]
    fn json_comes_from_the_command_line_or_a_file() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.json"), " {\"a\": 1.0}\n").unwrap();
        assert_eq!(
            of_json("{\"z\":1,\"a\":2}", folder.path()).unwrap().get(),
            "{\"z\":1,\"a\":2}"
        );
        assert_eq!(
            of_json("@a.json", folder.path()).unwrap().get(),
            "{\"a\": 1.0}"
        );
        let error = of_json("@gone.json", folder.path()).unwrap_err();
        assert!(error.message.contains("gone.json"), "{error}");
        let error = of_json("{title: x}", folder.path()).unwrap_err();
        assert!(error.message.contains("quote them"), "{error}");
        assert_eq!(error.exit, 1);
    }
}
