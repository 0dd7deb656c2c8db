//! What SQLite's result codes mean for the store.

use std::path::Path;

use crate::StoreError;

/// The store's failure behind an error of the driver.
pub(super) fn explain(path: &Path, error: &sqlx::Error) -> StoreError {
    match error {
        sqlx::Error::Database(database) => {
            let code = database
                .code()
                .and_then(|code| code.parse::<i32>().ok())
                .unwrap_or(1);
            from_code(path, code, database.message())
        }
        sqlx::Error::Io(error) => StoreError::from_io(path, error),
        sqlx::Error::WorkerCrashed => StoreError::failed("the connection to the database ended"),
        other => StoreError::failed(other.to_string()),
    }
}

/// Whether the error only says that no transaction is open.
pub(super) fn is_no_transaction(error: &sqlx::Error) -> bool {
    matches!(error, sqlx::Error::Database(e) if e.message().contains("no transaction is active"))
}

fn from_code(path: &Path, extended: i32, message: &str) -> StoreError {
    // The low byte is the primary code: https://www.sqlite.org/rescode.html
    let path = path.to_owned();
    let detail = message.to_owned();
    match extended & 0xff {
        5 | 6 => StoreError::Locked { path },
        8 => StoreError::ReadOnly { path },
        11 => StoreError::Corrupt { path, detail },
        13 => StoreError::Full,
        3 | 14 | 23 => StoreError::Unreachable { path, detail },
        26 => StoreError::Foreign { path },
        _ => StoreError::Failed {
            detail: format!("{detail}, code {extended}"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_result_code_has_its_sentence() {
        let check = |code, expect: &str| {
            let text = from_code(Path::new("t.db"), code, "what it said").to_string();
            assert!(text.contains(expect), "{code}: {text}");
        };
        check(5, "locked by another process");
        check(517, "locked by another process");
        check(8, "read-only");
        check(1544, "read-only");
        check(11, "damaged (what it said)");
        check(13, "no space left");
        check(14, "cannot be opened (what it said)");
        check(26, "not a Toolcrib store");
        check(10, "what it said, code 10");
    }

    #[test]
    fn errors_of_the_driver_are_explained() {
        let path = Path::new("t.db");
        assert!(matches!(
            explain(path, &sqlx::Error::WorkerCrashed),
            StoreError::Failed { .. }
        ));
        let full = std::io::Error::from(std::io::ErrorKind::StorageFull);
        assert_eq!(explain(path, &sqlx::Error::Io(full)), StoreError::Full);
        assert!(matches!(
            explain(path, &sqlx::Error::RowNotFound),
            StoreError::Failed { .. }
        ));
        assert!(!is_no_transaction(&sqlx::Error::RowNotFound));
    }
}
