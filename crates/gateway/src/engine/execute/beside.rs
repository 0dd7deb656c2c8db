//! What a server has beside its tools, asked for under policy.
//!
//! Resources, prompts and completions are read as a tool of low risk is run: by who holds the scope that
//! such a tool of the server needs, from a server that a person has not kept out, within the same rates.
//! To everybody else the server is not there. What gives away content leaves one audit record.

use serde_json::value::RawValue;
use tokio::time::Instant;
use toolcrib_core::canon::{Hash, params_hash, parse_strict};
use toolcrib_core::policy::approval::{Approval, Origin, Wait};
use toolcrib_core::policy::{
    ApprovalMode, Caller, Requirement, Risk, Scope, Visibility, server_buckets, visible_by,
};
use toolcrib_core::trace::SpanContext;
use toolcrib_core::{Code, ToolId};
use toolcrib_store::audit::{Decision, Outcome, Record};
use toolcrib_store::idempotency::KeyFate;
use toolcrib_store::{Begin, Ending, Entry as Journalled, StoreError, Tokens};
use toolcrib_upstream::mcp::{Failure, Negotiated};

use std::sync::Arc;
use std::time::Duration;

use super::outcome::rate_limited;
use super::record::{masked, unrecorded};
use crate::engine::Engine;
use crate::engine::asking::About;
use crate::engine::buckets::shared;
use crate::engine::error::Error;
use crate::engine::passage::Asking;
use crate::engine::rack::Rack;
use crate::engine::supplier::Supplier;
use crate::engine::upstream::CallError;
use crate::mcp::fields::Fields;

/// What gives away content of a server, and is recorded.
const RECORDED: &[&str] = &["resources/read", "prompts/get"];

/// What asks less of a server than was asked before, and is taken from no bucket.
const FREE: &[&str] = &["resources/unsubscribe"];

/// Something that a server is asked beside its tools.
pub struct Passing<'a> {
    /// The method.
    pub method: &'a str,
    /// What goes with it, as the server gets it.
    pub params: &'a RawValue,
    /// Who asks which server.
    pub asking: Asking<'a>,
    /// The trace that it belongs to.
    pub trace: Option<SpanContext>,
}

/// Why there is no answer.
#[derive(Debug)]
pub enum Unpassed {
    /// There is no such server for this caller.
    Absent,
    /// It was not asked now.
    Refused(Box<Error>),
    /// It gave none.
    Unanswered(CallError),
}

impl From<Box<Error>> for Unpassed {
    fn from(error: Box<Error>) -> Self {
        Self::Refused(error)
    }
}

/// Why a server is not there for a caller.
struct Closed {
    code: Code,
    reason: String,
}

/// A question as it is recorded.
struct Question {
    id: String,
    at_ms: i64,
    started: Instant,
    actor: String,
    server: String,
    /// The server and the method, written as the id of a tool is.
    target: String,
    hash: Hash,
    parameters: Option<String>,
    bytes: i64,
    trace_id: Option<String>,
}

impl Engine {
    /// Whether a caller's scopes let it read what a server has beside its tools.
    pub fn may_read(&self, caller: &Caller, server: &str) -> bool {
        let needs = self.needs_to_read(server);
        visible_by(caller, &needs, true, Approval::Approved) == Visibility::Shown
    }

    /// What a server says of itself, connecting to it where needed.
    pub async fn describe_server(
        self: &Arc<Self>,
        caller: &Caller,
        asking: Asking<'_>,
    ) -> Result<Negotiated, Unpassed> {
        self.require_on()?;
        if self.judge_reading(caller, asking.server).await.is_err() {
            return Err(Unpassed::Absent);
        }
        let passage = self.passage().ok_or(Unpassed::Absent)?;
        let said = passage.describe(asking).await;
        said.map_err(Unpassed::Unanswered)
    }

