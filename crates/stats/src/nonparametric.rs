//! The robustness check beside each t interval (F4): it can only add a warning.

use crate::interval::median;
use random::SplitMix64;

/// Above this many rounds, sign patterns are drawn instead of enumerated.
const ENUMERATED_ROUNDS_MAX: usize = 20;

/// Patterns drawn then.
const DRAWN_PATTERNS: u32 = 100_000;

/// Exact two-sided sign-flip p: the share of sign patterns whose sum is at least as far from zero as what was seen.
/// Above 20 rounds by 100,000 patterns drawn with a fixed seed.
pub fn sign_flip_p(differences: &[f64]) -> f64 {
    let Some((first, rest)) = differences.split_first() else { return 1.0 };
    let seen = differences.iter().sum::<f64>().abs();
    // Sums of the same numbers in another order differ in the last bits.
    let limit = seen - seen * 1e-12;
    if differences.len() <= ENUMERATED_ROUNDS_MAX {
        // A pattern and its opposite are equally far: the first sign may stay.
        let mut sums = vec![*first];
        for difference in rest {
            let flipped: Vec<f64> = sums.iter().map(|sum| sum - difference).collect();
            sums.iter_mut().for_each(|sum| *sum += difference);
            sums.extend(flipped);
        }
        return sums.iter().filter(|sum| sum.abs() >= limit).count() as f64 / sums.len() as f64;
    }
    let sum = |words: &[u64]| {
        let signed = |(i, d): (usize, &f64)| if words[i / 64] >> (i % 64) & 1 == 1 { *d } else { -*d };
        differences.iter().enumerate().map(signed).sum::<f64>().abs()
    };
    let mut random = SplitMix64::new(1);
    let mut far = 0_u32;
    for _ in 0..DRAWN_PATTERNS {
        let words: Vec<u64> = (0..=differences.len() / 64).map(|_| random.next_u64()).collect();
        far += u32::from(sum(&words) >= limit);
    }
    // The pattern that was seen is one of them: the p of a drawn test is never zero.
    f64::from(far + 1) / f64::from(DRAWN_PATTERNS + 1)
}

/// Hodges and Lehmann's estimate: the median of all Walsh averages.
///
/// # Panics
/// Of nothing.
pub fn hodges_lehmann(differences: &[f64]) -> f64 {
    let firsts = differences.iter().enumerate();
    let walsh = firsts.flat_map(|(i, a)| differences[i..].iter().map(move |b| f64::midpoint(*a, *b)));
    median(&walsh.collect::<Vec<_>>())
}
