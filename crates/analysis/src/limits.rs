//! Whether figures keep the limits that a study holds them against: a maker's rule, or what a service has promised.

use crate::counting::places;
use crate::details::{Details, P99, TailOfTrial};
use crate::judge::ROUNDS_FOR_CLAIMS;
use crate::row::{Centre, centre, simultaneous};
use ledger::model::{Contents, LimitRecord, Order, Phase, Scenario, Trial, TrialState};
use observe::metric::{Direction, Metric, is_rate};
use stats::interval::{mean, standard_deviation, t_quantile};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// What loads call all of their operations together.
const ALL_OPERATIONS: [&str; 4] = ["transaction", "request", "operation", "statement"];
/// How the name of a metric ends that is the largest of a run.
const LARGEST: &str = "_max";
/// Units of times.
const TIMES: [&str; 4] = ["s", "ms", "µs", "ns"];

/// One limit held against one scenario.
#[derive(Debug, Clone)]
pub struct Held {
    /// The limit.
    pub limit: LimitRecord,
    /// The scenario's label; the workload's name where all of its scenarios were left out.
    pub label: String,
    /// What is limited.
    pub metric: Metric,
    /// Where the scenario's figures lie, one a round, with an interval that holds for all limits of the study together; none: not measured.
    pub centre: Option<Centre>,
    /// The two-sided confidence of that interval by itself: the level of this answer, shared among all limits.
    pub confidence: f64,
    /// Rounds whose figure was beyond the limit.
    pub broken: usize,
    /// Rounds that were begun and have no figure of this: its trial failed, in some run of it nothing was done, or see `is_astride`.
    pub without: usize,
    /// Whether in a round only percentiles of single turns are known, and these lie on both sides of the limit.
    pub is_astride: bool,
    /// What is shown.
    pub verdict: Verdict,
}

/// What is shown of a limit. The worst comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The interval lies beyond the limit; where a figure of 0 leaves none, every round.
    Broken,
    /// Nothing was measured: a rule that nobody looked at is not kept.
    #[serde(rename = "not_measured")]
    Unmeasured,
    /// Single rounds did not keep it, and the interval does, or there is none for a figure of 0.
    NotAlways,
    /// The interval holds the limit, a round has no figure, or there are too few rounds to claim anything.
    Open,
    /// The interval and every round keep it.
    Kept,
}

impl Held {
    /// How many times its mean is inside the limit; below 1: beyond it. None where there is no ratio: of a count of 0, or to a limit of 0.
    pub fn room(&self) -> Option<f64> {
        self.room_of(self.centre?.mean)
    }

    /// The same of the end of its interval that is nearer to the limit.
    pub fn room_at_least(&self) -> Option<f64> {
        let centre = self.centre?;
        self.room_of(if self.limit.is_least { centre.low } else { centre.high })
    }

    /// The figure of its worst round.
    pub fn worst(&self) -> Option<f64> {
        self.centre.map(|centre| if self.limit.is_least { centre.min } else { centre.max })
    }

    fn room_of(&self, value: f64) -> Option<f64> {
        let limit = self.limit.value;
        let room = if self.limit.is_least { value / limit } else { limit / value };
        Some(room).filter(|room| limit != 0.0 && room.is_finite())
    }
}

/// Every limit of a study with every scenario of its workload, in the order of the file; `alpha` is the level of this answer.
pub fn limits(contents: &Contents, details: &Details, alpha: f64) -> Vec<Held> {
    let all = &contents.study.limits;
    let confidence = simultaneous(1.0 - alpha, all.iter().map(|limit| limited(contents, limit).len()).sum());
    let of_limit = |limit: &LimitRecord| {
        let measured = measured(contents, details, limit);
        let nothing = Measured::default();
        let of = |label: String| {
            let found = measured.get(&*label).unwrap_or(&nothing);
            held(contents, limit, label, (found, confidence))
        };
        limited(contents, limit).into_iter().map(of).collect::<Vec<_>>()
    };
    all.iter().flat_map(of_limit).collect()
}

