//! The token buckets of this process: who may still call how often. What it took from those that processes
//! share counts here as well, so that a call that has no chance is refused without asking the store.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use toolcrib_core::limits::{BUCKETS_MAX, RATE_SHARED_SECONDS_MIN, RATE_WAIT_MS_MAX};
use toolcrib_core::policy::bucket::{RetryAfterAll, State, take_all};
use toolcrib_core::policy::{Bucket, Rate};

/// Buckets by name. One that was never seen is full.
#[derive(Debug, Default)]
pub(super) struct Buckets {
    states: Mutex<HashMap<String, (State, Rate)>>,
}

impl Buckets {
    /// How long a call that is taken from all of these has to wait, if one of them is empty.
    pub(super) fn wait_ms(&self, buckets: &[Bucket], now_ms: i64) -> Option<u64> {
        let states = self.lock();
        take_all(&look_up(&states, buckets), now_ms)
            .err()
            .map(shown)
    }

    /// Takes a call from all of these, or says how long it has to wait.
    pub(super) fn take(&self, buckets: &[Bucket], now_ms: i64) -> Result<(), u64> {
        let mut states = self.lock();
        let taken = take_all(&look_up(&states, buckets), now_ms).map_err(shown)?;
        if states.len() + buckets.len() > BUCKETS_MAX {
            // A full bucket is as good as one that was never seen.
            states.retain(|_, (state, rate)| {
                state.refilled(*rate, now_ms).milli_tokens < State::full(*rate, now_ms).milli_tokens
            });
        }
        for (bucket, state) in buckets.iter().zip(taken) {
            states.insert(bucket.name.clone(), (state, bucket.rate));
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, (State, Rate)>> {
        self.states.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Those of the buckets that the processes of a store share: they fill so slowly that a new process must not
/// start with full ones.
pub(super) fn shared(buckets: &[Bucket]) -> Vec<Bucket> {
    let slow = |bucket: &&Bucket| {
        bucket.rate.per_seconds >= RATE_SHARED_SECONDS_MIN || bucket.rate.requests == 0
    };
    buckets.iter().filter(slow).cloned().collect()
}

fn look_up(
    states: &HashMap<String, (State, Rate)>,
    buckets: &[Bucket],
) -> Vec<(Option<State>, Rate)> {
    let known = |bucket: &Bucket| states.get(&bucket.name).map(|(state, _)| *state);
    buckets.iter().map(|b| (known(b), b.rate)).collect()
}

/// A bucket that never fills is said to take as long as anything can be asked to wait.
fn shown(refused: RetryAfterAll) -> u64 {
    refused
        .ms
        .map_or(RATE_WAIT_MS_MAX, |ms| ms.min(RATE_WAIT_MS_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket(name: &str, requests: u32) -> Bucket {
        Bucket {
            name: name.into(),
            rate: Rate {
                requests,
                per_seconds: 1,
                burst: Some(2),
            },
        }
    }

    #[test]
    fn calls_are_taken_from_all_buckets_or_from_none() {
        let buckets = Buckets::default();
        let (own, shared) = (bucket("own", 1), bucket("shared", 1));
        assert_eq!(buckets.take(std::slice::from_ref(&own), 0), Ok(()));
        assert_eq!(buckets.take(std::slice::from_ref(&own), 0), Ok(()));
        let both = [own.clone(), shared.clone()];
        assert_eq!(buckets.take(&both, 0), Err(1_000));
        assert_eq!(buckets.wait_ms(&both, 400), Some(600));
        assert_eq!(buckets.wait_ms(std::slice::from_ref(&shared), 0), None);
        for _ in 0..2 {
            assert_eq!(
                buckets.take(std::slice::from_ref(&shared), 0),
                Ok(()),
                "untouched before"
            );
        }
        assert_eq!(buckets.take(&both, 1_000), Ok(()));
    }

    #[test]
    fn a_bucket_that_never_fills_names_the_longest_wait() {
        let buckets = Buckets::default();
        let never = [bucket("never", 0)];
        assert_eq!(buckets.take(&never, 0), Ok(()));
        assert_eq!(buckets.take(&never, 0), Ok(()));
        assert_eq!(buckets.take(&never, i64::MAX), Err(RATE_WAIT_MS_MAX));
    }

    #[test]
    fn full_buckets_give_way_when_there_are_too_many() {
        let buckets = Buckets::default();
        for number in 0..BUCKETS_MAX {
            buckets.take(&[bucket(&number.to_string(), 1)], 0).unwrap();
        }
        assert_eq!(buckets.lock().len(), BUCKETS_MAX);
        buckets.take(&[bucket("late", 1)], 10_000).unwrap();
        assert_eq!(buckets.lock().len(), 1);
    }
}
