//! One connection to SQLite, on the thread of whoever uses it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::types::ValueRef;
use rusqlite::{CachedStatement, OpenFlags};

use super::SqliteOptions;
use super::failure::explain;
use crate::StoreError;
use crate::backend::{Role, Row, Value};

/// How many statements a connection keeps prepared: more than the store has.
const STATEMENTS_KEPT: usize = 128;

pub(super) struct Connection {
    inner: rusqlite::Connection,
    path: PathBuf,
    role: Role,
    /// Which argument each placeholder of a statement stands for, by the statement's text.
    places: RefCell<HashMap<&'static str, Vec<usize>>>,
}

/// What a connection may do with the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// Read and write it.
    Whole,
    /// Read it while others may write it.
    Reading,
    /// Read it with what is in its log, whose index is made in memory: nothing can be put beside it, and nobody has
    /// it open.
    Alone,
    /// Read it where nobody can write it, and nothing can be put beside it.
    Still,
}

impl Connection {
    /// Opens the file, which must be there, with the settings that hold for every connection.
    pub(super) fn open(
        options: &SqliteOptions,
        role: Role,
        access: Access,
    ) -> Result<Self, StoreError> {
        let path = options.path.clone();
        let (mode, name) = match access {
            Access::Whole => (OpenFlags::SQLITE_OPEN_READ_WRITE, path.clone()),
            Access::Reading => (OpenFlags::SQLITE_OPEN_READ_ONLY, path.clone()),
            Access::Alone | Access::Still => {
                let mode = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
                let how = if access == Access::Alone {
                    // No locks: they cannot be had of a file that can only be read.
                    "vfs=unix-none"
                } else {
                    "immutable=1"
                };
                (mode, address(&path, how).into())
            }
        };
        let flags = mode | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let open = || -> rusqlite::Result<rusqlite::Connection> {
            let inner = rusqlite::Connection::open_with_flags(&name, flags)?;
            inner.busy_timeout(Duration::from_millis(options.busy_timeout_ms))?;
            inner.set_prepared_statement_cache_capacity(STATEMENTS_KEPT);
            // Statements are kept as they were prepared: a plan that depends on the values given to it would be
            // made again with every use.
            inner.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
            if access == Access::Alone {
                // Then SQLite shares the index of the log with nobody, and needs no file for it. It reads the log with
                // the next statement.
                inner.execute_batch("PRAGMA locking_mode = EXCLUSIVE;")?;
            }
            // With a write-ahead log `EXTRA` is `FULL`; where the file system has none, a commit is on the
            // disk only once the directory is. Only macOS needs `fullfsync`; elsewhere it changes nothing.
            inner.execute_batch("PRAGMA synchronous = EXTRA; PRAGMA fullfsync = ON;")?;
            Ok(inner)
        };
        match open() {
            Ok(inner) => Ok(Self::of(inner, path, role)),
            Err(error) => Err(explain(&path, &error)),
        }
    }

    fn of(inner: rusqlite::Connection, path: PathBuf, role: Role) -> Self {
        Self {
            inner,
            path,
            role,
            places: RefCell::default(),
        }
    }

    /// Runs several statements at once, without arguments.
    pub(super) fn script(&self, sql: &str) -> Result<(), StoreError> {
        self.explained(self.inner.execute_batch(sql))
    }

    /// Runs a statement and says how many rows it changed.
    pub(super) fn execute(&self, sql: &'static str, args: &[Value]) -> Result<u64, StoreError> {
        let run = || self.bound(sql, args)?.raw_execute();
        let changed = self.explained(run())?;
        Ok(u64::try_from(changed).unwrap_or(u64::MAX))
    }

    /// Runs a statement and collects its rows.
    pub(super) fn query(&self, sql: &'static str, args: &[Value]) -> Result<Vec<Row>, StoreError> {
        let run = || {
            let mut statement = self.bound(sql, args)?;
            let columns = statement.column_count();
            let mut rows = statement.raw_query();
            let mut read = Vec::new();
            while let Some(row) = rows.next()? {
                let values = (0..columns).map(|column| value(row, column));
                read.push(Row(values.collect::<rusqlite::Result<_>>()?));
            }
            Ok(read)
        };
        self.explained(run())
    }

    /// Opens a transaction: for a writer one that holds the write lock from the start.
    pub(super) fn begin(&self) -> Result<(), StoreError> {
        let sql = match self.role {
            Role::Writer => "BEGIN IMMEDIATE",
            Role::Reader => "BEGIN",
        };
        self.execute(sql, &[]).map(drop)
    }

    pub(super) fn commit(&self) -> Result<(), StoreError> {
        self.execute("COMMIT", &[]).map(drop)
    }

