//! Filling the cache before anybody asks.

use futures::StreamExt as _;
use serde::Serialize;
use toolcrib_config::model::Server;

use super::{DiscoveryError, DiscoveryOptions, DiscoveryService};
use crate::veil::cover;

/// What warming the cache came to. `total_servers` is the sum of `successful` and `failed`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct WarmStats {
    /// How many servers there were.
    pub total_servers: usize,
    /// How many of them have a list in the cache now.
    pub successful: usize,
    /// How many gave none.
    pub failed: usize,
    /// How many tools those lists hold.
    pub cached_tools: usize,
    /// Why servers gave none, by name.
    pub failures: Vec<WarmFailure>,
    /// What was wrong with tools that were left out, by server.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<WarmFailure>,
}

/// A server that could not be warmed, or not as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WarmFailure {
    /// The server.
    pub server: String,
    /// Why, in one sentence.
    pub reason: String,
}

impl DiscoveryService {
    /// Makes sure that the cache has the tools of these servers, not too old ones. One that cannot be reached is
    /// counted and skipped. Output schemas are never learnt here unless the options force it.
    pub async fn warm_cache_for_servers(
        &self,
        servers: &[Server],
        options: &DiscoveryOptions,
    ) -> WarmStats {
        let options = DiscoveryOptions {
            use_cache: true,
            ..options.clone()
        };
        let mut stats = WarmStats {
            total_servers: servers.len(),
            ..WarmStats::default()
        };
        let chosen = &options;
        let warming = servers.iter().map(|server| async move {
            let outcome = self.warmed(server, chosen).await;
            (server, outcome)
        });
        let mut outcomes = futures::stream::iter(warming).buffer_unordered(options.parallel());
        while let Some((server, outcome)) = outcomes.next().await {
            match outcome {
                Ok(listing) => {
                    stats.successful += 1;
                    stats.cached_tools += listing.items.len();
                    let said = listing.warnings.iter().map(|warning| WarmFailure {
                        server: server.name.clone(),
                        reason: cover(warning),
                    });
                    stats.warnings.extend(said);
                }
                Err(error) => stats.fail(server, &error),
            }
        }
        stats.failures.sort_by(|a, b| a.server.cmp(&b.server));
        stats.warnings.sort_by(|a, b| a.server.cmp(&b.server));
        stats
    }

    /// As [`Self::warm_cache_for_servers`], for every server of the configuration that is switched on.
    pub async fn warm_cache_for_all_configured_servers(
        &self,
        options: &DiscoveryOptions,
    ) -> WarmStats {
        let configured = self.configured_servers();
        let servers: Vec<Server> = configured
            .iter()
            .filter(|server| server.enabled)
            .cloned()
            .collect();
        self.warm_cache_for_servers(&servers, options).await
    }
}

impl WarmStats {
    fn fail(&mut self, server: &Server, error: &DiscoveryError) {
        self.failed += 1;
        self.failures.push(WarmFailure {
            server: server.name.clone(),
            reason: error.to_string(),
        });
    }
}
