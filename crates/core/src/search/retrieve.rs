//! The first look: which tools share words with the wish, and how much the words weigh.
//!
//! All sums are of whole numbers, so that no order of adding can change them.

use std::cell::RefCell;
use std::cmp::{Ordering, Reverse};
use std::hint::black_box;
use std::ops::Range;
use std::sync::Arc;

use super::arithmetic::ln;
use super::field::IMPACT_ONE;
use super::index::Index;
use super::likeness::alike;
use super::lookup::Spoken;
use super::part::short;
use super::query::Query;
use super::scoreboard::Scoreboard;
use super::vocabulary::Listed;
use super::words::Reader;
use crate::catalog::ToolId;
use crate::limits::{
    SEARCH_CANDIDATES, SEARCH_COMMON_WORD_TOOLS, SEARCH_COMPLETED_TOOLS, SEARCH_MEANING_SCAN_TOOLS,
};

/// Weights of words are kept in steps of one 256th.
pub(crate) const WEIGHT_ONE: f32 = 256.0;

/// A word that every tool holds still counts a little, so that what it finds is found.
const WEIGHT_MIN: u32 = 8;

/// A tool whose words weigh less than the best tool's by more than this factor gets a second look
/// only where there is room for it in the answer, or its meaning speaks for it.
pub(crate) const SECOND_LOOK_SHARE: u32 = 3;

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
    /// The words that stand in the scope and speak for terms.
    pub(crate) spoken: Vec<Spoken>,
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

impl Found {
    /// Puts a tool among the candidates, for reasons other than words and meaning.
    pub(crate) fn bring_in(&mut self, number: u32) {
        if !self.candidates.iter().any(|c| c.number == number) {
            self.candidates.push(Candidate { number, score: 0 });
            self.total = self.total.max(self.candidates.len());
        }
    }
}

/// Who may be found.
pub(crate) struct Scope<'a> {
    pub(crate) slot: Option<u32>,
    pub(crate) allow: Option<&'a dyn Fn(&ToolId) -> bool>,
    pub(crate) wanted: usize,
}

/// What the catalog has for one term.
struct Group {
    weight: u32,
    /// Where its words stand among those of all groups.
    words: Range<usize>,
    /// How many tools hold them, those with several counted again.
    tools: u32,
}

/// The words of all groups with factors in 256ths.
type Listing<'i> = Vec<(&'i Arc<Listed>, u32)>;

