//! The five tools over a real engine with a small catalog, made once for all inputs.

use std::future::Future;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};
use tokio_util::sync::CancellationToken;
use toolcrib::engine::Engine;
use toolcrib::engine::clock::Clock;
use toolcrib::engine::discovery::DiscoveryError;
use toolcrib::engine::upstream::{
    Call, CallError, Change, List, Listed, Said, Standing, Upstream, Wish,
};
use toolcrib::loader::Loader;
use toolcrib::mcp::Service;
use toolcrib::mcp::discovery::Discovery;
use toolcrib::mcp::gate::Gate;
use toolcrib::telemetry::Tracer;
use toolcrib_config::load::Config;
use toolcrib_config::surroundings::{Os, Surroundings};
use toolcrib_core::policy::{Caller, Permit};
use toolcrib_store::{SqliteOptions, Store};
use uuid::Uuid;

const CONFIG: &str = "
policy: {mode: relaxed}
servers:
  github: {command: gh, description: Issues and code}
  dead: {command: gone}
";

/// What is shared by all inputs.
pub(super) struct Shop {
    runtime: Runtime,
    pub(super) service: Arc<Service>,
    pub(super) caller: Arc<Caller>,
    _home: TempDir,
}

static SHOP: LazyLock<Shop> = LazyLock::new(Shop::open);

impl Shop {
    /// The one that all inputs share.
    pub(super) fn shared() -> &'static Self {
        &SHOP
    }

    /// Runs something to its end, which must come.
    pub(super) fn runs<T>(&self, work: impl Future<Output = T>) -> T {
        let bounded = async { tokio::time::timeout(Duration::from_mins(1), work).await };
        let ended = self.runtime.block_on(bounded);
        ended.expect("it comes to its end")
    }

    fn open() -> Self {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build();
        let runtime = runtime.expect("a runtime can be made");
        let home = tempfile::tempdir().expect("a folder can be made");
        let engine = runtime.block_on(engine(&home));
        let caller = Caller::local(&engine.config().settings.policy);
        let service = Service::new(
            Discovery::new(engine),
            Arc::new(Gate::default()),
            [1; 32],
            CancellationToken::new(),
            Tracer::off(),
        );
        Self {
            runtime,
            service,
            caller: Arc::new(caller),
            _home: home,
        }
    }
}

async fn engine(home: &TempDir) -> Arc<Engine> {
    let path = home.path().join("toolcrib.yaml");
    std::fs::write(&path, CONFIG).expect("the configuration can be written");
    let surroundings = Surroundings::new(Os::Linux, home.path(), home.path(), |_| None);
    let config = Loader::new(surroundings, Some(path)).config();
    let config = Arc::new(config.expect("the configuration is right"));
    let store = SqliteOptions::new(home.path().join("store.db"));
    let store = Store::open_sqlite(store, Uuid::now_v7()).await;
    let store = store.expect("a store can be opened");
    let upstream: Arc<dyn Upstream> = Arc::new(Puppets);
    let engine = Engine::open(config, store, upstream, Clock::system(), Tracer::off()).await;
    engine.expect("the engine opens")
}

/// Servers that answer at once: one with a few tools, one that is not there.
struct Puppets;

fn tool(name: &str) -> Box<RawValue> {
    let tool = json!({
        "name": name, "description": format!("Does {name} for whoever asks."),
        "inputSchema": {"type": "object", "properties": {
            "title": {"type": "string"}, "n": {"type": "integer"}, "deep": {"type": "object"}}},
    });
    to_raw_value(&tool).expect("it is JSON")
}

impl Upstream for Puppets {
    fn configure(&self, _: &Arc<Config>) {}

    fn kept(&self, _: &str) -> Option<Listed> {
        None
    }

    fn list<'a>(
        &'a self,
        server: &'a str,
        _: Wish,
    ) -> BoxFuture<'a, Result<Listed, DiscoveryError>> {
        Box::pin(async move {
            if server != "github" {
                return Err(DiscoveryError::ConnectionFailed("nobody there".into()));
            }
            let names = ["list_issues", "createIssue", "search_code", "delete_repo"];
            Ok(Listed {
                list: List::Definitions(names.map(tool).into_iter().collect()),
                said: Said::at(1),
                stale: false,
            })
        })
    }

    fn call(&self, _: Permit, call: Call) -> BoxFuture<'_, Result<Box<RawValue>, CallError>> {
        let text = call.arguments.get().repeat(50);
        let result: Value = json!({"content": [{"type": "text", "text": text}]});
        Box::pin(async move { Ok(to_raw_value(&result).expect("it is JSON")) })
    }

    fn standing(&self, _: &str) -> Standing {
        Standing::default()
    }

    fn changes(&self) -> BoxStream<'static, Change> {
        futures::stream::pending().boxed()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}
