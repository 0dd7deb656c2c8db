//! `toolcrib list`: the servers, how they stand and how many tools they have.

use clap::Args;
use serde_json::{Value, json};
use toolcrib_config::Severity;

use super::counter::{local, refused, with_engine_to_look};
use super::shown::counted;
use super::{Context, running};
use crate::control::{Op, ServerState};
use crate::engine::Engine;
use crate::engine::answer::{ServerRow, Servers};
use crate::engine::upstream::Health;
use crate::failure::Failure;
use crate::ui::{Line, Tone};

/// List the servers
///
/// Shows how each server stands and how many tools it has. Nothing is connected for it: a process that runs on the
/// same configuration is asked how its servers stand; without one, what was kept of their tools is shown. A server is
/// Connected, Disconnected because nothing needed it yet (idle) or with what went wrong, or Disabled.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib list            names, tools and how they stand
  toolcrib list --status   only how they stand
  toolcrib list --json     for programs

Exit codes: 0 the servers are listed, 1 wrong arguments, 2 the configuration does not load, 3 the \
store cannot be used.")]
pub struct List {
    /// Show how each server stands, and nothing else of it
    #[arg(long)]
    status: bool,
    /// Show how many tools each server has, and nothing else of it
    #[arg(long)]
    tools: bool,
}

impl List {
    /// Runs the command.
    pub fn run(self, context: &mut Context) -> Result<(), Failure> {
        let everything = self.status == self.tools;
        let (status, tools) = (everything || self.status, everything || self.tools);
        with_engine_to_look(context, async |context, engine| {
            let caller = local(engine);
            let mut found = engine.list_servers(&caller).await.map_err(refused)?;
            let process = told_by_process(context, engine, &mut found).await;
            if context.ui.is_json() {
                let servers: Vec<Value> = found.servers.iter().map(row_json).collect();
                context
                    .ui
                    .json(&json!({ "servers": servers, "process": process }));
            } else {
                show(context, &found, everything, status, tools);
                if found.servers.is_empty() {
                    doubts(context, engine);
                }
                if status && process.is_none() && !found.servers.is_empty() {
                    context.ui.note(
                        "No process is running, so nothing is connected; `toolcrib doctor` tries every server.",
                    );
                }
            }
            Ok(())
        })
    }
}

/// Brings in how things stand with the process that runs on the same configuration, and gives its id.
async fn told_by_process(context: &Context, engine: &Engine, found: &mut Servers) -> Option<u32> {
    let path = engine
        .config()
        .path
        .as_ref()
        .map(|p| p.display().to_string());
    let directory = context.surroundings.cwd.display().to_string();
    let process = running::same(&context.control_place(), path.as_deref(), &directory).await?;
    let told = process.ask::<Vec<ServerState>>(Op::Servers).await.ok()?;
    for server in &mut found.servers {
        let Some(told) = told.iter().find(|told| told.name == server.name) else {
            continue;
        };
        server.standing.health = told.status;
        server.standing.reason.clone_from(&told.reason);
        if let Some(tools) = told.tools {
            server.known = true;
            server.tool_count = tools.total;
            server.enabled_count = tools.enabled;
            server.pending_count = tools.pending;
        }
    }
    Some(process.pid)
}

fn show(context: &mut Context, found: &Servers, everything: bool, status: bool, tools: bool) {
    let count = found.servers.len();
    context
        .ui
        .line(format!("MCP Servers ({count} configured):"));
    for server in &found.servers {
        context.ui.gap();
        let mut line = mark(server).text(" ").tone(Tone::Strong, &server.name);
        if tools {
            line = line.text(format_args!(" ({})", tools_of(server, status)));
        }
        context.ui.line(line);
        if everything && !server.description.is_empty() {
            context.ui.line(format!("  {}", server.description));
        }
        if status {
            context.ui.line(format!("  Status: {}", standing(server)));
        }
        if everything && server.pending_count > 0 {
            let count = server.pending_count;
            let tools = if count == 1 { "tool is" } else { "tools are" };
            let line = format!(
                "  {count} {tools} not approved; `toolcrib approvals list --all` shows what waits and what was rejected"
            );
            context.ui.line(Line::new().tone(Tone::Dim, line));
        }
    }
    if count == 0 {
        context.ui.gap();
        context
            .ui
            .line("`toolcrib import` shows the servers that your other clients have.");
    }
}

/// What may be the reason that there are no servers, such as a file that is not trusted.
fn doubts(context: &mut Context, engine: &Engine) {
    let found = engine.config().diagnostics.clone();
    for doubt in found.iter().filter(|d| d.severity == Severity::Warning) {
        context.ui.finding(&doubt.into());
    }
}

/// Only what failed is marked as a failure: a server that nobody needed yet is as it should be.
fn mark(server: &ServerRow) -> Line {
    match server.standing.health {
        Health::Connected if server.enabled => Line::new().mark(true),
        Health::Error if server.enabled => Line::new().mark(false),
        _ => Line::new().tone(Tone::Dim, "✗"),
    }
}

/// How many tools it has and how many of them can be run, or why nobody knows; `status`: the reason stands below
/// anyway.
fn tools_of(server: &ServerRow, status: bool) -> String {
    let failed = server.enabled && server.standing.health == Health::Error;
    let (all, enabled) = (server.tool_count, server.enabled_count);
    match (server.known, &server.standing.reason) {
        (true, _) if all == enabled => counted(all, "tool"),
        (true, _) => format!("{}, {enabled} enabled", counted(all, "tool")),
        (false, Some(reason)) if failed && !status => format!("no tools: {reason}"),
        (false, _) if failed => "could not be asked".to_owned(),
        (false, _) => "not asked yet".to_owned(),
    }
}

/// How it stands, and why.
fn standing(server: &ServerRow) -> String {
    if !server.enabled {
        return "Disabled".to_owned();
    }
    match (server.standing.health, &server.standing.reason) {
        (Health::Connected, Some(reason)) => format!("Connected, with old tools: {reason}"),
        (Health::Connected, None) => "Connected".to_owned(),
        (Health::Disconnected, _) => "Disconnected (idle; the next call connects it)".to_owned(),
        (Health::Error, Some(reason)) => format!("Disconnected: {reason}"),
        (Health::Error, None) => "Disconnected".to_owned(),
    }
}

fn row_json(server: &ServerRow) -> Value {
    json!({
        "name": server.name,
        "kind": server.kind,
        "description": server.description,
        "enabled": server.enabled,
        "known": server.known,
        "toolCount": server.tool_count,
        "enabledCount": server.enabled_count,
        "pendingCount": server.pending_count,
        "status": server.standing.health,
        "reason": server.standing.reason,
        "since": server.standing.since(),
    })
}
