//! What discovery needs of a connection to servers.

use futures::future::BoxFuture;
use serde_json::value::RawValue;
use toolcrib_config::model::Server;
use toolcrib_upstream::mcp::CallError;

/// Asks a server for one of its lists.
pub trait Lister: Send + Sync {
    /// The whole list, paged through within bounds. Dropping the future ends the attempt.
    ///
    /// Nothing is retried here. With [`Visit::OneOff`] the connection is made for this list alone
    /// and closed in good order before the answer is given, also when that is a failure.
    fn list<'a>(
        &'a self,
        server: &'a Server,
        what: What,
        visit: Visit,
    ) -> BoxFuture<'a, Result<RawList, CallError>>;
}

/// Which list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum What {
    /// `tools/list`.
    Tools,
    /// `resources/list`.
    Resources,
}

/// What becomes of the connection afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Visit {
    /// It stays open for the calls that will follow, until it is idle for long.
    Staying,
    /// It is ended at once.
    OneOff,
}

/// A list as the server sent it.
#[derive(Clone, Debug, Default)]
pub struct RawList {
    /// The items that can be used, each the text that was sent.
    pub items: Vec<Box<RawValue>>,
    /// What was wrong with the others, one sentence each.
    pub warnings: Vec<String>,
    /// How long it counts as fresh at most, where the server says so.
    pub fresh_ms: Option<i64>,
}
