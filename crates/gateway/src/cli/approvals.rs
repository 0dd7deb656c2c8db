//! `toolcrib approvals`: what waits for a person, with what changed, and the answer.

mod difference;

use std::sync::Arc;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use toolcrib_core::policy::suspicion::{Flag, Neighbours, written_out};
use toolcrib_core::{Code, ToolId, nearest};
use toolcrib_store::Store;
use toolcrib_store::approval::{Kind, Request, Shown, State, Verdict};

use super::cache::observed;
use super::counter::server_names;
use super::introspect::{failure, tell_assessment, tell_place};
use super::memory::{moment, with_store, with_store_to_change};
use super::shown::counted;
use super::{Context, is_interactive, now_ms, unanswered};
use crate::capability::promotion::Promoted;
use crate::capability::question;
use crate::capability::review::{Desk, Dossier, Settled};
use crate::engine::clock::Clock;
use crate::failure::Failure;
use crate::ui::{Line, Table, Tone};
use difference::Change;

/// See and settle what waits for a person
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib approvals list
  toolcrib approvals show ID
  toolcrib approve ID")]
pub struct Approvals {
    #[command(subcommand)]
    command: ApprovalsCommand,
}

#[derive(Debug, Subcommand)]
enum ApprovalsCommand {
    /// List what waits: tools that are new or changed, servers, and calls that need a person
    #[command(after_help = "\
Examples:
  toolcrib approvals list
  toolcrib approvals list --all   also what was settled or ran out

Exit codes: 0 what waits is listed, 1 wrong arguments, 2 the configuration does not load, 3 the \
store cannot be used.")]
    List {
        /// Show also what was settled or ran out
        #[arg(long)]
        all: bool,
    },
    /// Show what waits in full, with what changed
    #[command(after_help = "\
Examples:
  toolcrib approvals show github:create_issue

Exit codes: 0 it is shown, 1 wrong arguments, 2 there is nothing of that name, or the configuration \
does not load, 3 the store cannot be used.")]
    Show {
        /// An id, SERVER, or SERVER:TOOL
        #[arg(add = super::completions::server_or_id())]
        target: String,
    },
    /// Approve what waits, after showing it
    #[command(after_help = "\
Examples:
  toolcrib approvals approve github:create_issue
  toolcrib approvals approve github   the server and all of its tools

A tool with signs of deceit is asked about once more; where nobody can be asked, give --yes.

Exit codes: 0 it is approved, 1 wrong arguments, 2 nothing of that name waits, or the configuration \
does not load, 3 its time ran out, or the store cannot be used.")]
    Approve {
        /// An id, SERVER, or SERVER:TOOL
        #[arg(add = super::completions::server_or_id())]
        target: String,
        /// Approve also what shows signs of deceit, without asking
        #[arg(long)]
        yes: bool,
    },
    /// Reject what waits
    #[command(after_help = "\
Examples:
  toolcrib approvals reject github:create_issue

Exit codes: 0 it is rejected, 1 wrong arguments, 2 nothing of that name waits, or the configuration \
does not load, 3 its time ran out, or the store cannot be used.")]
    Reject {
        /// An id, SERVER, or SERVER:TOOL
        #[arg(add = super::completions::server_or_id())]
        target: String,
    },
}

/// Approve what waits: short for `approvals approve`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib approve github:create_issue
  toolcrib approve github

A tool with signs of deceit is asked about once more; where nobody can be asked, give --yes.

Exit codes: 0 it is approved, 1 wrong arguments, 2 nothing of that name waits, or the configuration \
does not load, 3 its time ran out, or the store cannot be used.")]
pub struct Approve {
    /// An id, SERVER, or SERVER:TOOL
    #[arg(add = super::completions::server_or_id())]
    target: String,
    /// Approve also what shows signs of deceit, without asking
    #[arg(long)]
    yes: bool,
}

impl Approvals {
    /// Runs the command.
    pub fn run(self, context: &mut Context) -> Result<(), Failure> {
        match self.command {
            ApprovalsCommand::List { all } => with_desk(context, async |context, desk| {
                let promoted = desk.finish().await.map_err(failure)?;
                tell_promoted(context, &promoted);
                list(context, &desk.store, all).await
            }),
            ApprovalsCommand::Show { target } => with_desk(context, async |context, desk| {
                let shown = find(context, &desk.store, &target).await?;
                show(context, &shown)?;
                tell_next(context, &shown, &target);
                Ok(())
            }),
            ApprovalsCommand::Approve { target, yes } => settle(context, &target, Said::yes(yes)),
            ApprovalsCommand::Reject { target } => settle(context, &target, Said::No),
        }
    }
}

