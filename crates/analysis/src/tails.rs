//! Tails and shapes: the slowest operations, the worst second, the rate until all is on the device, and the distribution of a trial's turns or
//! seconds. Each is a family of claims of its own (Holm), by the declared comparisons, one figure a trial.
//!
//! Pieces of a distribution are a trial's turns; where trials came one after the other, its seconds.

use crate::claim::{Claim, Subject, What};
use crate::counting::Counting;
use crate::details::{Details, TailOfTrial};
use crate::judge::{Scenarios, families, family};
use crate::looks::Answer;
use ledger::figure::{self, Rule, Zero};
use ledger::groups;
use ledger::model::{Contents, Order, Phase, RunRow, Trial};
use stats::shape::{QUANTILES, quantile};
use std::cmp::Reverse;

/// The operation whose latencies are compared, where a load has several; else the one that it has most of, by name where there are
/// several of those.
pub const WHOLE: [&str; 2] = ["transaction", "request"];
/// The times of a run whose rate ends with its last write: until then, and until all is on the device.
const ELAPSED: [&str; 2] = ["elapsed_seconds", "elapsed_synced_seconds"];
/// A turn that is shorter is a second by itself: its series has none, or pieces of one.
const TURN_SECONDS_MAX: f64 = 2.0;
/// A distribution has at least so many pieces a trial.
const PIECES_MIN: usize = 10;

/// One figure of the tail, compared.
#[derive(Debug, Clone)]
pub struct Tail {
    /// Which.
    pub what: What,
    /// Of latencies: of which operation.
    pub operation: Option<String>,
    /// Its comparisons, as a family; of the quantiles of a distribution, p is by permutations and corrected over all of them.
    pub claims: Vec<Claim>,
}

/// What is read of a study for what its scenarios show.
pub struct Read<'a> {
    /// All of a study.
    pub contents: &'a Contents,
    /// What counts of it.
    pub counting: &'a Counting<'a>,
    /// Its histograms and series.
    pub details: &'a Details,
    /// Which answer this is.
    pub answer: Answer,
}

/// All tails of one workload; those without a figure, or without a comparison, are left out.
pub fn tails(read: &Read, asked: &Scenarios, more_is_better: bool) -> Vec<Tail> {
    let Some(first) = asked.all.first() else { return Vec::new() };
    let primary = first.primary_metric.as_str();
    let operation = operation(read, asked);
    let order = read.contents.study.analysis.order;
    let latency = |_: &Trial, tail: &TailOfTrial, runs: &[&RunRow]| {
        // A run that did nothing has no latency. The others' would make its trial a fast one, so nothing is decided (0).
        if more_is_better && turns(runs, primary).into_iter().any(|figure| figure <= 0.0) {
            return Some(0.0);
        }
        let operation = operation.as_ref()?;
        // A mean of turns' percentiles depends on how many operations a turn has; a percentile of all of them does not.
        if order == Order::Turns {
            return tail.whole_p99.get(operation).copied();
        }
        let runs: Vec<(f64, f64)> = tail.p99.get(operation)?.iter().map(|value| (*value, 1.0)).collect();
        figure::of_runs(&runs, Rule::of(order, "µs", Zero::Stall))
    };
    let worst =
        |_: &Trial, tail: &TailOfTrial, runs: &[&RunRow]| seconds(tail, runs, primary).into_iter().reduce(f64::min);
    let synced = |_: &Trial, _: &TailOfTrial, runs: &[&RunRow]| {
        let of = |run: &&RunRow| {
            let (own, rate) = (run.metrics.get(primary)?, synced_rate(run, primary)?);
            // Means over turns are by the time that each took until then.
            Some((rate, if rate > 0.0 { own * run.seconds / rate } else { run.seconds }))
        };
        figure::of_runs(&runs.iter().map(of).collect::<Option<Vec<_>>>()?, Rule::of(order, "1/s", Zero::Stall))
    };
    let is_rate = read.contents.metrics.get(primary).is_some_and(|metric| metric.unit.ends_with("/s"));
    let mut found = Vec::new();
    found.extend(operation.is_some().then(|| of(read, asked, (What::LatencyP99, false), &latency)));
    found.extend(is_rate.then(|| of(read, asked, (What::WorstSecond, true), &worst)));
    found.extend(is_rate.then(|| of(read, asked, (What::SyncedRate, true), &synced)));
    let of_latency = found.iter_mut().filter(|tail| tail.what == What::LatencyP99);
    of_latency.for_each(|tail| tail.operation.clone_from(&operation));
    found.extend(distribution(read, asked, (primary, order), more_is_better));
    found.retain(|tail| !tail.claims.is_empty());
    found
}

/// A run's rate until all that it wrote is on the device, where its load has one: said as such, or by its times.
fn synced_rate(run: &RunRow, primary: &str) -> Option<f64> {
    let figure = |name: &str| run.metrics.get(name).copied();
    let by_times = || {
        let [until_last_write, until_synced] = ELAPSED.map(figure);
        Some(figure(primary)? * until_last_write? / until_synced?)
    };
    figure(&format!("{primary}_synced")).or_else(by_times)
}