    /// Asks a server something beside its tools; its answer as it was sent.
    pub async fn pass(
        self: &Arc<Self>,
        caller: &Caller,
        passing: Passing<'_>,
    ) -> Result<Box<RawValue>, Unpassed> {
        self.require_on()?;
        let passage = self.passage().ok_or(Unpassed::Absent)?;
        let server = passing.asking.server;
        let question = RECORDED
            .contains(&passing.method)
            .then(|| self.question(caller, &passing));
        let reason = match self.judge_reading(caller, server).await {
            Ok(reason) => reason,
            Err(closed) => {
                self.record_unasked(question.as_ref(), closed).await?;
                return Err(Unpassed::Absent);
            }
        };
        if !FREE.contains(&passing.method)
            && let Err(wait_ms) = self.take_for(caller, server).await?
        {
            let closed = Closed {
                code: Code::RateLimited,
                reason: "a bucket is empty".to_owned(),
            };
            self.record_unasked(question.as_ref(), closed).await?;
            return Err(rate_limited(wait_ms).of_server(server).into());
        }
        let Passing {
            method,
            params,
            asking,
            ..
        } = passing;
        let Some(question) = question else {
            let asked = passage.ask(asking, method, Some(params)).await;
            return asked.map_err(Unpassed::Unanswered);
        };
        let started = question.started;
        let begun = self.store.begin_execution(question.entry(reason), None);
        let Begin::Fresh(execution) = begun.await.map_err(|error| unrecorded(&error))? else {
            return Err(unrecorded(&StoreError::Closed).into());
        };
        let asked = passage.ask(asking, method, Some(params)).await;
        execution.finish_soon(ending(&asked, started));
        asked.map_err(Unpassed::Unanswered)
    }

    /// What a caller must hold to read from a server: what a tool of low risk would need.
    fn needs_to_read(&self, server: &str) -> Vec<Requirement> {
        let any = ToolId::new(server, "resources/read");
        self.snapshot.load().rulebook.needs(&any, Risk::Low)
    }

    /// Why a caller may read from a server, or why it is not there.
    async fn judge_reading(
        self: &Arc<Self>,
        caller: &Caller,
        server: &str,
    ) -> Result<String, Closed> {
        let needs = self.needs_to_read(server);
        let scopes: Vec<&str> = needs
            .iter()
            .filter_map(|need| need.any_of().first().map(Scope::as_str))
            .collect();
        let scopes = scopes.join(", ");
        let hidden = || Closed {
            code: Code::ScopeRequired,
            reason: format!("Lacks {scopes}."),
        };
        // Nobody starts a server by asking for what it may not read.
        if !self.may_read(caller, server) {
            return Err(hidden());
        }
        self.see_settlements().await;
        let approval = self.server_approval(server).await;
        match visible_by(caller, &needs, true, approval) {
            Visibility::Shown => Ok(format!("{}; may read by {scopes}", caller.principal)),
            Visibility::Hidden => Err(hidden()),
            Visibility::Pending | Visibility::Disabled => Err(Closed {
                code: Code::ApprovalRequired,
                reason: "The server waits for approval, or was rejected.".to_owned(),
            }),
        }
    }

    /// Whether a person has let a server in: one of which nothing was ever accepted has not been.
    async fn server_approval(self: &Arc<Self>, server: &str) -> Approval {
        let snapshot = self.snapshot();
        let Some(rack) = snapshot.own_rack(server).cloned() else {
            return Approval::Rejected;
        };
        let mode = snapshot.config.settings.policy.approval;
        if !waits_at_first(&rack.supplier, mode) {
            // Whoever wrote it down let it in; only a no to all of it counts for more.
            return match approval_of(&rack) {
                Approval::Rejected => Approval::Rejected,
                Approval::Approved | Approval::Pending(_) => Approval::Approved,
            };
        }
        // Whether it waits shows in its tools, so they must be known.
        let patience = Duration::from_millis(rack.supplier.start_timeout_ms);
        let view = self.view(About::One(server), patience).await;
        match view.snapshot.own_rack(server) {
            Some(rack) if rack.is_known() => approval_of(rack),
            _ => Approval::Pending(Wait::Server),
        }
    }

    /// Takes from the buckets of a server and of a caller, or says how long to wait.
    async fn take_for(&self, caller: &Caller, server: &str) -> Result<Result<(), u64>, Box<Error>> {
        let snapshot = self.snapshot();
        let rack = snapshot.own_rack(server);
        let own = rack.and_then(|rack| rack.supplier.facts.rate);
        let usual = snapshot.config.settings.policy.rate_limits.per_server;
        let buckets = server_buckets(caller, server, own.unwrap_or(usual));
        let (now_ms, shared) = (self.clock.now_ms(), shared(&buckets));
        if !shared.is_empty() {
            if let Some(wait_ms) = self.buckets.wait_ms(&buckets, now_ms) {
                return Ok(Err(wait_ms));
            }
            let tokens = Tokens {
                buckets: shared,
                now_ms,
            };
            let taken = self.store.take_tokens(tokens).await;
            if let Err(wait_ms) = taken.map_err(|error| unrecorded(&error))? {
                return Ok(Err(wait_ms));
            }
        }
        Ok(self.buckets.take(&buckets, now_ms))
    }

