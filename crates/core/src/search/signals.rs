//! The second look: what speaks for a tool, as numbers.

use super::field::Field;
use super::index::Index;
use super::likeness::likeness;
use super::query::{Lookup, Query};
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
}

/// Looks at candidates of one query.
pub(crate) struct Judge<'a> {
    index: &'a Index,
    query: &'a Query,
    lookup: Lookup,
    weights: Vec<f32>,
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
    /// Per candidate and term.
    spoken: Vec<Spoken>,
    /// Slots among the candidates.
    servers: Vec<u32>,
    /// Per server and term: how well any of its tools speaks for it.
    servers_spoken: Vec<f32>,
    /// Per candidate: place in `servers`.
    server_of: Vec<usize>,
    /// Per candidate and what the query is about.
    likeness: Vec<f32>,
    most_alike: f32,
    /// Share of the wish's weight that any tool in scope speaks to.
    known: f32,
}

impl<'a> Judge<'a> {
    pub(crate) fn new(
        index: &'a Index,
        query: &'a Query,
        found: &Found,
        scope: Option<u32>,
    ) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "weights are small")]
        let weights: Vec<f32> = found
            .weighed
            .terms
            .iter()
            .map(|w| *w as f32 / WEIGHT_ONE)
            .collect();
        let attainable: u32 = found.weighed.terms.iter().map(|w| worth_max(*w)).sum();
        let mut named: Vec<u32> = query
            .mentions
            .iter()
            .flat_map(|key| index.named(*key, scope))
            .collect();
        named.sort_unstable();
        named.dedup();
        let total = weights.iter().sum::<f32>().max(1e-6);
        let known = weights
            .iter()
            .zip(&found.weighed.known)
            .filter(|(_, known)| **known);
        let mut wishes = [0.0; WISHES_MAX];
        for (term, weight) in query.terms.iter().zip(&weights) {
            wishes[usize::from(term.wish)] += weight;
        }
        let count = found.candidates.len();
        #[expect(clippy::cast_precision_loss, reason = "only the leading digits matter")]
        let mut judge = Self {
            index,
            query,
            lookup: query.lookup(),
            total,
            heaviest: weights.iter().copied().fold(1e-6, f32::max),
            known: known.map(|(w, _)| w).sum::<f32>() / total,
            weights,
            attainable: (attainable as f32).max(1.0),
            best: found
                .candidates
                .first()
                .map_or(1.0, |c| c.score as f32)
                .max(1.0),
            actions: query.terms.iter().fold(0, |bits, t| bits | t.actions),
            named,
            wishes,
            pairs: 0.0,
            spoken: Vec::with_capacity(query.terms.len() * count),
            servers: Vec::new(),
            servers_spoken: Vec::new(),
            server_of: Vec::with_capacity(count),
            likeness: Vec::with_capacity(query.about.len() * count),
            most_alike: 0.0,
        };
        let pairs = query.pairs.iter().map(|pair| judge.pair_weight(*pair));
        judge.pairs = pairs.sum::<f32>().max(1e-6);
        for candidate in &found.candidates {
            judge.look(candidate.number);
        }
        judge
    }

    /// Notes which terms one more candidate speaks for, and what its server's tools do together.
    fn look(&mut self, number: u32) {
        let terms = self.query.terms.len();
        let from = self.spoken.len();
        self.spoken.resize(from + terms, Spoken::default());
        let (slot, _) = self.index.locate(number);
        if let Some(entry) = self.index.entry(number) {
            let spoken = &mut self.spoken[from..];
            for held in &entry.held {
                for (term, factor) in self.lookup.get(held.word) {
                    for (have, fields) in spoken[usize::from(*term)].iter_mut().zip(KINDS) {
                        let new = if held.fields & fields == 0 {
                            0.0
                        } else {
                            *factor
                        };
                        *have = have.max(new);
                    }
                }
            }
        }
        let known = self.servers.iter().position(|s| *s == slot);
        let at = known.unwrap_or_else(|| {
            self.servers.push(slot);
            self.servers_spoken.resize(self.servers.len() * terms, 0.0);
            self.servers.len() - 1
        });
        self.server_of.push(at);
        let shared = &mut self.servers_spoken[at * terms..(at + 1) * terms];
        for (have, new) in shared.iter_mut().zip(&self.spoken[from..]) {
            *have = have.max(new[ANYWHERE]);
        }
        let abouts = self.query.about.iter();
        let alike = abouts.map(|about| likeness(self.index, number, about));
        let first = self.likeness.len();
        self.likeness.extend(alike);
        self.most_alike = self.most_alike.max(self.likeness[first]);
    }

    /// How alike the candidate at `place` is to all the query, then to each of several wishes.
    fn alike(&self, place: usize) -> &[f32] {
        let abouts = self.query.about.len();
        &self.likeness[place * abouts..(place + 1) * abouts]
    }

    fn spoken(&self, place: usize) -> &[Spoken] {
        let terms = self.query.terms.len();
        &self.spoken[place * terms..(place + 1) * terms]
    }

    /// Goes through the terms once.
    fn shares(&self, spoken: &[Spoken]) -> Shares {
        let mut out = Shares::default();
        let mut wishes = [[0.0_f32; WISHES_MAX]; 2];
        for ((spoken, weight), term) in spoken.iter().zip(&self.weights).zip(&self.query.terms) {
            let worth = spoken.map(|factor| factor * weight);
            for (sum, worth) in out.cover.iter_mut().zip(worth) {
                *sum += worth;
            }
            if spoken[ANYWHERE] >= 1.0 {
                out.exact += weight;
            }
            out.head[0] = out.head[0].max(worth[IN_NAME]);
            out.head[1] = out.head[1].max(worth[ANYWHERE]);
            wishes[0][usize::from(term.wish)] += worth[ANYWHERE];
            wishes[1][usize::from(term.wish)] += worth[IN_NAME];
        }
        out.cover = out.cover.map(|sum| sum / self.total);
        out.exact /= self.total;
        out.head = out.head.map(|head| head / self.heaviest);
        out.wish = wishes.map(|sums| {
            let shares = sums.iter().zip(self.wishes).filter(|(_, all)| *all > 0.0);
            shares.map(|(sum, all)| sum / all).fold(0.0, f32::max)
        });
        out
    }

    fn pair_weight(&self, (a, b): (u32, u32)) -> f32 {
        self.weights[a as usize].min(self.weights[b as usize])
    }

    /// The share of neighbouring words of the wish that are neighbours in `sequence`, which is of
    /// a kind of field.
    fn pairs(&self, sequence: &[u32], spoken: &[Spoken], kind: usize) -> f32 {
        let both = |(a, b): &(u32, u32)| {
            spoken[*a as usize][kind] > 0.0 && spoken[*b as usize][kind] > 0.0
        };
        if !self.query.pairs.iter().any(both) {
            return 0.0;
        }
        let mut sum = 0.0;
        let mut seen = 0_u128;
        let mut before: &[(u16, f32)] = &[];
        for word in sequence {
            let here = self.lookup.get(*word);
            if !before.is_empty() && !here.is_empty() {
                for (number, pair) in self.query.pairs.iter().enumerate() {
                    let first = before.iter().any(|t| u32::from(t.0) == pair.0);
                    let both = first && here.iter().any(|t| u32::from(t.0) == pair.1);
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
        let (slot, _) = self.index.locate(candidate.number);
        let (Some(part), Some(entry)) = (self.index.part(slot), self.index.entry(candidate.number))
        else {
            return out;
        };
        let score = candidate.score as f32;
        out[0] = score / (WEIGHT_ONE * 256.0);
        out[1] = score / self.attainable;
        out[2] = score / self.best;
        let spoken = self.spoken(place);
        let shares = self.shares(spoken);
        out[3..9].copy_from_slice(&shares.cover[..KINDS_TOLD]);
        [out[9], out[10], out[18]] = self.name(&entry.name, &part.server_words);
        out[11] = self.pairs(&entry.name, spoken, IN_NAME);
        out[12] = self.pairs(&entry.text, spoken, IN_TEXT);
        [out[13], out[14]] = self.actions(entry.actions);
        out[15] = truth(self.named.binary_search(&candidate.number).is_ok());
        out[16] = truth(self.names_server(&part.server_words));
        let kinds = self.query.kinds.count_ones() as f32;
        let taken = (self.query.kinds & entry.takes).count_ones() as f32;
        out[17] = if kinds > 0.0 { taken / kinds } else { 0.5 };
        out[19] = (entry.held.len() as f32).min(200.0) / 200.0;
        [out[20], out[21]] = shares.head;
        out[22] = self.server_cover(self.server_of[place]);
        let alike = self.alike(place);
        out[23] = alike[0];
        out[24] = alike[0] - self.most_alike;
        out[25] = self.known;
        out[26] = shares.exact;
        [out[27], out[28]] = shares.wish;
        out[29] = alike.iter().copied().fold(alike[0], f32::max);
        out
    }

    /// The share of the wish's weight that the candidates of one server speak for together.
    fn server_cover(&self, server: usize) -> f32 {
        let terms = self.weights.len();
        let spoken = &self.servers_spoken[server * terms..(server + 1) * terms];
        let worth = spoken.iter().zip(&self.weights).map(|(s, w)| s * w);
        worth.sum::<f32>() / self.total
    }

    /// The wish that a candidate serves best.
    pub(crate) fn wish(&self, place: usize) -> u8 {
        let wishes = self.query.about.len().saturating_sub(1);
        if wishes < 2 {
            return 0;
        }
        let mut worth = [0.0; WISHES_MAX];
        let spoken = self.spoken(place);
        for ((spoken, weight), term) in spoken.iter().zip(&self.weights).zip(&self.query.terms) {
            let wish = usize::from(term.wish);
            worth[wish] += spoken[ANYWHERE] * weight / self.wishes[wish].max(1e-6);
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
                .any(|(_, factor)| *factor >= 1.0)
        };
        !words.is_empty() && words.iter().all(is_said)
    }

    /// How much of the tool's own name the wish speaks of; whether all of it; how long it is.
    #[expect(clippy::cast_precision_loss, reason = "a name has few words")]
    fn name(&self, name: &[u32], server: &[u32]) -> [f32; 3] {
        let is_own = |word: &u32| server.binary_search(word).is_err();
        let all_shared = !name.iter().any(is_own);
        let mut sum = 0.0;
        let mut complete = true;
        let mut count = 0;
        for word in name.iter().filter(|word| all_shared || is_own(word)) {
            let factors = self.lookup.get(*word).iter().map(|(_, factor)| *factor);
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

fn truth(holds: bool) -> f32 {
    f32::from(u8::from(holds))
}
