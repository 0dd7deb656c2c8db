//! The index of one server: its tools, their words, and where each word stands.

mod held;
mod posting;
mod written;

use std::sync::Arc;

use serde_json::Value;

pub(crate) use held::{Held, HeldWords};
pub(crate) use posting::Posting;

use super::field::{FIELDS, Field, Weights};
use super::lexicon::Lexicon;
use super::meaning::{DIMENSIONS, FIELD_PIECES_MAX, Meaning, Sum, narrow};
use super::signs::{Signs, signs};
use super::successor;
use super::words::{QuickMap, READER, Reader, WordId, key, word_id};
use crate::catalog::{Tool, ToolId};
use crate::limits::{
    SEARCH_FIELD_WORDS_MAX, SEARCH_SCHEMA_DEPTH_MAX, SEARCH_SEQUENCE_WORDS_MAX,
    SEARCH_SERVER_TOOLS_MAX,
};

/// A server and its tools, as the index reads them.
#[derive(Clone, Copy, Debug)]
pub struct ServerTools<'a> {
    /// The server's configured name.
    pub name: &'a str,
    /// Other names it answers to.
    pub aliases: &'a [String],
    /// What it says about itself; empty when it says nothing.
    pub about: &'a str,
    /// Its tools, in any order.
    pub tools: &'a [Arc<Tool>],
}

/// A word's short number, for comparisons within one tool.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the low half is the short number"
)]
pub(crate) fn short(id: WordId) -> u32 {
    id as u32
}

/// A word of this part and its postings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PartWord {
    pub(crate) id: WordId,
    /// Where its text ends among those of the part; it begins where the one before ends.
    ends: u32,
    pub(crate) start: u32,
    pub(crate) len: u32,
}

/// What ranking needs to know of a tool beside its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry<'a> {
    pub(crate) id: &'a ToolId,
    /// Words of the name, in order.
    pub(crate) name: &'a [u32],
    /// Words of title and description, in order, the first of them.
    pub(crate) text: &'a [u32],
    /// Every word once.
    pub(crate) held: HeldWords<'a>,
    /// Length of the name in letters.
    pub(crate) letters: u32,
    /// Kinds of values its parameters take, see [`super::values`].
    pub(crate) takes: u16,
    /// Groups of actions of the first word that is one, in the name, else in the text.
    pub(crate) actions: u32,
}

/// A tool as it is kept: what has a length of its own lies with that of the other tools, and ends here.
/// It begins where that of the tool before ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Row {
    /// Where its name ends among the sequences; its text comes next.
    name: u32,
    text: u32,
    held: u32,
    letters: u32,
    takes: u16,
    actions: u32,
}

/// The index of one server; immutable, shared between snapshots that hold the same server.
#[derive(Debug, PartialEq)]
pub struct Part {
    pub(crate) server: Arc<str>,
    pub(crate) server_words: Box<[u32]>,
    /// In the order of their names.
    ids: Vec<ToolId>,
    rows: Vec<Row>,
    /// The words of names and texts, one tool after the other.
    sequences: Vec<u32>,
    /// The words of each tool, see [`HeldWords`], one tool after the other.
    held: Vec<u32>,
    /// By text.
    words: Vec<PartWord>,
    /// Of all words, one after the other.
    texts: Box<str>,
    pub(crate) postings: Vec<Posting>,
    /// What the tools are about: the steps of a vector for each, what a step is worth, and the signs of the steps.
    pub(crate) vectors: Vec<[i8; DIMENSIONS]>,
    pub(crate) scales: Vec<f32>,
    pub(crate) signs: Vec<Signs>,
    /// Spellings by which a tool is named exactly, by number.
    pub(crate) keys: Vec<(u64, u32)>,
    /// Tools that say that they are deprecated, each with the one that took its place.
    pub(crate) successors: Vec<(u32, u32)>,
}

