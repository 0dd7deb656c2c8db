//! The same key gives the same answer, and no key has a second effect.
//!
//! A key belongs to a caller and is bound to a tool and a hash of the parameters. It is claimed in the
//! transaction that journals the execution and settled in the one that records it, so that after a
//! crash it is known that nothing is known.

use std::time::Duration;

use tokio::time::Instant;
use toolcrib_core::limits::{
    IDEMPOTENCY_ANSWER_BYTES_MAX, IDEMPOTENCY_KEPT_MS, IDEMPOTENCY_KEY_BYTES_MAX,
    IDEMPOTENCY_POLL_MS,
};

use crate::StoreError;
use crate::backend::{Row, Session, args};
use crate::journal::Execution;
use crate::store::Store;
use crate::text;
use crate::word::words;

words! {
    /// What is known about a key.
    KeyState {
        /// Its execution has begun and not ended.
        Running = "running",
        /// Its execution ended with an answer.
        Done = "done",
        /// Its execution was cut off; whether it took effect is not known.
        Unknown = "unknown",
    }
}

/// The execution that holds a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Earlier {
    /// Its request, to look up in the audit log.
    pub request_id: String,
    /// The tool it was for.
    pub tool_id: String,
    /// When it began.
    pub started_ms: i64,
    /// The process it ran in.
    pub(crate) writer: i64,
}

/// What becomes of a key when its execution ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyFate {
    /// The answer is kept and given again.
    Answer(String),
    /// Nothing happened upstream: the key is free again.
    Forget,
    /// Whether it took effect is not known: the key is never run again.
    Unknown,
}

/// How an execution may begin.
#[derive(Debug)]
pub enum Begin {
    /// It is journalled and may call its upstream.
    Fresh(Execution),
    /// The key has its answer; `None` when the answer was too large to keep.
    Replay {
        /// The execution that got the answer.
        earlier: Earlier,
        /// The answer as it was recorded.
        answer: Option<String>,
    },
    /// The key was used for another tool or other parameters.
    Conflict(Earlier),
    /// The key's execution is still running.
    InProgress(Waiting),
    /// The key's execution was cut off; whether it took effect is not known.
    Unknown(Earlier),
    /// Approvals were settled since the execution was judged; nothing was journalled.
    Outdated,
    /// A bucket is empty for so many milliseconds; nothing was journalled or taken.
    Limited(u64),
}

/// A wait for the execution that holds a key.
#[derive(Debug)]
pub struct Waiting {
    store: Store,
    principal: String,
    key: String,
    earlier: Earlier,
}

impl Waiting {
    pub(crate) fn new(store: Store, principal: String, key: String, earlier: Earlier) -> Self {
        Self {
            store,
            principal,
            key,
            earlier,
        }
    }

    /// The execution that is waited for.
    pub fn earlier(&self) -> &Earlier {
        &self.earlier
    }

    /// Waits until the execution has ended or its process is gone; then begin again. `false` when
    /// it still runs after `patience`.
    pub async fn settled(&self, patience: Duration, now_ms: i64) -> Result<bool, StoreError> {
        let deadline = Instant::now() + patience;
        let poll = Duration::from_millis(IDEMPOTENCY_POLL_MS);
        let progress = &self.store.inner.progress;
        loop {
            let bell = progress.bell(&self.principal, &self.key);
            let rung = bell.notify().notified();
            tokio::pin!(rung);
            // Listening starts before looking, so that an end in between is not missed.
            rung.as_mut().enable();
            if !self.is_running().await? {
                return Ok(true);
            }
            if self.is_orphaned().await? {
                self.store.recover(now_ms).await?;
                self.give_up().await?;
                continue;
            }
            let now = Instant::now();
            if now >= deadline {
                return Ok(false);
            }
            let pause = poll.min(deadline - now);
            let _ = tokio::time::timeout(pause, rung).await;
        }
    }

    async fn is_running(&self) -> Result<bool, StoreError> {
        let rows = self
            .store
            .query(
                "SELECT state FROM idempotency \
                 WHERE principal = $1 AND idempotency_key = $2 AND request_id = $3",
                args![&self.principal, &self.key, &self.earlier.request_id],
            )
            .await?;
        match rows.first() {
            Some(row) => Ok(row.text(0)? == KeyState::Running.as_str()),
            None => Ok(false),
        }
    }

    /// Nobody will ever end this execution, so the key says that nothing is known.
    async fn give_up(&self) -> Result<(), StoreError> {
        self.store
            .execute(
                "UPDATE idempotency SET state = 'unknown' WHERE request_id = $1 AND state = 'running'",
                args![&self.earlier.request_id],
            )
            .await
            .map(drop)
    }

    /// Whether nobody is left who could end the execution.
    async fn is_orphaned(&self) -> Result<bool, StoreError> {
        let rows = self
            .store
            .query(
                "SELECT writer_id FROM audit_writer WHERE ordinal = $1",
                args![self.earlier.writer],
            )
            .await?;
        match rows.first() {
            Some(row) => Ok(!self.store.inner.backend.is_alive(&row.text(0)?).await?),
            None => Ok(true),
        }
    }
}

