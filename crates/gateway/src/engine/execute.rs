//! Running a tool under policy: one way for every door.
//!
//! Resolve, decide, journal and key, buckets, call, shape, record. A request that comes in leaves
//! exactly one audit record, whatever becomes of it; nothing is called that is not journalled.

pub(super) mod beside;
mod confirmation;
mod decision;
mod outcome;
mod page;
mod record;
mod run;
mod select;
mod shape;
mod traced;

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use serde_json::value::RawValue;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use toolcrib_core::Code;
use toolcrib_core::canon::{Hash, StrictError, params_hash, parse_strict};
use toolcrib_core::policy::{self, Caller};
use toolcrib_core::trace::SpanContext;
use toolcrib_store::audit::Outcome as Recorded;
use tracing::Instrument;

use self::decision::{Decided, Verdict};
use self::run::Case;
use super::Engine;
use super::answer::{Outcome, Reply};
use super::ask::{CallOptions, Execution};
use super::error::{Error, Result};
use super::snapshot::Entry;
use super::upstream::{Client, Round};

/// A request that came in.
struct Attempt {
    /// Names it in records and logs.
    id: String,
    at_ms: i64,
    started: Instant,
    caller: Caller,
    /// As it was asked for.
    server: String,
    tool: String,
    arguments: Arguments,
    options: CallOptions,
    client: Option<Arc<dyn Client>>,
    session: Option<String>,
    cancel: CancellationToken,
    trace: Option<SpanContext>,
    meta: Option<Box<RawValue>>,
    key_exempt: bool,
    round: Option<Round>,
    whole: bool,
}

/// Arguments, read once: what policy looked at is what the upstream gets.
struct Arguments {
    raw: Box<RawValue>,
    value: std::result::Result<Value, StrictError>,
    hash: Hash,
}

impl Arguments {
    fn read(raw: Box<RawValue>) -> Self {
        let value = parse_strict(raw.get());
        let hash = match &value {
            Ok(value) => params_hash(value),
            Err(_) => Hash::of(raw.get().as_bytes()),
        };
        Self { raw, value, hash }
    }
}

impl Attempt {
    fn new(engine: &Engine, caller: &Caller, execution: Execution) -> Self {
        let at_ms = engine.clock.now_ms();
        Self {
            id: engine.clock.request_id(at_ms).to_string(),
            at_ms,
            started: Instant::now(),
            caller: caller.clone(),
            server: execution.server,
            tool: execution.tool,
            arguments: Arguments::read(execution.arguments),
            options: execution.options,
            client: execution.client,
            session: execution.session,
            cancel: execution.cancel,
            trace: execution.trace,
            meta: execution.meta,
            key_exempt: execution.key_exempt,
            round: execution.round,
            whole: execution.whole,
        }
    }

    fn reply(&self, entry: Option<Arc<Entry>>, outcome: Outcome) -> Reply {
        let took = self.started.elapsed().as_millis();
        Reply {
            request_id: self.id.clone(),
            timestamp_ms: self.at_ms,
            duration_ms: u64::try_from(took).unwrap_or(u64::MAX),
            entry,
            outcome,
        }
    }
}

