//! What the local copy of the registry index says about releases that their author took back.
//!
//! Cargo keeps the index entries of the crates it resolved. They are read where they are, never fetched, so the
//! answer may be "not known".

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// Releases and whether they are yanked.
#[derive(Debug, Default)]
pub(crate) struct Index {
    cache_dirs: Vec<PathBuf>,
    known: BTreeMap<(String, String), bool>,
}

#[derive(Deserialize)]
struct Release {
    vers: String,
    #[serde(default)]
    yanked: bool,
}

impl Index {
    /// The entries that cargo has on this machine.
    pub(crate) fn of_cargo() -> Self {
        let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
        let home = home.or_else(|| std::env::home_dir().map(|home| home.join(".cargo")));
        let registries = home
            .map(|home| home.join("registry/index"))
            .and_then(|dir| std::fs::read_dir(dir).ok());
        let dirs = registries
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path().join(".cache"));
        Self {
            cache_dirs: dirs.filter(|dir| dir.is_dir()).collect(),
            known: BTreeMap::new(),
        }
    }

    #[cfg(test)]
    pub(crate) fn with(releases: &[(&str, &str, bool)]) -> Self {
        let known = releases
            .iter()
            .map(|(name, version, yanked)| (((*name).into(), (*version).into()), *yanked));
        Self {
            cache_dirs: Vec::new(),
            known: known.collect(),
        }
    }

    /// Whether a release is yanked, where that is known.
    pub(crate) fn is_yanked(&self, name: &str, version: &str) -> Option<bool> {
        if let Some(known) = self.known.get(&(name.to_owned(), version.to_owned())) {
            return Some(*known);
        }
        let place = place(name);
        self.cache_dirs
            .iter()
            .find_map(|dir| read(&dir.join(&place), version))
    }
}

/// Where the index keeps a crate: `1/a`, `2/ab`, `3/a/abc`, `ab/cd/abcd…`.
fn place(name: &str) -> PathBuf {
    let name = name.to_lowercase();
    match name.len() {
        0..=2 => Path::new(&name.len().to_string()).join(&name),
        3 => Path::new("3").join(&name[..1]).join(&name),
        _ => Path::new(&name[..2]).join(&name[2..4]).join(&name),
    }
}

/// Cached entries are JSON objects between NUL bytes, after a header that differs between releases of cargo.
fn read(path: &Path, version: &str) -> Option<bool> {
    let bytes = std::fs::read(path).ok()?;
    let objects = bytes
        .split(|byte| *byte == 0)
        .filter(|part| part.first() == Some(&b'{'));
    let releases = objects.filter_map(|part| serde_json::from_slice::<Release>(part).ok());
    releases
        .filter(|release| release.vers == version)
        .map(|release| release.yanked)
        .next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_are_looked_up_where_the_index_keeps_them() {
        for (name, expect) in [
            ("a", "1/a"),
            ("ab", "2/ab"),
            ("Syn", "3/s/syn"),
            ("serde", "se/rd/serde"),
        ] {
            assert_eq!(place(name), Path::new(expect));
        }
    }

    #[test]
    fn a_cached_entry_says_what_was_yanked() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("se/rd/serde");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        let entry = b"\x03\x02\0\0\0etag: x\x001.0.0\0{\"name\":\"serde\",\"vers\":\"1.0.0\",\"yanked\":true}\x001.0.1\0{\"name\":\"serde\",\"vers\":\"1.0.1\",\"yanked\":false}\0";
        std::fs::write(&file, entry).unwrap();
        let index = Index {
            cache_dirs: vec![dir.path().to_owned()],
            known: BTreeMap::new(),
        };
        assert_eq!(index.is_yanked("serde", "1.0.0"), Some(true));
        assert_eq!(index.is_yanked("serde", "1.0.1"), Some(false));
        assert_eq!(index.is_yanked("serde", "9.0.0"), None);
        assert_eq!(index.is_yanked("other", "1.0.0"), None);
    }
}
