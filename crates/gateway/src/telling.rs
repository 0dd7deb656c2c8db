//! What the doors tell of failures and answers: the same facts, under the names of each profile.

use std::borrow::Cow;

use serde_json::{Map, Value, json};
use toolcrib_core::discovery::prose::shorten;
use toolcrib_core::limits::{TOLD_NAME_CHARS_MAX, TOLD_TEXT_CHARS_MAX};

use crate::engine::answer::Answered;
use crate::engine::error::Error;
use crate::engine::snapshot::Entry;

/// What a profile calls things.
pub(crate) struct Names {
    /// The server of a tool.
    pub(crate) server: &'static str,
    /// The risk of a tool.
    pub(crate) risk: &'static str,
    /// A tool that is near to the one that was asked for.
    pub(crate) near: fn(&Entry) -> Value,
}

/// As much of a text as a caller needs to see; what it made up itself can be of any length.
pub(crate) fn cut(text: &str) -> Cow<'_, str> {
    shorten(text, TOLD_TEXT_CHARS_MAX).0
}

/// As much of a name as a caller needs to see.
pub(crate) fn cut_name(name: &str) -> Cow<'_, str> {
    shorten(name, TOLD_NAME_CHARS_MAX).0
}

/// Everything that is known about a failure, and nothing empty.
pub(crate) fn failure(error: &Error, names: &Names) -> Value {
    let mut told = Map::new();
    let mut tell = |name: &str, value: Value| {
        let empty = match &value {
            Value::Null => true,
            Value::Array(items) => items.is_empty(),
            _ => false,
        };
        if !empty {
            told.insert(name.to_owned(), value);
        }
    };
    let more = &error.more;
    tell("code", json!(error.code));
    tell("message", json!(cut(&error.message)));
    tell(names.server, json!(error.server.as_deref().map(cut_name)));
    tell("tool", json!(error.tool.as_deref().map(cut_name)));
    tell("suggestion", json!(error.suggestion));
    let nearest = more.nearest.iter().map(|entry| (names.near)(entry));
    tell("nearest", nearest.collect());
    if let Some(available) = &more.available {
        tell("available", json!(available.names));
        tell("total", json!(available.total));
    }
    tell(names.risk, json!(more.risk));
    if more.problems.len() > 1 {
        tell("problems", json!(more.problems));
    }
    if let Some(violations) = &more.violations {
        tell("violations", json!(violations.listed));
        if violations.total > violations.listed.len() {
            tell("violations_total", json!(violations.total));
        }
    }
    tell("challenge", json!(more.challenge));
    tell("retry_after_ms", json!(more.retry_after_ms));
    tell("earlier", json!(more.earlier));
    tell("checks", json!(more.steps));
    tell("request_id", json!(error.request_id));
    Value::Object(told)
}

/// What is told beside the words of an API that refused.
const REFUSAL: [&str; 5] = [
    "status",
    "meaning",
    "suggestion",
    "retry_after_seconds",
    "provider",
];

/// Why a tool failed: its own words under `message`, and what an API's refusal says beside them.
pub(crate) fn reasons(result: &Value) -> Map<String, Value> {
    let refusal = &result["error"];
    let mut told = Map::new();
    match (refusal["status"].as_u64(), refusal["message"].as_str()) {
        (Some(status), Some(message)) if refusal["suggestion"].is_string() => {
            let message = format!("The API answered HTTP {status}: {message}");
            told.insert("message".to_owned(), message.into());
            for name in REFUSAL {
                if let Some(value) = refusal.get(name) {
                    told.insert(name.to_owned(), value.clone());
                }
            }
        }
        _ => {
            told.insert("message".to_owned(), reason(result).into());
        }
    }
    told
}

/// Why a tool failed, in its own words.
fn reason(result: &Value) -> String {
    match result {
        Value::String(text) => text.clone(),
        Value::Null => "the tool gave no reason".to_owned(),
        other => other.to_string(),
    }
}

/// What an API says of its next page: the arguments that ask for it.
pub(crate) fn next_page(meta: Option<&Value>) -> Option<&Value> {
    meta?.get("toolcrib/next")
}

/// What is to be said beside a result: how to read on, what could not be chosen, that it is an earlier answer.
pub(crate) fn beside(answered: &Answered, told: &mut Value) {
    if let Some(rest) = &answered.rest {
        told["page"] = json!(rest.page);
        told["left"] = json!(rest.left);
    }
    if let Some(why) = &answered.unfiltered {
        told["unfiltered"] = json!(why);
    }
    if answered.replayed {
        told["replayed"] = true.into();
    }
}
