//! Changes to a JSON object that leave all the rest of its text as it is.

use std::borrow::Cow;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

/// The fields of an object in their order, their values as text.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(transparent)]
pub struct Fields<'a>(#[serde(borrow)] IndexMap<Cow<'a, str>, Cow<'a, RawValue>>);

impl<'a> Fields<'a> {
    /// Reads an object; `None` where the text is something else.
    pub fn read(text: &'a RawValue) -> Option<Self> {
        serde_json::from_str(text.get()).ok()
    }

    /// The fields of an object, or none where there is no object.
    pub fn of(text: Option<&'a RawValue>) -> Self {
        text.and_then(Self::read).unwrap_or_default()
    }

    /// The text of one field.
    pub fn get(&self, name: &str) -> Option<&RawValue> {
        self.0.get(name).map(AsRef::as_ref)
    }

    /// A field that is a string.
    pub fn text(&self, name: &str) -> Option<String> {
        serde_json::from_str(self.get(name)?.get()).ok()
    }

    /// Sets a field, in its place where it was there.
    pub fn set(&mut self, name: &'a str, value: Box<RawValue>) {
        self.0.insert(Cow::Borrowed(name), Cow::Owned(value));
    }

    /// Sets a field unless it is there.
    pub fn set_default(&mut self, name: &'a str, value: Box<RawValue>) {
        let entry = self.0.entry(Cow::Borrowed(name));
        entry.or_insert(Cow::Owned(value));
    }

    /// Takes a field out.
    pub fn remove(&mut self, name: &str) {
        self.0.shift_remove(name);
    }

    /// The object again.
    pub fn write(&self) -> Box<RawValue> {
        raw(self)
    }

    /// The fields in their order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &RawValue)> {
        self.0
            .iter()
            .map(|(name, value)| (name.as_ref(), value.as_ref()))
    }
}

/// The text of a value that can always be written.
pub fn raw<T: Serialize + ?Sized>(value: &T) -> Box<RawValue> {
    to_raw_value(value)
        .expect("values made of text, numbers, lists and maps with text keys can be written")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(json: &str) -> Box<RawValue> {
        RawValue::from_string(json.to_owned()).unwrap()
    }

    #[test]
    fn what_is_not_changed_stays_as_it_was() {
        let object = text(r#"{"z": 1.0, "a\u0062" : {"k":[1e400]}, "_meta":{}, "a":0}"#);
        let mut fields = Fields::read(&object).unwrap();
        fields.set("_meta", text("7"));
        fields.set_default("a", text("1"));
        fields.set_default("new", text("true"));
        assert_eq!(
            fields.write().get(),
            r#"{"z":1.0,"ab":{"k":[1e400]},"_meta":7,"a":0,"new":true}"#
        );
        fields.remove("z");
        assert_eq!(fields.get("a").unwrap().get(), "0");
        assert_eq!(fields.iter().count(), 4);
    }

    #[test]
    fn only_an_object_has_fields() {
        assert!(Fields::read(&text("[]")).is_none());
        assert_eq!(Fields::of(None).write().get(), "{}");
        let object = text(r#"{"name":"x","n":1}"#);
        let fields = Fields::read(&object).unwrap();
        assert_eq!(fields.text("name").as_deref(), Some("x"));
        assert_eq!(fields.text("n"), None);
    }
}
