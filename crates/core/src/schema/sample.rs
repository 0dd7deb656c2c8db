//! Example arguments, made from a schema so that they pass its check.
//!
//! What the schema itself gives (`examples`, `default`, a listed value) is preferred; the rest is made
//! up from type, format, pattern, bounds and name. Nothing is returned that the schema refuses.

mod text;

use serde_json::{Map, Number, Value, json};

use super::outline::{Field, Outline, Reading};
use super::{Compiled, Unknown};
use crate::limits::{OUTLINE_DEPTH_MAX, SAMPLE_BYTES_MAX, SAMPLE_ITEMS_MAX};

/// How an example is tried.
#[derive(Clone, Copy)]
struct Attempt {
    /// Whether values that the schema gives are used.
    given: bool,
    /// Which alternative is taken, counted round.
    alternative: usize,
    /// Whether optional fields are filled as well.
    every_field: bool,
}

/// The smallest example first, then whatever else may pass.
fn attempts() -> impl Iterator<Item = Attempt> {
    let attempt = |given, alternative, every_field| Attempt {
        given,
        alternative,
        every_field,
    };
    let small = (0..4).flat_map(move |n| [attempt(true, n, false), attempt(false, n, false)]);
    let full = (0..2).flat_map(move |n| [attempt(true, n, true), attempt(false, n, true)]);
    small.chain(full)
}

/// Arguments that pass the check of a schema: its own example, or the least that it asks for. `None`
/// where the schema does not compile or nothing that passes is found.
pub fn sample(schema: &Value) -> Option<Value> {
    let compiled = super::compile(schema).ok()?;
    sample_for(schema, &compiled)
}

/// As [`sample`], for a schema that is compiled already.
pub fn sample_for(schema: &Value, compiled: &Compiled) -> Option<Value> {
    let reading = Reading::new(schema);
    let outline = reading.outline();
    let passes = |value: &Value| {
        value.to_string().len() <= SAMPLE_BYTES_MAX
            && compiled.check(value, Unknown::Refuse).is_ok()
    };
    let own = given_examples(&outline).filter(Value::is_object);
    let made = attempts().map(|attempt| value_of(&outline, "", attempt, 0));
    own.chain(made).find(passes)
}

/// What a schema gives as examples of the value.
fn given_examples<'a>(outline: &Outline<'a>) -> impl Iterator<Item = Value> + use<'a> {
    let listed = match outline.keyword("examples") {
        Some(Value::Array(list)) => list.iter().collect(),
        _ => Vec::new(),
    };
    listed
        .into_iter()
        .chain(outline.keyword("example"))
        .cloned()
}

fn value_of(outline: &Outline<'_>, name: &str, attempt: Attempt, depth: usize) -> Value {
    // What a description shows of a file is the file, not its base64.
    let is_bytes = outline.text("contentEncoding") == Some("base64");
    if attempt.given && depth > 0 && !is_bytes {
        let default = outline.keyword("default").filter(|value| !value.is_null());
        if let Some(value) = given_examples(outline).next().or_else(|| default.cloned()) {
            return value;
        }
    }
    if let Some(value) = outline.values.first() {
        return (*value).clone();
    }
    let count = outline.alternatives.len();
    if count > 0 {
        let alternative = &outline.alternatives[attempt.alternative % count];
        return value_of(alternative, name, attempt, depth);
    }
    let kind = match outline.types.first() {
        _ if depth == 0 => "object",
        Some(kind) => kind,
        None if outline.nullable => "null",
        None => implied(outline),
    };
    match kind {
        "object" => object(outline, attempt, depth),
        "array" => array(outline, name, attempt, depth),
        "integer" => number(outline, true),
        "number" => number(outline, false),
        "boolean" => Value::Bool(true),
        "null" => Value::Null,
        _ => Value::String(text::text(outline, name)),
    }
}

