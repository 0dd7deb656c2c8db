//! The text of one configuration file, and places in it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// A range of bytes in a [`Source`]. Always on character boundaries of that text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Span {
    /// A range of bytes.
    pub fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }
}

/// One file, or one piece of text that stands for a file, with its name for messages.
///
/// `Debug` shows the name only: the text may hold secrets.
pub struct Source {
    path: PathBuf,
    text: String,
    /// Where each line starts; made when a position is first asked for.
    line_starts: OnceLock<Vec<usize>>,
    /// Places that must not be shown, in order; known once the text has been read.
    secrets: OnceLock<Vec<Span>>,
}

/// The mark that some editors put before UTF-8 text; it is no part of the text.
const BYTE_ORDER_MARK: char = '\u{feff}';

impl Source {
    /// Text with the path that messages name. A byte order mark at its start is left out.
    pub fn new(path: impl Into<PathBuf>, text: impl Into<String>) -> Arc<Self> {
        let mut text = text.into();
        if text.starts_with(BYTE_ORDER_MARK) {
            text.drain(..BYTE_ORDER_MARK.len_utf8());
        }
        Arc::new(Self {
            path: path.into(),
            text,
            line_starts: OnceLock::new(),
            secrets: OnceLock::new(),
        })
    }

    /// The path as it was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The line of a byte, counted from one.
    pub fn line(&self, byte: usize) -> usize {
        self.line_index(self.boundary(byte)) + 1
    }

    /// Line and column of a byte, both counted from one, the column in characters.
    pub fn position(&self, byte: usize) -> (usize, usize) {
        let byte = self.boundary(byte);
        let line = self.line_index(byte);
        let before = &self.text[self.line_starts()[line]..byte];
        (line + 1, before.chars().count() + 1)
    }

    /// The line (without its end) that holds a byte, and where it starts.
    pub fn line_at(&self, byte: usize) -> (usize, &str) {
        let line = self.line_index(self.boundary(byte));
        let start = self.line_starts()[line];
        let end = self
            .line_starts()
            .get(line + 1)
            .map_or(self.text.len(), |next| next - 1);
        (start, self.text[start..end].trim_end_matches('\r'))
    }

    /// The places that must not be shown; `None` while the text has not been read.
    pub(crate) fn secrets(&self) -> Option<&[Span]> {
        self.secrets.get().map(Vec::as_slice)
    }

    /// Says which places must not be shown; the first reading decides.
    pub(crate) fn set_secrets(&self, mut spans: Vec<Span>) {
        spans.sort_by_key(|span| span.start);
        self.secrets.get_or_init(|| spans);
    }

    /// The last character boundary that is not after `byte`.
    pub(crate) fn boundary(&self, byte: usize) -> usize {
        self.text.floor_char_boundary(byte)
    }

    fn line_index(&self, byte: usize) -> usize {
        self.line_starts()
            .partition_point(|start| *start <= byte)
            .saturating_sub(1)
    }

    fn line_starts(&self) -> &[usize] {
        self.line_starts.get_or_init(|| {
            let ends = self.text.bytes().enumerate().filter(|(_, b)| *b == b'\n');
            std::iter::once(0).chain(ends.map(|(i, _)| i + 1)).collect()
        })
    }
}

impl PartialEq for Source {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path && self.text == other.text
    }
}

impl Eq for Source {}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Source").field(&self.path).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_lines_and_characters_from_one() {
        let source = Source::new("a.yaml", "ä: 1\r\nbc\n");
        let check = |byte, expected: (usize, usize)| {
            assert_eq!(source.position(byte), expected, "byte {byte}");
            assert_eq!(source.line(byte), expected.0, "byte {byte}");
        };
        check(0, (1, 1));
        check(1, (1, 1));
        check(2, (1, 2));
        check(7, (2, 1));
        check(9, (2, 3));
        check(10, (3, 1));
        check(1000, (3, 1));
        assert_eq!(source.line_at(3), (0, "ä: 1"));
        assert_eq!(source.line_at(9), (7, "bc"));
        assert_eq!(source.line_at(10), (10, ""));
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_text() {
        let source = Source::new("a.json", "\u{feff}{}");
        assert_eq!(source.text(), "{}");
        assert_eq!(source.position(0), (1, 1));
    }

    #[test]
    fn debug_shows_no_text() {
        assert_eq!(
            format!("{:?}", Source::new("a", "TOKEN=x")),
            "Source(\"a\")"
        );
    }
}
