//! How things stand with a server, and what happens to it.

use std::sync::Arc;

use serde_json::value::RawValue;

use super::breaker;

/// Whether a server is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Health {
    /// There is a connection.
    Connected,
    /// There is none, and none was needed or failed.
    #[default]
    Disconnected,
    /// The last connection failed or was lost.
    Error,
}

/// How things stand with a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Whether it is there.
    pub health: Health,
    /// Why not, in words for people.
    pub reason: Option<String>,
    /// Since when, in milliseconds since the epoch; `None`: since the beginning.
    pub since_ms: Option<i64>,
    /// The revision of MCP that it speaks, as far as that is known.
    pub version: Option<String>,
    /// Whether attempts to reach it are let through.
    pub breaker: breaker::State,
}

/// Something that happened to a server.
#[derive(Clone, Debug)]
pub struct Event {
    /// The server.
    pub server: Arc<str>,
    /// What happened.
    pub what: Happening,
}

/// What happened to a server.
#[derive(Clone, Debug)]
pub enum Happening {
    /// It says that its tools changed.
    Tools,
    /// It says that its prompts changed.
    Prompts,
    /// It says that its resources changed.
    Resources,
    /// It says that one resource changed; its words.
    Resource(Option<Box<RawValue>>),
    /// It was connected, for the first time or once more.
    Connected,
    /// A connection to it was lost.
    Lost,
}

impl Happening {
    /// What a notification means for whoever keeps lists.
    pub(super) fn of(method: &str, params: Option<&RawValue>) -> Option<Self> {
        match method {
            "notifications/tools/list_changed" => Some(Happening::Tools),
            "notifications/prompts/list_changed" => Some(Happening::Prompts),
            "notifications/resources/list_changed" => Some(Happening::Resources),
            "notifications/resources/updated" => {
                Some(Happening::Resource(params.map(ToOwned::to_owned)))
            }
            _ => None,
        }
    }
}