impl Approve {
    /// Runs the command.
    pub fn run(self, context: &mut Context) -> Result<(), Failure> {
        settle(context, &self.target, Said::yes(self.yes))
    }
}

/// What the person says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said {
    /// Yes, unless there are signs of deceit.
    Yes,
    /// Yes, whatever is odd about it.
    YesAllTheSame,
    No,
}

impl Said {
    fn yes(all_the_same: bool) -> Self {
        if all_the_same {
            Self::YesAllTheSame
        } else {
            Self::Yes
        }
    }

    fn verdict(self) -> Verdict {
        match self {
            Self::Yes | Self::YesAllTheSame => Verdict::Approve,
            Self::No => Verdict::Reject,
        }
    }
}

/// Runs `work` where servers are reviewed.
fn with_desk<T>(
    context: &mut Context,
    work: impl AsyncFnOnce(&mut Context, &Desk) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let config = Arc::new(context.loader().config()?);
    with_store(context, async |context, store| {
        observed(context, &config, store).await;
        let desk = Desk::new(store.clone(), Clock::system(), config);
        work(context, &desk).await
    })
}

async fn list(context: &mut Context, store: &Store, all: bool) -> Result<(), Failure> {
    let state = (!all).then_some(State::Pending);
    let requests = store.approvals(state, now_ms()).await?;
    if context.ui.is_json() {
        let requests: Vec<Value> = requests.iter().map(question::request).collect();
        context.ui.json(&json!({ "approvals": requests }));
        return Ok(());
    }
    if requests.is_empty() {
        context.ui.line("Nothing waits for you.");
        return Ok(());
    }
    let mut table = Table::new(["ID", "KIND", "WHAT", "FOR", "STATE", "SINCE (UTC)"]);
    for request in &requests {
        table.row([
            request.id.clone(),
            request.kind.as_str().to_owned(),
            what(request),
            request.caller.clone().unwrap_or_else(|| "-".to_owned()),
            request.state.as_str().to_owned(),
            moment(request.settled_ms.unwrap_or(request.created_ms)),
        ]);
    }
    context.ui.table(&table);
    if !all {
        context.ui.gap();
        context.ui.line(
            Line::new().tone(
                Tone::Dim,
                "`toolcrib approvals show ID` shows one in full; `toolcrib approve ID|SERVER|SERVER:TOOL` approves.",
            ),
        );
    }
    Ok(())
}

async fn find(context: &Context, store: &Store, text: &str) -> Result<Vec<Shown>, Failure> {
    for target in question::targets(text) {
        let shown = store.show_approvals(&target, now_ms()).await?;
        if !shown.is_empty() {
            return Ok(shown);
        }
    }
    Err(nothing(context, store, text).await)
}

/// Nothing by that name: what was perhaps meant of what waits, else of what there is.
async fn nothing(context: &Context, store: &Store, text: &str) -> Failure {
    let waiting = store.approvals(Some(State::Pending), now_ms()).await;
    let waiting = waiting.unwrap_or_default();
    let names: Vec<String> = waiting
        .into_iter()
        .flat_map(|request| [what(&request), request.server, request.id])
        .collect();
    let near = nearest::nearest(text, names.iter().map(String::as_str), 1);
    let near = near.first().map(|near| (*near).to_owned());
    let near = near.or_else(|| near_known(context, text));
    let hint = match near.filter(|near| near != text) {
        Some(near) => format!("did you mean {near}?"),
        None => "`toolcrib approvals list` shows what does".to_owned(),
    };
    let message = format!("nothing waits under {text}; {hint}");
    Failure::not_found(Code::ApprovalNotFound, message)
}

/// The server or tool that was perhaps meant, of those that are configured and known, whether it waits or not.
fn near_known(context: &Context, text: &str) -> Option<String> {
    let config = context.loader().config().ok()?;
    let known = context.known_tools(&config);
    let (server, tool) = match text.split_once(':') {
        Some((server, tool)) => (server, Some(tool)),
        None => (text, None),
    };
    let near = *nearest::nearest(server, server_names(&config), 1).first()?;
    let Some(tool) = tool else {
        return Some(near.to_owned());
    };
    let own = known.iter().filter(|known| known.server == near);
    let own = nearest::nearest(tool, own.map(|known| known.tool.as_str()), 1);
    // Never the server alone, which would be all of its tools.
    Some(format!("{near}:{}", own.first().unwrap_or(&tool)))
}

