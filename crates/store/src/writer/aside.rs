//! Work that nobody waits for. What comes within a moment is committed together, so that calls that follow one
//! another share one commit for it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, mpsc};
use toolcrib_core::limits::{STORE_GROUP_MAX, STORE_LINGER_MS};

use super::{Message, Work};

/// What has been set aside, shared by those who bring it and the writing thread.
#[derive(Default)]
pub(super) struct Aside {
    state: Mutex<State>,
    settled: Notify,
}

#[derive(Default)]
struct State {
    works: Vec<Box<dyn Work>>,
    /// How many have been brought so far, taken by the writing thread, and committed or failed.
    brought: u64,
    taken: u64,
    settled: u64,
    /// Whether someone will knock at the writing thread.
    armed: bool,
    closed: bool,
}

impl Aside {
    /// Keeps the work until its moment is over. Gives it back when there will be none.
    pub(super) fn put(
        self: &Arc<Self>,
        work: Box<dyn Work>,
        queue: &mpsc::Sender<Message>,
    ) -> Result<(), Box<dyn Work>> {
        let mut state = self.lock();
        if state.closed {
            return Err(work);
        }
        state.works.push(work);
        state.brought += 1;
        if state.works.len() >= STORE_GROUP_MAX {
            // A full queue brings the writing thread here as well.
            let _ = queue.try_send(Message::Knock);
        } else if !state.armed {
            state.armed = true;
            drop(state);
            self.knock_later(queue.downgrade());
        }
        Ok(())
    }

    fn knock_later(self: &Arc<Self>, queue: mpsc::WeakSender<Message>) {
        let aside = Arc::clone(self);
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(STORE_LINGER_MS)).await;
            let waits = {
                let mut state = aside.lock();
                state.armed = false;
                !state.works.is_empty()
            };
            // Without a sender the writing thread is ending, and takes what is left itself.
            if waits && let Some(queue) = queue.upgrade() {
                let _ = queue.send(Message::Knock).await;
            }
        });
    }

    /// Takes everything, for a commit.
    pub(super) fn take(&self) -> Vec<Box<dyn Work>> {
        let mut state = self.lock();
        state.taken = state.brought;
        std::mem::take(&mut state.works)
    }

    /// Says that what was taken is committed, or has failed.
    pub(super) fn done(&self) {
        let mut state = self.lock();
        state.settled = state.taken;
        drop(state);
        self.settled.notify_waiters();
    }

    /// Takes what is left; nothing is kept from now on.
    pub(super) fn close(&self) -> Vec<Box<dyn Work>> {
        let mut state = self.lock();
        state.closed = true;
        state.taken = state.brought;
        std::mem::take(&mut state.works)
    }

    /// Returns once everything that was set aside before is committed, or has failed.
    pub(super) async fn settled(&self, queue: &mpsc::Sender<Message>) {
        let (asked_for, waits) = {
            let state = self.lock();
            (state.brought, !state.works.is_empty())
        };
        if waits && queue.send(Message::Knock).await.is_err() {
            return;
        }
        loop {
            let settled = self.settled.notified();
            if self.lock().settled >= asked_for {
                return;
            }
            settled.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
