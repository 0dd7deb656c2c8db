//! Schemas of API descriptions as plain JSON Schema (2020-12).
//!
//! OpenAPI 2.0 and 3.0 have a dialect of their own, and real files bend every dialect. What means
//! something is translated, what means nothing is dropped, and what is broken costs that keyword.
//! Every part that is referred to is translated once and shared by all tools that need it.

use std::collections::{HashMap, HashSet};

use indexmap::IndexMap;
use serde_json::{Map, Value, json};
use toolcrib_core::limits::{ADAPTER_EXAMPLE_BYTES_MAX, ADAPTER_NOTE_BYTES_MAX};

use super::library::{Library, Spot, Target, brief};
use super::prose;
use super::warning::Warnings;

/// Which way a value travels: what is read-only is not sent, what is write-only does not come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Way {
    Request,
    Answer,
}

/// A part that others refer to, as `#/$defs/NAME`.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) schema: Value,
}

/// The beginning of every reference in a translated schema.
pub(super) const DEFS: &str = "#/$defs/";

/// Translates schemas and keeps the parts that they share.
pub(super) struct Schemas<'a> {
    library: &'a Library,
    /// Whether keywords beside `$ref` count, as they do from 3.1 on.
    siblings: bool,
    names: HashMap<(Way, Target), String>,
    taken: HashSet<String>,
    waiting: Vec<(Way, String, Spot<'a>)>,
    shared: IndexMap<String, Shared>,
    patterns: HashMap<String, bool>,
}

impl<'a> Schemas<'a> {
    pub(super) fn new(library: &'a Library, siblings: bool) -> Self {
        Self {
            library,
            siblings,
            names: HashMap::new(),
            taken: HashSet::new(),
            waiting: Vec::new(),
            shared: IndexMap::new(),
            patterns: HashMap::new(),
        }
    }

    /// The schema at a spot; references in it lead to shared parts.
    pub(super) fn translate(&mut self, spot: Spot<'a>, way: Way, warn: &mut Warnings) -> Value {
        let schema = self.part(spot, way, warn);
        while let Some((way, name, spot)) = self.waiting.pop() {
            let schema = self.part(spot, way, warn);
            self.shared.insert(name, Shared { schema });
        }
        schema
    }

    /// The shared parts, each of which can be applied without leading to itself at once.
    pub(super) fn finish(mut self, warn: &mut Warnings) -> IndexMap<String, Shared> {
        super::knot::untie(&mut self.shared, warn);
        self.shared
    }

    /// The shared part that a translated schema refers to.
    pub(super) fn shared(&self, reference: &str) -> Option<&Value> {
        let name = reference.strip_prefix(DEFS)?;
        self.shared.get(name).map(|part| &part.schema)
    }

    fn part(&mut self, spot: Spot<'a>, way: Way, warn: &mut Warnings) -> Value {
        let Value::Object(fields) = spot.value else {
            return Value::Bool(spot.value != &Value::Bool(false));
        };
        let reference = ["$ref", "$dynamicRef"]
            .iter()
            .find_map(|keyword| spot.text(keyword));
        let mut out = Map::new();
        if let Some(reference) = reference {
            match self.refer(spot.document, reference, way) {
                Ok(name) => {
                    out.insert("$ref".to_owned(), format!("{DEFS}{name}").into());
                }
                Err(why) => warn.add(format!("{why}; anything is accepted in its place")),
            }
        }
        for (keyword, value) in fields {
            let counts = reference.is_none() || self.siblings || is_remark(keyword);
            if counts
                && let Some((keyword, value)) = self.keyword(keyword, spot.at(value), way, warn)
            {
                out.insert(keyword.to_owned(), value);
            }
        }
        exclusive_bounds(&mut out, fields);
        settle_contradictions(&mut out, warn);
        if fields.get("nullable") == Some(&Value::Bool(true)) {
            out = or_null(out);
        }
        if way == Way::Request && fields.contains_key("properties") {
            self.leave_out_read_only(spot, &mut out, "readOnly");
        } else if fields.contains_key("properties") {
            self.leave_out_read_only(spot, &mut out, "writeOnly");
        }
        Value::Object(out)
    }

    /// The name under which a part is shared; it is translated when its turn comes.
    fn refer(&mut self, document: usize, reference: &str, way: Way) -> Result<String, String> {
        let (target, spot) = self.library.follow(document, reference)?;
        let key = (way, target);
        if let Some(name) = self.names.get(&key) {
            return Ok(name.clone());
        }
        let last = key.1.pointer.rsplit('/').next().unwrap_or("");
        let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
        let mut name: String = last.chars().filter(|c| legal(*c)).take(80).collect();
        if name.is_empty() {
            "part".clone_into(&mut name);
        }
        let base = name.clone();
        let mut count = 1;
        while !self.taken.insert(name.clone()) {
            count += 1;
            name = format!("{base}_{count}");
        }
        self.names.insert(key, name.clone());
        self.waiting.push((way, name.clone(), spot));
        Ok(name)
    }

