//! The life of a connection: lazy, shared or apart, idle, lost and healed.

use std::sync::Arc;
use std::time::Duration;

use toolcrib_core::secret::Secret;
use toolcrib_upstream::mcp::{Client, Endpoint, Happening, Health, Key, Options, Pool, Way, What};

use crate::fixture::{
    PATIENCE, Person, arrived, call, call_with, endpoint, eventually, kill, lives, numbers,
    patient, permit, pool, raw, server, surroundings,
};

/// A server that writes the ids of its processes into a file.
fn counted(flags: &str) -> (tempfile::TempDir, std::path::PathBuf, Endpoint) {
    let directory = tempfile::tempdir().unwrap();
    let pids = directory.path().join("pids");
    let endpoint = endpoint(&format!("--starts {} {flags}", pids.display()));
    (directory, pids, endpoint)
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_started_until_it_is_needed_and_then_once() {
    let (_directory, pids, endpoint) = counted("--slow-start 100");
    let pool = pool(endpoint);
    assert_eq!(pool.status("s").unwrap().health, Health::Disconnected);
    assert!(!pool.is_connected("s") && numbers(&pids).is_empty());
    let calls = (0..20).map(|_| call(&pool, "echo", "{}"));
    for result in futures::future::join_all(calls).await {
        result.unwrap();
    }
    assert_eq!(
        numbers(&pids).len(),
        1,
        "twenty calls at once share one process"
    );
    assert!(pool.is_connected("s"));
    let status = pool.status("s").unwrap();
    assert_eq!(status.version.as_deref(), Some("2025-11-25"));
    assert!(status.since_ms.is_some() && status.reason.is_none());
    pool.disconnect("s");
    eventually("it is disconnected", || !pool.is_connected("s")).await;
    pool.connect("s", &Key::Shared).await.unwrap();
    assert_eq!(numbers(&pids).len(), 2);
    pool.close().await;
    assert!(!numbers(&pids).into_iter().any(lives));
    assert!(
        call(&pool, "echo", "{}").await.is_err(),
        "a closed pool opens nothing"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_over_one_connection_do_not_wait_for_each_other() {
    let pool = pool(endpoint(""));
    // None is answered before all are there.
    let calls = (0..20).map(|_| call(&pool, "meet", r#"{"of":20}"#));
    for result in futures::future::join_all(calls).await {
        result.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn callers_that_are_kept_apart_have_processes_of_their_own() {
    let (_directory, pids, endpoint) = counted("");
    let pool = pool(endpoint);
    let keys = [
        Key::Shared,
        Key::Principal("a".to_owned()),
        Key::Principal("b".to_owned()),
        Key::Session("a".to_owned()),
        Key::Principal("a".to_owned()),
    ];
    for key in keys {
        call_with(&pool, "echo", "{}", false, |call| call.key = key)
            .await
            .unwrap();
    }
    assert_eq!(numbers(&pids).len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_connection_that_was_only_asked_for_lists_becomes_the_first_callers() {
    let [ada, bob] = ["a", "b"].map(|name| Key::Principal(name.to_owned()));
    let listed = async || {
        let (directory, pids, endpoint) = counted("");
        let pool = pool(endpoint);
        let listing = pool.list("s", &Key::Shared, What::Tools, patient()).await;
        listing.unwrap();
        (directory, pids, pool)
    };
    let echo = async |pool: &Pool, key: &Key, client: Option<Arc<dyn Client>>| {
        let echo = call_with(pool, "echo", "{}", false, |call| {
            call.key = key.clone();
            call.client = client;
        });
        echo.await.unwrap();
    };

    let (_directory, pids, pool) = listed().await;
    echo(&pool, &ada, None).await;
    assert_eq!(numbers(&pids).len(), 1, "one process lists and is called");
    echo(&pool, &bob, None).await;
    assert_eq!(numbers(&pids).len(), 2, "nobody gets what is another's");

    let (_directory, pids, pool) = listed().await;
    call(&pool, "echo", "{}").await.unwrap();
    echo(&pool, &ada, None).await;
    assert_eq!(numbers(&pids).len(), 2, "nor what all have used");

    let (_directory, pids, pool) = listed().await;
    let person: Arc<dyn Client> = Arc::new(Person::default());
    echo(&pool, &ada, Some(person)).await;
    let processes = numbers(&pids);
    assert_eq!(processes.len(), 2, "the first knows of nobody to ask");
    eventually("it makes room", || !lives(processes[0])).await;
    assert!(lives(processes[1]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_nobody_uses_is_closed() {
    let (_directory, pids, mut endpoint) = counted("");
    endpoint.idle_close = Some(Duration::from_millis(300));
    let pool = pool(endpoint);
    call(&pool, "sleep", r#"{"ms":700}"#)
        .await
        .expect("a call under way keeps it open");
    assert_eq!(numbers(&pids).len(), 1);
    eventually("it is closed", || !numbers(&pids).into_iter().any(lives)).await;
    eventually("that is seen", || !pool.is_connected("s")).await;
    assert_eq!(pool.status("s").unwrap().reason, None);
    call(&pool, "echo", "{}").await.unwrap();
    assert_eq!(numbers(&pids).len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_process_is_replaced_and_only_what_may_be_repeated_is_sent_again() {
    let directory = tempfile::tempdir().unwrap();
    let [pids, effects] = ["pids", "effects"].map(|name| directory.path().join(name));
    let flags = format!(
        "--starts {} --effects {}",
        pids.display(),
        effects.display()
    );
    let pool = pool(endpoint(&flags));
    let mut events = pool.events();
    for round in 1..=2 {
        let (once, again) = tokio::join!(call(&pool, "never", "{}"), async {
            arrived(&effects, round).await;
            kill(*numbers(&pids).last().unwrap(), "KILL");
            // Nobody may have noticed yet.
            call_with(&pool, "echo", "{}", true, |_| {}).await
        });
        let error = once.unwrap_err().to_string();
        assert!(
            error.contains("its process ended (signal: 9 (SIGKILL))"),
            "{error}"
        );
        again.unwrap();
        assert_eq!(numbers(&pids).len(), 1 + round);
    }
    let (repeated, ()) = tokio::join!(call_with(&pool, "again", "{}", true, |_| {}), async {
        arrived(&effects, 3).await;
        kill(*numbers(&pids).last().unwrap(), "KILL");
    });
    assert!(repeated.unwrap().contains("done"));
    assert_eq!(numbers(&pids).len(), 4);
    let three = async {
        for _ in 0..3 {
            while !matches!(events.recv().await.unwrap().what, Happening::Lost) {}
        }
    };
    tokio::time::timeout(PATIENCE, three)
        .await
        .expect("each loss is told");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_never_works_is_left_alone_and_says_why() {
    let (_directory, pids, mut endpoint) = counted("--exit 4 --stderr no-license");
    endpoint.fingerprint = "known".to_owned();
    let mut surroundings = surroundings();
    // Only the older era: one start for each attempt.
    surroundings
        .memory
        .remember("known", toolcrib_upstream::mcp::Era::Legacy);
    // No pause between attempts, so that the test need not wait.
    surroundings.random = Arc::new(|| 0.5);
    let pool = Pool::new(surroundings);
    pool.configure(vec![endpoint]);
    let error = call(&pool, "echo", "{}").await.unwrap_err().to_string();
    assert_eq!(
        error,
        "its process ended (exit status: 4); it said: no-license"
    );
    let status = pool.status("s").unwrap();
    assert_eq!(
        (status.health, status.reason.as_deref()),
        (Health::Error, Some(error.as_str()))
    );
    assert_eq!(
        numbers(&pids).len(),
        1,
        "what fails at its start is not tried again for the same call"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_come_as_they_were_sent_and_events_name_the_server() {
    let pool = pool(endpoint(""));
    let mut events = pool.events();
    let tools = pool
        .list("s", &Key::Shared, What::Tools, patient())
        .await
        .unwrap();
    assert_eq!(
        tools.items[0].get(),
        r#"{"x-first":1.5,"name":"echo","description":"Gives its arguments back.","inputSchema":{"type":"object","x-order":{"z":1,"a":2}},"execution":{"taskSupport":"forbidden"},"_meta":{"vendor/x":[1,null]},"annotations":{"readOnlyHint":true,"x-unknown":true},"icons":[{"src":"data:,"}],"outputSchema":{"type":"object"}}"#
    );
    for (what, count) in [
        (What::Prompts, 1),
        (What::Resources, 1),
        (What::Templates, 1),
    ] {
        let listing = pool.list("s", &Key::Shared, what, patient()).await.unwrap();
        assert_eq!((listing.items.len(), listing.warnings.len()), (count, 0));
    }
    call(&pool, "change", "{}").await.unwrap();
    let mut changed = false;
    while let Ok(event) = events.try_recv() {
        assert_eq!(&*event.server, "s");
        changed |= matches!(event.what, Happening::Tools);
    }
    assert!(changed);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_visit_leaves_nothing_behind() {
    let (_directory, pids, endpoint) = counted("");
    let pool = pool(endpoint.clone());
    let listing = pool
        .list_once(&endpoint, What::Tools, patient())
        .await
        .unwrap();
    assert_eq!(listing.items.len(), 1);
    assert_eq!(numbers(&pids).len(), 1);
    eventually("it is gone", || !numbers(&pids).into_iter().any(lives)).await;
    assert!(!pool.is_connected("s"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_is_called_with_its_permit_and_no_other_way() {
    let pool = pool(endpoint(""));
    let params = raw(r#"{"name":"echo","arguments":{}}"#);
    let refused = pool
        .ask(
            "s",
            &Key::Shared,
            "tools/call",
            Some(&params),
            Options::default(),
        )
        .await;
    assert!(refused.unwrap_err().to_string().contains("permit"));
    let arguments = raw(r#"{"b":2}"#);
    let permit = permit("echo", r#"{"a":1}"#, false, Duration::from_secs(5));
    let other = pool
        .call(
            permit,
            toolcrib_upstream::mcp::Call::new(Key::Shared, &arguments),
        )
        .await;
    assert!(other.unwrap_err().to_string().contains("other arguments"));
    assert!(!pool.is_connected("s"), "neither reached the server");
    let prompts = pool
        .ask("s", &Key::Shared, "prompts/list", None, Options::default())
        .await;
    assert_eq!(prompts.unwrap().get(), r#"{"prompts":[{"name":"greet"}]}"#);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_keeps_its_connection_when_only_its_treatment_changes() {
    let (_directory, pids, endpoint) = counted("");
    let pool = pool(endpoint.clone());
    call(&pool, "echo", "{}").await.unwrap();
    let mut milder = endpoint.clone();
    milder.retries = 0;
    pool.configure(vec![milder]);
    call(&pool, "echo", "{}").await.unwrap();
    assert_eq!(numbers(&pids).len(), 1);
    let mut other = endpoint;
    other.fingerprint = "other".to_owned();
    pool.configure(vec![other]);
    call(&pool, "echo", "{}").await.unwrap();
    assert_eq!(numbers(&pids).len(), 2);
    pool.configure(Vec::new());
    assert!(pool.status("s").is_none());
    eventually("all are gone", || !numbers(&pids).into_iter().any(lives)).await;
    let error = call(&pool, "echo", "{}").await.unwrap_err();
    assert!(error.to_string().contains("no server `s`"), "{error}");
    let _ = server("");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_not_valid_utf_8_or_json_fails_its_call_at_once() {
    let pool = pool(endpoint(""));
    for (tool, said) in [("latin1", "not valid UTF-8"), ("nan", "not valid JSON")] {
        let error = call(&pool, tool, "{}").await.unwrap_err();
        assert!(error.to_string().contains(said), "{error}");
        assert!(!error.was_not_delivered());
        call(&pool, "echo", "{}")
            .await
            .expect("the connection stays");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_environment_means_a_new_process_and_the_same_one_does_not() {
    let (_directory, pids, endpoint) = counted("");
    let with = |value: &str| {
        let mut endpoint = endpoint.clone();
        if let Way::Stdio(command) = &mut endpoint.way {
            command.env = vec![("TOKEN".to_owned(), Secret::new(value))];
        }
        endpoint
    };
    let pool = pool(with("old"));
    let told = async || call(&pool, "tell", r#"{"name":"TOKEN"}"#).await.unwrap();
    assert!(told().await.contains("old"));
    pool.configure(vec![with("old")]);
    assert!(told().await.contains("old"));
    assert_eq!(numbers(&pids).len(), 1);
    pool.configure(vec![with("new")]);
    assert!(told().await.contains("new"));
    assert_eq!(numbers(&pids).len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_never_gets_ready_is_told_with_what_it_said_to_people() {
    let check = async |flags: &str, start_timeout: Duration, said: &str| {
        let mut endpoint = endpoint(flags);
        endpoint.start_timeout = start_timeout;
        let pool = pool(endpoint);
        let error = call(&pool, "echo", "{}").await.unwrap_err().to_string();
        let is_told = error.contains(said);
        if is_told {
            let reason = pool.status("s").unwrap().reason.unwrap();
            assert!(reason.contains(said), "{reason}");
        }
        (is_told, error)
    };
    let old = "--version 1999-01-01 --stderr old-server";
    let (is_told, error) = check(old, PATIENCE, "it said: old-server").await;
    assert!(is_told, "{error}");
    // How long a process takes to begin to speak is the machine's: it gets twice the time until it did.
    let deaf = "--deaf --stderr waiting-for-a-database";
    let mut start_timeout = Duration::from_millis(500);
    loop {
        let said = format!("within {} ms", start_timeout.as_millis());
        let (is_late, error) = check(deaf, start_timeout, &said).await;
        assert!(is_late, "{error}");
        if error.contains("; it said: waiting-for-a-database") {
            break;
        }
        start_timeout *= 2;
        assert!(start_timeout < PATIENCE, "{error}");
    }
}
