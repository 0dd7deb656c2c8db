//! Brings a database file to the schema that this program knows.

use std::time::Duration;

use toolcrib_core::limits::STORE_OPEN_RETRIES_MAX;

use super::SqliteOptions;
use super::connection::{Access, Connection};
use super::log;
use crate::StoreError;
use crate::backend::Role;

/// The scripts in order; the n-th brings version n-1 to version n. The text is PostgreSQL's too, unless it says otherwise.
const SCRIPTS: &[&str] = &[
    include_str!("../../migrations/0001_store.sql"),
    include_str!("../../migrations/0002_learned.sql"),
    include_str!("../../migrations/0003_capability.sql"),
    include_str!("../../migrations/0004_approval_mark.sql"),
    include_str!("../../migrations/0005_pin_index.sql"),
    include_str!("../../migrations/0006_rate_bucket.sql"),
    include_str!("../../migrations/0007_journal_in_one_tree.sql"),
];

/// The page size of every database file that this program makes.
pub(super) const PAGE_BYTES: u64 = 4096;

/// Marks a database file as a Toolcrib store: the letters `Tcrb`.
const APPLICATION_ID: i64 = 0x5463_7262;

/// How long a lock that a busy handler cannot wait for is left alone before the next attempt.
const RETRY_PAUSE: Duration = Duration::from_millis(50);

/// What a file turned out to be.
#[derive(Debug, PartialEq, Eq)]
enum Found {
    Current,
    /// A store of this older version, 0 for an empty file.
    Older(usize),
}

/// Checks what the file is and applies the scripts it lacks, all in one transaction.
pub(super) fn migrate(options: &SqliteOptions) -> Result<(), StoreError> {
    let mut attempt = 0;
    loop {
        match try_migrate(options) {
            // Switching to the write-ahead log needs the file alone, and SQLite does not wait for that.
            Err(StoreError::Locked { .. }) if attempt < STORE_OPEN_RETRIES_MAX => {
                attempt += 1;
                std::thread::sleep(RETRY_PAUSE);
            }
            result => return result,
        }
    }
}

fn try_migrate(options: &SqliteOptions) -> Result<(), StoreError> {
    let link = Connection::open(options, Role::Writer, Access::Whole)?;
    // One state of the file: another process may be migrating it between two questions.
    link.script("BEGIN")?;
    let found = inspect(&link, options)?;
    link.rollback()?;
    if found != Found::Current {
        link.script("PRAGMA journal_mode = WAL")?;
        link.begin()?;
        // Another process may have migrated while this one waited for the lock.
        if let Found::Older(version) = inspect(&link, options)? {
            tracing::debug!(from = version, to = SCRIPTS.len(), "migrating the store");
            for script in &SCRIPTS[version..] {
                link.script(script)?;
            }
            link.script(STAMP)?;
        }
        link.commit()?;
    }
    link.close()
}

/// How a file that cannot be written can be read. It must be a store as this program knows it.
pub(super) fn readable(options: &SqliteOptions) -> Result<Access, StoreError> {
    let look = |access| inspect(&Connection::open(options, Role::Reader, access)?, options);
    let (access, found) = match look(Access::Reading) {
        Ok(found) => (Access::Reading, found),
        // Nothing is in the log, so that everything is in the file itself.
        Err(_) if log_is_empty(options) => (Access::Still, look(Access::Still)?),
        // Whoever wrote last left its log behind and not the index of it, which cannot be made beside it.
        Err(_) if cfg!(unix) && nobody_has_it_open(options) => {
            (Access::Alone, look(Access::Alone)?)
        }
        Err(error) => return Err(error),
    };
    match found {
        Found::Current => Ok(access),
        Found::Older(_) => Err(StoreError::ReadOnly {
            path: options.path.clone(),
        }),
    }
}

/// Whether there is no index of the log, which whoever opens the file makes beside it.
fn nobody_has_it_open(options: &SqliteOptions) -> bool {
    let index = std::fs::metadata(log::index_path(&options.path));
    index.is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
}

/// Whether the write-ahead log holds nothing.
fn log_is_empty(options: &SqliteOptions) -> bool {
    std::fs::metadata(log::path(&options.path)).map_or_else(
        |error| error.kind() == std::io::ErrorKind::NotFound,
        |log| log.len() == 0,
    )
}

/// Marks the file. Held against [`APPLICATION_ID`] and the number of scripts by a test.
const STAMP: &str = "PRAGMA application_id = 1415803490; PRAGMA user_version = 7;";

fn inspect(link: &Connection, options: &SqliteOptions) -> Result<Found, StoreError> {
    let application = number(link, "PRAGMA application_id")?;
    let version = number(link, "PRAGMA user_version")?;
    let tables = number(link, "SELECT COUNT(*) FROM sqlite_master")?;
    classify(application, version, tables, options)
}

fn classify(
    application: i64,
    version: i64,
    tables: i64,
    options: &SqliteOptions,
) -> Result<Found, StoreError> {
    let known = SCRIPTS.len();
    let path = options.path.clone();
    match (application, usize::try_from(version)) {
        (0, Ok(0)) if tables == 0 => Ok(Found::Older(0)),
        (APPLICATION_ID, Ok(version)) if version == known => Ok(Found::Current),
        (APPLICATION_ID, Ok(older)) if older < known => Ok(Found::Older(older)),
        (APPLICATION_ID, Ok(_)) => Err(StoreError::Newer {
            path,
            found: version,
            known: i64::try_from(known).unwrap_or(i64::MAX),
        }),
        _ => Err(StoreError::Foreign { path }),
    }
}

fn number(link: &Connection, sql: &'static str) -> Result<i64, StoreError> {
    let rows = link.query(sql, &[])?;
    rows.first().map_or(Ok(0), |row| row.int(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stamp_agrees_with_the_scripts() {
        let expect = format!(
            "PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {};",
            SCRIPTS.len()
        );
        assert_eq!(STAMP, expect);
    }

    #[test]
    fn a_file_is_taken_for_what_it_is() {
        let options = SqliteOptions::new("t.db");
        let known = i64::try_from(SCRIPTS.len()).unwrap();
        let check = |application, version, tables| classify(application, version, tables, &options);
        assert_eq!(check(0, 0, 0), Ok(Found::Older(0)));
        assert_eq!(check(APPLICATION_ID, known, 9), Ok(Found::Current));
        assert_eq!(
            check(APPLICATION_ID, known - 1, 9),
            Ok(Found::Older(SCRIPTS.len() - 1))
        );
        let newer = check(APPLICATION_ID, known + 1, 9).unwrap_err();
        assert!(newer.to_string().contains("Update Toolcrib"), "{newer}");
        for (application, version, tables) in [(0, 0, 3), (7, 1, 1), (0, 1, 0), (7, 0, 0)] {
            assert!(
                matches!(
                    check(application, version, tables),
                    Err(StoreError::Foreign { .. })
                ),
                "{application} {version} {tables}"
            );
        }
        assert!(check(APPLICATION_ID, -1, 1).is_err());
    }
}
