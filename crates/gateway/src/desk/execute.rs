//! Running a tool, and telling what came of it.

use serde_json::{Value, json};
use toolcrib_core::Code;
use toolcrib_core::content::Content;
use toolcrib_core::gateway::{category, steps};
use toolcrib_core::policy::{Caller, Risk};
use toolcrib_core::schema::signature;

use super::Desk;
use super::facts::spoken;
use crate::engine::answer::{Answered, Outcome, Reply};
use crate::engine::ask::Execution;
use crate::engine::error::{Error, Result};
use crate::engine::snapshot::Entry;
use crate::legible;
use crate::telling::{self, Names};

/// What the profile `gateway` calls things.
const NAMES: Names = Names {
    server: "adapter",
    risk: "risk_level",
    near: |entry| {
        let id = &entry.tool.id;
        json!({
            "tool_id": id,
            "name": spoken(id.tool()),
            "signature": signature(id.tool(), &entry.tool.input_schema),
        })
    },
};

impl Desk {
    /// Runs a tool. The answer is one object and what goes along with it unharmed: images, links.
    pub async fn execute(
        &self,
        caller: &Caller,
        execution: Execution,
    ) -> Result<(Value, Vec<Value>)> {
        let (server, tool) = (execution.server.clone(), execution.tool.clone());
        let executed = self.engine.execute(caller, execution).await;
        let reply = executed.map_err(|error| self.worded(error))?;
        Ok(self.told(&reply, &server, &tool))
    }

    fn told(&self, reply: &Reply, server: &str, tool: &str) -> (Value, Vec<Value>) {
        let snapshot = self.engine.snapshot();
        let entry = reply.entry.as_deref();
        let id = match entry {
            Some(entry) => snapshot.canonical_id(entry),
            None => format!("{server}:{tool}"),
        };
        let (adapter, name) = id.split_once(':').unwrap_or((&id, ""));
        let mut meta = json!({
            "adapter": adapter,
            "tool": name,
            "request_id": reply.request_id,
            "timestamp": timestamp(reply.timestamp_ms),
        });
        if let Some(entry) = entry {
            meta["operation"] = self.operation(entry);
        }
        let mut told = json!({
            "success": true,
            "tool_id": id,
            "execution_time_ms": reply.duration_ms,
        });
        match &reply.outcome {
            Outcome::Rehearsed(steps) => {
                told["data"] = json!({"dry_run": true, "checks": steps});
                told["meta"] = meta;
                told["next_step"] = steps::FOR_REAL.into();
                (told, Vec::new())
            }
            Outcome::Answered(answered) => answer(answered, told, meta),
        }
    }

    /// What policy holds about an operation.
    fn operation(&self, entry: &Entry) -> Value {
        let metadata = &entry.metadata;
        json!({
            "risk_level": metadata.risk,
            "idempotent": metadata.idempotent,
            "reversible": metadata.reversible,
            "category": self.category_of(entry),
        })
    }

    /// The kind of service that a tool belongs to.
    pub(super) fn category_of(&self, entry: &Entry) -> String {
        let snapshot = self.engine.snapshot();
        let name = entry.tool.id.server();
        let rack = snapshot.rack(name);
        let supplier = rack.map(|rack| &rack.supplier);
        let given = supplier.and_then(|supplier| supplier.title.clone());
        let about = supplier.map_or("", |supplier| &supplier.description);
        let facts = self.facts(name, &snapshot);
        let title = facts.title(given.as_deref());
        facts.category(&title, &facts.about(about))
    }

    /// The documented sentence where a key is missing.
    fn worded(&self, mut error: Box<Error>) -> Box<Error> {
        let missing =
            error.code == Code::IdempotencyRequired && error.more.risk >= Some(Risk::High);
        if !missing || error.message.contains("cannot be used") {
            return error;
        }
        let (server, tool) = (error.server.clone(), error.tool.clone());
        let (Some(server), Some(tool), Some(risk)) = (server, tool, error.more.risk) else {
            return error;
        };
        let snapshot = self.engine.snapshot();
        let entry = snapshot.rack(&server).and_then(|rack| rack.find(&tool));
        let category = entry
            .map(|entry| self.category_of(entry))
            .unwrap_or_default();
        error.message = steps::key_required(risk, category::is_financial(&category, &tool));
        error
    }
}

fn answer(answered: &Answered, mut told: Value, meta: Value) -> (Value, Vec<Value>) {
    let value = legible::value(&answered.result);
    if value["resultType"] == "input_required" {
        return (value, Vec::new());
    }
    let content = Content::read(value);
    if answered.is_error {
        told["success"] = false.into();
        told["error"] = json!({"code": Code::ToolExecutionError});
        for (name, value) in telling::reasons(&content.result) {
            told["error"][name] = value;
        }
        telling::beside(answered, &mut told);
        told["meta"] = meta;
        told["next_step"] = match answered.rest {
            Some(_) => steps::READ_ON,
            None => after_refusal(&told["error"]),
        }
        .into();
        return (told, content.blocks);
    }
    if let Some(next) = telling::next_page(content.rest.get("_meta")) {
        told["next"] = next.clone();
    }
    told["data"] = content.result;
    telling::beside(answered, &mut told);
    let next = match answered.rest {
        Some(_) => steps::READ_ON,
        None => steps::DONE,
    };
    told["meta"] = meta;
    told["next_step"] = next.into();
    (told, content.blocks)
}

