//! The state of a study under way, for the line that the conductor's watcher redraws.

use analysis::row::{Centre, centre};

/// One scenario so far.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// Its label.
    pub label: String,
    /// Geometric mean of its trials.
    pub mean: f64,
    /// Lower end of its interval; the mean itself with one trial, and where a run stalled.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Trials so far.
    pub count: usize,
}

/// Each scenario's geometric mean and interval from `rounds[round][scenario]`; scenarios without a value are left out.
#[must_use]
pub fn live_estimate(labels: &[String], rounds: &[Vec<Option<f64>>], confidence: f64) -> Vec<Estimate> {
    let column = |i: usize| rounds.iter().filter_map(move |round| round.get(i).copied().flatten());
    let estimates = labels.iter().enumerate().filter_map(|(i, label)| {
        let centre = centre(column(i).collect(), confidence)?;
        let Centre { mean, low, high, count, .. } = centre;
        Some(Estimate { label: label.clone(), mean, low, high, count })
    });
    estimates.collect()
}
