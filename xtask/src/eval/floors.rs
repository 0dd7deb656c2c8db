//! The committed floors: what the ranking has reached and must not lose.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use super::report::{Report, line};

/// How far a set may fall below its floor: ranking is deterministic, so hardly at all.
const TOLERANCE: f64 = 0.0005;

#[derive(Debug, Default, Serialize, Deserialize)]
struct Floors {
    /// Largest pooled calibration error.
    calibration_error_max: f64,
    /// Largest share of answerable queries whose tool is not among the alternatives.
    #[serde(default = "one")]
    refused_max: f64,
    /// Least share of queries that fit no tool and get a selection or nothing.
    #[serde(default)]
    held_back_min: f64,
    /// Least recall of the hits that `search_tools` tells within its budget.
    #[serde(default)]
    delivered_min: f64,
    /// Per set: NDCG@10 and hit@1 on the test half.
    sets: BTreeMap<String, [f64; 2]>,
    /// The means over all sets and over those nothing is trained on.
    means: BTreeMap<String, [f64; 2]>,
    /// The ceilings of what answers cost, which stand in the same file.
    #[serde(default, skip_serializing_if = "toml::Table::is_empty")]
    tokens: toml::Table,
}

fn one() -> f64 {
    1.0
}

fn reached(report: &Report) -> Floors {
    let three = |x: f64| (x * 1000.0).floor() / 1000.0;
    let pair = |m: super::metrics::Measures| [three(m.ndcg_10), three(m.hit_1)];
    Floors {
        calibration_error_max: (report.calibration() * 1000.0).ceil() / 1000.0,
        refused_max: (report.refusal_shares().0 * 1000.0).ceil() / 1000.0,
        held_back_min: three(report.refusal_shares().1),
        delivered_min: three(report.delivered(|s| &s.test)[1]),
        sets: report
            .sets
            .iter()
            .filter(|s| s.test.answerable > 0)
            .map(|s| (s.name.clone(), pair(s.test.measures)))
            .collect(),
        means: [
            ("all".to_owned(), pair(report.mean(|s| &s.test, false))),
            ("measured".to_owned(), pair(report.mean(|s| &s.test, true))),
            ("own".to_owned(), pair(report.own(|s| &s.test))),
        ]
        .into(),
        tokens: toml::Table::new(),
    }
}

/// Writes what the ranking reaches now as the new floors.
pub(super) fn write(path: &Path, report: &Report) -> Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let committed = fs::read_to_string(path).ok();
    let committed: Option<Floors> = committed.and_then(|text| toml::from_str(&text).ok());
    let floors = Floors {
        tokens: committed.unwrap_or_default().tokens,
        ..reached(report)
    };
    let text = toml::to_string_pretty(&floors)?;
    fs::write(
        path,
        format!(
            "# Written by `cargo xtask eval --write-floors`; NDCG@10 and hit@1 on the test halves.\n{text}"
        ),
    )?;
    Ok(())
}

/// Fails where the ranking is below a floor.
pub(super) fn check(path: &Path, report: &Report) -> Result<()> {
    let Ok(text) = fs::read_to_string(path) else {
        line("eval: no floors are committed yet; write them with --write-floors");
        return Ok(());
    };
    let floors: Floors =
        toml::from_str(&text).with_context(|| format!("{} does not parse", path.display()))?;
    let now = reached(report);
    let mut lost = Vec::new();
    for (kind, floors, now) in [
        ("set", &floors.sets, &now.sets),
        ("mean", &floors.means, &now.means),
    ] {
        for (name, [ndcg, hit]) in floors {
            if let Some([ndcg_now, hit_now]) = now.get(name)
                && (ndcg_now + TOLERANCE < *ndcg || hit_now + TOLERANCE < *hit)
            {
                lost.push(format!(
                    "{kind} {name}: {ndcg_now:.3} / {hit_now:.3}, floor {ndcg:.3} / {hit:.3}"
                ));
            }
        }
    }
    if now.calibration_error_max > floors.calibration_error_max + TOLERANCE {
        lost.push(format!(
            "calibration error {:.3}, at most {:.3}",
            now.calibration_error_max, floors.calibration_error_max
        ));
    }
    for (what, low, high) in [
        (
            "share of refused queries",
            now.refused_max,
            floors.refused_max,
        ),
        (
            "queries that fit no tool, held back",
            floors.held_back_min,
            now.held_back_min,
        ),
        (
            "recall of what is delivered",
            floors.delivered_min,
            now.delivered_min,
        ),
    ] {
        if low > high + TOLERANCE {
            lost.push(format!("{what}: {low:.3} is above {high:.3}"));
        }
    }
    if lost.is_empty() {
        line("eval: every floor holds");
        return Ok(());
    }
    bail!(
        "the ranking fell below its floors:\n  {}",
        lost.join("\n  ")
    )
}
