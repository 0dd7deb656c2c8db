//! Keeping the audit log within bounds of age and size.
//!
//! Only a prefix of a chain is ever removed, and the hash of its last record stays behind as a
//! checkpoint, so that what remains can still be verified.

use std::collections::BTreeMap;

use toolcrib_core::limits::STORE_BATCH_ROWS_MAX;

use crate::StoreError;
use crate::backend::{Session, args};
use crate::store::Store;
use crate::writer::Unit;

/// How much of the audit log is kept; what is absent does not restrict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// Records older than this are removed.
    pub age_ms_max: Option<i64>,
    /// The oldest records are removed until the rest is no larger than this.
    pub size_bytes_max: Option<i64>,
}

/// The condition that a writer has nothing left, in the log or in the journal.
macro_rules! is_empty {
    ($writer:literal) => {
        concat!(
            "(",
            $writer,
            ".base_seq = ",
            $writer,
            ".head_seq AND NOT EXISTS (SELECT 1 FROM journal j WHERE j.writer = ",
            $writer,
            ".ordinal))"
        )
    };
}

impl Store {
    /// Removes what the bounds no longer allow and says how many records that were.
    pub async fn audit_retain(&self, keep: Retention, now_ms: i64) -> Result<u64, StoreError> {
        let mut removed = 0;
        if let Some(age) = keep.age_ms_max {
            removed += self.remove_before(now_ms.saturating_sub(age)).await?;
        }
        if let Some(size) = keep.size_bytes_max {
            removed += self.remove_beyond(size).await?;
        }
        self.forget_writers().await?;
        Ok(removed)
    }

    /// Forgets the oldest writers once they are dead and have nothing left.
    async fn forget_writers(&self) -> Result<(), StoreError> {
        // The newest always stays, because the next writer's genesis follows on it.
        let rows = self
            .query(
                concat!(
                    "SELECT w.ordinal, w.writer_id, CASE WHEN ",
                    is_empty!("w"),
                    " THEN 1 ELSE 0 END FROM audit_writer w \
                     WHERE w.ordinal < (SELECT MAX(ordinal) FROM audit_writer) \
                     ORDER BY w.ordinal LIMIT $1"
                ),
                args![STORE_BATCH_ROWS_MAX],
            )
            .await?;
        let mut up_to = None;
        for row in rows {
            if row.int(2)? == 0 || self.inner.backend.is_alive(&row.text(1)?).await? {
                break;
            }
            up_to = Some(row.int(0)?);
        }
        match up_to {
            Some(up_to) => self.inner.writer.submit(ForgetWriters { up_to }).await,
            None => Ok(()),
        }
    }

    /// Removes from each chain the records up to the first that is not older than `cutoff_ms`.
    async fn remove_before(&self, cutoff_ms: i64) -> Result<u64, StoreError> {
        let writers = self
            .query(
                "SELECT ordinal FROM audit_writer WHERE base_seq < head_seq ORDER BY ordinal",
                args![],
            )
            .await?;
        let mut removed = 0;
        for row in writers {
            let ordinal = row.int(0)?;
            loop {
                let unit = RemovePrefix { ordinal, cutoff_ms };
                match self.inner.writer.submit(unit).await? {
                    0 => break,
                    count => removed += count,
                }
            }
        }
        Ok(removed)
    }

    /// Removes the oldest records until the rest fits.
    async fn remove_beyond(&self, size_bytes_max: i64) -> Result<u64, StoreError> {
        let mut removed = 0;
        loop {
            let rows = self
                .query(
                    "SELECT CAST(COALESCE(SUM(kept_bytes), 0) AS BIGINT) FROM audit_writer",
                    args![],
                )
                .await?;
            let excess = match rows.first() {
                Some(row) => row.int(0)? - size_bytes_max,
                None => 0,
            };
            if excess <= 0 {
                return Ok(removed);
            }
            match self.inner.writer.submit(RemoveOldest { excess }).await? {
                0 => return Ok(removed),
                count => removed += count,
            }
        }
    }
}

/// Removes one batch of the records of a chain that are older than a time.
struct RemovePrefix {
    ordinal: i64,
    cutoff_ms: i64,
}

