//! Asking servers for their tools: when it is needed, once at a time, and never in a reader's way.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use toolcrib_core::limits::{LIST_AGAIN_MS, LIST_RETRY_MS};
use toolcrib_core::policy::Caller;

use super::Engine;
use super::cache::Cache;
use super::discovery::DiscoveryError;
use super::find::is_known_to;
use super::rack::{Rack, Source};
use super::snapshot::Snapshot;
use super::stock::Terms;
use super::supplier::Supplier;
use super::upstream::Wish;

/// Which servers are being asked, which failed lately, and which said something new meanwhile.
#[derive(Debug, Default)]
pub(super) struct Asking {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Closed when the answer is in the catalog, or the attempt is over.
    running: HashMap<Arc<str>, watch::Receiver<()>>,
    failed: HashMap<Arc<str>, Failed>,
    /// Servers whose kept lists are older than what they said since: only they themselves know.
    outdated: HashSet<Arc<str>>,
    /// Servers that are asked once more, as soon as the attempt or the pause after a failure is over.
    owed: HashSet<Arc<str>>,
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

    /// Takes note that what is kept of a server is older than what it said since; where it is being
    /// asked, its answer may be so too, and it is asked once more.
    pub(super) fn doubt(&self, server: &str) {
        let mut state = self.lock();
        state.outdated.insert(server.into());
        if state.running.get(server).is_some_and(is_open) {
            state.owed.insert(server.into());
        }
    }

    /// The attempt that is under way.
    fn running(&self, server: &str) -> Option<watch::Receiver<()>> {
        let state = self.lock();
        state.running.get(server).filter(|a| is_open(a)).cloned()
    }

    /// Ends an attempt. True where the server is to be asked once more.
    fn ended(&self, server: &str, wish: Wish, failure: Option<Failed>) -> bool {
        let mut state = self.lock();
        state.running.remove(server);
        match failure {
            Some(failed) => {
                state.failed.insert(server.into(), failed);
                if wish == Wish::Anew {
                    state.outdated.insert(server.into());
                }
            }
            None => drop(state.failed.remove(server)),
        }
        state.owed.contains(server)
    }

    /// Whether a server that is owed another question still has news that nobody asked for.
    fn take_owed(&self, server: &str) -> bool {
        let mut state = self.lock();
        state.owed.remove(server) && state.outdated.contains(server)
    }
}

fn is_open(attempt: &watch::Receiver<()>) -> bool {
    attempt.has_changed().is_ok()
}

