//! `toolcrib registry-file`: the registry of operations as a file, and whether it fits the catalog.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;
use toolcrib_core::Code;

use super::Context;
use super::counter::{local, with_engine};
use crate::desk::{Desk, registry};
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
    Write(Where),
    /// Check that the file fits the catalog
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
            let path = match given {
                Some(path) => context.surroundings.cwd.join(path),
                None => context.surroundings.resolve(&configured).ok_or_else(|| {
                    Failure::configuration("registry.operationsPath leads nowhere")
                })?,
            };
            let desk = Desk::new(std::sync::Arc::clone(engine));
            let caller = local(engine);
            if checks {
                check(context, &desk, &caller, &path).await
            } else {
                write(context, &desk, &caller, &path).await
            }
        })
    }
}

async fn write(
    context: &mut Context,
    desk: &Desk,
    caller: &toolcrib_core::policy::Caller,
    path: &std::path::Path,
) -> Result<(), Failure> {
    let made = desk.registry(caller).await;
    registry::write(path, &made.text()).map_err(|error| {
        let why = format!("{} cannot be written: {error}", path.display());
        Failure::configuration(why)
    })?;
    let count = made.operation_count;
    if context.ui.is_json() {
        let shown = path.display().to_string();
        context
            .ui
            .json(&json!({"path": shown, "operation_count": count}));
    } else {
        let line = format!(" {count} operations written to {}", path.display());
        context.ui.line(Line::new().mark(true).text(line));
    }
    Ok(())
}

async fn check(
    context: &mut Context,
    desk: &Desk,
    caller: &toolcrib_core::policy::Caller,
    path: &std::path::Path,
) -> Result<(), Failure> {
    let there = registry::read(path).map_err(Failure::configuration)?;
    if there.is_none() {
        let why = format!(
            "{} is not there; `toolcrib registry-file write` makes it",
            path.display()
        );
        return Err(Failure::not_found(Code::ConfigurationError, why));
    }
    let found = desk.verify(caller, path).await;
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
            let line = format!(" {} fits the catalog", path.display());
            context.ui.line(Line::new().mark(true).text(line));
        }
    }
    if told.is_empty() {
        return Ok(());
    }
    Err(Failure::new(
        Code::ConfigurationError,
        format!(
            "{} does not fit the catalog; `toolcrib registry-file write` writes it anew",
            path.display()
        ),
    ))
}
