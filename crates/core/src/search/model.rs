//! From signals to one score.

use super::arithmetic::sigmoid;
use super::signals::{SIGNALS, Signals};

/// What each signal counts.
const COEFFICIENTS: [f32; SIGNALS] = [
    0.15, 2.0, 3.0, 1.0, 0.5, 0.3, 0.3, 0.0, 0.1, 0.4, 0.2, 0.2, 0.3, 0.1, -0.1, 4.0, 0.2, 0.05,
    0.0, 0.0, 0.3, 0.3, 0.1, 0.0,
];

/// The score of a tool: higher is better.
pub(crate) fn score(signals: &Signals) -> f32 {
    signals.iter().zip(&COEFFICIENTS).map(|(s, c)| s * c).sum()
}

/// How likely a tool of this score is to be what was meant.
pub(crate) fn relevance(score: f32) -> f32 {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a probability fits any float"
    )]
    let likely = sigmoid(f64::from(score) * 0.7 - 3.0) as f32;
    likely
}
