//! `toolcrib config sources`: where the configuration comes from.

use clap::Args;
use serde_json::{Value, json};
use toolcrib_config::load::candidates::{self, Candidate};
use toolcrib_config::load::{Config, SourceReport, SourceState};
use toolcrib_config::{Diagnostic, Severity};

use super::show::{list_heading, source_line};
use crate::cli::Context;
use crate::cli::shown::counted;
use crate::failure::Failure;
use crate::finding::Finding;
use crate::ui::{Line, Tone};

/// List where the configuration comes from
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib config sources

Exit codes: 0 every place is shown, 1 wrong arguments, 2 the configuration does not load.")]
pub(super) struct Sources {
    /// Show also the places where nothing was found
    #[arg(long)]
    all: bool,
}

impl Sources {
    /// Runs the command.
    pub(super) fn run(self, context: &mut Context) -> Result<(), Failure> {
        let (config, diagnostics) = context.loader().inspect()?;
        let searched: Vec<_> = if context.explicit_config().is_some() {
            Vec::new()
        } else {
            candidates::all(&context.surroundings, &config.places)
        };
        let ended = loads(context, &config, &diagnostics);
        if context.ui.is_json() {
            let searched: Vec<_> = searched
                .iter()
                .map(|c| json!({ "path": c.path, "exists": c.path.exists() }))
                .collect();
            context.ui.json(&json!({
                "config": config.path,
                "searched": searched,
                "sources": config.sources.iter().map(source_json).collect::<Vec<_>>(),
                "diagnostics": diagnostics.iter().map(Finding::from).collect::<Vec<_>>(),
            }));
            context.ui.mute();
            return ended;
        }
        self.tell_files(context, &config, &searched);
        let shown: Vec<&SourceReport> = config
            .sources
            .iter()
            .filter(|s| self.all || !s.automatic || s.state != SourceState::NotFound)
            .collect();
        // What does not load has perhaps more sources than were found.
        if ended.is_ok() || !shown.is_empty() {
            context.ui.gap();
            context.ui.line(list_heading("Sources", shown.len()));
        }
        for source in shown {
            tell_source(context, source);
        }
        for diagnostic in &diagnostics {
            context.ui.finding(&diagnostic.into());
        }
        ended
    }

    /// The file in use, and what became of the others.
    fn tell_files(&self, context: &mut Context, config: &Config, searched: &[Candidate]) {
        let used = config.path.as_deref();
        match used {
            Some(path) => {
                let path = context.surroundings.display(path);
                context.ui.line(format!("Configuration: {path}"));
            }
            None => context.ui.line("Configuration: none; the defaults hold"),
        }
        for candidate in searched {
            let there = candidate.path.exists();
            if Some(candidate.path.as_path()) == used || !(there || self.all) {
                continue;
            }
            let path = context.surroundings.display(&candidate.path);
            let limits = config
                .files
                .iter()
                .any(|f| f.source.path() == candidate.path);
            let why = match (there, limits) {
                (false, _) => "not found",
                (true, false) => "not used",
                (true, true) => "its rules and policy hold as well, its servers are not used",
            };
            context.ui.line(
                Line::new()
                    .text("  ")
                    .mark(limits)
                    .text(format_args!(" {path}"))
                    .tone(Tone::Dim, format_args!(" - {why}")),
            );
        }
    }
}

fn tell_source(context: &mut Context, source: &SourceReport) {
    let line = source_line(source);
    context.ui.line(match source.state {
        SourceState::Read(n) => line.tone(Tone::Dim, format_args!(" - {}", counted(n, "server"))),
        _ => line,
    });
    for skipped in &source.skipped {
        context.ui.line(Line::new().text(format_args!(
            "      {} skipped: {}",
            skipped.name, skipped.reason
        )));
    }
}

/// What the command ends with: the places are shown also of a configuration that does not load.
fn loads(context: &Context, config: &Config, found: &[Diagnostic]) -> Result<(), Failure> {
    if found.iter().all(|one| one.severity != Severity::Error) {
        return Ok(());
    }
    let file = config.path.as_deref().map_or_else(
        || "the configuration".to_owned(),
        |path| context.surroundings.display(path),
    );
    Err(Failure::configuration(format!(
        "{file} does not load; `toolcrib config validate` says all that is wrong"
    )))
}

/// One source as JSON.
pub(super) fn source_json(source: &SourceReport) -> Value {
    let (state, servers) = match source.state {
        SourceState::Read(servers) => ("read", servers),
        SourceState::NotFound => ("not-found", 0),
        SourceState::Broken => ("broken", 0),
        SourceState::Untrusted => ("untrusted", 0),
    };
    json!({
        "type": source.kind,
        "path": source.path,
        "state": state,
        "servers": servers,
        "automatic": source.automatic,
        "skipped": source.skipped.iter().map(|s| json!({ "name": s.name, "reason": s.reason })).collect::<Vec<_>>(),
    })
}
