//! Bodies of requests: each within bounds of size and time, and all that are held at once within one.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::http::StatusCode;
use futures::StreamExt;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use toolcrib_core::limits::{DOOR_BODIES_BYTES_MAX, DOOR_BODY_BYTES_MAX, HTTP_BODY_MS_MAX};

/// Counts the bytes of bodies over all connections before they are kept.
#[derive(Debug)]
pub(super) struct Room(Arc<Semaphore>);

/// A body that was read. What it takes up is free again once it is dropped.
#[derive(Debug)]
pub(super) struct Text {
    bytes: Vec<u8>,
    place: OwnedSemaphorePermit,
}

/// Why a body was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unread {
    #[error("the body broke off, or is longer than {DOOR_BODY_BYTES_MAX} bytes")]
    TooLong,
    #[error("the body did not come within {HTTP_BODY_MS_MAX} ms")]
    TooSlow,
    #[error("too much is being sent at once; try again in a moment")]
    NoRoom,
}

impl Unread {
    pub(super) fn status(self) -> StatusCode {
        match self {
            Unread::TooLong => StatusCode::PAYLOAD_TOO_LARGE,
            Unread::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Unread::NoRoom => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}

impl Default for Room {
    fn default() -> Self {
        Self::of(DOOR_BODIES_BYTES_MAX)
    }
}

impl Room {
    fn of(bytes: usize) -> Self {
        Self(Arc::new(Semaphore::new(bytes)))
    }

    /// Reads a body. What has come of it counts from the moment it comes.
    pub(super) async fn read(&self, body: Body) -> Result<Text, Unread> {
        let longest = Duration::from_millis(HTTP_BODY_MS_MAX);
        let reading = tokio::time::timeout(longest, self.gather(body));
        reading.await.unwrap_or(Err(Unread::TooSlow))
    }

    async fn gather(&self, body: Body) -> Result<Text, Unread> {
        let announced = body.size_hint().lower();
        if announced > DOOR_BODY_BYTES_MAX as u64 {
            return Err(Unread::TooLong);
        }
        let mut text = Text {
            bytes: Vec::new(),
            place: self.take(0)?,
        };
        let mut pieces = body.into_data_stream();
        while let Some(piece) = pieces.next().await {
            let piece = piece.map_err(|_| Unread::TooLong)?;
            if text.bytes.len() + piece.len() > DOOR_BODY_BYTES_MAX {
                return Err(Unread::TooLong);
            }
            text.place.merge(self.take(piece.len())?);
            text.bytes.extend_from_slice(&piece);
        }
        Ok(text)
    }

    /// Takes up room for so many bytes.
    pub(super) fn take(&self, bytes: usize) -> Result<OwnedSemaphorePermit, Unread> {
        let bytes = u32::try_from(bytes).map_err(|_| Unread::TooLong)?;
        let taken = Arc::clone(&self.0).try_acquire_many_owned(bytes);
        taken.map_err(|_| Unread::NoRoom)
    }
}

impl Deref for Text {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use axum::body::Bytes;
    use futures::channel::mpsc;

    use super::*;

    /// A body that comes as it is sent.
    fn slow() -> (mpsc::UnboundedSender<Bytes>, Body) {
        let (sends, pieces) = mpsc::unbounded();
        let pieces = pieces.map(Ok::<_, Infallible>);
        (sends, Body::from_stream(pieces))
    }

    #[tokio::test(start_paused = true)]
    async fn what_slow_clients_have_sent_counts_before_the_rest_has_come() {
        let room = Room::of(10);
        let (sends, body) = slow();
        sends
            .unbounded_send(Bytes::from_static(b"12345678"))
            .unwrap();
        let first = room.read(body);
        tokio::pin!(first);
        assert!(futures::poll!(&mut first).is_pending());
        let refused = room.read(Body::from("abc")).await;
        assert_eq!(refused.unwrap_err(), Unread::NoRoom);
        let fits = room.read(Body::from("ab")).await.unwrap();
        assert_eq!(&*fits, b"ab");
        sends.unbounded_send(Bytes::from_static(b"9")).unwrap();
        assert_eq!(first.await.unwrap_err(), Unread::NoRoom);
        drop(fits);
        // Whatever became of them, nothing of them is held any more.
        assert!(room.read(Body::from("1234567890")).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_is_too_long_or_never_ends_is_given_up() {
        let room = Room::default();
        let long = vec![b'x'; DOOR_BODY_BYTES_MAX + 1];
        let error = room.read(Body::from(long)).await.unwrap_err();
        assert_eq!(error, Unread::TooLong);
        let (_sends, body) = slow();
        let error = room.read(body).await.unwrap_err();
        assert_eq!(error, Unread::TooSlow);
        assert_eq!(error.status(), 408);
    }
}
