//! From signals to a score, and from scores to a probability.
//!
//! Both are weighted sums; the weights are learned (`training/rank.py`) and ship as a table that
//! can be read.

use std::sync::OnceLock;

use super::arithmetic::{exp, exp_each, ln, sigmoid};
use super::signals::{SIGNAL_NAMES, SIGNALS, Signals};

static TABLE: &str = include_str!("../../assets/ranking.tsv");

/// What the confidence is made of, in the order of [`Evidence`].
const EVIDENCE_NAMES: [&str; EVIDENCE] = [
    "bias",
    "margin",
    "share",
    "close_rivals",
    "score",
    "cover",
    "likeness",
    "lexical_share",
    "words_known",
    "name_share",
    "first_by_words",
    "first_by_meaning",
    "wish_likeness",
];
const EVIDENCE: usize = 13;
type Evidence = [f64; EVIDENCE];

/// What each signal counts, in the order of [`SIGNAL_NAMES`]; for measuring.
pub fn signal_weights() -> Signals {
    Model::shared().signals
}

/// The learned weights.
pub(crate) struct Model {
    signals: Signals,
    evidence: Evidence,
}

impl Model {
    /// The one that ships.
    pub(crate) fn shared() -> &'static Self {
        static SHARED: OnceLock<Model> = OnceLock::new();
        SHARED.get_or_init(|| Self::parse(TABLE))
    }

    fn parse(table: &str) -> Self {
        let value = |wanted: &str| {
            let mut rows = table.lines().filter_map(|line| line.split_once('\t'));
            let row = rows.find(|(name, _)| *name == wanted);
            row.and_then(|(_, number)| number.trim().parse::<f64>().ok())
                .unwrap_or(0.0)
        };
        #[expect(clippy::cast_possible_truncation, reason = "weights need few digits")]
        let signals: [f32; SIGNALS] = SIGNAL_NAMES.map(|name| value(name) as f32);
        Self {
            signals,
            evidence: EVIDENCE_NAMES.map(|name| value(&format!("confidence.{name}"))),
        }
    }

    /// The score of a tool: higher is better.
    pub(crate) fn score(&self, signals: &Signals) -> f32 {
        signals.iter().zip(&self.signals).map(|(s, c)| s * c).sum()
    }

    /// What each signal adds to the score.
    pub(crate) fn contributions(&self, signals: &Signals) -> Signals {
        let mut out = *signals;
        for (value, weight) in out.iter_mut().zip(&self.signals) {
            *value *= weight;
        }
        out
    }

    /// How likely the best of these, best first by score, is what was meant.
    pub(crate) fn confidence(&self, scores: &[f32], first: &Signals) -> f32 {
        let Some(&best) = scores.first() else {
            return 0.0;
        };
        let best = f64::from(best);
        let behind = |score: &f32| f64::from(*score) - best;
        let margin = scores.get(1).map_or(8.0, |second| -behind(second));
        let mut mass = 0.0;
        let (eights, rest) = scores.as_chunks::<8>();
        for eight in eights {
            let likely = exp_each(eight.map(|score| behind(&score).max(-30.0)));
            mass = likely.iter().fold(mass, |mass, likely| mass + likely);
        }
        for score in rest {
            mass += exp(behind(score).max(-30.0));
        }
        let share = 1.0 / mass;
        let close = scores
            .iter()
            .skip(1)
            .filter(|score| behind(score) > -1.0)
            .count()
            .min(10);
        let close = f64::from(u32::try_from(close).unwrap_or(10));
        let signal = |at: usize| f64::from(first[at]);
        let truth = |holds: bool| f64::from(u8::from(holds));
        let evidence: Evidence = [
            1.0,
            margin.min(5.0),
            ln(share / (1.0 - share + 1e-3)),
            close / 10.0,
            best / 10.0,
            signal(const { place("cover") }),
            signal(const { place("likeness") }),
            signal(const { place("lexical_share") }),
            signal(const { place("words_known") }),
            signal(const { place("name_share") }),
            truth(signal(const { place("lexical_relative") }) >= 1.0),
            truth(signal(const { place("likeness_relative") }) >= 0.0),
            signal(const { place("wish_likeness") }),
        ];
        let sum: f64 = evidence
            .iter()
            .zip(&self.evidence)
            .map(|(e, k)| e * k)
            .sum();
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a probability needs few digits"
        )]
        let confidence = sigmoid(sum) as f32;
        confidence
    }
}

/// The place of a signal, known when this is compiled.
const fn place(name: &str) -> usize {
    let mut at = 0;
    while at < SIGNALS {
        let (have, name) = (SIGNAL_NAMES[at].as_bytes(), name.as_bytes());
        let mut same = 0;
        while same < have.len() && same < name.len() && have[same] == name[same] {
            same += 1;
        }
        if same == have.len() && same == name.len() {
            return at;
        }
        at += 1;
    }
    panic!("no signal is called so")
}

/// How likely a tool is that stands so far behind the first.
pub(crate) fn relevance(confidence: f32, behind: f32) -> f32 {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a probability needs few digits"
    )]
    let factor = exp(f64::from(behind.min(0.0))) as f32;
    confidence * factor
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_names_every_signal_and_nothing_else() {
        let rows = TABLE.lines().filter_map(|line| line.split_once('\t'));
        let names: Vec<&str> = rows.map(|(name, _)| name).collect();
        let evidence = EVIDENCE_NAMES.map(|name| format!("confidence.{name}"));
        let expect: Vec<&str> = SIGNAL_NAMES
            .into_iter()
            .chain(evidence.iter().map(String::as_str))
            .collect();
        assert_eq!(names, expect);
    }

    #[test]
    fn close_rivals_lower_the_confidence() {
        let model = Model::shared();
        let mut first = [0.5; SIGNALS];
        first[24] = 0.0;
        let sure = model.confidence(&[9.0, 4.0, 3.0], &first);
        let unsure = model.confidence(&[9.0, 8.9, 8.8], &first);
        assert!(sure > unsure, "{sure} {unsure}");
        assert!(model.confidence(&[], &first).abs() < f32::EPSILON);
    }
}
