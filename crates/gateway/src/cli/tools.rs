//! `toolcrib tools`: the tools of one server.

use clap::Args;
use serde_json::{Value, json};

use super::Context;
use super::counter::{asking, explained, local, with_engine_to_look};
use crate::engine::ask::Listing;
use crate::engine::snapshot::Entry;
use crate::failure::Failure;
use crate::ui::{Line, Tone};

/// List the tools of a server
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib tools github
  toolcrib tools github --all --tags   also what rules switch off

Exit codes: 0 the tools are listed, 1 wrong arguments, 2 there is no such server, or the \
configuration does not load, 3 the server cannot be asked, or the store cannot be used.")]
pub struct Tools {
    /// The server
    #[arg(add = super::completions::server())]
    server: String,
    /// Show also the tools that rules switch off
    #[arg(long)]
    all: bool,
    /// Show tags
    #[arg(long)]
    tags: bool,
}

impl Tools {
    /// Runs the command.
    pub fn run(self, context: &mut Context) -> Result<(), Failure> {
        let listing = Listing {
            server: self.server.clone(),
            include_disabled: self.all,
            ..Listing::default()
        };
        with_engine_to_look(context, async |context, engine| {
            let caller = local(engine);
            let list = engine.list_tools(&caller, listing);
            let page = match asking(context, engine, list).await {
                Ok(page) => page,
                Err(error) => return Err(explained(engine, &caller, error).await),
            };
            if context.ui.is_json() {
                let tools: Vec<Value> = page.tools.iter().map(|entry| tool_json(entry)).collect();
                context.ui.json(&json!({
                    "server": page.server,
                    "tools": tools,
                    "total": page.total,
                    "enabled": page.enabled_count,
                    "disabled": page.disabled_count,
                    "pending": page.pending_count,
                }));
                return Ok(());
            }
            context.ui.line(format!(
                "Tools from {} ({} enabled, {} disabled):",
                page.server, page.enabled_count, page.disabled_count
            ));
            for entry in &page.tools {
                context.ui.gap();
                self.show(context, entry);
            }
            if page.pending_count > 0 {
                context.ui.gap();
                let count = page.pending_count;
                let are = if count == 1 { "is" } else { "are" };
                let line = format!(
                    "{count} more {are} not approved; `toolcrib approvals list --all` shows what waits and what was rejected."
                );
                context.ui.line(Line::new().tone(Tone::Dim, line));
            }
            if page.disabled_count > 0 && !self.all {
                let are = if page.disabled_count == 1 {
                    "is"
                } else {
                    "are"
                };
                let line = format!(
                    "{} more {are} disabled; --all shows them.",
                    page.disabled_count
                );
                context.ui.note(Line::new().tone(Tone::Dim, line));
            }
            Ok(())
        })
    }

    fn show(&self, context: &mut Context, entry: &Entry) {
        let tool = &entry.tool;
        let mut line = Line::new()
            .mark(tool.enabled)
            .text(" ")
            .tone(Tone::Strong, tool.id.tool());
        if !tool.enabled {
            line = line.text(" (disabled)");
        }
        context.ui.line(line);
        if !tool.summary().is_empty() {
            context.ui.line(format!("  {}", tool.summary()));
        }
        if self.tags && !tool.tags.is_empty() {
            context.ui.line(format!("  Tags: {}", tool.tags.join(", ")));
        }
    }
}

fn tool_json(entry: &Entry) -> Value {
    let tool = &entry.tool;
    json!({
        "name": tool.id.tool(),
        "summary": tool.summary(),
        "enabled": tool.enabled,
        "tags": tool.tags,
        "domains": tool.domains,
        "categories": tool.categories,
        "risk": entry.metadata.risk.as_str(),
    })
}
