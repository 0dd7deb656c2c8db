//! `toolcrib config validate`: everything that is wrong or doubtful, in one run.

use serde_json::json;
use toolcrib_config::validate;

use crate::cli::Context;
use crate::failure::Failure;
use crate::finding::Finding;
use crate::ui::Line;

/// Runs the command.
pub(super) fn run(context: &mut Context) -> Result<(), Failure> {
    let (config, mut diagnostics) = context.loader().inspect()?;
    let tools = context.known_tools(&config);
    let tools: Vec<_> = tools.iter().map(|k| (&*k.server, &*k.tool)).collect();
    diagnostics.extend(validate::findings(&config, &tools));
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
