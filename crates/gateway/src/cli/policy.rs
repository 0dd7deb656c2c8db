//! `toolcrib policy`: what would become of a call, and why.

use std::sync::Arc;

use clap::{Args, Subcommand};
use serde::Serialize;
use serde_json::{json, to_value};
use toolcrib_core::canon::params_hash;
use toolcrib_core::policy::{
    Caller, Check, Decision, Outcome, Permit, Principal, Problem, Request, ScopeSet, Step,
    Validity, Verdict, decide, visible,
};
use toolcrib_core::{Code, nearest};

use super::counter::{asking, explained, in_commands, local, named, one_tool, with_engine_to_look};
use super::{Context, now_ms};
use crate::engine::Engine;
use crate::engine::snapshot::Entry;
use crate::failure::Failure;
use crate::ui::{Line, Table, Tone};

/// Find out what may be run by whom, and why
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib policy explain github:delete_repo")]
pub struct Policy {
    #[command(subcommand)]
    command: PolicyCommand,
}

#[derive(Debug, Subcommand)]
enum PolicyCommand {
    /// Show every check that a call of a tool goes through, its evidence and its result
    #[command(after_help = "\
Examples:
  toolcrib policy explain github delete_repo
  toolcrib policy explain github:delete_repo               as `toolcrib search` prints it
  toolcrib policy explain github:delete_repo --as key:ci --confirmed --key

Exit codes: 0 every check is shown, 1 wrong arguments, 2 there is no such server or tool, or the \
configuration does not load, 3 the server cannot be asked, or the store cannot be used.")]
    Explain {
        /// The server, or the tool as SERVER:TOOL
        #[arg(add = super::completions::server_or_id())]
        server: String,
        /// The tool
        #[arg(add = super::completions::tool())]
        tool: Option<String>,
        /// Who calls: local, loopback, anonymous, key:ID, or subject:NAME
        #[arg(long = "as", value_name = "PRINCIPAL", default_value = "local")]
        principal: String,
        /// A scope that a subject's token holds; may be given several times
        #[arg(long = "scope", value_name = "SCOPE", value_delimiter = ',')]
        scopes: Vec<String>,
        /// As if the call came with an idempotency key
        #[arg(long)]
        key: bool,
        /// As if the caller said that the call is confirmed
        #[arg(long)]
        confirmed: bool,
    },
}

impl Policy {
    /// Runs the command.
    pub fn run(self, context: &mut Context) -> Result<(), Failure> {
        let PolicyCommand::Explain {
            server,
            tool,
            principal,
            scopes,
            key,
            confirmed,
        } = self.command;
        let (server, tool) =
            named(&server, tool.as_deref()).ok_or_else(|| one_tool("policy explain"))?;
        with_engine_to_look(context, async |context, engine| {
            let caller = caller(engine, &principal, &scopes).await?;
            let known = engine.known_tool(server, tool);
            let entry = match asking(context, engine, known).await {
                Ok(entry) => entry,
                Err(error) => return Err(explained(engine, &local(engine), error).await),
            };
            let request = Request {
                // The arguments are not known here: whether they fit is left out of the question.
                validity: Validity::Valid,
                idempotency_key: key.then_some("key"),
                confirmed,
                ..Request::plain(params_hash(&json!({})))
            };
            let mut decision = decide(&caller, &entry.subject(), &request, now_ms());
            let advice = advice(&caller, &entry, &request);
            leave_open(&mut decision);
            if context.ui.is_json() {
                show_json(context, &caller, &entry, (&decision, &advice))
            } else {
                show(context, &caller, &entry, (&decision, &advice));
                Ok(())
            }
        })
    }
}

/// Says of the checks that depend on a single call that they do.
fn leave_open(decision: &mut Decision) {
    for step in &mut decision.trace {
        let of_the_call = match step.check {
            Check::Schema => "depends on the arguments",
            Check::Rate => "depends on the calls before it",
            _ => continue,
        };
        step.verdict = Verdict::Unneeded;
        step.evidence = of_the_call.into();
    }
}

async fn caller(
    engine: &Arc<Engine>,
    principal: &str,
    scopes: &[String],
) -> Result<Caller, Failure> {
    let config = engine.config();
    let settings = &config.settings.policy;
    if let Some(subject) = principal.strip_prefix("subject:") {
        let scopes = ScopeSet::from_texts(scopes.iter().map(String::as_str));
        return Ok(Caller::subject(subject, scopes, settings));
    }
    if let Some(id) = principal.strip_prefix("key:") {
        let keys = engine.store().keys().await?;
        let key = keys.iter().find(|key| key.id == id || key.name == id);
        let key = key.filter(|key| key.is_valid(now_ms())).ok_or_else(|| {
            let valid = keys.iter().filter(|key| key.is_valid(now_ms()));
            let names = valid.flat_map(|key| [key.name.as_str(), key.id.as_str()]);
            let hint = match nearest::nearest(id, names, 1).first() {
                Some(near) => format!("did you mean key:{near}?"),
                None => "`toolcrib keys list` shows them".to_owned(),
            };
            Failure::usage(format!("there is no key {id} in force; {hint}"))
        })?;
        let scopes = ScopeSet::from_texts(key.scopes.iter().map(String::as_str));
        return Ok(Caller::key(key.id.as_str(), scopes, settings));
    }
    match principal {
        "local" => Ok(Caller::local(settings)),
        "loopback" => Ok(Caller::loopback(settings)),
        "anonymous" => Ok(Caller::anonymous(settings)),
        other => {
            let words = ["local", "loopback", "anonymous"];
            let hint = match nearest::nearest(other, words, 1).first() {
                Some(near) => format!("did you mean {near}?"),
                None => "write local, loopback, anonymous, key:ID or subject:NAME".to_owned(),
            };
            Err(Failure::usage(format!("{other} is nobody; {hint}")))
        }
    }
}

