//! What an API answered, as a result that a caller can read and act on.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, header};
use serde_json::{Map, Value, json};
use toolcrib_core::secret::{MASK, Secret};

use super::library::brief;
use super::operation::Operation;
use super::paging;
use super::wire::Incoming;

/// The body of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Nothing.
    Nothing,
    /// JSON.
    Json(Value),
    /// Text.
    Text(String),
    /// Bytes with their media type.
    Bytes {
        /// The media type.
        media: String,
        /// The bytes.
        data: Vec<u8>,
    },
}

/// An answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The body.
    pub content: Content,
    /// The arguments that give the next page, as far as they are known.
    pub next: Option<Value>,
    /// How long the API asks to be left alone.
    pub retry_after: Option<Duration>,
    /// For an error: what it means and what to do.
    pub error: Option<Explained>,
}

/// What an error of an API means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explained {
    /// The provider's own words, or ours where it has none.
    pub message: String,
    /// What the description says about this status.
    pub meaning: Option<String>,
    /// What to do about it.
    pub suggestion: String,
}

/// Shortest secret that is looked for in answers: shorter ones are parts of other words.
const SECRET_BYTES_MIN: usize = 8;

impl Answer {
    pub(super) fn of<'a>(
        operation: &Operation,
        incoming: Incoming,
        secrets: impl Iterator<Item = &'a Secret>,
    ) -> Self {
        let status = incoming.status.as_u16();
        let content = content(&incoming.headers, incoming.body, secrets);
        let retry_after = retry_after(&incoming.headers);
        let is_error = !incoming.status.is_success();
        let error = is_error.then(|| explain(operation, status, &content, retry_after));
        let next = match (&content, is_error) {
            (_, true) => None,
            (content, false) => paging::next(operation, &incoming.headers, content),
        };
        Self {
            status,
            content,
            next,
            retry_after,
            error,
        }
    }

    /// Whether the API refused or failed.
    pub fn is_error(&self) -> bool {
        self.error.is_some()
    }

    /// The answer as an MCP server would give it.
    pub fn result(&self) -> Value {
        let mut result = Map::new();
        if let Some(error) = &self.error {
            let mut told = json!({
                "status": self.status,
                "message": error.message,
                "suggestion": error.suggestion,
            });
            if let Some(meaning) = &error.meaning {
                told["meaning"] = meaning.as_str().into();
            }
            if let Some(wait) = self.retry_after {
                told["retry_after_seconds"] = wait.as_secs().into();
            }
            match &self.content {
                Content::Json(value) => told["provider"] = value.clone(),
                Content::Text(text) if !text.is_empty() => told["provider"] = brief(text).into(),
                _ => {}
            }
            let told = json!({"error": told});
            result.insert("content".to_owned(), json!([text_block(&told.to_string())]));
            result.insert("structuredContent".to_owned(), told);
            result.insert("isError".to_owned(), true.into());
            return Value::Object(result);
        }
        let block = match &self.content {
            Content::Nothing => text_block(&format!("HTTP {}, without content", self.status)),
            Content::Json(value) => text_block(&value.to_string()),
            Content::Text(text) => text_block(text),
            Content::Bytes { media, data } => bytes_block(media, data),
        };
        result.insert("content".to_owned(), json!([block]));
        if let Content::Json(value) = &self.content {
            result.insert("structuredContent".to_owned(), value.clone());
        }
        if let Some(next) = &self.next {
            result.insert("_meta".to_owned(), json!({"toolcrib/next": next}));
        }
        Value::Object(result)
    }
}

