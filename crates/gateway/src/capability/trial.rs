//! Learning what a tool answers by running it once.
//!
//! Only what reads is run, with the least arguments that its schema accepts, and only under the policy
//! and the audit that every other call is under. A failure teaches nothing.

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::Value;
use serde_json::value::RawValue;
use toolcrib_core::policy::{Caller, Risk};
use toolcrib_core::rtfs::{self, Type};
use toolcrib_core::{Tool, schema};

use crate::engine::Engine;
use crate::engine::answer::Outcome;
use crate::engine::ask::Execution;
use crate::engine::definition::raw;

/// Runs a tool to see what it answers.
pub trait Trial: Send + Sync {
    /// Whether the tool only reads, by the best evidence there is.
    fn only_reads<'a>(&'a self, tool: &'a Tool) -> BoxFuture<'a, bool>;

    /// Runs it once and gives its `CallToolResult`.
    fn run<'a>(
        &'a self,
        tool: &'a Tool,
        arguments: Value,
    ) -> BoxFuture<'a, Result<Box<RawValue>, Untaught>>;
}

/// Why nothing was learnt of a tool's output.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Untaught {
    /// It may do more than read.
    #[error("it may do more than read, so it was not run")]
    NotReadOnly,
    /// No arguments that its schema accepts could be made up.
    #[error("no arguments that its schema accepts could be made up")]
    NoArguments,
    /// It was not run, or the run failed.
    #[error("{0}")]
    Failed(String),
    /// It says that it failed.
    #[error("it answered with an error")]
    Error,
    /// What it answered is no JSON.
    #[error("its answer is no JSON")]
    NoJson,
}

/// The shape of what a tool answers to the least arguments that its schema accepts: one call.
pub async fn output(trial: &dyn Trial, tool: &Tool) -> Result<Type, Untaught> {
    if !trial.only_reads(tool).await {
        return Err(Untaught::NotReadOnly);
    }
    let arguments = schema::sample(&tool.input_schema).ok_or(Untaught::NoArguments)?;
    let answer = trial.run(tool, arguments).await?;
    shape(&answer)
}

/// The shape of an answer: of its structured content, else of its text read as JSON.
fn shape(answer: &RawValue) -> Result<Type, Untaught> {
    let answer: Value = serde_json::from_str(answer.get()).map_err(|_| Untaught::NoJson)?;
    if answer["isError"] == true {
        return Err(Untaught::Error);
    }
    if let Some(structured) = answer.get("structuredContent") {
        return Ok(rtfs::from_value(structured));
    }
    let blocks = answer["content"].as_array().ok_or(Untaught::NoJson)?;
    let [block] = blocks.as_slice() else {
        return Err(Untaught::NoJson);
    };
    let text = block["text"].as_str().ok_or(Untaught::NoJson)?;
    let value: Value = serde_json::from_str(text).map_err(|_| Untaught::NoJson)?;
    Ok(rtfs::from_value(&value))
}

/// Runs tools at the counter that everyone stands at.
pub struct AtCounter {
    engine: Arc<Engine>,
    caller: Caller,
}

impl AtCounter {
    /// Runs tools for a caller.
    pub fn new(engine: Arc<Engine>, caller: Caller) -> Self {
        Self { engine, caller }
    }
}

