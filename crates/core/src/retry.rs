//! When a request that failed is tried again, and after how long: pure arithmetic.
//!
//! The random number that spreads delays, and what the other side asked for, come in as arguments.

use crate::limits::{RETRIES_DEFAULT, RETRY_DELAY_MS_DEFAULT, RETRY_DELAY_MS_MAX_DEFAULT};

/// What went wrong, as far as trying again is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// An HTTP status that is no answer.
    Status(u16),
    /// No answer in time.
    TimedOut,
    /// A connection that broke.
    Reset,
    /// Anything else: the same request would fail in the same way.
    Lasting,
}

/// How often and how soon a request is tried again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RetryPolicy {
    /// How often it is tried again after the first attempt.
    pub max_retries: u32,
    /// The delay before the first retry.
    pub initial_delay_ms: u64,
    /// The longest delay, and the longest wish to be left alone that is obeyed by waiting.
    pub max_delay_ms: u64,
    /// By how much each delay is longer than the one before.
    pub backoff_multiplier: f64,
    /// The part of a delay by which it may be shorter or longer, so that many do not come back at once.
    pub jitter_factor: f64,
    /// Statuses that are tried again beside 429 and 503.
    pub extra_statuses: &'static [u16],
}

impl Default for RetryPolicy {
    /// Three retries after about 1, 2 and 4 seconds.
    fn default() -> Self {
        Self {
            max_retries: RETRIES_DEFAULT,
            initial_delay_ms: RETRY_DELAY_MS_DEFAULT,
            max_delay_ms: RETRY_DELAY_MS_MAX_DEFAULT,
            backoff_multiplier: 2.0,
            jitter_factor: 0.1,
            extra_statuses: &[],
        }
    }
}

impl RetryPolicy {
    /// Five retries, the first ones soon; 408 counts as passing too.
    pub fn aggressive() -> Self {
        Self {
            max_retries: 5,
            initial_delay_ms: 200,
            max_delay_ms: 60_000,
            backoff_multiplier: 1.5,
            extra_statuses: &[408],
            ..Self::default()
        }
    }

    /// No retry at all.
    pub fn none() -> Self {
        Self {
            max_retries: 0,
            ..Self::default()
        }
    }

    /// The delay before an attempt, without jitter. Attempt 0 is the first and waits for nothing.
    pub fn delay_ms(&self, attempt: u32) -> u64 {
        self.whole_ms(self.plain_delay(attempt))
    }

    /// The delay before an attempt, spread by `random`, a number from 0 to 1; one half spreads nothing.
    pub fn jittered_delay_ms(&self, attempt: u32, random: f64) -> u64 {
        let swing = self.jitter_factor.clamp(0.0, 1.0) * random.clamp(0.0, 1.0).mul_add(2.0, -1.0);
        self.whole_ms(self.plain_delay(attempt) * (1.0 + swing))
    }

    /// Whether trying again may help.
    pub fn retries(&self, trouble: Trouble) -> bool {
        match trouble {
            Trouble::Status(status) => {
                matches!(status, 429 | 503) || self.extra_statuses.contains(&status)
            }
            Trouble::TimedOut | Trouble::Reset => true,
            Trouble::Lasting => false,
        }
    }

    /// The delay as a number that is not yet rounded; multiplied step by step, because the powers of
    /// the standard library differ between machines.
    #[expect(
        clippy::cast_precision_loss,
        reason = "delays are far below the whole numbers that a float holds exactly"
    )]
    fn plain_delay(&self, attempt: u32) -> f64 {
        if attempt == 0 {
            return 0.0;
        }
        let max = self.max_delay_ms as f64;
        let mut delay = self.initial_delay_ms as f64;
        for _ in 1..attempt {
            if delay >= max || self.backoff_multiplier <= 1.0 {
                break;
            }
            delay *= self.backoff_multiplier;
        }
        delay.min(max)
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a delay is never negative, and the cast saturates"
    )]
    fn whole_ms(&self, delay: f64) -> u64 {
        (delay.round() as u64).min(self.max_delay_ms)
    }
}

/// The attempts at one request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Attempts {
    policy: RetryPolicy,
    retries: u32,
}

impl Attempts {
    /// None made yet.
    pub const fn new(policy: RetryPolicy) -> Self {
        Self { policy, retries: 0 }
    }

    /// How often it was tried again.
    pub const fn retries(&self) -> u32 {
        self.retries
    }

    /// Whether it may be tried again.
    pub const fn can_retry(&self) -> bool {
        self.retries < self.policy.max_retries
    }

    /// Counts a retry and gives the delay before it; `None` when there were enough.
    pub fn next_delay_ms(&mut self, random: f64) -> Option<u64> {
        if !self.can_retry() {
            return None;
        }
        self.retries += 1;
        Some(self.policy.jittered_delay_ms(self.retries, random))
    }

