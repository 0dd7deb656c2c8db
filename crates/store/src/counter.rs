//! Counts for `stats`: calls, cache hits, tokens saved. Collected in memory, written now and then.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use toolcrib_core::limits::COUNTERS_MAX;

use crate::StoreError;
use crate::backend::{Session, args};
use crate::store::Store;
use crate::text;
use crate::writer::Unit;

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

/// A counter's value on one day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Count {
    /// Days since 1970-01-01, UTC.
    pub day: i64,
    /// What was counted.
    pub name: String,
    /// How often.
    pub value: i64,
}

/// Counts that are not written yet.
#[derive(Default)]
pub(crate) struct Tally(Mutex<BTreeMap<(i64, String), i64>>);

impl Tally {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<(i64, String), i64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, day: i64, name: &str, by: i64) {
        let mut counts = self.lock();
        let key = (day, text::name(name));
        if counts.len() < COUNTERS_MAX || counts.contains_key(&key) {
            let value = counts.entry(key).or_default();
            *value = value.saturating_add(by);
        }
    }
}

impl Store {
    /// Counts in memory. [`Store::flush_counters`] and [`Store::close`] write it down; a crash loses
    /// what was counted since.
    pub fn count(&self, name: &str, by: i64, now_ms: i64) {
        self.inner.tally.add(now_ms.div_euclid(DAY_MS), name, by);
    }

    /// Writes down what was counted.
    pub async fn flush_counters(&self) -> Result<(), StoreError> {
        let counts = std::mem::take(&mut *self.inner.tally.lock());
        if counts.is_empty() {
            return Ok(());
        }
        let store = self.clone();
        let unit = Add { counts };
        let settle = move |unit: &Add, result: Result<(), StoreError>| {
            if result.is_err() {
                for ((day, name), value) in &unit.counts {
                    store.inner.tally.add(*day, name, *value);
                }
            }
            result
        };
        self.inner.writer.submit_with(unit, settle).await
    }

    /// Writes something and takes it out again, durably: whether the store can be written.
    pub async fn try_write(&self) -> Result<(), StoreError> {
        self.inner.writer.submit(Try).await
    }

    /// The counters since a day, oldest first, with what is not written yet.
    pub async fn counts(&self, since_ms: i64) -> Result<Vec<Count>, StoreError> {
        let first_day = since_ms.div_euclid(DAY_MS);
        let rows = self
            .query(
                "SELECT day, name, value FROM counter WHERE day >= $1",
                args![first_day],
            )
            .await?;
        let mut counts = BTreeMap::new();
        for row in rows {
            counts.insert((row.int(0)?, row.text(1)?), row.int(2)?);
        }
        for (key, value) in &*self.inner.tally.lock() {
            if key.0 >= first_day {
                *counts.entry(key.clone()).or_default() += value;
            }
        }
        Ok(counts
            .into_iter()
            .map(|((day, name), value)| Count { day, name, value })
            .collect())
    }
}

/// A day that no counter has.
const NO_DAY: i64 = -1;

struct Try;

impl Unit for Try {
    type Output = ();

    async fn run(&self, session: &mut dyn Session) -> Result<(), StoreError> {
        let day = || args![NO_DAY];
        let written = "INSERT INTO counter (day, name, value) VALUES ($1, '', 0)";
        session.execute(written, day()).await?;
        let taken_out = "DELETE FROM counter WHERE day = $1";
        session.execute(taken_out, day()).await.map(drop)
    }
}

struct Add {
    counts: BTreeMap<(i64, String), i64>,
}

impl Unit for Add {
    type Output = ();

    async fn run(&self, session: &mut dyn Session) -> Result<(), StoreError> {
        for ((day, name), value) in &self.counts {
            session
                .execute(
                    "INSERT INTO counter (day, name, value) VALUES ($1, $2, $3) \
                     ON CONFLICT (day, name) DO UPDATE SET value = counter.value + excluded.value",
                    args![*day, name, *value],
                )
                .await?;
        }
        Ok(())
    }
}
