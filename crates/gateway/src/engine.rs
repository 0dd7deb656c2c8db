//! The engine that every door uses: one catalog, one policy, one way to run a tool.
//!
//! A door authenticates, makes a [`Caller`](toolcrib_core::policy::Caller) and a request of [`ask`],
//! and turns an answer of [`answer`] or an [`error::Error`] into whatever its clients speak. It
//! decides nothing. A request takes one [`Snapshot`] and uses it to its end; the catalog behind it is
//! rebuilt server by server and published without blocking a reader.

mod abreast;
pub mod answer;
pub mod ask;
mod asking;
mod buckets;
pub mod cache;
pub mod clock;
pub mod connections;
pub mod definition;
pub mod discovery;
pub mod error;
mod execute;
mod find;
#[cfg(test)]
mod fixture;
mod habit;
mod here;
mod kit;
pub(crate) mod mark;
pub mod meter;
mod missing;
pub mod passage;
pub mod rack;
pub mod snapshot;
pub mod spelling;
mod stock;
pub mod supplier;
#[cfg(test)]
mod tests;
mod upkeep;
pub mod upstream;

use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use futures::stream::BoxStream;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use toolcrib_config::load::Config;
use toolcrib_core::Code;
use toolcrib_core::schema::Validators;
use toolcrib_store::approval::Mark;
use toolcrib_store::{Store, StoreError};

use asking::Asking;
use buckets::Buckets;
use cache::Cache;
use clock::Clock;
use error::{Error, Result};
use habit::Searches;
use meter::Meter;
use snapshot::{Entry, Snapshot};
use stock::Terms;
use supplier::Supplier;
use upstream::{Health, Upstream};

use crate::control::Counts;
use crate::telemetry::Tracer;

pub use here::{open_here, open_on};
pub use stock::{observe_kept, observe_list, pack_kept};

/// The counter of tool lists that were answered from what was kept.
pub const LIST_KEPT: &str = "list.kept";

/// The counter of tool lists that a caller had to wait for.
pub const LIST_ASKED: &str = "list.asked";

/// The engine. Shared behind an `Arc`.
pub struct Engine {
    snapshot: ArcSwap<Snapshot>,
    publishing: Mutex<()>,
    cache: ArcSwap<Cache>,
    asking: Asking,
    settled: Mutex<Option<Mark>>,
    validators: Mutex<Validators>,
    buckets: Buckets,
    searches: Searches,
    in_flight: Arc<AtomicUsize>,
    store: Store,
    upstream: Arc<dyn Upstream>,
    /// Lists that are older were not said to this process.
    opened_ms: i64,
    clock: Clock,
    tracer: Tracer,
    meter: Meter,
    /// How many configurations were put in place.
    reloads: watch::Sender<u64>,
    /// How often a server came to offer something else.
    restocks: watch::Sender<u64>,
    tasks: TaskTracker,
    ending: CancellationToken,
    /// Cancels the calls that are under way.
    hurry: CancellationToken,
}

impl Engine {
    /// Opens the engine on a configuration. What is declared or was kept is in the catalog; nothing is
    /// connected until it is needed.
    pub async fn open(
        config: Arc<Config>,
        store: Store,
        upstream: Arc<dyn Upstream>,
        clock: Clock,
        tracer: Tracer,
    ) -> Result<Arc<Self>> {
        let terms = Terms::new(Arc::clone(&config))?;
        let empty = Snapshot::new(0, Arc::clone(&config), Arc::default(), Vec::new());
        let engine = Arc::new(Self {
            snapshot: ArcSwap::from_pointee(empty),
            publishing: Mutex::new(()),
            cache: ArcSwap::from_pointee(Cache::new(&config)),
            asking: Asking::default(),
            settled: Mutex::new(None),
            validators: Mutex::default(),
            buckets: Buckets::default(),
            searches: Searches::default(),
            in_flight: Arc::default(),
            store,
            upstream,
            opened_ms: clock.now_ms(),
            clock,
            tracer,
            meter: Meter::default(),
            reloads: watch::Sender::default(),
            restocks: watch::Sender::default(),
            tasks: TaskTracker::new(),
            ending: CancellationToken::new(),
            hurry: CancellationToken::new(),
        });
        engine.see_settlements().await;
        // The store is asked while the ways to the servers are made ready.
        let accepted = engine.accepted();
        engine.upstream.configure(&config);
        let (stocked, cache) = engine.stock(terms, None, accepted).await;
        engine.put_in_place(stocked, cache);
        Ok(engine)
    }

