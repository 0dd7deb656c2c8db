//! What is done beside requests: recovery, retention, and hearing what servers and people change.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use tokio::time::{Interval, MissedTickBehavior};
use tokio_util::sync::CancellationToken;
use toolcrib_config::load::Config;
use toolcrib_core::limits::{APPROVAL_POLL_MS, MAINTENANCE_MS, RECOVERY_MS};
use toolcrib_core::policy::ApprovalMode;
use toolcrib_store::audit::retention::Retention;

use super::Engine;
use super::rack::Source;
use super::stock::Terms;
use super::upstream::{Change, Health, Wish};

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;
const MEGABYTE: i64 = 1024 * 1024;

impl Engine {
    /// Starts the work beside requests, until [`Engine::close`]. A command that asks one question does
    /// without.
    pub fn start(self: &Arc<Self>) {
        self.tasks.spawn(Arc::clone(self).maintain());
        self.tasks.spawn(Arc::clone(self).recover());
        self.tasks.spawn(Arc::clone(self).watch_settlements());
        self.tasks.spawn(Arc::clone(self).hear_changes());
        let engine = Arc::clone(self);
        self.tasks.spawn_blocking(move || engine.pack_all());
        self.warm();
    }

    /// Asks every server whose tools are not known or not fresh, where the configuration wants that. Nobody
    /// waits for it, and no more are asked at once than at any other time.
    fn warm(self: &Arc<Self>) {
        let snapshot = self.snapshot();
        let cache = snapshot.config.settings.cache.as_ref();
        let wanted = cache.is_some_and(|cache| cache.enabled && cache.warm_at_start);
        if !wanted || !snapshot.config.settings.enabled.0 {
            return;
        }
        for rack in snapshot.racks().filter(|rack| rack.supplier.enabled) {
            if self.wants_asking(rack) {
                drop(self.ask(&rack.supplier, Wish::Fresh));
            }
        }
    }

    /// Packs the tools that had to be read from kept lists, so that the next process need not.
    fn pack_all(&self) {
        let snapshot = self.snapshot();
        let terms = Terms::of(&snapshot);
        for rack in snapshot.racks().filter(|rack| !rack.is_packed()) {
            if self.ending.is_cancelled() {
                return;
            }
            self.pack(rack, &terms);
        }
    }

    /// Records what processes that share the store and died left open.
    async fn recover(self: Arc<Self>) {
        let mut rounds = Rounds::every(RECOVERY_MS);
        while rounds.comes(&self.ending).await {
            match self.store.recover(self.clock.now_ms()).await {
                Ok(recovered) if recovered.unknown > 0 => {
                    tracing::warn!(
                        count = recovered.unknown,
                        "executions of a process that died were recorded with the outcome unknown"
                    );
                }
                Ok(_) => {}
                Err(error) => {
                    tracing::error!(%error, "what dead processes left open cannot be recorded");
                }
            }
        }
    }

    /// Forgets what has expired and keeps the log in bounds.
    async fn maintain(self: Arc<Self>) {
        let mut rounds = Rounds::every(MAINTENANCE_MS);
        while rounds.comes(&self.ending).await {
            let keep = retention(&self.config());
            if let Err(error) = self.store.flush_counters().await {
                tracing::warn!(%error, "what was counted could not be written down");
            }
            match self.store.maintain(keep, self.clock.now_ms()).await {
                Ok(done) => tracing::debug!(?done, "the store was maintained"),
                Err(error) => tracing::error!(%error, "the store could not be maintained"),
            }
        }
    }

    /// Sees that somebody settled an approval, also while nobody asks.
    async fn watch_settlements(self: Arc<Self>) {
        let mut rounds = Rounds::every(APPROVAL_POLL_MS);
        while rounds.comes(&self.ending).await {
            self.see_settlements().await;
        }
    }

    /// Asks a server again that says its tools changed, or that was reached anew.
    async fn hear_changes(self: Arc<Self>) {
        let mut changes = self.upstream.changes();
        loop {
            let heard = self.ending.run_until_cancelled(changes.next()).await;
            let name = match heard.flatten() {
                None => return,
                Some(Change::Missed) => {
                    tracing::warn!("changes of servers came too fast");
                    self.doubt_all();
                    continue;
                }
                Some(Change::Connected(name)) => {
                    self.compare(&name);
                    continue;
                }
                Some(Change::Tools(name) | Change::Reconnected(name)) => name,
            };
            self.cache.load().invalidate(&name);
            let snapshot = self.snapshot();
            let supplier = snapshot.suppliers().find(|s| *s.name == *name);
            if let Some(supplier) = supplier.filter(|s| s.enabled) {
                drop(self.ask(supplier, Wish::Anew));
            }
        }
    }

    /// Asks a server that was connected for something else for its tools, where they are known from before this
    /// process: they may have changed while nobody looked, and what changed is to wait. Nobody waits for it.
    fn compare(self: &Arc<Self>, name: &str) {
        let snapshot = self.snapshot();
        let mode = snapshot.config.settings.policy.approval;
        let Some(rack) = snapshot
            .own_rack(name)
            .filter(|_| mode != ApprovalMode::Off)
        else {
            return;
        };
        let from_before =
            matches!(rack.source, Source::Listed(said) if said.at_ms < self.opened_ms);
        if from_before && rack.supplier.enabled && !self.asking.is_running(name) {
            drop(self.ask(&rack.supplier, Wish::Anew));
        }
    }

