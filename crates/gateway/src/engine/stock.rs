//! How the catalog comes to be: lists are judged, put on racks, and published server by server.

use std::sync::{Arc, PoisonError};

use toolcrib_config::load::Config;
use toolcrib_core::Code;
use toolcrib_core::catalog::Inference;
use toolcrib_core::policy::approval::Origin;
use toolcrib_core::policy::{ApprovalMode, Rulebook};
use toolcrib_store::approval::observation::{Definition, Observation};

use super::Engine;
use super::abreast::abreast;
use super::cache::Cache;
use super::error::Error;
use super::rack::{Draft, Judged, Rack, Source};
use super::snapshot::Snapshot;
use super::supplier::Supplier;
use super::upstream::{List, Upstream};

/// A rack of a supplier that is not in the catalog any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Outdated;

impl Engine {
    /// Reads a list away from the tasks that answer requests: it may be long.
    pub(super) async fn draft(&self, supplier: &Arc<Supplier>, list: List) -> Draft {
        let reader = Arc::clone(supplier);
        blocking(move || read(&reader, list)).await
    }

    /// Judges a list and puts it on a rack.
    pub(super) async fn stow(
        &self,
        supplier: &Arc<Supplier>,
        source: Source,
        draft: Draft,
    ) -> Arc<Rack> {
        let terms = Terms::of(&self.snapshot());
        let judged = self.judge(supplier, source, &draft, &terms).await;
        let supplier = Arc::clone(supplier);
        let build = move || Rack::build(supplier, source, draft, &judged, &terms);
        Arc::new(blocking(build).await)
    }

    /// Holds definitions against what was accepted.
    async fn judge(
        &self,
        supplier: &Supplier,
        source: Source,
        draft: &Draft,
        terms: &Terms,
    ) -> Judged {
        let mode = terms.config.settings.policy.approval;
        // What the user wrote down is accepted by having been written.
        if source == Source::Declared && mode != ApprovalMode::All {
            return Judged::Accepted;
        }
        self.observe(supplier, draft.definitions(), mode).await
    }

    async fn observe(
        &self,
        supplier: &Supplier,
        tools: Vec<toolcrib_store::approval::observation::Definition>,
        mode: ApprovalMode,
    ) -> Judged {
        let observation = observation(supplier, tools, mode);
        match self.store.observe(observation, self.clock.now_ms()).await {
            Ok(observed) => Judged::Observed(observed),
            Err(error) => {
                tracing::error!(
                    server = &*supplier.name,
                    %error,
                    "what was accepted of a server cannot be read; its tools wait"
                );
                Judged::Unknown
            }
        }
    }

    /// Puts a rack into the catalog; readers go on with what they have.
    pub(super) fn publish(&self, rack: Arc<Rack>) -> Result<(), Outdated> {
        let _one_at_a_time = self
            .publishing
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let name = Arc::clone(&rack.supplier.name);
        let next = self
            .snapshot
            .load()
            .with(Arc::clone(&rack))
            .ok_or(Outdated)?;
        self.snapshot.store(Arc::new(next));
        let cache = self.cache.load();
        cache.cache_tool_summaries(&name, rack, self.clock.now_ms());
        Ok(())
    }

