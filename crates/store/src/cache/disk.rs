//! The few things that the cache asks of a disk.

use std::fs::{DirBuilder, File, Metadata};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// What the names of half-written files begin with.
pub(super) const TEMPORARY_PREFIX: &str = ".toolcrib-";

/// Tells one state of a file from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    modified: SystemTime,
    bytes: u64,
}

impl Stamp {
    fn of(metadata: &Metadata) -> io::Result<Self> {
        Ok(Self {
            modified: metadata.modified()?,
            bytes: metadata.len(),
        })
    }

    /// The state as two numbers: nanoseconds since the epoch, and bytes.
    pub(super) fn parts(self) -> (u64, u64) {
        let since = self.modified.duration_since(UNIX_EPOCH).unwrap_or_default();
        (
            u64::try_from(since.as_nanos()).unwrap_or(u64::MAX),
            self.bytes,
        )
    }

    /// When the file was last written.
    pub(super) fn modified_ms(self) -> i64 {
        let since = self.modified.duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    }
}

/// Files, as the cache needs them.
pub trait Disk: Send + Sync {
    /// The state of a file.
    fn stamp(&self, path: &Path) -> io::Result<Stamp>;

    /// The content of a file that is no larger than `bytes_max` and that only its owner can use.
    fn read(&self, path: &Path, bytes_max: u64) -> io::Result<Vec<u8>>;

    /// Puts a whole file in the place of another, readable by its owner only. Readers see the one or
    /// the other and nothing between.
    fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()>;

    /// Removes a file; `false` when there is none.
    fn remove(&self, path: &Path) -> io::Result<bool>;

    /// The files of a directory; none when there is no such directory.
    fn list(&self, directory: &Path) -> io::Result<Vec<(PathBuf, Stamp)>>;
}

/// The disk of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct LocalDisk;

impl Disk for LocalDisk {
    fn stamp(&self, path: &Path) -> io::Result<Stamp> {
        Stamp::of(&std::fs::symlink_metadata(path)?)
    }

    fn read(&self, path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
        // A link, or a file that others could have written, may come from anywhere: a checked-out
        // repository, for instance, that brings its own cache directory.
        if !is_private(&std::fs::symlink_metadata(path)?) {
            return Err(ErrorKind::PermissionDenied.into());
        }
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        if length > bytes_max {
            return Err(ErrorKind::FileTooLarge.into());
        }
        let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
        file.take(bytes_max).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let directory = path.parent().unwrap_or(Path::new("."));
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(directory)?;
        // Made with mode 0600, and removed again if something fails before it gets its name.
        let mut file = tempfile::Builder::new()
            .prefix(TEMPORARY_PREFIX)
            .suffix(".tmp")
            .tempfile_in(directory)?;
        file.write_all(bytes)?;
        file.persist(path)?;
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<bool> {
        match std::fs::remove_file(path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<(PathBuf, Stamp)>> {
        let entries = match std::fs::read_dir(directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut files = Vec::new();
        for entry in entries {
            let entry = entry?;
            // Another process may remove it meanwhile.
            if let Ok(metadata) = entry.metadata()
                && metadata.is_file()
            {
                files.push((entry.path(), Stamp::of(&metadata)?));
            }
        }
        Ok(files)
    }
}

#[cfg(unix)]
fn is_private(metadata: &Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let for_others = metadata.permissions().mode() & 0o077;
    metadata.is_file() && for_others == 0
}

#[cfg(not(unix))]
fn is_private(metadata: &Metadata) -> bool {
    metadata.is_file()
}
