//! The numbers of a report: each workload's scenarios, ranked, with their intervals and what stats claims of them.
//!
//! The terminal, the page, the JSON and the words all read these, so that no two of them can differ.

use crate::ceilings::{Ceiling, ceilings};
use crate::choice::{self, Choice, choice};
use crate::confirmation::{Confirmation, confirmations};
use crate::flushing::{Flushing, MARK, NAME_MARK};
use crate::health::{self, Health};
use crate::input::{Counting, Details};
use crate::judge::{Claim, Judgement, Scenarios, Subject, judge};
use crate::number::Scale;
use crate::screening::Progress;
use crate::telemetry::Work;
use crate::why;
use ledger::errors::Errors;
use ledger::figure::{self, Zero};
use ledger::model::{Contents, Mode, Scenario, Screened, Worse};
use ledger::parity::{Rule, Standing, fewest_errors};
use observe::durability::Class;
use observe::metric::{Direction, Metric};
use observe::safety::{Grade, Safety};
use std::collections::BTreeMap;

/// All parts of a study.
#[derive(Debug)]
pub struct View {
    /// One a workload, in plan order.
    pub parts: Vec<Part>,
    /// Two-sided confidence.
    pub confidence: f64,
    /// Margin below which a difference is negligible, as a fraction.
    pub margin: f64,
    /// Wanted half-width, as a fraction.
    pub precision: f64,
    /// Trials that failed.
    pub failed_total: usize,
    /// How far the screen is; none where nothing is screened.
    pub screen: Option<Progress>,
    failures: BTreeMap<String, String>,
}

/// One workload's question and answer.
#[derive(Debug)]
pub struct Part {
    /// The workload.
    pub workload: String,
    /// Its primary metric.
    pub metric: Metric,
    /// How values of that metric are shown.
    pub scale: Scale,
    /// Whether more of it is better.
    pub more_is_better: bool,
    /// Label of the scenario that others are compared with; none where this workload lacks it.
    pub baseline: Option<String>,
    /// Scenarios with values first, the best on top; then those without.
    pub rows: Vec<Row>,
    /// What stats makes of them.
    pub judgement: Judgement,
    /// The pick by condition; none where every factor is a choice.
    pub choice: Option<Choice>,
    /// Rounds in which every scenario that has values has one.
    pub rounds_complete: usize,
    /// Verdicts that would be others without the disturbed trials, in words.
    pub without_disturbed: Vec<String>,
    /// Whether scenarios differ in what a power cut may take, so that not all of them may be picked.
    pub durability_differs: bool,
    /// What a power cut was measured to take: the classes that may be picked, where the study names them and any was measured.
    pub allowed: Option<Vec<Grade>>,
    /// Two-sided confidence.
    pub confidence: f64,
    /// What was asked of the scenarios.
    pub mode: Mode,
    /// What a screen showed, and left out; none where nothing was screened.
    pub screened: Option<Screened>,
    /// New rounds that were wanted.
    pub confirmation_rounds: u32,
    /// What new rounds measured of the picks: one a condition of the load; empty where there were none.
    pub confirmations: Vec<Confirmation>,
}

/// One scenario of a part.
#[derive(Debug, Clone)]
pub struct Row {
    /// Its place in the plan, which decides its colour and shape.
    pub index: usize,
    /// Label.
    pub label: String,
    /// Factor → level label.
    pub levels: BTreeMap<String, String>,
    /// Whether it is the baseline.
    pub baseline: bool,
    /// Whether it is the A/A control.
    pub control: bool,
    /// What a power cut may take by the settings.
    pub durability: Class,
    /// What a power cut was measured to take; none: that was not measured.
    pub power_cut: Option<Safety>,
    /// The class that it competes in for the pick, by promise and measurement; none: it is never picked.
    pub competes_in: Option<Class>,
    /// The flushes its commits had; none: it does not commit, or nobody counts them.
    pub flushing: Option<Flushing>,
    /// What went wrong of what was asked of it; none: its load's first error ends a run.
    pub errors: Option<Errors>,
    /// Label of the scenario that is picked before it, being as safe and having fewer errors; none: there is none.
    pub has_more_errors_than: Option<String>,
    /// What it used of what its device and CPUs can give; none: its runs have no telemetry.
    pub ceiling: Option<Ceiling>,
    /// A value a round; none: not done, or failed; 0 where a run stalled.
    pub values: Vec<Option<f64>>,
    /// Its runs in which the load stalled; none where it did in none.
    pub stalls: Option<Stalls>,
    /// Geometric mean and its interval; none without values.
    pub centre: Option<Centre>,
    /// Trials that failed.
    pub failed: usize,
    /// That it was shown to be worse than another, and how far.
    pub worse: Option<Worse>,
    /// What new rounds measured; none where there were none.
    pub confirmed: Option<Centre>,
    /// How its runs went.
    pub health: Health,
}

