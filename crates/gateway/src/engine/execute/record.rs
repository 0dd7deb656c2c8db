//! The one audit record of every request, and the journal entry of every call.

use serde_json::Value;
use toolcrib_core::Code;
use toolcrib_core::policy::{Refusal, Step, Verdict};
use toolcrib_core::secret::{MASK, name_is_secret, value_is_secret};
use toolcrib_core::trace::SpanContext;
use toolcrib_store::audit::{Decision, Outcome, Record};
use toolcrib_store::{Entry as Journalled, StoreError};

use super::Attempt;
use crate::engine::Engine;
use crate::engine::answer::Answered;
use crate::engine::error::{Error, Result};
use crate::engine::snapshot::Entry;
use crate::veil::cover;

impl Engine {
    /// The entry that is journalled before the call.
    pub(super) fn journal_entry(
        &self,
        attempt: &Attempt,
        entry: &Entry,
        reason: &str,
    ) -> Journalled {
        Journalled {
            request_id: attempt.id.clone(),
            timestamp_ms: attempt.at_ms,
            actor_id: attempt.caller.principal.to_string(),
            tool_id: entry.tool.id.to_string(),
            params_hash: attempt.arguments.hash.to_string(),
            parameters: self.parameters(attempt),
            reason: reason.to_owned(),
            upstream: Some(entry.tool.id.server().to_owned()),
            request_bytes: bytes(attempt.arguments.raw.get()),
            trace_id: attempt.trace.as_ref().map(SpanContext::trace_id),
        }
    }

    /// Records a request that was refused.
    pub(super) async fn record_refusal(
        &self,
        attempt: &Attempt,
        entry: &Entry,
        refusal: &Refusal,
        trace: &[Step],
    ) -> Result<()> {
        let failed = trace.iter().filter(|step| step.verdict == Verdict::Failed);
        let evidence: Vec<&str> = failed.map(|step| step.evidence.as_ref()).collect();
        let record = Record {
            reason: format!("{}: {}", refusal.reason(), evidence.join("; ")),
            outcome: Outcome::Refused,
            decision: Decision::Refused,
            error_code: Some(refusal.code().to_string()),
            ..self.record_of(attempt, Some(entry))
        };
        self.append(record).await
    }

    /// Records a request that never met a tool.
    pub(super) async fn record_unmet(
        &self,
        attempt: &Attempt,
        error: &Error,
        outcome: Outcome,
    ) -> Result<()> {
        // A server that is there and was not for this caller: whoever reads the log may know.
        let hidden = error.code == Code::ServerNotFound
            && self.snapshot.load().rack(&attempt.server).is_some();
        let reason = if hidden {
            let code = Code::ScopeRequired;
            format!("{code}: holds no scope for any tool of the server")
        } else {
            cover(&error.message)
        };
        let record = Record {
            reason,
            outcome,
            decision: Decision::Refused,
            error_code: Some(error.code.to_string()),
            ..self.record_of(attempt, None)
        };
        self.append(record).await
    }

    /// Records a request whose checks all passed and which called nothing.
    pub(super) async fn record_rehearsal(
        &self,
        attempt: &Attempt,
        entry: &Entry,
        trace: &[Step],
    ) -> Result<()> {
        let record = Record {
            reason: reason(trace),
            outcome: Outcome::DryRun,
            ..self.record_of(attempt, Some(entry))
        };
        self.append(record).await
    }

    /// Records a request that was permitted and called nothing all the same: its key has an answer,
    /// or none that could be had.
    pub(super) async fn record_keyed(
        &self,
        attempt: &Attempt,
        entry: &Entry,
        reason: &str,
        outcome: Outcome,
        code: Option<Code>,
    ) -> Result<()> {
        let refused = outcome == Outcome::Refused;
        let record = Record {
            reason: reason.to_owned(),
            outcome,
            decision: if refused {
                Decision::Refused
            } else {
                Decision::Allowed
            },
            error_code: code.map(|code| code.to_string()),
            ..self.record_of(attempt, Some(entry))
        };
        self.append(record).await
    }

