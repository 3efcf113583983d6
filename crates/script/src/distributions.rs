//! Whole numbers drawn by a distribution, permuted and hashed, as pgbench's manual defines them.
//!
//! `permute` and the hashes give the very numbers that pgbench gives; what is drawn comes from another generator, so that only its
//! distribution is the same.

use random::{Random, SplitMix64};

/// The narrowest Gaussian: below it too many draws would lie outside (the manual's own limit).
const GAUSSIAN_PARAMETER_MIN: f64 = 2.0;

/// Bounds of a Zipfian's exponent (the manual's own limits).
const ZIPFIAN_PARAMETERS: std::ops::RangeInclusive<f64> = 1.001..=1000.0;

/// How many integers a range has; none: it is empty, or has more than an integer can count.
fn count(least: i64, most: i64) -> Result<i64, String> {
    if most < least {
        return Err(format!("the range from {least} to {most} is empty"));
    }
    most.checked_sub(least)
        .and_then(|span| span.checked_add(1))
        .ok_or_else(|| format!("the range from {least} to {most} is too large"))
}

/// A share of the range, from its start.
fn at(least: i64, count: i64, share: f64) -> i64 {
    // A share just below 1 can be rounded up to the count.
    least + ((count as f64 * share) as i64).min(count - 1)
}

/// Each of the range equally often.
///
/// # Errors
/// When the range is empty or too large.
pub fn uniform(random: &mut Random, least: i64, most: i64) -> Result<i64, String> {
    Ok(least + random.below(count(least, most)? as u64) as i64)
}

/// A normal distribution cut at so many standard deviations on both sides, over the range.
///
/// # Errors
/// When the range or the parameter is none.
pub fn gaussian(random: &mut Random, least: i64, most: i64, parameter: f64) -> Result<i64, String> {
    let count = count(least, most)?;
    if parameter.is_nan() || parameter < GAUSSIAN_PARAMETER_MIN {
        return Err(format!("a Gaussian's parameter is {GAUSSIAN_PARAMETER_MIN:.1} or more, not {parameter}"));
    }
    loop {
        // Box and Muller, Annals of Mathematical Statistics 29, 1958; the first fraction must not be 0.
        let (radius, angle) = (1.0 - random.fraction(), random.fraction());
        let deviation = (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).sin();
        if (-parameter..parameter).contains(&deviation) {
            return Ok(at(least, count, (deviation + parameter) / (2.0 * parameter)));
        }
    }
}

/// An exponential distribution cut at the parameter, over the range: its start is the most frequent.
///
/// # Errors
/// When the range or the parameter is none.
pub fn exponential(random: &mut Random, least: i64, most: i64, parameter: f64) -> Result<i64, String> {
    let count = count(least, most)?;
    if parameter.is_nan() || parameter <= 0.0 {
        return Err(format!("an exponential's parameter is above 0, not {parameter}"));
    }
    let cut = (-parameter).exp();
    let fraction = 1.0 - random.fraction();
    Ok(at(least, count, -(cut + (1.0 - cut) * fraction).ln() / parameter))
}

/// A bounded Zipfian: the k-th of the range is drawn in proportion to 1 / k^parameter (Devroye, Non-Uniform Random Variate Generation, 1986, X.6.1).
///
/// # Errors
/// When the range or the parameter is none.
pub fn zipfian(random: &mut Random, least: i64, most: i64, parameter: f64) -> Result<i64, String> {
    let count = count(least, most)?;
    if !ZIPFIAN_PARAMETERS.contains(&parameter) {
        let (low, high) = (ZIPFIAN_PARAMETERS.start(), ZIPFIAN_PARAMETERS.end());
        return Err(format!("a Zipfian's parameter is from {low} to {high}, not {parameter}"));
    }
    if count == 1 {
        return Ok(least);
    }
    let base = (parameter - 1.0).exp2();
    loop {
        let (u, v) = (1.0 - random.fraction(), random.fraction());
        let x = u.powf(-1.0 / (parameter - 1.0)).floor();
        let t = (1.0 + 1.0 / x).powf(parameter - 1.0);
        if x <= count as f64 && v * x * (t - 1.0) / (base - 1.0) <= t / base {
            return Ok(least + x as i64 - 1);
        }
    }
}

