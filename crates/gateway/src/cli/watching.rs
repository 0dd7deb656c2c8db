//! Progress and log messages of a call, printed as they come.

use std::sync::{Arc, OnceLock};

use futures::future::BoxFuture;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use toolcrib_core::rpc::{Fault, METHOD_NOT_FOUND};

use crate::engine::upstream::Client;
use crate::mcp::fields::raw;
use crate::mcp::meta::LOG_LEVEL;
use crate::ui::Progress;
use crate::ui::line::clean;
use crate::veil::cover;

/// The person at the terminal, as a server sees it: told things, asked nothing.
#[derive(Debug)]
pub(super) struct Watcher {
    /// The spinner, once there is one.
    spot: Arc<OnceLock<Progress>>,
}

impl Watcher {
    /// One that prints beside the spinner that comes to stand in the spot.
    pub(super) fn new(spot: Arc<OnceLock<Progress>>) -> Self {
        Self { spot }
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
        if let Some(line) = line(method, &params) {
            let print = || anstream::eprintln!("{}", clean(&cover(&line)));
            match self.spot.get() {
                Some(progress) => progress.aside(print),
                None => print(),
            }
        }
    }

    fn capabilities(&self) -> Box<RawValue> {
        RawValue::from_string("{}".to_owned()).unwrap_or_default()
    }
}

/// What a call carries for its server to tell anything: nobody reports progress without a token, and the
/// stateless era logs only to who asks for it.
pub(super) fn wanted() -> Box<RawValue> {
    raw(&json!({ "progressToken": "stream", LOG_LEVEL: "info" }))
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

    #[tokio::test]
    async fn nothing_is_answered_for_the_person() {
        let watcher = Watcher::new(Arc::default());
        let refusal = watcher
            .request("elicitation/create", None)
            .await
            .unwrap_err();
        assert!(refusal.message.contains("command line"));
        assert_eq!(watcher.capabilities().get(), "{}");
    }
}
