//! How long and how much memory it takes to read a large ledger: `cargo bench -p ledger [-- RUNS]`. It has no goal; what users wait
//! for, the report over as many runs, is in `crates/surefoot/benches/cost.rs`. `cargo test` takes a thousand runs.
//!
//! Reads in a process of its own, so that the writing does not count.

use ledger::model::{AnalysisSettings, Mode, Place, Scenario, StudyRecord, TrialState};
use ledger::{Reader, Writer};
use observe::durability::Durability;
use observe::latency::Latency;
use observe::metric::{Direction, Metric};
use observe::record::Run;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

/// The size that a report must cope with.
const RUNS: u32 = 100_000;
const SCENARIOS: u32 = 50;
const RUNS_A_TRIAL: u32 = 5;
/// As many as a run on a machine with two CPUs has.
const METRICS: u32 = 60;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    if let [what @ ("all" | "one"), path] = &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        return read(Path::new(path), what);
    }
    // `cargo test` gives words to choose tests by, or none.
    let is_test = !std::env::args().any(|argument| argument == "--bench");
    let runs = match arguments.first() {
        Some(word) if is_test && !"large".contains(word.as_str()) => return,
        _ if is_test => 1000,
        given => given.map_or(RUNS, |count| count.parse().expect("a number of runs")),
    };
    // In memory, where a flush costs nothing: the writing is not what is measured.
    let folder = tempfile::tempdir_in("/dev/shm").expect("a folder in memory");
    let path = folder.path().join("large.surefoot");
    let started = Instant::now();
    write(&path, runs);
    let size = path.metadata().expect("written").len();
    println!("write {runs} runs: {:.1} s, {:.0} MB", started.elapsed().as_secs_f64(), size as f64 / 1e6);
    let program = std::env::current_exe().expect("this program");
    for what in ["all", "one"] {
        let status = std::process::Command::new(&program).arg(what).arg(&path).status().expect("it runs");
        assert!(status.success(), "the reading process ended with {status}");
    }
}

fn read(path: &Path, what: &str) {
    let name = "metric_00_per_second";
    let started = Instant::now();
    let reader = Reader::open(path).expect("it opens");
    let contents = if what == "all" { reader.contents() } else { reader.contents_with(&[name]) }.expect("readable");
    let values = contents.values(name);
    let seconds = started.elapsed().as_secs_f64();
    let status = std::fs::read_to_string("/proc/self/status").expect("this process has one");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("the kernel keeps the peak").trim();
    println!(
        "{what} of the metrics of {} runs in {} rounds: {seconds:.2} s, peak memory {peak}",
        contents.runs.len(),
        values.len()
    );
}

fn write(path: &Path, runs: u32) {
    let mut writer = Writer::create_or_open(path).expect("a new ledger");
    let labels: Vec<String> = (0..SCENARIOS).map(|index| format!("scenario {index}")).collect();
    writer
        .set_study(&study(&labels[0]), &labels.iter().map(|label| scenario(label)).collect::<Vec<_>>())
        .expect("written");
    writer.begin_session(&BTreeMap::new(), 0.0).expect("written");
    let mut run = typical_run();
    for trial in 0..runs / RUNS_A_TRIAL {
        let id = writer
            .begin_trial(
                &labels[(trial % SCENARIOS) as usize],
                Place::main(trial / SCENARIOS, trial % SCENARIOS),
                1,
                0.0,
            )
            .expect("written");
        for number in 0..RUNS_A_TRIAL {
            run.run = number;
            run.warm_up = number == 0;
            writer.run(id, &run).expect("written");
        }
        writer.finish_trial(id, TrialState::Finished, None, 1.0).expect("written");
    }
}

fn typical_run() -> Run {
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

fn scenario(label: &str) -> Scenario {
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

fn study(baseline: &str) -> StudyRecord {
    let analysis = AnalysisSettings {
        confidence: 0.95,
        margin: 0.03,
        precision: 0.03,
        rounds_min: 3,
        rounds_max: 10_000,
        up_max: None,
        order: ledger::model::Order::default(),
        mode: Mode::Full,
        confirmation_rounds: 0,
        screen_rounds: 0,
        safety_classes: None,
    };
    StudyRecord {
        name: "large".into(),
        question: String::new(),
        text: String::new(),
        overrides: Vec::new(),
        asked: Vec::new(),
        named: None,
        hash: String::new(),
        seed: 1,
        balanced_orders: true,
        surefoot_version: String::new(),
        created: 0.0,
        baseline: baseline.into(),
        analysis,
        tables: Vec::new(),
        limits: Vec::new(),
        turns: None,
    }
}
