//! Reading JSON that a caller wrote so that nothing in it can mean two things.
//!
//! Other readers keep the first or the last of two equal keys, round large integers, or recurse
//! until the stack is gone. What policy looked at must be what the upstream gets, so such texts
//! are refused.

use std::cell::{Cell, RefCell};
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::decimal;
use crate::limits::{ARGUMENTS_BYTES_MAX, ARGUMENTS_DEPTH_MAX, ARGUMENTS_NODES_MAX};

/// How the reader begins its complaint about a number that is JSON and too large for it.
const OUT_OF_RANGE: &str = "number out of range";

/// Why a JSON text or value is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StrictError {
    /// Not JSON.
    #[error("the arguments are not JSON: line {line}, column {column}")]
    Syntax {
        /// Line of the first error, from 1.
        line: usize,
        /// Column of the first error, from 1.
        column: usize,
    },
    /// More bytes than are read.
    #[error("the arguments are larger than {ARGUMENTS_BYTES_MAX} bytes; send less")]
    TooLarge,
    /// Nested more deeply than is read.
    #[error("the arguments are nested more than {ARGUMENTS_DEPTH_MAX} levels deep; flatten them")]
    TooDeep,
    /// More values than are read.
    #[error("the arguments hold more than {ARGUMENTS_NODES_MAX} values; send fewer at once")]
    TooMany,
    /// The same key twice in one object.
    #[error("the key `{0}` appears twice in one object; keep one")]
    DuplicateKey(String),
    /// An integer that would be rounded.
    #[error("an integer has more than 64 bits and would be rounded; send it as a string")]
    HugeNumber,
    /// A decimal that would be rounded.
    #[error("a number is larger or has more digits than can be kept; send it as a string")]
    RoundedNumber,
    /// A key that changes the meaning of objects in some languages.
    #[error("the key `{0}` is not accepted")]
    ForbiddenKey(String),
}

/// Reads one JSON text, refusing duplicate keys, integers beyond 64 bits, decimals that are not what
/// a double holds, `__proto__`-like keys, and more than the limits allow.
pub fn parse_strict(text: &str) -> Result<Value, StrictError> {
    if text.len() > ARGUMENTS_BYTES_MAX {
        return Err(StrictError::TooLarge);
    }
    let state = State::default();
    let mut reader = serde_json::Deserializer::from_str(text);
    let seed = Seed {
        state: &state,
        depth: 0,
    };
    let parsed = seed
        .deserialize(&mut reader)
        .and_then(|value| reader.end().map(|()| value));
    match (parsed, state.refusal.into_inner()) {
        (_, Some(refusal)) => Err(refusal),
        // JSON has numbers that no double reaches.
        (Err(error), None) if error.to_string().starts_with(OUT_OF_RANGE) => {
            Err(StrictError::RoundedNumber)
        }
        (Err(error), None) => Err(StrictError::Syntax {
            line: error.line(),
            column: error.column(),
        }),
        (Ok(value), None) => {
            refuse_rounded_numbers(text)?;
            Ok(value)
        }
    }
}

/// Holds a value that another reader made to the same limits, as far as it still shows.
pub fn check_value(value: &Value) -> Result<(), StrictError> {
    let state = State::default();
    visit(value, 0, &state)
}

fn visit(value: &Value, depth: usize, state: &State) -> Result<(), StrictError> {
    state.enter(depth)?;
    match value {
        Value::Array(items) => items.iter().try_for_each(|v| visit(v, depth + 1, state)),
        Value::Object(fields) => fields.iter().try_for_each(|(key, v)| {
            check_key(key, v)?;
            visit(v, depth + 1, state)
        }),
        _ => Ok(()),
    }
}

fn check_key(key: &str, value: &Value) -> Result<(), StrictError> {
    let pollutes = key == "__proto__" || key == "constructor" && value.get("prototype").is_some();
    if pollutes {
        return Err(StrictError::ForbiddenKey(key.to_owned()));
    }
    Ok(())
}

/// Integers of more than 64 bits become doubles in the reader, and decimals the nearest double, which is
/// not seen in the value; the upstream gets the text.
fn refuse_rounded_numbers(text: &str) -> Result<(), StrictError> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => {
                at += 1;
                while at < bytes.len() && bytes[at] != b'"' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                at += 1;
            }
            b'-' | b'0'..=b'9' => {
                let start = at;
                while at < bytes.len()
                    && matches!(bytes[at], b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9')
                {
                    at += 1;
                }
                let number = &text[start..at];
                let integer = number.bytes().all(|b| b.is_ascii_digit() || b == b'-');
                if integer && number.parse::<i64>().is_err() && number.parse::<u64>().is_err() {
                    return Err(StrictError::HugeNumber);
                }
                if !integer && !decimal::survives(number) {
                    return Err(StrictError::RoundedNumber);
                }
            }
            _ => at += 1,
        }
    }
    Ok(())
}

#[derive(Default)]
struct State {
    nodes: Cell<usize>,
    refusal: RefCell<Option<StrictError>>,
}

impl State {
    fn enter(&self, depth: usize) -> Result<(), StrictError> {
        self.nodes.set(self.nodes.get() + 1);
        if depth > ARGUMENTS_DEPTH_MAX {
            return Err(StrictError::TooDeep);
        }
        if self.nodes.get() > ARGUMENTS_NODES_MAX {
            return Err(StrictError::TooMany);
        }
        Ok(())
    }

