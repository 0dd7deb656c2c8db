//! Wishes and runs over REST.

use serde_json::Value;
use serde_json::value::RawValue;
use toolcrib_core::Code;

use super::problem::Problem;
use super::{Asked, Counter, Told, json};
use crate::engine::ask::{CallOptions, Execution};
use crate::mcp::gateway::input;

impl Counter {
    /// Runs a tool by its path: the body is its parameters, key and confirmation are headers.
    pub(super) async fn run_tool(&self, asked: &Asked) -> Told {
        let (adapter, tool) = (asked.part("adapter"), asked.part("tool"));
        let execution = Execution {
            options: with_headers(CallOptions::default(), asked),
            trace: asked.trace.clone(),
            key_exempt: self.desk().config().settings.policy.rest_compat,
            ..Execution::new(adapter, tool, asked.object(Some("{}"))?)
        };
        let id = format!("{adapter}:{tool}");
        self.run(asked, execution, &id, in_headers).await
    }

    /// Runs a tool by its id.
    pub(super) async fn execute(&self, asked: &Asked) -> Told {
        let body = asked.object(None)?;
        let wish = input::execution(Some(&body))?;
        let params = wish.params.unwrap_or_else(|| {
            RawValue::from_string("{}".to_owned()).unwrap_or_else(|_| RawValue::NULL.to_owned())
        });
        let execution = Execution {
            options: with_headers(wish.options, asked),
            trace: asked.trace.clone(),
            ..Execution::new(wish.adapter, wish.tool, params)
        };
        self.run(asked, execution, &wish.id, str::to_owned).await
    }

    /// Runs a tool; `worded` puts advice into the words of the path that was asked.
    async fn run(
        &self,
        asked: &Asked,
        execution: Execution,
        id: &str,
        worded: fn(&str) -> String,
    ) -> Told {
        let told = self.desk().execute(&asked.caller, execution).await;
        let (mut answer, blocks) = told.map_err(|mut error| {
            error.suggestion = error.suggestion.as_deref().map(worded);
            Problem::of(&error, Some(id)).next_in(worded)
        })?;
        if answer["resultType"] == "input_required" {
            return Err(Problem::plain(
                Code::ToolExecutionError,
                "The tool asks its caller a question, which this door cannot pass on; run it over MCP.",
            ));
        }
        if answer["success"] == Value::Bool(false) {
            let message = answer["error"]["message"].as_str().unwrap_or("").to_owned();
            return Err(Problem::told(
                Code::ToolExecutionError,
                &message,
                answer,
                None,
            ));
        }
        if !blocks.is_empty() {
            answer["content"] = Value::Array(blocks);
        }
        Ok(json(&answer))
    }

    /// Turns a wish into an action.
    pub(super) async fn intent(&self, asked: &Asked) -> Told {
        let body = asked.object(None)?;
        let wish = input::intent(Some(&body))?;
        Ok(json(&self.desk().intent(&asked.caller, wish).await?))
    }
}

/// The options of a call with what its headers add.
fn with_headers(mut options: CallOptions, asked: &Asked) -> CallOptions {
    let key = asked.headers.get("Idempotency-Key").and_then(Value::as_str);
    options.idempotency_key = options.idempotency_key.or_else(|| key.map(str::to_owned));
    options.confirmed |= asked.headers.get("X-Confirmed") == Some(&Value::Bool(true));
    options
}

/// Advice for who runs a tool by its path, where key and confirmation are headers.
fn in_headers(advice: &str) -> String {
    advice
        .replace("Call POST /api/v1/execute again", "Send the request again")
        .replace("call POST /api/v1/execute again", "send the request again")
        .replace("options.", "")
        .replace("confirmed: true", "the header X-Confirmed: true")
        .replace("idempotency_key", "the header Idempotency-Key")
}
