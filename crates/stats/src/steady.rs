//! Was a run steady? The steadiness test (W2) and why seconds are no replicates (W3).

use crate::drift::slope;
use crate::interval::{mean, squares};

/// How far rounds of a run are from steady, by SNIA SSS PTS 2.0.2 clause 2.1.24.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Steadiness {
    /// (max − min) / mean.
    pub range: f64,
    /// |slope| × (rounds − 1) / mean.
    pub excursion: f64,
}

impl Steadiness {
    /// Within SNIA's limits: range 20 %, excursion 10 %.
    pub fn is_steady(&self) -> bool {
        self.range <= 0.20 && self.excursion <= 0.10
    }
}

/// Steadiness of a few window means; None below two or without a positive mean.
pub fn steadiness(windows: &[f64]) -> Option<Steadiness> {
    let middle = mean(windows);
    if windows.len() < 2 || middle <= 0.0 {
        return None;
    }
    let high = windows.iter().copied().fold(f64::MIN, f64::max);
    let low = windows.iter().copied().fold(f64::MAX, f64::min);
    let excursion = slope(windows).abs() * (windows.len() as f64 - 1.0) / middle;
    Some(Steadiness { range: (high - low) / middle, excursion })
}

/// Lag-1 autocorrelation and the number of independent samples that the series is worth.
pub fn effective_samples(samples: &[f64]) -> Option<(f64, f64)> {
    let middle = mean(samples);
    let spread = squares(samples);
    if samples.len() < 3 || spread == 0.0 {
        return None;
    }
    let products: f64 = samples.windows(2).map(|pair| (pair[0] - middle) * (pair[1] - middle)).sum();
    let r = products / spread;
    Some((r, samples.len() as f64 * (1.0 - r) / (1.0 + r)))
}
