//! Which factor matters (F7): bias-corrected variance shares that sum to one with noise.
//!
//! Exact for every combination in every round. Where some are missing, from sums of squares of type II, and called approximate;
//! where those can't tell factors apart either, refused with the reason. How far a factor swings is `effects.rs`.

use crate::interval::{RESOLUTION, mean};
use crate::observations::Observations;
use crate::type_two::{Sums, Table, TermSum};

/// Multiplications that least squares may take: two to three seconds (63 scenarios of six factors in 20 rounds, 1.4e9, took 0.9 s
/// on an AMD EPYC, 2026-11-21). Above, only the rounds of a full factorial count in which nothing is missing.
const LEAST_SQUARES_WORK_MAX: f64 = 4e9;

/// Shares of the differences.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Importance {
    /// Each factor and interaction that the data can tell from the others.
    pub terms: Vec<Term>,
    /// What no factor explains.
    pub noise_share: f64,
    /// Standard deviation of a trial, log scale.
    pub trial_deviation: f64,
    /// Standard deviation between rounds (drift), log scale.
    pub round_deviation: f64,
    /// Variance between rounds by that of all terms and the noise: apart from their 100 %.
    pub drift_share: f64,
    /// From unbalanced data by sums of squares of type II: where factors overlap, a share is not one factor's alone.
    pub approximate: bool,
}

/// A factor or an interaction.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Term {
    /// The factors, one for a main effect.
    pub factors: Vec<String>,
    /// Share of the differences, 0 to 1.
    pub share: f64,
    /// The smallest and largest share when each round is left out once; none where nothing is left to tell noise by then.
    pub share_range: Option<(f64, f64)>,
}

/// Why there are no shares.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NoShares {
    /// Fewer than two factors: there is nothing to share out.
    OneFactor,
    /// A load stalled, so that its logarithms have no variance; or there is no value.
    Stalled,
    /// What was measured leaves nothing to tell noise by.
    TooFewTrials,
    /// So many scenarios with holes that least squares would take too long.
    TooManyScenarios,
    /// Scenarios with the same levels, or without a level of a factor.
    NotByLevels,
    /// Scenarios were dropped on the way: only the best was asked for.
    OnlyTheBest,
    /// This factor changes only together with others.
    Aliased(String),
}

/// Importance of the factors, from all that was measured: a failed trial takes its cell out of its round only.
///
/// # Errors
/// With the reason why variance can't be shared out.
pub fn importance(observations: &Observations) -> Result<Importance, NoShares> {
    let factors = observations.factors();
    if factors.len() < 2 {
        return Err(NoShares::OneFactor);
    }
    let is_empty = observations.rounds.iter().flatten().all(Option::is_none);
    if is_empty || observations.unstalled().len() < observations.candidates().len() {
        return Err(NoShares::Stalled);
    }
    let table = Table::of(observations).ok_or(NoShares::NotByLevels)?;
    let mut distinct = table.levels.clone();
    distinct.sort_unstable();
    distinct.dedup();
    if distinct.len() < table.levels.len() {
        return Err(NoShares::NotByLevels);
    }
    let has_holes = table.rounds.iter().flatten().any(Option::is_none);
    // Columns made orthogonal, twice, to all before them; for each term, and once more without each round.
    let fits = (1_usize << factors.len()) * (table.rounds.len() + 1);
    let is_large = 4.0 * (table.levels.len() as f64).powi(3) * fits as f64 > LEAST_SQUARES_WORK_MAX;
    if observations.is_full_factorial() && (!has_holes || is_large) {
        balanced(observations, &table)
    } else if is_large {
        Err(NoShares::TooManyScenarios)
    } else {
        unbalanced(observations, &table)
    }
}

/// Every combination, in the rounds in which all of them have a value.
fn balanced(observations: &Observations, table: &Table) -> Result<Importance, NoShares> {
    let values = observations.complete(&observations.candidates());
    let design = Design { levels: &table.levels, counts: &table.counts };
    let whole = design.shares(&values).ok_or(NoShares::TooFewTrials)?;
    let without = (0..values[0].len()).filter_map(|left| design.shares(&leave_out(&values, left)));
    Ok(named(observations, &whole, &without.collect::<Vec<_>>(), false))
}

fn unbalanced(observations: &Observations, table: &Table) -> Result<Importance, NoShares> {
    let sums = table.sums();
    let is_whole = |factor: usize| {
        let found = sums.terms.iter().find(|term| term.mask == 1 << factor);
        found.is_some_and(|term| term.freedom == table.counts[factor] - 1)
    };
    if let Some(aliased) = (0..table.counts.len()).find(|factor| !is_whole(*factor)) {
        return Err(NoShares::Aliased(observations.factors()[aliased].0.clone()));
    }
    let whole = Shares::of(&sums).ok_or(NoShares::TooFewTrials)?;
    let without = (0..table.rounds.len()).filter_map(|left| Shares::of(&table.without(left).sums()));
    // A round may be all that tells two terms apart: without it there is nothing to hold beside the whole.
    let without: Vec<Shares> = without.filter(|shares| shares.terms.len() == whole.terms.len()).collect();
    Ok(named(observations, &whole, &without, true))
}

