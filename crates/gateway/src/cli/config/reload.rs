//! `toolcrib config reload`: makes running processes read the configuration again.

use clap::Args;
use serde_json::{Value, json};
use toolcrib_core::Code;

use crate::cli::counter::doing;
use crate::cli::shown::counted;
use crate::cli::{Context, running};
use crate::control::Op;
use crate::control::client::{Answered, ask_all};
use crate::failure::{Failure, exit};
use crate::finding::Finding;
use crate::reload::{Outcome, Report};
use crate::ui::Line;

/// Make running processes read the configuration again
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib config reload

Exit codes: 0 the configuration is in use, 1 wrong arguments, 2 it does not load, or a process does \
not answer.")]
pub(super) struct Reload {
    /// Only the process with this id
    #[arg(long, value_name = "PID")]
    pid: Option<u32>,
}

impl Reload {
    /// Runs the command.
    pub(super) fn run(self, context: &mut Context) -> Result<(), Failure> {
        let place = context.control_place();
        let runtime = running::runtime()?;
        let finding = running::all(&place);
        let mut processes = runtime.block_on(doing(context, "looking for processes", finding));
        if let Some(pid) = self.pid {
            processes.retain(|process| process.pid == pid);
            if processes.is_empty() {
                return Err(Failure::usage(format!(
                    "there is no running process {pid}; `toolcrib status` lists them"
                )));
            }
        }
        if processes.is_empty() {
            return on_files(context);
        }
        let asking = ask_all::<Report>(processes, Op::Reload);
        let waiting = "waiting for processes to reload";
        let answers = runtime.block_on(doing(context, waiting, asking));
        tell(context, &answers)
    }
}

/// Without a running process the files are read, so that it is known whether they will do.
fn on_files(context: &mut Context) -> Result<(), Failure> {
    let config = context.loader().config()?;
    if context.ui.is_json() {
        context.ui.json(&json!({
            "processes": [],
            "config": config.path,
            "servers": config.servers.len(),
        }));
    } else {
        let servers = counted(config.servers.len(), "server");
        context.ui.line(Line::new().mark(true).text(format_args!(
            " No process is running; the configuration loads with {servers}."
        )));
    }
    Ok(())
}

fn tell(context: &mut Context, answers: &[Answered<Report>]) -> Result<(), Failure> {
    let mut diagnostics: Vec<Finding> = Vec::new();
    let mut refused = 0;
    let mut silent = None;
    let mut lines = Vec::new();
    for (process, answer) in answers {
        let pid = process.pid;
        let (good, said) = match answer {
            Ok(report) => match &report.outcome {
                Outcome::Applied { difference } => (true, with_rest(report, difference)),
                Outcome::Unchanged => (true, with_rest(report, &"nothing changed")),
                Outcome::Refused { error } => {
                    refused += 1;
                    for finding in &error.diagnostics {
                        if !diagnostics.contains(finding) {
                            diagnostics.push(finding.clone());
                        }
                    }
                    (false, format!("{error} (the running configuration stays)"))
                }
            },
            Err(error) => {
                silent = Some(error.to_string());
                (false, error.to_string())
            }
        };
        lines.push(Line::new().mark(good).text(format_args!(" {pid}: {said}")));
    }
    if !context.ui.is_json() {
        for line in lines {
            context.ui.line(line);
        }
    }
    let shapes: Vec<Value> = answers.iter().map(shape).collect();
    if refused > 0 {
        let who = match (refused, answers.len()) {
            (_, 1) => "the process".to_owned(),
            (refused, all) if refused == all => format!("all {all} processes"),
            (refused, all) => format!("{refused} of {all} processes"),
        };
        let message =
            format!("{who} kept the running configuration, because the new one does not load");
        return Err(Failure::configuration(message)
            .because(diagnostics)
            .with("processes", shapes));
    }
    if let Some(error) = silent {
        return Err(Failure {
            exit: exit::CONFIGURATION,
            ..Failure::new(Code::ServerConnectionError, error)
        }
        .with("processes", shapes));
    }
    if context.ui.is_json() {
        context.ui.json(&json!({ "processes": shapes }));
    }
    Ok(())
}

/// What came of it, and what of it waits for a restart.
fn with_rest(report: &Report, said: &dyn std::fmt::Display) -> String {
    match report.restart() {
        Some(sentence) => format!("{said}; {sentence}"),
        None => said.to_string(),
    }
}

fn shape((process, answer): &Answered<Report>) -> Value {
    let mut value = match answer {
        Ok(report) => serde_json::to_value(report).unwrap_or_default(),
        Err(error) => json!({ "outcome": "silent", "message": error.to_string() }),
    };
    value["pid"] = json!(process.pid);
    value
}
