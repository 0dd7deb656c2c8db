//! Things of the configuration as commands show them.

use toolcrib_config::model::rule::ToolRule;
use toolcrib_config::model::server::{Server, Transport};

/// `1 server`, `2 servers`, `2 processes`.
pub(super) fn counted(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        n if what.ends_with('s') => format!("{n} {what}es"),
        n => format!("{n} {what}s"),
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_no_plural() {
        assert_eq!(counted(1, "server"), "1 server");
        assert_eq!(counted(0, "server"), "0 servers");
        assert_eq!(counted(2, "process"), "2 processes");
    }
}
