//! Large results, kept for a while so that the rest can be read without calling the tool again.

use toolcrib_core::limits::{RESULT_BYTES_MAX, RESULTS_PER_PRINCIPAL_MAX};

use crate::StoreError;
use crate::backend::{Session, args};
use crate::store::Store;
use crate::text;
use crate::writer::Unit;

/// A result as it was stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredResult {
    /// The tool that gave it.
    pub tool_id: String,
    /// The result, whole.
    pub content: String,
    /// Until when it is kept.
    pub expires_ms: i64,
}

impl Store {
    /// Keeps a result for `kept_ms` under a handle that the caller drew at random. The oldest results of
    /// the same principal give way when there are too many.
    pub async fn keep_result(
        &self,
        handle: &str,
        principal: &str,
        tool_id: &str,
        content: &str,
        now_ms: i64,
        kept_ms: i64,
    ) -> Result<(), StoreError> {
        if content.len() > RESULT_BYTES_MAX {
            return Err(StoreError::TooLong {
                what: "A result",
                max: format!("{RESULT_BYTES_MAX} bytes"),
            });
        }
        let unit = Keep {
            handle: text::name(handle),
            principal: text::name(principal),
            tool_id: text::name(tool_id),
            content: text::without_nul(content).into_owned(),
            now_ms,
            expires_ms: now_ms.saturating_add(kept_ms),
        };
        self.inner.writer.submit(unit).await
    }

    /// The result behind a handle, for the principal it was kept for, until it expires.
    pub async fn kept_result(
        &self,
        handle: &str,
        principal: &str,
        now_ms: i64,
    ) -> Result<Option<StoredResult>, StoreError> {
        let rows = self
            .query(
                "SELECT tool_id, content, expires_ms FROM result_page \
                 WHERE handle = $1 AND principal = $2 AND expires_ms > $3",
                args![text::name(handle), text::name(principal), now_ms],
            )
            .await?;
        rows.first()
            .map(|row| {
                Ok(StoredResult {
                    tool_id: row.text(0)?,
                    content: row.text(1)?,
                    expires_ms: row.int(2)?,
                })
            })
            .transpose()
    }
}

struct Keep {
    handle: String,
    principal: String,
    tool_id: String,
    content: String,
    now_ms: i64,
    expires_ms: i64,
}

impl Unit for Keep {
    type Output = ();

    async fn run(&self, session: &mut dyn Session) -> Result<(), StoreError> {
        session
            .execute(
                "DELETE FROM result_page WHERE principal = $1 AND handle NOT IN \
                 (SELECT handle FROM result_page WHERE principal = $1 \
                 ORDER BY created_ms DESC LIMIT $2)",
                args![&self.principal, RESULTS_PER_PRINCIPAL_MAX - 1],
            )
            .await?;
        session
            .execute(
                "INSERT INTO result_page (handle, principal, tool_id, content, created_ms, expires_ms) \
                 VALUES ($1, $2, $3, $4, $5, $6)",
                args![
                    &self.handle,
                    &self.principal,
                    &self.tool_id,
                    &self.content,
                    self.now_ms,
                    self.expires_ms,
                ],
            )
            .await
            .map(drop)
    }
}
