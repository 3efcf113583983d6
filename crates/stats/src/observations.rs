//! What goes into an analysis: cells (scenarios), rounds, one number a trial; and which contrasts are declared.

use crate::interval::mean;
use std::collections::{BTreeMap, BTreeSet};

/// A scenario.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// Its label.
    pub label: String,
    /// Factor → level.
    pub levels: BTreeMap<String, String>,
    /// The A/A control: the baseline under another name.
    pub control: bool,
    /// What everything is compared with.
    pub baseline: bool,
}

/// One metric of a study.
#[derive(Debug, Clone, PartialEq)]
pub struct Observations {
    /// Scenarios.
    pub cells: Vec<Cell>,
    /// `[round][cell]`: the raw value; none is a hole.
    pub rounds: Vec<Vec<Option<f64>>>,
    /// Whether more is better.
    pub more_is_better: bool,
}

/// What was declared before the first trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rules {
    /// Two-sided confidence, 0.95.
    pub confidence: f64,
    /// Differences below this fraction are negligible.
    pub margin: f64,
    /// Wanted half-width, a fraction.
    pub precision: f64,
    /// At least so many rounds.
    pub rounds_min: u32,
    /// At most so many.
    pub rounds_max: u32,
}

/// A declared contrast: weights over cells that sum to zero (F1, F2).
#[derive(Debug, Clone, PartialEq)]
pub struct Declared {
    /// The factor whose levels it compares; none when it compares two cells.
    pub factor: Option<String>,
    /// What is compared …
    pub a: String,
    /// … with what.
    pub b: String,
    /// (cell, weight).
    pub weights: Vec<(usize, f64)>,
}

impl Observations {
    /// Cells that are no control.
    #[must_use]
    pub fn candidates(&self) -> Vec<usize> {
        (0..self.cells.len()).filter(|cell| !self.cells[*cell].control).collect()
    }

    /// Whether logarithms can be taken: every value is above zero.
    #[must_use]
    pub fn is_positive(&self) -> bool {
        let mut values = self.rounds.iter().flatten().flatten().peekable();
        values.peek().is_some() && values.all(|value| *value > 0.0)
    }

    /// One number a round for a declared contrast, on the log scale; rounds with a hole in one of its cells are left out.
    #[must_use]
    pub fn differences(&self, declared: &Declared) -> Vec<f64> {
        let of_round = |row: &Vec<Option<f64>>| {
            declared.weights.iter().map(|(cell, weight)| Some(row[*cell]?.ln() * weight)).sum::<Option<f64>>()
        };
        self.rounds.iter().filter_map(of_round).collect()
    }

    /// `[cell][round]` on the log scale, for these cells and the rounds in which all of them have a value.
    #[must_use]
    pub fn complete(&self, cells: &[usize]) -> Vec<Vec<f64>> {
        let rows: Vec<Vec<f64>> = self
            .rounds
            .iter()
            .filter_map(|row| cells.iter().map(|cell| row[*cell].map(f64::ln)).collect::<Option<Vec<f64>>>())
            .collect();
        (0..cells.len()).map(|column| rows.iter().map(|row| row[column]).collect()).collect()
    }

    /// Mean logarithm of each round in which every candidate has a value.
    #[must_use]
    pub fn round_means(&self) -> Vec<f64> {
        let candidates = self.candidates();
        let rows = self.rounds.iter();
        rows.filter_map(|row| candidates.iter().map(|cell| row[*cell].map(f64::ln)).collect::<Option<Vec<f64>>>())
            .map(|row| mean(&row))
            .collect()
    }

    /// Factors with more than one level over the candidates, and their levels in order of first appearance.
    #[must_use]
    pub fn factors(&self) -> Vec<(String, Vec<String>)> {
        let mut factors: Vec<(String, Vec<String>)> = Vec::new();
        for cell in self.candidates() {
            for (factor, level) in &self.cells[cell].levels {
                match factors.iter_mut().find(|known| known.0 == *factor) {
                    Some((_, levels)) if !levels.contains(level) => levels.push(level.clone()),
                    Some(_) => {}
                    None => factors.push((factor.clone(), vec![level.clone()])),
                }
            }
        }
        factors.retain(|(_, levels)| levels.len() > 1);
        factors
    }

    /// Whether the candidates are every combination of the factors' levels, each once.
    #[must_use]
    pub fn is_full_factorial(&self) -> bool {
        let factors = self.factors();
        let combinations = factors.iter().map(|(_, levels)| levels.len()).product::<usize>();
        let candidates = self.candidates();
        let seen: BTreeSet<Vec<Option<&String>>> = candidates
            .iter()
            .map(|cell| factors.iter().map(|(factor, _)| self.cells[*cell].levels.get(factor)).collect())
            .collect();
        !factors.is_empty() && seen.len() == candidates.len() && seen.len() == combinations
    }

    /// The declared family: all pairs of levels of each factor as main effects where the study is a full factorial;
    /// every candidate against the baseline otherwise.
    #[must_use]
    pub fn family(&self) -> Vec<Declared> {
        if self.is_full_factorial() {
            return self.factors().iter().flat_map(|(factor, levels)| self.main_effects(factor, levels)).collect();
        }
        let candidates = self.candidates();
        let Some(baseline) =
            candidates.iter().copied().find(|cell| self.cells[*cell].baseline).or(candidates.first().copied())
        else {
            return Vec::new();
        };
        candidates.into_iter().filter(|cell| *cell != baseline).map(|cell| self.pair(cell, baseline)).collect()
    }

    /// The contrast of two cells.
    #[must_use]
    pub fn pair(&self, a: usize, b: usize) -> Declared {
        let label = |cell: usize| self.cells[cell].label.clone();
        Declared { factor: None, a: label(a), b: label(b), weights: vec![(a, 1.0), (b, -1.0)] }
    }

    /// The A/A control against the baseline, when both are there.
    #[must_use]
    pub fn control(&self) -> Option<Declared> {
        let control = self.cells.iter().position(|cell| cell.control)?;
        let baseline = self.cells.iter().position(|cell| cell.baseline && !cell.control)?;
        Some(self.pair(control, baseline))
    }

    fn main_effects(&self, factor: &str, levels: &[String]) -> Vec<Declared> {
        let at = |level: &String| -> Vec<usize> {
            self.candidates().into_iter().filter(|cell| self.cells[*cell].levels.get(factor) == Some(level)).collect()
        };
        let mut effects = Vec::new();
        for (index, b) in levels.iter().enumerate() {
            for a in &levels[index + 1..] {
                let weigh = |cells: Vec<usize>, sign: f64| {
                    let share = sign / cells.len() as f64;
                    cells.into_iter().map(move |cell| (cell, share))
                };
                let weights = weigh(at(a), 1.0).chain(weigh(at(b), -1.0)).collect();
                effects.push(Declared { factor: Some(factor.into()), a: a.clone(), b: b.clone(), weights });
            }
        }
        effects
    }
}
