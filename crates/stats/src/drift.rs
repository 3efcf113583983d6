//! Drift (F14): did the machine get slower or faster while the study ran?

use crate::interval::mean;

/// The least-squares line through round means on the log scale, as the change from first to last round, a fraction.
/// None below three rounds.
#[must_use]
pub fn drift(round_means: &[f64]) -> Option<f64> {
    let rounds = round_means.len();
    (rounds >= 3).then(|| (slope(round_means) * (rounds as f64 - 1.0)).exp_m1())
}

/// Least-squares slope over 0, 1, 2 …
#[must_use]
pub fn slope(values: &[f64]) -> f64 {
    let centre = (values.len() as f64 - 1.0) / 2.0;
    let mean = mean(values);
    let (mut top, mut bottom) = (0.0, 0.0);
    for (index, value) in values.iter().enumerate() {
        let x = index as f64 - centre;
        top += x * (value - mean);
        bottom += x * x;
    }
    top / bottom
}