/// How what was shown is settled.
fn tell_next(context: &mut Context, shown: &[Shown], target: &str) {
    let waits = |one: &Shown| one.request.state == State::Pending;
    if context.ui.is_json() || !shown.iter().any(waits) {
        return;
    }
    context.ui.line(Line::new().tone(
        Tone::Dim,
        format!(
            "`toolcrib approve {target}` approves, `toolcrib approvals reject {target}` rejects."
        ),
    ));
}

fn show(context: &mut Context, shown: &[Shown]) -> Result<(), Failure> {
    let neighbours = neighbours(context)?;
    if context.ui.is_json() {
        let shown: Vec<Value> = shown
            .iter()
            .map(|one| question::whole(one, &neighbours))
            .collect();
        context.ui.json(&json!({ "approvals": shown }));
        return Ok(());
    }
    for one in shown {
        show_one(context, one, &question::flags(&one.request, &neighbours));
    }
    Ok(())
}

/// The other tools that are known, to see whether one passes itself off as another.
fn neighbours(context: &Context) -> Result<Neighbours, Failure> {
    let config = context.loader().config()?;
    let known = context.known_tools(&config);
    let known: Vec<ToolId> = known
        .iter()
        .map(|known| ToolId::new(known.server.as_str(), known.tool.as_str()))
        .collect();
    Ok(Neighbours::new(&known))
}

fn show_one(context: &mut Context, shown: &Shown, flags: &[Flag]) {
    let request = &shown.request;
    context.ui.line(
        Line::new()
            .tone(Tone::Strong, what(request))
            .text(format_args!(
                "  {} {} {} since {} UTC",
                request.id,
                request.kind.as_str(),
                request.state.as_str(),
                moment(request.settled_ms.unwrap_or(request.created_ms))
            )),
    );
    if let Some(caller) = &request.caller {
        let until = request.expires_ms.map_or_else(String::new, |at| {
            format!(", to be answered until {} UTC", moment(at))
        });
        context.ui.line(format!(
            "  {caller} wants to call it with these arguments{until}:"
        ));
    }
    if let Some(dossier) = Dossier::of(request) {
        let place = context.surroundings.display(&dossier.pending);
        tell_place(context, &dossier);
        context.ui.line(format!("  files to review in {place}"));
        if let Some(at) = request
            .expires_ms
            .filter(|_| request.state == State::Pending)
        {
            context
                .ui
                .line(format!("  to be settled until {} UTC", moment(at)));
        }
        tell_assessment(context, &dossier.assessment);
        context.ui.gap();
        return;
    }
    let new = readable(&request.detail);
    let old = shown.accepted.as_deref().map(readable);
    for change in difference::between(old.as_deref().unwrap_or_default(), &new) {
        context.ui.line(match (change, &old) {
            (Change::Kept(line), _) | (Change::Added(line), None) => {
                Line::new().whole(format_args!("    {line}"))
            }
            (Change::Added(line), Some(_)) => {
                Line::new().whole_tone(Tone::Good, format_args!("  + {line}"))
            }
            (Change::Removed(line), _) => {
                Line::new().whole_tone(Tone::Bad, format_args!("  - {line}"))
            }
        });
    }
    if !flags.is_empty() {
        context
            .ui
            .line("  Signs of deceit in what it says of itself:");
    }
    for flag in flags {
        let sign = format!("  ! {}: {}", flag.place, flag.detail);
        context.ui.line(Line::new().tone(Tone::Bad, sign));
    }
    context.ui.gap();
}

/// JSON on many lines, so that a difference has lines to compare, and nothing in it that is not seen.
fn readable(text: &str) -> String {
    let value: Result<Value, _> = serde_json::from_str(text);
    let pretty = value.and_then(|value| serde_json::to_string_pretty(&value));
    written_out(&pretty.unwrap_or_else(|_| text.to_owned())).into_owned()
}