/// Adds to each unknown word of the query the words of the scope it may have meant.
pub(crate) fn expand(index: &Index, query: &mut Query, slot: Option<u32>, reader: &mut Reader) {
    let is_known = |id| {
        index
            .vocabulary
            .get(id)
            .is_some_and(|w| w.tools_in(slot) > 0)
    };
    let mut joined = String::new();
    for (first, second) in &query.pairs {
        let (a, b) = (*first as usize, *second as usize);
        joined.clear();
        joined.push_str(&query.terms[a].word.folded);
        joined.push_str(&query.terms[b].word.folded);
        let id = reader.id(&joined);
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
) -> (Vec<Group>, Listing<'i>, Weighed) {
    let mut groups = Vec::with_capacity(query.terms.len());
    let mut words: Listing<'i> = Vec::with_capacity(query.terms.len() * 8);
    let mut weighed = Weighed::default();
    for (number, term) in (0_u16..).zip(&query.terms) {
        let from = words.len();
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
            weighed.spoken.push(Spoken {
                word: short(*id),
                term: number,
                factor: *factor,
            });
        }
        let rarity = rarity(held.max(0.5), all);
        let weight = fixed(rarity * term.weight).max(WEIGHT_MIN);
        weighed.terms.push(weight);
        weighed.known.push(words.len() > from);
        groups.push(Group {
            weight,
            words: from..words.len(),
            tools,
        });
    }
    (groups, words, weighed)
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

thread_local! {
    static BOARD: RefCell<Scoreboard> = RefCell::default();
}

/// Finds the tools that share words with the query.
pub(crate) fn retrieve(index: &Index, query: &Query, scope: &Scope<'_>) -> Found {
    let all = match scope.slot {
        None => index.len(),
        Some(slot) => index.part(slot).map_or(0, |p| p.len()),
    };
    let (groups, words, weighed) = groups(
        index,
        query,
        scope.slot,
        u32::try_from(all).unwrap_or(u32::MAX),
    );
    let is_common = |group: &Group| group.tools as usize > SEARCH_COMMON_WORD_TOOLS;
    let defer = groups.iter().any(|g| g.tools > 0 && !is_common(g));
    let (later, now): (Vec<_>, Vec<_>) = (1_u32..)
        .zip(&groups)
        .partition(|(_, group)| defer && is_common(group));
    let akin = if all <= SEARCH_MEANING_SCAN_TOOLS {
        alike(index, &query.about[0], scope.slot)
    } else {
        Vec::new()
    };
    let wanted = scope.wanted.max(SEARCH_CANDIDATES);
    let room = if later.is_empty() {
        wanted
    } else {
        scope.wanted.max(SEARCH_COMPLETED_TOOLS)
    };
    let Met {
        mut candidates,
        mut akin,
        mut total,
    } = BOARD.with_borrow_mut(|board| {
        board.prepare(index.len());
        let first_look = now
            .iter()
            .flat_map(|(_, group)| &words[group.words.clone()]);
        black_box(first_look.fold(0, |sum, (listed, _)| sum ^ warm(index, listed, scope.slot)));
        for (number, group) in now {
            for (listed, factor) in &words[group.words.clone()] {
                let strength = (group.weight * factor) >> 8;
                accumulate(index, board, listed, scope.slot, number, strength);
            }
        }
        let met = Met::read(board, &akin, scope, room, later.is_empty());
        board.clear();
        met
    });
    if let Some(allow) = scope.allow {
        let allowed = |c: &Candidate| index.entry(c.number).is_some_and(|e| allow(e.id));
        candidates.retain(allowed);
        akin.retain(allowed);
        total = candidates.len();
    }
    total += akin.iter().filter(|c| c.score == 0).count();
    if !later.is_empty() {
        let later: Vec<Common<'_, '_>> = later
            .iter()
            .map(|(_, group)| (group.weight, &words[group.words.clone()]))
            .collect();
        complete(index, &mut candidates, &later, scope.wanted, wanted);
    }
    best(index, &mut candidates, wanted);
    let least = candidates
        .first()
        .map_or(0, |c| c.score / SECOND_LOOK_SHARE);
    let close = candidates.partition_point(|c| c.score >= least);
    candidates.truncate(close.max(scope.wanted));
    akin.retain(|c| !candidates.iter().any(|have| have.number == c.number));
    candidates.extend(akin);
    Found {
        candidates,
        total,
        weighed,
    }
}

/// Reads the first of all postings that [`accumulate`] will go through, so that memory is asked for them
/// at once. What it gives is good for nothing, but makes them be read.
fn warm(index: &Index, listed: &Listed, slot: Option<u32>) -> u32 {
    let firsts = listed.places_in(slot).iter().map(|place| {
        let part = index.part(place.slot);
        let first = part.and_then(|part| part.postings.get(place.start as usize));
        first.map_or(0, |posting| posting.impact())
    });
    firsts.fold(0, |sum, first| sum ^ first)
}

fn accumulate(
    index: &Index,
    board: &mut Scoreboard,
    listed: &Listed,
    slot: Option<u32>,
    group: u32,
    strength: u32,
) {
    for place in listed.places_in(slot) {
        let Some(part) = index.part(place.slot) else {
            continue;
        };
        let postings = &part.postings[place.start as usize..(place.start + place.len) as usize];
        let base = index.bases[place.slot as usize];
        board.add(base, postings, group, strength);
    }
}

/// Weight and words of a term that many tools hold.
type Common<'w, 'i> = (u32, &'w [(&'i Arc<Listed>, u32)]);

