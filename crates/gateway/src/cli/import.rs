//! `toolcrib import`: what other clients have, shown and written down.

use std::io::{ErrorKind, IsTerminal};
use std::path::Path;

use clap::Args;
use serde_json::{Value, json};
use toolcrib_config::Severity;
use toolcrib_config::export::install::back_up;
use toolcrib_config::export::own;
use toolcrib_config::file::Shape;
use toolcrib_config::import::discover::{self, State};
use toolcrib_config::import::{CLIENTS, Client, Discovery, Scope};
use toolcrib_config::load::candidates::Candidate;
use toolcrib_config::merge::{self, Merged};
use toolcrib_config::output::{self, Former};
use toolcrib_config::reader::Format;
use toolcrib_config::trust::{Trust, TrustStore};
use toolcrib_core::nearest;

use super::Context;
use super::shown::counted;
use super::target::{Whose, backup_time, target};
use crate::failure::Failure;
use crate::finding::Finding;
use crate::loader::{Loader, trust_record};
use crate::ui::Line;

mod inventory;
mod origin;

use inventory::Inventory;

/// Show the servers that other clients have, and write them into a configuration
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib import                    what is where
  toolcrib import --write            write it down
  toolcrib import --from cursor      only this client
  toolcrib import --from ./mcp.json  a file

Exit codes: 0 what was found is shown or written, 1 wrong arguments, 2 a file cannot be read, is \
there already, or cannot be written.")]
pub struct Import {
    /// Only this client's files, or only this file
    #[arg(long, value_name = "CLIENT|FILE", add = super::completions::client())]
    from: Option<String>,
    /// Write nothing; print what would be written
    #[arg(long, conflicts_with = "write")]
    dry_run: bool,
    /// Write the configuration
    #[arg(long)]
    write: bool,
    /// Replace a configuration that is there already; a backup stays beside it
    #[arg(long, requires = "write")]
    replace: bool,
}

impl Import {
    /// Runs the command.
    pub fn run(self, context: &mut Context) -> Result<(), Failure> {
        let Found {
            discovery,
            merged,
            inventory,
        } = Found::look(context, self.from.as_deref())?;
        let target = target(context, Whose::User)?;
        let text = own::to_yaml(&merged.servers, HEADER);
        // A screen is seen by others, and what was on it is kept; who pipes it wants the file.
        let shown = if std::io::stdout().is_terminal() {
            own::to_shown_yaml(&merged.servers, HEADER)
        } else {
            text.clone()
        };
        // An empty configuration would keep the clients' files from being used as they are.
        let written = if self.write && !merged.servers.is_empty() {
            write(context, &target, &text, self.replace)?;
            Some(&target)
        } else {
            None
        };
        if context.ui.is_json() {
            context.ui.json(&json!({
                "servers": inventory.servers(),
                "skipped": inventory.skipped(),
                "files": inventory.files(),
                "plainSecrets": own::plain_secrets(&merged.servers),
                "written": written,
                "text": self.dry_run.then_some(&shown),
            }));
            let ended = unread(context, &discovery, !merged.servers.is_empty());
            context.ui.mute();
            return ended;
        }
        inventory.show(context);
        findings(context, &discovery);
        secrets(context, &merged);
        if !merged.servers.is_empty() {
            self.conclude(context, &merged, &target, written.is_some());
        }
        if self.dry_run {
            context.ui.gap();
            for line in shown.lines() {
                context.ui.line(Line::new().whole(line));
            }
            if shown != text {
                context.ui.note(
                    "Secrets are *** on a terminal; they are whole in a pipe and in the file that `--write` makes.",
                );
            }
        }
        unread(context, &discovery, !merged.servers.is_empty())
    }

    /// What was done, or what can be done next.
    fn conclude(&self, context: &mut Context, merged: &Merged, target: &Path, written: bool) {
        let path = context.surroundings.display(target);
        let servers = merged.servers.len();
        let count = counted(servers, "server");
        let them = if servers == 1 { "it" } else { "them" };
        let from = self.from.as_ref();
        let from = from.map_or_else(String::new, |from| format!(" --from {from}"));
        let there = target.exists();
        context.ui.gap();
        if written {
            let line = Line::new().mark(true);
            let line = line.text(format_args!(" {count} written to {path}"));
            context.ui.line(line);
            context.ui.gap();
            context.ui.line(format!(
                "`toolcrib list` shows {them}; `toolcrib setup` puts Toolcrib into your clients."
            ));
            return;
        }
        context.ui.line(match (there, self.dry_run) {
            (false, false) => format!(
                "{count} found; `toolcrib import{from} --write` writes {them} to {path}"
            ),
            (false, true) => format!(
                "{count} found; `toolcrib import{from} --write` writes this to {path}:"
            ),
            (true, false) => format!(
                "{count} found; {path} is there already: `toolcrib import{from} --dry-run` shows what to add to it"
            ),
            (true, true) if !is_replaceable(target) => {
                format!("{count} found; this is what to add to {path} by hand:")
            }
            (true, true) => format!(
                "{count} found; this is what to add to {path}, or `toolcrib import{from} --write --replace` puts it in its place:"
            ),
        });
    }
}

/// What the command ends with: a file that is there and cannot be read is a configuration error, also
/// where the others were used.
fn unread(context: &Context, discovery: &Discovery, others: bool) -> Result<(), Failure> {
    let broken = discovery
        .files
        .iter()
        .filter(|file| file.state == State::Broken);
    let paths: Vec<String> = broken
        .map(|file| context.surroundings.display(&file.path))
        .collect();
    if paths.is_empty() {
        return Ok(());
    }
    let rest = if others {
        "; correct it or ignore it, what else was found is shown above"
    } else {
        "; correct it"
    };
    Err(Failure::configuration(format!(
        "{} cannot be read{rest}",
        paths.join(", ")
    )))
}

