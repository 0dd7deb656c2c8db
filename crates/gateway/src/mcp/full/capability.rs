//! The two tools on Toolcrib itself: looking at an unknown server, and registering one that a person
//! approved. They are listed where `capabilities.tools` is on.

use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Value, json};
use toolcrib_config::load::Config;
use toolcrib_core::trace::SpanContext;

use super::super::bridge::failure;
use super::super::fields::raw;
use super::super::surface::Context;
use crate::capability::request::Request;
use crate::engine::Engine;

/// A tool on Toolcrib itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Own(Request);

impl Own {
    /// The tool of a name, where the configuration lists it.
    pub(super) fn named(name: &str, config: &Config) -> Option<Self> {
        let own = Request::ALL.into_iter().find(|own| own.name() == name);
        own.filter(|_| config.settings.capabilities.tools).map(Self)
    }

    fn definition(self) -> Value {
        match self.0 {
            Request::Introspect => json!({
                "name": self.0.name(),
                "description": "Ask a remote MCP server which tools it has and put it up for approval by a person. Nothing of it can be run before they approve.",
                "inputSchema": {
                    "type": "object",
                    "properties": {
                        "server_url": {"type": "string", "description": "Address of the server; https, or http on this machine"},
                        "server_name": {"type": "string", "description": "What to call it; from its address unless given"},
                    },
                    "required": ["server_url"],
                    "additionalProperties": false,
                },
                "annotations": {"readOnlyHint": false, "destructiveHint": false, "openWorldHint": true},
            }),
            Request::Register => json!({
                "name": self.0.name(),
                "description": "Register a server that was introspected and that a person approved, so that its tools can be found and run.",
                "inputSchema": {
                    "type": "object",
                    "properties": {
                        "server_name": {"type": "string", "description": "The name it was introspected under"},
                    },
                    "required": ["server_name"],
                    "additionalProperties": false,
                },
                "annotations": {"readOnlyHint": false, "destructiveHint": false, "idempotentHint": true},
            }),
        }
    }

    /// Runs the tool.
    pub(super) async fn call(
        self,
        engine: &Arc<Engine>,
        arguments: Option<&RawValue>,
        context: &Context,
    ) -> Box<RawValue> {
        let arguments = arguments.and_then(|raw| serde_json::from_str(raw.get()).ok());
        let arguments: Value = arguments.unwrap_or_else(|| json!({}));
        let trace = context.trace.as_ref().map(SpanContext::trace_id);
        let trace = trace.as_deref();
        let outcome = self.0.fulfil(engine, &context.caller, &arguments, trace);
        match outcome.await {
            Ok(said) => raw(&json!({
                "content": [{"type": "text", "text": said.to_string()}],
                "structuredContent": said,
            })),
            Err(error) => failure(&error),
        }
    }
}

/// The definitions of the tools, where the configuration lists them.
pub(super) fn definitions(config: &Config) -> Vec<Box<RawValue>> {
    if !config.settings.capabilities.tools {
        return Vec::new();
    }
    let all = Request::ALL.into_iter();
    all.map(|own| raw(&Own(own).definition())).collect()
}
