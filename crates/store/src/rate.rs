//! Token buckets that the processes of a store share.
//!
//! Each process keeps the buckets that fill within seconds for itself. One that fills slowly would be
//! full again with every new process, so it is kept here.

use toolcrib_core::limits::RATE_WAIT_MS_MAX;
use toolcrib_core::policy::bucket::{RetryAfterAll, State, take_all};
use toolcrib_core::policy::{Bucket, Rate};

use crate::StoreError;
use crate::backend::{Session, args};
use crate::store::Store;
use crate::text;
use crate::writer::Unit;

/// The buckets that something is taken from, all of them or none.
#[derive(Clone, Debug, Default)]
pub struct Tokens {
    /// The buckets.
    pub buckets: Vec<Bucket>,
    /// The time at which they are looked at.
    pub now_ms: i64,
}

impl Store {
    /// Takes a token from each bucket, or says after how many milliseconds all will have one.
    pub async fn take_tokens(&self, tokens: Tokens) -> Result<Result<(), u64>, StoreError> {
        self.inner.writer.submit(tokens).await
    }

    /// After how many milliseconds a token could be taken from each bucket; `None` where it could be now.
    /// Nothing is taken.
    pub async fn wait_for_tokens(&self, tokens: Tokens) -> Result<Option<u64>, StoreError> {
        self.inner.readers.snapshot(&Look(tokens)).await
    }
}

/// What is left in buckets, without taking any of it.
struct Look(Tokens);

impl Unit for Look {
    type Output = Option<u64>;

    async fn run(&self, session: &mut dyn Session) -> Result<Option<u64>, StoreError> {
        let states = self.0.states(session).await?;
        Ok(take_all(&states, self.0.now_ms).err().map(shown))
    }
}

impl Tokens {
    /// The buckets as they were left; one that was never seen has no state.
    async fn states(
        &self,
        session: &mut dyn Session,
    ) -> Result<Vec<(Option<State>, Rate)>, StoreError> {
        let mut states = Vec::with_capacity(self.buckets.len());
        for bucket in &self.buckets {
            let rows = session
                .query(
                    "SELECT milli_tokens, remainder, at_ms FROM rate_bucket WHERE name = $1",
                    args![text::name(&bucket.name)],
                )
                .await?;
            let state = match rows.first() {
                Some(row) => Some(State {
                    milli_tokens: u64::try_from(row.int(0)?).unwrap_or(0),
                    remainder: u64::try_from(row.int(1)?).unwrap_or(0),
                    at_ms: row.int(2)?,
                }),
                None => None,
            };
            states.push((state, bucket.rate));
        }
        Ok(states)
    }
}

impl Unit for Tokens {
    type Output = Result<(), u64>;

    async fn run(&self, session: &mut dyn Session) -> Result<Result<(), u64>, StoreError> {
        let states = self.states(session).await?;
        let taken = match take_all(&states, self.now_ms) {
            Ok(taken) => taken,
            Err(empty) => return Ok(Err(shown(empty))),
        };
        for (bucket, state) in self.buckets.iter().zip(taken) {
            session
                .execute(
                    "INSERT INTO rate_bucket (name, milli_tokens, remainder, at_ms, full_ms) \
                     VALUES ($1, $2, $3, $4, $5) ON CONFLICT (name) DO UPDATE SET \
                     milli_tokens = excluded.milli_tokens, remainder = excluded.remainder, \
                     at_ms = excluded.at_ms, full_ms = excluded.full_ms",
                    args![
                        text::name(&bucket.name),
                        whole(state.milli_tokens),
                        whole(state.remainder),
                        state.at_ms,
                        state.full_ms(bucket.rate).unwrap_or(i64::MAX),
                    ],
                )
                .await?;
        }
        Ok(Ok(()))
    }
}

/// A bucket that never fills is said to take as long as anything can be asked to wait.
fn shown(empty: RetryAfterAll) -> u64 {
    empty.ms.unwrap_or(RATE_WAIT_MS_MAX).min(RATE_WAIT_MS_MAX)
}

fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