    /// Keeps the reason beside the reader's own error, which can only carry text.
    fn refuse<E: serde::de::Error>(&self, refusal: StrictError) -> E {
        *self.refusal.borrow_mut() = Some(refusal);
        E::custom("refused")
    }
}

#[derive(Clone, Copy)]
struct Seed<'a> {
    state: &'a State,
    depth: usize,
}

impl Seed<'_> {
    fn deeper(self) -> Self {
        Self {
            state: self.state,
            depth: self.depth + 1,
        }
    }
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.state
            .enter(self.depth)
            .map_err(|refusal| self.state.refuse(refusal))?;
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value)
            .map(Value::Number)
            .ok_or_else(|| E::custom("not finite"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = items.next_element_seed(self.deeper())? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = fields.next_key::<String>()? {
            let value = fields.next_value_seed(self.deeper())?;
            check_key(&key, &value).map_err(|refusal| self.state.refuse(refusal))?;
            if object.contains_key(&key) {
                let shown = key.chars().take(64).collect();
                return Err(self.state.refuse(StrictError::DuplicateKey(shown)));
            }
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn texts_that_could_mean_two_things_are_refused() {
        let deep = |n: usize| "[".repeat(n) + &"]".repeat(n);
        let many = format!("[{}0]", "0,".repeat(ARGUMENTS_NODES_MAX));
        let table: [(&str, StrictError); 18] = [
            (r#"{"a":1,"a":2}"#, StrictError::DuplicateKey("a".into())),
            (
                r#"{"a":1,"\u0061":2}"#,
                StrictError::DuplicateKey("a".into()),
            ),
            (
                r#"[{"x":{"b":1,"b":1}}]"#,
                StrictError::DuplicateKey("b".into()),
            ),
            ("123456789012345678901234567890", StrictError::HugeNumber),
            (r#"{"n":-9223372036854775809}"#, StrictError::HugeNumber),
            (
                r#"{"q":"\"","n":18446744073709551616}"#,
                StrictError::HugeNumber,
            ),
            (r#"{"n":9007199254740993.0}"#, StrictError::RoundedNumber),
            (r#"{"n":9007199254740993e0}"#, StrictError::RoundedNumber),
            ("[0.10000000000000000001]", StrictError::RoundedNumber),
            ("1e-400", StrictError::RoundedNumber),
            (
                r#"{"__proto__":{}}"#,
                StrictError::ForbiddenKey("__proto__".into()),
            ),
            (
                r#"{"a":[{"constructor":{"prototype":{}}}]}"#,
                StrictError::ForbiddenKey("constructor".into()),
            ),
            (&deep(ARGUMENTS_DEPTH_MAX + 2), StrictError::TooDeep),
            (&deep(100_000), StrictError::TooDeep),
            (&many, StrictError::TooMany),
            ("{\"a\":1,}", StrictError::Syntax { line: 1, column: 8 }),
            ("1e400", StrictError::RoundedNumber),
            ("{} {}", StrictError::Syntax { line: 1, column: 4 }),
        ];
        for (text, expected) in table {
            let shown = text.chars().take(60).collect::<String>();
            assert_eq!(parse_strict(text), Err(expected), "{shown}");
        }
        let large = format!("\"{}\"", "a".repeat(ARGUMENTS_BYTES_MAX));
        assert_eq!(parse_strict(&large), Err(StrictError::TooLarge));
    }

    #[test]
    fn ordinary_texts_pass_unchanged() {
        for text in [
            "null",
            r#"{"constructor":"Ferrari","a":[1,-1,1.5,true,"x\"y","12345678901234567890123"]}"#,
            "18446744073709551615",
            "-9223372036854775808",
            "1e300",
            "[0.1,1e3,1.50,3.141592653589793,9007199254740992.0]",
        ] {
            let value = parse_strict(text).unwrap();
            assert_eq!(value, serde_json::from_str::<Value>(text).unwrap());
            assert_eq!(check_value(&value), Ok(()));
        }
        let order = parse_strict(r#"{"b":1,"a":2}"#).unwrap();
        assert_eq!(order.to_string(), r#"{"b":1,"a":2}"#);
    }

    #[test]
    fn values_of_other_readers_are_held_to_the_same_limits() {
        let nested = |n: usize| (0..n).fold(Value::Null, |inner, _| Value::Array(vec![inner]));
        assert_eq!(check_value(&nested(ARGUMENTS_DEPTH_MAX)), Ok(()));
        let refused = check_value(&nested(ARGUMENTS_DEPTH_MAX + 1));
        assert_eq!(refused, Err(StrictError::TooDeep));
        let many = Value::Array(vec![Value::Null; ARGUMENTS_NODES_MAX]);
        assert_eq!(check_value(&many), Err(StrictError::TooMany));
        let polluting: Value = serde_json::from_str(r#"{"a":{"__proto__":1}}"#).unwrap();
        let refused = check_value(&polluting);
        assert_eq!(refused, Err(StrictError::ForbiddenKey("__proto__".into())));
    }

    proptest! {
        #[test]
        fn what_passes_is_what_any_reader_reads(text in r#"[\[\]{}:,"0-9a-b\\ .eE-]{0,40}"#) {
            if let Ok(value) = parse_strict(&text) {
                prop_assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
            }
        }
    }
}
