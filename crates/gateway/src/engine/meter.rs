//! How executions end and how long they take, counted for whoever watches the process.

use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

/// What stands for a server that nobody configured, so that callers cannot make up labels.
pub const NONE: &str = "none";

/// The names and values by which `N` things are told apart.
type Labels<const N: usize> = [(&'static str, String); N];

/// Counters of executions. Cheap to clone.
#[derive(Clone)]
pub struct Meter {
    calls: Family<Labels<2>, Counter>,
    durations: Family<Labels<1>, Histogram, fn() -> Histogram>,
}

impl Default for Meter {
    fn default() -> Self {
        Self {
            calls: Family::default(),
            durations: Family::new_with_constructor(histogram),
        }
    }
}

fn histogram() -> Histogram {
    Histogram::new([0.001, 0.005, 0.025, 0.1, 0.5, 2.0, 10.0, 60.0])
}

impl Meter {
    /// Counts an execution on a server, where there is one, by the word for its end.
    pub fn count(&self, server: Option<&str>, outcome: &'static str, took: Duration) {
        let server = || server.unwrap_or(NONE).to_owned();
        let labels = [("server", server()), ("outcome", outcome.to_owned())];
        self.calls.get_or_create(&labels).inc();
        let labels = [("server", server())];
        let durations = self.durations.get_or_create(&labels);
        durations.observe(took.as_secs_f64());
    }

    /// Shows the counters among those of a registry.
    pub fn register(&self, registry: &mut Registry) {
        registry.register(
            "calls",
            "Executions by server and outcome",
            self.calls.clone(),
        );
        registry.register_with_unit(
            "call",
            "Time that executions take",
            Unit::Seconds,
            self.durations.clone(),
        );
    }
}
