//! What must not be shown of a line whose file could not be read.

use toolcrib_core::secret::{name_is_secret, value_is_secret};

use super::{is_reference, key_is_secret};
use crate::reader::Format;
use crate::text::{Source, Span};

/// Lines above the place that are looked at for the keys that it stands under.
const LINES_ABOVE_MAX: usize = 2000;

/// The values of the line that may be secrets.
pub(super) fn guess(source: &Source, line: Span, shown: Span) -> Vec<Span> {
    let text = &source.text()[line.start..line.end];
    let inherited = match surroundings(source, line.start, text) {
        Surroundings::WholeLine => return vec![line],
        Surroundings::Values => true,
        Surroundings::Plain => false,
    };
    let mut walk = Walk {
        secret: vec![inherited],
        key_secret: false,
        after_flag: false,
    };
    let mut spans: Vec<Span> = Vec::new();
    let mut at = 0;
    while let Some((token, start)) = next_token(text, at) {
        at = start + token.len();
        if line.start + start >= shown.end {
            break;
        }
        if walk.hides(token, &text[at..]) {
            let span = Span::new(line.start + start, line.start + at);
            match spans.last_mut() {
                // Words of one value are one secret, so that not even their number is shown.
                Some(last) if is_gap(source, last.end, span.start) => last.end = span.end,
                _ => spans.push(span),
            }
        }
    }
    spans
}

fn is_gap(source: &Source, from: usize, to: usize) -> bool {
    source.text()[from..to].trim().is_empty()
}

/// Where a line stands.
enum Surroundings {
    /// Nowhere in particular.
    Plain,
    /// Where every value is a secret.
    Values,
    /// Inside text that may be one secret as a whole.
    WholeLine,
}

fn surroundings(source: &Source, line_start: usize, line: &str) -> Surroundings {
    let above = &source.text()[..line_start];
    let odd = |quote: &str| above.matches(quote).count() % 2 == 1;
    let inside_string = match Format::of(source.path()) {
        Some(Format::Toml) => odd("\"\"\"") || odd("'''"),
        Some(Format::Script) => odd("`"),
        _ => false,
    };
    if inside_string {
        return Surroundings::WholeLine;
    }
    let mut limit = indent_limit(line);
    let mut end = line_start;
    for _ in 0..LINES_ABOVE_MAX {
        if end == 0 {
            break;
        }
        let (start, above) = source.line_at(end - 1);
        end = start;
        if let Some(table) = table_header(above) {
            let secret = table
                .split('.')
                .any(|part| key_is_secret(part.trim_matches(QUOTES)));
            return if secret {
                Surroundings::Values
            } else {
                Surroundings::Plain
            };
        }
        let content = above.trim_start();
        let indent = above.len() - content.len();
        let sibling = content.starts_with("- ") && indent + 1 == limit;
        if content.is_empty() || content.starts_with(['#', '/']) || indent >= limit || sibling {
            continue;
        }
        if key_is_secret(key_of(content)) {
            let block = content.trim_end().trim_end_matches(['-', '+']);
            return if block.ends_with(['|', '>']) {
                Surroundings::WholeLine
            } else {
                Surroundings::Values
            };
        }
        limit = indent_limit(above);
    }
    Surroundings::Plain
}

const QUOTES: [char; 3] = ['"', '\'', ' '];

/// Lines with less indentation than this are above the line. The list under a key may stand in the
/// same column as the key.
fn indent_limit(line: &str) -> usize {
    let content = line.trim_start();
    let indent = line.len() - content.len();
    indent + usize::from(content.starts_with("- "))
}

/// The name in `[name]` or `[[name]]`, where a line is a table header of TOML.
fn table_header(line: &str) -> Option<&str> {
    let line = line.trim();
    let inner = line.strip_prefix('[')?;
    let inner = inner.strip_prefix('[').unwrap_or(inner);
    let (name, _) = inner.split_once(']')?;
    (!name.is_empty() && !name.contains([',', '{', ':', '['])).then_some(name)
}

/// The key that a line begins with: `name` of `- "name": value`, `name = value`, `const name = value`.
fn key_of(content: &str) -> &str {
    let content = content.trim_start_matches(['-', ' ', '{', '[', '(']);
    let key = content.split([':', '=']).next().unwrap_or_default();
    key.trim()
        .rsplit(' ')
        .next()
        .unwrap_or_default()
        .trim_matches(QUOTES)
}

/// The state while going along a line.
struct Walk {
    /// For each open bracket of the line, whether what it holds is secret.
    secret: Vec<bool>,
    key_secret: bool,
    after_flag: bool,
}

