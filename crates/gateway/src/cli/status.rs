//! `toolcrib status`: the running processes.

use serde::Serialize;
use serde_json::json;

use super::counter::doing;
use super::memory::moment;
use super::{Context, running};
use crate::control::client::{AskError, ask_all};
use crate::control::protocol::{Counts, Op, Status};
use crate::failure::Failure;
use crate::reload::Outcome;
use crate::ui::Table;

/// One process as it is shown.
#[derive(Debug, Serialize)]
struct Shown {
    #[serde(flatten)]
    status: Status,
    #[serde(skip_serializing_if = "Option::is_none")]
    counts: Option<Counts>,
}

/// Runs the command.
pub(super) fn run(context: &mut Context) -> Result<(), Failure> {
    let runtime = running::runtime()?;
    let place = context.control_place();
    let asking = async {
        let processes = running::all(&place).await;
        tokio::join!(
            ask_all::<Status>(processes.clone(), Op::Status),
            ask_all::<Counts>(processes, Op::Counts),
        )
    };
    let (statuses, counts) = runtime.block_on(doing(context, "asking the processes", asking));
    let mut shown = Vec::new();
    let mut silent: Vec<AskError> = Vec::new();
    for ((_, status), (_, counts)) in statuses.into_iter().zip(counts) {
        match status {
            Ok(status) => shown.push(Shown {
                status,
                counts: counts.ok(),
            }),
            Err(error) => silent.push(error),
        }
    }
    for error in &silent {
        context.ui.note(error.to_string());
    }
    if context.ui.is_json() {
        let silent: Vec<String> = silent.iter().map(ToString::to_string).collect();
        context
            .ui
            .json(&json!({ "processes": shown, "silent": silent }));
    } else if shown.is_empty() {
        context.ui.line("No process is running.");
    } else {
        show(context, &shown);
    }
    Ok(())
}

fn show(context: &mut Context, shown: &[Shown]) {
    context
        .ui
        .line(format!("Running processes ({}):", shown.len()));
    context.ui.gap();
    let mut table = Table::new([
        "PID",
        "DOOR",
        "STARTED (UTC)",
        "SERVERS",
        "TOOLS",
        "CONFIGURATION",
        "LAST RELOAD",
    ]);
    for Shown { status, counts } in shown {
        let (servers, tools) = counts.map_or((String::new(), String::new()), |counts| {
            (
                counts.servers_configured.to_string(),
                counts.tools_total.to_string(),
            )
        });
        let config = status.config.as_ref().map_or_else(
            || format!("none, in {}", status.directory),
            |path| context.surroundings.display(path.as_ref()),
        );
        table.row([
            status.pid.to_string(),
            status.door.clone().unwrap_or_else(|| "-".to_owned()),
            started(status),
            servers,
            tools,
            config,
            last_reload(status),
        ]);
    }
    context.ui.table(&table);
}

/// The start to the second; more would only be noise. Its day and time of day stay on one line.
fn started(status: &Status) -> String {
    let at: Option<jiff::Timestamp> = status.started.parse().ok();
    let shown = at.map_or_else(|| status.started.clone(), |at| moment(at.as_millisecond()));
    shown.replace(' ', "\u{a0}")
}

fn last_reload(status: &Status) -> String {
    let Some(report) = &status.reload else {
        return "-".to_owned();
    };
    let outcome = match &report.outcome {
        Outcome::Applied { .. } => "applied".to_owned(),
        Outcome::Unchanged => "unchanged".to_owned(),
        Outcome::Refused { error } => format!("refused: {}", error.message),
    };
    match report.restart() {
        Some(sentence) => format!("{outcome}; {sentence}"),
        None => outcome,
    }
}
