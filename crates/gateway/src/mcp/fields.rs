//! JSON objects whose values stay the text they came as.

use indexmap::IndexMap;
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
    fn what_is_no_object_has_no_fields() {
        for text in ["[]", "1", "null", "\"x\""] {
            let value: Box<RawValue> = serde_json::from_str(text).unwrap();
            assert!(Fields::of(&value).is_none(), "{text}");
        }
    }
}
