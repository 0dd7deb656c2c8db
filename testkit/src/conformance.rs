//! What the official conformance suite wants a server to offer: tools, prompts and resources by name.
//!
//! [`Fixture`] knows no transport. The binary `conformance-server` puts it on a pipe.

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::broadcast;

mod definitions;
mod input;
mod prompts;
mod resources;
mod tools;

pub use definitions::capabilities;

/// A pixel, red.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
/// No sound at all.
const WAV: &str = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=";

/// Why a request is not fulfilled: code, sentence and more.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// The JSON-RPC code.
    pub code: i64,
    /// One sentence.
    pub message: String,
    /// What else there is.
    pub data: Option<Value>,
}

impl Refusal {
    /// A refusal with a code and a sentence.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }
}

/// What a request gives.
pub type Outcome = Result<Value, Refusal>;

/// Whoever asks.
pub trait Asker: Send + Sync {
    /// Whether it speaks the stateless revision.
    fn is_stateless(&self) -> bool;
    /// What it can be asked.
    fn capabilities(&self) -> Value;
    /// Tells it something that belongs to the request.
    fn tell(&self, method: &str, params: Value);
    /// Asks it.
    fn ask(&self, method: &str, params: Value) -> BoxFuture<'_, Outcome>;
}

/// The tools, prompts and resources.
#[derive(Debug)]
pub struct Fixture {
    changes: broadcast::Sender<&'static str>,
}

impl Default for Fixture {
    fn default() -> Self {
        Self {
            changes: broadcast::Sender::new(16),
        }
    }
}

impl Fixture {
    /// The methods of change notifications, as they happen.
    pub fn changes(&self) -> broadcast::Receiver<&'static str> {
        self.changes.subscribe()
    }

    /// Answers a request.
    pub async fn handle(&self, method: &str, params: &Value, asker: &Arc<dyn Asker>) -> Outcome {
        match method {
            "tools/list" => Ok(json!({ "tools": definitions::tools() })),
            "tools/call" => tools::call(self, params, asker).await,
            "prompts/list" => Ok(json!({ "prompts": prompts::list() })),
            "prompts/get" => prompts::get(params),
            "resources/list" => Ok(json!({ "resources": resources::list() })),
            "resources/templates/list" => {
                Ok(json!({ "resourceTemplates": resources::templates() }))
            }
            "resources/read" => resources::read(params, asker.is_stateless()),
            "resources/subscribe" | "resources/unsubscribe" | "logging/setLevel" => Ok(json!({})),
            "completion/complete" => Ok(json!({
                "completion": { "values": ["test", "testing"], "total": 2, "hasMore": false },
            })),
            _ => Err(Refusal::new(
                -32601,
                format!("there is no method `{method}`"),
            )),
        }
    }

    fn change(&self, method: &'static str) {
        let _ = self.changes.send(method);
    }
}

fn text(text: impl Into<String>) -> Value {
    json!({ "content": [{ "type": "text", "text": text.into() }] })
}
