//! A tool in one line: its name, its parameters, their types.
//!
//! `create_issue(owner: string, repo: string, title: string, body?: string)` tells most callers all
//! they need. Required parameters come first; what does not fit is `…`.

use std::fmt::Write as _;

use serde_json::Value;

use super::kind_of;
use super::outline::{Field, Outline, Reading};
use crate::limits::{SIGNATURE_NAME_CHARS_MAX, SIGNATURE_TOKENS_MAX, TYPE_CHARS_MAX};
use crate::tokens;

/// How much of a type is written out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Detail {
    /// How deep fields of objects are listed.
    pub depth: usize,
    /// Most values that are listed before `…`.
    pub values: usize,
}

/// What is tried in turn until a signature fits.
const LEVELS: [Detail; 4] = [
    Detail {
        depth: 2,
        values: 8,
    },
    Detail {
        depth: 1,
        values: 4,
    },
    Detail {
        depth: 0,
        values: 4,
    },
    Detail {
        depth: 0,
        values: 0,
    },
];

/// The signature of a tool with these arguments, of at most [`SIGNATURE_TOKENS_MAX`] tokens.
///
/// ```
/// use serde_json::json;
/// let schema = json!({
///     "properties": {"body": {"type": "string"}, "title": {"type": "string"}},
///     "required": ["title"]
/// });
/// let line = toolcrib_core::schema::signature("create_issue", &schema);
/// assert_eq!(line, "create_issue(title: string, body?: string)");
/// ```
pub fn signature(name: &str, schema: &Value) -> String {
    let reading = Reading::new(schema);
    of_outline(name, &reading.outline())
}

/// The signature of a tool whose arguments were read already.
pub fn of_outline(name: &str, outline: &Outline<'_>) -> String {
    let name: String = name.chars().take(SIGNATURE_NAME_CHARS_MAX).collect();
    let (required, optional): (Vec<_>, Vec<_>) = outline.fields.iter().partition(|f| f.required);
    let fields: Vec<&Field<'_>> = required.iter().chain(&optional).copied().collect();
    for detail in LEVELS {
        let line = written(&name, &fields, fields.len(), detail);
        if tokens::fits(&line, SIGNATURE_TOKENS_MAX) {
            return line;
        }
    }
    let last = LEVELS[LEVELS.len() - 1];
    let fits =
        |shown: &usize| tokens::fits(&written(&name, &fields, *shown, last), SIGNATURE_TOKENS_MAX);
    let shown = (0..fields.len()).rev().find(fits).unwrap_or_default();
    written(&name, &fields, shown, last)
}

/// The first fields of a signature, `…` for the rest.
fn written(name: &str, fields: &[&Field<'_>], shown: usize, detail: Detail) -> String {
    let mut line = format!("{name}(");
    for (at, field) in fields.iter().take(shown).enumerate() {
        let comma = if at == 0 { "" } else { ", " };
        line.push_str(comma);
        write_field(&mut line, field, detail);
    }
    if shown < fields.len() {
        line.push_str(if shown == 0 { "…" } else { ", …" });
    }
    line.push(')');
    line
}

fn write_field(line: &mut String, field: &Field<'_>, detail: Detail) {
    let mark = if field.required { "" } else { "?" };
    let _ = write!(line, "{}{mark}: {}", field.name, field_type(field, detail));
}

/// The type of a field; that an optional one may be `null` as well goes without saying.
pub fn field_type(field: &Field<'_>, detail: Detail) -> String {
    let written = type_text(&field.outline, detail);
    if field.required && field.outline.nullable && !["any", "null"].contains(&written.as_str()) {
        format!("{written}|null")
    } else {
        written
    }
}

/// A type as it is written in a signature: `string`, `'open'|'closed'`, `{name: string}[]`.
pub fn type_text(outline: &Outline<'_>, detail: Detail) -> String {
    let mut choices: Vec<String> = Vec::new();
    let mut add = |text: String| {
        if !choices.contains(&text) {
            choices.push(text);
        }
    };
    if !outline.alternatives.is_empty() {
        for alternative in &outline.alternatives {
            add(type_text(alternative, detail));
        }
    } else if !outline.values.is_empty() && detail.values > 0 {
        for value in outline.values.iter().take(detail.values) {
            add(value_text(value));
        }
        if outline.values.len() > detail.values {
            add("…".to_owned());
        }
    } else if outline.types.is_empty() && !outline.values.is_empty() {
        outline
            .values
            .iter()
            .for_each(|value| add(kind_of(value).to_owned()));
    } else {
        for kind in &outline.types {
            add(match *kind {
                "array" => array_text(outline, detail),
                "object" => object_text(outline, detail),
                other => other.to_owned(),
            });
        }
    }
    if choices.is_empty() {
        return if outline.nullable { "null" } else { "any" }.to_owned();
    }
    let text = choices.join("|");
    if text.chars().count() > TYPE_CHARS_MAX {
        return shorter(outline, &text, detail);
    }
    text
}

/// A type that is too long, with less written out, or cut.
fn shorter(outline: &Outline<'_>, text: &str, detail: Detail) -> String {
    let less = match detail {
        Detail { values: 1.., .. } => Detail {
            depth: 0,
            values: 0,
        },
        _ => return text.chars().take(TYPE_CHARS_MAX).chain(['…']).collect(),
    };
    type_text(outline, less)
}

fn array_text(outline: &Outline<'_>, detail: Detail) -> String {
    let Some(items) = &outline.items else {
        return "array".to_owned();
    };
    let inner = type_text(items, detail);
    match inner.as_str() {
        "any" => "array".to_owned(),
        _ if inner.contains('|') && !inner.starts_with('{') => format!("({inner})[]"),
        _ => format!("{inner}[]"),
    }
}

fn object_text(outline: &Outline<'_>, detail: Detail) -> String {
    if detail.depth == 0 || !outline.has_fields() {
        return "object".to_owned();
    }
    let inner = Detail {
        depth: detail.depth - 1,
        ..detail
    };
    let mut text = String::from("{");
    for (at, field) in outline.fields.iter().enumerate() {
        text.push_str(if at == 0 { "" } else { ", " });
        write_field(&mut text, field, inner);
        if text.len() > TYPE_CHARS_MAX {
            return "object".to_owned();
        }
    }
    text.push('}');
    text
}

fn value_text(value: &Value) -> String {
    match value {
        Value::String(text) => {
            let text: String = text.chars().take(TYPE_CHARS_MAX).collect();
            format!("'{text}'")
        }
        Value::Array(_) => "array".to_owned(),
        Value::Object(_) => "object".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests;