/// Adds what the common words say of the best so far. What cannot come among the `kept` best, even
/// if it held every common word, is left out.
fn complete(
    index: &Index,
    candidates: &mut Vec<Candidate>,
    later: &[Common<'_, '_>],
    wanted: usize,
    kept: usize,
) {
    keep_best(index, candidates, wanted.max(SEARCH_COMPLETED_TOOLS));
    if candidates.len() > kept {
        let hoped: u32 = later.iter().map(|(weight, _)| worth_max(*weight)).sum();
        candidates.select_nth_unstable_by_key(kept - 1, |c| Reverse(c.score));
        let border = candidates[kept - 1].score;
        candidates.retain(|c| c.score + hoped >= border);
    }
    black_box(candidates.iter().fold(0, |sum, c| {
        sum ^ index.entry(c.number).map_or(0, |entry| entry.held.warm())
    }));
    for candidate in candidates {
        candidate.score += common_words(index, candidate.number, later);
    }
}

/// What the common words add to one tool.
fn common_words(index: &Index, number: u32, groups: &[Common<'_, '_>]) -> u32 {
    let Some(entry) = index.entry(number) else {
        return 0;
    };
    let mut sum = 0;
    for (weight, words) in groups {
        let mut strongest = 0;
        for (listed, factor) in *words {
            if let Some(held) = entry.held.get(short(listed.id)) {
                strongest = strongest.max(worth(*weight, *factor, held.impact));
            }
        }
        sum += strongest;
    }
    sum
}

/// What stood on the scoreboard.
struct Met {
    candidates: Vec<Candidate>,
    /// Those that are alike in meaning, with what their words weigh.
    akin: Vec<Candidate>,
    total: usize,
}

impl Met {
    fn read(
        board: &Scoreboard,
        akin: &[u32],
        scope: &Scope<'_>,
        room: usize,
        complete: bool,
    ) -> Self {
        let scored = |number: &u32| Candidate {
            number: *number,
            score: board.sum(*number),
        };
        // Whoever decides what may be seen is asked only when the scoreboard is given back.
        let candidates = if scope.allow.is_some() {
            shortlist(board, usize::MAX, 0)
        } else if complete {
            close_behind(board, room, scope.wanted)
        } else {
            shortlist(board, room, 0)
        };
        Self {
            candidates,
            akin: akin.iter().map(scored).collect(),
            total: board.len(),
        }
    }
}

/// The tools that get a second look for their words: those not far behind the best, or where they are
/// fewer than `wanted`, the best there are. In no order; beyond the `room` best, only some are left out.
fn close_behind(board: &Scoreboard, room: usize, wanted: usize) -> Vec<Candidate> {
    let best = board.iter().map(|(_, score)| score).max().unwrap_or(0);
    let close = shortlist(board, room, best / SECOND_LOOK_SHARE);
    if close.len() < wanted {
        return shortlist(board, room, 0);
    }
    close
}

/// The best of the scoreboard that have at least `border`, in no order: what `room` others surpass is
/// dropped on the way, perhaps not all of it.
fn shortlist(board: &Scoreboard, room: usize, border: u32) -> Vec<Candidate> {
    let mut border = border;
    let mut kept: Vec<Candidate> = Vec::with_capacity(SEARCH_CANDIDATES * 2);
    let mut full = room.saturating_mul(3);
    for (number, score) in board.iter() {
        if score < border {
            continue;
        }
        kept.push(Candidate { number, score });
        if kept.len() >= full {
            // What ties at the border stays.
            kept.select_nth_unstable_by_key(room - 1, |c| Reverse(c.score));
            border = kept[room - 1].score;
            kept.retain(|c| c.score >= border);
            full = kept.len() + 2 * room;
        }
    }
    kept
}

/// Keeps the `wanted` best, in no order.
fn keep_best(index: &Index, candidates: &mut Vec<Candidate>, wanted: usize) {
    if candidates.len() <= wanted {
        return;
    }
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
    let room = wanted - candidates.len();
    if room < tied.len() {
        tied.select_nth_unstable_by(room, |a, b| by_name(index, a.number, b.number));
        tied.truncate(room);
    }
    candidates.extend(tied);
}

/// Keeps the `wanted` best, best first.
fn best(index: &Index, candidates: &mut Vec<Candidate>, wanted: usize) {
    keep_best(index, candidates, wanted);
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
