//! Server-sent events: the stream of one request or session as a response body.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, header};
use axum::response::Response;
use futures::stream;
use tokio_util::sync::{CancellationToken, DropGuard};
use toolcrib_core::limits::HTTP_KEEP_ALIVE_MS;

use crate::mcp::outlet::Stream;

/// How a stream is read.
pub(super) struct Reader {
    /// What is read.
    pub(super) stream: Arc<Stream>,
    /// The number of the first message that is wanted.
    pub(super) from: u64,
    /// What names the stream in event ids; none where it cannot be picked up again.
    pub(super) name: Option<u64>,
    /// Whether the first event is an empty one that only carries an id.
    pub(super) primes: bool,
    /// Ends the body.
    pub(super) until: CancellationToken,
    /// What ends with the body.
    #[expect(dead_code, reason = "held for its drop")]
    pub(super) guard: Option<DropGuard>,
    /// Called for each message that went out.
    pub(super) heard: Option<Arc<dyn Fn(u64) + Send + Sync>>,
}

/// A response that sends messages as they come.
pub(super) fn response(reader: Reader) -> Response {
    let begin = (reader, true);
    let body = stream::unfold(begin, |(mut reader, first)| async move {
        if first
            && reader.primes
            && let Some(name) = reader.name
        {
            let text = format!("id: {name}-p\ndata: \n\n");
            return Some((
                Ok::<_, std::convert::Infallible>(Bytes::from(text)),
                (reader, false),
            ));
        }
        let keep_alive = Duration::from_millis(HTTP_KEEP_ALIVE_MS);
        let text = tokio::select! {
            // What was written before the end still goes out.
            biased;
            next = reader.stream.next(reader.from) => {
                let (number, frame) = next?;
                reader.from = number + 1;
                if let Some(heard) = &reader.heard {
                    heard(number);
                }
                event(reader.name, number, &frame)
            }
            () = reader.until.cancelled() => return None,
            () = tokio::time::sleep(keep_alive) => Bytes::from_static(b": still here\n\n"),
        };
        Some((Ok(text), (reader, false)))
    });
    let mut response = Response::new(Body::from_stream(body));
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/event-stream"),
    );
    headers.insert(
        header::CACHE_CONTROL,
        HeaderValue::from_static("no-cache, no-transform"),
    );
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

fn event(name: Option<u64>, number: u64, frame: &[u8]) -> Bytes {
    let mut text = Vec::with_capacity(frame.len() + 48);
    if let Some(name) = name {
        text.extend_from_slice(format!("id: {name}-{number}\n").as_bytes());
    }
    text.extend_from_slice(b"event: message\ndata: ");
    text.extend_from_slice(frame);
    text.extend_from_slice(b"\n\n");
    text.into()
}

/// Where an event id says to go on: the stream, and the number of the next message.
pub(super) fn after(id: &str) -> Option<(u64, u64)> {
    let (name, number) = id.split_once('-')?;
    let name = name.parse().ok()?;
    if number == "p" {
        return Some((name, 0));
    }
    Some((name, number.parse::<u64>().ok()?.checked_add(1)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn event_ids_say_where_to_go_on() {
        assert_eq!(
            event(Some(3), 7, b"{}"),
            "id: 3-7\nevent: message\ndata: {}\n\n"
        );
        assert_eq!(event(None, 7, b"{}"), "event: message\ndata: {}\n\n");
        assert_eq!(after("3-7"), Some((3, 8)));
        assert_eq!(after("3-p"), Some((3, 0)));
        for wrong in ["", "3", "x-1", "3-", "3-18446744073709551615"] {
            assert_eq!(after(wrong), None, "{wrong}");
        }
    }
}