    /// One keyword in plain JSON Schema; `None` where it means nothing or is broken.
    fn keyword(
        &mut self,
        keyword: &'a str,
        spot: Spot<'a>,
        way: Way,
        warn: &mut Warnings,
    ) -> Option<(&'a str, Value)> {
        let value = spot.value;
        let kept = match keyword {
            "type" => types(value)?,
            "properties" | "patternProperties" | "dependentSchemas" => {
                let fields = value.as_object()?.iter();
                let parts = fields
                    .filter(|(_, part)| part.is_object() || part.is_boolean())
                    .filter(|(name, _)| keyword != "patternProperties" || self.compiles(name))
                    .map(|(name, part)| (name.clone(), spot.at(part)))
                    .collect::<Vec<_>>();
                let parts = parts.into_iter();
                let parts = parts.map(|(name, part)| (name, self.part(part, way, warn)));
                Value::Object(parts.collect())
            }
            "items" if value.is_array() => {
                return Some(("prefixItems", self.parts(spot, way, warn)?));
            }
            "allOf" | "anyOf" | "oneOf" | "prefixItems" => self.parts(spot, way, warn)?,
            "items"
            | "additionalProperties"
            | "not"
            | "if"
            | "then"
            | "else"
            | "contains"
            | "propertyNames"
            | "unevaluatedItems"
            | "unevaluatedProperties" => {
                if !value.is_object() && !value.is_boolean() {
                    return None;
                }
                self.part(spot, way, warn)
            }
            "required" => {
                let names = value.as_array()?.iter().filter(|name| name.is_string());
                let mut seen = HashSet::new();
                let names: Vec<Value> = names.filter(|n| seen.insert(*n)).cloned().collect();
                (!names.is_empty()).then_some(Value::Array(names))?
            }
            "enum" => value
                .as_array()
                .filter(|list| !list.is_empty())?
                .clone()
                .into(),
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => {
                value.as_number()?.clone().into()
            }
            "multipleOf" => value
                .as_f64()
                .filter(|by| *by > 0.0)
                .map(|_| value.clone())?,
            "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties"
            | "maxProperties" | "minContains" | "maxContains" => count(value)?,
            "uniqueItems" | "deprecated" => value.as_bool()?.into(),
            "pattern" => {
                let pattern = value.as_str()?;
                if !self.compiles(pattern) {
                    warn.add(format!("the pattern `{}` cannot be used", brief(pattern)));
                    return None;
                }
                value.clone()
            }
            "format" | "title" | "contentEncoding" | "contentMediaType" => {
                value.as_str()?;
                value.clone()
            }
            "description" => prose::plain(value.as_str()?, ADAPTER_NOTE_BYTES_MAX).into(),
            "dependentRequired" => value.as_object()?.clone().into(),
            "const" => value.clone(),
            "default" => small(value)?,
            "example" => return Some(("examples", json!([small(value)?]))),
            "examples" => {
                let first = match value {
                    Value::Array(list) => list.first()?,
                    Value::Object(map) => map.values().next()?,
                    _ => return None,
                };
                json!([small(first)?])
            }
            _ => return None,
        };
        Some((keyword, kept))
    }

    fn parts(&mut self, spot: Spot<'a>, way: Way, warn: &mut Warnings) -> Option<Value> {
        let list = spot.value.as_array()?.iter();
        let list: Vec<&Value> = list.filter(|v| v.is_object() || v.is_boolean()).collect();
        let parts = list
            .into_iter()
            .map(|part| self.part(spot.at(part), way, warn));
        let parts: Vec<Value> = parts.collect();
        (!parts.is_empty()).then_some(Value::Array(parts))
    }

    /// Whether the checker of arguments can use a pattern; each is tried once.
    fn compiles(&mut self, pattern: &str) -> bool {
        if let Some(known) = self.patterns.get(pattern) {
            return *known;
        }
        let compiles = toolcrib_core::schema::compile(&json!({"pattern": pattern})).is_ok();
        self.patterns.insert(pattern.to_owned(), compiles);
        compiles
    }

    /// Takes out the properties that do not travel this way.
    fn leave_out_read_only(&self, spot: Spot<'a>, out: &mut Map<String, Value>, mark: &str) {
        let gone: Vec<&str> = spot
            .entries("properties")
            .filter(|(_, part)| {
                let settled = self.library.settle(*part);
                part.says(mark) || settled.is_ok_and(|part| part.says(mark))
            })
            .map(|(name, _)| name)
            .collect();
        if gone.is_empty() {
            return;
        }
        if let Some(Value::Object(properties)) = out.get_mut("properties") {
            properties.retain(|name, _| !gone.contains(&name.as_str()));
        }
        if let Some(Value::Array(required)) = out.get_mut("required") {
            required.retain(|name| !name.as_str().is_some_and(|name| gone.contains(&name)));
            if required.is_empty() {
                out.shift_remove("required");
            }
        }
    }
}

