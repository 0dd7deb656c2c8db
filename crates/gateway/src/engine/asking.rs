//! Asking servers for their tools: when it is needed, once at a time, and never in a reader's way.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use toolcrib_core::limits::LIST_RETRY_MS;

use super::Engine;
use super::cache::Cache;
use super::discovery::DiscoveryError;
use super::rack::{Rack, Source};
use super::snapshot::Snapshot;
use super::stock::Terms;
use super::supplier::Supplier;
use super::upstream::Wish;

/// Which servers are being asked, and which failed lately.
#[derive(Debug, Default)]
pub(super) struct Asking {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Closed when the answer is in the catalog, or the attempt is over.
    running: HashMap<Arc<str>, watch::Receiver<()>>,
    failed: HashMap<Arc<str>, Failed>,
}

/// An attempt that failed.
#[derive(Clone, Debug)]
pub(super) struct Failed {
    pub(super) at_ms: i64,
    pub(super) error: DiscoveryError,
}

impl Asking {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a server is being asked.
    pub(super) fn is_running(&self, server: &str) -> bool {
        let state = self.lock();
        state.running.get(server).is_some_and(is_open)
    }

    /// Why the last attempt failed, where it did.
    pub(super) fn failure(&self, server: &str) -> Option<Failed> {
        self.lock().failed.get(server).cloned()
    }

    /// Forgets failures: the configuration changed, so that another attempt may go better.
    pub(super) fn forgive(&self) {
        self.lock().failed.clear();
    }

    fn ended(&self, server: &str, failure: Option<Failed>) {
        let mut state = self.lock();
        state.running.remove(server);
        match failure {
            Some(failed) => drop(state.failed.insert(server.into(), failed)),
            None => drop(state.failed.remove(server)),
        }
    }
}

fn is_open(attempt: &watch::Receiver<()>) -> bool {
    attempt.has_changed().is_ok()
}

/// The catalog, and how much of it is missing.
pub(super) struct View {
    pub(super) snapshot: Arc<Snapshot>,
    /// Servers that are being asked and whose tools are not known.
    pub(super) pending: usize,
    /// Servers that could not be asked and whose tools are not known.
    pub(super) failed: usize,
}

impl Engine {
    /// The catalog, after servers whose tools are not known had `patience` to say them. Lists that
    /// are only old answer at once and are asked for again meanwhile.
    pub(super) async fn view(self: &Arc<Self>, server: Option<&str>, patience: Duration) -> View {
        let before = self.snapshot();
        let concerned = |rack: &&Arc<Rack>| {
            rack.supplier.enabled && server.is_none_or(|name| *rack.supplier.name == *name)
        };
        let mut waits = Vec::new();
        let (now_ms, keeps, cache) = (self.clock.now_ms(), self.keeps(), self.cache.load_full());
        let (mut kept, mut asked) = (0, 0);
        let racks: Vec<&Arc<Rack>> = match server {
            Some(name) => before.own_rack(name).into_iter().collect(),
            None => before.racks().collect(),
        };
        for rack in racks.into_iter().filter(concerned) {
            if rack.is_known() && keeps {
                kept += 1;
            } else {
                asked += 1;
            }
            if !wants_asking(&cache, rack, now_ms) {
                continue;
            }
            let attempt = self.ask(&rack.supplier, Wish::Fresh);
            if !rack.is_known() || !keeps {
                waits.extend(attempt);
            }
        }
        for (counter, lists) in [(super::LIST_KEPT, kept), (super::LIST_ASKED, asked)] {
            if lists > 0 {
                self.store.count(counter, lists, now_ms);
            }
        }
        if !waits.is_empty() {
            let all = futures::future::join_all(waits.into_iter().map(ended));
            let _ = tokio::time::timeout(patience, all).await;
        }
        let snapshot = self.snapshot();
        let unknown = snapshot.racks().filter(concerned).filter(|s| !s.is_known());
        let (mut pending, mut failed) = (0, 0);
        for rack in unknown {
            if self.asking.is_running(&rack.supplier.name) {
                pending += 1;
            } else {
                failed += 1;
            }
        }
        View {
            snapshot,
            pending,
            failed,
        }
    }

    /// Whether a rack's tools are unknown, or older than the engine keeps them.
    pub(super) fn wants_asking(&self, rack: &Rack) -> bool {
        wants_asking(&self.cache.load(), rack, self.clock.now_ms())
    }