impl Engine {
    /// Runs a tool under policy, or says everything that stands in the way.
    pub async fn execute(self: &Arc<Self>, caller: &Caller, execution: Execution) -> Result<Reply> {
        let mut attempt = Attempt::new(self, caller, execution);
        let traced = self.attempted(&mut attempt);
        let span = tracing::error_span!(
            "execute",
            request_id = attempt.id,
            server = attempt.server,
            tool = attempt.tool,
            actor = %attempt.caller.principal,
        );
        let (id, started) = (attempt.id.clone(), attempt.started);
        // On a task of its own: a caller that goes away cancels what it asked for, and does not leave it
        // without a record.
        attempt.cancel = attempt.cancel.child_token();
        let gone = attempt.cancel.clone().drop_guard();
        let work = Arc::clone(self).attempt_to_the_end(attempt);
        let outcome = self.tasks.spawn(work.instrument(span)).await;
        gone.disarm();
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => Err(Error::new(Code::Cancelled, "Toolcrib is ending.")),
            },
        };
        self.metered(&outcome, started.elapsed());
        traced.end(&outcome);
        outcome.map_err(|mut error| {
            error.request_id = Some(id);
            error
        })
    }

    fn metered(&self, outcome: &Result<Reply>, took: Duration) {
        let snapshot = self.snapshot.load();
        let server = match outcome {
            Ok(reply) => reply.entry.as_ref().map(|entry| entry.tool.id.server()),
            Err(error) => error.server.as_deref(),
        };
        // A server under another spelling is the same one; what nobody configured is none.
        let rack = server.and_then(|server| snapshot.rack(server));
        let server = rack.map(|rack| &*rack.supplier.name);
        self.meter.count(server, traced::word(outcome), took);
    }

    /// What was attempted comes to its end also where the engine ends first: it is then cancelled.
    async fn attempt_to_the_end(self: Arc<Self>, attempt: Attempt) -> Result<Reply> {
        let attempting = self.attempt(&attempt);
        tokio::pin!(attempting);
        tokio::select! {
            biased;
            outcome = &mut attempting => outcome,
            () = self.hurry.cancelled() => {
                attempt.cancel.cancel();
                attempting.await
            }
        }
    }

    async fn attempt(self: &Arc<Self>, attempt: &Attempt) -> Result<Reply> {
        if let Some(handle) = &attempt.options.page {
            return self.read_page(attempt, handle).await;
        }
        loop {
            // Read before the catalog, which has then been judged by it or by what came later.
            let judged_at = self.judged_at();
            let met = match self.resolve_attempt(attempt).await {
                Ok(entry) => Ok((self.weigh(attempt, &entry).await?, entry)),
                Err(error) => Err(error),
            };
            // What is permitted is held against what was settled when it is journalled. Anything else looks now.
            let permitted = met
                .as_ref()
                .is_ok_and(|(weighed, _)| weighed.is_permitted());
            if !permitted && self.see_settlements().await {
                continue;
            }
            let (weighed, entry) = match met {
                Ok(met) => met,
                Err(error) => return Err(self.turn_away(attempt, error).await),
            };
            let decided = match self.decide(attempt, entry, weighed).await? {
                Verdict::Decided(decided) => decided,
                Verdict::Answered(reply) => return Ok(reply),
                Verdict::Gone => {
                    let error = self.no_tool(&attempt.caller, &attempt.server, &attempt.tool);
                    return Err(self.turn_away(attempt, error).await);
                }
            };
            let policy::Outcome::Permitted(permit) = decided.outcome else {
                return self.withhold(attempt, decided).await;
            };
            let reason = record::reason(&decided.trace);
            let case = Case {
                entry: decided.entry,
                permit,
                reason,
                judged_at,
            };
            if let Some(reply) = self.run(attempt, case).await? {
                return Ok(reply);
            }
        }
    }

    /// Answers a request that is not permitted, or was only to be rehearsed.
    async fn withhold(&self, attempt: &Attempt, decided: Decided) -> Result<Reply> {
        let entry = decided.entry;
        let policy::Outcome::Refused(refusal) = &decided.outcome else {
            self.rehearse_key(attempt, &entry).await?;
            self.record_rehearsal(attempt, &entry, &decided.trace)
                .await?;
            return Ok(attempt.reply(Some(entry), Outcome::Rehearsed(decided.trace)));
        };
        let mut error = if refusal.is_hidden() {
            self.no_tool(&attempt.caller, &attempt.server, &attempt.tool)
        } else {
            Error::refused(refusal).of_tool(entry.tool.id.server(), entry.tool.id.tool())
        };
        error.more.challenge.clone_from(&decided.waiting);
        if attempt.options.dry_run && !refusal.is_hidden() {
            error.more.steps.clone_from(&decided.trace);
        }
        self.record_refusal(attempt, &entry, refusal, &decided.trace)
            .await?;
        Err(error)
    }

    async fn resolve_attempt(self: &Arc<Self>, attempt: &Attempt) -> Result<Arc<Entry>> {
        self.require_on()?;
        if let Some(filter) = &attempt.options.select {
            select::check(filter).await?;
        }
        let resolving = self.resolve(&attempt.caller, &attempt.server, &attempt.tool);
        match attempt.cancel.run_until_cancelled(resolving).await {
            Some(resolved) => resolved,
            None => Err(Error::new(
                Code::Cancelled,
                "The call was cancelled before it was made.",
            )),
        }
    }

    /// Records an attempt that never met a tool.
    async fn turn_away(&self, attempt: &Attempt, mut error: Box<Error>) -> Box<Error> {
        // Where a tool is to be run, a server that cannot be reached is a failed execution.
        if error.code == Code::ServerConnectionError {
            error.code = Code::ToolExecutionError;
        }
        let outcome = match error.code {
            Code::Cancelled => Recorded::Cancelled,
            Code::ToolExecutionError | Code::RateLimited => Recorded::Error,
            _ => Recorded::Refused,
        };
        match self.record_unmet(attempt, &error, outcome).await {
            Ok(()) => error,
            Err(unrecorded) => unrecorded,
        }
    }
}
