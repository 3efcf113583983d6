//! What speaks against putting a scenario in place: that it has no value, fails, errs or stalls, or lost new rounds, and what a power cut takes
//! from it.

use crate::answer::{UNFLUSHED, consequence};
use crate::input::{Counting, Input};
use crate::words::Words as _;
use crate::{errors, failed, safety};
use analysis::errors::WRONG_SHARE_MIN;
use analysis::parity::ACCIDENTS;
use analysis::row::Row;
use analysis::view::Part;
use ledger::model::{Scenario, TrialState};
use observe::durability::Class;
use observe::safety::Grade;

/// A sentence each, without its full stop.
pub fn warnings(input: &Input, scenario: &Scenario) -> Vec<String> {
    let parts = &input.view().parts;
    let found = parts.iter().find_map(|part| Some((part, part.row(&scenario.label)?)));
    let row = found.map(|(_, row)| row);
    let mut all: Vec<String> = Vec::new();
    if row.is_none_or(|row| row.centre.is_none()) {
        all.push(without_value(input, scenario));
    }
    all.extend(found.into_iter().flat_map(|(part, row)| measured(row, part)));
    let durability = &scenario.durability;
    if durability.class > Class::KeepsAcknowledged {
        let reasons =
            if durability.reasons.is_empty() { String::new() } else { format!(" ({})", durability.reasons.join("; ")) };
        all.push(format!("after a power cut, {}{reasons}", consequence(durability.class)));
    }
    if row.is_some_and(Row::breaks_promise) {
        all.push(format!("practically no flush reached the device, so {UNFLUSHED}"));
    }
    let is_bad = |row: &Row| row.power_cut.as_ref().is_some_and(|measured| measured.grade > Grade::A);
    all.extend(found.filter(|(_, row)| is_bad(row)).and_then(|(part, row)| safety::risk(row, part)));
    all
}

/// What its trials showed.
fn measured(row: &Row, part: &Part) -> Vec<String> {
    // Who is no choice for what a power cut takes is held against nobody, and fails all the same. A single failure may be an accident.
    let errs = || errors::wrong(row).filter(|_| row.error_share() >= WRONG_SHARE_MIN);
    let is_failing = row.centre.is_some() && row.failed_rounds > ACCIDENTS;
    let fails = || is_failing.then(|| format!("it failed in {}", failed::rounds(row)));
    let errs = errors::risk(row, part).or_else(errs);
    let fails = failed::risk(row, part).or_else(fails);
    let stalls = row.stalls.map(|stalls| format!("it {}", stalls.words()));
    let own = part.confirmations.iter().filter(|one| one.pick == row.label);
    let better = own.filter_map(|one| one.speaks_against(part.could_replace(one)));
    let better = better.map(|better| format!("new rounds show {better} to be better"));
    errs.into_iter().chain(fails).chain(stalls).chain(better).collect()
}

/// That nobody knows whether it runs at all, or how fast.
fn without_value(input: &Input, scenario: &Scenario) -> String {
    let (counting, label) = (Counting::of(&input.contents), &scenario.label);
    let is_finished = |state: TrialState| state == TrialState::Finished;
    let trials = counting.trials.values().filter(|trial| trial.scenario == *label);
    let (failed, finished) = (counting.failed_of(label), trials.filter(|trial| is_finished(trial.state)).count());
    let why = input.view().failure_of(label).map_or_else(String::new, |why| format!(" ({why})"));
    match (failed, finished) {
        (0, _) => format!("{label} has no value: none of its trials has ended with one"),
        (1, 0) => format!("{label} has no value: its only trial failed{why}"),
        (failed, 0) => format!("{label} has no value: all {failed} of its trials failed{why}"),
        (failed, finished) => format!("{label} has no value: {failed} of its {} trials failed{why}", failed + finished),
    }
}
