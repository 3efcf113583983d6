//! How ids are drawn: sysbench's distributions, each as the version it is named after draws it.

use random::Random;
use serde::Deserialize;

/// A distribution over ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Distribution {
    /// Every id alike.
    Uniform,
    /// The mean of twelve uniform draws.
    Gaussian,
    /// sysbench 1.0: one number decides both whether the draw is hot and where in the hot band it falls, so that only
    /// the upper three quarters of the band are used.
    #[serde(rename = "special-1.0")]
    SpecialOne,
    /// sysbench 0.4: a quarter gaussian, three quarters in a band of 1 % around the middle.
    #[serde(rename = "special-0.4")]
    SpecialZeroFour,
    /// A power law by inversion, h = 0.2: a fifth of the ids takes four fifths of the draws.
    Pareto,
    /// Zipf with exponent 0.8, by rejection-inversion.
    Zipf,
}

/// Draws ids from 1 to `count`.
#[derive(Debug, Clone)]
pub struct Keys {
    distribution: Distribution,
    count: u64,
    zipf: Zipf,
}

impl Keys {
    /// Ids from 1 to `count`, which is above 0.
    pub fn new(distribution: Distribution, count: u64) -> Keys {
        Keys { distribution, count, zipf: Zipf::new(count, 0.8) }
    }

    /// The next id.
    pub fn draw(&self, random: &mut Random) -> u64 {
        let count = self.count;
        let id = match self.distribution {
            Distribution::Uniform => 1 + random.below(count),
            Distribution::Gaussian => self.gaussian(random),
            Distribution::SpecialZeroFour => {
                let r = 1 + random.below(4 * count);
                if r <= count { self.gaussian(random) } else { r % (count / 100).max(1) + count / 2 - count / 200 }
            }
            Distribution::SpecialOne => self.special_one(random),
            Distribution::Pareto => {
                let power = 0.2_f64.ln() / 0.8_f64.ln();
                1 + (count as f64 * random.fraction().powf(power)) as u64
            }
            Distribution::Zipf => self.zipf.draw(random),
        };
        id.clamp(1, count)
    }

    fn gaussian(&self, random: &mut Random) -> u64 {
        let mean = (0..12).map(|_| random.fraction()).sum::<f64>() / 12.0;
        1 + (mean * self.count as f64) as u64
    }

    fn special_one(&self, random: &mut Random) -> u64 {
        let span = (self.count - 1) as f64;
        let u = random.fraction();
        if u < 0.25 {
            return self.gaussian(random);
        }
        (1.0 + span / 2.0 - span / 200.0 + span * 0.01 * u) as u64
    }
}

/// Rejection-inversion sampling of a Zipf distribution (Hörmann and Derflinger, 1996).
#[derive(Debug, Clone)]
struct Zipf {
    count: f64,
    exponent: f64,
    low: f64,
    high: f64,
    shortcut: f64,
}

impl Zipf {
    fn new(count: u64, exponent: f64) -> Zipf {
        let mut zipf = Zipf { count: count as f64, exponent, low: 0.0, high: 0.0, shortcut: 0.0 };
        zipf.low = zipf.integral(1.5) - 1.0;
        zipf.high = zipf.integral(zipf.count + 0.5);
        zipf.shortcut = 2.0 - zipf.inverse(zipf.integral(2.5) - 2.0_f64.powf(-exponent));
        zipf
    }

    fn draw(&self, random: &mut Random) -> u64 {
        loop {
            let u = self.high + random.fraction() * (self.low - self.high);
            let x = self.inverse(u);
            let k = x.round().clamp(1.0, self.count);
            if k - x <= self.shortcut || u >= self.integral(k + 0.5) - k.powf(-self.exponent) {
                return k as u64;
            }
        }
    }

    /// ∫ x^-s dx from 1, for s other than 1.
    fn integral(&self, x: f64) -> f64 {
        (x.powf(1.0 - self.exponent) - 1.0) / (1.0 - self.exponent)
    }

    fn inverse(&self, y: f64) -> f64 {
        (1.0 + y * (1.0 - self.exponent)).powf(1.0 / (1.0 - self.exponent))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(distribution: Distribution, count: u64) -> Vec<u32> {
        let (keys, mut random) = (Keys::new(distribution, count), Random::new(3));
        let mut counts = vec![0; count as usize + 1];
        (0..300_000).for_each(|_| counts[keys.draw(&mut random) as usize] += 1);
        counts
    }

    /// The share of all draws that falls into these ids.
    fn share(counts: &[u32], from: usize, to: usize) -> f64 {
        f64::from(counts[from..=to].iter().sum::<u32>()) / 300_000.0
    }

    /// Measured on sysbench itself, 300,000 draws: 0.4 hot 4950-5049 and 1.0 hot 4975-5051, 76 % of draws each.
    #[test]
    fn the_hot_bands_of_both_versions() {
        let old = counts(Distribution::SpecialZeroFour, 10_000);
        assert!((share(&old, 4950, 5049) - 0.76).abs() < 0.01, "{}", share(&old, 4950, 5049));
        let new = counts(Distribution::SpecialOne, 10_000);
        assert!((share(&new, 4975, 5051) - 0.76).abs() < 0.01, "{}", share(&new, 4975, 5051));
        assert!(share(&new, 4950, 4970) < 0.01, "the lowest quarter of the band is cold");
    }

    #[test]
    fn every_distribution_stays_in_the_table() {
        use Distribution::{Gaussian, Pareto, SpecialOne, SpecialZeroFour, Uniform, Zipf};
        for distribution in [Uniform, Gaussian, SpecialOne, SpecialZeroFour, Pareto, Zipf] {
            let counts = counts(distribution, 200);
            assert_eq!(counts[0], 0, "{distribution:?}");
            assert_eq!(counts.iter().sum::<u32>(), 300_000, "{distribution:?}");
        }
    }

    #[test]
    fn zipf_has_its_frequencies() {
        let counts = counts(Distribution::Zipf, 1000);
        let norm: f64 = (1..=1000).map(|k| f64::from(k).powf(-0.8)).sum();
        for k in [1_u32, 2, 10, 100] {
            let expected = f64::from(k).powf(-0.8) / norm * 300_000.0;
            let found = f64::from(counts[k as usize]);
            assert!((found - expected).abs() < 5.0 * expected.sqrt(), "{k}: {found}, not {expected}");
        }
    }

    #[test]
    fn a_fifth_of_the_ids_takes_four_fifths_of_pareto() {
        let counts = counts(Distribution::Pareto, 10_000);
        assert!((share(&counts, 1, 2000) - 0.8).abs() < 0.01);
    }
}
