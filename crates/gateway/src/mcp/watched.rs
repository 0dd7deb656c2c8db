//! Spans of requests in MCP, by the conventions of OpenTelemetry for it.

use serde_json::value::RawValue;
use toolcrib_core::rpc;
use toolcrib_core::trace::SpanContext;

use super::fields::Fields;
use super::meta::Meta;
use super::service::{Arrival, Outcome, Request};
use crate::telemetry::{Kind, Span, Tracer};

/// What stands for a method that nobody offers, so that callers cannot make up names of spans.
const OTHER: &str = "_OTHER";

/// A request at the door.
pub(super) struct Watched {
    span: Span,
    method: String,
    /// The tool or prompt that it names.
    target: Option<String>,
}

impl Watched {
    /// Begins the span of a request, and puts what comes of the request below it.
    pub(super) fn begin(
        tracer: &Tracer,
        request: &Request,
        meta: &Meta,
        arrival: &mut Arrival,
    ) -> Self {
        let parent = meta.trace().or(arrival.trace.take());
        let mut span = tracer.start(Kind::Server, OTHER, parent.as_ref());
        arrival.trace = span.context().cloned();
        let mut target = None;
        if span.is_recorded() {
            span.set("jsonrpc.request.id", request.id.to_string());
            span.set("network.transport", arrival.network);
            if arrival.network == "tcp" {
                span.set("network.protocol.name", "http");
            }
            target = named(&request.method, request.params.as_deref());
        }
        Self {
            method: request.method.clone(),
            span,
            target,
        }
    }

    /// Ends it: how the request was answered, in which revision.
    pub(super) fn end(mut self, revision: Option<&str>, outcome: &Outcome) {
        if !self.span.is_recorded() {
            return;
        }
        if let Some(revision) = revision {
            self.span.set("mcp.protocol.version", revision);
        }
        finish(
            &mut self.span,
            &self.method,
            self.target.as_deref(),
            outcome,
        );
    }
}

/// A request that is handed on to a server as it came.
pub(super) struct Passed {
    span: Span,
    method: String,
}

impl Passed {
    pub(super) fn begin(
        tracer: &Tracer,
        method: &str,
        server: &str,
        parent: Option<&SpanContext>,
    ) -> Self {
        let mut span = tracer.start(Kind::Client, OTHER, parent);
        span.set("toolcrib.server", server);
        Self {
            span,
            method: method.to_owned(),
        }
    }

    /// What the server is told as its parent.
    pub(super) fn context(&self) -> Option<SpanContext> {
        self.span.context().cloned()
    }

    pub(super) fn end(mut self, outcome: &Outcome) {
        finish(&mut self.span, &self.method, None, outcome);
    }
}

/// The tool or prompt that a request names.
fn named(method: &str, params: Option<&RawValue>) -> Option<String> {
    matches!(method, "tools/call" | "prompts/get")
        .then(|| Fields::of(params?)?.text("name"))
        .flatten()
}

fn finish(span: &mut Span, method: &str, target: Option<&str>, outcome: &Outcome) {
    let code = outcome.as_ref().err().map(|fault| fault.code);
    let method = if code == Some(rpc::METHOD_NOT_FOUND) {
        OTHER
    } else {
        method
    };
    span.set("mcp.method.name", method);
    if let Some(target) = target {
        let key = if method == "prompts/get" {
            "gen_ai.prompt.name"
        } else {
            span.set("gen_ai.operation.name", "execute_tool");
            "gen_ai.tool.name"
        };
        span.set(key, target);
    }
    match outcome {
        Ok(result) => {
            let target = target.map(|target| format!("{method} {target}"));
            span.name(target.as_deref().unwrap_or(method));
            if span.is_recorded() && says_error(result) {
                span.fail("tool_error");
            }
        }
        Err(fault) => {
            // A name that was refused may be anything.
            span.name(method);
            span.set("rpc.response.status_code", fault.code.to_string());
            span.fail(fault.code.to_string());
        }
    }
}

/// Whether a result says that the tool failed.
fn says_error(result: &RawValue) -> bool {
    let fields = Fields::of(result);
    let flag = fields.as_ref().and_then(|fields| fields.get("isError"));
    flag.is_some_and(|flag| flag.get() == "true")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};
    use tokio_util::sync::CancellationToken;
    use toolcrib_core::rpc::{Fault, Id};

    use super::super::fields::raw;
    use super::super::outlet::Nowhere;
    use super::super::stand_in::caller;
    use super::*;
    use crate::telemetry::span::{Finished, Held, recorded};

    fn ended(method: &str, params: &Value, outcome: &Outcome) -> (Finished, SpanContext) {
        let (tracer, mut waiting) = recorded();
        let request = Request {
            id: Id::Number(7),
            method: method.to_owned(),
            params: Some(raw(params)),
        };
        let meta = Meta::of(request.params.as_deref());
        let mut arrival = Arrival {
            caller: caller(),
            outlet: Arc::new(Nowhere),
            cancel: CancellationToken::new(),
            trace: None,
            network: "tcp",
        };
        let watched = Watched::begin(&tracer, &request, &meta, &mut arrival);
        watched.end(Some("2026-07-28"), outcome);
        (waiting.try_recv().unwrap(), arrival.trace.unwrap())
    }

    fn attribute(span: &Finished, name: &str) -> Option<String> {
        let found = span.attributes.iter().find(|(known, _)| *known == name);
        found.map(|(_, held)| match held {
            Held::Text(text) => text.clone(),
            Held::Number(number) => number.to_string(),
        })
    }

    #[test]
    fn a_request_is_named_by_its_method_and_tool_as_the_conventions_say() {
        let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let params = json!({ "name": "echo", "_meta": { "traceparent": parent } });
        let fine = Ok(raw(&json!({ "content": [] })));
        let (span, below) = ended("tools/call", &params, &fine);
        assert_eq!(
            (span.name.as_ref(), span.kind),
            ("tools/call echo", Kind::Server)
        );
        assert_eq!(span.parent.as_deref(), Some("b7ad6b7169203331"));
        assert_eq!(span.context, below);
        for (name, value) in [
            ("mcp.method.name", "tools/call"),
            ("gen_ai.tool.name", "echo"),
            ("gen_ai.operation.name", "execute_tool"),
            ("mcp.protocol.version", "2026-07-28"),
            ("jsonrpc.request.id", "7"),
            ("network.transport", "tcp"),
        ] {
            assert_eq!(attribute(&span, name).as_deref(), Some(value), "{name}");
        }
        assert!(!span.failed);
        let (span, _) = ended("prompts/get", &json!({ "name": "p" }), &fine);
        assert_eq!(span.name, "prompts/get p");
        assert_eq!(attribute(&span, "gen_ai.prompt.name").as_deref(), Some("p"));
    }

    #[test]
    fn what_fails_says_how_and_made_up_names_stay_out_of_names() {
        let check = |method: &str, outcome: Outcome, name: &str, error: &str| {
            let (span, _) = ended(method, &json!({ "name": "made-up" }), &outcome);
            assert_eq!(span.name, name);
            assert_eq!(attribute(&span, "error.type").as_deref(), Some(error));
            assert!(span.failed);
        };
        let fault = |code| Err(Fault::new(code, "hush"));
        let told = Ok(raw(&json!({ "content": [], "isError": true })));
        check("tools/call", told, "tools/call made-up", "tool_error");
        check(
            "tools/call",
            fault(rpc::INVALID_PARAMS),
            "tools/call",
            "-32602",
        );
        check("made/up", fault(rpc::METHOD_NOT_FOUND), OTHER, "-32601");
    }
}
