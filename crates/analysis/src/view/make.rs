//! From a study's contents to its view.

use super::{Part, View};
use crate::ceilings::{Ceiling, ceilings};
use crate::choice::{self, choice};
use crate::conditions::{IsChoice, conditions};
use crate::confirmation::{Confirmation, confirmations};
use crate::counting::Counting;
use crate::details::Details;
use crate::errors::{Errors, errors};
use crate::failures::failed_rounds;
use crate::flushing::{Flushing, flushing};
use crate::health::{self, Without};
use crate::judge::{self, Judgement, Scenarios, judge};
use crate::limits::limits;
use crate::looks::Answer;
use crate::orders::orders;
use crate::parity::{Behind, Rule, Standing, behind};
use crate::repetitions::PrecisionCost;
use crate::row::{Row, Stalls, centre};
use crate::screening::Progress;
use crate::shapes::{hold_back, hold_back_new};
use crate::tails::{self, Read, Tail};
use crate::telemetry::Work;
use crate::why;
use ledger::model::{Contents, Order, Phase, RunRow, Scenario, Trial};
use observe::durability::Class;
use observe::metric::Direction;
use stats::slow::SlowMode;
use std::collections::{BTreeMap, BTreeSet};

impl View {
    /// Works out everything from a study's contents, and how its runs went from their details.
    pub fn of(contents: &Contents, details: &Details, is_choice: IsChoice) -> View {
        let counting = Counting::of(contents);
        let settings = &contents.study.analysis;
        let failures = counting.failed.iter().filter_map(|trial| {
            let failure = trial.failure.as_ref()?;
            Some((trial.scenario.clone(), format!("{}: {}", failure.step, in_few_words(&failure.causes)?)))
        });
        let machine = Machine {
            errors: errors(contents),
            failed_rounds: failed_rounds(contents, Phase::Main),
            flushing: flushing(contents),
            ceilings: ceilings(contents, &counting),
        };
        let screen = Progress::of(contents);
        let answer = Answer::of(contents, Phase::Main);
        let read = Read { contents, counting: &counting, details, answer };
        let part = |workload: &str| part(&read, &machine, workload, (is_choice, screen.as_ref()));
        let parts: Vec<Part> = contents.workloads().into_iter().map(part).collect();
        let alpha = parts.first().map_or(1.0 - settings.confidence, |part| part.alpha);
        View {
            failures: failures.collect(),
            failed_total: counting.failed.len(),
            limits: limits(contents, details, alpha),
            precision_cost: PrecisionCost::of(&parts, contents, &counting),
            parts,
            screen,
            confidence: settings.confidence,
            margin: settings.margin,
            precision: settings.precision,
        }
    }
}

/// What the machine's counters, the loads' errors and failed trials say, by scenario.
struct Machine {
    errors: BTreeMap<String, Errors>,
    failed_rounds: BTreeMap<String, usize>,
    flushing: BTreeMap<String, Flushing>,
    ceilings: BTreeMap<String, Ceiling>,
}

impl Machine {
    /// In how many main rounds a scenario failed.
    fn failed_rounds(&self, label: &str) -> usize {
        self.failed_rounds.get(label).copied().unwrap_or(0)
    }
}

/// The most of these counts of new rounds: a scenario may be confirmed under one condition of the load only.
fn most(confirmations: &[Confirmation], count: impl Fn(&Confirmation) -> usize) -> usize {
    confirmations.iter().map(count).max().unwrap_or(0)
}

/// `[round][scenario]`: each trial is one number.
fn values(contents: &Contents, scenarios: &[(usize, &Scenario)], primary: &str) -> Vec<Vec<Option<f64>>> {
    let all = contents.values(primary);
    all.iter().map(|round| scenarios.iter().map(|(column, _)| round[*column]).collect()).collect()
}

/// A workload's scenarios, with their places in the plan; without those that a screen left out.
fn studied<'a>(contents: &'a Contents, workload: &str) -> Vec<(usize, &'a Scenario)> {
    let all = contents.scenarios.iter().enumerate().filter(|(_, scenario)| scenario.workload == workload);
    all.filter(|(_, scenario)| contents.is_studied(scenario)).collect()
}

