//! From JSON Schema to types.

use serde_json::{Map, Value};

use super::{Entry, Type};
use crate::limits::{RTFS_DEPTH_MAX, RTFS_NODES_MAX};

/// The type of the values that a schema accepts, or a wider one.
pub fn from_schema(schema: &Value) -> Type {
    Reader::new(schema).read(schema, &mut Vec::new())
}

/// The type of the arguments that a schema accepts. Arguments are objects, whether or not the schema
/// says so.
pub fn from_arguments_schema(schema: &Value) -> Type {
    let mut reader = Reader::new(schema);
    match (reader.read(schema, &mut Vec::new()), schema.as_object()) {
        (Type::Any, Some(object)) if object.contains_key("properties") && !is_nullable(object) => {
            Reader::new(schema).object(object, &mut Vec::new())
        }
        (read, _) => read,
    }
}

/// Reads one document; what it reads is bounded, also where references multiply it.
struct Reader<'a> {
    root: &'a Value,
    nodes: usize,
}

impl<'a> Reader<'a> {
    fn new(root: &'a Value) -> Self {
        Self { root, nodes: 0 }
    }

    /// `open` holds the references that are being followed: a cycle ends in `:any`.
    fn read(&mut self, schema: &'a Value, open: &mut Vec<&'a str>) -> Type {
        self.nodes += 1;
        let Some(object) = schema.as_object() else {
            return Type::Any;
        };
        if self.nodes > RTFS_NODES_MAX || open.len() > RTFS_DEPTH_MAX || is_nullable(object) {
            return Type::Any;
        }
        // Everything that a schema says holds at once, so that any one part of it is wide enough.
        let told = [
            self.typed(object, open),
            listed(object),
            self.referred(object, open),
            self.joined(object, open),
            self.chosen(object, open),
        ];
        told.into_iter()
            .flatten()
            .reduce(narrower)
            .unwrap_or(Type::Any)
    }

    /// What `type` says.
    fn typed(&mut self, object: &'a Map<String, Value>, open: &mut Vec<&'a str>) -> Option<Type> {
        match object.get("type")? {
            Value::String(name) => Some(self.named(name, object, open)),
            Value::Array(names) if !names.is_empty() => {
                let members: Vec<Type> = names
                    .iter()
                    .map(|name| self.named(name.as_str().unwrap_or_default(), object, open))
                    .collect();
                Some(Type::union(members))
            }
            _ => None,
        }
    }

    fn named(
        &mut self,
        name: &str,
        object: &'a Map<String, Value>,
        open: &mut Vec<&'a str>,
    ) -> Type {
        match name {
            "string" => Type::String,
            "integer" => Type::Int,
            "number" => Type::Float,
            "boolean" => Type::Bool,
            "array" => self.array(object, open),
            "object" => self.object(object, open),
            _ => Type::Any,
        }
    }

    fn array(&mut self, object: &'a Map<String, Value>, open: &mut Vec<&'a str>) -> Type {
        let of = match object.get("items") {
            Some(items) if !object.contains_key("prefixItems") => self.deeper(items, open),
            _ => Type::Any,
        };
        Type::Vector(Box::new(of))
    }

    fn object(&mut self, object: &'a Map<String, Value>, open: &mut Vec<&'a str>) -> Type {
        let properties = object.get("properties").and_then(Value::as_object);
        let others = object.get("additionalProperties").filter(|s| s.is_object());
        match (properties, others) {
            (Some(properties), _) if !properties.is_empty() => {
                let required = object.get("required").and_then(Value::as_array);
                let required =
                    |key: &str| required.is_some_and(|names| names.iter().any(|name| name == key));
                let entries = properties.iter().map(|(key, schema)| Entry {
                    key: key.clone(),
                    optional: !required(key),
                    value: self.deeper(schema, open),
                });
                Type::Map(entries.collect())
            }
            (_, Some(others)) if !object.contains_key("patternProperties") => {
                Type::MapOf(Box::new(self.deeper(others, open)))
            }
            _ => Type::Map(Vec::new()),
        }
    }

    fn referred(
        &mut self,
        object: &'a Map<String, Value>,
        open: &mut Vec<&'a str>,
    ) -> Option<Type> {
        let reference = object.get("$ref")?.as_str()?;
        let pointer = reference.strip_prefix('#')?;
        let target = self.root.pointer(pointer)?;
        if open.contains(&reference) {
            return Some(Type::Any);
        }
        open.push(reference);
        let read = self.read(target, open);
        open.pop();
        Some(read)
    }

    /// What `allOf` says: all of it, as far as it can be put together.
    fn joined(&mut self, object: &'a Map<String, Value>, open: &mut Vec<&'a str>) -> Option<Type> {
        let members = object.get("allOf")?.as_array()?;
        let read: Vec<Type> = members
            .iter()
            .map(|member| self.deeper(member, open))
            .collect();
        read.into_iter().reduce(narrower)
    }

