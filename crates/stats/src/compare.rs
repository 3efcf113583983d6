//! Verdicts (F6) and corrections for many comparisons (F5); Welch's test where there are no common rounds (F12).

use crate::interval::{Contrast, RESOLUTION, contrast, mean, standard_deviation, student};
use statrs::distribution::ContinuousCDF as _;

/// What a contrast says, in the sense of better and worse: `Faster` is always good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Better, and by more than nothing.
    Faster,
    /// Worse.
    Slower,
    /// A real difference that is smaller than the margin.
    Negligible,
    /// The same within the margin.
    Equivalent,
    /// Can't tell.
    Inconclusive,
}

impl Verdict {
    /// In words.
    pub fn words(self) -> &'static str {
        ["faster", "slower", "real but negligible", "the same", "can't tell"][self as usize]
    }

    /// Whether it claims a difference.
    pub fn is_claim(self) -> bool {
        matches!(self, Verdict::Faster | Verdict::Slower | Verdict::Negligible)
    }
}

/// What the members of a family of claims are held to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Held {
    /// The level of the family.
    pub alpha: f64,
    /// How many comparisons the family has.
    pub family: usize,
    /// Differences below this fraction are negligible.
    pub margin: f64,
    /// Whether more is better.
    pub more_is_better: bool,
}

impl Held {
    /// Each comparison's own level: of Holm's first step, and of each "the same" (Bonferroni; F18).
    pub fn level(&self) -> f64 {
        self.alpha / self.family.max(1) as f64
    }
}

/// The verdict of one contrast (F6). `p` is the corrected one (Holm's, in a family); equivalence is two one-sided tests: the interval at
/// 1 − 2·level lies inside the margin, so that no "the same" of the family is wrong in more than alpha of studies.
pub fn verdict(contrast: &Contrast, p: f64, held: &Held) -> Verdict {
    let is_better = (contrast.mean > 0.0) == held.more_is_better;
    decide(contrast.interval(1.0 - 2.0 * held.level()), p < held.alpha, held.margin, is_better)
}

/// From the interval of the equivalence test, and whether chance is ruled out.
fn decide((low, high): (f64, f64), is_real: bool, margin: f64, better: bool) -> Verdict {
    let limit = margin.ln_1p();
    let same = low > -limit && high < limit;
    match (is_real, same) {
        (true, true) => Verdict::Negligible,
        (false, true) => Verdict::Equivalent,
        (true, false) if better => Verdict::Faster,
        (true, false) => Verdict::Slower,
        (false, false) => Verdict::Inconclusive,
    }
}

/// Holm's step-down adjustment.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut adjusted = vec![0.0; p.len()];
    let mut running: f64 = 0.0;
    for (rank, index) in ascending(p).into_iter().enumerate() {
        running = running.max(((p.len() - rank) as f64 * p[index]).min(1.0));
        adjusted[index] = running;
    }
    adjusted
}

/// Benjamini and Hochberg's adjustment, for exploratory tables.
pub fn benjamini_hochberg(p: &[f64]) -> Vec<f64> {
    let mut adjusted = vec![0.0; p.len()];
    let mut running: f64 = 1.0;
    for (rank, index) in ascending(p).into_iter().enumerate().rev() {
        running = running.min(p.len() as f64 * p[index] / (rank + 1) as f64);
        adjusted[index] = running;
    }
    adjusted
}

fn ascending(p: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    order
}

/// A difference of means (a − b), its interval and p.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Difference {
    /// Mean of a minus mean of b.
    pub difference: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Two-sided p.
    pub p: f64,
    /// Standard error of the difference.
    pub standard_error: f64,
    /// t value.
    pub t: f64,
    /// Degrees of freedom; of two samples without common rounds Satterthwaite's.
    pub degrees_of_freedom: f64,
}

impl Difference {
    /// As [`verdict`], of this difference.
    pub fn verdict(&self, p: f64, held: &Held) -> Verdict {
        let half = student(self.degrees_of_freedom).inverse_cdf(1.0 - held.level()) * self.standard_error;
        let is_better = (self.difference > 0.0) == held.more_is_better;
        decide((self.difference - half, self.difference + half), p < held.alpha, held.margin, is_better)
    }
}

/// Welch's test on logarithms; what never varies strays by [`RESOLUTION`], as in [`contrast`]. None below two values a side.
pub fn welch(a: &[f64], b: &[f64], confidence: f64) -> Option<Difference> {
    if a.len() < 2 || b.len() < 2 {
        return None;
    }
    let share = |values: &[f64]| standard_deviation(values).max(RESOLUTION).powi(2) / values.len() as f64;
    let (share_a, share_b) = (share(a), share(b));
    let standard_error = (share_a + share_b).sqrt();
    let degrees_of_freedom = (share_a + share_b).powi(2)
        / (share_a.powi(2) / (a.len() as f64 - 1.0) + share_b.powi(2) / (b.len() as f64 - 1.0));
    let student = student(degrees_of_freedom);
    let difference = mean(a) - mean(b);
    let half = student.inverse_cdf(0.5 + confidence / 2.0) * standard_error;
    let t = difference / standard_error;
    let p = 2.0 * student.cdf(-t.abs());
    let (low, high) = (difference - half, difference + half);
    Some(Difference { difference, low, high, p, standard_error, t, degrees_of_freedom })
}

/// Two samples taken in turns, value by value (F1). None below two pairs.
pub fn paired(a: &[f64], b: &[f64], confidence: f64) -> Option<Difference> {
    let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    let Contrast { mean: difference, standard_error, low, high, p, .. } = contrast(&differences, confidence)?;
    let (t, degrees_of_freedom) = (difference / standard_error, differences.len() as f64 - 1.0);
    Some(Difference { difference, low, high, p, standard_error, t, degrees_of_freedom })
}
