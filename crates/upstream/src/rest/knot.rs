//! Shared schemas that lead to themselves without anything in between.
//!
//! A list of itself is fine; `allOf` of itself can never be checked. Where a chain of parts that
//! speak about the same value comes back to where it began, its last reference is taken out.

use std::collections::HashMap;

use indexmap::IndexMap;
use serde_json::Value;

use super::schema::{DEFS, Shared};
use super::warning::Warnings;

/// Keywords whose subschemas speak about the same value.
const SAME: [&str; 3] = ["allOf", "anyOf", "oneOf"];
const SAME_ONE: [&str; 4] = ["not", "if", "then", "else"];

/// Takes out every reference that closes a circle.
pub(super) fn untie(shared: &mut IndexMap<String, Shared>, warn: &mut Warnings) {
    let edges: HashMap<String, Vec<String>> = shared
        .iter()
        .map(|(name, part)| {
            let mut to = Vec::new();
            same(&part.schema, &mut to);
            (name.clone(), to)
        })
        .collect();
    let mut states: HashMap<&str, bool> = HashMap::new();
    let mut cuts: Vec<(String, String)> = Vec::new();
    for start in shared.keys() {
        search(start, &edges, &mut states, &mut cuts);
    }
    for (from, to) in cuts {
        warn.add(format!(
            "the schema `{to}` is made of itself by way of `{from}`; that part of it is left out"
        ));
        if let Some(part) = shared.get_mut(&from) {
            part.schema = without(std::mem::take(&mut part.schema), &to);
        }
    }
}

/// Depth first without recursion: chains of references may be long.
fn search<'a>(
    start: &'a str,
    edges: &'a HashMap<String, Vec<String>>,
    states: &mut HashMap<&'a str, bool>,
    cuts: &mut Vec<(String, String)>,
) {
    if states.contains_key(start) {
        return;
    }
    states.insert(start, false);
    let mut stack: Vec<(&str, usize)> = vec![(start, 0)];
    while let Some((name, at)) = stack.pop() {
        let Some(next) = edges.get(name).and_then(|to| to.get(at)) else {
            states.insert(name, true);
            continue;
        };
        stack.push((name, at + 1));
        match states.get(next.as_str()) {
            Some(false) => {
                let cut = (name.to_owned(), next.clone());
                if !cuts.contains(&cut) {
                    cuts.push(cut);
                }
            }
            Some(true) => {}
            None => {
                states.insert(next, false);
                stack.push((next, 0));
            }
        }
    }
}

/// The shared parts that speak about the same value as this schema.
fn same(schema: &Value, to: &mut Vec<String>) {
    let Value::Object(fields) = schema else {
        return;
    };
    for (keyword, value) in fields {
        match (keyword.as_str(), value) {
            ("$ref", Value::String(reference)) => {
                to.extend(reference.strip_prefix(DEFS).map(str::to_owned));
            }
            (list, Value::Array(parts)) if SAME.contains(&list) => {
                for part in parts {
                    same(part, to);
                }
            }
            (one, part) if SAME_ONE.contains(&one) => same(part, to),
            ("dependentSchemas", Value::Object(parts)) => {
                for part in parts.values() {
                    same(part, to);
                }
            }
            _ => {}
        }
    }
}

/// The schema without its references to `name` that speak about the same value.
fn without(schema: Value, name: &str) -> Value {
    let Value::Object(fields) = schema else {
        return schema;
    };
    let refers = |value: &Value| {
        let reference = value.get("$ref").and_then(Value::as_str);
        reference.and_then(|r| r.strip_prefix(DEFS)) == Some(name)
    };
    let fields = fields.into_iter().filter_map(|(keyword, value)| {
        let value = match (keyword.as_str(), value) {
            ("$ref", Value::String(reference)) if reference.strip_prefix(DEFS) == Some(name) => {
                return None;
            }
            (list, Value::Array(parts)) if SAME.contains(&list) => {
                let parts = parts.into_iter().filter(|part| !refers(part));
                let parts: Vec<Value> = parts.map(|part| without(part, name)).collect();
                if parts.is_empty() {
                    return None;
                }
                Value::Array(parts)
            }
            (one, part) if SAME_ONE.contains(&one) => without(part, name),
            ("dependentSchemas", Value::Object(parts)) => {
                let parts = parts.into_iter();
                Value::Object(
                    parts
                        .map(|(key, part)| (key, without(part, name)))
                        .collect(),
                )
            }
            (_, value) => value,
        };
        Some((keyword, value))
    });
    Value::Object(fields.collect())
}
