//! An engine on a store of its own, with servers that do as they are told.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, mpsc};

use futures::future::BoxFuture;
use futures::stream::BoxStream;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tempfile::TempDir;
use toolcrib_config::load::Config;
use toolcrib_config::surroundings::{Os, Surroundings};
use toolcrib_core::policy::{Caller, Permit, PolicySettings, ScopeSet};
use toolcrib_core::rpc::Fault;
use toolcrib_store::audit::query::{Entry as Logged, Filter};
use toolcrib_store::{SqliteOptions, Store};
use toolcrib_upstream::mcp::Failure;
use uuid::Uuid;

use super::Engine;
use super::answer::{Answered, Outcome, Reply};
use super::ask::{CallOptions, Execution};
use super::clock::Clock;
use super::definition::raw;
use super::discovery::DiscoveryError;
use super::error::{Error, Result};
use super::upstream::{
    Call, CallError, Change, Health, List, Listed, Said, Standing, Upstream, Wish,
};
use crate::loader::Loader;
use crate::telemetry::Tracer;

/// Time that stands still until a test moves it. Without this, paused time runs ahead whenever the
/// store's threads are waited for.
pub(super) struct Still(#[expect(dead_code, reason = "dropping it is its use")] mpsc::Sender<()>);

impl Still {
    pub(super) fn new() -> Self {
        let (held, ended) = mpsc::channel::<()>();
        tokio::task::spawn_blocking(move || ended.recv().is_ok());
        Self(held)
    }
}

/// Lets other tasks go on until something holds.
pub(super) async fn until(mut holds: impl FnMut() -> bool) {
    while !holds() {
        tokio::task::yield_now().await;
    }
}

/// What a server does when it is asked for its tools.
#[derive(Clone)]
pub(super) enum Lists {
    Tools(Vec<Value>),
    Fails(DiscoveryError),
    Hangs,
    /// Answers when it is let.
    Waits(Vec<Value>, Arc<tokio::sync::Notify>),
    /// Has one tool, and says at which time that was and for how long it is fresh.
    Brief(Said),
    /// Says after so many milliseconds that it has one tool.
    Late(u64),
}

/// What a server does when it is called.
#[derive(Clone)]
pub(super) enum Answers {
    Result(Value),
    Fault(i64, &'static str),
    Fails(Failure),
    /// Does this after it was sent so many times before.
    Sent(u32, Box<Answers>),
    /// Cannot be reached.
    Away(Failure),
    Hangs,
}

/// Servers that do as they are told.
#[derive(Default)]
pub(super) struct Puppets {
    pub(super) lists: Mutex<HashMap<String, Lists>>,
    pub(super) kept: Mutex<HashMap<String, (Vec<Value>, bool)>>,
    pub(super) answers: Mutex<HashMap<String, Answers>>,
    /// What was asked and called, in order.
    pub(super) seen: Mutex<Vec<String>>,
    /// Which lists were wanted, in order.
    pub(super) wishes: Mutex<Vec<Wish>>,
    pub(super) owners: Mutex<Vec<super::upstream::Owner>>,
    /// How long the servers of calls might be silent, in order.
    pub(super) idles: Mutex<Vec<Option<std::time::Duration>>>,
    changes: Mutex<Option<futures::channel::mpsc::UnboundedSender<Change>>>,
}

impl Puppets {
    pub(super) fn tell(&self, change: Change) {
        if let Some(changes) = &*self.changes.lock().unwrap() {
            changes.unbounded_send(change).unwrap();
        }
    }

    /// Whether somebody hears of changes.
    pub(super) fn is_heard(&self) -> bool {
        self.changes.lock().unwrap().is_some()
    }

    pub(super) fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }

    pub(super) fn answer(&self, tool: &str, answer: Answers) {
        self.answers.lock().unwrap().insert(tool.to_owned(), answer);
    }

    pub(super) fn list(&self, server: &str, list: Lists) {
        self.lists.lock().unwrap().insert(server.to_owned(), list);
    }
}

fn listed(tools: &[Value], at: usize, stale: bool) -> Listed {
    Listed {
        list: List::Definitions(tools.iter().map(raw).collect()),
        said: Said::at(i64::try_from(at).unwrap() + 1),
        stale,
    }
}

impl Upstream for Puppets {
    fn configure(&self, _config: &Arc<Config>) {}

    fn kept(&self, server: &str) -> Option<Listed> {
        let kept = self.kept.lock().unwrap().get(server).cloned();
        kept.map(|(tools, stale)| listed(&tools, tools.len(), stale))
    }

    fn list<'a>(
        &'a self,
        server: &'a str,
        wish: Wish,
    ) -> BoxFuture<'a, std::result::Result<Listed, DiscoveryError>> {
        self.seen.lock().unwrap().push(format!("list {server}"));
        // Later than any list that is kept.
        let at = 1_000 + self.seen().len();
        self.wishes.lock().unwrap().push(wish);
        let plan = self.lists.lock().unwrap().get(server).cloned();
        Box::pin(async move {
            match plan {
                Some(Lists::Tools(tools)) => Ok(listed(&tools, at, false)),
                Some(Lists::Fails(error)) => Err(error),
                Some(Lists::Hangs) => std::future::pending().await,
                Some(Lists::Waits(tools, let_go)) => {
                    let_go.notified().await;
                    Ok(listed(&tools, at, false))
                }
                Some(Lists::Brief(said)) => Ok(Listed {
                    said,
                    ..listed(&[tool("brief")], at, false)
                }),
                Some(Lists::Late(ms)) => {
                    tokio::time::sleep(std::time::Duration::from_millis(ms)).await;
                    Ok(listed(&[tool("late")], at, false))
                }
                None => Err(DiscoveryError::ConnectionFailed("nobody there".into())),
            }
        })
    }

    fn call(
        &self,
        permit: Permit,
        call: Call,
    ) -> BoxFuture<'_, std::result::Result<Box<RawValue>, CallError>> {
        let tool = permit.tool().to_string();
        let seen = format!("call {tool} {}", call.arguments.get());
        self.seen.lock().unwrap().push(seen);
        self.owners.lock().unwrap().push(call.owner);
        self.idles.lock().unwrap().push(call.idle);
        let mut plan = self.answers.lock().unwrap().get(&tool).cloned();
        call.sent.begin();
        if let Some(Answers::Sent(before, then)) = plan {
            (0..before).for_each(|_| call.sent.begin());
            plan = Some(*then);
        }
        Box::pin(async move {
            match plan {
                Some(Answers::Result(value)) => Ok(raw(&value)),
                Some(Answers::Fault(code, message)) => {
                    Err(CallError::Fault(Fault::new(code, message)))
                }
                Some(Answers::Fails(failure)) => Err(failure.into()),
                Some(Answers::Away(failure)) => Err(CallError::Unsent(failure)),
                Some(Answers::Hangs) => std::future::pending().await,
                Some(Answers::Sent(..)) => unreachable!("it says what comes after"),
                None => Ok(raw(&text("done"))),
            }
        })
    }

    fn standing(&self, server: &str) -> Standing {
        let called = self
            .seen()
            .iter()
            .any(|s| s.starts_with(&format!("call {server}:")));
        Standing {
            health: if called {
                Health::Connected
            } else {
                Health::Disconnected
            },
            ..Standing::default()
        }
    }

    fn changes(&self) -> BoxStream<'static, Change> {
        let (sender, receiver) = futures::channel::mpsc::unbounded();
        *self.changes.lock().unwrap() = Some(sender);
        Box::pin(receiver)
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

