//! Answers of tools as values, also where a server writes what is not quite JSON: nothing of them is lost.

use serde_json::value::RawValue;
use serde_json::{Value, json};

/// A tool's answer. Halves of a character, which programs leave that cut a text in the middle of one, are
/// read as U+FFFD. What cannot be read even so, such as a tree that is too deep, is one text.
pub fn value(answer: &RawValue) -> Value {
    let text = answer.get();
    serde_json::from_str(text)
        .or_else(|_| serde_json::from_str(&mended(text)))
        .unwrap_or_else(|_| json!({"content": [{"type": "text", "text": text}]}))
}

/// The text with every escape of half a character replaced.
fn mended(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let taken = match (unit(rest), rest.get(6..).and_then(unit)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
            (Some(0xD800..=0xDFFF), _) => {
                out.push_str("\\ufffd");
                rest = &rest[6..];
                continue;
            }
            // An escape is two characters at least, and the second may be a backslash too.
            _ => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
        };
        out.push_str(&rest[..taken]);
        rest = &rest[taken..];
    }
    out.push_str(rest);
    out
}

/// The number in an escape such as `\u00e4` at the beginning of a text.
fn unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(answer: &str, expect: &Value) {
        let raw = RawValue::from_string(answer.to_owned()).unwrap();
        assert_eq!(value(&raw), *expect, "{answer}");
    }

    #[test]
    fn halves_of_a_character_are_replaced_and_everything_else_stays() {
        check(r#"{"a":"\ud83d\ude00"}"#, &json!({"a": "😀"}));
        check(
            r#"{"a":"cut \ud83d","b":1}"#,
            &json!({"a": "cut \u{fffd}", "b": 1}),
        );
        check(
            r#""\ude00 \ud83d\ud83d\ude00""#,
            &json!("\u{fffd} \u{fffd}😀"),
        );
        check(r#""\\ud83d \ud83d\n\"ä""#, &json!("\\ud83d \u{fffd}\n\"ä"));
        check(r#""\ud83d\\""#, &json!("\u{fffd}\\"));
    }

    #[test]
    fn what_is_too_deep_to_be_read_is_a_text() {
        let deep = format!(
            "{{\"structuredContent\":{}{}}}",
            "[".repeat(200),
            "]".repeat(200)
        );
        let expect = json!({"content": [{"type": "text", "text": deep}]});
        check(&deep, &expect);
    }
}
