//! A call that may be made: journalled and keyed, taken from its buckets, made, recorded.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::Instant;
use toolcrib_core::Code;
use toolcrib_core::limits::{CALL_TIMEOUT_MS_DEFAULT, IDEMPOTENCY_KEY_BYTES_MAX};
use toolcrib_core::policy::{Bucket, Permit};
use toolcrib_store::approval::Mark;
use toolcrib_store::audit::Outcome as Recorded;
use toolcrib_store::idempotency::{self, Waiting};
use toolcrib_store::{Begin, Ending, Execution, Tokens};

use super::Attempt;
use super::confirmation::Spent;
use super::outcome::{End, Said, rate_limited, refused, sent_often};
use super::record::unrecorded;
use crate::engine::Engine;
use crate::engine::answer::{Outcome, Reply};
use crate::engine::buckets::shared;
use crate::engine::error::{Earlier, Error, Result};
use crate::engine::snapshot::Entry;
use crate::engine::upstream::{Call, Health, Sent};

/// A call that is permitted, and by what.
pub(super) struct Case {
    pub(super) entry: Arc<Entry>,
    pub(super) permit: Permit,
    pub(super) reason: String,
    /// What had been settled when it was judged.
    pub(super) judged_at: Option<Mark>,
}

/// A call under way, counted until it is dropped.
struct InFlight(Arc<AtomicUsize>);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Engine {
    /// Makes a call that is permitted, or gives the answer that its key has. `None` where approvals were settled
    /// since it was judged: it is to be judged again.
    pub(super) async fn run(&self, attempt: &Attempt, case: Case) -> Result<Option<Reply>> {
        let Some(_counted) = self.enter() else {
            let (entry, code) = (&case.entry, Some(Code::Overloaded));
            let full = "too many calls are under way";
            self.record_keyed(attempt, entry, full, Recorded::Refused, code)
                .await?;
            return Err(
                Error::new(Code::Overloaded, "Too many calls are under way.")
                    .suggest("Try again in a moment")
                    .of_tool(entry.tool.id.server(), entry.tool.id.tool()),
            );
        };
        let execution = match self.begin(attempt, &case).await? {
            Begun::Fresh(execution) => execution,
            Begun::Limited(execution, wait_ms) => {
                let end = End::RateLimited(wait_ms);
                let concluded = self.conclude(attempt, &case.entry, execution, end, 0).await;
                return concluded.map(Some);
            }
            Begun::Answered(reply) => return Ok(Some(reply)),
            Begun::Outdated => {
                let seen = self.try_see_settlements().await;
                return seen.map(|_| None).map_err(|error| unrecorded(&error));
            }
        };
        let sent = Sent::default();
        let end = self.call(attempt, &case.entry, case.permit, &sent).await;
        let concluded = self
            .conclude(attempt, &case.entry, execution, end, sent.times())
            .await;
        concluded.map(Some)
    }

    /// Counts one more call, unless that is more than may be under way.
    fn enter(&self) -> Option<InFlight> {
        let most = self.snapshot.load().config.settings.limits.calls_in_flight;
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let counter = Arc::clone(&self.in_flight);
        let before = counter.fetch_add(1, Ordering::AcqRel);
        let entered = InFlight(counter);
        (before < most).then_some(entered)
    }

    /// Journals the call and claims its key, or answers from the key.
    async fn begin(&self, attempt: &Attempt, case: &Case) -> Result<Begun> {
        let (entry, permit) = (&case.entry, &case.permit);
        let Some(judged_at) = case.judged_at else {
            return Ok(Begun::Outdated);
        };
        let shared = shared(permit.buckets());
        loop {
            let journalled = self.journal_entry(attempt, entry, &case.reason);
            let (tokens, empty_ms) = self.tokens(permit, &shared);
            let key = permit.idempotency_key();
            let begun = self
                .store
                .begin_judged_execution(journalled, key, judged_at, tokens)
                .await
                .map_err(|error| unrecorded(&error))?;
            let held = match begun {
                Begin::Fresh(execution) => {
                    return Ok(match empty_ms {
                        Some(wait_ms) => Begun::Limited(execution, wait_ms),
                        None => Begun::Fresh(execution),
                    });
                }
                Begin::Outdated => return Ok(Begun::Outdated),
                Begin::Limited(wait_ms) => return Err(self.limited(attempt, entry, wait_ms).await),
                held => held,
            };
            let patience = until(permit.deadline_ms(), self.clock.now_ms());
            if let Some(reply) = self.of_key(attempt, entry, held, patience).await? {
                return Ok(Begun::Answered(reply));
            }
        }
    }