/// A figure of a trial.
type Figure<'a> = &'a dyn Fn(&Trial, &TailOfTrial, &[&RunRow]) -> Option<f64>;

fn of(read: &Read, asked: &Scenarios, (what, more_is_better): (What, bool), figure: Figure) -> Tail {
    let settings = &read.contents.study.analysis;
    let rounds = rounds(read, asked, figure);
    Tail { what, operation: None, claims: family((settings, read.answer), asked, &rounds, more_is_better) }
}

/// `[round][scenario]` of the main rounds, those of split rounds made comparable as the primary figure is.
fn rounds(read: &Read, asked: &Scenarios, figure: Figure) -> Vec<Vec<Option<f64>>> {
    let nothing = TailOfTrial::default();
    let mut rounds: Vec<Vec<groups::Figure>> = Vec::new();
    for (id, trial) in read.counting.trials.iter().filter(|(_, trial)| trial.phase == Phase::Main) {
        let Some(scenario) = asked.all.iter().position(|scenario| scenario.label == trial.scenario) else { continue };
        let runs = read.counting.runs.get(id).map_or(&[][..], Vec::as_slice);
        let round = trial.round as usize;
        if rounds.len() <= round {
            rounds.resize(round + 1, Vec::new());
        }
        let is_shared = asked.all[scenario].baseline || asked.all[scenario].control;
        let value = figure(trial, read.details.tails.get(id).unwrap_or(&nothing), runs);
        rounds[round].extend(value.map(|value| groups::Figure { scenario, group: trial.group, is_shared, value }));
    }
    let row = |round: Vec<groups::Figure>| {
        let found = groups::adjusted(&round);
        (0..asked.all.len()).map(|scenario| found.get(&scenario).copied()).collect()
    };
    rounds.into_iter().map(row).collect()
}

/// The operation whose latencies all scenarios have.
fn operation(read: &Read, asked: &Scenarios) -> Option<String> {
    let of_first = asked.all.iter().find_map(|scenario| read.details.latencies.get(&scenario.label))?;
    let whole = WHOLE.iter().find(|name| of_first.contains_key(**name)).map(|name| (*name).to_string());
    let most = || {
        of_first.iter().max_by_key(|(name, latency)| (latency.count(), Reverse(*name))).map(|(name, _)| name.clone())
    };
    whole.or_else(most)
}

/// The rates of a trial's seconds: those of its series, or of turns that are as short.
fn seconds(tail: &TailOfTrial, runs: &[&RunRow], primary: &str) -> Vec<f64> {
    let is_short = runs.iter().all(|run| run.seconds < TURN_SECONDS_MAX);
    match tail.seconds.get(primary) {
        Some(seconds) if !is_short => seconds.clone(),
        _ if is_short && runs.len() > 1 => turns(runs, primary),
        _ => Vec::new(),
    }
}

fn turns(runs: &[&RunRow], primary: &str) -> Vec<f64> {
    runs.iter().filter_map(|run| run.metrics.get(primary).copied()).collect()
}

/// The quantiles of speeds, and how sure it is that they differ: by swapping the sides of whole rounds.
fn distribution(read: &Read, asked: &Scenarios, (primary, order): (&str, Order), more_is_better: bool) -> Vec<Tail> {
    let settings = &read.contents.study.analysis;
    let at = |share: f64| {
        let figure = move |_: &Trial, tail: &TailOfTrial, runs: &[&RunRow]| {
            let pieces = match order {
                Order::Turns => turns(runs, primary),
                Order::Blocks => tail.seconds.get(primary).cloned().unwrap_or_default(),
            };
            // A piece's time says how fast it was: percentiles are of speeds, whose slow end is the lower one. A time of 0 was not measured.
            let is_time = !more_is_better && order == Order::Turns;
            let speed = |piece: f64| if piece > 0.0 { 1.0 / piece } else { 0.0 };
            let speeds: Vec<f64> = pieces.iter().map(|piece| if is_time { speed(*piece) } else { *piece }).collect();
            (speeds.len() >= PIECES_MIN).then(|| quantile(&speeds, share)).flatten()
        };
        rounds(read, asked, &figure)
    };
    let quantiles = QUANTILES.map(at);
    // Seconds have rates, whatever the figure of the runs is, and turns have speeds.
    let found = families((settings, read.answer), asked, &quantiles, true);
    let what = [What::Hundredth, What::Tenth, What::Median];
    what.into_iter().zip(found).map(|(what, claims)| Tail { what, operation: None, claims }).collect()
}

impl Tail {
    /// Its claim of the same two sides, and whether they are named the other way round.
    pub fn claim_of(&self, subject: &Subject) -> Option<(&Claim, bool)> {
        let wanted = subject.names();
        let of_same = self.claims.iter().filter(|claim| claim.subject.factor() == subject.factor());
        of_same.map(|claim| (claim, claim.names())).find_map(|(claim, (a, b))| match () {
            () if (a, b) == wanted => Some((claim, false)),
            () if (b, a) == wanted => Some((claim, true)),
            () => None,
        })
    }
}
