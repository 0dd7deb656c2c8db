//! Large values, read by pages of whole items.
//!
//! A value is taken apart into units: items of arrays, fields of objects, paragraphs and lines of
//! texts, each small enough for several to fit on a page; the small fields of an object come before
//! its large ones. A page is as many units as fit, put back into the structure they come from, so that
//! all pages together hold every unit once.

use std::ops::Range;

use serde_json::{Map, Value};

use crate::limits::PAGE_UNITS_LEAST;
use crate::tokens;

/// A part of a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Page {
    /// The units of this page, in their structure.
    pub value: Value,
    /// Where the next page begins; `None` on the last one.
    pub next: Option<usize>,
    /// How many units there are on all pages.
    pub total: usize,
}

#[derive(Clone, Debug)]
enum Step<'a> {
    Field(&'a str),
    Item(usize),
}

#[derive(Clone, Debug)]
enum Leaf<'a> {
    Whole(&'a Value),
    Text(&'a str),
}

#[derive(Clone, Debug)]
struct Unit<'a> {
    path: Vec<Step<'a>>,
    leaf: Leaf<'a>,
}

/// The page of a value that begins at a unit, of about `tokens_max` tokens at most; `None` where there
/// is no such unit. A value that fits is one page.
pub fn page(value: &Value, from: usize, tokens_max: usize) -> Option<Page> {
    if fits(value, tokens_max) {
        let whole = || Page {
            value: value.clone(),
            next: None,
            total: 1,
        };
        return (from == 0).then(whole);
    }
    let mut units = Vec::new();
    let cap = (tokens_max / PAGE_UNITS_LEAST).max(1);
    split(value, cap, &mut Vec::new(), &mut units);
    let rest = units.get(from..).filter(|rest| !rest.is_empty())?;
    let fitting = |count: usize| fits(&assemble(&rest[..count], 0), tokens_max);
    // Doubles while it fits, so that the effort follows the page and not the value.
    let mut least = 1;
    while least * 2 <= rest.len() && fitting(least * 2) {
        least *= 2;
    }
    let most = (least * 2).min(rest.len());
    let counts: Vec<usize> = (least + 1..=most).collect();
    let count = least + counts.partition_point(|count| fitting(*count));
    let next = from + count;
    Some(Page {
        value: assemble(&rest[..count], 0),
        next: (next < units.len()).then_some(next),
        total: units.len(),
    })
}

fn fits(value: &Value, tokens: usize) -> bool {
    match value {
        Value::String(text) => tokens::fits(text, tokens),
        other => tokens::fits(&other.to_string(), tokens),
    }
}

fn split<'a>(value: &'a Value, cap: usize, path: &mut Vec<Step<'a>>, into: &mut Vec<Unit<'a>>) {
    let whole = |path: &[Step<'a>]| Unit {
        path: path.to_vec(),
        leaf: Leaf::Whole(value),
    };
    match value {
        Value::Array(items) if !items.is_empty() && !fits(value, cap) => {
            for (at, item) in items.iter().enumerate() {
                path.push(Step::Item(at));
                split(item, cap, path, into);
                path.pop();
            }
        }
        Value::Object(fields) if !fields.is_empty() && !fits(value, cap) => {
            let (small, large): (Vec<_>, Vec<_>) = fields.iter().partition(|(_, v)| fits(v, cap));
            for (name, field) in small.into_iter().chain(large) {
                path.push(Step::Field(name));
                split(field, cap, path, into);
                path.pop();
            }
        }
        Value::String(text) if !fits(value, cap) => {
            for range in text_parts(text, cap) {
                into.push(Unit {
                    path: path.clone(),
                    leaf: Leaf::Text(&text[range]),
                });
            }
        }
        _ => into.push(whole(path)),
    }
}

/// A text by paragraphs, those that are too long by lines, those by characters.
fn text_parts(text: &str, cap: usize) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    for paragraph in ranges(text, 0..text.len(), "\n\n") {
        if tokens::fits(&text[paragraph.clone()], cap) {
            parts.push(paragraph);
            continue;
        }
        for line in ranges(text, paragraph, "\n") {
            if tokens::fits(&text[line.clone()], cap) {
                parts.push(line);
            } else {
                pieces(text, line, cap, &mut parts);
            }
        }
    }
    parts
}

fn ranges(text: &str, within: Range<usize>, mark: &str) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut start = within.start;
    while let Some(at) = text[start..within.end].find(mark) {
        let end = start + at + mark.len();
        ranges.push(start..end);
        start = end;
    }
    if start < within.end {
        ranges.push(start..within.end);
    }
    ranges
}

/// A long line in pieces that fit because no token is shorter than a byte, cut after a word where
/// there is one.
fn pieces(text: &str, line: Range<usize>, cap: usize, into: &mut Vec<Range<usize>>) {
    let mut start = line.start;
    while start < line.end {
        let most = text.floor_char_boundary((start + cap.max(4)).min(line.end));
        let space = text[start..most].rfind(' ').map(|at| start + at + 1);
        let end = if most == line.end {
            most
        } else {
            space.unwrap_or(most)
        };
        into.push(start..end);
        start = end;
    }
}

/// The units, which all go on below the same `depth` steps, as one value.
fn assemble(units: &[Unit<'_>], depth: usize) -> Value {
    let Some(first) = units.first() else {
        return Value::Null;
    };
    match first.path.get(depth) {
        None => match first.leaf {
            Leaf::Whole(value) => value.clone(),
            Leaf::Text(_) => {
                let texts = units.iter().filter_map(|unit| match unit.leaf {
                    Leaf::Text(text) => Some(text),
                    Leaf::Whole(_) => None,
                });
                Value::String(texts.collect())
            }
        },
        Some(Step::Item(_)) => {
            let groups = units.chunk_by(|a, b| same(a, b, depth));
            Value::Array(groups.map(|group| assemble(group, depth + 1)).collect())
        }
        Some(Step::Field(_)) => {
            let mut fields = Map::new();
            for group in units.chunk_by(|a, b| same(a, b, depth)) {
                if let Some(Step::Field(name)) = group[0].path.get(depth) {
                    fields.insert((*name).to_owned(), assemble(group, depth + 1));
                }
            }
            Value::Object(fields)
        }
    }
}

fn same(a: &Unit<'_>, b: &Unit<'_>, depth: usize) -> bool {
    match (a.path.get(depth), b.path.get(depth)) {
        (Some(Step::Item(a)), Some(Step::Item(b))) => a == b,
        (Some(Step::Field(a)), Some(Step::Field(b))) => a == b,
        _ => false,
    }
}

#[cfg(test)]
mod tests;
