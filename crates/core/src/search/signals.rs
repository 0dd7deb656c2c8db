//! The second look: what speaks for a tool, as numbers.

use std::cell::Cell;
use std::hint::black_box;

use super::field::Field;
use super::index::Index;
use super::likeness::warm;
use super::lookup::Lookup;
use super::part::{Entry, Part};
use super::query::Query;
use super::retrieve::{Candidate, Found, WEIGHT_ONE, worth_max};
use super::wishes::WISHES_MAX;

/// How many signals there are.
pub const SIGNALS: usize = 30;

/// The names of the signals, in order.
pub const SIGNAL_NAMES: [&str; SIGNALS] = [
    "lexical",
    "lexical_share",
    "lexical_relative",
    "cover",
    "cover_name",
    "cover_text",
    "cover_server",
    "cover_parameters",
    "cover_tags",
    "name_share",
    "name_complete",
    "pairs_name",
    "pairs_text",
    "action_same",
    "action_other",
    "mention",
    "server_named",
    "values_taken",
    "name_words",
    "tool_words",
    "head_in_name",
    "head_anywhere",
    "server_cover",
    "likeness",
    "likeness_relative",
    "words_known",
    "cover_exact",
    "wish_cover",
    "wish_cover_name",
    "wish_likeness",
];

/// The signals of one tool.
pub type Signals = [f32; SIGNALS];

const NAME: u16 = Field::Name.bit();
const TEXT: u16 = Field::Title.bit() | Field::Description.bit();
const SERVER: u16 = Field::Server.bit() | Field::About.bit();
const PARAMETERS: u16 = Field::Parameter.bit() | Field::ParameterText.bit() | Field::Choice.bit();
const TAG: u16 = Field::Tag.bit();

/// Kinds of fields that are told apart; filled up to a round number, for speed.
const KINDS: [u16; 8] = [u16::MAX, NAME, TEXT, SERVER, PARAMETERS, TAG, 0, 0];
/// How many of them are signals.
const KINDS_TOLD: usize = 6;
const ANYWHERE: usize = 0;
const IN_NAME: usize = 1;
const IN_TEXT: usize = 2;

/// How well a tool speaks for one term, per kind of field.
type Spoken = [f32; KINDS.len()];

/// What the terms that a tool speaks for come to.
#[derive(Default)]
struct Shares {
    /// Share of the wish's weight, per kind of field.
    cover: Spoken,
    /// Share of it that is spoken for by the very words.
    exact: f32,
    /// The heaviest term relative to the heaviest there is: in the name, and anywhere.
    head: [f32; 2],
    /// The best share of one wish: anywhere, and in the name.
    wish: [f32; 2],
    /// Which terms it speaks for, see [`bit`]: in the name, and in the text.
    said: [u64; 2],
}

/// A bit for a term; some share it where there are many terms.
fn bit(term: usize) -> u64 {
    1 << (term % 64)
}

/// What a term of the wish counts, and for which of several wishes.
#[derive(Clone, Copy)]
struct Counted {
    weight: f32,
    wish: usize,
}

/// A candidate that was looked at.
struct Seen<'a> {
    part: &'a Part,
    /// Place in the part.
    tool: usize,
    entry: Entry<'a>,
    /// Place in [`Judge::servers`].
    server: usize,
}

/// What the candidates of one server have in common.
struct Served {
    slot: u32,
    /// Whether the wish names it.
    named: bool,
    /// The share of the wish's weight that its candidates speak for together.
    cover: f32,
}

/// Room for what a judge notes; kept between searches, so that a search allocates none of it.
#[derive(Default)]
struct Notes {
    /// Per candidate and term.
    spoken: Vec<Spoken>,
    /// Per server and term: how well any of its tools speaks for it.
    shared: Vec<f32>,
    /// Per candidate and what the query is about.
    likeness: Vec<f32>,
}

thread_local! {
    static NOTES: Cell<Notes> = Cell::default();
}

/// Looks at candidates of one query.
pub(crate) struct Judge<'a> {
    query: &'a Query,
    lookup: Lookup,
    terms: Vec<Counted>,
    total: f32,
    heaviest: f32,
    attainable: f32,
    best: f32,
    actions: u32,
    named: Vec<u32>,
    /// Weight of each wish.
    wishes: [f32; WISHES_MAX],
    /// Weight of all pairs of neighbours.
    pairs: f32,
    /// Per pair of neighbours: the bits of both.
    pair_bits: Vec<u64>,
    /// Per candidate.
    seen: Vec<Option<Seen<'a>>>,
    /// Servers among the candidates.
    servers: Vec<Served>,
    notes: Notes,
    most_alike: f32,
    /// Share of the wish's weight that any tool in scope speaks to.
    known: f32,
}

