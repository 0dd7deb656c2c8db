//! What the engine needs from the other side: lists, calls and how things stand.
//!
//! MCP servers and REST APIs are both reached through this; the engine does not tell them apart.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::BoxStream;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;
use toolcrib_config::load::Config;
use toolcrib_core::policy::Permit;
use toolcrib_core::trace::SpanContext;
use toolcrib_core::{Tool, ToolId};
use toolcrib_store::cache::Made;
pub use toolcrib_upstream::mcp::{CallError, Client, Round};
pub use toolcrib_upstream::rest::Adapter;
pub use toolcrib_upstream::sent::Sent;

use super::discovery::{DiscoveryError, DiscoveryService};
use super::passage::Passage;

/// Everything that can be listed and called.
pub trait Upstream: Send + Sync + 'static {
    /// Puts the servers of a configuration in the place of those before. What is as it was keeps its
    /// connections; nothing is connected.
    fn configure(&self, config: &Arc<Config>);

    /// What a server said before about its tools, perhaps to an earlier process. Connects nothing, but
    /// may read a file.
    fn kept(&self, server: &str) -> Option<Listed>;

    /// What an earlier process made from the tools that are kept of a server with this fingerprint,
    /// while those have not changed. May read a file.
    fn made(&self, _server: &str, _fingerprint: &str) -> Option<Made> {
        None
    }

    /// Keeps what was made from the tools that a server listed at a time. Writes a file.
    fn keep_made(&self, _server: &str, _at_ms: i64, _made: &[u8]) {}

    /// Asks a server for its tools, connecting to it where needed.
    fn list<'a>(
        &'a self,
        server: &'a str,
        wish: Wish,
    ) -> BoxFuture<'a, Result<Listed, DiscoveryError>>;

    /// Takes note that somebody waits for this server's tools: however many servers are being asked, it
    /// is next.
    fn hurry(&self, _server: &str) {}

    /// Makes one call. Dropping the future cancels the call and tells the server.
    fn call(&self, permit: Permit, call: Call) -> BoxFuture<'_, Result<Box<RawValue>, CallError>>;

    /// How things stand with a server.
    fn standing(&self, server: &str) -> Standing;

    /// The revision of MCP that a server speaks, as far as that is known.
    fn revision(&self, _server: &str) -> Option<String> {
        None
    }

    /// The host and port of the API behind a tool, where it is one and its description was read.
    fn host(&self, _tool: &ToolId) -> Option<(String, u16)> {
        None
    }

    /// What happens from now on.
    fn changes(&self) -> BoxStream<'static, Change>;

    /// The way to what servers have beside tools, where there is one.
    fn passage(&self) -> Option<&dyn Passage> {
        None
    }

    /// The API behind a server, where it is one and its description was read.
    fn described(&self, _server: &str) -> Option<Arc<Adapter>> {
        None
    }

    /// What finds out what other servers offer, where there is such a service.
    fn discovery(&self) -> Option<DiscoveryService> {
        None
    }

    /// Closes every connection in good order.
    fn close(&self) -> BoxFuture<'_, ()>;
}

/// Which list is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// One that was kept will do while it is fresh.
    Fresh,
    /// The server has to be asked: it says that its tools changed.
    Anew,
}

/// A server's tools, and when it said so.
#[derive(Debug)]
pub struct Listed {
    /// The tools.
    pub list: List,
    /// When the server said so.
    pub said: Said,
    /// Whether that is longer ago than lists count as fresh.
    pub stale: bool,
}

/// When a server said what its tools are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Said {
    /// The time, in milliseconds since the epoch.
    pub at_ms: i64,
    /// How long that counts as fresh at most, where the server says so.
    pub fresh_ms: Option<i64>,
}

impl Said {
    /// At this time, and nothing about how long it is fresh.
    pub fn at(at_ms: i64) -> Self {
        Self {
            at_ms,
            fresh_ms: None,
        }
    }

    /// How much longer it counts as fresh where otherwise it would for `ttl_ms`.
    pub fn fresh_for_ms(self, ttl_ms: i64, now_ms: i64) -> i64 {
        let left = |fresh: i64| self.at_ms.saturating_add(fresh).saturating_sub(now_ms);
        self.fresh_ms
            .map_or(ttl_ms, |fresh| left(fresh).min(ttl_ms))
    }
}

/// A server's tools as it defines them.
#[derive(Debug)]
pub enum List {
    /// The items of `tools/list`, each as it was sent.
    Definitions(Vec<Box<RawValue>>),
    /// The operations of an API description.
    Operations(Vec<Offer>),
}

/// One tool, ready to be judged.
#[derive(Debug)]
pub struct Offer {
    /// The tool.
    pub tool: Tool,
    /// Its definition, such as an MCP server sends.
    pub definition: Box<RawValue>,
    /// Whether the other side keeps idempotency keys of its calls, so that one with a key may be
    /// repeated.
    pub honours_key: bool,
}

/// One call, as far as the permit does not say it already.
pub struct Call {
    /// Whose connection is used.
    pub owner: Owner,
    /// The arguments, as the caller wrote them.
    pub arguments: Box<RawValue>,
    /// Who gets progress and is asked what the server asks.
    pub client: Option<Arc<dyn Client>>,
    /// Cancels the call.
    pub cancel: CancellationToken,
    /// The schema of the arguments, whose annotations may say what goes into headers.
    pub schema: Arc<Value>,
    /// What else goes with the call, as the caller's `_meta`: its progress token above all.
    pub meta: Option<Box<RawValue>>,
    /// The trace this belongs to, whatever `meta` says.
    pub trace: Option<SpanContext>,
    /// What the caller brings where it answers a server's questions itself.
    pub round: Option<Round>,
    /// How long the server may be silent, where the caller sets a time for that.
    pub idle: Option<Duration>,
    /// Counts how often it is sent.
    pub sent: Sent,
}

/// Whose connection a call uses: nobody else's calls go over it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Owner {
    /// All callers share it.
    Shared,
    /// One principal's.
    Principal(String),
    /// One session's.
    Session(String),
}

/// Whether a server is there, in the words of document 001.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Health {
    /// There is a connection.
    Connected,
    /// There is none, and none is needed or was tried.
    #[default]
    Disconnected,
    /// The last attempt failed.
    Error,
}

/// Whether calls to a server are let through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Breaker {
    /// They are.
    #[default]
    Closed,
    /// One is, to see whether the server has recovered.
    HalfOpen,
    /// None is.
    Open,
}

/// How things stand with a server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Standing {
    /// Whether it is there.
    #[serde(rename = "status")]
    pub health: Health,
    /// Whether calls are let through.
    pub breaker: Breaker,
    /// Why not, in words for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Since when, in milliseconds since the epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since_ms: Option<i64>,
}

impl Standing {
    /// Since when there is a reason for how things stand, as people and programs read it.
    pub fn since(&self) -> Option<String> {
        let at_ms = self.since_ms.filter(|_| self.reason.is_some())?;
        let at = jiff::Timestamp::from_millisecond(at_ms - at_ms.rem_euclid(1_000)).ok()?;
        Some(at.to_string())
    }
}

/// Something that happened to a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// It says that its tools changed.
    Tools(String),
    /// It was connected for the first time.
    Connected(String),
    /// It was connected again after a connection was lost.
    Reconnected(String),
    /// More happened than could be told.
    Missed,
}
