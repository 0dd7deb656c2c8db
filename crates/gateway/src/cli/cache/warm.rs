//! `toolcrib cache warm`.

use std::sync::Arc;

use toolcrib_config::load::Config;
use toolcrib_config::model::Server;
use toolcrib_config::surroundings::Surroundings;
use toolcrib_core::Code;
use toolcrib_store::Store;
use toolcrib_upstream::mcp::oauth::TokenStore;

use crate::cli::counter::{chosen, counting};
use crate::cli::shown::counted;
use crate::cli::{Context, now_ms, running};
use crate::engine::clock::Clock;
use crate::engine::connections::{Connections, Users};
use crate::engine::discovery::{DiscoveryOptions, Event, WarmStats};
use crate::engine::upstream::Upstream as _;
use crate::engine::{observe_kept, pack_kept};
use crate::failure::Failure;
use crate::storage;
use crate::tokens::Tokens;
use crate::ui::{Line, Progress};

/// Runs the command.
pub(super) fn run(
    context: &mut Context,
    config: Config,
    names: &[String],
    fresh: bool,
) -> Result<(), Failure> {
    let servers = chosen(&config.servers, names)?;
    let parallel = usize::try_from(config.settings.limits.parallel_discoveries);
    let options = DiscoveryOptions {
        use_cache: true,
        max_parallel_discoveries: parallel.unwrap_or(usize::MAX),
        ..DiscoveryOptions::default()
    };
    let progress = Arc::new(Progress::waiting(servers.len()));
    let surroundings = context.surroundings.clone();
    let (stats, waiting) = running::runtime()?.block_on(async {
        // Logins are kept in it, and what was accepted.
        let opened = storage::open_to_look(&config, &surroundings).await;
        let store = opened.ok().map(|(store, _)| store);
        let connections = connections(surroundings, store.as_ref());
        let config = Arc::new(config);
        connections.configure(&config);
        let heard = Arc::clone(&progress);
        let service = connections
            .discovery()
            .with_listener(move |event| hear(&heard, event));
        if fresh {
            for server in &servers {
                let _ = service.cache().clear_server(&server.name);
            }
        }
        let warming = service.warm_cache_for_servers(&servers, &options);
        let stats = counting(context, &progress, warming).await;
        progress.end();
        pack_kept(&config, &connections);
        let mut waiting = 0;
        if let Some(store) = store {
            observe(context, &config, &connections, &store).await;
            let pending = store.pending_tools().await.unwrap_or_default();
            let of = |server: &Server| pending.get(&server.name).copied();
            waiting = servers.iter().filter_map(of).sum();
            store.close().await;
        }
        connections.close().await;
        Ok::<_, Failure>((stats, waiting))
    })?;
    if waiting > 0 && !context.ui.is_json() {
        let tools = counted(usize::try_from(waiting).unwrap_or(usize::MAX), "tool");
        let line = format!("{tools} waiting for approval; `toolcrib approvals list` shows them.");
        context.ui.note(line);
    }
    tell(context, &stats)
}

/// Holds the lists that are kept against what was accepted, so that what is said to wait is what a call would be
/// refused for. Asks no server.
pub(in crate::cli) async fn observed(context: &mut Context, config: &Arc<Config>, store: &Store) {
    let connections = connections(context.surroundings.clone(), None);
    connections.configure(config);
    observe(context, config, &connections, store).await;
}

async fn observe(
    context: &mut Context,
    config: &Arc<Config>,
    connections: &Connections,
    store: &Store,
) {
    if let Err(error) = observe_kept(config, connections, store, now_ms()).await {
        let why = format!("what changed in kept lists cannot be put down: {error}");
        context.ui.note(why);
    }
}

/// Connections for one command, with the logins of a store.
pub(in crate::cli) fn connections(
    surroundings: Surroundings,
    store: Option<&Store>,
) -> Connections {
    let now_ms = || jiff::Timestamp::now().as_millisecond();
    let tokens =
        store.map(|store| Arc::new(Tokens::new(store.clone(), now_ms)) as Arc<dyn TokenStore>);
    Connections::new(Users::Many, surroundings, tokens, Clock::system())
}

fn hear(progress: &Progress, event: &Event) {
    match event {
        Event::Asking { server } => progress.say(&format!("asking {server}")),
        Event::Waiting { server, delay, .. } => {
            progress.say(&format!("asking {server} again in {} s", delay.as_secs()));
        }
        Event::Found { .. } | Event::Skipped { .. } => progress.step(),
        Event::Refreshed { .. } => {}
    }
}

fn tell(context: &mut Context, stats: &WarmStats) -> Result<(), Failure> {
    if stats.total_servers > 0 && stats.successful == 0 {
        let reasons = stats
            .failures
            .iter()
            .map(|f| format!("{}: {}", f.server, f.reason));
        let message = reasons.collect::<Vec<_>>().join("\n");
        let details = serde_json::to_value(stats).unwrap_or_default();
        return Err(Failure::new(Code::ServerConnectionError, message).with("stats", details));
    }
    if context.ui.is_json() {
        context.ui.json(stats);
        // What failed stands in it.
        context.ui.mute();
        return whole(stats);
    }
    for failed in &stats.failures {
        let line = format!(" {}: {}", failed.server, failed.reason);
        context.ui.line(Line::new().mark(false).text(line));
    }
    for warning in &stats.warnings {
        let line = format!("{}: {}", warning.server, warning.reason);
        context.ui.note(line);
    }
    let line = format!(
        "{} of {} kept, with {}.",
        stats.successful,
        counted(stats.total_servers, "server"),
        counted(stats.cached_tools, "tool")
    );
    context.ui.line(line);
    whole(stats)
}

/// What the command ends with: a server that could not be asked is no success.
fn whole(stats: &WarmStats) -> Result<(), Failure> {
    if stats.failures.is_empty() {
        return Ok(());
    }
    let message = format!(
        "{} of {} servers could not be asked; `toolcrib doctor` says what to do",
        stats.failures.len(),
        stats.total_servers
    );
    Err(Failure::new(Code::ServerConnectionError, message))
}
