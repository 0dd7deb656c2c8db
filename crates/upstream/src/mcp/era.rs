//! The two eras of MCP, and which of them each server speaks.

use std::collections::HashMap;
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

/// Which era each server spoke last, by fingerprint, so that none is probed twice. The caller may keep
/// what is in it for the next process.
#[derive(Debug, Default)]
pub struct EraMemory(Mutex<HashMap<String, Era>>);

impl EraMemory {
    /// A memory of what was known before.
    pub fn new(known: impl IntoIterator<Item = (String, Era)>) -> Self {
        Self(Mutex::new(known.into_iter().collect()))
    }

    /// The era that a server spoke last.
    pub fn recall(&self, fingerprint: &str) -> Option<Era> {
        lock(&self.0).get(fingerprint).copied()
    }

    /// Remembers the era of a server. True where that is news.
    pub fn remember(&self, fingerprint: &str, era: Era) -> bool {
        !fingerprint.is_empty() && lock(&self.0).insert(fingerprint.to_owned(), era) != Some(era)
    }

    /// All that is known, in order.
    pub fn known(&self) -> Vec<(String, Era)> {
        let mut known: Vec<_> = lock(&self.0)
            .iter()
            .map(|(name, era)| (name.clone(), *era))
            .collect();
        known.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
