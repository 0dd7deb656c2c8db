//! Servers in memory that follow a script, for tests in paused time.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use toolcrib_core::rpc;
use toolcrib_upstream::mcp::{
    Command, Dialer, Endpoint, EraMemory, Failure, Incoming, Link, Outgoing, Pool, Surroundings,
    Tail, Way,
};

use crate::fixture::now_ms;

/// What a scripted server does with a request.
pub(crate) enum Act {
    Answer(Value),
    Refuse(i64),
    Fault(rpc::Fault),
    Fail(Failure),
    Break(Failure),
    Nothing,
}

/// Decides what becomes of a request: which connection it came on, counted from one, and the message.
pub(crate) type Script = Arc<dyn Fn(usize, &Value) -> Act + Send + Sync>;

/// Opens links to the script.
pub(crate) struct Scripted {
    script: Script,
    start: Duration,
    pub(crate) opened: AtomicUsize,
    pub(crate) closed: Arc<AtomicUsize>,
    pub(crate) sent: Arc<Mutex<Vec<Value>>>,
    /// How it was reached, in order.
    pub(crate) ways: Arc<Mutex<Vec<&'static str>>>,
}

impl Scripted {
    pub(crate) fn new(script: impl Fn(usize, &Value) -> Act + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self {
            script: Arc::new(script),
            start: Duration::ZERO,
            opened: AtomicUsize::new(0),
            closed: Arc::default(),
            sent: Arc::default(),
            ways: Arc::default(),
        })
    }

    /// A server that takes this long to start.
    pub(crate) fn starting_for(start: Duration) -> Arc<Self> {
        let mut scripted = Self::new(|_, message| fine(message));
        Arc::get_mut(&mut scripted).unwrap().start = start;
        scripted
    }

    pub(crate) fn opened(&self) -> usize {
        self.opened.load(Ordering::SeqCst)
    }

    pub(crate) fn closed(&self) -> usize {
        self.closed.load(Ordering::SeqCst)
    }

    /// How often a method was asked for.
    pub(crate) fn asked(&self, method: &str) -> usize {
        let sent = self.sent.lock().unwrap();
        sent.iter()
            .filter(|message| message["method"] == method)
            .count()
    }
}

impl Dialer for Scripted {
    fn open<'a>(
        &'a self,
        endpoint: &'a Endpoint,
        tasks: &'a TaskTracker,
    ) -> BoxFuture<'a, Result<Link, Failure>> {
        self.ways.lock().unwrap().push(match endpoint.way {
            Way::Stdio(_) => "stdio",
            Way::Http(_) => "http",
            Way::Sse(_) => "sse",
        });
        let number = self.opened.fetch_add(1, Ordering::SeqCst) + 1;
        let (outgoing, mut asked) = mpsc::channel::<Outgoing>(16);
        let (answers, incoming) = mpsc::channel(16);
        let close = CancellationToken::new();
        let (closing, script, sent) = (
            close.clone(),
            Arc::clone(&self.script),
            Arc::clone(&self.sent),
        );
        let closed = Arc::clone(&self.closed);
        tasks.spawn(async move {
            let why = loop {
                let message = tokio::select! {
                    message = asked.recv() => message,
                    () = closing.cancelled() => None,
                };
                let Some(message) = message else {
                    break Failure::Closed;
                };
                let message: Value = serde_json::from_slice(&message.text).unwrap();
                sent.lock().unwrap().push(message.clone());
                let Ok(id) = serde_json::from_value::<rpc::Id>(message["id"].clone()) else {
                    continue;
                };
                let text = match script(number, &message) {
                    Act::Answer(result) => rpc::result(&id, &result),
                    Act::Refuse(code) => rpc::fault(Some(&id), &rpc::Fault::new(code, "no")),
                    Act::Fault(fault) => rpc::fault(Some(&id), &fault),
                    Act::Fail(failure) => {
                        let _ = answers.send(Incoming::Failed { id, failure }).await;
                        continue;
                    }
                    Act::Break(failure) => break failure,
                    Act::Nothing => continue,
                };
                let _ = answers
                    .send(Incoming::Message(rpc::parse(&text).unwrap()))
                    .await;
            };
            closed.fetch_add(1, Ordering::SeqCst);
            let _ = answers.send(Incoming::Closed(why)).await;
        });
        Box::pin(async move {
            tokio::time::sleep(self.start).await;
            Ok(Link {
                outgoing,
                incoming,
                close,
                stderr: Tail::default(),
            })
        })
    }
}

/// What a legacy server answers when nothing is wrong.
pub(crate) fn fine(message: &Value) -> Act {
    match message["method"].as_str().unwrap() {
        "initialize" => Act::Answer(json!({
            "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
            "serverInfo": {"name": "scripted", "version": "1"},
        })),
        "tools/list" => Act::Answer(json!({"tools": [{"name": "t", "inputSchema": {}}]})),
        "tools/call" => Act::Answer(json!({"content": []})),
        // `server/discover` among them.
        _ => Act::Refuse(rpc::METHOD_NOT_FOUND),
    }
}

/// A pool whose one server `s` follows the script.
pub(crate) fn pool(dialer: &Arc<Scripted>, change: impl FnOnce(&mut Endpoint)) -> Pool {
    let dialer: Arc<dyn Dialer> = Arc::clone(dialer) as Arc<dyn Dialer>;
    let memory = Arc::new(EraMemory::default());
    let surroundings = Surroundings {
        dialer,
        memory,
        now_ms: Arc::new(now_ms),
        random: Arc::new(|| 0.5),
    };
    let pool = Pool::new(surroundings);
    let mut endpoint = Endpoint::new("s", Way::Stdio(Command::new("scripted")));
    "scripted".clone_into(&mut endpoint.fingerprint);
    change(&mut endpoint);
    pool.configure(vec![endpoint]);
    pool
}
