//! Where messages to a client go, and what is kept of them until the client has read them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::Notify;
use toolcrib_core::limits::{STREAM_BYTES_MAX, STREAM_FRAMES_MAX};

/// Where messages to a client go. Handing one over never waits.
pub trait Outlet: Send + Sync {
    /// Hands over a message; what a client that does not keep up misses is the oldest.
    fn push(&self, frame: Vec<u8>);
}

/// A message on one line: what a client or an upstream wrote on several stays the same JSON.
pub fn one_line(mut frame: Vec<u8>) -> Vec<u8> {
    // Inside a string a line break is written as an escape, so these stand between values.
    for byte in &mut frame {
        if matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
    frame
}

/// Somewhere that nobody listens.
#[derive(Debug)]
pub struct Nowhere;

impl Outlet for Nowhere {
    fn push(&self, _frame: Vec<u8>) {}
}

/// A numbered, bounded run of messages that can be read again from any number that is still kept.
#[derive(Debug, Default)]
pub struct Stream {
    log: Mutex<Log>,
    moved: Notify,
}

#[derive(Debug, Default)]
struct Log {
    /// The number of the first frame that is kept.
    first: u64,
    frames: VecDeque<Bytes>,
    bytes: usize,
    closed: bool,
}

impl Stream {
    /// An empty one.
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Whether anything was ever written.
    pub fn is_empty(&self) -> bool {
        let log = self.log();
        log.first == 0 && log.frames.is_empty()
    }

    /// How many bytes are kept.
    pub fn bytes(&self) -> usize {
        self.log().bytes
    }

    /// Says that nothing more will come.
    pub fn close(&self) {
        self.log().closed = true;
        self.moved.notify_waiters();
    }

    /// Whether nothing more will come.
    pub fn is_closed(&self) -> bool {
        self.log().closed
    }

    /// Waits until something has been written or the stream is closed.
    pub async fn written(&self) {
        loop {
            let moved = self.moved.notified();
            tokio::pin!(moved);
            moved.as_mut().enable();
            if !self.is_empty() || self.is_closed() {
                return;
            }
            moved.await;
        }
    }

    /// The next frame from `number` on, with its number, once there is one; `None` at the end.
    pub async fn next(&self, number: u64) -> Option<(u64, Bytes)> {
        loop {
            let moved = self.moved.notified();
            tokio::pin!(moved);
            moved.as_mut().enable();
            {
                let log = self.log();
                let number = number.max(log.first);
                let position = usize::try_from(number - log.first).unwrap_or(usize::MAX);
                if let Some(frame) = log.frames.get(position) {
                    return Some((number, frame.clone()));
                }
                if log.closed {
                    return None;
                }
            }
            moved.await;
        }
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Outlet for Stream {
    fn push(&self, frame: Vec<u8>) {
        let mut log = self.log();
        if log.closed {
            return;
        }
        log.bytes += frame.len();
        log.frames.push_back(one_line(frame).into());
        while log.frames.len() > 1
            && (log.frames.len() > STREAM_FRAMES_MAX || log.bytes > STREAM_BYTES_MAX)
        {
            if let Some(oldest) = log.frames.pop_front() {
                log.bytes -= oldest.len();
                log.first += 1;
            }
        }
        drop(log);
        self.moved.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn frames_are_read_in_order_and_again() {
        let stream = Stream::new();
        assert!(stream.is_empty());
        let reading = Arc::clone(&stream);
        let first = tokio::spawn(async move { reading.next(0).await });
        tokio::task::yield_now().await;
        stream.push(b"a".to_vec());
        stream.push(b"b".to_vec());
        stream.written().await;
        assert_eq!(first.await.unwrap(), Some((0, Bytes::from_static(b"a"))));
        assert_eq!(stream.next(1).await, Some((1, Bytes::from_static(b"b"))));
        assert_eq!(stream.next(0).await, Some((0, Bytes::from_static(b"a"))));
        stream.close();
        stream.push(b"late".to_vec());
        assert_eq!(stream.next(2).await, None);
    }

    #[test]
    fn a_message_on_several_lines_becomes_one() {
        let frame = one_line(b"{\n \"a\": \"\\n\"\r\n}".to_vec());
        assert_eq!(frame, b"{  \"a\": \"\\n\"  }");
    }

    #[tokio::test]
    async fn whoever_does_not_keep_up_misses_the_oldest_frames() {
        let stream = Stream::new();
        for number in 0..=STREAM_FRAMES_MAX {
            stream.push(number.to_string().into_bytes());
        }
        assert_eq!(stream.next(0).await, Some((1, Bytes::from_static(b"1"))));
        stream.push(vec![b'x'; STREAM_BYTES_MAX]);
        let last = STREAM_FRAMES_MAX as u64 + 1;
        assert_eq!(stream.next(0).await.unwrap().0, last);
        assert!(!stream.is_empty());
    }
}
