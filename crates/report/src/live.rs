//! The state of a study under way, for the line that the conductor's watcher redraws.

/// One scenario so far.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// Its label.
    pub label: String,
    /// Geometric mean of its trials.
    pub mean: f64,
    /// Lower end of its interval; the mean itself with one trial.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Trials so far.
    pub count: usize,
}

/// Each scenario's geometric mean and interval from `rounds[round][scenario]`; scenarios without a value are left out.
#[must_use]
pub fn live_estimate(labels: &[String], rounds: &[Vec<Option<f64>>], confidence: f64) -> Vec<Estimate> {
    let column =
        |i: usize| rounds.iter().filter_map(move |round| round.get(i).copied().flatten()).filter(|value| *value > 0.0);
    let estimates = labels.iter().enumerate().filter_map(|(i, label)| {
        let logarithms: Vec<f64> = column(i).map(f64::ln).collect();
        let count = logarithms.len();
        let mean = (!logarithms.is_empty()).then(|| logarithms.iter().sum::<f64>() / count as f64)?;
        let (low, high) =
            stats::contrast(&logarithms, confidence).map_or((mean, mean), |contrast| (contrast.low, contrast.high));
        Some(Estimate { label: label.clone(), mean: mean.exp(), low: low.exp(), high: high.exp(), count })
    });
    estimates.collect()
}
