//! What must be done now and then: recover, forget what has expired, keep the log within bounds.

use toolcrib_core::limits::{APPROVAL_HISTORY_MS, STORE_BATCH_ROWS_MAX};

use crate::StoreError;
use crate::audit::retention::Retention;
use crate::backend::args;
use crate::journal::Recovered;
use crate::store::Store;

/// What one round of maintenance did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Maintained {
    /// Executions that got their record.
    pub recovered: Recovered,
    /// Keys, results and requests that had expired.
    pub purged: u64,
    /// Audit records that retention removed.
    pub removed: u64,
}

impl Store {
    /// One round of maintenance. Any process may run it at any time.
    pub async fn maintain(&self, keep: Retention, now_ms: i64) -> Result<Maintained, StoreError> {
        let recovered = self.recover(now_ms).await?;
        self.flush_counters().await?;
        Ok(Maintained {
            recovered,
            purged: self.purge(now_ms).await?,
            removed: self.audit_retain(keep, now_ms).await?,
        })
    }

    /// Forgets what has expired and says how much that was.
    pub async fn purge(&self, now_ms: i64) -> Result<u64, StoreError> {
        let mut purged = 0;
        let history_end = now_ms.saturating_sub(APPROVAL_HISTORY_MS);
        for (sql, time) in [
            (
                "DELETE FROM idempotency WHERE request_id IN (SELECT request_id FROM idempotency \
                 WHERE expires_ms <= $1 AND state <> 'running' LIMIT $2)",
                now_ms,
            ),
            (
                "DELETE FROM result_page WHERE handle IN (SELECT handle FROM result_page \
                 WHERE expires_ms <= $1 LIMIT $2)",
                now_ms,
            ),
            (
                "DELETE FROM rate_bucket WHERE name IN (SELECT name FROM rate_bucket \
                 WHERE full_ms <= $1 LIMIT $2)",
                now_ms,
            ),
            (
                "UPDATE approval SET state = 'expired' WHERE id IN (SELECT id FROM approval \
                 WHERE state = 'pending' AND expires_ms <= $1 LIMIT $2)",
                now_ms,
            ),
            // A tool that was turned down stays so, and what is known of an approved server is needed
            // as long as the server is; all other history has an end.
            (
                "DELETE FROM approval WHERE id IN (SELECT id FROM approval WHERE created_ms <= $1 \
                 AND state <> 'pending' AND (state <> 'rejected' OR kind = 'confirmation') \
                 AND NOT (kind = 'server' AND state = 'approved') LIMIT $2)",
                history_end,
            ),
        ] {
            loop {
                // In batches, so that nobody waits long behind it.
                let count = self.execute(sql, args![time, STORE_BATCH_ROWS_MAX]).await?;
                purged += count;
                if i64::try_from(count) != Ok(STORE_BATCH_ROWS_MAX) {
                    break;
                }
            }
        }
        Ok(purged)
    }
}
