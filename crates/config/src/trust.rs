//! Which files of working directories the user has said may be used.
//!
//! A configuration file can start processes. One that came with a cloned repository is therefore
//! listed but not used until its exact content has been trusted; a change asks again.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Whether a file may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// Its content is what the user trusted.
    Trusted,
    /// The user trusted an earlier content.
    Changed,
    /// The user never said anything about it.
    Unknown,
}

/// The record of trusted files, kept in one file of the user's data directory.
#[derive(Debug, Default)]
pub struct TrustStore {
    path: PathBuf,
    files: BTreeMap<PathBuf, String>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct OnDisk {
    version: u32,
    files: BTreeMap<PathBuf, String>,
}

const VERSION: u32 = 1;

/// Why the record cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// It cannot be read or written.
    #[error("the trust record {path} cannot be {action}: {source}; check its permissions")]
    Io {
        /// The file of the record.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// It is not a trust record of this version.
    #[error(
        "the trust record {path} is damaged or from a newer version; move it away and run `toolcrib trust` again"
    )]
    Damaged {
        /// The file of the record.
        path: PathBuf,
    },
}

impl TrustStore {
    /// Reads the record; one that is not there yet is empty.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, TrustError> {
        let path = path.into();
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Self {
                    path,
                    files: BTreeMap::new(),
                });
            }
            Err(source) => {
                return Err(TrustError::Io {
                    path,
                    action: "read",
                    source,
                });
            }
        };
        match serde_json::from_slice::<OnDisk>(&bytes) {
            Ok(on_disk) if on_disk.version == VERSION => Ok(Self {
                path,
                files: on_disk.files,
            }),
            _ => Err(TrustError::Damaged { path }),
        }
    }

    /// Whether a file with this content may be used.
    pub fn state(&self, file: &Path, content: &str) -> Trust {
        self.state_of_hash(file, &hash_of(content))
    }

    /// As [`TrustStore::state`], for content that is known by its BLAKE3 hash in hex.
    pub fn state_of_hash(&self, file: &Path, content: &str) -> Trust {
        match self.files.get(&identity(file)) {
            Some(hash) if hash == content => Trust::Trusted,
            Some(_) => Trust::Changed,
            None => Trust::Unknown,
        }
    }

    /// Records that a file with this content may be used.
    pub fn trust(&mut self, file: &Path, content: &str) {
        self.files.insert(identity(file), hash_of(content));
    }

    /// Forgets a file, or every file below a directory. Gives what was forgotten.
    pub fn revoke(&mut self, place: &Path) -> Vec<PathBuf> {
        let place = identity(place);
        let gone: Vec<PathBuf> = self
            .files
            .keys()
            .filter(|file| file.starts_with(&place))
            .cloned()
            .collect();
        for file in &gone {
            self.files.remove(file);
        }
        gone
    }

    /// Every file that was trusted.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.files.keys().map(PathBuf::as_path)
    }

    /// Writes the record in one step, readable by the user alone.
    pub fn save(&self) -> Result<(), TrustError> {
        let failed = |source| TrustError::Io {
            path: self.path.clone(),
            action: "written",
            source,
        };
        let on_disk = OnDisk {
            version: VERSION,
            files: self.files.clone(),
        };
        let text =
            serde_json::to_string_pretty(&on_disk).map_err(|e| failed(io::Error::other(e)))?;
        write_private(&self.path, text.as_bytes()).map_err(failed)
    }
}

/// Writes a file whole or not at all, with permissions for the user alone.
pub fn write_private(path: &Path, content: &[u8]) -> io::Result<()> {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    std::fs::create_dir_all(directory)?;
    // A temporary file of this crate is created with mode 0600 on Unix.
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    file.write_all(content)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

/// The path by which a file is known: absolute and without links where that can be found out.
fn identity(file: &Path) -> PathBuf {
    std::fs::canonicalize(file)
        .or_else(|_| std::path::absolute(file))
        .unwrap_or_else(|_| file.to_owned())
}

fn hash_of(content: &str) -> String {
    blake3::hash(content.as_bytes()).to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trust_is_pinned_to_the_content_and_survives_a_restart() {
        let dir = tempfile::tempdir().unwrap();
        let record = dir.path().join("data/trust.json");
        let file = dir.path().join("toolcrib.yaml");
        std::fs::write(&file, "a: 1").unwrap();
        let mut store = TrustStore::open(&record).unwrap();
        assert_eq!(store.state(&file, "a: 1"), Trust::Unknown);
        store.trust(&file, "a: 1");
        store.save().unwrap();
        let again = TrustStore::open(&record).unwrap();
        assert_eq!(again.state(&file, "a: 1"), Trust::Trusted);
        assert_eq!(again.state(&file, "a: 2"), Trust::Changed);
        assert_eq!(again.files().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn the_record_is_for_the_user_alone_and_a_link_is_the_file_it_points_to() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let record = dir.path().join("trust.json");
        let file = dir.path().join("real.yaml");
        std::fs::write(&file, "x").unwrap();
        let link = dir.path().join("toolcrib.yaml");
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let mut store = TrustStore::open(&record).unwrap();
        store.trust(&link, "x");
        assert_eq!(store.state(&file, "x"), Trust::Trusted);
        store.save().unwrap();
        let mode = std::fs::metadata(&record).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn revoking_a_directory_forgets_what_is_below_it() {
        let dir = tempfile::tempdir().unwrap();
        let mut store = TrustStore::open(dir.path().join("t.json")).unwrap();
        for name in ["a/toolcrib.yaml", "a/.mcp.json", "b/toolcrib.yaml"] {
            let file = dir.path().join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, "").unwrap();
            store.trust(&file, "");
        }
        assert_eq!(store.revoke(&dir.path().join("a")).len(), 2);
        assert_eq!(store.files().count(), 1);
    }

    #[test]
    fn a_damaged_record_is_an_error_and_trusts_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let record = dir.path().join("trust.json");
        for text in ["", "{}", "{\"version\":9,\"files\":{}}"] {
            std::fs::write(&record, text).unwrap();
            let error = TrustStore::open(&record).unwrap_err().to_string();
            assert!(error.contains("toolcrib trust"), "{error}");
        }
        assert!(TrustStore::open(dir.path()).is_err());
    }
}