/// What the files of other clients hold, and what becomes of it.
pub(super) struct Found {
    discovery: Discovery,
    merged: Merged,
    inventory: Inventory,
}

impl Found {
    /// Looks into the files of every client, of one, or into the file that is named.
    pub(super) fn look(context: &Context, from: Option<&str>) -> Result<Self, Failure> {
        let discovery = Self::discover(context, from)?;
        let merged = merge::merge(discovery.servers().cloned());
        let waiting = inventory::waiting(&merged.servers, &context.surroundings);
        Ok(Self {
            inventory: Inventory::of(&discovery, &merged, &waiting),
            discovery,
            merged,
        })
    }

    /// Whether no server was found.
    pub(super) fn is_empty(&self) -> bool {
        self.merged.servers.is_empty()
    }

    /// Every server that was found, as JSON shows it.
    pub(super) fn servers(&self) -> Value {
        self.inventory.servers()
    }

    /// Shows the table of what was found where.
    pub(super) fn show(&self, context: &mut Context) {
        self.inventory.show(context);
        self.inventory.show_broken(context);
    }

    fn discover(context: &Context, from: Option<&str>) -> Result<Discovery, Failure> {
        let surroundings = &context.surroundings;
        let mut discovery = match from {
            None => discover::discover(surroundings),
            Some(from) => match Client::by_id(from) {
                Some(client) => Discovery {
                    files: discover::discover_client(client, surroundings),
                },
                None => Discovery {
                    files: vec![named(context, from)?],
                },
            },
        };
        let store = TrustStore::open(trust_record(surroundings))?;
        discovery.trust(|path, hash| store.state_of_hash(path, hash) == Trust::Trusted);
        Ok(discovery)
    }
}

/// The comment at the top of what is written.
const HEADER: &str = "Written by `toolcrib import`. `toolcrib config validate` checks it.";

/// A file that the user named, read in the format that it has.
fn named(context: &Context, from: &str) -> Result<discover::Found, Failure> {
    let surroundings = &context.surroundings;
    let path = surroundings
        .resolve(from)
        .filter(|path| path.exists())
        .ok_or_else(|| {
            let ids: Vec<&str> = CLIENTS.iter().map(|client| client.id).collect();
            let hint = match nearest::nearest(from, ids.iter().copied(), 1).first() {
                Some(near) => format!("did you mean {near}?"),
                None => format!("check the path, or name one of {}", ids.join(", ")),
            };
            Failure::usage(format!(
                "{from} is neither a file that is there nor a client; {hint}"
            ))
        })?;
    let client = origin::client_of(&path, surroundings);
    let found = discover::look(client, &path, Scope::User, surroundings);
    if found.state == State::Broken {
        let findings = found.diagnostics.iter().map(Finding::from).collect();
        let path = surroundings.display(&path);
        return Err(Failure::configuration(format!("{path} cannot be imported")).because(findings));
    }
    Ok(found)
}

/// Whether what is written can stand in the place of a file: it is YAML, and ours alone.
fn is_replaceable(target: &Path) -> bool {
    Format::of(target).is_none_or(|format| format == Format::Yaml)
        && Candidate::explicit(target).shape == Shape::Whole
}

/// Writes the file for the user alone, and makes sure that it loads.
fn write(context: &Context, target: &Path, text: &str, replace: bool) -> Result<(), Failure> {
    let shown = context.surroundings.display(target);
    let failed = |error: std::io::Error| {
        Failure::configuration(format!("{shown} cannot be written: {error}"))
    };
    let is_there = || {
        Failure::configuration(format!(
            "{shown} is there already; add --replace to replace it, or --dry-run to see what to add to it"
        ))
    };
    let former = if replace {
        Former::Replaced
    } else {
        Former::None
    };
    if !is_replaceable(target) {
        return Err(Failure::configuration(if target.exists() {
            format!(
                "{shown} is the configuration, and what import writes is YAML of Toolcrib alone; add to it by hand what `toolcrib import --dry-run` shows, or move it away first"
            )
        } else {
            format!(
                "{shown} would not be YAML, which import writes; name a file that ends in .yaml"
            )
        }));
    }
    if target.exists() && !replace {
        return Err(is_there());
    }
    if target.is_file() {
        back_up(target, &backup_time()).map_err(failed)?;
    }
    output::write(target, text, former).map_err(|error| match error.kind() {
        // Somebody else has made it since.
        ErrorKind::AlreadyExists if target.is_file() => is_there(),
        _ => failed(error),
    })?;
    if !target.is_file() {
        // What went into a pipe is not there to be read again.
        return Ok(());
    }
    let loader = Loader::new(context.surroundings.clone(), Some(target.to_owned()));
    loader.config().map(drop).map_err(|failure| Failure {
        message: format!("{shown} was written and does not load; this is a bug, please report it"),
        ..failure
    })
}

/// What was found out about the files, beside their servers.
fn findings(context: &mut Context, discovery: &Discovery) {
    for file in &discovery.files {
        for diagnostic in &file.diagnostics {
            if diagnostic.severity != Severity::Note {
                context.ui.finding(&diagnostic.into());
            }
        }
    }
}

fn secrets(context: &mut Context, merged: &Merged) {
    for place in own::plain_secrets(&merged.servers) {
        context.ui.note(format!(
            "{place} is a secret in plain text; put it into the environment and write ${{NAME}}"
        ));
    }
}
