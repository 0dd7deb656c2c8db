//! What loads and still will not do what it seems to: rules that never take effect, names that
//! nothing has, secrets in plain text.

use toolcrib_core::nearest;
use toolcrib_core::pattern::rules::{Extent, RuleSet, Shadow};

use crate::diagnostic::{Diagnostic, Severity};
use crate::file::{ConfigFile, locate};
use crate::load::Config;

/// A tool that is known, from the cache or the configuration: server and name.
pub type KnownTool<'a> = (&'a str, &'a str);

/// Everything worth saying about a configuration beyond its errors.
pub fn findings(config: &Config, tools: &[KnownTool<'_>]) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (rules, file) in config.layers() {
        shadowed_rules(rules, file, tools, &mut found);
        unknown_servers(config, file, &mut found);
        plain_secrets(file, &mut found);
    }
    surface(config, &mut found);
    static_tools(config, &mut found);
    found
}

/// Denies that an earlier allow keeps from taking effect, and rules that never can.
fn shadowed_rules(
    rules: &RuleSet,
    file: &ConfigFile,
    tools: &[KnownTool<'_>],
    found: &mut Vec<Diagnostic>,
) {
    for shadow in rules.shadowed(tools.iter().copied()) {
        let index = shadow.rule.to_string();
        let span = locate(&file.root, &["toolRules", &index]).unwrap_or_default();
        let rule = &file.settings.tool_rules[shadow.rule];
        let severity = if shadow.harmless {
            Severity::Note
        } else {
            Severity::Warning
        };
        let diagnostic = Diagnostic::new(severity, shadow_message(&shadow, rule.enabled));
        let help = if rule.enabled == Some(false) && !shadow.harmless {
            "move this rule before the other, or set `ruleStrategy: deny-overrides`"
        } else {
            "remove this rule, or move it before the other"
        };
        found.push(diagnostic.at(&file.source, span).help(help));
    }
}

/// Most tools that one message names.
const TOOLS_NAMED_MAX: usize = 5;

fn shadow_message(shadow: &Shadow, enabled: Option<bool>) -> String {
    let rule = shadow.rule;
    let by: Vec<String> = shadow
        .by
        .iter()
        .map(|i| format!("toolRules[{i}]"))
        .collect();
    let by = by.join(" and ");
    let verb = if shadow.by.len() == 1 {
        "decides"
    } else {
        "decide"
    };
    let mut names: Vec<String> = shadow.tools.iter().map(|t| t.id.to_string()).collect();
    if names.len() > TOOLS_NAMED_MAX {
        let more = names.len() - TOOLS_NAMED_MAX;
        names.truncate(TOOLS_NAMED_MAX);
        names.push(format!("{more} more"));
    }
    let names = names.join(", ");
    match (shadow.extent, enabled) {
        (Extent::Never, Some(false)) if names.is_empty() => {
            format!("toolRules[{rule}] disables nothing: {by} {verb} before it")
        }
        (Extent::Never, _) if names.is_empty() => {
            format!("toolRules[{rule}] can never decide: {by} {verb} before it")
        }
        (Extent::Never | Extent::EveryTool, _) => {
            format!(
                "toolRules[{rule}] disables nothing: {by} {verb} before it, and {names} stays enabled"
            )
        }
        (Extent::SomeTools, _) => {
            format!("toolRules[{rule}] does not disable {names}: {by} {verb} before it")
        }
    }
}

fn unknown_servers(config: &Config, file: &ConfigFile, found: &mut Vec<Diagnostic>) {
    for (index, rule) in file.settings.tool_rules.iter().enumerate() {
        let Some(server) = &rule.server else { continue };
        if is_known(config, server) {
            continue;
        }
        let index_text = index.to_string();
        let span = locate(&file.root, &["toolRules", &index_text, "server"]).unwrap_or_default();
        let message = format!(
            "toolRules[{index}].server names {server:?}, which no server or adapter is called"
        );
        found.push(near_server(
            config,
            Diagnostic::warning(message).at(&file.source, span),
            server,
        ));
    }
}

/// Names with wildcards are patterns, and match whatever there will be.
fn is_known(config: &Config, name: &str) -> bool {
    name.contains(['*', '?', '[', '{'])
        || config.settings.adapters.contains_key(name)
        || config
            .servers
            .iter()
            .any(|s| s.name == name || s.aliases.iter().any(|a| a == name))
}

fn near_server(config: &Config, diagnostic: Diagnostic, name: &str) -> Diagnostic {
    let names = config
        .servers
        .iter()
        .map(|s| s.name.as_str())
        .chain(config.settings.adapters.keys().map(String::as_str));
    match nearest::nearest(name, names, 1).first() {
        Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
        None => diagnostic.help("`toolcrib config sources` shows where servers come from"),
    }
}

fn plain_secrets(file: &ConfigFile, found: &mut Vec<Diagnostic>) {
    for text in &file.templates {
        if text.template.holds_plain_secret(&text.field) {
            let variable = variable_for(&text.field);
            found.push(
                Diagnostic::warning(format!("{} holds a secret in plain text", text.path))
                    .at(&file.source, text.span)
                    .hide_text()
                    .help(format!(
                        "put it into the environment and write ${{{variable}}}"
                    )),
            );
        }
    }
}

/// A name for the variable that should hold the secret of this field.
fn variable_for(field: &str) -> String {
    let name: String = field
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() {
                c.to_ascii_uppercase()
            } else {
                '_'
            }
        })
        .collect();
    match name.as_str() {
        "" | "ARGS" | "COMMAND" | "URL" => "MY_SECRET".into(),
        _ => name,
    }
}

fn surface(config: &Config, found: &mut Vec<Diagnostic>) {
    let Some(file) = config.files.first() else {
        return;
    };
    for (index, id) in config.settings.surface.iter().enumerate() {
        let index_text = index.to_string();
        let span = locate(&file.root, &["surface", &index_text]).unwrap_or_default();
        match id.split_once(':') {
            Some((server, tool)) if !server.is_empty() && !tool.is_empty() => {
                if !is_known(config, server) {
                    let message = format!(
                        "surface[{index}] names {server:?}, which no server or adapter is called"
                    );
                    found.push(near_server(
                        config,
                        Diagnostic::warning(message).at(&file.source, span),
                        server,
                    ));
                }
            }
            _ => found.push(
                Diagnostic::new(
                    Severity::Error,
                    format!("surface[{index}] must be `server:tool`"),
                )
                .at(&file.source, span),
            ),
        }
    }
}

/// Two statically declared tools of one server with the same name.
fn static_tools(config: &Config, found: &mut Vec<Diagnostic>) {
    for server in &config.servers {
        for (index, tool) in server.tools.iter().enumerate() {
            if server.tools[..index].iter().any(|t| t.name == tool.name) {
                found.push(Diagnostic::warning(format!(
                    "the server {:?} declares the tool {:?} twice ({})",
                    server.name, tool.name, server.origin
                )));
            }
        }
    }
}
