//! `toolcrib config validate`: everything that is wrong or doubtful, in one run.

use serde_json::json;
use toolcrib_config::file::locate;
use toolcrib_config::load::Config;
use toolcrib_config::{Diagnostic, Severity, validate};
use toolcrib_core::Tool;
use toolcrib_core::limits::SUSPECTS_MAX;
use toolcrib_core::policy::suspicion::{self, Neighbours};

use crate::cli::Context;
use crate::failure::Failure;
use crate::finding::Finding;
use crate::telemetry::Found;
use crate::ui::Line;

/// Runs the command.
pub(super) fn run(context: &mut Context) -> Result<(), Failure> {
    let loader = context.loader();
    let (config, mut diagnostics) = loader.inspect()?;
    if diagnostics.iter().all(|d| d.severity != Severity::Error) {
        let unserved = loader.serves(&config).err();
        let unserved = unserved.map(|refusal| Diagnostic::error(refusal.message));
        diagnostics.extend(unserved.map(|error| of_file(&config, error)));
        diagnostics.extend(untraced(&config, context));
    }
    let tools = context.known_tools(&config);
    let tools: Vec<_> = tools.iter().map(|k| (&*k.server, &*k.tool)).collect();
    diagnostics.extend(validate::findings(&config, &tools));
    diagnostics.extend(suspects(&context.known_definitions(&config)));
    let findings: Vec<Finding> = diagnostics.iter().map(Finding::from).collect();
    let errors = findings.iter().filter(|f| f.is_error()).count();
    let file = config.path.as_deref().map_or_else(
        || "The configuration".to_owned(),
        |path| context.surroundings.display(path),
    );
    if errors > 0 {
        let count = match errors {
            1 => "1 error".to_owned(),
            n => format!("{n} errors"),
        };
        return Err(
            Failure::configuration(format!("{file} is not valid: {count}")).because(findings),
        );
    }
    if context.ui.is_json() {
        context.ui.json(&json!({
            "valid": true,
            "config": config.path,
            "servers": config.servers.len(),
            "diagnostics": findings,
        }));
        return Ok(());
    }
    for finding in &findings {
        for line in Line::of_finding(finding) {
            context.ui.line(line);
        }
        context.ui.gap();
    }
    let doubts = match findings.len() {
        0 => String::new(),
        1 => " (1 finding)".to_owned(),
        n => format!(" ({n} findings)"),
    };
    let what = if config.path.is_some() {
        format!("{file} is valid{doubts}")
    } else {
        format!("No configuration file; the defaults hold{doubts}")
    };
    context.ui.line(Line::new().mark(true).text(" ").text(what));
    Ok(())
}

/// Why traces would not be sent as the configuration and the environment say.
fn untraced(config: &Config, context: &Context) -> Vec<Diagnostic> {
    let var = |name: &str| context.surroundings.var(name);
    let found = Found::of(&config.settings.telemetry, &var, "");
    let told = found.complaints.into_iter().map(|complaint| {
        let key = ["otlpEndpoint", "headers"]
            .into_iter()
            .find(|key| complaint.contains(&format!("telemetry.{key}")));
        let place = config.files.first().zip(key).and_then(|(file, key)| {
            let span = locate(&file.root, &["telemetry", key])?;
            Some((&file.source, span))
        });
        let diagnostic = Diagnostic::warning(complaint);
        match place {
            Some((source, span)) => diagnostic.at(source, span).hide_text(),
            None => of_file(config, diagnostic),
        }
    });
    told.collect()
}

/// Something about the whole of a configuration.
fn of_file(config: &Config, diagnostic: Diagnostic) -> Diagnostic {
    match config.files.first() {
        Some(file) => diagnostic.about(&file.source),
        None => diagnostic,
    }
}

/// What looks like deceit in what servers say about their tools.
fn suspects(tools: &[Tool]) -> Vec<Diagnostic> {
    let neighbours = Neighbours::new(tools.iter().map(|tool| &tool.id));
    let flags = tools.iter().flat_map(|tool| {
        let flags = suspicion::inspect(tool, &neighbours).into_iter();
        flags.map(|flag| (&tool.id, flag))
    });
    let doubts = flags.take(SUSPECTS_MAX).map(|(id, flag)| {
        let message = format!("{id}: {} in its {}", flag.detail, flag.place);
        let help = format!(
            "look at it with `toolcrib inspect {} {}`",
            id.server(),
            id.tool()
        );
        Diagnostic::warning(message).help(help)
    });
    doubts.collect()
}