impl Unit for RemovePrefix {
    type Output = u64;

    async fn run(&self, session: &mut dyn Session) -> Result<u64, StoreError> {
        let rows = session
            .query(
                "SELECT seq, timestamp_ms FROM audit WHERE writer = $1 ORDER BY seq LIMIT $2",
                args![self.ordinal, STORE_BATCH_ROWS_MAX],
            )
            .await?;
        let mut last = None;
        for row in &rows {
            if row.int(1)? >= self.cutoff_ms {
                break;
            }
            last = Some(row.int(0)?);
        }
        match last {
            Some(seq) => remove_prefix(session, self.ordinal, seq).await,
            None => Ok(0),
        }
    }
}

/// Removes one batch of the oldest records, until `excess` bytes are gone.
struct RemoveOldest {
    excess: i64,
}

impl Unit for RemoveOldest {
    type Output = u64;

    async fn run(&self, session: &mut dyn Session) -> Result<u64, StoreError> {
        let rows = session
            .query(
                "SELECT writer, seq, bytes FROM audit ORDER BY timestamp_ms, writer, seq LIMIT $1",
                args![STORE_BATCH_ROWS_MAX],
            )
            .await?;
        // A long execution is recorded after younger ones that were shorter; they go with it, because
        // a chain only loses a prefix.
        let mut ends = BTreeMap::<i64, i64>::new();
        let mut freed = 0;
        for row in &rows {
            if freed >= self.excess {
                break;
            }
            let (writer, seq) = (row.int(0)?, row.int(1)?);
            let end = ends.entry(writer).or_insert(seq);
            *end = seq.max(*end);
            freed += row.int(2)?;
        }
        let mut removed = 0;
        for (writer, seq) in ends {
            removed += remove_prefix(session, writer, seq).await?;
        }
        Ok(removed)
    }
}

/// Replaces a chain's records up to `seq` by a checkpoint; gives their number.
async fn remove_prefix(
    session: &mut dyn Session,
    ordinal: i64,
    seq: i64,
) -> Result<u64, StoreError> {
    let rows = session
        .query(
            "SELECT a.hash, (SELECT CAST(SUM(b.bytes) AS BIGINT) FROM audit b \
             WHERE b.writer = $1 AND b.seq <= $2) FROM audit a WHERE a.writer = $1 AND a.seq = $2",
            args![ordinal, seq],
        )
        .await?;
    let Some(row) = rows.first() else {
        return Ok(0);
    };
    let (hash, bytes) = (row.text(0)?, row.int(1)?);
    session
        .execute(
            "UPDATE audit_writer SET base_seq = $2, base_hash = $3, kept_bytes = kept_bytes - $4 \
             WHERE ordinal = $1",
            args![ordinal, seq, hash, bytes],
        )
        .await?;
    session
        .execute(
            "DELETE FROM audit WHERE writer = $1 AND seq <= $2",
            args![ordinal, seq],
        )
        .await
}

/// Forgets the writers up to one, unless something of theirs is left in the log or the journal.
struct ForgetWriters {
    up_to: i64,
}

impl Unit for ForgetWriters {
    type Output = ();

    async fn run(&self, session: &mut dyn Session) -> Result<(), StoreError> {
        let rows = session
            .query(
                concat!(
                    "SELECT genesis FROM audit_writer WHERE ordinal = $1 AND NOT EXISTS \
                     (SELECT 1 FROM audit_writer w WHERE w.ordinal <= $1 AND NOT ",
                    is_empty!("w"),
                    ")"
                ),
                args![self.up_to],
            )
            .await?;
        let Some(row) = rows.first() else {
            return Ok(());
        };
        session
            .execute(
                "INSERT INTO audit_origin (id, ordinal, genesis) VALUES (1, $1, $2) \
                 ON CONFLICT (id) DO UPDATE SET ordinal = excluded.ordinal, genesis = excluded.genesis",
                args![self.up_to, row.text(0)?],
            )
            .await?;
        session
            .execute(
                "DELETE FROM audit_writer WHERE ordinal <= $1",
                args![self.up_to],
            )
            .await?;
        Ok(())
    }
}
