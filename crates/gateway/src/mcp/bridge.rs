//! Between the engine and the client of a request: progress and log lines go one way, questions and
//! their answers the other.

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use toolcrib_core::Code;
use toolcrib_core::policy::{Caller, Visibility, visible};
use toolcrib_core::rpc::{self, Fault};

use super::discovery::input::{Bad, options_at};
use super::fields::{Fields, raw};
use super::surface::Context;
use crate::engine::answer::Outcome;
use crate::engine::ask::{CallOptions, Execution};
use crate::engine::error::Error;
use crate::engine::snapshot::Snapshot;
use crate::engine::upstream::Client;

/// Where options travel in `_meta` of a call that is named after its tool.
pub const OPTIONS: &str = "toolcrib/options";

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
        trace: context.trace.clone(),
        meta: context
            .progress
            .as_ref()
            .map(|token| raw(&json!({ "progressToken": token }))),
        ..Execution::new(server, tool, arguments)
    }
}

/// What is asked for beside the arguments of a call that is named after its tool; or the answer that
/// says what is wrong with it.
pub fn options_in(
    meta: Option<&RawValue>,
    context: &Context,
) -> Result<CallOptions, Result<Box<RawValue>, Fault>> {
    const NAME: &str = "_meta.toolcrib/options";
    let meta = meta.and_then(Fields::of).unwrap_or_default();
    match meta.get(OPTIONS) {
        None => Ok(CallOptions::default()),
        Some(given) => options_at(given, NAME).map_err(|bad| refused_options(bad, context)),
    }
}

fn refused_options(bad: Bad, context: &Context) -> Result<Box<RawValue>, Fault> {
    if context.revision.tells_bad_arguments_in_results() {
        return Ok(failure(&Error::new(Code::ValidationError, bad.message)));
    }
    Err(Fault {
        data: Some(raw(&json!({ "field": bad.field }))),
        ..Fault::new(rpc::INVALID_PARAMS, bad.message)
    })
}

/// What came of a call that is named after its tool: the result as it is, or what a rehearsal checked.
pub fn passed(outcome: Outcome) -> Box<RawValue> {
    match outcome {
        Outcome::Answered(answered) => answered.result,
        Outcome::Rehearsed(steps) => {
            let told = json!({ "dry_run": true, "checks": steps });
            raw(&json!({ "content": [{ "type": "text", "text": told.to_string() }] }))
        }
    }
}

/// Which parameters of a tool, by whatever spelling, a client repeats in headers: parameter and header.
/// None of a tool that the caller may not know of.
pub fn mirrored(
    snapshot: &Snapshot,
    caller: &Caller,
    server: &str,
    tool: &str,
) -> Vec<(String, String)> {
    let entry = snapshot.rack(server).and_then(|rack| rack.find(tool));
    let entry = entry.filter(|entry| visible(caller, &entry.subject()) != Visibility::Hidden);
    let properties = entry.and_then(|entry| entry.tool.input_schema.get("properties"));
    let properties = properties.and_then(Value::as_object).into_iter().flatten();
    let annotated = properties.filter_map(|(name, schema)| {
        let header = schema.get("x-mcp-header")?.as_str()?;
        Some((name.clone(), header.to_owned()))
    });
    annotated.collect()
}

/// Advice for who calls a tool by its name, where options travel in `_meta`.
fn in_meta(advice: &str) -> String {
    let mut told = advice.to_owned();
    for option in ["confirmed: true", "idempotency_key", "`timeout`"] {
        told = told.replace(option, &format!("{option} in `{OPTIONS}` of `_meta`"));
    }
    told
}

/// A failure of a call that is named after its tool, as a result that a model can read and act on.
pub fn failure(error: &Error) -> Box<RawValue> {
    let mut told = json!({ "code": error.code, "message": error.message });
    let advice = error.suggestion.as_deref().map(in_meta);
    let more = [
        ("suggestion", advice.as_ref()),
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
