//! `toolcrib rules`: why a tool is on or off.

use clap::{Args, Subcommand};
use serde_json::json;
use toolcrib_config::file::ConfigFile;
use toolcrib_config::load::Config;
use toolcrib_core::pattern::rules::{Explanation, RuleReport, Standing};
use toolcrib_core::{Code, nearest};

use super::counter::server_names;
use super::{Context, shown};
use crate::failure::Failure;
use crate::ui::{Line, Table, Tone};

/// Find out why a tool is on or off
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib rules explain github:delete_repo")]
pub struct Rules {
    #[command(subcommand)]
    command: RulesCommand,
}

#[derive(Debug, Subcommand)]
enum RulesCommand {
    /// Say which rule decides over a tool, which only tag it, and which can never take effect
    #[command(after_help = "\
Examples:
  toolcrib rules explain github:delete_repo

A server that is not configured is explained too, as rules match names; that it is none is said, and is \
`known: false` in JSON.

Exit codes: 0 it is explained, 1 wrong arguments, 2 the configuration does not load.")]
    Explain {
        /// The tool
        #[arg(value_name = "SERVER:TOOL", add = super::completions::tool_id())]
        tool: String,
    },
}

impl Rules {
    /// Runs the command.
    pub fn run(self, context: &mut Context) -> Result<(), Failure> {
        let RulesCommand::Explain { tool } = self.command;
        explain(context, &tool)
    }
}

/// The tool that is asked about.
struct Asked<'a> {
    server: &'a str,
    tool: &'a str,
    tags: Vec<String>,
    /// Whether its server is configured.
    known: bool,
}

fn explain(context: &mut Context, id: &str) -> Result<(), Failure> {
    let (server, tool) = match id.split_once(':') {
        Some((server, tool)) if !server.is_empty() && !tool.is_empty() => (server, tool),
        _ => {
            return Err(Failure::usage(format!(
                "{id} is not a tool; write SERVER:TOOL, such as github:create_issue"
            )));
        }
    };
    let config = context.loader().config()?;
    let asked = asked(context, &config, server, tool);
    let verdict = config.rules.verdict(asked.server, asked.tool, &asked.tags);
    let explanations: Vec<(Explanation, &ConfigFile)> = config
        .layers()
        .map(|(set, file)| (set.explain(asked.server, asked.tool), file))
        .collect();
    if context.ui.is_json() {
        let layers: Vec<_> = explanations
            .iter()
            .map(|(explanation, file)| {
                json!({ "file": file.source.path(), "rules": explanation.rules })
            })
            .collect();
        context.ui.json(&json!({
            "server": asked.server,
            "tool": asked.tool,
            "known": asked.known,
            "enabled": verdict.verdict.enabled,
            "tags": verdict.verdict.tags,
            "decidedBy": verdict.verdict.decided_by,
            "layer": verdict.layer,
            "layers": layers,
        }));
        return Ok(());
    }
    context.ui.line(
        Line::new()
            .mark(verdict.verdict.enabled)
            .text(format_args!(" {}:{} is ", asked.server, asked.tool))
            .text(&verdict.verdict),
    );
    if !verdict.verdict.tags.is_empty() {
        context
            .ui
            .line(format!("  Tags: {}", verdict.verdict.tags.join(", ")));
    }
    for (explanation, file) in &explanations {
        if explanation.rules.is_empty() {
            continue;
        }
        let path = context.surroundings.display(file.source.path());
        context.ui.gap();
        context
            .ui
            .line(Line::new().tone(Tone::Strong, format_args!("Rules of {path}:")));
        let mut table = Table::new(["#", "RULE", "STANDING", "WHY"]);
        for (report, rule) in explanation.rules.iter().zip(&file.settings.tool_rules) {
            table.row([
                (report.rule + 1).to_string(),
                shown::rule(rule),
                standing(report.standing).to_owned(),
                why(report),
            ]);
        }
        context.ui.table(&table);
    }
    Ok(())
}

/// The tool by the names of the configuration; what is not known there is said.
fn asked<'a>(
    context: &mut Context,
    config: &'a Config,
    server: &'a str,
    tool: &'a str,
) -> Asked<'a> {
    let known = config
        .servers
        .iter()
        .find(|s| s.name == server || s.aliases.iter().any(|alias| alias == server));
    let Some(known) = known else {
        let is_adapter = config.settings.adapters.contains_key(server);
        if !is_adapter {
            let near = nearest::nearest(server, server_names(config), 1);
            let meant = near.first().map(|near| format!("did you mean {near}? "));
            context.ui.note(format!(
                "[{}] there is no server {server}; {}the rules are asked all the same",
                Code::ServerNotFound,
                meant.unwrap_or_default()
            ));
        }
        return Asked {
            server,
            tool,
            tags: Vec::new(),
            known: is_adapter,
        };
    };
    if !known.enabled {
        let name = &known.name;
        context
            .ui
            .note(format!("The server {name} is switched off as a whole."));
    }
    if let Some(hint) = unknown_tool(context, config, &known.name, tool) {
        context.ui.note(hint);
    }
    let declared = known.tools.iter().find(|t| t.name == tool);
    Asked {
        server: &known.name,
        tool,
        tags: declared.map(|t| t.tags.clone()).unwrap_or_default(),
        known: true,
    }
}

/// What is to be said of a tool that is not among those of a server, where these are known.
fn unknown_tool(context: &Context, config: &Config, server: &str, tool: &str) -> Option<String> {
    let known = context.known_tools(config);
    let own = known.iter().filter(|known| known.server == server);
    let own: Vec<&str> = own.map(|known| known.tool.as_str()).collect();
    if own.is_empty() || own.contains(&tool) {
        return None;
    }
    let near = nearest::nearest(tool, own, 1);
    let meant = near
        .first()
        .map(|near| format!("did you mean {server}:{near}? "));
    Some(format!(
        "[{}] {server} has no tool {tool}; {}the rules are asked all the same",
        Code::ToolNotFound,
        meant.unwrap_or_default()
    ))
}

fn standing(standing: Standing) -> &'static str {
    match standing {
        Standing::Decided => "decided",
        Standing::Tagged => "only tagged",
        Standing::TooLate => "too late",
        Standing::Overruled => "overruled",
        Standing::NotMatched => "not matched",
        Standing::GaveUp => "gave up",
    }
}

fn why(report: &RuleReport) -> String {
    match report.never_because_of {
        Some(rule) => format!(
            "{}; it can never take effect because of rule {}",
            report.reason,
            rule + 1
        ),
        None => report.reason.clone(),
    }
}
