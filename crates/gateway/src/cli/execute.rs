//! `toolcrib execute`: one call, under the same rules as an agent's.

mod arguments;
mod pairs;
mod parts;
mod result;
mod strays;

use std::io::IsTerminal;
use std::sync::Arc;

use clap::Args;
use futures::future::BoxFuture;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use toolcrib_core::Code;
use toolcrib_core::limits::CALL_TIMEOUT_MS_ASKED_MAX;
use toolcrib_core::policy::Caller;

use parts::Parts;

use super::Context;
use super::counter::{asking, counting, explained, local, of_options, one_tool, with_engine};
use super::watching::{self, Watcher};
use crate::engine::Engine;
use crate::engine::answer::{Answered, Outcome, Reply};
use crate::engine::ask::{CallOptions, Execution};
use crate::engine::error;
use crate::failure::Failure;
use crate::legible;
use crate::telling;
use crate::ui::{Line, Progress, Tone};

/// The keys that end what is typed.
const END_OF_INPUT: &str = if cfg!(windows) {
    "Ctrl-Z and Enter"
} else {
    "Ctrl-D"
};

/// Run a tool
///
/// The call is checked, journalled and audited like an agent's. Arguments are given as JSON (`--args`,
/// `--args @FILE`, `--args -` for standard input), or as `name=value` pairs whose values are read as the
/// tool's schema has them; several values of a list are as many pairs. A tool that requires none runs without.
/// The result is printed whole.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  toolcrib execute github create_issue --args='{\"title\":\"Bug\"}'\n  toolcrib execute filesystem read_file path=README.md --json\n  toolcrib execute filesystem:read_file path=README.md\n  toolcrib execute github create_issue --args @issue.json\n  toolcrib execute github create_issue --args -\n  toolcrib execute github delete_repo repo=x --dry-run\n\nExit codes: 0 it was done, 1 wrong arguments, 2 there is no such server or tool, or the configuration does not load, 3 it was tried or refused, and not done, 4 the tool is switched off."
)]
pub struct Execute {
    /// The server, or the tool as SERVER:TOOL
    #[arg(add = super::completions::server_or_id())]
    server: String,
    /// The tool
    #[arg(add = super::completions::tool())]
    tool: Option<String>,
    /// The arguments as JSON, `@FILE`, or `-` for standard input
    #[arg(long, value_name = "JSON")]
    args: Option<String>,
    /// Arguments one by one
    #[arg(value_name = "NAME=VALUE", conflicts_with = "args")]
    pairs: Vec<String>,
    /// Print progress and log messages as they come
    #[arg(long)]
    stream: bool,
    /// Say that the call is wanted, for tools that ask
    #[arg(long)]
    confirmed: bool,
    /// The same key gives the same answer, and has its effect once
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    /// Make every check and call nothing
    #[arg(long)]
    dry_run: bool,
    /// How long the call may take
    #[arg(long, value_name = "MS")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=CALL_TIMEOUT_MS_ASKED_MAX))]
    timeout: Option<u64>,
    /// A jq filter over the result
    #[arg(long, value_name = "FILTER")]
    select: Option<String>,
}

impl Execute {
    /// Runs the command.
    pub fn run(self, context: &mut Context) -> Result<(), Failure> {
        self.call(context).map_err(Failure::of_a_call)
    }

    fn call(self, context: &mut Context) -> Result<(), Failure> {
        let (server, tool, pairs) = self.named()?;
        if self.args.is_some() && !pairs.is_empty() {
            return Err(Failure::usage(
                "the arguments are given twice; leave out --args or the name=value pairs",
            ));
        }
        with_engine(context, async |context, engine| {
            self.execute(context, engine, (&server, &tool), &pairs)
                .await
        })
    }

    /// The server, the tool and the pairs, where the tool may be a word of its own or not.
    fn named(&self) -> Result<(String, String, Vec<String>), Failure> {
        let mut pairs = self.pairs.clone();
        match (self.server.split_once(':'), &self.tool) {
            // What is no pair is a tool, and what stands before it no more than a server.
            (Some(_), Some(tool)) if !tool.contains('=') => {
                Ok((self.server.clone(), tool.clone(), pairs))
            }
            (Some((server, tool)), first) => {
                pairs.splice(..0, first.clone());
                Ok((server.to_owned(), tool.to_owned(), pairs))
            }
            (None, Some(tool)) => Ok((self.server.clone(), tool.clone(), pairs)),
            (None, None) => Err(one_tool("execute")),
        }
    }

