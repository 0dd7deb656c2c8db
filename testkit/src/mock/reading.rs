//! Values as they were written into a request, by the style that the description names.

use serde_json::{Map, Value};

use super::document::Document;
use super::text::unescape;

/// How a value is to be written.
#[derive(Clone, Debug)]
pub(super) struct Style {
    pub(super) name: String,
    pub(super) explode: bool,
}

impl Style {
    /// The style of a parameter or of a field of a form, in either edition.
    pub(super) fn of(rule: &Value, usual: &str) -> Self {
        let text = |key: &str| rule.get(key).and_then(Value::as_str);
        if let Some(format) = text("collectionFormat") {
            let name = match format {
                "ssv" => "spaceDelimited",
                "pipes" => "pipeDelimited",
                "tsv" => "tabDelimited",
                _ => usual,
            };
            return Self {
                name: name.to_owned(),
                explode: format == "multi",
            };
        }
        let name = text("style").unwrap_or(usual).to_owned();
        let explode = rule.get("explode").and_then(Value::as_bool);
        Self {
            explode: explode.unwrap_or(name == "form"),
            name,
        }
    }

    /// The style of a parameter of OpenAPI 2.0 that says nothing: parted by commas.
    pub(super) fn old(rule: &Value, usual: &str) -> Self {
        let mut style = Self::of(rule, usual);
        if rule.get("collectionFormat").is_none() {
            style.explode = false;
        }
        style
    }
}

/// What a value can be: text, a list or fields. Of several readings the first that fits is taken.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shapes {
    pub(super) text: bool,
    pub(super) list: bool,
    pub(super) fields: bool,
}

impl Document {
    /// The shapes that a schema allows.
    pub(super) fn shapes(&self, schema: &Value) -> Shapes {
        let mut shapes = Shapes::default();
        self.gather(schema, &mut shapes, 0);
        if !(shapes.text || shapes.list || shapes.fields) {
            shapes.text = true;
        }
        shapes
    }

