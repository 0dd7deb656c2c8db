//! One parameter, and the parameters inside it.

use serde_json::{Map, Value};

use super::Level;
use crate::discovery::prose;
use crate::schema::outline::{Field, Outline};
use crate::schema::signature::{Detail, field_type};

/// Keywords that bound a value and cost little.
const BOUNDS: [&str; 11] = [
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "pattern",
];

/// Bounds that nobody would break, as generators write them.
const BOUNDS_FAR: f64 = 9_007_199_254_740_991.0;

/// Longest text of a bound or default.
const SHORT_CHARS_MAX: usize = 120;

/// A parameter as it is shown.
pub(super) struct Parameter(Map<String, Value>);

impl Parameter {
    pub(super) fn into_value(self) -> Value {
        Value::Object(self.0)
    }
}

/// The fields of an object, required ones first; `cut` is set where something was left out.
pub(super) fn list(outline: &Outline<'_>, level: &Level, cut: &mut bool) -> Vec<Parameter> {
    list_at(outline, level, level.nesting, cut)
}

fn list_at(outline: &Outline<'_>, level: &Level, nesting: usize, cut: &mut bool) -> Vec<Parameter> {
    let fields = fields_of(outline);
    *cut |= fields.len() > level.parameters;
    let shown = fields.into_iter().take(level.parameters);
    shown
        .map(|field| parameter(field, level, nesting, cut))
        .collect()
}

/// The fields of an object and of its alternatives, each name once, required ones first.
fn fields_of<'o, 'a>(outline: &'o Outline<'a>) -> Vec<&'o Field<'a>> {
    let mut fields: Vec<&Field<'_>> = outline.fields.iter().collect();
    for alternative in &outline.alternatives {
        for field in &alternative.fields {
            if !fields.iter().any(|have| have.name == field.name) {
                fields.push(field);
            }
        }
    }
    fields.sort_by_key(|field| !field.required);
    fields
}

fn parameter(field: &Field<'_>, level: &Level, nesting: usize, cut: &mut bool) -> Parameter {
    let outline = &field.outline;
    let inner = innermost(outline);
    let spelled = nesting > 0 && inner.rich;
    let types = if spelled {
        Detail {
            depth: 0,
            ..level.types
        }
    } else {
        level.types
    };
    let mut shown = Map::new();
    shown.insert("name".into(), field.name.into());
    let written = field_type(field, types);
    *cut |= written.contains('…');
    shown.insert("type".into(), written.into());
    if let Some(text) = outline.description().or_else(|| inner.description()) {
        let text = prose::sense(text, field.name);
        let text = match shown_default(outline) {
            Some(default) => prose::without_default(&text, &default.to_string()),
            None => &text,
        };
        let (text, shortened) = prose::shorten(text, level.text);
        *cut |= shortened;
        if !text.is_empty() {
            shown.insert("description".into(), text.into_owned().into());
        }
    }
    if field.required {
        shown.insert("required".into(), true.into());
    }
    keywords(&mut shown, outline, inner, cut);
    if spelled {
        let inside = list_at(inner, level, nesting - 1, cut);
        let inside = inside.into_iter().map(Parameter::into_value).collect();
        shown.insert("properties".into(), Value::Array(inside));
    } else if inner.rich {
        *cut = true;
    }
    Parameter(shown)
}

/// The object inside arrays and alternatives, or the value itself.
fn innermost<'o, 'a>(outline: &'o Outline<'a>) -> &'o Outline<'a> {
    let mut inner = outline;
    while let Some(items) = &inner.items {
        inner = items;
    }
    inner
}

fn keywords(
    shown: &mut Map<String, Value>,
    outline: &Outline<'_>,
    inner: &Outline<'_>,
    cut: &mut bool,
) {
    match shown_default(outline) {
        Some(default) => {
            shown.insert("default".into(), default.clone());
        }
        None => *cut |= outline.keyword("default").is_some_and(says_something),
    }
    if let Some(format) = outline.text("format").or_else(|| inner.text("format")) {
        shown.insert("format".into(), format.into());
    }
    for name in BOUNDS {
        let Some(value) = outline.keyword(name) else {
            continue;
        };
        let far = value.as_f64().is_some_and(|n| n.abs() >= BOUNDS_FAR);
        let idle = name.starts_with("min") && name != "minimum" && value.as_f64() == Some(0.0);
        if far || idle || value.is_boolean() {
            continue;
        }
        if value.to_string().chars().count() > SHORT_CHARS_MAX {
            *cut = true;
        } else {
            shown.insert(name.into(), value.clone());
        }
    }
}

/// The default, where it says something and is short.
fn shown_default<'a>(outline: &Outline<'a>) -> Option<&'a Value> {
    let default = outline.keyword("default")?;
    let short = default.to_string().chars().count() <= SHORT_CHARS_MAX;
    (short && says_something(default)).then_some(default)
}

/// Whether a default tells more than that the parameter may be left out.
fn says_something(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        _ => true,
    }
}
