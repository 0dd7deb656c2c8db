//! A search, from the text of the wish to the tools, best first.

use super::explain;
use super::index::Index;
use super::learn::Lifts;
use super::model::{Model, relevance};
use super::query::Query;
use super::retrieve::{self, Candidate, Scope, by_name};
use super::signals::{Judge, Signals};
use super::wishes::WISHES_MAX;
use super::words::READER;
use crate::catalog::ToolId;
use crate::limits::{SEARCH_ALTERNATIVES, SEARCH_LIMIT_DEFAULT, SEARCH_LIMIT_MAX};

/// What may be found, and how much of it.
#[derive(Clone, Copy, Default)]
pub struct Filter<'a> {
    /// Only this server; the ranking is then as if no other existed.
    pub server: Option<&'a str>,
    /// Only tools for which this holds; what it refuses leaves no trace in the answer.
    pub allow: Option<&'a dyn Fn(&ToolId) -> bool>,
    /// Most hits to give; [`SEARCH_LIMIT_DEFAULT`] when not said.
    pub limit: Option<usize>,
    /// What habits of the caller add, see [`super::Learned::lifts`].
    pub lifts: Option<&'a Lifts>,
}

/// A tool that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// Which tool.
    pub id: ToolId,
    /// Its score; comparable only within one answer.
    pub score: f32,
    /// How likely it is to be what was meant, 0 to 1.
    pub relevance: f32,
}

/// What a search found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hits {
    /// The tools, best first.
    pub hits: Vec<Hit>,
    /// How many tools share a word or the meaning with the query, those not given included.
    pub total: usize,
}

impl Hits {
    /// The probability that the first hit is right; 0 where there is none.
    pub fn confidence(&self) -> f32 {
        self.hits.first().map_or(0.0, |hit| hit.relevance)
    }

    /// Whether someone has to choose, because the first hit is less sure than `min_confidence`.
    pub fn needs_selection(&self, min_confidence: f32) -> bool {
        self.confidence() < min_confidence
    }

    /// The hits without those far behind the best: what is worth showing where room is short.
    pub fn close(&self) -> &[Hit] {
        self.close_within(FAR_BEHIND)
    }

    /// Like [`Hits::close`], with another distance, in units of the score. A hit stays when it or
    /// one after it is close enough, because several wishes take turns in the order.
    pub fn close_within(&self, distance: f32) -> &[Hit] {
        let best = self.hits.iter().map(|h| h.score).fold(f32::MIN, f32::max);
        let is_close = |hit: &Hit| hit.relevance >= 1.0 || hit.score >= best - distance;
        let last = self.hits.iter().rposition(is_close);
        &self.hits[..last.map_or(0, |last| last + 1)]
    }

