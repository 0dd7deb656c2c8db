//! Which writing processes are alive: each holds the lock of a file of its own.
//!
//! The operating system releases the lock when the process ends, however it ends, so that nobody
//! has to agree on clocks, and a laptop that slept does not make its own processes look dead.

use std::fs::{File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::file::{make_directory, open_options};
use crate::StoreError;
use crate::backend::Presence;

/// How old a lock file without its final name must be to count as left behind.
const LEFTOVER_AGE: Duration = Duration::from_hours(1);

/// Where the lock files of a database are.
pub(super) fn directory(database: &Path) -> PathBuf {
    let mut name = database.file_name().unwrap_or_default().to_owned();
    name.push(".writers");
    database.with_file_name(name)
}

/// A held lock. The file goes away with it; after a crash the next recovery removes it.
#[derive(Debug)]
pub(super) struct LockedFile {
    path: PathBuf,
    _file: File,
}

impl Presence for LockedFile {}

impl Drop for LockedFile {
    fn drop(&mut self) {
        // A file that stays behind is not locked, which says the same as no file.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Makes and locks the file of a writer.
///
/// It gets its final name only once it is locked, so that nobody ever sees an unlocked file of a
/// process that is alive.
pub(super) fn announce(directory: &Path, writer_id: &str) -> Result<LockedFile, StoreError> {
    make_directory(directory)?;
    sweep(directory);
    let draft = directory.join(format!("{writer_id}.new"));
    let path = lock_path(directory, writer_id);
    let make = || -> std::io::Result<File> {
        let file = open_options(true).open(&draft)?;
        file.lock()?;
        std::fs::rename(&draft, &path)?;
        Ok(file)
    };
    let file = make().map_err(|error| StoreError::from_io(&draft, &error))?;
    Ok(LockedFile { path, _file: file })
}

/// Whether someone holds the lock of a writer.
pub(super) fn is_alive(directory: &Path, writer_id: &str) -> Result<bool, StoreError> {
    let path = lock_path(directory, writer_id);
    let file = match open_options(false).open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(StoreError::from_io(&path, &error)),
    };
    // A shared lock, so that two processes that look at the same time both see the truth.
    match file.try_lock_shared() {
        Ok(()) => {
            let _ = std::fs::remove_file(&path);
            Ok(false)
        }
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(StoreError::from_io(&path, &error)),
    }
}

fn lock_path(directory: &Path, writer_id: &str) -> PathBuf {
    directory.join(format!("{writer_id}.lock"))
}

/// Removes drafts of processes that died between making and naming their file.
fn sweep(directory: &Path) {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return;
    };
    for path in entries.flatten().map(|entry| entry.path()) {
        let is_old = || {
            path.metadata()?
                .modified()?
                .elapsed()
                .map_err(std::io::Error::other)
        };
        if path.extension().is_some_and(|e| e == "new")
            && is_old().is_ok_and(|age| age > LEFTOVER_AGE)
        {
            let _ = std::fs::remove_file(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_writer_is_alive_exactly_while_its_lock_is_held() {
        let home = tempfile::tempdir().unwrap();
        let place = directory(&home.path().join("toolcrib.db"));
        assert_eq!(is_alive(&place, "a"), Ok(false), "never announced");
        let held = announce(&place, "a").unwrap();
        assert_eq!(is_alive(&place, "a"), Ok(true));
        assert_eq!(is_alive(&place, "a"), Ok(true), "looking changes nothing");
        drop(held);
        assert_eq!(is_alive(&place, "a"), Ok(false));
    }

    #[test]
    fn a_file_left_by_a_crash_is_removed() {
        let home = tempfile::tempdir().unwrap();
        let place = directory(&home.path().join("toolcrib.db"));
        make_directory(&place).unwrap();
        std::fs::write(place.join("b.lock"), "").unwrap();
        let draft = place.join("c.new");
        let file = File::create(&draft).unwrap();
        file.set_modified(std::time::SystemTime::now() - 2 * LEFTOVER_AGE)
            .unwrap();
        assert_eq!(is_alive(&place, "b"), Ok(false));
        assert!(!place.join("b.lock").exists());
        let held = announce(&place, "d").unwrap();
        assert!(!draft.exists());
        drop(held);
        assert_eq!(std::fs::read_dir(&place).unwrap().count(), 0);
    }

    #[test]
    fn a_directory_that_cannot_be_made_is_named() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("file");
        std::fs::write(&file, "").unwrap();
        let error = announce(&file.join("below"), "a").unwrap_err();
        assert!(error.to_string().contains("below"), "{error}");
        assert!(is_alive(&file.join("below"), "a").is_err());
    }
}
