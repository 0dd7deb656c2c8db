//! The one service that finds out what servers offer.
//!
//! A list comes from the cache, or from the server itself: under a rate limit, with retries, several
//! servers at once, and none that fails holds up the others. What it needs of connections is a
//! [`Lister`]; it knows no transport.

mod error;
mod event;
mod integration;
mod limiter;
mod lister;
pub mod offered;
mod options;
mod places;
mod registry;
mod runtime;
mod warm;

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use futures::{Stream, StreamExt};
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use toolcrib_config::model::Server;
use toolcrib_core::catalog::Inference;
use toolcrib_core::limits::DISCOVERY_ATTEMPT_MS_DEFAULT;
use toolcrib_core::retry::Attempts;
use toolcrib_store::cache::{Cached, ListCache, Made};
use toolcrib_upstream::mcp::{CallError, Failure};

use crate::capability::market::{CapabilityCatalog, Marketplace};
use crate::capability::trial::Trial;

pub use error::DiscoveryError;
pub use event::{Event, Listener};
pub use integration::Registration;
pub use limiter::{RateLimiter, Refused};
pub use lister::{Lister, RawList, Visit, What};
pub use options::{AuthHeaders, DiscoveryOptions};
pub use places::Places;
pub use registry::{Candidate, RegistryCatalog, RegistryDiscovery, Skipped};
pub use runtime::{DiscoveryProvider, Found, ResolveError, RuntimeDiscovery};
pub use warm::{WarmFailure, WarmStats};

/// Where a list comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The server was asked just now.
    Server,
    /// It was kept, and is fresh.
    Cache,
    /// It was kept and has grown old; a new one is on its way.
    Stale,
}

/// The list of one server.
#[derive(Clone, Debug)]
pub struct Listing {
    /// The items, each the text that the server sent.
    pub items: Arc<[Box<RawValue>]>,
    /// Where they come from.
    pub source: Source,
    /// When the server gave them, in milliseconds since the epoch.
    pub at_ms: i64,
    /// How long they count as fresh at most, where the server says so.
    pub fresh_ms: Option<i64>,
    /// What was wrong with items that were left out.
    pub warnings: Vec<String>,
}

type Clock = Arc<dyn Fn() -> i64 + Send + Sync>;
type Random = Arc<dyn Fn() -> f64 + Send + Sync>;

/// Finds out what servers offer. Clones share everything.
#[derive(Clone)]
pub struct DiscoveryService {
    lister: Arc<dyn Lister>,
    cache: Arc<ListCache>,
    registry: Option<RegistryCatalog>,
    limiter: Arc<RateLimiter>,
    places: Arc<Places>,
    configured: Arc<ArcSwap<Vec<Server>>>,
    refreshing: Arc<Mutex<HashSet<String>>>,
    auth_headers: Option<Arc<AuthHeaders>>,
    marketplace: Option<Arc<dyn Marketplace>>,
    catalog: Option<Arc<dyn CapabilityCatalog>>,
    trial: Option<Arc<dyn Trial>>,
    inference: Arc<Inference>,
    clock: Clock,
    random: Random,
    listener: Listener,
    tasks: TaskTracker,
    ending: CancellationToken,
}

impl DiscoveryService {
    /// A service that reaches servers through `lister` and keeps their lists in `cache`.
    pub fn new(lister: Arc<dyn Lister>, cache: Arc<ListCache>) -> Self {
        Self {
            lister,
            cache,
            registry: None,
            limiter: Arc::default(),
            places: Arc::new(Places::new(usize::MAX)),
            configured: Arc::default(),
            refreshing: Arc::default(),
            auth_headers: None,
            marketplace: None,
            catalog: None,
            trial: None,
            inference: Arc::default(),
            clock: Arc::new(|| jiff::Timestamp::now().as_millisecond()),
            random: Arc::new(random),
            listener: Arc::new(|_| {}),
            tasks: TaskTracker::new(),
            ending: CancellationToken::new(),
        }
    }

    /// Headers that take the place of every server's own credentials, unless the options have some.
    #[must_use]
    pub fn with_auth_headers(mut self, headers: AuthHeaders) -> Self {
        self.auth_headers = Some(Arc::new(headers));
        self
    }

