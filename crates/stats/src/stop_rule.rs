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
        matches!(self, StopDecision::PrecisionReached { .. })
    }
}

impl fmt::Display for StopDecision {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            StopDecision::TooFewRounds { rounds, needed } => write!(f, "{rounds} of at least {needed} rounds"),
            StopDecision::Continue { half_width, of } => write!(f, "{of} is known within {:.1} %", half_width * 100.0),
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
    let mut widest = (0.0, String::new());
    if observations.is_positive() {
        for declared in observations.family() {
            let of = format!("{} against {}", declared.a, declared.b);
            // A cell that failed in every round has no width to wait for.
            let Some(contrast) = contrast(&observations.differences(&declared), rules.confidence) else { continue };
            if contrast.half_width() > widest.0 {
                widest = (contrast.half_width(), of);
            }
        }
        // A study of one scenario is about its own speed.
        if let [only] = observations.candidates()[..] {
            let values = &observations.complete(&[only])[0];
            widest = contrast(values, rules.confidence).map_or((0.0, String::new()), |contrast| {
                (contrast.half_width(), observations.cells[only].label.clone())
            });
        }
    }
    let half_width = widest.0.exp_m1();
    if widest.0 <= rules.precision.ln_1p() {
        StopDecision::PrecisionReached { half_width }
    } else {
        StopDecision::Continue { half_width, of: widest.1 }
    }
}
