//! How many connections there may be, and which one gives way to a new one.

use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use toolcrib_core::limits::{CHILDREN_MAX, CONNECTION_PLACE_MS, CONNECTIONS_MAX};

use super::supervisor::slot::Slot;
use super::{Failure, lock};

/// The places for connections.
pub(super) struct Places {
    children: Arc<Semaphore>,
    all: Arc<Semaphore>,
    taken: Mutex<Vec<Weak<Slot>>>,
}

/// The place of one connection; free again when it is dropped.
pub(super) struct Place {
    _child: Option<OwnedSemaphorePermit>,
    _any: OwnedSemaphorePermit,
}

impl Default for Places {
    fn default() -> Self {
        Self::new(CHILDREN_MAX, CONNECTIONS_MAX)
    }
}

impl Places {
    pub(super) fn new(children: usize, all: usize) -> Self {
        let (children, all) = (
            Arc::new(Semaphore::new(children)),
            Arc::new(Semaphore::new(all)),
        );
        Self {
            children,
            all,
            taken: Mutex::default(),
        }
    }

    /// A place for a connection. Where there is none, the connection that was unused for longest gives
    /// way.
    pub(super) async fn take(&self, slot: &Arc<Slot>, is_child: bool) -> Result<Place, Failure> {
        let any = self.one(&self.all, false).await?;
        let child = if is_child {
            Some(self.one(&self.children, true).await?)
        } else {
            None
        };
        let mut taken = lock(&self.taken);
        taken.retain(|slot| slot.strong_count() > 0);
        taken.push(Arc::downgrade(slot));
        Ok(Place {
            _child: child,
            _any: any,
        })
    }

    async fn one(&self, of: &Arc<Semaphore>, child: bool) -> Result<OwnedSemaphorePermit, Failure> {
        if let Ok(permit) = Arc::clone(of).try_acquire_owned() {
            return Ok(permit);
        }
        let slots: Vec<_> = lock(&self.taken).iter().filter_map(Weak::upgrade).collect();
        let mut idle: Vec<_> = slots
            .iter()
            .filter(|slot| slot.is_child || !child)
            .filter_map(|slot| Some((slot.idle_since()?, slot)))
            .collect();
        idle.sort_unstable_by_key(|(since, _)| *since);
        let gave_way = idle.iter().any(|(_, slot)| slot.give_way());
        if !gave_way {
            return Err(Failure::Overloaded);
        }
        let patience = Duration::from_millis(CONNECTION_PLACE_MS);
        let permit = tokio::time::timeout(patience, Arc::clone(of).acquire_owned()).await;
        permit.ok().and_then(Result::ok).ok_or(Failure::Overloaded)
    }
}