fn text_block(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn bytes_block(media: &str, data: &[u8]) -> Value {
    let data = STANDARD.encode(data);
    let kind = media.split('/').next().unwrap_or("");
    if matches!(kind, "image" | "audio") {
        return json!({"type": kind, "data": data, "mimeType": media});
    }
    let resource = json!({"uri": "toolcrib:answer", "mimeType": media, "blob": data});
    json!({"type": "resource", "resource": resource})
}

/// Reads a body by its media type, and takes secrets out that came back in it.
fn content<'a>(
    headers: &HeaderMap,
    body: Vec<u8>,
    secrets: impl Iterator<Item = &'a Secret>,
) -> Content {
    let media = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let media = media
        .unwrap_or("")
        .split(';')
        .next()
        .unwrap_or("")
        .trim()
        .to_ascii_lowercase();
    if body.is_empty() {
        return Content::Nothing;
    }
    let mut text = match String::from_utf8(body) {
        Ok(text) => text,
        Err(error) => {
            let data = error.into_bytes();
            let media = if media.is_empty() {
                "application/octet-stream".to_owned()
            } else {
                media
            };
            return Content::Bytes { media, data };
        }
    };
    for secret in secrets.filter(|secret| secret.expose().len() >= SECRET_BYTES_MIN) {
        if text.contains(secret.expose()) {
            text = text.replace(secret.expose(), MASK);
        }
    }
    let binary = [
        "image/",
        "audio/",
        "video/",
        "application/pdf",
        "application/zip",
    ];
    if binary.iter().any(|kind| media.starts_with(kind)) && media != "image/svg+xml" {
        let data = text.into_bytes();
        return Content::Bytes { media, data };
    }
    let is_json = media.ends_with("json") || media.is_empty() || media == "text/plain";
    let looks = || text.trim_start().starts_with(['{', '[']);
    if (is_json || looks())
        && let Ok(value) = serde_json::from_str(&text)
    {
        return Content::Json(value);
    }
    Content::Text(text)
}

fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let value = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim();
    value.parse::<u64>().ok().map(Duration::from_secs)
}

fn explain(
    operation: &Operation,
    status: u16,
    content: &Content,
    wait: Option<Duration>,
) -> Explained {
    let said = match content {
        Content::Json(value) => provider_message(value),
        Content::Text(text) if !text.trim_start().starts_with('<') => Some(brief(text.trim())),
        _ => None,
    };
    Explained {
        message: said.unwrap_or_else(|| format!("the API answered HTTP {status}")),
        meaning: meaning(operation, status),
        suggestion: suggestion(operation, status, wait),
    }
}

/// The provider's own sentence, wherever APIs keep it.
fn provider_message(value: &Value) -> Option<String> {
    const PLACES: [&str; 12] = [
        "/error/message",
        "/message",
        "/error_description",
        "/detail",
        "/errors/0/message",
        "/errors/0/reason",
        "/errors/0/detail",
        "/error",
        "/title",
        "/errors/0",
        "/msg",
        "/Message",
    ];
    let texts = PLACES
        .iter()
        .filter_map(|place| value.pointer(place)?.as_str());
    let mut texts = texts.filter(|text| !text.trim().is_empty());
    texts.next().map(brief)
}

fn meaning(operation: &Operation, status: u16) -> Option<String> {
    let exact = status.to_string();
    let class = format!("{}XX", status / 100);
    let find = |wanted: &str| {
        let found = operation.errors.iter();
        let mut found = found.filter(|error| error.status.eq_ignore_ascii_case(wanted));
        found.next().map(|error| error.meaning.clone())
    };
    find(&exact)
        .or_else(|| find(&class))
        .or_else(|| find("default"))
}

fn suggestion(operation: &Operation, status: u16, wait: Option<Duration>) -> String {
    let adapter = operation.tool.id.server();
    match status {
        300..=399 => "The API moved; the user has to check baseUrl of the adapter.".to_owned(),
        400 | 422 => "Correct the arguments by what the API says, then call again.".to_owned(),
        401 => format!(
            "The API refuses the credentials; the user has to check `auth` of the adapter {adapter}."
        ),
        403 => {
            let scopes = operation.scopes();
            if scopes.is_empty() {
                format!("The credentials of the adapter {adapter} may not do this.")
            } else {
                format!(
                    "The credentials of the adapter {adapter} may not do this; it needs {}.",
                    scopes.join(", ")
                )
            }
        }
        404 | 410 => {
            "Nothing is there under these values; list or search for the right ones.".to_owned()
        }
        409 => "It conflicts with how things stand; read them before trying again.".to_owned(),
        413 => "It is too large; send less.".to_owned(),
        429 => match wait {
            Some(wait) => format!("Wait {} s, then call again.", wait.as_secs()),
            None => "Wait a moment, then call again.".to_owned(),
        },
        500..=599 => {
            "The API failed; what it did is not known. Look before trying again.".to_owned()
        }
        _ => "See what the API says.".to_owned(),
    }
}