    /// The catalog of a configuration, as far as it is known without asking anyone: what is on the
    /// racks of `before` where servers are reached as they were, what is declared, what was kept.
    pub(super) async fn stock(&self, terms: Terms, before: Option<&Snapshot>) -> (Snapshot, Cache) {
        let in_use = terms.config.settings.enabled.0;
        let orders: Vec<Order> = Supplier::all(&terms.config)
            .into_iter()
            .map(|supplier| {
                let old = before.and_then(|before| before.own_rack(&supplier.name));
                let old = old.filter(|old| old.supplier.fingerprint == supplier.fingerprint);
                Order {
                    wanted: in_use && supplier.enabled,
                    old: old.cloned(),
                    supplier,
                }
            })
            .collect();
        let upstream = Arc::clone(&self.upstream);
        let parcels = abreast(orders, move |order| order.fetch(&*upstream)).await;
        let judged = self.judge_all(&parcels, &terms).await;
        let parcels = parcels.into_iter().zip(judged).collect();
        let under = terms.clone();
        let stowed = abreast(parcels, move |(parcel, judged): (Parcel, Judged)| {
            parcel.stow(&judged, &under)
        });
        let stowed = stowed.await;
        let (cache, now_ms) = (Cache::new(&terms.config), self.clock.now_ms());
        for (rack, _) in stowed.iter().filter(|(_, fresh)| *fresh) {
            cache.cache_tool_summaries(&rack.supplier.name, Arc::clone(rack), now_ms);
        }
        let racks = stowed.into_iter().map(|(rack, _)| rack).collect();
        let number = before.map_or(1, |before| before.number + 1);
        let build = move || Snapshot::new(number, terms.config, terms.rulebook, racks);
        (blocking(build).await, cache)
    }

    /// Holds the definitions of many servers against what was accepted, in one go.
    async fn judge_all(&self, parcels: &[Parcel], terms: &Terms) -> Vec<Judged> {
        let mode = terms.config.settings.policy.approval;
        let judge = |parcel: &Parcel| match &parcel.found {
            // What the user wrote down is accepted by having been written.
            Some(found) if found.source == Source::Declared && mode != ApprovalMode::All => None,
            Some(found) => Some(observation(
                &parcel.supplier,
                found.draft.definitions(),
                mode,
            )),
            None => None,
        };
        let (places, observations): (Vec<usize>, Vec<Observation>) = parcels
            .iter()
            .enumerate()
            .filter_map(|(place, parcel)| Some((place, judge(parcel)?)))
            .unzip();
        let mut judged: Vec<Judged> = parcels.iter().map(|_| Judged::Accepted).collect();
        for (place, outcome) in places.into_iter().zip(self.observe_all(observations).await) {
            judged[place] = outcome;
        }
        judged
    }

    async fn observe_all(&self, observations: Vec<Observation>) -> Vec<Judged> {
        let count = observations.len();
        let observed = self.store.observe_all(observations, self.clock.now_ms());
        match observed.await {
            Ok(observed) => observed.into_iter().map(Judged::Observed).collect(),
            Err(error) => {
                tracing::error!(%error, "what was accepted of servers cannot be read; their tools wait");
                (0..count).map(|_| Judged::Unknown).collect()
            }
        }
    }

    /// Holds every list against what was accepted once more: somebody settled something.
    pub(super) async fn rejudge(&self) {
        let snapshot = self.snapshot();
        let mode = snapshot.config.settings.policy.approval;
        let in_question = |rack: &&Arc<Rack>| {
            let accepted = rack.source == Source::Declared && mode != ApprovalMode::All;
            !rack.entries().is_empty() && !accepted
        };
        let racks: Vec<&Arc<Rack>> = snapshot.racks().filter(in_question).collect();
        let observations = racks
            .iter()
            .map(|rack| observation(&rack.supplier, rack.definitions(), mode));
        let judged = self.observe_all(observations.collect()).await;
        for (rack, judged) in racks.into_iter().zip(judged) {
            if let Some(rejudged) = rack.rejudged(&judged) {
                // A rack that was replaced meanwhile has been judged by what holds now.
                let _ = self.publish_over(rack, Arc::new(rejudged));
            }
        }
    }

    /// Publishes a rack if the one that it was made from is still in the catalog.
    fn publish_over(&self, before: &Arc<Rack>, rack: Arc<Rack>) -> Result<(), Outdated> {
        let snapshot = self.snapshot();
        let now = snapshot.own_rack(&before.supplier.name);
        let same = now.is_some_and(|now| Arc::ptr_eq(now, before));
        if same {
            self.publish(rack)
        } else {
            Err(Outdated)
        }
    }
}

