//! The second look: what speaks for a tool, as numbers.

use super::field::Field;
use super::index::Index;
use super::lexicon::Lexicon;
use super::part::Entry;
use super::query::{Lookup, Query};
use super::retrieve::{Candidate, Found, WEIGHT_ONE, likeness, worth_max};
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

/// Kinds of fields that are told apart.
const KINDS: [u16; 6] = [u16::MAX, NAME, TEXT, SERVER, PARAMETERS, TAG];
const ANYWHERE: usize = 0;
const IN_NAME: usize = 1;

/// How well a tool speaks for one term, per kind of field.
type Spoken = [f32; KINDS.len()];

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
    /// Per candidate and term.
    spoken: Vec<Spoken>,
    /// Per slot among the candidates: how well any of its tools speaks for each term.
    servers: Vec<(u32, Vec<f32>)>,
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
            spoken: Vec::with_capacity(query.terms.len() * found.candidates.len()),
            servers: Vec::new(),
            likeness: Vec::with_capacity(found.candidates.len()),
            most_alike: 0.0,
        };
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
        if let Some(entry) = self.index.entry(number) {
            for held in &entry.held {
                for (term, factor) in self.lookup.get(held.word) {
                    let spoken = &mut self.spoken[from + usize::from(*term)];
                    for (have, fields) in spoken.iter_mut().zip(KINDS) {
                        if held.fields & fields != 0 && *have < *factor {
                            *have = *factor;
                        }
                    }
                }
            }
        }
        let (slot, _) = self.index.locate(number);
        let known = self.servers.iter().position(|s| s.0 == slot);
        let at = known.unwrap_or_else(|| {
            self.servers.push((slot, vec![0.0; terms]));
            self.servers.len() - 1
        });
        for (have, new) in self.servers[at].1.iter_mut().zip(&self.spoken[from..]) {
            *have = have.max(new[ANYWHERE]);
        }
        let alike = likeness(self.index, number, &self.query.about[0]);
        self.likeness.push(alike);
        self.most_alike = self.most_alike.max(alike);
    }

    /// The share of the wish's weight that is spoken for, per kind of field.
    fn shares(&self, spoken: &[Spoken]) -> Spoken {
        let mut out = Spoken::default();
        for (spoken, weight) in spoken.iter().zip(&self.weights) {
            for (sum, factor) in out.iter_mut().zip(spoken) {
                *sum += factor * weight;
            }
        }
        out.map(|sum| sum / self.total)
    }

    /// The heaviest term that is spoken for, relative to the heaviest there is.
    fn head(&self, spoken: &[Spoken], kind: usize) -> f32 {
        let heads = spoken.iter().zip(&self.weights).map(|(s, w)| s[kind] * w);
        heads.fold(0.0, f32::max) / self.heaviest
    }

    /// The best share of one wish that is spoken for: anywhere, and in the name.
    fn best_wish(&self, spoken: &[Spoken]) -> [f32; 2] {
        let mut sums = [[0.0; WISHES_MAX]; 2];
        for ((spoken, weight), term) in spoken.iter().zip(&self.weights).zip(&self.query.terms) {
            sums[0][usize::from(term.wish)] += spoken[ANYWHERE] * weight;
            sums[1][usize::from(term.wish)] += spoken[IN_NAME] * weight;
        }
        sums.map(|sums| {
            let shares = sums.iter().zip(self.wishes).filter(|(_, all)| *all > 0.0);
            shares.map(|(sum, all)| sum / all).fold(0.0, f32::max)
        })
    }

    /// The share of neighbouring words of the wish that are neighbours in `sequence`.
    fn pairs(&self, sequence: &[u32]) -> f32 {
        let weight = |(a, b): &(u32, u32)| self.weights[*a as usize].min(self.weights[*b as usize]);
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
                        sum += weight(pair);
                    }
                }
            }
            before = here;
        }
        if sum <= 0.0 {
            return 0.0;
        }
        sum / self.query.pairs.iter().map(weight).sum::<f32>().max(1e-6)
    }

    /// The signals of the candidate at `place` of those found.
    #[expect(
        clippy::cast_precision_loss,
        reason = "counts and scores; only the leading digits matter"
    )]
    pub(crate) fn signals(&self, place: usize, candidate: Candidate) -> Signals {
        let mut out = [0.0; SIGNALS];
        let terms = self.query.terms.len();
        let spoken = &self.spoken[place * terms..(place + 1) * terms];
        let (slot, _) = self.index.locate(candidate.number);
        let (Some(part), Some(entry)) = (self.index.part(slot), self.index.entry(candidate.number))
        else {
            return out;
        };
        let score = candidate.score as f32;
        out[0] = score / (WEIGHT_ONE * 256.0);
        out[1] = score / self.attainable;
        out[2] = score / self.best;
        out[3..9].copy_from_slice(&self.shares(spoken));
        [out[9], out[10], out[18]] = self.name(&entry.name, &part.server_words);
        out[11] = self.pairs(&entry.name);
        out[12] = self.pairs(&entry.text);
        [out[13], out[14]] = self.actions(entry);
        out[15] = truth(self.named.binary_search(&candidate.number).is_ok());
        out[16] = truth(self.names_server(&part.server_words));
        let kinds = self.query.kinds.count_ones() as f32;
        let taken = (self.query.kinds & entry.takes).count_ones() as f32;
        out[17] = if kinds > 0.0 { taken / kinds } else { 0.5 };
        out[19] = (entry.held.len() as f32).min(200.0) / 200.0;
        out[20] = self.head(spoken, IN_NAME);
        out[21] = self.head(spoken, ANYWHERE);
        if let Some((_, shared)) = self.servers.iter().find(|s| s.0 == slot) {
            out[22] = shared
                .iter()
                .zip(&self.weights)
                .map(|(m, w)| m * w)
                .sum::<f32>()
                / self.total;
        }
        out[23] = self.likeness[place];
        out[24] = out[23] - self.most_alike;
        out[25] = self.known;
        let exact = spoken
            .iter()
            .zip(&self.weights)
            .filter(|(s, _)| s[ANYWHERE] >= 1.0);
        out[26] = exact.map(|(_, w)| w).sum::<f32>() / self.total;
        [out[27], out[28]] = self.best_wish(spoken);
        let wishes = self.query.about.iter().skip(1);
        let alike = wishes.map(|about| likeness(self.index, candidate.number, about));
        out[29] = alike.fold(out[23], f32::max);
        out
    }

    /// The wish that a candidate serves best.
    pub(crate) fn wish(&self, place: usize, number: u32) -> u8 {
        let wishes = self.query.about.len().saturating_sub(1);
        if wishes < 2 {
            return 0;
        }
        let terms = self.query.terms.len();
        let mut worth = [0.0; WISHES_MAX];
        let spoken = &self.spoken[place * terms..(place + 1) * terms];
        for ((spoken, weight), term) in spoken.iter().zip(&self.weights).zip(&self.query.terms) {
            let wish = usize::from(term.wish);
            worth[wish] += spoken[ANYWHERE] * weight / self.wishes[wish].max(1e-6);
        }
        for (worth, about) in worth.iter_mut().zip(self.query.about.iter().skip(1)) {
            *worth += likeness(self.index, number, about);
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
    fn actions(&self, entry: &Entry) -> [f32; 2] {
        let own = first_action(&entry.name)
            .or_else(|| first_action(&entry.text))
            .unwrap_or(0);
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

/// The groups of the first word that is an action, looking at the first few.
fn first_action(words: &[u32]) -> Option<u32> {
    let lexicon = Lexicon::shared();
    words
        .iter()
        .take(4)
        .map(|w| lexicon.actions(*w))
        .find(|a| *a != 0)
}
