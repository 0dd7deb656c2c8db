//! The servers and APIs of a configuration, as the engine reaches them: lists through discovery, calls
//! through the pool, and APIs through their adapters.

mod adapters;
mod endpoint;
mod eras;
mod lister;
mod passage;

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use arc_swap::{ArcSwap, ArcSwapOption};
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use serde_json::value::RawValue;
use tokio::sync::broadcast::error::RecvError;
use toolcrib_config::load::Config;
use toolcrib_config::model::Server;
use toolcrib_config::model::settings::Limits;
use toolcrib_config::surroundings::Surroundings;
use toolcrib_core::ToolId;
use toolcrib_core::policy::Permit;
use toolcrib_core::trace::SpanContext;
use toolcrib_store::cache::{ListCache, Made};
use toolcrib_upstream::mcp::oauth::TokenStore;
use toolcrib_upstream::mcp::{self, CallError, EraMemory, Happening, Key, Pool, Ways, breaker};

use super::clock::Clock;
use super::discovery::{self, DiscoveryError, DiscoveryOptions, DiscoveryService};
use super::passage::Passage;
use super::upstream::{
    Breaker, Call, Change, Health, List, Listed, Owner, Said, Standing, Upstream, Wish,
};
use crate::known;
use crate::mcp::fields::Fields;
use crate::mcp::meta::set_trace;
use crate::veil::cover;
use adapters::Adapters;
use endpoint::Resolver;
use lister::PoolLister;

/// Who uses the connections of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Users {
    /// One caller alone, such as the person whose client speaks over stdio: servers may ask it things.
    One,
    /// Any number.
    Many,
}

impl Users {
    /// The connection that lists are asked over, and that callers share.
    fn home(self) -> Key {
        match self {
            Self::One => Key::Sole,
            Self::Many => Key::Shared,
        }
    }
}

/// The servers of a configuration.
pub struct Connections {
    pool: Arc<Pool>,
    adapters: Adapters,
    resolver: Arc<Resolver>,
    home: Key,
    clock: Clock,
    eras: Arc<EraMemory>,
    eras_kept_in: Arc<ArcSwapOption<ListCache>>,
    current: ArcSwap<Current>,
    follows: passage::Follows,
}

/// What comes from the configuration.
struct Current {
    config: Option<Arc<Config>>,
    /// Where each server stands in the configuration.
    servers: HashMap<String, usize>,
    discovery: DiscoveryService,
    options: DiscoveryOptions,
}

impl Current {
    fn server(&self, name: &str) -> Option<&Server> {
        let at = *self.servers.get(name)?;
        self.config.as_ref()?.servers.get(at)
    }

    /// Why a server or an API cannot be used as things are, where that is so.
    fn set_aside(&self, name: &str) -> Option<&str> {
        let config = self.config.as_ref()?;
        config.set_aside.get(name).map(String::as_str)
    }
}

impl Connections {
    /// Connections that can be made from here; none is made before it is needed.
    pub fn new(
        users: Users,
        surroundings: Surroundings,
        tokens: Option<Arc<dyn TokenStore>>,
        clock: Clock,
    ) -> Self {
        let ways = Arc::new(Ways::of_this_process());
        Self::over(ways, users, surroundings, tokens, clock)
    }

    /// Connections over other ways.
    pub fn over(
        dialer: Arc<dyn mcp::Dialer>,
        users: Users,
        surroundings: Surroundings,
        tokens: Option<Arc<dyn TokenStore>>,
        clock: Clock,
    ) -> Self {
        let (now, chance) = (clock.clone(), clock.clone());
        let kept_in: Arc<ArcSwapOption<ListCache>> = Arc::default();
        let eras = Arc::new(eras::telling(Arc::clone(&kept_in)));
        let pool = Arc::new(Pool::new(mcp::Surroundings {
            dialer,
            memory: Arc::clone(&eras),
            now_ms: Arc::new(move || now.now_ms()),
            random: Arc::new(move || chance.fraction()),
        }));
        let resolver = Arc::new(Resolver::new(surroundings, tokens));
        let home = users.home();
        let lister = PoolLister::new(&pool, &resolver, &home, Limits::default());
        let nowhere = toolcrib_store::cache::CacheOptions {
            enabled: false,
            ..toolcrib_store::cache::CacheOptions::new("")
        };
        let cache = ListCache::new(nowhere);
        let current = Current {
            config: None,
            servers: HashMap::new(),
            discovery: DiscoveryService::new(Arc::new(lister), Arc::new(cache)),
            options: DiscoveryOptions::serving(),
        };
        Self {
            pool,
            adapters: Adapters::default(),
            resolver,
            home,
            clock,
            eras,
            eras_kept_in: kept_in,
            current: ArcSwap::from_pointee(current),
            follows: passage::Follows::default(),
        }
    }