/// Takes out what no value could ever fit: a tool that nobody can call is worse than a loose schema.
fn settle_contradictions(out: &mut Map<String, Value>, warn: &mut Warnings) {
    let closed = out.get("additionalProperties") == Some(&Value::Bool(false))
        && !out.contains_key("patternProperties");
    let known = |name: &Value| {
        let named = out.get("properties").and_then(Value::as_object);
        named.is_some_and(|named| name.as_str().is_some_and(|name| named.contains_key(name)))
    };
    let required = out.get("required").and_then(Value::as_array);
    let unknown = required.and_then(|required| required.iter().find(|name| !known(name)));
    if let (true, Some(name)) = (closed, unknown) {
        warn.add(format!(
            "{name} is required but not among the only properties; others are accepted"
        ));
        out.shift_remove("additionalProperties");
    }
    let mut seen = Vec::new();
    let alternatives = out.get("oneOf").and_then(Value::as_array);
    let doubled = alternatives.into_iter().flatten().any(|part| {
        let mut part = part.clone();
        if let Value::Object(keywords) = &mut part {
            keywords.retain(|keyword, _| keyword != "format" && !is_remark(keyword));
        }
        let known = seen.contains(&part);
        seen.push(part);
        known
    });
    if doubled && !out.contains_key("anyOf") {
        warn.add("two alternatives of a oneOf are the same; one or more may fit");
        if let Some(alternatives) = out.shift_remove("oneOf") {
            out.insert("anyOf".to_owned(), alternatives);
        }
    }
}

/// Keywords that may stand beside a reference in every version: they constrain nothing.
pub(super) fn is_remark(keyword: &str) -> bool {
    matches!(
        keyword,
        "description" | "title" | "deprecated" | "default" | "example" | "examples"
    )
}

/// A value that is worth its place in every list of tools.
fn small(value: &Value) -> Option<Value> {
    let size = serde_json::to_string(value).map_or(usize::MAX, |text| text.len());
    (size <= ADAPTER_EXAMPLE_BYTES_MAX).then(|| value.clone())
}

fn count(value: &Value) -> Option<Value> {
    let whole = value.as_u64();
    let float = || {
        let float = value.as_f64().filter(|f| *f >= 0.0 && f.fract() == 0.0)?;
        format!("{float:.0}").parse::<u64>().ok()
    };
    whole.or_else(float).map(Value::from)
}

/// The types that JSON Schema knows, by their own name or by one that authors use for them.
fn types(value: &Value) -> Option<Value> {
    let known = |name: &str| match name.to_ascii_lowercase().as_str() {
        "string" | "file" | "date" | "datetime" | "date-time" | "uuid" | "text" | "str" => {
            Some("string")
        }
        "number" | "float" | "double" | "decimal" => Some("number"),
        "integer" | "int" | "long" | "int32" | "int64" => Some("integer"),
        "boolean" | "bool" => Some("boolean"),
        "array" | "list" => Some("array"),
        "object" | "map" => Some("object"),
        "null" => Some("null"),
        _ => None,
    };
    match value {
        Value::String(name) => known(name).map(Value::from),
        Value::Array(names) => {
            let mut kept: Vec<Value> = Vec::new();
            for name in names {
                let name = Value::from(known(name.as_str()?)?);
                if !kept.contains(&name) {
                    kept.push(name);
                }
            }
            (!kept.is_empty()).then_some(Value::Array(kept))
        }
        _ => None,
    }
}

/// `exclusiveMinimum: true` beside `minimum`, as it was written before 3.1.
fn exclusive_bounds(out: &mut Map<String, Value>, fields: &Map<String, Value>) {
    for (flag, bound) in [
        ("exclusiveMinimum", "minimum"),
        ("exclusiveMaximum", "maximum"),
    ] {
        if fields.get(flag) == Some(&Value::Bool(true))
            && let Some(value) = out.shift_remove(bound)
        {
            out.insert(flag.to_owned(), value);
        }
    }
}

/// The schema, or `null`.
fn or_null(mut schema: Map<String, Value>) -> Map<String, Value> {
    let absent = json!({"type": "null"});
    match schema.get_mut("type") {
        Some(Value::String(name)) => {
            let name = std::mem::take(name);
            schema.insert("type".to_owned(), json!([name, "null"]));
        }
        Some(Value::Array(names)) if !names.contains(&Value::from("null")) => {
            names.push("null".into());
        }
        _ => {}
    }
    for keyword in ["anyOf", "oneOf"] {
        if let Some(Value::Array(options)) = schema.get_mut(keyword) {
            let says_null = |option: &Value| option.get("type") == Some(&"null".into());
            if !options.iter().any(says_null) {
                options.push(absent.clone());
            }
        }
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum")
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
    // A reference or `allOf` beside them would refuse `null` all the same.
    if !schema.contains_key("$ref") && !schema.contains_key("allOf") {
        return schema;
    }
    let mut outer = Map::new();
    for keyword in ["title", "description", "deprecated", "default", "examples"] {
        if let Some(value) = schema.shift_remove(keyword) {
            outer.insert(keyword.to_owned(), value);
        }
    }
    outer.insert("anyOf".to_owned(), json!([schema, absent]));
    outer
}

#[cfg(test)]
#[path = "schema/tests.rs"]
mod tests;
