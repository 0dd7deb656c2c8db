//! What dead processes left in the journal gets its record.

use toolcrib_core::limits::STORE_BATCH_ROWS_MAX;

use super::{Ending, Entry};
use crate::StoreError;
use crate::audit::{Chainer, Outcome, append};
use crate::backend::{Row, Session, args};
use crate::idempotency::{self, KeyFate};
use crate::store::Store;
use crate::writer::Unit;

/// What a recovery found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Executions of dead processes, now recorded with the outcome `unknown`.
    pub unknown: u64,
    /// Endings of this process that could not be written before and now are.
    pub settled: u64,
}

impl Store {
    /// Records what is left open: endings that could not be written, and executions whose process
    /// died. Safe to call at any time and from any number of processes.
    pub async fn recover(&self, now_ms: i64) -> Result<Recovered, StoreError> {
        let mut recovered = Recovered {
            settled: self.settle_leftovers().await?,
            ..Recovered::default()
        };
        let owners = self
            .query(
                "SELECT ordinal, writer_id FROM audit_writer \
                 WHERE ordinal IN (SELECT writer FROM journal)",
                args![],
            )
            .await?;
        for row in owners {
            let (ordinal, writer_id) = (row.int(0)?, row.text(1)?);
            let own = self.chainer(now_ms).await?.clone();
            if own.ordinal != ordinal && self.inner.backend.is_alive(&writer_id).await? {
                continue;
            }
            recovered.unknown += self.recover_writer(own, ordinal).await?;
        }
        Ok(recovered)
    }

    async fn recover_writer(&self, own: Chainer, dead: i64) -> Result<u64, StoreError> {
        let mut total = 0;
        loop {
            let store = self.clone();
            let unit = Recover {
                own: own.clone(),
                dead,
                store,
            };
            let batch = self.inner.writer.submit(unit).await?;
            total += batch.closed;
            if !batch.more {
                return Ok(total);
            }
        }
    }

    /// Writes the endings that could not be written when they came; says how many.
    pub(crate) async fn settle_leftovers(&self) -> Result<u64, StoreError> {
        let mut settled = 0;
        let mut leftovers = self.inner.progress.take_unsettled();
        while !leftovers.is_empty() {
            let place = self.inner.writer.reserve().await?;
            let Some(unit) = leftovers.next() else { break };
            let store = self.clone();
            place
                .submit_with(unit, move |unit, result| {
                    store.inner.progress.after_finish(unit, result)
                })
                .await?;
            settled += 1;
        }
        Ok(settled)
    }
}

struct Recover {
    own: Chainer,
    dead: i64,
    store: Store,
}

struct Batch {
    closed: u64,
    more: bool,
}

impl Unit for Recover {
    type Output = Batch;

    async fn run(&self, session: &mut dyn Session) -> Result<Batch, StoreError> {
        let rows = session
            .query(
                "SELECT request_id, timestamp_ms, actor_id, tool_id, params_hash, parameters, \
                 reason, upstream, request_bytes, trace_id FROM journal WHERE writer = $1 \
                 ORDER BY timestamp_ms LIMIT $2",
                args![self.dead, STORE_BATCH_ROWS_MAX],
            )
            .await?;
        let full = i64::try_from(rows.len()) == Ok(STORE_BATCH_ROWS_MAX);
        let mut closed = 0;
        for row in &rows {
            let entry = read(row)?;
            // An entry of this process is left open only if nobody here works on it any more.
            if self.dead == self.own.ordinal
                && self.store.inner.progress.is_running(&entry.request_id)
            {
                continue;
            }
            self.close(session, &entry).await?;
            closed += 1;
        }
        Ok(Batch {
            closed,
            more: full && closed > 0,
        })
    }
}

impl Recover {
    async fn close(&self, session: &mut dyn Session, entry: &Entry) -> Result<(), StoreError> {
        session
            .execute(
                "DELETE FROM journal WHERE request_id = $1",
                args![&entry.request_id],
            )
            .await?;
        let ending = Ending {
            outcome: Outcome::Unknown,
            error_code: None,
            duration_us: None,
            response_bytes: None,
            key: KeyFate::Unknown,
            remark: None,
        };
        append(session, &self.own, &entry.record(&ending)).await?;
        idempotency::settle(session, &entry.request_id, &ending.key).await
    }
}

fn read(row: &Row) -> Result<Entry, StoreError> {
    Ok(Entry {
        request_id: row.text(0)?,
        timestamp_ms: row.int(1)?,
        actor_id: row.text(2)?,
        tool_id: row.text(3)?,
        params_hash: row.text(4)?,
        parameters: row.text_opt(5)?,
        reason: row.text(6)?,
        upstream: row.text_opt(7)?,
        request_bytes: row.int(8)?,
        trace_id: row.text_opt(9)?,
    })
}
