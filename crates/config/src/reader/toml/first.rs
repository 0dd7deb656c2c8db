//! Where a TOML key stood first.
//!
//! The parser says that a key is a duplicate but not of which; the path of every key is followed
//! once more to find the other place. Only a file with that error pays for it.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use toml_parser::parser::{Event, EventKind, RecursionGuard, parse_document};
use toolcrib_core::limits::CONFIG_DEPTH_MAX;

use crate::text::Span;

/// The earlier place of the same key, where the key at `again` has one.
pub(super) fn place(text: &str, again: Span) -> Option<Span> {
    let source = toml_parser::Source::new(text);
    let tokens = source.lex().into_vec();
    let mut events: Vec<Event> = Vec::with_capacity(tokens.len());
    let depth = u32::try_from(CONFIG_DEPTH_MAX).unwrap_or(u32::MAX);
    let mut guard = RecursionGuard::new(&mut events, depth);
    parse_document(&tokens, &mut guard, &mut ());
    let mut trail = Trail::default();
    for event in &events {
        let span = Span::new(event.span().start(), event.span().end());
        if event.kind() != EventKind::SimpleKey {
            trail.step(event.kind());
            continue;
        }
        let mut name = std::borrow::Cow::Borrowed("");
        source.get(event)?.decode_key(&mut name, &mut ());
        let first = trail.key(&name, span);
        if span == again {
            return first;
        }
    }
    None
}

/// A path from the root, as a hash: a long table name under which many keys stand costs nothing.
type Path = u64;

/// The path of tables from the root to where the events are.
#[derive(Default)]
struct Trail {
    /// The table of the last `[header]`.
    header: Path,
    /// The inline tables and arrays that are open.
    open: Vec<Path>,
    /// The key that is being read.
    key: Option<Path>,
    in_header: bool,
    first: HashMap<Path, Span>,
    /// How many elements each array of tables has so far.
    elements: HashMap<Path, usize>,
    /// How many inline tables and arrays there have been: each is a place of its own.
    opened: usize,
}

impl Trail {
    /// Goes one key down and gives where that path stood first, if it did.
    fn key(&mut self, name: &str, span: Span) -> Option<Span> {
        let base = match self.key {
            Some(path) => self.last_element(path),
            None if self.in_header => Path::default(),
            None => *self.open.last().unwrap_or(&self.header),
        };
        let path = below(base, name);
        let first = self.first.get(&path).copied();
        self.first.entry(path).or_insert(span);
        self.key = Some(path);
        first
    }

    /// The last element of an array of tables, or the table itself.
    fn last_element(&self, path: Path) -> Path {
        self.elements
            .get(&path)
            .map_or(path, |count| below(path, count))
    }

    fn step(&mut self, kind: EventKind) {
        match kind {
            EventKind::StdTableOpen | EventKind::ArrayTableOpen => {
                self.in_header = true;
                self.key = None;
            }
            EventKind::StdTableClose => self.end_header(),
            EventKind::ArrayTableClose => {
                if let Some(path) = self.key {
                    *self.elements.entry(path).or_default() += 1;
                }
                self.end_header();
            }
            EventKind::InlineTableOpen | EventKind::ArrayOpen => {
                self.opened += 1;
                self.open.push(below(Path::default(), self.opened));
                self.key = None;
            }
            EventKind::InlineTableClose | EventKind::ArrayClose => {
                self.open.pop();
                self.key = None;
            }
            EventKind::ValueSep | EventKind::Newline => self.key = None,
            _ => {}
        }
    }

    fn end_header(&mut self) {
        if let Some(path) = self.key.take() {
            self.header = self.last_element(path);
        }
        self.in_header = false;
    }
}

fn below(path: Path, name: impl Hash) -> Path {
    let mut hasher = DefaultHasher::new();
    path.hash(&mut hasher);
    name.hash(&mut hasher);
    hasher.finish()
}
