//! What the evaluation prints.

use std::fmt::Write as _;

use anyhow::Result;
use serde_json::{Value, json};

use super::metrics::{Measures, calibration_error, count, mean};
use super::score::{DISTANCES, Half, SetResult};

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
            .filter(|s| !s.own && half(s).answerable > 0 && (!measured || s.measure_only))
            .map(|s| half(s).measures)
            .collect();
        mean(&all)
    }

    /// The same over the sets that the project wrote, each query counting the same.
    pub(super) fn own(&self, half: fn(&SetResult) -> &Half) -> Measures {
        let sets = || self.sets.iter().filter(|s| s.own);
        let all: usize = sets().map(|s| half(s).answerable).sum();
        let of = |get: fn(&Measures) -> f64| {
            let sums = sets().map(|s| get(&half(s).measures) * count(half(s).answerable));
            sums.sum::<f64>() / count(all.max(1))
        };
        Measures {
            ndcg_10: of(|m| m.ndcg_10),
            hit_1: of(|m| m.hit_1),
            recall_5: of(|m| m.recall_5),
            recall_10: of(|m| m.recall_10),
            reciprocal_rank: of(|m| m.reciprocal_rank),
        }
    }

    /// Mean over the public sets: recall of ten hits, recall of those that `search_tools` tells, and how
    /// many these are; and the median cost of its answers, in tokens at most.
    pub(super) fn delivered(&self, half: fn(&SetResult) -> &Half) -> [f64; 4] {
        let sets: Vec<&Half> = self.sets.iter().filter(|s| !s.own).map(half).collect();
        let of = |get: fn(&Half) -> f64| {
            sets.iter().map(|h| get(h)).sum::<f64>() / count(sets.len().max(1))
        };
        [
            of(|h| h.measures.recall_10),
            of(|h| h.delivered[0]),
            of(|h| h.delivered[1]),
            of(|h| count(h.tokens.get(h.tokens.len() / 2).copied().unwrap_or(0))),
        ]
    }

    /// Shares of test queries: answerable ones refused, and those that fit no
    /// tool and got a selection or nothing.
    pub(super) fn refusal_shares(&self) -> (f64, f64) {
        let (answerable, refused, foreign, held_back) = self.refusals();
        (
            count(refused) / count(answerable.max(1)),
            count(held_back) / count(foreign.max(1)),
        )
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
                set.test.answerable,
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
        let _ = writeln!(
            out,
            "| **own, all** | | {} | **{}** | | | | |",
            cell(&self.own(|s| &s.dev)),
            cell(&self.own(|s| &s.test))
        );
        for (label, half) in [
            ("dev", (|s| &s.dev) as fn(&SetResult) -> &Half),
            ("test", |s| &s.test),
        ] {
            let [ten, told, hits, tokens] = self.delivered(half);
            let _ = writeln!(
                out,
                "\n{label}: recall of ten hits {ten:.3}; of what search_tools tells within its budget {told:.3}, with {hits:.1} hits and at most {tokens:.0} tokens a query"
            );
        }
        let public: Vec<&Half> = self
            .sets
            .iter()
            .filter(|s| !s.own)
            .map(|s| &s.dev)
            .collect();
        for (at, distance) in DISTANCES.iter().enumerate() {
            let of = |n: usize| {
                public.iter().map(|h| h.within[at][n]).sum::<f64>() / count(public.len().max(1))
            };
            let _ = writeln!(
                out,
                "dev, told of those at most {distance} behind: recall {:.3} with {:.1} hits a query",
                of(0),
                of(1)
            );
        }
        let (answerable, refused, foreign, held_back) = self.refusals();
        let missed: usize = self.sets.iter().map(|s| s.test.missed).sum();
        let _ = writeln!(
            out,
            "\nof {answerable} answerable test queries {refused} are refused (no recommendation, and the tool not among three alternatives), {missed} lack the tool among the first three; of {foreign} queries that fit no tool {held_back} are left to a person"
        );
        out
    }

    /// Answerable test queries and those refused; queries that fit no tool and those held back.
    fn refusals(&self) -> (usize, usize, usize, usize) {
        let sum = |get: fn(&Half) -> usize| self.sets.iter().map(|s| get(&s.test)).sum::<usize>();
        let foreign = sum(|h| h.unanswerable.0);
        (
            sum(|h| h.answerable),
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
                    "dev_queries": s.dev.answerable, "test_queries": s.test.answerable, "own": s.own,
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
            "own": {"dev": measures(&self.own(|s| &s.dev)), "test": measures(&self.own(|s| &s.test))},
            "delivered": {"dev": self.delivered(|s| &s.dev), "test": self.delivered(|s| &s.test)},
            "calibration_error": self.calibration(),
        }))?)
    }
}