impl Trial for AtCounter {
    fn only_reads<'a>(&'a self, tool: &'a Tool) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            let id = &tool.id;
            let details = self
                .engine
                .tool_details(&self.caller, id.server(), id.tool());
            let details = details.await;
            details.is_ok_and(|details| details.entry.metadata.risk == Risk::Low)
        })
    }

    fn run<'a>(
        &'a self,
        tool: &'a Tool,
        arguments: Value,
    ) -> BoxFuture<'a, Result<Box<RawValue>, Untaught>> {
        Box::pin(async move {
            let call = Execution {
                whole: true,
                ..Execution::new(tool.id.server(), tool.id.tool(), raw(&arguments))
            };
            let reply = self.engine.execute(&self.caller, call).await;
            let reply = reply.map_err(|error| Untaught::Failed(error.message.clone()))?;
            match reply.outcome {
                Outcome::Answered(answered) => Ok(answered.result),
                Outcome::Rehearsed(_) => Err(Untaught::Failed("nothing was called".to_owned())),
            }
        })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::Mutex;

    use serde_json::json;
    use toolcrib_core::ToolId;
    use toolcrib_core::rtfs::Dialect;

    use super::*;

    /// Answers with what it was given, and writes down what it was asked.
    pub(crate) struct Given {
        pub(crate) reads: bool,
        pub(crate) answer: Value,
        pub(crate) runs: Mutex<Vec<Value>>,
    }

    impl Given {
        pub(crate) fn new(reads: bool, answer: Value) -> Self {
            Self {
                reads,
                answer,
                runs: Mutex::default(),
            }
        }
    }

    impl Trial for Given {
        fn only_reads<'a>(&'a self, _: &'a Tool) -> BoxFuture<'a, bool> {
            Box::pin(std::future::ready(self.reads))
        }

        fn run<'a>(
            &'a self,
            _: &'a Tool,
            arguments: Value,
        ) -> BoxFuture<'a, Result<Box<RawValue>, Untaught>> {
            self.runs.lock().unwrap().push(arguments);
            Box::pin(std::future::ready(match self.answer.as_str() {
                Some(why) => Err(Untaught::Failed(why.to_owned())),
                None => Ok(raw(&self.answer)),
            }))
        }
    }

    fn tool(schema: Value) -> Tool {
        Tool::new(ToolId::new("s", "list_things"), "Lists.", schema)
    }

    async fn learn(given: &Given, schema: Value) -> Result<String, Untaught> {
        let learnt = output(given, &tool(schema)).await?;
        Ok(rtfs::text::of_type(&learnt, Dialect::Document))
    }

    #[tokio::test]
    async fn one_call_with_the_least_arguments_teaches_the_shape() {
        let given = Given::new(
            true,
            json!({"content": [], "structuredContent": [{"id": 1}]}),
        );
        let schema = json!({
            "type": "object", "properties": {"n": {"type": "integer", "minimum": 3}, "more": {}},
            "required": ["n"],
        });
        let learnt = learn(&given, schema).await;
        assert_eq!(learnt.as_deref(), Ok("[:vector [:map [:id :int]]]"));
        let runs = given.runs.lock().unwrap();
        assert_eq!(runs.len(), 1);
        assert!(runs[0]["n"].as_i64().unwrap() >= 3 && runs[0].get("more").is_none());
    }

    #[tokio::test]
    async fn failures_teach_nothing() {
        let text = |text: &str| json!({"content": [{"type": "text", "text": text}]});
        let error = json!({"isError": true, "structuredContent": {"a": 1}, "content": []});
        for (reads, answer, schema, expected) in [
            (false, text("1"), json!({}), Err(Untaught::NotReadOnly)),
            (
                true,
                text("1"),
                json!({"type": "object", "properties": {"a": false}, "required": ["a"]}),
                Err(Untaught::NoArguments),
            ),
            (true, error, json!({}), Err(Untaught::Error)),
            (
                true,
                text("Found 3 things"),
                json!({}),
                Err(Untaught::NoJson),
            ),
            (
                true,
                json!({"content": []}),
                json!({}),
                Err(Untaught::NoJson),
            ),
            (true, json!({}), json!({}), Err(Untaught::NoJson)),
            (
                true,
                json!("refused"),
                json!({}),
                Err(Untaught::Failed("refused".into())),
            ),
            (
                true,
                text("[1, 2]"),
                json!({}),
                Ok("[:vector :int]".to_owned()),
            ),
        ] {
            let given = Given::new(reads, answer);
            assert_eq!(learn(&given, schema).await, expected);
            assert!(given.runs.lock().unwrap().len() <= 1);
            assert!(reads || given.runs.lock().unwrap().is_empty());
        }
    }
}
