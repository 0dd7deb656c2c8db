//! One token bucket for each server, and the wait for a token.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use toolcrib_core::limits::DISCOVERY_BUCKETS_MAX;
use toolcrib_core::policy::bucket::{self, Rate, State};

/// Token buckets by server.
#[derive(Debug)]
pub struct RateLimiter {
    start: Instant,
    buckets: Mutex<HashMap<String, (Rate, State)>>,
}

impl Default for RateLimiter {
    fn default() -> Self {
        Self {
            start: Instant::now(),
            buckets: Mutex::default(),
        }
    }
}

/// A bucket that has no token now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// After how long there will be one; `None` when the rate adds none.
    pub wait: Option<Duration>,
}

impl RateLimiter {
    /// Takes a token of a server's bucket, or says when there will be one. No rate: no limit.
    pub fn try_acquire(&self, server: &str, rate: Option<Rate>) -> Result<(), Refused> {
        let Some(rate) = rate else { return Ok(()) };
        let now_ms = self.now_ms();
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let state = buckets.get(server).map(|(_, state)| *state);
        let (state, outcome) = match bucket::take(state, rate, now_ms) {
            Ok(state) => (state, Ok(())),
            Err(refused) => (
                refused.state,
                Err(Refused {
                    wait: refused.ms.map(Duration::from_millis),
                }),
            ),
        };
        if buckets.len() >= DISCOVERY_BUCKETS_MAX && !buckets.contains_key(server) {
            // A full bucket is what an unknown server has.
            buckets.retain(|_, (rate, state)| {
                state.refilled(*rate, now_ms).milli_tokens < State::full(*rate, now_ms).milli_tokens
            });
        }
        buckets.insert(server.to_owned(), (rate, state));
        outcome
    }

    /// Waits for a token, at most so long; then says how much longer it would take.
    pub async fn acquire(
        &self,
        server: &str,
        rate: Option<Rate>,
        patience: Duration,
    ) -> Result<(), Refused> {
        let deadline = Instant::now() + patience;
        loop {
            let refused = match self.try_acquire(server, rate) {
                Ok(()) => return Ok(()),
                Err(refused) => refused,
            };
            match refused.wait {
                Some(wait) if Instant::now() + wait <= deadline => tokio::time::sleep(wait).await,
                _ => return Err(refused),
            }
        }
    }

    /// Forgets every bucket.
    pub fn reset(&self) {
        self.buckets
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
    }

    fn now_ms(&self) -> i64 {
        i64::try_from(self.start.elapsed().as_millis()).unwrap_or(i64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(30);

    #[tokio::test(start_paused = true)]
    async fn the_burst_passes_and_the_next_is_refused_with_a_wait() {
        let limiter = RateLimiter::default();
        let rate = Some(Rate::per_second(1_000, 5));
        for _ in 0..5 {
            assert_eq!(limiter.try_acquire("a", rate), Ok(()));
        }
        let refused = limiter.try_acquire("a", rate).unwrap_err();
        assert_eq!(refused.wait, Some(Duration::from_millis(1)));
        assert_eq!(limiter.try_acquire("b", rate), Ok(()), "each has its own");
        limiter.reset();
        assert_eq!(limiter.try_acquire("a", rate), Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_rate_everything_passes() {
        let limiter = RateLimiter::default();
        for _ in 0..100 {
            assert_eq!(limiter.acquire("a", None, Duration::ZERO).await, Ok(()));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_default_lets_twenty_pass_and_then_ten_a_second() {
        let limiter = RateLimiter::default();
        let start = Instant::now();
        for _ in 0..50 {
            let taken = limiter.acquire("a", Some(Rate::default()), PATIENCE).await;
            assert_eq!(taken, Ok(()));
        }
        assert_eq!(start.elapsed(), Duration::from_secs(3));
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_longer_than_their_patience() {
        let limiter = RateLimiter::default();
        let slow = Some(Rate {
            requests: 1,
            per_seconds: 60,
            burst: Some(1),
        });
        assert_eq!(limiter.acquire("a", slow, PATIENCE).await, Ok(()));
        let refused = limiter.acquire("a", slow, PATIENCE).await.unwrap_err();
        assert_eq!(refused.wait, Some(Duration::from_mins(1)));
        let never = Some(Rate::per_second(0, 1));
        assert_eq!(limiter.acquire("b", never, PATIENCE).await, Ok(()));
        let refused = limiter.acquire("b", never, PATIENCE).await.unwrap_err();
        assert_eq!(refused.wait, None);
    }

    #[tokio::test(start_paused = true)]
    async fn full_buckets_give_way_to_new_servers() {
        let limiter = RateLimiter::default();
        let rate = Some(Rate::default());
        for n in 0..DISCOVERY_BUCKETS_MAX {
            let _ = limiter.try_acquire(&n.to_string(), rate);
        }
        tokio::time::advance(Duration::from_secs(5)).await;
        let _ = limiter.try_acquire("one more", rate);
        assert_eq!(limiter.buckets.lock().unwrap().len(), 1);
    }
}
