//! Executions from the entry before the call to the record after it.
//!
//! The entry is durable before anything is called. When the execution ends, one transaction takes
//! the entry out, appends the audit record and settles the idempotency key. What a dead process
//! left behind is recorded by the next one with the outcome `unknown`.

pub(crate) mod progress;
mod recovery;

use std::sync::Arc;
use std::time::Instant;

use toolcrib_core::limits::AUDIT_REASON_BYTES_MAX;

use crate::StoreError;
use crate::approval::Mark;
use crate::audit::{Chainer, Decision, Outcome, Record, append, bounded_parameters};
use crate::backend::{Session, args};
use crate::idempotency::{self, Begin, Claim, Claimed, KeyFate, Waiting};
use crate::rate::Tokens;
use crate::store::Store;
use crate::text;
use crate::writer::Unit;

pub use recovery::Recovered;

/// What is known about an execution before the call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Names the request: a `UUIDv7`.
    pub request_id: String,
    /// When the request came in.
    pub timestamp_ms: i64,
    /// Who asked.
    pub actor_id: String,
    /// Which tool, as `server:tool`.
    pub tool_id: String,
    /// Canonical hash of the parameters.
    pub params_hash: String,
    /// The parameters as masked JSON text, where configured.
    pub parameters: Option<String>,
    /// Why it was permitted, in the words of policy.
    pub reason: String,
    /// The server that will be called.
    pub upstream: Option<String>,
    /// Size of the arguments.
    pub request_bytes: i64,
    /// The trace this belongs to.
    pub trace_id: Option<String>,
}

impl Entry {
    fn bounded(mut self) -> Self {
        for name in [
            &mut self.request_id,
            &mut self.actor_id,
            &mut self.tool_id,
            &mut self.params_hash,
        ] {
            *name = text::name(name);
        }
        for name in [&mut self.upstream, &mut self.trace_id] {
            *name = name.as_deref().map(text::name);
        }
        self.reason = text::bounded(&self.reason, AUDIT_REASON_BYTES_MAX);
        self.parameters = self.parameters.as_deref().map(bounded_parameters);
        self
    }

    /// The reason with a remark behind it, which is kept whole where the two are too long together.
    fn reason_with(&self, remark: Option<&str>) -> String {
        let Some(remark) = remark else {
            return self.reason.clone();
        };
        let room = AUDIT_REASON_BYTES_MAX.saturating_sub(remark.len() + "; ".len());
        let reason = text::bounded(&self.reason, room);
        if reason.is_empty() {
            return remark.to_owned();
        }
        format!("{reason}; {remark}")
    }

    fn record(&self, ending: &Ending) -> Record {
        Record {
            request_id: self.request_id.clone(),
            timestamp_ms: self.timestamp_ms,
            actor_id: self.actor_id.clone(),
            tool_id: self.tool_id.clone(),
            params_hash: self.params_hash.clone(),
            parameters: self.parameters.clone(),
            decision: Decision::Allowed,
            reason: self.reason_with(ending.remark.as_deref()),
            outcome: ending.outcome,
            error_code: ending.error_code.clone(),
            duration_us: ending.duration_us,
            upstream: self.upstream.clone(),
            request_bytes: self.request_bytes,
            response_bytes: ending.response_bytes,
            trace_id: self.trace_id.clone(),
        }
        .bounded()
    }
}

/// What is known about an execution after the call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    /// How it ended.
    pub outcome: Outcome,
    /// The code that the caller gets, where it is an error.
    pub error_code: Option<String>,
    /// How long it took.
    pub duration_us: Option<i64>,
    /// Size of the answer, where there is one.
    pub response_bytes: Option<i64>,
    /// What becomes of the idempotency key, where there is one.
    pub key: KeyFate,
    /// What is known only now and belongs to the reason.
    pub remark: Option<String>,
}

/// An execution that may call its upstream: its entry is on the disk.
///
/// Dropped without [`Execution::finish`] it is recorded with the outcome `unknown`.
#[must_use = "an execution that is dropped is recorded with the outcome `unknown`"]
pub struct Execution {
    store: Store,
    chainer: Chainer,
    entry: Arc<Entry>,
    key: Option<String>,
    started: Instant,
    /// Whether the caller ever got hold of it. Before that, nothing can have been called.
    delivered: bool,
    ending: Option<Ending>,
    finished: bool,
}

impl Execution {
    /// The request this belongs to.
    pub fn request_id(&self) -> &str {
        &self.entry.request_id
    }

    /// Appends the one audit record and settles the key, durably.
    ///
    /// When the store cannot be written, the ending is kept in memory and written by the next
    /// [`Store::recover`]; cancelling this future loses nothing either.
    pub async fn finish(mut self, ending: Ending) -> Result<(), StoreError> {
        self.ending = Some(ending.clone());
        let unit = self.finish_unit(ending);
        let store = self.store.clone();
        let place = store.inner.writer.reserve().await?;
        self.finished = true;
        let progress_store = store.clone();
        place
            .submit_with(unit, move |unit, result| {
                progress_store.inner.progress.after_finish(unit, result)
            })
            .await
    }

