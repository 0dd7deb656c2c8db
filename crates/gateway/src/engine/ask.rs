//! What a door asks: plain data, made once from whatever the caller sent.

use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;
use toolcrib_core::trace::SpanContext;

use super::upstream::{Client, Round};

/// A wish for tools.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Search {
    /// What is wanted, in plain words, or a tool's id.
    pub query: String,
    /// Only tools of this server, by whatever spelling or alias.
    pub server: Option<String>,
    /// Only tools whose name, or `server:tool` where it holds a `:`, this glob or `/regex/` matches.
    pub pattern: Option<String>,
    /// Most hits to give. Where it is absent, hits far behind the best are left out as well.
    pub limit: Option<usize>,
    /// Whether tools that rules switch off are found too.
    pub include_disabled: bool,
    /// Whether each hit says why it was found.
    pub explain: bool,
    /// How long servers whose tools are not known are waited for; a little where it is absent.
    pub patience: Option<Duration>,
}

/// A wish for the tools of one server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// The server, by whatever spelling or alias.
    pub server: String,
    /// Whether tools that rules switch off are listed too.
    pub include_disabled: bool,
    /// Only tools whose name this glob or `/regex/` matches.
    pub pattern: Option<String>,
    /// Where to go on: [`super::answer::ToolPage::next_cursor`] of the page before.
    pub cursor: Option<String>,
    /// Most tools on the page; all of them where it is absent.
    pub limit: Option<usize>,
}

/// One call of one tool.
#[derive(Clone)]
pub struct Execution {
    /// The server, by whatever spelling or alias.
    pub server: String,
    /// The tool, by whatever spelling.
    pub tool: String,
    /// The arguments as the caller wrote them: what is read twice could be read differently.
    pub arguments: Box<RawValue>,
    /// What was asked for beside the arguments.
    pub options: CallOptions,
    /// Who gets progress and is asked what the server asks, where the door has such a caller.
    pub client: Option<Arc<dyn Client>>,
    /// The session of the caller, where the door has sessions.
    pub session: Option<String>,
    /// Cancels the call; the upstream is told.
    pub cancel: CancellationToken,
    /// The trace this belongs to, for the record and for the upstream.
    pub trace: Option<SpanContext>,
    /// What goes to the upstream as `_meta`: the caller's progress token above all.
    pub meta: Option<Box<RawValue>>,
    /// Whether the call came on the one path that `policy.restCompat` exempts from keys.
    pub key_exempt: bool,
    /// What the caller brings where it answers a server's questions itself.
    pub round: Option<Round>,
    /// Whether the result is given whole, however large.
    pub whole: bool,
}

impl Execution {
    /// A call with these arguments and nothing added to it.
    pub fn new(
        server: impl Into<String>,
        tool: impl Into<String>,
        arguments: Box<RawValue>,
    ) -> Self {
        Self {
            server: server.into(),
            tool: tool.into(),
            arguments,
            options: CallOptions::default(),
            client: None,
            session: None,
            cancel: CancellationToken::new(),
            trace: None,
            meta: None,
            key_exempt: false,
            round: None,
            whole: false,
        }
    }
}

impl std::fmt::Debug for Execution {
    /// Leaves the arguments out: they may hold secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Execution")
            .field("server", &self.server)
            .field("tool", &self.tool)
            .field("argument_bytes", &self.arguments.get().len())
            .finish_non_exhaustive()
    }
}

/// What can be asked for beside the arguments of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallOptions {
    /// The same key gives the same answer, and has its effect once.
    pub idempotency_key: Option<String>,
    /// Whether the caller says that the call is confirmed.
    pub confirmed: bool,
    /// The challenge that a person settled, where the caller names it.
    pub challenge: Option<String>,
    /// Makes every check and calls nothing.
    pub dry_run: bool,
    /// How long the call may take.
    pub timeout_ms: Option<u64>,
    /// How long the server may be silent: its progress starts this time anew, within that of the call.
    pub idle_timeout_ms: Option<u64>,
    /// A jq filter over the result.
    pub select: Option<String>,
    /// Reads on in a result that was cut, instead of calling.
    pub page: Option<String>,
}
