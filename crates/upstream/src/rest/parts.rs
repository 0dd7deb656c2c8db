//! The shared parts of an API's schemas, and whole schemas put together from them.

use std::collections::HashSet;

use indexmap::IndexMap;
use serde_json::{Map, Value};
use toolcrib_core::limits::SCHEMA_NODES_MAX;

use super::schema::{DEFS, Shared, is_remark};

/// The parts that the schemas of an API share.
#[derive(Debug, Default)]
pub(super) struct Parts {
    shared: IndexMap<String, Shared>,
}

impl Parts {
    pub(super) fn new(shared: IndexMap<String, Shared>) -> Self {
        Self { shared }
    }

    /// The schema with everything that it refers to: a part that is used once stands in its place,
    /// the others are below `$defs`. One that would be too large loses its most remote parts.
    pub(super) fn whole(&self, root: &Value) -> Value {
        for reach in [usize::MAX, 4, 3, 2, 1, 0] {
            let uses = self.uses(root, reach);
            let mut size = count(root);
            for name in uses.keys() {
                size += self.shared.get(*name).map_or(0, |part| count(&part.schema));
            }
            if size <= SCHEMA_NODES_MAX || reach == 0 {
                return self.assemble(root, &uses);
            }
        }
        Value::Bool(true)
    }

    /// How often each part is referred to, counting every part in use once.
    fn uses<'a>(&'a self, root: &'a Value, reach: usize) -> IndexMap<&'a str, usize> {
        let mut uses: IndexMap<&str, usize> = IndexMap::new();
        let mut level = vec![root];
        let mut depth = 0;
        while !level.is_empty() && depth < reach {
            let mut next = Vec::new();
            for schema in level {
                references(schema, &mut |name| {
                    let Some((name, part)) = self.shared.get_key_value(name) else {
                        return;
                    };
                    let count = uses.entry(name).or_insert(0);
                    *count += 1;
                    if *count == 1 {
                        next.push(&part.schema);
                    }
                });
            }
            level = next;
            depth += 1;
        }
        uses
    }

    fn assemble(&self, root: &Value, uses: &IndexMap<&str, usize>) -> Value {
        let assembly = Assembly {
            parts: self,
            uses,
            constrained: self.constrained(root, uses),
        };
        let mut whole = assembly.emit(root);
        let mut defs = Map::new();
        for name in uses.keys() {
            if !assembly.stands_in_place(name)
                && let Some(part) = self.shared.get(*name)
            {
                defs.insert((*name).to_owned(), assembly.emit(&part.schema));
            }
        }
        if !defs.is_empty()
            && let Value::Object(fields) = &mut whole
        {
            fields.insert("$defs".to_owned(), Value::Object(defs));
        }
        whole
    }

    /// Parts that some reference adds constraints of its own to.
    fn constrained<'a>(
        &'a self,
        root: &'a Value,
        uses: &IndexMap<&'a str, usize>,
    ) -> HashSet<&'a str> {
        let mut found = HashSet::new();
        let shared = uses.keys().filter_map(|name| self.shared.get(*name));
        for schema in shared.map(|part| &part.schema).chain([root]) {
            walk(schema, &mut |fields| {
                let reference = fields.get("$ref").and_then(Value::as_str);
                if let Some(name) = reference.and_then(|r| r.strip_prefix(DEFS))
                    && !fields.keys().all(|k| k == "$ref" || is_remark(k))
                {
                    found.insert(name);
                }
            });
        }
        found
    }
}

struct Assembly<'a> {
    parts: &'a Parts,
    uses: &'a IndexMap<&'a str, usize>,
    constrained: HashSet<&'a str>,
}

impl Assembly<'_> {
    fn stands_in_place(&self, name: &str) -> bool {
        // What leads to itself is referred to from outside and from within.
        self.uses.get(name) == Some(&1) && !self.constrained.contains(name)
    }

    fn emit(&self, schema: &Value) -> Value {
        match schema {
            Value::Object(fields) => {
                let reference = fields.get("$ref").and_then(Value::as_str);
                match reference.and_then(|r| r.strip_prefix(DEFS)) {
                    Some(name) => self.emit_reference(name, fields),
                    None => self.emit_fields(fields),
                }
            }
            Value::Array(items) => items.iter().map(|item| self.emit(item)).collect(),
            other => other.clone(),
        }
    }

    fn emit_fields(&self, fields: &Map<String, Value>) -> Value {
        let fields = fields.iter().map(|(keyword, value)| {
            let value = match keyword.as_str() {
                "enum" | "const" | "default" | "examples" => value.clone(),
                _ => self.emit(value),
            };
            (keyword.clone(), value)
        });
        Value::Object(fields.collect())
    }

    fn emit_reference(&self, name: &str, fields: &Map<String, Value>) -> Value {
        let Some(part) = self
            .parts
            .shared
            .get(name)
            .filter(|_| self.uses.contains_key(name))
        else {
            // Too remote: anything is accepted there.
            let remarks = fields.iter().filter(|(keyword, _)| is_remark(keyword));
            return Value::Object(remarks.map(|(k, v)| (k.clone(), v.clone())).collect());
        };
        if !self.stands_in_place(name) {
            return self.emit_fields(fields);
        }
        let mut whole = self.emit(&part.schema);
        match &mut whole {
            Value::Object(whole) => {
                let remarks = fields.iter().filter(|(keyword, _)| *keyword != "$ref");
                whole.extend(remarks.map(|(k, v)| (k.clone(), v.clone())));
            }
            // `true` with a remark is a schema that only remarks.
            Value::Bool(true) => {
                let remarks = fields.iter().filter(|(keyword, _)| *keyword != "$ref");
                return Value::Object(remarks.map(|(k, v)| (k.clone(), v.clone())).collect());
            }
            _ => {}
        }
        whole
    }
}

fn references<'a>(schema: &'a Value, each: &mut impl FnMut(&'a str)) {
    walk(schema, &mut |fields| {
        let reference = fields.get("$ref").and_then(Value::as_str);
        if let Some(name) = reference.and_then(|r| r.strip_prefix(DEFS)) {
            each(name);
        }
    });
}

/// Every object that can be a schema; values that schemas only mention are passed over.
fn walk<'a>(schema: &'a Value, each: &mut impl FnMut(&'a Map<String, Value>)) {
    match schema {
        Value::Object(fields) => {
            each(fields);
            for (keyword, value) in fields {
                if !matches!(keyword.as_str(), "enum" | "const" | "default" | "examples") {
                    walk(value, each);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| walk(item, each)),
        _ => {}
    }
}

fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(fields) => fields.values().map(count).sum(),
        _ => 0,
    }
}