    /// The connections themselves, for what goes beyond tools.
    pub fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }

    /// Finds out what servers offer, with the cache of the configuration in place.
    pub fn discovery(&self) -> DiscoveryService {
        self.current.load().discovery.clone()
    }

    fn key(&self, owner: Owner) -> Key {
        if self.home == Key::Sole {
            return Key::Sole;
        }
        match owner {
            Owner::Shared => self.home.clone(),
            Owner::Principal(principal) => Key::Principal(principal),
            Owner::Session(session) => Key::Session(session),
        }
    }

    async fn listed(&self, name: &str, wish: Wish) -> Result<Listed, DiscoveryError> {
        let current = self.current.load_full();
        if self.adapters.has(name) {
            let listing = self.adapters.list(name, &self.resolver, &self.clock);
            return current.discovery.places().within(name, listing).await;
        }
        let Some(server) = current.server(name) else {
            let gone = "the configuration does not have it any more".to_owned();
            return Err(DiscoveryError::ConnectionFailed(gone));
        };
        if wish == Wish::Fresh
            && let Some(kept) = self.kept_list(&current, server).await
            && !kept.stale
        {
            return Ok(kept);
        }
        let listing = current
            .discovery
            .refresh_tools(server, &current.options)
            .await?;
        for warning in &listing.warnings {
            tracing::warn!(server = name, warning, "a tool is left out");
        }
        Ok(listed(&listing))
    }

    async fn kept_list(&self, current: &Current, server: &Server) -> Option<Listed> {
        let (discovery, server) = (current.discovery.clone(), server.clone());
        let reading = tokio::task::spawn_blocking(move || discovery.kept_tools(&server));
        reading.await.ok().flatten().as_ref().map(listed)
    }
}

/// The `_meta` of a call, which says what trace it belongs to.
fn with_trace(meta: Option<&RawValue>, trace: Option<&SpanContext>) -> Option<Box<RawValue>> {
    if meta.is_none() && trace.is_none() {
        return None;
    }
    let mut fields = meta.and_then(Fields::of).unwrap_or_default();
    set_trace(&mut fields, trace);
    Some(fields.raw())
}

fn listed(listing: &discovery::Listing) -> Listed {
    Listed {
        list: List::Definitions(listing.items.to_vec()),
        said: Said {
            at_ms: listing.at_ms,
            fresh_ms: listing.fresh_ms,
        },
        stale: listing.source == discovery::Source::Stale,
    }
}

impl Upstream for Connections {
    fn configure(&self, config: &Arc<Config>) {
        let settings = &config.settings;
        self.adapters.configure(config);
        for (name, why) in &config.set_aside {
            tracing::warn!(server = name, why, "a server is set aside");
        }
        let aside = |server: &&Server| config.set_aside.contains_key(&server.name);
        let used = config.servers.iter().filter(|server| server.enabled);
        let used = used.filter(|server| !aside(server));
        let endpoints = used.filter_map(|server| {
            let endpoint = self.resolver.endpoint(server, &settings.limits);
            endpoint
                .inspect_err(|why| {
                    tracing::warn!(server = server.name, why, "a server cannot be used");
                })
                .ok()
        });
        self.pool.configure(endpoints.collect());
        let children = usize::try_from(settings.limits.children);
        self.pool.allow_children(children.unwrap_or(usize::MAX));
        let cache = Arc::new(known::kept_lists(config, self.resolver.surroundings()));
        self.eras.learn(eras::kept(&cache));
        self.eras_kept_in.store(Some(Arc::clone(&cache)));
        let lister = PoolLister::new(
            &self.pool,
            &self.resolver,
            &self.home,
            settings.limits.clone(),
        );
        let (now, chance) = (self.clock.clone(), self.clock.clone());
        let parallel = usize::try_from(settings.limits.parallel_discoveries).unwrap_or(usize::MAX);
        let discovery = DiscoveryService::new(Arc::new(lister), cache)
            .with_chance(move || now.now_ms(), move || chance.fraction())
            .with_places(parallel);
        discovery.configure(config.servers.clone());
        self.current.store(Arc::new(Current {
            config: Some(Arc::clone(config)),
            servers: config
                .servers
                .iter()
                .enumerate()
                .map(|(at, server)| (server.name.clone(), at))
                .collect(),
            discovery,
            options: DiscoveryOptions {
                max_parallel_discoveries: parallel,
                ..DiscoveryOptions::serving()
            },
        }));
    }