/// One workload's part: what was measured, and what stats makes of it.
fn part(read: &Read, machine: &Machine, workload: &str, (is_choice, screen): (IsChoice, Option<&Progress>)) -> Part {
    let contents = read.contents;
    let scenarios = studied(contents, workload);
    let primary = scenarios.first().map_or("", |(_, scenario)| scenario.primary_metric.as_str());
    let metric = contents.metric(primary, Direction::More);
    let more_is_better = metric.direction != Direction::Less;
    let rounds = values(contents, &scenarios, primary);
    let confidence = contents.study.analysis.confidence;
    let plain: Vec<&Scenario> = scenarios.iter().map(|(_, scenario)| *scenario).collect();
    let baseline = baseline(contents, &plain);
    let mut confirmations = confirmations(contents, workload, primary, more_is_better);
    let rows = scenarios.iter().enumerate().map(|(column, (index, scenario))| Row {
        index: *index,
        baseline: Some(&scenario.label) == baseline.as_ref(),
        confirmed: confirmations.iter().find_map(|of| of.centres.get(&scenario.label)).copied(),
        failed_rounds: machine.failed_rounds(&scenario.label)
            + most(&confirmations, |of| of.failed_of(&scenario.label)),
        failed_together: most(&confirmations, |of| of.failed_with(&scenario.label)),
        stalls: self::stalls(read, scenario, more_is_better)
            .filter(|_| counts_stalls(contents, &rounds, (column, *index))),
        slow: slow(read, scenario, more_is_better, |phase| phase == Phase::Main),
        ..row(read, machine, scenario, rounds.iter().map(|round| round[column]).collect())
    });
    let mut rows: Vec<Row> = rows.collect();
    let largest = rows.iter().filter_map(|row| row.centre).map(|centre| centre.max).fold(0.0, f64::max);
    let conditions = conditions(&plain, is_choice);
    let alpha = judge::rules(&contents.study.analysis, read.answer).alpha();
    mark_out(&mut rows, &conditions, alpha);
    let classes: Vec<Option<Class>> = rows.iter().map(|row| row.competes_in).collect();
    let may_be_picked = may_be_picked(&rows);
    let dropped: Vec<bool> = rows.iter().map(Row::fell_out).collect();
    let judged = Scenarios { all: &plain, classes: &may_be_picked, baseline: baseline.as_deref(), dropped: &dropped };
    let tails = tails::tails(read, &judged, more_is_better);
    let mut judgement = judgement(read, &judged, (&rows, &tails), &rounds, more_is_better);
    hold_back_confirmations(read, &mut confirmations, (&rows, &tails), more_is_better);
    why::explain(contents, &Work::of(&metric), &mut judgement, &mut confirmations);
    let without = mark_disturbed(&mut rows, &judgement, &rounds, more_is_better)
        .map(|rounds| self::judgement(read, &judged, (&rows, &tails), &rounds, more_is_better));
    rank(&mut rows, more_is_better);
    if screen.is_some_and(|screen| !screen.is_complete) {
        // Most of them will not be studied.
        rows.retain(|row| row.centre.is_some());
    }
    let to_pick: Vec<&Row> = rows.iter().filter(|row| !row.control).collect();
    let held = choice::Rules { alpha, more_is_better };
    Part {
        without_disturbed: without.map(|without| Without::of(&judgement, &without)),
        choice: choice(conditions, &to_pick, workload, (held, &confirmations)),
        mode: contents.study.analysis.mode,
        screened: contents.screened(workload).cloned(),
        confirmation_rounds: contents.study.analysis.confirmation_rounds,
        is_closed: contents.is_closed(),
        workload: workload.into(),
        largest,
        more_is_better,
        baseline,
        rounds_complete: rounds_complete(&rounds, &rows),
        durability_differs: classes.iter().min() != classes.iter().max(),
        allowed: match Rule::of(contents, workload) {
            Rule::Classes(classes) => Some(classes.to_vec()),
            Rule::Promise => None,
        },
        orders: orders(contents, read.counting, &plain, more_is_better),
        tails,
        judgement,
        rows,
        metric,
        confidence,
        alpha,
        confirmations,
    }
}

/// Whether a run of 0 decides its trial's figure, in main rounds or in new ones: a turn of 0 is a part of its trial's work. The scenario's column in
/// these main rounds, and its place in the plan.
fn counts_stalls(contents: &Contents, main: &[Vec<Option<f64>>], (column, place): (usize, usize)) -> bool {
    let new = contents.values_in(Phase::Confirmation, &contents.scenarios[place].primary_metric);
    let mut figures = main.iter().map(|round| round[column]).chain(new.iter().map(|round| round[place])).flatten();
    contents.study.analysis.order == Order::Blocks || figures.any(|figure| figure <= 0.0)
}

