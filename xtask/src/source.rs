//! Reading Rust source well enough to tell code, comments and strings apart.
//!
//! It is what the checks need that look at text: which lines are tests, which crate names a library,
//! where SQL stands. It reads tokens, not grammar.

use std::ops::Range;
use std::path::{Path, PathBuf};

/// What a byte of a source file belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Code,
    Comment,
    Text,
}

/// A source file, each byte known as code, comment or string.
#[derive(Debug)]
pub(crate) struct Source<'a> {
    text: &'a str,
    kinds: Vec<Kind>,
}

impl<'a> Source<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self {
            text,
            kinds: classify(text.as_bytes()),
        }
    }

    /// The code alone: comments and the content of strings are blanks, lines stay where they are.
    pub(crate) fn code(&self) -> String {
        self.only(Kind::Code)
    }

    /// The content of string literals alone.
    #[cfg(test)]
    pub(crate) fn strings(&self) -> String {
        self.only(Kind::Text)
    }

    fn only(&self, kind: Kind) -> String {
        let bytes = self.text.bytes().zip(&self.kinds);
        let kept: Vec<u8> = bytes
            .map(|(byte, of)| {
                if *of == kind || byte == b'\n' {
                    byte
                } else {
                    b' '
                }
            })
            .collect();
        String::from_utf8_lossy(&kept).into_owned()
    }

    /// The lines (counted from 1) that are compiled for tests only: items under `#[cfg(test)]`.
    pub(crate) fn test_lines(&self) -> Vec<Range<usize>> {
        let code = self.code();
        let items = test_items(&code);
        let line_of = |at: usize| code[..at].matches('\n').count() + 1;
        items
            .into_iter()
            .map(|item| line_of(item.start)..line_of(item.end) + 1)
            .collect()
    }

    /// The names of modules that are declared under `#[cfg(test)]` and stand in their own file.
    pub(crate) fn test_modules(&self) -> Vec<String> {
        let code = self.code();
        let mut names = Vec::new();
        for item in test_items(&code) {
            let words: Vec<&str> = code[item].split_whitespace().collect();
            let name = words.iter().skip_while(|word| **word != "mod").nth(1);
            names.extend(
                name.and_then(|word| word.strip_suffix(';'))
                    .map(str::to_owned),
            );
        }
        names
    }
}

/// The items under `#[cfg(test)]`, as ranges of bytes.
fn test_items(code: &str) -> Vec<Range<usize>> {
    let mut items: Vec<Range<usize>> = Vec::new();
    for (start, _) in code.match_indices("#[cfg(") {
        let Some(condition) = code[start + 6..].split(']').next() else {
            continue;
        };
        if !is_test_condition(condition) || items.last().is_some_and(|last| start < last.end) {
            continue;
        }
        items.push(start..end_of_item(code, start + 6 + condition.len() + 1));
    }
    items
}

/// Whether `test)` or `all(test, …))` stands in the attribute: the item exists in test builds only.
fn is_test_condition(condition: &str) -> bool {
    let condition: String = condition.chars().filter(|c| !c.is_whitespace()).collect();
    condition == "test)"
        || condition.starts_with("all(test,")
        || condition.ends_with(",test))") && condition.starts_with("all(")
}

/// The end (exclusive) of the item that begins at `from`: after its closing brace or its semicolon.
fn end_of_item(code: &str, from: usize) -> usize {
    let mut depth = 0_usize;
    for (offset, byte) in code.bytes().enumerate().skip(from) {
        match byte {
            b'{' | b'(' | b'[' => depth += 1,
            b'}' | b')' | b']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 && byte == b'}' {
                    return offset + 1;
                }
            }
            b';' if depth == 0 => return offset + 1,
            _ => {}
        }
    }
    code.len()
}

fn classify(bytes: &[u8]) -> Vec<Kind> {
    let mut kinds = vec![Kind::Code; bytes.len()];
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let (length, kind) = if rest.starts_with(b"//") {
            (
                rest.iter()
                    .position(|byte| *byte == b'\n')
                    .unwrap_or(rest.len()),
                Kind::Comment,
            )
        } else if rest.starts_with(b"/*") {
            (block_comment(rest), Kind::Comment)
        } else if let Some(length) = raw_string(rest, at.checked_sub(1).map(|before| bytes[before]))
        {
            (length, Kind::Text)
        } else if rest[0] == b'"' {
            (quoted(rest, b'"'), Kind::Text)
        } else if rest[0] == b'\'' && is_char(rest) {
            (quoted(rest, b'\''), Kind::Text)
        } else {
            (1, Kind::Code)
        };
        kinds[at..at + length].fill(kind);
        at += length;
    }
    kinds
}