    fn gather(&self, schema: &Value, shapes: &mut Shapes, depth: usize) {
        let schema = self.follow(schema);
        let kinds: Vec<&str> = match schema.get("type") {
            Some(Value::String(kind)) => vec![kind],
            Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        let has = |key: &str| schema.get(key).is_some();
        shapes.list |= kinds.contains(&"array") || (kinds.is_empty() && has("items"));
        shapes.fields |= kinds.contains(&"object") || (kinds.is_empty() && has("properties"));
        shapes.text |= kinds
            .iter()
            .any(|kind| !matches!(*kind, "array" | "object"))
            || (kinds.is_empty() && has("enum"));
        if depth < 16 {
            for part in ["anyOf", "oneOf", "allOf"] {
                let parts = schema.get(part).and_then(Value::as_array);
                for part in parts.into_iter().flatten() {
                    self.gather(part, shapes, depth + 1);
                }
            }
        }
    }

    /// The first reading of a value that fits its schema, or the likeliest one.
    pub(super) fn chosen(&self, readings: &[Value], schema: &Value) -> Value {
        let typed = readings.iter().map(|value| self.typed(value, schema));
        let typed: Vec<Value> = typed.collect();
        let fitting = typed.iter().find(|value| self.fits(value, schema));
        fitting.or(typed.first()).cloned().unwrap_or(Value::Null)
    }

    /// Text as the numbers, flags and lists that its schema says it is.
    pub(super) fn typed(&self, value: &Value, schema: &Value) -> Value {
        let schema = self.follow(schema);
        for choice in ["anyOf", "oneOf"] {
            if let Some(Value::Array(branches)) = schema.get(choice) {
                let typed = branches.iter().map(|branch| self.typed(value, branch));
                let typed: Vec<Value> = typed.collect();
                let mut both = typed.iter().zip(branches);
                let fitting = both.find(|(value, branch)| self.fits(value, branch));
                if let Some((value, _)) = fitting {
                    return value.clone();
                }
            }
        }
        let mut value = value.clone();
        if let Some(Value::Array(parts)) = schema.get("allOf") {
            for part in parts {
                value = self.typed(&value, part);
            }
        }
        let is = |kind: &str| match schema.get("type") {
            Some(Value::String(name)) => name == kind,
            Some(Value::Array(names)) => names.iter().any(|name| name == kind),
            _ => false,
        };
        match value {
            Value::String(text) => scalar(text, &is, schema),
            Value::Object(fields) if is("array") => match listed(&fields) {
                Some(items) => self.typed(&Value::Array(items), schema),
                None => Value::Object(fields),
            },
            Value::Object(fields) => {
                let fields = fields.into_iter().map(|(name, value)| {
                    let of = schema.get("properties").and_then(|all| all.get(&name));
                    let of = of.or_else(|| schema.get("additionalProperties"));
                    let value = of.map_or(value.clone(), |of| self.typed(&value, of));
                    (name, value)
                });
                Value::Object(fields.collect())
            }
            Value::Array(items) => {
                let of = schema.get("items");
                let items = items.into_iter();
                let items = items.map(|item| of.map_or(item.clone(), |of| self.typed(&item, of)));
                items.collect()
            }
            value => value,
        }
    }
}

fn scalar(text: String, is: &dyn Fn(&str) -> bool, schema: &Value) -> Value {
    if is("string") {
        return text.into();
    }
    let parsed = serde_json::from_str::<Value>(&text).ok();
    let parsed = parsed.filter(|value| match value {
        Value::Number(_) => is("number") || is("integer"),
        Value::Bool(_) => is("boolean"),
        _ => false,
    });
    let listed = || {
        let values = schema.get("enum")?.as_array()?;
        let named = values.iter().find(|value| value.to_string() == text);
        named.filter(|_| schema.get("type").is_none()).cloned()
    };
    parsed.or_else(listed).unwrap_or_else(|| text.into())
}

/// The items of `a[0]`, `a[1]`, or of `a[]`.
fn listed(fields: &Map<String, Value>) -> Option<Vec<Value>> {
    if let (1, Some(items)) = (fields.len(), fields.get("")) {
        return Some(match items {
            Value::Array(items) => items.clone(),
            one => vec![one.clone()],
        });
    }
    let mut counted = fields.keys().enumerate();
    let in_order = counted.all(|(at, key)| *key == at.to_string());
    in_order.then(|| fields.values().cloned().collect())
}

/// The readings of a value in a path or in a header, likeliest first.
pub(super) fn placed(
    name: &str,
    written: &str,
    style: &Style,
    shapes: Shapes,
) -> Result<Vec<Value>, String> {
    let wrong = |mark: char| format!("style {} begins with `{mark}`", style.name);
    let (rest, joint) = match style.name.as_str() {
        "label" => {
            let rest = written.strip_prefix('.').ok_or_else(|| wrong('.'))?;
            (rest, if style.explode { '.' } else { ',' })
        }
        "matrix" => {
            let rest = written.strip_prefix(';').ok_or_else(|| wrong(';'))?;
            return matrix(name, rest, style, shapes);
        }
        _ => (written, ','),
    };
    Ok(readings(rest, joint, style.explode, shapes))
}

fn matrix(name: &str, rest: &str, style: &Style, shapes: Shapes) -> Result<Vec<Value>, String> {
    let pairs = rest
        .split(';')
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    let pairs: Vec<(&str, &str)> = pairs.collect();
    let own = pairs.iter().all(|(key, _)| unescape(key) == name);
    if style.explode && !own {
        let fields = pairs.iter().map(|(k, v)| (unescape(k), unescape(v).into()));
        return Ok(vec![Value::Object(fields.collect())]);
    }
    match (pairs.as_slice(), own) {
        ([(_, value)], true) if !style.explode => Ok(readings(value, ',', false, shapes)),
        (many, true) => {
            let items: Vec<Value> = many.iter().map(|(_, v)| unescape(v).into()).collect();
            let one = (items.len() == 1).then(|| items[0].clone());
            let list = Value::Array(items);
            Ok(if shapes.list {
                vec![list]
            } else {
                one.into_iter().collect()
            })
        }
        _ => Err(format!("style matrix names `{name}`")),
    }
}

/// The readings of values that a joint parts.
pub(super) fn readings(written: &str, joint: char, explode: bool, shapes: Shapes) -> Vec<Value> {
    let parts: Vec<&str> = written.split(joint).collect();
    let mut readings = Vec::new();
    if shapes.list {
        let items = parts.iter().filter(|_| !written.is_empty());
        readings.push(items.map(|part| Value::from(unescape(part))).collect());
    }
    if shapes.fields {
        let fields: Option<Map<String, Value>> = if explode {
            let fields = parts.iter().map(|part| {
                let (key, value) = part.split_once('=')?;
                Some((unescape(key), unescape(value).into()))
            });
            fields.collect()
        } else {
            let fields = parts.chunks(2).map(|pair| match pair {
                [key, value] => Some((unescape(key), unescape(value).into())),
                _ => None,
            });
            fields.collect()
        };
        readings.extend(fields.map(Value::Object));
    }
    if shapes.text || readings.is_empty() {
        readings.push(unescape(written).into());
    }
    readings
}
