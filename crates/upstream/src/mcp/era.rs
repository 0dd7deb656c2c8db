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

/// How a server was spoken to, as far as the next connection needs to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Manner {
    /// The era.
    pub era: Era,
    /// Whether it was reached over HTTP with a stream of events, although it is configured as one of
    /// Streamable HTTP.
    pub is_over_sse: bool,
}

impl From<Era> for Manner {
    fn from(era: Era) -> Self {
        Self {
            era,
            is_over_sse: false,
        }
    }
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

/// Hears how a server turned out to be spoken to: its fingerprint, and the manner.
pub type EraListener = Box<dyn Fn(&str, Manner) + Send + Sync>;

/// Which era each server spoke last and over which transport, by fingerprint, so that none is probed twice.
#[derive(Default)]
pub struct EraMemory {
    known: Mutex<HashMap<String, Manner>>,
    listener: Option<EraListener>,
}

impl EraMemory {
    /// A memory of what was known before.
    pub fn new<M: Into<Manner>>(known: impl IntoIterator<Item = (String, M)>) -> Self {
        let memory = Self::default();
        memory.learn(known);
        memory
    }

    /// An empty memory that tells what it learns, so that it can be kept for the next process.
    pub fn telling(listener: EraListener) -> Self {
        Self {
            listener: Some(listener),
            ..Self::default()
        }
    }

    /// Takes over what was known before; what was found out since then stays. Nobody is told.
    pub fn learn<M: Into<Manner>>(&self, known: impl IntoIterator<Item = (String, M)>) {
        let mut memory = lock(&self.known);
        for (fingerprint, manner) in known {
            memory.entry(fingerprint).or_insert(manner.into());
        }
    }

    /// The era that a server spoke last.
    pub fn recall(&self, fingerprint: &str) -> Option<Era> {
        self.manner(fingerprint).map(|manner| manner.era)
    }

    /// How a server was spoken to last.
    pub fn manner(&self, fingerprint: &str) -> Option<Manner> {
        lock(&self.known).get(fingerprint).copied()
    }

    /// Remembers how a server was spoken to. True where that is news.
    pub fn remember(&self, fingerprint: &str, manner: impl Into<Manner>) -> bool {
        let manner = manner.into();
        let is_news = !fingerprint.is_empty()
            && lock(&self.known).insert(fingerprint.to_owned(), manner) != Some(manner);
        if let Some(listener) = self.listener.as_ref().filter(|_| is_news) {
            listener(fingerprint, manner);
        }
        is_news
    }

    /// All that is known, in order.
    pub fn known(&self) -> Vec<(String, Manner)> {
        let mut known: Vec<_> = lock(&self.known)
            .iter()
            .map(|(name, manner)| (name.clone(), *manner))
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
        let memory = EraMemory::telling(Box::new(move |fingerprint, manner| {
            lock(&heard).push((fingerprint.to_owned(), manner.era));
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
        let over_sse = Manner {
            era: Era::Legacy,
            is_over_sse: true,
        };
        assert!(memory.remember("a", over_sse), "the transport is news too");
        assert_eq!(memory.manner("a"), Some(over_sse));
        assert_eq!(memory.manner("b"), Some(Era::Modern.into()));
        let kept = serde_json::to_string(&memory.known()).unwrap();
        let again: Vec<(String, Manner)> = serde_json::from_str(&kept).unwrap();
        assert_eq!(EraMemory::new(again).known(), memory.known());
    }
}
