//! Runs the shipped ranking over one set.

use std::time::Instant;

use serde_json::Value;
use toolcrib_core::ToolId;
use toolcrib_core::discovery::search;
use toolcrib_core::search::{Filter, Hit};
use toolcrib_core::tokens::at_most;

use super::data::{Labelled, Set};
use super::metrics::{Measures, count, mean, measure};

/// Below this confidence someone has to choose; the default of `MCP_SEARCH_MIN_CONFIDENCE`.
const MIN_CONFIDENCE: f32 = 0.5;

/// Distances from the best at which hits could be left out, to choose one by.
pub(super) const DISTANCES: [f32; 4] = [2.0, 3.0, 4.0, 5.0];

/// What one half of a set scored.
#[derive(Clone, Debug, Default)]
pub(super) struct Half {
    /// Queries that fit a tool.
    pub(super) answerable: usize,
    pub(super) measures: Measures,
    /// What `search_tools` tells without a limit, within its budget: recall, and hits per query.
    pub(super) delivered: [f64; 2],
    /// What its answers cost at most, in tokens, in order.
    pub(super) tokens: Vec<usize>,
    /// The same for each of [`DISTANCES`].
    pub(super) within: [[f64; 2]; DISTANCES.len()],
    /// Stated confidence of the first hit, and whether it was right.
    pub(super) stated: Vec<(f64, bool)>,
    /// Answerable queries without a recommendation whose tool is not among the alternatives.
    pub(super) refused: usize,
    /// Answerable queries whose tool is not among the first three, recommended or not.
    pub(super) missed: usize,
    /// Queries that fit no tool, and how many of them got a selection or nothing.
    pub(super) unanswerable: (usize, usize),
}

/// What one set scored.
#[derive(Clone, Debug)]
pub(super) struct SetResult {
    pub(super) name: String,
    pub(super) tools: usize,
    pub(super) measure_only: bool,
    pub(super) own: bool,
    pub(super) dev: Half,
    pub(super) test: Half,
    /// Time of a search, microseconds: median and 99th percentile.
    pub(super) p50_us: f64,
    pub(super) p99_us: f64,
}

/// Scores both halves of a set.
pub(super) fn score_set(set: &Set) -> SetResult {
    let mut times = Vec::with_capacity(set.queries.len());
    let dev = score_half(set, set.queries.iter().filter(|q| q.dev), &mut times);
    let test = score_half(set, set.queries.iter().filter(|q| !q.dev), &mut times);
    times.sort_by(f64::total_cmp);
    let at = |share: usize| {
        times
            .get((times.len() * share / 100).min(times.len().saturating_sub(1)))
            .copied()
            .unwrap_or(0.0)
    };
    SetResult {
        name: set.name.clone(),
        tools: set.index.len(),
        measure_only: set.measure_only,
        own: set.own,
        dev,
        test,
        p50_us: at(50),
        p99_us: at(99),
    }
}

fn score_half<'a>(
    set: &Set,
    queries: impl Iterator<Item = &'a Labelled>,
    times: &mut Vec<f64>,
) -> Half {
    let mut half = Half::default();
    let mut measures = Vec::new();
    for query in queries {
        let start = Instant::now();
        let filter = Filter {
            limit: Some(10),
            ..Filter::default()
        };
        let found = set.index.search(&query.text, &filter);
        times.push(start.elapsed().as_secs_f64() * 1e6);
        let confidence = f64::from(found.confidence());
        if query.gold.is_empty() {
            half.unanswerable.0 += 1;
            half.unanswerable.1 += usize::from(found.needs_selection(MIN_CONFIDENCE));
            half.stated.push((confidence, false));
            continue;
        }
        half.answerable += 1;
        let ranking: Vec<ToolId> = found.hits.iter().map(|h| h.id.clone()).collect();
        let one = measure(&ranking, &query.gold);
        let is_right = |hit: &Hit| query.gold.contains(&hit.id);
        let missed = !found.alternatives().iter().any(is_right);
        half.missed += usize::from(missed);
        half.refused += usize::from(missed && found.needs_selection(MIN_CONFIDENCE));
        half.stated.push((confidence, one.hit_1 > 0.5));
        let deliver = |sums: &mut [f64; 2], hits: &[ToolId]| {
            let right = hits.iter().filter(|id| query.gold.contains(id)).count();
            sums[0] += count(right) / count(query.gold.len());
            sums[1] += count(hits.len());
        };
        let (ids, tokens) = told(set, found.close(), found.total);
        deliver(&mut half.delivered, &ids);
        half.tokens.push(tokens);
        for (sums, distance) in half.within.iter_mut().zip(DISTANCES) {
            let close = found.close_within(distance);
            deliver(sums, &told(set, close, found.total).0);
        }
        measures.push(one);
    }
    let share = |sum: f64| sum / count(measures.len().max(1));
    half.delivered = half.delivered.map(share);
    half.within = half.within.map(|sums| sums.map(share));
    half.measures = mean(&measures);
    half.tokens.sort_unstable();
    half
}

/// The hits in the answer of `search_tools`, as its builder writes it, and what that costs at most.
fn told(set: &Set, hits: &[Hit], total: usize) -> (Vec<ToolId>, usize) {
    let hits = hits.iter().filter_map(|hit| {
        Some(search::Hit {
            tool: set.tools.get(&hit.id)?,
            relevance: hit.relevance,
        })
    });
    let text = search::answer(&search::Found {
        hits: hits.collect(),
        total,
        ..search::Found::default()
    });
    let read: Value = serde_json::from_str(&text).unwrap_or_default();
    let rows = read["results"].as_array().into_iter().flatten();
    let ids =
        rows.filter_map(|row| Some(ToolId::new(row["server"].as_str()?, row["tool"].as_str()?)));
    (ids.collect(), at_most(&text))
}