/// Where something ends that has so many before it. The lists of one server are bounded far below.
fn end(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// The number of a spelling.
pub(crate) fn key_id(spelling: &str) -> u64 {
    word_id(spelling)
}

impl Part {
    /// Reads every tool of one server.
    pub fn build(server: &ServerTools<'_>, weights: &Weights) -> Self {
        READER.with_borrow_mut(|reader| Self::read(server, weights, reader))
    }

    pub(crate) fn read(server: &ServerTools<'_>, weights: &Weights, reader: &mut Reader) -> Self {
        let mut tools: Vec<&Tool> = server.tools.iter().map(AsRef::as_ref).collect();
        tools.sort_by(|a, b| a.id.cmp(&b.id));
        tools.truncate(SEARCH_SERVER_TOOLS_MAX);
        let mut collector = Collector::new(weights);
        let mut common = Tally::default();
        collector.server(server, reader, &mut common);
        let mut tally = common.clone();
        for tool in &tools {
            collector.tool(server, tool, reader, &common, &mut tally);
        }
        Self {
            successors: successors(&tools),
            ..collector.finish(server.name, &common)
        }
    }

    /// The words with their texts, in the order of the texts.
    pub(crate) fn words(&self) -> impl ExactSizeIterator<Item = (&str, &PartWord)> {
        let mut from = 0;
        self.words.iter().map(move |word| {
            let to = word.ends as usize;
            let text = self.texts.get(from..to).unwrap_or_default();
            from = to;
            (text, word)
        })
    }

    /// The server this part is of.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// The ids of its tools, in the order of their names.
    pub fn ids(&self) -> impl Iterator<Item = &ToolId> {
        self.ids.iter()
    }

    /// The id of the tool at a place.
    pub fn id(&self, place: usize) -> Option<&ToolId> {
        self.ids.get(place)
    }

    /// What is known of the tool at a place.
    pub(crate) fn entry(&self, place: usize) -> Option<Entry<'_>> {
        let row = self.rows.get(place)?;
        let before = place.checked_sub(1).and_then(|at| self.rows.get(at));
        let (from, held) = before.map_or((0, 0), |before| (before.text, before.held));
        let sequence = |from: u32, to: u32| self.sequences.get(from as usize..to as usize);
        Some(Entry {
            id: self.ids.get(place)?,
            name: sequence(from, row.name)?,
            text: sequence(row.name, row.text)?,
            held: HeldWords::of(self.held.get(held as usize..row.held as usize)?)?,
            letters: row.letters,
            takes: row.takes,
            actions: row.actions,
        })
    }

    /// Everything that is known of every tool.
    #[cfg(test)]
    pub(crate) fn entries(&self) -> impl Iterator<Item = Entry<'_>> {
        (0..self.len()).filter_map(|place| self.entry(place))
    }

    /// Where a tool stands among them.
    pub fn place(&self, tool: &str) -> Option<usize> {
        self.ids.binary_search_by(|id| id.tool().cmp(tool)).ok()
    }

    /// How many tools it holds.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether it holds no tool.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }
}

/// Which of these tools, in the order of their names, were replaced by which. One that was replaced itself replaces none.
fn successors(tools: &[&Tool]) -> Vec<(u32, u32)> {
    let place = |name: &str| tools.binary_search_by(|tool| tool.id.tool().cmp(name)).ok();
    let named = |tool: &Tool| {
        let own = tool.id.tool();
        let is_other = |word: &str| word != own && place(word).is_some();
        place(successor::named(&tool.description, is_other)?)
    };
    let pairs: Vec<(u32, u32)> = (0..)
        .zip(tools)
        .filter_map(|(at, tool)| Some((at, u32::try_from(named(tool)?).ok()?)))
        .collect();
    let is_replaced = |tool: u32| pairs.binary_search_by_key(&tool, |pair| pair.0).is_ok();
    let last = pairs.iter().filter(|(_, by)| !is_replaced(*by));
    last.copied().collect()
}

/// Counts of the words of one tool, or of what all tools of a server share.
#[derive(Default, Clone)]
struct Tally {
    /// Word slot and counts per field.
    counts: Vec<(u32, [u16; FIELDS])>,
    /// By word slot: place in `counts` plus one, 0 where the word has not come yet.
    at: Vec<u32>,
    lengths: [u32; FIELDS],
    server_words: Vec<u32>,
    about: [Sum; 3],
}

impl Tally {
    fn add(&mut self, slot: u32, field: Field, joined: bool) {
        let slot_at = slot as usize;
        if self.at.len() <= slot_at {
            self.at.resize(slot_at * 2 + 64, 0);
        }
        if self.at[slot_at] == 0 {
            self.counts.push((slot, [0; FIELDS]));
            self.at[slot_at] = u32::try_from(self.counts.len()).unwrap_or(u32::MAX);
        }
        let place = self.at[slot_at] as usize - 1;
        let count = &mut self.counts[place].1[field as usize];
        *count = count.saturating_add(1);
        if !joined {
            self.lengths[field as usize] += 1;
        }
    }