    /// What `anyOf` and `oneOf` say: one of their members.
    fn chosen(&mut self, object: &'a Map<String, Value>, open: &mut Vec<&'a str>) -> Option<Type> {
        let members = object
            .get("anyOf")
            .or_else(|| object.get("oneOf"))?
            .as_array()?;
        let read: Vec<Type> = members
            .iter()
            .map(|member| self.deeper(member, open))
            .collect();
        Some(Type::union(read))
    }

    fn deeper(&mut self, schema: &'a Value, open: &mut Vec<&'a str>) -> Type {
        // A level of nesting counts like a reference: both bound how deep a type can get.
        open.push("");
        let read = self.read(schema, open);
        open.pop();
        read
    }
}

/// What `enum` and `const` say: texts, or nothing that can be said.
fn listed(object: &Map<String, Value>) -> Option<Type> {
    let values: Vec<&Value> = match (object.get("enum"), object.get("const")) {
        (Some(Value::Array(values)), _) => values.iter().collect(),
        (_, Some(value)) => vec![value],
        _ => return None,
    };
    let texts = !values.is_empty() && values.iter().all(|value| value.is_string());
    texts.then_some(Type::String)
}

/// A type that holds whatever holds for both; the second where they cannot be put together.
fn narrower(one: Type, other: Type) -> Type {
    match (one, other) {
        (one, Type::Any) | (one @ Type::Int, Type::Float) => one,
        (Type::Map(mut entries), Type::Map(more)) => {
            for entry in more {
                match entries.iter_mut().find(|known| known.key == entry.key) {
                    Some(known) => {
                        known.optional &= entry.optional;
                        let before = std::mem::replace(&mut known.value, Type::Any);
                        known.value = narrower(before, entry.value);
                    }
                    None => entries.push(entry),
                }
            }
            Type::Map(entries)
        }
        (_, other) => other,
    }
}

