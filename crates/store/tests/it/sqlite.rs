//! The file: who may read it, and what happens when it cannot be used.

use std::sync::Arc;

use toolcrib_store::backend::Backend;
use toolcrib_store::sqlite::Sqlite;
use toolcrib_store::{SqliteOptions, Store, StoreError};
use uuid::Uuid;

use crate::fixture::{Home, NOW, answered, begin, entry, log, refusal, run};

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
    let other = rusqlite::Connection::open(home.path()).unwrap();
    other
        .execute_batch("CREATE TABLE songs (title TEXT)")
        .unwrap();
    other.close().unwrap();
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
    let raw = rusqlite::Connection::open(home.path()).unwrap();
    let pages: Vec<i64> = raw
        .prepare(pages)
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    raw.close().unwrap();
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

    let holder = rusqlite::Connection::open(home.path()).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = store.begin_execution(entry("r3"), None).await.unwrap_err();
    assert!(matches!(error, StoreError::Locked { .. }), "{error:?}");
    let late = execution.finish(answered("x")).await;
    assert!(matches!(late, Err(StoreError::Locked { .. })));
    assert_eq!(log(&store).await, ["r1 ok"], "readers go on");
    assert!(store.recover(NOW).await.is_err());
    holder.execute_batch("ROLLBACK").unwrap();
    holder.close().unwrap();

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

#[tokio::test]
async fn trying_to_write_leaves_nothing_and_tells_what_cannot_be_written() {
    let home = Home::new();
    let store = home.open().await;
    store.try_write().await.unwrap();
    store.try_write().await.unwrap();
    assert_eq!(store.counts(i64::MIN).await, Ok(Vec::new()));
    store.close().await;
    let reading = Store::open_sqlite_to_read(home.options()).await.unwrap();
    let tried = reading.try_write().await;
    assert!(
        matches!(tried, Err(StoreError::ReadOnly { .. })),
        "{tried:?}"
    );
    reading.close().await;
}

#[cfg(unix)]
#[tokio::test]
async fn a_log_that_was_left_without_its_index_is_read_where_nothing_can_be_put_beside_it() {
    let home = Home::new();
    let writing = home.open().await;
    run(&writing, "r1").await;
    let beside = |path: &std::path::Path, end: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(end);
        std::path::PathBuf::from(name)
    };
    // As a process leaves it that is killed: what was recorded stands in the log alone.
    let left = home.directory().join("left.db");
    for end in ["", "-wal"] {
        std::fs::copy(beside(&home.path(), end), beside(&left, end)).unwrap();
    }
    std::os::unix::fs::symlink("/nowhere/at/all", beside(&left, "-shm")).unwrap();
    let before = ["", "-wal"].map(|end| std::fs::read(beside(&left, end)).unwrap());
    for _ in 0..2 {
        let options = SqliteOptions::new(&left);
        let reading = Store::open_sqlite_to_read(options).await.unwrap();
        assert_eq!(log(&reading).await, ["r1 ok"]);
        let refused = reading.record(refusal("r2")).await;
        assert!(
            matches!(refused, Err(StoreError::ReadOnly { .. })),
            "{refused:?}"
        );
        reading.close().await;
    }
    let after = ["", "-wal"].map(|end| std::fs::read(beside(&left, end)).unwrap());
    assert_eq!(before, after, "nothing is written");
    writing.close().await;
}

const READ_ONLY_VARIABLE: &str = "TOOLCRIB_TEST_READ_ONLY";

/// Tries to open a store that cannot be written; does nothing unless it was started for that.
#[cfg(unix)]
#[tokio::test]
async fn read_only_child() {
    let Ok(path) = std::env::var(READ_ONLY_VARIABLE) else {
        return;
    };
    let opened = Store::open_sqlite(SqliteOptions::new(path), Uuid::now_v7()).await;
    println!("said: {}", opened.unwrap_err());
}

/// What a user without special rights is told about a store.
#[cfg(unix)]
fn told(home: &Home, path: &std::path::Path) -> String {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::os::unix::process::CommandExt;
    // The child may run as somebody else, who must be able to reach the program.
    let open = std::fs::Permissions::from_mode(0o755);
    let program = home.directory().join("program");
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    std::fs::set_permissions(&program, open.clone()).unwrap();
    std::fs::set_permissions(home.directory(), open).unwrap();
    let mut command = std::process::Command::new(&program);
    command
        .args(["sqlite::read_only_child", "--exact", "--nocapture"])
        .env(READ_ONLY_VARIABLE, path)
        .current_dir(home.directory());
    if home.directory().metadata().unwrap().uid() == 0 {
        command.uid(65_534).gid(65_534);
    }
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let said = text.lines().find_map(|line| line.split_once("said: "));
    said.map(|(_, said)| said.to_owned()).unwrap_or(text)
}

#[cfg(unix)]
#[tokio::test]
async fn a_read_only_directory_or_file_says_so_and_stays_as_it_is() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new();
    let lock = |path: &std::path::Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let directory = home.path().parent().unwrap().to_owned();
    std::fs::create_dir(&directory).unwrap();
    lock(&directory, 0o555);
    let said = told(&home, &home.path());
    assert!(said.contains("read-only"), "{said}");
    assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 0);

    lock(&directory, 0o755);
    let store = home.open().await;
    run(&store, "r1").await;
    store.close().await;
    let before = std::fs::read(home.path()).unwrap();
    lock(&home.path(), 0o444);
    lock(&directory, 0o555);
    let said = told(&home, &home.path());
    assert!(said.contains("read-only"), "{said}");
    assert_eq!(std::fs::read(home.path()).unwrap(), before);
    lock(&directory, 0o755);
}

#[cfg(unix)]
#[tokio::test]
async fn what_is_opened_to_read_is_read_and_never_written() {
    let home = Home::new();
    let missing = Store::open_sqlite_to_read(home.options()).await;
    assert!(matches!(missing, Err(StoreError::Unreachable { .. })));
    let writing = home.open().await;
    run(&writing, "r1").await;
    // While others write it.
    let reading = Store::open_sqlite_to_read(home.options()).await.unwrap();
    assert_eq!(log(&reading).await, ["r1 ok"]);
    run(&writing, "r2").await;
    assert_eq!(log(&reading).await, ["r1 ok", "r2 ok"]);
    let refused = reading.record(refusal("r3")).await;
    assert!(
        matches!(refused, Err(StoreError::ReadOnly { .. })),
        "{refused:?}"
    );
    reading.close().await;
    writing.close().await;
    // Where nothing can be put beside the file.
    let mut beside = home.path().into_os_string();
    beside.push("-shm");
    std::os::unix::fs::symlink("/nowhere/at/all", &beside).unwrap();
    assert!(
        Store::open_sqlite(home.options(), Uuid::now_v7())
            .await
            .is_err()
    );
    let reading = Store::open_sqlite_to_read(home.options()).await.unwrap();
    assert_eq!(log(&reading).await, ["r1 ok", "r2 ok"]);
    assert!(reading.audit_verify().await.unwrap().is_intact());
    reading.close().await;
}
