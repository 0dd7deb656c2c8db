//! `toolcrib registry-file`: the registry of operations as a file, and whether it fits the catalog.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, Subcommand};
use serde_json::json;
use toolcrib_core::Code;

use super::Context;
use super::counter::{asking, local, troubles, with_engine};
use super::shown::counted;
use crate::desk::{Desk, registry};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::ui::Line;

/// Write the registry of operations, and check that it fits the catalog
#[derive(Debug, Args)]
pub struct RegistryFile {
    #[command(subcommand)]
    command: RegistryFileCommand,
}

#[derive(Debug, Subcommand)]
enum RegistryFileCommand {
    /// Write every operation of the catalog to the file
    ///
    /// A server that cannot be asked is left out; the file is written all the same, and the command ends with 3.
    #[command(after_help = "\
Examples:
  toolcrib registry-file write
  toolcrib registry-file write --path operations.json

Exit codes: 0 every operation is written, 1 wrong arguments, 2 the configuration does not load, 3 a \
server cannot be asked, the file cannot be written, or the store cannot be used.")]
    Write(Where),
    /// Check that the file fits the catalog
    #[command(after_help = "\
Examples:
  toolcrib registry-file check

Exit codes: 0 the file fits, 1 wrong arguments, 2 it does not fit or cannot be read, or the \
configuration does not load, 3 the store cannot be used.")]
    Check(Where),
}

#[derive(Debug, Args)]
struct Where {
    /// The file; `registry.operationsPath` or `MCP_REGISTRY_PATH` unless given
    #[arg(long, value_name = "FILE", help = WHERE_HELP)]
    path: Option<PathBuf>,
}

const WHERE_HELP: &str =
    "The file; registry.operationsPath of the configuration unless given [env: MCP_REGISTRY_PATH]";

impl RegistryFile {
    /// Runs the command.
    pub fn run(self, context: &mut Context) -> Result<(), Failure> {
        let (checks, given) = match self.command {
            RegistryFileCommand::Write(place) => (false, place.path),
            RegistryFileCommand::Check(place) => (true, place.path),
        };
        with_engine(context, async |context, engine| {
            let configured = engine.config().settings.registry.operations_path.clone();
            let option = given
                .as_ref()
                .map_or_else(String::new, |given| format!(" --path {}", given.display()));
            let path = match given {
                Some(path) => context.surroundings.cwd.join(path),
                None => context.surroundings.resolve(&configured).ok_or_else(|| {
                    Failure::configuration("registry.operationsPath leads nowhere")
                })?,
            };
            let place = Place { path, option };
            let desk = Desk::new(Arc::clone(engine));
            let caller = local(engine);
            if checks {
                check(context, engine, &desk, &caller, &place).await
            } else {
                write(context, engine, &desk, &caller, &place).await
            }
        })
    }
}

/// The file, and the `--path` with which it was named.
struct Place {
    path: PathBuf,
    option: String,
}

async fn write(
    context: &mut Context,
    engine: &Arc<Engine>,
    desk: &Desk,
    caller: &toolcrib_core::policy::Caller,
    place: &Place,
) -> Result<(), Failure> {
    let path = place.path.as_path();
    let (made, left_out) = asking(context, engine, desk.registry(caller)).await;
    registry::write(path, &made.text())
        .map_err(|error| Failure::unwritten(&path.display().to_string(), &error))?;
    let count = made.operation_count;
    if context.ui.is_json() {
        let shown = path.display().to_string();
        context
            .ui
            .json(&json!({"path": shown, "operation_count": count, "left_out": left_out}));
    } else {
        let count = counted(count, "operation");
        let line = format!(" {count} written to {}", context.surroundings.display(path));
        context
            .ui
            .line(Line::new().mark(left_out.is_empty()).text(line));
    }
    let why = troubles(engine, caller).await;
    let ended = whole(path, &left_out, &why);
    if context.ui.is_json() {
        context.ui.mute();
    }
    ended
}

/// What the command ends with: a file without the operations of a server is written, and no success.
fn whole(
    path: &std::path::Path,
    left_out: &[Arc<str>],
    why: &BTreeMap<String, String>,
) -> Result<(), Failure> {
    if left_out.is_empty() {
        return Ok(());
    }
    let mut message = format!(
        "{} was written without the operations of {}, which could not be asked; mend that and write it again",
        path.display(),
        left_out.join(", ")
    );
    for name in left_out {
        if let Some(reason) = why.get(&**name) {
            let _ = write!(message, "\n  {name}: {reason}");
        }
    }
    Err(Failure::new(Code::ServerConnectionError, message))
}

async fn check(
    context: &mut Context,
    engine: &Arc<Engine>,
    desk: &Desk,
    caller: &toolcrib_core::policy::Caller,
    place: &Place,
) -> Result<(), Failure> {
    let path = place.path.as_path();
    let there = registry::read(path).map_err(Failure::configuration)?;
    if there.is_none() {
        let why = format!(
            "{} is not there; `toolcrib registry-file write{}` makes it",
            path.display(),
            place.option
        );
        return Err(Failure::configuration(why));
    }
    let found = asking(context, engine, desk.verify(caller, path)).await;
    let told: Vec<String> = found.iter().map(ToString::to_string).collect();
    if context.ui.is_json() {
        let shown = path.display().to_string();
        context
            .ui
            .json(&json!({"path": shown, "fits": told.is_empty(), "drift": told}));
    } else {
        for line in &told {
            context
                .ui
                .line(Line::new().mark(false).text(format_args!(" {line}")));
        }
        if told.is_empty() {
            let line = format!(" {} fits the catalog", context.surroundings.display(path));
            context.ui.line(Line::new().mark(true).text(line));
        }
    }
    if told.is_empty() {
        return Ok(());
    }
    if context.ui.is_json() {
        // What does not fit stands in it.
        context.ui.mute();
    }
    Err(Failure::configuration(format!(
        "{} does not fit the catalog; `toolcrib registry-file write{}` writes it anew",
        path.display(),
        place.option
    )))
}
