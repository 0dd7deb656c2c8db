//! Maps in braces: JSON, JSON with comments, and YAML's flow style.

use serde_json::Value as Json;

use super::splice::{Splice, indent, newline, own_line};
use crate::node::Node;

/// How far a level is indented where the file does not say.
const UNIT: &str = "  ";

/// Puts a member at the end of a map.
///
/// `map` is a map in braces within `tree`, the whole of `text`. A map over several lines gets lines,
/// one on a single line stays on it. A file that ends its lists with a comma gets one.
pub(crate) fn insert(text: &str, tree: &Node, map: &Node, key: &str, value: &Json) -> Vec<Splice> {
    let (open, close) = (map.span.start, map.span.end - 1);
    let Some(last) = map.entries().last() else {
        return insert_first(text, tree, map, key, value);
    };
    let tail = Tail::scan(text, last.value.span.end, close);
    let style = map
        .entries()
        .iter()
        .rev()
        .find_map(|entry| own_line(text, entry.key_span.start))
        .or((tail.line_comment).then(|| indent(text, open)));
    let style = style.map(|indent| Style {
        indent: indent.to_owned(),
        unit: unit(text, tree),
        newline: newline(text),
    });
    let member = format!(
        "{}{}",
        separator(style.as_ref()),
        member(key, value, style.as_ref())
    );
    if tail.comma.is_some() {
        vec![Splice::insert(tail.end, member + ",")]
    } else {
        vec![
            Splice::insert(last.value.span.end, ","),
            Splice::insert(tail.end, member),
        ]
    }
}

fn insert_first(text: &str, tree: &Node, map: &Node, key: &str, value: &Json) -> Vec<Splice> {
    let (open, close) = (map.span.start, map.span.end - 1);
    let tail = Tail::scan(text, open + 1, close);
    let is_root = map.span == tree.span;
    if !is_root && !text.contains('\n') {
        return vec![Splice::insert(tail.end, member(key, value, None))];
    }
    let outer = indent(text, open);
    let unit = unit(text, tree);
    let style = Style {
        indent: format!("{outer}{unit}"),
        unit,
        newline: newline(text),
    };
    let mut text_in = separator(Some(&style)) + &member(key, value, Some(&style));
    if !text[tail.end..close].contains('\n') {
        text_in.push_str(style.newline);
        text_in.push_str(outer);
    }
    vec![Splice::insert(tail.end, text_in)]
}

/// Puts another value in the place of one.
pub(crate) fn replace(text: &str, tree: &Node, old: &Node, value: &Json) -> Vec<Splice> {
    let old_text = &text[old.span.start..old.span.end];
    let style = old_text.contains('\n').then(|| Style {
        indent: indent(text, old.span.start).to_owned(),
        unit: unit(text, tree),
        newline: newline(text),
    });
    vec![Splice::replace(
        old.span.start,
        old.span.end,
        render(value, style.as_ref()),
    )]
}

/// Takes a member out of a map, with the comma that belongs to it.
pub(crate) fn remove(text: &str, map: &Node, index: usize) -> Vec<Splice> {
    let entries = map.entries();
    let entry = &entries[index];
    let (open, close) = (map.span.start, map.span.end - 1);
    let start = text[..entry.key_span.start].trim_end().len();
    let end = entry.value.span.end;
    let next = entries
        .get(index + 1)
        .map_or(close, |next| next.key_span.start);
    let after = Tail::scan(text, end, next);
    let is_only = entries.len() == 1;
    let rest_end = after.comma.map_or(end, |comma| comma + 1);
    if is_only && text[open + 1..start].trim().is_empty() && text[rest_end..close].trim().is_empty()
    {
        return vec![Splice::delete(open + 1, close)];
    }
    if let (0, Some(comma), Some(following)) = (index, after.comma, entries.get(1))
        && text[end..comma].trim().is_empty()
        && text[comma + 1..following.key_span.start].trim().is_empty()
    {
        // What comes next takes its place.
        return vec![Splice::delete(
            entry.key_span.start,
            following.key_span.start,
        )];
    }
    let mut splices = vec![Splice::delete(start, end)];
    if let Some(comma) = after.comma {
        splices.push(Splice::delete(comma, comma + 1));
    } else if index > 0 {
        let previous = &entries[index - 1];
        let before = Tail::scan(text, previous.value.span.end, entry.key_span.start);
        if let Some(comma) = before.comma {
            splices.push(Splice::delete(comma, comma + 1));
        }
    }
    splices
}

