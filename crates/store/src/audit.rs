//! The record that every execution leaves, refused ones included.

pub mod export;
pub mod query;
pub mod retention;
pub mod verify;

use serde::Serialize;
use toolcrib_core::limits::{AUDIT_PARAMETERS_BYTES_MAX, AUDIT_REASON_BYTES_MAX};

use crate::StoreError;
use crate::backend::{Row, Session, args};
use crate::word::words;
use crate::{chain, text};

words! {
    /// What policy said.
    Decision {
        /// The execution was permitted.
        Allowed = "allowed",
        /// The execution was refused; nothing was called.
        Refused = "refused",
    }
}

words! {
    /// How an execution ended.
    Outcome {
        /// The upstream answered.
        Ok = "ok",
        /// The upstream, or the way to it, failed.
        Error = "error",
        /// No answer came within the deadline.
        Timeout = "timeout",
        /// The caller withdrew.
        Cancelled = "cancelled",
        /// Policy refused; nothing was called.
        Refused = "refused",
        /// The recorded answer of an idempotency key was given again; nothing was called.
        Replayed = "replayed",
        /// Every check ran and nothing was called.
        DryRun = "dry_run",
        /// The process ended before the outcome was recorded.
        Unknown = "unknown",
    }
}

/// One execution, as the audit log keeps it.
///
/// Text is bounded when it is stored: names by a hash of the rest, reasons and parameters by
/// leaving out. Parameters are present only where configured, with secrets masked by the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Names the request: a `UUIDv7`.
    pub request_id: String,
    /// When the request came in.
    pub timestamp_ms: i64,
    /// Who asked.
    pub actor_id: String,
    /// Which tool was asked for, as `server:tool`.
    pub tool_id: String,
    /// Canonical hash of the parameters.
    pub params_hash: String,
    /// The parameters as masked JSON text, where configured.
    pub parameters: Option<String>,
    /// What policy said.
    pub decision: Decision,
    /// Why, in the words of policy.
    pub reason: String,
    /// How it ended.
    pub outcome: Outcome,
    /// The code that the caller got, where it was an error.
    pub error_code: Option<String>,
    /// How long it took, where that is known.
    pub duration_us: Option<i64>,
    /// The server that was called.
    pub upstream: Option<String>,
    /// Size of the arguments.
    pub request_bytes: i64,
    /// Size of the answer, where there was one.
    pub response_bytes: Option<i64>,
    /// The trace this belongs to.
    pub trace_id: Option<String>,
}

/// The exported names and their order. The chain is computed over this.
#[derive(Serialize)]
struct Line<'a> {
    writer: &'a str,
    seq: i64,
    request_id: &'a str,
    timestamp: String,
    actor_id: &'a str,
    tool_id: &'a str,
    params_hash: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<&'a str>,
    decision: Decision,
    reason: &'a str,
    outcome: Outcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_code: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_us: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upstream: Option<&'a str>,
    request_bytes: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_bytes: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace_id: Option<&'a str>,
}

impl Record {
    /// The record as one line of JSON, with its place in the chain.
    pub(crate) fn line(&self, writer_id: &str, seq: i64) -> String {
        let line = Line {
            writer: writer_id,
            seq,
            request_id: &self.request_id,
            timestamp: timestamp(self.timestamp_ms),
            actor_id: &self.actor_id,
            tool_id: &self.tool_id,
            params_hash: &self.params_hash,
            parameters: self.parameters.as_deref(),
            decision: self.decision,
            reason: &self.reason,
            outcome: self.outcome,
            error_code: self.error_code.as_deref(),
            duration_us: self.duration_us,
            upstream: self.upstream.as_deref(),
            request_bytes: self.request_bytes,
            response_bytes: self.response_bytes,
            trace_id: self.trace_id.as_deref(),
        };
        serde_json::to_string(&line).unwrap_or_default()
    }

    /// The record with every text within its bound.
    #[must_use]
    pub(crate) fn bounded(mut self) -> Self {
        for name in [
            &mut self.request_id,
            &mut self.actor_id,
            &mut self.tool_id,
            &mut self.params_hash,
        ] {
            *name = text::name(name);
        }
        for name in [&mut self.error_code, &mut self.upstream, &mut self.trace_id] {
            *name = name.as_deref().map(text::name);
        }
        self.reason = text::bounded(&self.reason, AUDIT_REASON_BYTES_MAX);
        self.parameters = self.parameters.as_deref().map(bounded_parameters);
        self
    }
}

/// Parameters, or what stands for those that are too long.
pub(crate) fn bounded_parameters(parameters: &str) -> String {
    if parameters.len() > AUDIT_PARAMETERS_BYTES_MAX {
        return format!(r#"{{"omitted_bytes":{}}}"#, parameters.len());
    }
    text::without_nul(parameters).into_owned()
}

/// A time as it is exported: RFC 3339 in UTC with milliseconds.
pub(crate) fn timestamp(ms: i64) -> String {
    jiff::Timestamp::from_millisecond(ms)
        .map_or_else(|_| ms.to_string(), |time| format!("{time:.3}"))
}

/// A process that appends to its own chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chainer {
    pub(crate) ordinal: i64,
    pub(crate) writer_id: String,
}