    /// What the call takes from the buckets that processes share. Where one of this process's own is empty, that
    /// is nothing, as the call will not be made; then it is said for how long.
    fn tokens(&self, permit: &Permit, shared: &[Bucket]) -> (Tokens, Option<u64>) {
        if shared.is_empty() {
            return (Tokens::default(), None);
        }
        let now_ms = self.clock.now_ms();
        let empty_ms = self.buckets.wait_ms(permit.buckets(), now_ms);
        let buckets = match empty_ms {
            Some(_) => Vec::new(),
            None => shared.to_vec(),
        };
        (Tokens { buckets, now_ms }, empty_ms)
    }

    /// Records a call for which a bucket that processes share is empty.
    async fn limited(&self, attempt: &Attempt, entry: &Entry, wait_ms: u64) -> Box<Error> {
        let (outcome, code) = (Recorded::Refused, Some(Code::RateLimited));
        let recorded = self
            .record_keyed(attempt, entry, "a shared bucket is empty", outcome, code)
            .await;
        match recorded {
            Ok(()) => rate_limited(wait_ms).of_tool(entry.tool.id.server(), entry.tool.id.tool()),
            Err(unrecorded) => unrecorded,
        }
    }

    /// The answer of a call that was made before under the key of this one, or why there is none; `None`
    /// where the key is free, so that the call would have to be made. Nothing is called.
    pub(super) async fn answered_before(
        &self,
        attempt: &Attempt,
        entry: &Arc<Entry>,
    ) -> Result<Option<Reply>> {
        let options = &attempt.options;
        let key = options.idempotency_key.as_deref();
        // A longer one was never kept, and is refused with all else that is missing.
        let Some(key) = key.filter(|key| key.len() <= IDEMPOTENCY_KEY_BYTES_MAX) else {
            return Ok(None);
        };
        let usual = entry.metadata.timeout_ms.unwrap_or(CALL_TIMEOUT_MS_DEFAULT);
        let patience = Duration::from_millis(options.timeout_ms.unwrap_or(usual));
        loop {
            let asked = self.journal_entry(attempt, entry, "");
            let held = self.store.held_key(asked, key).await;
            let Some(held) = held.map_err(|error| unrecorded(&error))? else {
                return Ok(None);
            };
            let reply = self.of_key(attempt, entry, held, patience).await?;
            if reply.is_some() {
                return Ok(reply);
            }
        }
    }

    /// Refuses a rehearsal where its key would keep the call from being made: it was used for another call,
    /// or for one that was cut off.
    pub(super) async fn rehearse_key(&self, attempt: &Attempt, entry: &Arc<Entry>) -> Result<()> {
        let Some(key) = attempt.options.idempotency_key.as_deref() else {
            return Ok(());
        };
        let asked = self.journal_entry(attempt, entry, "");
        let held = self.store.held_key(asked, key).await;
        match held.map_err(|error| unrecorded(&error))? {
            Some(held @ (Begin::Conflict(_) | Begin::Unknown(_))) => {
                let refused = self.of_key(attempt, entry, held, Duration::ZERO).await;
                refused.map(drop)
            }
            _ => Ok(()),
        }
    }

    /// What a key gives that somebody has: its answer, or why there is none. `None` once whoever had it is
    /// done, so that it is to be asked for again.
    async fn of_key(
        &self,
        attempt: &Attempt,
        entry: &Arc<Entry>,
        held: Begin,
        patience: Duration,
    ) -> Result<Option<Reply>> {
        let (error, earlier) = match held {
            Begin::Fresh(_) | Begin::Outdated | Begin::Limited(_) => return Ok(None),
            Begin::InProgress(waiting) => {
                self.wait_for(attempt, entry, &waiting, patience).await?;
                return Ok(None);
            }
            Begin::Replay { earlier, answer } => {
                let reply = self.replay(attempt, entry, earlier, answer).await?;
                return Ok(Some(reply));
            }
            Begin::Conflict(earlier) => {
                let error = Error::new(
                    Code::IdempotencyConflict,
                    "This idempotency key was used before for another tool or other arguments.",
                )
                .suggest("Use a new key for a new effect");
                (error, earlier)
            }
            Begin::Unknown(earlier) => {
                let error = Error::new(
                    Code::IdempotencyUnknown,
                    "The first call with this idempotency key was cut off; whether it took effect is not known.",
                )
                .suggest(format!(
                    "Look at what the tool changes; `toolcrib audit search --request {}` shows what was recorded. Use a new key only if it had no effect",
                    earlier.request_id
                ));
                (error, earlier)
            }
        };
        Err(self.held(attempt, entry, error, earlier).await)
    }

