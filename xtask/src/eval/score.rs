//! Runs the shipped ranking over one set.

use std::time::Instant;

use toolcrib_core::ToolId;
use toolcrib_core::search::{Filter, Hit};

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
    /// What stays when hits far behind the best are left out: recall, and hits per query.
    pub(super) delivered: [f64; 2],
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
        let deliver = |sums: &mut [f64; 2], close: &[Hit]| {
            let right = close.iter().filter(|hit| is_right(hit)).count();
            sums[0] += count(right) / count(query.gold.len());
            sums[1] += count(close.len());
        };
        deliver(&mut half.delivered, found.close());
        for (sums, distance) in half.within.iter_mut().zip(DISTANCES) {
            deliver(sums, found.close_within(distance));
        }
        measures.push(one);
    }
    let share = |sum: f64| sum / count(measures.len().max(1));
    half.delivered = half.delivered.map(share);
    half.within = half.within.map(|sums| sums.map(share));
    half.measures = mean(&measures);
    half
}
