//! A search, from the text of the wish to the tools, best first.

use super::index::Index;
use super::model;
use super::query::Query;
use super::retrieve::{self, Candidate, Scope, by_name};
use super::signals::{Judge, Signals};
use super::words::Reader;
use crate::catalog::ToolId;
use crate::limits::{SEARCH_LIMIT_DEFAULT, SEARCH_LIMIT_MAX};

/// What may be found, and how much of it.
#[derive(Clone, Copy, Default)]
pub struct Filter<'a> {
    /// Only this server; the ranking is then as if no other existed.
    pub server: Option<&'a str>,
    /// Only tools for which this holds; what it refuses leaves no trace in the answer.
    pub allow: Option<&'a dyn Fn(&ToolId) -> bool>,
    /// Most hits to give; [`SEARCH_LIMIT_DEFAULT`] when not said.
    pub limit: Option<usize>,
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
    /// How many tools share a word with the query, those not given included.
    pub total: usize,
}

struct Ranked {
    number: u32,
    score: f32,
    exact: bool,
    signals: Signals,
}

impl Index {
    /// Finds the tools for a wish. An empty query, or one without any letter, finds nothing.
    pub fn search(&self, text: &str, filter: &Filter<'_>) -> Hits {
        let (ranked, total) = self.rank(text, filter);
        let limit = filter
            .limit
            .unwrap_or(SEARCH_LIMIT_DEFAULT)
            .min(SEARCH_LIMIT_MAX);
        let hits = ranked
            .iter()
            .take(limit)
            .filter_map(|r| {
                let entry = self.entry(r.number)?;
                Some(Hit {
                    id: entry.id.clone(),
                    score: r.score,
                    relevance: if r.exact {
                        1.0
                    } else {
                        model::relevance(r.score)
                    },
                })
            })
            .collect();
        Hits { hits, total }
    }

    /// The signals of the best candidates of a query, for measuring and training.
    pub fn signals(&self, text: &str, filter: &Filter<'_>) -> Vec<(ToolId, Signals)> {
        let (ranked, _) = self.rank(text, filter);
        ranked
            .into_iter()
            .filter_map(|r| Some((self.entry(r.number)?.id.clone(), r.signals)))
            .collect()
    }

    fn rank(&self, text: &str, filter: &Filter<'_>) -> (Vec<Ranked>, usize) {
        let slot = match filter.server {
            None => None,
            Some(server) => match self.slot(server) {
                Some(slot) => Some(slot),
                None => return (Vec::new(), 0),
            },
        };
        let mut reader = Reader::default();
        let mut query = Query::read(text, &mut reader);
        if query.is_empty() {
            return (Vec::new(), 0);
        }
        retrieve::expand(self, &mut query, slot, &mut reader);
        let limit = filter
            .limit
            .unwrap_or(SEARCH_LIMIT_DEFAULT)
            .min(SEARCH_LIMIT_MAX);
        let scope = Scope {
            slot,
            allow: filter.allow,
            wanted: limit,
        };
        let mut found = retrieve::retrieve(self, &query, &scope);
        let exact = self.exact(&query, &scope, &mut found);
        let mut judge = Judge::new(self, &query, &found, slot);
        let mut ranked: Vec<Ranked> = found
            .candidates
            .iter()
            .map(|candidate| {
                let signals = judge.signals(*candidate);
                Ranked {
                    number: candidate.number,
                    score: model::score(&signals),
                    exact: exact.contains(&candidate.number),
                    signals,
                }
            })
            .collect();
        ranked.sort_by(|a, b| {
            b.exact
                .cmp(&a.exact)
                .then_with(|| b.score.total_cmp(&a.score))
                .then_with(|| by_name(self, a.number, b.number))
        });
        (ranked, found.total)
    }

    /// The tools whose name or id the whole query spells; puts them among the candidates.
    fn exact(&self, query: &Query, scope: &Scope<'_>, found: &mut retrieve::Found) -> Vec<u32> {
        let mut exact = self.named(query.whole, scope.slot);
        exact.retain(|number| {
            self.entry(*number)
                .is_some_and(|e| scope.allow.is_none_or(|allow| allow(&e.id)))
        });
        for number in &exact {
            if !found.candidates.iter().any(|c| c.number == *number) {
                found.candidates.push(Candidate {
                    number: *number,
                    score: 0,
                });
                found.total = found.total.max(found.candidates.len());
            }
        }
        exact
    }
}
