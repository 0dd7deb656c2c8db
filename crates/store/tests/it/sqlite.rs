//! The file: who may read it, and what happens when it cannot be used.

use std::sync::Arc;

use sqlx::Connection;
use toolcrib_store::backend::Backend;
use toolcrib_store::sqlite::Sqlite;
use toolcrib_store::{SqliteOptions, Store, StoreError};
use uuid::Uuid;

use crate::fixture::{Home, NOW, answered, begin, entry, log, run};

#[cfg(unix)]
#[tokio::test]
async fn files_are_for_their_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new();
    let path = home.path();
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    let store = home.open().await;
    run(&store, "r1").await;
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    for name in ["toolcrib.db", "toolcrib.db-wal", "toolcrib.db-shm"] {
        assert_eq!(mode(&path.with_file_name(name)), 0o600, "{name}");
    }
    let writers = path.with_file_name("toolcrib.db.writers");
    assert_eq!(mode(&writers), 0o700);
    let lock = std::fs::read_dir(&writers)
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    assert_eq!(mode(&lock.path()), 0o600);
    store.close().await;
    assert_eq!(std::fs::read_dir(&writers).unwrap().count(), 0);

    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    home.open().await.close().await;
    assert_eq!(mode(&path), 0o600, "an open file is closed to others");
}

async fn open_error(home: &Home) -> String {
    Store::open_sqlite(home.options(), Uuid::now_v7())
        .await
        .unwrap_err()
        .to_string()
}

#[tokio::test]
async fn a_store_of_a_newer_version_is_refused_and_left_alone() {
    let home = Home::new();
    home.open().await.close().await;
    home.meddle("PRAGMA user_version = 99").await;
    let before = std::fs::read(home.path()).unwrap();
    let error = open_error(&home).await;
    assert!(error.contains("schema version 99"), "{error}");
    assert!(error.contains("Update Toolcrib"), "{error}");
    assert_eq!(std::fs::read(home.path()).unwrap(), before);
}

#[tokio::test]
async fn a_database_of_another_program_is_refused_and_left_alone() {
    let home = Home::new();
    std::fs::create_dir_all(home.path().parent().unwrap()).unwrap();
    let options = sqlx::sqlite::SqliteConnectOptions::new()
        .filename(home.path())
        .create_if_missing(true);
    let mut other = sqlx::sqlite::SqliteConnection::connect_with(&options)
        .await
        .unwrap();
    sqlx::raw_sql("CREATE TABLE songs (title TEXT)")
        .execute(&mut other)
        .await
        .unwrap();
    other.close().await.unwrap();
    let before = std::fs::read(home.path()).unwrap();
    let error = open_error(&home).await;
    assert!(error.contains("not a Toolcrib store"), "{error}");
    assert_eq!(std::fs::read(home.path()).unwrap(), before);
}

#[tokio::test]
async fn a_file_that_is_no_database_is_refused_and_left_alone() {
    let home = Home::new();
    std::fs::create_dir_all(home.path().parent().unwrap()).unwrap();
    let text = "a shopping list\n".repeat(100);
    std::fs::write(home.path(), &text).unwrap();
    let error = open_error(&home).await;
    assert!(error.contains("not a Toolcrib store"), "{error}");
    assert_eq!(std::fs::read_to_string(home.path()).unwrap(), text);
}

/// Records something, overwrites the pages that a query names, and gives what the file then holds.
async fn damage(home: &Home, pages: &'static str) -> Vec<u8> {
    let store = home.open().await;
    for number in 0..50 {
        run(&store, &format!("r{number}")).await;
    }
    store.close().await;
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(home.path());
    let mut raw = sqlx::sqlite::SqliteConnection::connect_with(&options)
        .await
        .unwrap();
    let pages: Vec<i64> = sqlx::query_scalar(pages).fetch_all(&mut raw).await.unwrap();
    raw.close().await.unwrap();
    let mut bytes = std::fs::read(home.path()).unwrap();
    for page in pages {
        let start = (usize::try_from(page).unwrap() - 1) * 4096;
        bytes[start.max(100)..start + 4096].fill(0xa5);
    }
    std::fs::write(home.path(), &bytes).unwrap();
    bytes
}

#[tokio::test]
async fn a_damaged_schema_is_reported_at_once_and_left_alone() {
    let home = Home::new();
    let bytes = damage(&home, "SELECT 1").await;
    let error = open_error(&home).await;
    assert!(error.contains("restore a backup"), "{error}");
    assert_eq!(std::fs::read(home.path()).unwrap(), bytes);
}

