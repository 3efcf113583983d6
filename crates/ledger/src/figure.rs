//! A trial's figure: one number from its runs. It is made here and nowhere else, for the conductor, the report, its charts and
//! exports, and for what holds two results against each other.
//!
//! Claims are differences of logarithms, so the figure is the geometric mean. Zero is a value: a load that stalled did not go
//! missing. A geometric mean with a zero in it is zero, and `stats` says what follows from a logarithm that is no number.

/// What a zero means in a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Zero {
    /// Claims rest on it, a rate or a time: the load stalled, which must not be averaged away with runs that did not.
    Stall,
    /// It is counted, and zero as good as any count (errors, pages swapped in): tabulated, never a claim's.
    Count,
}

/// One number from a trial's measured runs; none without a run, or where one is no number.
#[must_use]
pub fn of_runs(runs: &[f64], zero: Zero) -> Option<f64> {
    (!runs.is_empty() && runs.iter().all(|value| value.is_finite())).then(|| mean(runs, zero))
}

/// Of figures of several trials, by the same rule: geometric; where one is not above zero, the smallest of what claims rest on, and
/// the arithmetic mean of what is counted.
#[must_use]
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
        let found = [Zero::Stall, Zero::Count].map(|zero| of_runs(runs, zero));
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
}
