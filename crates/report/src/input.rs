//! What a report is made from: a ledger's contents, and its histograms and series boiled down to what charts show.
//!
//! Reads each run's detail once and keeps only sums and decimated lines, so that memory does not grow with the ledger.

use crate::bench::Bench;
use crate::health::RunHealth;
use crate::marks::Marks;
use crate::view::View;
use ledger::model::{Contents, Phase, RunDetail, RunRow, Scenario, Trial, TrialState};
use observe::latency::Latency;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Details (histogram and series) are read for at most this many runs, spread evenly over rounds: reading one takes
/// tens of microseconds, and a chart of more lines shows nothing more. The page says when it was less than all.
const DETAILS_MAX: usize = 4_000;
/// Lines kept per scenario and series.
const LINES_MAX: usize = 40;
/// Points kept per line, as pairs of minimum and maximum: a saw-tooth stays visible.
const POINTS_MAX: usize = 200;

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The results file can't be read.
    #[error("cannot read the results")]
    Ledger(#[from] ledger::Error),
    /// The page can't be written.
    #[error("cannot write {path}")]
    Write {
        /// Which file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// No scenario has this label.
    #[error("there is no scenario `{scenario}`; scenarios are: {}", known.join(", "))]
    NoScenario {
        /// What was asked for.
        scenario: String,
        /// The labels there are.
        known: Vec<String>,
    },
    /// The scenario has no trial that came as far as its storage.
    #[error("no trial of `{scenario}` came as far as making its storage, so no commands are recorded")]
    NoCommands {
        /// Which scenario.
        scenario: String,
    },
    /// Two results that are to be compared ran on different benches.
    #[error("figures of different benches are not compared: of `{scenario}`, A ran {a}; B ran {b}")]
    OtherBench {
        /// The first scenario of which it is true.
        scenario: String,
        /// Where it ran in the first file.
        a: Box<Bench>,
        /// Where it ran in the second.
        b: Box<Bench>,
    },
    /// There is no finished run of any of these workloads.
    #[error("there is no finished run of the workload `{}` in these results", workloads.join("` or `"))]
    NoRun {
        /// Which.
        workloads: &'static [&'static str],
    },
}

/// All a report is made from.
pub struct Input {
    /// Everything but histograms and series.
    pub contents: Contents,
    /// Histograms and series, boiled down.
    pub details: Details,
    /// Worked out once, when first asked for: terminal, page and JSON of one input show the same.
    view: OnceLock<View>,
}

impl Input {
    /// From contents and details that are already read.
    #[must_use]
    pub fn new(contents: Contents, details: Details) -> Input {
        Input { contents, details, view: OnceLock::new() }
    }

    /// The numbers of the report.
    pub(crate) fn view(&self) -> &View {
        self.view.get_or_init(|| View::of(&self.contents, &self.details))
    }
}

/// Reads a results file.
///
/// # Errors
/// When the file is no ledger or can't be read.
pub fn load(path: &Path) -> Result<Input, Error> {
    read(&ledger::Reader::open(path)?)
}

/// Reads an open results file.
///
/// # Errors
/// When it can't be read.
pub fn read(reader: &ledger::Reader) -> Result<Input, Error> {
    let contents = reader.contents()?;
    let mut details = Details::default();
    let counting = Counting::of(&contents);
    let runs: Vec<&RunRow> = counting.runs.values().flatten().copied().collect();
    let step = runs.len().div_ceil(DETAILS_MAX).max(1);
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
    Ok(Input::new(contents, details))
}

/// The trials that count, by id, and their measured runs (no warm-ups).
pub struct Counting<'a> {
    /// The last attempt of each (scenario, round), when it finished.
    pub trials: BTreeMap<i64, &'a Trial>,
    /// Their measured runs.
    pub runs: BTreeMap<i64, Vec<&'a RunRow>>,
    /// Last attempts that failed.
    pub failed: Vec<&'a Trial>,
}

impl<'a> Counting<'a> {
    /// How many of a scenario's trials failed, those of a screen left out.
    #[must_use]
    pub fn failed_of(&self, scenario: &str) -> usize {
        let of_scenario = |trial: &&&Trial| trial.scenario == scenario && trial.phase != Phase::Screen;
        self.failed.iter().filter(of_scenario).count()
    }

    /// Sorts a ledger's trials.
    #[must_use]
    pub fn of(contents: &'a Contents) -> Counting<'a> {
        let counted = contents.counted_trials();
        let (failed, finished): (Vec<&Trial>, Vec<&Trial>) =
            counted.into_iter().partition(|trial| trial.state == TrialState::Failed);
        // What a screen measured says which factors matter, and nothing else.
        let finished: Vec<&Trial> = finished.into_iter().filter(|trial| trial.phase != Phase::Screen).collect();
        let trials: BTreeMap<i64, &Trial> = finished.into_iter().map(|trial| (trial.id, trial)).collect();
        let mut runs: BTreeMap<i64, Vec<&RunRow>> = BTreeMap::new();
        for run in contents.runs.iter().filter(|run| !run.warm_up && trials.contains_key(&run.trial)) {
            runs.entry(run.trial).or_default().push(run);
        }
        Counting { trials, runs, failed }
    }

    /// The measured run of a scenario whose `metric` is the median of its runs, the lower one of two.
    #[must_use]
    pub fn median_run(&self, scenario: &Scenario, metric: &str) -> Option<(&'a Trial, &'a RunRow)> {
        let of_scenario = self.trials.values().filter(|trial| trial.scenario == scenario.label);
        let value = |run: &RunRow| run.metrics.get(metric).copied().unwrap_or(f64::NAN);
        let mut runs: Vec<(&Trial, &RunRow)> = of_scenario
            .flat_map(|trial| self.runs.get(&trial.id).into_iter().flatten().map(|run| (*trial, *run)))
            .filter(|(_, run)| value(run).is_finite())
            .collect();
        runs.sort_by(|a, b| value(a.1).total_cmp(&value(b.1)));
        runs.get(runs.len().saturating_sub(1) / 2).copied()
    }
}

/// A line of per-second values of one run.
#[derive(Debug, Clone)]
pub struct Line {
    /// Its round.
    pub round: u32,
    /// Seconds since the window began, and the value; minimum and maximum of each stretch when decimated.
    pub points: Vec<(f64, f64)>,
    /// Of a rate: what is known of the run's moments.
    pub(crate) marks: Marks,
}

impl Line {
    /// How long it is, whole seconds.
    #[must_use]
    pub fn seconds(&self) -> usize {
        self.points.last().map_or(0, |(second, _)| *second as usize + 1)
    }
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
    pub(crate) runs: BTreeMap<String, BTreeMap<String, Vec<RunHealth>>>,
    /// How many runs were read.
    pub runs_read: usize,
    /// How many measured runs there are.
    pub runs_all: usize,
}

impl Details {
    /// Adds one run's detail.
    pub fn add(&mut self, trial: &Trial, detail: &RunDetail) {
        self.runs_read += 1;
        let latencies = self.latencies.entry(trial.scenario.clone()).or_default();
        for (operation, latency) in &detail.latencies {
            latencies.entry(operation.clone()).or_default().merge(latency);
        }
        let runs = self.runs.entry(trial.scenario.clone()).or_default();
        for (name, rates) in detail.series.iter().filter(|(name, _)| name.ends_with("_per_second")) {
            runs.entry(name.clone()).or_default().push(RunHealth::of(rates));
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
