//! What callers ran after which searches, one row for each caller.
//!
//! What a row means, how it fades and how much of it is kept is [`Learned`]'s concern. It holds numbers
//! that stand for words, not what was written.

use toolcrib_core::ToolId;
use toolcrib_core::limits::{LEARNED_PRINCIPALS_MAX, STORE_BATCH_ROWS_MAX};
use toolcrib_core::search::Learned;

use crate::StoreError;
use crate::backend::{Session, args};
use crate::store::Store;
use crate::text;
use crate::writer::Unit;

impl Store {
    /// What a caller did after which searches; empty where nothing was learned.
    pub async fn learned(&self, principal: &str) -> Result<Learned, StoreError> {
        let rows = self
            .query(
                "SELECT habits FROM learned WHERE principal = $1",
                args![text::name(principal)],
            )
            .await?;
        match rows.first() {
            Some(row) => Ok(read(&row.text(0)?)),
            None => Ok(Learned::default()),
        }
    }

    /// Notes that a caller ran a tool after a search.
    pub async fn learn(
        &self,
        principal: &str,
        query: &str,
        tool: &ToolId,
        now_ms: i64,
    ) -> Result<(), StoreError> {
        let unit = Learn {
            principal: text::name(principal),
            query: query.to_owned(),
            tool: tool.clone(),
            now_ms,
        };
        self.inner.writer.submit(unit).await
    }

    /// Forgets everything that was learned and says of how many callers.
    pub async fn forget_learned(&self) -> Result<u64, StoreError> {
        self.execute("DELETE FROM learned", args![]).await
    }
}

/// A row that cannot be read teaches nothing.
fn read(habits: &str) -> Learned {
    serde_json::from_str(habits).unwrap_or_default()
}

struct Learn {
    principal: String,
    query: String,
    tool: ToolId,
    now_ms: i64,
}

impl Unit for Learn {
    type Output = ();

    async fn run(&self, session: &mut dyn Session) -> Result<(), StoreError> {
        let rows = session
            .query(
                "SELECT habits FROM learned WHERE principal = $1",
                args![&self.principal],
            )
            .await?;
        let mut learned = match rows.first() {
            Some(row) => read(&row.text(0)?),
            None => Learned::default(),
        };
        let now_s = u64::try_from(self.now_ms / 1_000).unwrap_or(0);
        learned.record(&self.principal, &self.query, &self.tool, now_s);
        let habits = serde_json::to_string(&learned)
            .map_err(|error| StoreError::failed(error.to_string()))?;
        session
            .execute(
                "INSERT INTO learned (principal, habits, updated_ms) VALUES ($1, $2, $3) \
                 ON CONFLICT (principal) DO UPDATE SET habits = excluded.habits, \
                 updated_ms = excluded.updated_ms",
                args![&self.principal, habits, self.now_ms],
            )
            .await?;
        let most = i64::try_from(LEARNED_PRINCIPALS_MAX).unwrap_or(i64::MAX);
        session
            .execute(
                "DELETE FROM learned WHERE principal IN (SELECT principal FROM learned \
                 ORDER BY updated_ms DESC, principal LIMIT $1 OFFSET $2)",
                args![STORE_BATCH_ROWS_MAX, most],
            )
            .await?;
        Ok(())
    }
}