/// Shares under their factors' names, with the range of what they are without each round.
fn named(observations: &Observations, whole: &Shares, without: &[Shares], approximate: bool) -> Importance {
    let factors = observations.factors();
    let term = |(index, (mask, share)): (usize, &(usize, f64))| {
        let others = without.iter().map(|shares| shares.terms[index].1);
        let range = others.fold((*share, *share), |(low, high), share| (low.min(share), high.max(share)));
        let members = (0..factors.len()).filter(|factor| mask >> factor & 1 == 1);
        let factors = members.map(|factor| factors[factor].0.clone()).collect();
        Term { factors, share: *share, share_range: (!without.is_empty()).then_some(range) }
    };
    Importance {
        terms: whole.terms.iter().enumerate().map(term).collect(),
        noise_share: whole.noise,
        trial_deviation: whole.mean_square_error.sqrt(),
        round_deviation: whole.round_variance.max(0.0).sqrt(),
        drift_share: whole.drift,
        approximate,
    }
}

fn leave_out(values: &[Vec<f64>], left: usize) -> Vec<Vec<f64>> {
    let keep = |row: &Vec<f64>| row.iter().enumerate().filter(|(round, _)| *round != left).map(|(_, v)| *v).collect();
    values.iter().map(keep).collect()
}

struct Design<'a> {
    /// `[cell][factor]`: index of the level.
    levels: &'a [Vec<usize>],
    /// Levels of each factor.
    counts: &'a [usize],
}

struct Shares {
    /// (bit set of factors, share).
    terms: Vec<(usize, f64)>,
    noise: f64,
    mean_square_error: f64,
    round_variance: f64,
    drift: f64,
}

impl Shares {
    /// Of sums of squares; none where nothing is left to tell noise by. Figures that hardly vary differ by their resolution.
    fn of(sums: &Sums) -> Option<Shares> {
        if sums.residual_freedom == 0 {
            return None;
        }
        let mean_square_error = (sums.residual / sums.residual_freedom as f64).max(RESOLUTION.powi(2));
        let told = sums.terms.iter().filter(|term| term.freedom > 0);
        let theta = |sum: f64, freedom: usize| (sum - freedom as f64 * mean_square_error) / sums.values as f64;
        let thetas: Vec<(usize, f64)> = told.map(|term| (term.mask, theta(term.sum, term.freedom).max(0.0))).collect();
        let everything = thetas.iter().map(|theta| theta.1).sum::<f64>() + mean_square_error;
        Some(Shares {
            terms: thetas.into_iter().map(|(mask, theta)| (mask, theta / everything)).collect(),
            noise: mean_square_error / everything,
            mean_square_error,
            round_variance: sums.round_variance,
            drift: sums.round_variance.max(0.0) / everything,
        })
    }
}

impl Design<'_> {
    /// Sums of squares of a balanced randomised block design; None below two rounds.
    fn shares(&self, values: &[Vec<f64>]) -> Option<Shares> {
        let (cells, rounds) = (values.len(), values.first()?.len());
        if rounds < 2 {
            return None;
        }
        let total = (cells * rounds) as f64;
        let grand = values.iter().flatten().sum::<f64>() / total;
        let cell_means: Vec<f64> = values.iter().map(|row| mean(row)).collect();
        let round_mean = |round: usize| values.iter().map(|row| row[round]).sum::<f64>() / cells as f64;
        let square = |value: f64| (value - grand).powi(2);
        let blocks = (0..rounds).map(|round| square(round_mean(round))).sum::<f64>() * cells as f64;
        let between = cell_means.iter().map(|mean| square(*mean)).sum::<f64>() * rounds as f64;
        let all: f64 = values.iter().flatten().map(|value| square(*value)).sum();
        let freedom = (cells - 1) * (rounds - 1);
        let residual = (all - between - blocks).max(0.0);
        let mut sums = vec![0.0; 1 << self.counts.len()];
        let mut terms = Vec::new();
        for mask in 1..sums.len() {
            // A term's own sum is that of its marginal means less those of all terms within it.
            let within: f64 = (1..mask).filter(|inner| inner & mask == *inner).map(|inner| sums[inner]).sum();
            sums[mask] = self.marginal_square(&cell_means, mask, grand) * rounds as f64 - within;
            let freedom = (0..self.counts.len()).filter(|f| mask >> f & 1 == 1).map(|f| self.counts[f] - 1).product();
            terms.push(TermSum { mask, sum: sums[mask], freedom });
        }
        let mean_square_error = residual / freedom as f64;
        let mean_square_rounds = blocks / (rounds as f64 - 1.0);
        Shares::of(&Sums {
            terms,
            residual,
            residual_freedom: freedom,
            values: cells * rounds,
            round_variance: (mean_square_rounds - mean_square_error) / cells as f64,
        })
    }

    /// Sum over cells of the squared distance of their marginal mean (over the factors in `mask`) from the grand mean.
    fn marginal_square(&self, cell_means: &[f64], mask: usize, grand: f64) -> f64 {
        let members: Vec<usize> = (0..self.counts.len()).filter(|factor| mask >> factor & 1 == 1).collect();
        let place = |levels: &Vec<usize>| {
            members.iter().fold(0, |place, factor| place * self.counts[*factor] + levels[*factor])
        };
        // Of each combination of their levels the sum of its cells, and how many these are.
        let mut marginals = vec![(0.0_f64, 0.0_f64); members.iter().map(|factor| self.counts[*factor]).product()];
        for (levels, mean) in self.levels.iter().zip(cell_means) {
            let (sum, count) = &mut marginals[place(levels)];
            *sum += mean;
            *count += 1.0;
        }
        marginals.into_iter().map(|(sum, count)| count * (sum / count - grand).powi(2)).sum()
    }
}