/// A list as approval looks at it.
fn observation(supplier: &Supplier, tools: Vec<Definition>, mode: ApprovalMode) -> Observation {
    Observation {
        server: supplier.name.to_string(),
        tools,
        mode,
        first_list_accepted: supplier.origin == Origin::Configured,
    }
}

/// Reads a list, and says what is left out of it.
fn read(supplier: &Supplier, list: List) -> Draft {
    let draft = Draft::read(supplier, list);
    for malformed in draft.left_out() {
        tracing::warn!(server = &*supplier.name, %malformed, "a tool is left out");
    }
    draft
}

/// A rack that is to be filled with what is known without asking anyone.
struct Order {
    supplier: Arc<Supplier>,
    /// What stands there now, where it still counts.
    old: Option<Arc<Rack>>,
    /// Whether anything may stand there at all.
    wanted: bool,
}

/// What was found for a rack.
struct Parcel {
    supplier: Arc<Supplier>,
    found: Option<Found>,
}

struct Found {
    source: Source,
    draft: Draft,
    fresh: bool,
}

impl Order {
    /// Looks for tools. Reads a file.
    fn fetch(self, upstream: &dyn Upstream) -> Parcel {
        let Self {
            supplier,
            old,
            wanted,
        } = self;
        let found = || match old {
            // Whether it is fresh is asked again: a reload drops what was kept in memory.
            Some(old) if matches!(old.source, Source::Listed(_)) => Some(Found {
                source: old.source,
                draft: old.draft(),
                fresh: false,
            }),
            _ if !supplier.declared.is_empty() => Some(Found {
                source: Source::Declared,
                draft: Draft::declared(&supplier),
                fresh: true,
            }),
            _ => upstream.kept(&supplier.name).map(|kept| Found {
                source: Source::Listed(kept.at_ms),
                draft: read(&supplier, kept.list),
                fresh: !kept.stale,
            }),
        };
        let found = if wanted { found() } else { None };
        Parcel { supplier, found }
    }
}

impl Parcel {
    /// The rack with what was found on it, and whether that is fresh.
    fn stow(self, judged: &Judged, terms: &Terms) -> (Arc<Rack>, bool) {
        let Some(found) = self.found else {
            return (Arc::new(Rack::empty(self.supplier)), false);
        };
        let rack = Rack::build(self.supplier, found.source, found.draft, judged, terms);
        (Arc::new(rack), found.fresh)
    }
}

/// What lists are judged by.
#[derive(Clone)]
pub(super) struct Terms {
    pub(super) config: Arc<Config>,
    pub(super) rulebook: Arc<Rulebook>,
    /// What names mean.
    pub(super) inference: Arc<Inference>,
}

impl Terms {
    /// The terms of a configuration. Overrides that cannot be used are an error: without them a
    /// tool might need less than the user wrote.
    pub(super) fn new(config: Arc<Config>) -> Result<Self, Box<Error>> {
        let rulebook = Rulebook::compile(&config.settings.policy).map_err(|errors| {
            let said: Vec<String> = errors.iter().map(ToString::to_string).collect();
            Error::new(
                Code::ConfigurationError,
                format!("`policy.overrides` cannot be used: {}", said.join("; ")),
            )
            .suggest("Correct the overrides and try again")
        })?;
        Ok(Self {
            inference: Arc::new(config.settings.capabilities.inference()),
            config,
            rulebook: Arc::new(rulebook),
        })
    }

    fn of(snapshot: &Snapshot) -> Self {
        Self {
            inference: Arc::new(snapshot.config.settings.capabilities.inference()),
            config: Arc::clone(&snapshot.config),
            rulebook: Arc::clone(&snapshot.rulebook),
        }
    }
}

/// Runs what takes long and waits for nothing, away from the tasks that answer requests.
pub(super) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime is going down, and so is whoever waits here.
            Err(_) => std::future::pending().await,
        },
    }
}