/// Whether null is among the values, in any of the three spellings.
fn is_nullable(object: &Map<String, Value>) -> bool {
    let flagged = object.get("nullable") == Some(&Value::Bool(true));
    let typed = match object.get("type") {
        Some(Value::String(name)) => name == "null",
        Some(Value::Array(names)) => names.iter().any(|name| name == "null"),
        _ => false,
    };
    flagged || typed
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::rtfs::{Dialect, text};

    #[track_caller]
    fn check(schema: &Value, expected: &str) {
        let given = text::of_type(&from_schema(schema), Dialect::Document);
        assert_eq!(given, expected, "{schema}");
    }

    #[test]
    fn the_table_of_the_documents_holds() {
        check(&json!({"type": "string"}), ":string");
        check(&json!({"type": "integer"}), ":int");
        check(&json!({"type": "number"}), ":float");
        check(&json!({"type": "boolean"}), ":bool");
        check(&json!({"type": "array"}), "[:vector :any]");
        check(
            &json!({"type": "array", "items": {"type": "string"}}),
            "[:vector :string]",
        );
        check(&json!({"type": "object"}), "[:map]");
        check(&json!({"type": "null"}), ":any");
        check(&json!({"type": ["string", "null"]}), ":any");
        check(&json!({"type": "string", "nullable": true}), ":any");
        check(
            &json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
            ":any",
        );
        check(&json!({"enum": ["a", "b"]}), ":string");
        check(&json!({"const": "a"}), ":string");
    }

    #[test]
    fn the_worked_example_of_the_documents_holds() {
        check(
            &json!({
                "type": "object",
                "properties": {
                    "owner": {"type": "string"},
                    "repo": {"type": "string"},
                    "state": {"type": "string", "enum": ["open", "closed", "all"]},
                },
                "required": ["owner", "repo"],
            }),
            "[:map [:owner :string] [:repo :string] [:state {:optional true} :string]]",
        );
    }

    #[test]
    fn what_cannot_be_said_is_any() {
        for schema in [
            json!({}),
            json!(true),
            json!(false),
            json!(5),
            json!({"type": "weird"}),
            json!({"type": []}),
            json!({"enum": [1]}),
            json!({"enum": []}),
            json!({"$ref": "#/$defs/gone"}),
            json!({"$ref": "https://elsewhere.example/x"}),
            json!({"anyOf": []}),
            json!({"properties": {"a": {"type": "string"}}}),
        ] {
            check(&schema, ":any");
        }
        let items = json!({"type": "array", "items": [{"type": "string"}]});
        check(&items, "[:vector :any]");
    }

    #[test]
    fn references_are_followed_and_cycles_end() {
        check(
            &json!({"$ref": "#/$defs/x", "$defs": {"x": {"type": "string"}}}),
            ":string",
        );
        check(
            &json!({
                "$ref": "#/$defs/tree",
                "$defs": {"tree": {
                    "type": "object",
                    "properties": {"next": {"$ref": "#/$defs/tree"}, "name": {"type": "string"}},
                    "required": ["name"],
                }},
            }),
            "[:map [:next {:optional true} :any] [:name :string]]",
        );
    }

    #[test]
    fn parts_are_put_together() {
        check(
            &json!({"anyOf": [{"type": "string"}, {"type": "integer"}]}),
            "[:union :string :int]",
        );
        check(
            &json!({"oneOf": [{"type": "string"}, {"enum": ["a"]}]}),
            ":string",
        );
        check(
            &json!({"allOf": [
                {"type": "object", "properties": {"a": {"type": "number"}}},
                {"type": "object", "properties": {"a": {"type": "integer"}, "b": {}}, "required": ["a"]},
            ]}),
            "[:map [:a :int] [:b {:optional true} :any]]",
        );
        check(
            &json!({"type": "object", "additionalProperties": {"type": "integer"}}),
            "[:map-of :string :int]",
        );
        check(
            &json!({"type": "object", "required": ["ghost"], "properties": {"a": {}}}),
            "[:map [:a {:optional true} :any]]",
        );
    }

    #[test]
    fn arguments_are_an_object_whether_or_not_it_is_said() {
        let schema = json!({"properties": {"a": {"type": "string"}}});
        let read = from_arguments_schema(&schema);
        assert_eq!(
            text::of_type(&read, Dialect::Document),
            "[:map [:a {:optional true} :string]]"
        );
        assert_eq!(from_arguments_schema(&json!({})), Type::Any);
    }

    #[test]
    fn a_schema_that_multiplies_itself_is_cut() {
        let mut defs = Map::new();
        for n in 0..40 {
            let next = json!({"$ref": format!("#/$defs/d{}", n + 1)});
            defs.insert(
                format!("d{n}"),
                json!({"type": "object", "properties": {"a": next, "b": next}}),
            );
        }
        let schema = json!({"$ref": "#/$defs/d0", "$defs": defs});
        assert!(matches!(from_schema(&schema), Type::Map(_)));
        let mut deep = json!({"type": "string"});
        for _ in 0..200 {
            deep = json!({"type": "array", "items": deep});
        }
        let read = text::of_type(&from_schema(&deep), Dialect::Document);
        assert!(read.matches("[:vector").count() <= RTFS_DEPTH_MAX + 1 && read.contains(":any"));
    }

    fn schemas() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(json!({})),
            Just(json!({"type": "null"})),
            Just(json!({"type": "string"})),
            Just(json!({"type": "integer"})),
            Just(json!({"type": ["number", "boolean"]})),
            Just(json!({"enum": [1, "a", null]})),
            Just(json!({"const": "b"})),
            Just(json!({"$ref": "#"})),
            Just(json!({"type": "string", "nullable": true})),
        ];
        leaf.prop_recursive(3, 16, 3, |inner| {
            let many = prop::collection::vec(inner.clone(), 1..3);
            let keys = prop::collection::btree_map("[ab]", inner.clone(), 0..3);
            let words = prop::sample::subsequence(vec!["a", "b", "c"], 0..3);
            prop_oneof![
                (inner.clone(), any::<bool>()).prop_map(|(of, typed)| {
                    let mut schema = json!({"items": of});
                    if typed {
                        schema["type"] = json!("array");
                    }
                    schema
                }),
                (keys, words, any::<bool>()).prop_map(|(keys, required, typed)| {
                    let mut schema = json!({"properties": keys, "required": required});
                    if typed {
                        schema["type"] = json!("object");
                    }
                    schema
                }),
                inner
                    .clone()
                    .prop_map(|of| json!({"type": "object", "additionalProperties": of})),
                many.clone().prop_map(|of| json!({"anyOf": of})),
                many.clone().prop_map(|of| json!({"oneOf": of})),
                many.prop_map(|of| json!({"type": ["object", "string"], "allOf": of})),
            ]
        })
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(json!(null)),
            Just(json!(true)),
            Just(json!(1)),
            Just(json!(1.0)),
            Just(json!(2.5)),
            "[abc]{0,1}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::btree_map("[abc]", inner, 0..3)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_a_schema_accepts_its_type_accepts(schema in schemas(), values in prop::collection::vec(values(), 8)) {
            let read = from_schema(&schema);
            let Ok(validator) = jsonschema::validator_for(&schema) else { return Ok(()) };
            for value in &values {
                // `nullable` is OpenAPI's: JSON Schema does not know it.
                if validator.is_valid(value) {
                    prop_assert!(read.accepts(value), "{} {} {:?}", schema, value, read);
                }
            }
        }
    }
}