/// A key that fits.
pub(crate) fn checked_key(key: &str) -> Result<String, StoreError> {
    if key.len() > IDEMPOTENCY_KEY_BYTES_MAX {
        return Err(StoreError::TooLong {
            what: "The idempotency key",
            max: format!("{IDEMPOTENCY_KEY_BYTES_MAX} bytes"),
        });
    }
    Ok(text::without_nul(key).into_owned())
}

/// A request to run under a key.
pub(crate) struct Claim<'a> {
    pub(crate) principal: &'a str,
    pub(crate) key: &'a str,
    pub(crate) tool_id: &'a str,
    pub(crate) params_hash: &'a str,
    pub(crate) request_id: &'a str,
    pub(crate) writer: i64,
    pub(crate) now_ms: i64,
}

/// What became of a claim.
pub(crate) enum Claimed {
    Fresh,
    Replay(Earlier, Option<String>),
    Conflict(Earlier),
    InProgress(Earlier),
    Unknown(Earlier),
    Outdated,
    Limited(u64),
}

/// Takes a key that is free or forgotten, or says who has it.
pub(crate) async fn claim(
    session: &mut dyn Session,
    claim: &Claim<'_>,
) -> Result<Claimed, StoreError> {
    let taken = session
        .execute(
            "INSERT INTO idempotency (principal, idempotency_key, tool_id, params_hash, request_id, \
             writer, state, answer, started_ms, expires_ms) \
             VALUES ($1, $2, $3, $4, $5, $6, 'running', NULL, $7, $8) \
             ON CONFLICT (principal, idempotency_key) DO UPDATE SET tool_id = excluded.tool_id, \
             params_hash = excluded.params_hash, request_id = excluded.request_id, \
             writer = excluded.writer, state = excluded.state, answer = NULL, \
             started_ms = excluded.started_ms, expires_ms = excluded.expires_ms \
             WHERE idempotency.expires_ms <= excluded.started_ms AND idempotency.state <> 'running'",
            args![
                claim.principal,
                claim.key,
                claim.tool_id,
                claim.params_hash,
                claim.request_id,
                claim.writer,
                claim.now_ms,
                claim.now_ms.saturating_add(IDEMPOTENCY_KEPT_MS),
            ],
        )
        .await?;
    if taken > 0 {
        return Ok(Claimed::Fresh);
    }
    let rows = session
        .query(HOLDER, args![claim.principal, claim.key])
        .await?;
    let row = rows
        .first()
        .ok_or_else(|| StoreError::failed("an idempotency key was neither free nor taken"))?;
    taken_by(row, claim)
}

/// Who has a key, if it is not free at the time of the claim; takes nothing.
pub(crate) async fn holder(
    store: &Store,
    claim: &Claim<'_>,
) -> Result<Option<Claimed>, StoreError> {
    let args = args![claim.principal, claim.key];
    let rows = store.query(HOLDER, args).await?;
    let Some(row) = rows.first() else {
        return Ok(None);
    };
    let over = row.int(7)? <= claim.now_ms && row.text(4)? != KeyState::Running.as_str();
    if over {
        return Ok(None);
    }
    taken_by(row, claim).map(Some)
}

/// The columns that [`taken_by`] reads.
const HOLDER: &str = "SELECT tool_id, params_hash, request_id, writer, state, answer, started_ms, expires_ms \
     FROM idempotency WHERE principal = $1 AND idempotency_key = $2";

/// What a key that is taken means for a claim.
fn taken_by(row: &Row, claim: &Claim<'_>) -> Result<Claimed, StoreError> {
    let earlier = Earlier {
        request_id: row.text(2)?,
        tool_id: row.text(0)?,
        started_ms: row.int(6)?,
        writer: row.int(3)?,
    };
    if earlier.tool_id != claim.tool_id || row.text(1)? != claim.params_hash {
        return Ok(Claimed::Conflict(earlier));
    }
    match KeyState::parse(&row.text(4)?) {
        Some(KeyState::Running) => Ok(Claimed::InProgress(earlier)),
        Some(KeyState::Done) => Ok(Claimed::Replay(earlier, row.text_opt(5)?)),
        // A word that is not known must never lead to a second effect.
        Some(KeyState::Unknown) | None => Ok(Claimed::Unknown(earlier)),
    }
}

/// Settles the key that a request holds, if it holds one. An answer that is recorded stays.
pub(crate) async fn settle(
    session: &mut dyn Session,
    request_id: &str,
    fate: &KeyFate,
) -> Result<(), StoreError> {
    match fate {
        KeyFate::Answer(answer) => {
            let kept = (answer.len() <= IDEMPOTENCY_ANSWER_BYTES_MAX)
                .then(|| text::without_nul(answer).into_owned());
            session
                .execute(
                    "UPDATE idempotency SET state = 'done', answer = $2 \
                     WHERE request_id = $1 AND state <> 'done'",
                    args![request_id, kept],
                )
                .await?;
        }
        KeyFate::Forget => {
            session
                .execute(
                    "DELETE FROM idempotency WHERE request_id = $1 AND state = 'running'",
                    args![request_id],
                )
                .await?;
        }
        KeyFate::Unknown => {
            session
                .execute(
                    "UPDATE idempotency SET state = 'unknown' \
                     WHERE request_id = $1 AND state = 'running'",
                    args![request_id],
                )
                .await?;
        }
    }
    Ok(())
}
