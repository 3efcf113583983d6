//! Histograms and series of runs, boiled down to what charts show and health is judged by.
//!
//! Reads each run's detail once and keeps only sums and decimated lines, so that memory does not grow with the ledger.

use crate::counting::Counting;
use crate::health::RunHealth;
use crate::marks::Marks;
use ledger::Reader;
use ledger::model::{Contents, Order, RunDetail, RunRow, Trial};
use observe::latency::Latency;
use std::collections::BTreeMap;

/// Details (histogram and series) are read for at most this many runs, spread evenly over rounds: reading one takes
/// tens of microseconds, and a chart of more lines shows nothing more. The page says when it was less than all.
const DETAILS_MAX: usize = 4_000;
/// Lines kept per scenario and series.
const LINES_MAX: usize = 40;
/// Seconds kept of a trial: an hour.
const SECONDS_MAX: usize = 3_600;
/// The end of the name of a latency's 99th percentile.
pub(crate) const P99: &str = "_microseconds_p99";
/// The quantile of latencies that tails are compared by.
const TAIL: f64 = 0.99;
/// Points kept per line, as pairs of minimum and maximum: a saw-tooth stays visible.
const POINTS_MAX: usize = 200;

/// A line of per-second values of one run.
#[derive(Debug, Clone)]
pub struct Line {
    /// Its round.
    pub round: u32,
    /// Seconds since the window began, and the value; minimum and maximum of each stretch when decimated.
    pub points: Vec<(f64, f64)>,
    /// Of a rate: what is known of the run's moments.
    pub marks: Marks,
}

impl Line {
    /// How long it is, whole seconds.
    pub fn seconds(&self) -> usize {
        self.points.last().map_or(0, |(second, _)| *second as usize + 1)
    }
}

/// What is kept of a trial's runs for comparisons of tails.
#[derive(Debug, Clone, Default)]
pub struct TailOfTrial {
    /// Microseconds that 99 % of an operation's took at most, a run each; by operation.
    pub p99: BTreeMap<String, Vec<f64>>,
    /// The same of all its runs together, from their merged counts.
    pub whole_p99: BTreeMap<String, f64>,
    /// Rates of its seconds, one run after the other; by series.
    pub seconds: BTreeMap<String, Vec<f64>>,
}

/// Histograms merged over runs and lines decimated.
#[derive(Debug, Clone, Default)]
pub struct Details {
    /// Merged latencies: scenario, then operation.
    pub latencies: BTreeMap<String, BTreeMap<String, Latency>>,
    /// Lines: scenario, then series name.
    pub series: BTreeMap<String, BTreeMap<String, Vec<Line>>>,
    /// Lines of the warm-up right before a trial's first measured run, likewise.
    pub warm_ups: BTreeMap<String, BTreeMap<String, Vec<Line>>>,
    /// How each run went by its rates: scenario, then series name.
    pub runs: BTreeMap<String, BTreeMap<String, Vec<RunHealth>>>,
    /// What is known of the tails of each trial that has runs that were read, by its id.
    pub tails: BTreeMap<i64, TailOfTrial>,
    /// How many runs were read.
    pub runs_read: usize,
    /// How many measured runs there are.
    pub runs_all: usize,
    /// The trial whose runs are being added, and their merged latencies by operation.
    merging: (i64, BTreeMap<String, Latency>),
}

/// Whether a limit is on a 99th percentile of all operations of a trial, which is in the histograms of all its turns.
fn needs_all_turns(contents: &Contents) -> bool {
    contents.study.analysis.order == Order::Turns
        && contents.study.limits.iter().any(|limit| limit.metric.ends_with(P99))
}

impl Details {
    /// Reads what is kept of the measured runs, and of the warm-ups before them.
    ///
    /// # Errors
    /// When a run's detail can't be read.
    pub fn read(reader: &Reader, contents: &Contents) -> Result<Details, ledger::Error> {
        let mut details = Details::default();
        let counting = Counting::of(contents);
        let runs: Vec<&RunRow> = counting.runs.values().flatten().copied().collect();
        let step = if needs_all_turns(contents) { 1 } else { runs.len().div_ceil(DETAILS_MAX).max(1) };
        // Of several warm-ups the last: runs are in their order.
        let warm_ups: BTreeMap<i64, i64> =
            contents.runs.iter().filter(|run| run.warm_up).map(|run| (run.trial, run.id)).collect();
        let mut last_trial = None;
        for run in runs.iter().step_by(step) {
            let trial = counting.trials[&run.trial];
            details.add(trial, &reader.detail(run.id)?);
            // What went on before a trial's first run that is read.
            if last_trial.replace(trial.id) != Some(trial.id)
                && let Some(warm_up) = warm_ups.get(&trial.id)
            {
                details.add_warm_up(trial, &reader.detail(*warm_up)?);
            }
        }
        details.runs_all = runs.len();
        Ok(details)
    }

