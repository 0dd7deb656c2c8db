//! The service in paused time, over servers that answer as they are told.

mod capability;
mod trouble;

use std::time::Duration;

use futures::StreamExt as _;
use tokio::time::Instant;
use toolcrib_config::model::server::Transport;
use toolcrib_core::policy::bucket::Rate;
use toolcrib_core::retry::RetryPolicy;
use toolcrib_core::secret::Secret;
use toolcrib_upstream::mcp::Failure;

use super::fixture::{Act, Scene, child, children, remote};
use super::*;

const SECOND: Duration = Duration::from_secs(1);
const DAY: Duration = Duration::from_hours(24);

fn tools(names: &[&'static str]) -> Act {
    Act::Tools(Duration::ZERO, names.to_vec())
}

fn fail(failure: Failure) -> Act {
    Act::Fail(Duration::ZERO, failure)
}

fn status(status: u16, retry_after: Option<Duration>) -> Failure {
    Failure::Status {
        status,
        excerpt: String::new(),
        retry_after,
    }
}

fn cached() -> DiscoveryOptions {
    DiscoveryOptions {
        use_cache: true,
        ..DiscoveryOptions::default()
    }
}

#[test]
fn the_options_have_the_documented_defaults() {
    let options = DiscoveryOptions::default();
    assert!(!options.introspect_output_schemas);
    assert!(!options.use_cache);
    assert!(!options.register_in_marketplace);
    assert!(!options.export_to_rtfs);
    assert_eq!(options.export_directory, None);
    assert_eq!(options.auth_headers, None);
    assert_eq!(options.retry_policy, RetryPolicy::default());
    assert_eq!(options.rate_limit, Some(Rate::per_second(10, 20)));
    assert_eq!(options.max_parallel_discoveries, 5);
    assert!(options.lazy_output_schemas);
    assert!(!options.introspects_now());
    let serving = DiscoveryOptions::serving();
    assert!(serving.use_cache && serving.keep_session);
}

#[test]
fn output_schemas_are_learnt_only_when_forced() {
    let check = |introspect_output_schemas, lazy_output_schemas, expect| {
        let options = DiscoveryOptions {
            introspect_output_schemas,
            lazy_output_schemas,
            ..DiscoveryOptions::default()
        };
        assert_eq!(options.introspects_now(), expect);
    };
    check(true, false, true);
    check(true, true, false);
    check(false, false, false);
}

#[tokio::test(start_paused = true)]
async fn without_the_cache_every_discovery_asks_and_nothing_is_kept() {
    let scene = Scene::new();
    scene.stage.set("a", [tools(&["x", "y"])]);
    for _ in 0..2 {
        let options = DiscoveryOptions::default();
        let found = scene.service.discover_tools(&child("a"), &options).await;
        let found = found.unwrap();
        assert_eq!((found.items.len(), found.source), (2, Source::Server));
    }
    assert_eq!(scene.stage.count("a"), 2);
    assert_eq!(
        std::fs::read_dir(scene.directory.path()).unwrap().count(),
        0
    );
}

#[tokio::test(start_paused = true)]
async fn a_kept_list_answers_and_nobody_is_asked() {
    let scene = Scene::new();
    scene.stage.set("a", [tools(&["x"]), tools(&["other"])]);
    let first = scene.service.discover_tools(&child("a"), &cached()).await;
    let again = scene.service.discover_tools(&child("a"), &cached()).await;
    let (first, again) = (first.unwrap(), again.unwrap());
    assert_eq!(again.source, Source::Cache);
    assert_eq!(first.items[0].get(), again.items[0].get());
    assert_eq!(scene.stage.count("a"), 1);
    assert!(scene.directory.path().join("tools_a.json").exists());
    let kept = scene.service.kept_tools(&child("a")).unwrap();
    assert_eq!(kept.items.len(), 1);
    assert!(scene.service.kept_tools(&child("b")).is_none());
}

#[tokio::test(start_paused = true)]
async fn a_list_kept_by_another_process_answers() {
    let scene = Scene::new();
    scene.stage.set("a", [tools(&["x"])]);
    let warmed = scene.service.discover_tools(&child("a"), &cached()).await;
    assert_eq!(warmed.unwrap().source, Source::Server);
    let other = Scene::new();
    let options = toolcrib_store::cache::CacheOptions::new(scene.directory.path());
    let cache = Arc::new(ListCache::new(options));
    let now = Arc::clone(&scene.clock);
    let service = DiscoveryService::new(Arc::<fixture::Stage>::clone(&other.stage), cache)
        .with_chance(
            move || now.load(std::sync::atomic::Ordering::SeqCst),
            || 0.5,
        );
    let found = service.discover_tools(&child("a"), &cached()).await;
    assert_eq!(found.unwrap().source, Source::Cache);
}

#[tokio::test(start_paused = true)]
async fn an_old_list_answers_while_one_refresh_runs() {
    let scene = Scene::new();
    scene.stage.set(
        "a",
        [tools(&["old"]), Act::Tools(SECOND, vec!["new", "newer"])],
    );
    let server = child("a");
    scene
        .service
        .discover_tools(&server, &cached())
        .await
        .unwrap();
    scene.pass(DAY);
    for _ in 0..3 {
        let found = scene.service.discover_tools(&server, &cached()).await;
        let found = found.unwrap();
        assert_eq!((found.source, found.items.len()), (Source::Stale, 1));
    }
    tokio::time::sleep(2 * SECOND).await;
    assert_eq!(scene.stage.count("a"), 2, "one refresh for all");
    let found = scene.service.discover_tools(&server, &cached()).await;
    let found = found.unwrap();
    assert_eq!((found.source, found.items.len()), (Source::Cache, 2));
    let refreshed = Event::Refreshed {
        server: "a".into(),
        items: 2,
    };
    assert!(scene.events.lock().unwrap().contains(&refreshed));
    scene.service.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_refresh_that_fails_leaves_the_old_list() {
    let scene = Scene::new();
    let gone = fail(Failure::Unreachable("refused".into()));
    scene.stage.set("a", [tools(&["old"]), gone]);
    let server = child("a");
    scene
        .service
        .discover_tools(&server, &cached())
        .await
        .unwrap();
    scene.pass(DAY);
    for expect in 2..4 {
        let found = scene.service.discover_tools(&server, &cached()).await;
        assert_eq!(found.unwrap().source, Source::Stale);
        tokio::time::sleep(SECOND).await;
        assert_eq!(scene.stage.count("a"), expect, "each ask tries again");
    }
}

#[tokio::test(start_paused = true)]
async fn closing_ends_refreshes_and_starts_none() {
    let scene = Scene::new();
    scene.stage.set("a", [tools(&["old"]), Act::Hang]);
    let server = child("a");
    scene
        .service
        .discover_tools(&server, &cached())
        .await
        .unwrap();
    scene.pass(DAY);
    scene
        .service
        .discover_tools(&server, &cached())
        .await
        .unwrap();
    tokio::time::sleep(SECOND).await;
    assert_eq!(scene.stage.count("a"), 2);
    scene.service.close().await;
    scene
        .service
        .discover_tools(&server, &cached())
        .await
        .unwrap();
    tokio::time::sleep(SECOND).await;
    assert_eq!(scene.stage.count("a"), 2);
}

#[tokio::test(start_paused = true)]
async fn a_forced_refresh_replaces_what_is_kept() {
    let scene = Scene::new();
    scene
        .stage
        .set("a", [tools(&["old"]), tools(&["new", "newer"])]);
    let server = child("a");
    scene
        .service
        .discover_tools(&server, &cached())
        .await
        .unwrap();
    let new = scene.service.refresh_tools(&server, &cached()).await;
    assert_eq!(new.unwrap().items.len(), 2);
    let kept = scene.service.discover_tools(&server, &cached()).await;
    let kept = kept.unwrap();
    assert_eq!((kept.source, kept.items.len()), (Source::Cache, 2));
}

#[tokio::test(start_paused = true)]
async fn a_changed_configuration_is_asked_anew() {
    let scene = Scene::new();
    scene.stage.set("a", [tools(&["x"])]);
    let (before, after) = (
        remote("a", "https://a.example/1"),
        remote("a", "https://a.example/2"),
    );
    scene
        .service
        .discover_tools(&before, &cached())
        .await
        .unwrap();
    let found = scene.service.discover_tools(&after, &cached()).await;
    assert_eq!(found.unwrap().source, Source::Server);
}

#[tokio::test(start_paused = true)]
async fn resources_are_asked_for_and_not_kept() {
    let scene = Scene::new();
    scene.stage.set("a", [tools(&["file"])]);
    let found = scene
        .service
        .discover_resources(&child("a"), &cached())
        .await;
    assert_eq!(found.unwrap().items.len(), 1);
    assert_eq!(scene.stage.asked.lock().unwrap()[0].what, What::Resources);
    assert!(scene.service.kept_tools(&child("a")).is_none());
}

#[tokio::test(start_paused = true)]
async fn a_session_is_ended_unless_it_is_to_stay() {
    let check = |keep_session, expect| async move {
        let scene = Scene::new();
        scene.stage.set("a", [tools(&["x"])]);
        let options = DiscoveryOptions {
            keep_session,
            ..DiscoveryOptions::default()
        };
        scene
            .service
            .discover_tools(&child("a"), &options)
            .await
            .unwrap();
        assert_eq!(scene.stage.asked.lock().unwrap()[0].visit, expect);
    };
    check(false, Visit::OneOff).await;
    check(true, Visit::Staying).await;
}

#[tokio::test(start_paused = true)]
async fn passing_trouble_is_tried_again_with_growing_delays() {
    for trouble in [
        status(429, None),
        status(503, None),
        Failure::TimedOut(SECOND),
        Failure::Broken("reset".into()),
    ] {
        let scene = Scene::new();
        scene.stage.set(
            "a",
            [
                fail(trouble.clone()),
                fail(trouble.clone()),
                fail(trouble.clone()),
                tools(&["x"]),
            ],
        );
        let start = Instant::now();
        let options = DiscoveryOptions::default();
        let found = scene.service.discover_tools(&child("a"), &options).await;
        assert!(found.is_ok(), "{trouble:?}");
        let asked = scene.stage.asked.lock().unwrap();
        let times: Vec<u64> = asked.iter().map(|a| (a.at - start).as_secs()).collect();
        assert_eq!(times, [0, 1, 3, 7], "{trouble:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn lasting_trouble_is_not_tried_again() {
    for trouble in [
        status(400, None),
        status(401, None),
        status(500, None),
        Failure::NotMcp("html".into()),
        Failure::NotStarted("no such file".into()),
        Failure::Unreachable("refused".into()),
        Failure::Unauthorised("log in".into()),
        Failure::TooLarge(1),
    ] {
        let scene = Scene::new();
        scene.stage.set("a", [fail(trouble.clone()), tools(&["x"])]);
        let options = DiscoveryOptions::default();
        let found = scene.service.discover_tools(&child("a"), &options).await;
        assert_eq!(found.unwrap_err(), trouble.clone().into());
        assert_eq!(scene.stage.count("a"), 1, "{trouble:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_token_is_taken_before_a_server_is_asked() {
    let scene = Scene::new();
    scene.stage.set("a", [tools(&["x"])]);
    let mut server = child("a");
    server.handling.rate_per_second = Some(1);
    server.handling.rate_burst = Some(2);
    let start = Instant::now();
    let options = DiscoveryOptions::default();
    for _ in 0..4 {
        scene
            .service
            .discover_tools(&server, &options)
            .await
            .unwrap();
    }
    assert_eq!(start.elapsed(), 2 * SECOND);
    let options = DiscoveryOptions {
        rate_limit: Some(Rate::per_second(0, 1)),
        ..DiscoveryOptions::default()
    };
    scene.stage.set("b", [tools(&["x"])]);
    scene
        .service
        .discover_tools(&child("b"), &options)
        .await
        .unwrap();
    let refused = scene.service.discover_tools(&child("b"), &options).await;
    assert!(matches!(refused, Err(DiscoveryError::RateLimited(_))));
    assert_eq!(scene.stage.count("b"), 1);
}

/// How long it takes to discover so many servers that each take so long.
async fn timed(count: usize, each: Duration) -> Duration {
    let scene = Scene::new();
    for server in children(count) {
        scene.stage.set(&server.name, [Act::Tools(each, vec!["x"])]);
    }
    let start = Instant::now();
    let options = DiscoveryOptions::default();
    let found: Vec<_> = scene
        .service
        .discover_each(children(count), &options)
        .collect()
        .await;
    assert!(found.len() == count && found.iter().all(|(_, outcome)| outcome.is_ok()));
    start.elapsed()
}

#[tokio::test(start_paused = true)]
async fn five_servers_are_asked_at_once() {
    let ten = timed(10, 2 * SECOND).await;
    assert!(
        (4 * SECOND..=Duration::from_millis(4_500)).contains(&ten),
        "{ten:?}"
    );
    let five = timed(5, SECOND).await;
    assert!(five <= Duration::from_millis(1_500), "{five:?}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_hangs_does_not_slow_the_others() {
    let scene = Scene::new();
    let servers = children(9);
    for server in &servers {
        scene
            .stage
            .set(&server.name, [Act::Tools(SECOND, vec!["x"])]);
    }
    scene.stage.set("s0", [Act::Hang]);
    let start = Instant::now();
    let options = DiscoveryOptions::default();
    let outcomes = scene.service.discover_each(servers, &options);
    let mut outcomes = std::pin::pin!(outcomes);
    for _ in 0..8 {
        let (server, outcome) = outcomes.next().await.unwrap();
        assert!(server.name != "s0" && outcome.is_ok());
    }
    assert_eq!(start.elapsed(), 2 * SECOND);
    let (server, outcome) = outcomes.next().await.unwrap();
    assert_eq!(server.name, "s0");
    assert!(matches!(outcome, Err(DiscoveryError::Timeout(..))));
}

#[tokio::test(start_paused = true)]
async fn warming_nothing_gives_zeros() {
    let scene = Scene::new();
    let stats = scene.service.warm_cache_for_servers(&[], &cached()).await;
    assert_eq!(stats, WarmStats::default());
}

#[tokio::test(start_paused = true)]
async fn warming_counts_and_skips_what_cannot_be_reached() {
    let scene = Scene::new();
    scene.stage.set("s0", [tools(&["x", "y"])]);
    scene
        .stage
        .set("s1", [fail(Failure::Unreachable("refused".into()))]);
    scene.stage.set("s2", [tools(&["z"])]);
    let options = DiscoveryOptions::default();
    let stats = scene
        .service
        .warm_cache_for_servers(&children(3), &options)
        .await;
    assert_eq!(
        (
            stats.total_servers,
            stats.successful,
            stats.failed,
            stats.cached_tools
        ),
        (3, 2, 1, 3)
    );
    assert_eq!(stats.failures[0].server, "s1");
    assert!(stats.failures[0].reason.contains("refused"));
    assert!(scene.service.kept_tools(&child("s2")).is_some());
    let skipped = |event: &Event| matches!(event, Event::Skipped { server, .. } if server == "s1");
    assert!(scene.events.lock().unwrap().iter().any(skipped));
}

#[tokio::test(start_paused = true)]
async fn every_configured_server_that_is_on_is_warmed() {
    let scene = Scene::new();
    let mut servers = children(3);
    servers[1].enabled = false;
    for server in &servers {
        scene.stage.set(&server.name, [tools(&["x"])]);
    }
    scene.service.configure(servers);
    let stats = scene
        .service
        .warm_cache_for_all_configured_servers(&cached())
        .await;
    assert_eq!((stats.total_servers, stats.successful), (2, 2));
    assert_eq!(scene.stage.count("s1"), 0);
    let again = scene
        .service
        .warm_cache_for_all_configured_servers(&cached())
        .await;
    assert_eq!((again.successful, again.cached_tools), (2, 2));
    assert_eq!(scene.stage.count("s0"), 1, "what is kept is not asked for");
}

/// The `Authorization` header and bearer token that a server was asked with.
fn credentials(scene: &Scene) -> (Option<String>, Option<String>) {
    let asked = scene.stage.asked.lock().unwrap();
    let server = &asked.last().unwrap().server;
    let Transport::Http(remote) = &server.transport else {
        panic!("not remote");
    };
    let text =
        |template: &toolcrib_config::placeholder::Template| template.exact().expose().to_owned();
    (
        remote.headers.get("Authorization").map(text),
        server.handling.bearer.as_ref().map(text),
    )
}

#[tokio::test(start_paused = true)]
async fn headers_of_the_options_override_those_of_service_and_server() {
    let header = |value: &str| vec![("Authorization".to_owned(), Secret::new(value))];
    let scene = Scene::new();
    scene.stage.set("a", [tools(&["x"])]);
    let mut server = remote("a", "https://a.example/mcp");
    server.handling.bearer = Some(toolcrib_config::placeholder::Template::literal("own"));
    let options = DiscoveryOptions::default();
    scene
        .service
        .discover_tools(&server, &options)
        .await
        .unwrap();
    assert_eq!(credentials(&scene), (None, Some("own".into())));
    let service = scene.service.clone().with_auth_headers(header("service"));
    service.discover_tools(&server, &options).await.unwrap();
    assert_eq!(credentials(&scene), (Some("service".into()), None));
    let options = DiscoveryOptions {
        auth_headers: Some(header("options")),
        ..DiscoveryOptions::default()
    };
    service.discover_tools(&server, &options).await.unwrap();
    assert_eq!(credentials(&scene), (Some("options".into()), None));
    assert!(
        !format!("{options:?}").contains("\"options\""),
        "{options:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_list_seen_with_other_credentials_is_not_shared() {
    let scene = Scene::new();
    scene.stage.set("a", [tools(&["x"])]);
    let server = remote("a", "https://a.example/mcp");
    scene
        .service
        .discover_tools(&server, &cached())
        .await
        .unwrap();
    let options = DiscoveryOptions {
        auth_headers: Some(vec![("Authorization".into(), Secret::new("other"))]),
        ..cached()
    };
    let found = scene.service.discover_tools(&server, &options).await;
    assert_eq!(found.unwrap().source, Source::Server);
}

#[tokio::test(start_paused = true)]
async fn warming_replaces_what_has_grown_old() {
    let scene = Scene::new();
    scene
        .stage
        .set("s0", [tools(&["old"]), tools(&["new", "newer"])]);
    let servers = children(1);
    for expect in [1, 2] {
        let stats = scene
            .service
            .warm_cache_for_servers(&servers, &cached())
            .await;
        assert_eq!(stats.cached_tools, expect);
        scene.pass(DAY);
    }
}

#[test]
fn chance_stays_between_zero_and_one_and_varies() {
    let drawn: Vec<f64> = (0..20).map(|_| random()).collect();
    assert!(drawn.iter().all(|n| (0.0..=1.0).contains(n)));
    assert!(drawn.iter().any(|n| (n - drawn[0]).abs() > f64::EPSILON));
}