    fn question(&self, caller: &Caller, passing: &Passing<'_>) -> Question {
        let at_ms = self.clock.now_ms();
        let mut fields = Fields::of(passing.params).unwrap_or_default();
        // It is about this exchange, not about what is asked.
        fields.remove("_meta");
        let asked = fields.raw();
        let value = parse_strict(asked.get()).ok();
        let wanted = self.snapshot.load().config.settings.audit.parameters;
        let server = passing.asking.server;
        Question {
            id: self.clock.request_id(at_ms).to_string(),
            at_ms,
            started: Instant::now(),
            actor: caller.principal.to_string(),
            server: server.to_owned(),
            target: format!("{server}:{}", passing.method),
            hash: match &value {
                Some(value) => params_hash(value),
                None => Hash::of(asked.get().as_bytes()),
            },
            parameters: value
                .filter(|_| wanted)
                .map(|value| masked(&value).to_string()),
            bytes: i64::try_from(asked.get().len()).unwrap_or(i64::MAX),
            trace_id: passing.trace.as_ref().map(SpanContext::trace_id),
        }
    }

    /// Records that something was not asked, where it is of what is recorded.
    async fn record_unasked(
        &self,
        question: Option<&Question>,
        closed: Closed,
    ) -> Result<(), Box<Error>> {
        let Some(question) = question else {
            return Ok(());
        };
        self.append(Record {
            request_id: question.id.clone(),
            timestamp_ms: question.at_ms,
            actor_id: question.actor.clone(),
            tool_id: question.target.clone(),
            params_hash: question.hash.to_string(),
            parameters: question.parameters.clone(),
            decision: Decision::Refused,
            reason: closed.reason,
            outcome: Outcome::Refused,
            error_code: Some(closed.code.to_string()),
            duration_us: took_us(question.started),
            upstream: Some(question.server.clone()),
            request_bytes: question.bytes,
            response_bytes: None,
            trace_id: question.trace_id.clone(),
        })
        .await
    }
}

impl Question {
    fn entry(self, reason: String) -> Journalled {
        Journalled {
            request_id: self.id,
            timestamp_ms: self.at_ms,
            actor_id: self.actor,
            tool_id: self.target,
            params_hash: self.hash.to_string(),
            parameters: self.parameters,
            reason,
            upstream: Some(self.server),
            request_bytes: self.bytes,
            trace_id: self.trace_id,
        }
    }
}

/// Whether the first list of a server waits for a person.
fn waits_at_first(supplier: &Supplier, mode: ApprovalMode) -> bool {
    mode == ApprovalMode::All || supplier.origin == Origin::Discovered
}

/// How a server stands by its tools: one with a tool that was accepted once has been let in.
fn approval_of(rack: &Rack) -> Approval {
    let mut approval = None;
    for mark in rack.marks() {
        approval = match (mark.approval, approval) {
            (Approval::Approved | Approval::Pending(Wait::Changed), _) => {
                return Approval::Approved;
            }
            (Approval::Rejected, Some(waits)) | (waits, _) => Some(waits),
        };
    }
    approval.unwrap_or(Approval::Approved)
}

fn ending(asked: &Result<Box<RawValue>, CallError>, started: Instant) -> Ending {
    let (outcome, code) = match asked {
        Ok(_) => (Outcome::Ok, None),
        Err(CallError::Failure(Failure::Cancelled)) => (Outcome::Cancelled, Some(Code::Cancelled)),
        Err(CallError::Failure(Failure::TimedOut(_))) => {
            (Outcome::Timeout, Some(Code::ToolExecutionTimeout))
        }
        Err(_) => (Outcome::Error, Some(Code::ToolExecutionError)),
    };
    let answer = asked.as_ref().ok();
    Ending {
        outcome,
        error_code: code.map(|code| code.to_string()),
        duration_us: took_us(started),
        response_bytes: answer.and_then(|answer| i64::try_from(answer.get().len()).ok()),
        key: KeyFate::Forget,
        remark: None,
    }
}

fn took_us(started: Instant) -> Option<i64> {
    i64::try_from(started.elapsed().as_micros()).ok()
}
