//! Which factors of a screened study matter, so that the others may be fixed (STATISTICS section 5).
//!
//! Works on whatever scenarios were measured, as long as each factor's levels are balanced against all others'. Factors by themselves
//! first; then pairs, in turn that which explains most of what is left. Where pairs can't be told apart, that is taken whose factors
//! matter most themselves. What the noise is, trials in several rounds say; of a single round, Lenth's pseudo standard error.

use crate::interval::{RESOLUTION, dot, mean, median, squares, student};
use statrs::distribution::{ContinuousCDF, FisherSnedecor};

/// What was screened.
#[derive(Debug, Clone, Copy)]
pub struct Screened<'a> {
    /// `[scenario][factor]`: index of the level; 0 is the baseline's.
    pub levels: &'a [Vec<usize>],
    /// `[round][scenario]`: the raw value; none is a hole.
    pub rounds: &'a [Vec<Option<f64>>],
}

/// When enough is kept.
#[derive(Debug, Clone, Copy)]
pub struct Keep {
    /// Two-sided confidence of intervals.
    pub confidence: f64,
    /// A factor that may do more than this, a fraction, is kept, too.
    pub margin: f64,
    /// Factors are kept until they explain this share.
    pub explained: f64,
    /// But so many at most.
    pub factors_max: usize,
}

/// What a screen shows.
#[derive(Debug, Clone, PartialEq)]
pub struct Screening {
    /// One a factor.
    pub effects: Vec<Effect>,
    /// Pairs of factors that stand out of the noise.
    pub interactions: Vec<Together>,
    /// Factors to study on, what matters most first.
    pub kept: Vec<usize>,
    /// Share of the explained variation that lies in them.
    pub explained: f64,
    /// Standard deviation of a trial, log scale.
    pub deviation: f64,
    /// The smallest effect of a factor of two levels that would have been seen with 80 % power, log scale.
    pub visible: f64,
}

/// A factor by itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Effect {
    /// Its level that is farthest from the baseline's.
    pub level: usize,
    /// How far, log scale.
    pub size: f64,
    /// Half the interval, which holds for all its levels together.
    pub half_width: f64,
    /// No level is farther from the baseline's than this.
    pub bound: f64,
    /// Its share of the explained variation, a pair's share divided between its two.
    pub share: f64,
}

/// Two factors that do more, or less, together than each by itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Together {
    /// Which.
    pub pair: [usize; 2],
    /// Pairs that it can't be told from.
    pub alike: Vec<[usize; 2]>,
    /// Its share of the explained variation.
    pub share: f64,
}

/// Lenth's pseudo standard error, and the margins of error from it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lenth {
    /// Pseudo standard error of an effect.
    pub error: f64,
    /// An effect above this stands out by itself …
    pub margin: f64,
    /// … and above this among all of them.
    pub margin_simultaneous: f64,
}

/// Lenth's method for effects without repetitions (Technometrics 31, 1989).
pub fn lenth(effects: &[f64], confidence: f64) -> Lenth {
    let sizes: Vec<f64> = effects.iter().map(|effect| effect.abs()).collect();
    let first = 1.5 * median(&sizes);
    let near: Vec<f64> = sizes.iter().copied().filter(|size| *size < 2.5 * first).collect();
    let error = if near.is_empty() { 0.0 } else { 1.5 * median(&near) };
    let count = sizes.len() as f64;
    let t = |probability: f64| student(count / 3.0).inverse_cdf(probability);
    Lenth {
        error,
        margin: t(0.5 + confidence / 2.0) * error,
        margin_simultaneous: t(f64::midpoint(1.0, confidence.powf(1.0 / count))) * error,
    }
}

