//! Which eras servers speak, kept on disk so that a silent server is probed once and not by each process.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use toolcrib_store::cache::ListCache;
use toolcrib_upstream::mcp::{Era, EraMemory};

/// A memory that keeps what it learns wherever the cache of the configuration is.
pub(super) fn telling(kept_in: Arc<ArcSwapOption<ListCache>>) -> EraMemory {
    EraMemory::telling(Box::new(move |fingerprint, era| {
        let Some(cache) = kept_in.load_full() else {
            return;
        };
        // A small file, written when a server is met for the first time.
        if let Err(error) = cache.keep_era(fingerprint, word(era)) {
            tracing::warn!(%error, "the era of a server was not kept");
        }
    }))
}

/// What earlier processes found out.
pub(super) fn kept(cache: &ListCache) -> Vec<(String, Era)> {
    let eras = cache.eras().into_iter();
    eras.filter_map(|(fingerprint, word)| Some((fingerprint, era(&word)?)))
        .collect()
}

fn word(era: Era) -> &'static str {
    match era {
        Era::Modern => "modern",
        Era::Legacy => "legacy",
    }
}

fn era(written: &str) -> Option<Era> {
    [Era::Modern, Era::Legacy]
        .into_iter()
        .find(|era| word(*era) == written)
}

#[cfg(test)]
mod tests {
    use toolcrib_store::cache::CacheOptions;

    use super::*;

    #[test]
    fn the_next_process_knows_what_this_one_found_out() {
        let directory = tempfile::tempdir().unwrap();
        let cache = || Arc::new(ListCache::new(CacheOptions::new(directory.path())));
        let memory = telling(Arc::new(ArcSwapOption::new(Some(cache()))));
        memory.remember("a", Era::Legacy);
        memory.remember("b", Era::Modern);
        cache().keep_era("c", "later than all").unwrap();
        assert_eq!(
            kept(&cache()),
            [("a".to_owned(), Era::Legacy), ("b".to_owned(), Era::Modern)]
        );
        // Without a configuration there is no place for it.
        telling(Arc::default()).remember("d", Era::Legacy);
        assert_eq!(kept(&cache()).len(), 2);
    }
}