/// Runs whose figure was 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stalls {
    /// How many.
    pub runs: usize,
    /// Of so many.
    pub of: usize,
    /// Whether more is better, so that 0 is a standstill; a time of 0 is a measurement that went wrong.
    pub more_is_better: bool,
}

impl Stalls {
    fn of(read: &Read, scenario: &Scenario, more_is_better: bool) -> Option<Stalls> {
        let trials = read.counting.trials.values().filter(|trial| trial.scenario == scenario.label);
        let runs = trials.filter_map(|trial| read.counting.runs.get(&trial.id)).flatten();
        let values: Vec<f64> = runs.filter_map(|run| run.metrics.get(&*scenario.primary_metric).copied()).collect();
        let stalled = values.iter().filter(|value| **value <= 0.0).count();
        (stalled > 0).then_some(Stalls { runs: stalled, of: values.len(), more_is_better })
    }

    /// "stalled in 1 of 12 runs".
    #[must_use]
    pub fn words(self) -> String {
        let what = if self.more_is_better { "stalled" } else { "measured 0" };
        format!("{what} in {} of {} runs", self.runs, self.of)
    }
}

/// Where a scenario's values lie.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Centre {
    /// Geometric mean: 0 where the load stalled in a trial.
    pub mean: f64,
    /// Lower end of its interval; the mean itself with a single value, and where the load stalled, which leaves no interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Median.
    pub median: f64,
    /// Smallest.
    pub min: f64,
    /// Largest.
    pub max: f64,
    /// How many values.
    pub count: usize,
}

impl Centre {
    /// Larger is better; who stalled comes last, where less is better, too.
    #[must_use]
    pub fn merit(&self, more_is_better: bool) -> f64 {
        match (self.mean > 0.0, more_is_better) {
            (false, _) => f64::NEG_INFINITY,
            (true, true) => self.mean,
            (true, false) => -self.mean,
        }
    }
}