    /// Who is told what happens.
    #[must_use]
    pub fn with_listener(mut self, listener: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        self.listener = Arc::new(listener);
        self
    }

    /// At most so many servers are asked at once, whoever asks for them.
    #[must_use]
    pub fn with_places(mut self, most: usize) -> Self {
        self.places = Arc::new(Places::new(most));
        self
    }

    /// The places for servers that are being asked.
    pub fn places(&self) -> &Arc<Places> {
        &self.places
    }

    /// Another clock (milliseconds since the epoch) and another source of numbers from 0 to 1.
    #[must_use]
    pub fn with_chance(
        mut self,
        clock: impl Fn() -> i64 + Send + Sync + 'static,
        random: impl Fn() -> f64 + Send + Sync + 'static,
    ) -> Self {
        self.clock = Arc::new(clock);
        self.random = Arc::new(random);
        self
    }

    /// The servers that the configuration has; replaces the ones before.
    pub fn configure(&self, servers: Vec<Server>) {
        self.configured.store(Arc::new(servers));
    }

    /// The servers that the configuration has.
    pub fn configured_servers(&self) -> Arc<Vec<Server>> {
        self.configured.load_full()
    }

    /// The cache of lists.
    pub fn cache(&self) -> &Arc<ListCache> {
        &self.cache
    }

    /// The tools of one server: kept ones where the options allow it and there are any, else those
    /// that it gives now. Kept ones that have grown old answer while new ones are fetched.
    pub async fn discover_tools(
        &self,
        server: &Server,
        options: &DiscoveryOptions,
    ) -> Result<Listing, DiscoveryError> {
        let target = self.target(server, options);
        if options.use_cache
            && let Some(mut kept) = self.kept(&target).await
        {
            self.integrate(server, &mut kept, options).await;
            if kept.source == Source::Stale {
                self.refresh_later(target, options.clone());
            }
            self.tell(&Event::Found {
                server: server.name.clone(),
                items: kept.items.len(),
                source: kept.source,
            });
            return Ok(kept);
        }
        self.fetch_tools(&target, options).await
    }

    /// The tools that a server gives now, whatever is kept; what it gives is kept from now on where
    /// the options use the cache.
    pub async fn refresh_tools(
        &self,
        server: &Server,
        options: &DiscoveryOptions,
    ) -> Result<Listing, DiscoveryError> {
        self.fetch_tools(&self.target(server, options), options)
            .await
    }

    /// The tools of a server as they were kept, fresh or not, without asking anybody. Reads a file.
    pub fn kept_tools(&self, server: &Server) -> Option<Listing> {
        let now = (self.clock)();
        let cached = self
            .cache
            .get_tools(&server.name, &server.fingerprint(), now)?;
        Some(Listing::from(cached))
    }

    /// What was made from the kept tools of a server, fresh or not. Reads a file.
    pub(super) fn made(&self, server: &str, fingerprint: &str) -> Option<Made> {
        self.cache.get_made(server, fingerprint, (self.clock)())
    }

    /// Keeps what was made from the tools that a server listed at a time. A disk that fails costs the
    /// next start some time, and nothing now.
    pub(super) fn keep_made(&self, server: &Server, at_ms: i64, made: &[u8]) {
        let (name, fingerprint) = (&server.name, server.fingerprint());
        let now = (self.clock)();
        if let Err(error) = self.cache.store_made(name, &fingerprint, at_ms, made, now) {
            tracing::debug!(server = name, %error, "what was made from a list was not kept");
        }
    }

    /// The resources that a server gives now; they are not kept.
    pub async fn discover_resources(
        &self,
        server: &Server,
        options: &DiscoveryOptions,
    ) -> Result<Listing, DiscoveryError> {
        let list = self
            .ask(&self.target(server, options), What::Resources, options)
            .await?;
        Ok(self.fresh(list))
    }