/// What to do after a tool failed: what the status of an API says, or what its words may.
fn after_refusal(error: &Value) -> &'static str {
    match error["status"].as_u64() {
        Some(401 | 403) => "Tell the user: the API does not let these credentials do this",
        Some(404 | 410) => "Find the right values first, then call gateway.execute again",
        Some(408 | 425 | 429) => {
            "Wait as error.suggestion says, then call gateway.execute again with the same params"
        }
        Some(409) => "Read how things stand before calling gateway.execute again",
        Some(300..=399 | 500..) => "Do as error.suggestion says; correcting params does not help",
        _ => "Read error.message, correct params and call gateway.execute again",
    }
}

fn timestamp(ms: i64) -> String {
    jiff::Timestamp::from_millisecond(ms).map_or_else(|_| ms.to_string(), |time| time.to_string())
}

/// A failure, with everything that is known about it and nothing empty. `id` is what was asked for.
pub fn failure(error: &Error, id: Option<&str>) -> Value {
    let next = next_step(error);
    let mut answer = json!({"success": false});
    if let Some(id) = id {
        answer["tool_id"] = json!(telling::cut_name(id));
    }
    answer["error"] = telling::failure(error, &NAMES);
    answer["next_step"] = next.into();
    answer
}

/// What to do about a failure.
fn next_step(error: &Error) -> String {
    let fixed = match error.code {
        Code::IdempotencyRequired => "Call gateway.execute again with options.idempotency_key",
        Code::ConfirmationRequired if error.more.challenge.is_none() => {
            "Ask the user, then call gateway.execute again with options.confirmed: true"
        }
        Code::ToolNotFound => "Use gateway.intent with your task to find the tool_id",
        Code::ServerNotFound => "Use gateway.adapters to see what there is",
        Code::ToolValidationError if error.more.violations.is_none() => {
            "Correct params as error.message says and call gateway.execute again"
        }
        Code::ToolValidationError => {
            "Correct params as error.violations says and call gateway.execute again"
        }
        _ => "",
    };
    match (fixed, &error.suggestion) {
        ("", Some(suggestion)) => suggestion.clone(),
        ("", None) if error.code.retryable() => "Try again in a moment".to_owned(),
        ("", None) if matches!(error.code, Code::ValidationError | Code::ScopeRequired) => {
            "Do as error.message says and ask again".to_owned()
        }
        ("", None) => "Use gateway.reference with topic errors".to_owned(),
        (fixed, _) => fixed.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::answer::Rest;
    use crate::engine::definition::raw;

    fn told(result: &Value, is_error: bool) -> Value {
        told_in_part(result, is_error, None)
    }

    fn told_in_part(result: &Value, is_error: bool, rest: Option<Rest>) -> Value {
        let answered = Answered {
            result: raw(result),
            is_error,
            replayed: false,
            rest,
            unfiltered: None,
        };
        answer(&answered, json!({"success": true}), json!({})).0
    }

    #[test]
    fn a_large_failure_is_not_cut_silently() {
        let rest = Rest {
            page: "ab.3".into(),
            left: "9 of 12 parts".into(),
        };
        let result = json!({"content": [{"type": "text", "text": "line 1"}], "isError": true});
        let told = told_in_part(&result, true, Some(rest));
        assert_eq!(
            (&told["error"]["message"], &told["page"], &told["left"]),
            (&json!("line 1"), &json!("ab.3"), &json!("9 of 12 parts"))
        );
        assert_eq!(told["next_step"], steps::READ_ON);
    }

    #[test]
    fn the_next_page_of_an_api_is_told() {
        let result = json!({"content": [], "structuredContent": [1], "_meta": {"toolcrib/next": {"page": "2"}}});
        let told = told(&result, false);
        assert_eq!(
            (&told["data"], &told["next"]),
            (&json!([1]), &json!({"page": "2"}))
        );
    }

    #[test]
    fn the_refusal_of_an_api_is_one_sentence_with_its_parts_beside_it() {
        let refusal =
            json!({"error": {"status": 404, "message": "no such order", "suggestion": "List."}});
        let result = json!({"content": [], "structuredContent": refusal, "isError": true});
        let told = told(&result, true);
        assert_eq!(
            told["error"],
            json!({"code": "TOOL_EXECUTION_ERROR", "message": "The API answered HTTP 404: no such order",
                "status": 404, "suggestion": "List."})
        );
    }

    #[test]
    fn violations_are_named_where_there_are_any() {
        let error = Error::new(Code::ToolValidationError, "There is no argument `x`.");
        let told = failure(&error, None);
        assert!(told["error"].get("violations").is_none(), "{told}");
        assert_eq!(
            told["next_step"],
            "Correct params as error.message says and call gateway.execute again"
        );
    }

    #[test]
    fn what_comes_next_follows_from_the_status() {
        for (status, part) in [
            (400, "correct params"),
            (422, "correct params"),
            (401, "Tell the user"),
            (404, "Find the right values"),
            (429, "Wait"),
            (503, "does not help"),
        ] {
            let refusal = json!({"error": {"status": status, "message": "m", "suggestion": "s"}});
            let result = json!({"content": [], "structuredContent": refusal, "isError": true});
            let next = told(&result, true)["next_step"].to_string();
            assert!(next.contains(part), "{status}: {next}");
        }
        let own = json!({"content": [{"type": "text", "text": "no"}], "isError": true});
        let next = told(&own, true)["next_step"].to_string();
        assert!(next.contains("correct params"), "{next}");
    }
}