/// A document that holds one value under a path of keys.
pub(crate) fn document(keys: &[&str], value: &Json) -> String {
    let style = Style {
        indent: String::new(),
        unit: UNIT.to_owned(),
        newline: "\n",
    };
    render(&nested(keys, value), Some(&style)) + "\n"
}

/// A value within as many maps as there are keys.
pub(crate) fn nested(keys: &[&str], value: &Json) -> Json {
    keys.iter().rev().fold(value.clone(), |inner, key| {
        let mut map = serde_json::Map::new();
        map.insert((*key).to_owned(), inner);
        Json::Object(map)
    })
}

/// What stands between the last value of a map and its end.
struct Tail {
    /// Where a comma stands.
    comma: Option<usize>,
    /// After the last comma or comment.
    end: usize,
    /// Whether the last thing is a comment that ends with its line.
    line_comment: bool,
}

impl Tail {
    fn scan(text: &str, from: usize, to: usize) -> Self {
        let mut tail = Self {
            comma: None,
            end: from,
            line_comment: false,
        };
        let mut at = from;
        while let Some(c) = text[at..to].chars().next() {
            let rest = &text[at..to];
            if c.is_whitespace() {
                at += c.len_utf8();
                continue;
            }
            tail.line_comment = rest.starts_with("//") || c == '#';
            if c == ',' && tail.comma.is_none() {
                tail.comma = Some(at);
                at += 1;
            } else if tail.line_comment {
                at += rest.find(['\r', '\n']).unwrap_or(rest.len());
            } else if rest.starts_with("/*") {
                at += rest.find("*/").map_or(rest.len(), |end| end + 2);
            } else {
                break;
            }
            tail.end = at;
        }
        tail
    }
}

/// How a map over several lines is laid out.
struct Style {
    indent: String,
    unit: String,
    newline: &'static str,
}

/// What one level of the file is indented by.
fn unit(text: &str, tree: &Node) -> String {
    tree.entries()
        .iter()
        .find_map(|entry| own_line(text, entry.key_span.start))
        .filter(|indent| !indent.is_empty())
        .unwrap_or(UNIT)
        .to_owned()
}

fn separator(style: Option<&Style>) -> String {
    match style {
        Some(style) => format!("{}{}", style.newline, style.indent),
        None => " ".to_owned(),
    }
}

fn member(key: &str, value: &Json, style: Option<&Style>) -> String {
    format!("{}: {}", Json::from(key), render(value, style))
}

/// A value as JSON. Lists stay on one line: they are arguments.
fn render(value: &Json, style: Option<&Style>) -> String {
    match value {
        Json::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| render(item, None)).collect();
            format!("[{}]", items.join(", "))
        }
        Json::Object(map) if map.is_empty() => "{}".to_owned(),
        Json::Object(map) => {
            let inner = style.map(|style| Style {
                indent: format!("{}{}", style.indent, style.unit),
                unit: style.unit.clone(),
                newline: style.newline,
            });
            let lead = match &inner {
                Some(inner) => separator(Some(inner)),
                None => String::new(),
            };
            let joint = format!(",{}", separator(inner.as_ref()));
            let members: Vec<String> = map
                .iter()
                .map(|(key, value)| member(key, value, inner.as_ref()))
                .collect();
            let end = match style {
                Some(style) => separator(Some(style)),
                None => String::new(),
            };
            format!("{{{lead}{}{end}}}", members.join(&joint))
        }
        other => other.to_string(),
    }
}
