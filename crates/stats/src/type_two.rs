//! Sums of squares where some combinations or trials are missing: type II, by least squares with an effect for each round.
//!
//! A term's sum is what it takes from the residual once all terms that do not contain it are fitted (Langsrud 2003). With every
//! combination in every round it is the sum of a balanced design. Driven by `importance.rs`, which makes shares of it.

use crate::interval::dot;
use crate::observations::Observations;

/// Cells and rounds as far as they were measured.
#[derive(Debug, Clone)]
pub struct Table {
    /// `[cell][factor]`: index of the level.
    pub levels: Vec<Vec<usize>>,
    /// Levels of each factor.
    pub counts: Vec<usize>,
    /// `[round][cell]`: log value; none is a hole.
    pub rounds: Vec<Vec<Option<f64>>>,
}

/// Sums of squares of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Sums {
    /// Each factor (a set with one bit) and interaction.
    pub terms: Vec<TermSum>,
    /// What stays when all terms and rounds are fitted.
    pub residual: f64,
    /// Its degrees of freedom.
    pub residual_freedom: usize,
    /// Values.
    pub values: usize,
    /// Variance between rounds, by Henderson's third method; below zero where there is none.
    pub round_variance: f64,
}

/// One term's sum of squares.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TermSum {
    /// Bit set of its factors.
    pub mask: usize,
    /// Sum of squares.
    pub sum: f64,
    /// Degrees of freedom that the data leave it; none where it can't be told from other terms.
    pub freedom: usize,
}

/// A column whose square falls to this share of itself depends on the columns before it.
const DEPENDENT: f64 = 1e-9;

impl Table {
    /// The candidates of a study; none where a cell lacks a level of a factor.
    pub fn of(observations: &Observations) -> Option<Table> {
        let (factors, cells) = (observations.factors(), observations.candidates());
        let index = |cell: usize, (factor, levels): &(String, Vec<String>)| {
            let found = observations.cells[cell].levels.get(factor)?;
            levels.iter().position(|level| level == found)
        };
        let levels = cells.iter().map(|cell| factors.iter().map(|factor| index(*cell, factor)).collect());
        let of_round = |row: &Vec<Option<f64>>| cells.iter().map(|cell| row[*cell].map(f64::ln)).collect();
        Some(Table {
            levels: levels.collect::<Option<_>>()?,
            counts: factors.iter().map(|(_, levels)| levels.len()).collect(),
            rounds: observations.rounds.iter().map(of_round).collect(),
        })
    }

    /// The same without one round.
    pub fn without(&self, round: usize) -> Table {
        let mut left = self.clone();
        left.rounds.remove(round);
        left
    }

    /// Sums of squares of all terms.
    pub fn sums(&self) -> Sums {
        let masks = 1..1_usize << self.counts.len();
        let centred = self.centred();
        let terms = masks.clone().map(|mask| {
            let mut fit = Fit::new(self, &centred);
            masks.clone().filter(|other| other & mask != mask).for_each(|other| fit.add(other));
            let (sum, rank) = (fit.explained, fit.basis.len());
            fit.add(mask);
            TermSum { mask, sum: fit.explained - sum, freedom: fit.basis.len() - rank }
        });
        let mut full = Fit::new(self, &centred);
        masks.clone().for_each(|mask| full.add(mask));
        let values = self.rounds.iter().flatten().flatten().count();
        let rounds = self.rounds.iter().filter(|row| row.iter().any(Option::is_some)).count();
        let total: f64 = centred.iter().flatten().flatten().map(|value| value * value).sum();
        let residual = (total - full.explained).max(0.0);
        let residual_freedom = values.saturating_sub(rounds + full.basis.len());
        let mean_square = residual / residual_freedom as f64;
        let round_variance = self.round_variance(residual, mean_square);
        Sums { terms: terms.collect(), residual, residual_freedom, values, round_variance }
    }

    /// Each value less its round's mean: what is left once rounds are fitted.
    fn centred(&self) -> Vec<Vec<Option<f64>>> {
        let centre = |row: &Vec<Option<f64>>| {
            let count = row.iter().flatten().count().max(1);
            let mean = row.iter().flatten().sum::<f64>() / count as f64;
            row.iter().map(|value| value.map(|value| value - mean)).collect()
        };
        self.rounds.iter().map(centre).collect()
    }

