//! The files that are changed, or what would become of them.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::client::ExportError;
use super::install::{disk, read, write};

/// The disk; in a rehearsal the disk as it would be, while nothing on it changes.
#[derive(Debug, Default)]
pub(super) struct Files {
    /// The texts that files would have; none for one that would be gone.
    rehearsed: Option<HashMap<PathBuf, Option<String>>>,
}

impl Files {
    /// From now on nothing is changed.
    pub(super) fn rehearse(&mut self) {
        self.rehearsed.get_or_insert_default();
    }

    pub(super) fn is_rehearsal(&self) -> bool {
        self.rehearsed.is_some()
    }

    pub(super) fn read(&self, path: &Path) -> Result<Option<String>, ExportError> {
        match self.rehearsed.as_ref().and_then(|files| files.get(path)) {
            Some(text) => Ok(text.clone()),
            None => read(path),
        }
    }

    pub(super) fn write(&mut self, path: &Path, text: &str) -> Result<(), ExportError> {
        let Some(files) = &mut self.rehearsed else {
            return write(path, text);
        };
        files.insert(path.to_owned(), Some(text.to_owned()));
        Ok(())
    }

    pub(super) fn remove(&mut self, path: &Path) -> Result<(), ExportError> {
        let Some(files) = &mut self.rehearsed else {
            return fs::remove_file(path).map_err(|source| disk(path, source));
        };
        files.insert(path.to_owned(), None);
        Ok(())
    }
}
