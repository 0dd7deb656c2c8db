//! Our entry on the disk: written with a backup beside the file, and taken back.

use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use super::client::{EmptyRoot, Entry, ExportError, add_entry, has_root, remove_entry};
use crate::import::Client;
use crate::output::{Destination, followed};
use crate::reader;

/// What stands between a file's name and the time in the name of its backup.
const BACKUP: &str = ".toolcrib-backup-";

/// What writing did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Written {
    /// The entry was there already, exactly so.
    Unchanged,
    /// The file was made.
    Created,
    /// The file was changed; its old content is in this file.
    Changed(PathBuf),
}

/// What taking back did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Undone {
    /// There was nothing of ours.
    Nothing,
    /// The file has its old content again, every byte of it.
    Restored,
    /// The file was ours alone and is gone.
    Deleted,
    /// The file was changed since, so only our entry was taken out.
    TakenOut,
}

/// Writes an entry into a client's file.
///
/// The old content goes into a file beside it, named after `time`, a UTC time such as
/// `20260131T120000Z`. The file is replaced in one step, with its permissions; a link stays a link.
pub fn install(
    client: &'static Client,
    path: &Path,
    entry: &Entry,
    time: &str,
) -> Result<Written, ExportError> {
    let path = &real(path);
    let old = read(path)?;
    let new = add_entry(client, path, old.as_deref(), entry)?;
    if old.as_ref() == Some(&new) {
        return Ok(Written::Unchanged);
    }
    exchange(path, old.as_deref(), &new, time)
}

/// Puts `new` in the place of `old`, which goes into a backup named after `time`.
pub(super) fn exchange(
    path: &Path,
    old: Option<&str>,
    new: &str,
    time: &str,
) -> Result<Written, ExportError> {
    if old.is_none() {
        replace(path, None, new)?;
        return Ok(Written::Created);
    }
    let backup = keep(path, time)?;
    match replace(path, old, new) {
        Ok(()) => Ok(Written::Changed(backup)),
        Err(error) => {
            // Nothing was changed, so it is a backup of nothing.
            let _ = fs::remove_file(&backup);
            Err(error)
        }
    }
}

/// Takes an entry out of a client's file again: back to the last backup where nothing else was
/// changed since, else only what was put in. A backup that the file did not go back to stays: it may be
/// the only copy of something.
pub fn uninstall(
    client: &'static Client,
    path: &Path,
    entry: &Entry,
) -> Result<Undone, ExportError> {
    let path = &real(path);
    let Some(current) = read(path)? else {
        return Ok(Undone::Nothing);
    };
    let before = last_backup(path)
        .map(|backup| read(&backup).map(|old| (backup, old.unwrap_or_default())))
        .transpose()?;
    if let Some((backup, old)) = &before
        && add_entry(client, path, Some(old), entry).is_ok_and(|new| new == current)
    {
        write(path, old)?;
        fs::remove_file(backup).map_err(|source| disk(backup, source))?;
        return Ok(Undone::Restored);
    }
    if add_entry(client, path, None, entry)? == current {
        fs::remove_file(path).map_err(|source| disk(path, source))?;
        return Ok(Undone::Deleted);
    }
    // The key that holds the servers goes too where it was not there before.
    let empty_root = match &before {
        Some((_, old)) if !has_root(client, path, old) => EmptyRoot::Remove,
        _ => EmptyRoot::Keep,
    };
    take_out(client, path, &current, entry, empty_root)
}

fn take_out(
    client: &'static Client,
    path: &Path,
    current: &str,
    entry: &Entry,
    empty_root: EmptyRoot,
) -> Result<Undone, ExportError> {
    let without = remove_entry(client, path, current, &entry.name, empty_root)?;
    if without == current {
        return Ok(Undone::Nothing);
    }
    write(path, &without)?;
    Ok(Undone::TakenOut)
}

/// The file that a path leads to, links followed.
pub(super) fn real(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| followed(path))
}

/// The backups of a file, oldest first.
pub fn backups(path: &Path) -> Vec<PathBuf> {
    let Some((folder, name)) = path.parent().zip(path.file_name()) else {
        return Vec::new();
    };
    let prefix = format!("{}{BACKUP}", name.to_string_lossy());
    let mut found: Vec<PathBuf> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|file| file.file_name().to_string_lossy().starts_with(&prefix))
        .map(|file| file.path())
        .collect();
    found.sort();
    found
}