    /// The tools of several servers, in the order in which they come, a bounded number at a time.
    pub fn discover_each(
        &self,
        servers: impl IntoIterator<Item = Server>,
        options: &DiscoveryOptions,
    ) -> impl Stream<Item = (Server, Result<Listing, DiscoveryError>)> {
        let parallel = options.parallel();
        let options = Arc::new(options.clone());
        let servers: Vec<Server> = servers.into_iter().collect();
        futures::stream::iter(servers)
            .map(move |server| {
                let (service, options) = (self.clone(), Arc::clone(&options));
                async move {
                    let outcome = service.discover_tools(&server, &options).await;
                    (server, outcome)
                }
            })
            .buffer_unordered(parallel)
    }

    /// The tools of a server for the cache: kept ones while they are fresh, else those it gives now.
    async fn warmed(
        &self,
        server: &Server,
        options: &DiscoveryOptions,
    ) -> Result<Listing, DiscoveryError> {
        let target = self.target(server, options);
        match self.kept(&target).await {
            Some(kept) if kept.source == Source::Cache => {
                self.tell(&Event::Found {
                    server: server.name.clone(),
                    items: kept.items.len(),
                    source: kept.source,
                });
                Ok(kept)
            }
            _ => self.fetch_tools(&target, options).await,
        }
    }

    /// Ends what runs in the background and waits for it.
    pub async fn close(&self) {
        self.ending.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }

    async fn fetch_tools(
        &self,
        target: &Target,
        options: &DiscoveryOptions,
    ) -> Result<Listing, DiscoveryError> {
        let list = self.ask(target, What::Tools, options).await?;
        let mut listing = self.fresh(list);
        if options.use_cache {
            self.keep(target, &listing).await;
        }
        self.integrate(&target.server, &mut listing, options).await;
        Ok(listing)
    }

    fn fresh(&self, list: RawList) -> Listing {
        Listing {
            items: list.items.into(),
            source: Source::Server,
            at_ms: (self.clock)(),
            fresh_ms: list.fresh_ms,
            warnings: list.warnings,
        }
    }

    /// The server as it will be asked, and what its kept lists are known by.
    fn target(&self, server: &Server, options: &DiscoveryOptions) -> Target {
        let instead = options.auth_headers.as_ref();
        let server = match instead.or(self.auth_headers.as_deref()) {
            Some(headers) => options::with_headers(server, headers),
            None => server.clone(),
        };
        Target {
            fingerprint: server.fingerprint(),
            server,
        }
    }

    async fn kept(&self, target: &Target) -> Option<Listing> {
        let (cache, now) = (Arc::clone(&self.cache), (self.clock)());
        let (name, fingerprint) = (target.server.name.clone(), target.fingerprint.clone());
        let reading =
            tokio::task::spawn_blocking(move || cache.get_tools(&name, &fingerprint, now));
        reading.await.ok().flatten().map(Listing::from)
    }

    /// Keeps a list. A disk that fails costs the next start a connection, and nothing now.
    async fn keep(&self, target: &Target, listing: &Listing) {
        let (cache, now, fresh) = (Arc::clone(&self.cache), listing.at_ms, listing.fresh_ms);
        let (name, fingerprint) = (target.server.name.clone(), target.fingerprint.clone());
        let items = listing.items.to_vec();
        let writing = tokio::task::spawn_blocking(move || {
            cache.store_tools_for(&name, &fingerprint, items, fresh, now)
        });
        if let Ok(Err(error)) = writing.await {
            tracing::warn!(server = target.server.name, %error, "the tool list was not kept");
        }
    }

    /// Fetches a list in the background, unless that is under way already.
    fn refresh_later(&self, target: Target, options: DiscoveryOptions) {
        let name = target.server.name.clone();
        if self.ending.is_cancelled() || !self.refreshing().insert(name.clone()) {
            return;
        }
        let service = self.clone();
        self.tasks.spawn(async move {
            let fetching = service.fetch_tools(&target, &options);
            let outcome = service.ending.run_until_cancelled(fetching).await;
            service.refreshing().remove(&name);
            match outcome {
                Some(Ok(listing)) => service.tell(&Event::Refreshed {
                    server: name,
                    items: listing.items.len(),
                }),
                Some(Err(error)) => {
                    tracing::warn!(server = name, %error, "the kept tool list could not be renewed");
                }
                None => {}
            }
        });
    }

