//! How the catalog comes to be: lists are judged, put on racks, and published server by server.

use std::sync::{Arc, PoisonError};

use toolcrib_config::load::Config;
use toolcrib_core::Code;
use toolcrib_core::catalog::Inference;
use toolcrib_core::policy::approval::Origin;
use toolcrib_core::policy::{ApprovalMode, Rulebook};
use toolcrib_store::approval::observation::Observation;

use super::Engine;
use super::cache::Cache;
use super::error::Error;
use super::rack::{Draft, Judged, Rack, Source};
use super::snapshot::Snapshot;
use super::supplier::Supplier;
use super::upstream::List;

/// A rack of a supplier that is not in the catalog any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Outdated;

impl Engine {
    /// Reads a list away from the tasks that answer requests: it may be long.
    pub(super) async fn draft(&self, supplier: &Arc<Supplier>, list: List) -> Draft {
        let reader = Arc::clone(supplier);
        let draft = blocking(move || Draft::read(&reader, list)).await;
        for malformed in draft.left_out() {
            tracing::warn!(server = &*supplier.name, %malformed, "a tool is left out");
        }
        draft
    }

    /// Judges a list and puts it on a rack.
    pub(super) async fn stow(
        &self,
        supplier: &Arc<Supplier>,
        source: Source,
        draft: Draft,
    ) -> Arc<Rack> {
        let snapshot = self.snapshot();
        let terms = Terms::of(&snapshot);
        self.stow_under(supplier, source, draft, &terms).await
    }

    async fn stow_under(
        &self,
        supplier: &Arc<Supplier>,
        source: Source,
        draft: Draft,
        terms: &Terms,
    ) -> Arc<Rack> {
        let judged = self.judge(supplier, source, &draft, terms).await;
        let (supplier, terms) = (Arc::clone(supplier), terms.clone());
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
        let observation = Observation {
            server: supplier.name.to_string(),
            tools,
            mode,
            first_list_accepted: supplier.origin == Origin::Configured,
        };
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
        let suppliers = Supplier::all(&terms.config);
        let racks = suppliers.iter().map(|supplier| {
            let old = before
                .and_then(|before| before.racks().find(|s| s.supplier.name == supplier.name))
                .filter(|old| old.supplier.fingerprint == supplier.fingerprint);
            self.known(supplier, old, &terms)
        });
        let racks = futures::future::join_all(racks).await;
        let (cache, now_ms) = (Cache::new(&terms.config), self.clock.now_ms());
        for (rack, _) in racks.iter().filter(|(_, fresh)| *fresh) {
            cache.cache_tool_summaries(&rack.supplier.name, Arc::clone(rack), now_ms);
        }
        let racks = racks.into_iter().map(|(rack, _)| rack).collect();
        let number = before.map_or(1, |before| before.number + 1);
        let build = move || Snapshot::new(number, terms.config, terms.rulebook, racks);
        (blocking(build).await, cache)
    }

    /// The rack of a supplier, and whether what is on it is fresh.
    async fn known(
        &self,
        supplier: &Arc<Supplier>,
        old: Option<&Arc<Rack>>,
        terms: &Terms,
    ) -> (Arc<Rack>, bool) {
        let empty = || (Arc::new(Rack::empty(Arc::clone(supplier))), false);
        if !supplier.enabled || !terms.config.settings.enabled.0 {
            return empty();
        }
        let (source, draft, fresh) = match old {
            // Whether it is fresh is asked again: a reload drops what was kept in memory.
            Some(old) if matches!(old.source, Source::Listed(_)) => {
                (old.source, old.draft(), false)
            }
            _ if !supplier.declared.is_empty() => {
                (Source::Declared, Draft::declared(supplier), true)
            }
            _ => match self.upstream.kept(&supplier.name).await {
                Some(kept) => {
                    let draft = self.draft(supplier, kept.list).await;
                    (Source::Listed(kept.at_ms), draft, !kept.stale)
                }
                None => return empty(),
            },
        };
        let rack = self.stow_under(supplier, source, draft, terms).await;
        (rack, fresh)
    }

    /// Holds every list against what was accepted once more: somebody settled something.
    pub(super) async fn rejudge(&self) {
        let snapshot = self.snapshot();
        let mode = snapshot.config.settings.policy.approval;
        for rack in snapshot.racks() {
            let accepted = rack.source == Source::Declared && mode != ApprovalMode::All;
            if rack.entries().is_empty() || accepted {
                continue;
            }
            let definitions = rack.draft().definitions();
            let judged = self.observe(&rack.supplier, definitions, mode).await;
            if let Some(rejudged) = rack.rejudged(&judged) {
                // A rack that was replaced meanwhile has been judged by what holds now.
                let _ = self.publish_over(rack, Arc::new(rejudged));
            }
        }
    }

    /// Publishes a rack if the one that it was made from is still in the catalog.
    fn publish_over(&self, before: &Arc<Rack>, rack: Arc<Rack>) -> Result<(), Outdated> {
        let snapshot = self.snapshot();
        let same = snapshot.racks().any(|s| Arc::ptr_eq(s, before));
        if same {
            self.publish(rack)
        } else {
            Err(Outdated)
        }
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
