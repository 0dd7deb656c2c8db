//! Reading the audit log: the last records, a search, pages for an export, and what is new.

use std::collections::BTreeMap;

use serde::Serialize;
use toolcrib_core::limits::AUDIT_PAGE_ROWS_MAX;

use super::{Decision, Outcome, RECORD_COLUMNS, Record, read, record_columns};
use crate::StoreError;
use crate::backend::{Row, Value, args};
use crate::store::Store;

/// A record with its place in the chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The process that wrote it.
    pub writer_id: String,
    /// Its number in that process's chain.
    pub seq: i64,
    /// Its hash.
    pub hash: String,
    /// What it says.
    pub record: Record,
    writer: i64,
}

impl Serialize for Entry {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::Error;
        // The line that was hashed, with the hash as its last member.
        let mut line: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(&self.record.line(&self.writer_id, self.seq))
                .map_err(S::Error::custom)?;
        line.insert("hash".to_owned(), self.hash.clone().into());
        line.serialize(serializer)
    }
}

/// Which records are wanted; what is absent does not restrict.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Not older than this.
    pub since_ms: Option<i64>,
    /// Older than this.
    pub until_ms: Option<i64>,
    /// Of this caller.
    pub actor_id: Option<String>,
    /// Of this tool, as `server:tool`.
    pub tool_id: Option<String>,
    /// Of any tool of this server.
    pub server: Option<String>,
    /// With this decision.
    pub decision: Option<Decision>,
    /// With this outcome.
    pub outcome: Option<Outcome>,
    /// With this error code.
    pub error_code: Option<String>,
    /// Of this request.
    pub request_id: Option<String>,
    /// Of this trace.
    pub trace_id: Option<String>,
    /// With these parameters.
    pub params_hash: Option<String>,
}

impl Filter {
    /// The arguments $1 to $11 of `filtered`.
    fn args(&self) -> Vec<Value> {
        args![
            self.since_ms,
            self.until_ms,
            &self.actor_id,
            &self.tool_id,
            self.server.as_ref().map(|server| format!("{server}:")),
            self.decision.map(Decision::as_str),
            self.outcome.map(Outcome::as_str),
            &self.error_code,
            &self.request_id,
            &self.trace_id,
            &self.params_hash,
        ]
    }
}

/// The part that every reading statement shares; $1 to $11 are the filter.
macro_rules! filtered {
    ($rest:literal) => {
        concat!(
            "SELECT ",
            record_columns!(),
            ", w.writer_id, a.writer, a.seq, a.hash \
             FROM audit a JOIN audit_writer w ON w.ordinal = a.writer \
             WHERE (a.timestamp_ms >= $1 OR $1 IS NULL) \
             AND (a.timestamp_ms < $2 OR $2 IS NULL) \
             AND (a.actor_id = $3 OR $3 IS NULL) \
             AND (a.tool_id = $4 OR $4 IS NULL) \
             AND (substr(a.tool_id, 1, length($5)) = $5 OR $5 IS NULL) \
             AND (a.decision = $6 OR $6 IS NULL) \
             AND (a.outcome = $7 OR $7 IS NULL) \
             AND (a.error_code = $8 OR $8 IS NULL) \
             AND (a.request_id = $9 OR $9 IS NULL) \
             AND (a.trace_id = $10 OR $10 IS NULL) \
             AND (a.params_hash = $11 OR $11 IS NULL) ",
            $rest
        )
    };
}

impl Store {
    /// The newest records that fit, oldest of them first; at most [`AUDIT_PAGE_ROWS_MAX`].
    pub async fn audit_tail(
        &self,
        filter: &Filter,
        count: usize,
    ) -> Result<Vec<Entry>, StoreError> {
        self.inner.writer.settled().await;
        let mut args = filter.args();
        args.push(rows_bound(count).into());
        let rows = self
            .query(
                filtered!("ORDER BY a.timestamp_ms DESC, a.writer DESC, a.seq DESC LIMIT $12"),
                args,
            )
            .await?;
        rows.iter().rev().map(read_entry).collect()
    }

