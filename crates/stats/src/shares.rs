//! Shares of what was asked for that went wrong: whether one scenario's is shown to be larger than another's.
//!
//! Two tests have to show it. By the counts of all blocks together: under equal shares the errors of one side are binomial, given those of both
//! (Przyborowski and Wilenski 1940). That takes each error for itself, and errors come in bursts: one round with a hundred is no hundred
//! rounds. So the shares' differences over blocks have to show it, too, by a t test (F1). The other way round, this one alone would take a few
//! errors that happen to be spread evenly for a law.

use crate::interval::{mean, standard_deviation, student};
use statrs::distribution::{Binomial, ContinuousCDF as _, DiscreteCDF as _};

/// From so many blocks on, what they stray by is asked. With fewer nothing is chosen, and counts alone say who is ahead.
const BLOCKS_MIN: usize = 4;

/// What was asked for in a block, and how much of it went wrong.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Counted {
    /// What was asked for.
    pub asked: f64,
    /// What of it went wrong.
    pub wrong: f64,
}

impl Counted {
    /// The share that went wrong.
    pub fn share(&self) -> f64 {
        if self.asked > 0.0 { self.wrong / self.asked } else { 0.0 }
    }
}

/// Whether the first side's share is shown to be larger, by one-sided tests at `level`; `blocks` are those in which both sides were measured.
pub fn is_larger(blocks: &[[Counted; 2]], level: f64) -> bool {
    let sum = |side: usize| {
        blocks.iter().fold(Counted::default(), |sum, block| Counted {
            asked: sum.asked + block[side].asked,
            wrong: sum.wrong + block[side].wrong,
        })
    };
    let [one, other] = [sum(0), sum(1)];
    if one.asked <= 0.0 || other.asked <= 0.0 || one.share() <= other.share() {
        return false;
    }
    by_counts(one, other) < level && (blocks.len() < BLOCKS_MIN || by_blocks(blocks) < level)
}

/// How likely so many errors of one side or more would be, if the shares were equal.
fn by_counts(one: Counted, other: Counted) -> f64 {
    let [wrong, all] = [one.wrong, one.wrong + other.wrong].map(|count| count.round() as u64);
    // Of shares far from 0 it is rather too careful: what went wrong can't go wrong twice.
    let expected = Binomial::new(one.asked / (one.asked + other.asked), all);
    expected.map_or(1.0, |expected| if wrong == 0 { 1.0 } else { expected.sf(wrong - 1) })
}

/// How likely such differences over blocks would be.
fn by_blocks(blocks: &[[Counted; 2]]) -> f64 {
    let differences: Vec<f64> = blocks.iter().map(|[one, other]| one.share() - other.share()).collect();
    let (mean, deviation, count) = (mean(&differences), standard_deviation(&differences), differences.len() as f64);
    // Sums of equal numbers stray in their last bits.
    if deviation <= mean.abs() * 1e-12 {
        return if mean > 0.0 { 0.0 } else { 1.0 };
    }
    student(count - 1.0).sf(mean / (deviation / count.sqrt()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(one: &[f64], other: &[f64], asked: f64) -> Vec<[Counted; 2]> {
        one.iter().zip(other).map(|(one, other)| [*one, *other].map(|wrong| Counted { asked, wrong })).collect()
    }

    #[test]
    fn few_errors_more_are_an_accident_and_many_in_each_round_are_not() {
        // 12 against 9 of a million each: of 21 throws of a fair coin 12 or more are heads in 33.18 %.
        let few = blocks(&[2.0; 6], &[1.5; 6], 166_667.0);
        let p = by_counts(Counted { asked: 1e6, wrong: 12.0 }, Counted { asked: 1e6, wrong: 9.0 });
        assert!((p - 0.3318).abs() < 1e-4, "{p}");
        assert!(!is_larger(&few, 0.025));
        assert!(is_larger(&blocks(&[31.0, 30.0, 33.0, 29.0, 31.0, 32.0], &[0.0; 6], 1000.0), 0.0125));
        assert!(!is_larger(&blocks(&[0.0; 6], &[31.0; 6], 1000.0), 0.0125), "it is smaller");
        // 6 against 0 by a fair coin: 1 of 64.
        let even = blocks(&[1.0; 6], &[0.0; 6], 1000.0);
        assert!(is_larger(&even, 0.025) && !is_larger(&even, 0.0125));
    }

    #[test]
    fn one_round_with_many_errors_is_one_round() {
        assert!(!is_larger(&blocks(&[0.0, 0.0, 600.0, 0.0, 0.0, 0.0], &[0.0; 6], 1000.0), 0.025));
        assert!(is_larger(&blocks(&[300.0, 100.0, 600.0, 250.0, 400.0, 350.0], &[0.0; 6], 1000.0), 0.0125));
        // Of few rounds nothing is chosen, and what refuses is not called ahead.
        assert!(is_larger(&blocks(&[25.0], &[0.0], 30.0), 0.025) && !is_larger(&blocks(&[1.0], &[0.0], 30.0), 0.025));
        assert!(!is_larger(&[], 0.025));
    }
}
