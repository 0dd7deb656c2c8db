//! The pool over HTTP: both eras, their headers and their sessions.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::json;
use toolcrib_testkit::web::Web;
use toolcrib_upstream::mcp::credential::Credentials;
use toolcrib_upstream::mcp::{Address, Call, Endpoint, Era, EraMemory, Key, Pool, Way, What};

use crate::fixture::{call, patient, permit, raw, surroundings};

async fn site(modern: bool) -> (Web, Pool, Arc<EraMemory>) {
    let web = Web::start(modern).await.unwrap();
    let surroundings = surroundings();
    let memory = Arc::clone(&surroundings.memory);
    let pool = Pool::new(surroundings);
    let address = Address {
        url: web.url.parse().unwrap(),
        authorisation: Arc::new(Credentials::none("s")),
    };
    let mut endpoint = Endpoint::new("s", Way::Http(address));
    endpoint.fingerprint.clone_from(&web.url);
    pool.configure(vec![endpoint]);
    (web, pool, memory)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_modern_site_gets_its_headers() {
    let (web, pool, memory) = site(true).await;
    let tools = pool
        .list("s", &Key::Shared, What::Tools, patient())
        .await
        .unwrap();
    assert_eq!(tools.items.len(), 1);
    assert_eq!(memory.recall(&web.url), Some(Era::Modern));
    call(&pool, "effect", "{}").await.unwrap();
    let schema = json!({"properties": {"region": {"type": "string", "x-mcp-header": "Region"}}});
    let region = r#"{"region":"eu"}"#;
    let arguments = raw(region);
    let mut call = Call::new(Key::Shared, &arguments);
    call.schema = Some(&schema);
    let permit = permit("effect", region, false, Duration::from_secs(20));
    pool.call(permit, call).await.unwrap();
    assert_eq!(web.counts.effects.load(Ordering::SeqCst), 2);
    assert_eq!(web.counts.sessions.load(Ordering::SeqCst), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_site_with_sessions_that_forgets_one_is_healed_without_a_second_effect() {
    let (web, pool, memory) = site(false).await;
    call(&pool, "effect", "{}").await.unwrap();
    assert_eq!(
        pool.status("s").unwrap().version.as_deref(),
        Some("2025-06-18")
    );
    assert_eq!(memory.recall(&web.url), Some(Era::Legacy));
    web.forget();
    call(&pool, "effect", "{}").await.unwrap();
    let tools = pool
        .list("s", &Key::Shared, What::Tools, patient())
        .await
        .unwrap();
    assert_eq!(tools.items.len(), 1);
    web.forget();
    pool.list("s", &Key::Shared, What::Tools, patient())
        .await
        .unwrap();
    assert_eq!(web.counts.effects.load(Ordering::SeqCst), 2);
    assert_eq!(web.counts.sessions.load(Ordering::SeqCst), 3);
    pool.close().await;
    assert_eq!(
        web.counts.ended.load(Ordering::SeqCst),
        1,
        "the session that was left is ended"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_site_that_is_not_there_is_tried_again_and_then_said() {
    let pool = Pool::new(surroundings());
    let address = Address {
        url: "http://127.0.0.1:9/mcp".parse().unwrap(),
        authorisation: Arc::new(Credentials::none("s")),
    };
    let mut endpoint = Endpoint::new("s", Way::Http(address));
    endpoint.retries = 1;
    pool.configure(vec![endpoint]);
    let error = call(&pool, "effect", "{}").await.unwrap_err().to_string();
    assert!(error.contains("it cannot be reached"), "{error}");
    assert!(
        pool.status("s")
            .unwrap()
            .reason
            .unwrap()
            .contains("cannot be reached")
    );
}