fn last_backup(path: &Path) -> Option<PathBuf> {
    backups(path).pop()
}

/// Copies a file, with its permissions, into one beside it that is named after `time`, a UTC time such
/// as `20260131T120000Z`. Whoever does the same at the same time gets another name.
pub fn back_up(path: &Path, time: &str) -> std::io::Result<PathBuf> {
    let mut source = fs::File::open(path)?;
    let (mut copy, backup) = new_backup(path, time)?;
    copy.set_permissions(source.metadata()?.permissions())?;
    std::io::copy(&mut source, &mut copy)?;
    // Once the file is changed this is the only copy, also after a power cut.
    copy.sync_all()?;
    Ok(backup)
}

/// Backs up a file that was there when it was read.
pub(super) fn keep(path: &Path, time: &str) -> Result<PathBuf, ExportError> {
    back_up(path, time).map_err(|source| match source.kind() {
        ErrorKind::NotFound => ExportError::Changed {
            path: path.to_owned(),
        },
        _ => disk(path, source),
    })
}

/// A new file for a backup, for the user alone as yet.
fn new_backup(path: &Path, time: &str) -> std::io::Result<(fs::File, PathBuf)> {
    let time: String = time.chars().filter(char::is_ascii_alphanumeric).collect();
    let mut name = path.as_os_str().to_owned();
    name.push(BACKUP);
    name.push(&time);
    let mut candidate = PathBuf::from(&name);
    let mut options = fs::File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut count = 1;
    loop {
        match options.open(&candidate) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            opened => return opened.map(|file| (file, candidate)),
        }
        count += 1;
        let mut next = name.clone();
        next.push(format!("-{count}"));
        candidate = next.into();
    }
}

/// The text of a file, every byte of it; `None` where it is not there.
pub fn read(path: &Path) -> Result<Option<String>, ExportError> {
    match fs::read(path) {
        Ok(bytes) => String::from_utf8(bytes)
            .map(Some)
            .map_err(|_| ExportError::Broken {
                path: path.to_owned(),
                diagnostics: reader::read_text(path, path)
                    .err()
                    .map(|d| *d)
                    .into_iter()
                    .collect(),
            }),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(source) => Err(disk(path, source)),
    }
}

/// What a file must be at the moment in which it is written.
#[derive(Clone, Copy)]
enum Former<'a> {
    Whatever,
    /// Exactly this text; `None` stands for no file.
    Still(Option<&'a str>),
}

/// Writes a file, whatever it was.
pub(super) fn write(path: &Path, text: &str) -> Result<(), ExportError> {
    put(path, text, Former::Whatever)
}

/// Writes a file that is still what was read of it.
pub(super) fn replace(path: &Path, old: Option<&str>, text: &str) -> Result<(), ExportError> {
    put(path, text, Former::Still(old))
}

fn put(path: &Path, text: &str, former: Former<'_>) -> Result<(), ExportError> {
    let attempt = || -> std::io::Result<bool> {
        fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
        let path = match Destination::of(path)? {
            Destination::File(path) => path,
            Destination::Straight(mut straight) => {
                return straight.write_all(text.as_bytes()).map(|()| true);
            }
        };
        let folder = path.parent().unwrap_or(Path::new("."));
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(text.as_bytes())?;
        if let Ok(old) = fs::metadata(&path) {
            file.as_file().set_permissions(old.permissions())?;
        }
        file.as_file().sync_all()?;
        match former {
            Former::Still(None) => match file.persist_noclobber(path) {
                Err(refused) if refused.error.kind() == ErrorKind::AlreadyExists => {
                    return Ok(false);
                }
                kept => kept?,
            },
            Former::Still(Some(old)) if !is_still(&path, old)? => return Ok(false),
            _ => file.persist(path)?,
        };
        Ok(true)
    };
    match attempt() {
        Ok(true) => Ok(()),
        Ok(false) => Err(ExportError::Changed {
            path: path.to_owned(),
        }),
        Err(source) => Err(disk(path, source)),
    }
}

fn is_still(path: &Path, old: &str) -> std::io::Result<bool> {
    match fs::read(path) {
        Ok(now) => Ok(now == old.as_bytes()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

pub(super) fn disk(path: &Path, source: std::io::Error) -> ExportError {
    ExportError::Disk {
        path: path.to_owned(),
        source,
    }
}
