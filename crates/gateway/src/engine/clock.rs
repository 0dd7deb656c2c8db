//! Time and chance, as the engine gets them.

use std::fmt;
use std::sync::Arc;

use uuid::Uuid;

type Fill = dyn Fn(&mut [u8]) + Send + Sync;

/// What the time is, and random bytes. Cheap to clone.
#[derive(Clone)]
pub struct Clock {
    now: Arc<dyn Fn() -> i64 + Send + Sync>,
    fill: Arc<Fill>,
}

impl Clock {
    /// Time in milliseconds since the epoch, and bytes that nobody can guess.
    pub fn new(
        now_ms: impl Fn() -> i64 + Send + Sync + 'static,
        fill: impl Fn(&mut [u8]) + Send + Sync + 'static,
    ) -> Self {
        Self {
            now: Arc::new(now_ms),
            fill: Arc::new(fill),
        }
    }

    /// The clock and the randomness of this machine.
    pub fn system() -> Self {
        Self::new(
            || jiff::Timestamp::now().as_millisecond(),
            |bytes| {
                // Straight from the system: a generator of our own would first gather entropy, for
                // longer than a whole start takes, and on each thread. Without randomness nothing may
                // be named or promised: this never happens on a system that runs, and going on would be
                // worse than ending.
                let filled = getrandom::fill(bytes);
                assert!(filled.is_ok(), "the system gives no randomness");
            },
        )
    }

    /// Milliseconds since the epoch.
    pub fn now_ms(&self) -> i64 {
        (self.now)()
    }

    /// Random bytes.
    pub fn random<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        (self.fill)(&mut bytes);
        bytes
    }

    /// A number from 0 to 1.
    pub fn fraction(&self) -> f64 {
        f64::from(u32::from_le_bytes(self.random())) / f64::from(u32::MAX)
    }

    /// A name for a request that came in at `at_ms`: a `UUIDv7`.
    pub fn request_id(&self, at_ms: i64) -> Uuid {
        let millis = u64::try_from(at_ms).unwrap_or(0);
        uuid::Builder::from_unix_timestamp_millis(millis, &self.random()).into_uuid()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clock").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_ids_are_version_seven_and_carry_the_time() {
        let clock = Clock::new(|| 1_700_000_000_123, |bytes| bytes.fill(0xAB));
        let id = clock.request_id(clock.now_ms());
        assert_eq!(id.get_version_num(), 7);
        let (seconds, nanos) = id.get_timestamp().unwrap().to_unix();
        assert_eq!((seconds, nanos), (1_700_000_000, 123_000_000));
    }

    #[test]
    fn the_system_draws_different_bytes_each_time() {
        let clock = Clock::system();
        assert_ne!(clock.random::<16>(), clock.random::<16>());
        assert!(clock.now_ms() > 1_700_000_000_000);
    }
}