/// The type of a value for which none is stated.
fn implied(outline: &Outline<'_>) -> &'static str {
    let has = |keywords: &[&str]| keywords.iter().any(|k| outline.keyword(k).is_some());
    if has(&[
        "required",
        "properties",
        "additionalProperties",
        "minProperties",
    ]) {
        "object"
    } else if has(&["minimum", "maximum", "multipleOf", "exclusiveMinimum"]) {
        "number"
    } else if has(&["items", "minItems"]) {
        "array"
    } else {
        "string"
    }
}

fn object(outline: &Outline<'_>, attempt: Attempt, depth: usize) -> Value {
    let mut object = Map::new();
    if depth > OUTLINE_DEPTH_MAX {
        return Value::Object(object);
    }
    let wanted = |field: &&Field<'_>| field.required || (attempt.every_field && depth < 2);
    for field in outline.fields.iter().filter(wanted) {
        let value = value_of(&field.outline, field.name, attempt, depth + 1);
        object.insert(field.name.to_owned(), value);
    }
    for name in outline.required() {
        if !object.contains_key(name) {
            object.insert(name.to_owned(), Value::String(name.to_owned()));
        }
    }
    let least = bound(outline, "minProperties").unwrap_or_default();
    for at in 0..least.min(SAMPLE_ITEMS_MAX) {
        if object.len() >= least {
            break;
        }
        let spare = outline.fields.iter().find(|f| !object.contains_key(f.name));
        match spare {
            Some(field) => {
                let value = value_of(&field.outline, field.name, attempt, depth + 1);
                object.insert(field.name.to_owned(), value);
            }
            None => {
                object.insert(format!("key{}", at + 1), json!("value"));
            }
        }
    }
    Value::Object(object)
}

fn array(outline: &Outline<'_>, name: &str, attempt: Attempt, depth: usize) -> Value {
    let least = bound(outline, "minItems").unwrap_or_default();
    let most = bound(outline, "maxItems").unwrap_or(SAMPLE_ITEMS_MAX);
    let count = least.max(1).min(most).min(SAMPLE_ITEMS_MAX);
    if depth > OUTLINE_DEPTH_MAX {
        return json!([]);
    }
    let unique = outline.keyword("uniqueItems").and_then(Value::as_bool) == Some(true);
    let name = name
        .strip_suffix('s')
        .filter(|n| n.len() > 2)
        .unwrap_or(name);
    let mut items: Vec<Value> = Vec::new();
    for at in 0..count {
        let mut item = match &outline.items {
            Some(items) => match items.values.get(at) {
                Some(value) if unique => (*value).clone(),
                _ => value_of(items, name, attempt, depth + 1),
            },
            None => json!(text::plain(name)),
        };
        if unique && items.contains(&item) {
            item = other(&item, at);
        }
        items.push(item);
    }
    Value::Array(items)
}

/// A value of the same type that differs.
fn other(value: &Value, at: usize) -> Value {
    match value {
        // Numbers in text have patterns that a longer text may not fit.
        Value::String(text) => match text.parse::<u32>() {
            Ok(number) => {
                let more = u32::try_from(at).unwrap_or(1);
                json!(number.saturating_add(more).to_string())
            }
            Err(_) => json!(format!("{text}{}", at + 1)),
        },
        Value::Number(number) => match number.as_i64() {
            Some(whole) => json!(whole.saturating_add(i64::try_from(at).unwrap_or(1))),
            None => value.clone(),
        },
        Value::Bool(flag) => json!(!flag),
        other => other.clone(),
    }
}

fn bound(outline: &Outline<'_>, keyword: &str) -> Option<usize> {
    let value = outline.keyword(keyword)?.as_f64()?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a bound is a small whole number; others are cut to the nearest that is"
    )]
    Some(value.clamp(0.0, 1_000_000.0) as usize)
}

/// A number within its bounds: 1 where nothing speaks against it.
fn number(outline: &Outline<'_>, whole: bool) -> Value {
    let of = |keyword| outline.keyword(keyword).and_then(Value::as_f64);
    let step = of("multipleOf").filter(|step| *step > 0.0);
    let nudge = step.unwrap_or(if whole { 1.0 } else { 0.5 });
    // Draft 4 writes `exclusiveMinimum: true` beside `minimum`.
    let strict = |keyword| outline.keyword(keyword).and_then(Value::as_bool) == Some(true);
    let least = match (of("exclusiveMinimum"), of("minimum")) {
        (Some(above), _) => Some(above + nudge),
        (None, Some(least)) if strict("exclusiveMinimum") => Some(least + nudge),
        (None, least) => least,
    };
    let most = match (of("exclusiveMaximum"), of("maximum")) {
        (Some(below), _) => Some(below - nudge),
        (None, Some(most)) if strict("exclusiveMaximum") => Some(most - nudge),
        (None, most) => most,
    };
    let mut number = 1.0_f64.max(least.unwrap_or(1.0));
    if let Some(most) = most {
        number = number.min(most);
    }
    if let Some(least) = least {
        number = number.max(least);
    }
    if let Some(step) = step {
        number = (number / step).ceil() * step;
    } else if whole {
        number = number.ceil();
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "checked to be a whole number in range"
    )]
    if number.fract() == 0.0 && number.abs() < 9e15 {
        return json!(number as i64);
    }
    Number::from_f64(number).map_or(Value::Null, Value::Number)
}

#[cfg(test)]
mod tests;
