//! The tools that are known without asking any server.

use toolcrib_config::load::Config;

use crate::control::Counts;

/// A tool that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known<'a> {
    /// The server it belongs to.
    pub server: &'a str,
    /// Its name.
    pub tool: &'a str,
    /// Tags of its own.
    pub tags: &'a [String],
}

/// The tools that the configuration itself declares, of servers that are switched on.
pub fn tools(config: &Config) -> impl Iterator<Item = Known<'_>> {
    let servers = config.servers.iter().filter(|server| server.enabled);
    servers.flat_map(|server| {
        server.tools.iter().map(|tool| Known {
            server: &server.name,
            tool: &tool.name,
            tags: &tool.tags,
        })
    })
}

/// How many servers and tools a configuration has; nothing is connected.
pub fn counts(config: &Config) -> Counts {
    let mut counts = Counts {
        servers_configured: config.servers.len(),
        ..Counts::default()
    };
    for known in tools(config) {
        let verdict = config.rules.verdict(known.server, known.tool, known.tags);
        counts.tools_total += 1;
        counts.tools_enabled += usize::from(verdict.verdict.enabled);
    }
    counts
}
