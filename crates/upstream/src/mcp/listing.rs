//! Lists of a server: paged through within bounds, each item kept as the text that was sent.

use std::collections::HashSet;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use serde_json::value::RawValue;
use toolcrib_core::limits::{LIST_ITEMS_MAX, LIST_PAGES_MAX, TOOL_NAME_CHARS_MAX};

use super::handshake::is_unknown_method;
use super::object::{Fields, raw};
use super::{CallError, Connection, Failure, Options, lines, stamp};

/// Which list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum What {
    /// `tools/list`.
    Tools,
    /// `resources/list`.
    Resources,
    /// `resources/templates/list`.
    Templates,
    /// `prompts/list`.
    Prompts,
}

impl What {
    /// The method that asks for it.
    pub fn method(self) -> &'static str {
        match self {
            What::Tools => "tools/list",
            What::Resources => "resources/list",
            What::Templates => "resources/templates/list",
            What::Prompts => "prompts/list",
        }
    }

    /// The field that holds it, the capability that announces it, and the field that names an item.
    fn names(self) -> (&'static str, &'static str, &'static str) {
        match self {
            What::Tools => ("tools", "tools", "name"),
            What::Resources => ("resources", "resources", "uri"),
            What::Templates => ("resourceTemplates", "resources", "uriTemplate"),
            What::Prompts => ("prompts", "prompts", "name"),
        }
    }
}

/// A list as the server sent it.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// The items that can be used, each the text that was sent, in its order.
    pub items: Vec<Box<RawValue>>,
    /// What was wrong with the rest, one sentence each.
    pub warnings: Vec<String>,
    /// How long the server lets the list count as fresh, where it says so.
    pub ttl_ms: Option<u64>,
    /// Whether the server lets the list be shared between callers, where it says so.
    pub is_public: Option<bool>,
}

/// What a page says beside its items, as far as that can be used.
#[derive(Default)]
struct Page {
    next_cursor: Option<String>,
    ttl_ms: Option<u64>,
    cache_scope: Option<String>,
}

impl Page {
    /// Reads each field by itself: an odd one costs that field and never the list.
    fn read(fields: &Fields<'_>, listing: &mut Listing) -> Self {
        Self {
            next_cursor: listing.usable(fields, "nextCursor", "it was read up to there"),
            ttl_ms: listing
                .usable(fields, "ttlMs", "it is passed over")
                .and_then(|Milliseconds(ms)| ms),
            cache_scope: listing.usable(fields, "cacheScope", "it is passed over"),
        }
    }
}

/// A time in milliseconds; some servers write whole numbers as floats.
#[derive(Deserialize)]
#[serde(from = "f64")]
struct Milliseconds(Option<u64>);

impl From<f64> for Milliseconds {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is not negative, and the cast saturates"
    )]
    fn from(ms: f64) -> Self {
        Self((ms >= 0.0).then_some(ms as u64))
    }
}