fn block_comment(rest: &[u8]) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < rest.len() {
        if rest[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                break;
            }
        } else {
            at += 1;
        }
    }
    at
}

/// The length of a raw string that begins here (`r"`, `r#"`, `br"`, `cr"`), if one does.
fn raw_string(rest: &[u8], before: Option<u8>) -> Option<usize> {
    if before.is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return None;
    }
    let mut at = usize::from(matches!(rest[0], b'b' | b'c'));
    if rest.get(at) != Some(&b'r') {
        return None;
    }
    at += 1;
    let hashes = rest[at..].iter().take_while(|byte| **byte == b'#').count();
    at += hashes;
    if rest.get(at) != Some(&b'"') {
        return None;
    }
    let mut end = vec![b'"'];
    end.resize(hashes + 1, b'#');
    let body = &rest[at + 1..];
    let close = body
        .windows(end.len())
        .position(|window| window == end)
        .map_or(body.len(), |found| found + end.len());
    Some(at + 1 + close)
}

/// The length of a quoted literal with backslash escapes.
fn quoted(rest: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            b'\\' => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// Whether a `'` begins a character rather than a lifetime.
fn is_char(rest: &[u8]) -> bool {
    match rest.get(1) {
        Some(b'\\') => true,
        Some(first) => {
            let width = match first {
                0..0x80 => 1,
                0x80..0xe0 => 2,
                0xe0..0xf0 => 3,
                0xf0.. => 4,
            };
            rest.get(1 + width) == Some(&b'\'')
        }
        None => false,
    }
}

/// Every file below `dir` whose name ends with `ending`, in a stable order, without `target` and hidden folders.
pub(crate) fn files_below(dir: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        let Ok(entries) = std::fs::read_dir(&dir) else {
            continue;
        };
        for path in entries.flatten().map(|entry| entry.path()) {
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            if path.is_dir() && !path.is_symlink() {
                if name != "target" && name != "node_modules" && !name.starts_with('.') {
                    open.push(path);
                }
            } else if name.ends_with(ending) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_comments_and_strings_are_told_apart() {
        let text = "let a = \"sql // no\"; // \"not a string\"\n/* axum /* nested */ */ let b = r#\"raw \" // x\"#; let c = '\"'; fn f<'a>() {}";
        let source = Source::new(text);
        let code = source.code();
        assert!(
            !code.contains("sql")
                && !code.contains("axum")
                && !code.contains("raw")
                && !code.contains("not a string")
        );
        assert!(
            code.contains("let b =") && code.contains("fn f<'a>() {}"),
            "{code}"
        );
        assert!(source.strings().contains("sql // no") && source.strings().contains("raw \" // x"));
        assert!(!source.strings().contains("not a string"));
    }

    #[test]
    fn escapes_do_not_end_a_string() {
        let source = Source::new(r#"f("a \" b", b'\'', '\\', "é"); g(x);"#);
        assert!(source.code().contains("g(x);"));
        assert!(!source.code().contains(" b\""));
    }

    #[test]
    fn test_modules_are_found_with_their_lines() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() { \"}\"; }\n}\nfn c() {}\n#[cfg(test)]\nmod cases;\n#[cfg(all(test, unix))]\nfn d() {\n}\n";
        let source = Source::new(text);
        assert_eq!(source.test_lines(), [2..6, 7..9, 9..12]);
        assert_eq!(source.test_modules(), ["cases"]);
    }

    #[test]
    fn code_that_exists_outside_tests_counts() {
        let source = Source::new(
            "#[cfg(not(test))]\nfn a() {}\n#[cfg(any(test, feature = \"x\"))]\nfn b() {}\n",
        );
        assert!(source.test_lines().is_empty());
    }

    #[test]
    fn an_attribute_between_does_not_end_the_item() {
        let source = Source::new(
            "#[cfg(test)]\n#[expect(dead_code, reason = \"x;\")]\nmod tests {\n}\nfn a() {}\n",
        );
        assert_eq!(source.test_lines(), vec![Range { start: 1, end: 5 }]);
    }
}
