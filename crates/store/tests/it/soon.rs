//! Records that nobody waits for: they share commits and are lost by nobody but a crash.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use toolcrib_store::audit::Outcome;
use toolcrib_store::idempotency::KeyFate;
use toolcrib_store::sqlite::Sqlite;
use toolcrib_store::{Store, StoreError};
use uuid::Uuid;

use crate::fault::{Hook, Hooked};
use crate::fixture::{Home, NOW, begin, ended, entry, log};

/// Counts commits, and refuses them while it is told to.
#[derive(Default)]
struct Commits {
    made: AtomicUsize,
    refused: AtomicUsize,
}

impl Hook for Commits {
    fn before(&self, call: &str) -> Result<usize, StoreError> {
        if call != "commit" {
            return Ok(0);
        }
        if self.refused.load(Ordering::SeqCst) > 0 {
            return Err(StoreError::Full);
        }
        self.made.fetch_add(1, Ordering::SeqCst);
        Ok(0)
    }

    fn after(&self, _number: usize) -> Result<(), StoreError> {
        Ok(())
    }
}

async fn counted(home: &Home) -> (Store, Arc<Commits>) {
    let hook = Arc::new(Commits::default());
    let backend = Hooked {
        inner: Sqlite::open(home.options()).await.unwrap(),
        hook: Arc::clone(&hook),
    };
    let store = Store::open(Arc::new(backend), Uuid::now_v7())
        .await
        .unwrap();
    (store, hook)
}

async fn finish_soon(store: &Store, request_id: &str) {
    let execution = begin(store, entry(request_id), None).await;
    assert!(!execution.is_keyed());
    execution.finish_soon(ended(Outcome::Ok, KeyFate::Forget));
}

#[tokio::test(start_paused = true)]
async fn the_entry_of_an_execution_does_not_wait_for_records_and_they_share_a_commit() {
    let home = Home::new();
    let (store, commits) = counted(&home).await;
    let records = ["r0", "r1", "r2", "r3"];
    // Paused time goes on where nothing but the writer's thread is at work, unless a blocking task runs.
    let (done, waits) = std::sync::mpsc::channel::<()>();
    let still = tokio::task::spawn_blocking(move || waits.recv());
    for request_id in records {
        finish_soon(&store, request_id).await;
    }
    assert_eq!(
        commits.made.load(Ordering::SeqCst),
        1 + records.len(),
        "enlist, and an entry each"
    );
    drop(done);
    still.await.unwrap().unwrap_err();
    assert_eq!(log(&store).await.len(), records.len());
    assert_eq!(commits.made.load(Ordering::SeqCst), 2 + records.len());
    store.close().await;
}

#[tokio::test]
async fn a_record_without_a_next_execution_is_written_after_a_moment() {
    let home = Home::new();
    let (store, commits) = counted(&home).await;
    finish_soon(&store, "r1").await;
    let other = home.open().await;
    while log(&other).await.is_empty() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(log(&other).await, ["r1 ok"], "as another process sees it");
    assert_eq!(
        commits.made.load(Ordering::SeqCst),
        3,
        "enlist, begin, finish"
    );
    other.close().await;
    store.close().await;
}

#[tokio::test]
async fn whoever_reads_the_log_reads_what_was_recorded_before() {
    let home = Home::new();
    let store = home.open().await;
    for number in 0..20 {
        finish_soon(&store, &format!("r{number:02}")).await;
        assert_eq!(log(&store).await.len(), number + 1);
    }
    assert!(store.audit_verify().await.unwrap().is_intact());
    store.close().await;
}

#[tokio::test]
async fn more_than_a_commit_takes_does_not_wait_for_the_moment() {
    let home = Home::swift();
    let store = home.open().await;
    let count = toolcrib_core::limits::STORE_GROUP_MAX + 10;
    let mut executions = Vec::new();
    for number in 0..count {
        executions.push(begin(&store, entry(&format!("r{number}")), None).await);
    }
    for execution in executions {
        execution.finish_soon(ended(Outcome::Ok, KeyFate::Forget));
    }
    assert_eq!(
        store.audit_verify().await.unwrap().records,
        u64::try_from(count).unwrap()
    );
    store.close().await;
}

#[tokio::test]
async fn closing_writes_what_is_left() {
    let home = Home::new();
    let store = home.open().await;
    finish_soon(&store, "r1").await;
    store.close().await;
    let store = home.open().await;
    assert_eq!(store.recover(NOW).await.unwrap().unknown, 0);
    assert_eq!(log(&store).await, ["r1 ok"]);
    store.close().await;
}

#[tokio::test]
async fn a_record_that_cannot_be_written_is_kept_and_written_later() {
    let home = Home::new();
    let (store, commits) = counted(&home).await;
    let execution = begin(&store, entry("r1"), None).await;
    commits.refused.store(1, Ordering::SeqCst);
    execution.finish_soon(ended(Outcome::Ok, KeyFate::Forget));
    assert!(log(&store).await.is_empty());
    commits.refused.store(0, Ordering::SeqCst);
    assert_eq!(store.recover(NOW).await.unwrap().settled, 1);
    assert_eq!(log(&store).await, ["r1 ok"]);
    store.close().await;
}

#[tokio::test]
async fn after_closing_the_entry_is_left_to_recovery() {
    let home = Home::new();
    let store = home.open().await;
    let execution = begin(&store, entry("r1"), None).await;
    store.close().await;
    execution.finish_soon(ended(Outcome::Ok, KeyFate::Forget));
    let store = home.open().await;
    assert_eq!(store.recover(NOW).await.unwrap().unknown, 1);
    assert_eq!(log(&store).await, ["r1 unknown"]);
    store.close().await;
}
