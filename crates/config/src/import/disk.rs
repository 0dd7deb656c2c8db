//! Files as they lie on the disk, read within bounds.

use std::fs;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toolcrib_core::limits;

use crate::diagnostic::Diagnostic;
use crate::text::Source;

/// The text of a file; `None` where there is none.
pub(crate) fn text(path: &Path) -> Result<Option<Arc<Source>>, Diagnostic> {
    let broken =
        |message: String| Diagnostic::error(message).about(&Source::new(path, String::new()));
    let file = match fs::File::open(path) {
        Ok(file) => file,
        Err(error) if is_absent(error.kind()) => return Ok(None),
        Err(error) => return Err(broken(format!("the file cannot be opened: {error}"))),
    };
    if file.metadata().is_ok_and(|m| !m.is_file()) {
        return Err(
            broken("there is a directory in place of the file".to_owned())
                .help("remove it, or name another file"),
        );
    }
    let mut bytes = Vec::new();
    let read = file
        .take(limits::CONFIG_FILE_BYTES_MAX + 1)
        .read_to_end(&mut bytes);
    if let Err(error) = read {
        return Err(broken(format!("the file cannot be read: {error}")));
    }
    if bytes.len() as u64 > limits::CONFIG_FILE_BYTES_MAX {
        return Err(broken(format!(
            "the file is larger than {} bytes",
            limits::CONFIG_FILE_BYTES_MAX
        )));
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Some(Source::new(path, text))),
        Err(error) => Err(broken(format!(
            "the file is not UTF-8 text: byte {} cannot be read",
            error.utf8_error().valid_up_to()
        ))
        .help("save it as UTF-8")),
    }
}

fn is_absent(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::NotADirectory)
}

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
