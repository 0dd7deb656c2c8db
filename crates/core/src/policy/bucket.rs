//! Token buckets: pure integer arithmetic, the same here and in a Valkey script.
//!
//! A bucket holds thousandths of tokens and the remainder of the last refill, so that nothing is
//! lost to rounding however often it is asked. All it needs to remember is [`State`].

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::limits::{RATE_BURST_DEFAULT, RATE_REQUESTS_PER_SECOND_DEFAULT};

/// How many requests may pass: `requests` in every `perSeconds`, and up to `burst` at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rate {
    /// How many requests each period adds; 0 lets only the burst pass, once.
    pub requests: u32,
    /// The length of the period in seconds; 1 when left out.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub per_seconds: u32,
    /// How many requests may come at once after a pause; as many as `requests` when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst: Option<u32>,
}

const fn one() -> u32 {
    1
}

impl Default for Rate {
    /// Ten a second, twenty at once.
    fn default() -> Self {
        Self {
            requests: RATE_REQUESTS_PER_SECOND_DEFAULT,
            per_seconds: 1,
            burst: Some(RATE_BURST_DEFAULT),
        }
    }
}

impl fmt::Display for Rate {
    /// Writes `100 req/min`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.per_seconds {
            0 | 1 => write!(f, "{} req/s", self.requests),
            60 => write!(f, "{} req/min", self.requests),
            3600 => write!(f, "{} req/h", self.requests),
            n => write!(f, "{} req/{n} s", self.requests),
        }
    }
}

impl Rate {
    /// A rate of `requests` a second with a burst.
    pub const fn per_second(requests: u32, burst: u32) -> Self {
        Self {
            requests,
            per_seconds: 1,
            burst: Some(burst),
        }
    }

    const fn period_ms(self) -> u64 {
        let seconds = if self.per_seconds == 0 {
            1
        } else {
            self.per_seconds
        };
        seconds as u64 * 1_000
    }

    fn capacity_milli(self) -> u64 {
        u64::from(self.burst.unwrap_or(self.requests).max(1)) * TOKEN
    }
}

/// One token in the unit of [`State::milli_tokens`].
const TOKEN: u64 = 1_000;

/// What a bucket remembers between requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// Thousandths of tokens that are left.
    pub milli_tokens: u64,
    /// What the last refill could not yet express in thousandths, in units of
    /// thousandth-milliseconds.
    pub remainder: u64,
    /// When the bucket was last refilled, in milliseconds since the epoch.
    pub at_ms: i64,
}

impl State {
    /// A full bucket.
    pub fn full(rate: Rate, now_ms: i64) -> Self {
        Self {
            milli_tokens: rate.capacity_milli(),
            remainder: 0,
            at_ms: now_ms,
        }
    }

    /// The bucket as it is at `now_ms`; a clock that went back refills nothing.
    #[must_use]
    pub fn refilled(self, rate: Rate, now_ms: i64) -> Self {
        let elapsed = u128::try_from(now_ms.saturating_sub(self.at_ms)).unwrap_or(0);
        let period = u128::from(rate.period_ms());
        let kept = u128::from(self.remainder).min(period - 1);
        let gained = elapsed * u128::from(rate.requests) * u128::from(TOKEN) + kept;
        let capacity = rate.capacity_milli();
        let level = u128::from(self.milli_tokens) + gained / period;
        let (milli_tokens, remainder) = match u64::try_from(level) {
            Ok(level) if level < capacity => (level, gained % period),
            _ => (capacity, 0),
        };
        Self {
            milli_tokens,
            remainder: u64::try_from(remainder).unwrap_or(0),
            at_ms: self.at_ms.max(now_ms),
        }
    }
}

