//! The line of a finding with the place underlined, and nothing on it that must not be shown.

use std::fmt;

use toolcrib_core::secret::{self, MASK};
use unicode_width::UnicodeWidthChar as _;

use super::veil;
use crate::text::{Source, Span};

/// Columns shown before the place, and from its beginning on.
const SHOWN_COLUMNS_MAX: usize = 50;
/// Bytes before and after the place that are looked at: a name that says that a value is a secret
/// stands before it.
const CONTEXT_BYTES_MAX: usize = 2048;
/// Columns that a tab takes.
const TAB_COLUMNS: usize = 4;

/// Writes the margin, the line and the carets.
pub(super) fn write(
    f: &mut fmt::Formatter<'_>,
    source: &Source,
    span: Span,
    line: usize,
    margin: usize,
) -> fmt::Result {
    let (head, body, rest) = parts(source, span);
    let head = last_columns(&head, SHOWN_COLUMNS_MAX);
    let body = first_columns(&body, SHOWN_COLUMNS_MAX);
    let rest = first_columns(&rest, SHOWN_COLUMNS_MAX - columns(&body));
    let carets = columns(&body).max(1);
    let pad = columns(&head);
    write!(f, "\n{:margin$} |\n{line} | {head}{body}{rest}", "")?;
    write!(f, "\n{:margin$} | {:pad$}{}", "", "", "^".repeat(carets))
}

/// What stands before, at and after the place on its line, secrets masked.
fn parts(source: &Source, span: Span) -> (String, String, String) {
    let (line_start, line) = source.line_at(span.start);
    let line_end = line_start + line.len();
    let at = source.boundary(span.start).min(line_end);
    let to = source.boundary(span.end.min(line_end).min(at + CONTEXT_BYTES_MAX));
    let to = to.max(at);
    let start = source.boundary(at.saturating_sub(CONTEXT_BYTES_MAX).max(line_start));
    let end = source.boundary(to.saturating_add(CONTEXT_BYTES_MAX).min(line_end));
    let mut cut = Cut {
        text: source.text(),
        place: Span::new(at, to),
        head: String::new(),
        body: String::new(),
        rest: String::new(),
    };
    let mut shown_to = start;
    for secret in veil::on_line(
        source,
        Span::new(line_start, line_end),
        Span::new(start, end),
    ) {
        if secret.start > shown_to {
            cut.visible(Span::new(shown_to, secret.start));
        }
        if secret.end > shown_to {
            cut.secret(Span::new(secret.start.max(shown_to), secret.end));
            shown_to = secret.end;
        }
    }
    if end > shown_to {
        cut.visible(Span::new(shown_to, end));
    }
    if start > line_start {
        cut.drop_first_piece();
    }
    let (head, body, rest) = masked(&cut.head, &cut.body, &cut.rest);
    (visible(&head), visible(&body), visible(&rest))
}

/// The context of a place, being sorted into before, at and after.
struct Cut<'s> {
    text: &'s str,
    place: Span,
    head: String,
    body: String,
    rest: String,
}

impl Cut<'_> {
    fn visible(&mut self, span: Span) {
        let text = |from: usize, to: usize| self.text.get(from..to).unwrap_or_default();
        let (from, to) = (self.place.start, self.place.end);
        let clamp = |at: usize| at.clamp(span.start, span.end);
        self.head.push_str(text(span.start, clamp(from)));
        self.body.push_str(text(clamp(from), clamp(to)));
        self.rest.push_str(text(clamp(to), span.end));
    }

    fn secret(&mut self, span: Span) {
        if span.end <= self.place.start {
            self.head.push_str(MASK);
        } else if span.start >= self.place.end && span.start > self.place.start {
            self.rest.push_str(MASK);
        } else {
            self.body.push_str(MASK);
        }
    }

    /// Leaves out what the context cut in two: the rest of a token has not the look of one.
    fn drop_first_piece(&mut self) {
        match self
            .head
            .find(|c: char| c.is_whitespace() || ",:={}[]()\"'".contains(c))
        {
            Some(end) => {
                self.head.drain(..end);
            }
            None => MASK.clone_into(&mut self.head),
        }
    }
}