impl Walk {
    /// Whether a token must not be shown, given what follows it.
    fn hides(&mut self, token: &str, rest: &str) -> bool {
        let within = self.secret.last().copied().unwrap_or(false);
        match token {
            "{" | "[" | "(" => {
                self.secret.push(within || self.key_secret);
                self.key_secret = false;
                return false;
            }
            "}" | "]" | ")" => {
                if self.secret.len() > 1 {
                    self.secret.pop();
                }
                self.key_secret = false;
                return false;
            }
            "," | ";" => {
                // A comma may be a part of text without quotes, unless a bracket is open.
                if self.secret.len() > 1 {
                    self.key_secret = false;
                }
                return false;
            }
            ":" | "=" => return false,
            _ => {}
        }
        let bare = token.trim_matches(['"', '\'', '`']);
        let follows = rest.trim_start();
        if follows.starts_with([':', '=']) {
            self.key_secret = key_is_secret(bare);
            return false;
        }
        let after_flag = std::mem::replace(
            &mut self.after_flag,
            bare.starts_with('-') && name_is_secret(bare),
        );
        if matches!(bare, "true" | "false" | "null" | "-") || is_reference(bare) {
            return false;
        }
        within || self.key_secret || after_flag || value_is_secret(bare)
    }
}

/// The next token at or after `at`, with its start: a bracket, a separator, a string or a word.
fn next_token(text: &str, at: usize) -> Option<(&str, usize)> {
    let rest = &text[at..];
    let start = at + rest.find(|c: char| !c.is_whitespace())?;
    let rest = &text[start..];
    let first = rest.chars().next()?;
    let length = match first {
        '{' | '}' | '[' | ']' | '(' | ')' | ',' | ';' | ':' | '=' => 1,
        '"' | '\'' | '`' => string_length(rest, first),
        '$' if rest.starts_with("${") => rest.find('}').map_or(rest.len(), |end| end + 1),
        _ => rest
            .find(|c: char| c.is_whitespace() || "{}[](),;=\"'`".contains(c) || c == ':')
            .unwrap_or(rest.len()),
    };
    Some((&rest[..length], start))
}

fn string_length(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (index, c) in rest.char_indices().skip(1) {
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if c == quote {
            return index + 1;
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use crate::diagnostic::Diagnostic;
    use crate::text::{Source, Span};

    /// What is shown of a file that was not read, for a finding at `marked`.
    fn shown(name: &str, text: &str, marked: &str) -> String {
        let source = Source::new(name, text);
        let start = text.find(marked).unwrap();
        let span = Span::new(start, start + marked.len());
        Diagnostic::error("x").at(&source, span).to_string()
    }

    #[test]
    fn secrets_of_a_broken_file_are_not_shown() {
        let check = |name: &str, text: &str, marked: &str| {
            let shown = shown(name, text, marked);
            assert!(!shown.contains("hush"), "{shown}");
        };
        check("a.yaml", "env:\n  MODE: \"hush\n", "\"hush");
        check(
            "a.yaml",
            "s:\n  env:\n    A: x\n\n    MODE: hush, hush\n",
            "MODE",
        );
        check("a.yaml", "token: |\n  hush: hush\n", "hush");
        check("a.yaml", "env:\n- name: A\n  value: hush it\n", "value");
        check(
            "a.yaml",
            "s:\n  headers:\n    # c\n    Auth: Custom hush\n",
            "Custom",
        );
        check(
            "a.json",
            "{\"env\": {\"A\": \"hush\", \"B\": 'hush'}}",
            "'hush'",
        );
        check("a.json", "{\n  \"env\": {\n    \"A\": \"hush\n", "\"hush");
        check("a.json", "{\"args\": [\"--api-key\", \"hush\", x]}", "x]");
        check("a.toml", "[s.x.env]\nA = \"hush\n", "A");
        check("a.toml", "password = \"\"\"\nhush \\q\n", "\\q");
        check("a.ts", "export default {\n  env: {\n    A: 'hush,\n", "A");
        check("a.ts", "const token = `\nhush ${\n", "${");
        check("a.ts", "export default { apiKey: 'hush', b: x( }", "x(");
        check(
            "a.json",
            "{\"url\": \"https://me:hush@example.com/x\", y}",
            "y",
        );
        check("a.json", "{\"a\": \"ghp_hushhushhushhushhush\", y}", "y");
        let long = format!("{{\"env\": {{\"A\": \"{}hush\"}} x}}", "hush".repeat(2000));
        check("a.json", &long, "} x");
        let long = format!("{{\"a\": \"{}\" x}}", "hush".repeat(2000));
        check("a.json", &long.replace("\"a\"", "\"secret\""), " x");
    }

    #[test]
    fn what_a_broken_file_is_about_is_shown() {
        let check = |name: &str, text: &str, marked: &str| {
            let shown = shown(name, text, marked);
            assert!(shown.contains(marked), "{shown}");
        };
        check(
            "a.json",
            "{\"env\": {\"A\": \"x\"}, \"enabled\": tru}",
            "tru",
        );
        check("a.yaml", "env:\n  A: x\nname: [a b\n", "[a b");
        check("a.yaml", "env:\n  A: ${B}\n", "${B}");
        check(
            "a.toml",
            "[s.x.env]\nA = 'b'\n[s.x]\nname = hello\n",
            "hello",
        );
        check("a.ts", "export default {\n  name: 'x' y\n", "y");
    }
}
