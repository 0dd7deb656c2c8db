//! The second look: what speaks for a tool, as numbers.

use super::field::Field;
use super::index::Index;
use super::lexicon::Lexicon;
use super::query::{Lookup, Query};
use super::retrieve::{Candidate, Found, WEIGHT_ONE, worth_max};

/// How many signals there are.
pub const SIGNALS: usize = 24;

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
    "dense",
];

/// The signals of one tool.
pub type Signals = [f32; SIGNALS];

const NAME: u16 = Field::Name.bit();
const TEXT: u16 = Field::Title.bit() | Field::Description.bit();
const SERVER: u16 = Field::Server.bit() | Field::About.bit();
const PARAMETERS: u16 = Field::Parameter.bit() | Field::ParameterText.bit() | Field::Choice.bit();
const TAG: u16 = Field::Tag.bit();

/// Which words of the wish a tool holds, and where.
#[derive(Clone, Debug, Default)]
pub(crate) struct Matches {
    /// Per term: the best factor anywhere, and per kind of field.
    pub(crate) any: Vec<f32>,
    pub(crate) name: Vec<f32>,
    pub(crate) text: Vec<f32>,
    pub(crate) server: Vec<f32>,
    pub(crate) parameters: Vec<f32>,
    pub(crate) tags: Vec<f32>,
}