    /// Goes back to what all tools share.
    fn restart(&mut self, common: &Self) {
        for (slot, _) in &self.counts[common.counts.len()..] {
            self.at[*slot as usize] = 0;
        }
        self.counts.truncate(common.counts.len());
        self.counts.copy_from_slice(&common.counts);
        self.lengths = common.lengths;
        self.about.clone_from(&common.about);
    }

    fn is_full(&self, field: Field) -> bool {
        self.lengths[field as usize] as usize >= SEARCH_FIELD_WORDS_MAX
    }
}

struct Collector<'w> {
    weights: &'w Weights,
    slots: QuickMap<WordId, u32>,
    names: Vec<(WordId, Arc<str>)>,
    lists: Vec<Vec<Posting>>,
    ids: Vec<ToolId>,
    rows: Vec<Row>,
    sequences: Vec<u32>,
    held: Vec<u32>,
    keys: Vec<(u64, u32)>,
    vectors: Vec<[i8; DIMENSIONS]>,
    scales: Vec<f32>,
    signs: Vec<Signs>,
}

impl<'w> Collector<'w> {
    fn new(weights: &'w Weights) -> Self {
        Self {
            weights,
            slots: QuickMap::default(),
            names: Vec::new(),
            lists: Vec::new(),
            ids: Vec::new(),
            rows: Vec::new(),
            sequences: Vec::new(),
            held: Vec::new(),
            keys: Vec::new(),
            vectors: Vec::new(),
            scales: Vec::new(),
            signs: Vec::new(),
        }
    }

    fn slot(&mut self, id: WordId, text: &Arc<str>) -> u32 {
        *self.slots.entry(id).or_insert_with(|| {
            self.names.push((id, Arc::clone(text)));
            self.lists.push(Vec::new());
            u32::try_from(self.names.len() - 1).unwrap_or(u32::MAX)
        })
    }

    /// Reads `text` into `tally` as `field`; gives the words in order, those of joined runs left out.
    fn text(
        &mut self,
        text: &str,
        field: Field,
        reader: &mut Reader,
        tally: &mut Tally,
    ) -> Vec<u32> {
        let mut sequence = Vec::new();
        let meaning = Meaning::shared();
        let about = match field {
            Field::Name | Field::Server => Some(0),
            Field::Title | Field::Description => Some(1),
            Field::Parameter | Field::ParameterText => Some(2),
            _ => None,
        };
        reader.read(text, |word, joined| {
            if tally.is_full(field) {
                return;
            }
            let slot = self.slot(word.id, &word.stem);
            tally.add(slot, field, joined);
            if let Some(about) = about.filter(|_| !joined) {
                tally.about[about].add(meaning, word, FIELD_PIECES_MAX[about]);
            }
            if !joined && sequence.len() < SEARCH_SEQUENCE_WORDS_MAX {
                sequence.push(short(word.id));
            }
        });
        sequence
    }

    fn server(&mut self, server: &ServerTools<'_>, reader: &mut Reader, tally: &mut Tally) {
        let mut words = self.text(server.name, Field::Server, reader, tally);
        for alias in server.aliases {
            words.extend(self.text(alias, Field::Server, reader, tally));
        }
        words.sort_unstable();
        words.dedup();
        tally.server_words = words;
        self.text(server.about, Field::About, reader, tally);
    }