impl<'a> Judge<'a> {
    pub(crate) fn new(
        index: &'a Index,
        query: &'a Query,
        found: &mut Found,
        scope: Option<u32>,
    ) -> Self {
        let lookup = Lookup::of(std::mem::take(&mut found.weighed.spoken));
        #[expect(clippy::cast_precision_loss, reason = "weights are small")]
        let weights = found.weighed.terms.iter().map(|w| *w as f32 / WEIGHT_ONE);
        let terms: Vec<Counted> = weights
            .zip(&query.terms)
            .map(|(weight, term)| Counted {
                weight,
                wish: usize::from(term.wish).min(WISHES_MAX - 1),
            })
            .collect();
        let weights = || terms.iter().map(|term| term.weight);
        let attainable: u32 = found.weighed.terms.iter().map(|w| worth_max(*w)).sum();
        let mut named: Vec<u32> = query
            .mentions
            .iter()
            .flat_map(|key| index.named(*key, scope))
            .collect();
        named.sort_unstable();
        named.dedup();
        let total = weights().sum::<f32>().max(1e-6);
        let known = weights()
            .zip(&found.weighed.known)
            .filter(|(_, known)| **known);
        let known = known.map(|(w, _)| w).sum::<f32>() / total;
        let mut wishes = [0.0; WISHES_MAX];
        for term in &terms {
            wishes[term.wish] += term.weight;
        }
        let count = found.candidates.len();
        let best = found.candidates.first().map_or(1, |c| c.score);
        #[expect(clippy::cast_precision_loss, reason = "only the leading digits matter")]
        let mut judge = Self {
            query,
            lookup,
            total,
            heaviest: weights().fold(1e-6, f32::max),
            known,
            attainable: (attainable as f32).max(1.0),
            best: (best as f32).max(1.0),
            actions: query.terms.iter().fold(0, |bits, t| bits | t.actions),
            named,
            wishes,
            pairs: 0.0,
            pair_bits: query
                .pairs
                .iter()
                .map(|(a, b)| bit(*a as usize) | bit(*b as usize))
                .collect(),
            seen: Vec::with_capacity(count),
            servers: Vec::with_capacity(count / 2),
            notes: NOTES.take(),
            most_alike: 0.0,
            terms,
        };
        let pairs = query.pairs.iter().map(|pair| judge.pair_weight(*pair));
        judge.pairs = pairs.sum::<f32>().max(1e-6);
        judge.look_at_all(index, found);
        judge
    }

    /// Notes which terms the candidates speak for, and what those of one server do together.
    fn look_at_all(&mut self, index: &'a Index, found: &Found) {
        let (terms, abouts) = (self.terms.len(), self.query.about.len());
        let Notes {
            mut spoken,
            mut shared,
            mut likeness,
        } = std::mem::take(&mut self.notes);
        spoken.clear();
        shared.clear();
        likeness.clear();
        let mut warmed = 0;
        for candidate in &found.candidates {
            let (slot, tool) = index.locate(candidate.number);
            let here = index.part(slot).and_then(|part| {
                let (part, tool) = (&**part, tool as usize);
                Some((part, tool, part.entry(tool)?))
            });
            let seen = here.map(|(part, tool, entry)| {
                warmed ^= entry.held.warm()
                    ^ entry.name.first().copied().unwrap_or(0)
                    ^ u32::from(warm(part, tool).cast_unsigned());
                Seen {
                    part,
                    tool,
                    entry,
                    server: self.server(slot, part),
                }
            });
            self.seen.push(seen);
        }
        black_box(warmed);
        shared.resize(self.servers.len() * terms, 0.0);
        for (place, seen) in self.seen.iter().enumerate() {
            spoken.resize((place + 1) * terms, Spoken::default());
            likeness.resize((place + 1) * abouts, 0.0);
            let Some(seen) = seen else {
                continue;
            };
            let own = &mut spoken[place * terms..];
            speak(&self.lookup, seen.entry, own);
            let shared = &mut shared[seen.server * terms..(seen.server + 1) * terms];
            for (have, new) in shared.iter_mut().zip(&*own) {
                *have = more(*have, new[ANYWHERE]);
            }
            let alike = &mut likeness[place * abouts..];
            for (alike, about) in alike.iter_mut().zip(&self.query.about) {
                *alike = super::likeness::likeness(seen.part, seen.tool, about);
            }
            self.most_alike = self.most_alike.max(alike[0]);
        }
        for (number, server) in self.servers.iter_mut().enumerate() {
            let spoken = &shared[number * terms..(number + 1) * terms];
            let worth = spoken.iter().zip(&self.terms).map(|(s, t)| s * t.weight);
            server.cover = worth.sum::<f32>() / self.total;
        }
        self.notes = Notes {
            spoken,
            shared,
            likeness,
        };
    }

