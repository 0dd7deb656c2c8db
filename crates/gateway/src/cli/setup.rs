//! `toolcrib setup`: puts Toolcrib in the place of the servers that clients have, and takes it back.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};
use toolcrib_config::export::client::ExportError;
use toolcrib_config::export::record::{Change, Record};
use toolcrib_config::export::takeover::Takeover;
use toolcrib_config::import::{CLIENTS, Client};
use toolcrib_config::places::Places;

use super::shown::counted;
use super::target::backup_time;
use super::{Context, export, is_interactive, unanswered};
use crate::failure::Failure;
use crate::finding::Finding;
use crate::ui::{Line, Table, Tone};

mod own;
mod undo;

use own::Own;

/// Connect clients: their servers go behind Toolcrib, and Toolcrib takes their place
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib setup                 ask which of the clients found here to connect
  toolcrib setup --yes           connect all of them without asking
  toolcrib setup cursor vscode   only these, whether or not they were found
  toolcrib setup --dry-run       show what would be done
  toolcrib setup --undo          put everything back; with --dry-run, show what it would do

Exit codes: 0 it is as was asked for, 1 wrong arguments, no client was chosen, or the answer was no, \
2 a file cannot be read or written.")]
pub struct Setup {
    /// The clients; every client that is found unless given
    #[arg(value_name = "CLIENT", add = super::completions::client())]
    clients: Vec<String>,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
    /// Change nothing; show what would be done
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
    /// Put back what setup changed
    #[arg(long)]
    undo: bool,
}

/// A client that was left as it is, and why.
struct Problem {
    client: &'static Client,
    failure: Failure,
}

impl Setup {
    /// Runs the command.
    pub fn run(self, context: &mut Context) -> Result<(), Failure> {
        let named = self
            .clients
            .iter()
            .map(|id| export::client(id))
            .collect::<Result<Vec<_>, _>>()?;
        if self.undo {
            return undo::run(context, self.record(context)?, &named);
        }
        let (offers, mut problems) = look(context, &named)?;
        if offers.is_empty() && problems.is_empty() {
            return Err(nobody());
        }
        if !offers.is_empty() && (self.dry_run || !self.yes) {
            show(context, &offers, self.dry_run);
        }
        if self.dry_run && !offers.is_empty() && !context.ui.is_json() {
            let line = "Nothing was changed; `toolcrib setup` asks which of them to connect.";
            context.ui.note(Line::new().tone(Tone::Dim, line));
        }
        let mut chosen = if self.dry_run || self.yes || offers.is_empty() {
            offers
        } else {
            let chosen = choose(context, offers)?;
            confirm(context, &chosen)?;
            chosen
        };
        let mut record = self.record(context)?;
        if !self.dry_run && !chosen.is_empty() {
            // Another process may have changed the files before it was this one's turn.
            let clients: Vec<_> = chosen.iter().map(|offer| offer.client).collect();
            let (now, broken) = look(context, &clients)?;
            problems.retain(|problem| !clients.iter().any(|client| client.id == problem.client.id));
            problems.extend(broken);
            chosen = now;
        }
        let told = connect(context, &mut record, &chosen, problems)?;
        match told {
            Some(failure) => Err(failure),
            None => Ok(()),
        }
    }

    /// What setup did until now, to change it or to see what would become of it.
    fn record(&self, context: &Context) -> Result<Record, Failure> {
        let path = record(context);
        let record = if self.dry_run {
            Record::open(path).map(|mut record| {
                record.rehearse();
                record
            })
        } else {
            Record::hold(path)
        };
        record.map_err(|error| export::refused(&error))
    }
}

/// Whether every client that is here has Toolcrib, and nothing that could go behind it.
pub(super) fn is_done(context: &Context) -> bool {
    let done = |offer: &Takeover| offer.moving.is_empty() && offer.own_entry().is_some();
    look(context, &[]).is_ok_and(|(offers, problems)| {
        problems.is_empty() && !offers.is_empty() && offers.iter().all(done)
    })
}

/// Where it is written down what setup did.
pub(super) fn record(context: &Context) -> PathBuf {
    Places::of(&context.surroundings).data.join("setup.json")
}

fn nobody() -> Failure {
    let ids: Vec<&str> = CLIENTS.iter().map(|client| client.id).collect();
    Failure::usage(format!(
        "no client was found here; name one, as in `toolcrib setup cursor`. Known are {}",
        ids.join(", ")
    ))
}

