//! Tables of keys and values: queries, headers, forms and variables of a path.

use serde_json::{Value, json};
use toolcrib_core::limits::ADAPTER_NOTE_BYTES_MAX;

use super::super::flat::Taken;
use super::super::operation::{Spot, Style, Writing};
use super::super::prose;
use super::{inference, text};

/// A row of a table of keys and values.
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) value: Value,
    pub(super) description: String,
    pub(super) file: bool,
}

impl Entry {
    pub(super) fn taken(self, spot: Spot, style: Style, needed: bool) -> Taken {
        let mut schema = if self.file {
            json!({"type": "string", "contentEncoding": "base64"})
        } else {
            inference::loose(&self.value)
        };
        let required = needed || self.description.trim_start().starts_with("(Required)");
        let note = self.description.trim_start();
        let note = note.strip_prefix("(Required)").unwrap_or(note).trim();
        if let (Value::Object(fields), false) = (&mut schema, note.is_empty()) {
            let note = prose::plain(note, ADAPTER_NOTE_BYTES_MAX);
            fields.insert("description".to_owned(), note.into());
        }
        Taken {
            name: self.key,
            spot,
            required,
            schema,
            writing: Writing {
                style,
                explode: style == Style::Form,
                allow_reserved: false,
            },
            example: None,
        }
    }
}

/// The rows of a table; one that occurs again is a list, and a collection of 2.0 may hold a text with
/// a row on each line.
pub(super) fn entries(value: Option<&Value>) -> Vec<Entry> {
    let mut found: Vec<Entry> = Vec::new();
    if let Some(lines) = value.and_then(Value::as_str) {
        let rows = lines.lines().filter_map(|line| line.split_once(':'));
        let rows = rows.map(|(key, value)| json!({"key": key.trim(), "value": value.trim()}));
        return entries(Some(&rows.collect()));
    }
    for row in value.and_then(Value::as_array).into_iter().flatten() {
        let Some(key) = row
            .get("key")
            .and_then(Value::as_str)
            .filter(|k| !k.is_empty())
        else {
            continue;
        };
        let value = row.get("value").cloned().unwrap_or_default();
        if let Some(known) = found.iter_mut().find(|known| known.key == key) {
            if !known.value.is_array() {
                known.value = json!([std::mem::take(&mut known.value)]);
            }
            continue;
        }
        found.push(Entry {
            key: key.to_owned(),
            value,
            description: text(row.get("description")),
            file: row.get("type") == Some(&"file".into()),
        });
    }
    found
}
