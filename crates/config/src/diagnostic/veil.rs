//! Which places of a file must not be shown.
//!
//! Once a file has been read, its tree tells: values under `env`, under `headers`, and under names
//! that say secret. A file that cannot be read has no tree; then the line itself, the keys that its
//! indentation puts it under and the table that it stands in have to do, and in doubt a value is
//! not shown.

mod line;

use toolcrib_core::secret::{name_is_secret, only_refers, value_is_secret};

use crate::node::{Node, Value};
use crate::text::{Source, Span};

/// Keys whose values are all secrets, whatever the names under them.
const SECRET_MAPS: &[&str] = &[
    "env",
    "envs",
    "environment",
    "env_vars",
    "headers",
    "http_headers",
    "httpheaders",
    "secrets",
];

/// Whether everything under this key must not be shown.
fn key_is_secret(key: &str) -> bool {
    SECRET_MAPS.contains(&key.to_ascii_lowercase().as_str()) || name_is_secret(key)
}

/// Whether a value only names a variable, which says nothing about its content.
fn is_reference(text: &str) -> bool {
    if only_refers(text) {
        return true;
    }
    let inner = text
        .strip_prefix("${")
        .or_else(|| text.strip_prefix('{'))
        .and_then(|text| text.strip_suffix('}'))
        .or_else(|| text.strip_prefix('$'))
        .unwrap_or_default();
    let name = inner.strip_prefix("env:").unwrap_or(inner);
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The places of a tree that must not be shown.
pub(crate) fn secrets_of(root: &Node) -> Vec<Span> {
    let mut spans = Vec::new();
    collect(root, false, &mut spans);
    spans
}

fn collect(node: &Node, secret: bool, spans: &mut Vec<Span>) {
    match &node.value {
        Value::String(text) if value_is_secret(text) || secret && !is_reference(text) => {
            spans.push(node.span);
        }
        Value::Number(_) if secret => spans.push(node.span),
        Value::List(items) => {
            let mut after_flag = false;
            for item in items {
                collect(item, secret || after_flag, spans);
                after_flag = item.as_str().is_some_and(|text| {
                    text.starts_with('-') && name_is_secret(text) && !text.contains('=')
                });
            }
        }
        Value::Map(entries) => {
            for entry in entries {
                collect(&entry.value, secret || key_is_secret(&entry.key), spans);
            }
        }
        _ => {}
    }
}

/// The places within `shown`, a part of the line at `line`, that must not be shown, in order.
pub(super) fn on_line(source: &Source, line: Span, shown: Span) -> Vec<Span> {
    let known = match source.secrets() {
        Some(known) => {
            // Places of one tree may enclose each other only as a map does its values, and maps are
            // not among them, so the ends are in order too.
            let first = known.partition_point(|span| span.end <= shown.start);
            let within = |span: &&Span| span.start < shown.end;
            known[first..].iter().take_while(within).copied().collect()
        }
        None => line::guess(source, line, shown),
    };
    let clip = |span: Span| Span::new(span.start.max(shown.start), span.end.min(shown.end));
    known
        .into_iter()
        .map(clip)
        .filter(|span| span.start < span.end)
        .collect()
}

#[cfg(test)]
mod tests {
    use crate::diagnostic::Diagnostic;
    use crate::reader::{Format, read};
    use crate::text::{Source, Span};

    /// What is shown of a file that was read, for a finding about `marked`.
    fn shown(format: Format, text: &str, marked: &str) -> String {
        let source = Source::new("test", text);
        read(&source, format).unwrap();
        let start = text.find(marked).unwrap();
        let span = Span::new(start, start + marked.len());
        Diagnostic::error("x").at(&source, span).to_string()
    }

    #[test]
    fn values_of_a_tree_that_was_read_are_not_shown_where_they_are_secrets() {
        let check = |format, text: &str, marked: &str| {
            let shown = shown(format, text, marked);
            assert!(!shown.contains("hush"), "{shown}");
            assert!(shown.contains("***"), "{shown}");
        };
        check(Format::Yaml, "env:\n  MODE: hush\n", "hush");
        check(Format::Yaml, "env:\n  MODE: hush\n", "MODE");
        check(Format::Yaml, "headers: {X-Mode: hush, b: 1}\n", "b");
        check(
            Format::Yaml,
            "token: |\n  hush\n  hush\nb: 1\n",
            "hush\n  hush",
        );
        check(Format::Yaml, "token: >-\n  hush\n  hush it\nb: 1\n", "it");
        check(Format::Yaml, "password: 'hush\n  hush'\n", "hush'");
        check(Format::Yaml, "args: [--token, hush]\n", "--token");
        check(
            Format::Jsonc,
            "{\"env\": {\"A\": \"hush\"}, \"b\": 1}",
            "\"b\"",
        );
        check(Format::Jsonc, "{\"apiKey\": \"hush\"}", "\"hush\"");
        check(
            Format::Toml,
            "[s.env]\nA = \"\"\"\nhush\nhush\n\"\"\"\n",
            "hush\nhush",
        );
        check(Format::Toml, "[s.env]\nA = 'hush'\n", "A");
        check(Format::Script, "export default { env: { A: 'hush' } }", "A");
    }

    #[test]
    fn what_is_no_secret_is_shown() {
        let check = |format, text: &str, marked: &str| {
            let shown = shown(format, text, marked);
            assert!(shown.contains(marked) && !shown.contains("***"), "{shown}");
        };
        check(Format::Yaml, "env:\n  A: ${TOKEN_A}\n", "${TOKEN_A}");
        check(
            Format::Yaml,
            "headers: {Authorization: \"Bearer ${TOKEN}\"}\n",
            "Bearer ${TOKEN}",
        );
        check(Format::Yaml, "env:\n  A: true\n", "true");
        check(Format::Yaml, "enabled: \"yes\"\n", "\"yes\"");
        check(Format::Yaml, "maxTokens: many\n", "many");
    }
}
