//! The index of a whole catalog: one part per server, and the words that lead to them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::field::Weights;
use super::part::{Entry, Part, ServerTools};
use super::signs::Crosswise;
use super::vocabulary::Vocabulary;
use super::words::Reader;
use crate::catalog::ToolId;
use crate::limits::SEARCH_MEANING_SCAN_TOOLS;

/// What can be found, ready to be searched. Immutable; a changed server gives a new index that
/// shares every other server's part with the old one.
#[derive(Clone, Debug, Default)]
pub struct Index {
    /// Parts by slot; a slot outlives its part and is used again.
    pub(crate) slots: Vec<Option<Arc<Part>>>,
    /// Number of the first tool of each slot.
    pub(crate) bases: Vec<u32>,
    /// Slot of each tool.
    slot_of: Vec<u32>,
    by_server: BTreeMap<Arc<str>, u32>,
    pub(crate) vocabulary: Vocabulary,
    /// The signs of all vectors, where there are few enough tools to look at them all.
    pub(crate) signs: Crosswise,
    /// Spellings of names: number, slot, tool.
    keys: Vec<(u64, u32, u32)>,
    tools: u32,
}

impl Index {
    /// Reads every tool of every server. Where a server comes twice, the later one counts.
    pub fn build<'a>(servers: impl IntoIterator<Item = ServerTools<'a>>) -> Self {
        Self::build_with(servers, &Weights::default())
    }

    /// Like [`Index::build`], with other weights.
    pub fn build_with<'a>(
        servers: impl IntoIterator<Item = ServerTools<'a>>,
        weights: &Weights,
    ) -> Self {
        let mut reader = Reader::default();
        let parts = servers
            .into_iter()
            .map(|server| Arc::new(Part::read(&server, weights, &mut reader)));
        Self::from_parts(parts)
    }

    /// Puts parts together that were built before, perhaps on several threads.
    pub fn from_parts(parts: impl IntoIterator<Item = Arc<Part>>) -> Self {
        let by_name: BTreeMap<Arc<str>, Arc<Part>> = parts
            .into_iter()
            .map(|part| (Arc::clone(&part.server), part))
            .collect();
        let mut index = Self::default();
        for (slot, (server, part)) in (0_u32..).zip(by_name) {
            index.by_server.insert(server, slot);
            index
                .keys
                .extend(part.keys.iter().map(|&(key, tool)| (key, slot, tool)));
            index.slots.push(Some(part));
        }
        index.keys.sort_unstable();
        let parts = index.slots.iter().flatten().map(AsRef::as_ref);
        index.vocabulary = Vocabulary::build((0_u32..).zip(parts));
        index.number();
        index
    }

    /// Whether it was put together from this very part, or from another of the same server where neither
    /// has a tool.
    pub fn holds(&self, part: &Arc<Part>) -> bool {
        let slot = self.slot(&part.server);
        slot.and_then(|slot| self.part(slot))
            .is_some_and(|have| Arc::ptr_eq(have, part) || (have.is_empty() && part.is_empty()))
    }

    /// The same catalog with this server put in or replaced.
    #[must_use]
    pub fn with_server(&self, part: Arc<Part>) -> Self {
        let slot = self.slot(&part.server).unwrap_or_else(|| {
            let vacant = self.slots.iter().position(Option::is_none);
            u32::try_from(vacant.unwrap_or(self.slots.len())).unwrap_or(u32::MAX)
        });
        self.replaced(slot, Some(part))
    }

    /// The same catalog without this server.
    #[must_use]
    pub fn without_server(&self, server: &str) -> Self {
        match self.by_server.get(server) {
            Some(slot) => self.replaced(*slot, None),
            None => self.clone(),
        }
    }

    fn replaced(&self, slot: u32, part: Option<Arc<Part>>) -> Self {
        let mut slots = self.slots.clone();
        let mut by_server = self.by_server.clone();
        let at = slot as usize;
        if at == slots.len() {
            slots.push(None);
        }
        let old = slots[at].take();
        let vocabulary = self
            .vocabulary
            .replace(slot, old.as_deref(), part.as_deref());
        if let Some(old) = &old {
            by_server.remove(&old.server);
        }
        let fresh = part
            .iter()
            .flat_map(|p| p.keys.iter().map(|&(key, tool)| (key, slot, tool)));
        let mut keys: Vec<_> =
            Vec::with_capacity(self.keys.len() + part.as_ref().map_or(0, |p| p.keys.len()));
        let mut fresh = fresh.peekable();
        for &kept in self.keys.iter().filter(|k| k.1 != slot) {
            while let Some(new) = fresh.next_if(|new| *new < kept) {
                keys.push(new);
            }
            keys.push(kept);
        }
        keys.extend(fresh);
        if let Some(part) = &part {
            by_server.insert(Arc::clone(&part.server), slot);
        }
        slots[at] = part;
        let mut index = Self {
            slots,
            bases: Vec::new(),
            slot_of: Vec::new(),
            by_server,
            vocabulary,
            signs: Crosswise::default(),
            keys,
            tools: 0,
        };
        index.number();
        index
    }

    fn number(&mut self) {
        self.bases.clear();
        self.slot_of.clear();
        self.tools = 0;
        for (number, slot) in (0_u32..).zip(&self.slots) {
            self.bases.push(self.tools);
            let count = slot.as_ref().map_or(0, |p| p.len());
            self.tools += u32::try_from(count).unwrap_or(0);
            self.slot_of.resize(self.tools as usize, number);
        }
        if self.tools as usize <= SEARCH_MEANING_SCAN_TOOLS {
            let parts = self.slots.iter().flatten();
            self.signs = Crosswise::of(parts.flat_map(|part| &part.signs));
        }
    }

    /// How many tools can be found.
    pub fn len(&self) -> usize {
        self.tools as usize
    }

    /// Whether there is nothing to be found.
    pub fn is_empty(&self) -> bool {
        self.tools == 0
    }

    /// How many different words lead to tools.
    pub fn word_count(&self) -> usize {
        self.vocabulary.len()
    }

    /// The servers, in order.
    pub fn servers(&self) -> impl Iterator<Item = &str> {
        self.by_server.keys().map(AsRef::as_ref)
    }

    pub(crate) fn slot(&self, server: &str) -> Option<u32> {
        self.by_server.get(server).copied()
    }

    pub(crate) fn part(&self, slot: u32) -> Option<&Arc<Part>> {
        self.slots.get(slot as usize)?.as_ref()
    }

    /// Slot and place of a tool by its number in the whole catalog.
    pub(crate) fn locate(&self, number: u32) -> (u32, u32) {
        let slot = self.slot_of[number as usize];
        (slot, number - self.bases[slot as usize])
    }

    pub(crate) fn entry(&self, number: u32) -> Option<Entry<'_>> {
        let (slot, tool) = self.locate(number);
        self.part(slot)?.entry(tool as usize)
    }

    /// Number of a tool by its id.
    pub(crate) fn number_of(&self, id: &ToolId) -> Option<u32> {
        let slot = self.slot(id.server())?;
        let place = self.part(slot)?.place(id.tool())?;
        Some(self.bases[slot as usize] + u32::try_from(place).ok()?)
    }

    /// Numbers of the tools that a spelling names exactly.
    pub(crate) fn named(&self, key: u64, scope: Option<u32>) -> Vec<u32> {
        let from = self.keys.partition_point(|k| k.0 < key);
        self.keys[from..]
            .iter()
            .take_while(|k| k.0 == key)
            .filter(|k| scope.is_none_or(|slot| slot == k.1))
            .map(|k| self.bases[k.1 as usize] + k.2)
            .collect()
    }

    /// The ids of all tools, in no order.
    pub fn ids(&self) -> impl Iterator<Item = &ToolId> {
        self.slots.iter().flatten().flat_map(|part| part.ids())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::catalog::Tool;

    fn part(server: &str, tools: &[&str]) -> Arc<Part> {
        let tools: Vec<Arc<Tool>> = tools
            .iter()
            .map(|name| Arc::new(Tool::new(ToolId::new(server, *name), "", json!({}))))
            .collect();
        let server = ServerTools {
            name: server,
            aliases: &[],
            about: "",
            tools: &tools,
        };
        Arc::new(Part::build(&server, &Weights::default()))
    }

    #[test]
    fn an_index_knows_the_parts_that_it_was_put_together_from() {
        let (full, empty) = (part("a", &["x", "y"]), part("b", &[]));
        let index = Index::from_parts([Arc::clone(&full), Arc::clone(&empty)]);
        assert!(index.holds(&full) && index.holds(&empty));
        assert!(index.holds(&part("b", &[])), "one without tools is as good");
        assert!(!index.holds(&part("a", &["x", "y"])), "not this very one");
        assert!(!index.holds(&part("a", &[])) && !index.holds(&part("b", &["x"])));
        assert!(!index.holds(&part("c", &[])), "of no such server");
    }
}
