//! Progress and log messages of a call, printed as they come.

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use toolcrib_core::rpc::{Fault, METHOD_NOT_FOUND};

use crate::engine::upstream::Client;
use crate::mcp::fields::raw;
use crate::mcp::meta::LOG_LEVEL;
use crate::ui::{Aside, Progress};
use crate::veil::cover;

/// The person at the terminal, as a server sees it: told things, asked nothing.
#[derive(Debug)]
pub(super) struct Watcher {
    /// Stands on the screen while the call takes long.
    progress: Arc<Progress>,
    /// What is being done, in words.
    what: String,
    /// What prints beside it what is told, where that is wanted.
    aside: Option<Aside>,
}

impl Watcher {
    /// One that shows how far the server has come.
    pub(super) fn counting(progress: &Arc<Progress>, what: &str) -> Self {
        Self {
            progress: Arc::clone(progress),
            what: what.to_owned(),
            aside: None,
        }
    }

    /// The same, which also prints all that the server tells.
    pub(super) fn telling(progress: &Arc<Progress>, what: &str, aside: Aside) -> Self {
        Self {
            aside: Some(aside),
            ..Self::counting(progress, what)
        }
    }
}

impl Client for Watcher {
    fn request<'a>(
        &'a self,
        method: &'a str,
        _params: Option<&'a RawValue>,
    ) -> BoxFuture<'a, Result<Box<RawValue>, Fault>> {
        let refusal = Fault::new(
            METHOD_NOT_FOUND,
            format!("{method} cannot be answered from the command line"),
        );
        Box::pin(async move { Err(refusal) })
    }

    fn notify(&self, method: &str, params: Option<&RawValue>) {
        let params: Value = params
            .and_then(|params| serde_json::from_str(params.get()).ok())
            .unwrap_or_default();
        if let Some(count) = count(method, &params) {
            self.progress.say(&cover(&format!("{count} {}", self.what)));
        }
        if let (Some(line), Some(aside)) = (line(method, &params), self.aside) {
            let print = || aside.note(cover(&line));
            self.progress.aside(print);
        }
    }

    fn capabilities(&self) -> Box<RawValue> {
        RawValue::from_string("{}".to_owned()).unwrap_or_default()
    }
}

/// What a call carries for its server to say how far it has come: nobody reports progress without a token.
pub(super) fn wanted() -> Box<RawValue> {
    raw(&json!({ "progressToken": "call" }))
}

/// What it carries for its server to tell anything: the stateless era logs only to who asks for it.
pub(super) fn all_wanted() -> Box<RawValue> {
    raw(&json!({ "progressToken": "call", LOG_LEVEL: "info" }))
}

/// How far a server has come, where it says of how much.
fn count(method: &str, params: &Value) -> Option<String> {
    if method != "notifications/progress" {
        return None;
    }
    let (progress, total) = (params["progress"].as_f64()?, params["total"].as_f64()?);
    Some(format!("{progress}/{total}"))
}

/// What a notification says, where it says something to a person.
fn line(method: &str, params: &Value) -> Option<String> {
    match method {
        "notifications/progress" => {
            let progress = params["progress"].as_f64()?;
            let of = params["total"].as_f64().map(|total| format!("/{total}"));
            let message = params["message"].as_str().unwrap_or_default();
            let line = format!("progress {progress}{} {message}", of.unwrap_or_default());
            Some(line.trim_end().to_owned())
        }
        "notifications/message" => {
            let level = params["level"].as_str().unwrap_or("info");
            let data = match &params["data"] {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            Some(format!("{level}: {data}"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_tells_becomes_a_line() {
        let check = |method: &str, params: Value, expected: Option<&str>| {
            assert_eq!(line(method, &params).as_deref(), expected, "{method}");
        };
        check(
            "notifications/progress",
            json!({"progress": 1, "total": 4, "message": "half"}),
            Some("progress 1/4 half"),
        );
        check(
            "notifications/progress",
            json!({"progress": 2.5}),
            Some("progress 2.5"),
        );
        check("notifications/progress", json!({}), None);
        check(
            "notifications/message",
            json!({"level": "warning", "data": "slow"}),
            Some("warning: slow"),
        );
        check(
            "notifications/message",
            json!({"data": {"a": 1}}),
            Some("info: {\"a\":1}"),
        );
        check("notifications/other", json!({}), None);
    }

    #[test]
    fn how_far_a_server_has_come_is_counted_where_it_says_of_how_much() {
        let check = |method: &str, params: Value, expected: Option<&str>| {
            assert_eq!(count(method, &params).as_deref(), expected, "{params}");
        };
        let progress = "notifications/progress";
        check(progress, json!({"progress": 1, "total": 3}), Some("1/3"));
        check(
            progress,
            json!({"progress": 0.5, "total": 1, "message": "half"}),
            Some("0.5/1"),
        );
        check(progress, json!({"progress": 7}), None);
        check(progress, json!({"total": 7}), None);
        check(
            "notifications/message",
            json!({"progress": 1, "total": 3}),
            None,
        );
    }

    #[tokio::test]
    async fn nothing_is_answered_for_the_person() {
        let watcher = Watcher::counting(&Arc::new(Progress::spinner(true)), "running a tool");
        let refusal = watcher
            .request("elicitation/create", None)
            .await
            .unwrap_err();
        assert!(refusal.message.contains("command line"));
        assert_eq!(watcher.capabilities().get(), "{}");
    }
}