/// Masks the line as a whole, then finds the three parts again by what stands before the place.
fn masked(before: &str, marked: &str, after: &str) -> (String, String, String) {
    let whole = format!("{before}{marked}{after}");
    let safe = secret::mask(&whole);
    if safe == whole {
        return (before.to_owned(), marked.to_owned(), after.to_owned());
    }
    let head = secret::mask(before);
    let both = secret::mask(&format!("{before}{marked}"));
    let body = both.strip_prefix(&head).unwrap_or(MASK).to_owned();
    let rest = safe.strip_prefix(&both).unwrap_or("").to_owned();
    (head, body, rest)
}

/// The text with tabs as spaces, and what would not show or would change the order of the line as
/// characters that do.
fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\t' => out.extend(std::iter::repeat_n(' ', TAB_COLUMNS)),
            '\0'..' ' => out.push(char::from_u32(0x2400 + u32::from(c)).unwrap_or(' ')),
            '\u{7f}'..='\u{9f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}' => out.push(char::REPLACEMENT_CHARACTER),
            _ => out.push(c),
        }
    }
    out
}

fn columns(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}

fn first_columns(text: &str, limit: usize) -> String {
    let mut used = 0;
    text.chars()
        .take_while(|c| {
            used += c.width().unwrap_or(0);
            used <= limit
        })
        .collect()
}

fn last_columns(text: &str, limit: usize) -> String {
    let mut used = 0;
    let kept = text
        .chars()
        .rev()
        .take_while(|c| {
            used += c.width().unwrap_or(0);
            used <= limit
        })
        .map(char::len_utf8)
        .sum::<usize>();
    text[text.len() - kept..].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Diagnostic;

    fn shown(text: &str, marked: &str) -> Vec<String> {
        let source = Source::new("a.yaml", text);
        let start = text.find(marked).unwrap();
        let span = Span::new(start, start + marked.len());
        let shown = Diagnostic::error("x").at(&source, span).to_string();
        shown.lines().skip(3).map(str::to_owned).collect()
    }

    #[test]
    fn carets_stand_under_wide_characters_and_after_tabs() {
        let check = |text: &str, marked: &str, line: &str, carets: &str| {
            assert_eq!(shown(text, marked), [line, carets], "{text}");
        };
        check("名前: 値", "値", "1 | 名前: 値", "  |       ^^");
        check("\ta: b", "b", "1 |     a: b", "  |        ^");
        check("é: x", "x", "1 | é: x", "  |    ^");
        check("e\u{301}: x", "x", "1 | e\u{301}: x", "  |    ^");
        check("a\0b: x", "\0", "1 | a␀b: x", "  |  ^");
        check("a\u{202e}b: x", "\u{202e}", "1 | a\u{fffd}b: x", "  |  ^");
    }

    #[test]
    fn long_lines_are_cut_around_the_place() {
        let text = format!("{} BAD {}", "x".repeat(5000), "y".repeat(5000));
        let out = shown(&text, "BAD");
        assert!(out.iter().all(|l| columns(l) < 120), "{out:?}");
        assert!(out[0].contains("BAD") && out[1].contains("^^^"), "{out:?}");
        let out = shown(&"字".repeat(500), "字字");
        assert!(out.iter().all(|l| columns(l) < 120), "{out:?}");
    }

    #[test]
    fn a_place_at_the_end_of_a_line_has_one_caret() {
        let source = Source::new("a.yaml", "ab\ncd");
        let shown = Diagnostic::error("x").at(&source, Span::new(2, 2));
        assert!(shown.to_string().ends_with("1 | ab\n  |   ^"), "{shown}");
        let over = Diagnostic::error("x").at(&source, Span::new(0, 5));
        assert!(over.to_string().ends_with("1 | ab\n  | ^^"), "{over}");
    }
}
