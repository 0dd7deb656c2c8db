//! `cargo xtask eval --ablate`: what each kind of evidence contributes.
//!
//! The shipped weights score the candidates again with one kind of evidence left out; nothing is
//! fitted anew, so a row says what the ranking as it stands owes to that kind.

use std::fmt::Write as _;

use toolcrib_core::ToolId;
use toolcrib_core::search::{Filter, SIGNAL_NAMES, Signals, signal_weights};

use super::data::{Labelled, Set};
use super::metrics::{Measures, mean, measure};

/// Kinds of evidence and the signals they are made of.
const KINDS: [(&str, &[&str]); 8] = [
    (
        "weight of shared words",
        &["lexical", "lexical_share", "lexical_relative"],
    ),
    (
        "where the words stand",
        &[
            "cover",
            "cover_name",
            "cover_text",
            "cover_server",
            "cover_parameters",
            "cover_tags",
            "cover_exact",
            "head_in_name",
            "head_anywhere",
        ],
    ),
    (
        "the tool's name",
        &["name_share", "name_complete", "mention", "name_words"],
    ),
    ("neighbouring words", &["pairs_name", "pairs_text"]),
    (
        "actions and values",
        &["action_same", "action_other", "values_taken"],
    ),
    (
        "agreement with the server",
        &["server_named", "server_cover"],
    ),
    (
        "meaning",
        &["likeness", "likeness_relative", "wish_likeness"],
    ),
    (
        "several wishes",
        &["wish_cover", "wish_cover_name", "wish_likeness"],
    ),
];

/// A query's candidates and what is right.
struct Case<'s> {
    query: &'s Labelled,
    candidates: Vec<(ToolId, Signals)>,
}

/// The table: each kind left out, and each kind alone, on the test halves.
pub(super) fn table(sets: &[Set]) -> String {
    let cases: Vec<(&Set, Vec<Case<'_>>)> = sets.iter().map(|set| (set, cases(set))).collect();
    let weights = signal_weights();
    let mut out = String::from(
        "| evidence | all public sets | sets never trained on | own queries |\n|---|---|---|---|\n",
    );
    let mut row = |label: &str, weights: &Signals| {
        let cell = |keep: fn(&Set) -> bool| {
            let chosen = cases.iter().filter(|(set, _)| keep(set));
            let means: Vec<Measures> = chosen
                .filter(|(_, cases)| !cases.is_empty())
                .map(|(_, cases)| {
                    mean(&cases.iter().map(|c| ranked(c, weights)).collect::<Vec<_>>())
                })
                .collect();
            let all = mean(&means);
            format!("{:.3} / {:.3}", all.ndcg_10, all.hit_1)
        };
        let _ = writeln!(
            out,
            "| {label} | {} | {} | {} |",
            cell(|s| !s.own),
            cell(|s| s.measure_only),
            cell(|s| s.own)
        );
    };
    row("everything", &weights);
    for (kind, signals) in KINDS {
        row(
            &format!("without {kind}"),
            &only(&weights, |name| !signals.contains(&name)),
        );
    }
    row(
        "words and where they stand, nothing else",
        &only(&weights, |name| {
            KINDS[0].1.contains(&name) || KINDS[1].1.contains(&name)
        }),
    );
    out
}

fn only(weights: &Signals, keep: impl Fn(&str) -> bool) -> Signals {
    let mut out = *weights;
    for (weight, name) in out.iter_mut().zip(SIGNAL_NAMES) {
        if !keep(name) {
            *weight = 0.0;
        }
    }
    out
}

fn cases(set: &Set) -> Vec<Case<'_>> {
    let test = set.queries.iter().filter(|q| !q.dev && !q.gold.is_empty());
    test.map(|query| Case {
        query,
        candidates: set.index.signals(&query.text, &Filter::default()),
    })
    .collect()
}

fn ranked(case: &Case<'_>, weights: &Signals) -> Measures {
    let score = |signals: &Signals| signals.iter().zip(weights).map(|(s, w)| s * w).sum::<f32>();
    let mut order: Vec<(f32, &ToolId)> = case
        .candidates
        .iter()
        .map(|(id, signals)| (score(signals), id))
        .collect();
    order.sort_by(|a, b| b.0.total_cmp(&a.0));
    let ids: Vec<ToolId> = order.iter().take(10).map(|(_, id)| (*id).clone()).collect();
    measure(&ids, &case.query.gold)
}