/// A `CallToolResult` of one text.
pub(super) fn text(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

/// A definition with a schema of one required string.
pub(super) fn tool(name: &str) -> Value {
    json!({
        "name": name, "description": format!("Does {name}."),
        "inputSchema": {
            "type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"],
        },
    })
}

/// An engine and everything around it.
pub(super) struct Workshop {
    pub(super) engine: Arc<Engine>,
    pub(super) puppets: Arc<Puppets>,
    pub(super) store: Store,
    pub(super) home: TempDir,
    pub(super) clock: Clock,
}

/// The usual servers: a tool of each risk on `github`, and a slower one beside it.
pub(super) const SERVERS: &str = "
servers:
  github: {command: gh, description: Issues and code}
  notes-v2: {command: notes}
";

impl Workshop {
    /// An engine on a configuration, with the usual tools behind it.
    pub(super) async fn open(yaml: &str) -> Self {
        let puppets = Arc::new(Puppets::default());
        let github = ["list_issues", "createIssue", "send_mail", "delete_repo"];
        puppets.list("github", Lists::Tools(github.map(tool).to_vec()));
        puppets.list("notes-v2", Lists::Tools(vec![tool("add_note")]));
        Self::with(yaml, puppets).await
    }

    /// An engine on a configuration, with these servers behind it.
    pub(super) async fn with(yaml: &str, puppets: Arc<Puppets>) -> Self {
        Self::traced(yaml, puppets, Tracer::off()).await
    }

