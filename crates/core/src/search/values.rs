//! Values in a query: what is to be handed over, not what is asked for.
//!
//! "send 3 files from /tmp/out to ann@example.com" asks for a tool that sends; the number, the path
//! and the address are its arguments. They tell which kinds of parameters the tool should have.

use serde_json::Value;

/// Kinds of values, as bits.
pub(crate) mod kind {
    pub(crate) const NUMBER: u16 = 1;
    pub(crate) const EMAIL: u16 = 1 << 1;
    pub(crate) const URL: u16 = 1 << 2;
    pub(crate) const PATH: u16 = 1 << 3;
    pub(crate) const DATE: u16 = 1 << 4;
    pub(crate) const QUOTED: u16 = 1 << 5;
    pub(crate) const CODE: u16 = 1 << 6;
}

/// A stretch of a query that is a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// First byte.
    pub(crate) start: usize,
    /// First byte after it.
    pub(crate) end: usize,
    /// One of [`kind`].
    pub(crate) kind: u16,
}

/// The values in `text`, in order, none within another.
pub(crate) fn spans(text: &str) -> Vec<Span> {
    let mut out = quoted(text);
    let mut at = 0;
    while let Some(offset) = text[at..].find(|c: char| !c.is_whitespace()) {
        let start = at + offset;
        let end = text[start..]
            .find(char::is_whitespace)
            .map_or(text.len(), |n| start + n);
        at = end;
        let chunk = text[start..end].trim_matches(is_wrapping);
        let Some(kind) = value_kind(chunk) else {
            continue;
        };
        let start = start + text[start..end].find(chunk).unwrap_or(0);
        let end = start + chunk.len();
        if !out.iter().any(|s| s.start < end && start < s.end) {
            out.push(Span { start, end, kind });
        }
    }
    out.sort_unstable_by_key(|s| s.start);
    out
}

fn is_wrapping(c: char) -> bool {
    matches!(
        c,
        ',' | ';' | '!' | '?' | '(' | ')' | '[' | ']' | '"' | '\'' | '`' | '“' | '”' | ':'
    ) || c == '.'
}

/// Longest text between quotes that is taken for one value.
const QUOTED_BYTES_MAX: usize = 200;

fn quoted(text: &str) -> Vec<Span> {
    const PAIRS: [(char, char); 5] = [('"', '"'), ('\'', '\''), ('`', '`'), ('“', '”'), ('«', '»')];
    let mut out: Vec<Span> = Vec::new();
    let mut before = ' ';
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        let opens = PAIRS.iter().find(|(open, _)| *open == c);
        // An apostrophe inside a word opens nothing.
        let apostrophe = c == '\'' && before.is_alphanumeric();
        before = c;
        let Some((_, close)) = opens.filter(|_| !apostrophe) else {
            continue;
        };
        let from = at + c.len_utf8();
        let closing = text[from..].char_indices().find(|&(offset, k)| {
            let after = text[from + offset + k.len_utf8()..].chars().next();
            k == *close && !(*close == '\'' && after.is_some_and(char::is_alphanumeric))
        });
        if let Some((length, k)) = closing
            && (1..=QUOTED_BYTES_MAX).contains(&length)
        {
            let end = from + length + k.len_utf8();
            out.push(Span {
                start: at,
                end,
                kind: kind::QUOTED,
            });
            while chars.as_str().len() > text.len() - end {
                if chars.next().is_none() {
                    break;
                }
            }
            before = ' ';
        }
    }
    out
}

