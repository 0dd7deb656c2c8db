//! The database file and its directory: made when missing, for their owner only.

use std::fs::{DirBuilder, File, OpenOptions};
use std::path::Path;

use crate::StoreError;

/// Makes the directory (0700) and an empty file (0600), or closes an existing file to others.
///
/// SQLite gives its write-ahead log the mode of the database file.
pub(super) fn prepare(path: &Path) -> Result<(), StoreError> {
    if let Some(directory) = path.parent().filter(|p| !p.as_os_str().is_empty()) {
        make_directory(directory)?;
    }
    let file = open_options(true)
        .open(path)
        .map_err(|error| explain(path, &error))?;
    close_to_others(path, &file)
}

/// Makes a directory and its parents for the owner only; one that is there stays as it is.
pub(super) fn make_directory(path: &Path) -> Result<(), StoreError> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path).map_err(|error| explain(path, &error))
}

/// Options that read and write, and make a missing file with mode 0600.
pub(super) fn open_options(create: bool) -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(create);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

#[cfg(unix)]
fn close_to_others(path: &Path, file: &File) -> Result<(), StoreError> {
    use std::os::unix::fs::PermissionsExt;
    let mut permissions = file
        .metadata()
        .map_err(|error| explain(path, &error))?
        .permissions();
    if permissions.mode() & 0o077 != 0 {
        permissions.set_mode(0o600);
        file.set_permissions(permissions)
            .map_err(|error| explain(path, &error))?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn close_to_others(_path: &Path, _file: &File) -> Result<(), StoreError> {
    Ok(())
}

fn explain(path: &Path, error: &std::io::Error) -> StoreError {
    match error.kind() {
        // A directory that is there but closed, or a file that is there but not writable.
        std::io::ErrorKind::PermissionDenied => StoreError::ReadOnly {
            path: path.to_owned(),
        },
        _ => StoreError::from_io(path, error),
    }
}
