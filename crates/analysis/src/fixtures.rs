//! Records of a ledger that tests begin from.

use crate::counting::Counting;
use ledger::model::{Phase, RunRow, Scenario, Trial, TrialState};
use std::collections::BTreeMap;

/// A finished trial of the first round, ten seconds long; groups follow each other.
pub fn trial(id: i64, scenario: &str, group: u32) -> Trial {
    let started = f64::from(group) * 10.0;
    Trial {
        id,
        scenario: scenario.into(),
        phase: Phase::Main,
        round: 0,
        position: 0,
        group: Some(group),
        member: None,
        seed: 1,
        state: TrialState::Finished,
        started,
        ended: Some(started + 10.0),
        failure: None,
        steps: Vec::new(),
        facts: BTreeMap::new(),
        commands: Vec::new(),
        warnings: Vec::new(),
        notes: Vec::new(),
        transcripts: Vec::new(),
    }
}

/// A trial's only run, with these figures.
pub fn run<'a, 'b: 'a>(trial: i64, figures: impl IntoIterator<Item = &'a (&'b str, f64)>) -> RunRow {
    let metrics = figures.into_iter().map(|(name, value)| ((*name).into(), *value)).collect();
    RunRow { id: trial, trial, run: 0, warm_up: false, started: 0.0, seconds: 10.0, metrics }
}

/// Trials with a run each, all of which count.
pub fn counting<'a>(trials: &'a [Trial], runs: &'a [RunRow]) -> Counting<'a> {
    Counting {
        trials: trials.iter().map(|trial| (trial.id, trial)).collect(),
        runs: runs.iter().map(|run| (run.trial, vec![run])).collect(),
        warm_ups: BTreeMap::new(),
        failed: Vec::new(),
    }
}

/// The baseline "a" of a load of transactions, with these settings.
pub fn baseline(settings: serde_json::Value) -> Scenario {
    Scenario {
        label: "a".into(),
        levels: BTreeMap::new(),
        workload: "oltp".into(),
        primary_metric: "transactions_per_second".into(),
        control: false,
        baseline: true,
        durability: observe::durability::Durability::full(),
        settings,
    }
}
