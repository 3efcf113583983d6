//! Which factor matters (F7): bias-corrected variance shares that sum to one with noise, and the swing beside them.

use crate::interval::mean;
use crate::observations::Observations;

/// Shares of the differences, for a balanced full factorial in complete rounds.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Importance {
    /// Each factor and interaction.
    pub terms: Vec<Term>,
    /// What no factor explains.
    pub noise_share: f64,
    /// Standard deviation of a trial, log scale.
    pub trial_deviation: f64,
    /// Standard deviation between rounds (drift), log scale.
    pub round_deviation: f64,
}

/// A factor or an interaction.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Term {
    /// The factors, one for a main effect.
    pub factors: Vec<String>,
    /// Share of the differences, 0 to 1.
    pub share: f64,
    /// The smallest and largest share when each round is left out once.
    pub share_range: (f64, f64),
    /// Best level against worst level, a fraction; main effects only.
    pub swing: Option<f64>,
}

/// Importance of the factors. None below two factors, outside a full factorial, or below three complete rounds.
#[must_use]
pub fn importance(observations: &Observations) -> Option<Importance> {
    let factors = observations.factors();
    if factors.len() < 2 || !observations.is_full_factorial() || !observations.is_positive() {
        return None;
    }
    let cells = observations.candidates();
    let levels: Vec<Vec<usize>> = cells
        .iter()
        .map(|cell| {
            let level = |(factor, levels): &(String, Vec<String>)| {
                let found = observations.cells[*cell].levels.get(factor)?;
                levels.iter().position(|level| level == found)
            };
            factors.iter().map(level).collect::<Option<Vec<usize>>>()
        })
        .collect::<Option<_>>()?;
    let counts: Vec<usize> = factors.iter().map(|(_, levels)| levels.len()).collect();
    let values = observations.complete(&cells);
    let design = Design { levels: &levels, counts: &counts };
    let whole = design.shares(&values)?;
    let rounds = values[0].len();
    let without: Vec<Shares> = (0..rounds).filter_map(|left| design.shares(&leave_out(&values, left))).collect();
    let terms = whole.terms.iter().enumerate().map(|(index, (mask, share))| {
        let others = without.iter().map(|shares| shares.terms[index].1);
        let range = others.fold((*share, *share), |(low, high), share| (low.min(share), high.max(share)));
        let members: Vec<usize> = (0..factors.len()).filter(|factor| mask >> factor & 1 == 1).collect();
        Term {
            factors: members.iter().map(|factor| factors[*factor].0.clone()).collect(),
            share: *share,
            share_range: range,
            swing: (members.len() == 1).then(|| design.swing(&values, members[0])),
        }
    });
    Some(Importance {
        terms: terms.collect(),
        noise_share: whole.noise,
        trial_deviation: whole.mean_square_error.sqrt(),
        round_deviation: whole.round_variance.max(0.0).sqrt(),
    })
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
        let freedom = ((cells - 1) * (rounds - 1)) as f64;
        let mean_square_error = (all - between - blocks).max(0.0) / freedom;
        let mut sums = vec![0.0; 1 << self.counts.len()];
        let mut thetas = Vec::new();
        for mask in 1..sums.len() {
            // A term's own sum is that of its marginal means less those of all terms within it.
            let within: f64 = (1..mask).filter(|inner| inner & mask == *inner).map(|inner| sums[inner]).sum();
            sums[mask] = self.marginal_square(&cell_means, mask, grand) * rounds as f64 - within;
            let freedom: usize =
                (0..self.counts.len()).filter(|f| mask >> f & 1 == 1).map(|f| self.counts[f] - 1).product();
            thetas.push((mask, ((sums[mask] - freedom as f64 * mean_square_error) / total).max(0.0)));
        }
        let everything = thetas.iter().map(|theta| theta.1).sum::<f64>() + mean_square_error;
        if everything <= 0.0 {
            return None;
        }
        let mean_square_rounds = blocks / (rounds as f64 - 1.0);
        Some(Shares {
            terms: thetas.into_iter().map(|(mask, theta)| (mask, theta / everything)).collect(),
            noise: mean_square_error / everything,
            mean_square_error,
            round_variance: (mean_square_rounds - mean_square_error) / cells as f64,
        })
    }

    /// Sum over cells of the squared distance of their marginal mean (over the factors in `mask`) from the grand mean.
    fn marginal_square(&self, cell_means: &[f64], mask: usize, grand: f64) -> f64 {
        let same = |a: &[usize], b: &[usize]| (0..self.counts.len()).all(|f| mask >> f & 1 == 0 || a[f] == b[f]);
        let marginal = |cell: usize| {
            let alike = (0..cell_means.len()).filter(|other| same(&self.levels[*other], &self.levels[cell]));
            mean(&alike.map(|other| cell_means[other]).collect::<Vec<_>>())
        };
        (0..cell_means.len()).map(|cell| (marginal(cell) - grand).powi(2)).sum()
    }

    /// Largest against smallest marginal geometric mean, a fraction.
    fn swing(&self, values: &[Vec<f64>], factor: usize) -> f64 {
        let marginal = |level: usize| {
            let rows = values.iter().zip(self.levels).filter(|(_, levels)| levels[factor] == level);
            mean(&rows.flat_map(|(row, _)| row.iter().copied()).collect::<Vec<_>>())
        };
        let marginals: Vec<f64> = (0..self.counts[factor]).map(marginal).collect();
        let high = marginals.iter().copied().fold(f64::MIN, f64::max);
        let low = marginals.iter().copied().fold(f64::MAX, f64::min);
        (high - low).exp_m1()
    }
}