    /// Packs a rack's tools for the next process, in nobody's way.
    fn pack_later(self: &Arc<Self>, rack: Arc<Rack>) {
        let engine = Arc::clone(self);
        self.tasks.spawn_blocking(move || {
            let terms = Terms::of(&engine.snapshot());
            engine.pack(&rack, &terms);
        });
    }

    /// Asks a server for its tools again, and waits until that is over.
    pub async fn relist(self: &Arc<Self>, server: &str) {
        let snapshot = self.snapshot();
        let supplier = snapshot.suppliers().find(|s| *s.name == *server);
        if let Some(attempt) = supplier.and_then(|supplier| self.ask(supplier, Wish::Anew)) {
            ended(attempt).await;
        }
    }

    /// Starts asking a server, unless it is being asked or failed a moment ago. What is given is
    /// closed when the attempt is over.
    pub(super) fn ask(
        self: &Arc<Self>,
        supplier: &Supplier,
        wish: Wish,
    ) -> Option<watch::Receiver<()>> {
        let name = Arc::clone(&supplier.name);
        let mut state = self.asking.lock();
        if let Some(attempt) = state.running.get(&name).filter(|a| is_open(a)) {
            return Some(attempt.clone());
        }
        let now_ms = self.clock.now_ms();
        let lately = |failed: &Failed| now_ms.saturating_sub(failed.at_ms) < LIST_RETRY_MS;
        if state.failed.get(&name).is_some_and(lately) || self.ending.is_cancelled() {
            return None;
        }
        let (over, attempt) = watch::channel(());
        state.running.insert(Arc::clone(&name), attempt.clone());
        let engine = Arc::clone(self);
        self.tasks.spawn(async move {
            let ending = engine.ending.clone();
            let outcome = tokio::select! {
                () = ending.cancelled() => Ok(()),
                outcome = engine.fetch(&name, wish) => outcome,
            };
            let failed = outcome.err().map(|error| {
                tracing::warn!(server = &*name, %error, "a server could not be asked for its tools");
                let at_ms = engine.clock.now_ms();
                Failed { at_ms, error }
            });
            engine.asking.ended(&name, failed);
            drop(over);
        });
        Some(attempt)
    }

    /// Brings a server's tools into the catalog.
    async fn fetch(self: &Arc<Self>, name: &str, wish: Wish) -> Result<(), DiscoveryError> {
        let mut listed = self.upstream.list(name, wish).await?;
        loop {
            let Some(supplier) = self.supplier(name) else {
                return Ok(());
            };
            let source = Source::Listed(listed.at_ms);
            if self.is_still_right(name, source) {
                return Ok(());
            }
            let draft = self.draft(&supplier, listed.list).await;
            let rack = self.stow(&supplier, source, draft).await;
            let published = self.publish(Arc::clone(&rack)).is_ok();
            if published {
                self.pack_later(rack);
            }
            // The configuration may have changed meanwhile; what the server said still holds if it is
            // reached as before.
            let again = |now: Arc<Supplier>| now.fingerprint == supplier.fingerprint;
            if published || !self.supplier(name).is_some_and(again) {
                return Ok(());
            }
            listed = self.upstream.list(name, Wish::Fresh).await?;
        }
    }

    /// Whether the catalog has this very list; it then counts as fresh again.
    fn is_still_right(&self, name: &str, source: Source) -> bool {
        let snapshot = self.snapshot();
        let same = |rack: &&Arc<Rack>| *rack.supplier.name == *name && rack.source == source;
        let Some(rack) = snapshot.racks().find(same) else {
            return false;
        };
        let cache = self.cache.load();
        cache.cache_tool_summaries(name, Arc::clone(rack), self.clock.now_ms());
        true
    }

    fn supplier(&self, name: &str) -> Option<Arc<Supplier>> {
        let snapshot = self.snapshot();
        let found = snapshot.suppliers().find(|s| *s.name == *name);
        found.cloned()
    }
}

fn wants_asking(cache: &Cache, rack: &Rack, now_ms: i64) -> bool {
    let name = &rack.supplier.name;
    match rack.source {
        Source::Nothing => rack.supplier.enabled,
        Source::Declared => false,
        Source::Listed(_) => cache.get_tool_summaries(name, now_ms).is_none(),
    }
}

/// Waits until an attempt is over.
pub(super) async fn ended(mut attempt: watch::Receiver<()>) {
    while attempt.changed().await.is_ok() {}
}
