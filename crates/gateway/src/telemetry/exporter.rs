//! Delivers spans to a collector: in groups, from one task, never in a request's way.

use std::time::Duration;

use reqwest::StatusCode;
use reqwest::header::{CONTENT_TYPE, RETRY_AFTER};
use reqwest::redirect::Policy;
use tokio::sync::mpsc::Receiver;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use toolcrib_core::limits::{
    TRACE_ANSWER_BYTES_MAX, TRACE_BATCH_SPANS_MAX, TRACE_RETRY_MS, TRACE_RETRY_MS_MAX,
    TRACE_SEND_ATTEMPTS_MAX,
};

use super::collector::Collector;
use super::otlp;
use super::span::{Counts, Finished};
use crate::veil::cover;

/// Sends to one collector.
pub(super) struct Exporter {
    collector: Collector,
    client: reqwest::Client,
    counts: Counts,
    /// Whether the last delivery failed, so that trouble is told once and not with every delivery.
    troubled: bool,
}

/// Why a delivery was not taken.
enum Refused {
    /// It may be taken later, where the collector says when.
    ForNow(String, Option<Duration>),
    /// It will never be.
    ForGood(String),
}

impl Exporter {
    pub(super) fn new(collector: Collector, counts: Counts) -> Result<Self, String> {
        let client = reqwest::Client::builder()
            .redirect(Policy::none())
            .referer(false)
            .timeout(collector.timeout)
            .pool_max_idle_per_host(1)
            .user_agent(concat!("toolcrib/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| format!("the collector cannot be reached: {error}"))?;
        Ok(Self {
            collector,
            client,
            counts,
            troubled: false,
        })
    }

    /// Delivers until `closing` fires, then whatever still waits.
    pub(super) async fn run(mut self, mut waiting: Receiver<Finished>, closing: CancellationToken) {
        let mut group = Vec::new();
        while self.gather(&mut waiting, &mut group, &closing).await {
            self.deliver(&mut group, &closing).await;
        }
    }

    /// Fills a group; false where nothing is left and nothing will come.
    async fn gather(
        &self,
        waiting: &mut Receiver<Finished>,
        group: &mut Vec<Finished>,
        closing: &CancellationToken,
    ) -> bool {
        let mut due: Option<Instant> = None;
        while group.len() < TRACE_BATCH_SPANS_MAX {
            let room = TRACE_BATCH_SPANS_MAX - group.len();
            let wait = async {
                match due {
                    Some(due) => tokio::time::sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                count = waiting.recv_many(group, room) => {
                    if count == 0 {
                        break;
                    }
                    due = due.or_else(|| Some(Instant::now() + self.collector.delay));
                }
                // What ends later than this is dropped, and counted.
                () = closing.cancelled() => waiting.close(),
                () = wait => break,
            }
        }
        !group.is_empty()
    }

    /// Sends a group, again where the collector may take it later. What it does not take is dropped.
    async fn deliver(&mut self, group: &mut Vec<Finished>, closing: &CancellationToken) {
        let body = otlp::delivery(&self.collector.resource, group).to_string();
        let count = u64::try_from(group.len()).unwrap_or(u64::MAX);
        group.clear();
        let mut attempt = 0;
        let why = loop {
            attempt += 1;
            match self.send(body.clone()).await {
                Ok(rejected) => {
                    let rejected = rejected.min(count);
                    self.counts.sent.inc_by(count - rejected);
                    self.counts.dropped.inc_by(rejected);
                    if std::mem::take(&mut self.troubled) {
                        tracing::info!("the collector takes traces again");
                    }
                    return;
                }
                Err(Refused::ForNow(why, wait)) => {
                    if attempt >= TRACE_SEND_ATTEMPTS_MAX || closing.is_cancelled() {
                        break why;
                    }
                    let own = Duration::from_millis(TRACE_RETRY_MS << (attempt - 1));
                    let longest = Duration::from_millis(TRACE_RETRY_MS_MAX);
                    let wait = wait.unwrap_or(own).clamp(own, longest);
                    // A process that ends tries once more at once.
                    let _ = closing.run_until_cancelled(tokio::time::sleep(wait)).await;
                }
                Err(Refused::ForGood(why)) => break why,
            }
        };
        self.counts.dropped.inc_by(count);
        if !std::mem::replace(&mut self.troubled, true) {
            tracing::warn!(why, "the collector does not take traces; they are dropped");
        }
    }

    /// One delivery; gives how many of its spans were rejected.
    async fn send(&self, body: String) -> Result<u64, Refused> {
        let sending = self
            .client
            .post(self.collector.url.clone())
            .headers(self.collector.headers.clone())
            .header(CONTENT_TYPE, "application/json")
            .body(body);
        let told = |error: reqwest::Error| cover(&error.without_url().to_string());
        let answer = sending.send().await;
        let mut answer = answer.map_err(|error| Refused::ForNow(told(error), None))?;
        let status = answer.status();
        if status.is_success() {
            let mut text = Vec::new();
            while let Ok(Some(part)) = answer.chunk().await {
                if text.len() + part.len() > TRACE_ANSWER_BYTES_MAX {
                    return Ok(0);
                }
                text.extend_from_slice(&part);
            }
            return Ok(otlp::rejected(&text));
        }
        let why = format!("it answers {status}");
        let wait = answer.headers().get(RETRY_AFTER);
        let wait = wait.and_then(|wait| wait.to_str().ok()?.parse().ok());
        Err(match status {
            StatusCode::TOO_MANY_REQUESTS
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT => Refused::ForNow(why, wait.map(Duration::from_secs)),
            _ => Refused::ForGood(why),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use toolcrib_core::limits::{TRACE_FLUSH_MS_MAX, TRACE_QUEUE_SPANS_MAX};
    use toolcrib_testkit::api::{Api, Reply};

    use super::super::collector::Found;
    use super::super::span::{Kind, Tracer};
    use super::*;
    use crate::engine::clock::Clock;

    fn tracer(address: &str, more: &[(&str, &str)]) -> Tracer {
        let settings = serde_json::from_value(json!({ "otlpEndpoint": address })).unwrap();
        let var = |name: &str| {
            let known = more.iter().find(|(known, _)| *known == name);
            known.map(|(_, value)| (*value).to_owned())
        };
        let collector = Found::of(&settings, &var, "one").collector.unwrap();
        Tracer::to(collector, Clock::system()).unwrap()
    }

    fn spans(api: &Api) -> Vec<String> {
        let bodies = api.received().into_iter().map(|received| {
            let body: Value = serde_json::from_slice(&received.body).unwrap();
            let spans = &body["resourceSpans"][0]["scopeSpans"][0]["spans"];
            let names = spans.as_array().unwrap().iter();
            let names: Vec<&str> = names.map(|span| span["name"].as_str().unwrap()).collect();
            names.join(" ")
        });
        bodies.collect()
    }

    fn flush() -> Duration {
        Duration::from_millis(TRACE_FLUSH_MS_MAX)
    }

    #[tokio::test]
    async fn what_waits_is_delivered_when_the_process_ends() {
        let api = Api::start([]).await.unwrap();
        let tracer = tracer(&api.url(), &[("OTEL_EXPORTER_OTLP_HEADERS", "x-key=hush")]);
        for name in ["a", "b", "c"] {
            drop(tracer.start(Kind::Internal, name, None));
        }
        tracer.close(flush()).await;
        assert_eq!(spans(&api), ["a b c"]);
        let received = api.received().pop().unwrap();
        assert_eq!(
            (received.method.as_str(), received.target.as_str()),
            ("POST", "/v1/traces")
        );
        assert_eq!(received.header("x-key"), Some("hush"));
        assert_eq!(received.header("content-type"), Some("application/json"));
        assert_eq!(tracer.counts().unwrap().sent.get(), 3);
        drop(tracer.start(Kind::Internal, "late", None));
        assert_eq!(tracer.counts().unwrap().dropped.get(), 1);
        tracer.close(flush()).await;
    }

    #[tokio::test]
    async fn what_is_refused_for_now_is_sent_again_and_what_is_rejected_is_counted() {
        let again = Reply::json(503, &json!({})).with("retry-after", "0");
        let partly = Reply::json(200, &json!({ "partialSuccess": { "rejectedSpans": "1" } }));
        let never = Reply::json(400, &json!({}));
        let api = Api::start([again, partly, never]).await.unwrap();
        let tracer = tracer(&api.url(), &[("OTEL_BSP_SCHEDULE_DELAY", "1")]);
        for name in ["a", "b"] {
            drop(tracer.start(Kind::Internal, name, None));
        }
        while api.received().len() < 2 {
            tokio::task::yield_now().await;
        }
        drop(tracer.start(Kind::Internal, "c", None));
        tracer.close(flush()).await;
        assert_eq!(spans(&api), ["a b", "a b", "c"]);
        let counts = tracer.counts().unwrap();
        assert_eq!((counts.sent.get(), counts.dropped.get()), (1, 2));
    }

    #[tokio::test]
    async fn a_collector_that_is_silent_or_away_holds_up_neither_request_nor_end() {
        let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = silent.local_addr().unwrap().port();
        let tracer = tracer(&format!("http://127.0.0.1:{port}"), &[]);
        for _ in 0..2 * TRACE_QUEUE_SPANS_MAX {
            drop(tracer.start(Kind::Internal, "x", None));
        }
        assert!(tracer.counts().unwrap().dropped.get() > 0);
        tokio::time::pause();
        let begun = Instant::now();
        tracer.close(flush()).await;
        assert!(begun.elapsed() <= flush() + Duration::from_millis(10));
        assert_eq!(tracer.counts().unwrap().sent.get(), 0);
    }
}
