//! Request bodies of OpenAPI 3: which of several media types is sent, and its fields.

use serde_json::{Map, Value};
use toolcrib_core::limits::ADAPTER_NOTE_BYTES_MAX;

use super::super::flat::{self, Flat, TakenBody};
use super::super::library::Spot;
use super::super::operation::Media;
use super::super::prose;
use super::super::schema::Way;
use super::{Reader, example};

/// Whether a media type is JSON.
pub(in super::super) fn is_json(media: &str) -> bool {
    let media = essence(media);
    media == "application/json" || media == "text/json" || media.ends_with("+json")
}

/// The media type without its parameters, in lower case.
fn essence(media: &str) -> String {
    let essence = media.split(';').next().unwrap_or(media);
    essence.trim().to_ascii_lowercase()
}

/// How a media type is written.
pub(super) fn media(name: &str) -> Media {
    let essence = essence(name);
    let is_text = essence.starts_with("text/")
        || essence.ends_with("xml")
        || essence.ends_with("yaml")
        || [
            "application/graphql",
            "application/sdp",
            "application/x-ndjson",
            "application/jsonl",
        ]
        .contains(&essence.as_str());
    match essence.as_str() {
        _ if is_json(name) => Media::Json,
        "application/x-www-form-urlencoded" => Media::Form,
        "multipart/form-data" | "multipart/mixed" | "multipart/related" => Media::Multipart,
        _ if is_text => Media::Text,
        _ => Media::Binary,
    }
}

impl<'a> Reader<'a> {
    /// Adds the body of an OpenAPI 3 operation.
    pub(super) fn body(&mut self, operation: Spot<'a>, method: &str, flat: &mut Flat) {
        let Some(body) = operation.get("requestBody") else {
            return;
        };
        let body = match self.library.settle(body) {
            Ok(body) => body,
            Err(why) => return self.warn.add(format!("its body is left out: {why}")),
        };
        let mut contents: Vec<(&str, Spot<'a>)> = body.entries("content").collect();
        contents.sort_by_key(|(name, _)| media(name) as u8);
        let Some((name, content, schema)) = self.chosen(&contents) else {
            return;
        };
        let (name, media) = self.settle_media(name, &schema);
        let required = body.value.get("required").and_then(Value::as_bool);
        let safe = matches!(method, "GET" | "HEAD" | "DELETE");
        let mut writings = Map::new();
        let mut content_types = Map::new();
        for (field, encoding) in content.entries("encoding") {
            if ["style", "explode", "allowReserved"]
                .iter()
                .any(|k| encoding.get(k).is_some())
            {
                writings.insert(field.to_owned(), encoding.value.clone());
            }
            if let Some(content_type) = encoding.text("contentType") {
                let first = content_type.split(',').next().unwrap_or(content_type);
                content_types.insert(field.to_owned(), first.trim().into());
            }
        }
        let description = body.text("description");
        let taken = TakenBody {
            content_type: name,
            media,
            // A body on a method that seldom has one is needed only where the file says so.
            required: required.or(safe.then_some(false)),
            schema,
            description: description.map(|text| prose::plain(text, ADAPTER_NOTE_BYTES_MAX)),
            example: example(self.library, content),
            writings,
            content_types,
        };
        flat.add_body(taken, &self.schemas);
    }

    /// The content that is sent: parts where one of them is a file, else the first.
    fn chosen(&mut self, contents: &[(&'a str, Spot<'a>)]) -> Option<(&'a str, Spot<'a>, Value)> {
        let read = |this: &mut Self, (name, content): &(&'a str, Spot<'a>)| {
            let content = this.library.settle(*content).unwrap_or(*content);
            let place = content.get("schema");
            let schema = place.map_or(Value::Object(Map::new()), |place| {
                this.schemas.translate(place, Way::Request, &mut this.warn)
            });
            (*name, content, schema)
        };
        let (first, _) = contents.first()?;
        let parts = contents
            .iter()
            .find(|(name, _)| media(name) == Media::Multipart);
        if let Some(parts) = parts.filter(|_| media(first) != Media::Multipart) {
            let parts = read(self, parts);
            if flat::has_file(&parts.2, &self.schemas) {
                return Some(parts);
            }
        }
        contents.first().map(|first| read(self, first))
    }

    /// What is sent where the description leaves the media type open, and bytes that are text.
    fn settle_media(&self, name: &str, schema: &Value) -> (String, Media) {
        let settled = schema.get("$ref").and_then(Value::as_str);
        let schema = settled
            .and_then(|r| self.schemas.shared(r))
            .unwrap_or(schema);
        let is_text = schema.get("type") == Some(&"string".into());
        let format = schema.get("format").and_then(Value::as_str);
        match media(name) {
            Media::Binary if name.contains('*') && !is_text => {
                ("application/json".to_owned(), Media::Json)
            }
            Media::Binary if format == Some("byte") => (name.to_owned(), Media::Text),
            Media::Binary if name.contains('*') => {
                ("application/octet-stream".to_owned(), Media::Binary)
            }
            media => (name.replace("/*", "/plain"), media),
        }
    }
}