#[tokio::test]
async fn damaged_records_are_reported_when_met() {
    let home = Home::new();
    let tables = "SELECT rootpage FROM sqlite_master WHERE tbl_name IN ('audit', 'journal')";
    damage(&home, tables).await;
    let store = home.open().await;
    let error = store.begin_execution(entry("r"), None).await.unwrap_err();
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error:?}");
    assert!(error.to_string().contains("restore a backup"), "{error}");
    assert!(matches!(
        store.audit_verify().await,
        Err(StoreError::Corrupt { .. })
    ));
    store.close().await;
}

#[tokio::test]
async fn a_path_that_cannot_be_is_named() {
    let home = Home::new();
    std::fs::write(home.path().parent().unwrap(), "in the way").unwrap();
    let error = open_error(&home).await;
    assert!(error.contains("cannot be opened"), "{error}");
    assert!(error.contains("data"), "{error}");
}

#[tokio::test]
async fn a_full_store_refuses_to_begin_and_loses_nothing() {
    let home = Home::new();
    let mut options = home.options();
    options.size_bytes_max = Some(400 * 1024);
    let store = Store::open_sqlite(options, Uuid::now_v7()).await.unwrap();
    let open = begin(&store, entry("open"), Some("k")).await;
    let mut recorded = 0;
    let error = loop {
        let mut big = entry(&format!("r{recorded}"));
        big.parameters = Some("x".repeat(5_000));
        match store.begin_execution(big, None).await {
            Ok(toolcrib_store::Begin::Fresh(execution)) => {
                if let Err(error) = execution.finish(answered("x")).await {
                    break error;
                }
            }
            Ok(other) => panic!("{other:?}"),
            Err(error) => break error,
        }
        recorded += 1;
    };
    assert_eq!(error, StoreError::Full);
    assert!(recorded > 10);
    // An ending that cannot be written is kept until it can.
    let _ = open.finish(answered(&"y".repeat(20_000))).await;
    store.close().await;

    let store = home.open().await;
    store.recover(NOW).await.unwrap();
    let verdict = store.audit_verify().await.unwrap();
    assert!(verdict.is_intact(), "{:?}", verdict.problems);
    assert!(verdict.records > recorded);
    store.close().await;
}

#[tokio::test]
async fn a_locked_store_says_so_after_a_bounded_wait_and_recovers() {
    let home = Home::new();
    let mut options = home.options();
    options.busy_timeout_ms = 1;
    let store = Store::open_sqlite(options, Uuid::now_v7()).await.unwrap();
    run(&store, "r1").await;
    let execution = begin(&store, entry("r2"), None).await;

    let raw = sqlx::sqlite::SqliteConnectOptions::new().filename(home.path());
    let mut holder = sqlx::sqlite::SqliteConnection::connect_with(&raw)
        .await
        .unwrap();
    sqlx::query("BEGIN IMMEDIATE")
        .execute(&mut holder)
        .await
        .unwrap();
    let error = store.begin_execution(entry("r3"), None).await.unwrap_err();
    assert!(matches!(error, StoreError::Locked { .. }), "{error:?}");
    let late = execution.finish(answered("x")).await;
    assert!(matches!(late, Err(StoreError::Locked { .. })));
    assert_eq!(log(&store).await, ["r1 ok"], "readers go on");
    assert!(store.recover(NOW).await.is_err());
    sqlx::query("ROLLBACK").execute(&mut holder).await.unwrap();
    holder.close().await.unwrap();

    let recovered = store.recover(NOW).await.unwrap();
    assert_eq!((recovered.settled, recovered.unknown), (1, 0));
    assert_eq!(
        log(&store).await,
        ["r1 ok", "r2 ok"],
        "the true outcome is kept"
    );
    store.close().await;
}

#[tokio::test]
async fn opening_at_the_same_time_migrates_once() {
    let home = Home::new();
    let opens: Vec<_> = (0..8)
        .map(|_| {
            let options = home.options();
            tokio::spawn(async move { Store::open_sqlite(options, Uuid::now_v7()).await })
        })
        .collect();
    for (number, open) in opens.into_iter().enumerate() {
        let store = open.await.unwrap().unwrap();
        run(&store, &format!("r{number}")).await;
        store.close().await;
    }
    let store = home.open().await;
    assert_eq!(store.audit_verify().await.unwrap().records, 8);
    store.close().await;
}

#[tokio::test]
async fn a_backend_says_where_it_is() {
    let home = Home::new();
    let sqlite = Sqlite::open(SqliteOptions::new(home.path())).await.unwrap();
    assert_eq!(sqlite.path(), home.path());
    let backend: Arc<dyn Backend> = Arc::new(sqlite);
    let store = Store::open(backend, Uuid::nil()).await.unwrap();
    assert!(format!("{store:?}").contains("00000000-0000"));
    store.close().await;
}