/// The clients that are here or were named, and those whose files cannot be used.
fn look(
    context: &Context,
    named: &[&'static Client],
) -> Result<(Vec<Takeover>, Vec<Problem>), Failure> {
    let surroundings = &context.surroundings;
    let (mut offers, mut problems) = (Vec::new(), Vec::new());
    for client in CLIENTS {
        let is_named = named.iter().any(|named| named.id == client.id);
        if !named.is_empty() && !is_named {
            continue;
        }
        match Takeover::look(client, surroundings) {
            Ok(Some(takeover)) if is_named || takeover.is_here(surroundings) => {
                offers.push(takeover);
            }
            Ok(None) if is_named => {
                return Err(export::refused(&ExportError::Unsupported(client.title)));
            }
            Ok(_) => {}
            Err(error) => problems.push(Problem {
                client,
                failure: export::refused(&error),
            }),
        }
    }
    own::leave_switched_off(context, &mut offers)?;
    Ok((offers, problems))
}

fn names(takeover: &Takeover) -> Vec<String> {
    let names = takeover.moving.iter().map(|(name, _)| name.clone());
    names.collect()
}

/// What would be done with each client. What is asked for goes to standard output, what only leads
/// to the question does not.
fn show(context: &mut Context, offers: &[Takeover], asked_for: bool) {
    if context.ui.is_json() {
        return;
    }
    let mut table = Table::new(["CLIENT", "FILE", "GOES BEHIND TOOLCRIB", "STAYS"]);
    for offer in offers {
        let stays: Vec<String> = others(offer)
            .map(|(name, why)| format!("{name}: {why}"))
            .collect();
        let moving = names(offer);
        table.row([
            offer.client.title.to_owned(),
            context.surroundings.display(&offer.path),
            match (moving.is_empty(), &offer.text) {
                (true, None) => "no file yet, one is made".to_owned(),
                (true, Some(_)) => "-".to_owned(),
                (false, _) => moving.join(", "),
            },
            stays.join("; "),
        ]);
    }
    if asked_for {
        context.ui.table(&table);
    } else {
        context.ui.note_table(&table);
    }
}

/// What stays in a client's file, but our own entry.
fn others(offer: &Takeover) -> impl Iterator<Item = &(String, String)> {
    let own = |name: &str| {
        let text = offer.text.as_deref().unwrap_or_default();
        toolcrib_config::export::client::is_ours(offer.client, &offer.path, text, name)
    };
    offer.staying.iter().filter(move |(name, _)| !own(name))
}

fn choose(context: &mut Context, offers: Vec<Takeover>) -> Result<Vec<Takeover>, Failure> {
    if !is_interactive(context) {
        return Err(Failure::usage(
            "nothing was changed, because nobody can be asked here; add --yes to connect every client that was found, or name the clients and add --yes",
        ));
    }
    let items: Vec<String> = offers
        .iter()
        .map(|offer| {
            let count = counted(offer.moving.len(), "server");
            format!("{} ({count})", offer.client.title)
        })
        .collect();
    // What a narrow terminal breaks into two lines is not cleared again: only this line may be longer.
    let keys = "Space switches a client on and off, Enter goes on, q leaves everything as it is.";
    context.ui.note(Line::new().tone(Tone::Dim, keys));
    let chosen = context
        .ui
        .choose("Which clients shall use Toolcrib?", &items)
        .map_err(|error| unanswered(&error))?
        .unwrap_or_default();
    if chosen.is_empty() {
        return Err(Failure::usage(
            "nothing was changed, because no client was chosen",
        ));
    }
    let chosen = offers
        .into_iter()
        .enumerate()
        .filter(|(index, _)| chosen.contains(index));
    Ok(chosen.map(|(_, offer)| offer).collect())
}

/// Asks once more before any file is written: the choice has every client ticked, and takes no word but Enter.
fn confirm(context: &mut Context, chosen: &[Takeover]) -> Result<(), Failure> {
    let files = chosen
        .iter()
        .map(|offer| context.surroundings.display(&offer.path));
    let files: Vec<String> = files.collect();
    context
        .ui
        .note(format!("Toolcrib goes into {}.", listed(&files)));
    let question = match files.len() {
        1 => "Change this file?".to_owned(),
        n => format!("Change these {n} files?"),
    };
    let answered = context.ui.confirm(&question);
    match answered.map_err(|error| unanswered(&error))? {
        Some(true) => Ok(()),
        _ => Err(Failure::usage(
            "nothing was changed, because the question was not answered with yes",
        )),
    }
}

/// Words in one sentence: `a`, `a and b`, `a, b and c`.
fn listed<T: AsRef<str>>(words: &[T]) -> String {
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    match words.as_slice() {
        [rest @ .., last] if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        one => one.concat(),
    }
}

/// Writes our own configuration, then each client's file. Gives the failure to end with.
fn connect(
    context: &mut Context,
    record: &mut Record,
    chosen: &[Takeover],
    mut problems: Vec<Problem>,
) -> Result<Option<Failure>, Failure> {
    let time = backup_time();
    let own = Own::write(context, record, chosen, &time)?;
    let mut done: Vec<Value> = Vec::new();
    let mut titles = Vec::new();
    for offer in chosen {
        match put_in(context, record, offer, &time) {
            Ok((outcome, backup)) => {
                if outcome != "unchanged" {
                    titles.push(offer.client.title);
                }
                if !record.is_rehearsal() {
                    tell(context, offer, outcome, backup.as_ref());
                }
                done.push(json!({
                    "client": offer.client.id,
                    "file": offer.path,
                    "outcome": outcome,
                    "moved": names(offer),
                    "stays": others(offer).map(|(name, reason)| json!({"name": name, "reason": reason})).collect::<Vec<_>>(),
                    "backup": backup,
                }));
            }
            Err(error) => problems.push(Problem {
                client: offer.client,
                failure: export::refused(&error),
            }),
        }
    }
    if context.ui.is_json() {
        conclude_json(context, &own, &done, &problems, record.is_rehearsal());
    } else if !record.is_rehearsal() {
        conclude(context, &own, &titles);
    }
    Ok(ended(context, problems))
}

/// Puts our entry into one client's file, in the place of its servers.
fn put_in(
    context: &Context,
    record: &mut Record,
    offer: &Takeover,
    time: &str,
) -> Result<(&'static str, Option<PathBuf>), ExportError> {
    let entry = export::entry(context, offer.client).map_err(|failure| ExportError::Disk {
        path: offer.path.clone(),
        source: std::io::Error::other(failure.message),
    })?;
    let new = offer.result(&entry)?;
    if offer.text.as_deref() == Some(&*new) {
        return Ok(("unchanged", None));
    }
    let backup = record.make(
        &Change {
            client: Some(offer.client),
            path: &offer.path,
            old: offer.text.as_deref(),
            new: &new,
            entry: &entry.name,
            taken: &names(offer),
        },
        time,
    )?;
    let outcome = if offer.text.is_some() {
        "changed"
    } else {
        "created"
    };
    Ok((outcome, backup))
}

fn tell(context: &mut Context, offer: &Takeover, outcome: &str, backup: Option<&PathBuf>) {
    if context.ui.is_json() {
        return;
    }
    let title = offer.client.title;
    let file = context.surroundings.display(&offer.path);
    let moved = match offer.moving.len() {
        0 => String::new(),
        n => format!(" in the place of {}", counted(n, "server")),
    };
    let mut told = match outcome {
        "unchanged" => format!(" {title} uses Toolcrib already"),
        "created" => format!(" {title} has Toolcrib now: {file} was made"),
        _ => format!(" {title} has Toolcrib{moved} now: {file}"),
    };
    if let Some(backup) = backup {
        let name = backup.file_name().unwrap_or_default().to_string_lossy();
        told = format!("{told} (before: {name} beside it)");
    }
    context.ui.line(Line::new().mark(true).text(told));
    for (name, reason) in others(offer) {
        context.ui.note(format!("  {name} stays there: {reason}."));
    }
}

fn conclude_json(
    context: &mut Context,
    own: &Own,
    done: &[Value],
    problems: &[Problem],
    dry_run: bool,
) {
    let problems: Vec<Value> = problems
        .iter()
        .map(|problem| json!({"client": problem.client.id, "error": problem.failure.to_json()["error"]}))
        .collect();
    context.ui.json(&json!({
        "clients": done,
        "configuration": own.to_json(),
        "problems": problems,
        "dryRun": dry_run,
    }));
}

fn conclude(context: &mut Context, own: &Own, titles: &[&str]) {
    own.tell(context);
    if !titles.is_empty() {
        context
            .ui
            .note(format!("Restart {} to use it.", listed(titles)));
        context
            .ui
            .note("`toolcrib setup --undo` puts everything back; `toolcrib doctor` checks it.");
    }
}

/// What the command ends with where clients were left as they are.
fn ended(context: &mut Context, problems: Vec<Problem>) -> Option<Failure> {
    let mut findings: Vec<Finding> = Vec::new();
    let mut told: Vec<String> = Vec::new();
    for problem in problems {
        findings.extend(problem.failure.diagnostics);
        told.push(format!(
            "{}: {}",
            problem.client.title, problem.failure.message
        ));
    }
    if told.is_empty() {
        return None;
    }
    let failure = Failure::configuration(told.join("\n"));
    if context.ui.is_json() {
        // The object above has said it; a second one would not be JSON any more.
        context.ui.mute();
    }
    Some(failure.because(findings))
}