impl State {
    /// When the bucket is full again, if nothing more is taken; `None` where it never is.
    pub fn full_ms(self, rate: Rate) -> Option<i64> {
        let missing = rate.capacity_milli().saturating_sub(self.milli_tokens);
        if missing == 0 {
            return Some(self.at_ms);
        }
        let gain_each_period = u128::from(rate.requests) * u128::from(TOKEN);
        if gain_each_period == 0 {
            return None;
        }
        let needed = u128::from(missing) * u128::from(rate.period_ms());
        let wait_ms = i64::try_from(needed.div_ceil(gain_each_period)).ok()?;
        Some(self.at_ms.saturating_add(wait_ms))
    }
}

/// A bucket that has no token now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryAfter {
    /// After how many milliseconds there will be one; `None` when the rate adds none.
    pub ms: Option<u64>,
    /// The bucket as it is now, to be remembered.
    pub state: State,
}

/// Takes one token, or says when there will be one. A bucket seen for the first time (`None`) is
/// full.
pub fn take(state: Option<State>, rate: Rate, now_ms: i64) -> Result<State, RetryAfter> {
    let mut state = state
        .unwrap_or_else(|| State::full(rate, now_ms))
        .refilled(rate, now_ms);
    if let Some(left) = state.milli_tokens.checked_sub(TOKEN) {
        state.milli_tokens = left;
        return Ok(state);
    }
    let missing = u128::from(TOKEN - state.milli_tokens) * u128::from(rate.period_ms())
        - u128::from(state.remainder);
    let gain_each_ms = u128::from(rate.requests) * u128::from(TOKEN);
    let ms = match gain_each_ms {
        0 => None,
        gain => u64::try_from(missing.div_ceil(gain)).ok(),
    };
    Err(RetryAfter { ms, state })
}

/// Takes one token from each bucket, or from none: then the longest wait of them counts.
pub fn take_all(
    buckets: &[(Option<State>, Rate)],
    now_ms: i64,
) -> Result<Vec<State>, RetryAfterAll> {
    let mut taken = Vec::with_capacity(buckets.len());
    let mut wait: Option<Option<u64>> = None;
    for (state, rate) in buckets {
        match take(*state, *rate, now_ms) {
            Ok(state) => taken.push(state),
            Err(refused) => {
                wait = Some(match (wait, refused.ms) {
                    (None, ms) => ms,
                    (Some(Some(longest)), Some(ms)) => Some(longest.max(ms)),
                    _ => None,
                });
            }
        }
    }
    match wait {
        None => Ok(taken),
        Some(ms) => Err(RetryAfterAll { ms }),
    }
}

