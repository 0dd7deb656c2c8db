//! Queries and forms: which pairs belong to which parameter, and what they say.

use serde_json::{Map, Value};

use super::document::Document;
use super::reading::{Shapes, Style, readings};
use super::text::unescape;

/// The pairs of a query or a form, each taken by at most one parameter.
#[derive(Debug)]
pub(super) struct Pairs {
    left: Vec<(String, String)>,
    /// Whether they are a body. How an object stands in one is left open where the description is silent:
    /// brackets are what services read, JSON is what later editions of the specification say.
    body: bool,
}

impl Pairs {
    /// Those of a query.
    pub(super) fn of_query(text: &str) -> Self {
        Self {
            left: super::text::pairs(text),
            body: false,
        }
    }

    /// Those of a body.
    pub(super) fn of_body(text: &str) -> Self {
        Self {
            body: true,
            ..Self::of_query(text)
        }
    }

    /// Takes the pairs that belong to a parameter; the value that they give, where there are any.
    pub(super) fn take(
        &mut self,
        document: &Document,
        name: &str,
        schema: &Value,
        style: &Style,
    ) -> Result<Option<Value>, String> {
        let shapes = document.shapes(schema);
        let own = self.extract(|key| key == name);
        let silent = self.body && shapes.fields || is_nested(document, schema);
        if style.name == "deepObject" || own.is_empty() && silent {
            let inner = self.extract(|key| {
                let rest = key.strip_prefix(name);
                rest.is_some_and(|rest| rest.starts_with('[') && rest.ends_with(']'))
            });
            return match (own.as_slice(), inner.is_empty()) {
                ([], true) => Ok(None),
                ([], false) => tree(name, &inner).map(Some),
                ([(_, one)], true) => Ok(Some(unescape(one).into())),
                _ => Err("it is written in two ways".to_owned()),
            };
        }
        if style.explode && own.is_empty() && shapes.fields {
            return Ok(self.fields(document, schema));
        }
        match own.as_slice() {
            [] => Ok(None),
            many if style.explode && shapes.list => {
                let items = many.iter().map(|(_, value)| Value::from(unescape(value)));
                let items: Vec<Value> = items.collect();
                let one = (shapes.text && items.len() == 1).then(|| items[0].clone());
                let readings: Vec<Value> =
                    std::iter::once(Value::Array(items)).chain(one).collect();
                Ok(Some(document.chosen(&readings, schema)))
            }
            [(_, one)] => {
                let mut readings = parted(one, style, shapes);
                if self.body && shapes.fields {
                    readings.extend(serde_json::from_str(&unescape(one)).ok());
                }
                Ok(Some(document.chosen(&readings, schema)))
            }
            many => Err(format!("it is written {} times", many.len())),
        }
    }

    /// The fields of an object whose own name is not written.
    fn fields(&mut self, document: &Document, schema: &Value) -> Option<Value> {
        let schema = document.follow(schema);
        let known = schema.get("properties").and_then(Value::as_object);
        let known = known.cloned().unwrap_or_default();
        let open = known.is_empty();
        let taken = self.extract(|key| open || known.contains_key(key));
        let fields = taken
            .into_iter()
            .map(|(key, value)| (key, Value::from(unescape(&value))));
        let fields: Map<String, Value> = fields.collect();
        (!fields.is_empty()).then_some(Value::Object(fields))
    }

    fn extract(&mut self, wanted: impl Fn(&str) -> bool) -> Vec<(String, String)> {
        let all = std::mem::take(&mut self.left).into_iter();
        let (taken, left) = all.partition(|(key, _)| wanted(key));
        self.left = left;
        taken
    }

    /// The names that nothing took.
    pub(super) fn left(&self) -> impl Iterator<Item = &str> {
        self.left.iter().map(|(key, _)| key.as_str())
    }

    /// Takes what is left, as fields of text.
    pub(super) fn rest(&mut self) -> Map<String, Value> {
        let left = std::mem::take(&mut self.left).into_iter();
        left.map(|(key, value)| (key, unescape(&value).into()))
            .collect()
    }
}

/// Whether a value has lists or objects within, for which no style but brackets has a form.
fn is_nested(document: &Document, schema: &Value) -> bool {
    let schema = document.follow(schema);
    let deep = |part: &Value| {
        let shapes = document.shapes(part);
        shapes.list || shapes.fields
    };
    let fields = schema.get("properties").and_then(Value::as_object);
    let fields = fields.into_iter().flatten().map(|(_, part)| part);
    let mut parts = fields.chain(schema.get("items"));
    parts.any(deep)
        || ["anyOf", "oneOf", "allOf"].iter().any(|word| {
            let parts = schema.get(word).and_then(Value::as_array);
            parts
                .into_iter()
                .flatten()
                .any(|part| is_nested(document, part))
        })
}

/// The readings of one value with several in it.
fn parted(written: &str, style: &Style, shapes: Shapes) -> Vec<Value> {
    let (written, joint) = match style.name.as_str() {
        "spaceDelimited" => (written.replace("%20", " "), ' '),
        "pipeDelimited" => (written.replace("%7C", "|").replace("%7c", "|"), '|'),
        "tabDelimited" => (written.replace("%09", "\t"), '\t'),
        _ => (written.to_owned(), ','),
    };
    let shapes = if style.explode {
        Shapes {
            fields: false,
            list: false,
            text: true,
        }
    } else {
        shapes
    };
    readings(&written, joint, false, shapes)
}

/// `name[a][0]=1` as nested values; lists are still fields that count.
fn tree(name: &str, pairs: &[(String, String)]) -> Result<Value, String> {
    let mut root = Value::Object(Map::new());
    for (key, value) in pairs {
        let inside = &key[name.len() + 1..key.len() - 1];
        let mut place = &mut root;
        for step in inside.split("][") {
            let Value::Object(fields) = place else {
                return Err(format!("`{key}` stands inside a value"));
            };
            place = fields
                .entry(step)
                .or_insert_with(|| Value::Object(Map::new()));
        }
        let is_new = place.as_object().is_some_and(Map::is_empty);
        let value = Value::from(unescape(value));
        match place {
            place if is_new => *place = value,
            Value::Array(items) if inside.ends_with('[') || inside.is_empty() => items.push(value),
            Value::String(first) if key.ends_with("[]") => {
                *place = Value::Array(vec![first.as_str().into(), value]);
            }
            _ => return Err(format!("`{key}` is written twice")),
        }
    }
    Ok(root)
}
