//! Servers of every revision, and lists as hostile ones send them.

use std::sync::Arc;
use std::time::Duration;

use toolcrib_upstream::mcp::{
    Command, Endpoint, Era, EraMemory, Happening, Key, Options, Pool, Way, What,
};

use crate::fixture::{
    PATIENCE, call, endpoint, eventually, numbers, patient, pool, server, surroundings,
};
use crate::scripted::{self, Scripted, fine};

#[tokio::test(flavor = "multi_thread")]
async fn a_server_of_any_revision_is_spoken_to_in_its_own() {
    let check = async |flags: &str, version: &str, era: Era| {
        let mut surroundings = surroundings();
        surroundings.memory = Arc::new(EraMemory::default());
        let memory = Arc::clone(&surroundings.memory);
        let pool = Pool::new(surroundings);
        pool.configure(vec![endpoint(flags)]);
        call(&pool, "echo", r#"{"a":1}"#).await.unwrap();
        assert_eq!(
            pool.status("s").unwrap().version.as_deref(),
            Some(version),
            "{flags}"
        );
        assert_eq!(memory.recall(flags), Some(era), "{flags}");
        assert_eq!(
            pool.list("s", &Key::Shared, What::Tools, patient())
                .await
                .unwrap()
                .items
                .len(),
            1
        );
    };
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        check(
            &format!("--era legacy --version {version}"),
            version,
            Era::Legacy,
        )
        .await;
    }
    check("--era modern", "2026-07-28", Era::Modern).await;
    check("--era dual", "2026-07-28", Era::Modern).await;
    check("--era empty", "2025-11-25", Era::Legacy).await;
    check("--era fragile", "2025-11-25", Era::Legacy).await;
    check("--era silent", "2025-11-25", Era::Legacy).await;
    // It starts more slowly than the probe waits, and both questions are there when it reads.
    check("--era modern --slow-start 2500", "2026-07-28", Era::Modern).await;
    check("--era dual --slow-start 2500", "2026-07-28", Era::Modern).await;
    check("--era legacy --slow-start 2500", "2025-11-25", Era::Legacy).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_era_is_probed_once_and_a_wrong_memory_is_corrected() {
    let directory = tempfile::tempdir().unwrap();
    let pids = directory.path().join("pids");
    let check = async |flags: &str, remembered: Era, era: Era, starts: usize| {
        let _ = std::fs::remove_file(&pids);
        let flags = format!("{flags} --starts {}", pids.display());
        let surroundings = surroundings();
        let memory = Arc::clone(&surroundings.memory);
        memory.remember(&flags, remembered);
        let pool = Pool::new(surroundings);
        pool.configure(vec![endpoint(&flags)]);
        call(&pool, "echo", "{}").await.unwrap();
        assert_eq!(memory.recall(&flags), Some(era));
        assert_eq!(numbers(&pids).len(), starts, "{flags}");
    };
    check("--era silent", Era::Legacy, Era::Legacy, 1).await;
    check("--era fragile", Era::Legacy, Era::Legacy, 1).await;
    check("--era modern", Era::Legacy, Era::Modern, 1).await;
    check("--era legacy", Era::Modern, Era::Legacy, 1).await;
    check("--era fragile", Era::Modern, Era::Legacy, 2).await;
    let dialer = Scripted::new(|_, message| fine(message));
    let pool = scripted::pool(&dialer, |_| {});
    for opened in 1..=2 {
        call(&pool, "t", "{}").await.unwrap();
        assert_eq!(dialer.opened(), opened);
        pool.disconnect("s");
        eventually("it is closed", || !pool.is_connected("s")).await;
    }
    assert_eq!(dialer.asked("server/discover"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_speaks_something_else_says_what() {
    let check = async |command: Command, patience: Duration, expected: &str| {
        let mut endpoint = Endpoint::new("s", Way::Stdio(command));
        endpoint.start_timeout = patience;
        let error = call(&pool(endpoint), "echo", "{}").await.unwrap_err();
        let error = error.to_string();
        assert!(error.contains(expected), "{error}");
    };
    let version = "it speaks revision `1.0`, which is not one of 2025-11-25, 2025-06-18";
    check(server("--version 1.0"), PATIENCE, version).await;
    let short = Duration::from_secs(3);
    check(server("--deaf"), short, "it did not answer within 3000 ms").await;
    let chatty = "while read line; do echo 'Usage: chat [OPTIONS]'; done";
    let chatty = Command::new("sh").arg("-c").arg(chatty);
    check(
        chatty,
        short,
        "it does not speak MCP: it said: Usage: chat [OPTIONS]",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_malformed_tool_costs_that_tool_and_is_named() {
    for paging in ["", "--page 1", "--page 3"] {
        let pool = pool(endpoint(&format!("--malformed --tools 5 {paging}")));
        let listing = pool
            .list("s", &Key::Shared, What::Tools, patient())
            .await
            .unwrap();
        assert_eq!(listing.items.len(), 6);
        let warnings = listing.warnings.join("\n");
        for part in [
            "`no-schema` was left out because it has no `inputSchema`",
            "`bool-schema` was left out because its `inputSchema` is not an object",
            "`bad-annotations` was left out because its `annotations` are not an object",
            r#"because it has no `name`: {"description":"It has no name.""#,
            r#"because it has no `name`: "a text""#,
            "`echo` was left out because it is listed twice",
        ] {
            assert!(warnings.contains(part), "{part} is not in {warnings}");
        }
        assert_eq!(listing.warnings.len(), 6);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_is_paged_through_and_a_cursor_that_loops_is_noticed() {
    let whole = pool(endpoint("--tools 250 --page 7 --era modern"));
    let listing = whole
        .list("s", &Key::Shared, What::Tools, patient())
        .await
        .unwrap();
    assert_eq!((listing.items.len(), listing.warnings.len()), (251, 0));
    assert!(listing.items[250].get().contains("tool_249"));
    assert_eq!(
        (listing.ttl_ms, listing.is_public),
        (Some(60_000), Some(false))
    );
    let looping = pool(endpoint("--tools 9 --page 2 --loop-cursor"));
    let listing = looping
        .list("s", &Key::Shared, What::Tools, patient())
        .await
        .unwrap();
    assert!(
        listing
            .warnings
            .iter()
            .any(|warning| warning.contains("leads back")),
        "{listing:?}"
    );
    assert_eq!(listing.items.len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_modern_server_tells_of_changes_over_its_subscription() {
    let pool = pool(endpoint("--era modern"));
    let mut events = pool.events();
    let heard = async { while !matches!(events.recv().await.unwrap().what, Happening::Tools) {} };
    // It listens a moment after it is connected: what changes before is not told.
    let changes = async {
        loop {
            call(&pool, "change", "{}").await.unwrap();
        }
    };
    let told = async {
        tokio::select! {
            () = heard => {}
            () = changes => {}
        }
    };
    tokio::time::timeout(PATIENCE, told).await.unwrap();
    let unknown = pool
        .ask("s", &Key::Shared, "x/unknown", None, Options::default())
        .await;
    assert!(
        unknown
            .unwrap_err()
            .to_string()
            .contains("Method not found")
    );
}
