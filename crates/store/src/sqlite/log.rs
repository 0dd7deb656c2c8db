//! The file of the write-ahead log, made longer before it is needed.
//!
//! A commit that makes the file longer also waits for what the file system notes about that, which takes as long again
//! and now and then milliseconds. SQLite takes nothing for a frame of the log that has no page number, so zeros behind
//! the last frame mean nothing to it; and where it starts over, it writes over what is there.

use std::fs::File;
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use toolcrib_core::limits::{STORE_WAL_BYTES_AHEAD, STORE_WAL_STEP_BYTES};

use super::connection::Connection;
use crate::StoreError;

/// Where the log of a database is.
pub(super) fn path(database: &Path) -> PathBuf {
    beside(database, "-wal")
}

/// Where the index of that log is, which processes share.
pub(super) fn index_path(database: &Path) -> PathBuf {
    beside(database, "-shm")
}

fn beside(database: &Path, ending: &str) -> PathBuf {
    let mut name = database.file_name().unwrap_or_default().to_owned();
    name.push(ending);
    database.with_file_name(name)
}

/// Makes the log one step longer; `false` where it is long enough, or cannot be.
pub(super) fn lengthen(connection: &Connection) -> Result<bool, StoreError> {
    // Whoever holds the write lock is the only one to append, so that no frame is written where the zeros go.
    connection.begin()?;
    let longer = step(&path(connection.path()));
    connection.rollback()?;
    Ok(longer.unwrap_or_else(|error| {
        tracing::debug!(%error, "the log of the store is not made longer");
        false
    }))
}

fn step(log: &Path) -> io::Result<bool> {
    let mut file = File::options().write(true).open(log)?;
    let length = file.seek(SeekFrom::End(0))?;
    if length >= STORE_WAL_BYTES_AHEAD {
        return Ok(false);
    }
    let written = file
        .write_all(&vec![0; STORE_WAL_STEP_BYTES])
        .and_then(|()| file.sync_data());
    if let Err(error) = written {
        // The room is left to who needs it.
        file.set_len(length)?;
        return Err(error);
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Role;
    use crate::sqlite::SqliteOptions;
    use crate::sqlite::connection::Access;

    #[test]
    fn a_longer_log_changes_nothing_of_what_is_read() {
        let place = tempfile::tempdir().unwrap();
        let database = place.path().join("t.db");
        File::create_new(&database).unwrap();
        let open = || {
            let options = SqliteOptions::new(&database);
            let connection = Connection::open(&options, Role::Writer, Access::Whole).unwrap();
            connection.script("PRAGMA journal_mode = WAL").unwrap();
            connection
        };
        let length = || std::fs::metadata(path(&database)).unwrap().len();
        let connection = open();
        // No frame stands there yet, not even the head of the log.
        assert!(lengthen(&connection).unwrap());
        connection.script("CREATE TABLE t (n)").unwrap();
        connection.script("INSERT INTO t VALUES (1)").unwrap();
        while lengthen(&connection).unwrap() {}
        let long = length();
        assert!((STORE_WAL_BYTES_AHEAD..2 * STORE_WAL_BYTES_AHEAD).contains(&long));
        assert!(!lengthen(&connection).unwrap() && length() == long);
        connection.script("INSERT INTO t VALUES (2)").unwrap();
        assert_eq!(length(), long, "the commit needed no more room");
        // A copy of the files is what a power cut leaves: whoever opens it reads the log anew.
        let copied = place.path().join("copy.db");
        std::fs::copy(&database, &copied).unwrap();
        std::fs::copy(path(&database), path(&copied)).unwrap();
        let options = SqliteOptions::new(&copied);
        let copy = Connection::open(&options, Role::Writer, Access::Whole).unwrap();
        let sum = |connection: &Connection| connection.query("SELECT sum(n) FROM t", &[]).unwrap();
        assert_eq!(sum(&copy)[0].int(0), Ok(3));
        copy.script("INSERT INTO t VALUES (4)").unwrap();
        assert_eq!(sum(&copy)[0].int(0), Ok(7));
        copy.close().unwrap();
        connection.close().unwrap();
        assert_eq!(sum(&open())[0].int(0), Ok(3));
    }

    #[test]
    fn a_log_that_cannot_be_made_longer_stops_nobody() {
        let place = tempfile::tempdir().unwrap();
        let database = place.path().join("t.db");
        File::create_new(&database).unwrap();
        let options = SqliteOptions::new(&database);
        // Without a write-ahead log there is no file.
        let connection = Connection::open(&options, Role::Writer, Access::Whole).unwrap();
        assert_eq!(lengthen(&connection), Ok(false));
        connection.script("CREATE TABLE t (n)").unwrap();
        connection.close().unwrap();
    }
}
