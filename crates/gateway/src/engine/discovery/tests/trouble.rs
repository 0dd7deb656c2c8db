//! How trouble with a server comes to an end.

use super::*;

#[tokio::test(start_paused = true)]
async fn retries_come_to_an_end_and_a_server_may_have_its_own_number() {
    let check = |retries, expect| async move {
        let scene = Scene::new();
        scene.stage.set("a", [fail(status(503, None))]);
        let mut server = child("a");
        server.handling.retries = retries;
        let options = DiscoveryOptions::default();
        let found = scene.service.discover_tools(&server, &options).await;
        assert!(matches!(found, Err(DiscoveryError::ToolsListFailed(_))));
        assert_eq!(scene.stage.count("a"), expect);
    };
    check(None, 4).await;
    check(Some(0), 1).await;
    check(Some(1), 2).await;
}

#[tokio::test(start_paused = true)]
async fn retry_after_is_obeyed() {
    let scene = Scene::new();
    scene
        .stage
        .set("a", [fail(status(429, Some(20 * SECOND))), tools(&["x"])]);
    let start = Instant::now();
    let options = DiscoveryOptions::default();
    scene
        .service
        .discover_tools(&child("a"), &options)
        .await
        .unwrap();
    assert_eq!(start.elapsed(), 20 * SECOND);
    let waiting = Event::Waiting {
        server: "a".into(),
        retry: 1,
        delay: 20 * SECOND,
    };
    assert!(scene.events.lock().unwrap().contains(&waiting));
}

#[tokio::test(start_paused = true)]
async fn whoever_asks_for_an_hour_is_not_asked_before() {
    let scene = Scene::new();
    let hour = 3_600 * SECOND;
    scene.stage.set("a", [fail(status(429, Some(hour)))]);
    let options = DiscoveryOptions::default();
    let found = scene.service.discover_tools(&child("a"), &options).await;
    assert_eq!(found.unwrap_err(), DiscoveryError::RateLimited(hour));
    assert_eq!(scene.stage.count("a"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_hangs_times_out() {
    let scene = Scene::new();
    scene.stage.set("a", [Act::Hang]);
    let mut server = child("a");
    server.handling.start_timeout_ms = Some(2_000);
    server.handling.call_timeout_ms = Some(1_000);
    let options = DiscoveryOptions {
        retry_policy: RetryPolicy::none(),
        ..DiscoveryOptions::default()
    };
    let start = Instant::now();
    let found = scene.service.discover_tools(&server, &options).await;
    assert_eq!(
        found.unwrap_err(),
        DiscoveryError::Timeout(3 * SECOND, String::new())
    );
    assert_eq!(start.elapsed(), 3 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn servers_that_hang_keep_a_server_that_works_waiting_for_seconds_only() {
    let scene = Scene::new();
    let service = scene.service.clone().with_places(5);
    let options = DiscoveryOptions::default();
    scene.stage.set("works", [tools(&["x"])]);
    scene.stage.set("named", [tools(&["x"])]);
    let hanging: Vec<_> = children(12)
        .into_iter()
        .map(|server| {
            scene.stage.set(&server.name, [Act::Hang]);
            let (service, options) = (service.clone(), options.clone());
            tokio::spawn(async move { service.refresh_tools(&server, &options).await })
        })
        .collect();
    tokio::task::yield_now().await;
    let start = Instant::now();
    service.places().hurry("named");
    let named = service.refresh_tools(&child("named"), &options).await;
    assert!(named.is_ok() && start.elapsed().is_zero());
    let works = service.refresh_tools(&child("works"), &options).await;
    assert!(works.is_ok());
    assert_eq!(start.elapsed(), 10 * SECOND);
    hanging.iter().for_each(tokio::task::JoinHandle::abort);
}

#[tokio::test(start_paused = true)]
async fn a_place_is_free_while_a_server_is_left_alone() {
    let scene = Scene::new();
    let service = scene.service.clone().with_places(1);
    let options = DiscoveryOptions::default();
    scene.stage.set(
        "busy",
        [fail(status(429, Some(20 * SECOND))), tools(&["x"])],
    );
    scene.stage.set("works", [tools(&["x"])]);
    let (first, second) = (service.clone(), options.clone());
    let busy = tokio::spawn(async move { first.refresh_tools(&child("busy"), &second).await });
    tokio::time::sleep(SECOND).await;
    let start = Instant::now();
    let works = service.refresh_tools(&child("works"), &options).await;
    assert!(works.is_ok() && start.elapsed().is_zero());
    assert!(busy.await.unwrap().is_ok());
}

#[tokio::test(start_paused = true)]
async fn warming_says_which_tools_were_left_out() {
    let scene = Scene::new();
    scene.stage.set("s0", [tools(&["x"])]);
    scene.stage.set("s1", [Act::Warn("`bad` was left out")]);
    let options = DiscoveryOptions::default();
    let servers = children(2);
    let warming = scene.service.warm_cache_for_servers(&servers, &options);
    let stats = warming.await;
    assert_eq!((stats.successful, stats.cached_tools), (2, 2));
    assert_eq!(stats.warnings.len(), 1);
    assert_eq!(stats.warnings[0].server, "s1");
    assert_eq!(stats.warnings[0].reason, "`bad` was left out");
}
