//! RTFS: type expressions and capability files.
//!
//! [`Type`] says what the shape of a value is, as far as RTFS can say it. It never refuses a value that
//! the JSON Schema behind it accepts: what cannot be said is `:any`, and the schema itself, which is
//! always kept, validates. [`text`] writes, [`form`] and [`grammar`] read back; [`Dialect`] tells the
//! text of the documents from the one that the CCOS reader takes.

pub mod capability;
pub mod form;
pub mod grammar;
mod schema;
pub mod text;
mod value;

use serde_json::Value;

pub use capability::Capability;
pub use form::{Form, ReadError};
pub use schema::{from_arguments_schema, from_schema};
pub use value::from_value;

/// Which text is written and read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// As the documents print it.
    #[default]
    Document,
    /// What the CCOS reader accepts.
    Ccos,
}

/// The shape of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// Any value, null included.
    Any,
    /// A text.
    String,
    /// A whole number.
    Int,
    /// A number.
    Float,
    /// True or false.
    Bool,
    /// A list of values of one shape.
    Vector(Box<Type>),
    /// An object with known keys; other keys may be there too.
    Map(Vec<Entry>),
    /// An object with any keys whose values have one shape.
    MapOf(Box<Type>),
    /// One of several shapes.
    Union(Vec<Type>),
}

/// A key of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Whether it may be absent.
    pub optional: bool,
    /// The shape of its value.
    pub value: Type,
}

impl Type {
    /// Whether a value has this shape.
    pub fn accepts(&self, value: &Value) -> bool {
        match self {
            Type::Any => true,
            Type::String => value.is_string(),
            Type::Int => value.as_f64().is_some_and(|number| number.fract() == 0.0),
            Type::Float => value.is_number(),
            Type::Bool => value.is_boolean(),
            Type::Vector(of) => value
                .as_array()
                .is_some_and(|items| items.iter().all(|item| of.accepts(item))),
            Type::MapOf(of) => value
                .as_object()
                .is_some_and(|object| object.values().all(|value| of.accepts(value))),
            Type::Map(entries) => value.as_object().is_some_and(|object| {
                entries.iter().all(|entry| match object.get(&entry.key) {
                    Some(value) => entry.value.accepts(value),
                    None => entry.optional,
                })
            }),
            Type::Union(members) => members.iter().any(|member| member.accepts(value)),
        }
    }

    /// One of several shapes, in the order given: each once, `:any` swallowing the rest.
    fn union(members: impl IntoIterator<Item = Type>) -> Type {
        let mut kept: Vec<Type> = Vec::new();
        for member in members {
            let parts = match member {
                Type::Any => return Type::Any,
                Type::Union(parts) => parts,
                other => vec![other],
            };
            for part in parts {
                if !kept.contains(&part) {
                    kept.push(part);
                }
            }
        }
        match kept.len() {
            0 => Type::Any,
            1 => kept.remove(0),
            _ => Type::Union(kept),
        }
    }
}