    /// The same, with its spans recorded.
    pub(super) async fn traced(yaml: &str, puppets: Arc<Puppets>, tracer: Tracer) -> Self {
        let home = tempfile::tempdir().unwrap();
        let store = SqliteOptions::new(home.path().join("store.db"));
        let store = Store::open_sqlite(store, Uuid::now_v7()).await.unwrap();
        let base = tokio::time::Instant::now();
        let clock = Clock::new(
            move || 1_700_000_000_000 + i64::try_from(base.elapsed().as_millis()).unwrap(),
            |bytes| {
                for (byte, random) in bytes
                    .iter_mut()
                    .zip(Uuid::now_v7().into_bytes().iter().rev().cycle())
                {
                    *byte = *random;
                }
            },
        );
        let config = config(&home, yaml);
        let upstream: Arc<dyn Upstream> = Arc::clone(&puppets) as _;
        let engine = Engine::open(config, store.clone(), upstream, clock.clone(), tracer).await;
        Self {
            engine: engine.unwrap(),
            puppets,
            store,
            home,
            clock,
        }
    }

    /// Another configuration, as a reload would read it.
    pub(super) fn config(&self, yaml: &str) -> Arc<Config> {
        config(&self.home, yaml)
    }

    pub(super) fn local(&self) -> Caller {
        Caller::local(&self.engine.config().settings.policy)
    }

    /// Runs a tool as the local person.
    pub(super) async fn run(
        &self,
        id: &str,
        arguments: &str,
        options: CallOptions,
    ) -> Result<Reply> {
        self.run_as(&self.local(), id, arguments, options).await
    }

    pub(super) async fn run_as(
        &self,
        caller: &Caller,
        id: &str,
        arguments: &str,
        options: CallOptions,
    ) -> Result<Reply> {
        let execution = Execution {
            options,
            ..execution(id, arguments)
        };
        self.engine.execute(caller, execution).await
    }

    /// Every audit record, oldest first.
    pub(super) async fn records(&self) -> Vec<Logged> {
        let mut pages = self.store.audit_pages(Filter::default());
        let mut all = Vec::new();
        while let Some(page) = pages.next().await.unwrap() {
            all.extend(page);
        }
        all
    }

    /// What was called, without the lists.
    pub(super) fn calls(&self) -> Vec<String> {
        let seen = self.puppets.seen().into_iter();
        seen.filter_map(|s| s.strip_prefix("call ").map(str::to_owned))
            .collect()
    }
}

fn config(home: &TempDir, yaml: &str) -> Arc<Config> {
    let path = home.path().join("toolcrib.yaml");
    std::fs::write(&path, yaml).unwrap();
    let surroundings = Surroundings::new(Os::Linux, home.path(), home.path(), |_| None);
    Arc::new(Loader::new(surroundings, Some(path)).config().unwrap())
}

pub(super) fn execution(id: &str, arguments: &str) -> Execution {
    let (server, tool) = id.split_once(':').unwrap();
    Execution::new(
        server,
        tool,
        RawValue::from_string(arguments.into()).unwrap(),
    )
}

/// A caller with a key of these scopes, under strict rules.
pub(super) fn keyed(scopes: &[&str]) -> Caller {
    let scopes = ScopeSet::from_texts(scopes.iter().copied());
    Caller::key("k1", scopes, &PolicySettings::default())
}

pub(super) fn key(key: &str) -> CallOptions {
    CallOptions {
        idempotency_key: Some(key.into()),
        ..CallOptions::default()
    }
}

pub(super) fn answered(reply: Reply) -> Answered {
    match reply.outcome {
        Outcome::Answered(answered) => answered,
        Outcome::Rehearsed(steps) => panic!("only rehearsed: {steps:?}"),
    }
}

pub(super) fn refused(outcome: Result<Reply>) -> Box<Error> {
    outcome.expect_err("it was made")
}
