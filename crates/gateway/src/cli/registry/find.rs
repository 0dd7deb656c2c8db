//! `toolcrib registry find`, and the tools of servers that nobody has configured yet.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use toolcrib_config::load::Config;
use toolcrib_core::Code;

use super::{Market, brief};
use crate::cli::counter::doing;
use crate::cli::shown::counted;
use crate::cli::{Context, cache};
use crate::engine::discovery::{
    Candidate, DiscoveryError, DiscoveryOptions, DiscoveryService, Listing, RegistryDiscovery,
};
use crate::engine::upstream::Upstream as _;
use crate::failure::Failure;
use crate::ui::{Line, Tone};

/// Lists servers that may have a capability.
pub(super) fn run(
    context: &mut Context,
    config: Config,
    market: Market,
    capability: &str,
) -> Result<(), Failure> {
    let all = usize::MAX;
    let found = with_service(context, config, market, all, async |service, options| {
        service
            .find_servers_for_capability(capability, options)
            .await
    })?;
    if found.is_empty() {
        let message =
            format!("neither the configuration nor the registry has a server for {capability}");
        return Err(Failure::not_found(Code::ServerNotFound, message));
    }
    if context.ui.is_json() {
        let servers: Vec<Value> = found.iter().map(as_json).collect();
        context.ui.json(&json!({ "servers": servers }));
        return Ok(());
    }
    for candidate in &found {
        context.ui.line(match candidate {
            Candidate::Configured(server) => Line::new()
                .tone(Tone::Strong, &server.name)
                .text(" is configured"),
            Candidate::Published(entry) => Line::new()
                .tone(Tone::Strong, &entry.name)
                .text(format_args!(" {} is in the registry", entry.version)),
        });
    }
    let published = |candidate: &Candidate| matches!(candidate, Candidate::Published(_));
    if found.iter().any(published) {
        super::from_here(context);
    }
    Ok(())
}

fn as_json(candidate: &Candidate) -> Value {
    match candidate {
        Candidate::Configured(server) => json!({ "place": "configuration", "name": server.name }),
        Candidate::Published(entry) => {
            let mut value = brief(entry);
            value["place"] = json!("registry");
            value
        }
    }
}

/// Asks servers of the registry which tools they have.
pub(super) fn tools(
    context: &mut Context,
    config: Config,
    market: Market,
    query: &str,
    limit: usize,
) -> Result<(), Failure> {
    let outcome = with_service(context, config, market, limit, async |service, options| {
        service.discover_from_registry(query, options).await
    })?;
    for warning in &outcome.warnings {
        context.ui.note(warning.as_str());
    }
    let nothing = outcome.found.is_empty() && outcome.skipped.is_empty();
    if context.ui.is_json() {
        context.ui.json(&shown(&outcome));
        context.ui.mute();
    }
    if nothing {
        return Err(super::no_match(query));
    }
    for (server, listing) in &outcome.found {
        let count = format!(" {}", counted(listing.items.len(), "tool"));
        let head = Line::new().mark(true).text(" ");
        context
            .ui
            .line(head.tone(Tone::Strong, &server.name).text(count));
        for name in names(listing) {
            context.ui.line(format!("    {name}"));
        }
    }
    for skipped in &outcome.skipped {
        let line = format!(" {}: {}", skipped.name, skipped.reason);
        context.ui.line(Line::new().tone(Tone::Dim, "-").text(line));
    }
    super::further(context, outcome.more);
    Ok(())
}

fn shown(outcome: &RegistryDiscovery) -> Value {
    let found = outcome.found.iter();
    let found: Vec<Value> = found
        .map(|(server, listing)| json!({ "name": server.name, "tools": names(listing) }))
        .collect();
    let skipped = outcome.skipped.iter();
    let skipped: Vec<Value> = skipped
        .map(|one| json!({ "name": one.name, "reason": one.reason }))
        .collect();
    json!({ "servers": found, "skipped": skipped, "more": outcome.more, "warnings": outcome.warnings })
}

fn names(listing: &Listing) -> Vec<String> {
    #[derive(Deserialize)]
    struct Named {
        name: String,
    }
    let items = listing.items.iter();
    let named = items.filter_map(|item| serde_json::from_str::<Named>(item.get()).ok());
    named.map(|named| named.name).collect()
}

/// Runs `work` with the discovery service of the configuration, and closes what it opened.
fn with_service<T>(
    context: &Context,
    config: Config,
    market: Market,
    limit: usize,
    work: impl AsyncFnOnce(&DiscoveryService, &DiscoveryOptions) -> Result<T, DiscoveryError>,
) -> Result<T, Failure> {
    let connections = cache::connections(context.surroundings.clone(), None);
    let options = DiscoveryOptions {
        use_cache: market.use_cache,
        max_registry_servers: limit,
        ..DiscoveryOptions::default()
    };
    market.runtime.block_on(async {
        connections.configure(&Arc::new(config));
        let service = connections.discovery().with_registry(market.catalog);
        let outcome = doing(context, super::ASKING, work(&service, &options)).await;
        connections.close().await;
        outcome.map_err(|error| match &error {
            DiscoveryError::Registry(error) => super::failure(error),
            other => Failure::new(other.code(), other.to_string()),
        })
    })
}
