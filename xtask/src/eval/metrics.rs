//! Measures of one ranked answer.

use std::collections::HashSet;

use toolcrib_core::ToolId;

/// What one answer scored.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Measures {
    pub(super) ndcg_10: f64,
    pub(super) hit_1: f64,
    pub(super) recall_5: f64,
    pub(super) recall_10: f64,
    pub(super) reciprocal_rank: f64,
}

/// Scores a ranking against what is right, gain 1 for each right tool.
pub(super) fn measure(ranking: &[ToolId], gold: &HashSet<ToolId>) -> Measures {
    let right: Vec<bool> = ranking.iter().map(|id| gold.contains(id)).collect();
    let discount = |rank: usize| 1.0 / (count(rank) + 2.0).log2();
    let gained: f64 = right
        .iter()
        .take(10)
        .enumerate()
        .filter(|(_, r)| **r)
        .map(|(i, _)| discount(i))
        .sum();
    let ideal: f64 = (0..gold.len().min(10)).map(discount).sum();
    let recall =
        |k: usize| count(right.iter().take(k).filter(|r| **r).count()) / count(gold.len().max(1));
    Measures {
        // The sum of no gains is -0.0, which would be shown with its sign.
        ndcg_10: if gained > 0.0 { gained / ideal } else { 0.0 },
        hit_1: f64::from(u8::from(right.first() == Some(&true))),
        recall_5: recall(5),
        recall_10: recall(10),
        reciprocal_rank: right
            .iter()
            .position(|r| *r)
            .map_or(0.0, |at| 1.0 / (count(at) + 1.0)),
    }
}

/// A count as a number to calculate with.
#[expect(clippy::cast_precision_loss, reason = "counts here are far below 2^52")]
pub(super) fn count(n: usize) -> f64 {
    n as f64
}

/// Mean of each measure.
pub(super) fn mean(all: &[Measures]) -> Measures {
    let n = count(all.len().max(1));
    let of = |get: fn(&Measures) -> f64| all.iter().map(get).sum::<f64>() / n;
    Measures {
        ndcg_10: of(|m| m.ndcg_10),
        hit_1: of(|m| m.hit_1),
        recall_5: of(|m| m.recall_5),
        recall_10: of(|m| m.recall_10),
        reciprocal_rank: of(|m| m.reciprocal_rank),
    }
}

/// Expected calibration error: how far, on average, a stated probability is from the share that
/// came true, over ten bins of equal width.
pub(super) fn calibration_error(stated: &[(f64, bool)]) -> f64 {
    let mut bins = [(0.0, 0.0, 0.0); 10];
    for (probability, right) in stated {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 0 and 9"
        )]
        let bin = &mut bins[((probability * 10.0) as usize).min(9)];
        bin.0 += probability;
        bin.1 += f64::from(u8::from(*right));
        bin.2 += 1.0;
    }
    let total = count(stated.len().max(1));
    bins.iter()
        .filter(|b| b.2 > 0.0)
        .map(|b| (b.0 - b.1).abs() / total)
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(names: &[&str]) -> Vec<ToolId> {
        names.iter().map(|n| ToolId::new("s", *n)).collect()
    }

    #[test]
    fn measures_follow_their_definitions() {
        let gold: HashSet<_> = ids(&["a", "b"]).into_iter().collect();
        let m = measure(&ids(&["x", "a", "y", "b"]), &gold);
        let expect = (1.0 / 3_f64.log2() + 1.0 / 5_f64.log2()) / (1.0 + 1.0 / 3_f64.log2());
        assert!((m.ndcg_10 - expect).abs() < 1e-12);
        assert!((m.recall_5 - 1.0).abs() < 1e-12);
        assert!(m.hit_1.abs() < 1e-12);
        assert!((m.reciprocal_rank - 0.5).abs() < 1e-12);
    }

    #[test]
    fn nothing_found_is_zero_without_a_sign() {
        let gold: HashSet<_> = ids(&["a"]).into_iter().collect();
        for found in [&[][..], &["x"]] {
            assert!(measure(&ids(found), &gold).ndcg_10.is_sign_positive());
        }
    }

    #[test]
    fn an_honest_forecast_has_no_calibration_error() {
        let honest: Vec<_> = (0..100).map(|n| (0.75, n % 4 != 0)).collect();
        assert!(calibration_error(&honest) < 1e-12);
        assert!((calibration_error(&[(1.0, false)]) - 1.0).abs() < 1e-12);
    }
}
