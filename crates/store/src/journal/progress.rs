//! What this process has under way: running executions, endings that could not be written yet,
//! and callers who wait for a key.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use toolcrib_core::limits::STORE_UNSETTLED_MAX;

use super::Finish;
use crate::StoreError;

#[derive(Default)]
pub(crate) struct Progress {
    running: Mutex<HashSet<String>>,
    unsettled: Mutex<VecDeque<Finish>>,
    waiting: Mutex<HashMap<KeyName, Arc<Notify>>>,
}

type KeyName = (String, String);

impl Progress {
    /// An execution is about to be journalled.
    pub(crate) fn enter(&self, request_id: &str) {
        lock(&self.running).insert(request_id.to_owned());
    }

    /// An execution is over, or never began.
    pub(crate) fn leave(&self, request_id: &str) {
        lock(&self.running).remove(request_id);
    }

    /// Whether this process still works on a request.
    pub(crate) fn is_running(&self, request_id: &str) -> bool {
        lock(&self.running).contains(request_id)
    }

    /// Closes an execution whose record is durable, or keeps its ending for later.
    pub(crate) fn after_finish(
        &self,
        unit: &Finish,
        result: Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        match &result {
            Ok(()) => {
                self.leave(unit.request_id());
                if let Some((principal, key)) = unit.waited_for() {
                    self.wake(principal, key);
                }
            }
            Err(error) => {
                tracing::error!(request_id = unit.request_id(), %error, "an ending waits to be recorded");
                self.keep_unsettled(unit.clone());
            }
        }
        result
    }

    /// Keeps an ending until the store can be written. Beyond the bound the oldest is given up: its
    /// entry is then recovered with the outcome `unknown`.
    pub(crate) fn keep_unsettled(&self, unit: Finish) {
        let given_up = {
            let mut unsettled = lock(&self.unsettled);
            unsettled.push_back(unit);
            if unsettled.len() > STORE_UNSETTLED_MAX {
                unsettled.pop_front()
            } else {
                None
            }
        };
        if let Some(unit) = given_up {
            self.leave(unit.request_id());
        }
    }

    /// The endings that wait, for another attempt.
    pub(crate) fn take_unsettled(&self) -> Leftovers<'_> {
        Leftovers {
            progress: self,
            units: std::mem::take(&mut *lock(&self.unsettled)),
        }
    }

    /// A bell that rings when the key's execution in this process ends.
    pub(crate) fn bell(&self, principal: &str, key: &str) -> Bell<'_> {
        let name = (principal.to_owned(), key.to_owned());
        let notify = Arc::clone(lock(&self.waiting).entry(name.clone()).or_default());
        Bell {
            progress: self,
            name,
            notify,
        }
    }

    /// Rings the bell of a key.
    pub(crate) fn wake(&self, principal: &str, key: &str) {
        let bell = lock(&self.waiting).remove(&(principal.to_owned(), key.to_owned()));
        if let Some(notify) = bell {
            notify.notify_waiters();
        }
    }
}

/// Endings that are written one after the other. Those that it does not come to wait on.
pub(crate) struct Leftovers<'a> {
    progress: &'a Progress,
    units: VecDeque<Finish>,
}

impl Leftovers<'_> {
    pub(crate) fn is_empty(&self) -> bool {
        self.units.is_empty()
    }

    pub(crate) fn next(&mut self) -> Option<Finish> {
        self.units.pop_front()
    }
}

impl Drop for Leftovers<'_> {
    fn drop(&mut self) {
        for unit in self.units.drain(..) {
            self.progress.keep_unsettled(unit);
        }
    }
}

/// Someone's wait for a key; the bell is taken down with the last who waits.
pub(crate) struct Bell<'a> {
    progress: &'a Progress,
    name: KeyName,
    notify: Arc<Notify>,
}

impl Bell<'_> {
    pub(crate) fn notify(&self) -> &Notify {
        &self.notify
    }
}

impl Drop for Bell<'_> {
    fn drop(&mut self) {
        let mut waiting = lock(&self.progress.waiting);
        // One reference is in the map and one here.
        if waiting
            .get(&self.name)
            .is_some_and(|hung| Arc::ptr_eq(hung, &self.notify))
            && Arc::strong_count(&self.notify) <= 2
        {
            waiting.remove(&self.name);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::{Chainer, Outcome};
    use crate::idempotency::KeyFate;
    use crate::journal::{Ending, Entry};

    fn finish(request_id: &str) -> Finish {
        Finish {
            chainer: Chainer {
                ordinal: 1,
                writer_id: "w".into(),
            },
            entry: Arc::new(Entry {
                request_id: request_id.into(),
                timestamp_ms: 0,
                actor_id: "ann".into(),
                tool_id: "t".into(),
                params_hash: "p".into(),
                parameters: None,
                reason: String::new(),
                upstream: None,
                request_bytes: 0,
                trace_id: None,
            }),
            key: Some("k".into()),
            ending: Arc::new(Ending {
                outcome: Outcome::Ok,
                error_code: None,
                duration_us: None,
                response_bytes: None,
                key: KeyFate::Forget,
                remark: None,
            }),
        }
    }

    #[test]
    fn endings_beyond_the_bound_are_left_to_recovery_oldest_first() {
        let progress = Progress::default();
        for number in 0..=STORE_UNSETTLED_MAX {
            let unit = finish(&number.to_string());
            progress.enter(unit.request_id());
            let result = progress.after_finish(&unit, Err(StoreError::Full));
            assert_eq!(result, Err(StoreError::Full));
        }
        assert!(!progress.is_running("0"), "given up");
        assert!(progress.is_running("1"));
        let mut leftovers = progress.take_unsettled();
        assert!(progress.take_unsettled().is_empty(), "nobody else has them");
        let first = leftovers.next().unwrap();
        assert_eq!(first.request_id(), "1");
        drop(leftovers);
        let mut rest = progress.take_unsettled();
        let count = std::iter::from_fn(|| rest.next()).count();
        assert_eq!(
            count,
            STORE_UNSETTLED_MAX - 1,
            "what was not come to waits on"
        );
    }

    #[test]
    fn a_bell_is_taken_down_with_the_last_who_waits() {
        let progress = Progress::default();
        let (one, two) = (progress.bell("ann", "k"), progress.bell("ann", "k"));
        drop(one);
        assert_eq!(lock(&progress.waiting).len(), 1);
        drop(two);
        assert!(lock(&progress.waiting).is_empty());
        let waiting = progress.bell("ann", "k");
        progress.after_finish(&finish("r"), Ok(())).unwrap();
        assert!(lock(&progress.waiting).is_empty(), "rung and taken down");
        drop(waiting);
    }
}