    /// What rounds take once the cells are fitted, against what that is expected to be. As all interactions are fitted, the
    /// terms span the cells' means, and rounds and cells may change places.
    fn round_variance(&self, residual: f64, mean_square: f64) -> f64 {
        let cells = 0..self.levels.len();
        let of_cell = |cell: usize| self.rounds.iter().filter_map(move |row| row[cell]);
        let spread = |cell: usize| {
            let mean = of_cell(cell).sum::<f64>() / of_cell(cell).count().max(1) as f64;
            of_cell(cell).map(|value| (value - mean).powi(2)).sum::<f64>()
        };
        let within: f64 = cells.clone().map(spread).sum();
        let measured = cells.clone().filter(|cell| of_cell(*cell).count() > 0).count();
        let values: usize = cells.clone().map(|cell| of_cell(cell).count()).sum();
        // A round's indicator, less what the cells explain of it, squared and summed over rounds.
        let expected = (values - measured) as f64;
        let freedom = self.rounds.iter().filter(|row| row.iter().any(Option::is_some)).count() as f64 - 1.0;
        (within - residual - freedom * mean_square) / expected
    }
}

/// Terms fitted one after the other, each made orthogonal to those before it (Gram and Schmidt, twice) once rounds are out.
struct Fit<'a> {
    table: &'a Table,
    /// `[cell]`: sum over rounds of what is left of its values.
    sums: Vec<f64>,
    /// Orthonormal effects of cells, and each with the rounds taken out of it.
    basis: Vec<(Vec<f64>, Vec<f64>)>,
    /// Sum of squares that they explain.
    explained: f64,
}

impl<'a> Fit<'a> {
    fn new(table: &'a Table, centred: &[Vec<Option<f64>>]) -> Fit<'a> {
        let sum = |cell: usize| centred.iter().filter_map(|row| row[cell]).sum();
        Fit { table, sums: (0..table.levels.len()).map(sum).collect(), basis: Vec::new(), explained: 0.0 }
    }

    /// Adds a term: a column for each combination of its factors' levels but the first ones.
    fn add(&mut self, mask: usize) {
        let members: Vec<usize> = (0..self.table.counts.len()).filter(|factor| mask >> factor & 1 == 1).collect();
        let of_members = |levels: &Vec<usize>| members.iter().map(|factor| levels[*factor]).collect::<Vec<_>>();
        let all = self.table.levels.iter().map(of_members);
        let mut combinations: Vec<_> = all.filter(|levels| levels.iter().all(|level| *level > 0)).collect();
        combinations.sort_unstable();
        combinations.dedup();
        for combination in combinations {
            let has =
                |levels: &Vec<usize>| members.iter().zip(&combination).all(|(factor, level)| levels[*factor] == *level);
            self.add_column(self.table.levels.iter().map(|levels| f64::from(u8::from(has(levels)))).collect());
        }
    }

    fn add_column(&mut self, mut column: Vec<f64>) {
        let whole = self.square(&column);
        for _ in 0..2 {
            for (direction, reduced) in &self.basis {
                let along = dot(&column, reduced);
                column.iter_mut().zip(direction).for_each(|(value, other)| *value -= along * other);
            }
        }
        let reduced = self.without_rounds(&column);
        let square = dot(&column, &reduced);
        if square <= DEPENDENT * whole {
            return;
        }
        let unit = |values: Vec<f64>| values.into_iter().map(|value| value / square.sqrt()).collect::<Vec<f64>>();
        let (direction, reduced) = (unit(column), unit(reduced));
        self.explained += dot(&direction, &self.sums).powi(2);
        self.basis.push((direction, reduced));
    }

    /// Sum of squares of an effect of cells over all that was measured. With the rounds taken out of it, it could be nothing but
    /// rounding errors.
    fn square(&self, column: &[f64]) -> f64 {
        let of_row = |row: &Vec<Option<f64>>| {
            row.iter().zip(column).filter(|(value, _)| value.is_some()).map(|(_, effect)| effect * effect).sum::<f64>()
        };
        self.table.rounds.iter().map(of_row).sum()
    }

    /// An effect of cells over all that was measured, less each round's mean of it, summed up by cells.
    fn without_rounds(&self, column: &[f64]) -> Vec<f64> {
        let mut sums = vec![0.0; column.len()];
        for row in &self.table.rounds {
            let measured = || row.iter().enumerate().filter(|(_, value)| value.is_some()).map(|(cell, _)| cell);
            let mean = measured().map(|cell| column[cell]).sum::<f64>() / measured().count().max(1) as f64;
            measured().for_each(|cell| sums[cell] += column[cell] - mean);
        }
        sums
    }
}
