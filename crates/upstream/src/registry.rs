//! The public registry of MCP servers: what it knows, and how that becomes something to run.
//!
//! Answers are handed on as the registry sent them, so that they can be kept as they are; reading
//! them is [`entries`]. Nothing here starts or contacts a server.

mod bundle;
mod entry;
mod input;
mod offer;
mod package;

use std::collections::HashSet;
use std::time::Duration;

use reqwest::header::RETRY_AFTER;
use serde::Deserialize;
use serde_json::value::RawValue;
use toolcrib_core::limits::{
    REGISTRY_ENTRIES_MAX, REGISTRY_PAGE_BYTES_MAX, REGISTRY_PAGE_ENTRIES, REGISTRY_PAGES_MAX,
    REGISTRY_TIMEOUT_MS,
};
use toolcrib_core::retry::Trouble;
use url::Url;

pub use bundle::{Archive, Bundle, BundleError, Host, MANIFEST, Manifest};
pub use entry::{Entry, Reading, Status, entries};
pub use input::{Needed, Part, Text};
pub use offer::{Offer, Unusable, Way};

/// A client of one registry.
#[derive(Clone, Debug)]
pub struct RegistryClient {
    http: reqwest::Client,
    base: Url,
}

/// What a registry answered.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The entries, each as it was sent.
    pub items: Vec<Box<RawValue>>,
    /// Whether that is all; more is not asked for beyond a bound.
    pub complete: bool,
}

/// Why a registry gave nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    /// The address is not one.
    #[error("{0:?} is no address of a registry; set registry.url to one that begins with https://")]
    Address(String),
    /// It cannot be reached.
    #[error("the registry cannot be reached: {0}; check the network and registry.url")]
    Unreachable(String),
    /// The connection broke.
    #[error("the connection to the registry broke: {0}; try again")]
    Broken(String),
    /// It did not answer in time.
    #[error("the registry did not answer within {} ms; try again later", .0.as_millis())]
    TimedOut(Duration),
    /// It answered with a status that is no answer.
    #[error("the registry answered HTTP {status}{said}; try again later")]
    Status {
        /// The status.
        status: u16,
        /// What it said, with a separator before it; or nothing.
        said: String,
        /// How long it asked to be left alone.
        retry_after: Option<Duration>,
    },
    /// It has no server of that name.
    #[error("the registry has no server named {0}; `toolcrib registry search` finds names")]
    NotFound(String),
    /// It answered with something else than a list of servers.
    #[error("what answers there is no registry: {0}; check registry.url")]
    NotRegistry(String),
    /// It sent more than is read.
    #[error(
        "the registry sent more than {REGISTRY_PAGE_BYTES_MAX} bytes in one page; ask for something narrower"
    )]
    TooLarge,
}

impl RegistryError {
    /// What it is as far as trying again is concerned, and how long the registry asked to be left
    /// alone.
    pub fn trouble(&self) -> (Trouble, Option<Duration>) {
        match self {
            Self::Status {
                status,
                retry_after,
                ..
            } => (Trouble::Status(*status), *retry_after),
            Self::TimedOut(_) => (Trouble::TimedOut, None),
            Self::Broken(_) => (Trouble::Reset, None),
            _ => (Trouble::Lasting, None),
        }
    }
}

#[derive(Deserialize)]
struct Page {
    servers: Vec<Box<RawValue>>,
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Default, Deserialize)]
struct Metadata {
    #[serde(default, rename = "nextCursor", alias = "next_cursor")]
    next_cursor: Option<String>,
}

/// Most of a registry's own words that are passed on.
const SAID_CHARS_MAX: usize = 200;

impl RegistryClient {
    /// A client of the registry at an address, over a shared HTTP client.
    pub fn new(http: reqwest::Client, base: &str) -> Result<Self, RegistryError> {
        let wrong = || RegistryError::Address(base.to_owned());
        let base = Url::parse(base).map_err(|_| wrong())?;
        if !matches!(base.scheme(), "https" | "http") || base.host_str().is_none() {
            return Err(wrong());
        }
        Ok(Self { http, base })
    }

    /// Its address, without what may be secret in it.
    pub fn address(&self) -> String {
        let mut base = self.base.clone();
        let _ = base.set_username("");
        let _ = base.set_password(None);
        base.set_query(None);
        base.to_string()
    }

    /// The servers whose names hold a text, whatever the case; all of them for an empty text.
    pub async fn search(&self, query: &str) -> Result<Answer, RegistryError> {
        let url = self.url(&["v0.1", "servers"])?;
        let mut parameters = vec![("version", "latest")];
        if !query.trim().is_empty() {
            parameters.push(("search", query.trim()));
        }
        self.pages(url, &parameters).await
    }

    /// Every version of a server.
    pub async fn versions(&self, name: &str) -> Result<Answer, RegistryError> {
        let url = self.url(&["v0.1", "servers", name, "versions"])?;
        match self.pages(url, &[]).await {
            Ok(answer) if answer.items.is_empty() => Err(RegistryError::NotFound(name.to_owned())),
            Err(RegistryError::Status { status: 404, .. }) => {
                Err(RegistryError::NotFound(name.to_owned()))
            }
            other => other,
        }
    }

