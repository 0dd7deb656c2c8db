//! Maps and lists in YAML's block style, edited by whole lines.

use serde_json::Value as Json;

use super::splice::{Splice, indent, line_end, line_start, newline, newline_at, newline_before};
use super::yaml::{quoted, scalar};
use crate::node::{Entry, Node, Value};

/// How far a level is indented where the file does not say.
const UNIT: &str = "  ";

/// What is written under a root key: a member of a map, or an item of a list.
pub(crate) enum Piece<'a> {
    /// `name: value`.
    Member(&'a str, &'a Json),
    /// `- value`.
    Item(&'a Json),
}

/// Puts a piece at the end of what stands under a top-level key, which is made if it is not there.
/// `None` where that is written in a way that cannot be edited by lines.
pub(crate) fn insert(
    text: &str,
    tree: &Node,
    root: &str,
    piece: &Piece<'_>,
) -> Option<Vec<Splice>> {
    let Some(entry) = tree.entries().iter().find(|e| e.key == root) else {
        return Some(vec![append(text, root, piece)]);
    };
    let written = &text[entry.value.span.start..entry.value.span.end];
    match (&entry.value.value, piece) {
        (Value::Null, _) => {
            let outer = indent(text, entry.key_span.start);
            let lines = joined(text, &piece.lines(&format!("{outer}{UNIT}")));
            let at = line_end(text, entry.key_span.end);
            let mut splices = vec![Splice::insert(at, lines)];
            if !written.is_empty() {
                splices.push(Splice::delete(entry.value.span.start, entry.value.span.end));
            }
            Some(splices)
        }
        (Value::Map(entries), _) if entries.is_empty() => empty(text, entry, piece),
        (Value::List(items), _) if items.is_empty() => empty(text, entry, piece),
        (Value::Map(entries), Piece::Member(..)) if !written.starts_with('{') => {
            let last = entries.last()?;
            let column = indent(text, last.key_span.start);
            let end = block_end(text, last.key_span.start, column.len(), true);
            Some(vec![Splice::insert(
                end,
                joined(text, &piece.lines(column)),
            )])
        }
        (Value::List(items), Piece::Item(_)) if !written.starts_with('[') => {
            let last = items.last()?;
            let column = indent(text, last.span.start);
            let end = block_end(text, last.span.start, column.len(), false);
            Some(vec![Splice::insert(
                end,
                joined(text, &piece.lines(column)),
            )])
        }
        _ => None,
    }
}

/// Turns `key: {}` or `key: []` into a block with one piece.
fn empty(text: &str, entry: &Entry, piece: &Piece<'_>) -> Option<Vec<Splice>> {
    let span = entry.value.span;
    if !text[span.start..span.end].starts_with(['{', '[']) {
        return None;
    }
    let start = text[..span.start].trim_end_matches([' ', '\t']).len();
    let outer = indent(text, entry.key_span.start);
    let lines = joined(text, &piece.lines(&format!("{outer}{UNIT}")));
    let end = line_end(text, span.end);
    Some(vec![
        Splice::delete(start, span.end),
        Splice::insert(end, lines),
    ])
}

/// A new top-level key at the end of the text. Where that has no final line end, it still has none.
fn append(text: &str, root: &str, piece: &Piece<'_>) -> Splice {
    let mut lines = vec![format!("{}:", scalar(root))];
    lines.extend(piece.lines(UNIT));
    let block = joined(text, &lines);
    let lead = newline_at(&block, 0);
    if text.is_empty() || newline_before(text, text.len()) > 0 {
        Splice::insert(text.len(), format!("{}{}", &block[lead..], newline(text)))
    } else {
        Splice::insert(text.len(), block)
    }
}

/// Takes out the member or item that begins at a byte.
pub(crate) fn remove(text: &str, start: usize, is_member: bool) -> Vec<Splice> {
    let column = indent(text, start).len();
    let end = block_end(text, start, column, is_member);
    let from = line_start(text, start);
    if from == 0 {
        return vec![Splice::delete(0, end + newline_at(text, end))];
    }
    vec![Splice::delete(from - newline_before(text, from), end)]
}

/// Writes an empty map or list after a key whose block was taken out.
pub(crate) fn mark_empty(text: &str, entry: &Entry, empty: &str) -> Vec<Splice> {
    match text[entry.key_span.end..].find(':') {
        Some(colon) => vec![Splice::insert(
            entry.key_span.end + colon + 1,
            format!(" {empty}"),
        )],
        None => Vec::new(),
    }
}

/// The end of the block that begins on the line of a byte: the end of its last line with content.
fn block_end(text: &str, start: usize, column: usize, is_member: bool) -> usize {
    let mut end = line_end(text, start);
    let mut at = end + newline_at(text, end);
    while at < text.len() {
        let stop = line_end(text, at);
        let line = &text[at..stop];
        let bare = line.trim_start_matches([' ', '\t']);
        let depth = line.len() - bare.len();
        let continues = depth > column
            || (is_member && depth == column && (bare == "-" || bare.starts_with("- ")));
        if continues && !bare.is_empty() {
            end = stop;
        } else if !bare.is_empty() && !bare.starts_with('#') {
            break;
        }
        if stop == text.len() {
            break;
        }
        at = stop + newline_at(text, stop);
    }
    end
}

/// Lines, each with a line end before it.
fn joined(text: &str, lines: &[String]) -> String {
    let newline = newline(text);
    lines.iter().flat_map(|line| [newline, line]).collect()
}

impl Piece<'_> {
    /// The lines of the piece at an indentation.
    fn lines(&self, column: &str) -> Vec<String> {
        match self {
            Self::Member(name, value) => member(name, value, column),
            Self::Item(value) => {
                let inner = format!("{column}{UNIT}");
                let mut lines = members(value, &inner);
                if let Some(first) = lines.first_mut() {
                    first.replace_range(..inner.len(), &format!("{column}- "));
                }
                lines
            }
        }
    }
}

fn members(value: &Json, column: &str) -> Vec<String> {
    value
        .as_object()
        .into_iter()
        .flatten()
        .flat_map(|(key, value)| member(key, value, column))
        .collect()
}

fn member(key: &str, value: &Json, column: &str) -> Vec<String> {
    let key = scalar(key);
    match value {
        Json::Object(map) if !map.is_empty() => {
            let mut lines = vec![format!("{column}{key}:")];
            lines.extend(members(value, &format!("{column}{UNIT}")));
            lines
        }
        other => vec![format!("{column}{key}: {}", one_line(other))],
    }
}

fn one_line(value: &Json) -> String {
    match value {
        Json::String(text) => scalar(text),
        Json::Array(items) => {
            let items: Vec<String> = items
                .iter()
                .map(|item| match item {
                    Json::String(text) => quoted(text),
                    other => other.to_string(),
                })
                .collect();
            format!("[{}]", items.join(", "))
        }
        other => other.to_string(),
    }
}