    /// What to choose from: the first [`SEARCH_ALTERNATIVES`].
    pub fn alternatives(&self) -> &[Hit] {
        &self.hits[..self.hits.len().min(SEARCH_ALTERNATIVES)]
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Ranked {
    pub(crate) number: u32,
    pub(crate) score: f32,
    pub(crate) exact: bool,
    pub(crate) wish: u8,
    /// What habits added to the score.
    pub(crate) lift: f32,
    /// Where its signals stand.
    place: usize,
}

/// All that one search knows.
struct Ranking {
    query: Query,
    ranked: Vec<Ranked>,
    signals: Vec<Signals>,
    confidence: f32,
    total: usize,
}

/// A hit this much below the best, in units of the score, is hardly ever what was meant: it is
/// e^4, about fifty times, less likely than the best. Chosen on dev halves (`docs/finding.md`).
const FAR_BEHIND: f32 = 4.0;

/// How much one more tool for the same wish falls back when others wait, in units of the score.
const SAME_WISH: f32 = 0.4;

impl Index {
    /// Finds the tools for a wish. An empty query, or one without any letter, finds nothing.
    pub fn search(&self, text: &str, filter: &Filter<'_>) -> Hits {
        let Some(ranking) = self.rank(text, filter) else {
            return Hits::default();
        };
        let best = ranking.ranked.first().map_or(0.0, |r| r.score);
        let mut least = 1.0_f32;
        let hits = ranking.ranked.iter().take(limit(filter)).filter_map(|r| {
            let likely = if r.exact {
                1.0
            } else {
                relevance(ranking.confidence, r.score - best)
            };
            least = least.min(likely);
            Some(Hit {
                id: self.entry(r.number)?.id.clone(),
                score: r.score,
                relevance: least,
            })
        });
        Hits {
            hits: hits.collect(),
            total: ranking.total,
        }
    }

    /// Why a tool stands where it stands for a query, in words, the strongest reason first; nothing
    /// when the query does not find it.
    pub fn explain(&self, text: &str, filter: &Filter<'_>, id: &ToolId) -> Vec<String> {
        let Some(ranking) = self.rank(text, filter) else {
            return Vec::new();
        };
        let is_it = |r: &&Ranked| self.entry(r.number).is_some_and(|e| *e.id == *id);
        let Some(ranked) = ranking.ranked.iter().find(is_it) else {
            return Vec::new();
        };
        explain::reasons(self, &ranking.query, ranked, &ranking.signals[ranked.place])
    }

    /// The signals of the best candidates of a query, for measuring and training.
    pub fn signals(&self, text: &str, filter: &Filter<'_>) -> Vec<(ToolId, Signals)> {
        let Some(ranking) = self.rank(text, filter) else {
            return Vec::new();
        };
        let named = ranking
            .ranked
            .iter()
            .map(|r| Some((self.entry(r.number)?.id.clone(), ranking.signals[r.place])));
        named.flatten().collect()
    }

    fn rank(&self, text: &str, filter: &Filter<'_>) -> Option<Ranking> {
        let slot = match filter.server {
            None => None,
            Some(server) => Some(self.slot(server)?),
        };
        READER.with_borrow_mut(|reader| {
            let mut query = Query::read(text, reader);
            if query.is_empty() {
                return None;
            }
            retrieve::expand(self, &mut query, slot, reader);
            let scope = Scope {
                slot,
                allow: filter.allow,
                wanted: limit(filter),
            };
            let mut found = retrieve::retrieve(self, &query, &scope);
            let exact = self.exact(&query, &scope, &mut found);
            let lifted = self.lifted(filter, &scope, &mut found);
            self.succeed(&scope, &mut found);
            let (mut ranked, signals) = self.judge(&query, &mut found, slot, &exact, &lifted);
            let scores: Vec<f32> = ranked.iter().map(|r| r.score).collect();
            let confidence = match ranked.first() {
                Some(first) => Model::shared().confidence(&scores, &signals[first.place]),
                None => 0.0,
            };
            self.let_successors_lead(&mut ranked);
            if query.about.len() > 1 {
                serve_every_wish(&mut ranked);
            }
            Some(Ranking {
                query,
                ranked,
                signals,
                confidence,
                total: found.total,
            })
        })
    }

    /// Scores the candidates and puts them in order.
    fn judge(
        &self,
        query: &Query,
        found: &mut retrieve::Found,
        slot: Option<u32>,
        exact: &[u32],
        lifted: &[(u32, f32)],
    ) -> (Vec<Ranked>, Vec<Signals>) {
        let judge = Judge::new(self, query, found, slot);
        let model = Model::shared();
        let all = found.candidates.iter().enumerate();
        let signals: Vec<Signals> = all.clone().map(|(n, c)| judge.signals(n, *c)).collect();
        let lift = |number: u32| lifted.iter().find(|l| l.0 == number).map_or(0.0, |l| l.1);
        let look = |(place, candidate): (usize, &Candidate)| Ranked {
            number: candidate.number,
            score: model.score(&signals[place]) + lift(candidate.number),
            lift: lift(candidate.number),
            exact: exact.contains(&candidate.number),
            wish: judge.wish(place),
            place,
        };
        let mut ranked: Vec<Ranked> = all.map(look).collect();
        ranked.sort_unstable_by(|a, b| {
            b.exact
                .cmp(&a.exact)
                .then_with(|| b.score.total_cmp(&a.score))
                .then_with(|| by_name(self, a.number, b.number))
        });
        (ranked, signals)
    }

    /// The tools whose name or id the whole query spells; puts them among the candidates.
    fn exact(&self, query: &Query, scope: &Scope<'_>, found: &mut retrieve::Found) -> Vec<u32> {
        let mut exact = self.named(query.whole, scope.slot);
        exact.retain(|number| {
            let entry = self.entry(*number);
            entry.is_some_and(|e| scope.allow.is_none_or(|allow| allow(e.id)))
        });
        for number in &exact {
            found.bring_in(*number);
        }
        exact
    }

    /// Puts those among the candidates that have taken the place of one.
    fn succeed(&self, scope: &Scope<'_>, found: &mut retrieve::Found) {
        let replaced = found.candidates.iter().map(|c| c.number);
        let by: Vec<u32> = replaced.filter_map(|n| self.successor(n)).collect();
        for number in by {
            let id = self.entry(number).map(|entry| entry.id);
            if id.is_some_and(|id| scope.allow.is_none_or(|allow| allow(id))) {
                found.bring_in(number);
            }
        }
    }

    /// The tools that habits lift, and by how much; puts them among the candidates.
    fn lifted(
        &self,
        filter: &Filter<'_>,
        scope: &Scope<'_>,
        found: &mut retrieve::Found,
    ) -> Vec<(u32, f32)> {
        let is_in_scope = |id: &ToolId| {
            filter.server.is_none_or(|server| server == id.server())
                && scope.allow.is_none_or(|allow| allow(id))
        };
        let lifts = filter.lifts.into_iter().flat_map(Lifts::iter);
        let here = lifts.filter(|(id, _)| is_in_scope(id));
        let lifted: Vec<(u32, f32)> = here
            .filter_map(|(id, lift)| Some((self.number_of(&id)?, lift)))
            .collect();
        for (number, _) in &lifted {
            found.bring_in(*number);
        }
        lifted
    }
}

fn limit(filter: &Filter<'_>) -> usize {
    filter
        .limit
        .unwrap_or(SEARCH_LIMIT_DEFAULT)
        .min(SEARCH_LIMIT_MAX)
}

/// Reorders what follows the first hit so that no wish waits behind many tools of another.
fn serve_every_wish(ranked: &mut Vec<Ranked>) {
    let mut served = [0.0_f32; WISHES_MAX];
    let mut rest = std::mem::take(ranked);
    while !rest.is_empty() {
        let worth = |r: &Ranked| r.score - SAME_WISH * served[usize::from(r.wish)];
        let mut best = 0;
        for at in 1..rest.len() {
            if !rest[best].exact && worth(&rest[at]) > worth(&rest[best]) {
                best = at;
            }
        }
        let next = rest.remove(best);
        served[usize::from(next.wish)] += 1.0;
        ranked.push(next);
        if ranked.len() >= SEARCH_LIMIT_DEFAULT {
            ranked.append(&mut rest);
        }
    }
}
