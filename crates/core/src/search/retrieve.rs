//! The first look: which tools share words with the wish, and how much the words weigh.
//!
//! All sums are of whole numbers, so that no order of adding can change them.

use std::cell::RefCell;
use std::cmp::{Ordering, Reverse};
use std::sync::Arc;

use super::arithmetic::ln;
use super::field::IMPACT_ONE;
use super::index::Index;
use super::meaning::{DIMENSIONS, Packed, product};
use super::part::{Posting, short};
use super::query::Query;
use super::vocabulary::Listed;
use super::words::Reader;
use crate::catalog::ToolId;
use crate::limits::{
    SEARCH_CANDIDATES, SEARCH_COMMON_WORD_TOOLS, SEARCH_COMPLETED_TOOLS, SEARCH_MEANING_CANDIDATES,
    SEARCH_MEANING_SCAN_TOOLS,
};

/// Weights of words are kept in steps of one 256th.
pub(crate) const WEIGHT_ONE: f32 = 256.0;

/// A word that every tool holds still counts a little, so that what it finds is found.
const WEIGHT_MIN: u32 = 8;

/// A tool that shares words with the wish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    /// Its number in the whole catalog.
    pub(crate) number: u32,
    /// Sum of the weights of the words shared.
    pub(crate) score: u32,
}

/// What the words of the wish weigh here.
#[derive(Clone, Debug, Default)]
pub(crate) struct Weighed {
    /// Per term of the query, in steps of [`WEIGHT_ONE`].
    pub(crate) terms: Vec<u32>,
    /// Per term, whether any tool in the scope holds it or a stand-in.
    pub(crate) known: Vec<bool>,
}

/// What the first look found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// The best tools, best first.
    pub(crate) candidates: Vec<Candidate>,
    /// How many tools share any word with the wish.
    pub(crate) total: usize,
    pub(crate) weighed: Weighed,
}

/// Who may be found.
pub(crate) struct Scope<'a> {
    pub(crate) slot: Option<u32>,
    pub(crate) allow: Option<&'a dyn Fn(&ToolId) -> bool>,
    pub(crate) wanted: usize,
}

struct Group<'i> {
    weight: u32,
    /// Listed words with factors in 256ths, the strongest first.
    words: Vec<(&'i Arc<Listed>, u32)>,
    tools: u32,
}

/// Adds to each unknown word of the query the words of the scope it may have meant.
pub(crate) fn expand(index: &Index, query: &mut Query, slot: Option<u32>, reader: &mut Reader) {
    let is_known = |id| {
        index
            .vocabulary
            .get(id)
            .is_some_and(|w| w.tools_in(slot) > 0)
    };
    for (first, second) in query.pairs.clone() {
        let (a, b) = (first as usize, second as usize);
        let joined = format!(
            "{}{}",
            query.terms[a].word.folded, query.terms[b].word.folded
        );
        let id = reader.word(&joined).id;
        if is_known(id) {
            query.terms[a].variants.push((id, 0.8));
            query.terms[b].variants.push((id, 0.8));
        }
    }
    for term in &mut query.terms {
        if term.value || term.variants.iter().any(|(id, _)| is_known(*id)) {
            continue;
        }
        let stand_ins = index.vocabulary.stand_ins(&term.word.stem, slot);
        term.variants
            .extend(stand_ins.iter().map(|(word, factor)| (word.id, *factor)));
    }
}

/// How much a word says that stands in `tools` of `all` tools.
fn rarity(tools: f32, all: u32) -> f32 {
    let (held, all) = (f64::from(tools), f64::from(all));
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a logarithm fits any float"
    )]
    let rarity = ln(1.0 + ((all - held).max(0.0) + 0.5) / (held + 0.5)) as f32;
    rarity
}

fn groups<'i>(
    index: &'i Index,
    query: &Query,
    slot: Option<u32>,
    all: u32,
) -> (Vec<Group<'i>>, Weighed) {
    let mut groups = Vec::with_capacity(query.terms.len());
    let mut weighed = Weighed::default();
    for term in &query.terms {
        let mut words: Vec<(&Arc<Listed>, u32)> = Vec::with_capacity(term.variants.len());
        let mut held = 0.0_f32;
        let mut tools = 0;
        for (id, factor) in &term.variants {
            let Some(listed) = index.vocabulary.get(*id) else {
                continue;
            };
            let here = listed.tools_in(slot);
            if here == 0 {
                continue;
            }
            #[expect(
                clippy::cast_precision_loss,
                reason = "a count of tools is far below 2^24"
            )]
            let share = here as f32 * factor;
            held += share;
            tools += here;
            words.push((listed, fixed(*factor)));
        }
        words.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.text.cmp(&b.0.text)));
        words.dedup_by_key(|w| w.0.id);
        let rarity = rarity(held.max(0.5), all);
        let weight = fixed(rarity * term.weight).max(WEIGHT_MIN);
        weighed.terms.push(weight);
        weighed.known.push(!words.is_empty());
        groups.push(Group {
            weight,
            words,
            tools,
        });
    }
    (groups, weighed)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "weights and factors are positive and small"
)]
pub(crate) fn fixed(x: f32) -> u32 {
    (x * WEIGHT_ONE + 0.5) as u32
}

