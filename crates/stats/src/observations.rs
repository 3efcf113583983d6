//! What goes into an analysis: cells (scenarios), rounds, one number a trial; and which contrasts are declared.

use crate::interval::mean;
use std::collections::{BTreeMap, BTreeSet};

/// A scenario.
#[derive(Debug, Clone, Default, PartialEq)]
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
    /// `[round][cell]`: the raw value; none is a hole, and zero a load that stalled.
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
    /// Which answer this is: 1, and one more for each that was seen before further rounds were measured.
    pub looks: u32,
    /// The part of its level that this answer has: 1, and less while its rounds go on (`eliminate::Looks::share`).
    pub share: f64,
}

impl Rules {
    /// The level of this answer's claims: half of what the answers before it left of the whole, so that all of them together stay below
    /// it (Bonferroni), whenever and for whatever reason rounds are added.
    ///
    /// The half that is left covers the stop rule, too: looking at widths lets a study end sooner when its spread happens to look small, so
    /// that the nominal 95 % interval covers less (92.5 to 94.8 % in simulations); `tests/it/simulations.rs` measures both.
    pub fn alpha(&self) -> f64 {
        let whole = (1.0 - self.confidence) * 0.5_f64.powi(i32::try_from(self.looks.max(1)).unwrap_or(i32::MAX));
        whole * self.share
    }
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
    /// The factors over whose levels it is averaged.
    pub over: Vec<String>,
    /// Factors that have one level only where both sides were measured, with that level.
    pub within: Vec<(String, String)>,
}

impl Observations {
    /// Those of some cells.
    pub fn only(&self, cells: &[usize]) -> Observations {
        Observations {
            cells: cells.iter().map(|cell| self.cells[*cell].clone()).collect(),
            rounds: self.rounds.iter().map(|row| cells.iter().map(|cell| row[*cell]).collect()).collect(),
            more_is_better: self.more_is_better,
        }
    }

    /// Cells that are no control.
    pub fn candidates(&self) -> Vec<usize> {
        (0..self.cells.len()).filter(|cell| !self.cells[*cell].control).collect()
    }

    /// Whether all cells of a contrast get more rounds, so that more would tell more of it.
    pub fn is_left(&self, declared: &Declared) -> bool {
        declared.weights.iter().all(|(cell, _)| self.is_measured_yet(*cell))
    }

    /// Whether a load stalled in this cell: a value is zero (or below), whose logarithm is no number. So is none of the cell's mean, and
    /// none of a contrast with it, however many rounds there are: see "Zero" in docs/statistics.md.
    pub fn has_stalled(&self, cell: usize) -> bool {
        self.rounds.iter().any(|row| row[cell].is_some_and(|value| value <= 0.0))
    }

    /// Whether a cell gets more rounds, as far as values tell: what fails in two rounds in a row is given up.
    pub fn is_measured_yet(&self, cell: usize) -> bool {
        self.rounds.iter().rev().take(2).any(|row| row[cell].is_some())
    }

    /// Candidates that did not stall: of these alone a logarithm can be taken.
    pub fn unstalled(&self) -> Vec<usize> {
        self.candidates().into_iter().filter(|cell| !self.has_stalled(*cell)).collect()
    }

    /// Whether a cell of a contrast stalled, so that the contrast can't be decided.
    pub fn is_undecided(&self, declared: &Declared) -> bool {
        declared.weights.iter().any(|(cell, _)| self.has_stalled(*cell))
    }

    /// One number a round for a declared contrast, on the log scale; rounds with a hole in one of its cells are left out. None at all
    /// where one of its cells stalled: to leave out those rounds would make it look better than it is.
    pub fn differences(&self, declared: &Declared) -> Vec<f64> {
        if self.is_undecided(declared) {
            return Vec::new();
        }
        let of_round = |row: &Vec<Option<f64>>| {
            declared.weights.iter().map(|(cell, weight)| Some(row[*cell]?.ln() * weight)).sum::<Option<f64>>()
        };
        self.rounds.iter().filter_map(of_round).collect()
    }

    /// `[cell][round]` on the log scale, for these cells, none of which stalled, and the rounds in which all of them have a value.
    pub fn complete(&self, cells: &[usize]) -> Vec<Vec<f64>> {
        let rows = self.whole_rounds(cells);
        (0..cells.len()).map(|column| rows.iter().map(|row| row[column]).collect()).collect()
    }