    /// The arguments, however they are written.
    async fn arguments(
        &self,
        context: &mut Context,
        engine: &Arc<Engine>,
        (server, tool): (&str, &str),
        pairs: &[String],
    ) -> Result<Box<RawValue>, Failure> {
        if let Some(written) = &self.args {
            if written == "-" && std::io::stdin().is_terminal() {
                context.ui.note(format!(
                    "Reading JSON from the keyboard; end with {END_OF_INPUT}."
                ));
            }
            return arguments::of_json(written, &context.surroundings.cwd);
        }
        // A tool that may not be run, or is not there, is refused and recorded like any other call.
        let known = engine.known_tool(server, tool);
        let known = asking(context, engine, known).await.ok();
        let schema = known.map(|entry| Arc::clone(&entry.tool.input_schema));
        let required = schema.as_deref().map(pairs::required).unwrap_or_default();
        if pairs.is_empty() && !required.is_empty() {
            return Err(Failure::usage(format!(
                "--args is required: {server}:{tool} needs {}; give the arguments as JSON, or as name=value pairs",
                required.join(", ")
            )));
        }
        pairs::read(pairs, schema.as_deref())
    }

    fn options(&self) -> CallOptions {
        CallOptions {
            idempotency_key: self.idempotency_key.clone(),
            confirmed: self.confirmed,
            dry_run: self.dry_run,
            timeout_ms: self.timeout,
            select: self.select.clone(),
            ..CallOptions::default()
        }
    }

    async fn execute(
        &self,
        context: &mut Context,
        engine: &Arc<Engine>,
        (server, tool): (&str, &str),
        pairs: &[String],
    ) -> Result<(), Failure> {
        let caller = local(engine);
        let given = self
            .arguments(context, engine, (server, tool), pairs)
            .await?;
        if !context.ui.is_json() {
            let name = format!("{server}:{tool}");
            context
                .ui
                .line(Line::new().text("Executing: ").tone(Tone::Strong, name));
            context.ui.gap();
            context.ui.show();
        }
        let names = strays::names(&given);
        let what = format!("running {server}:{tool}");
        let progress = Arc::new(Progress::spinner(true));
        progress.say(&what);
        let (watcher, meta) = if self.stream {
            let aside = context.ui.aside();
            let watcher = Watcher::telling(&progress, &what, aside);
            (watcher, watching::all_wanted())
        } else {
            (Watcher::counting(&progress, &what), watching::wanted())
        };
        let execution = Execution {
            options: self.options(),
            meta: Some(meta),
            client: Some(Arc::new(watcher)),
            // The budget of a model is nothing to a person or a pipe.
            whole: true,
            ..Execution::new(server, tool, given)
        };
        let call = until_interrupted(engine, &caller, execution);
        let reply = counting(context, &progress, call).await;
        progress.end();
        match reply {
            Ok(reply) => {
                let shown = show(context, &reply, server, tool);
                tell_strays(context, &reply, &names);
                shown
            }
            Err(mut error) => {
                if let Some(violations) = &mut error.more.violations
                    && let Ok(entry) = engine.known_tool(server, tool).await
                {
                    let strays = strays::strays(&names, &entry.tool.input_schema);
                    strays::add_to(violations, &strays);
                }
                let failure = explained(engine, &caller, error).await;
                Err(show_failure(context, failure, server, tool))
            }
        }
    }
}

/// A call that Ctrl-C cancels.
fn until_interrupted<'a>(
    engine: &'a Arc<Engine>,
    caller: &'a Caller,
    execution: Execution,
) -> BoxFuture<'a, error::Result<Reply>> {
    let cancel = execution.cancel.clone();
    let call = engine.execute(caller, execution);
    Box::pin(async move {
        tokio::pin!(call);
        tokio::select! {
            reply = &mut call => reply,
            _ = tokio::signal::ctrl_c() => {
                cancel.cancel();
                call.await
            }
        }
    })
}

