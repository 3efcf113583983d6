//! Every metric of a workload's scenarios as a mean with its interval, for formats that other tools read.

use crate::row::{Row, centre};
use crate::view::Part;
use ledger::figure::{self, Zero};
use ledger::model::Contents;
use observe::metric::{Direction, Metric};

/// A metric's mean over the trials of a scenario.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mean {
    /// Geometric; arithmetic where a count of zero is among the values.
    pub mean: f64,
    /// Whether it is the arithmetic one.
    pub is_arithmetic: bool,
    /// The ends of its interval: none with a single value, and none where a value is not above zero.
    pub ends: Option<(f64, f64)>,
    /// Of how many trials.
    pub count: usize,
}

/// The metric that the answer is about, then the others by name, each with the scenarios that have it.
pub fn means<'a>(contents: &Contents, part: &'a Part) -> Vec<(Metric, Vec<(&'a Row, Mean)>)> {
    let primary = &*part.metric.name;
    let others = contents.metrics.keys().map(String::as_str).filter(|name| *name != primary);
    let of_metric = |name: &str| {
        let rounds = contents.values(name);
        let zero = if name == primary { Zero::Stall } else { Zero::Count };
        let of_row = |row: &'a Row| {
            let values = rounds.iter().filter_map(|round| round[row.index]).collect();
            Some((row, mean(values, zero, part.confidence)?))
        };
        let metric = if name == primary { part.metric.clone() } else { contents.metric(name, Direction::Neither) };
        (metric, part.measured().filter_map(of_row).collect::<Vec<_>>())
    };
    [primary].into_iter().chain(others).map(of_metric).filter(|(_, rows)| !rows.is_empty()).collect()
}

fn mean(values: Vec<f64>, zero: Zero, confidence: f64) -> Option<Mean> {
    let (mean, count) = (figure::mean(&values, zero), values.len());
    let is_arithmetic = zero == Zero::Count && !values.iter().all(|value| *value > 0.0);
    let centre = centre(values, confidence)?;
    let ends = (count > 1 && centre.min > 0.0).then_some((centre.low, centre.high));
    Some(Mean { mean, is_arithmetic, ends, count })
}