/// What stats makes of these rounds, and of the shape of their runs' figures.
fn judgement(
    read: &Read,
    asked: &Scenarios,
    (rows, tails): (&[Row], &[Tail]),
    rounds: &[Vec<Option<f64>>],
    more_is_better: bool,
) -> Judgement {
    let settings = &read.contents.study.analysis;
    let mut found = judge((settings, read.answer), asked, rounds, more_is_better);
    hold_back(&mut found, rows, (tails, settings.margin));
    found
}

/// New rounds' claims are held by the shapes of all rounds: what a scenario did in those by which was picked is not forgotten.
fn hold_back_confirmations(
    read: &Read,
    confirmations: &mut [Confirmation],
    (rows, tails): (&[Row], &[Tail]),
    more_is_better: bool,
) {
    let Read { contents, .. } = *read;
    let of_all_rounds = |row: &Row| {
        let slow = slow(read, &contents.scenarios[row.index], more_is_better, |_| true);
        Row { slow, ..row.clone() }
    };
    let rows: Vec<Row> = if confirmations.is_empty() { Vec::new() } else { rows.iter().map(of_all_rounds).collect() };
    hold_back_new(confirmations, &rows, (tails, contents.study.analysis.margin));
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
        is_durability_unknown: scenario.durability.is_unknown(),
        competes_in: rule.competes_in(promised, flushing.as_ref(), power_cut.as_ref()),
        power_cut,
        faults: contents.faults_of(scenario).and_then(|measured| measured.faults.clone()),
        flushing,
        errors: machine.errors.get(&label).cloned(),
        has_more_errors_than: None,
        fails_more_than: None,
        ceiling: machine.ceilings.get(&label).cloned(),
        centre: centre(values.iter().copied().flatten().collect(), contents.study.analysis.confidence),
        values,
        stalls: None,
        slow: None,
        failed: counting.failed_of(&label),
        failed_rounds: machine.failed_rounds(&label),
        failed_together: 0,
        worse: contents.worse().find(|worse| worse.scenario == label).cloned(),
        is_back: false,
        confirmed: None,
        health: health::health(counting, details, contents.study.analysis.order, scenario),
        label,
    }
}

/// The last cause; before the system's own words, which say neither what was done nor where, that too, if it is short.
fn in_few_words(causes: &[String]) -> Option<String> {
    const LETTERS_MAX: usize = 90;
    let (last, before) = causes.split_last()?;
    let done = before.last().filter(|done| done.chars().count() + last.chars().count() <= LETTERS_MAX);
    let is_system = last.ends_with(')') && last.contains(" (os error ") && !last.contains(": ");
    Some(done.filter(|_| is_system).map_or_else(|| last.clone(), |done| format!("{done}: {last}")))
}

/// Marks who is no choice, and who is back as all that were shown to be better are none. One that is back may have fewer errors or failures
/// than another, which then is no choice either: so again until nobody more is back.
fn mark_out(rows: &mut [Row], conditions: &[String], alpha: f64) {
    loop {
        mark_behind(rows, conditions, alpha);
        let measured = rows.iter().filter(|row| row.centre.is_some() && !row.control);
        let Some(safest) = measured.filter_map(|row| row.competes_in).min() else { return };
        let is_new = |row: &Row| !row.is_back && row.dropped_after().is_some() && !is_beaten(rows, row, safest);
        let new: Vec<bool> = rows.iter().map(is_new).collect();
        if !new.contains(&true) {
            return;
        }
        rows.iter_mut().zip(new).for_each(|(row, is_new)| row.is_back |= is_new);
    }
}

/// Whether one that may be picked made it fall out, or was better than who did.
fn is_beaten(rows: &[Row], row: &Row, safest: Class) -> bool {
    let chain = std::iter::successors(better_than(rows, row), |better| better_than(rows, better));
    chain.take(rows.len()).any(|better| better.is_choice_in(safest))
}

/// Who was shown to be better.
fn better_than<'a>(rows: &'a [Row], row: &Row) -> Option<&'a Row> {
    let worse = row.worse.as_ref()?;
    rows.iter().find(|other| other.label == worse.than)
}

