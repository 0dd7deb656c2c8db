//! `toolcrib setup --undo`: everything back, or where a file was edited since, only what was put in
//! out again.

use serde_json::{Value, json};
use toolcrib_config::export::record::{Record, Reverted, Step};
use toolcrib_config::import::Client;

use super::listed;
use crate::cli::{Context, export};
use crate::failure::Failure;
use crate::ui::{Line, Tone};

/// Takes back what setup did to the clients, all of them unless some are named. Our own configuration
/// goes back with the last client. In a rehearsal it only says so.
pub(super) fn run(
    context: &mut Context,
    mut record: Record,
    named: &[&'static Client],
) -> Result<(), Failure> {
    let is_meant = |step: &Step| {
        step.client
            .as_deref()
            .is_some_and(|id| named.is_empty() || named.iter().any(|client| client.id == id))
    };
    let mut done: Vec<(Step, Reverted)> = Vec::new();
    let mut failed: Vec<(Step, Failure)> = Vec::new();
    loop {
        // Newest first, and a file of ours only when no client is left that needs it. One that cannot be put back
        // is left for later, and does not keep the others from it.
        let clients_left = record.steps().iter().any(|step| step.client.is_some());
        let is_tried = |step: &Step| failed.iter().any(|(tried, _)| tried == step);
        let reverted = record.revert(|step| {
            !is_tried(step) && (is_meant(step) || (!clients_left && step.client.is_none()))
        });
        match reverted {
            None => break,
            Some((step, Ok(reverted))) => note(&mut done, step, reverted),
            Some((step, Err(error))) => failed.push((step, export::refused(&error))),
        }
    }
    if context.ui.is_json() {
        let files: Vec<Value> = done
            .iter()
            .map(|(step, done)| outcome(step, done))
            .collect();
        let failures: Vec<Value> = failed
            .iter()
            .map(|(step, why)| refusal(step, why))
            .collect();
        context.ui.json(
            &json!({ "files": files, "failures": failures, "dryRun": record.is_rehearsal() }),
        );
        // The object above has said it; a second one would not be JSON any more.
        context.ui.mute();
    }
    for (step, reverted) in &done {
        tell(context, step, reverted, record.is_rehearsal());
    }
    if record.is_rehearsal() && !done.is_empty() && !context.ui.is_json() {
        let line = "Nothing was changed; `toolcrib setup --undo` does it.";
        context.ui.note(Line::new().tone(Tone::Dim, line));
    }
    if done.is_empty() && failed.is_empty() {
        context.ui.line(nothing_left(&record, named));
    }
    ended(context, failed)
}

/// What is said where there was nothing to take back.
fn nothing_left(record: &Record, named: &[&'static Client]) -> String {
    if record.steps().is_empty() {
        return "Nothing is left to undo.".to_owned();
    }
    let titles: Vec<&str> = named.iter().map(|client| client.title).collect();
    format!("Nothing of {} is left to undo.", listed(&titles))
}

/// Names that are not ours, as a sentence has them.
fn quoted(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
    listed(&names)
}

/// Notes what became of a file. Of one that was changed several times, what it is now counts.
fn note(done: &mut Vec<(Step, Reverted)>, step: Step, reverted: Reverted) {
    let earlier = done
        .iter_mut()
        .find(|(earlier, _)| earlier.file == step.file);
    match earlier {
        Some(earlier) if matches!(earlier.1, Reverted::Restored | Reverted::Nothing) => {
            *earlier = (step, reverted);
        }
        Some(_) if reverted == Reverted::Nothing => {}
        Some(earlier) if matches!(reverted, Reverted::Kept | Reverted::Needed(_)) => {
            *earlier = (step, reverted);
        }
        _ => done.push((step, reverted)),
    }
}

fn refusal(step: &Step, why: &Failure) -> Value {
    json!({
        "client": step.client,
        "file": step.file,
        "backup": step.backup,
        "error": why.to_json()["error"],
    })
}

/// What the command ends with where files could not be put back.
fn ended(context: &Context, failed: Vec<(Step, Failure)>) -> Result<(), Failure> {
    let (mut told, mut findings) = (Vec::new(), Vec::new());
    for (step, why) in failed {
        let before = step.backup.map(|backup| {
            let backup = context.surroundings.display(&backup);
            format!("; the file before setup is {backup}")
        });
        told.push(format!("{}{}", why.message, before.unwrap_or_default()));
        findings.extend(why.diagnostics);
    }
    if told.is_empty() {
        return Ok(());
    }
    Err(Failure::configuration(told.join("\n")).because(findings))
}

fn outcome(step: &Step, reverted: &Reverted) -> Value {
    let (outcome, back, missing): (&str, &[String], &[String]) = match reverted {
        Reverted::Nothing => ("unchanged", &[], &[]),
        Reverted::Gone => ("gone", &[], &[]),
        Reverted::Restored => ("restored", &[], &[]),
        Reverted::Deleted => ("deleted", &[], &[]),
        Reverted::TakenOut {
            entry: true,
            back,
            missing,
        } => ("taken-out", back, missing),
        Reverted::TakenOut { back, missing, .. } if back.is_empty() => ("kept", back, missing),
        Reverted::TakenOut { back, missing, .. } => ("put-back", back, missing),
        Reverted::Kept | Reverted::Needed(_) => ("kept", &[], &[]),
    };
    json!({ "client": step.client, "file": step.file, "outcome": outcome, "back": back, "missing": missing })
}

fn tell(context: &mut Context, step: &Step, reverted: &Reverted, rehearsal: bool) {
    if context.ui.is_json() {
        return;
    }
    let told = if rehearsal {
        foretold(context, step, reverted)
    } else {
        told(context, step, reverted)
    };
    context.ui.line(told);
    let missing = match reverted {
        Reverted::Gone => "",
        Reverted::TakenOut { missing, .. } => &quoted(missing),
        _ => return,
    };
    if let Some(backup) = step.backup.as_ref().filter(|backup| backup.exists()) {
        let backup = context.surroundings.display(backup);
        context.ui.note(if missing.is_empty() {
            format!("  The file before setup is {backup}.")
        } else if rehearsal {
            format!("  {missing} cannot be put back; copy it from {backup}.")
        } else {
            format!("  {missing} could not be put back; copy it from {backup}.")
        });
    }
}

/// What was done, in a sentence.
fn told(context: &Context, step: &Step, reverted: &Reverted) -> String {
    let file = context.surroundings.display(&step.file);
    match reverted {
        Reverted::Nothing => format!("{file} has nothing of Toolcrib any more."),
        Reverted::Gone => format!("{file} was removed since and is not put back."),
        Reverted::Restored => format!("{file} is as it was before, every byte of it."),
        Reverted::Deleted => format!("{file} was made by setup and is gone."),
        Reverted::Kept => {
            format!("{file} was edited since and stays as it is, with the servers in it.")
        }
        Reverted::Needed(other) => {
            let other = context.surroundings.display(other);
            format!("{file} stays as it is, because it alone has the servers that {other} had.")
        }
        Reverted::TakenOut {
            entry: true, back, ..
        } => {
            let back = match back.as_slice() {
                [] => String::new(),
                names => format!(" and {} put back", quoted(names)),
            };
            format!(
                "{file} was edited since: only Toolcrib's entry was taken out{back}; your changes stay."
            )
        }
        Reverted::TakenOut { back, .. } => match back.as_slice() {
            [] => format!(
                "{file} was edited since and has nothing of Toolcrib any more; it stays as it is."
            ),
            names => format!(
                "{file} was edited since and had nothing of Toolcrib any more: {} put back; your changes stay.",
                quoted(names)
            ),
        },
    }
}

/// What would be done, in a sentence.
fn foretold(context: &Context, step: &Step, reverted: &Reverted) -> String {
    let file = context.surroundings.display(&step.file);
    match reverted {
        Reverted::Gone => format!("{file} was removed since and would not be put back."),
        Reverted::Restored => format!("{file} would be as it was before, every byte of it."),
        Reverted::Deleted => format!("{file} was made by setup and would be gone."),
        Reverted::Nothing => format!("{file} would have nothing of Toolcrib any more."),
        Reverted::Kept => {
            format!("{file} was edited since and would stay as it is, with the servers in it.")
        }
        Reverted::Needed(other) => {
            let other = context.surroundings.display(other);
            format!(
                "{file} would stay as it is, because it alone has the servers that {other} had."
            )
        }
        Reverted::TakenOut { entry, back, .. } => {
            let out = entry.then(|| "Toolcrib's entry would be taken out".to_owned());
            let back = match back.as_slice() {
                [] => None,
                names => Some(format!("{} would be put back", quoted(names))),
            };
            let parts: Vec<String> = out.into_iter().chain(back).collect();
            if parts.is_empty() {
                format!("{file} was edited since and would stay as it is.")
            } else {
                format!("{file} was edited since: only {}.", parts.join(" and "))
            }
        }
    }
}
