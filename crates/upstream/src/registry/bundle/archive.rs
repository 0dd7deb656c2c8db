//! A zip archive in memory: its directory read and judged as a whole before anything is unpacked.
//!
//! Stored and deflated files are read; encryption, several volumes and the 64-bit form are not, since
//! no bundle within the bounds needs them.

use std::collections::HashSet;
use std::fs::{DirBuilder, OpenOptions};
use std::io::{Read, Write as _};
use std::path::{Path, PathBuf};

use flate2::Crc;
use flate2::read::DeflateDecoder;
use toolcrib_core::limits::{
    BUNDLE_ENTRIES_MAX, BUNDLE_MANIFEST_BYTES_MAX, BUNDLE_NAME_BYTES_MAX, BUNDLE_UNPACKED_BYTES_MAX,
};

use super::{BundleError, MANIFEST};

/// Bytes of the record at the end of an archive, without its comment.
const END_BYTES: usize = 22;
/// Bytes of a file's record in the directory, without its texts.
const RECORD_BYTES: usize = 46;
/// Bytes of the head before a file's content, without its texts.
const HEAD_BYTES: usize = 30;
/// The bits of a Unix mode that tell what a file is, and what they are for files and directories.
const KIND: u32 = 0o170_000;
const KIND_FILE: u32 = 0o100_000;
const KIND_DIRECTORY: u32 = 0o040_000;

/// An archive whose names and sizes are within the bounds.
#[derive(Debug)]
pub struct Archive {
    bytes: Vec<u8>,
    files: Vec<File>,
}

#[derive(Debug)]
struct File {
    name: String,
    is_directory: bool,
    is_executable: bool,
    is_deflated: bool,
    start: usize,
    packed: usize,
    size: usize,
    crc: u32,
}

/// What an archive may hold.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) entries: usize,
    pub(super) bytes: u64,
}

impl Archive {
    /// Reads the directory of an archive.
    pub fn read(bytes: Vec<u8>) -> Result<Self, BundleError> {
        let bounds = Bounds {
            entries: BUNDLE_ENTRIES_MAX,
            bytes: BUNDLE_UNPACKED_BYTES_MAX,
        };
        Self::read_within(bytes, bounds)
    }

    pub(super) fn read_within(bytes: Vec<u8>, bounds: Bounds) -> Result<Self, BundleError> {
        let (count, mut at) = directory(&bytes).ok_or_else(|| not("it has no directory"))?;
        if count > bounds.entries {
            return Err(BundleError::TooMany);
        }
        let mut files = Vec::with_capacity(count);
        let (mut names, mut total) = (HashSet::new(), 0_u64);
        for _ in 0..count {
            let (file, next) = record(&bytes, at)?;
            at = next;
            total += file.size as u64;
            if total > bounds.bytes {
                return Err(BundleError::TooMuch);
            }
            if !names.insert(file.name.to_lowercase()) {
                return Err(not(&format!("it holds {:?} twice", file.name)));
            }
            files.push(file);
        }
        Ok(Self { bytes, files })
    }

    /// Whether it holds a file of that name.
    pub fn holds(&self, name: &str) -> bool {
        self.file(name).is_some()
    }

    /// The text of its manifest.
    pub fn manifest(&self) -> Result<Vec<u8>, BundleError> {
        let missing = || BundleError::Manifest("it is not there".to_owned());
        let file = self.file(MANIFEST).ok_or_else(missing)?;
        if file.size > BUNDLE_MANIFEST_BYTES_MAX {
            return Err(BundleError::Manifest("it is too large".to_owned()));
        }
        self.content(file)
    }

    /// Unpacks everything into a directory that is not there yet: beside it first, so that it is there
    /// whole or not at all. `programs` are made executable whatever the archive says of them.
    pub fn unpack(&self, directory: &Path, programs: &[String]) -> Result<(), BundleError> {
        let parent = directory.parent().unwrap_or(directory);
        private(parent).map_err(|error| disk(parent, &error))?;
        let beside = tempfile::Builder::new()
            .prefix(".unpacking-")
            .tempdir_in(parent)
            .map_err(|error| disk(parent, &error))?;
        for file in &self.files {
            let path = beside.path().join(inner(&file.name));
            if file.is_directory {
                private(&path).map_err(|error| disk(&path, &error))?;
                continue;
            }
            if let Some(folder) = path.parent() {
                private(folder).map_err(|error| disk(folder, &error))?;
            }
            let content = self.content(file)?;
            let runs = file.is_executable || programs.contains(&file.name);
            write(&path, &content, runs).map_err(|error| disk(&path, &error))?;
        }
        match std::fs::rename(beside.path(), directory) {
            Ok(()) => {
                // What was renamed is not to be cleared away.
                let _ = beside.keep();
                Ok(())
            }
            // Somebody else was faster; what has the same hash is the same.
            Err(_) if directory.join(MANIFEST).is_file() => Ok(()),
            Err(error) => Err(disk(directory, &error)),
        }
    }

    fn file(&self, name: &str) -> Option<&File> {
        let mut files = self.files.iter();
        files.find(|file| file.name == name && !file.is_directory)
    }