impl Part {
    /// Scenarios with values, the best first.
    pub fn measured(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| row.centre.is_some())
    }

    /// A scenario's comparison with the baseline.
    #[must_use]
    pub fn claim_of(&self, scenario: &str) -> Option<&Claim> {
        let versus = &self.judgement.versus;
        versus.iter().find(|claim| matches!(&claim.subject, Subject::Scenario { label, .. } if label == scenario))
    }

    /// The best scenario of the safest class that competes; the control is another's double and no choice. Where factors are
    /// conditions, what is picked under those of the baseline. None where nothing was measured, or nothing may be picked.
    #[must_use]
    pub fn pick(&self) -> Option<&Row> {
        if let Some(choice) = &self.choice {
            let baseline = self.rows.iter().find(|row| row.baseline);
            let level = |factor: &String| baseline.and_then(|row| row.levels.get(factor));
            let levels: Vec<Option<&String>> = choice.conditions.iter().map(level).collect();
            let of_baseline = choice.picks.iter().find(|pick| pick.levels.iter().map(Some).eq(levels.iter().copied()));
            let pick = of_baseline.or(choice.picks.first())?;
            return self.row(&pick.label);
        }
        if let Some(confirmation) = self.confirmations.first() {
            let confirmed = self.row(&confirmation.pick);
            if confirmed.is_none_or(|row| row.has_more_errors_than.is_none()) {
                return confirmed.filter(|row| row.competes_in.is_some() && row.stalls.is_none());
            }
        }
        let safest = self.safest()?;
        let is_choice = |row: &&Row| !row.control && row.is_choice_in(safest) && row.dropped_after().is_none();
        self.measured().find(is_choice)
    }

    /// The safest class that a measured scenario competes in.
    #[must_use]
    pub fn safest(&self) -> Option<Class> {
        self.measured().filter(|row| !row.control).filter_map(|row| row.competes_in).min()
    }

    /// What could be picked in this one's place if neither power cuts nor errors mattered, the best first: all under the same conditions.
    pub fn beside<'a>(&'a self, pick: &'a Row) -> impl Iterator<Item = &'a Row> {
        let conditions = self.choice.as_ref().map_or(&[][..], |choice| &choice.conditions);
        let is_alike =
            move |row: &&Row| conditions.iter().all(|factor| row.levels.get(factor) == pick.levels.get(factor));
        self.measured().filter(move |row| !row.control && is_alike(row))
    }

    /// A scenario by its label.
    #[must_use]
    pub fn row(&self, label: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.label == label)
    }

    /// What is said after the names of a claim's two sides: that it does not flush, or some of its scenarios do not.
    #[must_use]
    pub fn marks(&self, claim: &Claim) -> [String; 2] {
        let share = |side: &str| {
            let of_side = |row: &&Row| match &claim.subject {
                Subject::Level { factor, .. } => row.levels.get(factor).is_some_and(|level| level == side),
                Subject::Scenario { .. } | Subject::Control { .. } => row.label == side,
            };
            let rows: Vec<&Row> =
                self.measured().filter(|row| !row.control || row.label == side).filter(of_side).collect();
            (rows.iter().filter(|row| row.does_not_flush()).count(), rows.len())
        };
        let (a, b) = claim.names();
        let (a, b) = (share(a), share(b));
        let differ = a.0 * b.1 != b.0 * a.1;
        [a, b].map(|(without, all)| match without {
            0 => String::new(),
            _ if without == all => NAME_MARK.into(),
            // Where both sides are alike in it, the scenarios say it.
            _ if differ => format!(" ({MARK} in part)"),
            _ => String::new(),
        })
    }

    /// How many rounds the comparisons rest on.
    #[must_use]
    pub fn rounds_compared(&self) -> usize {
        self.judgement.claims.iter().map(|claim| claim.rounds).max().unwrap_or(self.rounds_complete)
    }

    /// Whether there is anything to compare.
    #[must_use]
    pub fn has_choice(&self) -> bool {
        self.measured().filter(|row| !row.control).nth(1).is_some()
    }
}

impl Row {
    /// The number of rounds after which it was measured no further.
    #[must_use]
    pub fn dropped_after(&self) -> Option<u32> {
        self.worse.as_ref().filter(|worse| !worse.stays).map(|worse| worse.round + 1)
    }

    /// Whether its commits were acknowledged without flushes.
    #[must_use]
    pub fn does_not_flush(&self) -> bool {
        self.flushing.as_ref().is_some_and(|flushing| flushing.is_missing)
    }

    /// Whether its settings promise what its device did not get.
    #[must_use]
    pub fn breaks_promise(&self) -> bool {
        self.durability == Class::KeepsAcknowledged && self.does_not_flush()
    }

    /// Whether its figure is a lower bound: the load generator was full.
    #[must_use]
    pub fn is_lower_bound(&self) -> bool {
        self.ceiling.as_ref().is_some_and(Ceiling::is_lower_bound)
    }

    /// Whether it is among those to pick from: in this class, which is the safest, without more errors than others of it, and without a
    /// stall.
    #[must_use]
    pub fn is_choice_in(&self, safest: Class) -> bool {
        self.competes_in == Some(safest) && self.has_more_errors_than.is_none() && self.stalls.is_none()
    }

    /// The share of what was asked of it that went wrong.
    #[must_use]
    pub fn error_share(&self) -> f64 {
        self.errors.as_ref().map_or(0.0, Errors::share)
    }

    /// Whether it is no choice beside this one, however fast.
    #[must_use]
    pub fn is_out_beside(&self, pick: &Row) -> bool {
        self.competes_in.is_none() || self.competes_in > pick.competes_in || self.has_more_errors_than.is_some()
    }

    /// Whether its picture carries a sign of warning: it may lose more than the last moments, or was seen to.
    #[must_use]
    pub fn is_unsafe(&self) -> bool {
        let was_damaged = self.power_cut.as_ref().is_some_and(|found| found.grade >= Grade::E);
        self.safety() >= Class::MayCorrupt || self.does_not_flush() || was_damaged
    }