    /// A path below the base; a segment that holds `/` is encoded.
    fn url(&self, segments: &[&str]) -> Result<Url, RegistryError> {
        let mut url = self.base.clone();
        match url.path_segments_mut() {
            Ok(mut path) => {
                path.pop_if_empty().extend(segments);
            }
            Err(()) => return Err(RegistryError::Address(self.base.to_string())),
        }
        Ok(url)
    }

    async fn pages(&self, url: Url, parameters: &[(&str, &str)]) -> Result<Answer, RegistryError> {
        let mut items = Vec::new();
        let mut cursor: Option<String> = None;
        let mut seen = HashSet::new();
        for _ in 0..REGISTRY_PAGES_MAX {
            let mut url = url.clone();
            {
                let mut query = url.query_pairs_mut();
                query.extend_pairs(parameters);
                query.append_pair("limit", &REGISTRY_PAGE_ENTRIES.to_string());
                if let Some(cursor) = &cursor {
                    query.append_pair("cursor", cursor);
                }
            }
            let page = self.page(url).await?;
            items.extend(page.servers);
            cursor = page.metadata.next_cursor.filter(|next| !next.is_empty());
            match &cursor {
                None => {
                    let complete = items.len() <= REGISTRY_ENTRIES_MAX;
                    items.truncate(REGISTRY_ENTRIES_MAX);
                    return Ok(Answer { items, complete });
                }
                Some(next) if !seen.insert(next.clone()) => {
                    return Err(RegistryError::NotRegistry(
                        "its pages go round in a circle".to_owned(),
                    ));
                }
                Some(_) if items.len() >= REGISTRY_ENTRIES_MAX => break,
                Some(_) => {}
            }
        }
        items.truncate(REGISTRY_ENTRIES_MAX);
        Ok(Answer {
            items,
            complete: false,
        })
    }

    async fn page(&self, url: Url) -> Result<Page, RegistryError> {
        let allowed = Duration::from_millis(REGISTRY_TIMEOUT_MS);
        let asking = async {
            let response = self.http.get(url).send().await.map_err(unreached)?;
            read(response).await
        };
        let body = tokio::time::timeout(allowed, asking).await;
        let body = body.unwrap_or(Err(RegistryError::TimedOut(allowed)))?;
        serde_json::from_slice(&body)
            .map_err(|error| RegistryError::NotRegistry(format!("its answer is no list: {error}")))
    }
}

/// The body of a good answer, within its bound.
async fn read(mut response: reqwest::Response) -> Result<Vec<u8>, RegistryError> {
    let status = response.status();
    let retry_after = response
        .headers()
        .get(RETRY_AFTER)
        .and_then(|value| value.to_str().ok())
        .and_then(|text| retry_after(text, jiff::Timestamp::now()));
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(unreached)? {
        if body.len() + piece.len() > REGISTRY_PAGE_BYTES_MAX {
            return Err(RegistryError::TooLarge);
        }
        body.extend_from_slice(&piece);
    }
    if status.is_success() {
        return Ok(body);
    }
    Err(RegistryError::Status {
        status: status.as_u16(),
        said: said(&body),
        retry_after,
    })
}

/// How long `Retry-After` asks for: seconds, or a date.
pub fn retry_after(text: &str, now: jiff::Timestamp) -> Option<Duration> {
    let text = text.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = jiff::fmt::rfc2822::DateTimeParser::new()
        .parse_timestamp(text)
        .ok()?;
    Some(Duration::try_from(date.duration_since(now)).unwrap_or(Duration::ZERO))
}

/// What a problem document says, or nothing.
fn said(body: &[u8]) -> String {
    let Ok(problem) = serde_json::from_slice::<serde_json::Value>(body) else {
        return String::new();
    };
    let words = ["detail", "message", "error", "title"];
    let text = words.iter().find_map(|word| problem.get(word)?.as_str());
    match text {
        Some(text) => {
            let kept = text.chars().filter(|c| !c.is_control());
            format!(" ({})", kept.take(SAID_CHARS_MAX).collect::<String>())
        }
        None => String::new(),
    }
}

/// Why a request failed: the address is known to who reads it, and the reason is in the last cause.
fn reason(error: &reqwest::Error) -> String {
    let mut last: &dyn std::error::Error = error;
    while let Some(inner) = last.source() {
        last = inner;
    }
    last.to_string()
}

fn unreached(error: reqwest::Error) -> RegistryError {
    let error = error.without_url();
    let reason = reason(&error);
    if error.is_timeout() {
        RegistryError::TimedOut(Duration::from_millis(REGISTRY_TIMEOUT_MS))
    } else if error.is_connect() || error.is_builder() || error.is_redirect() {
        RegistryError::Unreachable(reason)
    } else {
        RegistryError::Broken(reason)
    }
}

#[cfg(test)]
mod tests;
