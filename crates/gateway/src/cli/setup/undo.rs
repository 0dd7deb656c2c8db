//! `toolcrib setup --undo`: everything back, or where a file was edited since, only what was put in
//! out again.

use serde_json::{Value, json};
use toolcrib_config::export::record::{Record, Reverted, Step};
use toolcrib_config::import::Client;

use crate::cli::{Context, export};
use crate::failure::Failure;

/// Takes back what setup did to the clients, all of them unless some are named. Our own configuration
/// goes back with the last client.
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
        context
            .ui
            .json(&json!({ "files": files, "failures": failures }));
        // The object above has said it; a second one would not be JSON any more.
        context.ui.mute();
    }
    for (step, reverted) in &done {
        tell(context, step, reverted);
    }
    if done.is_empty() && failed.is_empty() {
        context.ui.line("Setup has changed nothing here.");
    }
    ended(context, failed)
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
        Reverted::TakenOut { back, missing } => ("taken-out", back, missing),
        Reverted::Kept => ("kept", &[], &[]),
    };
    json!({ "client": step.client, "file": step.file, "outcome": outcome, "back": back, "missing": missing })
}

fn tell(context: &mut Context, step: &Step, reverted: &Reverted) {
    if context.ui.is_json() {
        return;
    }
    let file = context.surroundings.display(&step.file);
    context.ui.line(match reverted {
        Reverted::Nothing => format!("{file} has nothing of Toolcrib any more."),
        Reverted::Gone => format!("{file} was removed since and is not put back."),
        Reverted::Restored => format!("{file} is as it was before, every byte of it."),
        Reverted::Deleted => format!("{file} was made by setup and is gone."),
        Reverted::Kept => {
            format!("{file} was edited since and stays as it is, with the servers in it.")
        }
        Reverted::TakenOut { back, .. } => {
            let back = match back.as_slice() {
                [] => String::new(),
                names => format!(" and {} put back", names.join(", ")),
            };
            format!("{file} was edited since: only Toolcrib's entry was taken out{back}; your changes stay.")
        }
    });
    let missing = match reverted {
        Reverted::Gone => "",
        Reverted::TakenOut { missing, .. } => &missing.join(", "),
        _ => return,
    };
    if let Some(backup) = &step.backup {
        let backup = context.surroundings.display(backup);
        context.ui.note(if missing.is_empty() {
            format!("  The file before setup is {backup}.")
        } else {
            format!("  {missing} could not be put back; copy it from {backup}.")
        });
    }
}
