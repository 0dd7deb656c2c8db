//! What is served below the life of a connection: tools, and where one upstream is passed through,
//! its resources, prompts and completions.

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;
use toolcrib_core::policy::Caller;
use toolcrib_core::rpc::Fault;
use toolcrib_core::trace::SpanContext;

use super::client::Client;
use super::revision::Revision;

/// Something that answers requests of agents.
///
/// A surface sees neither handshakes nor transports, and holds nothing for a single client.
pub trait Surface: Send + Sync + 'static {
    /// Who serves, and what it offers: tools of our own, unless a surface passes somebody else on.
    fn describe<'a>(&'a self, _context: &'a Context) -> BoxFuture<'a, Result<Description, Fault>> {
        let mut capabilities = Map::new();
        capabilities.insert("tools".into(), json!({}));
        Box::pin(async move { Ok(Description::own(capabilities, None)) })
    }

    /// Whether a caller may know who serves.
    fn introduces_itself(&self, _caller: &Caller) -> bool {
        true
    }

    /// Answers one request: `tools/list`, `tools/call`, and whatever else it offers. A method that it
    /// does not offer is a [`Fault`] with `METHOD_NOT_FOUND`.
    ///
    /// The result is an object. It may be an `input_required` one: the era of the client is not the
    /// surface's concern. When `context.cancel` fires, the answer is not wanted any more.
    fn handle<'a>(
        &'a self,
        method: &'a str,
        params: Option<&'a RawValue>,
        context: &'a Context,
    ) -> BoxFuture<'a, Result<Box<RawValue>, Fault>>;

    /// Tells what changes, as far as the caller may know it.
    fn changes(&self, caller: &Caller) -> broadcast::Receiver<Change>;

    /// Which parameters of a tool a client of the stateless era repeats in headers, as the tool's
    /// `x-mcp-header` annotations say: parameter and header, without the `Mcp-Param-` before it.
    fn mirrored(&self, _caller: &Caller, _tool: &str) -> Vec<(String, String)> {
        Vec::new()
    }
}

/// Who serves, and what it offers.
#[derive(Clone, Debug)]
pub struct Description {
    /// `serverInfo`: `name`, `version` and what else there is.
    pub info: Value,
    /// `capabilities`, as in `initialize`.
    pub capabilities: Map<String, Value>,
    /// What a model should know before it uses the tools.
    pub instructions: Option<String>,
}

impl Description {
    /// Toolcrib itself, offering what `capabilities` says.
    pub fn own(capabilities: Map<String, Value>, instructions: Option<String>) -> Self {
        Self {
            info: json!({
                "name": "toolcrib",
                "title": "Toolcrib",
                "version": env!("CARGO_PKG_VERSION"),
            }),
            capabilities,
            instructions,
        }
    }
}

/// What a surface tells everyone who listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The list of tools is another one.
    Tools,
    /// The list of prompts is another one.
    Prompts,
    /// The list of resources is another one.
    Resources,
    /// This resource is another one.
    Resource(String),
}

/// What a request is answered in.
#[derive(Clone, Debug)]
pub struct Context {
    /// Who asks.
    pub caller: Arc<Caller>,
    /// The program that asks, to be told and asked things while the request is answered.
    pub client: Client,
    /// The revision that the client speaks.
    pub revision: Revision,
    /// Fires when the answer is not wanted any more.
    pub cancel: CancellationToken,
    /// What progress is reported under, if the client wants any.
    pub progress: Option<Box<RawValue>>,
    /// The trace that the request belongs to.
    pub trace: Option<SpanContext>,
    /// Names the connection, where the client keeps one open.
    pub session: Option<Arc<str>>,
}

impl Context {
    /// Reports progress to a client that wants it.
    pub fn report(&self, progress: f64, total: Option<f64>, message: Option<&str>) {
        let Some(token) = &self.progress else { return };
        let mut params = json!({ "progressToken": token, "progress": progress });
        if let Some(total) = total {
            params["total"] = json!(total);
        }
        if let Some(message) = message {
            params["message"] = json!(message);
        }
        self.client.tell("notifications/progress", &params);
    }
}
