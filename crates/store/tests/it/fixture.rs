//! A directory for a store, and short ways to say what tests say often.

use std::path::PathBuf;

use toolcrib_store::audit::query::{Entry as Found, Filter};
use toolcrib_store::audit::{Decision, Outcome, Record};
use toolcrib_store::idempotency::KeyFate;
use toolcrib_store::{Begin, Ending, Entry, Execution, SqliteOptions, Store};
use uuid::Uuid;

/// The time at which tests happen.
pub(crate) const NOW: i64 = 1_700_000_000_000;

pub(crate) struct Home {
    dir: tempfile::TempDir,
}

impl Home {
    pub(crate) fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    /// A home in memory where the machine has such a place, for tests that open many stores. What a
    /// killed process wrote is there as on a disk.
    pub(crate) fn swift() -> Self {
        let memory = std::path::Path::new("/dev/shm");
        let dir = if memory.is_dir() {
            tempfile::tempdir_in(memory)
        } else {
            tempfile::tempdir()
        };
        Self { dir: dir.unwrap() }
    }

    pub(crate) fn directory(&self) -> &std::path::Path {
        self.dir.path()
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.dir.path().join("data").join("toolcrib.db")
    }

    pub(crate) fn options(&self) -> SqliteOptions {
        SqliteOptions::new(self.path())
    }

    /// The store, as a process of its own would open it.
    pub(crate) async fn open(&self) -> Store {
        Store::open_sqlite(self.options(), Uuid::now_v7())
            .await
            .unwrap()
    }

    /// Lets work of the store be asked for by a caller that goes away after one look at it. The
    /// file is held meanwhile, so that the work is still under way however the threads are run.
    pub(crate) async fn left_under_way<T>(&self, work: impl Future<Output = T>) {
        let holder = rusqlite::Connection::open(self.path()).unwrap();
        holder.execute_batch("BEGIN IMMEDIATE").unwrap();
        {
            let mut work = std::pin::pin!(work);
            let ended = std::future::poll_fn(|context| {
                std::task::Poll::Ready(work.as_mut().poll(context).is_ready())
            });
            assert!(!ended.await, "the work is still under way");
        }
        holder.execute_batch("ROLLBACK").unwrap();
    }

    /// Changes the database behind the store's back.
    #[expect(
        clippy::unused_async,
        reason = "the store's calls beside it are awaited as well"
    )]
    pub(crate) async fn meddle(&self, sql: impl Into<String>) -> u64 {
        let connection = rusqlite::Connection::open(self.path()).unwrap();
        connection.execute_batch(&sql.into()).unwrap();
        let changed = connection.changes();
        connection.close().unwrap();
        changed
    }
}

pub(crate) fn entry(request_id: &str) -> Entry {
    Entry {
        request_id: request_id.into(),
        timestamp_ms: NOW,
        actor_id: "local".into(),
        tool_id: "github:create_issue".into(),
        params_hash: "hash-a".into(),
        parameters: None,
        reason: "allowed".into(),
        upstream: Some("github".into()),
        request_bytes: 2,
        trace_id: None,
    }
}

pub(crate) fn refusal(request_id: &str) -> Record {
    Record {
        request_id: request_id.into(),
        timestamp_ms: NOW,
        actor_id: "local".into(),
        tool_id: "github:delete_repo".into(),
        params_hash: "hash-b".into(),
        parameters: None,
        decision: Decision::Refused,
        reason: "needs scope github:delete".into(),
        outcome: Outcome::Refused,
        error_code: Some("SCOPE_REQUIRED".into()),
        duration_us: Some(40),
        upstream: None,
        request_bytes: 2,
        response_bytes: None,
        trace_id: None,
    }
}

pub(crate) fn answered(answer: &str) -> Ending {
    Ending {
        outcome: Outcome::Ok,
        error_code: None,
        duration_us: Some(1_000),
        response_bytes: i64::try_from(answer.len()).ok(),
        key: KeyFate::Answer(answer.into()),
        remark: None,
    }
}

/// An ending that leaves the key as told.
pub(crate) fn ended(outcome: Outcome, key: KeyFate) -> Ending {
    Ending {
        outcome,
        error_code: None,
        duration_us: None,
        response_bytes: None,
        key,
        remark: None,
    }
}

pub(crate) async fn begin(store: &Store, entry: Entry, key: Option<&str>) -> Execution {
    match store.begin_execution(entry, key).await.unwrap() {
        Begin::Fresh(execution) => execution,
        other => panic!("not fresh: {other:?}"),
    }
}

/// One execution from begin to end.
pub(crate) async fn run(store: &Store, request_id: &str) {
    let execution = begin(store, entry(request_id), None).await;
    execution.finish(answered("done")).await.unwrap();
}

/// Everything in the log, as `request outcome` words.
pub(crate) async fn log(store: &Store) -> Vec<String> {
    tail(store)
        .await
        .into_iter()
        .map(|found| {
            format!(
                "{} {}",
                found.record.request_id,
                found.record.outcome.as_str()
            )
        })
        .collect()
}

pub(crate) async fn tail(store: &Store) -> Vec<Found> {
    store.audit_tail(&Filter::default(), 1_000).await.unwrap()
}

/// Appends many records, all at once so that they share commits.
pub(crate) async fn record_all(store: &Store, records: impl Iterator<Item = Record>) {
    let tasks: Vec<_> = records
        .map(|record| {
            let store = store.clone();
            tokio::spawn(async move { store.record(record).await })
        })
        .collect();
    for task in tasks {
        task.await.unwrap().unwrap();
    }
}