    /// The place of a server among those of the candidates.
    fn server(&mut self, slot: u32, part: &Part) -> usize {
        let known = self.servers.iter().position(|s| s.slot == slot);
        known.unwrap_or_else(|| {
            self.servers.push(Served {
                slot,
                named: self.names_server(&part.server_words),
                cover: 0.0,
            });
            self.servers.len() - 1
        })
    }

    /// How alike the candidate at `place` is to all the query, then to each of several wishes.
    fn alike(&self, place: usize) -> &[f32] {
        let abouts = self.query.about.len();
        &self.notes.likeness[place * abouts..(place + 1) * abouts]
    }

    fn spoken(&self, place: usize) -> &[Spoken] {
        let terms = self.terms.len();
        &self.notes.spoken[place * terms..(place + 1) * terms]
    }

    /// Goes through the terms once.
    fn shares(&self, spoken: &[Spoken]) -> Shares {
        let mut out = Shares::default();
        let mut heads = Spoken::default();
        let mut wishes = [[0.0_f32; WISHES_MAX]; 2];
        let several = self.query.about.len() > 1;
        for (number, (spoken, term)) in spoken.iter().zip(&self.terms).enumerate() {
            let worth = spoken.map(|factor| factor * term.weight);
            for (sum, worth) in out.cover.iter_mut().zip(worth) {
                *sum += worth;
            }
            for (head, worth) in heads.iter_mut().zip(worth) {
                *head = more(*head, worth);
            }
            out.exact += if spoken[ANYWHERE] >= 1.0 {
                term.weight
            } else {
                0.0
            };
            let bit = bit(number);
            out.said[0] |= if spoken[IN_NAME] > 0.0 { bit } else { 0 };
            out.said[1] |= if spoken[IN_TEXT] > 0.0 { bit } else { 0 };
            if several {
                wishes[0][term.wish] += worth[ANYWHERE];
                wishes[1][term.wish] += worth[IN_NAME];
            }
        }
        out.head = [heads[IN_NAME], heads[ANYWHERE]];
        if !several {
            // All terms are of the one wish.
            wishes[0][0] = out.cover[ANYWHERE];
            wishes[1][0] = out.cover[IN_NAME];
        }
        out.cover = out.cover.map(|sum| sum / self.total);
        out.exact /= self.total;
        out.head = out.head.map(|head| head / self.heaviest);
        let count = if several { WISHES_MAX } else { 1 };
        out.wish = wishes.map(|sums| {
            let shares = sums[..count].iter().zip(self.wishes);
            let shares = shares.filter(|(_, all)| *all > 0.0);
            shares.map(|(sum, all)| sum / all).fold(0.0, f32::max)
        });
        out
    }

    fn pair_weight(&self, (a, b): (u32, u32)) -> f32 {
        self.terms[a as usize]
            .weight
            .min(self.terms[b as usize].weight)
    }

    /// The share of neighbouring words of the wish that are neighbours in `sequence`, whose words
    /// speak for the terms `said`.
    fn pairs(&self, sequence: &[u32], said: u64) -> f32 {
        if !self.pair_bits.iter().any(|both| said & both == *both) {
            return 0.0;
        }
        let mut sum = 0.0;
        let mut seen = 0_u128;
        let mut before = false;
        for (at, word) in sequence.iter().enumerate() {
            let here = self.lookup.may_hold(*word);
            if before & here {
                let (first, second) = (self.lookup.get(sequence[at - 1]), self.lookup.get(*word));
                for (number, pair) in self.query.pairs.iter().enumerate() {
                    let both = first.iter().any(|t| u32::from(t.term) == pair.0)
                        && second.iter().any(|t| u32::from(t.term) == pair.1);
                    if both && seen & (1 << (number % 128)) == 0 {
                        seen |= 1 << (number % 128);
                        sum += self.pair_weight(*pair);
                    }
                }
            }
            before = here;
        }
        sum / self.pairs
    }