    /// Everything that fits, oldest first, page by page.
    pub fn audit_pages(&self, filter: Filter) -> Pages {
        Pages {
            store: self.clone(),
            filter,
            after: Some((i64::MIN, 0, 0)),
        }
    }

    /// The place up to which the log is written now, to follow it from there.
    pub async fn audit_position(&self) -> Result<Position, StoreError> {
        self.inner.writer.settled().await;
        let rows = self
            .query("SELECT ordinal, head_seq FROM audit_writer", args![])
            .await?;
        let mut position = Position::default();
        for row in rows {
            position.0.insert(row.int(0)?, row.int(1)?);
        }
        Ok(position)
    }

    /// The records that were appended after a position, each exactly once, and moves it on.
    pub async fn audit_follow(
        &self,
        filter: &Filter,
        position: &mut Position,
    ) -> Result<Vec<Entry>, StoreError> {
        let now = self.audit_position().await?;
        let mut entries = Vec::new();
        for (&writer, &head) in &now.0 {
            let seen = position.0.get(&writer).copied().unwrap_or(0);
            let mut from = seen;
            while from < head {
                let mut args = filter.args();
                args.extend(args![writer, from, head, rows_bound(AUDIT_PAGE_ROWS_MAX)]);
                let rows = self
                    .query(
                        filtered!(
                            "AND a.writer = $12 AND a.seq > $13 AND a.seq <= $14 \
                             ORDER BY a.seq LIMIT $15"
                        ),
                        args,
                    )
                    .await?;
                let page: Vec<_> = rows.iter().map(read_entry).collect::<Result<_, _>>()?;
                from = match page.last() {
                    Some(last) if page.len() == AUDIT_PAGE_ROWS_MAX => last.seq,
                    _ => head,
                };
                entries.extend(page);
            }
        }
        entries.sort_by_key(|entry: &Entry| (entry.record.timestamp_ms, entry.writer, entry.seq));
        *position = now;
        Ok(entries)
    }
}

/// How far each writer's chain has been read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Position(BTreeMap<i64, i64>);

/// An export in the making. Records that are appended meanwhile may or may not be part of it.
#[derive(Debug)]
pub struct Pages {
    store: Store,
    filter: Filter,
    after: Option<(i64, i64, i64)>,
}

impl Pages {
    /// The next records, `None` after the last.
    pub async fn next(&mut self) -> Result<Option<Vec<Entry>>, StoreError> {
        let Some((timestamp_ms, writer, seq)) = self.after else {
            return Ok(None);
        };
        self.store.inner.writer.settled().await;
        let mut args = self.filter.args();
        args.extend(args![
            timestamp_ms,
            writer,
            seq,
            rows_bound(AUDIT_PAGE_ROWS_MAX)
        ]);
        let rows = self
            .store
            .query(
                filtered!(
                    "AND (a.timestamp_ms, a.writer, a.seq) > ($12, $13, $14) \
                     ORDER BY a.timestamp_ms, a.writer, a.seq LIMIT $15"
                ),
                args,
            )
            .await?;
        let page: Vec<Entry> = rows.iter().map(read_entry).collect::<Result<_, _>>()?;
        self.after = page
            .last()
            .filter(|_| page.len() == AUDIT_PAGE_ROWS_MAX)
            .map(|last| (last.record.timestamp_ms, last.writer, last.seq));
        Ok((!page.is_empty()).then_some(page))
    }
}

fn read_entry(row: &Row) -> Result<Entry, StoreError> {
    Ok(Entry {
        record: read(row)?,
        writer_id: row.text(RECORD_COLUMNS)?,
        writer: row.int(RECORD_COLUMNS + 1)?,
        seq: row.int(RECORD_COLUMNS + 2)?,
        hash: row.text(RECORD_COLUMNS + 3)?,
    })
}

fn rows_bound(count: usize) -> i64 {
    i64::try_from(count.min(AUDIT_PAGE_ROWS_MAX)).unwrap_or(i64::MAX)
}
