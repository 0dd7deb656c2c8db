//! Which era of MCP each server spoke last, kept beside the lists so that the next process need not ask.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use toolcrib_core::limits::{CACHE_ERAS_MAX, CACHE_FILE_BYTES_MAX};

use super::{FORM, ListCache};
use crate::StoreError;

/// The one file. Its name is not that of a list.
const FILE: &str = "eras.json";

#[derive(Serialize, Deserialize)]
struct Eras {
    toolcrib_eras: u32,
    /// By the fingerprint of the server's configuration.
    eras: BTreeMap<String, String>,
}

impl ListCache {
    /// What is known of servers, by the fingerprints of their configurations. A file that is damaged
    /// or foreign knows nothing.
    pub fn eras(&self) -> BTreeMap<String, String> {
        if !self.options.enabled {
            return BTreeMap::new();
        }
        let bytes = self.disk.read(&self.eras_file(), CACHE_FILE_BYTES_MAX);
        let read: Option<Eras> = bytes
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok());
        read.filter(|read| read.toolcrib_eras == FORM)
            .map(|read| read.eras)
            .unwrap_or_default()
    }

    /// Keeps the era of a server beside what others kept. Two processes that write at once may lose
    /// one of two eras, which costs a question and no more.
    pub fn keep_era(&self, fingerprint: &str, era: &str) -> Result<(), StoreError> {
        if !self.options.enabled {
            return Ok(());
        }
        let mut eras = self.eras();
        if eras.get(fingerprint).is_some_and(|known| known == era) {
            return Ok(());
        }
        if eras.len() >= CACHE_ERAS_MAX {
            // Fingerprints of servers that are long gone gather here; those in use come back.
            eras.clear();
        }
        eras.insert(fingerprint.to_owned(), era.to_owned());
        let file = Eras {
            toolcrib_eras: FORM,
            eras,
        };
        let bytes =
            serde_json::to_vec(&file).map_err(|error| StoreError::failed(error.to_string()))?;
        let path = self.eras_file();
        self.disk
            .replace(&path, &bytes)
            .map_err(|error| StoreError::from_io(&path, &error))
    }

    /// Forgets every era.
    pub(super) fn clear_eras(&self) -> Result<(), StoreError> {
        self.remove(&self.eras_file()).map(drop)
    }

    fn eras_file(&self) -> PathBuf {
        self.options.directory.join(FILE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::CacheOptions;

    #[test]
    fn eras_are_kept_for_the_next_process_and_are_no_list() {
        let directory = tempfile::tempdir().unwrap();
        let cache = || ListCache::new(CacheOptions::new(directory.path().join("lists")));
        assert!(cache().eras().is_empty());
        cache().keep_era("f1", "legacy").unwrap();
        cache().keep_era("f2", "modern").unwrap();
        cache().keep_era("f1", "legacy").unwrap();
        let kept = cache().eras();
        assert_eq!(kept.get("f1").map(String::as_str), Some("legacy"));
        assert_eq!(kept.len(), 2);
        assert!(cache().inventory(0).unwrap().is_empty());
        assert_eq!(cache().clear().unwrap(), 0);
        assert!(cache().eras().is_empty());
    }

    #[test]
    fn a_damaged_file_a_full_one_and_a_cache_that_is_off_know_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(FILE);
        let options = CacheOptions::new(directory.path());
        let cache = ListCache::new(options.clone());
        std::fs::write(&path, "{\"toolcrib_eras\":2,\"eras\":{\"a\":\"modern\"}}").unwrap();
        assert!(cache.eras().is_empty());
        std::fs::write(&path, "nonsense").unwrap();
        cache.keep_era("a", "modern").unwrap();
        assert_eq!(cache.eras().len(), 1);
        let full = Eras {
            toolcrib_eras: FORM,
            eras: (0..CACHE_ERAS_MAX)
                .map(|n| (n.to_string(), "modern".to_owned()))
                .collect(),
        };
        std::fs::write(&path, serde_json::to_vec(&full).unwrap()).unwrap();
        cache.keep_era("a", "legacy").unwrap();
        assert_eq!(cache.eras().len(), 1);
        let off = ListCache::new(CacheOptions {
            enabled: false,
            ..options
        });
        off.keep_era("b", "legacy").unwrap();
        assert!(off.eras().is_empty());
        assert_eq!(cache.eras().len(), 1);
    }
}