impl Matches {
    fn reset(&mut self, terms: usize) {
        for list in [
            &mut self.any,
            &mut self.name,
            &mut self.text,
            &mut self.server,
            &mut self.parameters,
            &mut self.tags,
        ] {
            list.clear();
            list.resize(terms, 0.0);
        }
    }
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
    matches: Matches,
    /// Per slot among the candidates: the words that any of its tools holds.
    servers: Vec<(u32, Vec<f32>)>,
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
        #[expect(clippy::cast_precision_loss, reason = "only the leading digits matter")]
        let mut judge = Self {
            index,
            query,
            lookup: query.lookup(),
            total: weights.iter().sum::<f32>().max(1e-6),
            heaviest: weights.iter().copied().fold(1e-6, f32::max),
            weights,
            attainable: (attainable as f32).max(1.0),
            best: found
                .candidates
                .first()
                .map_or(1.0, |c| c.score as f32)
                .max(1.0),
            actions: query.terms.iter().fold(0, |bits, t| bits | t.actions),
            named,
            matches: Matches::default(),
            servers: Vec::new(),
        };
        judge.servers(found);
        judge
    }

    /// Notes which words of the wish the candidates of each server hold together.
    fn servers(&mut self, found: &Found) {
        for candidate in &found.candidates {
            let (slot, _) = self.index.locate(candidate.number);
            self.look(candidate.number);
            let known = self.servers.iter().position(|s| s.0 == slot);
            let at = known.unwrap_or_else(|| {
                self.servers.push((slot, vec![0.0; self.query.terms.len()]));
                self.servers.len() - 1
            });
            for (have, new) in self.servers[at].1.iter_mut().zip(&self.matches.any) {
                *have = have.max(*new);
            }
        }
    }

    /// Fills `matches` for one tool.
    fn look(&mut self, number: u32) {
        let matches = &mut self.matches;
        matches.reset(self.query.terms.len());
        let Some(entry) = self.index.entry(number) else {
            return;
        };
        for held in &entry.held {
            self.lookup.each(held.word, |term, factor| {
                let raise = |list: &mut Vec<f32>, fields: u16| {
                    if held.fields & fields != 0 && list[term] < factor {
                        list[term] = factor;
                    }
                };
                raise(&mut matches.any, u16::MAX);
                raise(&mut matches.name, NAME);
                raise(&mut matches.text, TEXT);
                raise(&mut matches.server, SERVER);
                raise(&mut matches.parameters, PARAMETERS);
                raise(&mut matches.tags, TAG);
            });
        }
    }

    fn share(&self, list: &[f32]) -> f32 {
        let sum: f32 = list.iter().zip(&self.weights).map(|(m, w)| m * w).sum();
        sum / self.total
    }

    fn head(&self, list: &[f32]) -> f32 {
        let best = list
            .iter()
            .zip(&self.weights)
            .map(|(m, w)| m * w)
            .fold(0.0, f32::max);
        best / self.heaviest
    }

    fn pairs(&self, sequence: &[u32]) -> f32 {
        if self.query.pairs.is_empty() || sequence.len() < 2 {
            return 0.0;
        }
        let mut sum = 0.0;
        let mut all = 0.0_f32;
        for (a, b) in &self.query.pairs {
            let weight = self.weights[*a as usize].min(self.weights[*b as usize]);
            all += weight;
            let found = sequence.windows(2).any(|w| {
                let (mut first, mut second) = (0.0_f32, 0.0_f32);
                self.lookup.each(w[0], |term, factor| {
                    if term == *a as usize {
                        first = first.max(factor);
                    }
                });
                if first > 0.0 {
                    self.lookup.each(w[1], |term, factor| {
                        if term == *b as usize {
                            second = second.max(factor);
                        }
                    });
                }
                first > 0.0 && second > 0.0
            });
            if found {
                sum += weight;
            }
        }
        sum / all.max(1e-6)
    }

    /// The signals of one candidate.
    #[expect(
        clippy::cast_precision_loss,
        reason = "counts and scores; only the leading digits matter"
    )]
    pub(crate) fn signals(&mut self, candidate: Candidate) -> Signals {
        let mut out = [0.0; SIGNALS];
        self.look(candidate.number);
        let (slot, _) = self.index.locate(candidate.number);
        let (Some(part), Some(entry)) = (self.index.part(slot), self.index.entry(candidate.number))
        else {
            return out;
        };
        let score = candidate.score as f32;
        let (name_share, name_complete, words) = self.name(&entry.name, &part.server_words);
        let tool_actions = first_action(&entry.name)
            .or_else(|| first_action(&entry.text))
            .unwrap_or(0);
        let same = tool_actions & self.actions != 0;
        let conflict = tool_actions != 0 && self.actions != 0 && !same;
        let kinds = self.query.kinds.count_ones() as f32;
        let taken = (self.query.kinds & entry.takes).count_ones() as f32;
        let named_server = !part.server_words.is_empty()
            && part.server_words.iter().all(|w| {
                let mut spoken = false;
                self.lookup.each(*w, |_, factor| spoken |= factor >= 1.0);
                spoken
            });
        let server_cover = self
            .servers
            .iter()
            .find(|s| s.0 == slot)
            .map_or(0.0, |s| self.share(&s.1));
        let m = &self.matches;
        out[0] = score / (WEIGHT_ONE * 256.0);
        out[1] = score / self.attainable;
        out[2] = score / self.best;
        out[3] = self.share(&m.any);
        out[4] = self.share(&m.name);
        out[5] = self.share(&m.text);
        out[6] = self.share(&m.server);
        out[7] = self.share(&m.parameters);
        out[8] = self.share(&m.tags);
        out[9] = name_share;
        out[10] = name_complete;
        out[11] = self.pairs(&entry.name);
        out[12] = self.pairs(&entry.text);
        out[13] = f32::from(u8::from(same));
        out[14] = f32::from(u8::from(conflict));
        out[15] = f32::from(u8::from(
            self.named.binary_search(&candidate.number).is_ok(),
        ));
        out[16] = f32::from(u8::from(named_server));
        out[17] = if kinds > 0.0 { taken / kinds } else { 0.5 };
        out[18] = words.min(12.0) / 12.0;
        out[19] = (entry.held.len() as f32).min(200.0) / 200.0;
        out[20] = self.head(&m.name);
        out[21] = self.head(&m.any);
        out[22] = server_cover;
        out
    }

    /// How much of the tool's own name the wish speaks of; whether all of it; how many words it has.
    #[expect(clippy::cast_precision_loss, reason = "a name has few words")]
    fn name(&self, name: &[u32], server: &[u32]) -> (f32, f32, f32) {
        let own: Vec<u32> = name
            .iter()
            .copied()
            .filter(|w| server.binary_search(w).is_err())
            .collect();
        let words = if own.is_empty() { name } else { &own };
        if words.is_empty() {
            return (0.0, 0.0, 0.0);
        }
        let mut sum = 0.0;
        let mut complete = true;
        for word in words {
            let mut best = 0.0_f32;
            self.lookup.each(*word, |_, factor| best = best.max(factor));
            sum += best;
            complete &= best > 0.0;
        }
        let count = words.len() as f32;
        (sum / count, f32::from(u8::from(complete)), count)
    }
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
