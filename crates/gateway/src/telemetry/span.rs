//! Spans: what became of a request, for a collector of traces.
//!
//! A span says which request, tool and server it was, how long it took and how it ended. It never
//! holds arguments, results, addresses of resources, sessions or what a server says in words.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use toolcrib_core::limits::{TRACE_QUEUE_SPANS_MAX, TRACE_TEXT_CHARS_MAX};
use toolcrib_core::trace::SpanContext;

use super::collector::Collector;
use super::exporter;
use super::sampler::Sampler;
use crate::engine::clock::Clock;
use crate::veil::cover;

/// Which side of an exchange a span is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Work of our own.
    Internal,
    /// A request that came in.
    Server,
    /// A request that goes out.
    Client,
}

/// What an attribute holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Held {
    /// A text.
    Text(String),
    /// A whole number.
    Number(i64),
}

impl From<&str> for Held {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Held {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<i64> for Held {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

/// A span that has ended.
#[derive(Clone, Debug)]
pub struct Finished {
    /// Itself.
    pub context: SpanContext,
    /// The span above it.
    pub parent: Option<String>,
    /// What it is of, in few words.
    pub name: Cow<'static, str>,
    /// Which side it is of.
    pub kind: Kind,
    /// When it began, in nanoseconds since the epoch.
    pub start_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// What is known of it.
    pub attributes: Vec<(&'static str, Held)>,
    /// Whether it failed.
    pub failed: bool,
}

/// What became of spans.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Taken by the collector.
    pub sent: Counter,
    /// Lost: too many waited, or the collector did not take them.
    pub dropped: Counter,
}

/// Makes spans, where somebody collects them; elsewhere hands on the trace that a request came with.
/// Cheap to clone.
#[derive(Clone, Default)]
pub struct Tracer(Option<Arc<Recorder>>);

struct Recorder {
    queue: mpsc::Sender<Finished>,
    sampler: Sampler,
    clock: Clock,
    now_ns: fn() -> u64,
    counts: Counts,
    closing: CancellationToken,
    sending: Mutex<Option<JoinHandle<()>>>,
}

impl Tracer {
    /// Nobody collects anything: no span is made, nothing is kept.
    pub fn off() -> Self {
        Self(None)
    }

    /// Sends what is recorded to a collector, from a task of its own.
    pub fn to(collector: Collector, clock: Clock) -> Result<Self, String> {
        let sampler = collector.sampler;
        let (queue, waiting) = mpsc::channel(TRACE_QUEUE_SPANS_MAX);
        let (counts, closing) = (Counts::default(), CancellationToken::new());
        let exporter = exporter::Exporter::new(collector, counts.clone())?;
        let sending = tokio::spawn(exporter.run(waiting, closing.clone()));
        Ok(Self(Some(Arc::new(Recorder {
            queue,
            sampler,
            clock,
            now_ns,
            counts,
            closing,
            sending: Mutex::new(Some(sending)),
        }))))
    }

    /// What became of spans, where somebody collects them.
    pub fn counts(&self) -> Option<&Counts> {
        self.0.as_deref().map(|recorder| &recorder.counts)
    }

    /// Begins a span below `parent`, or one that begins a trace.
    pub fn start(
        &self,
        kind: Kind,
        name: impl Into<Cow<'static, str>>,
        parent: Option<&SpanContext>,
    ) -> Span {
        let Some(recorder) = &self.0 else {
            return Span {
                context: parent.cloned(),
                open: None,
            };
        };
        let span_id = recorder.clock.random();
        let context = if let Some(above) = parent {
            let sampled = recorder.sampler.takes(above.trace_bytes(), parent);
            above.child(span_id, sampled)
        } else {
            let trace_id = recorder.clock.random();
            let sampled = recorder.sampler.takes(trace_id, None);
            SpanContext::root(trace_id, span_id, sampled)
        };
        let open = context.is_sampled().then(|| {
            Box::new(Open {
                recorder: Arc::clone(recorder),
                finished: Finished {
                    context: context.clone(),
                    parent: parent.map(SpanContext::span_id),
                    name: name.into(),
                    kind,
                    start_ns: (recorder.now_ns)(),
                    end_ns: 0,
                    attributes: Vec::new(),
                    failed: false,
                },
            })
        });
        Span {
            context: Some(context),
            open,
        }
    }

    /// Delivers what waits, for at most `bound`. What is not delivered by then is lost.
    pub async fn close(&self, bound: Duration) {
        let Some(recorder) = &self.0 else { return };
        recorder.closing.cancel();
        let sending = recorder.sending.lock();
        let sending = sending.unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut sending) = sending else { return };
        if tokio::time::timeout(bound, &mut sending).await.is_err() {
            sending.abort();
            tracing::warn!("the collector of traces did not take the last spans in time");
        }
    }
}

impl fmt::Debug for Tracer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tracer").field(&self.0.is_some()).finish()
    }
}

/// The time of this machine in nanoseconds since the epoch.
fn now_ns() -> u64 {
    u64::try_from(jiff::Timestamp::now().as_nanosecond()).unwrap_or(0)
}

/// A span under way; it ends when it is dropped.
#[derive(Debug)]
pub struct Span {
    context: Option<SpanContext>,
    open: Option<Box<Open>>,
}