    /// Adds one run's detail. The runs of a trial come one after the other, as no more than one trial's latencies are kept apart.
    pub fn add(&mut self, trial: &Trial, detail: &RunDetail) {
        self.runs_read += 1;
        let latencies = self.latencies.entry(trial.scenario.clone()).or_default();
        for (operation, latency) in &detail.latencies {
            latencies.entry(operation.clone()).or_default().merge(latency);
        }
        let tail = self.tails.entry(trial.id).or_default();
        if self.merging.0 != trial.id {
            self.merging = (trial.id, BTreeMap::new());
        }
        for (operation, latency) in detail.latencies.iter().filter(|(_, latency)| latency.count() > 0) {
            tail.p99.entry(operation.clone()).or_default().push(latency.microseconds_at(TAIL));
            let whole = self.merging.1.entry(operation.clone()).or_default();
            whole.merge(latency);
            tail.whole_p99.insert(operation.clone(), whole.microseconds_at(TAIL));
        }
        let runs = self.runs.entry(trial.scenario.clone()).or_default();
        for (name, rates) in detail.series.iter().filter(|(name, _)| name.ends_with("_per_second")) {
            runs.entry(name.clone()).or_default().push(RunHealth::of(rates));
            let seconds = tail.seconds.entry(name.clone()).or_default();
            let room = SECONDS_MAX.saturating_sub(seconds.len());
            seconds.extend(rates.iter().filter(|rate| rate.is_finite()).take(room));
        }
        add_lines(self.series.entry(trial.scenario.clone()).or_default(), trial, detail);
    }

    /// Adds the series of the warm-up before a trial's runs.
    pub fn add_warm_up(&mut self, trial: &Trial, detail: &RunDetail) {
        add_lines(self.warm_ups.entry(trial.scenario.clone()).or_default(), trial, detail);
    }
}

fn add_lines(series: &mut BTreeMap<String, Vec<Line>>, trial: &Trial, detail: &RunDetail) {
    for (name, values) in &detail.series {
        let lines = series.entry(name.clone()).or_default();
        if lines.len() < LINES_MAX && !values.is_empty() {
            let is_rate = name.ends_with("_per_second");
            let marks = || Marks::of(values, detail.series.get("device_flush_seconds"));
            let marks = is_rate.then(marks).unwrap_or_default();
            lines.push(Line { round: trial.round, points: decimate(values), marks });
        }
    }
}

/// Minimum and maximum of each stretch, in the order they came, so that every dip and peak stays.
fn decimate(values: &[f64]) -> Vec<(f64, f64)> {
    let at = |i: usize| (i as f64, values[i]);
    if values.len() <= POINTS_MAX {
        return (0..values.len()).map(at).filter(|point| point.1.is_finite()).collect();
    }
    let stretch = values.len().div_ceil(POINTS_MAX / 2);
    let mut points = Vec::with_capacity(POINTS_MAX);
    for first in (0..values.len()).step_by(stretch) {
        let finite = (first..(first + stretch).min(values.len())).filter(|i| values[*i].is_finite());
        let by_value = |a: &usize, b: &usize| values[*a].total_cmp(&values[*b]);
        let (low, high) = (finite.clone().min_by(by_value), finite.max_by(by_value));
        let (Some(low), Some(high)) = (low, high) else { continue };
        points.push(at(low.min(high)));
        if low != high {
            points.push(at(low.max(high)));
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimation_keeps_every_dip() {
        let mut values = vec![100.0; 10_000];
        values[5_555] = 1.0;
        values[7_777] = 900.0;
        let points = decimate(&values);
        assert!(points.len() <= POINTS_MAX);
        assert!(points.contains(&(5_555.0, 1.0)) && points.contains(&(7_777.0, 900.0)));
        assert!(points.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }
}