fn settle(context: &mut Context, text: &str, said: Said) -> Result<(), Failure> {
    let verdict = said.verdict();
    let by = context
        .surroundings
        .var("USER")
        .unwrap_or_else(|| "local".to_owned());
    let config = Arc::new(context.loader().config()?);
    with_store_to_change(context, async |context, store| {
        observed(context, &config, store).await;
        let desk = Desk::new(store.clone(), Clock::system(), config);
        let end = match verdict {
            Verdict::Approve => State::Approved,
            Verdict::Reject => State::Rejected,
        };
        let mut settled_before = None;
        for target in question::targets(text) {
            // What comes after this look is not shown, and so not settled either.
            let looked = desk.look(&target).await.map_err(failure)?;
            if looked.shown().is_empty() {
                continue;
            }
            let done = |one: &Shown| one.request.state == end;
            let before = looked.shown().iter().all(done);
            if verdict == Verdict::Approve && !before && !context.ui.is_json() {
                show(context, &named(looked.shown(), text))?;
            }
            if said == Said::Yes && !before {
                ensure_meant(context, looked.shown(), text)?;
            }
            let settled = desk.settle(&looked, verdict, &by).await.map_err(failure)?;
            if !settled.requests.is_empty() {
                return report(context, &settled);
            }
            if before {
                settled_before = Some(format!(
                    "{text} is {} already; `toolcrib approvals list --all` shows since when",
                    end.as_str()
                ));
            }
        }
        match settled_before {
            Some(message) => Err(Failure::not_found(Code::ApprovalNotFound, message)),
            None => Err(nothing(context, store, text).await),
        }
    })
}

/// Asks once more about tools that show signs of deceit.
fn ensure_meant(context: &mut Context, shown: &[Shown], text: &str) -> Result<(), Failure> {
    let neighbours = neighbours(context)?;
    let odd = question::odd(shown, &neighbours);
    if odd.is_empty() {
        return Ok(());
    }
    let odd = odd.join(", ");
    if !is_interactive(context) {
        return Err(Failure::usage(format!(
            "nothing was approved: {odd} shows signs of deceit, and nobody can be asked here; `toolcrib approvals show {text}` shows them, --yes approves all the same"
        )));
    }
    let question = format!("{odd} shows signs of deceit. Approve all the same?");
    let answered = context.ui.confirm(&question);
    if answered.map_err(|error| unanswered(&error))? == Some(true) {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "nothing was approved; `toolcrib approvals reject {text}` turns it down"
    )))
}

/// What was asked for by its id alone, else everything: the tools of a server are told in what is said of it.
fn named(shown: &[Shown], text: &str) -> Vec<Shown> {
    let one: Vec<Shown> = shown
        .iter()
        .filter(|one| one.request.id == text)
        .cloned()
        .collect();
    if one.is_empty() { shown.to_vec() } else { one }
}

/// What approvals brought about on disk.
fn tell_promoted(context: &mut Context, promoted: &[(String, Promoted)]) {
    if context.ui.is_json() {
        return;
    }
    for (server, done) in promoted {
        let archived = match done.archived.len() {
            0 => String::new(),
            n => format!(", {n} archived"),
        };
        let line = format!(
            " {server}: {} approved{archived}",
            counted(done.approved.len(), "capability file")
        );
        context.ui.line(Line::new().mark(true).text(line));
        if done.registered {
            context.ui.line(format!(
                "  {server} is among your servers now; `toolcrib tools {server}` lists its tools"
            ));
        }
    }
}

fn report(context: &mut Context, outcome: &Settled) -> Result<(), Failure> {
    let settled = &outcome.requests;
    tell_promoted(context, &outcome.promoted);
    if context.ui.is_json() {
        let settled: Vec<Value> = settled.iter().map(question::request).collect();
        let promoted: Vec<Value> = outcome.promoted.iter().map(question::promoted).collect();
        context
            .ui
            .json(&json!({ "approvals": settled, "promoted": promoted }));
    } else {
        for request in settled {
            let good = request.state == State::Approved;
            let state = request.state.as_str();
            let line = Line::new().mark(good);
            context
                .ui
                .line(line.text(format_args!(" {} is {state}", what(request))));
        }
        let rejected = settled
            .iter()
            .find(|request| request.state == State::Rejected && request.kind != Kind::Confirmation);
        if let Some(request) = rejected {
            let what = what(request);
            let line = format!("`toolcrib approve {what}` brings it back.");
            context.ui.note(Line::new().tone(Tone::Dim, line));
        }
    }
    match settled
        .iter()
        .find(|request| request.state == State::Expired)
    {
        Some(request) => Err(Failure::new(
            Code::ApprovalRequired,
            format!(
                "the time of {} ran out before it was settled; let the caller ask again",
                request.id
            ),
        )),
        None => Ok(()),
    }
}

fn what(request: &Request) -> String {
    match request.kind {
        Kind::Server => request.server.clone(),
        Kind::Tool | Kind::Confirmation => format!("{}:{}", request.server, request.tool),
    }
}