    /// The signals of the candidate at `place` of those found.
    #[expect(
        clippy::cast_precision_loss,
        reason = "counts and scores; only the leading digits matter"
    )]
    pub(crate) fn signals(&self, place: usize, candidate: Candidate) -> Signals {
        let mut out = [0.0; SIGNALS];
        let Some(Seen {
            part,
            entry,
            server,
            ..
        }) = &self.seen[place]
        else {
            return out;
        };
        let server = &self.servers[*server];
        let score = candidate.score as f32;
        out[0] = score / (WEIGHT_ONE * 256.0);
        out[1] = score / self.attainable;
        out[2] = score / self.best;
        let shares = self.shares(self.spoken(place));
        out[3..9].copy_from_slice(&shares.cover[..KINDS_TOLD]);
        [out[9], out[10], out[18]] = self.name(entry.name, &part.server_words);
        out[11] = self.pairs(entry.name, shares.said[0]);
        out[12] = self.pairs(entry.text, shares.said[1]);
        [out[13], out[14]] = self.actions(entry.actions);
        out[15] = truth(self.named.binary_search(&candidate.number).is_ok());
        out[16] = truth(server.named);
        let kinds = self.query.kinds.count_ones() as f32;
        let taken = (self.query.kinds & entry.takes).count_ones() as f32;
        out[17] = if kinds > 0.0 { taken / kinds } else { 0.5 };
        out[19] = (entry.held.len() as f32).min(200.0) / 200.0;
        [out[20], out[21]] = shares.head;
        out[22] = server.cover;
        let alike = self.alike(place);
        out[23] = alike[0];
        out[24] = alike[0] - self.most_alike;
        out[25] = self.known;
        out[26] = shares.exact;
        [out[27], out[28]] = shares.wish;
        out[29] = alike.iter().copied().fold(alike[0], f32::max);
        out
    }

    /// The wish that a candidate serves best.
    pub(crate) fn wish(&self, place: usize) -> u8 {
        let wishes = self.query.about.len().saturating_sub(1);
        if wishes < 2 {
            return 0;
        }
        let mut worth = [0.0; WISHES_MAX];
        let spoken = self.spoken(place);
        for (spoken, term) in spoken.iter().zip(&self.terms) {
            worth[term.wish] += spoken[ANYWHERE] * term.weight / self.wishes[term.wish].max(1e-6);
        }
        for (worth, alike) in worth.iter_mut().zip(&self.alike(place)[1..]) {
            *worth += alike;
        }
        let mut best = 0;
        for wish in 1..wishes.min(WISHES_MAX) {
            if worth[wish] > worth[best] {
                best = wish;
            }
        }
        u8::try_from(best).unwrap_or(0)
    }

    /// Whether the tool does what is asked; whether it does something else.
    fn actions(&self, own: u32) -> [f32; 2] {
        let same = own & self.actions != 0;
        [truth(same), truth(!same && own != 0 && self.actions != 0)]
    }

    fn names_server(&self, words: &[u32]) -> bool {
        let is_said = |word: &u32| {
            self.lookup
                .get(*word)
                .iter()
                .any(|spoken| spoken.factor >= 1.0)
        };
        !words.is_empty() && words.iter().all(is_said)
    }

    /// How much of the tool's own name the wish speaks of; whether all of it; how long it is.
    #[expect(clippy::cast_precision_loss, reason = "a name has few words")]
    fn name(&self, name: &[u32], server: &[u32]) -> [f32; 3] {
        let is_own = |word: &u32| !server.contains(word);
        let all_shared = !name.iter().any(is_own);
        let mut sum = 0.0;
        let mut complete = true;
        let mut count = 0;
        for word in name.iter().filter(|word| all_shared || is_own(word)) {
            let factors = self.lookup.get(*word).iter().map(|spoken| spoken.factor);
            let best = factors.fold(0.0, f32::max);
            sum += best;
            complete &= best > 0.0;
            count += 1;
        }
        if count == 0 {
            return [0.0; 3];
        }
        [
            sum / count as f32,
            truth(complete),
            (count as f32).min(12.0) / 12.0,
        ]
    }
}

impl Drop for Judge<'_> {
    fn drop(&mut self) {
        NOTES.set(std::mem::take(&mut self.notes));
    }
}

/// The greater of two numbers, both of which are some; one operation, which [`f32::max`] is not.
#[inline]
fn more(a: f32, b: f32) -> f32 {
    if b > a { b } else { a }
}

/// Notes how well a tool speaks for each term.
fn speak(lookup: &Lookup, entry: Entry<'_>, spoken: &mut [Spoken]) {
    lookup.each(entry.held.words(), |place, terms| {
        let held = entry.held.at(place).fields;
        for term in terms {
            for (have, fields) in spoken[usize::from(term.term)].iter_mut().zip(KINDS) {
                let new = if held & fields == 0 { 0.0 } else { term.factor };
                *have = more(*have, new);
            }
        }
    });
}

fn truth(holds: bool) -> f32 {
    f32::from(u8::from(holds))
}
