//! Which eras servers speak, kept on disk so that a silent server is probed once and not by each process.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use toolcrib_store::cache::ListCache;
use toolcrib_upstream::mcp::{Era, EraMemory, Manner};

/// A memory that keeps what it learns wherever the cache of the configuration is.
pub(super) fn telling(kept_in: Arc<ArcSwapOption<ListCache>>) -> EraMemory {
    EraMemory::telling(Box::new(move |fingerprint, manner| {
        let Some(cache) = kept_in.load_full() else {
            return;
        };
        // A small file, written when a server is met for the first time.
        if let Err(error) = cache.keep_era(fingerprint, word(manner)) {
            tracing::warn!(%error, "the era of a server was not kept");
        }
    }))
}

/// What earlier processes found out.
pub(super) fn kept(cache: &ListCache) -> Vec<(String, Manner)> {
    let eras = cache.eras().into_iter();
    eras.filter_map(|(fingerprint, word)| Some((fingerprint, manner(&word)?)))
        .collect()
}

fn word(manner: Manner) -> &'static str {
    match (manner.era, manner.is_over_sse) {
        (Era::Modern, _) => "modern",
        (Era::Legacy, false) => "legacy",
        (Era::Legacy, true) => "legacy over sse",
    }
}

fn manner(written: &str) -> Option<Manner> {
    [Era::Modern.into(), Era::Legacy.into(), OVER_SSE]
        .into_iter()
        .find(|manner| word(*manner) == written)
}

/// The manner of a server that is reached over the older transport only.
const OVER_SSE: Manner = Manner {
    era: Era::Legacy,
    is_over_sse: true,
};

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
        memory.remember("e", OVER_SSE);
        cache().keep_era("c", "later than all").unwrap();
        assert_eq!(
            kept(&cache()),
            [
                ("a".to_owned(), Era::Legacy.into()),
                ("b".to_owned(), Era::Modern.into()),
                ("e".to_owned(), OVER_SSE),
            ]
        );
        // Without a configuration there is no place for it.
        telling(Arc::default()).remember("d", Era::Legacy);
        assert_eq!(kept(&cache()).len(), 3);
    }
}
