//! Discovery over a stand-in registry.

use std::sync::atomic::{AtomicI64, Ordering};

use serde_json::json;
use toolcrib_config::model::server::Transport;
use toolcrib_config::placeholder::Template;
use toolcrib_core::retry::RetryPolicy;
use toolcrib_store::cache::CacheOptions;
use toolcrib_testkit::registry::{Faults, Registry};
use toolcrib_upstream::mcp::Failure;
use toolcrib_upstream::registry::{RegistryClient, RegistryError, Way};

use super::fixture::{Act, Scene, child};
use super::*;

const HOUR_MS: i64 = 60 * 60 * 1_000;

/// A catalog over a registry, with a clock and a cache directory of its own.
struct Shelf {
    catalog: RegistryCatalog,
    clock: Arc<AtomicI64>,
    directory: tempfile::TempDir,
}

fn shelf(url: &str) -> Shelf {
    let directory = tempfile::tempdir().unwrap();
    let cache = Arc::new(ListCache::new(CacheOptions::new(directory.path())));
    let clock = Arc::new(AtomicI64::new(1_000_000));
    let client = RegistryClient::new(reqwest::Client::new(), url).unwrap();
    let now = Arc::clone(&clock);
    let catalog = RegistryCatalog::new(client, cache)
        .with_retries(RetryPolicy {
            initial_delay_ms: 1,
            ..RetryPolicy::default()
        })
        .with_chance(move || now.load(Ordering::SeqCst), || 0.5);
    Shelf {
        catalog,
        clock,
        directory,
    }
}

fn scene(registry: &Registry) -> (Scene, Shelf) {
    let (scene, shelf) = (Scene::new(), shelf(&registry.url));
    let service = scene.service.clone().with_registry(shelf.catalog.clone());
    (Scene { service, ..scene }, shelf)
}

#[tokio::test]
async fn an_answer_is_kept_for_an_hour() {
    let registry = Registry::start().await;
    let shelf = shelf(&registry.url);
    let search = |use_cache| shelf.catalog.search(" Weather ", use_cache);
    assert_eq!(search(true).await.unwrap().entries.len(), 2);
    let asked = registry.requests();
    shelf.clock.fetch_add(HOUR_MS - 1, Ordering::SeqCst);
    assert_eq!(search(true).await.unwrap().entries.len(), 2);
    assert_eq!(registry.requests(), asked, "kept");
    assert!(
        shelf
            .directory
            .path()
            .join("registry_weather.json")
            .exists()
    );
    search(false).await.unwrap();
    assert_eq!(
        registry.requests(),
        asked + 1,
        "the cache was not to be used"
    );
    shelf.clock.fetch_add(1, Ordering::SeqCst);
    search(true).await.unwrap();
    assert_eq!(registry.requests(), asked + 2, "an hour is over");
}

#[tokio::test]
async fn versions_are_kept_apart_from_searches() {
    let registry = Registry::start().await;
    let shelf = shelf(&registry.url);
    let name = "io.github.ada/weather";
    let versions = shelf.catalog.versions(name, true).await.unwrap();
    assert_eq!(versions.entries.len(), 3);
    let asked = registry.requests();
    shelf.catalog.versions(name, true).await.unwrap();
    assert_eq!(registry.requests(), asked);
    let found = shelf.catalog.search(name, true).await.unwrap();
    assert_eq!(found.entries.len(), 1);
    let missing = shelf.catalog.versions("a/b", true).await.unwrap_err();
    assert_eq!(missing, RegistryError::NotFound("a/b".into()));
}

#[tokio::test]
async fn an_old_answer_does_where_no_new_one_comes() {
    let registry = Registry::start().await;
    let shelf = shelf(&registry.url);
    shelf.catalog.search("notes", true).await.unwrap();
    shelf.clock.fetch_add(HOUR_MS, Ordering::SeqCst);
    registry.break_down();
    let reading = shelf.catalog.search("notes", true).await.unwrap();
    assert_eq!(reading.entries.len(), 1);
    assert!(
        reading.warnings[0].contains("said earlier"),
        "{:?}",
        reading.warnings
    );
}