/// What one posting adds.
pub(crate) fn worth(weight: u32, factor: u32, impact: u16) -> u32 {
    (((weight * factor) >> 8) * u32::from(impact)) >> 4
}

/// The most that a term of this weight can add.
pub(crate) fn worth_max(weight: u32) -> u32 {
    (weight * IMPACT_ONE) >> 4
}

#[derive(Default)]
struct Scratch {
    sum: Vec<u32>,
    best: Vec<u32>,
    group: Vec<u16>,
    touched: Vec<u32>,
}

impl Scratch {
    fn prepare(&mut self, tools: usize) {
        if self.sum.len() < tools {
            self.sum.resize(tools, 0);
            self.best.resize(tools, 0);
            self.group.resize(tools, 0);
        }
    }

    /// Within a group only the strongest word counts.
    #[inline]
    fn add(&mut self, base: u32, postings: &[Posting], group: u16, weight: u32, factor: u32) {
        let strength = (weight * factor) >> 8;
        for posting in postings {
            let number = base + posting.tool;
            let at = number as usize;
            let worth = (strength * u32::from(posting.impact)) >> 4;
            if self.group[at] != group {
                if self.group[at] == 0 {
                    self.touched.push(number);
                }
                self.group[at] = group;
                self.best[at] = worth;
                self.sum[at] += worth;
            } else if worth > self.best[at] {
                self.sum[at] += worth - self.best[at];
                self.best[at] = worth;
            }
        }
    }

    fn clear(&mut self) {
        for &number in &self.touched {
            let at = number as usize;
            self.sum[at] = 0;
            self.best[at] = 0;
            self.group[at] = 0;
        }
        self.touched.clear();
    }
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

/// Finds the tools that share words with the query.
pub(crate) fn retrieve(index: &Index, query: &Query, scope: &Scope<'_>) -> Found {
    let all = match scope.slot {
        None => index.len(),
        Some(slot) => index.part(slot).map_or(0, |p| p.len()),
    };
    let (groups, weighed) = groups(
        index,
        query,
        scope.slot,
        u32::try_from(all).unwrap_or(u32::MAX),
    );
    let is_common = |group: &Group<'_>| group.tools as usize > SEARCH_COMMON_WORD_TOOLS;
    let defer = groups.iter().any(|g| g.tools > 0 && !is_common(g));
    SCRATCH.with_borrow_mut(|scratch| {
        scratch.prepare(index.len());
        let mut later = Vec::new();
        for (number, group) in (1_u16..).zip(&groups) {
            if defer && is_common(group) {
                later.push(group);
                continue;
            }
            for (listed, factor) in &group.words {
                accumulate(
                    index,
                    scratch,
                    listed,
                    scope.slot,
                    number,
                    group.weight,
                    *factor,
                );
            }
        }
        let allowed = |c: &Candidate| {
            scope
                .allow
                .is_none_or(|allow| index.entry(c.number).is_some_and(|e| allow(&e.id)))
        };
        let scored = |number: u32| Candidate {
            number,
            score: scratch.sum[number as usize],
        };
        let mut candidates: Vec<Candidate> = scratch.touched.iter().copied().map(scored).collect();
        let mut akin: Vec<Candidate> = if all <= SEARCH_MEANING_SCAN_TOOLS {
            alike(index, &query.about[0], scope.slot)
                .into_iter()
                .map(scored)
                .collect()
        } else {
            Vec::new()
        };
        scratch.clear();
        candidates.retain(allowed);
        akin.retain(allowed);
        let total = candidates.len() + akin.iter().filter(|c| c.score == 0).count();
        if later.is_empty() {
            best(index, &mut candidates, scope.wanted.max(SEARCH_CANDIDATES));
        } else {
            best(
                index,
                &mut candidates,
                scope.wanted.max(SEARCH_COMPLETED_TOOLS),
            );
            for candidate in &mut candidates {
                candidate.score += complete(index, candidate.number, &later);
            }
            best(index, &mut candidates, scope.wanted.max(SEARCH_CANDIDATES));
        }
        akin.retain(|c| !candidates.iter().any(|have| have.number == c.number));
        candidates.extend(akin);
        Found {
            candidates,
            total,
            weighed,
        }
    })
}

/// Least likeness at which a tool is looked at without a word in common.
const LIKENESS_MIN: f32 = 0.3;

/// How alike a wish and a tool are, -1 to 1.
pub(crate) fn likeness(index: &Index, number: u32, about: &Packed) -> f32 {
    let (slot, tool) = index.locate(number);
    let Some(part) = index.part(slot) else {
        return 0.0;
    };
    let at = tool as usize * DIMENSIONS;
    scaled(
        product(&about.steps, &part.vectors[at..at + DIMENSIONS]),
        about.scale * part.scales[tool as usize],
    )
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a product of two vectors of bytes is below 2^24"
)]
fn scaled(product: i32, scale: f32) -> f32 {
    product as f32 * scale
}

