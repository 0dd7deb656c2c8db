//! The place of one connection: nothing, a connection that is being opened, or an open one.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use toolcrib_core::limits::LISTING_IDLE_MS;

use crate::mcp::{Connection, Failure, lock};

/// What becomes of an attempt to open a connection.
pub(in crate::mcp) type Opened = Option<Result<Arc<Tenant>, Failure>>;

/// A connection in a slot. It closes when nobody holds it any more, so that what is under way over one
/// that was given up still ends as it may.
pub(in crate::mcp) struct Tenant {
    pub(in crate::mcp) connection: Connection,
    /// Cancelled when the connection was given up.
    pub(in crate::mcp) given_up: CancellationToken,
    why: Mutex<Option<Failure>>,
}

impl Tenant {
    pub(in crate::mcp) fn new(connection: Connection) -> Self {
        Self {
            connection,
            given_up: CancellationToken::new(),
            why: Mutex::default(),
        }
    }

    /// Why the connection was given up; `None`: because it was not needed any more.
    pub(in crate::mcp) fn why(&self) -> Option<Failure> {
        lock(&self.why).clone()
    }

    fn give_up(&self, why: Option<&Failure>) {
        *lock(&self.why) = why.cloned();
        self.given_up.cancel();
    }
}

pub(in crate::mcp) enum State {
    Empty,
    Opening(watch::Receiver<Opened>),
    Open(Arc<Tenant>),
}

/// The place of one connection.
pub(in crate::mcp) struct Slot {
    pub(in crate::mcp) is_child: bool,
    pub(in crate::mcp) state: Mutex<State>,
    /// Whether anything was answered over the connection.
    pub(in crate::mcp) served: AtomicBool,
    /// Whether anything but lists was asked over it.
    claimed: AtomicBool,
    /// Whether callers had connections of their own when it was opened, so that nobody needs to take it over.
    is_spare: bool,
    in_use: AtomicUsize,
    last_used: Mutex<Instant>,
}

impl Slot {
    pub(in crate::mcp) fn new(is_child: bool, is_spare: bool) -> Self {
        Self {
            is_child,
            is_spare,
            state: Mutex::new(State::Empty),
            served: AtomicBool::new(false),
            claimed: AtomicBool::new(false),
            in_use: AtomicUsize::new(0),
            last_used: Mutex::new(Instant::now()),
        }
    }

    /// Holds the slot for as long as the use lives.
    pub(in crate::mcp) fn use_it(self: &Arc<Self>) -> Use {
        self.in_use.fetch_add(1, Ordering::SeqCst);
        Use(Arc::clone(self))
    }

    pub(in crate::mcp) fn is_used(&self) -> bool {
        self.in_use.load(Ordering::SeqCst) > 0
    }

    pub(in crate::mcp) fn is_empty(&self) -> bool {
        matches!(*lock(&self.state), State::Empty)
    }

    /// Since when an open connection is not used; `None`: it is used, or not open.
    pub(in crate::mcp) fn idle_since(&self) -> Option<Instant> {
        let is_open = matches!(*lock(&self.state), State::Open(_));
        (is_open && !self.is_used()).then(|| *lock(&self.last_used))
    }

    /// Tells that somebody asks for more than lists.
    pub(in crate::mcp) fn claim(&self) {
        self.claimed.store(true, Ordering::SeqCst);
    }

    /// Whether a connection stands here that nobody uses and whose server knows of no caller yet.
    pub(in crate::mcp) fn is_unclaimed(&self) -> bool {
        let is_open = matches!(
            &*lock(&self.state),
            State::Open(tenant) if tenant.connection.peer().closed().is_none()
        );
        is_open && !self.is_used() && !self.claimed.load(Ordering::SeqCst)
    }

    /// How long it stays without being used, where connections stay for so long.
    pub(in crate::mcp) fn patience(&self, idle: Option<Duration>) -> Option<Duration> {
        if !self.is_spare || self.claimed.load(Ordering::SeqCst) {
            return idle;
        }
        let brief = Duration::from_millis(LISTING_IDLE_MS);
        Some(idle.map_or(brief, |idle| idle.min(brief)))
    }

    /// Gives the connection up if nobody uses it. True where that was so.
    pub(in crate::mcp) fn give_way(&self) -> bool {
        let mut state = lock(&self.state);
        if self.is_used() || !matches!(*state, State::Open(_)) {
            return false;
        }
        if let State::Open(tenant) = std::mem::replace(&mut *state, State::Empty) {
            tenant.give_up(None);
        }
        true
    }

    /// Gives a connection up, if it is still the one in this slot.
    pub(in crate::mcp) fn give_up(&self, tenant: &Arc<Tenant>, why: Option<&Failure>) {
        let mut state = lock(&self.state);
        if matches!(&*state, State::Open(open) if Arc::ptr_eq(open, tenant)) {
            *state = State::Empty;
            tenant.give_up(why);
        }
    }

    /// Waits until the connection was not used for this long.
    pub(in crate::mcp) async fn unused_for(&self, idle: Option<Duration>) {
        let Some(idle) = idle else {
            return std::future::pending().await;
        };
        loop {
            let due = *lock(&self.last_used) + idle;
            let now = Instant::now();
            if self.is_used() {
                tokio::time::sleep(idle).await;
            } else if due <= now {
                return;
            } else {
                tokio::time::sleep_until(due).await;
            }
        }
    }
}

/// Keeps a slot from being closed for being idle.
pub(in crate::mcp) struct Use(Arc<Slot>);

impl Drop for Use {
    fn drop(&mut self) {
        *lock(&self.0.last_used) = Instant::now();
        self.0.in_use.fetch_sub(1, Ordering::SeqCst);
    }
}

impl std::ops::Deref for Use {
    type Target = Arc<Slot>;

    fn deref(&self) -> &Arc<Slot> {
        &self.0
    }
}
