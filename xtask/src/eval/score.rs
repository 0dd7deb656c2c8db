//! Runs the shipped ranking over one set.

use std::time::Instant;

use toolcrib_core::ToolId;
use toolcrib_core::search::Filter;

use super::data::{Labelled, Set};
use super::metrics::{Measures, mean, measure};

/// Below this confidence someone has to choose; the default of `MCP_SEARCH_MIN_CONFIDENCE`.
const MIN_CONFIDENCE: f32 = 0.5;

/// What one half of a set scored.
#[derive(Clone, Debug, Default)]
pub(super) struct Half {
    pub(super) queries: usize,
    pub(super) measures: Measures,
    /// Stated confidence of the first hit, and whether it was right.
    pub(super) stated: Vec<(f64, bool)>,
    /// Answerable queries whose tool was neither recommended nor among the alternatives.
    pub(super) refused: usize,
    /// Queries that fit no tool, and how many of them got a selection or nothing.
    pub(super) unanswerable: (usize, usize),
}

/// What one set scored.
#[derive(Clone, Debug)]
pub(super) struct SetResult {
    pub(super) name: String,
    pub(super) tools: usize,
    pub(super) measure_only: bool,
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
        half.queries += 1;
        if query.gold.is_empty() {
            half.unanswerable.0 += 1;
            half.unanswerable.1 += usize::from(found.needs_selection(MIN_CONFIDENCE));
            continue;
        }
        let ranking: Vec<ToolId> = found.hits.iter().map(|h| h.id.clone()).collect();
        let one = measure(&ranking, &query.gold);
        let confidence = f64::from(found.confidence());
        half.refused += usize::from(
            !found
                .alternatives()
                .iter()
                .any(|h| query.gold.contains(&h.id)),
        );
        half.stated.push((confidence, one.hit_1 > 0.5));
        measures.push(one);
    }
    half.measures = mean(&measures);
    half
}
