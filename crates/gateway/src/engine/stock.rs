//! How the catalog comes to be: lists are judged, put on racks, and published server by server.

mod kept;

use std::sync::{Arc, PoisonError};

use tokio::task::JoinHandle;
use toolcrib_config::load::Config;
use toolcrib_core::Code;
use toolcrib_core::canon::Hash;
use toolcrib_core::catalog::Inference;
use toolcrib_core::policy::approval::Origin;
use toolcrib_core::policy::{ApprovalMode, Rulebook};
use toolcrib_core::search::{Index, Part};
use toolcrib_store::StoreError;
use toolcrib_store::approval::observation::{Acceptances, Definition, Observation, Observed};

use super::Engine;
use super::abreast::abreast;
use super::cache::Cache;
use super::error::Error;
use super::kit::{self, Kit};
use super::rack::{Draft, Judged, Rack, Source};
use super::snapshot::Snapshot;
use super::supplier::Supplier;
use super::upstream::{List, Said, Upstream};

pub use kept::{observe_kept, observe_list, pack_kept};

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
        let count = observation.tools.len();
        match self.store.observe(observation, self.clock.now_ms()).await {
            Ok(observed) => Judged::of_observed(observed, count),
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
        let before = self.snapshot.load();
        let same = before
            .own_rack(&name)
            .is_some_and(|before| before.offers_as(&rack));
        let next = before.with(Arc::clone(&rack)).ok_or(Outdated)?;
        self.snapshot.store(Arc::new(next));
        if !same {
            self.restocks.send_modify(|count| *count += 1);
        }
        let cache = self.cache.load();
        cache.cache_tool_summaries(&name, rack, self.clock.now_ms());
        Ok(())
    }

    /// Begins to read what was accepted of all servers. Whoever notes by which settlements a catalog is judged reads
    /// those first: what is settled later is seen as news then.
    pub(super) fn accepted(&self) -> JoinHandle<Result<Acceptances, StoreError>> {
        let store = self.store.clone();
        tokio::spawn(async move { store.acceptances().await })
    }

    /// The catalog of a configuration, as far as it is known without asking anyone: what is on the
    /// racks of `before` where servers are reached as they were, what is declared, what was kept.
    pub(super) async fn stock(
        &self,
        terms: Terms,
        before: Option<&Snapshot>,
        accepted: JoinHandle<Result<Acceptances, StoreError>>,
    ) -> (Snapshot, Cache) {
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
        let under = terms.clone();
        let parcels = abreast(orders, move |order| order.fetch(&*upstream, &under)).await;
        // Where every part is known by now, the index is put together meanwhile.
        let parts: Option<Vec<Arc<Part>>> = parcels.iter().map(Parcel::part).collect();
        let index = parts.map(|parts| tokio::spawn(blocking(move || Index::from_parts(parts))));
        let accepted = accepted.await.ok().and_then(Result::ok);
        let stowed = self.stow_all(parcels, accepted, &terms).await;
        let (cache, now_ms) = (Cache::new(&terms.config), self.clock.now_ms());
        for (rack, _) in stowed.iter().filter(|(_, fresh)| *fresh) {
            cache.cache_tool_summaries(&rack.supplier.name, Arc::clone(rack), now_ms);
        }
        let racks = stowed.into_iter().map(|(rack, _)| rack).collect();
        let number = before.map_or(1, |before| before.number + 1);
        let index = match index {
            Some(index) => index.await.ok(),
            None => None,
        };
        let Terms {
            config, rulebook, ..
        } = terms;
        let build = move || match index {
            Some(index) => Snapshot::with_index(number, config, rulebook, racks, index),
            None => Snapshot::new(number, config, rulebook, racks),
        };
        (blocking(build).await, cache)
    }

    /// Puts what was found on racks, each with whether that is fresh. Lists that hold nothing new are judged by
    /// what was accepted; the others are put before the store, all in one go.
    async fn stow_all(
        &self,
        parcels: Vec<Parcel>,
        accepted: Option<Acceptances>,
        terms: &Terms,
    ) -> Vec<(Arc<Rack>, bool)> {
        let under = terms.clone();
        let stowed = abreast(parcels, move |parcel: Parcel| {
            match parcel.judged(accepted.as_ref(), &under) {
                Some(judged) => Ok(parcel.stow(&judged, &under)),
                None => Err(parcel),
            }
        });
        let stowed = stowed.await;
        let waiting = stowed.iter().filter_map(|stowed| stowed.as_ref().err());
        let waiting = waiting.map(|parcel| Doubted {
            supplier: &parcel.supplier,
            names: parcel.names(),
            definitions: Box::new(|| parcel.definitions()),
        });
        let mode = terms.config.settings.policy.approval;
        let judged = self.judge_lists(waiting.collect(), mode).await;
        // The same number as wait, in their order.
        let mut judged = judged.into_iter();
        let ready = stowed.into_iter().map(|stowed| match stowed {
            Ok(done) => Ok(done),
            Err(parcel) => Err((parcel, judged.next().unwrap_or(Judged::Unknown))),
        });
        let ready = ready.collect();
        let under = terms.clone();
        abreast(
            ready,
            move |ready: Result<_, (Parcel, Judged)>| match ready {
                Ok(done) => done,
                Err((parcel, judged)) => parcel.stow(&judged, &under),
            },
        )
        .await
    }

    /// Holds lists against what was accepted. The texts of definitions are only needed where something
    /// is new.
    async fn judge_lists(&self, mut lists: Vec<Doubted<'_>>, mode: ApprovalMode) -> Vec<Judged> {
        if lists.is_empty() {
            return Vec::new();
        }
        let counts: Vec<usize> = lists.iter().map(|list| list.names.len()).collect();
        let unknown = |error: &dyn std::fmt::Display| {
            tracing::error!(%error, "what was accepted of servers cannot be read; their tools wait");
            counts.iter().map(|_| Judged::Unknown).collect()
        };
        let names = lists.iter_mut();
        let observations = names.map(|list| {
            let names = std::mem::take(&mut list.names);
            observation(list.supplier, names, mode)
        });
        let accepted = match self.store.acceptances().await {
            Ok(accepted) => accepted,
            Err(error) => return unknown(&error),
        };
        let standings: Vec<Option<Vec<Observed>>> = observations
            .map(|observation| accepted.standing(&observation))
            .collect();
        let new = lists.iter().zip(&standings);
        let new = new.filter(|(_, standing)| standing.is_none());
        let new = new.map(|(list, _)| observation(list.supplier, (list.definitions)(), mode));
        let observed = self.store.observe_all(new.collect(), self.clock.now_ms());
        let mut observed = match observed.await {
            Ok(observed) => observed.into_iter(),
            Err(error) => return unknown(&error),
        };
        let outcome = |(standing, count): (Option<Vec<Observed>>, &usize)| {
            let observed = standing.or_else(|| observed.next());
            observed.map_or(Judged::Unknown, |observed| {
                Judged::of_observed(observed, *count)
            })
        };
        standings.into_iter().zip(&counts).map(outcome).collect()
    }

    /// Holds every list against what was accepted once more: somebody settled something.
    pub(super) async fn rejudge(&self) {
        let snapshot = self.snapshot();
        let mode = snapshot.config.settings.policy.approval;
        let in_question = |rack: &&Arc<Rack>| {
            let accepted = rack.source == Source::Declared && mode != ApprovalMode::All;
            !rack.marks().is_empty() && !accepted
        };
        let racks: Vec<&Arc<Rack>> = snapshot.racks().filter(in_question).collect();
        let lists = racks.iter().map(|rack| Doubted {
            supplier: &rack.supplier,
            names: rack.names(),
            definitions: Box::new(|| rack.definitions()),
        });
        let judged = self.judge_lists(lists.collect(), mode).await;
        for (rack, judged) in racks.into_iter().zip(judged) {
            if let Some(rejudged) = rack.rejudged(judged) {
                // A rack that was replaced meanwhile has been judged by what holds now.
                let _ = self.publish_over(rack, Arc::new(rejudged));
            }
        }
    }

    /// Packs what was read from a kept list, so that the next process need not read it.
    pub(super) fn pack(&self, rack: &Rack, terms: &Terms) {
        if let Source::Listed(said) = rack.source
            && let Some(kit) = Kit::pack(rack, terms)
        {
            let name = &rack.supplier.name;
            self.upstream.keep_made(name, said.at_ms, &kit);
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

/// A list that is held against what was accepted.
struct Doubted<'a> {
    supplier: &'a Supplier,
    names: Vec<Definition>,
    /// The same with their texts.
    definitions: Box<dyn Fn() -> Vec<Definition> + Send + Sync + 'a>,
}

/// What was found for a rack.
struct Parcel {
    supplier: Arc<Supplier>,
    found: Option<Found>,
}

struct Found {
    source: Source,
    goods: Goods,
    fresh: bool,
}

enum Goods {
    /// A list that was read.
    Draft(Draft),
    /// One that an earlier process read.
    Kit(Arc<Kit>),
}

impl Order {
    /// Looks for tools. Reads files.
    fn fetch(self, upstream: &dyn Upstream, terms: &Terms) -> Parcel {
        let Self {
            supplier,
            old,
            wanted,
        } = self;
        let found = || match old {
            // Whether it is fresh is asked again: a reload drops what was kept in memory.
            Some(old) if matches!(old.source, Source::Listed(_)) => Some(Found {
                source: old.source,
                goods: match old.kit(&supplier, terms) {
                    Some(kit) => Goods::Kit(kit),
                    None => Goods::Draft(old.draft()),
                },
                fresh: false,
            }),
            _ if !supplier.declared.is_empty() => Some(Found {
                source: Source::Declared,
                goods: Goods::Draft(Draft::declared(&supplier)),
                fresh: true,
            }),
            _ => packed(&supplier, upstream, terms).or_else(|| {
                upstream.kept(&supplier.name).map(|kept| Found {
                    source: Source::Listed(kept.said),
                    goods: Goods::Draft(read(&supplier, kept.list)),
                    fresh: !kept.stale,
                })
            }),
        };
        let found = if wanted { found() } else { None };
        Parcel { supplier, found }
    }
}

/// What an earlier process read and packed of a server.
fn packed(supplier: &Supplier, upstream: &dyn Upstream, terms: &Terms) -> Option<Found> {
    let made = upstream.made(&supplier.name, &supplier.fingerprint)?;
    let kit = Kit::open(made.bytes(), supplier, terms)?;
    Some(Found {
        source: Source::Listed(Said {
            at_ms: made.stored_ms,
            fresh_ms: made.fresh_ms,
        }),
        goods: Goods::Kit(Arc::new(kit)),
        fresh: !made.stale,
    })
}

impl Parcel {
    /// Its part of the index, where no definition has to be read for it.
    fn part(&self) -> Option<Arc<Part>> {
        match self.found.as_ref().map(|found| &found.goods) {
            Some(Goods::Draft(_)) => None,
            Some(Goods::Kit(kit)) => Some(Arc::clone(&kit.part)),
            None => Some(Rack::empty(Arc::clone(&self.supplier)).part),
        }
    }

    /// How the list is judged where that follows from what was accepted, without anything new to put down.
    fn judged(&self, accepted: Option<&Acceptances>, terms: &Terms) -> Option<Judged> {
        let Some(found) = &self.found else {
            return Some(Judged::Accepted);
        };
        let mode = terms.config.settings.policy.approval;
        // What the user wrote down is accepted by having been written.
        if found.source == Source::Declared && mode != ApprovalMode::All {
            return Some(Judged::Accepted);
        }
        let observation = observation(&self.supplier, self.names(), mode);
        let observed = accepted?.standing(&observation)?;
        Some(Judged::of_observed(observed, observation.tools.len()))
    }

    /// The definitions as approval looks at them, without their texts.
    fn names(&self) -> Vec<Definition> {
        match self.found.as_ref().map(|found| &found.goods) {
            Some(Goods::Draft(draft)) => draft.names(),
            Some(Goods::Kit(kit)) => kit.names(),
            None => Vec::new(),
        }
    }

    fn definitions(&self) -> Vec<Definition> {
        match self.found.as_ref().map(|found| &found.goods) {
            Some(Goods::Draft(draft)) => draft.definitions(),
            Some(Goods::Kit(kit)) => kit.draft(&self.supplier).definitions(),
            None => Vec::new(),
        }
    }

    /// The rack with what was found on it, and whether that is fresh.
    fn stow(self, judged: &Judged, terms: &Terms) -> (Arc<Rack>, bool) {
        let Some(found) = self.found else {
            return (Arc::new(Rack::empty(self.supplier)), false);
        };
        let draft = match found.goods {
            Goods::Draft(draft) => draft,
            Goods::Kit(kit) => {
                let (supplier, whole) = (Arc::clone(&self.supplier), Arc::clone(&kit));
                match Rack::unpack(supplier, found.source, whole, judged.clone(), terms) {
                    Some(rack) => return (Arc::new(rack), found.fresh),
                    None => kit.draft(&self.supplier),
                }
            }
        };
        let rack = Rack::build(self.supplier, found.source, draft, judged, terms);
        (Arc::new(rack), found.fresh)
    }
}

/// What lists are judged by.
#[derive(Clone, Debug)]
pub(super) struct Terms {
    pub(super) config: Arc<Config>,
    pub(super) rulebook: Arc<Rulebook>,
    /// What names mean.
    pub(super) inference: Arc<Inference>,
    /// Stands for this program and what names mean, where the program can be told from others.
    pub(super) reading: Option<Hash>,
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
        Ok(Self::with(config, Arc::new(rulebook)))
    }

    pub(super) fn of(snapshot: &Snapshot) -> Self {
        Self::with(Arc::clone(&snapshot.config), Arc::clone(&snapshot.rulebook))
    }

    fn with(config: Arc<Config>, rulebook: Arc<Rulebook>) -> Self {
        let inference = config.settings.capabilities.inference();
        Self {
            reading: kit::reading(&inference),
            inference: Arc::new(inference),
            config,
            rulebook,
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