    /// What a power cut may take: by the settings, or worse where the flushes are missing.
    #[must_use]
    pub fn safety(&self) -> Class {
        self.flushing.as_ref().map_or(self.durability, |flushing| flushing.safety(self.durability))
    }

    /// Its label wherever its speed is shown.
    #[must_use]
    pub fn marked(&self) -> String {
        let flushes = if self.does_not_flush() { NAME_MARK } else { "" };
        let stalls = self.stalls.map_or_else(String::new, |stalls| format!(" ({})", stalls.words()));
        format!("{}{flushes}{stalls}", self.label)
    }
}

impl View {
    /// Works out everything from a study's contents, and how its runs went from their details.
    #[must_use]
    pub fn of(contents: &Contents, details: &Details) -> View {
        let counting = Counting::of(contents);
        let settings = &contents.study.analysis;
        let mut workloads: Vec<&str> = Vec::new();
        for scenario in &contents.scenarios {
            if !workloads.contains(&scenario.workload.as_str()) {
                workloads.push(&scenario.workload);
            }
        }
        let failures = counting.failed.iter().filter_map(|trial| {
            let failure = trial.failure.as_ref()?;
            Some((trial.scenario.clone(), format!("{}: {}", failure.step, failure.causes.last()?)))
        });
        let machine = Machine {
            errors: ledger::errors::errors(contents),
            flushing: ledger::flushing::flushing(contents),
            ceilings: ceilings(contents, &counting),
        };
        let screen = Progress::of(contents);
        let read = Read { contents, counting: &counting, details, screen: screen.as_ref() };
        View {
            failures: failures.collect(),
            failed_total: counting.failed.len(),
            parts: workloads.iter().map(|workload| part(&read, &machine, workload)).collect(),
            screen,
            confidence: settings.confidence,
            margin: settings.margin,
            precision: settings.precision,
        }
    }

    /// Whether a scenario's commits were acknowledged without flushes.
    #[must_use]
    pub fn does_not_flush(&self, label: &str) -> bool {
        let mut rows = self.parts.iter().flat_map(|part| &part.rows);
        rows.any(|row| row.label == label && row.does_not_flush())
    }

    /// Why a scenario's trials failed, in a few words.
    #[must_use]
    pub fn failure_of(&self, label: &str) -> Option<&str> {
        self.failures.get(label).map(String::as_str)
    }
}

/// What the machine's counters and the loads' errors say, by scenario.
struct Machine {
    errors: BTreeMap<String, Errors>,
    flushing: BTreeMap<String, Flushing>,
    ceilings: BTreeMap<String, Ceiling>,
}

/// What was read of a study.
struct Read<'a> {
    contents: &'a Contents,
    counting: &'a Counting<'a>,
    details: &'a Details,
    screen: Option<&'a Progress>,
}

/// `[round][scenario]`: each trial is one number.
fn values(contents: &Contents, scenarios: &[(usize, &Scenario)], primary: &str) -> Vec<Vec<Option<f64>>> {
    let all = contents.values(primary);
    all.iter().map(|round| scenarios.iter().map(|(column, _)| round[*column]).collect()).collect()
}