    /// Waits for the call that holds the key, as long as this call may take.
    async fn wait_for(
        &self,
        attempt: &Attempt,
        entry: &Arc<Entry>,
        waiting: &Waiting,
        patience: Duration,
    ) -> Result<()> {
        let now_ms = self.clock.now_ms();
        let settling = waiting.settled(patience, now_ms);
        let (code, message) = match attempt.cancel.run_until_cancelled(settling).await {
            Some(Ok(true)) => return Ok(()),
            Some(Err(error)) => return Err(unrecorded(&error)),
            Some(Ok(false)) => (
                Code::ToolExecutionTimeout,
                "The first call with this idempotency key is still running.",
            ),
            None => (
                Code::Cancelled,
                "The call was cancelled while it waited for the first one with its key.",
            ),
        };
        let error = Error::new(code, message).suggest("Ask again with the same key later");
        Err(self
            .held(attempt, entry, error, waiting.earlier().clone())
            .await)
    }

    /// Records a call that its key kept from being made.
    async fn held(
        &self,
        attempt: &Attempt,
        entry: &Arc<Entry>,
        mut error: Box<Error>,
        earlier: idempotency::Earlier,
    ) -> Box<Error> {
        let reason = format!("the key is held by {}", earlier.request_id);
        error.more.earlier = Some(Earlier {
            request_id: earlier.request_id,
            started_ms: earlier.started_ms,
        });
        let code = Some(error.code);
        let outcome = match error.code {
            Code::Cancelled => Recorded::Cancelled,
            Code::ToolExecutionTimeout => Recorded::Timeout,
            _ => Recorded::Refused,
        };
        let recorded = self
            .record_keyed(attempt, entry, &reason, outcome, code)
            .await;
        match recorded {
            Ok(()) => error.of_tool(entry.tool.id.server(), entry.tool.id.tool()),
            Err(unrecorded) => unrecorded,
        }
    }

    /// Gives the answer that the key has.
    async fn replay(
        &self,
        attempt: &Attempt,
        entry: &Arc<Entry>,
        earlier: idempotency::Earlier,
        answer: Option<String>,
    ) -> Result<Reply> {
        let reason = format!("the answer of {} is given again", earlier.request_id);
        let said = answer.as_deref().and_then(Said::from_text);
        let (server, tool) = (entry.tool.id.server(), entry.tool.id.tool());
        let outcome = match said {
            Some(Said::Result(result)) => {
                let answered = self.answered(attempt, &entry.tool.id, &result, true).await;
                Ok(attempt.reply(Some(Arc::clone(entry)), Outcome::Answered(answered)))
            }
            Some(Said::Fault(fault)) => Err(refused(&fault).of_tool(server, tool)),
            None => Err(Error::new(
                Code::ResultExpired,
                "The call with this idempotency key was made before; its answer was too large to keep.",
            )
            .suggest("Do not repeat it; read what it changed instead")
            .of_tool(server, tool)),
        };
        let code = outcome.as_ref().err().map(|error| error.code);
        self.record_keyed(attempt, entry, &reason, Recorded::Replayed, code)
            .await?;
        outcome
    }