    /// As [`Self::next_delay_ms`] after a failure: `None` too where trying again does not help, or
    /// where the other side asks to be left alone for longer than [`RetryPolicy::max_delay_ms`].
    /// Otherwise the delay is never shorter than what it asks for.
    pub fn after(
        &mut self,
        trouble: Trouble,
        retry_after_ms: Option<u64>,
        random: f64,
    ) -> Option<u64> {
        let asked = retry_after_ms.unwrap_or(0);
        if !self.policy.retries(trouble) || asked > self.policy.max_delay_ms {
            return None;
        }
        Some(self.next_delay_ms(random)?.max(asked))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn steady(initial_delay_ms: u64, backoff_multiplier: f64, max_delay_ms: u64) -> RetryPolicy {
        RetryPolicy {
            initial_delay_ms,
            max_delay_ms,
            backoff_multiplier,
            jitter_factor: 0.0,
            ..RetryPolicy::default()
        }
    }

    #[test]
    fn the_documented_defaults_hold() {
        let policy = RetryPolicy::default();
        assert_eq!(
            (
                policy.max_retries,
                policy.initial_delay_ms,
                policy.max_delay_ms
            ),
            (3, 1_000, 30_000)
        );
        assert!((policy.backoff_multiplier - 2.0).abs() < f64::EPSILON);
        assert!((policy.jitter_factor - 0.1).abs() < f64::EPSILON);
        assert!(!RetryPolicy::none().retries(Trouble::Lasting));
        assert_eq!(RetryPolicy::none().max_retries, 0);
    }

    #[test]
    fn delays_grow_up_to_their_bound() {
        let check = |policy: RetryPolicy, attempt, expect| {
            assert_eq!(policy.delay_ms(attempt), expect, "{policy:?} {attempt}");
        };
        for (attempt, expect) in [(0, 0), (1, 1_000), (2, 2_000), (3, 4_000)] {
            check(steady(1_000, 2.0, 60_000), attempt, expect);
        }
        check(steady(10_000, 10.0, 30_000), 4, 30_000);
        check(steady(10_000, 10.0, 30_000), u32::MAX, 30_000);
        check(steady(1_000, 1.0, 30_000), u32::MAX, 1_000);
        check(steady(1_000, f64::NAN, 30_000), 2, 30_000);
        check(RetryPolicy::aggressive(), 3, 450);
    }

    #[test]
    fn jitter_swings_by_a_tenth_to_either_side() {
        let policy = RetryPolicy::default();
        let check = |random, expect| assert_eq!(policy.jittered_delay_ms(1, random), expect);
        check(0.0, 900);
        check(0.5, 1_000);
        check(1.0, 1_100);
        check(7.0, 1_100);
        assert_eq!(policy.jittered_delay_ms(20, 1.0), 30_000, "the bound holds");
    }

    #[test]
    fn only_passing_trouble_is_tried_again() {
        let policy = RetryPolicy::default();
        for trouble in [
            Trouble::Status(429),
            Trouble::Status(503),
            Trouble::TimedOut,
            Trouble::Reset,
        ] {
            assert!(policy.retries(trouble), "{trouble:?}");
        }
        for status in [400, 401, 403, 404, 408, 500, 502, 504] {
            assert!(!policy.retries(Trouble::Status(status)), "{status}");
        }
        assert!(!policy.retries(Trouble::Lasting));
        assert!(RetryPolicy::aggressive().retries(Trouble::Status(408)));
    }

    #[test]
    fn attempts_come_to_an_end() {
        let policy = RetryPolicy {
            max_retries: 2,
            ..RetryPolicy::default()
        };
        let mut attempts = Attempts::new(policy);
        for _ in 0..2 {
            assert!(attempts.can_retry());
            assert!(attempts.next_delay_ms(0.5).is_some());
        }
        assert!(!attempts.can_retry());
        assert_eq!(attempts.next_delay_ms(0.5), None);
        assert_eq!(attempts.retries(), 2);
    }

    #[test]
    fn what_the_other_side_asks_for_is_obeyed() {
        let check = |asked, expect| {
            let mut attempts = Attempts::new(RetryPolicy::default());
            assert_eq!(attempts.after(Trouble::Status(429), asked, 0.5), expect);
        };
        check(None, Some(1_000));
        check(Some(0), Some(1_000));
        check(Some(7_000), Some(7_000));
        check(Some(30_000), Some(30_000));
        check(Some(30_001), None);
        let mut attempts = Attempts::new(RetryPolicy::default());
        assert_eq!(attempts.after(Trouble::Status(404), None, 0.5), None);
        assert_eq!(
            attempts.retries(),
            0,
            "what is not tried again does not count"
        );
    }

    proptest! {
        #[test]
        fn no_delay_is_longer_than_its_bound(
            initial in 0_u64..100_000, max in 0_u64..100_000, multiplier in 0.0_f64..20.0,
            jitter in 0.0_f64..2.0, attempt in 0_u32..200, random in 0.0_f64..1.0,
        ) {
            let policy = RetryPolicy { jitter_factor: jitter, ..steady(initial, multiplier, max) };
            prop_assert!(policy.jittered_delay_ms(attempt, random) <= max);
            prop_assert!(policy.delay_ms(attempt) <= max);
            prop_assert!(attempt == 0 || policy.delay_ms(attempt) <= policy.delay_ms(attempt + 1));
        }
    }
}
