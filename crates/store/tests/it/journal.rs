//! From the entry before the call to the one record after it.

use toolcrib_store::audit::Outcome;
use toolcrib_store::idempotency::KeyFate;
use toolcrib_store::journal::Recovered;
use toolcrib_store::{Begin, StoreError};

use crate::fixture::{Home, NOW, answered, begin, ended, entry, log, refusal, run, tail};

#[tokio::test]
async fn an_execution_leaves_one_record_with_every_field() {
    let home = Home::new();
    let store = home.open().await;
    let mut asked = entry("r1");
    asked.parameters = Some(r#"{"token":"***"}"#.into());
    asked.trace_id = Some("trace".into());
    let execution = begin(&store, asked, Some("k1")).await;
    assert_eq!(execution.request_id(), "r1");
    assert!(log(&store).await.is_empty(), "nothing before it ends");
    execution.finish(answered("four")).await.unwrap();

    let found = tail(&store).await;
    assert_eq!(found.len(), 1);
    let line = serde_json::to_value(&found[0]).unwrap();
    for (name, expect) in [
        ("request_id", "r1"),
        ("timestamp", "2023-11-14T22:13:20.000Z"),
        ("actor_id", "local"),
        ("tool_id", "github:create_issue"),
        ("params_hash", "hash-a"),
        ("parameters", r#"{"token":"***"}"#),
        ("decision", "allowed"),
        ("reason", "allowed"),
        ("outcome", "ok"),
        ("upstream", "github"),
        ("trace_id", "trace"),
    ] {
        assert_eq!(line[name], expect, "{name}");
    }
    assert_eq!(line["duration_us"], 1_000);
    assert_eq!(line["request_bytes"], 2);
    assert_eq!(line["response_bytes"], 4);
    store.close().await;
}

#[tokio::test]
async fn a_refusal_is_recorded_without_a_journal() {
    let home = Home::new();
    let store = home.open().await;
    store.record(refusal("r1")).await.unwrap();
    store.record(refusal("r1")).await.unwrap();
    assert_eq!(log(&store).await, ["r1 refused"], "one record per request");
    assert_eq!(store.recover(NOW).await.unwrap(), Recovered::default());
    assert!(store.audit_verify().await.unwrap().is_intact());
    store.close().await;
}

#[tokio::test]
async fn a_first_caller_that_goes_away_at_once_shuts_nobody_out() {
    let home = Home::new();
    let store = home.open().await;
    // Registering this process is queued; then nobody waits for that any more.
    home.left_under_way(store.record(refusal("r1"))).await;
    store.record(refusal("r2")).await.unwrap();
    run(&store, "r3").await;
    assert_eq!(log(&store).await, ["r2 refused", "r3 ok"]);
    assert!(store.audit_verify().await.unwrap().is_intact());
    store.close().await;
}

#[tokio::test]
async fn what_a_dead_process_left_open_is_recorded_as_unknown() {
    let home = Home::new();
    let dead = home.open().await;
    run(&dead, "r1").await;
    let left = begin(&dead, entry("r2"), Some("k2")).await;
    dead.close().await;

    let store = home.open().await;
    let recovered = store.recover(NOW).await.unwrap();
    assert_eq!(recovered.unknown, 1);
    assert_eq!(store.recover(NOW).await.unwrap(), Recovered::default());
    assert_eq!(log(&store).await, ["r1 ok", "r2 unknown"]);
    assert!(matches!(
        store.begin_execution(entry("r3"), Some("k2")).await,
        Ok(Begin::Unknown(earlier)) if earlier.request_id == "r2"
    ));
    assert!(store.audit_verify().await.unwrap().is_intact());

    // The dead process comes too late: there is a record already.
    assert_eq!(left.finish(answered("late")).await, Err(StoreError::Closed));
    store.close().await;
}

#[tokio::test]
async fn what_a_living_process_has_open_is_left_alone() {
    let home = Home::new();
    let (one, two) = (home.open().await, home.open().await);
    let execution = begin(&one, entry("r1"), None).await;
    assert_eq!(two.recover(NOW).await.unwrap(), Recovered::default());
    assert_eq!(one.recover(NOW).await.unwrap(), Recovered::default());
    execution.finish(answered("x")).await.unwrap();
    assert_eq!(log(&two).await, ["r1 ok"]);
    one.close().await;
    two.close().await;
}

#[tokio::test]
async fn an_execution_that_is_dropped_is_recorded_as_unknown() {
    let home = Home::new();
    let store = home.open().await;
    drop(begin(&store, entry("r1"), Some("k1")).await);
    // The queue is in order, so that this comes after the record.
    store.record(refusal("r2")).await.unwrap();
    assert_eq!(log(&store).await, ["r1 unknown", "r2 refused"]);
    assert!(matches!(
        store.begin_execution(entry("r3"), Some("k1")).await,
        Ok(Begin::Unknown(_))
    ));
    store.close().await;
}

#[tokio::test]
async fn a_begin_that_nobody_waits_for_is_recorded_as_cancelled_and_frees_its_key() {
    let home = Home::new();
    let store = home.open().await;
    run(&store, "r0").await;
    home.left_under_way(store.begin_execution(entry("r1"), Some("k1")))
        .await;
    store.record(refusal("r2")).await.unwrap();
    store.record(refusal("r3")).await.unwrap();
    assert!(log(&store).await.contains(&"r1 cancelled".to_owned()));
    drop(begin(&store, entry("r4"), Some("k1")).await);
    store.close().await;
}

#[tokio::test]
async fn a_request_id_begins_once() {
    let home = Home::new();
    let store = home.open().await;
    let execution = begin(&store, entry("r1"), None).await;
    let again = store.begin_execution(entry("r1"), None).await;
    assert!(matches!(again, Err(StoreError::Failed { .. })), "{again:?}");
    execution
        .finish(ended(Outcome::Timeout, KeyFate::Unknown))
        .await
        .unwrap();
    assert_eq!(log(&store).await, ["r1 timeout"]);
    store.close().await;
}

#[tokio::test]
async fn a_closed_store_refuses_and_says_so() {
    let home = Home::new();
    let store = home.open().await;
    run(&store, "r1").await;
    store.close().await;
    assert_eq!(
        store.begin_execution(entry("r2"), None).await.unwrap_err(),
        StoreError::Closed
    );
    assert_eq!(store.record(refusal("r3")).await, Err(StoreError::Closed));
    assert_eq!(store.recover(NOW).await, Err(StoreError::Closed));
    store.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_callers_share_commits_and_each_gets_its_record() {
    let home = Home::new();
    let store = home.open().await;
    let tasks: Vec<_> = (0..64)
        .map(|caller| {
            let store = store.clone();
            tokio::spawn(async move {
                for number in 0..5 {
                    run(&store, &format!("r{caller}-{number}")).await;
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let verdict = store.audit_verify().await.unwrap();
    assert_eq!((verdict.records, verdict.is_intact()), (320, true));
    store.close().await;
}

#[tokio::test]
async fn an_entry_changes_one_page() {
    let home = Home::new();
    let store = home.open().await;
    // The second column of its answer is how many pages have been written since the log began.
    let written = || {
        let connection = rusqlite::Connection::open(home.path()).unwrap();
        let pages = |row: &rusqlite::Row<'_>| row.get::<_, i64>(1);
        let pages = connection.query_row("PRAGMA wal_checkpoint(NOOP)", [], pages);
        pages.unwrap()
    };
    let first = begin(&store, entry("r1"), None).await;
    let before = written();
    let second = begin(&store, entry("r2"), None).await;
    assert_eq!(written() - before, 1);
    for execution in [first, second] {
        let ending = ended(Outcome::Ok, KeyFate::Forget);
        execution.finish(ending).await.unwrap();
    }
    store.close().await;
}
