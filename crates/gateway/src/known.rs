//! The tools that are known without asking any server: those that the configuration declares, and
//! those of the lists that were kept on disk.

use serde::Deserialize;
use serde_json::value::RawValue;
use toolcrib_config::load::Config;
use toolcrib_config::model::Server;
use toolcrib_config::surroundings::Surroundings;
use toolcrib_core::Tool;
use toolcrib_store::cache::{CacheOptions, ListCache};

use crate::control::Counts;
use crate::engine::definition;

/// A tool that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// The server it belongs to.
    pub server: String,
    /// Its name.
    pub tool: String,
    /// Tags of its own.
    pub tags: Vec<String>,
}

/// The tools of every server that is switched on, in the order of the configuration. Reads files.
pub fn tools(config: &Config, surroundings: &Surroundings, now_ms: i64) -> Vec<Known> {
    let lists = kept_lists(config, surroundings);
    let servers = config.servers.iter().filter(|server| server.enabled);
    servers
        .flat_map(|server| of_server(server, &lists, now_ms))
        .collect()
}

/// The same tools with what their servers said about them, where that can be read.
pub fn definitions(config: &Config, surroundings: &Surroundings, now_ms: i64) -> Vec<Tool> {
    let lists = kept_lists(config, surroundings);
    let servers = config.servers.iter().filter(|server| server.enabled);
    let of_server = |server: &Server| -> Vec<Tool> {
        if !server.tools.is_empty() {
            let declared = server.tools.iter();
            let declared = declared.map(|tool| definition::declared(&server.name, tool).0);
            return declared.collect();
        }
        let Some(list) = lists.get_tools(&server.name, &server.fingerprint(), now_ms) else {
            return Vec::new();
        };
        let items = list.items.iter();
        let read = items.filter_map(|item| definition::read(&server.name, item).ok());
        read.collect()
    };
    servers.flat_map(of_server).collect()
}

/// How many servers and tools a configuration has; nothing is connected. Reads files.
pub fn counts(config: &Config, surroundings: &Surroundings, now_ms: i64) -> Counts {
    let tools = tools(config, surroundings, now_ms);
    let enabled = tools.iter().filter(|known| {
        let layers = &config.rules;
        layers
            .verdict(&known.server, &known.tool, &known.tags)
            .verdict
            .enabled
    });
    Counts {
        servers_configured: config.servers.len() + config.settings.adapters.len(),
        servers_connected: 0,
        tools_enabled: enabled.count(),
        tools_total: tools.len(),
    }
}

/// The lists that were kept on disk under this configuration.
pub fn kept_lists(config: &Config, surroundings: &Surroundings) -> ListCache {
    let cache = config.settings.cache.clone().unwrap_or_default();
    let directory = config
        .places
        .tool_lists(surroundings, cache.directory.as_deref());
    let milliseconds =
        |seconds: u64| i64::try_from(seconds).map_or(i64::MAX, |s| s.saturating_mul(1_000));
    ListCache::new(CacheOptions {
        enabled: cache.enabled,
        tool_ttl_ms: milliseconds(cache.tool_list_ttl),
        registry_ttl_ms: milliseconds(cache.registry_ttl),
        memory_ttl_ms: milliseconds(cache.ttl),
        ..CacheOptions::new(directory)
    })
}

/// What a server declares, else what it said when it was last asked.
fn of_server(server: &Server, lists: &ListCache, now_ms: i64) -> Vec<Known> {
    let known = |tool: &str, tags: &[String]| Known {
        server: server.name.clone(),
        tool: tool.to_owned(),
        tags: tags.to_vec(),
    };
    if !server.tools.is_empty() {
        let declared = server.tools.iter();
        return declared.map(|tool| known(&tool.name, &tool.tags)).collect();
    }
    match lists.get_tools(&server.name, &server.fingerprint(), now_ms) {
        Some(list) => {
            let names = list.items.iter().filter_map(|item| name_of(item));
            names.map(|name| known(&name, &[])).collect()
        }
        None => Vec::new(),
    }
}

/// The name in a tool definition, whatever else is wrong with it.
fn name_of(item: &RawValue) -> Option<String> {
    #[derive(Deserialize)]
    struct Named {
        name: String,
    }
    let named: Named = serde_json::from_str(item.get()).ok()?;
    Some(named.name)
}