fn value_kind(chunk: &str) -> Option<u16> {
    // An ordinary word is no value; that is seen at a glance.
    if chunk.bytes().all(|b| b.is_ascii_alphabetic()) {
        return None;
    }
    let has_digit = chunk.bytes().any(|b| b.is_ascii_digit());
    if chunk.contains("://") || chunk.starts_with("www.") {
        return Some(kind::URL);
    }
    if let Some((user, host)) = chunk.split_once('@')
        && !user.is_empty()
        && host.contains('.')
    {
        return Some(kind::EMAIL);
    }
    let slashes = chunk.matches(['/', '\\']).count();
    if chunk.starts_with(['/', '~']) && chunk.len() > 1
        || chunk.starts_with("./")
        || chunk.starts_with("../")
        || slashes >= 2 && !has_digit
        || chunk.get(1..3) == Some(":\\")
    {
        return Some(kind::PATH);
    }
    if has_digit
        && chunk
            .bytes()
            .all(|b| b.is_ascii_digit() || b"-/.:".contains(&b))
        && chunk.matches(['-', '/', ':']).count() >= 1
    {
        return Some(kind::DATE);
    }
    if has_digit
        && chunk
            .trim_start_matches(['$', '€', '£', '#', '+', '-'])
            .trim_end_matches('%')
            .bytes()
            .all(|b| b.is_ascii_digit() || b".,".contains(&b))
    {
        return Some(kind::NUMBER);
    }
    if let Some((stem, ending)) = chunk.rsplit_once('.')
        && !stem.is_empty()
        && (2..=5).contains(&ending.len())
        && ending
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        && ending.bytes().any(|b| b.is_ascii_lowercase())
    {
        return Some(if matches!(ending, "com" | "org" | "net" | "io" | "dev") {
            kind::URL
        } else {
            kind::PATH
        });
    }
    let digits = chunk.bytes().filter(u8::is_ascii_digit).count();
    (chunk.len() >= 6 && digits >= 2 && digits * 4 >= chunk.len()).then_some(kind::CODE)
}

/// The kinds of values that a parameter takes, by its name and schema.
pub(crate) fn kinds_taken(name: &str, schema: &Value) -> u16 {
    let name = name.to_ascii_lowercase();
    let format = schema
        .get("format")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let declared = schema
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let has = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
    let mut kinds = 0;
    if matches!(declared, "number" | "integer" | "int" | "float") {
        kinds |= kind::NUMBER;
    }
    if has(&["email", "recipient"]) || format == "email" {
        kinds |= kind::EMAIL;
    }
    if has(&["url", "uri", "link", "website", "domain"]) || format == "uri" {
        kinds |= kind::URL;
    }
    if has(&["path", "file", "dir", "folder"]) {
        kinds |= kind::PATH;
    }
    if has(&["date", "time", "start", "end", "since", "until", "day"]) || format.starts_with("date")
    {
        kinds |= kind::DATE;
    }
    if name == "id"
        || name.ends_with("_id")
        || name.ends_with("id")
        || has(&["code", "key", "token", "number"])
    {
        kinds |= kind::CODE;
    }
    if matches!(declared, "string" | "str") {
        kinds |= kind::QUOTED;
    }
    kinds
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(text: &str, expect: &[(&str, u16)]) {
        let found: Vec<_> = spans(text)
            .iter()
            .map(|s| (&text[s.start..s.end], s.kind))
            .collect();
        assert_eq!(found, expect, "{text}");
    }

    #[test]
    fn values_are_told_from_words() {
        check(
            "send 3 files from /tmp/out to ann@example.com.",
            &[
                ("3", kind::NUMBER),
                ("/tmp/out", kind::PATH),
                ("ann@example.com", kind::EMAIL),
            ],
        );
        check(
            "open https://a.b/c?d=1, please",
            &[("https://a.b/c?d=1", kind::URL)],
        );
        check("visit example.com", &[("example.com", kind::URL)]);
        check("read README.md", &[("README.md", kind::PATH)]);
        check("read notes.txt", &[("notes.txt", kind::PATH)]);
        check(
            "on 2024-05-01 at 10:30",
            &[("2024-05-01", kind::DATE), ("10:30", kind::DATE)],
        );
        check(
            "order #4411 for $12.50",
            &[("#4411", kind::NUMBER), ("$12.50", kind::NUMBER)],
        );
        check("track 1Z999AA10", &[("1Z999AA10", kind::CODE)]);
        check("I don't know what's new", &[]);
        check("say 'it's here' now", &[("'it's here'", kind::QUOTED)]);
        check(
            "post “héllo wörld” there",
            &[("“héllo wörld”", kind::QUOTED)],
        );
        check("create issue", &[]);
    }

    #[test]
    fn parameters_tell_what_they_take() {
        assert_eq!(
            kinds_taken("email", &json!({"type": "string"})),
            kind::EMAIL | kind::QUOTED
        );
        assert_eq!(kinds_taken("n", &json!({"type": "integer"})), kind::NUMBER);
        assert_eq!(kinds_taken("page_url", &json!({})), kind::URL);
        assert_eq!(kinds_taken("userId", &json!({})), kind::CODE);
        assert_eq!(
            kinds_taken("x", &json!({"format": "date-time"})),
            kind::DATE
        );
        assert_eq!(kinds_taken("filePath", &json!({})), kind::PATH);
    }
}
