//! Two distributions of which the means say too little: quantiles of their pieces (turns, or seconds) within each round, and a permutation
//! test (F19).
//!
//! Pieces of one round share its provisioning and its moment, so that they are no units: of a round the labels of the two sides are
//! swapped for all its pieces at once or for none. That turns the sign of the round's difference, whatever its quantile.

use crate::analysis::{self, Claim};
use crate::compare::{Held, holm, verdict};
use crate::interval::{Contrast, RESOLUTION, contrast};
use crate::observations::{Observations, Rules};
use random::SplitMix64;

/// The slow end, and the middle: shares of the pieces that are slower.
pub const QUANTILES: [f64; 3] = [0.01, 0.1, 0.5];

/// Up to so many rounds all patterns of swaps are gone through.
const ENUMERATED_ROUNDS_MAX: usize = 12;

/// Patterns drawn then.
const DRAWN_PATTERNS: u32 = 4_096;

/// Quantile by linear interpolation between order statistics (Hyndman and Fan 1996, definition 7); none of nothing.
pub fn quantile(values: &[f64], share: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = share * (sorted.len().checked_sub(1)?) as f64;
    let (low, high) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    Some(low + (high - low) * place.fract())
}

/// Each quantile's p, of `differences[quantile][round]`, log scale, of the same rounds: in so many permutations the largest t of all
/// quantiles is at least its own, which corrects for having looked at several (Westfall and Young 1993). None below two rounds.
pub fn shape(differences: &[Vec<f64>], confidence: f64) -> Option<Vec<f64>> {
    let contrasts: Vec<Contrast> =
        differences.iter().map(|of| contrast(of, confidence)).collect::<Option<Vec<Contrast>>>()?;
    let rounds = contrasts.iter().map(|of| of.rounds).max()?;
    let seen: Vec<f64> = differences.iter().map(|of| t_of(of, 0)).collect();
    let largest = |signs: u64| differences.iter().map(|of| t_of(of, signs)).fold(0.0, f64::max);
    let all: Vec<f64> = if rounds <= ENUMERATED_ROUNDS_MAX {
        // A pattern and its opposite are equally far: the last sign may stay.
        (0..1_u64 << (rounds - 1)).map(largest).collect()
    } else {
        let mut random = SplitMix64::new(1);
        // What was seen is one of them: the p of a drawn test is never zero.
        (0..DRAWN_PATTERNS).map(|pattern| largest(if pattern == 0 { 0 } else { random.next_u64() })).collect()
    };
    // Sums of the same numbers with other signs differ in the last bits.
    let p = seen.iter().map(|seen| all.iter().filter(|t| **t >= seen * (1.0 - 1e-9)).count() as f64 / all.len() as f64);
    Some(p.collect())
}

/// Without its sign, the t value of these differences with the signs of some of them turned.
fn t_of(differences: &[f64], signs: u64) -> f64 {
    let signed = |(round, d): (usize, &f64)| if signs >> (round % 64) & 1 == 1 { -d } else { *d };
    let (sum, count) = (differences.iter().enumerate().map(signed).sum::<f64>(), differences.len() as f64);
    let squares = differences.iter().map(|d| d * d).sum::<f64>();
    let variance = (squares - sum * sum / count) / (count - 1.0);
    (sum / count).abs() / (variance.max(0.0).sqrt().max(RESOLUTION) / count.sqrt())
}

/// The declared family of each quantile, with p by permutation, then Holm's correction over the comparisons. One where a piece of 0 leaves
/// a quantile without a logarithm is undecided at that quantile alone.
pub fn families(quantiles: &[Observations], rules: &Rules) -> Vec<(Vec<Claim>, Held)> {
    let Some(first) = quantiles.first() else { return Vec::new() };
    let declared = first.family();
    let of_pair = |pair| -> Vec<f64> {
        let differences: Vec<Vec<f64>> = quantiles.iter().map(|of| of.differences(pair)).collect();
        let decided: Vec<Vec<f64>> = differences.iter().filter(|of| of.len() >= 2).cloned().collect();
        let mut p = shape(&decided, rules.confidence).unwrap_or_default().into_iter();
        differences.iter().map(|of| if of.len() >= 2 { p.next().unwrap_or(1.0) } else { 1.0 }).collect()
    };
    let p: Vec<Vec<f64>> = declared.iter().map(of_pair).collect();
    let of_quantile = |(index, observations): (usize, &Observations)| {
        let (mut claims, held) = analysis::family(observations, rules);
        let corrected = holm(&p.iter().map(|of| of[index]).collect::<Vec<f64>>());
        for claim in &mut claims {
            let is_it = |pair: &&crate::observations::Declared| {
                (&pair.factor, &pair.a, &pair.b) == (&claim.factor, &claim.a, &claim.b)
            };
            let Some(place) = declared.iter().position(|pair| is_it(&pair)) else { continue };
            claim.p_holm = corrected[place];
            claim.verdict = verdict(&claim.contrast, claim.p_holm, &held);
        }
        (claims, held)
    };
    quantiles.iter().enumerate().map(of_quantile).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_numpy() {
        let values = [3.0, 1.0, 2.0, 10.0];
        // numpy.quantile([1, 2, 3, 10], [0.1, 0.5, 0.99])
        for (share, expected) in [(0.1, 1.3), (0.5, 2.5), (0.99, 9.79)] {
            let found = quantile(&values, share).expect("values");
            assert!((found - expected).abs() < 1e-12, "{share}: {found}");
        }
        assert_eq!(quantile(&[], 0.5), None);
    }

    /// Of eight rounds that all differ in the same direction no pattern but the one seen is as far: 1 of 128.
    #[test]
    fn the_smallest_p_is_one_of_all_patterns() {
        let apart: Vec<f64> = (0..8).map(|round| -0.3 + 0.001 * f64::from(round)).collect();
        let alike: Vec<f64> = (0..8).map(|round| if round % 2 == 0 { 0.01 } else { -0.01 }).collect();
        let found = shape(&[apart, alike], 0.95).expect("rounds");
        assert_eq!(found[0], 1.0 / 128.0);
        assert!(found[1] > 0.9, "{found:?}");
        assert!(shape(&[vec![0.1]], 0.95).is_none());
    }
}