impl Connection {
    /// The whole list. A server that does not have one has an empty one.
    pub async fn list(&self, what: What, options: &Options) -> Result<Listing, CallError> {
        let (field, capability, _) = what.names();
        let mut listing = Listing::default();
        let capabilities = Fields::of(Some(&self.negotiated().capabilities));
        if what != What::Tools && capabilities.get(capability).is_none() {
            return Ok(listing);
        }
        let mut names = HashSet::new();
        let mut cursors = HashSet::new();
        let mut cursor: Option<String> = None;
        for number in 1.. {
            let params = cursor
                .as_ref()
                .map(|cursor| raw(&json!({"cursor": cursor})));
            let answer = self
                .request(what.method(), params.as_deref(), None, options)
                .await;
            let result = match answer {
                Err(error) if number == 1 && is_unknown_method(&error) => return Ok(listing),
                answer => answer?,
            };
            let fields = Fields::of(Some(&result));
            let items: Option<Vec<Box<RawValue>>> = fields
                .get(field)
                .and_then(|items| serde_json::from_str(items.get()).ok());
            let Some(items) = items else {
                let excerpt = lines::excerpt(result.get().as_bytes());
                let why = format!(
                    "its answer to {} holds no list `{field}`: {excerpt}",
                    what.method()
                );
                return Err(Failure::NotMcp(why).into());
            };
            listing.take(what, items, &mut names);
            let page = Page::read(&fields, &mut listing);
            // The whole is as fresh and as public as its least page.
            listing.ttl_ms = least(listing.ttl_ms, page.ttl_ms);
            let is_public = page.cache_scope.map(|scope| scope == "public");
            listing.is_public = least(listing.is_public, is_public);
            let Some(next) = page.next_cursor.filter(|next| !next.is_empty()) else {
                break;
            };
            if !cursors.insert(next.clone()) {
                listing
                    .warn("the server's list leads back to a page before: it was read up to there");
                break;
            }
            if number == LIST_PAGES_MAX || listing.items.len() >= LIST_ITEMS_MAX {
                listing.warn("the server's list is longer than what is read: it was cut off");
                break;
            }
            cursor = Some(next);
        }
        Ok(listing)
    }
}

/// The lesser of what two pages say, where both say something.
fn least<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

impl Listing {
    /// A field of a page; one that is there and no such value is told.
    fn usable<T: DeserializeOwned>(
        &mut self,
        fields: &Fields<'_>,
        name: &str,
        consequence: &str,
    ) -> Option<T> {
        let written = fields.get(name).filter(|value| value.get() != "null")?;
        let read = serde_json::from_str(written.get()).ok();
        if read.is_none() {
            let excerpt = lines::excerpt(written.get().as_bytes());
            self.warn(format!(
                "`{name}` of the server's list is not as it should be, {excerpt}: {consequence}"
            ));
        }
        read
    }

    fn warn(&mut self, sentence: impl Into<String>) {
        self.warnings.push(sentence.into());
    }

    fn take(&mut self, what: What, items: Vec<Box<RawValue>>, names: &mut HashSet<String>) {
        for item in items {
            if self.items.len() >= LIST_ITEMS_MAX {
                return;
            }
            let (kind, _, key) = what.names();
            let fields = Fields::of(Some(&item));
            let Some(name) = fields.text(key).filter(|name| !name.is_empty()) else {
                let excerpt = lines::excerpt(item.get().as_bytes());
                self.warn(format!(
                    "an item of `{kind}` was left out because it has no `{key}`: {excerpt}"
                ));
                continue;
            };
            let problem = match what {
                What::Tools => flaw_of_tool(&name, &fields),
                _ => None,
            };
            let shown: String = name.chars().take(TOOL_NAME_CHARS_MAX).collect();
            if let Some(problem) = problem {
                self.warn(format!("`{shown}` was left out because {problem}"));
            } else if names.insert(name) {
                self.items.push(item);
            } else {
                self.warn(format!("`{shown}` was left out because it is listed twice"));
            }
        }
    }
}

/// Why a tool cannot be used.
fn flaw_of_tool(name: &str, fields: &Fields<'_>) -> Option<String> {
    let is_object = |field: &str| fields.get(field).map(|value| value.get().starts_with('{'));
    let is_absent = |field: &str| fields.get(field).is_none_or(|value| value.get() == "null");
    let plain = if name.chars().count() > TOOL_NAME_CHARS_MAX {
        Some("its name is too long")
    } else if is_absent("inputSchema") {
        Some("it has no `inputSchema`")
    } else if is_object("inputSchema") != Some(true) {
        Some("its `inputSchema` is not an object")
    } else if !is_absent("annotations") && is_object("annotations") != Some(true) {
        Some("its `annotations` are not an object")
    } else {
        None
    };
    plain
        .map(ToOwned::to_owned)
        .or_else(|| stamp::flaw_of_headers(fields.get("inputSchema")?))
}
