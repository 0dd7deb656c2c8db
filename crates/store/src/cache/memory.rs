//! A bounded map in memory whose entries grow old.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

struct Slot<V> {
    value: V,
    stored_ms: i64,
    expires_ms: Option<i64>,
}

impl<V> Slot<V> {
    fn is_fresh(&self, now_ms: i64) -> bool {
        self.expires_ms.is_none_or(|expires| now_ms < expires)
    }
}

/// Values by name, each with the time it was stored and, unless it is kept until further notice, a
/// time to live. When the map is full the oldest entry gives way.
pub struct TtlMap<V> {
    slots: Mutex<HashMap<String, Slot<V>>>,
    entries_max: usize,
}

impl<V: Clone> TtlMap<V> {
    /// An empty map of at most `entries_max` entries.
    pub fn new(entries_max: usize) -> Self {
        Self {
            slots: Mutex::new(HashMap::new()),
            entries_max,
        }
    }

    /// The value under a key, if it is fresh; one that is not is removed.
    pub fn get(&self, key: &str, now_ms: i64) -> Option<V> {
        let mut slots = self.lock();
        let slot = slots.get(key)?;
        if slot.is_fresh(now_ms) {
            return Some(slot.value.clone());
        }
        slots.remove(key);
        None
    }

    /// Keeps a value for `ttl_ms`, or until it is invalidated.
    pub fn insert(&self, key: String, value: V, ttl_ms: Option<i64>, now_ms: i64) {
        let mut slots = self.lock();
        if slots.len() >= self.entries_max && !slots.contains_key(&key) {
            make_room(&mut slots, now_ms);
        }
        let slot = Slot {
            value,
            stored_ms: now_ms,
            expires_ms: ttl_ms.map(|ttl| now_ms.saturating_add(ttl)),
        };
        slots.insert(key, slot);
    }

    /// Forgets one entry; `false` when there was none.
    pub fn invalidate(&self, key: &str) -> bool {
        self.lock().remove(key).is_some()
    }

    /// Forgets everything.
    pub fn invalidate_all(&self) {
        self.lock().clear();
    }

    /// Forgets what is no longer fresh.
    pub fn purge(&self, now_ms: i64) {
        self.lock().retain(|_, slot| slot.is_fresh(now_ms));
    }

    /// How many entries there are, fresh or not.
    pub fn len(&self) -> usize {
        self.lock().len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Slot<V>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn make_room<V>(slots: &mut HashMap<String, Slot<V>>, now_ms: i64) {
    let before = slots.len();
    slots.retain(|_, slot| slot.is_fresh(now_ms));
    if slots.len() == before {
        let oldest = slots
            .iter()
            .min_by_key(|(key, slot)| (slot.stored_ms, *key));
        if let Some(key) = oldest.map(|(key, _)| key.clone()) {
            slots.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_live_as_long_as_they_were_given() {
        let map = TtlMap::new(10);
        map.insert("hour".into(), 1, Some(100), 0);
        map.insert("for good".into(), 2, None, 0);
        assert_eq!(map.get("hour", 99), Some(1));
        assert_eq!(map.get("hour", 100), None);
        assert_eq!(map.len(), 1, "what has expired is removed");
        assert_eq!(map.get("for good", i64::MAX), Some(2));
        assert_eq!(map.get("never", 0), None);
    }

    #[test]
    fn entries_can_be_invalidated_one_or_all() {
        let map = TtlMap::new(10);
        for key in ["a", "b", "c"] {
            map.insert(key.into(), key, None, 0);
        }
        assert!(map.invalidate("a"));
        assert!(!map.invalidate("a"));
        assert_eq!(map.get("b", 0), Some("b"));
        map.invalidate_all();
        assert!(map.is_empty());
    }

    #[test]
    fn the_oldest_gives_way_after_what_has_expired() {
        let map = TtlMap::new(2);
        map.insert("short".into(), 1, Some(10), 5);
        map.insert("old".into(), 2, None, 1);
        map.insert("new".into(), 3, None, 20);
        assert_eq!(map.get("old", 20), Some(2), "the expired one went first");
        map.insert("newer".into(), 4, None, 21);
        assert_eq!(map.get("old", 21), None);
        assert_eq!(map.len(), 2);
        map.insert("newer".into(), 5, Some(1), 22);
        assert_eq!(map.get("new", 22), Some(3), "replacing needs no room");
        map.purge(23);
        assert_eq!(map.len(), 1);
    }
}