    fn kept(&self, server: &str) -> Option<Listed> {
        let current = self.current.load();
        let server = current.server(server)?;
        current.discovery.kept_tools(server).as_ref().map(listed)
    }

    fn made(&self, server: &str, fingerprint: &str) -> Option<Made> {
        self.current.load().discovery.made(server, fingerprint)
    }

    fn keep_made(&self, server: &str, at_ms: i64, made: &[u8]) {
        let current = self.current.load();
        if let Some(server) = current.server(server) {
            current.discovery.keep_made(server, at_ms, made);
        }
    }

    fn list<'a>(
        &'a self,
        server: &'a str,
        wish: Wish,
    ) -> BoxFuture<'a, Result<Listed, DiscoveryError>> {
        Box::pin(self.listed(server, wish))
    }

    fn hurry(&self, server: &str) {
        self.current.load().discovery.places().hurry(server);
    }

    fn call(&self, permit: Permit, call: Call) -> BoxFuture<'_, Result<Box<RawValue>, CallError>> {
        Box::pin(async move {
            if self.adapters.has(permit.tool().server()) {
                let (resolver, clock) = (&self.resolver, &self.clock);
                return self.adapters.call(permit, call, resolver, clock).await;
            }
            let meta = with_trace(call.meta.as_deref(), call.trace.as_ref());
            let asked = mcp::Call {
                key: self.key(call.owner),
                arguments: &call.arguments,
                meta,
                schema: Some(&call.schema),
                client: call.client,
                cancel: call.cancel,
                idle: call.idle,
                sent: call.sent,
                round: call.round,
            };
            self.pool.call(permit, asked).await
        })
    }

    fn standing(&self, server: &str) -> Standing {
        if let Some(reason) = self.current.load().set_aside(server) {
            return Standing {
                health: Health::Error,
                reason: Some(reason.to_owned()),
                ..Standing::default()
            };
        }
        if let Some(standing) = self.adapters.standing(server) {
            return standing;
        }
        let Some(status) = self.pool.status(server) else {
            return Standing::default();
        };
        Standing {
            health: match status.health {
                mcp::Health::Connected => Health::Connected,
                mcp::Health::Disconnected => Health::Disconnected,
                mcp::Health::Error => Health::Error,
            },
            breaker: match status.breaker {
                breaker::State::Closed => Breaker::Closed,
                breaker::State::HalfOpen => Breaker::HalfOpen,
                breaker::State::Open => Breaker::Open,
            },
            reason: status.reason.map(|reason| cover(&reason)),
            since_ms: status.since_ms,
        }
    }

    fn revision(&self, server: &str) -> Option<String> {
        self.pool.status(server)?.version
    }

    fn host(&self, tool: &ToolId) -> Option<(String, u16)> {
        self.adapters.read(tool.server())?.host(tool.tool())
    }

    fn changes(&self) -> BoxStream<'static, Change> {
        let state = (self.pool.events(), HashSet::new(), HashSet::new());
        Box::pin(futures::stream::unfold(
            state,
            |(mut events, mut lost, mut met)| async move {
                loop {
                    let event = match events.recv().await {
                        Ok(event) => event,
                        Err(RecvError::Lagged(_)) => {
                            return Some((Change::Missed, (events, lost, met)));
                        }
                        Err(RecvError::Closed) => return None,
                    };
                    let change = match event.what {
                        Happening::Tools => Change::Tools(event.server.to_string()),
                        Happening::Lost => {
                            lost.insert(event.server);
                            continue;
                        }
                        Happening::Connected if lost.remove(&event.server) => {
                            Change::Reconnected(event.server.to_string())
                        }
                        Happening::Connected if met.insert(Arc::clone(&event.server)) => {
                            Change::Connected(event.server.to_string())
                        }
                        _ => continue,
                    };
                    return Some((change, (events, lost, met)));
                }
            },
        ))
    }

    fn passage(&self) -> Option<&dyn Passage> {
        Some(self)
    }

    fn described(&self, server: &str) -> Option<Arc<toolcrib_upstream::rest::Adapter>> {
        self.adapters.read(server)
    }

    fn discovery(&self) -> Option<DiscoveryService> {
        Some(Connections::discovery(self))
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let current = self.current.load_full();
            current.discovery.close().await;
            self.pool.close().await;
        })
    }
}

