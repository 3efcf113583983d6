//! When it is enough: widths at round ends, never p (STATISTICS: stopping on p finds differences between equals in 22 %).

use crate::interval::contrast;
use crate::observations::{Observations, Rules};
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
        widen(&mut widest, &observations.differences(&declared), rules, of);
    }
    // A study of one scenario is about its own speed.
    if let [only] = observations.candidates()[..] {
        let values = &observations.complete(&[only])[0];
        widest = contrast(values, rules.confidence)
            .map_or((0.0, String::new()), |contrast| (contrast.half_width(), observations.cells[only].label.clone()));
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
        widen(&mut widest, &observations.differences(&declared), rules, of);
    }
    by_width(widest, rules)
}

/// Takes a pair's half-width for the widest where it is. Of a single round nothing is known; a cell that failed in every round has no width to
/// wait for.
fn widen(widest: &mut (f64, String), differences: &[f64], rules: &Rules, of: String) {
    let half_width = match differences {
        [] => return,
        [_] => f64::INFINITY,
        _ => contrast(differences, rules.confidence).map_or(0.0, |contrast| contrast.half_width()),
    };
    if half_width > widest.0 {
        *widest = (half_width, of);
    }
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