/// One workload's part: what was measured, and what stats makes of it.
fn part(read: &Read, machine: &Machine, workload: &str) -> Part {
    let Read { contents, screen, .. } = *read;
    let screened = contents.screened(workload);
    let all = contents.scenarios.iter().enumerate().filter(|(_, scenario)| scenario.workload == workload);
    let is_studied = |scenario: &Scenario| !screened.is_some_and(|screened| screened.leaves_out(&scenario.levels));
    let scenarios: Vec<(usize, &Scenario)> = all.filter(|(_, scenario)| is_studied(scenario)).collect();
    let primary = scenarios.first().map_or("", |(_, scenario)| scenario.primary_metric.as_str());
    let unknown = || Metric::named(primary.into(), String::new(), Direction::More);
    let metric = contents.metrics.get(primary).cloned().unwrap_or_else(unknown);
    let more_is_better = metric.direction != Direction::Less;
    let rounds = values(contents, &scenarios, primary);
    let confidence = contents.study.analysis.confidence;
    let plain: Vec<&Scenario> = scenarios.iter().map(|(_, scenario)| *scenario).collect();
    let baseline = baseline(contents, &plain);
    let mut confirmations = confirmations(contents, workload, primary, more_is_better);
    let mut rows: Vec<Row> = scenarios
        .iter()
        .enumerate()
        .map(|(column, (index, scenario))| Row {
            index: *index,
            baseline: Some(&scenario.label) == baseline.as_ref(),
            confirmed: confirmations.iter().find_map(|of| of.centres.get(&scenario.label)).copied(),
            stalls: Stalls::of(read, scenario, more_is_better),
            ..row(read, machine, scenario, rounds.iter().map(|round| round[column]).collect())
        })
        .collect();
    let largest = rows.iter().filter_map(|row| row.centre).map(|centre| centre.max).fold(0.0, f64::max);
    let conditions = ledger::conditions::conditions(&plain);
    mark_more_errors(&mut rows, &conditions);
    let classes: Vec<Option<Class>> = rows.iter().map(|row| row.competes_in).collect();
    let may_be_picked = rows.iter().map(|row| row.competes_in.filter(|_| row.has_more_errors_than.is_none()));
    let may_be_picked: Vec<Option<Class>> = may_be_picked.collect();
    let dropped: Vec<bool> = rows.iter().map(|row| row.dropped_after().is_some()).collect();
    let judged = Scenarios { all: &plain, classes: &may_be_picked, baseline: baseline.as_deref(), dropped: &dropped };
    let mut judgement = judge(&contents.study.analysis, &judged, &rounds, more_is_better);
    why::explain(contents, &Work::of(&metric), &mut judgement, &mut confirmations);
    let without = mark_disturbed(&mut rows, &judgement, &rounds, more_is_better)
        .map(|rounds| judge(&contents.study.analysis, &judged, &rounds, more_is_better));
    rank(&mut rows, more_is_better);
    if screen.is_some_and(|screen| !screen.is_complete) {
        // Most of them will not be studied.
        rows.retain(|row| row.centre.is_some());
    }
    let to_pick: Vec<&Row> = rows.iter().filter(|row| row.centre.is_some() && !row.control).collect();
    let rules = choice::Rules { confidence, more_is_better };
    let mut part = Part {
        without_disturbed: Vec::new(),
        choice: choice(conditions, &to_pick, workload, (rules, &confirmations)),
        mode: contents.study.analysis.mode,
        screened: screened.cloned(),
        confirmation_rounds: contents.study.analysis.confirmation_rounds,
        workload: workload.into(),
        scale: Scale::of(&metric, largest),
        more_is_better,
        baseline,
        rounds_complete: rounds_complete(&rounds, &rows),
        durability_differs: classes.iter().min() != classes.iter().max(),
        allowed: match Rule::of(contents, workload) {
            Rule::Classes(classes) => Some(classes.to_vec()),
            Rule::Promise => None,
        },
        judgement,
        rows,
        metric,
        confidence,
        confirmations,
    };
    part.without_disturbed = without.map_or_else(Vec::new, |without| health::other_verdicts(&part, &without));
    part
}

/// A scenario with its values and what the machine says of it; which of them is the baseline is not known here.
fn row(read: &Read, machine: &Machine, scenario: &Scenario, values: Vec<Option<f64>>) -> Row {
    let Read { contents, counting, details, .. } = *read;
    let (label, promised) = (scenario.label.clone(), scenario.durability.class);
    let flushing = machine.flushing.get(&label).cloned();
    let power_cut = contents.safety_of(scenario).and_then(|measured| measured.safety.clone());
    let rule = Rule::of(contents, &scenario.workload);
    Row {
        index: 0,
        levels: scenario.levels.clone(),
        baseline: false,
        control: scenario.control,
        durability: promised,
        competes_in: rule.competes_in(promised, flushing.as_ref(), power_cut.as_ref()),
        power_cut,
        flushing,
        errors: machine.errors.get(&label).cloned(),
        has_more_errors_than: None,
        ceiling: machine.ceilings.get(&label).cloned(),
        centre: centre(values.iter().copied().flatten().collect(), contents.study.analysis.confidence),
        values,
        stalls: None,
        failed: counting.failed_of(&label),
        worse: contents.worse().find(|worse| worse.scenario == label).cloned(),
        confirmed: None,
        health: health::health(counting, details, scenario),
        label,
    }
}

