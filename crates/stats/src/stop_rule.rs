//! When it is enough: widths at round ends, never p (STATISTICS: stopping on p finds differences between equals in 22 %).

use crate::interval::contrast;
use crate::observations::{Declared, Observations, Rules};
use std::fmt;

/// What the rule says after a round.
#[derive(Debug, Clone, PartialEq)]
pub enum StopDecision {
    /// Not enough rounds to look.
    TooFewRounds {
        /// Rounds so far.
        rounds: usize,
        /// Rounds at least.
        needed: u32,
    },
    /// Some contrast is still too wide.
    Continue {
        /// Its half-width, a fraction.
        half_width: f64,
        /// Which.
        of: String,
    },
    /// A load stalled: what it is compared with has no width, so that no width is enough.
    Stalled {
        /// Which scenario.
        of: String,
    },
    /// Of those that compete, one is left: every other is shown to be worse.
    OneLeft,
    /// What was to be compared failed and is measured no more: more rounds would tell nothing.
    NothingLeft,
    /// Every declared contrast is narrow enough.
    PrecisionReached {
        /// The widest half-width, a fraction.
        half_width: f64,
    },
}

impl StopDecision {
    /// Whether to stop.
    pub fn is_enough(&self) -> bool {
        matches!(self, StopDecision::PrecisionReached { .. } | StopDecision::OneLeft | StopDecision::NothingLeft)
    }
}

impl fmt::Display for StopDecision {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            // Of `rounds_min = 1`, too: the study may end with this round.
            StopDecision::TooFewRounds { rounds: 1, needed: 2 } => write!(f, "of one round no difference has a width"),
            StopDecision::TooFewRounds { rounds, needed } => write!(f, "{rounds} of at least {needed} rounds"),
            StopDecision::Continue { half_width, of } if *half_width > 1.0 => {
                write!(f, "{of} is not known within 100 % yet")
            }
            StopDecision::Continue { half_width, of } => write!(f, "{of} is known within {:.1} %", half_width * 100.0),
            StopDecision::Stalled { of } => {
                write!(f, "{of} stalled in a trial: a difference to 0 has no width, so all rounds are measured")
            }
            StopDecision::OneLeft => write!(f, "every other scenario is shown to be worse"),
            StopDecision::NothingLeft => write!(f, "nothing is left to compare: what failed is measured no more"),
            StopDecision::PrecisionReached { half_width } => {
                write!(f, "every difference is known within {:.1} %", half_width * 100.0)
            }
        }
    }
}

/// Looks at the widths of the declared family after a round.
pub fn enough(observations: &Observations, rules: &Rules) -> StopDecision {
    if let Some(decision) = before_widths(observations, &observations.candidates(), rules) {
        return decision;
    }
    // A study of one scenario is about its own speed.
    if let [only] = observations.candidates()[..] {
        let half_width = half_width(&observations.complete(&[only])[0], rules);
        let found = by_width((half_width, observations.cells[only].label.clone()), rules);
        return if observations.is_measured_yet(only) { found } else { StopDecision::NothingLeft };
    }
    // The family's averages are without what was given up. Pairs are held against a baseline: of one that was given up no width would be left.
    // Without scenarios that are measured no more: no more rounds will tell of them.
    let kept: Vec<usize> = (0..observations.cells.len()).filter(|cell| observations.is_measured_yet(*cell)).collect();
    let measured = observations.only(&kept);
    widest(&measured, measured.family(), rules)
}

/// Looks at the widths of all pairs of those that may still be picked: the rule where only the best is asked for.
pub fn enough_to_pick(observations: &Observations, standing: &[usize], rules: &Rules) -> StopDecision {
    let has_value = |cell: &usize| observations.rounds.iter().any(|row| row[*cell].is_some());
    let standing: Vec<usize> = standing.iter().copied().filter(has_value).collect();
    if let Some(decision) = before_widths(observations, &standing, rules) {
        return decision;
    }
    if standing.len() < 2 {
        return StopDecision::OneLeft;
    }
    let standing: Vec<usize> = standing.into_iter().filter(|cell| observations.is_measured_yet(*cell)).collect();
    let pairs = standing.iter().enumerate().flat_map(|(place, a)| standing[place + 1..].iter().map(move |b| (*a, *b)));
    widest(observations, pairs.map(|(a, b)| observations.pair(a, b)), rules)
}

/// By the pair that is known least, the first of several.
fn widest(observations: &Observations, pairs: impl IntoIterator<Item = Declared>, rules: &Rules) -> StopDecision {
    let mut widest: Option<(f64, String)> = None;
    for declared in pairs {
        let half_width = half_width(&observations.differences(&declared), rules);
        if widest.as_ref().is_none_or(|widest| half_width > widest.0) {
            widest = Some((half_width, format!("{} against {}", declared.a, declared.b)));
        }
    }
    widest.map_or(StopDecision::NothingLeft, |widest| by_width(widest, rules))
}

/// Of fewer than two rounds nothing is known.
fn half_width(values: &[f64], rules: &Rules) -> f64 {
    contrast(values, rules.confidence).map_or(f64::INFINITY, |contrast| contrast.half_width())
}

/// Said where there are too few rounds, or one of these cells stalled.
fn before_widths(observations: &Observations, cells: &[usize], rules: &Rules) -> Option<StopDecision> {
    let (rounds, needed) = (observations.rounds.len(), rules.rounds_min.max(2));
    if rounds < needed as usize {
        return Some(StopDecision::TooFewRounds { rounds, needed });
    }
    let stalled = cells.iter().find(|cell| observations.has_stalled(**cell))?;
    Some(StopDecision::Stalled { of: observations.cells[*stalled].label.clone() })
}

/// What the widest half-width, log scale, and its name say.
fn by_width((half_width, of): (f64, String), rules: &Rules) -> StopDecision {
    let is_enough = half_width <= rules.precision.ln_1p();
    let half_width = half_width.exp_m1();
    if is_enough { StopDecision::PrecisionReached { half_width } } else { StopDecision::Continue { half_width, of } }
}