/// What a screen shows; none where a scenario has no value, or one has no logarithm.
pub fn screening(screened: &Screened, keep: &Keep) -> Option<Screening> {
    let table = Table::of(screened)?;
    let factors = table.counts.len();
    let mains: Vec<Vec<Vec<f64>>> = (0..factors).map(|factor| table.columns(factor)).collect();
    let pairs = (0..factors).flat_map(|a| (a + 1..factors).map(move |b| [a, b]));
    let pairs = pairs.map(|pair| Pair { pair, columns: products(&mains[pair[0]], &mains[pair[1]], &mains) });
    let mut pairs: Vec<Pair> = pairs.filter(|pair| !pair.columns.is_empty()).collect();
    let noise = table.noise(&mains, &pairs);
    let mut thetas: Vec<(Vec<usize>, f64)> = Vec::new();
    for (factor, columns) in mains.iter().enumerate() {
        thetas.push((vec![factor], noise.explained(table.square(columns), columns.len(), &table)));
    }
    let mut together = Vec::new();
    let level = (1.0 - keep.confidence) / pairs.len().max(1) as f64;
    while let Some(found) = strongest(&table, &pairs, &thetas[..factors]) {
        let columns = found.columns.clone();
        let square = table.square(&columns);
        if noise.p(square, columns.len()) > level {
            break;
        }
        let is_alike = |other: &&Pair| other.pair != found.pair && same_space(&other.columns, &columns);
        let alike = pairs.iter().filter(is_alike).map(|other| other.pair).collect();
        let pair = found.pair;
        together.push(Together { pair, alike, share: 0.0 });
        thetas.push((pair.to_vec(), noise.explained(square, columns.len(), &table)));
        pairs.iter_mut().for_each(|other| other.columns = orthonormal(&other.columns, &columns));
        pairs.retain(|other| !other.columns.is_empty());
    }
    Some(table.judged(&thetas, together, &noise, keep))
}

/// The pair that explains most; among equals, whose factors explain most by themselves.
fn strongest<'a>(table: &Table, pairs: &'a [Pair], mains: &[(Vec<usize>, f64)]) -> Option<&'a Pair> {
    let mean_square = |pair: &Pair| table.square(&pair.columns) / pair.columns.len() as f64;
    let most = pairs.iter().map(mean_square).fold(0.0, f64::max);
    let of_factors = |pair: &Pair| pair.pair.iter().map(|factor| mains[*factor].1).sum::<f64>();
    let nearly = pairs.iter().filter(|pair| mean_square(pair) >= most * (1.0 - 1e-9) && most > 0.0);
    nearly.max_by(|a, b| of_factors(a).total_cmp(&of_factors(b)))
}

/// A pair of factors, and unit vectors over scenarios that span what the two do together beyond each by itself.
struct Pair {
    pair: [usize; 2],
    columns: Vec<Vec<f64>>,
}

/// How far trials stray.
struct Noise {
    mean_square: f64,
    freedom: f64,
}

impl Noise {
    /// Variation that a term explains beyond what noise would.
    fn explained(&self, square: f64, columns: usize, table: &Table) -> f64 {
        ((square - columns as f64 * self.mean_square) / (table.means.len() as f64 * table.repeats)).max(0.0)
    }

    fn p(&self, square: f64, columns: usize) -> f64 {
        let f = FisherSnedecor::new(columns as f64, self.freedom).expect("degrees of freedom are above zero");
        f.sf(square / columns as f64 / self.mean_square)
    }
}

/// Scenarios' means, drift of the rounds taken out.
struct Table<'a> {
    levels: &'a [Vec<usize>],
    counts: Vec<usize>,
    means: Vec<f64>,
    /// Values a scenario: their harmonic mean.
    repeats: f64,
    residual: f64,
    residual_freedom: usize,
}