    /// Records that a part of a result that was kept was read.
    pub(super) async fn record_reading(
        &self,
        attempt: &Attempt,
        entry: &Entry,
        read: &Answered,
    ) -> Result<()> {
        let record = Record {
            reason: "a kept result was read".to_owned(),
            response_bytes: Some(bytes(read.result.get())),
            ..self.record_of(attempt, Some(entry))
        };
        self.append(record).await
    }

    fn record_of(&self, attempt: &Attempt, entry: Option<&Entry>) -> Record {
        // What leads to no tool may be anything, also a secret in the wrong place.
        let asked = || format!("{}:{}", cover(&attempt.server), cover(&attempt.tool));
        Record {
            request_id: attempt.id.clone(),
            timestamp_ms: attempt.at_ms,
            actor_id: attempt.caller.principal.to_string(),
            tool_id: entry.map_or_else(asked, |entry| entry.tool.id.to_string()),
            params_hash: attempt.arguments.hash.to_string(),
            parameters: self.parameters(attempt),
            decision: Decision::Allowed,
            reason: String::new(),
            outcome: Outcome::Ok,
            error_code: None,
            duration_us: i64::try_from(attempt.started.elapsed().as_micros()).ok(),
            upstream: entry.map(|entry| entry.tool.id.server().to_owned()),
            request_bytes: bytes(attempt.arguments.raw.get()),
            response_bytes: None,
            trace_id: attempt.trace.as_ref().map(SpanContext::trace_id),
        }
    }

    pub(super) async fn append(&self, record: Record) -> Result<()> {
        tracing::info!(
            outcome = record.outcome.as_str(),
            code = record.error_code,
            reason = record.reason,
            "nothing was called"
        );
        let counted = match record.outcome {
            Outcome::Replayed => "call.replayed",
            Outcome::DryRun => "call.dry_run",
            Outcome::Ok => "call.page",
            _ => "call.refused",
        };
        self.store.count(counted, 1, record.timestamp_ms);
        let appended = self.store.record(record).await;
        appended.map_err(|error| unrecorded(&error))
    }

    /// The parameters with secrets masked, where the configuration wants them recorded.
    fn parameters(&self, attempt: &Attempt) -> Option<String> {
        let wanted = self.snapshot.load().config.settings.audit.parameters;
        let value = attempt.arguments.value.as_ref().ok().filter(|_| wanted)?;
        Some(masked(value).to_string())
    }
}

/// What a caller is told when the store does not take what must be written.
pub(super) fn unrecorded(error: &StoreError) -> Box<Error> {
    tracing::error!(%error, "an execution could not be recorded");
    error.into()
}

/// Why a call was permitted: what each check was judged by.
pub(super) fn reason(trace: &[Step]) -> String {
    let passed = trace.iter().filter(|step| step.verdict == Verdict::Passed);
    let evidence: Vec<&str> = passed.map(|step| step.evidence.as_ref()).collect();
    evidence.join("; ")
}

/// A value with everything that looks like a secret masked, by the name of its field or its look.
pub(super) fn masked(value: &Value) -> Value {
    match value {
        Value::String(text) if value_is_secret(text) => MASK.into(),
        Value::String(text) => cover(text).into(),
        Value::Array(items) => items.iter().map(masked).collect(),
        Value::Object(fields) => {
            let mask_field = |(name, value): (&String, &Value)| {
                let shown = if name_is_secret(name) && !value.is_null() {
                    MASK.into()
                } else {
                    masked(value)
                };
                (name.clone(), shown)
            };
            Value::Object(fields.iter().map(mask_field).collect())
        }
        other => other.clone(),
    }
}

fn bytes(text: &str) -> i64 {
    i64::try_from(text.len()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn secrets_are_masked_by_name_and_by_look() {
        let value = json!({
            "title": "x", "api_key": "abc", "nested": [{"password": {"a": 1}, "n": 1}],
            "text": "ghp_0123456789abcdefghij", "token": null,
        });
        let expected = json!({
            "title": "x", "api_key": "***", "nested": [{"password": "***", "n": 1}],
            "text": "***", "token": null,
        });
        assert_eq!(masked(&value), expected);
    }
}
