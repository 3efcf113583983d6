//! The state of a study under way, as a table that is drawn anew after each round.

use crate::document::{self, Block, Column, Fit, Table, head, number_cell, word_cell, word_head};
use crate::number::{Scale, ratio, ratio_with_interval};
use crate::words::{each_once, quantity_of};
use analysis::row::{Centre, centre};
use observe::metric::{Direction, Metric};

/// A table's head, and how many scenarios it has no room for.
const ROWS_BESIDE: usize = 2;

/// A scenario of a study under way.
#[derive(Debug, Clone)]
pub struct Underway {
    /// Its label.
    pub label: String,
    /// What its claims are about.
    pub metric: Metric,
    /// The scenario that it is held against, by its place; none: it has no baseline.
    pub baseline: Option<usize>,
}

/// One table for each metric, the best scenario first, each with its mean over `rounds[round][scenario]` and its ratio to the baseline, round by
/// round; all in `rows_max` lines, or one scenario a table. Scenarios without a value are left out.
pub fn live(
    scenarios: &[Underway],
    rounds: &[Vec<Option<f64>>],
    confidence: f64,
    (width, rows_max): (usize, usize),
) -> String {
    let metrics = each_once(scenarios.iter().map(|scenario| &scenario.metric));
    let room = (rows_max / metrics.len().max(1)).saturating_sub(ROWS_BESIDE).max(1);
    let mut blocks = Vec::new();
    for metric in metrics {
        let (table, left_out) = of_metric(metric, scenarios, rounds, (confidence, room));
        blocks.push(Block::Table(table));
        if left_out > 0 {
            blocks.push(Block::Paragraph(format!("and {left_out} more")));
        }
    }
    document::terminal(&blocks, width, false)
}

/// The table, and how many rows had no room.
fn of_metric(
    metric: &Metric,
    scenarios: &[Underway],
    rounds: &[Vec<Option<f64>>],
    (confidence, room): (f64, usize),
) -> (Table, usize) {
    let values = |index: usize| rounds.iter().filter_map(move |round| round.get(index).copied().flatten());
    let mine = scenarios.iter().enumerate().filter(|(_, scenario)| scenario.metric == *metric);
    let centre = |index: usize| centre(values(index).collect(), confidence);
    let mut rows: Vec<_> = mine.filter_map(|(index, of)| Some((index, of, centre(index)?))).collect();
    if metric.direction != Direction::Neither {
        let merit = |centre: &Centre| centre.merit(metric.direction == Direction::More);
        rows.sort_by(|a, b| merit(&b.2).total_cmp(&merit(&a.2)));
    }
    let scale = Scale::of(metric, rows.iter().map(|(_, _, centre)| centre.mean).fold(0.0, f64::max));
    let columns = [
        Column { fit: Fit::Labels, ..word_head(&quantity_of(metric)) },
        head(&format!("mean so far{}", scale.after_name())),
        head("against the baseline"),
    ];
    let mut made = Table::new("live", columns);
    for (index, scenario, centre) in rows.iter().take(room) {
        let ratio = scenario.baseline.map_or_else(String::new, |baseline| match baseline == *index {
            true => "baseline".into(),
            false => ratio_by_rounds(rounds, (*index, baseline), confidence),
        });
        made.row([word_cell(&scenario.label), number_cell(&scale.number(centre.mean), centre.mean), word_cell(&ratio)]);
    }
    (made, rows.len().saturating_sub(room))
}

/// "1.04× (0.98–1.10)", over the rounds that have both. One round has no interval.
fn ratio_by_rounds(rounds: &[Vec<Option<f64>>], pair: (usize, usize), confidence: f64) -> String {
    let differences = log_ratios(rounds, pair);
    match (stats::contrast(&differences, confidence), differences.first()) {
        (Some(contrast), _) => ratio_with_interval(contrast.ratio(), contrast.ratio_low(), contrast.ratio_high()),
        (None, Some(only)) => ratio(only.exp()),
        (None, None) => String::new(),
    }
}

/// The logarithm of the first column over the second one, of each of `rounds[round][scenario]` that has both; none at all where one of them
/// stalled: the other rounds alone would make it as fast as it is when it runs.
pub fn log_ratios(rounds: &[Vec<Option<f64>>], (a, b): (usize, usize)) -> Vec<f64> {
    let value = |round: &Vec<Option<f64>>, index: usize| round.get(index).copied().flatten();
    let stalls = |round: &Vec<Option<f64>>| [a, b].iter().any(|of| value(round, *of).is_some_and(|value| value <= 0.0));
    if rounds.iter().any(stalls) {
        return Vec::new();
    }
    rounds.iter().filter_map(|round| Some((value(round, a)? / value(round, b)?).ln())).collect()
}
