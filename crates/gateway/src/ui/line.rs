//! A line of output: pieces of text, each with its tone, none of which can steer the terminal.

use std::borrow::Cow;
use std::fmt::{Display, Write as _};

use owo_colors::Style;
use unicode_width::UnicodeWidthStr as _;

use crate::finding::Finding;

/// What a piece of text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Text like any other.
    Plain,
    /// A headline.
    Strong,
    /// Beside the point.
    Dim,
    /// As it should be.
    Good,
    /// To be looked at.
    Odd,
    /// Wrong.
    Bad,
}

impl Tone {
    fn look(self) -> Style {
        match self {
            Self::Plain => Style::new(),
            Self::Strong => Style::new().bold(),
            Self::Dim => Style::new().dimmed(),
            Self::Good => Style::new().green(),
            Self::Odd => Style::new().yellow(),
            Self::Bad => Style::new().red().bold(),
        }
    }
}

/// One line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    pub(super) pieces: Vec<Piece>,
}

/// A part of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) tone: Tone,
    pub(super) text: String,
    /// Whether no line may end in it, however narrow the screen is.
    pub(super) whole: bool,
}

impl Line {
    /// An empty line.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds plain text.
    #[must_use]
    pub fn text(self, text: impl Display) -> Self {
        self.tone(Tone::Plain, text)
    }

    /// Adds text with a tone.
    #[must_use]
    pub fn tone(mut self, tone: Tone, text: impl Display) -> Self {
        self.pieces.push(Piece {
            tone,
            text: text.to_string(),
            whole: false,
        });
        self
    }

    /// Adds text that is not broken to fit the screen: JSON, a command to copy, what a tool answered.
    #[must_use]
    pub fn whole(self, text: impl Display) -> Self {
        self.whole_tone(Tone::Plain, text)
    }

    /// The same with a tone.
    #[must_use]
    pub fn whole_tone(self, tone: Tone, text: impl Display) -> Self {
        let mut line = self.tone(tone, text);
        if let Some(piece) = line.pieces.last_mut() {
            piece.whole = true;
        }
        line
    }

    /// Adds what another line holds.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.pieces.extend(other.pieces);
        self
    }

    /// A mark for yes or no.
    #[must_use]
    pub fn mark(self, good: bool) -> Self {
        if good {
            self.tone(Tone::Good, "✓")
        } else {
            self.tone(Tone::Bad, "✗")
        }
    }

    /// A mark for what works and is to be looked at.
    #[must_use]
    pub fn doubt(self) -> Self {
        self.tone(Tone::Odd, "!")
    }

    /// A mark for what is neither: it was not tried, or is not wanted.
    #[must_use]
    pub fn neutral(self) -> Self {
        self.tone(Tone::Dim, "○")
    }

    /// A finding as several lines, the severity in its colour.
    pub fn of_finding(finding: &Finding) -> Vec<Self> {
        let tone = match finding.severity.as_str() {
            "error" => Tone::Bad,
            "warning" => Tone::Odd,
            _ => Tone::Dim,
        };
        let mut lines = finding.rendered.lines();
        let first = lines.next().unwrap_or_default();
        let head = match first.strip_prefix(&finding.severity) {
            Some(rest) => Self::new().tone(tone, &finding.severity).text(rest),
            None => Self::from(first),
        };
        // The text of a file keeps its lines, or what is underlined would not stand above its sign.
        let below = lines.map(|line| {
            if line.trim_start().starts_with("= ") {
                Self::from(line)
            } else {
                Self::new().whole(line)
            }
        });
        std::iter::once(head).chain(below).collect()
    }

    /// The line with its end, styled.
    pub(super) fn render(&self) -> String {
        let mut out = String::new();
        for Piece { tone, text, .. } in &self.pieces {
            let text = clean(text);
            let _ = match tone {
                Tone::Plain => write!(out, "{text}"),
                tone => write!(out, "{}", tone.look().style(text)),
            };
        }
        out.push('\n');
        out
    }
}

impl<T: Into<String>> From<T> for Line {
    fn from(text: T) -> Self {
        Self::new().text(text.into())
    }
}

/// How many columns of a terminal a text takes: two for each character of some scripts.
pub fn width(text: &str) -> usize {
    text.width()
}

/// The text with every character that could steer a terminal, or reorder what is read, written out.
pub fn clean(text: &str) -> Cow<'_, str> {
    // Most text is of letters that are looked at many at a time.
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) || !text.contains(steers) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\t' => out.push(' '),
            c if steers(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// JSON in which what would steer a terminal is written as an escape; line ends stay.
pub fn escaped(json: &str) -> Cow<'_, str> {
    let steers = |c: char| steers(c) && c != '\n';
    if !json.contains(steers) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if steers(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_cannot_steer_the_terminal_and_stays_json() {
        let text = "\u{202e}a\u{9b}ü";
        let line = format!("{}\n", serde_json::json!({ "a": text }));
        let shown = escaped(&line);
        assert_eq!(shown, "{\"a\":\"\\u202ea\\u009bü\"}\n");
        let read: serde_json::Value = serde_json::from_str(&shown).unwrap();
        assert_eq!(read["a"], text);
    }

    #[test]
    fn text_cannot_steer_the_terminal() {
        let check = |text: &str, expected: &str| assert_eq!(clean(text), expected);
        check("plain ✓ ü", "plain ✓ ü");
        check("a\u{1b}[31mb", "a\\u{1b}[31mb");
        check("a\tb\nc\r", "a b\\u{a}c\\u{d}");
        check("x\u{202e}y\u{7}", "x\\u{202e}y\\u{7}");
        check("x\u{61c}y", "x\\u{61c}y");
    }

    #[test]
    fn tones_wrap_the_cleaned_text() {
        let line = Line::new().mark(true).text(" a\u{1b}b").mark(false);
        assert_eq!(
            line.render(),
            "\u{1b}[32m✓\u{1b}[0m a\\u{1b}b\u{1b}[31;1m✗\u{1b}[0m\n"
        );
        assert_eq!(Line::from("x").render(), "x\n");
    }

    #[test]
    fn a_finding_keeps_its_lines() {
        let mut finding = Finding::error("bad");
        finding.rendered = "error: bad\n --> a:1:1".into();
        let lines = Line::of_finding(&finding);
        assert_eq!(lines.len(), 2);
        let first = &lines[0].pieces[0];
        assert_eq!((first.tone, first.text.as_str()), (Tone::Bad, "error"));
        assert!(lines[1].pieces[0].whole, "the excerpt is not broken");
        finding.rendered = "something else".into();
        assert_eq!(Line::of_finding(&finding), [Line::from("something else")]);
    }
}