/// Marks whoever is as safe as the safest and had more errors than another under the same conditions: it is not picked over that one.
fn mark_more_errors(rows: &mut [Row], conditions: &[String]) {
    let is_measured = |row: &&Row| row.centre.is_some() && !row.control && row.dropped_after().is_none();
    let Some(safest) = rows.iter().filter(is_measured).filter_map(|row| row.competes_in).min() else { return };
    let given = |row: &Row| conditions.iter().map(|factor| row.levels.get(factor).cloned()).collect::<Vec<_>>();
    let better_than = |row: &Row| {
        let alike =
            || rows.iter().filter(is_measured).filter(|other| other.stalls.is_none() && given(other) == given(row));
        let standing = |other: &Row| Some(Standing { class: other.competes_in?, errors: other.error_share() });
        let fewest = fewest_errors(alike().filter_map(standing), safest)?;
        let has_more = row.competes_in == Some(safest) && !row.control && row.error_share() > fewest;
        let is_best = |other: &&Row| other.competes_in == Some(safest) && other.error_share() <= fewest;
        has_more.then(|| alike().find(is_best).map(|other| other.label.clone())).flatten()
    };
    let marks: Vec<Option<String>> = rows.iter().map(better_than).collect();
    rows.iter_mut().zip(marks).for_each(|(row, mark)| row.has_more_errors_than = mark);
}

/// The best first; then who stalled, whose mean is 0; then who was dropped on the way, whose means over fewer rounds of a machine that
/// drifts are no rank among the others; then who has no value.
fn rank(rows: &mut [Row], more_is_better: bool) {
    let merit = |row: &Row| row.centre.map(|centre| centre.merit(more_is_better));
    rows.sort_by(|a, b| merit(b).partial_cmp(&merit(a)).expect("means are numbers"));
    rows.sort_by_key(|row| (row.centre.is_none(), row.dropped_after().is_some(), row.stalls.is_some()));
}

/// Marks trials far on the bad side of their like while something else loaded the machine; the values without them, if any.
fn mark_disturbed(
    rows: &mut [Row],
    judgement: &Judgement,
    rounds: &[Vec<Option<f64>>],
    more_is_better: bool,
) -> Option<Vec<Vec<Option<f64>>>> {
    let mut without = rounds.to_vec();
    for (column, row) in rows.iter_mut().enumerate() {
        for (_, round) in judgement.outliers.iter().filter(|(label, _)| *label == row.label) {
            let (Some(value), Some(centre)) = (row.values[*round], row.centre) else { continue };
            let is_worse = if more_is_better { value < centre.median } else { value > centre.median };
            if let Some(cause) = health::cause(&row.health, *round as u32).filter(|_| is_worse) {
                row.health.disturbed.push((*round as u32, cause));
                without[*round][column] = None;
            }
        }
    }
    (without != rounds).then_some(without)
}

/// The workload's baseline; in an older file, which marks none, the study's.
fn baseline(contents: &Contents, scenarios: &[&Scenario]) -> Option<String> {
    let marked = scenarios.iter().find(|scenario| scenario.baseline);
    let named = || scenarios.iter().find(|scenario| scenario.label == contents.study.baseline);
    marked.or_else(named).map(|scenario| scenario.label.clone())
}

/// Rounds in which every scenario that has values at all, and was not dropped, has one.
fn rounds_complete(rounds: &[Vec<Option<f64>>], rows: &[Row]) -> usize {
    let measured: Vec<&Row> = rows.iter().filter(|row| row.centre.is_some() && row.dropped_after().is_none()).collect();
    if measured.is_empty() {
        return 0;
    }
    (0..rounds.len()).filter(|round| measured.iter().all(|row| row.values[*round].is_some())).count()
}

/// Where values lie; none without values.
pub(crate) fn centre(mut values: Vec<f64>, confidence: f64) -> Option<Centre> {
    values.sort_by(f64::total_cmp);
    let (min, max) = (*values.first()?, *values.last()?);
    let middle = values.len() / 2;
    let median = if values.len() % 2 == 1 { values[middle] } else { f64::midpoint(values[middle - 1], values[middle]) };
    let mean = figure::mean(&values, Zero::Stall);
    let logarithms: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    let interval = stats::contrast(&logarithms, confidence).filter(|_| mean > 0.0);
    let (low, high) = interval.map_or((mean, mean), |interval| (interval.low.exp(), interval.high.exp()));
    Some(Centre { mean, low, high, median, min, max, count: values.len() })
}