/// Numbers of the tools that are most like the wish in meaning.
fn alike(index: &Index, about: &Packed, only: Option<u32>) -> Vec<u32> {
    let mut found: Vec<(f32, u32)> = Vec::new();
    if about.scale <= 0.0 {
        return Vec::new();
    }
    for (slot, part) in (0_u32..).zip(&index.slots) {
        let Some(part) = part
            .as_ref()
            .filter(|_| only.is_none_or(|only| only == slot))
        else {
            continue;
        };
        let vectors = part.vectors.chunks_exact(DIMENSIONS);
        for ((vector, scale), number) in vectors.zip(&part.scales).zip(index.bases[slot as usize]..)
        {
            let likeness = scaled(product(&about.steps, vector), about.scale * scale);
            if likeness >= LIKENESS_MIN {
                found.push((likeness, number));
            }
        }
    }
    let order =
        |a: &(f32, u32), b: &(f32, u32)| b.0.total_cmp(&a.0).then_with(|| by_name(index, a.1, b.1));
    if found.len() > SEARCH_MEANING_CANDIDATES {
        found.select_nth_unstable_by(SEARCH_MEANING_CANDIDATES, order);
        found.truncate(SEARCH_MEANING_CANDIDATES);
    }
    found.sort_unstable_by(order);
    found.into_iter().map(|f| f.1).collect()
}

fn accumulate(
    index: &Index,
    scratch: &mut Scratch,
    listed: &Listed,
    slot: Option<u32>,
    group: u16,
    weight: u32,
    factor: u32,
) {
    let one;
    let places = match slot {
        None => &listed.places[..],
        Some(slot) => {
            one = listed.place(slot);
            one.as_slice()
        }
    };
    for place in places {
        let Some(part) = index.part(place.slot) else {
            continue;
        };
        let postings = &part.postings[place.start as usize..(place.start + place.len) as usize];
        let base = index.bases[place.slot as usize];
        scratch.add(base, postings, group, weight, factor);
    }
}

/// What the common words add to one tool.
fn complete(index: &Index, number: u32, groups: &[&Group<'_>]) -> u32 {
    let Some(entry) = index.entry(number) else {
        return 0;
    };
    let mut sum = 0;
    for group in groups {
        let mut strongest = 0;
        for (listed, factor) in &group.words {
            let wanted = short(listed.id);
            if let Ok(at) = entry.held.binary_search_by_key(&wanted, |h| h.word) {
                strongest = strongest.max(worth(group.weight, *factor, entry.held[at].impact));
            }
        }
        sum += strongest;
    }
    sum
}

/// Keeps the `wanted` best, best first.
fn best(index: &Index, candidates: &mut Vec<Candidate>, wanted: usize) {
    if candidates.len() > wanted {
        // Names are compared only among those that tie at the border.
        candidates.select_nth_unstable_by_key(wanted, |c| Reverse(c.score));
        let border = candidates[wanted].score;
        let mut tied: Vec<Candidate> = candidates
            .iter()
            .copied()
            .filter(|c| c.score == border)
            .collect();
        candidates.truncate(wanted);
        candidates.retain(|c| c.score > border);
        tied.sort_unstable_by(|a, b| by_name(index, a.number, b.number));
        tied.truncate(wanted - candidates.len());
        candidates.extend(tied);
    }
    candidates.sort_unstable_by(|a, b| {
        b.score
            .cmp(&a.score)
            .then_with(|| by_name(index, a.number, b.number))
    });
}

/// The order of tools that nothing else tells apart: shorter name, then server, then tool.
pub(crate) fn by_name(index: &Index, a: u32, b: u32) -> Ordering {
    let key = |number| {
        index
            .entry(number)
            .map(|e| (e.letters, e.id.server(), e.id.tool()))
    };
    key(a).cmp(&key(b))
}