    /// The catalog as it is now. A request takes it once and uses it to its end.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshot.load_full()
    }

    /// The way to what servers have beside tools. Policy stands before it: see [`Self::pass`].
    fn passage(&self) -> Option<&dyn passage::Passage> {
        self.upstream.passage()
    }

    /// What a server says has changed, from now on.
    pub fn happenings(&self, server: &str) -> Option<BoxStream<'static, passage::Happening>> {
        let passage = self.passage()?;
        Some(passage.happenings(server))
    }

    /// The API behind a server, where it is one and its description was read.
    pub fn described(&self, server: &str) -> Option<Arc<upstream::Adapter>> {
        self.upstream.described(server)
    }

    /// What finds out what servers offer that are not configured.
    pub fn discovery(&self) -> Option<discovery::DiscoveryService> {
        self.upstream.discovery()
    }

    /// What is remembered beyond this process.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// What the time is, and chance.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Makes spans of what is done.
    pub fn tracer(&self) -> &Tracer {
        &self.tracer
    }

    /// Counts executions.
    pub fn meter(&self) -> &Meter {
        &self.meter
    }

    /// How many servers and tools there are, as far as that is known now. Asks nobody.
    pub fn counts(&self) -> Counts {
        let snapshot = self.snapshot();
        let (tools_total, tools_enabled) = snapshot.counts();
        let connected = |supplier: &&Arc<Supplier>| {
            self.upstream.standing(&supplier.name).health == Health::Connected
        };
        Counts {
            servers_configured: snapshot.config.servers.len()
                + snapshot.config.settings.adapters.len(),
            servers_connected: snapshot.suppliers().filter(connected).count(),
            tools_enabled,
            tools_total,
        }
    }

    /// The configuration in place.
    pub fn config(&self) -> Arc<Config> {
        Arc::clone(&self.snapshot.load().config)
    }

    /// Puts a configuration in place and drops what was kept in memory. What cannot be used changes
    /// nothing.
    pub async fn reload(&self, config: Arc<Config>) -> Result<()> {
        let terms = Terms::new(Arc::clone(&config))?;
        self.upstream.configure(&config);
        self.asking.forgive();
        let (before, accepted) = (self.snapshot(), self.accepted());
        let (stocked, cache) = self.stock(terms, Some(&before), accepted).await;
        self.put_in_place(stocked, cache);
        self.reloads.send_modify(|count| *count += 1);
        Ok(())
    }

    /// Changes whenever a configuration was put in place.
    pub fn reloads(&self) -> watch::Receiver<u64> {
        self.reloads.subscribe()
    }

    /// Changes whenever a server offers something else under the same configuration: it has said its tools, or other
    /// ones than before, or somebody settled what was waiting.
    pub fn restocks(&self) -> watch::Receiver<u64> {
        self.restocks.subscribe()
    }

    /// What is known of one tool now, so that two looks can be told apart. Asks nobody.
    pub(crate) fn glimpse(&self, server: &str, tool: &str) -> Option<(Arc<Entry>, mark::Mark)> {
        let snapshot = self.snapshot();
        let rack = snapshot.own_rack(server)?;
        let entry = rack.exact(tool)?;
        Some((Arc::clone(entry), rack.mark(tool)?.clone()))
    }

    /// Lets calls under way end within `grace`, cancels those that do not, and closes every connection. The store
    /// stays open; whoever opened it closes it after this, so that the last records are written.
    pub async fn close(&self, grace: Duration) {
        self.ending.cancel();
        self.tasks.close();
        if tokio::time::timeout(grace, self.tasks.wait())
            .await
            .is_err()
        {
            self.hurry.cancel();
            self.tasks.wait().await;
        }
        self.upstream.close().await;
        if let Err(error) = self.store.flush_counters().await {
            tracing::warn!(%error, "what was counted could not be written down");
        }
    }

    /// Whether lists are kept in memory at all.
    fn keeps(&self) -> bool {
        let config = self.config();
        let cache = config.settings.cache.as_ref();
        cache.is_none_or(|cache| cache.enabled)
    }

    fn put_in_place(&self, stocked: Snapshot, cache: Cache) {
        let _one_at_a_time = self
            .publishing
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        self.snapshot.store(Arc::new(stocked));
        self.cache.store(Arc::new(cache));
    }

    /// Judges lists again where somebody settled an approval, in whatever process, and says whether it did.
    async fn see_settlements(&self) -> bool {
        self.try_see_settlements().await.unwrap_or_else(|error| {
            tracing::warn!(%error, "whether approvals were settled cannot be read");
            false
        })
    }

    async fn try_see_settlements(&self) -> std::result::Result<bool, StoreError> {
        let mark = self.store.approval_mark().await?;
        let changed = self.judged_at() != Some(mark);
        if changed {
            self.rejudge().await;
            // Only now: whoever reads the mark first and the catalog then has a catalog that was judged by it.
            *self.settled.lock().unwrap_or_else(PoisonError::into_inner) = Some(mark);
        }
        Ok(changed)
    }

    /// What had been settled when the catalog was last judged.
    fn judged_at(&self) -> Option<Mark> {
        *self.settled.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The five tools stay listed while discovery is switched off; each says so.
    fn require_on(&self) -> Result<()> {
        if self.snapshot.load().config.settings.enabled.0 {
            return Ok(());
        }
        Err(Error::new(
            Code::ToolDisabled,
            "Discovery is switched off in the configuration, so nothing is connected.",
        )
        .suggest("Set `enabled: true` in the configuration"))
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine")
            .field("snapshot", &self.snapshot.load().number)
            .finish_non_exhaustive()
    }
}
