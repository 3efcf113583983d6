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
    /// Every declared contrast is narrow enough.
    PrecisionReached {
        /// The widest half-width, a fraction.
        half_width: f64,
    },
}

impl StopDecision {
    /// Whether to stop.
    #[must_use]
    pub fn is_enough(&self) -> bool {
        matches!(self, StopDecision::PrecisionReached { .. } | StopDecision::OneLeft)
    }
}

impl fmt::Display for StopDecision {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            StopDecision::TooFewRounds { rounds, needed } => write!(f, "{rounds} of at least {needed} rounds"),
            StopDecision::Continue { half_width, of } if *half_width > 1.0 => {
                write!(f, "{of} is not known within 100 % yet")
            }
            StopDecision::Continue { half_width, of } => write!(f, "{of} is known within {:.1} %", half_width * 100.0),
            StopDecision::Stalled { of } => {
                write!(f, "{of} stalled in a trial: a difference to 0 has no width, so all rounds are measured")
            }
            StopDecision::OneLeft => write!(f, "every other scenario is shown to be worse"),
            StopDecision::PrecisionReached { half_width } => {
                write!(f, "every difference is known within {:.1} %", half_width * 100.0)
            }
        }
    }
}

/// Looks at the widths of the declared family after a round.
#[must_use]
pub fn enough(observations: &Observations, rules: &Rules) -> StopDecision {
    let rounds = observations.rounds.len();
    if rounds < rules.rounds_min.max(2) as usize {
        return StopDecision::TooFewRounds { rounds, needed: rules.rounds_min.max(2) };
    }
    if let Some(stalled) = first_stalled(observations, &observations.candidates()) {
        return stalled;
    }
    let mut widest = (0.0, String::new());
    for declared in observations.family() {
        let of = format!("{} against {}", declared.a, declared.b);
        widen(&mut widest, observations, &declared, rules, of);
    }
    // A study of one scenario is about its own speed.
    if let [only] = observations.candidates()[..] {
        let half_width = half_width(&observations.complete(&[only])[0], rules);
        if observations.is_measured_yet(only) {
            widest = (half_width, observations.cells[only].label.clone());
        }
    }
    by_width(widest, rules)
}

/// Looks at the widths of all pairs of those that may still be picked: the rule where only the best is asked for.
#[must_use]
pub fn enough_to_pick(observations: &Observations, standing: &[usize], rules: &Rules) -> StopDecision {
    let rounds = observations.rounds.len();
    if rounds < rules.rounds_min.max(2) as usize {
        return StopDecision::TooFewRounds { rounds, needed: rules.rounds_min.max(2) };
    }
    let has_value = |cell: &usize| observations.rounds.iter().any(|row| row[*cell].is_some());
    let standing: Vec<usize> = standing.iter().copied().filter(has_value).collect();
    if let Some(stalled) = first_stalled(observations, &standing) {
        return stalled;
    }
    if standing.len() < 2 {
        return StopDecision::OneLeft;
    }
    let mut widest = (0.0, String::new());
    let pairs = standing.iter().enumerate().flat_map(|(place, a)| standing[place + 1..].iter().map(move |b| (*a, *b)));
    for (a, b) in pairs {
        let declared = observations.pair(a, b);
        let of = format!("{} against {}", declared.a, declared.b);
        widen(&mut widest, observations, &declared, rules, of);
    }
    by_width(widest, rules)
}

/// Takes a contrast's half-width for the widest where it is. No more rounds will tell of one that is measured no more.
fn widen(widest: &mut (f64, String), observations: &Observations, declared: &Declared, rules: &Rules, of: String) {
    if observations.is_undecided(declared)
        || declared.weights.iter().any(|(cell, _)| !observations.is_measured_yet(*cell))
    {
        return;
    }
    let half_width = half_width(&observations.differences(declared), rules);
    if half_width > widest.0 {
        *widest = (half_width, of);
    }
}

/// Of fewer than two rounds nothing is known.
fn half_width(values: &[f64], rules: &Rules) -> f64 {
    contrast(values, rules.confidence).map_or(f64::INFINITY, |contrast| contrast.half_width())
}

/// Said where one of these cells stalled.
fn first_stalled(observations: &Observations, cells: &[usize]) -> Option<StopDecision> {
    let stalled = cells.iter().find(|cell| observations.has_stalled(**cell))?;
    Some(StopDecision::Stalled { of: observations.cells[*stalled].label.clone() })
}

/// What the widest half-width, log scale, and its name say.
fn by_width((half_width, of): (f64, String), rules: &Rules) -> StopDecision {
    let is_enough = half_width <= rules.precision.ln_1p();
    let half_width = half_width.exp_m1();
    if is_enough { StopDecision::PrecisionReached { half_width } } else { StopDecision::Continue { half_width, of } }
}