/// Labels of the scenarios that a limit is about. Where all were left out (`--only`, `--skip-missing`) the workload's name stands for them beside
/// other limits: one at which nobody looked is not kept, and "all are kept" must not be said without it.
pub(crate) fn limited(contents: &Contents, limit: &LimitRecord) -> Vec<String> {
    // What a screen left out is measured by nobody.
    let is_wanted = |scenario: &Scenario| !scenario.control && contents.is_studied(scenario);
    let of = |limit: &LimitRecord| places(contents, &limit.workload, is_wanted);
    let columns = of(limit);
    if columns.is_empty() && contents.study.limits.iter().any(|other| !of(other).is_empty()) {
        return vec![limit.workload.clone()];
    }
    columns.into_iter().map(|column| contents.scenarios[column].label.clone()).collect()
}

/// A scenario's figures of a limited metric, by round.
#[derive(Debug, Default)]
pub(crate) struct Measured {
    /// As they were measured; of a round's groups the worst.
    pub figures: BTreeMap<u32, f64>,
    /// Rounds in which it has no figure of this in a trial: that failed, in some run nothing was done, or see [`Held::is_astride`].
    pub without: BTreeSet<u32>,
    /// As [`Held::is_astride`].
    pub is_astride: bool,
}

/// By scenario. Of the figures that claims rest on what a group of scenarios suffered is taken off; a limit is not on that.
pub(crate) fn measured<'a>(
    contents: &'a Contents,
    details: &Details,
    limit: &LimitRecord,
) -> BTreeMap<&'a str, Measured> {
    let of_workload = contents.scenarios.iter().find(|scenario| scenario.workload == limit.workload);
    let primary = of_workload.map_or("", |scenario| &*scenario.primary_metric);
    let mut all: BTreeMap<&str, Measured> = BTreeMap::new();
    let mut known: HashSet<i64> = HashSet::new();
    let is_by_turns = contents.study.analysis.order == Order::Turns && is_of_turns(&limit.metric);
    // The slowest of all is that of all runs, however they are ordered.
    let has_ends = is_by_turns || limit.metric.ends_with(LARGEST);
    let turns = if has_ends { ends_of_turns(contents, &limit.metric) } else { HashMap::new() };
    for (trial, mean) in contents.trial_values(Phase::Main, &limit.metric) {
        known.insert(trial.id);
        let found = all.entry(&trial.scenario).or_default();
        // A sample of turns is not all operations.
        let whole = details.tails.get(&trial.id).filter(|_| details.runs_read >= details.runs_all);
        let of_all = |ends: &(f64, f64)| of_all_operations(limit, whole, *ends);
        let Some(value) = turns.get(&trial.id).map_or(Some(mean), of_all) else {
            found.is_astride = true;
            found.without.insert(trial.round);
            continue;
        };
        let worst = found.figures.entry(trial.round).or_insert(value);
        *worst = if limit.is_least { value.min(*worst) } else { value.max(*worst) };
    }
    let measured = contents.trial_values(Phase::Main, primary).into_iter();
    for (trial, _) in measured.filter(|(trial, _)| !known.contains(&trial.id)) {
        all.entry(&trial.scenario).or_default().without.insert(trial.round);
    }
    // Who failed in a round kept no limit in it; of a round's groups one that it ran in is enough.
    let has_failed = |trial: &&Trial| trial.phase == Phase::Main && trial.state == TrialState::Failed;
    for trial in contents.counted_trials().into_iter().filter(has_failed) {
        let found = all.entry(&trial.scenario).or_default();
        if !found.figures.contains_key(&trial.round) {
            found.without.insert(trial.round);
        }
    }
    for Measured { figures, without, .. } in all.values_mut() {
        figures.retain(|round, _| !without.contains(round));
    }
    all
}

/// Whether the mean of its turns' figures is none of a whole trial: of percentiles and of the slowest.
fn is_of_turns(metric: &str) -> bool {
    let is_percentile = |(_, end): (&str, &str)| end.starts_with(|letter: char| letter.is_ascii_digit());
    metric.ends_with(LARGEST) || metric.ends_with("_median") || metric.rsplit_once("_p").is_some_and(is_percentile)
}

/// The smallest and the largest figure of each trial's runs.
fn ends_of_turns(contents: &Contents, metric: &str) -> HashMap<i64, (f64, f64)> {
    let mut all: HashMap<i64, (f64, f64)> = HashMap::new();
    for run in contents.runs.iter().filter(|run| !run.warm_up) {
        if let Some(value) = run.metrics.get(metric).copied() {
            let ends = all.entry(run.trial).or_insert((value, value));
            *ends = (value.min(ends.0), value.max(ends.1));
        }
    }
    all
}

