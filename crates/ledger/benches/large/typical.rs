//! What large results files are made of: one study, scenarios alike, and a run with all its figures.

use ledger::model::{AnalysisSettings, Scenario, StudyRecord};
use observe::durability::Durability;
use observe::latency::Latency;
use observe::metric::{Direction, Metric};
use observe::record::Run;
use std::collections::BTreeMap;
use std::time::Duration;

/// As many as a run on a machine with two CPUs has.
const METRICS: u32 = 60;

pub fn typical_run() -> Run {
    let mut latency = Latency::default();
    (1..2000).for_each(|step| latency.record(Duration::from_micros(step * step)));
    let metric = |index: u32| Metric::named(format!("metric_{index:02}_per_second"), "1/s".into(), Direction::More);
    Run {
        seconds: 30.0,
        metrics: (0..METRICS).map(|index| metric(index).at(f64::from(index) + 0.5)).collect(),
        latencies: BTreeMap::from([("transaction".into(), latency)]),
        series: (0..3).map(|index| (format!("series_{index}"), vec![1.0; 30])).collect(),
        ..Run::default()
    }
}

pub fn scenario(label: &str) -> Scenario {
    Scenario {
        label: label.into(),
        levels: BTreeMap::new(),
        workload: "oltp".into(),
        primary_metric: "metric_00_per_second".into(),
        control: false,
        baseline: false,
        durability: Durability::full(),
        settings: serde_json::Value::Null,
    }
}

pub fn study(baseline: &str) -> StudyRecord {
    let analysis = AnalysisSettings {
        confidence: 0.95,
        margin: 0.03,
        precision: 0.03,
        rounds_min: 3,
        rounds_max: 10_000,
        ..AnalysisSettings::default()
    };
    StudyRecord {
        name: "large".into(),
        seed: 1,
        balanced_orders: true,
        baseline: baseline.into(),
        analysis,
        ..StudyRecord::default()
    }
}