#[tokio::test]
async fn a_busy_registry_is_asked_again() {
    let registry = Registry::misbehaving(Faults {
        first: Some((1, 503)),
        retry_after: Some("0"),
        ..Faults::default()
    })
    .await;
    let shelf = shelf(&registry.url);
    let found = shelf.catalog.search("notes", true).await.unwrap();
    assert_eq!((found.entries.len(), registry.requests()), (1, 2));
    let gone = Registry::misbehaving(Faults {
        first: Some((9, 500)),
        ..Faults::default()
    })
    .await;
    let error = super::registry_tests::shelf(&gone.url)
        .catalog
        .search("x", true)
        .await;
    assert!(matches!(
        error,
        Err(RegistryError::Status { status: 500, .. })
    ));
    assert_eq!(gone.requests(), 1, "what lasts is not tried again");
}

#[tokio::test]
async fn only_open_addresses_are_asked_and_each_failure_costs_itself() {
    let registry = Registry::start().await;
    let open = |name: &str, url: &str| {
        registry.publish(
            &json!({"name": name, "version": "1", "remotes": [{"type": "streamable-http", "url": url}]}),
            "active",
        );
    };
    open("com.example/down", "https://down.example/mcp");
    open("com.example/inside", "https://10.0.0.1/mcp");
    open("com.example/router", "https://router.lan/mcp");
    open("com.example/plain", "http://plain.example/mcp");
    let (scene, _shelf) = scene(&registry);
    let tools = Act::Tools(Duration::ZERO, vec!["read"]);
    scene.stage.set("com.example/open-notes", [tools]);
    let refused = Failure::Unreachable("refused".into());
    scene
        .stage
        .set("com.example/down", [Act::Fail(Duration::ZERO, refused)]);
    let service = scene.service.clone().with_auth_headers(vec![(
        "Authorization".into(),
        toolcrib_core::secret::Secret::new("token"),
    )]);
    let options = DiscoveryOptions::serving();
    let outcome = service.discover_from_registry("", &options).await.unwrap();
    let found: Vec<&str> = outcome.found.iter().map(|(s, _)| s.name.as_str()).collect();
    assert_eq!(found, ["com.example/open-notes"]);
    assert_eq!(outcome.found[0].1.items.len(), 1);
    assert_eq!(outcome.warnings.len(), 1);
    let reason = |name: &str| {
        let skipped = outcome.skipped.iter().find(|s| s.name == name);
        skipped.unwrap_or_else(|| panic!("{name}")).reason.clone()
    };
    assert!(reason("com.example/down").contains("refused"));
    assert!(reason("com.example/issues").contains("it needs"));
    assert!(reason("io.github.ada/weather").contains("no address"));
    assert!(reason("io.github.mallory/gone").contains("taken back"));
    for private in ["inside", "router", "plain"] {
        assert!(reason(&format!("com.example/{private}")).contains("not a public"));
    }
    let asked = scene.stage.asked.lock().unwrap();
    assert_eq!(asked.len(), 2);
    for asked in asked.iter() {
        assert_eq!(asked.visit, Visit::OneOff);
        assert_eq!(asked.server.handling.bearer, None, "no token for strangers");
        let Transport::Http(remote) = &asked.server.transport else {
            panic!("{asked:?}");
        };
        assert!(remote.headers.is_empty());
    }
}

#[tokio::test]
async fn a_registry_of_this_machine_may_name_servers_of_it() {
    let registry = Registry::start().await;
    registry.publish(
        &json!({"name": "local/one", "version": "1", "remotes": [{"type": "sse", "url": "http://127.0.0.1:1/sse"}]}),
        "active",
    );
    let (scene, _shelf) = scene(&registry);
    scene
        .stage
        .set("local/one", [Act::Tools(Duration::ZERO, vec!["x"])]);
    let options = DiscoveryOptions::default();
    let outcome = scene
        .service
        .discover_from_registry("local/", &options)
        .await;
    let outcome = outcome.unwrap();
    assert_eq!(outcome.found.len(), 1);
    assert!(matches!(outcome.found[0].0.transport, Transport::Sse(_)));
}

