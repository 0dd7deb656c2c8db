//! What the evaluation prints.

use std::fmt::Write as _;

use anyhow::Result;
use serde_json::{Value, json};

use super::metrics::{Measures, calibration_error, mean};
use super::score::{Half, SetResult};

/// Prints to the terminal.
#[expect(clippy::print_stdout, reason = "this is the output of the command")]
pub(super) fn line(text: &str) {
    println!("{text}");
}

/// All sets and the means over them.
pub(super) struct Report {
    pub(super) sets: Vec<SetResult>,
}

impl Report {
    pub(super) fn new(sets: Vec<SetResult>) -> Self {
        Self { sets }
    }

    /// Mean over sets of one half; `measured` takes only the sets that nothing is trained on.
    pub(super) fn mean(&self, half: fn(&SetResult) -> &Half, measured: bool) -> Measures {
        let all: Vec<Measures> = self
            .sets
            .iter()
            .filter(|s| half(s).queries > 0 && (!measured || s.measure_only))
            .map(|s| half(s).measures)
            .collect();
        mean(&all)
    }

    /// Expected calibration error over the test queries of all sets.
    pub(super) fn calibration(&self) -> f64 {
        let pooled: Vec<_> = self
            .sets
            .iter()
            .flat_map(|s| s.test.stated.iter().copied())
            .collect();
        calibration_error(&pooled)
    }

    /// The report as a table for people.
    pub(super) fn table(&self) -> String {
        let mut out = String::new();
        let _ = writeln!(
            out,
            "| set | tools | dev: NDCG@10 / hit@1 / recall@5 | test: NDCG@10 / hit@1 / recall@5 | test queries | calibration | p50 µs | p99 µs |\n|---|---|---|---|---|---|---|---|"
        );
        let cell = |m: &Measures| format!("{:.3} / {:.3} / {:.3}", m.ndcg_10, m.hit_1, m.recall_5);
        for set in &self.sets {
            let _ = writeln!(
                out,
                "| {}{} | {} | {} | {} | {} | {:.3} | {:.0} | {:.0} |",
                set.name,
                if set.measure_only { " *" } else { "" },
                set.tools,
                cell(&set.dev.measures),
                cell(&set.test.measures),
                set.test.queries,
                calibration_error(&set.test.stated),
                set.p50_us,
                set.p99_us,
            );
        }
        for (label, measured) in [("mean", false), ("mean of *", true)] {
            let _ = writeln!(
                out,
                "| **{label}** | | {} | **{}** | | {} | | |",
                cell(&self.mean(|s| &s.dev, measured)),
                cell(&self.mean(|s| &s.test, measured)),
                if measured {
                    String::new()
                } else {
                    format!("{:.3}", self.calibration())
                },
            );
        }
        let (answerable, refused, foreign, held_back) = self.refusals();
        let _ = writeln!(
            out,
            "\ntest queries whose tool is not among the first three: {refused} of {answerable}; queries that fit no tool: {foreign}, of which {held_back} are left to a person"
        );
        out
    }

    /// Answerable test queries and those refused; queries that fit no tool and those held back.
    fn refusals(&self) -> (usize, usize, usize, usize) {
        let sum = |get: fn(&Half) -> usize| self.sets.iter().map(|s| get(&s.test)).sum::<usize>();
        let foreign = sum(|h| h.unanswerable.0);
        (
            sum(|h| h.queries) - foreign,
            sum(|h| h.refused),
            foreign,
            sum(|h| h.unanswerable.1),
        )
    }

    /// The report for programs.
    pub(super) fn json(&self) -> Result<String> {
        let measures = |m: &Measures| json!({"ndcg_10": m.ndcg_10, "hit_1": m.hit_1, "recall_5": m.recall_5, "recall_10": m.recall_10, "mrr": m.reciprocal_rank});
        let sets: Vec<Value> = self
            .sets
            .iter()
            .map(|s| {
                json!({
                    "set": s.name, "tools": s.tools, "measure_only": s.measure_only,
                    "dev": measures(&s.dev.measures), "test": measures(&s.test.measures),
                    "dev_queries": s.dev.queries, "test_queries": s.test.queries,
                    "calibration_error": calibration_error(&s.test.stated),
                    "p50_us": s.p50_us, "p99_us": s.p99_us,
                })
            })
            .collect();
        let (answerable, refused, foreign, held_back) = self.refusals();
        Ok(serde_json::to_string_pretty(&json!({
            "sets": sets,
            "answerable": answerable, "refused": refused, "fit_no_tool": foreign, "held_back": held_back,
            "mean": {"dev": measures(&self.mean(|s| &s.dev, false)), "test": measures(&self.mean(|s| &s.test, false))},
            "mean_measure_only": {"dev": measures(&self.mean(|s| &s.dev, true)), "test": measures(&self.mean(|s| &s.test, true))},
            "calibration_error": self.calibration(),
        }))?)
    }
}