impl<'a> Table<'a> {
    fn of(screened: &Screened<'a>) -> Option<Table<'a>> {
        let levels = screened.levels;
        if screened.rounds.iter().flatten().flatten().any(|value| *value <= 0.0) {
            return None;
        }
        let whole = |cell: &usize| screened.rounds.iter().all(|row| row[*cell].is_some());
        let whole: Vec<usize> = (0..levels.len()).filter(whole).collect();
        let of_round = |row: &Vec<Option<f64>>| {
            let values: Vec<f64> = whole.iter().filter_map(|cell| row[*cell]).map(f64::ln).collect();
            if values.is_empty() { 0.0 } else { mean(&values) }
        };
        let drift: Vec<f64> = screened.rounds.iter().map(of_round).collect();
        let middle = mean(&drift);
        let values = |cell: usize| -> Vec<f64> {
            let steady = screened.rounds.iter().zip(&drift).map(|(row, drift)| Some(row[cell]?.ln() - drift + middle));
            steady.flatten().collect()
        };
        let values: Vec<Vec<f64>> = (0..levels.len()).map(values).collect();
        if values.iter().any(Vec::is_empty) {
            return None;
        }
        let means: Vec<f64> = values.iter().map(|values| mean(values)).collect();
        let all: usize = values.iter().map(Vec::len).sum();
        let factors = levels.first()?.len();
        Some(Table {
            counts: (0..factors).map(|f| levels.iter().map(|cell| cell[f] + 1).max().unwrap_or(1)).collect(),
            repeats: levels.len() as f64 / values.iter().map(|values| 1.0 / values.len() as f64).sum::<f64>(),
            residual: values.iter().map(|values| squares(values)).sum(),
            residual_freedom: (all - levels.len()).saturating_sub(screened.rounds.len() - 1),
            levels,
            means,
        })
    }

    /// Unit vectors over scenarios that tell a factor's levels apart: each level against the mean of those before it.
    fn columns(&self, factor: usize) -> Vec<Vec<f64>> {
        let value = |level: usize, step: usize| match level {
            level if level < step => 1.0,
            level if level == step => -(step as f64),
            _ => 0.0,
        };
        let column = |step: usize| self.levels.iter().map(|cell| value(cell[factor], step)).collect::<Vec<f64>>();
        orthonormal(&(1..self.counts[factor]).map(column).collect::<Vec<_>>(), &[])
    }

    /// The sum of squares in the directions of these columns.
    fn square(&self, columns: &[Vec<f64>]) -> f64 {
        columns.iter().map(|column| dot(column, &self.means).powi(2)).sum::<f64>() * self.repeats
    }

    /// From trials in several rounds; of a single one by Lenth, over all effects that are told apart.
    fn noise(&self, mains: &[Vec<Vec<f64>>], pairs: &[Pair]) -> Noise {
        let least = RESOLUTION.powi(2);
        if self.residual_freedom > 0 {
            let freedom = self.residual_freedom as f64;
            return Noise { mean_square: (self.residual / freedom).max(least), freedom };
        }
        let mut all: Vec<Vec<f64>> = mains.concat();
        for pair in pairs {
            let new = orthonormal(&pair.columns, &all);
            all.extend(new);
        }
        let effects: Vec<f64> = all.iter().map(|column| dot(column, &self.means)).collect();
        Noise { mean_square: lenth(&effects, 0.95).error.powi(2).max(least), freedom: effects.len() as f64 / 3.0 }
    }

    fn judged(
        &self,
        thetas: &[(Vec<usize>, f64)],
        mut together: Vec<Together>,
        noise: &Noise,
        keep: &Keep,
    ) -> Screening {
        let factors = self.counts.len();
        let total: f64 = thetas.iter().map(|theta| theta.1).sum();
        let share = |theta: f64| if total > 0.0 { theta / total } else { 0.0 };
        for (found, (_, theta)) in together.iter_mut().zip(&thetas[factors..]) {
            found.share = share(*theta);
        }
        let mut effects: Vec<Effect> = (0..factors).map(|factor| self.effect(factor, noise, keep)).collect();
        for (members, theta) in thetas {
            members.iter().for_each(|member| effects[*member].share += share(*theta) / members.len() as f64);
        }
        let mut order: Vec<usize> = (0..factors).collect();
        let weight = |factor: &usize| (effects[*factor].share, effects[*factor].size.abs());
        order.sort_by(|a, b| weight(b).partial_cmp(&weight(a)).expect("shares are numbers"));
        let within = |kept: &[usize]| {
            let of_kept = thetas.iter().filter(|(members, _)| members.iter().all(|member| kept.contains(member)));
            share(of_kept.map(|theta| theta.1).sum())
        };
        let may_matter = |factor: &usize| effects[*factor].bound > keep.margin.ln_1p();
        let mut kept: Vec<usize> = Vec::new();
        for factor in order {
            let is_wanted = kept.is_empty() || (total > 0.0 && within(&kept) < keep.explained) || may_matter(&factor);
            if is_wanted && kept.len() < keep.factors_max {
                kept.push(factor);
            }
        }
        let quantile = |probability: f64| student(noise.freedom).inverse_cdf(probability);
        let both = quantile(0.5 + keep.confidence / 2.0) + quantile(0.8);
        let deviation = noise.mean_square.sqrt();
        Screening {
            explained: within(&kept),
            visible: both * deviation * 2.0 / (self.means.len() as f64 * self.repeats).sqrt(),
            effects,
            interactions: together,
            kept,
            deviation,
        }
    }

    /// How far a factor's levels are from the baseline's, over all scenarios.
    fn effect(&self, factor: usize, noise: &Noise, keep: &Keep) -> Effect {
        let at = |level: usize| -> Vec<f64> {
            let of_level = self.levels.iter().zip(&self.means).filter(|(cell, _)| cell[factor] == level);
            of_level.map(|(_, mean)| *mean).collect()
        };
        let baseline = at(0);
        let others = (self.counts[factor] - 1).max(1) as f64;
        let t = student(noise.freedom).inverse_cdf(1.0 - (1.0 - keep.confidence) / 2.0 / others);
        let against = |level: usize| {
            let its = at(level);
            let variance = noise.mean_square / self.repeats * (1.0 / its.len() as f64 + 1.0 / baseline.len() as f64);
            let (size, half_width) = (mean(&its) - mean(&baseline), t * variance.sqrt());
            Effect { level, size, half_width, bound: size.abs() + half_width, share: 0.0 }
        };
        let levels: Vec<Effect> = (1..self.counts[factor]).map(against).collect();
        let farthest = levels.iter().copied().max_by(|a, b| a.size.abs().total_cmp(&b.size.abs()));
        let farthest = farthest.expect("a screened factor has two levels at least");
        Effect { bound: levels.iter().map(|effect| effect.bound).fold(0.0, f64::max), ..farthest }
    }
}

/// Products of two factors' columns, less what the factors do by themselves.
fn products(a: &[Vec<f64>], b: &[Vec<f64>], mains: &[Vec<Vec<f64>>]) -> Vec<Vec<f64>> {
    let product = |a: &Vec<f64>, b: &Vec<f64>| a.iter().zip(b).map(|(a, b)| a * b).collect::<Vec<f64>>();
    let all: Vec<Vec<f64>> = a.iter().flat_map(|a| b.iter().map(move |b| product(a, b))).collect();
    orthonormal(&all, &mains.concat())
}

/// Unit vectors that span what these columns have beyond the mean and the `known` unit vectors (Gram and Schmidt, twice).
fn orthonormal(columns: &[Vec<f64>], known: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let mut found: Vec<Vec<f64>> = Vec::new();
    for column in columns {
        let before = dot(column, column).sqrt();
        let mut left = column.clone();
        for _ in 0..2 {
            let middle = mean(&left);
            left.iter_mut().for_each(|value| *value -= middle);
            for unit in known.iter().chain(&found) {
                let along = dot(&left, unit);
                left.iter_mut().zip(unit).for_each(|(value, unit)| *value -= along * unit);
            }
        }
        let length = dot(&left, &left).sqrt();
        if length > before * 1e-6 {
            left.iter_mut().for_each(|value| *value /= length);
            found.push(left);
        }
    }
    found
}

/// Whether two sets of unit vectors span the same.
fn same_space(a: &[Vec<f64>], b: &[Vec<f64>]) -> bool {
    a.len() == b.len() && orthonormal(a, b).is_empty()
}