    /// Takes the buckets, uses the person's word, and makes the call under its deadline.
    async fn call(&self, attempt: &Attempt, entry: &Entry, permit: Permit, sent: &Sent) -> End {
        let cancel = &attempt.cancel;
        if cancel.is_cancelled() {
            return End::Withdrawn;
        }
        let now_ms = self.clock.now_ms();
        if let Err(wait_ms) = self.buckets.take(permit.buckets(), now_ms) {
            return End::RateLimited(wait_ms);
        }
        let word = match self.spend(&permit).await {
            Ok(Spent::Missing) => return End::Unconfirmed,
            Ok(word) => word,
            Err(error) => return End::Unrecorded(error),
        };
        let snapshot = self.snapshot();
        let server = entry.tool.id.server();
        let supplier = snapshot.suppliers().find(|s| *s.name == *server);
        let Some(supplier) = supplier else {
            return End::Failed(toolcrib_upstream::mcp::Failure::Unreachable(
                "the configuration does not have it any more".to_owned(),
            ));
        };
        // Starting a server has a time of its own, on top of the call's.
        let starting = match self.upstream.standing(server).health {
            Health::Connected => Duration::ZERO,
            _ => Duration::from_millis(supplier.start_timeout_ms),
        };
        let traced = self.calling(attempt, entry);
        let deadline = Instant::now() + until(permit.deadline_ms(), now_ms) + starting;
        let call = Call {
            owner: supplier.owner(&attempt.caller.principal, attempt.session.as_deref()),
            arguments: attempt.arguments.raw.clone(),
            client: attempt.client.clone(),
            cancel: cancel.clone(),
            schema: Arc::clone(&entry.tool.input_schema),
            meta: attempt.meta.clone(),
            trace: traced.context(),
            round: attempt.round.clone(),
            idle: attempt.options.idle_timeout_ms.map(Duration::from_millis),
            sent: sent.clone(),
        };
        let calling = self.upstream.call(permit, call);
        let end: End = tokio::select! {
            biased;
            answered = calling => answered.into(),
            () = cancel.cancelled() => End::Cancelled,
            () = tokio::time::sleep_until(deadline) => End::TimedOut,
        };
        traced.end(&end, self.upstream.revision(server));
        // Only a client that goes on in rounds can answer.
        let end = match &attempt.round {
            Some(_) => end.or_question(),
            None => end,
        };
        // Nothing was done with the person's word.
        if matches!(end, End::Asks(_) | End::Unsent(_)) {
            self.give_back(word).await;
        }
        end
    }

    /// Records how the call ended and how often it was sent, and turns it into the answer.
    async fn conclude(
        &self,
        attempt: &Attempt,
        entry: &Arc<Entry>,
        execution: Execution,
        end: End,
        sent: u32,
    ) -> Result<Reply> {
        let code = end.code();
        let took = attempt.started.elapsed();
        let ending = Ending {
            outcome: end.outcome(),
            error_code: code.map(|code| code.to_string()),
            duration_us: i64::try_from(took.as_micros()).ok(),
            response_bytes: end.response_bytes(),
            key: end.key_fate(),
            remark: (sent > 1).then(|| format!("sent {sent} times")),
        };
        let (outcome, bytes) = (ending.outcome, ending.response_bytes);
        tracing::info!(
            outcome = outcome.as_str(),
            code = code.map(Code::as_str),
            ?took,
            bytes,
            sent,
            "called"
        );
        if let End::Failed(failure) | End::Unsent(failure) = &end {
            tracing::warn!(%failure, sent, "a call failed");
        }
        if !execution.is_keyed() {
            // Its entry is on the disk already; the caller need not wait for its record as well.
            execution.finish_soon(ending);
        } else if let Err(error) = execution.finish(ending).await {
            // The call has been made; its ending is written as soon as the store can be.
            tracing::error!(%error, "the ending of an execution waits to be recorded");
        }
        self.store.count("call", 1, attempt.at_ms);
        if code.is_some() {
            self.store.count("call.failed", 1, attempt.at_ms);
        } else {
            self.learn_from(&attempt.caller, &entry.tool.id);
        }
        match end.into_result() {
            Ok(result) => {
                let answered = self.answered(attempt, &entry.tool.id, &result, false).await;
                Ok(attempt.reply(Some(Arc::clone(entry)), Outcome::Answered(answered)))
            }
            Err(error) => {
                let error = sent_often(error, sent);
                Err(error.of_tool(entry.tool.id.server(), entry.tool.id.tool()))
            }
        }
    }
}

/// How a call begins.
enum Begun {
    /// It is journalled and may be made.
    Fresh(Execution),
    /// It is journalled and may not be made now: a bucket of this process is empty for so long.
    Limited(Execution, u64),
    /// Its key has the answer.
    Answered(Reply),
    /// It was judged by approvals that are others by now.
    Outdated,
}

/// The time until a deadline.
fn until(deadline_ms: i64, now_ms: i64) -> Duration {
    Duration::from_millis(u64::try_from(deadline_ms.saturating_sub(now_ms)).unwrap_or(0))
}
