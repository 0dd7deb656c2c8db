//! What SQLite's result codes mean for the store.

use std::path::Path;

use crate::StoreError;

/// The file that SQLite shares between processes cannot be given its size.
const IOERR_SHMSIZE: i32 = 0x130a;

/// The store's failure behind an error of the driver.
pub(super) fn explain(path: &Path, error: &rusqlite::Error) -> StoreError {
    match error.sqlite_error() {
        Some(code) => from_code(path, code.extended_code, &error.to_string()),
        None => StoreError::failed(error.to_string()),
    }
}

fn from_code(path: &Path, extended: i32, message: &str) -> StoreError {
    // The low byte is the primary code: https://www.sqlite.org/rescode.html
    let path = path.to_owned();
    let detail = message.to_owned();
    match extended & 0xff {
        // The index of the write-ahead log has no place on the disk.
        _ if extended == IOERR_SHMSIZE => StoreError::Full,
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
        check(4874, "no space left");
        check(14, "cannot be opened (what it said)");
        check(26, "not a Toolcrib store");
        check(10, "what it said, code 10");
    }

    #[test]
    fn errors_of_the_driver_are_explained() {
        let path = Path::new("t.db");
        let code = |code| rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None);
        assert_eq!(explain(path, &code(13)), StoreError::Full);
        assert!(matches!(explain(path, &code(5)), StoreError::Locked { .. }));
        assert!(matches!(
            explain(path, &rusqlite::Error::QueryReturnedNoRows),
            StoreError::Failed { .. }
        ));
    }
}
