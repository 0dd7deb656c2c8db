//! Canonical JSON and hashes, and the strict reading of JSON that callers send.
//!
//! Two texts that mean the same have one canonical form, so that a hash of it can stand for the
//! parameters in an idempotency record, a confirmation or an audit record.

mod decimal;
mod strict;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use self::strict::{StrictError, check_value, parse_strict};
use crate::catalog::Tool;

/// A BLAKE3 hash; written as 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Hash([u8; 32]);

impl Hash {
    /// The hash of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    /// A hash that was made before.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The hash as bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&blake3::Hash::from(self.0).to_hex())
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text that is not 64 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a hash is written as 64 hexadecimal digits")]
pub struct HashError;

impl FromStr for Hash {
    type Err = HashError;

    fn from_str(text: &str) -> Result<Self, HashError> {
        let hash = blake3::Hash::from_hex(text).map_err(|_| HashError)?;
        Ok(Self(*hash.as_bytes()))
    }
}

impl TryFrom<String> for Hash {
    type Error = HashError;

    fn try_from(text: String) -> Result<Self, HashError> {
        text.parse()
    }
}

impl From<Hash> for String {
    fn from(hash: Hash) -> Self {
        hash.to_string()
    }
}

/// The canonical form of a value: RFC 8785, except that integers beyond 2^53, which that form
/// would round, keep their digits. Two calls that differ only there must not share a hash.
pub fn canonical(value: &Value) -> String {
    let mut text = String::with_capacity(128);
    write_value(value, &mut text);
    text
}

/// The hash of a call's parameters.
pub fn params_hash(params: &Value) -> Hash {
    Hash::of(canonical(params).as_bytes())
}

/// The hash of what a person approves when a tool is approved: everything its server says of it.
/// What rules and inference add does not count.
pub fn definition_hash(tool: &Tool) -> Hash {
    let mut parts = Map::new();
    parts.insert("annotations".to_owned(), tool.annotations.clone());
    parts.insert("description".to_owned(), tool.description.as_str().into());
    parts.insert("extensions".to_owned(), tool.extensions.clone());
    parts.insert("inputSchema".to_owned(), (*tool.input_schema).clone());
    parts.insert("method".to_owned(), tool.method.clone().into());
    parts.insert("name".to_owned(), tool.id.tool().into());
    let output = tool.output_schema.as_deref().cloned();
    parts.insert("outputSchema".to_owned(), output.unwrap_or_default());
    parts.insert("path".to_owned(), tool.path.clone().into());
    if !tool.scopes.is_empty() {
        parts.insert("scopes".to_owned(), tool.scopes.clone().into());
    }
    parts.insert("title".to_owned(), tool.title.clone().into());
    params_hash(&Value::Object(parts))
}

fn write_value(value: &Value, text: &mut String) {
    match value {
        Value::Null => text.push_str("null"),
        Value::Bool(true) => text.push_str("true"),
        Value::Bool(false) => text.push_str("false"),
        Value::Number(number) => write_number(number, text),
        Value::String(string) => write_string(string, text),
        Value::Array(items) => {
            text.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    text.push(',');
                }
                write_value(item, text);
            }
            text.push(']');
        }
        Value::Object(fields) => {
            let mut sorted: Vec<(&String, &Value)> = fields.iter().collect();
            sorted.sort_by(|a, b| a.0.encode_utf16().cmp(b.0.encode_utf16()));
            text.push('{');
            for (at, (key, field)) in sorted.into_iter().enumerate() {
                if at > 0 {
                    text.push(',');
                }
                write_string(key, text);
                text.push(':');
                write_value(field, text);
            }
            text.push('}');
        }
    }
}

fn write_number(number: &serde_json::Number, text: &mut String) {
    if number.is_f64() {
        // The library writes doubles as RFC 8785 wants them; it cannot fail on a finite one, and
        // JSON has no others.
        text.push_str(&serde_json_canonicalizer::to_string(number).unwrap_or_default());
    } else {
        text.push_str(&number.to_string());
    }
}