    fn tool(
        &mut self,
        server: &ServerTools<'_>,
        tool: &Tool,
        reader: &mut Reader,
        common: &Tally,
        tally: &mut Tally,
    ) {
        tally.restart(common);
        let name = self.text(tool.id.tool(), Field::Name, reader, tally);
        let title = tool.title.as_deref().unwrap_or_default();
        let mut text = self.text(title, Field::Title, reader, tally);
        text.extend(self.text(&tool.description, Field::Description, reader, tally));
        for tag in tool
            .tags
            .iter()
            .chain(&tool.domains)
            .chain(&tool.categories)
        {
            self.text(tag, Field::Tag, reader, tally);
        }
        let mut takes = 0;
        self.schema(&tool.input_schema, 0, reader, tally, &mut takes);
        let place = end(self.ids.len());
        let mut held = Vec::with_capacity(tally.counts.len());
        for (slot, counts) in &tally.counts {
            let impact = self.weights.impact(counts, &tally.lengths);
            let fields = (0..FIELDS).fold(0, |bits, f| bits | (u16::from(counts[f] > 0) << f));
            self.lists[*slot as usize].push(Posting::new(place, impact));
            held.push(Held {
                word: short(self.names[*slot as usize].0),
                impact,
                fields,
            });
        }
        HeldWords::pack(&mut held, &mut self.held);
        let packed = Meaning::shared().tool(&tally.about);
        self.vectors.push(narrow(&packed.steps));
        self.scales.push(packed.scale);
        self.signs.push(signs(&packed.steps));
        let lexicon = Lexicon::shared();
        self.ids.push(tool.id.clone());
        self.sequences.extend(&name);
        let name_ends = end(self.sequences.len());
        self.sequences.extend(&text);
        self.rows.push(Row {
            name: name_ends,
            text: end(self.sequences.len()),
            held: end(self.held.len()),
            letters: u32::try_from(tool.id.tool().chars().count()).unwrap_or(u32::MAX),
            takes,
            actions: lexicon
                .first_action(&name)
                .or_else(|| lexicon.first_action(&text))
                .unwrap_or(0),
        });
        let own = key(tool.id.tool());
        for prefix in std::iter::once(server.name).chain(server.aliases.iter().map(String::as_str))
        {
            self.keys
                .push((key_id(&format!("{}{own}", key(prefix))), place));
        }
        self.keys.push((key_id(&own), place));
    }

    /// Reads names, descriptions and choices of the parameters, nested ones as well.
    fn schema(
        &mut self,
        schema: &Value,
        depth: usize,
        reader: &mut Reader,
        tally: &mut Tally,
        takes: &mut u16,
    ) {
        if depth > SEARCH_SCHEMA_DEPTH_MAX {
            return;
        }
        if let Some(Value::Object(properties)) = schema.get("properties") {
            for (name, value) in properties {
                self.text(name, Field::Parameter, reader, tally);
                *takes |= super::values::kinds_taken(name, value);
                if let Some(Value::String(about)) = value.get("description") {
                    self.text(about, Field::ParameterText, reader, tally);
                }
                if let Some(Value::Array(choices)) = value.get("enum") {
                    for choice in choices.iter().filter_map(Value::as_str) {
                        self.text(choice, Field::Choice, reader, tally);
                    }
                }
                self.schema(value, depth + 1, reader, tally, takes);
            }
        }
        for inner in ["items", "additionalProperties"] {
            if let Some(value @ Value::Object(_)) = schema.get(inner) {
                self.schema(value, depth + 1, reader, tally, takes);
            }
        }
        for inner in ["anyOf", "oneOf", "allOf"] {
            if let Some(Value::Array(values)) = schema.get(inner) {
                for value in values {
                    self.schema(value, depth + 1, reader, tally, takes);
                }
            }
        }
    }

    fn finish(mut self, server: &str, common: &Tally) -> Part {
        let mut order: Vec<usize> = (0..self.names.len())
            .filter(|&slot| !self.lists[slot].is_empty())
            .collect();
        order.sort_unstable_by(|&a, &b| self.names[a].1.cmp(&self.names[b].1));
        let mut words = Vec::with_capacity(order.len());
        let mut texts = String::new();
        let mut postings = Vec::with_capacity(self.lists.iter().map(Vec::len).sum());
        for slot in order {
            let list = std::mem::take(&mut self.lists[slot]);
            let (id, text) = &self.names[slot];
            texts.push_str(text);
            words.push(PartWord {
                id: *id,
                ends: u32::try_from(texts.len()).unwrap_or(u32::MAX),
                start: u32::try_from(postings.len()).unwrap_or(u32::MAX),
                len: u32::try_from(list.len()).unwrap_or(u32::MAX),
            });
            postings.extend(list);
        }
        self.keys.sort_unstable();
        self.keys.dedup();
        Part {
            server: server.into(),
            server_words: common.server_words.clone().into(),
            ids: self.ids,
            rows: self.rows,
            sequences: self.sequences,
            held: self.held,
            words,
            texts: texts.into(),
            postings,
            keys: self.keys,
            vectors: self.vectors,
            scales: self.scales,
            signs: self.signs,
            successors: Vec::new(),
        }
    }
}