    /// Whether others may ask for the answer of this execution by its key.
    pub fn is_keyed(&self) -> bool {
        self.key.is_some()
    }

    /// As [`Self::finish`], without waiting for the disk: records of the same moment share a commit.
    /// A crash before that leaves the entry, and the outcome `unknown`.
    pub fn finish_soon(mut self, ending: Ending) {
        let unit = self.finish_unit(ending);
        self.finished = true;
        let store = self.store.clone();
        self.store
            .inner
            .writer
            .set_aside(unit, move |unit, result| {
                store.inner.progress.after_finish(unit, result)
            });
    }

    /// The ending of an execution that nobody ended.
    fn cut_off(&self) -> Ending {
        let (outcome, key) = if self.delivered {
            (Outcome::Unknown, KeyFate::Unknown)
        } else {
            (Outcome::Cancelled, KeyFate::Forget)
        };
        Ending {
            outcome,
            error_code: None,
            duration_us: i64::try_from(self.started.elapsed().as_micros()).ok(),
            response_bytes: None,
            key,
            remark: None,
        }
    }

    fn finish_unit(&self, ending: Ending) -> Finish {
        Finish {
            chainer: self.chainer.clone(),
            entry: Arc::clone(&self.entry),
            key: self.key.clone(),
            ending: Arc::new(ending),
        }
    }
}

impl Drop for Execution {
    fn drop(&mut self) {
        if self.finished {
            return;
        }
        let ending = self.ending.take().unwrap_or_else(|| self.cut_off());
        let unit = self.finish_unit(ending);
        let store = self.store.clone();
        let posted = self
            .store
            .inner
            .writer
            .post(unit.clone(), move |unit, result| {
                store.inner.progress.after_finish(unit, result)
            });
        if !posted {
            self.store.inner.progress.keep_unsettled(unit);
        }
    }
}

impl std::fmt::Debug for Execution {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Execution")
            .field("request_id", &self.entry.request_id)
            .finish_non_exhaustive()
    }
}

impl Store {
    /// What a key gives that somebody has already, without claiming it; `None` where it is free. Never
    /// [`Begin::Fresh`]: nothing may be called for it.
    pub async fn held_key(&self, entry: Entry, key: &str) -> Result<Option<Begin>, StoreError> {
        let entry = entry.bounded();
        let key = idempotency::checked_key(key)?;
        let unit = Open {
            chainer: self.chainer(entry.timestamp_ms).await?.clone(),
            entry: Arc::new(entry),
            key: Some(key.clone()),
            judged_at: None,
            tokens: Tokens::default(),
        };
        let held = idempotency::holder(self, &unit.claim(&key)).await?;
        Ok(held.map(|claimed| unit.answer(self, claimed)))
    }

    /// Journals an execution and claims its idempotency key, both or neither, durably.
    ///
    /// Only [`Begin::Fresh`] may call the upstream. The key is bound to the entry's caller, tool and
    /// parameter hash.
    pub async fn begin_execution(
        &self,
        entry: Entry,
        key: Option<&str>,
    ) -> Result<Begin, StoreError> {
        self.begin(entry, key, None, Tokens::default()).await
    }

    /// As [`Self::begin_execution`], for an execution that was judged by the approvals as they were at `mark`: where
    /// they are others by now, nothing is journalled and the answer is [`Begin::Outdated`]. A fresh execution is
    /// taken from the shared buckets, all of them; where one is empty, the answer is [`Begin::Limited`].
    pub async fn begin_judged_execution(
        &self,
        entry: Entry,
        key: Option<&str>,
        mark: Mark,
        tokens: Tokens,
    ) -> Result<Begin, StoreError> {
        self.begin(entry, key, Some(mark), tokens).await
    }

    async fn begin(
        &self,
        entry: Entry,
        key: Option<&str>,
        judged_at: Option<Mark>,
        tokens: Tokens,
    ) -> Result<Begin, StoreError> {
        let entry = entry.bounded();
        let key = key.map(idempotency::checked_key).transpose()?;
        let chainer = self.chainer(entry.timestamp_ms).await?.clone();
        let request_id = entry.request_id.clone();
        let unit = Open {
            entry: Arc::new(entry),
            chainer,
            key,
            judged_at,
            tokens,
        };
        let store = self.clone();
        // Known as running before the entry can be seen, so that recovery leaves it alone.
        self.inner.progress.enter(&request_id);
        let submitted = self
            .inner
            .writer
            .try_submit_with(unit, move |unit, result| {
                if !matches!(result, Ok(Claimed::Fresh)) {
                    store.inner.progress.leave(&unit.entry.request_id);
                }
                result.map(|claimed| unit.answer(&store, claimed))
            });
        let begin = match submitted.await {
            Ok(begin) => begin,
            Err(error) => {
                self.inner.progress.leave(&request_id);
                return Err(error);
            }
        };
        Ok(match begin {
            Begin::Fresh(mut execution) => {
                execution.delivered = true;
                Begin::Fresh(execution)
            }
            other => other,
        })
    }
}