/// A trial's figure of all its operations together, of which few slow turns may be the 99th percentile where the turns' mean is far below. It
/// lies between the turns' figures: where it is not kept, the limit is held against the end that is sure. None: neither is.
fn of_all_operations(limit: &LimitRecord, tail: Option<&TailOfTrial>, (least, most): (f64, f64)) -> Option<f64> {
    if limit.metric.ends_with(LARGEST) {
        return Some(most);
    }
    let whole = tail.and_then(|tail| whole_p99(tail, &limit.metric));
    let (worst, best) = if limit.is_least { (least, most) } else { (most, least) };
    let is_kept = |value: &f64| !limit.is_beyond(*value);
    whole.or(Some(worst).filter(is_kept)).or(Some(best).filter(|best| limit.is_beyond(*best)))
}

/// From its histograms.
fn whole_p99(tail: &TailOfTrial, metric: &str) -> Option<f64> {
    let operation = metric.strip_suffix(P99)?;
    let of = |name: &str| tail.whole_p99.get(name).copied();
    if operation == "latency" { ALL_OPERATIONS.into_iter().find_map(of) } else { of(operation) }
}

fn held(contents: &Contents, limit: &LimitRecord, label: String, (measured, confidence): (&Measured, f64)) -> Held {
    let values: Vec<f64> = measured.figures.values().copied().collect();
    let metric = contents.metric(&limit.metric, Direction::Neither);
    let without = measured.without.len();
    let broken = values.iter().filter(|value| limit.is_beyond(**value)).count();
    let has_counts = is_count(contents, limit, &metric);
    let centre = match has_counts && values.iter().any(|value| *value <= 0.0) {
        true => of_counts(&values, confidence),
        false => centre(values, confidence),
    };
    let is_enough = |centre: &Centre| centre.count >= ROUNDS_FOR_CLAIMS && (has_counts || centre.min > 0.0);
    Held {
        label,
        verdict: match &centre {
            None => Verdict::Unmeasured,
            Some(centre) if is_enough(centre) => verdict(centre, limit, (broken, without)),
            Some(centre) if centre.count < ROUNDS_FOR_CLAIMS || broken == 0 => Verdict::Open,
            // Beside a figure of 0 there is no interval, and more rounds make none.
            Some(centre) if broken == centre.count => Verdict::Broken,
            Some(_) => Verdict::NotAlways,
        },
        metric,
        limit: limit.clone(),
        centre,
        confidence,
        broken,
        without,
        is_astride: measured.is_astride,
    }
}

/// Whether 0 is a count as good as any, such as no errors. A time or a rate of 0 was not measured, nor was what claims rest on.
fn is_count(contents: &Contents, limit: &LimitRecord, metric: &Metric) -> bool {
    let mut of_workload = contents.scenarios.iter().filter(|scenario| scenario.workload == limit.workload);
    let is_claimed = of_workload.any(|scenario| scenario.primary_metric == limit.metric);
    !is_claimed && !TIMES.contains(&&*metric.unit) && !is_rate(&metric.unit)
}

/// Where counts lie of which some are 0 or below, which have no logarithm: their arithmetic mean, and its t interval, where all are 0 or more as
/// far as it is not below 0. None without values.
fn of_counts(values: &[f64], confidence: f64) -> Option<Centre> {
    let plain = centre(values.to_vec(), confidence)?;
    let mean = mean(values);
    let half = match plain.count {
        1 => 0.0,
        count => t_quantile(0.5 + confidence / 2.0, count - 1) * standard_deviation(values) / (count as f64).sqrt(),
    };
    let least = if plain.min < 0.0 { f64::NEG_INFINITY } else { 0.0 };
    Some(Centre { mean, low: (mean - half).max(least), high: mean + half, ..plain })
}

fn verdict(centre: &Centre, limit: &LimitRecord, (broken, without): (usize, usize)) -> Verdict {
    let (nearest, farthest) = if limit.is_least { (-centre.low, -centre.high) } else { (centre.high, centre.low) };
    let bound = if limit.is_least { -limit.value } else { limit.value };
    match () {
        () if farthest > bound => Verdict::Broken,
        () if nearest > bound => Verdict::Open,
        () if broken > 0 => Verdict::NotAlways,
        // What was not measured in a round was not kept in it.
        () if without > 0 => Verdict::Open,
        () => Verdict::Kept,
    }
}