const FNV_PRIME: u64 = 0x100_0000_01b3;
const FNV_BASIS: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a of the eight bytes, the lowest first (draft-eastlake-fnv); the seed changes the basis.
pub fn hash_fnv1a(value: i64, seed: i64) -> i64 {
    let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(FNV_PRIME);
    value.to_le_bytes().iter().fold(FNV_BASIS ^ seed as u64, mix) as i64
}

const MURMUR_MULTIPLIER: u64 = 0xc6a4_a793_5bd1_e995;
const MURMUR_SHIFT: u32 = 47;

/// MurmurHash64A (Appleby) of eight bytes.
pub fn hash_murmur2(value: i64, seed: i64) -> i64 {
    let stir = |bits: u64| bits ^ bits >> MURMUR_SHIFT;
    let own = stir((value as u64).wrapping_mul(MURMUR_MULTIPLIER)).wrapping_mul(MURMUR_MULTIPLIER);
    let hash = (seed as u64 ^ MURMUR_MULTIPLIER.wrapping_mul(8)) ^ own;
    stir(stir(hash.wrapping_mul(MURMUR_MULTIPLIER)).wrapping_mul(MURMUR_MULTIPLIER)) as i64
}

/// xoroshiro128** (Blackman and Vigna, 2018), which decides PostgreSQL's permutations.
struct Xoroshiro {
    state: [u64; 2],
}

impl Xoroshiro {
    fn new(seed: i64) -> Xoroshiro {
        let mut seeds = SplitMix64::new(seed as u64);
        Xoroshiro { state: [seeds.next_u64(), seeds.next_u64()] }
    }

    fn next(&mut self) -> u64 {
        let [first, second] = self.state;
        let mixed = second ^ first;
        self.state = [first.rotate_left(24) ^ mixed ^ mixed << 16, mixed.rotate_left(37)];
        first.wrapping_mul(5).rotate_left(7).wrapping_mul(9)
    }

    /// From 0 up to and including `most`: bits of the next larger power of two, until they fit.
    fn up_to(&mut self, most: u64) -> u64 {
        if most == 0 {
            return 0;
        }
        let shift = most.leading_zeros();
        loop {
            let drawn = self.next() >> shift;
            if drawn <= most {
                return drawn;
            }
        }
    }
}

/// Rounds of [`permute`].
const PERMUTE_ROUNDS: usize = 6;

