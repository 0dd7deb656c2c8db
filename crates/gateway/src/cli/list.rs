//! `toolcrib list`: the servers, how they stand and how many tools they have.

use clap::Args;
use serde_json::{Value, json};

use super::Context;
use super::counter::{local, refused, with_engine};
use crate::engine::answer::{ServerRow, Servers};
use crate::engine::upstream::Health;
use crate::failure::Failure;
use crate::ui::{Line, Tone};

/// List the servers
///
/// Shows how each server stands and how many tools it has. Nothing is connected: what is shown is what
/// was known when the server was last asked.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib list            names, tools and how they stand
  toolcrib list --status   only how they stand
  toolcrib list --json     for programs")]
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
        with_engine(context, async |context, engine| {
            let caller = local(engine);
            let found = engine.list_servers(&caller).await.map_err(refused)?;
            if context.ui.is_json() {
                let servers: Vec<Value> = found.servers.iter().map(row_json).collect();
                context.ui.json(&json!({ "servers": servers }));
            } else {
                show(context, &found, everything, status, tools);
            }
            Ok(())
        })
    }
}

fn show(context: &mut Context, found: &Servers, everything: bool, status: bool, tools: bool) {
    let count = found.servers.len();
    context
        .ui
        .line(format!("MCP Servers ({count} configured):"));
    for server in &found.servers {
        context.ui.gap();
        let usable = server.enabled && server.standing.health != Health::Error;
        let mut line = Line::new()
            .mark(usable)
            .text(" ")
            .tone(Tone::Strong, &server.name);
        if tools {
            line = line.text(match (server.known, server.enabled_count) {
                (false, _) => " (not asked yet)".to_owned(),
                (true, 1) => " (1 tool)".to_owned(),
                (true, n) => format!(" ({n} tools)"),
            });
        }
        context.ui.line(line);
        if everything && !server.description.is_empty() {
            context.ui.line(format!("  {}", server.description));
        }
        if status {
            context.ui.line(format!("  Status: {}", standing(server)));
        }
        if everything && server.pending_count > 0 {
            let waiting = server.pending_count;
            let line = format!(
                "  {waiting} tools wait for approval; `toolcrib approvals list` shows them"
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

fn standing(server: &ServerRow) -> String {
    if !server.enabled {
        return "Disabled".to_owned();
    }
    match (server.standing.health, &server.standing.reason) {
        (Health::Connected, Some(reason)) => format!("Connected, with old tools: {reason}"),
        (Health::Connected, None) => "Connected".to_owned(),
        (Health::Disconnected, _) => "Disconnected".to_owned(),
        (Health::Error, Some(reason)) => format!("Error: {reason}"),
        (Health::Error, None) => "Error".to_owned(),
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