impl fmt::Debug for Connections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connections")
            .field("pool", &self.pool)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use toolcrib_config::surroundings::Os;
    use toolcrib_upstream::mcp::{Spawner, Ways, http};

    use super::*;
    use crate::loader::Loader;

    #[test]
    fn so_many_servers_are_asked_at_once_as_may_be() {
        let home = tempfile::tempdir().unwrap();
        let here = Surroundings::new(Os::Linux, home.path(), home.path(), |_| None);
        let ways = Ways {
            spawner: Spawner {
                launcher: None,
                environment: Vec::new(),
            },
            http: http::Client::new(),
        };
        let clock = Clock::system();
        let connections = Connections::over(Arc::new(ways), Users::One, here.clone(), None, clock);
        let path = home.path().join("toolcrib.yaml");
        for most in [3, 7] {
            std::fs::write(&path, format!("limits: {{parallelDiscoveries: {most}}}\n")).unwrap();
            let config = Loader::new(here.clone(), Some(path.clone())).config();
            connections.configure(&Arc::new(config.unwrap()));
            let current = connections.current.load();
            assert_eq!(current.discovery.places().free(), most);
            assert_eq!(current.options.max_parallel_discoveries, most);
        }
    }

    /// Knows how long a server may take to start, and starts none.
    #[derive(Default)]
    struct Watching(std::sync::Mutex<Vec<std::time::Duration>>);

    impl mcp::Dialer for Watching {
        fn open<'a>(
            &'a self,
            endpoint: &'a mcp::Endpoint,
            _tasks: &'a tokio_util::task::TaskTracker,
        ) -> BoxFuture<'a, Result<mcp::Link, mcp::Failure>> {
            self.0.lock().unwrap().push(endpoint.start_timeout);
            Box::pin(async { Err(mcp::Failure::NotStarted("never".into())) })
        }
    }

    #[tokio::test]
    async fn a_visit_for_one_list_has_the_times_of_the_configuration() {
        let home = tempfile::tempdir().unwrap();
        let here = Surroundings::new(Os::Linux, home.path(), home.path(), |_| None);
        let path = home.path().join("toolcrib.yaml");
        let yaml = "limits: {startTimeoutMs: 1234}\nservers: {a: {command: a}}\n";
        std::fs::write(&path, yaml).unwrap();
        let config = Loader::new(here.clone(), Some(path)).config().unwrap();
        let dialer = Arc::new(Watching::default());
        let way = Arc::clone(&dialer) as Arc<dyn mcp::Dialer>;
        let connections = Connections::over(way, Users::One, here, None, Clock::system());
        connections.configure(&Arc::new(config));
        let service = connections.discovery();
        let server = service.configured_servers()[0].clone();
        let options = DiscoveryOptions::default();
        let found = service.discover_tools(&server, &options).await;
        assert!(found.is_err());
        let times = dialer.0.lock().unwrap().clone();
        assert_eq!(times, [std::time::Duration::from_millis(1_234)]);
    }
}
