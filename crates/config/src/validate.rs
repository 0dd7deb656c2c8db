//! What loads and still will not do what it seems to: rules that never take effect, names that
//! nothing has, secrets in plain text.

use toolcrib_core::nearest;
use toolcrib_core::pattern::Pattern;
use toolcrib_core::pattern::rules::{Extent, RuleSet, Shadow};

use crate::diagnostic::{Diagnostic, Severity};
use crate::file::{ConfigFile, locate};
use crate::load::Config;
use crate::model::rule::ToolRule;
use crate::model::server::Transport;

/// A tool that is known, from the cache or the configuration: server and name.
pub type KnownTool<'a> = (&'a str, &'a str);

/// Everything worth saying about a configuration beyond its errors.
pub fn findings(config: &Config, tools: &[KnownTool<'_>]) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (rules, file) in config.layers() {
        shadowed_rules(rules, file, tools, &mut found);
        unknown_servers(config, file, &mut found);
        patterns(config, file, &mut found);
        plain_secrets(file, &mut found);
        addresses(file, &mut found);
    }
    found.extend(surface(config));
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
        let rules = &file.settings.tool_rules;
        let rule = &rules[shadow.rule];
        // A pattern that cannot be used is an error already; what its rule would do is not known.
        if shadow.by.iter().any(|by| !is_usable(&rules[*by])) || !is_usable(rule) {
            continue;
        }
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

fn is_usable(rule: &ToolRule) -> bool {
    rule.pattern.iter().all(|p| Pattern::new(&p.0).is_ok())
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

/// Patterns over `server:tool` whose server nothing has, or whose tool is written as a regular expression
/// and is read as a glob.
fn patterns(config: &Config, file: &ConfigFile, found: &mut Vec<Diagnostic>) {
    for (rule, index) in file.settings.tool_rules.iter().zip(0_usize..) {
        for (pattern, nth) in rule.pattern.iter().zip(0_usize..) {
            let text = pattern.0.strip_prefix('!').unwrap_or(&pattern.0);
            let Some((server, tool)) = text.split_once(':').filter(|_| !text.starts_with('/'))
            else {
                continue;
            };
            let place = ["toolRules", &index.to_string(), "pattern", &nth.to_string()];
            let span = locate(&file.root, &place).unwrap_or_default();
            let name = format!("toolRules[{index}].pattern[{nth}]");
            let said = |message: String| Diagnostic::warning(message).at(&file.source, span);
            if tool.len() > 1 && tool.starts_with('/') && Pattern::new(tool).is_ok() {
                let message = format!("{name} is read as a glob, so its slashes match slashes");
                found.push(said(message).help(format!(
                    "set `server: {server}` and write {tool}, or begin the expression with the server"
                )));
            } else if !is_known(config, server)
                && !config
                    .servers
                    .iter()
                    .any(|s| s.name.eq_ignore_ascii_case(server))
            {
                let message =
                    format!("{name} names {server:?}, which no server or adapter is called");
                found.push(near_server(config, said(message), server));
            }
        }
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
            let variable = variable_for(text.field.trim_start_matches('-'));
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

/// Addresses that cannot be one. Those with variables in them are known only when they are used.
fn addresses(file: &ConfigFile, found: &mut Vec<Diagnostic>) {
    for server in &file.servers {
        let (Transport::Http(remote) | Transport::Sse(remote)) = &server.transport else {
            continue;
        };
        if remote.url.variables().next().is_some() {
            continue;
        }
        let url = remote.url.exact();
        let scheme = url.expose().split_once("://").map(|(scheme, _)| scheme);
        if !scheme.is_some_and(|s| ["http", "https"].iter().any(|h| s.eq_ignore_ascii_case(h))) {
            let span = locate(&file.root, &["servers", &server.name, "url"]).unwrap_or_default();
            let message = format!("servers.{}.url is not an HTTP address", server.name);
            let diagnostic = Diagnostic::warning(message).at(&file.source, span);
            found.push(
                diagnostic
                    .hide_text()
                    .help("begin it with https:// or http://"),
            );
        }
    }
    let listen = &file.settings.http.listen;
    let port = listen.rsplit_once(':').map(|(_, port)| port.parse::<u16>());
    if !matches!(port, Some(Ok(_))) {
        let span = locate(&file.root, &["http", "listen"]).unwrap_or_default();
        let message = format!("http.listen is {listen:?}, which has no port");
        let diagnostic = Diagnostic::warning(message).at(&file.source, span);
        found.push(diagnostic.help("write address and port, such as 127.0.0.1:7332"));
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

/// Pinned tools that cannot be listed: those that are not written `server:tool`, and those of servers that nothing
/// is called.
pub fn surface(config: &Config) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let Some(file) = config.files.first() else {
        return found;
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
                    format!("surface[{index}] is {id:?}, and must be `server:tool` to be listed"),
                )
                .at(&file.source, span),
            ),
        }
    }
    found
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
