//! A trial's figure: one number from its runs. It is made here and nowhere else, for the conductor, the report, its charts and
//! exports, and for what holds two results against each other.
//!
//! A trial by itself has the figure of its typical run: claims are differences of logarithms, so that is the geometric mean. Zero is
//! a value: a load that stalled did not go missing. A geometric mean with a zero in it is zero, and `stats` says what follows from a
//! logarithm that is no number. A trial of turns has the figure of all its work: the sum of what was done over the sum of the time,
//! as each turn is a slice of one measurement.

use crate::model::Order;

/// What a zero means in a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Zero {
    /// Claims rest on it, a rate or a time: the load stalled, which must not be averaged away with runs that did not.
    Stall,
    /// It is counted, and zero as good as any count (errors, pages swapped in): tabulated, never a claim's.
    Count,
}

/// How a trial's figure is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// That of the typical run.
    TypicalRun(Zero),
    /// A rate of all turns: each counts by its time.
    Work,
    /// Anything else of all turns, times of jobs among them: their arithmetic mean.
    MeanTurn,
}

impl Rule {
    /// Of a metric with this unit.
    pub fn of(order: Order, unit: &str, zero: Zero) -> Rule {
        match order {
            Order::Blocks => Rule::TypicalRun(zero),
            Order::Turns if observe::metric::is_rate(unit) => Rule::Work,
            Order::Turns => Rule::MeanTurn,
        }
    }
}

/// One number from a trial's measured runs, each a value and its seconds; none without a run, or where one is no number.
pub fn of_runs(runs: &[(f64, f64)], rule: Rule) -> Option<f64> {
    if runs.is_empty() || !runs.iter().all(|(value, _)| value.is_finite()) {
        return None;
    }
    Some(match rule {
        Rule::TypicalRun(zero) => mean(&runs.iter().map(|run| run.0).collect::<Vec<_>>(), zero),
        Rule::Work => {
            let seconds: f64 = runs.iter().map(|run| run.1).sum();
            runs.iter().map(|(value, seconds)| value * seconds).sum::<f64>() / seconds
        }
        Rule::MeanTurn => runs.iter().map(|run| run.0).sum::<f64>() / runs.len() as f64,
    })
}

/// Of figures of several trials, by the same rule: geometric; where one is not above zero, the smallest of what claims rest on, and
/// the arithmetic mean of what is counted.
pub fn mean(values: &[f64], zero: Zero) -> f64 {
    let count = values.len() as f64;
    if values.iter().all(|value| *value > 0.0) {
        return (values.iter().map(|value| value.ln()).sum::<f64>() / count).exp();
    }
    match zero {
        Zero::Stall => values.iter().copied().fold(0.0, f64::min),
        Zero::Count => values.iter().sum::<f64>() / count,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(runs: &[f64], stall: Option<f64>, count: Option<f64>) {
        let is_near = |found: Option<f64>, wanted: Option<f64>| match (found, wanted) {
            (Some(found), Some(wanted)) => (found - wanted).abs() < 1e-12,
            (found, wanted) => found == wanted,
        };
        let runs: Vec<(f64, f64)> = runs.iter().map(|value| (*value, 1.0)).collect();
        let found = [Zero::Stall, Zero::Count].map(|zero| of_runs(&runs, Rule::TypicalRun(zero)));
        assert!(is_near(found[0], stall) && is_near(found[1], count), "{runs:?}: {found:?}");
    }

    #[test]
    fn zero_is_a_value() {
        check(&[4.0, 9.0], Some(6.0), Some(6.0));
        check(&[0.0, 10.0], Some(0.0), Some(5.0));
        check(&[0.0, 0.0], Some(0.0), Some(0.0));
        // Whatever a program of the user's prints: never above zero, so that no logarithm is taken of it.
        check(&[-2.0, 10.0], Some(-2.0), Some(4.0));
        check(&[], None, None);
        check(&[f64::NAN, 1.0], None, None);
    }

    #[test]
    fn turns_are_slices_of_one_measurement() {
        // 300 in 3 s and none in 1 s are 75 a second, and the two jobs took 4 s each.
        let turns = [(100.0, 3.0), (0.0, 1.0)];
        assert_eq!(of_runs(&turns, Rule::of(Order::Turns, "1/s", Zero::Stall)), Some(75.0));
        assert_eq!(of_runs(&[(3.0, 3.0), (5.0, 5.0)], Rule::of(Order::Turns, "s", Zero::Stall)), Some(4.0));
        assert_eq!(of_runs(&[], Rule::Work), None);
    }
}
