//! Clients with a handshake over HTTP: each has a session until it ends it or goes away.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use toolcrib_core::limits::{SESSION_IDLE_MS, STREAMS_RESUMABLE_BYTES_MAX, STREAMS_RESUMABLE_MAX};

use crate::mcp::outlet::Stream;
use crate::mcp::session::Session;

/// A session with its streams.
pub(super) struct Seat {
    /// What the protocol knows.
    pub(super) session: Arc<Session>,
    /// Messages that belong to no request.
    pub(super) standing: Arc<Stream>,
    /// The number of the next message of [`Seat::standing`] that nobody has read.
    pub(super) unread: Arc<AtomicU64>,
    streams: Mutex<Streams>,
    used: Mutex<Instant>,
}

#[derive(Default)]
struct Streams {
    next: u64,
    kept: VecDeque<(u64, Arc<Stream>)>,
    reader: CancellationToken,
}

/// The number of the stream that belongs to no request.
pub(super) const STANDING: u64 = 0;

impl Seat {
    pub(super) fn new(session: Arc<Session>, standing: Arc<Stream>) -> Arc<Self> {
        Arc::new(Self {
            session,
            standing,
            unread: Arc::default(),
            streams: Mutex::default(),
            used: Mutex::new(Instant::now()),
        })
    }

    /// Remembers a stream, so that a client whose connection broke can pick it up.
    pub(super) fn keep(&self, stream: Arc<Stream>) -> u64 {
        let mut streams = self.streams();
        streams.next += 1;
        let name = streams.next;
        streams.kept.push_back((name, stream));
        let mut bytes: usize = streams.kept.iter().map(|(_, kept)| kept.bytes()).sum();
        while streams.kept.len() > STREAMS_RESUMABLE_MAX
            || streams.kept.len() > 1 && bytes > STREAMS_RESUMABLE_BYTES_MAX
        {
            let oldest = streams.kept.pop_front();
            // It may have grown since it was counted.
            bytes = bytes.saturating_sub(oldest.map_or(0, |(_, oldest)| oldest.bytes()));
        }
        name
    }

    /// A stream that was kept.
    pub(super) fn stream(&self, name: u64) -> Option<Arc<Stream>> {
        if name == STANDING {
            return Some(Arc::clone(&self.standing));
        }
        let streams = self.streams();
        let found = streams.kept.iter().find(|(kept, _)| *kept == name);
        found.map(|(_, stream)| Arc::clone(stream))
    }

    /// Begins to read messages that belong to no request; whoever read them before stops.
    pub(super) fn read_standing(&self) -> CancellationToken {
        let mut streams = self.streams();
        streams.reader.cancel();
        streams.reader = self.session.closing().child_token();
        streams.reader.clone()
    }

    /// Stops whoever reads messages that belong to no request.
    fn hush(&self) {
        self.streams().reader.cancel();
    }

    pub(super) fn touch(&self) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    fn is_idle(&self, now: Instant) -> bool {
        let used = *self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let idle = now.saturating_duration_since(used) >= Duration::from_millis(SESSION_IDLE_MS);
        // An open stream of messages, or a request that is being answered, shows that somebody is there.
        idle && Arc::strong_count(&self.standing) <= 2 && !self.session.is_busy()
    }

    fn streams(&self) -> MutexGuard<'_, Streams> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Every session of the door.
pub(super) struct Sessions {
    seats: Mutex<HashMap<Arc<str>, Arc<Seat>>>,
    max: AtomicUsize,
}

impl Sessions {
    pub(super) fn new(max: usize) -> Arc<Self> {
        Arc::new(Self {
            seats: Mutex::default(),
            max: AtomicUsize::new(max),
        })
    }

    /// Sets how many there may be; those that are open stay.
    pub(super) fn bound(&self, max: usize) {
        self.max.store(max, Ordering::Relaxed);
    }

    pub(super) fn len(&self) -> usize {
        self.seats().len()
    }

    /// Seats a client; `false` where no seat is free.
    pub(super) fn open(&self, id: Arc<str>, seat: Arc<Seat>) -> bool {
        let max = self.max.load(Ordering::Relaxed);
        if self.len() >= max {
            self.clear(Instant::now());
        }
        let mut seats = self.seats();
        let free = seats.len() < max;
        if free {
            seats.insert(id, seat);
        }
        free
    }

    /// The seat of a client that comes back.
    pub(super) fn find(&self, id: &str) -> Option<Arc<Seat>> {
        let seat = self.seats().get(id).cloned();
        if let Some(seat) = &seat {
            seat.touch();
        }
        seat
    }

    /// Ends a session.
    pub(super) fn close(&self, id: &str) {
        let seat = self.seats().remove(id);
        if let Some(seat) = seat {
            seat.session.close();
            seat.standing.close();
        }
    }

    /// Ends sessions that nobody uses, again and again. From `ending` on none hears of anything but its own
    /// requests; at `closing` all of them end.
    pub(super) async fn sweep(
        self: Arc<Self>,
        ending: CancellationToken,
        closing: CancellationToken,
    ) {
        let pause = Duration::from_millis(SESSION_IDLE_MS / 30);
        loop {
            tokio::select! {
                () = tokio::time::sleep(pause) => self.clear(Instant::now()),
                () = ending.cancelled() => break,
            }
        }
        for seat in self.seats().values() {
            seat.hush();
        }
        closing.cancelled().await;
        let all: Vec<_> = self.seats().keys().cloned().collect();
        for id in all {
            self.close(&id);
        }
    }

    fn clear(&self, now: Instant) {
        let idle: Vec<Arc<str>> = {
            let seats = self.seats();
            let idle = seats.iter().filter(|(_, seat)| seat.is_idle(now));
            idle.map(|(id, _)| Arc::clone(id)).collect()
        };
        for id in idle {
            tracing::debug!("a session was ended: nobody used it");
            self.close(&id);
        }
    }

    fn seats(&self) -> MutexGuard<'_, HashMap<Arc<str>, Arc<Seat>>> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::outlet::Outlet;
    use crate::mcp::stand_in::{StandIn, caller, service};

    #[tokio::test]
    async fn streams_that_can_be_picked_up_again_are_bounded_in_number_and_bytes() {
        let service = service(StandIn::new(), CancellationToken::new());
        let standing = Stream::new();
        let session = Session::new(
            service,
            caller(),
            None,
            Arc::clone(&standing) as Arc<dyn Outlet>,
        );
        let seat = Seat::new(session, standing);
        let keep = |bytes: usize| {
            let stream = Stream::new();
            stream.push(vec![b'x'; bytes]);
            seat.keep(stream)
        };
        let first = keep(1);
        for _ in 0..STREAMS_RESUMABLE_MAX {
            assert!(seat.stream(first).is_some());
            keep(1);
        }
        assert!(seat.stream(first).is_none());
        let half = keep(STREAMS_RESUMABLE_BYTES_MAX / 2);
        let more = keep(STREAMS_RESUMABLE_BYTES_MAX / 2 + 1);
        assert!(seat.stream(half).is_none() && seat.stream(more).is_some());
        let large = keep(STREAMS_RESUMABLE_BYTES_MAX + 1);
        assert!(seat.stream(more).is_none() && seat.stream(large).is_some());
    }
}
