//! Stand-ins for tests: servers that answer as they are told, and a place for their lists.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::value::RawValue;
use toolcrib_config::model::Server;
use toolcrib_config::model::server::{Origin, Remote, Stdio, Transport};
use toolcrib_config::placeholder::{Dialect, Template};
use toolcrib_store::cache::{CacheOptions, ListCache};
use toolcrib_upstream::mcp::{CallError, Failure};

use super::{DiscoveryService, Event, Lister, RawList, Visit, What};

fn origin() -> Origin {
    Origin {
        kind: "toolcrib".into(),
        path: "toolcrib.yaml".into(),
        line: 1,
    }
}

/// A server at an address.
pub(crate) fn remote(name: &str, url: &str) -> Server {
    let remote = Remote {
        url: Template::parse(url, Dialect::Own).unwrap(),
        headers: indexmap_of(),
    };
    Server::new(name, Transport::Http(remote), origin())
}

fn indexmap_of<K, V, M: FromIterator<(K, V)>>() -> M {
    std::iter::empty().collect()
}

/// A child process.
pub(crate) fn child(name: &str) -> Server {
    let stdio = Stdio {
        command: Template::literal("server"),
        args: Vec::new(),
        env: indexmap_of(),
        env_file: None,
        cwd: None,
        inherit_env: false,
    };
    Server::new(name, Transport::Stdio(stdio), origin())
}

/// So many servers.
pub(crate) fn children(count: usize) -> Vec<Server> {
    (0..count).map(|n| child(&format!("s{n}"))).collect()
}

/// What a stand-in does when it is asked.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// Answers with tools of these names after a while.
    Tools(Duration, Vec<&'static str>),
    /// Fails after a while.
    Fail(Duration, Failure),
    /// Answers with one tool, and this about another.
    Warn(&'static str),
    /// Never answers.
    Hang,
}

/// A request that a stand-in got.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) server: Server,
    pub(crate) what: What,
    pub(crate) visit: Visit,
    pub(crate) at: tokio::time::Instant,
}

/// Servers that answer as they are told: the acts of each in turn, the last one for ever.
#[derive(Debug, Default)]
pub(crate) struct Stage {
    acts: Mutex<HashMap<String, Vec<Act>>>,
    pub(crate) asked: Mutex<Vec<Asked>>,
}

impl Stage {
    pub(crate) fn set(&self, server: &str, acts: impl Into<Vec<Act>>) {
        self.acts.lock().unwrap().insert(server.into(), acts.into());
    }

    pub(crate) fn count(&self, server: &str) -> usize {
        let asked = self.asked.lock().unwrap();
        asked.iter().filter(|a| a.server.name == server).count()
    }

    fn next(&self, server: &str) -> Act {
        let mut acts = self.acts.lock().unwrap();
        let acts = acts.get_mut(server).expect("the server is on stage");
        if acts.len() > 1 {
            acts.remove(0)
        } else {
            acts[0].clone()
        }
    }
}

impl Lister for Stage {
    fn list<'a>(
        &'a self,
        server: &'a Server,
        what: What,
        visit: Visit,
    ) -> BoxFuture<'a, Result<RawList, CallError>> {
        self.asked.lock().unwrap().push(Asked {
            server: server.clone(),
            what,
            visit,
            at: tokio::time::Instant::now(),
        });
        let act = self.next(&server.name);
        Box::pin(async move {
            match act {
                Act::Tools(after, names) => {
                    tokio::time::sleep(after).await;
                    Ok(RawList {
                        items: names.into_iter().map(item).collect(),
                        ..RawList::default()
                    })
                }
                Act::Fail(after, failure) => {
                    tokio::time::sleep(after).await;
                    Err(failure.into())
                }
                Act::Warn(warning) => Ok(RawList {
                    items: vec![item("x")],
                    warnings: vec![warning.to_owned()],
                    fresh_ms: None,
                }),
                Act::Hang => std::future::pending().await,
            }
        })
    }
}

/// A tool of a name.
pub(crate) fn item(name: &str) -> Box<RawValue> {
    RawValue::from_string(format!(
        r#"{{"name":"{name}","description":"It does {name}.","inputSchema":{{"type":"object"}}}}"#
    ))
    .unwrap()
}

/// A service over a stage, with its own cache directory, clock and log of events.
pub(crate) struct Scene {
    pub(crate) stage: Arc<Stage>,
    pub(crate) service: DiscoveryService,
    pub(crate) clock: Arc<AtomicI64>,
    pub(crate) events: Arc<Mutex<Vec<Event>>>,
    pub(crate) directory: tempfile::TempDir,
}

impl Scene {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let stage = Arc::new(Stage::default());
        let clock = Arc::new(AtomicI64::new(1_000_000));
        let events: Arc<Mutex<Vec<Event>>> = Arc::default();
        let cache = ListCache::new(CacheOptions::new(directory.path()));
        let (now, log) = (Arc::clone(&clock), Arc::clone(&events));
        let lister: Arc<dyn Lister> = Arc::<Stage>::clone(&stage);
        let service = DiscoveryService::new(lister, Arc::new(cache))
            .with_chance(move || now.load(Ordering::SeqCst), || 0.5)
            .with_listener(move |event| log.lock().unwrap().push(event.clone()));
        Self {
            stage,
            service,
            clock,
            events,
            directory,
        }
    }

    pub(crate) fn pass(&self, time: Duration) {
        let ms = i64::try_from(time.as_millis()).unwrap();
        self.clock.fetch_add(ms, Ordering::SeqCst);
    }
}
