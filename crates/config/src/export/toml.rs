//! Tables in TOML, put at the end of the text and taken out by their headers.

use std::ops::Range;

use serde_json::Value as Json;
use toml_edit::{Document, DocumentMut, Item, Table, Value};

use super::splice::{Splice, line_end, line_start, newline, newline_at, newline_before};

/// A table `[root.name]` with the members of a value, at the end of the text.
///
/// One empty line goes before it. Where the text has no final line end, it still has none.
pub(crate) fn append(text: &str, root: &str, name: &str, value: &Json) -> Splice {
    let block = table(root, name, value).replace('\n', newline(text));
    let newline = newline(text);
    if text.is_empty() {
        Splice::insert(0, block)
    } else if newline_before(text, text.len()) > 0 {
        Splice::insert(text.len(), format!("{newline}{block}"))
    } else {
        let block = block.trim_end_matches(['\r', '\n']);
        Splice::insert(text.len(), format!("{newline}{newline}{block}"))
    }
}

fn table(root: &str, name: &str, value: &Json) -> String {
    let mut document = DocumentMut::new();
    let mut outer = Table::new();
    outer.set_implicit(true);
    outer.insert(name, item(value));
    document.insert(root, Item::Table(outer));
    document.to_string()
}

fn item(value: &Json) -> Item {
    match value {
        Json::Object(map) => {
            let mut table = Table::new();
            for (key, value) in map {
                table.insert(key, item(value));
            }
            Item::Table(table)
        }
        other => inline(other).map_or(Item::None, toml_edit::value),
    }
}

/// A value on one line; TOML has none for `null`.
fn inline(value: &Json) -> Option<Value> {
    Some(match value {
        Json::Object(map) => {
            let members = map.iter();
            let members = members.filter_map(|(key, value)| Some((key, inline(value)?)));
            Value::InlineTable(members.collect())
        }
        Json::Array(items) => Value::Array(items.iter().filter_map(inline).collect()),
        Json::Bool(value) => Value::from(*value),
        Json::Number(number) => match number.as_i64() {
            Some(whole) => Value::from(whole),
            None => Value::from(number.as_f64().unwrap_or_default()),
        },
        Json::String(text) => Value::from(text.as_str()),
        Json::Null => return None,
    })
}

/// Takes out `[root.name]` and the tables below it. `None` where it is not written as tables of its
/// own that follow each other.
pub(crate) fn remove(text: &str, root: &str, name: &str) -> Option<Vec<Splice>> {
    let document = Document::parse(text).ok()?;
    let table = document.get(root)?.as_table()?.get(name)?.as_table()?;
    let mut spans = Vec::new();
    if !collect(table, &mut spans) {
        return None;
    }
    let start = spans.iter().map(|span| span.start).min()?;
    let last = spans.iter().map(|span| span.end).max()?;
    // Another table among ours would be taken out with them.
    let mut headers = Vec::new();
    all_headers(document.as_table(), &mut headers);
    let foreign = headers
        .iter()
        .any(|header| (start..last).contains(&header.start) && !spans.contains(header));
    if foreign {
        return None;
    }
    let start = line_start(text, start);
    let end = line_end(text, last);
    let after = newline_at(text, end);
    let blank = newline_before(text, start);
    let before_blank = newline_before(text, start - blank);
    let from = match (after, before_blank) {
        // The block was put after a text without a final line end.
        (0, _) => start - blank - before_blank,
        (_, 0) => start,
        _ => start - blank,
    };
    Some(vec![Splice::delete(from, end + after)])
}

/// The places of a table's header, keys and values, and of the tables below it. False where it has
/// no header.
fn collect(table: &Table, spans: &mut Vec<Range<usize>>) -> bool {
    let Some(header) = table.span().filter(|span| !span.is_empty()) else {
        return false;
    };
    spans.push(header);
    table.iter().all(|(_, item)| match item {
        Item::Table(inner) => collect(inner, spans),
        Item::Value(value) => match value.span() {
            Some(span) => {
                spans.push(span);
                true
            }
            None => false,
        },
        _ => false,
    })
}

fn all_headers(table: &Table, headers: &mut Vec<Range<usize>>) {
    for (_, item) in table {
        match item {
            Item::Table(inner) => {
                // A table without a header of its own has the place of another's.
                if !inner.is_implicit() {
                    headers.extend(inner.span().filter(|span| !span.is_empty()));
                }
                all_headers(inner, headers);
            }
            Item::ArrayOfTables(tables) => {
                for inner in tables {
                    headers.extend(inner.span().filter(|span| !span.is_empty()));
                    all_headers(inner, headers);
                }
            }
            _ => {}
        }
    }
}