struct Open {
    recorder: Arc<Recorder>,
    finished: Finished,
}

impl fmt::Debug for Open {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.finished.fmt(f)
    }
}

impl Span {
    /// What is called from here names as its parent: this span, or the one that the request came
    /// with where nothing is collected.
    pub fn context(&self) -> Option<&SpanContext> {
        self.context.as_ref()
    }

    /// Whether what is set is kept.
    pub fn is_recorded(&self) -> bool {
        self.open.is_some()
    }

    /// Says something about what the span is of. Texts are covered and cut.
    pub fn set(&mut self, name: &'static str, held: impl Into<Held>) {
        if let Some(open) = &mut self.open {
            let held = match held.into() {
                Held::Text(text) => Held::Text(presentable(&text)),
                number @ Held::Number(_) => number,
            };
            open.finished.attributes.push((name, held));
        }
    }

    /// Names the span, once it is known what it is of.
    pub fn name(&mut self, name: &str) {
        if let Some(open) = &mut self.open {
            open.finished.name = presentable(name).into();
        }
    }

    /// Says that it failed, by the code of the failure.
    pub fn fail(&mut self, kind: impl Into<Held>) {
        self.set("error.type", kind);
        if let Some(open) = &mut self.open {
            open.finished.failed = true;
        }
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        let Some(open) = self.open.take() else { return };
        let Open {
            recorder,
            mut finished,
        } = *open;
        finished.end_ns = (recorder.now_ns)().max(finished.start_ns);
        // A collector that does not keep up costs spans, never a request its time.
        if recorder.queue.try_send(finished).is_err() {
            recorder.counts.dropped.inc();
        }
    }
}

fn presentable(text: &str) -> String {
    cover(text).chars().take(TRACE_TEXT_CHARS_MAX).collect()
}

/// The spans that are recorded, for tests.
#[cfg(test)]
pub(crate) fn recorded() -> (Tracer, mpsc::Receiver<Finished>) {
    let (queue, waiting) = mpsc::channel(TRACE_QUEUE_SPANS_MAX);
    let recorder = Recorder {
        queue,
        sampler: Sampler::default(),
        clock: Clock::system(),
        now_ns,
        counts: Counts::default(),
        closing: CancellationToken::new(),
        sending: Mutex::new(None),
    };
    (Tracer(Some(Arc::new(recorder))), waiting)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn without_a_collector_the_trace_goes_on_as_it_came() {
        let parent = SpanContext::parse(PARENT, Some("a=1"));
        let mut span = Tracer::off().start(Kind::Server, "x", parent.as_ref());
        span.set("a", "b");
        assert_eq!(span.context(), parent.as_ref());
        assert!(!span.is_recorded());
        let none = Tracer::off().start(Kind::Server, "x", None);
        assert_eq!(none.context(), None);
    }

    #[test]
    fn a_span_stands_below_its_parent_and_holds_no_secret() {
        let (tracer, mut waiting) = recorded();
        let parent = SpanContext::parse(PARENT, Some("a=1")).unwrap();
        let mut span = tracer.start(Kind::Client, "x", Some(&parent));
        let own = span.context().unwrap().clone();
        assert_eq!(own.trace_id(), parent.trace_id());
        assert_ne!(own.span_id(), parent.span_id());
        assert_eq!(own.tracestate(), Some("a=1"));
        span.set("n", 7);
        span.set("text", "token=ghp_0123456789abcdefghij");
        span.set("long", "x".repeat(1_000));
        span.fail("TOOL_NOT_FOUND");
        span.name("y ghp_0123456789abcdefghij");
        drop(span);
        let finished = waiting.try_recv().unwrap();
        assert_eq!(finished.parent, Some(parent.span_id()));
        assert_eq!(finished.context, own);
        assert_eq!(finished.name, "y ***");
        assert!(finished.failed && finished.end_ns >= finished.start_ns);
        assert_eq!(finished.attributes[0], ("n", Held::Number(7)));
        assert_eq!(finished.attributes[1].1, Held::Text("token=***".into()));
        assert_eq!(finished.attributes[2].1, Held::Text("x".repeat(256)));
        assert_eq!(finished.attributes[3].0, "error.type");
    }

    #[test]
    fn what_the_caller_does_not_sample_is_not_recorded_and_goes_on_unsampled() {
        let (tracer, mut waiting) = recorded();
        let parent = SpanContext::parse(&PARENT.replace("-01", "-00"), None).unwrap();
        let span = tracer.start(Kind::Server, "x", Some(&parent));
        let below = tracer.start(Kind::Client, "y", span.context());
        assert!(!span.is_recorded() && !below.is_recorded());
        assert!(!below.context().unwrap().is_sampled());
        drop((span, below));
        assert!(waiting.try_recv().is_err());
    }

    #[test]
    fn a_queue_that_is_full_drops_spans_and_counts_them() {
        let (tracer, waiting) = recorded();
        for _ in 0..TRACE_QUEUE_SPANS_MAX + 3 {
            drop(tracer.start(Kind::Internal, "x", None));
        }
        assert_eq!(tracer.counts().unwrap().dropped.get(), 3);
        drop(waiting);
    }
}
