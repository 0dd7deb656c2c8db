//! Spans of an execution and of the call that it makes.

use toolcrib_core::Code;
use toolcrib_core::trace::SpanContext;

use super::outcome::{End, Said};
use super::{Attempt, Entry};
use crate::engine::Engine;
use crate::engine::answer::{Outcome, Reply};
use crate::engine::error::Result;
use crate::telemetry::{Kind, Span};

/// An execution under way.
pub(super) struct Traced(Span);

/// A call under way.
pub(super) struct Calling(Span);

impl Engine {
    /// Begins the span of an attempt, and puts the attempt below it.
    pub(super) fn attempted(&self, attempt: &mut Attempt) -> Traced {
        let parent = attempt.trace.take();
        let mut span = self
            .tracer
            .start(Kind::Internal, "execute_tool", parent.as_ref());
        attempt.trace = span.context().cloned();
        span.set("gen_ai.operation.name", "execute_tool");
        span.set("gen_ai.tool.name", attempt.tool.as_str());
        span.set("toolcrib.server", attempt.server.as_str());
        span.set("toolcrib.request_id", attempt.id.as_str());
        Traced(span)
    }

    /// Begins the span of a call.
    pub(super) fn calling(&self, attempt: &Attempt, entry: &Entry) -> Calling {
        let mut span = self
            .tracer
            .start(Kind::Client, "tools/call", attempt.trace.as_ref());
        if !span.is_recorded() {
            return Calling(span);
        }
        let tool = &entry.tool;
        span.set("toolcrib.server", tool.id.server());
        span.set("toolcrib.request_id", attempt.id.as_str());
        span.set("gen_ai.tool.name", tool.id.tool());
        if let Some(method) = &tool.method {
            let path = tool.path.as_deref().unwrap_or("/");
            span.name(&format!("{method} {path}"));
            span.set("http.request.method", method.as_str());
            span.set("url.template", path);
            if let Some((host, port)) = self.upstream.host(&tool.id) {
                span.set("server.address", host);
                span.set("server.port", i64::from(port));
            }
        } else {
            span.name(&format!("tools/call {}", tool.id.tool()));
            span.set("mcp.method.name", "tools/call");
            span.set("gen_ai.operation.name", "execute_tool");
        }
        Calling(span)
    }
}

/// How an execution ended, in a word.
pub(super) fn word(outcome: &Result<Reply>) -> &'static str {
    match outcome {
        Ok(reply) => match &reply.outcome {
            Outcome::Answered(answered) if answered.is_error => "failed",
            Outcome::Answered(answered) if answered.replayed => "replayed",
            Outcome::Answered(_) => "answered",
            Outcome::Rehearsed(_) => "rehearsed",
        },
        Err(error) => match error.code {
            Code::ToolExecutionError | Code::ToolExecutionTimeout => "failed",
            Code::Cancelled => "cancelled",
            _ => "refused",
        },
    }
}

impl Traced {
    /// Ends it: what was decided, and what came of it.
    pub(super) fn end(mut self, outcome: &Result<Reply>) {
        let span = &mut self.0;
        if !span.is_recorded() {
            return;
        }
        span.set("toolcrib.outcome", word(outcome));
        let known = match outcome {
            Ok(reply) => {
                if matches!(&reply.outcome, Outcome::Answered(answered) if answered.is_error) {
                    span.fail("tool_error");
                }
                reply
                    .entry
                    .as_ref()
                    .map(|entry| entry.tool.id.tool().to_owned())
            }
            Err(error) => {
                span.fail(error.code.as_str());
                // A name that leads nowhere may be anything.
                let unknown = matches!(error.code, Code::ToolNotFound | Code::ServerNotFound);
                error.tool.clone().filter(|_| !unknown)
            }
        };
        if let Some(tool) = known {
            span.name(&format!("execute_tool {tool}"));
        }
    }
}

impl Calling {
    /// What the upstream is told as its parent.
    pub(super) fn context(&self) -> Option<SpanContext> {
        self.0.context().cloned()
    }

    /// Ends it: how the upstream answered, in which revision of MCP where it speaks that.
    pub(super) fn end(mut self, end: &End, revision: Option<String>) {
        let span = &mut self.0;
        if let Some(revision) = revision {
            span.set("mcp.protocol.version", revision);
        }
        match end {
            End::Said(Said::Fault(fault)) => {
                span.set("rpc.response.status_code", fault.code.to_string());
                span.fail(fault.code.to_string());
            }
            End::Said(Said::Result(_)) if end.code().is_some() => span.fail("tool_error"),
            other => {
                if let Some(code) = other.code() {
                    span.fail(code.as_str());
                }
            }
        }
    }
}
