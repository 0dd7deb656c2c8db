//! What an API answered, as a result that a caller can read and act on.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, header};
use serde_json::{Map, Value, json};
use toolcrib_core::limits::ADAPTER_ERROR_BYTES_MAX;

use super::library::brief;
use super::mask::Masks;
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

impl Answer {
    /// Reads an answer that came at a time, with secrets taken out that came back in it.
    pub(super) fn of(
        operation: &Operation,
        incoming: Incoming,
        masks: &Masks,
        now_ms: i64,
    ) -> Self {
        let status = incoming.status.as_u16();
        let content = content(&incoming.headers, incoming.body, masks);
        let retry_after = retry_after(&incoming.headers, now_ms);
        let is_error = !incoming.status.is_success();
        let error = is_error.then(|| explain(operation, status, &content, retry_after));
        let next = match (&content, is_error) {
            (_, true) => None,
            (content, false) => paging::next(operation, &incoming.headers, content),
        };
        let next = next.map(|next| masks.value(next));
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
                Content::Text(text) if !text.is_empty() => told["provider"] = bounded(text).into(),
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
fn content(headers: &HeaderMap, body: Vec<u8>, masks: &Masks) -> Content {
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
    let text = match String::from_utf8(body) {
        Ok(text) => text,
        Err(error) => {
            let data = masks.bytes(error.into_bytes());
            let media = if media.is_empty() {
                "application/octet-stream".to_owned()
            } else {
                media
            };
            return Content::Bytes { media, data };
        }
    };
    let binary = [
        "image/",
        "audio/",
        "video/",
        "application/pdf",
        "application/zip",
    ];
    if binary.iter().any(|kind| media.starts_with(kind)) && media != "image/svg+xml" {
        let data = masks.bytes(text.into_bytes());
        return Content::Bytes { media, data };
    }
    let is_json = media.ends_with("json") || media.is_empty() || media == "text/plain";
    let looks = || text.trim_start().starts_with(['{', '[']);
    if (is_json || looks())
        && let Ok(value) = serde_json::from_str(&text)
    {
        return Content::Json(masks.value(value));
    }
    Content::Text(masks.text(&text))
}

/// How long the API asks to be left alone: so many seconds, or until a time by its own clock.
fn retry_after(headers: &HeaderMap, now_ms: i64) -> Option<Duration> {
    let text = |name: header::HeaderName| Some(headers.get(name)?.to_str().ok()?.trim());
    let value = text(header::RETRY_AFTER)?;
    if let Ok(seconds) = value.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let time = |text: &str| {
        let parsed = jiff::fmt::rfc2822::parse(text).ok()?;
        Some(parsed.timestamp().as_millisecond())
    };
    let until_ms = time(value)?;
    let now_ms = text(header::DATE).and_then(time).unwrap_or(now_ms);
    let left_ms = u64::try_from(until_ms.saturating_sub(now_ms)).unwrap_or(0);
    Some(Duration::from_secs(left_ms.div_ceil(1_000)))
}

/// As much of a text as a caller is told of an error.
fn bounded(text: &str) -> String {
    if text.len() <= ADAPTER_ERROR_BYTES_MAX {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(ADAPTER_ERROR_BYTES_MAX);
    format!("{}…", &text[..end])
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
        Content::Text(text) => marked_up(text),
        _ => None,
    };
    Explained {
        message: said.unwrap_or_else(|| "it gave no reason".to_owned()),
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

/// The sentence in an error that is XML or HTML: that of the element which is named so, else what
/// is left without the marks.
fn marked_up(text: &str) -> Option<String> {
    let text = &text[..text.floor_char_boundary(ADAPTER_ERROR_BYTES_MAX)];
    let mut found = Vec::new();
    let mut name = "";
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        let said = before.trim();
        if !said.is_empty() && !matches!(name, "style" | "script") {
            found.push((name, said));
        }
        let (tag, after) = after.split_once('>').unwrap_or((after, ""));
        let tag = tag.split([' ', '\n', '\t', '/']).next().unwrap_or("");
        // The part after a colon names the element, the one before it only where it comes from.
        name = tag.rsplit(':').next().unwrap_or(tag);
        rest = after;
    }
    let wanted = [
        "message",
        "faultstring",
        "detail",
        "description",
        "title",
        "h1",
    ];
    let named = wanted.iter().find_map(|wanted| {
        let mut all = found.iter();
        all.find(|(name, _)| name.eq_ignore_ascii_case(wanted))
    });
    let said = match named {
        Some((_, said)) => (*said).to_owned(),
        None => found
            .iter()
            .map(|(_, said)| *said)
            .collect::<Vec<_>>()
            .join(" "),
    };
    Some(brief(&said)).filter(|said| !said.is_empty())
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