/// Appends a record to the chain of a writer; `false` when the request already has its record.
pub(crate) async fn append(
    session: &mut dyn Session,
    chainer: &Chainer,
    record: &Record,
) -> Result<bool, StoreError> {
    let heads = session
        .query(
            "SELECT head_seq, head_hash FROM audit_writer WHERE ordinal = $1",
            args![chainer.ordinal],
        )
        .await?;
    let head = heads
        .first()
        .ok_or_else(|| StoreError::failed("the writer of the audit log is not registered"))?;
    let seq = head.int(0)? + 1;
    let linked = chain::link(&head.text(1)?, &chainer.writer_id, seq, record);
    let added = session
        .execute(
            "INSERT INTO audit (writer, seq, request_id, timestamp_ms, actor_id, tool_id, \
             params_hash, parameters, decision, reason, outcome, error_code, duration_us, upstream, \
             request_bytes, response_bytes, trace_id, bytes, hash) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19) \
             ON CONFLICT (request_id) DO NOTHING",
            args![
                chainer.ordinal,
                seq,
                &record.request_id,
                record.timestamp_ms,
                &record.actor_id,
                &record.tool_id,
                &record.params_hash,
                &record.parameters,
                record.decision.as_str(),
                &record.reason,
                record.outcome.as_str(),
                &record.error_code,
                record.duration_us,
                &record.upstream,
                record.request_bytes,
                record.response_bytes,
                &record.trace_id,
                linked.bytes,
                &linked.hash,
            ],
        )
        .await?;
    if added == 0 {
        return Ok(false);
    }
    session
        .execute(
            "UPDATE audit_writer SET head_seq = $2, head_hash = $3, kept_bytes = kept_bytes + $4 \
             WHERE ordinal = $1",
            args![chainer.ordinal, seq, linked.hash, linked.bytes],
        )
        .await?;
    Ok(true)
}

/// The columns that [`read`] expects, in its order.
macro_rules! record_columns {
    () => {
        "a.request_id, a.timestamp_ms, a.actor_id, a.tool_id, a.params_hash, a.parameters, \
         a.decision, a.reason, a.outcome, a.error_code, a.duration_us, a.upstream, a.request_bytes, \
         a.response_bytes, a.trace_id"
    };
}
pub(crate) use record_columns;

/// How many columns [`read`] takes.
pub(crate) const RECORD_COLUMNS: usize = 15;

/// A record from the first columns of a row.
pub(crate) fn read(row: &Row) -> Result<Record, StoreError> {
    let unknown_word = || StoreError::failed("an audit record holds a word that is not known");
    Ok(Record {
        request_id: row.text(0)?,
        timestamp_ms: row.int(1)?,
        actor_id: row.text(2)?,
        tool_id: row.text(3)?,
        params_hash: row.text(4)?,
        parameters: row.text_opt(5)?,
        decision: Decision::parse(&row.text(6)?).ok_or_else(unknown_word)?,
        reason: row.text(7)?,
        outcome: Outcome::parse(&row.text(8)?).ok_or_else(unknown_word)?,
        error_code: row.text_opt(9)?,
        duration_us: row.int_opt(10)?,
        upstream: row.text_opt(11)?,
        request_bytes: row.int(12)?,
        response_bytes: row.int_opt(13)?,
        trace_id: row.text_opt(14)?,
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A record with every field filled.
    pub(crate) fn record(request_id: &str) -> Record {
        Record {
            request_id: request_id.into(),
            timestamp_ms: 1_700_000_000_123,
            actor_id: "local".into(),
            tool_id: "github:create_issue".into(),
            params_hash: "abc".into(),
            parameters: Some(r#"{"title":"x"}"#.into()),
            decision: Decision::Allowed,
            reason: "scope github:write".into(),
            outcome: Outcome::Ok,
            error_code: None,
            duration_us: Some(1_500),
            upstream: Some("github".into()),
            request_bytes: 13,
            response_bytes: Some(20),
            trace_id: Some("t1".into()),
        }
    }

    #[test]
    fn a_record_exports_the_documented_names() {
        let line: serde_json::Value = serde_json::from_str(&record("r1").line("w", 3)).unwrap();
        for (name, expect) in [
            ("request_id", "r1"),
            ("tool_id", "github:create_issue"),
            ("params_hash", "abc"),
            ("actor_id", "local"),
            ("timestamp", "2023-11-14T22:13:20.123Z"),
            ("outcome", "ok"),
            ("decision", "allowed"),
        ] {
            assert_eq!(line[name], expect);
        }
        assert!(
            line.get("error_code").is_none(),
            "empty fields are left out"
        );
    }

    #[test]
    fn words_are_read_back() {
        for outcome in Outcome::ALL {
            assert_eq!(Outcome::parse(outcome.as_str()), Some(*outcome));
        }
        for decision in Decision::ALL {
            assert_eq!(Decision::parse(decision.as_str()), Some(*decision));
        }
        assert_eq!(Outcome::parse("fine"), None);
    }

    #[test]
    fn long_texts_are_cut_and_long_parameters_are_counted() {
        let mut long = record("r1");
        long.tool_id = "x".repeat(10_000);
        long.reason = "y".repeat(10_000);
        long.trace_id = Some("z\0".repeat(10_000));
        long.parameters = Some("p".repeat(AUDIT_PARAMETERS_BYTES_MAX + 1));
        let short = long.bounded();
        assert!(short.tool_id.len() <= 512 && short.reason.len() <= AUDIT_REASON_BYTES_MAX);
        assert_eq!(
            short.parameters.as_deref(),
            Some(r#"{"omitted_bytes":65537}"#)
        );
        assert!(!short.trace_id.clone().unwrap().contains('\0'));
        assert_eq!(
            short.clone().bounded(),
            short,
            "bounding again changes nothing"
        );
    }

    #[test]
    fn times_outside_the_calendar_still_have_a_text() {
        assert_eq!(timestamp(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(timestamp(i64::MAX), i64::MAX.to_string());
    }
}
