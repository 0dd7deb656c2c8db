//! What a value that somebody left says about the values that fit its place.

use serde_json::{Map, Value, json};
use toolcrib_core::limits::ADAPTER_INFERENCE_DEPTH_MAX;

/// The schema of a JSON value: its types, nothing more. Nothing is required.
pub(super) fn schema(value: &Value, depth: usize) -> Value {
    if depth > ADAPTER_INFERENCE_DEPTH_MAX {
        return json!({});
    }
    match value {
        Value::Null => json!({}),
        Value::Bool(_) => json!({"type": "boolean"}),
        Value::Number(number) if number.is_f64() => json!({"type": "number"}),
        Value::Number(_) => json!({"type": "integer"}),
        Value::String(text) if is_placeholder(text) => json!({}),
        Value::String(_) => json!({"type": "string"}),
        Value::Array(items) => match items.first() {
            Some(first) if items.iter().all(|item| kind(item) == kind(first)) => {
                json!({"type": "array", "items": schema(first, depth + 1)})
            }
            _ => json!({"type": "array"}),
        },
        Value::Object(fields) => {
            let fields = fields.iter();
            let properties = fields.map(|(name, value)| (name.clone(), schema(value, depth + 1)));
            let properties: Map<String, Value> = properties.collect();
            json!({"type": "object", "properties": properties, "additionalProperties": true})
        }
    }
}

fn kind(value: &Value) -> u8 {
    match value {
        Value::Null => 0,
        Value::Bool(_) => 1,
        Value::Number(_) => 2,
        Value::String(_) => 3,
        Value::Array(_) => 4,
        Value::Object(_) => 5,
    }
}

fn is_placeholder(text: &str) -> bool {
    text.starts_with("{{") && text.ends_with("}}") || text.starts_with('<') && text.ends_with('>')
}

/// The schema of a value in a path, query, header or form, where everything is text: numbers are
/// welcome beside it.
pub(super) fn loose(value: &Value) -> Value {
    match value {
        Value::Array(items) => {
            let inner = items.first().map_or_else(|| json!({}), loose);
            json!({"type": "array", "items": inner})
        }
        Value::String(text) if matches!(text.as_str(), "true" | "false") => {
            json!({"type": "boolean"})
        }
        Value::String(text) if text.parse::<i64>().is_ok() && text.len() < 16 => {
            json!({"type": ["integer", "string"], "examples": [text]})
        }
        Value::String(text) if text.is_empty() || is_placeholder(text) => {
            json!({"type": ["string", "number", "boolean"]})
        }
        Value::String(text) if text.len() <= 200 && !text.contains("{{") => {
            json!({"type": "string", "examples": [text]})
        }
        Value::Bool(_) => json!({"type": "boolean"}),
        Value::Number(_) => json!({"type": "number"}),
        _ => json!({"type": ["string", "number", "boolean"]}),
    }
}

/// The text with every `{{variable}}` that stands outside of a string put into quotes.
pub(super) fn quoted(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len() + 16);
    let mut inside = false;
    let mut escaped = false;
    let mut rest = raw.char_indices().peekable();
    while let Some((at, c)) = rest.next() {
        if !inside
            && raw[at..].starts_with("{{")
            && let Some(end) = raw[at..].find("}}")
            && !raw[at + 2..at + end].contains(['"', '\n', '{'])
        {
            out.push('"');
            out.push_str(&raw[at..at + end + 2]);
            out.push('"');
            while rest.next_if(|(next, _)| *next < at + end + 2).is_some() {}
            continue;
        }
        if c == '"' && !escaped {
            inside = !inside;
        }
        escaped = c == '\\' && !escaped;
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_say_their_types() {
        let table = [
            (
                json!({"a": 1, "b": [true]}),
                json!({"type": "object", "additionalProperties": true, "properties": {
                "a": {"type": "integer"}, "b": {"type": "array", "items": {"type": "boolean"}}}}),
            ),
            (json!([1, "x"]), json!({"type": "array"})),
            (json!("{{v}}"), json!({})),
            (json!(1.5), json!({"type": "number"})),
            (json!(null), json!({})),
        ];
        for (value, expected) in table {
            assert_eq!(schema(&value, 0), expected);
        }
    }

    #[test]
    fn texts_say_what_they_look_like() {
        let kind = |text: &str| loose(&json!(text))["type"].clone();
        assert_eq!(kind("true"), "boolean");
        assert_eq!(kind("12"), json!(["integer", "string"]));
        assert_eq!(kind("abc"), "string");
        assert_eq!(kind(""), json!(["string", "number", "boolean"]));
    }

    #[test]
    fn bare_placeholders_are_quoted() {
        assert_eq!(
            quoted(r#"{"a": {{x}}, "b": "{{y}}"}"#),
            r#"{"a": "{{x}}", "b": "{{y}}"}"#
        );
        assert_eq!(quoted(r#"{"a": "\"{{x}}"}"#), r#"{"a": "\"{{x}}"}"#);
    }
}