/// Claims the key and writes the entry.
struct Open {
    entry: Arc<Entry>,
    chainer: Chainer,
    key: Option<String>,
    judged_at: Option<Mark>,
    tokens: Tokens,
}

impl Open {
    fn claim<'a>(&'a self, key: &'a str) -> Claim<'a> {
        Claim {
            principal: &self.entry.actor_id,
            key,
            tool_id: &self.entry.tool_id,
            params_hash: &self.entry.params_hash,
            request_id: &self.entry.request_id,
            writer: self.chainer.ordinal,
            now_ms: self.entry.timestamp_ms,
        }
    }

    fn answer(&self, store: &Store, claimed: Claimed) -> Begin {
        match claimed {
            Claimed::Fresh => Begin::Fresh(Execution {
                store: store.clone(),
                chainer: self.chainer.clone(),
                entry: Arc::clone(&self.entry),
                key: self.key.clone(),
                started: Instant::now(),
                delivered: false,
                ending: None,
                finished: false,
            }),
            Claimed::Replay(earlier, answer) => Begin::Replay { earlier, answer },
            Claimed::Conflict(earlier) => Begin::Conflict(earlier),
            Claimed::Outdated => Begin::Outdated,
            Claimed::Limited(wait_ms) => Begin::Limited(wait_ms),
            Claimed::Unknown(earlier) => Begin::Unknown(earlier),
            Claimed::InProgress(earlier) => Begin::InProgress(Waiting::new(
                store.clone(),
                self.entry.actor_id.clone(),
                self.key.clone().unwrap_or_default(),
                earlier,
            )),
        }
    }
}

impl Unit for Open {
    type Output = Claimed;

    async fn run(&self, session: &mut dyn Session) -> Result<Claimed, StoreError> {
        if let Some(mark) = self.judged_at
            && Mark::of(session).await? != mark
        {
            return Ok(Claimed::Outdated);
        }
        if let Some(key) = &self.key {
            let claimed = idempotency::claim(session, &self.claim(key)).await?;
            if !matches!(claimed, Claimed::Fresh) {
                return Ok(claimed);
            }
        }
        let entry = &*self.entry;
        if !self.tokens.buckets.is_empty()
            && let Err(wait_ms) = self.tokens.run(session).await?
        {
            if self.key.is_some() {
                idempotency::settle(session, &entry.request_id, &KeyFate::Forget).await?;
            }
            return Ok(Claimed::Limited(wait_ms));
        }
        session
            .execute(
                "INSERT INTO journal (request_id, writer, timestamp_ms, actor_id, tool_id, \
                 params_hash, parameters, reason, upstream, request_bytes, trace_id) \
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
                args![
                    &entry.request_id,
                    self.chainer.ordinal,
                    entry.timestamp_ms,
                    &entry.actor_id,
                    &entry.tool_id,
                    &entry.params_hash,
                    &entry.parameters,
                    &entry.reason,
                    &entry.upstream,
                    entry.request_bytes,
                    &entry.trace_id,
                ],
            )
            .await?;
        Ok(Claimed::Fresh)
    }
}

/// Takes the entry out, appends the record and settles the key.
#[derive(Clone)]
pub(crate) struct Finish {
    chainer: Chainer,
    entry: Arc<Entry>,
    key: Option<String>,
    ending: Arc<Ending>,
}

impl Finish {
    pub(crate) fn request_id(&self) -> &str {
        &self.entry.request_id
    }

    /// The key that others may be waiting for.
    pub(crate) fn waited_for(&self) -> Option<(&str, &str)> {
        Some((&self.entry.actor_id, self.key.as_deref()?))
    }
}

impl Unit for Finish {
    type Output = ();

    async fn run(&self, session: &mut dyn Session) -> Result<(), StoreError> {
        let open = session
            .execute(
                "DELETE FROM journal WHERE request_id = $1",
                args![self.request_id()],
            )
            .await?;
        // Without an entry the record has been written already: by this unit before its commit was
        // acknowledged, or by a recovery. The answer is still worth keeping.
        if open > 0 {
            let record = self.entry.record(&self.ending);
            append(session, &self.chainer, &record).await?;
        }
        if self.key.is_some() {
            idempotency::settle(session, self.request_id(), &self.ending.key).await?;
        }
        Ok(())
    }
}
