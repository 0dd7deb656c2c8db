//! `toolcrib export`: puts Toolcrib's own entry into a client's file, and takes it out again.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;
use toolcrib_config::export::client::{Entry, ExportError, add_entry, target};
use toolcrib_config::export::install::{self, Undone, Written, install, uninstall};
use toolcrib_config::export::record::Record;
use toolcrib_config::import::{CLIENTS, Client};
use toolcrib_core::nearest;

use super::target::backup_time;
use super::{Context, setup};
use crate::failure::Failure;
use crate::finding::Finding;
use crate::ui::Line;

/// Put Toolcrib into a client's configuration
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib export --to cursor
  toolcrib export --to claude-code --project   into the file of the working directory
  toolcrib export --to cursor --undo

Exit codes: 0 it is as was asked for, 1 wrong arguments, 2 a file cannot be read or written.")]
pub struct Export {
    /// The client
    #[arg(long, value_name = "CLIENT", add = super::completions::client())]
    to: String,
    /// Write nothing; print the entry and the file it would go into
    #[arg(long, conflicts_with = "undo")]
    dry_run: bool,
    /// Take the entry out again
    #[arg(long)]
    undo: bool,
    /// The client's file of the working directory instead of the user's
    #[arg(long)]
    project: bool,
}

impl Export {
    /// Runs the command.
    pub fn run(self, context: &mut Context) -> Result<(), Failure> {
        let client = client(&self.to)?;
        let path = target(client, &context.surroundings, self.project)
            .ok_or_else(|| refused(&ExportError::Unsupported(client.title)))?;
        let entry = entry(context, client)?;
        if self.undo {
            undo(context, client, &path, &entry)
        } else if self.dry_run {
            preview(context, client, &path, &entry)
        } else {
            write(context, client, &path, &entry)
        }
    }
}

pub(super) fn client(id: &str) -> Result<&'static Client, Failure> {
    Client::by_id(id).ok_or_else(|| {
        let ids = CLIENTS.iter().map(|client| client.id);
        let near = nearest::nearest(id, ids.clone(), 1);
        let known: Vec<&str> = ids.collect();
        Failure::usage(match near.first() {
            Some(near) => format!("{id} is no known client; did you mean {near}?"),
            None => format!("{id} is no known client; known are {}", known.join(", ")),
        })
    })
}

/// Our entry: this program by its full path, because a client started from a menu has another PATH.
pub(super) fn entry(context: &Context, client: &'static Client) -> Result<Entry, Failure> {
    let program = std::env::current_exe().map_err(|error| {
        Failure::configuration(format!("the path of this program is not known: {error}"))
    })?;
    let mut entry = Entry::own(client, program.display().to_string());
    if let Some(config) = context.explicit_config() {
        entry
            .args
            .extend(["--config".to_owned(), config.display().to_string()]);
    }
    Ok(entry)
}

pub(super) fn refused(error: &ExportError) -> Failure {
    let diagnostics = match error {
        ExportError::Broken { diagnostics, .. } => diagnostics.iter().map(Finding::from).collect(),
        _ => Vec::new(),
    };
    Failure::configuration(error.to_string()).because(diagnostics)
}

fn write(
    context: &mut Context,
    client: &'static Client,
    path: &Path,
    entry: &Entry,
) -> Result<(), Failure> {
    let written = install(client, path, entry, &backup_time()).map_err(|error| refused(&error))?;
    let shown = context.surroundings.display(path);
    let (state, backup): (&str, Option<&PathBuf>) = match &written {
        Written::Unchanged => ("unchanged", None),
        Written::Created => ("created", None),
        Written::Changed(backup) => ("changed", Some(backup)),
    };
    if context.ui.is_json() {
        context.ui.json(&json!({
            "client": client.id,
            "file": path,
            "outcome": state,
            "backup": backup,
        }));
        return Ok(());
    }
    let told = match &written {
        Written::Unchanged => format!(" {shown} has the entry already"),
        Written::Created => format!(" {shown} was made with the entry"),
        Written::Changed(backup) => {
            let backup = context.surroundings.display(backup);
            format!(" {shown} has the entry now; what it was is in {backup}")
        }
    };
    context.ui.line(Line::new().mark(true).text(told));
    if written != Written::Unchanged {
        let title = client.title;
        context.ui.note(format!("Restart {title} to use it."));
    }
    Ok(())
}

fn preview(
    context: &mut Context,
    client: &'static Client,
    path: &Path,
    entry: &Entry,
) -> Result<(), Failure> {
    // Trying it on the file as it is shows whether it can be done; the file may hold secrets of
    // others, so only our own entry is printed.
    let text = install::read(path).map_err(|error| refused(&error))?;
    add_entry(client, path, text.as_deref(), entry).map_err(|error| refused(&error))?;
    let alone = add_entry(client, path, None, entry).map_err(|error| refused(&error))?;
    if context.ui.is_json() {
        context.ui.json(&json!({
            "client": client.id,
            "file": path,
            "outcome": "dry-run",
            "text": alone,
        }));
        return Ok(());
    }
    let shown = context.surroundings.display(path);
    context.ui.line(format!("{shown} would get this entry:"));
    context.ui.gap();
    for line in alone.lines() {
        context.ui.line(Line::new().whole(line));
    }
    Ok(())
}

fn undo(
    context: &mut Context,
    client: &'static Client,
    path: &Path,
    entry: &Entry,
) -> Result<(), Failure> {
    let shown = context.surroundings.display(path);
    // What setup took out is in a backup that only setup can put back.
    let record = Record::open(setup::record(context)).map_err(|error| refused(&error))?;
    if record.has(path) {
        return Err(Failure::usage(format!(
            "{shown} was changed by setup; `toolcrib setup --undo {}` takes that back",
            client.id
        )));
    }
    let undone = uninstall(client, path, entry).map_err(|error| refused(&error))?;
    let (state, told) = match undone {
        Undone::Nothing => ("unchanged", format!("{shown} has no entry of Toolcrib.")),
        Undone::Restored => ("restored", format!("{shown} is as it was before.")),
        Undone::Deleted => ("deleted", format!("{shown} held nothing else and is gone.")),
        Undone::TakenOut => (
            "taken-out",
            format!("The entry is out of {shown}; what changed since then is kept."),
        ),
    };
    if context.ui.is_json() {
        context
            .ui
            .json(&json!({ "client": client.id, "file": path, "outcome": state }));
    } else {
        context.ui.line(told);
    }
    Ok(())
}