/// At least one of several buckets has no token now; none was taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryAfterAll {
    /// After how many milliseconds all will have one; `None` when one of them never will.
    pub ms: Option<u64>,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_burst_passes_at_once_and_then_the_rate() {
        let rate = Rate::default();
        let mut state = None;
        for _ in 0..20 {
            state = Some(take(state, rate, 5_000).unwrap());
        }
        let refused = take(state, rate, 5_000).unwrap_err();
        assert_eq!(refused.ms, Some(100));
        let state = take(Some(refused.state), rate, 5_100).unwrap();
        assert_eq!(take(Some(state), rate, 5_199).unwrap_err().ms, Some(1));
        assert!(take(Some(state), rate, 5_200).is_ok());
    }

    #[test]
    fn nothing_is_lost_to_rounding() {
        // 100 a minute is no whole number of thousandths in a millisecond.
        let rate = Rate {
            requests: 100,
            per_seconds: 60,
            burst: Some(1),
        };
        let mut state = None;
        let mut passed = 0;
        for now in 0..600_000 {
            match take(state, rate, now) {
                Ok(next) => {
                    passed += 1;
                    state = Some(next);
                }
                Err(refused) => state = Some(refused.state),
            }
        }
        assert_eq!(passed, 1_000);
    }

    #[test]
    fn a_bucket_knows_when_it_is_full_again() {
        let rate = Rate {
            requests: 7,
            per_seconds: 60,
            burst: Some(3),
        };
        let state = take(take(None, rate, 500).ok(), rate, 500).unwrap();
        let full = state.full_ms(rate).unwrap();
        let at = |now_ms| state.refilled(rate, now_ms).milli_tokens;
        assert!(at(full) == 3_000 && at(full - 1) < 3_000);
        assert_eq!(State::full(rate, 9).full_ms(rate), Some(9));
        let never = Rate::per_second(0, 1);
        assert_eq!(take(None, never, 0).unwrap().full_ms(never), None);
    }

    #[test]
    fn odd_rates_and_clocks_do_no_harm() {
        let none = Rate::per_second(0, 1);
        let spent = take(None, none, 1).unwrap();
        assert_eq!(take(Some(spent), none, i64::MAX).unwrap_err().ms, None);
        let zero_burst = Rate::per_second(1, 0);
        assert!(take(None, zero_burst, 0).is_ok());
        let period_zero = Rate {
            per_seconds: 0,
            ..Rate::default()
        };
        assert!(take(None, period_zero, 0).is_ok());
        let ahead = State::full(Rate::per_second(1, 1), 10_000);
        let spent = take(Some(ahead), Rate::per_second(1, 1), 500).unwrap();
        assert_eq!(spent.at_ms, 10_000);
        assert!(take(Some(spent), Rate::per_second(1, 1), 600).is_err());
        let huge = Rate::per_second(u32::MAX, u32::MAX);
        assert!(take(Some(State::full(huge, 0)), huge, i64::MAX).is_ok());
        let smaller = State::full(huge, 0).refilled(Rate::default(), 0);
        assert_eq!(smaller.milli_tokens, 20_000);
    }

    #[test]
    fn several_buckets_are_taken_from_together_or_not_at_all() {
        let (fast, slow) = (Rate::per_second(10, 1), Rate::per_second(1, 1));
        let fresh = take_all(&[(None, fast), (None, slow)], 0).unwrap();
        let both = [(Some(fresh[0]), fast), (Some(fresh[1]), slow)];
        assert_eq!(take_all(&both, 100).unwrap_err().ms, Some(900));
        assert_eq!(take_all(&both, 1_000).unwrap().len(), 2);
        let never = Rate::per_second(0, 1);
        let spent = take(None, never, 0).unwrap();
        let stuck = [(Some(spent), never), (Some(fresh[1]), slow)];
        assert_eq!(take_all(&stuck, 0).unwrap_err().ms, None);
        assert_eq!(take_all(&[], 0), Ok(Vec::new()));
    }

    #[test]
    fn rates_read_as_a_person_writes_them() {
        let rate = |requests, per_seconds| Rate {
            requests,
            per_seconds,
            burst: None,
        };
        assert_eq!(rate(10, 1).to_string(), "10 req/s");
        assert_eq!(rate(100, 60).to_string(), "100 req/min");
        assert_eq!(rate(5, 3600).to_string(), "5 req/h");
        assert_eq!(rate(5, 7).to_string(), "5 req/7 s");
    }

    proptest! {
        #[test]
        fn no_window_lets_more_pass_than_burst_and_rate(
            requests in 1u32..50, per_seconds in 1u32..90, burst in 1u32..30,
            steps in prop::collection::vec(0_i64..5_000, 1..200),
        ) {
            let rate = Rate { requests, per_seconds, burst: Some(burst) };
            let (mut now, mut passed, mut state) = (0_i64, 0_u64, None);
            for step in steps {
                now += step;
                match take(state, rate, now) {
                    Ok(next) => { passed += 1; state = Some(next); }
                    Err(refused) => {
                        let wait = i64::try_from(refused.ms.unwrap()).unwrap();
                        prop_assert!(wait > 0);
                        prop_assert!(take(Some(refused.state), rate, now + wait).is_ok());
                        prop_assert!(take(Some(refused.state), rate, now + wait - 1).is_err());
                        state = Some(refused.state);
                    }
                }
            }
            let allowed = u64::from(burst) + now.unsigned_abs() * u64::from(requests) / (u64::from(per_seconds) * 1_000);
            prop_assert!(passed <= allowed, "{passed} > {allowed}");
        }
    }
}
