//! The two eras of MCP, and which of them each server speaks.

use std::collections::HashMap;
use std::fmt;
use std::sync::Mutex;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::lock;

/// The revision of the modern era.
pub const MODERN: &str = "2026-07-28";
/// The revision that `initialize` asks for.
pub const LEGACY_LATEST: &str = "2025-11-25";
/// Every revision of the legacy era, the latest first.
pub const LEGACY: [&str; 4] = [LEGACY_LATEST, "2025-06-18", "2025-03-26", "2024-11-05"];

/// How a server is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Era {
    /// Without a handshake: each request says all there is to know.
    Modern,
    /// With `initialize`, and a session.
    Legacy,
}

/// What a server said of itself.
#[derive(Clone, Debug)]
pub struct Negotiated {
    /// How it is spoken to.
    pub era: Era,
    /// The revision of the protocol.
    pub version: String,
    /// What it can do, as it was sent.
    pub capabilities: Box<RawValue>,
    /// Its name and version, as they were sent.
    pub info: Option<Box<RawValue>>,
    /// How it wants to be used.
    pub instructions: Option<String>,
}

/// Hears which era a server turned out to speak: its fingerprint, and the era.
pub type EraListener = Box<dyn Fn(&str, Era) + Send + Sync>;

/// Which era each server spoke last, by fingerprint, so that none is probed twice.
#[derive(Default)]
pub struct EraMemory {
    known: Mutex<HashMap<String, Era>>,
    listener: Option<EraListener>,
}

impl EraMemory {
    /// A memory of what was known before.
    pub fn new(known: impl IntoIterator<Item = (String, Era)>) -> Self {
        Self {
            known: Mutex::new(known.into_iter().collect()),
            listener: None,
        }
    }

    /// An empty memory that tells what it learns, so that it can be kept for the next process.
    pub fn telling(listener: EraListener) -> Self {
        Self {
            listener: Some(listener),
            ..Self::default()
        }
    }

    /// Takes over what was known before; what was found out since then stays. Nobody is told.
    pub fn learn(&self, known: impl IntoIterator<Item = (String, Era)>) {
        let mut memory = lock(&self.known);
        for (fingerprint, era) in known {
            memory.entry(fingerprint).or_insert(era);
        }
    }

    /// The era that a server spoke last.
    pub fn recall(&self, fingerprint: &str) -> Option<Era> {
        lock(&self.known).get(fingerprint).copied()
    }

    /// Remembers the era of a server. True where that is news.
    pub fn remember(&self, fingerprint: &str, era: Era) -> bool {
        let is_news = !fingerprint.is_empty()
            && lock(&self.known).insert(fingerprint.to_owned(), era) != Some(era);
        if let Some(listener) = self.listener.as_ref().filter(|_| is_news) {
            listener(fingerprint, era);
        }
        is_news
    }

    /// All that is known, in order.
    pub fn known(&self) -> Vec<(String, Era)> {
        let mut known: Vec<_> = lock(&self.known)
            .iter()
            .map(|(name, era)| (name.clone(), *era))
            .collect();
        known.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        known
    }
}

impl fmt::Debug for EraMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("EraMemory").field(&self.known()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn what_is_learnt_is_told_once_and_what_was_known_is_not() {
        let told: Arc<Mutex<Vec<(String, Era)>>> = Arc::default();
        let heard = Arc::clone(&told);
        let memory = EraMemory::telling(Box::new(move |fingerprint, era| {
            lock(&heard).push((fingerprint.to_owned(), era));
        }));
        memory.remember("a", Era::Legacy);
        memory.learn([("a".to_owned(), Era::Modern), ("b".to_owned(), Era::Modern)]);
        memory.remember("b", Era::Modern);
        memory.remember("a", Era::Legacy);
        memory.remember("", Era::Legacy);
        assert_eq!(memory.recall("a"), Some(Era::Legacy));
        assert_eq!(memory.recall("b"), Some(Era::Modern));
        assert_eq!(*lock(&told), [("a".to_owned(), Era::Legacy)]);
        assert!(format!("{memory:?}").contains("Legacy"));
    }

    #[test]
    fn an_era_is_remembered_and_can_be_kept() {
        let memory = EraMemory::new([("a".to_owned(), Era::Modern)]);
        assert!(!memory.remember("a", Era::Modern));
        assert!(memory.remember("a", Era::Legacy));
        assert!(memory.remember("b", Era::Modern));
        assert!(
            !memory.remember("", Era::Modern),
            "a server without a fingerprint is not known"
        );
        assert_eq!(memory.recall("a"), Some(Era::Legacy));
        let kept = serde_json::to_string(&memory.known()).unwrap();
        assert_eq!(kept, r#"[["a","legacy"],["b","modern"]]"#);
        let again: Vec<(String, Era)> = serde_json::from_str(&kept).unwrap();
        assert_eq!(EraMemory::new(again).known(), memory.known());
    }
}