/// Where an index of so many goes: a permutation for each seed (the manual's "permute"; the same as pgbench's of version 14 and later).
///
/// # Errors
/// When there is nothing to permute.
pub fn permute(index: i64, size: i64, seed: i64) -> Result<i64, String> {
    if size <= 0 {
        return Err(format!("permute's size is above 0, not {size}"));
    }
    if size == 1 {
        return Ok(0);
    }
    let mut random = Xoroshiro::new(seed);
    let last = size as u64 - 1;
    let mut at = index as u64 % size as u64;
    let width = 63 - last.leading_zeros();
    let mask = (1_u64 << width) - 1;
    // A bijection of the numbers that the mask holds: odd factor, bits flipped, one bit to the left with the first one at the end.
    let stir = |value: u64, random: &mut Xoroshiro| {
        let (factor, flips) = (random.next() & mask | 1, random.next() & mask);
        if value > mask {
            return value;
        }
        let stirred = (value.wrapping_mul(factor) ^ flips) & mask;
        if width == 0 { stirred } else { stirred << 1 & mask | stirred >> (width - 1) }
    };
    for _ in 0..PERMUTE_ROUNDS {
        // The lower part, then the upper part from its end; they overlap.
        at = stir(at, &mut random);
        at = last - stir(last - at, &mut random);
        at = ((u128::from(at) + u128::from(random.up_to(last))) % size as u128) as u64;
    }
    Ok(at as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of pgbench 15.18: `\set x debug(hash_fnv1a(…))`.
    #[test]
    fn hashes_are_pgbenchs() {
        // Also in PostgreSQL's own tests, src/bin/pgbench/t/001_pgbench_with_server.pl.
        assert_eq!(hash_fnv1a(10, 5432), -7_793_829_335_365_542_153);
        assert_eq!(hash_murmur2(10, 5432), -5_817_877_081_768_721_676);
        assert_eq!(hash_fnv1a(-1, 0), -8_289_690_350_564_177_859);
        assert_eq!(hash_murmur2(-1, -77), -1_111_229_485_561_316_614);
    }

    /// Values of pgbench 15.18: `\set x debug(permute(…))`.
    #[test]
    fn permutations_are_pgbenchs() {
        for (index, size, seed, expected) in
            [(0, 2, 1, 1), (7, 10, 5432, 4), (-5, 1000, 1, 175), (123_456_789, i64::MAX, -9, 4_861_640_195_356_797_975)]
        {
            assert_eq!(permute(index, size, seed), Ok(expected), "permute({index}, {size}, {seed})");
        }
    }

    fn shares(draw: impl Fn(&mut Random) -> i64, count: usize) -> Vec<f64> {
        const DRAWS: usize = 200_000;
        let (mut random, mut counts) = (Random::new(11), vec![0_u32; count]);
        (0..DRAWS).for_each(|_| counts[draw(&mut random) as usize - 1] += 1);
        counts.iter().map(|count| f64::from(*count) / DRAWS as f64).collect()
    }

    fn close(found: &[f64], expected: &[f64]) {
        for (found, expected) in found.iter().zip(expected) {
            // Five standard deviations of a share among 200,000 draws are at most 0.0056.
            assert!((found - expected).abs() < 0.006, "{found} for {expected}");
        }
    }

    #[test]
    fn draws_have_the_shares_of_their_formula() {
        close(&shares(|random| uniform(random, 1, 4).expect("a range"), 4), &[0.25; 4]);
        let weights: Vec<f64> = (1..=5).map(|k: i32| f64::from(k).powf(-1.2)).collect();
        let all: f64 = weights.iter().sum();
        close(
            &shares(|random| zipfian(random, 1, 5, 1.2).expect("a range"), 5),
            &weights.iter().map(|weight| weight / all).collect::<Vec<_>>(),
        );
        // The manual: a share of (exp(-p(i-1)/n) - exp(-p i/n)) / (1 - exp(-p)).
        let of = |k: f64| ((-2.5 * (k - 1.0) / 5.0).exp() - (-2.5 * k / 5.0).exp()) / (1.0 - (-2.5_f64).exp());
        close(
            &shares(|random| exponential(random, 1, 5, 2.5).expect("a range"), 5),
            &[1.0, 2.0, 3.0, 4.0, 5.0].map(of),
        );
        // The manual: with a parameter of 4 (and 2.5 here), the middle half of the range has erf(p / 2 / sqrt 2) / erf(p / sqrt 2) of the draws.
        let middle: f64 = shares(|random| gaussian(random, 1, 4, 2.5).expect("a range"), 4)[1..3].iter().sum();
        close(&[middle], &[0.788_700_5 / 0.987_580_7]);
    }

    #[test]
    fn parameters_beyond_their_limits_are_refused() {
        let random = &mut Random::new(1);
        assert!(uniform(random, 2, 1).is_err() && uniform(random, i64::MIN, i64::MAX).is_err());
        assert!(gaussian(random, 1, 10, 1.9).is_err() && gaussian(random, 1, 10, f64::NAN).is_err());
        assert!(exponential(random, 1, 10, 0.0).is_err() && exponential(random, 1, 10, f64::NAN).is_err());
        assert!(zipfian(random, 1, 10, 1.0).is_err() && zipfian(random, 1, 10, f64::NAN).is_err());
        assert!(permute(0, 0, 1).is_err());
    }

    proptest::proptest! {
        #[test]
        fn a_permutation_has_each_index_once(size in 1_i64..600, seed: i64) {
            let mut all: Vec<i64> = (0..size).map(|index| permute(index, size, seed).expect("a size")).collect();
            all.sort_unstable();
            proptest::prop_assert_eq!(all, (0..size).collect::<Vec<_>>());
        }

        #[test]
        fn draws_stay_in_their_range(least in -1000_i64..1000, span in 0_i64..2000, seed: u64, parameter in 2.0..50.0) {
            let (random, most) = (&mut Random::new(seed), least + span);
            for drawn in [
                uniform(random, least, most), gaussian(random, least, most, parameter),
                exponential(random, least, most, parameter), zipfian(random, least, most, parameter),
            ] {
                proptest::prop_assert!((least..=most).contains(&drawn.expect("a range")));
            }
        }
    }
}