    /// Which servers spoke is not known any more, so that none counts as fresh that can have spoken.
    fn doubt_all(&self) {
        for supplier in self.snapshot().suppliers() {
            let standing = self.upstream.standing(&supplier.name);
            if standing.health != Health::Disconnected || standing.since_ms.is_some() {
                self.asking.doubt(&supplier.name);
            }
        }
        self.cache.load().invalidate_all();
    }
}

/// Something that is done again and again, until the engine ends.
struct Rounds(Interval);

impl Rounds {
    fn every(ms: u64) -> Self {
        let mut interval = tokio::time::interval(Duration::from_millis(ms));
        interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self(interval)
    }

    /// Waits for the next round; `false` where the engine ends before it.
    async fn comes(&mut self, ending: &CancellationToken) -> bool {
        ending.run_until_cancelled(self.0.tick()).await.is_some()
    }
}

/// How much of the log the configuration keeps; 0 sets no bound.
fn retention(config: &Config) -> Retention {
    let audit = &config.settings.audit;
    let bound = |count: u32, unit: i64| (count > 0).then(|| i64::from(count).saturating_mul(unit));
    Retention {
        age_ms_max: bound(audit.retention_days, DAY_MS),
        size_bytes_max: bound(audit.max_megabytes, MEGABYTE),
    }
}

#[cfg(test)]
mod tests {
    use toolcrib_store::audit::Outcome;
    use toolcrib_store::{Begin, Entry, SqliteOptions, Store};
    use uuid::Uuid;

    use super::*;
    use crate::engine::fixture::{SERVERS, Still, Workshop, until};

    #[tokio::test]
    async fn retention_is_as_configured_and_zero_keeps_everything() {
        let shop = Workshop::open("audit: {retentionDays: 2, maxMegabytes: 3}\n").await;
        let keep = retention(&shop.engine.config());
        assert_eq!(keep.age_ms_max, Some(2 * DAY_MS));
        assert_eq!(keep.size_bytes_max, Some(3 * MEGABYTE));
        let keep = retention(&shop.config("audit: {retentionDays: 0, maxMegabytes: 0}\n"));
        assert_eq!(keep, Retention::default());
    }

    #[tokio::test]
    async fn every_server_that_is_on_is_asked_at_the_start_where_the_configuration_says_so() {
        let off = "  away: {command: away, enabled: false}\n";
        let servers = format!("{SERVERS}{off}cache: {{enabled: true, warmAtStart: WARM}}\n");
        let shop = Workshop::open(&servers.replace("WARM", "false")).await;
        shop.engine.start();
        assert!(shop.puppets.seen().is_empty(), "{:?}", shop.puppets.seen());
        let shop = Workshop::open(&servers.replace("WARM", "true")).await;
        shop.engine.start();
        let known = |name: &str| {
            let snapshot = shop.engine.snapshot();
            snapshot.own_rack(name).is_some_and(|rack| rack.is_known())
        };
        until(|| known("github") && known("notes-v2")).await;
        let mut seen = shop.puppets.seen();
        seen.sort();
        assert_eq!(seen, ["list github", "list notes-v2"]);
        assert_eq!(shop.engine.counts().tools_total, 5);
        // Tools that are known and fresh are not asked for again.
        shop.engine.warm();
        assert_eq!(shop.puppets.seen().len(), 2);
    }

    /// A call that was under way in a process which shared the store and is gone.
    async fn cut_off(shop: &Workshop, request_id: &str) {
        let options = SqliteOptions::new(shop.home.path().join("store.db"));
        let other = Store::open_sqlite(options, Uuid::now_v7()).await.unwrap();
        let entry = Entry {
            request_id: request_id.into(),
            timestamp_ms: shop.clock.now_ms(),
            actor_id: "local".into(),
            tool_id: "github:createIssue".into(),
            params_hash: "hash".into(),
            parameters: None,
            reason: "it may".into(),
            upstream: Some("github".into()),
            request_bytes: 2,
            trace_id: None,
        };
        let begun = other.begin_execution(entry, None).await.unwrap();
        let Begin::Fresh(execution) = begun else {
            panic!("{begun:?}");
        };
        // Whoever is killed drops nothing.
        std::mem::forget(execution);
        other.close().await;
    }

    #[tokio::test(start_paused = true)]
    async fn what_a_process_that_shared_the_store_left_open_is_recorded_soon() {
        let _still = Still::new();
        let shop = Workshop::open(SERVERS).await;
        shop.engine.start();
        // The first may be found when the engine starts; the second is found while it runs.
        for (count, request_id) in [(1, "first"), (2, "second")] {
            cut_off(&shop, request_id).await;
            tokio::time::advance(Duration::from_millis(RECOVERY_MS)).await;
            let records = loop {
                let records = shop.records().await;
                if records.len() == count {
                    break records;
                }
                tokio::task::yield_now().await;
            };
            let last = &records[count - 1].record;
            assert_eq!(last.request_id, request_id);
            assert_eq!(last.outcome, Outcome::Unknown);
        }
    }
}
