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
    bound: Arc<Mutex<Bound>>,
    all: Arc<Semaphore>,
    taken: Mutex<Vec<Weak<Slot>>>,
}

/// How many child processes there may be.
struct Bound {
    children: usize,
    /// How many places of children are in use that are no places any more.
    owed: usize,
}

/// The place of one connection; free again when it is dropped.
pub(super) struct Place {
    child: Option<(OwnedSemaphorePermit, Arc<Mutex<Bound>>)>,
    _any: OwnedSemaphorePermit,
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some((permit, bound)) = self.child.take() {
            let mut bound = lock(&bound);
            if bound.owed > 0 {
                bound.owed -= 1;
                permit.forget();
            }
        }
    }
}

impl Default for Places {
    fn default() -> Self {
        Self::new(CHILDREN_MAX, CONNECTIONS_MAX)
    }
}

impl Places {
    pub(super) fn new(children: usize, all: usize) -> Self {
        let bound = Bound { children, owed: 0 };
        Self {
            children: Arc::new(Semaphore::new(children)),
            bound: Arc::new(Mutex::new(bound)),
            all: Arc::new(Semaphore::new(all)),
            taken: Mutex::default(),
        }
    }

    /// Sets how many child processes there may be from now on. Where more than that run, unused ones give
    /// way; those in use run on until they are closed, and none is started meanwhile.
    pub(super) fn allow_children(&self, most: usize) {
        let most = most.clamp(1, Semaphore::MAX_PERMITS);
        let mut bound = lock(&self.bound);
        let (more, fewer) = (
            most.saturating_sub(bound.children),
            bound.children.saturating_sub(most),
        );
        let redeemed = more.min(bound.owed);
        bound.owed -= redeemed;
        self.children.add_permits(more - redeemed);
        bound.owed += fewer - self.children.forget_permits(fewer);
        bound.children = most;
        let owed = bound.owed;
        drop(bound);
        if owed > 0 {
            let idle = self.idle(true).into_iter();
            idle.filter(|slot| slot.give_way())
                .take(owed)
                .for_each(drop);
        }
    }

    /// The connections that are not in use, the one that was unused for longest first.
    fn idle(&self, child: bool) -> Vec<Arc<Slot>> {
        let slots = lock(&self.taken)
            .iter()
            .filter_map(Weak::upgrade)
            .collect::<Vec<_>>();
        let unused = slots.into_iter().filter(|slot| slot.is_child || !child);
        let mut idle: Vec<_> = unused
            .filter_map(|slot| Some((slot.idle_since()?, slot)))
            .collect();
        idle.sort_unstable_by_key(|(since, _)| *since);
        idle.into_iter().map(|(_, slot)| slot).collect()
    }

    /// A place for a connection. Where there is none, the connection that was unused for longest gives
    /// way.
    pub(super) async fn take(&self, slot: &Arc<Slot>, is_child: bool) -> Result<Place, Failure> {
        let any = self.one(&self.all, false).await?;
        let child = if is_child {
            let permit = self.one(&self.children, true).await?;
            Some((permit, Arc::clone(&self.bound)))
        } else {
            None
        };
        let mut taken = lock(&self.taken);
        taken.retain(|slot| slot.strong_count() > 0);
        taken.push(Arc::downgrade(slot));
        Ok(Place { child, _any: any })
    }

    async fn one(&self, of: &Arc<Semaphore>, child: bool) -> Result<OwnedSemaphorePermit, Failure> {
        if let Ok(permit) = Arc::clone(of).try_acquire_owned() {
            return Ok(permit);
        }
        let gave_way = self.idle(child).iter().any(|slot| slot.give_way());
        if !gave_way {
            return Err(Failure::Overloaded);
        }
        let patience = Duration::from_millis(CONNECTION_PLACE_MS);
        let permit = tokio::time::timeout(patience, Arc::clone(of).acquire_owned()).await;
        permit.ok().and_then(Result::ok).ok_or(Failure::Overloaded)
    }
}
