//! What the engine answers. Doors turn these into MCP content, problem+json or text.

use std::sync::Arc;

use serde::Serialize;
use serde_json::value::RawValue;
use toolcrib_core::policy::{Step, Visibility};

use super::snapshot::{Entry, Snapshot};
use super::upstream::Standing;

/// The servers that a caller may know of.
#[derive(Clone, Debug)]
pub struct Servers {
    /// In the order of the configuration.
    pub servers: Vec<ServerRow>,
    /// How many of them have not said yet which tools they have.
    pub pending_servers: usize,
    /// How many of them could not be asked.
    pub failed_servers: usize,
}

/// What a server is behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// An MCP server.
    Server,
    /// A REST API.
    Adapter,
}

/// One server.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerRow {
    /// The name that ids and rules use.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// A title for people.
    pub title: Option<String>,
    /// What it is for; empty where nobody said.
    pub description: String,
    /// Whether configuration and rules let it be used.
    pub enabled: bool,
    /// Whether its tools are known; the counts are 0 where they are not.
    pub known: bool,
    /// How many tools this caller may know of, disabled ones included.
    pub tool_count: usize,
    /// How many of them can be found and run.
    pub enabled_count: usize,
    /// How many of them wait for a person.
    pub pending_count: usize,
    /// How things stand with it.
    pub standing: Standing,
}

/// What a search found.
#[derive(Clone, Debug)]
pub struct Found {
    /// The hits, best first.
    pub hits: Vec<Hit>,
    /// How many tools fit, those not given included.
    pub total: usize,
    /// The probability that the first hit is right; 0 where there is none.
    pub confidence: f32,
    /// Whether someone has to choose, because the confidence is below the configured one.
    pub needs_selection: bool,
    /// What to choose from.
    pub alternatives: Vec<Hit>,
    /// How many tools the pattern lets through, counted where none fits.
    pub matching: usize,
    /// Tools that would fit and wait for approval, counted where no other fits.
    pub waiting: usize,
    /// Tools that would fit and of which it could not be found out whether they are approved, counted likewise.
    pub unjudged: usize,
    /// Servers whose tools are not known yet: while there are any, nothing is known to be absent.
    pub pending_servers: usize,
    /// Servers that could not be asked for their tools.
    pub failed_servers: usize,
    /// What was searched.
    pub snapshot: Arc<Snapshot>,
}

/// A tool that was found.
#[derive(Clone, Debug)]
pub struct Hit {
    /// The tool and what policy holds about it.
    pub entry: Arc<Entry>,
    /// How likely it is to be what was meant, 0 to 1.
    pub relevance: f32,
    /// Why it was found, the strongest reason first; empty unless asked for.
    pub why: Vec<String>,
}

/// A page of one server's tools.
#[derive(Clone, Debug)]
pub struct ToolPage {
    /// The server's name.
    pub server: String,
    /// The tools, in the order of the server.
    pub tools: Vec<Arc<Entry>>,
    /// How many there are on all pages.
    pub total: usize,
    /// How many tools of the server this caller can find and run.
    pub enabled_count: usize,
    /// How many are switched off.
    pub disabled_count: usize,
    /// How many wait for a person; they are not listed.
    pub pending_count: usize,
    /// Where the next page begins; `None` on the last one.
    pub next_cursor: Option<String>,
    /// Whether the list is older than it should be and is being asked for again.
    pub stale: bool,
}

/// One tool in full.
#[derive(Clone, Debug)]
pub struct Details {
    /// The tool, its definition as it was sent, and what policy holds about it.
    pub entry: Arc<Entry>,
    /// What this caller sees of it: shown, or disabled.
    pub visibility: Visibility,
    /// How things stand with its server.
    pub standing: Standing,
}

/// How an execution ended, where it was not refused.
#[derive(Clone, Debug)]
pub struct Reply {
    /// Names the request in records and logs.
    pub request_id: String,
    /// When it came in, in milliseconds since the epoch.
    pub timestamp_ms: i64,
    /// How long it took.
    pub duration_ms: u64,
    /// The tool; `None` where a page of a stored result was read and the tool is gone.
    pub entry: Option<Arc<Entry>>,
    /// What came of it.
    pub outcome: Outcome,
}

/// What came of an execution.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// The tool answered, now or when the same key was first used.
    Answered(Answered),
    /// Every check passed, and nothing was called.
    Rehearsed(Vec<Step>),
}

/// A tool's answer.
#[derive(Clone, Debug)]
pub struct Answered {
    /// The `CallToolResult` as the upstream wrote it, or what selecting and cutting left of it.
    pub result: Box<RawValue>,
    /// Whether the tool says that it failed.
    pub is_error: bool,
    /// Whether this is the recorded answer of an idempotency key.
    pub replayed: bool,
    /// What was left out, where the result was cut.
    pub rest: Option<Rest>,
    /// Why the filter that was asked for was not applied, where it was not.
    pub unfiltered: Option<String>,
}

/// The part of a result that was left out and is kept for a while.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Rest {
    /// What to give as `page` to read on.
    pub page: String,
    /// How much is left, in words, such as `340 of 400 items`.
    pub left: String,
}
