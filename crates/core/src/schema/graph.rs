//! How the parts of a schema hang together: what speaks about the same value, what about the
//! values inside it, and where references lead.

use std::collections::HashMap;

use serde_json::Value;

/// Keywords whose one subschema speaks about the same value.
const SAME_ONE: [&str; 4] = ["not", "if", "then", "else"];
/// Keywords whose list of subschemas speaks about the same value.
const SAME_LIST: [&str; 3] = ["allOf", "anyOf", "oneOf"];
/// Keywords whose named subschemas speak about the same value.
const SAME_NAMED: [&str; 2] = ["dependentSchemas", "dependencies"];
/// Keywords whose one subschema speaks about values inside.
const INNER_ONE: [&str; 8] = [
    "additionalProperties",
    "unevaluatedProperties",
    "propertyNames",
    "items",
    "additionalItems",
    "unevaluatedItems",
    "contains",
    "contentSchema",
];
/// Keywords whose list of subschemas speaks about values inside.
const INNER_LIST: [&str; 2] = ["items", "prefixItems"];
/// Keywords whose named subschemas speak about values inside, or wait to be referred to.
const INNER_NAMED: [&str; 4] = ["properties", "patternProperties", "$defs", "definitions"];
/// Keywords that refer to another part.
pub(super) const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// Where a reference leads.
pub(super) enum Target<'a> {
    /// To a part of the same schema.
    Part(&'a Value),
    /// To one of the published descriptions of JSON Schema itself, which are built in.
    Dialect,
    /// To nothing in this schema.
    Nowhere,
    /// To another document.
    Remote,
}

/// JSON Pointers to the parts of a schema that have a name of their own.
pub(super) type Anchors = HashMap<String, String>;

/// A schema whose references can be followed.
#[derive(Clone, Copy)]
pub(super) struct Graph<'a> {
    root: &'a Value,
    anchors: &'a Anchors,
}

impl<'a> Graph<'a> {
    pub(super) fn new(root: &'a Value, anchors: &'a Anchors) -> Self {
        Self { root, anchors }
    }

    pub(super) fn root(self) -> &'a Value {
        self.root
    }

    /// Follows a reference.
    pub(super) fn resolve(self, reference: &str) -> Target<'a> {
        resolve(self.root, self.anchors, reference)
    }
}

/// Follows a reference of the schema `root`.
pub(super) fn resolve<'a>(root: &'a Value, anchors: &Anchors, reference: &str) -> Target<'a> {
    let id = root.get("$id").or_else(|| root.get("id"));
    let local = match id.and_then(Value::as_str) {
        Some(id) if !id.is_empty() => reference
            .strip_prefix(id.trim_end_matches('#'))
            .unwrap_or(reference),
        _ => reference,
    };
    let Some(fragment) = local.strip_prefix('#') else {
        return match local {
            "" => Target::Part(root),
            _ if is_dialect(local) => Target::Dialect,
            _ => Target::Remote,
        };
    };
    let part = if fragment.is_empty() {
        Some(root)
    } else if fragment.starts_with('/') {
        root.pointer(&percent_decoded(fragment))
    } else {
        let pointer = anchors.get(fragment);
        pointer.and_then(|pointer| root.pointer(pointer))
    };
    part.map_or(Target::Nowhere, Target::Part)
}

/// Calls `each` with every subschema that speaks about the same value as `schema`, references
/// followed.
pub(super) fn same<'a>(graph: Graph<'a>, schema: &'a Value, mut each: impl FnMut(&'a Value)) {
    let Value::Object(fields) = schema else {
        return;
    };
    for (keyword, value) in fields {
        let keyword = keyword.as_str();
        match value {
            Value::String(reference) if REFERENCES.contains(&keyword) => {
                if let Target::Part(part) = graph.resolve(reference) {
                    each(part);
                }
            }
            Value::Array(list) if SAME_LIST.contains(&keyword) => list.iter().for_each(&mut each),
            Value::Object(named) if SAME_NAMED.contains(&keyword) => {
                named.values().filter(|v| !v.is_array()).for_each(&mut each);
            }
            _ if SAME_ONE.contains(&keyword) => each(value),
            _ => {}
        }
    }
}

/// Calls `each` with every other subschema inside `schema`.
pub(super) fn inner<'a>(schema: &'a Value, mut each: impl FnMut(&'a Value)) {
    let Value::Object(fields) = schema else {
        return;
    };
    for (keyword, value) in fields {
        let keyword = keyword.as_str();
        match value {
            Value::Array(list) if INNER_LIST.contains(&keyword) => list.iter().for_each(&mut each),
            Value::Object(named) if INNER_NAMED.contains(&keyword) => {
                named.values().for_each(&mut each);
            }
            Value::Object(_) if INNER_ONE.contains(&keyword) => each(value),
            _ => {}
        }
    }
}

fn is_dialect(reference: &str) -> bool {
    let rest = reference
        .strip_prefix("https://")
        .or_else(|| reference.strip_prefix("http://"));
    rest.is_some_and(|rest| rest.starts_with("json-schema.org/draft"))
}

/// Finds every named part; `pointer` leads to `schema`.
pub(super) fn find_anchors(schema: &Value, pointer: &str, anchors: &mut Anchors) {
    let fields = [
        ("$anchor", ""),
        ("$dynamicAnchor", ""),
        ("$id", "#"),
        ("id", "#"),
    ];
    for (field, prefix) in fields {
        let text = schema.get(field).and_then(Value::as_str);
        if let Some(name) = text.and_then(|text| text.strip_prefix(prefix)) {
            anchors.insert(name.to_owned(), pointer.to_owned());
        }
    }
    match schema {
        Value::Object(fields) => {
            for (name, part) in fields {
                let name = name.replace('~', "~0").replace('/', "~1");
                find_anchors(part, &format!("{pointer}/{name}"), anchors);
            }
        }
        Value::Array(list) => {
            for (at, part) in list.iter().enumerate() {
                find_anchors(part, &format!("{pointer}/{at}"), anchors);
            }
        }
        _ => {}
    }
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let code = (byte == b'%')
            .then(|| after.get(..2))
            .flatten()
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        if let Some(code) = code {
            bytes.push(code);
            rest = &after[2..];
        } else {
            bytes.push(byte);
            rest = after;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
