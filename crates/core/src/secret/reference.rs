//! References to variables, such as `${TOKEN}`: they say where a secret is, and not the secret.

use super::value_is_secret;

/// What may stand before the name.
const SOURCES: &[&str] = &["env:", "input:", "secrets."];

/// A reference at the front of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reference<'a> {
    /// How long it is, in bytes.
    pub(super) length: usize,
    /// The variable.
    pub(super) name: &'a str,
    /// What holds where the variable is not set, and where that begins.
    pub(super) default: Option<(usize, &'a str)>,
}

impl<'a> Reference<'a> {
    /// Reads `${NAME}`, `${NAME:-default}`, `${env:NAME}`, `${input:name}`, `${{ secrets.NAME }}` or `{env:NAME}`.
    pub(super) fn at_front(text: &'a str) -> Option<Self> {
        let (inner_at, close) = if text.starts_with("${{") {
            (3, "}}")
        } else if text.starts_with("${") {
            (2, "}")
        } else if text.starts_with("{env:") {
            (1, "}")
        } else {
            return None;
        };
        let inner_end = inner_at + text[inner_at..].find(close)?;
        let inner = text[inner_at..inner_end].trim();
        let source = SOURCES.iter().find(|source| inner.starts_with(**source));
        let inner = &inner[source.map_or(0, |source| source.len())..];
        let (name, default) = match inner.split_once(":-") {
            Some((name, default)) => (name, Some((inner_end - default.len(), default))),
            None => (inner, None),
        };
        is_name(name).then_some(Self {
            length: inner_end + close.len(),
            name,
            default,
        })
    }
}

/// Whether a text can be the name of a variable, and has not the look of a secret itself.
fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
        && !value_is_secret(text)
}

/// Whether a value consists of references alone, a scheme such as `Bearer` before them left aside.
pub fn only_refers(value: &str) -> bool {
    let scheme = ["Bearer ", "Basic "]
        .iter()
        .find_map(|scheme| value.strip_prefix(scheme));
    let mut rest = scheme.unwrap_or(value).trim();
    let mut found = false;
    while let Some(reference) = Reference::at_front(rest) {
        if reference.default.is_some() {
            return false;
        }
        found = true;
        rest = &rest[reference.length..];
    }
    found && rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_told_from_secrets() {
        let check =
            |value: &str, expected: bool| assert_eq!(only_refers(value), expected, "{value}");
        check("${TOKEN}", true);
        check("Bearer ${TOKEN}", true);
        check("${env:TOKEN}${OTHER}", true);
        check("${input:api-key}", true);
        check("${{ secrets.TOKEN }}", true);
        check("{env:TOKEN}", true);
        check("${TOKEN}hush", false);
        check("hush${TOKEN}", false);
        check("${TOKEN:-hush}", false);
        check("${TOKEN", false);
        check("${}", false);
        check("${hush hush}", false);
        check("${ghp_0123456789abcdefghij}", false);
        check("{hush}", false);
        check("Bearer ", false);
    }

    #[test]
    fn a_default_is_found_where_it_stands() {
        let text = "${TOKEN:-hush it} more";
        let reference = Reference::at_front(text).unwrap();
        let (at, default) = reference.default.unwrap();
        assert_eq!((reference.name, default), ("TOKEN", "hush it"));
        assert!(text[at..].starts_with("hush"));
        assert_eq!(&text[reference.length..], " more");
    }
}
