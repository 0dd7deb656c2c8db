//! JSON objects whose values stay the text they came as.

use std::fmt;

use indexmap::IndexMap;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

/// The fields of an object, in their order.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fields(IndexMap<String, Box<RawValue>>);

impl Fields {
    /// The fields of a value; `None` where it is no object.
    pub fn of(value: &RawValue) -> Option<Self> {
        serde_json::from_str(value.get()).ok()
    }

    /// The fields of a value in which no name may occur twice: who reads the first of two and who reads
    /// the last would see different requests.
    pub fn distinct(value: &RawValue) -> Result<Self, Indistinct> {
        let Pairs(pairs) = serde_json::from_str(value.get()).map_err(|_| Indistinct::NoObject)?;
        let mut fields = IndexMap::with_capacity(pairs.len());
        for (name, value) in pairs {
            if fields.insert(name.clone(), value).is_some() {
                return Err(Indistinct::Twice(name));
            }
        }
        Ok(Self(fields))
    }

    /// The text of a field.
    pub fn get(&self, name: &str) -> Option<&RawValue> {
        self.0.get(name).map(AsRef::as_ref)
    }

    /// A field that holds a string.
    pub fn text(&self, name: &str) -> Option<String> {
        serde_json::from_str(self.get(name)?.get()).ok()
    }

    /// Whether there is such a field.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Sets a field, in its place where it was there already.
    pub fn set(&mut self, name: &str, value: &(impl Serialize + ?Sized)) {
        self.0.insert(name.to_owned(), raw(value));
    }

    /// Takes a field away.
    pub fn remove(&mut self, name: &str) -> Option<Box<RawValue>> {
        self.0.shift_remove(name)
    }

    /// All fields in their order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &RawValue)> {
        self.0.iter().map(|(name, value)| (name.as_str(), &**value))
    }

    /// The object as one text.
    pub fn raw(&self) -> Box<RawValue> {
        raw(self)
    }
}

/// Why a value has no distinct fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Indistinct {
    /// It is no object.
    NoObject,
    /// This name occurs twice.
    Twice(String),
}

/// The fields of an object as they are written, one after the other.
struct Pairs(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Pairs;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(Reader)
    }
}

/// The text of a value.
pub fn raw(value: &(impl Serialize + ?Sized)) -> Box<RawValue> {
    // Only maps whose keys are no strings and failing `Serialize` implementations end in an error.
    to_raw_value(value).expect("messages are made of values that can be written")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_touched_stays_as_it_was() {
        let text = r#"{"z":1.0,"a":{"k":[1e400]},"m":"x"}"#;
        let value: Box<RawValue> = serde_json::from_str(text).unwrap();
        let mut fields = Fields::of(&value).unwrap();
        assert_eq!(fields.raw().get(), text);
        fields.set("m", &2);
        fields.set("n", "new");
        assert_eq!(
            fields.raw().get(),
            r#"{"z":1.0,"a":{"k":[1e400]},"m":2,"n":"new"}"#
        );
        assert_eq!(fields.text("n").as_deref(), Some("new"));
        assert_eq!(fields.text("m"), None);
        assert!(fields.remove("a").is_some() && !fields.has("a"));
        assert_eq!(
            fields.iter().map(|(name, _)| name).collect::<Vec<_>>(),
            ["z", "m", "n"]
        );
    }

    #[test]
    fn a_name_that_occurs_twice_is_told() {
        let distinct = |text: &str| {
            let value: Box<RawValue> = serde_json::from_str(text).unwrap();
            Fields::distinct(&value).map(|fields| fields.raw().get().to_owned())
        };
        assert_eq!(distinct(r#"{"a":1e400}"#).as_deref(), Ok(r#"{"a":1e400}"#));
        for text in [r#"{"a":1,"a":1}"#, r#"{"a":1,"\u0061":2}"#] {
            assert_eq!(distinct(text), Err(Indistinct::Twice("a".into())), "{text}");
        }
        for text in ["[]", "null", r#"{"\ud800":1}"#] {
            assert_eq!(distinct(text), Err(Indistinct::NoObject), "{text}");
        }
    }

    #[test]
    fn what_is_no_object_has_no_fields() {
        for text in ["[]", "1", "null", "\"x\""] {
            let value: Box<RawValue> = serde_json::from_str(text).unwrap();
            assert!(Fields::of(&value).is_none(), "{text}");
        }
    }
}
