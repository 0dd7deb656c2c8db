//! What can go wrong with the store, each with a sentence that says what to do next.

use std::path::{Path, PathBuf};

use toolcrib_core::{Code, Error};

/// A failure of the store. Nothing that was reported as written is lost by any of them.
///
/// Sentences are for the person who runs Toolcrib and may name files; callers of a door get
/// [`StoreError::to_caller`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The disk, or the size that the store may have, is used up.
    #[error(
        "The store has no space left, so nothing was written; what is recorded is safe. Free disk space or raise the store's size, then try again."
    )]
    Full,
    /// The database file or its directory cannot be written.
    #[error("The store {} is read-only. Make the file and its directory writable for this user.", path.display())]
    ReadOnly {
        /// The database file.
        path: PathBuf,
    },
    /// Another process held the write lock for longer than the bounded wait.
    #[error(
        "The store {} is locked by another process. Try again; if it stays locked, look for a program that keeps the file open.", path.display()
    )]
    Locked {
        /// The database file.
        path: PathBuf,
    },
    /// The database is damaged. It is left as it is.
    #[error(
        "The store {} is damaged ({detail}). It was left untouched: restore a backup, or move the file away to start a new one.", path.display()
    )]
    Corrupt {
        /// The database file.
        path: PathBuf,
        /// What was found.
        detail: String,
    },
    /// The file is a database of another program, or no database at all.
    #[error(
        "{} is not a Toolcrib store. Point `store.path` at another file, or move this one away.", path.display()
    )]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// A newer Toolcrib wrote this store.
    #[error(
        "The store {} has schema version {found}; this Toolcrib knows versions up to {known}. Update Toolcrib, or point `store.path` at another file.", path.display()
    )]
    Newer {
        /// The database file.
        path: PathBuf,
        /// The version in the file.
        found: i64,
        /// The newest version this program can use.
        known: i64,
    },
    /// A file or directory of the store cannot be opened or made.
    #[error("{} cannot be opened ({detail}). Check that the path exists and this user may use it.", path.display())]
    Unreachable {
        /// The file or directory.
        path: PathBuf,
        /// What the operating system said.
        detail: String,
    },
    /// More work waits for the writer than its queue holds.
    #[error("The store has too much to write at the moment. Try again shortly.")]
    Overloaded,
    /// The store was closed.
    #[error("The store is closed because Toolcrib is shutting down. Start it again.")]
    Closed,
    /// What was to be stored breaks a bound.
    #[error("{what} is too long: at most {max} are kept. Shorten it and try again.")]
    TooLong {
        /// What it is.
        what: &'static str,
        /// The bound, with its unit.
        max: String,
    },
    /// More of something than a bound allows.
    #[error("There are too many {what}: at most {max} are kept. Settle or remove some first.")]
    TooMany {
        /// What there are too many of.
        what: &'static str,
        /// The bound.
        max: i64,
    },
    /// The database answered with an error that no other variant names.
    #[error(
        "The store failed ({detail}). Try again; if it persists, run `toolcrib doctor` and keep the file."
    )]
    Failed {
        /// What the database said.
        detail: String,
    },
}

impl StoreError {
    /// A failure for which there is no narrower variant.
    pub(crate) fn failed(detail: impl Into<String>) -> Self {
        Self::Failed {
            detail: detail.into(),
        }
    }

    /// A file that cannot be used, from what the operating system said about it.
    pub(crate) fn from_io(path: &Path, error: &std::io::Error) -> Self {
        use std::io::ErrorKind;
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Self::Full,
            ErrorKind::ReadOnlyFilesystem => Self::ReadOnly {
                path: path.to_owned(),
            },
            _ => Self::Unreachable {
                path: path.to_owned(),
                detail: error.to_string(),
            },
        }
    }

    /// The failure as a caller of a door may see it: a code and a sentence without paths.
    pub fn to_caller(&self) -> Error {
        match self {
            Self::Overloaded => Error::new(
                Code::Overloaded,
                "Too many executions are being recorded at the moment.",
            )
            .suggest("Try again shortly."),
            Self::TooMany { .. } => Error::new(Code::Overloaded, self.to_string()),
            Self::TooLong { .. } => Error::new(Code::ValidationError, self.to_string()),
            Self::Full => Error::new(
                Code::AuditUnavailable,
                "The execution could not be recorded, so nothing was run: there is no space left on the disk of the store.",
            )
            .suggest("Have space freed there, then make the call again."),
            _ => Error::new(
                Code::AuditUnavailable,
                "The execution could not be recorded, so nothing was run.",
            )
            .suggest("Try again later, or ask whoever runs this Toolcrib to look at its log."),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callers_see_a_code_and_no_path() {
        let cases = [
            (StoreError::Full, Code::AuditUnavailable),
            (StoreError::Overloaded, Code::Overloaded),
            (StoreError::Closed, Code::AuditUnavailable),
            (
                StoreError::ReadOnly {
                    path: "/secret/place".into(),
                },
                Code::AuditUnavailable,
            ),
            (
                StoreError::TooMany {
                    what: "waiting confirmations",
                    max: 100,
                },
                Code::Overloaded,
            ),
            (
                StoreError::TooLong {
                    what: "The idempotency key",
                    max: "255 bytes".into(),
                },
                Code::ValidationError,
            ),
        ];
        for (error, code) in cases {
            let caller = error.to_caller();
            assert_eq!(caller.code, code, "{error}");
            assert!(!caller.message.contains('/'), "{caller}");
            let is_full = caller.message.contains("no space left");
            assert_eq!(is_full, error == StoreError::Full, "{caller}");
        }
    }

    #[test]
    fn operating_system_errors_become_sentences() {
        let check = |kind: std::io::ErrorKind, expect: &str| {
            let error = StoreError::from_io(Path::new("/x/toolcrib.db"), &kind.into());
            assert!(error.to_string().contains(expect), "{error}");
        };
        check(std::io::ErrorKind::StorageFull, "no space left");
        check(std::io::ErrorKind::ReadOnlyFilesystem, "read-only");
        check(std::io::ErrorKind::PermissionDenied, "cannot be opened");
    }
}