/// Appends a text as [`canonical`] writes it.
pub fn write_string(string: &str, text: &mut String) {
    text.push('"');
    // Few texts hold anything that is written otherwise than it stands.
    if !string.bytes().any(|b| b < b' ' || b == b'"' || b == b'\\') {
        text.push_str(string);
        text.push('"');
        return;
    }
    for c in string.chars() {
        match c {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\u{8}' => text.push_str("\\b"),
            '\t' => text.push_str("\\t"),
            '\n' => text.push_str("\\n"),
            '\u{c}' => text.push_str("\\f"),
            '\r' => text.push_str("\\r"),
            '\0'..='\u{1f}' => {
                const HEX: [char; 16] = [
                    '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f',
                ];
                let code = u32::from(c) as usize;
                text.push_str("\\u00");
                text.push(HEX[code >> 4]);
                text.push(HEX[code & 15]);
            }
            _ => text.push(c),
        }
    }
    text.push('"');
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::catalog::ToolId;

    #[test]
    fn canonical_form_is_that_of_rfc_8785() {
        let table = [
            (
                r#"{"b":1,"a":{"d":[],"c":null}}"#,
                r#"{"a":{"c":null,"d":[]},"b":1}"#,
            ),
            (
                "[1.0, 1e2, -0.0, 1e21, 0.000001, 1e-7]",
                "[1,100,0,1e+21,0.000001,1e-7]",
            ),
            (
                r#""\u0007\u001f\n\/\u00e9\u2028""#,
                "\"\\u0007\\u001f\\n/é\u{2028}\"",
            ),
            // Sorted by UTF-16 units: the surrogate pair comes before U+FB33.
            (
                "{\"\u{fb33}\":1,\"\u{1f600}\":2}",
                "{\"\u{1f600}\":2,\"\u{fb33}\":1}",
            ),
        ];
        for (input, expected) in table {
            let value: Value = serde_json::from_str(input).unwrap();
            assert_eq!(canonical(&value), expected, "{input}");
        }
    }

    #[test]
    fn integers_that_doubles_cannot_tell_apart_keep_their_own_hash() {
        let one = json!({"id": 9_007_199_254_740_993_u64});
        let other = json!({"id": 9_007_199_254_740_992_u64});
        assert_ne!(params_hash(&one), params_hash(&other));
    }

    #[test]
    fn key_order_and_spelling_of_numbers_do_not_change_the_hash() {
        let a: Value = serde_json::from_str(r#"{"x":1.0,"y":[true]}"#).unwrap();
        let b: Value = serde_json::from_str(r#" {"y": [true], "x": 1} "#).unwrap();
        assert_eq!(params_hash(&a), params_hash(&b));
        assert_ne!(
            params_hash(&a),
            params_hash(&json!({"x": "1", "y": [true]}))
        );
        let hash = params_hash(&json!({}));
        assert_eq!(hash, Hash::of(b"{}"));
        assert_eq!(hash.to_string().parse(), Ok(hash));
        assert_eq!("zz".parse::<Hash>(), Err(HashError));
        let text = serde_json::to_string(&hash).unwrap();
        assert_eq!(serde_json::from_str::<Hash>(&text).unwrap(), hash);
    }

    #[test]
    fn a_definition_is_what_its_server_says_and_nothing_else() {
        let tool = Tool::new(ToolId::new("s", "t"), "d", json!({"type": "object"}));
        let hash = definition_hash(&tool);
        let mut ours = tool.clone();
        ours.tags.push("tag".into());
        ours.domains.push("d".into());
        ours.enabled = false;
        assert_eq!(definition_hash(&ours), hash);
        let changes: [fn(&mut Tool); 9] = [
            |t| t.id = ToolId::new("s", "u"),
            |t| t.title = Some("T".into()),
            |t| t.description.push('\u{200b}'),
            |t| t.input_schema = json!({}).into(),
            |t| t.output_schema = Some(json!({}).into()),
            |t| t.annotations = json!({"readOnlyHint": true}),
            |t| t.method = Some("GET".into()),
            |t| t.extensions = json!({"x-risk": "low"}),
            |t| t.scopes = vec![vec!["x:read".to_owned()]],
        ];
        for change in changes {
            let mut theirs = tool.clone();
            change(&mut theirs);
            assert_ne!(definition_hash(&theirs), hash, "{theirs:?}");
        }
    }

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::vec((".{0,4}", inner), 0..6)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn canonical_form_is_idempotent(value in json()) {
            let once = canonical(&value);
            let again: Value = serde_json::from_str(&once).unwrap();
            prop_assert_eq!(canonical(&again), once);
        }

        #[test]
        fn it_agrees_with_the_library_where_integers_are_small(value in json()) {
            fn small(value: &Value) -> bool {
                match value {
                    Value::Number(n) => n.is_f64() || n.as_i64().is_some_and(|i| i.abs() <= 1 << 53),
                    Value::Array(items) => items.iter().all(small),
                    Value::Object(fields) => fields.values().all(small),
                    _ => true,
                }
            }
            prop_assume!(small(&value));
            prop_assert_eq!(canonical(&value), serde_json_canonicalizer::to_string(&value).unwrap());
        }
    }
}
