//! What the door counts, in the format of Prometheus.

use std::time::Duration;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use crate::engine::meter::{Meter, NONE};
use crate::telemetry::Tracer;

/// Labels, each with its value: few, and none of a caller's making.
type Labels = [(&'static str, String); 2];

/// Counters of one door.
pub struct Metrics {
    registry: Registry,
    requests: Family<Labels, Counter>,
    durations: Histogram,
    sessions: Gauge,
}

impl Metrics {
    /// Counters that begin at nothing, those of a tracer where it sends anything, and those of executions where
    /// somebody counts them.
    pub fn new(tracer: &Tracer, meter: Option<&Meter>) -> Self {
        let mut registry = Registry::with_prefix("toolcrib");
        let requests = Family::default();
        let durations = Histogram::new([0.001, 0.005, 0.025, 0.1, 0.5, 2.0, 10.0, 60.0]);
        let sessions = Gauge::default();
        registry.register(
            "http_requests",
            "Requests by path and status",
            requests.clone(),
        );
        registry.register_with_unit(
            "http_first_byte",
            "Time until an answer begins",
            Unit::Seconds,
            durations.clone(),
        );
        registry.register("mcp_sessions", "Open sessions", sessions.clone());
        if let Some(meter) = meter {
            meter.register(&mut registry);
        }
        if let Some(spans) = tracer.counts() {
            let sent = "Spans that the collector of traces took";
            registry.register("trace_spans_sent", sent, spans.sent.clone());
            let dropped =
                "Spans that were lost: too many waited, or the collector did not take them";
            registry.register("trace_spans_dropped", dropped, spans.dropped.clone());
        }
        Self {
            registry,
            requests,
            durations,
            sessions,
        }
    }

    /// Counts a request.
    pub fn count(&self, path: &'static str, status: u16, took: Duration) {
        let labels = [("path", path.to_owned()), ("status", status.to_string())];
        self.requests.get_or_create(&labels).inc();
        self.durations.observe(took.as_secs_f64());
    }

    /// Sets the number of open sessions.
    pub fn sessions(&self, open: usize) {
        self.sessions.set(i64::try_from(open).unwrap_or(i64::MAX));
    }

    /// Everything that was counted, but nothing of servers that `shows` says no to.
    pub fn text(&self, shows: impl Fn(&str) -> bool) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = encode(&mut text, &self.registry);
        let is_shown = |line: &&str| server(line).is_none_or(&shows);
        text.split_inclusive('\n').filter(is_shown).collect()
    }
}

/// The server that a line counts something of, where it is of one that is configured.
fn server(line: &str) -> Option<&str> {
    let (_, name) = line.split_once("server=\"")?;
    let (name, _) = name.split_once('"')?;
    Some(name).filter(|name| *name != NONE)
}

/// The label of a path: one of a fixed set, so that callers cannot make up new ones.
pub fn label(path: &str) -> &'static str {
    match path {
        "/mcp" => "/mcp",
        "/mcp/discovery" => "/mcp/discovery",
        "/mcp/gateway" => "/mcp/gateway",
        "/mcp/full" => "/mcp/full",
        "/healthz" => "/healthz",
        "/readyz" => "/readyz",
        "/metrics" => "/metrics",
        path if path.starts_with("/api/v1/") => "/api/v1",
        path if path == "/api/adapters" || path.starts_with("/api/adapters/") => "/api/adapters",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_counted_is_shown_under_known_labels() {
        let meter = Meter::default();
        let metrics = Metrics::new(&Tracer::off(), Some(&meter));
        meter.count(Some("github"), "answered", Duration::from_millis(3));
        meter.count(None, "refused", Duration::ZERO);
        metrics.count(label("/mcp"), 200, Duration::from_millis(3));
        metrics.count(label("/made/up"), 404, Duration::ZERO);
        metrics.sessions(2);
        let text = metrics.text(|_| true);
        for line in [
            "toolcrib_http_requests_total{path=\"/mcp\",status=\"200\"} 1",
            "toolcrib_http_requests_total{path=\"other\",status=\"404\"} 1",
            "toolcrib_http_first_byte_seconds_count 2",
            "toolcrib_mcp_sessions 2",
            "toolcrib_calls_total{server=\"github\",outcome=\"answered\"} 1",
            "toolcrib_calls_total{server=\"none\",outcome=\"refused\"} 1",
            "toolcrib_call_seconds_count{server=\"github\"} 1",
        ] {
            assert!(text.contains(line), "{text}");
        }
        assert!(!text.contains("trace_spans"), "{text}");
        let text = metrics.text(|server| server != "github");
        assert!(!text.contains("github"), "{text}");
        assert!(
            text.contains("{server=\"none\",outcome=\"refused\"} 1"),
            "{text}"
        );
        assert!(text.ends_with("# EOF\n"), "{text}");
    }

    #[tokio::test]
    async fn spans_are_counted_where_they_are_sent() {
        let (tracer, _waiting) = crate::telemetry::span::recorded();
        let metrics = Metrics::new(&tracer, None);
        tracer.counts().unwrap().sent.inc_by(2);
        tracer.counts().unwrap().dropped.inc();
        let text = metrics.text(|_| true);
        for line in [
            "toolcrib_trace_spans_sent_total 2",
            "toolcrib_trace_spans_dropped_total 1",
        ] {
            assert!(text.contains(line), "{text}");
        }
    }
}