/// Which servers a look at the catalog is about.
#[derive(Clone, Copy)]
pub(super) enum About<'a> {
    /// One, of which whoever looks may know.
    One(&'a str),
    /// All that a caller may know of: the others are neither asked nor counted.
    KnownTo(&'a Caller),
}

impl About<'_> {
    fn is(self, rack: &Rack, snapshot: &Snapshot) -> bool {
        let concerned = match self {
            Self::One(name) => *rack.supplier.name == *name,
            Self::KnownTo(caller) => is_known_to(caller, rack, &snapshot.rulebook),
        };
        rack.supplier.enabled && concerned
    }
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
    pub(super) async fn view(self: &Arc<Self>, about: About<'_>, patience: Duration) -> View {
        let before = self.snapshot();
        let mut waits = Vec::new();
        let (now_ms, keeps, cache) = (self.clock.now_ms(), self.keeps(), self.cache.load_full());
        let (mut kept, mut asked) = (0, 0);
        let racks: Vec<&Arc<Rack>> = match about {
            About::One(name) => before.own_rack(name).into_iter().collect(),
            About::KnownTo(_) => before.racks().collect(),
        };
        for rack in racks.into_iter().filter(|rack| about.is(rack, &before)) {
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
                if matches!(about, About::One(_)) && attempt.is_some() {
                    self.upstream.hurry(&rack.supplier.name);
                }
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
        let unknown = snapshot.racks().filter(|rack| !rack.is_known());
        let (mut pending, mut failed) = (0, 0);
        for rack in unknown.filter(|rack| about.is(rack, &snapshot)) {
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
        let Some(supplier) = snapshot.suppliers().find(|s| *s.name == *server) else {
            return;
        };
        let joined = self.asking.is_running(server);
        if let Some(attempt) = self.ask(supplier, Wish::Anew) {
            ended(attempt).await;
        }
        // An attempt that was under way may have been answered too early; the next one was not.
        if let Some(next) = self.asking.running(server).filter(|_| joined) {
            ended(next).await;
        }
    }

    /// Starts asking a server, unless it is being asked or failed a moment ago: where it has to be asked
    /// anew, that is then done as soon as it may be. What is given is closed when the attempt is over.
    pub(super) fn ask(
        self: &Arc<Self>,
        supplier: &Supplier,
        wish: Wish,
    ) -> Option<watch::Receiver<()>> {
        self.ask_after(supplier, wish, Duration::ZERO)
    }

    /// As [`Engine::ask`]; news that come meanwhile are asked for after a pause.
    fn ask_after(
        self: &Arc<Self>,
        supplier: &Supplier,
        wish: Wish,
        pause: Duration,
    ) -> Option<watch::Receiver<()>> {
        if self.ending.is_cancelled() {
            return None;
        }
        let name = Arc::clone(&supplier.name);
        let mut state = self.asking.lock();
        if wish == Wish::Anew {
            state.outdated.insert(Arc::clone(&name));
        }
        if let Some(attempt) = state.running.get(&name).filter(|a| is_open(a)).cloned() {
            if wish == Wish::Anew {
                state.owed.insert(name);
            }
            return Some(attempt);
        }
        let since_ms = |failed: &Failed| self.clock.now_ms().saturating_sub(failed.at_ms);
        let left_ms = state.failed.get(&name).map(|f| LIST_RETRY_MS - since_ms(f));
        if let Some(left_ms) = left_ms.filter(|left_ms| *left_ms > 0) {
            if wish == Wish::Anew && state.owed.insert(Arc::clone(&name)) {
                let left = Duration::from_millis(left_ms.unsigned_abs());
                self.ask_later(&name, left);
            }
            return None;
        }
        let wish = if state.outdated.remove(&name) {
            Wish::Anew
        } else {
            wish
        };
        let (over, attempt) = watch::channel(());
        state.running.insert(Arc::clone(&name), attempt.clone());
        let engine = Arc::clone(self);
        self.tasks.spawn(async move {
            engine.put_question(&name, wish, pause).await;
            drop(over);
        });
        Some(attempt)
    }

    /// Asks a server, and once more where it said something new meanwhile.
    async fn put_question(self: &Arc<Self>, name: &str, wish: Wish, pause: Duration) {
        let ending = self.ending.clone();
        let outcome = tokio::select! {
            () = ending.cancelled() => Ok(()),
            outcome = self.fetch(name, wish) => outcome,
        };
        let failed = outcome.err().map(|error| {
            tracing::warn!(server = name, %error, "a server could not be asked for its tools");
            let at_ms = self.clock.now_ms();
            Failed { at_ms, error }
        });
        let has_failed = failed.is_some();
        if !self.asking.ended(name, wish, failed) {
            return;
        }
        if has_failed {
            self.ask_later(name, Duration::from_millis(LIST_RETRY_MS.unsigned_abs()));
        } else if pause.is_zero() {
            self.ask_owed(name);
        } else {
            self.ask_later(name, pause);
        }
    }

    /// Asks a server that is owed another question, after a while.
    fn ask_later(self: &Arc<Self>, name: &str, after: Duration) {
        let (engine, name) = (Arc::clone(self), name.to_owned());
        self.tasks.spawn(async move {
            let waiting = tokio::time::sleep(after);
            if engine.ending.run_until_cancelled(waiting).await.is_some() {
                engine.ask_owed(&name);
            }
        });
    }

    fn ask_owed(self: &Arc<Self>, name: &str) {
        if !self.asking.take_owed(name) {
            return;
        }
        if let Some(supplier) = self.supplier(name).filter(|supplier| supplier.enabled) {
            // A server that has news each time it is asked is not asked without end.
            let pause = Duration::from_millis(LIST_AGAIN_MS);
            drop(self.ask_after(&supplier, Wish::Anew, pause));
        }
    }

    /// Brings a server's tools into the catalog.
    async fn fetch(self: &Arc<Self>, name: &str, wish: Wish) -> Result<(), DiscoveryError> {
        let mut listed = self.upstream.list(name, wish).await?;
        loop {
            let Some(supplier) = self.supplier(name) else {
                return Ok(());
            };
            let source = Source::Listed(listed.said);
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

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tokio::sync::Notify;

    use super::*;
    use crate::engine::ask::{CallOptions, Listing};
    use crate::engine::fixture::{Lists, Still, Workshop, tool, until};
    use crate::engine::upstream::{Change, Said};

    const GITHUB: &str = "servers: {github: {command: gh}}\npolicy: {approval: off}\n";

    async fn shop() -> Workshop {
        let shop = Workshop::open(GITHUB).await;
        shop.engine.start();
        // What is told before anybody hears it is told to nobody.
        until(|| shop.puppets.is_heard()).await;
        shop
    }

    async fn names(shop: &Workshop) -> Vec<String> {
        let listing = Listing {
            server: "github".into(),
            ..Listing::default()
        };
        let page = shop.engine.list_tools(&shop.local(), listing).await;
        let tools = page.map(|page| page.tools).unwrap_or_default();
        tools.iter().map(|e| e.tool.id.tool().to_owned()).collect()
    }

    fn wishes(shop: &Workshop) -> Vec<Wish> {
        shop.puppets.wishes.lock().unwrap().clone()
    }

    fn is_owed(shop: &Workshop) -> bool {
        shop.engine.asking.lock().owed.contains("github")
    }

    async fn quiet(shop: &Workshop) {
        until(|| !shop.engine.asking.is_running("github") && !is_owed(shop)).await;
    }

    fn fails() -> Lists {
        Lists::Fails(DiscoveryError::ConnectionFailed("away".into()))
    }

    #[tokio::test]
    async fn tools_that_change_while_they_are_fetched_are_fetched_again() {
        let shop = shop().await;
        let let_go = Arc::new(Notify::new());
        let old = Lists::Waits(vec![tool("old")], Arc::clone(&let_go));
        shop.puppets.list("github", old);
        let reading = names(&shop);
        let changing = async {
            until(|| shop.puppets.seen().len() == 1).await;
            shop.puppets
                .list("github", Lists::Tools(vec![tool("new"), tool("newer")]));
            shop.puppets.tell(Change::Tools("github".into()));
            until(|| is_owed(&shop)).await;
            let_go.notify_one();
        };
        futures::join!(reading, changing);
        quiet(&shop).await;
        assert_eq!(wishes(&shop), [Wish::Fresh, Wish::Anew]);
        assert_eq!(names(&shop).await, ["new", "newer"]);
        assert_eq!(shop.puppets.seen().len(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_change_that_is_told_soon_after_a_failure_is_asked_for_when_the_pause_is_over() {
        let _still = Still::new();
        let shop = shop().await;
        shop.puppets.list("github", fails());
        assert!(names(&shop).await.is_empty());
        shop.puppets.list("github", Lists::Tools(vec![tool("new")]));
        for _ in 0..3 {
            shop.puppets.tell(Change::Tools("github".into()));
        }
        until(|| is_owed(&shop)).await;
        assert_eq!(shop.puppets.seen().len(), 1);
        tokio::time::advance(Duration::from_millis(LIST_RETRY_MS.unsigned_abs())).await;
        quiet(&shop).await;
        assert_eq!(wishes(&shop), [Wish::Fresh, Wish::Anew]);
        assert_eq!(names(&shop).await, ["new"]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_could_not_say_its_new_tools_is_not_believed_its_kept_list() {
        let _still = Still::new();
        let shop = shop().await;
        assert_eq!(names(&shop).await.len(), 4);
        shop.puppets.list("github", fails());
        shop.puppets.tell(Change::Tools("github".into()));
        until(|| shop.engine.asking.failure("github").is_some()).await;
        tokio::time::advance(Duration::from_millis(LIST_RETRY_MS.unsigned_abs())).await;
        shop.puppets.list("github", Lists::Tools(vec![tool("new")]));
        names(&shop).await;
        quiet(&shop).await;
        assert_eq!(wishes(&shop), [Wish::Fresh, Wish::Anew, Wish::Anew]);
        assert_eq!(names(&shop).await, ["new"]);
    }

    #[tokio::test]
    async fn after_changes_were_missed_no_kept_list_of_a_server_that_spoke_is_believed() {
        let shop = shop().await;
        names(&shop).await;
        let title = json!({"title": "x"}).to_string();
        let called = shop.run("github:list_issues", &title, CallOptions::default());
        called.await.unwrap();
        shop.puppets.list("github", Lists::Tools(vec![tool("new")]));
        shop.puppets.tell(Change::Missed);
        until(|| shop.engine.asking.lock().outdated.contains("github")).await;
        until(|| {
            let rack = Arc::clone(shop.engine.snapshot().rack("github").unwrap());
            shop.engine.wants_asking(&rack)
        })
        .await;
        names(&shop).await;
        quiet(&shop).await;
        assert_eq!(wishes(&shop), [Wish::Fresh, Wish::Anew]);
        assert_eq!(names(&shop).await, ["new"]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_with_news_at_each_question_is_not_asked_without_end() {
        let _still = Still::new();
        let shop = shop().await;
        let let_go = Arc::new(Notify::new());
        let waits = Lists::Waits(vec![tool("same")], Arc::clone(&let_go));
        shop.puppets.list("github", waits);
        let reading = names(&shop);
        let changing = async {
            for asked in [1, 2] {
                until(|| shop.puppets.seen().len() == asked).await;
                shop.puppets.tell(Change::Tools("github".into()));
                until(|| is_owed(&shop)).await;
                let_go.notify_one();
            }
            until(|| !shop.engine.asking.is_running("github")).await;
        };
        futures::join!(reading, changing);
        assert_eq!(shop.puppets.seen().len(), 2);
        assert!(is_owed(&shop));
        tokio::time::advance(Duration::from_millis(LIST_AGAIN_MS)).await;
        until(|| shop.puppets.seen().len() == 3).await;
    }

    #[tokio::test]
    async fn a_list_that_its_server_calls_fresh_for_a_minute_is_asked_for_again_after_that() {
        let shop = shop().await;
        let at_ms = shop.clock.now_ms();
        let said = |at_ms| {
            let fresh_ms = Some(60_000);
            shop.puppets
                .list("github", Lists::Brief(Said { at_ms, fresh_ms }));
        };
        said(at_ms);
        assert_eq!(names(&shop).await, ["brief"]);
        let rack = || Arc::clone(shop.engine.snapshot().rack("github").unwrap());
        let wants_at = |now_ms| wants_asking(&shop.engine.cache.load(), &rack(), now_ms);
        assert!(!wants_at(at_ms + 59_999));
        assert!(wants_at(at_ms + 60_000));
        // One that was kept for a while is fresh for what is left.
        said(at_ms - 50_000);
        shop.engine.relist("github").await;
        assert!(!wants_at(at_ms + 9_999));
        assert!(wants_at(at_ms + 10_000));
    }
}
