//! What was made from a kept list, kept beside it: good as long as the list is.

use toolcrib_core::limits::CACHE_FILE_BYTES_MAX;
use toolcrib_core::written::{Reader, Writer};

use super::{Kind, ListCache, file_name};
use crate::StoreError;

/// The version of these files' form.
const FORM: u32 = 2;
/// What the names of these files end with.
pub(super) const EXTENSION: &str = "kit";

/// Bytes that were made from a list, and how the list stands.
#[derive(Debug)]
pub struct Made {
    file: Vec<u8>,
    from: usize,
    /// When the list was stored.
    pub stored_ms: i64,
    /// How long the list counts as fresh at most, where whoever gave it said so.
    pub fresh_ms: Option<i64>,
    /// Whether the list is older than its time to live.
    pub stale: bool,
}

impl Made {
    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        self.file.get(self.from..).unwrap_or_default()
    }
}

impl ListCache {
    /// What was made from the tools of a server, if the list on disk is still the one that it was made
    /// from and would answer [`ListCache::get_tools`] itself. The list is not read.
    pub fn get_made(&self, server: &str, fingerprint: &str, now_ms: i64) -> Option<Made> {
        if !self.options.enabled {
            return None;
        }
        let list = self.options.directory.join(file_name(Kind::Tools, server));
        let stamp = self.disk.stamp(&list).ok()?.parts();
        let path = list.with_extension(EXTENSION);
        let file = self.disk.read(&path, CACHE_FILE_BYTES_MAX).ok()?;
        let mut from = Reader::new(&file);
        let ours = from.u32()? == FORM
            && from.text()? == server
            && from.text()? == fingerprint
            && (from.u64()?, from.u64()?) == stamp;
        let stored_ms = from.u64()?.cast_signed();
        // Nobody says of a list that it is fresh for no time at all.
        let fresh_ms = Some(from.u64()?.cast_signed()).filter(|fresh| *fresh > 0);
        let sum = from.bytes()?;
        let made = from.bytes()?;
        if !ours || from.left() > 0 || blake3::hash(made).as_bytes() != sum {
            return None;
        }
        let start = file.len() - made.len();
        Some(Made {
            stale: self.staleness(Kind::Tools, stored_ms, fresh_ms, now_ms)?,
            file,
            from: start,
            stored_ms,
            fresh_ms,
        })
    }

    /// Keeps what was made from the tools of a server that were stored at this time; `false` where
    /// another list has taken their place, or none is on disk.
    pub fn store_made(
        &self,
        server: &str,
        fingerprint: &str,
        stored_ms: i64,
        made: &[u8],
        now_ms: i64,
    ) -> Result<bool, StoreError> {
        let key = file_name(Kind::Tools, server);
        let list = self.options.directory.join(&key);
        let held = self
            .memory
            .get(&key, now_ms)
            .filter(|held| held.stored_ms == stored_ms && *held.fingerprint == *fingerprint);
        let fresh_ms = held.as_ref().and_then(|held| held.fresh_ms);
        let stamp = held.and_then(|held| held.stamp);
        let Some(stamp) = stamp.filter(|stamp| self.disk.stamp(&list).ok() == Some(*stamp)) else {
            return Ok(false);
        };
        let mut to = Writer::default();
        to.u32(FORM);
        to.text(server);
        to.text(fingerprint);
        let (modified, bytes) = stamp.parts();
        to.u64(modified);
        to.u64(bytes);
        to.u64(stored_ms.cast_unsigned());
        to.u64(fresh_ms.unwrap_or_default().cast_unsigned());
        to.bytes(blake3::hash(made).as_bytes());
        to.bytes(made);
        let bytes = to.into_bytes();
        if bytes.len() as u64 > CACHE_FILE_BYTES_MAX {
            return Ok(false);
        }
        let path = list.with_extension(EXTENSION);
        self.disk
            .replace(&path, &bytes)
            .map_err(|error| StoreError::from_io(&path, &error))?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;
    use crate::cache::CacheOptions;

    const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

    fn list(text: &str) -> Vec<Box<RawValue>> {
        vec![RawValue::from_string(text.to_owned()).unwrap()]
    }

    #[test]
    fn what_was_made_is_good_as_long_as_its_list() {
        let home = tempfile::tempdir().unwrap();
        let open = || ListCache::new(CacheOptions::new(home.path().join("lists")));
        let cache = open();
        assert!(
            !cache.store_made("s", "f", 5, b"made", 5).unwrap(),
            "no list"
        );
        cache.store_tools("s", "f", list("1"), 5).unwrap();
        assert!(
            !cache.store_made("s", "f", 4, b"made", 5).unwrap(),
            "another list"
        );
        assert!(
            !cache.store_made("s", "g", 5, b"made", 5).unwrap(),
            "another server"
        );
        assert!(cache.store_made("s", "f", 5, b"made", 5).unwrap());
        let made = open().get_made("s", "f", 6).unwrap();
        assert_eq!(
            (made.bytes(), made.stored_ms, made.stale),
            (&b"made"[..], 5, false)
        );
        assert!(open().get_made("s", "f", 2 * DAY_MS).unwrap().stale);
        assert!(open().get_made("s", "g", 6).is_none());
        assert!(open().get_made("t", "f", 6).is_none());
        assert!(open().get_made("s", "f", i64::MAX).is_none(), "too old");
        assert_eq!(
            open().inventory(6).unwrap().len(),
            1,
            "it is no list itself"
        );
        cache.store_tools("s", "f", list("22"), 7).unwrap();
        assert!(
            open().get_made("s", "f", 8).is_none(),
            "the list is another"
        );
    }

    #[test]
    fn damaged_bytes_and_cleared_lists_give_nothing() {
        let home = tempfile::tempdir().unwrap();
        let cache = ListCache::new(CacheOptions::new(home.path()));
        let keep = || {
            cache.store_tools("s", "f", list("1"), 5).unwrap();
            assert!(cache.store_made("s", "f", 5, b"made", 5).unwrap());
        };
        keep();
        let path = home.path().join("tools_s.kit");
        let whole = std::fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            std::fs::write(&path, &damaged).unwrap();
            let read = cache.get_made("s", "f", 6);
            assert!(read.is_none_or(|made| made.bytes() == b"made"), "{at}");
            std::fs::write(&path, &whole[..at]).unwrap();
            assert!(cache.get_made("s", "f", 6).is_none(), "{at}");
        }
        keep();
        assert!(cache.clear_server("s").unwrap());
        assert!(!path.exists());
        keep();
        assert_eq!(cache.clear().unwrap(), 1);
        assert!(!path.exists());
    }
}
