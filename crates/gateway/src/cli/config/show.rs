//! `toolcrib config show`: status, cache, sources, rules and counts.

use serde_json::json;
use toolcrib_config::load::{Config, SourceReport, SourceState};
use toolcrib_config::validate;

use crate::cli::{Context, running, shown};
use crate::control::{Counts, Op};
use crate::failure::Failure;
use crate::finding::Finding;
use crate::ui::{Line, Tone};

/// Runs the command.
pub(super) fn run(context: &mut Context) -> Result<(), Failure> {
    let config = context.loader().config()?;
    let (counts, pid) = counts(context, &config)?;
    let findings = doubts(context, &config);
    if context.ui.is_json() {
        let value = shape(&config, counts, pid, &findings);
        context.ui.json(&value);
        return Ok(());
    }
    heading(context, &config);
    sources(context, &config);
    rules(context, &config);
    context.ui.line(format!(
        "Servers: {} configured, {} connected",
        counts.servers_configured, counts.servers_connected
    ));
    context.ui.line(format!(
        "Tools: {} total, {} enabled",
        counts.tools_total, counts.tools_enabled
    ));
    for finding in &findings {
        context.ui.finding(finding);
    }
    if pid.is_none() {
        context
            .ui
            .note("No process is running: the counts are those of files and cache.");
    }
    Ok(())
}

/// The counts of the process that runs on this configuration, else those of the files.
fn counts(context: &Context, config: &Config) -> Result<(Counts, Option<u32>), Failure> {
    let path = config.path.as_ref().map(|p| p.display().to_string());
    let directory = context.surroundings.cwd.display().to_string();
    let place = context.control_place();
    let live = running::runtime()?.block_on(async {
        let process = running::same(&place, path.as_deref(), &directory).await?;
        let counts = process.ask::<Counts>(Op::Counts).await.ok()?;
        Some((counts, Some(process.pid)))
    });
    Ok(live.unwrap_or_else(|| (context.known_counts(config), None)))
}

/// What loads and still will not do what it seems to, after what was found while loading.
fn doubts(context: &Context, config: &Config) -> Vec<Finding> {
    let tools = context.known_tools(config);
    let tools: Vec<_> = tools.iter().map(|k| (&*k.server, &*k.tool)).collect();
    let found = validate::findings(config, &tools);
    config
        .diagnostics
        .iter()
        .chain(&found)
        .map(Finding::from)
        .collect()
}

fn heading(context: &mut Context, config: &Config) {
    let word = |on: bool| {
        if on {
            Line::new().tone(Tone::Good, "Enabled")
        } else {
            Line::new().tone(Tone::Bad, "Disabled")
        }
    };
    let ui = &mut context.ui;
    ui.line(Line::new().tone(Tone::Strong, "MCP Discovery Configuration:"));
    ui.gap();
    ui.line(
        Line::new()
            .text("Status: ")
            .and(word(config.settings.enabled.0)),
    );
    let cache = config.settings.cache.clone().unwrap_or_default();
    let line = Line::new().text("Cache: ").and(word(cache.enabled));
    ui.line(if cache.enabled {
        line.text(format_args!(" (TTL: {}s)", cache.ttl))
    } else {
        line
    });
    ui.gap();
}

/// The sources that the configuration names, and of the others those that are there.
pub(super) fn shown_sources(config: &Config) -> Vec<&SourceReport> {
    config
        .sources
        .iter()
        .filter(|source| !source.automatic || source.state != SourceState::NotFound)
        .collect()
}

/// One source as a line: mark, client, path, and what is wrong.
pub(super) fn source_line(source: &SourceReport) -> Line {
    let line = Line::new()
        .text("  ")
        .mark(matches!(source.state, SourceState::Read(_)))
        .text(format_args!(" {} ({})", source.kind, source.shown));
    match source.state {
        SourceState::Read(_) => line,
        SourceState::NotFound => line.tone(Tone::Dim, " - not found"),
        SourceState::Broken => line.tone(Tone::Odd, " - cannot be read"),
        SourceState::Untrusted => line.tone(Tone::Odd, " - not trusted"),
    }
}

/// What stands above a list, or in its place where it is empty.
pub(super) fn list_heading(name: &str, count: usize) -> String {
    match count {
        0 => format!("{name}: none"),
        count => format!("{name} ({count}):"),
    }
}

fn sources(context: &mut Context, config: &Config) {
    let shown = shown_sources(config);
    context.ui.line(list_heading("Sources", shown.len()));
    for source in shown {
        context.ui.line(source_line(source));
    }
    context.ui.gap();
}

fn rules(context: &mut Context, config: &Config) {
    let total: usize = config
        .files
        .iter()
        .map(|file| file.settings.tool_rules.len())
        .sum();
    context.ui.line(list_heading("Tool Rules", total));
    let mut number = 0;
    for (layer, file) in config.files.iter().enumerate() {
        for rule in &file.settings.tool_rules {
            number += 1;
            let line = Line::new().text(format_args!("  {number}. {}", shown::rule(rule)));
            context.ui.line(if layer == 0 {
                line
            } else {
                let path = context.surroundings.display(file.source.path());
                line.tone(Tone::Dim, format_args!(" (of {path})"))
            });
        }
    }
    context.ui.gap();
}

fn shape(
    config: &Config,
    counts: Counts,
    pid: Option<u32>,
    findings: &[Finding],
) -> serde_json::Value {
    let cache = config.settings.cache.clone().unwrap_or_default();
    let rules: Vec<_> = config
        .files
        .iter()
        .flat_map(|file| {
            file.settings.tool_rules.iter().map(|rule| {
                json!({
                    "pattern": rule.pattern.iter().map(|p| &p.0).collect::<Vec<_>>(),
                    "server": rule.server,
                    "enabled": rule.enabled,
                    "tags": rule.tags,
                    "file": file.source.path(),
                })
            })
        })
        .collect();
    json!({
        "config": config.path,
        "enabled": config.settings.enabled.0,
        "cache": { "enabled": cache.enabled, "ttl": cache.ttl },
        "sources": shown_sources(config).into_iter().map(super::sources::source_json).collect::<Vec<_>>(),
        "toolRules": rules,
        "servers": { "configured": counts.servers_configured, "connected": counts.servers_connected },
        "tools": { "total": counts.tools_total, "enabled": counts.tools_enabled },
        "process": pid,
        "diagnostics": findings,
    })
}
