//! Directories whose files are imported.

use std::fs;
use std::path::{Path, PathBuf};

use toolcrib_core::limits;

/// The files of a directory with one of these endings, by name, up to the bound on their number.
pub(crate) fn files(directory: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else {
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| {
            path.extension()
                .and_then(|e| e.to_str())
                .is_some_and(|e| endings.contains(&e))
        })
        .collect();
    paths.sort();
    paths.truncate(limits::IMPORT_DIRECTORY_FILES_MAX);
    paths
}
