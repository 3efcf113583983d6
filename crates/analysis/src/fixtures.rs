//! Records of a ledger that tests begin from.

use ledger::model::{Phase, Scenario, Trial, TrialState};
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