fn show(
    context: &mut Context,
    caller: &Caller,
    entry: &Entry,
    (decision, advice): (&Decision, &[(Code, String)]),
) {
    let (tool, metadata) = (&entry.tool, &entry.metadata);
    let who = &caller.principal;
    let line = match &decision.outcome {
        Outcome::Permitted(permit) => Line::new().mark(true).text(format_args!(
            " {who} may run {}{}",
            tool.id,
            repeatable(permit)
        )),
        Outcome::Rehearsed => Line::new().mark(true).text(" every check passed"),
        Outcome::Refused(refusal) => Line::new().mark(false).text(format_args!(
            " {who} may not run {}: {}",
            tool.id,
            refusal.reason()
        )),
    };
    context.ui.line(line);
    context.ui.gap();
    context.ui.table(&checks(&decision.trace));
    context.ui.gap();
    context
        .ui
        .line(Line::new().tone(Tone::Strong, format_args!("Risk: {}", metadata.risk)));
    for finding in &metadata.evidence.findings {
        let decided = if finding.source == metadata.evidence.decided_by {
            " (decides)"
        } else {
            ""
        };
        context
            .ui
            .line(format!("  {}: {}{decided}", finding.risk, finding.detail));
    }
    if !advice.is_empty() {
        context.ui.gap();
        context.ui.line("What helps:");
        for (code, advice) in advice {
            context.ui.line(format!("  {code}: {advice}"));
        }
    }
}

/// Every check with its result, as a table.
pub(super) fn checks(steps: &[Step]) -> Table {
    let mut table = Table::new(["CHECK", "RESULT", "EVIDENCE"]);
    for step in steps {
        table.row([
            word(step.check),
            word(step.verdict),
            step.evidence.to_string(),
        ]);
    }
    table
}

/// What helps against each check that failed, for the person who may know all of them: a caller without the scope
/// is told of nothing but a tool that is not there.
fn advice(caller: &Caller, entry: &Entry, request: &Request<'_>) -> Vec<(Code, String)> {
    let id = &entry.tool.id;
    let needs = &entry.metadata.required_scopes;
    let lacking = needs.iter().filter(|need| !need.met_by(&caller.scopes));
    let mut advice = Vec::new();
    for scope in lacking.filter_map(|need| need.any_of().first()) {
        let key = format!("`toolcrib keys create NAME --scope {scope}` makes a key that has it");
        let how = match &caller.principal {
            Principal::Subject(_) => "ask the issuer for a token that has it".to_owned(),
            Principal::Loopback => format!("add it to `policy.loopbackScopes`, or {key}"),
            _ => key,
        };
        let said = format!("The scope {scope} is missing; {how}");
        advice.push((Code::ScopeRequired, said));
    }
    if advice.is_empty() && caller.principal == Principal::Anonymous {
        let how = "Send credentials; `toolcrib keys create NAME --scope SCOPE` makes a key";
        advice.push((Code::ScopeRequired, how.to_owned()));
    }
    let granted = Caller {
        principal: Principal::Local,
        scopes: ScopeSet::all(),
        ..caller.clone()
    };
    let request = Request {
        dry_run: true,
        ..*request
    };
    if let Outcome::Refused(refusal) =
        decide(&granted, &entry.subject(), &request, now_ms()).outcome
    {
        let told = |problem: &Problem| {
            let said = in_commands(&problem.suggestion, Some((id.server(), id.tool())));
            (problem.code, said)
        };
        advice.extend(refusal.problems().iter().map(told));
    }
    advice
}

fn repeatable(permit: &Permit) -> &'static str {
    if permit.may_retry() {
        "; where the connection breaks, the call is made again by itself"
    } else {
        ""
    }
}

/// A value that is written as one word, as JSON has it.
fn word(value: impl Serialize) -> String {
    let value = to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

fn show_json(
    context: &mut Context,
    caller: &Caller,
    entry: &Entry,
    (decision, advice): (&Decision, &[(Code, String)]),
) -> Result<(), Failure> {
    let helps = advice.iter();
    let helps: Vec<_> = helps
        .map(|(code, advice)| json!({ "code": code.to_string(), "advice": advice }))
        .collect();
    let fault = |error: serde_json::Error| Failure::new(Code::Overloaded, error.to_string());
    let subject = entry.subject();
    let (permitted, code) = match &decision.outcome {
        Outcome::Refused(refusal) => (false, Some(refusal.reason())),
        _ => (true, None),
    };
    let failed = decision
        .trace
        .iter()
        .filter(|step| step.verdict == Verdict::Failed)
        .count();
    context.ui.json(&json!({
        "tool": entry.tool.id.to_string(),
        "principal": caller.principal.to_string(),
        "permitted": permitted,
        "code": code.map(|code| code.to_string()),
        "visibility": format!("{:?}", visible(caller, &subject)).to_lowercase(),
        "failed": failed,
        "helps": helps,
        "checks": to_value(&decision.trace).map_err(fault)?,
        "metadata": to_value(&entry.metadata).map_err(fault)?,
    }));
    Ok(())
}
