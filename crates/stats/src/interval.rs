//! One contrast a round, and a t interval over rounds (F1).

use crate::power::minimum_detectable_log;
use statrs::distribution::{Binomial, ContinuousCDF, DiscreteCDF, StudentsT};

/// A mean of differences of logarithms over rounds, with its interval.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Contrast {
    /// How many rounds it rests on.
    pub rounds: usize,
    /// Mean, on the log scale.
    pub mean: f64,
    /// Standard deviation over rounds (n − 1).
    pub standard_deviation: f64,
    /// Standard error of the mean.
    pub standard_error: f64,
    /// Lower end of the interval, log scale.
    pub low: f64,
    /// Upper end of the interval, log scale.
    pub high: f64,
    /// Two-sided p of "no difference".
    pub p: f64,
}

impl Contrast {
    /// The ratio: 1.42 is 42 % more.
    pub fn ratio(&self) -> f64 {
        self.mean.exp()
    }

    /// Lower end of the ratio's interval.
    pub fn ratio_low(&self) -> f64 {
        self.low.exp()
    }

    /// Upper end of the ratio's interval.
    pub fn ratio_high(&self) -> f64 {
        self.high.exp()
    }

    /// Half the interval's width, log scale.
    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0
    }

    /// The interval at another confidence: (low, high), log scale.
    pub fn interval(&self, confidence: f64) -> (f64, f64) {
        let half = t_quantile(0.5 + confidence / 2.0, self.rounds - 1) * self.standard_error;
        (self.mean - half, self.mean + half)
    }

    /// The smallest difference that a test at this level would have found with 80 % power, as a fraction (F9).
    pub fn minimum_detectable_effect(&self, level: f64) -> f64 {
        minimum_detectable_log(self.standard_deviation, self.rounds, level).exp_m1()
    }

    /// The same contrast the other way round.
    pub fn flipped(&self) -> Contrast {
        Contrast { mean: -self.mean, low: -self.high, high: -self.low, ..*self }
    }
}

/// Figures are known to a thousandth at best: a run of a second is timed to a millisecond, and counts some thousand pieces. What is
/// rounded to steps of a thousandth strays by this much (a uniform distribution), though all its values may be equal; no less is believed.
pub const RESOLUTION: f64 = 0.001 / 3.464_101_615_137_754_6;

/// The mean of one number a round, with its t interval (F1). None below two rounds, and where one is not finite: the logarithm of
/// what is zero or less.
pub fn contrast(differences: &[f64], confidence: f64) -> Option<Contrast> {
    let rounds = differences.len();
    if rounds < 2 || !differences.iter().all(|difference| difference.is_finite()) {
        return None;
    }
    let mean = mean(differences);
    let standard_deviation = standard_deviation(differences).max(RESOLUTION);
    let standard_error = standard_deviation / (rounds as f64).sqrt();
    let half = t_quantile(0.5 + confidence / 2.0, rounds - 1) * standard_error;
    let p = two_sided_p(mean / standard_error, rounds - 1);
    Some(Contrast { rounds, mean, standard_deviation, standard_error, low: mean - half, high: mean + half, p })
}

/// Quantile of Student's t.
///
/// # Panics
/// Without degrees of freedom: callers have at least two rounds.
pub fn t_quantile(probability: f64, degrees_of_freedom: usize) -> f64 {
    student(degrees_of_freedom as f64).inverse_cdf(probability)
}

/// Two-sided p of a t value.
pub fn two_sided_p(t: f64, degrees_of_freedom: usize) -> f64 {
    2.0 * student(degrees_of_freedom as f64).cdf(-t.abs())
}

pub(crate) fn student(degrees_of_freedom: f64) -> StudentsT {
    StudentsT::new(0.0, 1.0, degrees_of_freedom).expect("at least one degree of freedom")
}

/// Rounds until a contrast with this standard deviation has this half-width (log scale); at most 10,000.
pub fn rounds_for_half_width(standard_deviation: f64, half_width: f64, confidence: f64) -> usize {
    let wide = |rounds: usize| {
        t_quantile(0.5 + confidence / 2.0, rounds - 1) * standard_deviation / (rounds as f64).sqrt() > half_width
    };
    // The more rounds the narrower: each step halves.
    let (mut least, mut most) = (2, 10_000);
    while least < most {
        let middle = usize::midpoint(least, most);
        if wide(middle) { least = middle + 1 } else { most = middle }
    }
    most
}

/// Ranks (from 1) of the order statistics that enclose the median with this confidence (F11). None when there are too few.
pub fn median_interval_ranks(count: usize, confidence: f64) -> Option<(usize, usize)> {
    let binomial = Binomial::new(0.5, count as u64).ok()?;
    let covered = |low: usize| 1.0 - 2.0 * binomial.cdf(low as u64 - 1);
    let low = (1..=count / 2).take_while(|low| covered(*low) >= confidence).last()?;
    Some((low, count + 1 - low))
}

/// The sum of products of two columns, row by row.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Arithmetic mean.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The sum of squares around the mean.
pub(crate) fn squares(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

/// Standard deviation with n − 1.
pub fn standard_deviation(values: &[f64]) -> f64 {
    (squares(values) / (values.len() as f64 - 1.0)).sqrt()
}

/// Median; the mean of the middle two when they are two.
///
/// # Panics
/// Of nothing.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { f64::midpoint(sorted[middle - 1], sorted[middle]) }
}