    /// The content of a file, which is as long as the directory says or refused.
    fn content(&self, file: &File) -> Result<Vec<u8>, BundleError> {
        let packed = file
            .start
            .checked_add(file.packed)
            .and_then(|end| self.bytes.get(file.start..end))
            .ok_or_else(|| not(&format!("{:?} is cut off", file.name)))?;
        let mut content = Vec::new();
        let most = file.size as u64 + 1;
        let read = if file.is_deflated {
            DeflateDecoder::new(packed)
                .take(most)
                .read_to_end(&mut content)
        } else {
            packed.take(most).read_to_end(&mut content)
        };
        let mut crc = Crc::new();
        crc.update(&content);
        if read.is_err() || content.len() != file.size || crc.sum() != file.crc {
            return Err(not(&format!("{:?} is damaged", file.name)));
        }
        Ok(content)
    }
}

/// How many files there are and where their records begin. What follows the archive, such as a
/// signature, is passed over.
fn directory(bytes: &[u8]) -> Option<(usize, usize)> {
    let last = bytes.len().checked_sub(END_BYTES)?;
    let first = last.saturating_sub(usize::from(u16::MAX));
    (first..=last).rev().find_map(|at| {
        let is_end = bytes[at..].starts_with(b"PK\x05\x06");
        let one_volume = short(bytes, at + 4)? == 0 && short(bytes, at + 6)? == 0;
        let count = short(bytes, at + 10)?;
        let size = long(bytes, at + 12)? as usize;
        let start = long(bytes, at + 16)? as usize;
        let fits = start.checked_add(size).is_some_and(|end| end <= at);
        (is_end && one_volume && fits && count != usize::from(u16::MAX)).then_some((count, start))
    })
}

/// The file whose record begins at a place, and where the next record begins.
fn record(bytes: &[u8], at: usize) -> Result<(File, usize), BundleError> {
    let cut = || not("its directory is cut off");
    let record = bytes.get(at..at.saturating_add(RECORD_BYTES));
    let record = record
        .filter(|record| record.starts_with(b"PK\x01\x02"))
        .ok_or_else(cut)?;
    let short = |at: usize| short(record, at).ok_or_else(cut);
    let long = |at: usize| long(record, at).ok_or_else(cut);
    let (made_by, flags, method) = (short(4)? >> 8, short(8)?, short(10)?);
    let (name_bytes, beside) = (short(28)?, short(30)? + short(32)?);
    let name_at = at + RECORD_BYTES;
    let raw = bytes.get(name_at..name_at + name_bytes).ok_or_else(cut)?;
    let written = std::str::from_utf8(raw)
        .map_err(|_| BundleError::Outside(String::from_utf8_lossy(raw).into_owned()))?;
    let name = written.strip_suffix('/').unwrap_or(written);
    if !is_inside(name) {
        return Err(BundleError::Outside(written.to_owned()));
    }
    // Three and nineteen are Unix and macOS, whose modes stand in the upper half.
    let mode = match made_by {
        3 | 19 => long(38)? >> 16,
        _ => 0,
    };
    let is_directory = written.ends_with('/');
    let kind = if is_directory {
        KIND_DIRECTORY
    } else {
        KIND_FILE
    };
    if ![0, kind].contains(&(mode & KIND)) {
        return Err(BundleError::NotFile(written.to_owned()));
    }
    if flags & 1 != 0 || !matches!(method, 0 | 8) {
        return Err(not(&format!(
            "{name:?} is encrypted or packed in a way that is not known"
        )));
    }
    let head_at = long(42)? as usize;
    let file = File {
        name: name.to_owned(),
        is_directory,
        is_executable: mode & 0o111 != 0,
        is_deflated: method == 8,
        start: content_at(bytes, head_at).ok_or_else(|| not(&format!("{name:?} is cut off")))?,
        packed: long(20)? as usize,
        size: long(24)? as usize,
        crc: long(16)?,
    };
    Ok((file, name_at + name_bytes + beside))
}

/// Where the content behind a head begins.
fn content_at(bytes: &[u8], head: usize) -> Option<usize> {
    bytes
        .get(head..)?
        .starts_with(b"PK\x03\x04")
        .then_some(())?;
    let texts = short(bytes, head + 26)? + short(bytes, head + 28)?;
    Some(head + HEAD_BYTES + texts)
}

/// Whether a name is that of something inside a directory, on every operating system.
pub(super) fn is_inside(name: &str) -> bool {
    let good =
        |part: &str| !part.is_empty() && !matches!(part, "." | "..") && !part.ends_with(['.', ' ']);
    name.len() <= BUNDLE_NAME_BYTES_MAX
        && !name.contains(['\\', ':'])
        && !name.chars().any(char::is_control)
        && name.split('/').all(good)
}

fn inner(name: &str) -> PathBuf {
    name.split('/').collect()
}

/// Makes a directory that is only the user's, with those above it.
fn private(path: &Path) -> std::io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Writes a file that is not there yet.
#[cfg_attr(not(unix), expect(unused_variables, reason = "only Unix has the bit"))]
fn write(path: &Path, content: &[u8], runs: bool) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, if runs { 0o700 } else { 0o600 });
    options.open(path)?.write_all(content)
}

fn short(bytes: &[u8], at: usize) -> Option<usize> {
    let pair = bytes.get(at..at.checked_add(2)?)?;
    Some(usize::from(u16::from_le_bytes(pair.try_into().ok()?)))
}

fn long(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(four.try_into().ok()?))
}

fn not(reason: &str) -> BundleError {
    BundleError::NotArchive(reason.to_owned())
}

fn disk(path: &Path, error: &std::io::Error) -> BundleError {
    BundleError::Disk {
        path: path.to_owned(),
        reason: error.to_string(),
    }
}
