//! What to pick, and how far behind the true best it may be (F8; Hsu 1984 with Bonferroni for unequal variances).

use crate::interval::{RESOLUTION, mean, standard_deviation, t_quantile};
use std::cell::OnceCell;

/// The pick, what can't be told from it, and everyone's regret.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct BestSet {
    /// Index of the pick: of the members the least behind another, over the rounds that both have; without holes the best mean.
    pub pick: usize,
    /// Indices of all that may be the best. With holes each may be shown to be worse than another, over other rounds: then empty, and nothing
    /// is shown.
    pub members: Vec<usize>,
    /// At most so far behind the best, log scale, for each.
    pub regret: Vec<f64>,
    /// The critical value, of a pair without a hole.
    pub critical: f64,
}

/// The best set of cells: `values[cell][round]` on the log scale, more is better, none is a hole. Each pair is held against each other over
/// the rounds that both have. One event covers every bound, so that picking from the same data is allowed. None below two cells, or where no
/// pair has two rounds; a bound against a cell with which one has fewer is infinite.
pub fn best_set(values: &[Vec<Option<f64>>], alpha: f64) -> Option<BestSet> {
    let cells = 0..values.len();
    let others = |i: usize| cells.clone().filter(move |j| *j != i);
    // How far j is ahead of i, and over how many rounds, round by round.
    let ahead = |j: usize, i: usize| -> Vec<f64> {
        values[j].iter().zip(&values[i]).filter_map(|(a, b)| Some((*a)? - (*b)?)).collect()
    };
    let rounds_max =
        cells.clone().flat_map(|i| others(i).map(move |j| (j, i))).map(|(j, i)| ahead(j, i).len()).max()?;
    if rounds_max < 2 {
        return None;
    }
    let quantiles = vec![OnceCell::new(); rounds_max + 1];
    let quantile = |rounds: usize| -> f64 {
        *quantiles[rounds].get_or_init(|| t_quantile(1.0 - alpha / (values.len() as f64 - 1.0), rounds - 1))
    };
    // The most that j may be ahead of i.
    let at_most = |j: usize, i: usize| {
        let differences = ahead(j, i);
        if differences.len() < 2 {
            return f64::INFINITY;
        }
        let error = standard_deviation(&differences).max(RESOLUTION) / (differences.len() as f64).sqrt();
        mean(&differences) + quantile(differences.len()) * error
    };
    // Who has no two rounds with anyone comes last: one round may be luck.
    let behind = |i: usize| {
        let means = others(i).map(|j| ahead(j, i)).filter(|differences| differences.len() >= 2);
        means.map(|differences| mean(&differences)).reduce(f64::max).unwrap_or(f64::INFINITY)
    };
    let regret = cells.clone().map(|i| others(i).map(|j| at_most(j, i)).fold(0.0, f64::max)).collect();
    let members: Vec<usize> = cells.clone().filter(|i| others(*i).all(|j| at_most(*i, j) >= 0.0)).collect();
    // With holes each may be shown to be worse than another: A than B, B than C, C than A.
    let from = if members.is_empty() { cells.clone().collect() } else { members.clone() };
    let pick = from.into_iter().min_by(|a, b| behind(*a).total_cmp(&behind(*b)))?;
    Some(BestSet { pick, members, regret, critical: quantile(rounds_max) })
}
