//! `toolcrib` alone on a terminal: what is here, and what to do next.

use serde_json::json;
use toolcrib_config::Severity;
use toolcrib_config::load::Config;

use super::Context;
use super::import::Found;
use super::shown::counted;
use crate::failure::Failure;

/// A command and what it is for.
type Step = (&'static str, &'static str);

const SETUP: Step = (
    "toolcrib setup",
    "connect your clients; --undo puts everything back",
);
const SEARCH: Step = (
    "toolcrib search \"open an issue\"",
    "find the tool for what you want done",
);

const DOCTOR: Step = (
    "toolcrib doctor",
    "check the servers, the store and the clients",
);

/// What comes next where a configuration is there.
const CONFIGURED: [Step; 3] = [
    ("toolcrib list", "see how the servers stand"),
    SEARCH,
    SETUP,
];
/// What comes next where only other clients have servers.
const FOUND: [Step; 3] = [
    SEARCH,
    (
        "toolcrib import --write",
        "write the servers down as your own configuration",
    ),
    SETUP,
];
/// What comes next where there are no servers.
const EMPTY: [Step; 3] = [
    ("toolcrib demo", "see it work; nothing of yours is touched"),
    (
        "toolcrib registry search NAME",
        "find servers in the public registry",
    ),
    (
        "toolcrib setup CLIENT",
        "connect a client such as cursor; --undo undoes it",
    ),
];

/// Shows the configuration, or without one the servers of other clients, and the next three commands.
pub(super) fn run(context: &mut Context) -> Result<(), Failure> {
    let config = context.loader().config()?;
    let found = match &config.path {
        Some(_) => None,
        None => Some(Found::look(context, None)?),
    };
    let mut steps = match &found {
        None => CONFIGURED,
        Some(found) if found.is_empty() => EMPTY,
        Some(_) => FOUND,
    };
    if let Some(step) = steps.iter_mut().find(|step| **step == SETUP)
        && super::setup::is_done(context)
    {
        *step = DOCTOR;
    }
    if context.ui.is_json() {
        let next = steps.map(|(command, purpose)| json!({"command": command, "purpose": purpose}));
        context.ui.json(&json!({
            "configuration": config.path,
            "servers": config.servers.len(),
            "found": found.map(|found| found.servers()),
            "next": next,
        }));
        show_findings(context, &config);
        return Ok(());
    }
    if let Some(found) = found {
        context.ui.line(if found.is_empty() {
            "There is no configuration yet."
        } else {
            "There is no configuration yet; the servers of other clients are used as they are."
        });
        context.ui.gap();
        found.show(context);
    } else if let Some(path) = &config.path {
        let path = context.surroundings.display(path);
        let servers = counted(config.servers.len(), "server");
        let line = format!("Toolcrib is configured by {path} with {servers}.");
        context.ui.line(line);
    }
    show_findings(context, &config);
    context.ui.gap();
    show_next(context, steps);
    context.ui.gap();
    context.ui.line("`toolcrib --help` lists every command.");
    Ok(())
}

fn show_findings(context: &mut Context, config: &Config) {
    for diagnostic in &config.diagnostics {
        if diagnostic.severity != Severity::Note {
            context.ui.finding(&diagnostic.into());
        }
    }
}

/// Shows what comes next: on one line each, or where one does not fit, on two.
fn show_next(context: &mut Context, steps: [Step; 3]) {
    context.ui.line("Next:");
    let width = steps.iter().map(|(command, _)| command.len()).max();
    let width = width.unwrap_or_default();
    let lines = steps.map(|(command, purpose)| format!("  {command:<width$}  {purpose}"));
    let fit = lines.iter().all(|line| context.ui.fits(line));
    for ((command, purpose), line) in steps.into_iter().zip(lines) {
        if fit {
            context.ui.line(line);
        } else {
            context.ui.line(format!("  {command}"));
            context.ui.line(format!("      {purpose}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use toolcrib_config::surroundings::{Os, Surroundings};

    use super::*;
    use crate::cli::Options;
    use crate::ui::Color;
    use crate::ui::tests::{Heard, ui};

    /// What is said in a home that holds one file.
    fn said(path: &str, text: &str) -> (Result<(), Failure>, String, String) {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join(path);
        std::fs::create_dir_all(file.parent().unwrap_or(Path::new(""))).unwrap();
        std::fs::write(file, text).unwrap();
        let (out, err) = (Heard::default(), Heard::default());
        let mut context = Context {
            ui: ui(&out, &err, Color::Never, false),
            options: Options::default(),
            surroundings: Surroundings::new(Os::Linux, home.path(), home.path(), |_| None),
        };
        let outcome = run(&mut context);
        (outcome, out.text(), err.text())
    }

    #[test]
    fn what_is_here_decides_what_comes_next() {
        let check = |path: &str, text: &str, expected: &[&str]| {
            let (outcome, out, _) = said(path, text);
            outcome.unwrap();
            for part in expected {
                assert!(out.contains(part), "no {part:?} in\n{out}");
            }
            let steps = out.lines().filter(|line| line.starts_with("  toolcrib "));
            assert_eq!(steps.count(), 3, "{out}");
        };
        check(
            ".cursor/mcp.json",
            r#"{"mcpServers": {"github": {"command": "npx"}}}"#,
            &[
                "no configuration yet",
                "github",
                "cursor",
                "toolcrib import --write",
            ],
        );
        check(
            "empty/file",
            "",
            &["No client has any servers.", "toolcrib demo"],
        );
        check(
            ".config/toolcrib/toolcrib.yaml",
            "servers: {a: {command: x}}\n",
            &[
                "~/.config/toolcrib/toolcrib.yaml with 1 server.",
                "toolcrib list",
            ],
        );
    }

    #[test]
    fn a_broken_file_is_said_and_hides_nothing() {
        let (outcome, out, err) = said(".cursor/mcp.json", "{");
        outcome.unwrap();
        assert!(out.contains("~/.cursor/mcp.json cannot be read"), "{out}");
        assert!(err.contains("mcp.json:1:1"), "{err}");
        let (outcome, out, _) = said(".config/toolcrib/toolcrib.yaml", "servers: [");
        assert_eq!(
            outcome.unwrap_err().exit,
            crate::failure::exit::CONFIGURATION
        );
        assert_eq!(out, "");
    }
}
