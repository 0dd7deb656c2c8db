//! The engine over a REST API.

use std::path::Path;
use std::sync::Arc;

use serde_json::json;
use toolcrib_config::load::Config;
use toolcrib_config::surroundings::{Os, Surroundings};
use toolcrib_core::Code;
use toolcrib_core::policy::Caller;
use toolcrib_store::audit::query::{Entry as Logged, Filter};
use toolcrib_store::audit::{Decision, Outcome as Recorded};
use toolcrib_store::{SqliteOptions, Store};
use toolcrib_testkit::api::{Api, Reply};
use uuid::Uuid;

use crate::engine::Engine;
use crate::engine::ask::{Execution, Listing, Search};
use crate::engine::clock::Clock;
use crate::engine::connections::{Connections, Users};
use crate::engine::fixture::{answered, execution, key, keyed, refused};
use crate::engine::upstream::Health;
use crate::loader::Loader;
use crate::telemetry::Tracer;

const DESCRIPTION: &str = "openapi: 3.0.0
info: {title: Shop}
servers: [{url: https://api.example.com}]
components: {securitySchemes: {token: {type: http, scheme: bearer}}}
security: [{token: []}]
paths:
  /orders:
    get: {operationId: listOrders, summary: List the orders of the shop}
    post:
      operationId: createOrder
      parameters: [{name: Idempotency-Key, in: header, schema: {type: string}}]
  /orders/{id}:
    delete:
      operationId: deleteOrder
      parameters: [{name: id, in: path, required: true, schema: {type: string}}]
";

fn surroundings(home: &Path) -> Surroundings {
    let variable = |name: &str| (name == "TOKEN").then(|| "sk_test_0123456789".to_owned());
    Surroundings::new(Os::Linux, home, home, variable)
}

/// A configuration whose only entry is this API, with further keys.
fn config(home: &Path, api: &Api, more: &str) -> Arc<Config> {
    std::fs::write(home.join("shop.yaml"), DESCRIPTION).unwrap();
    let yaml = format!(
        "adapters: {{shop: {{spec: shop.yaml, baseUrl: '{}', allowPrivateAddresses: true, auth: {{env: TOKEN}}{more}}}}}\n",
        api.url()
    );
    let path = home.join("toolcrib.yaml");
    std::fs::write(&path, yaml).unwrap();
    let loader = Loader::new(surroundings(home), Some(path));
    Arc::new(loader.config().unwrap())
}

async fn open(home: &Path, config: Arc<Config>) -> Arc<Engine> {
    let store = SqliteOptions::new(home.join("store.db"));
    let store = Store::open_sqlite(store, Uuid::now_v7()).await.unwrap();
    let clock = Clock::system();
    let connections = Connections::new(Users::One, surroundings(home), None, clock.clone());
    let engine = Engine::open(config, store, Arc::new(connections), clock, Tracer::off()).await;
    engine.unwrap()
}

async fn records(engine: &Engine) -> Vec<Logged> {
    let mut pages = engine.store().audit_pages(Filter::default());
    let mut all = Vec::new();
    while let Some(page) = pages.next().await.unwrap() {
        all.extend(page);
    }
    all
}

#[tokio::test]
async fn a_call_reaches_a_rest_api_under_policy_and_leaves_one_record() {
    let home = tempfile::tempdir().unwrap();
    let reply = Reply::json(
        200,
        &json!({"orders": [{"id": 7}], "echo": "sk_test_0123456789"}),
    );
    let api = Api::start([reply]).await.unwrap();
    let engine = open(home.path(), config(home.path(), &api, "")).await;
    let local = Caller::local(&engine.config().settings.policy);
    let search = Search {
        query: "list orders".into(),
        ..Search::default()
    };
    let found = engine.search_tools(&local, search).await.unwrap();
    assert_eq!(found.hits[0].entry.tool.id.to_string(), "shop:list-orders");
    assert!(api.received().is_empty(), "finding calls nothing");

    let stranger = keyed(&["other:read"]);
    let call = || execution("shop:list-orders", "{}");
    let error = refused(engine.execute(&stranger, call()).await);
    assert_eq!(error.code, Code::ServerNotFound, "hidden whole: {error}");
    assert!(api.received().is_empty(), "what is refused calls nothing");

    let reply = engine.execute(&local, call()).await.unwrap();
    let answer = answered(reply);
    assert!(
        !answer.is_error && answer.result.get().contains(r#""id":7"#),
        "{answer:?}"
    );
    assert!(
        !answer.result.get().contains("sk_test_0123456789"),
        "secrets are taken out: {answer:?}"
    );
    let received = api.received();
    assert_eq!(received.len(), 1);
    assert_eq!(
        (received[0].method.as_str(), received[0].target.as_str()),
        ("GET", "/orders")
    );
    assert_eq!(
        received[0].header("authorization"),
        Some("Bearer sk_test_0123456789")
    );

    let records = records(&engine).await;
    let decisions: Vec<_> = records
        .iter()
        .map(|r| (r.record.decision, r.record.outcome))
        .collect();
    assert_eq!(records.len(), 2, "one for each call: {decisions:?}");
    let record = &records[1].record;
    assert_eq!(
        (record.decision, record.outcome),
        (Decision::Allowed, Recorded::Ok)
    );
    assert_eq!(record.tool_id, "shop:list-orders");
    assert_eq!(record.upstream.as_deref(), Some("shop"));
    let servers = engine.list_servers(&local).await.unwrap();
    assert_eq!(servers.servers[0].standing.health, Health::Connected);
}

#[tokio::test]
async fn keys_are_honoured_where_the_operation_takes_them_and_go_along() {
    let home = tempfile::tempdir().unwrap();
    let api = Api::start([Reply::json(201, &json!({"id": 1}))])
        .await
        .unwrap();
    let engine = open(home.path(), config(home.path(), &api, "")).await;
    let local = Caller::local(&engine.config().settings.policy);
    let honoured = async || {
        let listing = Listing {
            server: "shop".into(),
            ..Listing::default()
        };
        let page = engine.list_tools(&local, listing).await.unwrap();
        let tools = page.tools.iter();
        let mut names: Vec<String> = tools
            .filter(|entry| entry.metadata.honours_key)
            .map(|entry| entry.tool.id.tool().to_owned())
            .collect();
        names.sort();
        names
    };
    assert_eq!(
        honoured().await,
        ["create-order"],
        "the description declares a header"
    );
    let call = Execution {
        options: key("k-1"),
        ..execution("shop:create-order", "{}")
    };
    let answer = answered(engine.execute(&local, call).await.unwrap());
    assert!(!answer.is_error, "{answer:?}");
    assert_eq!(api.received()[0].header("idempotency-key"), Some("k-1"));

    let more = ", idempotencyHeader: X-Key";
    engine
        .reload(config(home.path(), &api, more))
        .await
        .unwrap();
    assert_eq!(
        honoured().await,
        ["create-order", "delete-order"],
        "the entry names one for all"
    );
    engine
        .reload(config(home.path(), &api, ", name: Shop"))
        .await
        .unwrap();
    assert_eq!(honoured().await, ["create-order"]);
}
