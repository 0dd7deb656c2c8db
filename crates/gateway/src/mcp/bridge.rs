//! Between the engine and the client of a request: progress and log lines go one way, questions and
//! their answers the other.

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use toolcrib_core::rpc::Fault;

use super::fields::{Fields, raw};
use super::surface::Context;
use crate::engine::ask::Execution;
use crate::engine::error::Error;
use crate::engine::upstream::Client;

/// The client of a request, as the engine and servers see it.
#[derive(Clone, Debug)]
pub struct Bridge(Context);

impl Bridge {
    /// The client of this request.
    pub fn new(context: &Context) -> Arc<Self> {
        Arc::new(Self(context.clone()))
    }
}

impl Client for Bridge {
    fn request<'a>(
        &'a self,
        method: &'a str,
        params: Option<&'a RawValue>,
    ) -> BoxFuture<'a, Result<Box<RawValue>, Fault>> {
        Box::pin(async move {
            let params = params.map_or_else(|| raw(&json!({})), ToOwned::to_owned);
            self.0.client.ask(method, params).await
        })
    }

    fn notify(&self, method: &str, params: Option<&RawValue>) {
        let empty = raw(&json!({}));
        let params = params.unwrap_or(&empty);
        if method != "notifications/progress" {
            return self.0.client.tell(method, params);
        }
        // Only a client that asked for progress gets any, under the name that it chose.
        if let (Some(token), Some(mut fields)) = (&self.0.progress, Fields::of(params)) {
            fields.set("progressToken", token);
            self.0.client.tell(method, &fields);
        }
    }

    fn capabilities(&self) -> Box<RawValue> {
        match self.0.client.capabilities() {
            declared @ Value::Object(_) => raw(declared),
            _ => raw(&json!({})),
        }
    }
}

/// A call of a tool, made for the client of a request.
pub fn execution(
    server: &str,
    tool: &str,
    arguments: Option<&RawValue>,
    context: &Context,
) -> Execution {
    let arguments = arguments.map_or_else(|| raw(&json!({})), ToOwned::to_owned);
    Execution {
        client: Some(Bridge::new(context)),
        session: context.session.as_deref().map(str::to_owned),
        cancel: context.cancel.clone(),
        trace: context.trace.parent.clone(),
        meta: context
            .progress
            .as_ref()
            .map(|token| raw(&json!({ "progressToken": token }))),
        ..Execution::new(server, tool, arguments)
    }
}

/// A failure of a call as a result that a model can read and act on.
pub fn failure(error: &Error) -> Box<RawValue> {
    let mut told = json!({ "code": error.code, "message": error.message });
    let more = [
        ("suggestion", error.suggestion.as_ref()),
        ("server", error.server.as_ref()),
        ("tool", error.tool.as_ref()),
        ("requestId", error.request_id.as_ref()),
    ];
    for (name, value) in more {
        if let Some(value) = value {
            told[name] = json!(value);
        }
    }
    if let Some(wait) = error.more.retry_after_ms {
        told["retryAfterMs"] = json!(wait);
    }
    if let Some(violations) = &error.more.violations {
        told["violations"] = json!(violations);
    }
    if let Some(challenge) = &error.more.challenge {
        told["challenge"] = json!(challenge);
    }
    let structured = json!({ "success": false, "error": told });
    raw(&json!({
        "content": [{ "type": "text", "text": structured.to_string() }],
        "structuredContent": structured,
        "isError": true,
    }))
}
