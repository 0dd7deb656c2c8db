//! Things of the configuration as commands show them.

use toolcrib_config::model::rule::ToolRule;
use toolcrib_config::model::server::{Server, Transport};

/// How a server is reached, secrets masked: the command line or the address.
pub(super) fn reached(server: &Server) -> String {
    match &server.transport {
        Transport::Stdio(stdio) => std::iter::once(&stdio.command)
            .chain(&stdio.args)
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(" "),
        Transport::Http(remote) | Transport::Sse(remote) => remote.url.to_string(),
    }
}

/// A rule as the documents print it: `*github*, /issue/ → enabled, tags: [github, issues]`.
pub(super) fn rule(rule: &ToolRule) -> String {
    let patterns: Vec<&str> = rule.pattern.iter().map(|p| p.0.as_str()).collect();
    let mut effects = Vec::new();
    if let Some(enabled) = rule.enabled {
        effects.push(if enabled { "enabled" } else { "disabled" }.to_owned());
    }
    if !rule.tags.is_empty() {
        effects.push(format!("tags: [{}]", rule.tags.join(", ")));
    }
    let server = match &rule.server {
        Some(server) => format!(" (server: {server})"),
        None => String::new(),
    };
    format!("{}{server} → {}", patterns.join(", "), effects.join(", "))
}