    /// Mean logarithm of each round in which every candidate that did not stall has a value.
    pub fn round_means(&self) -> Vec<f64> {
        let candidates = self.unstalled();
        if candidates.is_empty() {
            return Vec::new();
        }
        self.whole_rounds(&candidates).iter().map(|row| mean(row)).collect()
    }

    /// The logarithms of these cells in each round in which all of them have a value.
    fn whole_rounds(&self, cells: &[usize]) -> Vec<Vec<f64>> {
        let of_round = |row: &Vec<Option<f64>>| cells.iter().map(|cell| row[*cell].map(f64::ln)).collect();
        self.rounds.iter().filter_map(of_round).collect()
    }

    /// Factors with more than one level over the candidates, and their levels in order of first appearance.
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
    pub fn is_full_factorial(&self) -> bool {
        let factors = self.factors();
        let combinations = factors.iter().map(|(_, levels)| levels.len()).product::<usize>();
        let candidates = self.candidates();
        let levels = |cell: &usize| factors.iter().map(|(factor, _)| self.cells[*cell].levels.get(factor)).collect();
        let seen: BTreeSet<Vec<Option<&String>>> = candidates.iter().map(levels).collect();
        !factors.is_empty() && seen.len() == candidates.len() && seen.len() == combinations
    }

    /// The declared family: all pairs of levels of each factor as main effects, over the combinations of the other factors that
    /// both levels were measured in (a full factorial: all of them); every candidate against the baseline where a pair has no
    /// such combination. A cell that was given up is in no average of others; its own pairs have the rounds that it had.
    pub fn family(&self) -> Vec<Declared> {
        let effects: Option<Vec<Vec<Declared>>> =
            self.factors().iter().map(|(factor, levels)| self.main_effects(factor, levels)).collect();
        if let Some(effects) = effects.filter(|effects| !effects.is_empty()) {
            return effects.into_iter().flatten().collect();
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
    pub fn pair(&self, a: usize, b: usize) -> Declared {
        let label = |cell: usize| self.cells[cell].label.clone();
        Declared {
            factor: None,
            a: label(a),
            b: label(b),
            weights: vec![(a, 1.0), (b, -1.0)],
            over: Vec::new(),
            within: Vec::new(),
        }
    }

    /// The A/A control against the baseline, when both are there.
    pub fn control(&self) -> Option<Declared> {
        let control = self.cells.iter().position(|cell| cell.control)?;
        let baseline = self.cells.iter().position(|cell| cell.baseline && !cell.control)?;
        Some(self.pair(control, baseline))
    }

    /// All pairs of a factor's levels; none when a pair was never measured with all else equal, or no longer is, or two cells are alike.
    fn main_effects(&self, factor: &str, levels: &[String]) -> Option<Vec<Declared>> {
        let pairs = levels.len() * (levels.len() - 1) / 2;
        let measured = self.candidates().into_iter().filter(|cell| self.is_measured_yet(*cell));
        let left: BTreeSet<&String> = measured.filter_map(|cell| self.cells[cell].levels.get(factor)).collect();
        let are_apart = |pair: &Declared| left.contains(&pair.a) && left.contains(&pair.b) && !self.is_left(pair);
        self.level_effects(factor, levels).filter(|effects| effects.len() == pairs && !effects.iter().any(are_apart))
    }

    /// Those pairs of a factor's levels that were measured with all else equal; none when two cells are alike. Each is over what is still
    /// measured, where there is such a combination: one that was given up would leave an average its few rounds only.
    pub(crate) fn level_effects(&self, factor: &str, levels: &[String]) -> Option<Vec<Declared>> {
        let others: Vec<String> =
            self.factors().into_iter().map(|(name, _)| name).filter(|name| name != factor).collect();
        let all = self.by_level(factor, &others, |_| true)?;
        let left = self.by_level(factor, &others, |cell| self.is_measured_yet(cell))?;
        let mut effects = Vec::new();
        for (index, b) in levels.iter().enumerate() {
            for a in &levels[index + 1..] {
                let among = |cells: &BTreeMap<&String, Combinations<'_>>| {
                    effect((factor, others.as_slice()), (a, cells.get(a)?), (b, cells.get(b)?))
                };
                effects.extend(among(&left).or_else(|| among(&all)));
            }
        }
        Some(effects)
    }

    /// Some of the candidates by their level of a factor; none when two are alike.
    fn by_level(
        &self,
        factor: &str,
        others: &[String],
        is_in: impl Fn(usize) -> bool,
    ) -> Option<BTreeMap<&String, Combinations<'_>>> {
        let mut at: BTreeMap<&String, Combinations<'_>> = BTreeMap::new();
        for cell in self.candidates().into_iter().filter(|cell| is_in(*cell)) {
            let its = &self.cells[cell].levels;
            let combination = others.iter().map(|other| its.get(other)).collect();
            if at.entry(its.get(factor)?).or_default().insert(combination, cell).is_some() {
                return None;
            }
        }
        Some(at)
    }
}

