//! Walks arguments and schema together: counts the work that checking will take, and finds
//! properties that no part of the schema speaks about.
//!
//! Every branch of `anyOf` and its like is taken to apply, so a property is unknown only when no
//! alternative has it.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::graph::{self, Graph, Target};
use super::violation::Violation;
use crate::limits::VIOLATIONS_COUNTED_MAX;

/// Checking would take more steps than allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooManySteps;

/// How many values there are.
pub(super) fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(fields) => fields.values().map(count).sum(),
        _ => 0,
    }
}

/// The properties that a schema does not speak about where it leaves them open.
pub(super) fn walk(
    graph: Graph<'_>,
    instance: &Value,
    steps: usize,
) -> Result<Vec<Violation>, TooManySteps> {
    let mut walk = Walk {
        graph,
        steps,
        path: String::new(),
        unknown: Vec::new(),
    };
    walk.visit(&[graph.root()], instance)?;
    Ok(walk.unknown)
}

struct Walk<'a> {
    graph: Graph<'a>,
    steps: usize,
    path: String,
    unknown: Vec<Violation>,
}

impl<'a> Walk<'a> {
    fn visit(&mut self, schemas: &[&'a Value], instance: &Value) -> Result<(), TooManySteps> {
        let applied = self.expanded(schemas)?;
        match instance {
            Value::Object(fields) => self.visit_object(&applied, fields),
            Value::Array(items) => {
                for (at, item) in items.iter().enumerate() {
                    let inner = item_schemas(&applied, at);
                    self.inside(&at.to_string(), |walk| walk.visit(&inner, item))?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// All parts that speak about a value when `schemas` do.
    fn expanded(&mut self, schemas: &[&'a Value]) -> Result<Vec<&'a Value>, TooManySteps> {
        let mut applied = schemas.to_vec();
        let mut at = 0;
        while at < applied.len() {
            self.steps = self.steps.checked_sub(1).ok_or(TooManySteps)?;
            graph::same(self.graph, applied[at], |part| applied.push(part));
            at += 1;
        }
        Ok(applied)
    }

    fn visit_object(
        &mut self,
        applied: &[&'a Value],
        fields: &Map<String, Value>,
    ) -> Result<(), TooManySteps> {
        let known = known_properties(self.graph, applied);
        for (name, value) in fields {
            if let Some(known) = &known
                && !known.contains(&name.as_str())
                && self.unknown.len() < VIOLATIONS_COUNTED_MAX
            {
                let violation = Violation::unknown_property(&self.path, name, known);
                self.unknown.push(violation);
                continue;
            }
            let inner = property_schemas(applied, name);
            self.inside(name, |walk| walk.visit(&inner, value))?;
        }
        Ok(())
    }

    fn inside(
        &mut self,
        step: &str,
        visit: impl FnOnce(&mut Self) -> Result<(), TooManySteps>,
    ) -> Result<(), TooManySteps> {
        let length = self.path.len();
        let _ = write!(self.path, "/{}", step.replace('~', "~0").replace('/', "~1"));
        visit(self)?;
        self.path.truncate(length);
        Ok(())
    }
}

/// The names that the parts give, or `None` where one of them leaves names open.
fn known_properties<'a>(graph: Graph<'a>, applied: &[&'a Value]) -> Option<Vec<&'a str>> {
    const OPENING: [&str; 4] = [
        "additionalProperties",
        "patternProperties",
        "unevaluatedProperties",
        "propertyNames",
    ];
    let mut known = None;
    for part in applied {
        let fields = match part {
            Value::Object(fields) if !fields.is_empty() => fields,
            Value::Bool(false) => continue,
            _ => return None,
        };
        let elsewhere = graph::REFERENCES.iter().any(|keyword| {
            let reference = fields.get(*keyword).and_then(Value::as_str);
            reference.is_some_and(|r| !matches!(graph.resolve(r), Target::Part(_)))
        });
        if elsewhere || OPENING.iter().any(|keyword| fields.contains_key(*keyword)) {
            return None;
        }
        if let Some(properties) = fields.get("properties").and_then(Value::as_object) {
            let names = properties.keys().map(String::as_str);
            known.get_or_insert_with(Vec::new).extend(names);
        }
    }
    // What a schema requires it knows, whether it describes it or not.
    let required = applied
        .iter()
        .filter_map(|part| part.get("required")?.as_array());
    let required = required.flatten().filter_map(Value::as_str);
    if let Some(known) = &mut known {
        for name in required {
            if !known.contains(&name) {
                known.push(name);
            }
        }
    }
    known
}

fn property_schemas<'a>(applied: &[&'a Value], name: &str) -> Vec<&'a Value> {
    let mut schemas = Vec::new();
    for part in applied {
        let named = part.get("properties").and_then(|p| p.get(name));
        schemas.extend(named);
        let patterns = part.get("patternProperties").and_then(Value::as_object);
        schemas.extend(patterns.into_iter().flat_map(Map::values));
        if named.is_none() {
            schemas.extend(part.get("additionalProperties"));
            schemas.extend(part.get("unevaluatedProperties"));
        }
    }
    schemas
}

fn item_schemas<'a>(applied: &[&'a Value], at: usize) -> Vec<&'a Value> {
    let mut schemas = Vec::new();
    for part in applied {
        match part.get("items") {
            Some(Value::Array(list)) => {
                schemas.extend(list.get(at).or_else(|| part.get("additionalItems")));
            }
            Some(items) => schemas.push(items),
            None => {}
        }
        let prefix = part.get("prefixItems").and_then(|list| list.get(at));
        schemas.extend(prefix);
        schemas.extend(part.get("contains"));
        schemas.extend(part.get("unevaluatedItems"));
    }
    schemas
}
