//! What happens, as server-sent events: records of the audit log, and changes of the catalog.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures::stream;
use serde_json::json;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use toolcrib_core::Code;
use toolcrib_core::limits::{AUDIT_FOLLOW_MS, HTTP_KEEP_ALIVE_MS};
use toolcrib_store::audit::query::{Filter, Position};

use super::problem::Problem;
use super::{Counter, Told};
use crate::engine::Engine;
use crate::mcp::gate::Entry;

/// Somebody who listens.
struct Listener {
    engine: Arc<Engine>,
    position: Position,
    snapshot: u64,
    waiting: VecDeque<String>,
    spoke: Instant,
    ending: CancellationToken,
    #[expect(dead_code, reason = "held for its drop")]
    place: Entry,
}

impl Counter {
    pub(super) async fn events(&self) -> Told {
        let place = self.api.gate.listen();
        let place = place.map_err(|fault| Problem::plain(Code::Overloaded, fault.message))?;
        let engine = Arc::clone(self.engine());
        let listener = Listener {
            position: engine.store().audit_position().await?,
            snapshot: engine.snapshot().number,
            waiting: VecDeque::from([": listening\n\n".to_owned()]),
            spoke: Instant::now(),
            ending: self.door.ending.clone(),
            engine,
            place,
        };
        let events = stream::unfold(listener, |mut listener| async move {
            let text = listener.next().await?;
            Some((Ok::<_, Infallible>(Bytes::from(text)), listener))
        });
        let kind = [
            (header::CONTENT_TYPE, "text/event-stream"),
            (header::CACHE_CONTROL, "no-store"),
        ];
        let response: Response = (kind, Body::from_stream(events)).into_response();
        Ok(response)
    }
}

impl Listener {
    /// The next event, or a sign of life; none when the process ends.
    async fn next(&mut self) -> Option<String> {
        loop {
            if let Some(text) = self.waiting.pop_front() {
                self.spoke = Instant::now();
                return Some(text);
            }
            if self.spoke.elapsed() >= Duration::from_millis(HTTP_KEEP_ALIVE_MS) {
                self.waiting.push_back(": alive\n\n".to_owned());
                continue;
            }
            tokio::select! {
                () = self.ending.cancelled() => return None,
                () = tokio::time::sleep(Duration::from_millis(AUDIT_FOLLOW_MS)) => {}
            }
            self.look().await;
        }
    }

    async fn look(&mut self) {
        let number = self.engine.snapshot().number;
        if number != self.snapshot {
            self.snapshot = number;
            self.tell("catalog", &json!({"snapshot": number}));
        }
        let store = self.engine.store();
        match store
            .audit_follow(&Filter::default(), &mut self.position)
            .await
        {
            Ok(records) => {
                for record in records {
                    self.tell("audit", &json!(record));
                }
            }
            Err(error) => tracing::warn!(%error, "the audit log cannot be followed"),
        }
    }

    fn tell(&mut self, event: &str, data: &serde_json::Value) {
        self.waiting
            .push_back(format!("event: {event}\ndata: {data}\n\n"));
    }
}
