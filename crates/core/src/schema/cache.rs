//! Compiled validators, kept by the hash of their schema.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use super::{Compiled, SchemaError, compile};
use crate::canon::Hash;
use crate::limits::{VALIDATORS_MAX, VALIDATORS_NODES_MAX};

type Outcome = Result<Arc<Compiled>, SchemaError>;

/// A bounded cache of compiled schemas; the least recently used go first. Schemas that cannot be
/// used are remembered too, so that a hostile one costs its inspection once.
#[derive(Debug)]
pub struct Validators {
    entries: HashMap<Hash, Entry>,
    count_max: usize,
    nodes_max: usize,
    nodes: usize,
    clock: u64,
}

#[derive(Debug)]
struct Entry {
    outcome: Outcome,
    nodes: usize,
    used: u64,
}

impl Default for Validators {
    fn default() -> Self {
        Self::bounded(VALIDATORS_MAX, VALIDATORS_NODES_MAX)
    }
}

impl Validators {
    /// A cache of at most `count_max` schemas that hold at most `nodes_max` values together.
    pub fn bounded(count_max: usize, nodes_max: usize) -> Self {
        Self {
            entries: HashMap::new(),
            count_max,
            nodes_max,
            nodes: 0,
            clock: 0,
        }
    }

    /// The validator for a schema whose [`super::key`] is `key`, compiled now or before.
    pub fn get(&mut self, key: Hash, schema: &Value) -> Outcome {
        self.clock += 1;
        if let Some(entry) = self.entries.get_mut(&key) {
            entry.used = self.clock;
            return entry.outcome.clone();
        }
        let outcome = compile(schema).map(Arc::new);
        let nodes = outcome.as_ref().map_or(1, |compiled| compiled.nodes());
        let entry = Entry {
            outcome: outcome.clone(),
            nodes,
            used: self.clock,
        };
        self.nodes += nodes;
        self.entries.insert(key, entry);
        self.evict();
        outcome
    }

    /// How many schemas are kept.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether none is kept.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn evict(&mut self) {
        while self.entries.len() > self.count_max || self.nodes > self.nodes_max {
            let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.used);
            let Some(key) = oldest.map(|(key, _)| *key) else {
                return;
            };
            if let Some(entry) = self.entries.remove(&key) {
                self.nodes -= entry.nodes;
            }
        }
    }
}