/// Marks whoever is as safe as the safest and had more errors, or failed more often, than another under the same conditions: it is not picked
/// over that one.
fn mark_behind(rows: &mut [Row], conditions: &[String], alpha: f64) {
    let is_measured = |row: &&Row| row.centre.is_some() && !row.control && !row.fell_out();
    let Some(safest) = rows.iter().filter(is_measured).filter_map(|row| row.competes_in).min() else { return };
    let given = |row: &Row| conditions.iter().map(|factor| row.levels.get(factor).cloned()).collect::<Vec<_>>();
    let competes = |row: &Row| is_measured(&row) && row.competes_in == Some(safest) && row.stalls.is_none();
    let standing = |row: &Row| {
        let errors = row.errors.clone().unwrap_or_default();
        competes(row).then_some(Standing { class: safest, errors, failed: row.failed_by_itself() })
    };
    let standings: Vec<Option<Standing>> = rows.iter().map(standing).collect();
    let all: BTreeSet<Vec<Option<String>>> = rows.iter().map(given).collect();
    let mut marks: Vec<(usize, Behind)> = Vec::new();
    for condition in &all {
        let alike = |(row, standing): (&Row, &'_ Option<Standing>)| standing.is_some() && given(row) == *condition;
        let of_condition: Vec<bool> = rows.iter().zip(&standings).map(alike).collect();
        let competing: Vec<Option<&Standing>> =
            standings.iter().zip(&of_condition).map(|(of, is_it)| of.as_ref().filter(|_| *is_it)).collect();
        let found = behind(&competing, alpha / all.len() as f64);
        marks.extend(found.into_iter().enumerate().filter_map(|(place, behind)| Some((place, behind?))));
    }
    let labels: Vec<String> = rows.iter().map(|row| row.label.clone()).collect();
    for (place, behind) in marks {
        match behind {
            Behind::Errors(other) => rows[place].has_more_errors_than = Some(labels[other].clone()),
            Behind::Failed(other) => rows[place].fails_more_than = Some(labels[other].clone()),
        }
    }
}

/// The class of each that may be picked: who stalled in new rounds has figures in the main ones, and is none of these.
fn may_be_picked(rows: &[Row]) -> Vec<Option<Class>> {
    let measured = rows.iter().filter(|row| row.centre.is_some() && !row.control);
    let safest = measured.filter_map(|row| row.competes_in).min();
    rows.iter().map(|row| safest.filter(|safest| row.is_choice_in(*safest))).collect()
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
        for (_, outlier) in judgement.outliers.iter().filter(|(label, _)| *label == row.label) {
            // Worse than its like in its own round: where the machine drifts, the median of all rounds is no measure.
            let is_worse = (outlier.z < 0.0) == more_is_better;
            let round = outlier.round as u32;
            if let Some(cause) = health::cause(&row.health, round).filter(|_| is_worse) {
                row.health.disturbed.push((round, cause));
                without[outlier.round][column] = None;
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

/// A scenario's runs whose figure was 0; none where there were none.
fn stalls(read: &Read, scenario: &Scenario, more_is_better: bool) -> Option<Stalls> {
    // Those of new rounds, too: who stalls in them is no pick, however the others went.
    let values = pieces(read, scenario, |_| true);
    let stalled = values.iter().filter(|value| **value <= 0.0).count();
    (stalled > 0).then_some(Stalls { runs: stalled, of: values.len(), more_is_better })
}

/// How many runs were far slower than their like: of turns those of the same trial, so that a round in which the machine was slow makes none.
/// In these phases: new rounds hold back no claim on the rounds by which was picked.
fn slow(read: &Read, scenario: &Scenario, more_is_better: bool, is_of: fn(Phase) -> bool) -> Option<SlowMode> {
    if read.contents.study.analysis.order == Order::Blocks {
        return SlowMode::of(&pieces(read, scenario, is_of), more_is_better);
    }
    let is_its = |trial: &&&Trial| trial.scenario == scenario.label && is_of(trial.phase);
    let trials = read.counting.trials.values().filter(is_its);
    let runs = trials.filter_map(|trial| read.counting.runs.get(&trial.id));
    let of_trial = |runs: &Vec<&RunRow>| {
        let figures = runs.iter().filter_map(|run| run.metrics.get(&*scenario.primary_metric).copied());
        SlowMode::of(&figures.collect::<Vec<f64>>(), more_is_better)
    };
    SlowMode::together(&runs.filter_map(of_trial).collect::<Vec<SlowMode>>())
}

/// The figures of a scenario's measured runs in these phases.
fn pieces(read: &Read, scenario: &Scenario, is_of: fn(Phase) -> bool) -> Vec<f64> {
    let is_its = |trial: &&&Trial| trial.scenario == scenario.label && is_of(trial.phase);
    let trials = read.counting.trials.values().filter(is_its);
    let runs = trials.filter_map(|trial| read.counting.runs.get(&trial.id)).flatten();
    runs.filter_map(|run| run.metrics.get(&*scenario.primary_metric).copied()).collect()
}