    fn refreshing(&self) -> std::sync::MutexGuard<'_, HashSet<String>> {
        self.refreshing
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks a server: a token first, then the request, again where that may help.
    async fn ask(
        &self,
        target: &Target,
        what: What,
        options: &DiscoveryOptions,
    ) -> Result<RawList, DiscoveryError> {
        let server = &target.server;
        let name = || server.name.clone();
        self.tell(&Event::Asking { server: name() });
        let outcome = self.ask_again_and_again(server, what, options).await;
        self.tell(&match &outcome {
            Ok(list) => Event::Found {
                server: name(),
                items: list.items.len(),
                source: Source::Server,
            },
            Err(error) => Event::Skipped {
                server: name(),
                error: error.clone(),
            },
        });
        outcome
    }

    async fn ask_again_and_again(
        &self,
        server: &Server,
        what: What,
        options: &DiscoveryOptions,
    ) -> Result<RawList, DiscoveryError> {
        let policy = options.retries_for(server);
        let patience = Duration::from_millis(policy.max_delay_ms);
        let rate = options.rate_for(server);
        let mut attempts = Attempts::new(policy);
        loop {
            let token = self.limiter.acquire(&server.name, rate, patience).await;
            token.map_err(|refused| {
                DiscoveryError::RateLimited(refused.wait.unwrap_or(Duration::MAX))
            })?;
            let asking = self.ask_once(server, what, options);
            let failure = match self.places.within(&server.name, asking).await {
                Ok(list) => return Ok(list),
                Err(failure) => failure,
            };
            let (trouble, asked) = error::trouble(&failure);
            let asked_ms = asked.map(|asked| u64::try_from(asked.as_millis()).unwrap_or(u64::MAX));
            let Some(delay_ms) = attempts.after(trouble, asked_ms, (self.random)()) else {
                return Err(failure.into());
            };
            let delay = Duration::from_millis(delay_ms);
            tracing::debug!(server = server.name, %failure, delay_ms, "asking again");
            self.tell(&Event::Waiting {
                server: server.name.clone(),
                retry: attempts.retries(),
                delay,
            });
            tokio::time::sleep(delay).await;
        }
    }

    async fn ask_once(
        &self,
        server: &Server,
        what: What,
        options: &DiscoveryOptions,
    ) -> Result<RawList, CallError> {
        let visit = if options.keep_session {
            Visit::Staying
        } else {
            Visit::OneOff
        };
        let handling = &server.handling;
        let configured = match (handling.start_timeout_ms, handling.call_timeout_ms) {
            (Some(start), Some(call)) => Some(start.saturating_add(call)),
            _ => None,
        };
        let allowed = Duration::from_millis(configured.unwrap_or(DISCOVERY_ATTEMPT_MS_DEFAULT));
        let asking = self.lister.list(server, what, visit);
        let answered = tokio::time::timeout(allowed, asking).await;
        answered.unwrap_or(Err(Failure::TimedOut(allowed).into()))
    }

    fn tell(&self, event: &Event) {
        (self.listener)(event);
    }
}

/// A server as it is asked.
struct Target {
    server: Server,
    /// What its kept lists are known by.
    fingerprint: String,
}

impl From<Cached> for Listing {
    fn from(cached: Cached) -> Self {
        Self {
            items: cached.items,
            source: if cached.stale {
                Source::Stale
            } else {
                Source::Cache
            },
            at_ms: cached.stored_ms,
            fresh_ms: cached.fresh_ms,
            warnings: Vec::new(),
        }
    }
}

/// A number from 0 to 1, different each time; nobody needs it to be unguessable.
#[expect(
    clippy::cast_precision_loss,
    reason = "32 bits are exact in a float of 64"
)]
fn random() -> f64 {
    let bits = RandomState::new().hash_one(0_u8) >> 32;
    bits as f64 / f64::from(u32::MAX)
}

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod registry_tests;
#[cfg(test)]
mod tests;
