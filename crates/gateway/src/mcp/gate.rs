//! How much may come through the door at once and in a second, whatever it is.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use toolcrib_core::Code;
use toolcrib_core::limits::{
    DOOR_BODIES_BYTES_MAX, DOOR_BUCKETS_MAX, DOOR_LISTENERS_MAX, DOOR_REQUESTS_BURST,
    DOOR_REQUESTS_IN_FLIGHT_MAX, DOOR_REQUESTS_PER_SECOND,
};
use toolcrib_core::policy::bucket::{State, take};
use toolcrib_core::policy::{Principal, Rate};
use toolcrib_core::rpc::Fault;

use super::fields::raw;

/// Counts requests, over all doors and connections of the process.
#[derive(Debug)]
pub struct Gate {
    requests: Arc<Semaphore>,
    listeners: Arc<Semaphore>,
    bytes: Arc<Semaphore>,
    buckets: Mutex<HashMap<Principal, State>>,
    rate: Rate,
}

/// Held while a request is answered.
#[derive(Debug)]
pub struct Entry(#[expect(dead_code, reason = "held for its drop")] OwnedSemaphorePermit);

impl Default for Gate {
    fn default() -> Self {
        Self::new(
            DOOR_REQUESTS_IN_FLIGHT_MAX,
            Rate::per_second(DOOR_REQUESTS_PER_SECOND, DOOR_REQUESTS_BURST),
        )
    }
}

impl Gate {
    /// A gate that lets `in_flight` requests be answered at once, and `rate` of them for each
    /// principal.
    pub fn new(in_flight: usize, rate: Rate) -> Self {
        Self {
            requests: Arc::new(Semaphore::new(in_flight)),
            listeners: Arc::new(Semaphore::new(DOOR_LISTENERS_MAX)),
            bytes: Arc::new(Semaphore::new(DOOR_BODIES_BYTES_MAX)),
            buckets: Mutex::default(),
            rate,
        }
    }

    /// Lets a request in, or says that it is too much.
    pub fn enter(&self, principal: &Principal, now_ms: i64) -> Result<Entry, Fault> {
        let entry = Arc::clone(&self.requests).try_acquire_owned();
        let entry = entry.map_err(|_| crowded())?;
        self.count(principal, now_ms)?;
        Ok(Entry(entry))
    }

    /// Lets a listener in, who stays.
    pub fn listen(&self) -> Result<Entry, Fault> {
        let entry = Arc::clone(&self.listeners).try_acquire_owned();
        entry.map(Entry).map_err(|_| crowded())
    }

    /// Takes up room for a message of so many bytes while it is held. Those over HTTP are counted while they
    /// come, where they are read.
    pub fn hold(&self, bytes: usize) -> Result<Entry, Fault> {
        let taken = u32::try_from(bytes)
            .ok()
            .and_then(|bytes| Arc::clone(&self.bytes).try_acquire_many_owned(bytes).ok());
        let taken = taken.map(Entry);
        taken.ok_or_else(|| overloaded("too much is being sent at once; try again in a moment"))
    }

    fn count(&self, principal: &Principal, now_ms: i64) -> Result<(), Fault> {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= DOOR_BUCKETS_MAX && !buckets.contains_key(principal) {
            let full = State::full(self.rate, now_ms).milli_tokens;
            buckets.retain(|_, state| state.refilled(self.rate, now_ms).milli_tokens < full);
            if buckets.len() >= DOOR_BUCKETS_MAX {
                return Err(crowded());
            }
        }
        let taken = take(buckets.get(principal).copied(), self.rate, now_ms);
        let (state, outcome) = match taken {
            Ok(state) => (state, Ok(())),
            Err(refused) => (refused.state, Err(too_fast(refused.ms))),
        };
        buckets.insert(principal.clone(), state);
        outcome
    }
}

/// The refusal of a request that would be one too many at once.
pub(super) fn crowded() -> Fault {
    overloaded("too many requests are under way; try again in a moment")
}

/// The refusal of what is too much at once.
pub fn overloaded(message: &str) -> Fault {
    refusal(Code::Overloaded, message, None)
}

fn too_fast(wait_ms: Option<u64>) -> Fault {
    refusal(
        Code::RateLimited,
        "requests come too fast; slow down and try again",
        wait_ms,
    )
}

/// The refusal of what may be asked again after so long.
pub(super) fn limited(wait_ms: Option<u64>) -> Fault {
    refusal(
        Code::RateLimited,
        "a rate limit is used up for now; try again later",
        wait_ms,
    )
}

/// After how long a request that was refused so may be made again.
pub(super) fn retry_after_ms(fault: &Fault) -> Option<u64> {
    let data: serde_json::Value = serde_json::from_str(fault.data.as_ref()?.get()).ok()?;
    let limited = data["code"] == Code::RateLimited.as_str();
    data["retryAfterMs"].as_u64().filter(|_| limited)
}

fn refusal(code: Code, message: &str, retry_after_ms: Option<u64>) -> Fault {
    let mut data = serde_json::json!({ "code": code, "retryable": code.retryable() });
    if let Some(wait) = retry_after_ms {
        data["retryAfterMs"] = wait.into();
    }
    Fault {
        code: code.json_rpc().into(),
        message: message.to_owned(),
        data: Some(raw(&data)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_requests_than_allowed_are_answered_at_once() {
        let gate = Gate::new(2, Rate::per_second(1_000, 1_000));
        let first = gate.enter(&Principal::Local, 0).unwrap();
        let _second = gate.enter(&Principal::Loopback, 0).unwrap();
        let refused = gate.enter(&Principal::Local, 0).unwrap_err();
        assert!(refused.data.unwrap().get().contains("OVERLOADED"));
        drop(first);
        assert!(gate.enter(&Principal::Local, 0).is_ok());
    }

    #[test]
    fn no_more_bytes_than_allowed_are_held_at_once() {
        let gate = Gate::default();
        let held = gate.hold(DOOR_BODIES_BYTES_MAX - 1).unwrap();
        let last = gate.hold(1).unwrap();
        let refused = gate.hold(1).unwrap_err();
        assert!(refused.data.unwrap().get().contains("OVERLOADED"));
        drop((held, last));
        assert!(gate.hold(DOOR_BODIES_BYTES_MAX).is_ok());
    }

    #[test]
    fn one_principal_does_not_use_up_the_rate_of_another() {
        let gate = Gate::new(100, Rate::per_second(1, 2));
        for _ in 0..2 {
            gate.enter(&Principal::Local, 0).unwrap();
        }
        let refused = gate.enter(&Principal::Local, 0).unwrap_err();
        let data = refused.data.unwrap().get().to_owned();
        assert!(
            data.contains("RATE_LIMITED") && data.contains("\"retryAfterMs\":1000"),
            "{data}"
        );
        assert!(gate.enter(&Principal::Loopback, 0).is_ok());
        assert!(gate.enter(&Principal::Local, 1_000).is_ok());
    }

    #[test]
    fn buckets_of_callers_that_rest_are_forgotten() {
        let gate = Gate::new(100, Rate::per_second(1, 1));
        for number in 0..DOOR_BUCKETS_MAX {
            drop(gate.enter(&Principal::Key(number.to_string()), 0));
        }
        assert!(gate.enter(&Principal::Local, 0).is_err());
        assert!(gate.enter(&Principal::Local, 1_000).is_ok());
        assert_eq!(gate.buckets.lock().unwrap().len(), 1);
    }
}
