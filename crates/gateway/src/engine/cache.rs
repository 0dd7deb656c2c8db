//! What the engine remembers between requests: the server list and each server's tools for a while,
//! details until they are dropped. Search results are not kept.

use std::sync::Arc;

use toolcrib_config::load::Config;
use toolcrib_core::limits::ENGINE_CACHE_ENTRIES_MAX;
use toolcrib_store::cache::TtlMap;

use super::answer::ServerRow;
use super::rack::{Rack, Source};
use super::snapshot::Entry;

/// The three caches of document 001. An entry that has expired is removed when it is met.
pub struct Cache {
    servers: TtlMap<Arc<[ServerRow]>>,
    summaries: TtlMap<Arc<Rack>>,
    details: TtlMap<Arc<Entry>>,
    enabled: bool,
    ttl_ms: i64,
}

impl Cache {
    /// An empty cache with the times of a configuration.
    pub fn new(config: &Config) -> Self {
        let settings = config.settings.cache.clone().unwrap_or_default();
        let seconds = i64::try_from(settings.ttl).unwrap_or(i64::MAX);
        Self {
            servers: TtlMap::new(ENGINE_CACHE_ENTRIES_MAX),
            summaries: TtlMap::new(ENGINE_CACHE_ENTRIES_MAX),
            details: TtlMap::new(ENGINE_CACHE_ENTRIES_MAX),
            enabled: settings.enabled,
            ttl_ms: seconds.saturating_mul(1_000),
        }
    }

    /// Keeps the server list as callers with the same rights see it.
    pub fn cache_server_list(&self, rights: &str, servers: Arc<[ServerRow]>, now_ms: i64) {
        if self.enabled {
            self.servers
                .insert(rights.to_owned(), servers, Some(self.ttl_ms), now_ms);
        }
    }

    /// The server list as callers with these rights see it.
    pub fn get_server_list(&self, rights: &str, now_ms: i64) -> Option<Arc<[ServerRow]>> {
        self.servers.get(rights, now_ms)
    }

    /// Keeps the tools of a server; what was kept about the server before is dropped.
    pub fn cache_tool_summaries(&self, server: &str, rack: Arc<Rack>, now_ms: i64) {
        self.invalidate(server);
        let ttl_ms = match rack.source {
            Source::Listed(said) => said.fresh_for_ms(self.ttl_ms, now_ms),
            Source::Nothing | Source::Declared => self.ttl_ms,
        };
        if self.enabled {
            self.summaries
                .insert(server.to_owned(), rack, Some(ttl_ms), now_ms);
        }
    }

    /// The tools of a server, while they count as fresh.
    pub fn get_tool_summaries(&self, server: &str, now_ms: i64) -> Option<Arc<Rack>> {
        self.summaries.get(server, now_ms)
    }

    /// Keeps a tool's details until they are dropped.
    pub fn cache_tool_details(&self, server: &str, tool: &str, entry: Arc<Entry>, now_ms: i64) {
        if self.enabled {
            self.details
                .insert(format!("{server}:{tool}"), entry, None, now_ms);
        }
    }

    /// A tool's details.
    pub fn get_tool_details(&self, server: &str, tool: &str, now_ms: i64) -> Option<Arc<Entry>> {
        self.details.get(&format!("{server}:{tool}"), now_ms)
    }

    /// Drops what is kept about one server, and every server list, whose counts come from it.
    pub fn invalidate(&self, server: &str) {
        self.servers.invalidate_all();
        self.summaries.invalidate(server);
        self.details.invalidate_all();
    }

    /// Drops everything.
    pub fn invalidate_all(&self) {
        self.servers.invalidate_all();
        self.summaries.invalidate_all();
        self.details.invalidate_all();
    }
}

impl std::fmt::Debug for Cache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cache")
            .field("enabled", &self.enabled)
            .field("ttl_ms", &self.ttl_ms)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::ask::Listing;
    use crate::engine::fixture::{SERVERS, Workshop};

    #[tokio::test]
    async fn lists_expire_details_stay_and_both_can_be_dropped() {
        let shop = Workshop::open(SERVERS).await;
        let listing = Listing {
            server: "github".into(),
            ..Listing::default()
        };
        let page = shop
            .engine
            .list_tools(&shop.local(), listing)
            .await
            .unwrap();
        let (snapshot, entry) = (shop.engine.snapshot(), &page.tools[0]);
        let rack = snapshot.rack("github").unwrap();
        let cache = Cache::new(&shop.engine.config());
        cache.cache_server_list("all", Arc::from([]), 0);
        cache.cache_tool_summaries("github", Arc::clone(rack), 0);
        cache.cache_tool_summaries("jira", Arc::clone(rack), 0);
        cache.cache_server_list("all", Arc::from([]), 0);
        cache.cache_tool_details("github", "x", Arc::clone(entry), 0);
        let hour_ms = 3_600_000;
        assert!(cache.get_server_list("all", hour_ms - 1).is_some());
        assert!(cache.get_tool_summaries("github", hour_ms - 1).is_some());
        assert!(cache.get_server_list("all", hour_ms).is_none());
        assert!(cache.get_tool_summaries("github", hour_ms).is_none());
        assert!(cache.get_tool_details("github", "x", i64::MAX).is_some());
        cache.invalidate("github");
        assert!(cache.get_tool_summaries("github", 0).is_none());
        assert!(cache.get_tool_summaries("jira", 0).is_some());
        assert!(cache.get_tool_details("github", "x", 0).is_none());
        cache.cache_tool_summaries("github", Arc::clone(rack), 0);
        cache.invalidate_all();
        assert!(cache.get_tool_summaries("github", 0).is_none());
        assert!(cache.get_tool_summaries("jira", 0).is_none());
    }

    #[tokio::test]
    async fn a_cache_that_is_switched_off_keeps_nothing() {
        let shop = Workshop::open(&format!("{SERVERS}cache: {{enabled: false}}\n")).await;
        let cache = Cache::new(&shop.engine.config());
        cache.cache_server_list("all", Arc::from([]), 0);
        assert!(cache.get_server_list("all", 0).is_none());
    }
}