/// Cells by their combination of levels of other factors.
type Combinations<'a> = BTreeMap<Vec<Option<&'a String>>, usize>;

/// A level of a factor and its cells.
type Side<'a> = (&'a String, &'a Combinations<'a>);

/// Two levels over the combinations that both have; none where they have none.
fn effect<'a>((factor, others): (&str, &[String]), (a, of_a): Side<'a>, (b, of_b): Side<'a>) -> Option<Declared> {
    let shared: Vec<&Vec<Option<&String>>> = of_a.keys().filter(|known| of_b.contains_key(*known)).collect();
    let first = *shared.first()?;
    let share = 1.0 / shared.len() as f64;
    let weigh = |cells: &BTreeMap<_, usize>, sign: f64| -> Vec<(usize, f64)> {
        shared.iter().map(|combination| (cells[*combination], sign * share)).collect()
    };
    let mut effect = Declared {
        factor: Some(factor.into()),
        a: a.clone(),
        b: b.clone(),
        weights: weigh(of_a, 1.0).into_iter().chain(weigh(of_b, -1.0)).collect(),
        over: Vec::new(),
        within: Vec::new(),
    };
    for (place, other) in others.iter().enumerate() {
        let first = first[place];
        if shared.iter().any(|combination| combination[place] != first) {
            effect.over.push(other.clone());
        } else {
            effect.within.extend(first.map(|level| (other.clone(), level.clone())));
        }
    }
    Some(effect)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(levels: &[(&str, &str)]) -> Cell {
        let levels: BTreeMap<String, String> =
            levels.iter().map(|(factor, level)| ((*factor).to_string(), (*level).to_string())).collect();
        let label = levels.values().cloned().collect::<Vec<_>>().join(" ");
        Cell { label, levels, control: false, baseline: false }
    }

    fn observations(cells: Vec<Cell>) -> Observations {
        let rounds = vec![(1..=cells.len()).map(|value| Some(value as f64)).collect()];
        Observations { cells, rounds, more_is_better: true }
    }

    /// Two filesystems and two sizes, and a cache on one of the filesystems only.
    #[test]
    fn levels_are_compared_where_both_were_measured() {
        let of = |filesystem, size, cache| cell(&[("fs", filesystem), ("size", size), ("cache", cache)]);
        let cells = vec![
            of("ext4", "1", "off"),
            of("ext4", "2", "off"),
            of("xfs", "1", "off"),
            of("xfs", "2", "off"),
            of("xfs", "1", "on"),
            of("xfs", "2", "on"),
        ];
        let family = observations(cells).family();
        let of_factor = |factor: &str| {
            let found = family.iter().filter(|declared| declared.factor.as_deref() == Some(factor));
            found.collect::<Vec<&Declared>>()
        };
        let [filesystem] = of_factor("fs")[..] else { panic!("one pair: {family:?}") };
        assert_eq!((&*filesystem.a, &*filesystem.b), ("xfs", "ext4"));
        let mut weights = filesystem.weights.clone();
        weights.sort_by_key(|(cell, _)| *cell);
        assert_eq!(weights, [(0, -0.5), (1, -0.5), (2, 0.5), (3, 0.5)], "not where only one of them was measured");
        assert_eq!(filesystem.over, ["size"]);
        assert_eq!(filesystem.within, [("cache".to_string(), "off".to_string())]);
        let [size] = of_factor("size")[..] else { panic!("one pair: {family:?}") };
        assert_eq!((size.weights.len(), size.over.len(), size.within.len()), (6, 2, 0));
        let [cache] = of_factor("cache")[..] else { panic!("one pair: {family:?}") };
        assert_eq!(cache.within, [("fs".to_string(), "xfs".to_string())]);
    }

    #[test]
    fn pairs_that_never_met_are_held_against_the_baseline() {
        let cells = vec![cell(&[("fs", "ext4"), ("size", "1")]), cell(&[("fs", "xfs"), ("size", "2")])];
        let family = observations(cells).family();
        assert_eq!(family.len(), 1);
        assert_eq!((family[0].factor.as_deref(), &*family[0].a, &*family[0].b), (None, "xfs 2", "ext4 1"));
    }
}
