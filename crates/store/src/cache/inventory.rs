//! What a cache holds, for people to look at.

use toolcrib_core::limits::CACHE_FILE_BYTES_MAX;

use super::{FORM, Kind, ListCache, Read, is_list};
use crate::StoreError;

/// One list that is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// What it holds.
    pub kind: Kind,
    /// The server or the query.
    pub name: String,
    /// How many items it has.
    pub items: usize,
    /// How large its file is.
    pub bytes: usize,
    /// When it was stored.
    pub stored_ms: i64,
    /// Whether it is older than its time to live.
    pub stale: bool,
}

impl ListCache {
    /// Every list on disk, by kind and name, whatever configuration it was stored under. Files that
    /// are damaged or foreign are left out.
    pub fn inventory(&self, now_ms: i64) -> Result<Vec<Kept>, StoreError> {
        let mut all = Vec::new();
        for (path, _) in self.files()? {
            if !is_list(&path) {
                continue;
            }
            let Ok(bytes) = self.disk.read(&path, CACHE_FILE_BYTES_MAX) else {
                continue;
            };
            let Ok(read) = serde_json::from_slice::<Read>(&bytes) else {
                continue;
            };
            if read.toolcrib_cache == FORM {
                let stale = self.staleness(read.kind, read.stored_ms, read.fresh_ms, now_ms);
                all.push(Kept {
                    kind: read.kind,
                    name: read.name,
                    items: read.items.len(),
                    bytes: bytes.len(),
                    stored_ms: read.stored_ms,
                    stale: stale.unwrap_or(true),
                });
            }
        }
        all.sort_by(|a, b| {
            let order = |kept: &Kept| kept.kind != Kind::Tools;
            (order(a), &a.name).cmp(&(order(b), &b.name))
        });
        Ok(all)
    }
}
