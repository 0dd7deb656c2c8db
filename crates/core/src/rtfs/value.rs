//! From values that were seen to types.

use serde_json::Value;

use super::{Entry, Type};

/// The type of a value; keys in alphabetical order, so that the same value always gives the same text.
pub fn from_value(value: &Value) -> Type {
    match value {
        Value::Null => Type::Any,
        Value::Bool(_) => Type::Bool,
        Value::Number(number) if number.is_i64() => Type::Int,
        Value::Number(_) => Type::Float,
        Value::String(_) => Type::String,
        Value::Array(items) => {
            let of = items.iter().map(from_value).reduce(both);
            Type::Vector(Box::new(of.unwrap_or(Type::Any)))
        }
        Value::Object(object) => {
            let mut entries: Vec<Entry> = object
                .iter()
                .map(|(key, value)| Entry {
                    key: key.clone(),
                    optional: false,
                    value: from_value(value),
                })
                .collect();
            entries.sort_by(|a, b| a.key.cmp(&b.key));
            Type::Map(entries)
        }
    }
}

/// A type for values of either; objects keep the keys of both, those that one lacks as optional.
fn both(one: Type, other: Type) -> Type {
    match (one, other) {
        (one, other) if one == other => one,
        (Type::Int, Type::Float) | (Type::Float, Type::Int) => Type::Float,
        (Type::Vector(one), Type::Vector(other)) => Type::Vector(Box::new(both(*one, *other))),
        (Type::Map(ones), Type::Map(others)) => Type::Map(join(ones, others)),
        _ => Type::Any,
    }
}

fn join(ones: Vec<Entry>, mut others: Vec<Entry>) -> Vec<Entry> {
    let mut joined = Vec::new();
    for mut entry in ones {
        match others.iter().position(|other| other.key == entry.key) {
            Some(at) => {
                let other = others.remove(at);
                entry.optional |= other.optional;
                entry.value = both(entry.value, other.value);
            }
            None => entry.optional = true,
        }
        joined.push(entry);
    }
    joined.extend(others.into_iter().map(|entry| Entry {
        optional: true,
        ..entry
    }));
    joined.sort_by(|a, b| a.key.cmp(&b.key));
    joined
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::rtfs::{Dialect, text};

    #[test]
    fn values_tell_their_type() {
        for (value, expected) in [
            (json!(null), ":any"),
            (json!(18_446_744_073_709_551_615_u64), ":float"),
            (json!([1, 2.5]), "[:vector :float]"),
            (json!([1, "a"]), "[:vector :any]"),
            (json!([[1], []]), "[:vector [:vector :any]]"),
            (
                json!([{"a": 1}, {"a": 1, "b": 2}]),
                "[:vector [:map [:a :int] [:b {:optional true} :int]]]",
            ),
            (
                json!([{"b": 1, "c": 1}, {"a": true}]),
                "[:vector [:map [:a {:optional true} :bool] [:b {:optional true} :int] [:c {:optional true} :int]]]",
            ),
        ] {
            assert_eq!(
                text::of_type(&from_value(&value), Dialect::Document),
                expected
            );
        }
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            (-1e9..1e9).prop_map(Value::from),
            "[a-c]{0,3}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[a-c ]{1,2}", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_value_has_the_type_that_it_tells(value in values()) {
            prop_assert!(from_value(&value).accepts(&value));
        }
    }
}
