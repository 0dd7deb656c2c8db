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
    let mut done: Vec<Value> = Vec::new();
    let mut failed = None;
    while failed.is_none() {
        // Newest first, and a file of ours only when no client is left that needs it.
        let clients_left = record.steps().iter().any(|step| step.client.is_some());
        let reverted =
            record.revert(|step| is_meant(step) || (!clients_left && step.client.is_none()));
        match reverted {
            None => break,
            Some((step, Ok(reverted))) => {
                tell(context, &step, &reverted);
                done.push(outcome(&step, &reverted));
            }
            Some((_, Err(error))) => failed = Some(export::refused(&error)),
        }
    }
    if context.ui.is_json() && failed.is_none() {
        context.ui.json(&json!({ "files": done }));
    } else if done.is_empty() && failed.is_none() {
        context.ui.line("Setup has changed nothing here.");
    }
    failed.map_or(Ok(()), Err)
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