#[tokio::test]
async fn a_capability_is_looked_for_here_first() {
    let registry = Registry::start().await;
    let (scene, _shelf) = scene(&registry);
    let mut github = child("my-github");
    github.aliases = vec!["gh".into()];
    let mut off = child("weather");
    off.enabled = false;
    scene.service.configure(vec![github, child("files"), off]);
    scene
        .stage
        .set("files", [Act::Tools(Duration::ZERO, vec!["read_file"])]);
    let options = DiscoveryOptions {
        use_cache: true,
        ..DiscoveryOptions::default()
    };
    let names = async |capability: &str| -> Vec<String> {
        let found = scene
            .service
            .find_servers_for_capability(capability, &options)
            .await;
        let names = found.unwrap().into_iter().map(|candidate| match candidate {
            Candidate::Configured(server) => server.name,
            Candidate::Published(entry) => format!("registry {}", entry.name),
        });
        names.collect()
    };
    assert_eq!(names("mcp.github.list_issues").await, ["my-github"]);
    assert_eq!(names("GH").await, ["my-github"]);
    assert!(names("read_file").await.is_empty(), "nobody knows it yet");
    scene
        .service
        .discover_tools(&child("files"), &options)
        .await
        .unwrap();
    assert_eq!(names("read_file").await, ["files"]);
    assert_eq!(names("any.read_file").await, ["files"]);
    let asked = registry.requests();
    assert_eq!(names("my-github").await, ["my-github"]);
    assert_eq!(registry.requests(), asked, "the registry is not needed");
    assert_eq!(
        names("weather.today").await,
        [
            "registry io.github.ada/weather",
            "registry io.github.dave/old-weather"
        ],
        "what is switched off does not count"
    );
    assert!(
        names("gone").await.is_empty(),
        "what was taken back is not offered"
    );
}

#[tokio::test]
async fn without_a_registry_that_is_said() {
    let scene = Scene::new();
    let error = scene
        .service
        .search_registry_for_capability("x", true)
        .await;
    assert!(error.unwrap_err().to_string().contains("registry.url"));
}

#[tokio::test]
async fn an_offer_becomes_a_definition() {
    let registry = Registry::start().await;
    let shelf = shelf(&registry.url);
    let define = async |name: &str| {
        let reading = shelf.catalog.search(name, true).await.unwrap();
        let entry = &reading.entries[0];
        let offer = entry.offers("IT").remove(0).unwrap();
        let is_child = matches!(offer.way, Way::Stdio { .. });
        let server = offered::definition("it", entry, &offer).unwrap();
        assert_eq!(matches!(server.transport, Transport::Stdio(_)), is_child);
        server
    };
    let weather = define("ada/weather").await;
    assert_eq!(weather.title.as_deref(), Some("Weather"));
    assert_eq!(weather.origin.kind, offered::REGISTRY);
    assert_eq!(weather.origin.to_string(), "io.github.ada/weather 2.0.0");
    let variables: Vec<&str> = weather.templates().flat_map(Template::variables).collect();
    assert_eq!(variables, ["IT_UNITS", "IT_REGION", "WEATHER_API_KEY"]);
    let issues = define("example/issues").await;
    let Transport::Http(remote) = &issues.transport else {
        panic!("{issues:?}");
    };
    assert_eq!(
        remote.url.exact().expose(),
        "https://${IT_REGION:-eu}.issues.example/mcp"
    );
    assert_eq!(
        remote.headers["Authorization"].exact().expose(),
        "Bearer ${IT_TOKEN}"
    );
}

#[test]
fn short_names_are_plain() {
    let check = |full: &str, expect: &str| assert_eq!(offered::short_name(full), expect);
    check("io.github.ada/weather", "weather");
    check("weather", "weather");
    check("a/b c!", "b-c");
    check("a/", "server");
    check("a/...", "server");
}