    /// Takes the transaction back, where one is open.
    pub(super) fn rollback(&self) -> Result<(), StoreError> {
        // SQLite ends the transaction itself when the disk is full or fails.
        if self.inner.is_autocommit() {
            return Ok(());
        }
        self.execute("ROLLBACK", &[]).map(drop)
    }

    pub(super) fn close(self) -> Result<(), StoreError> {
        self.inner.flush_prepared_statement_cache();
        self.inner
            .close()
            .map_err(|(_, error)| explain(&self.path, &error))
    }

    pub(super) fn role(&self) -> Role {
        self.role
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// A statement with its arguments.
    fn bound(&self, sql: &'static str, args: &[Value]) -> rusqlite::Result<CachedStatement<'_>> {
        let mut statement = self.inner.prepare_cached(sql)?;
        let mut known = self.places.borrow_mut();
        let places = known.entry(sql).or_insert_with(|| places(&statement));
        for (index, place) in (1..).zip(places) {
            match args.get(*place) {
                Some(Value::Int(value)) => statement.raw_bind_parameter(index, value)?,
                Some(Value::Text(value)) => statement.raw_bind_parameter(index, value)?,
                None => {
                    return Err(rusqlite::Error::InvalidParameterCount(
                        args.len(),
                        *place + 1,
                    ));
                }
            }
        }
        drop(known);
        Ok(statement)
    }

    fn explained<T>(&self, result: rusqlite::Result<T>) -> Result<T, StoreError> {
        result.map_err(|error| explain(&self.path, &error))
    }
}

/// Which argument each placeholder stands for: the one of the number in its name. SQLite itself counts `$2` as the first
/// placeholder where it stands first.
fn places(statement: &CachedStatement<'_>) -> Vec<usize> {
    let place = |index| {
        let name = statement.parameter_name(index);
        let number = name.and_then(|name| name.strip_prefix('$')?.parse().ok());
        number.unwrap_or(index).saturating_sub(1)
    };
    (1..=statement.parameter_count()).map(place).collect()
}

/// The address of a file, and how it is opened.
fn address(path: &Path, how: &str) -> String {
    let mut name = String::from("file:");
    for letter in path.to_string_lossy().chars() {
        match letter {
            '%' => name.push_str("%25"),
            '?' => name.push_str("%3f"),
            '#' => name.push_str("%23"),
            letter => name.push(letter),
        }
    }
    name + "?" + how
}

fn value(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<Value> {
    Ok(match row.get_ref(column)? {
        ValueRef::Null => Value::Text(None),
        ValueRef::Integer(number) => Value::Int(Some(number)),
        _ => Value::Text(Some(row.get(column)?)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::args;

    fn memory() -> Connection {
        let inner = rusqlite::Connection::open_in_memory().unwrap();
        Connection::of(inner, "t.db".into(), Role::Writer)
    }

    #[test]
    fn a_placeholder_is_the_number_in_its_name() {
        let connection = memory();
        let args = args![1, "two"];
        let rows = connection.query("SELECT $2, $1, $2", &args);
        assert_eq!(rows, Ok(vec![Row(args!["two", 1, "two"])]));
    }

    #[test]
    fn an_argument_that_is_missing_is_not_taken_for_null() {
        let connection = memory();
        let args = args![1];
        let rows = connection.query("SELECT $1, $2", &args);
        assert!(matches!(rows, Err(StoreError::Failed { .. })), "{rows:?}");
    }

    #[test]
    fn the_address_of_a_file_holds_its_name_as_it_is() {
        let name = address(Path::new("/a b/50%?#.db"), "immutable=1");
        assert_eq!(name, "file:/a b/50%25%3f%23.db?immutable=1");
    }

    #[test]
    fn taking_back_nothing_is_no_failure() {
        let connection = memory();
        assert_eq!(connection.rollback(), Ok(()));
        connection.begin().unwrap();
        connection.script("CREATE TABLE t (a TEXT)").unwrap();
        assert_eq!(connection.rollback(), Ok(()));
        assert_eq!(connection.rollback(), Ok(()));
        assert!(connection.query("SELECT a FROM t", &[]).is_err());
        assert_eq!(connection.close(), Ok(()));
    }

    #[test]
    fn rows_hold_numbers_texts_and_nothing_else() {
        let connection = memory();
        let rows = connection.query("SELECT 1, 'a', NULL", &[]);
        assert_eq!(rows, Ok(vec![Row(args![1, "a", None::<String>])]));
        assert!(connection.query("SELECT 1.5", &[]).is_err());
        assert!(connection.query("SELECT x'00ff'", &[]).is_err());
    }
}
