//! What a YAML scalar stands for, by the core schema of YAML 1.2: `yes`, `no`, `on` and `off` are text.

use granit_parser::{ScalarStyle, Tag};
use serde_json::Number;

use super::super::tally::{NUMBER_HELP, NUMBER_TOO_LARGE, number};
use crate::node::Value;

/// Why a scalar has no value.
pub(super) struct Fault {
    pub(super) message: String,
    pub(super) help: &'static str,
}

impl Fault {
    fn new(message: impl Into<String>, help: &'static str) -> Self {
        Self {
            message: message.into(),
            help,
        }
    }
}

/// Whether the tag is a lone `!`, which says "text".
pub(super) fn is_plain_bang(tag: &Tag) -> bool {
    tag.original() == "!"
}

/// The value of a scalar.
pub(super) fn resolve(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Result<Value, Fault> {
    match tag.and_then(Tag::core_suffix) {
        Some("str") => Ok(string(text)),
        Some(kind) => {
            let value = plain(text)?;
            let fits = match (kind, &value) {
                ("null", Value::Null) | ("bool", Value::Bool(_)) | ("float", Value::Number(_)) => {
                    true
                }
                ("int", Value::Number(number)) => !number.is_f64(),
                _ => false,
            };
            if fits {
                Ok(value)
            } else {
                Err(Fault::new(
                    format!("the tag !!{kind} does not fit this value"),
                    "remove the tag",
                ))
            }
        }
        None if tag.is_some() || style != ScalarStyle::Plain => Ok(string(text)),
        None => plain(text),
    }
}

fn string(text: &str) -> Value {
    Value::String(text.to_owned())
}

/// The value of a scalar without quotes.
fn plain(text: &str) -> Result<Value, Fault> {
    let too_large = || Fault::new(NUMBER_TOO_LARGE, NUMBER_HELP);
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Ok(Value::Null),
        "true" | "True" | "TRUE" => return Ok(Value::Bool(true)),
        "false" | "False" | "FALSE" => return Ok(Value::Bool(false)),
        ".nan" | ".NaN" | ".NAN" => {
            return Err(Fault::new(
                "a configuration has no use for a number that is not one",
                "write a finite number, or put .nan in quotes",
            ));
        }
        _ => {}
    }
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") {
        return Err(Fault::new(
            "a configuration has no use for an infinite number",
            "write a finite number, or put .inf in quotes",
        ));
    }
    if let Some(digits) = text.strip_prefix("0x") {
        return radix(text, digits, 16).ok_or_else(too_large);
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return radix(text, digits, 8).ok_or_else(too_large);
    }
    if !is_number(unsigned) {
        return Ok(string(text));
    }
    let text = text.strip_prefix('+').unwrap_or(text);
    number(text).map(Value::Number).ok_or_else(too_large)
}

/// A number in another base, text where it has other characters, nothing where it is too large.
fn radix(text: &str, digits: &str, base: u32) -> Option<Value> {
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(base)) {
        return Some(string(text));
    }
    u64::from_str_radix(digits, base)
        .ok()
        .map(|value| Value::Number(Number::from(value)))
}

/// `12`, `1.5`, `.5`, `1.`, `1e3`: digits, at most one point, at most one exponent.
fn is_number(text: &str) -> bool {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent_fits = exponent.is_none_or(|exponent| {
        let exponent = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        !exponent.is_empty() && digits(exponent)
    });
    digits(whole) && digits(fraction) && !(whole.is_empty() && fraction.is_empty()) && exponent_fits
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn plain_scalars_follow_the_core_schema() {
        let check = |text: &str, expected: serde_json::Value| {
            let value = plain(text).map_err(|fault| fault.message).unwrap();
            let node = crate::node::Node::new(value, crate::text::Span::default());
            assert_eq!(node.to_json(), expected, "{text}");
        };
        check("", json!(null));
        check("~", json!(null));
        check("True", json!(true));
        check("yes", json!("yes"));
        check("off", json!("off"));
        check("n", json!("n"));
        check("-12", json!(-12));
        check("+12", json!(12));
        check("007", json!(7));
        check("0x1F", json!(31));
        check("0o17", json!(15));
        check("0xZZ", json!("0xZZ"));
        check("1.5", json!(1.5));
        check(".5", json!(0.5));
        check("1.", json!(1.0));
        check("-1e3", json!(-1000.0));
        check(".", json!("."));
        check("-", json!("-"));
        check("1e", json!("1e"));
        check("1.2.3", json!("1.2.3"));
        check("1_000", json!("1_000"));
        check("2024-01-02", json!("2024-01-02"));
        check("12:30", json!("12:30"));
    }

    #[test]
    fn numbers_that_cannot_be_kept_are_refused() {
        for text in [
            ".inf",
            "-.INF",
            ".nan",
            "1e999",
            "123456789012345678901234567890",
            "0xFFFFFFFFFFFFFFFFFF",
        ] {
            assert!(plain(text).is_err(), "{text}");
        }
    }
}