/// Says of arguments that the tool does not have that they went to it all the same.
fn tell_strays(context: &mut Context, reply: &Reply, names: &[String]) {
    let Some(entry) = &reply.entry else {
        return;
    };
    let tool = &entry.tool;
    for stray in strays::strays(names, &tool.input_schema) {
        context.ui.note(stray.noted(&tool.id.to_string()));
    }
}

fn show(context: &mut Context, reply: &Reply, server: &str, tool: &str) -> Result<(), Failure> {
    let answered = match &reply.outcome {
        Outcome::Answered(answered) => answered,
        Outcome::Rehearsed(steps) => {
            if context.ui.is_json() {
                context
                    .ui
                    .json(&json!({ "success": true, "dry_run": true, "checks": steps }));
            } else {
                context.ui.line(
                    Line::new()
                        .mark(true)
                        .text(" Every check passed; nothing was called"),
                );
                context.ui.gap();
                context.ui.table(&super::policy::checks(steps));
            }
            return Ok(());
        }
    };
    let result = content(&answered.result);
    if answered.is_error {
        let mut told = telling::reasons(&result);
        let advice = told.remove("suggestion");
        let message = match (told.remove("message"), advice) {
            (Some(Value::String(said)), Some(Value::String(advice))) => {
                format!("{}. {advice}", said.trim_end_matches('.'))
            }
            _ => result::plain(&result),
        };
        let failure = Failure::new(Code::ToolExecutionError, message);
        let failure = told
            .into_iter()
            .fold(failure, |failure, (name, value)| failure.with(&name, value));
        return Err(show_failure(context, failure, server, tool));
    }
    let whole = legible::value(&answered.result);
    let next = telling::next_page(whole.get("_meta"));
    let parts = Parts::of(&answered.result);
    if context.ui.is_json() {
        let mut shown = json!({ "success": true, "result": result });
        if let Some(next) = next {
            shown["next"] = next.clone();
        }
        if let Some(why) = &answered.unfiltered {
            shown["unfiltered"] = json!(why);
        }
        if let Some(content) = parts.as_ref().and_then(|parts| parts.beside(&result)) {
            shown["content"] = json!(content);
        }
        context.ui.json(&shown);
        return Ok(());
    }
    context.ui.line(Line::new().mark(true).text(" Success"));
    context.ui.gap();
    context.ui.line("Result:");
    match &parts {
        Some(parts) => parts.show(&mut context.ui, &result),
        None => result::show(&mut context.ui, &result),
    }
    if let Some(next) = next {
        let lead = Line::new().text("There is more; the next page has these arguments: ");
        context.ui.note(lead.whole(next));
    }
    said_about(context, answered);
    Ok(())
}

/// What is to be known about an answer beside itself.
fn said_about(context: &mut Context, answered: &Answered) {
    if let Some(why) = &answered.unfiltered {
        context.ui.note(of_options(why));
    }
    if answered.replayed {
        context
            .ui
            .note("This is the recorded answer of the key; nothing was called.");
    }
}

/// The failure as the documents print it; in JSON the failure itself says everything.
fn show_failure(context: &mut Context, failure: Failure, server: &str, tool: &str) -> Failure {
    let failure = failure.with("server", server).with("tool", tool);
    if !context.ui.is_json() {
        context.ui.line(Line::new().mark(false).text(" Error"));
        context.ui.gap();
        context.ui.line(format!("Code: {}", failure.code));
        let mut told = failure.message.lines();
        let first = told.next().unwrap_or_default();
        context.ui.line(format!("Message: {first}"));
        for line in told {
            context.ui.line(line);
        }
        context.ui.line(format!("Server: {server}"));
        context.ui.line(format!("Tool: {tool}"));
        return failure.told();
    }
    failure
}

/// What a tool answered: its structured content, else its text read as JSON, else its text.
fn content(result: &RawValue) -> Value {
    let result = legible::value(result);
    if let Some(structured) = result.get("structuredContent") {
        return structured.clone();
    }
    let blocks = result["content"].as_array();
    let texts: Vec<&str> = blocks
        .into_iter()
        .flatten()
        .filter_map(|block| block["text"].as_str())
        .collect();
    if texts.is_empty() {
        return result.get("content").cloned().unwrap_or(result);
    }
    let text = texts.join("\n");
    serde_json::from_str(&text).unwrap_or(Value::String(text))
}
