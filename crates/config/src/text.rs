//! The text of one configuration file, and places in it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

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
#[derive(Debug, PartialEq, Eq)]
pub struct Source {
    path: PathBuf,
    text: String,
}

impl Source {
    /// Text with the path that messages name.
    pub fn new(path: impl Into<PathBuf>, text: impl Into<String>) -> Arc<Self> {
        Arc::new(Self {
            path: path.into(),
            text: text.into(),
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

    /// Line and column of a byte, both counted from one, the column in characters.
    pub fn position(&self, byte: usize) -> (usize, usize) {
        let mut byte = byte.min(self.text.len());
        while !self.text.is_char_boundary(byte) {
            byte -= 1;
        }
        let before = &self.text[..byte];
        let line = before.bytes().filter(|b| *b == b'\n').count() + 1;
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        (line, before[line_start..].chars().count() + 1)
    }

    /// The line (without its end) that holds a byte, and where it starts.
    pub fn line_at(&self, byte: usize) -> (usize, &str) {
        let mut byte = byte.min(self.text.len());
        while !self.text.is_char_boundary(byte) {
            byte -= 1;
        }
        let start = self.text[..byte].rfind('\n').map_or(0, |i| i + 1);
        let end = self.text[start..]
            .find('\n')
            .map_or(self.text.len(), |i| start + i);
        (start, self.text[start..end].trim_end_matches('\r'))
    }
}
