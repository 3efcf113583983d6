//! What to pick, and how far behind the true best it may be (F8; Hsu 1984 with Bonferroni for unequal variances).

use crate::interval::{mean, standard_deviation, t_quantile};

/// The pick, what can't be told from it, and everyone's regret.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct BestSet {
    /// Index of the pick: the best mean.
    pub pick: usize,
    /// Indices of all that may be the best.
    pub members: Vec<usize>,
    /// At most so far behind the best, log scale, for each.
    pub regret: Vec<f64>,
    /// The critical value.
    pub critical: f64,
}

/// The best set of cells from complete rounds: `values[cell][round]` on the log scale, more is better. One event covers
/// every bound, so that picking from the same data is allowed. None below two cells or two rounds.
#[must_use]
pub fn best_set(values: &[Vec<f64>], alpha: f64) -> Option<BestSet> {
    let rounds = values.first()?.len();
    if values.len() < 2 || rounds < 2 {
        return None;
    }
    let critical = t_quantile(1.0 - alpha / (values.len() as f64 - 1.0), rounds - 1);
    // The most that j may be ahead of i.
    let ahead = |j: usize, i: usize| {
        let differences: Vec<f64> = values[j].iter().zip(&values[i]).map(|(a, b)| a - b).collect();
        mean(&differences) + critical * standard_deviation(&differences) / (rounds as f64).sqrt()
    };
    let cells = 0..values.len();
    let others = |i: usize| cells.clone().filter(move |j| *j != i);
    let regret = cells.clone().map(|i| others(i).map(|j| ahead(j, i)).fold(0.0, f64::max)).collect();
    let members = cells.clone().filter(|i| others(*i).all(|j| ahead(*i, j) >= 0.0)).collect();
    let pick = cells.clone().max_by(|a, b| mean(&values[*a]).total_cmp(&mean(&values[*b])))?;
    Some(BestSet { pick, members, regret, critical })
}
