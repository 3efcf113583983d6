//! A small study to write, and its parts.

use ledger::Writer;
use ledger::model::{AnalysisSettings, Contents, MeasuredSafety, Place, Scenario, StudyRecord, TrialState};
use observe::durability::{Class, Durability};
use observe::latency::Latency;
use observe::metric::{Direction, Metric};
use observe::record::Run;
use observe::safety::{Grade, Safety};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

#[path = "../../../report/tests/it/found.rs"]
mod found;

pub const SPEED: Metric = Metric::new("transactions_per_second", "1/s", Direction::More);
pub const DIRTY: Metric = Metric::new("dirty_bytes_end", "B", Direction::Neither);
pub const SCENARIOS: [&str; 2] = ["ext4", "xfs · noatime"];

pub fn study() -> StudyRecord {
    StudyRecord {
        name: "mail".into(),
        question: "which \"filesystem\",\nfor mail?".into(),
        text: "name = \"mail\"".into(),
        overrides: vec!["design.seed=7".into()],
        hash: "0af3".into(),
        // Above what a signed 64-bit integer holds.
        seed: u64::MAX - 1,
        balanced_orders: true,
        surefoot_version: "0.0.0".into(),
        created: 1_795_219_440.25,
        baseline: SCENARIOS[0].into(),
        analysis: AnalysisSettings {
            confidence: 0.95,
            margin: 0.03,
            precision: 0.03,
            rounds_min: 3,
            rounds_max: 10,
            ..AnalysisSettings::default()
        },
        ..StudyRecord::default()
    }
}

pub fn scenarios() -> Vec<Scenario> {
    let scenario = |label: &&str| Scenario {
        label: (*label).into(),
        levels: BTreeMap::from([("storage.filesystem".into(), (*label).into())]),
        workload: "oltp".into(),
        primary_metric: SPEED.name.into(),
        control: false,
        baseline: false,
        durability: Durability::full(),
        settings: serde_json::json!({ "storage": { "size": 1 } }),
    };
    SCENARIOS.iter().map(scenario).collect()
}

/// What a power cut took from a scenario.
pub fn safety(scenario: &str) -> MeasuredSafety {
    let found = Safety {
        by_settings: Some(Class::KeepsAcknowledged),
        worst_lost_commits: 12,
        unsteady: 1,
        notes: vec!["\"the log\" was full".into()],
        ..found::found(Grade::E)
    };
    MeasuredSafety {
        scenario: scenario.into(),
        ended: 1_795_219_441.5,
        asked: serde_json::json!({ "budget": 10.0 }),
        safety: Some(found),
        failure: None,
        member: None,
    }
}

/// Where a ledger may be made, in a folder of its own, which goes when it is dropped.
pub fn new_file(name: impl AsRef<Path>) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(name);
    (folder, path)
}

/// What is read of a ledger that was just begun.
pub fn just_begun() -> Contents {
    let (_folder, path) = new_file("s.surefoot");
    begun(&path).reader().and_then(|reader| reader.contents()).expect("readable")
}

/// A ledger with the study and an open session.
pub fn begun(path: &Path) -> Writer {
    let mut writer = Writer::create_or_open(path).expect("a new ledger");
    writer.set_study(&study(), &scenarios(), None).expect("written");
    writer.begin_session(&BTreeMap::from([("kernel".into(), "6.1".into())]), 1.0).expect("written");
    writer
}

pub fn run(number: u32, speed: f64) -> Run {
    let mut latency = Latency::default();
    for microseconds in 1..=100 {
        latency.record(Duration::from_micros(microseconds));
    }
    Run {
        run: number,
        warm_up: number == 0,
        started: 100.5,
        seconds: 30.0,
        metrics: vec![SPEED.at(speed), DIRTY.at(0.0)],
        latencies: BTreeMap::from([("transaction".into(), latency)]),
        series: BTreeMap::from([("transactions_per_second".into(), vec![1.5, f64::NAN, speed])]),
    }
}

/// One trial with a warm-up and two measured runs.
pub fn trial(writer: &mut Writer, scenario: &str, round: u32, state: TrialState, speed: f64) -> i64 {
    let id = writer.begin_trial(scenario, Place::main(round, 0), u64::MAX, 2.0).expect("written");
    for (number, speed) in [(0, 1.0), (1, speed / 2.0), (2, speed * 2.0)] {
        writer.run(id, &run(number, speed)).expect("written");
    }
    writer.finish_trials(&[(id, state, None)], 3.0).expect("written");
    id
}
