//! Our entries in the files of clients.

use std::path::Path;

use toolcrib_config::export::ExportError;
use toolcrib_config::export::takeover::Takeover;
use toolcrib_config::import::CLIENTS;

use super::{Check, State, counted};
use crate::cli::Context;

const AREA: &str = "clients";

/// Looks into the files of every client that is here.
pub(super) fn check(context: &Context) -> Vec<Check> {
    let surroundings = &context.surroundings;
    let mut checks = Vec::new();
    let mut any_here = false;
    for client in CLIENTS {
        let looked = Takeover::look(client, surroundings);
        any_here |= match &looked {
            Ok(found) => found
                .as_ref()
                .is_some_and(|found| found.is_here(surroundings)),
            // Its file is there, and only cannot be read.
            Err(_) => true,
        };
        match looked {
            Ok(Some(found)) if found.text.is_some() => checks.push(judge(context, &found)),
            Ok(_) => {}
            Err(error) => checks.push(
                Check::new(AREA, client.title, State::Bad, unusable(context, &error))
                    .advise("correct its file; `toolcrib import` shows the place"),
            ),
        }
    }
    if checks
        .iter()
        .all(|check| !check.more.contains_key("command"))
    {
        checks.push(
            Check::new(
                AREA,
                "all",
                State::Warning,
                "no client has Toolcrib in its file",
            )
            .advise(if any_here {
                "`toolcrib setup` connects the clients of this machine"
            } else {
                "install an MCP client and run `toolcrib setup`, or name the one that you will use: `toolcrib setup cursor`"
            }),
        );
    }
    checks
}

fn unusable(context: &Context, error: &ExportError) -> String {
    match error {
        ExportError::Broken { path, .. } => {
            let file = context.surroundings.display(path);
            format!("{file} cannot be read and is left as it is")
        }
        error => error.to_string(),
    }
}

fn judge(context: &Context, found: &Takeover) -> Check {
    let title = found.client.title;
    let file = context.surroundings.display(&found.path);
    let beside = found.moving.len();
    let Some((name, command)) = found.own_entry() else {
        let message = match beside {
            0 => format!("{file} does not have Toolcrib"),
            n => {
                let servers = counted(n, "server");
                format!("{file} does not have Toolcrib; the client starts {servers} itself")
            }
        };
        return Check::good(AREA, title, message);
    };
    let check = match &command {
        Some(command) if is_missing(command) => {
            let message = format!("{file} starts {command}, which is not there");
            Check::new(AREA, title, State::Bad, message).advise(format!(
                "run `toolcrib setup {} --yes` with the program that shall be used",
                found.client.id
            ))
        }
        _ if beside > 0 => {
            let message = format!(
                "{file} has Toolcrib as {name}, and {} beside it",
                counted(beside, "server")
            );
            Check::new(AREA, title, State::Warning, message).advise(format!(
                "`toolcrib setup {}` puts them behind Toolcrib",
                found.client.id
            ))
        }
        _ => Check::good(AREA, title, format!("{file} has Toolcrib as {name}")),
    };
    check
        .with("command", command)
        .with("file", found.path.display().to_string())
}

/// Whether a command that is a path leads nowhere. A bare name is looked up where the client runs.
fn is_missing(command: &str) -> bool {
    let path = Path::new(command);
    path.is_absolute() && !path.exists()
}
