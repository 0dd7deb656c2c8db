//! When a server that failed is tried again: soon at first, later with longer pauses, and for a while
//! not at all.

use std::time::Duration;

use tokio::time::Instant;
use toolcrib_core::limits::{BREAKER_FAILURES, BREAKER_OPEN_MS};
use toolcrib_core::retry::RetryPolicy;

/// Whether attempts are let through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// They are.
    #[default]
    Closed,
    /// The next one is, to see whether the server has recovered.
    HalfOpen,
    /// None is.
    Open,
}

/// What an attempt has to do first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Nothing.
    Go,
    /// Wait.
    Wait(Duration),
    /// Give up; the next attempt is made after this time.
    Refuse(Duration),
}

/// A circuit breaker: counts failures in a row. Pure but for the clock's readings that it is given.
#[derive(Clone, Copy, Debug, Default)]
pub struct Breaker {
    failures: u32,
    not_before: Option<Instant>,
}

impl Breaker {
    /// What the next attempt has to do.
    pub fn next(&self, now: Instant) -> Next {
        let pause = self
            .not_before
            .map_or(Duration::ZERO, |at| at.saturating_duration_since(now));
        if pause.is_zero() {
            Next::Go
        } else if self.failures >= BREAKER_FAILURES {
            Next::Refuse(pause)
        } else {
            Next::Wait(pause)
        }
    }

    /// Something worked.
    pub fn succeeded(&mut self) {
        *self = Self::default();
    }

    /// Something failed; `random`, from 0 to 1, spreads the pause.
    pub fn failed(&mut self, now: Instant, random: f64) {
        self.failures = self.failures.saturating_add(1);
        let pause_ms = if self.failures >= BREAKER_FAILURES {
            BREAKER_OPEN_MS
        } else {
            RetryPolicy::default().jittered_delay_ms(self.failures, random)
        };
        self.not_before = Some(now + Duration::from_millis(pause_ms));
    }

    /// Whether attempts are let through.
    pub fn state(&self, now: Instant) -> State {
        match self.next(now) {
            Next::Refuse(_) => State::Open,
            Next::Go if self.failures >= BREAKER_FAILURES => State::HalfOpen,
            Next::Go | Next::Wait(_) => State::Closed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn it_opens_after_failures_in_a_row_and_lets_one_through_later() {
        let mut breaker = Breaker::default();
        assert_eq!(breaker.next(Instant::now()), Next::Go);
        for seconds in [1, 2, 4, 8] {
            breaker.failed(Instant::now(), 0.5);
            assert_eq!(
                breaker.next(Instant::now()),
                Next::Wait(Duration::from_secs(seconds))
            );
            assert_eq!(breaker.state(Instant::now()), State::Closed);
        }
        breaker.failed(Instant::now(), 0.5);
        assert_eq!(breaker.state(Instant::now()), State::Open);
        let open = Duration::from_millis(BREAKER_OPEN_MS);
        assert_eq!(breaker.next(Instant::now()), Next::Refuse(open));
        tokio::time::advance(open).await;
        assert_eq!(breaker.state(Instant::now()), State::HalfOpen);
        assert_eq!(breaker.next(Instant::now()), Next::Go);
        breaker.failed(Instant::now(), 0.5);
        assert_eq!(breaker.state(Instant::now()), State::Open);
        tokio::time::advance(open).await;
        breaker.succeeded();
        assert_eq!(breaker.state(Instant::now()), State::Closed);
    }
}
