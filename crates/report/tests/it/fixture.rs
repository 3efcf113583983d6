//! Ledger contents made by hand: tables of values, one row a scenario, one column a round.

use crate::export;
use ledger::model::{
    AnalysisSettings, Contents, MeasuredSafety, Order, Phase, RunDetail, RunRow, Scenario, Session, StudyRecord, Trial,
    TrialState,
};
use observe::durability::{Class, Durability};
use observe::latency::Latency;
use observe::metric::{Direction, Metric};
use observe::record::Failure;
use observe::safety::{Grade, Safety};
use report::input::{Details, Input};
use report::{Knowledge, Place};
use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::time::Duration;

pub use crate::found::found;

/// One scenario of a table.
pub struct Row {
    pub label: String,
    pub levels: Vec<(&'static str, String)>,
    pub values: Vec<Option<f64>>,
    pub class: Class,
    pub control: bool,
}

impl Row {
    pub fn new(filesystem: &str, values: &[f64]) -> Row {
        Row {
            label: filesystem.into(),
            levels: vec![("storage.filesystem", filesystem.into())],
            values: values.iter().copied().map(Some).collect(),
            class: Class::KeepsAcknowledged,
            control: false,
        }
    }

    /// Of a filesystem with a cache of this size.
    pub fn with_cache(filesystem: &str, cache: &str, values: &[f64]) -> Row {
        Row {
            label: format!("{filesystem} · {cache}"),
            levels: vec![("storage.filesystem", filesystem.into()), ("workload.oltp.cache_size", cache.into())],
            ..Row::new(filesystem, values)
        }
    }
}

/// A study's primary values.
pub struct Table {
    pub workload: &'static str,
    pub metric: Metric,
    pub rows: Vec<Row>,
}

pub fn transactions() -> Metric {
    Metric::new("transactions_per_second", "1/s", Direction::More)
}

/// The published data set of three filesystems and two buffer sizes in six rounds; baseline ext4/128M.
pub fn filesystems_and_buffers() -> Table {
    let values: [(&str, &str, [f64; 6]); 6] = [
        ("ext4", "128M", [2990.0, 3015.0, 2931.0, 2954.0, 2876.0, 2902.0]),
        ("ext4", "2G", [3871.0, 3790.0, 3843.0, 3702.0, 3748.0, 3661.0]),
        ("xfs", "128M", [3081.0, 3120.0, 3012.0, 3077.0, 2940.0, 3015.0]),
        ("xfs", "2G", [3953.0, 4011.0, 3890.0, 3902.0, 3799.0, 3766.0]),
        ("btrfs", "128M", [2655.0, 2702.0, 2610.0, 2588.0, 2571.0, 2493.0]),
        ("btrfs", "2G", [3215.0, 3120.0, 3188.0, 3049.0, 3102.0, 2990.0]),
    ];
    let mut rows: Vec<Row> =
        values.iter().map(|(filesystem, cache, values)| Row::with_cache(filesystem, cache, values)).collect();
    let control: Vec<f64> =
        [1.004, 0.991, 1.009, 0.996, 1.011, 0.998].iter().zip(&values[0].2).map(|(f, v)| f * v).collect();
    let mut control = Row { levels: rows[0].levels.clone(), control: true, ..Row::new("x", &control) };
    control.label = "ext4 · 128M (control)".into();
    rows.push(control);
    Table { workload: "oltp", metric: transactions(), rows }
}

/// Contents of a table: each value becomes a finished trial of one run, each hole a failed one.
pub fn contents(table: &Table) -> Contents {
    let study = StudyRecord {
        name: "filesystems".into(),
        question: "Which filesystem serves most transactions?".into(),
        text: "name = \"filesystems\"\n[factors]\n\"storage.filesystem\" = [\"ext4\", \"xfs\"]\n".into(),
        overrides: vec!["design.rounds_max=6".into()],
        hash: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08".into(),
        seed: 7,
        balanced_orders: true,
        surefoot_version: "0.1.0".into(),
        created: 1_795_219_440.0,
        baseline: table.rows.first().map(|row| row.label.clone()).unwrap_or_default(),
        analysis: AnalysisSettings {
            confidence: 0.95,
            margin: 0.03,
            precision: 0.03,
            rounds_min: 6,
            rounds_max: 20,
            ..AnalysisSettings::default()
        },
        ..StudyRecord::default()
    };
    let mut contents = Contents {
        study,
        members: Vec::new(),
        sessions: vec![session()],
        probes: Vec::new(),
        scenarios: table.rows.iter().map(|row| scenario(table, row)).collect(),
        safety: Vec::new(),
        faults: Vec::new(),
        decisions: Vec::new(),
        trials: Vec::new(),
        runs: Vec::new(),
        metrics: metrics(&table.metric),
        without_checksum: 0,
    };
    let rounds = table.rows.iter().map(|row| row.values.len()).max().unwrap_or(0);
    for round in 0..rounds {
        for position in 0..table.rows.len() {
            // A shuffle good enough for a picture: a step that has no divisor in common with the count.
            let row = &table.rows[(position * 5 + round * 3) % table.rows.len()];
            if let Some(value) = row.values.get(round) {
                add_trial(&mut contents, table, row, round as u32, position as u32, *value);
            }
        }
    }
    contents
}

fn session() -> Session {
    let facts = [
        ("cpu_model", "AMD EPYC 7763 64-Core Processor"),
        ("cpus", "2"),
        ("memory_bytes", "25282367488"),
        ("kernel", "6.12.9"),
        ("device", "vda"),
        ("mkfs.xfs", "mkfs.xfs version 6.1.0"),
    ];
    Session {
        started: 1_795_219_440.0,
        ended: Some(1_795_221_000.0),
        machine: facts.iter().map(|(name, value)| ((*name).to_string(), (*value).to_string())).collect(),
        reason: Some("the wanted precision is reached".into()),
        member: None,
    }
}

fn scenario(table: &Table, row: &Row) -> Scenario {
    let reasons = match row.class {
        Class::KeepsAcknowledged => Vec::new(),
        _ => vec!["`nobarrier`: flushes don't reach the device".to_string()],
    };
    Scenario {
        label: row.label.clone(),
        levels: row.levels.iter().map(|(factor, level)| ((*factor).to_string(), level.clone())).collect(),
        workload: table.workload.into(),
        primary_metric: table.metric.name.to_string(),
        control: row.control,
        baseline: false,
        durability: Durability { class: row.class, reasons },
        settings: serde_json::json!({ "storage": { "device": "loop", "filesystem": row.levels.first().map(|level| level.1.clone()) } }),
    }
}

fn metrics(primary: &Metric) -> BTreeMap<String, Metric> {
    let others = [
        Metric::new("latency_microseconds_p99", "µs", Direction::Less),
        Metric::new("cpu_user_share", "1", Direction::Neither),
        Metric::new("cpu_system_share", "1", Direction::Neither),
        Metric::new("cpu_iowait_share", "1", Direction::Neither),
        Metric::new("cpu_idle_share", "1", Direction::Neither),
        Metric::new("device_write_bytes", "B", Direction::Neither),
        Metric::new("write_amplification", "1", Direction::Less),
    ];
    others.into_iter().chain([primary.clone()]).map(|metric| (metric.name.to_string(), metric)).collect()
}

fn add_trial(contents: &mut Contents, table: &Table, row: &Row, round: u32, position: u32, value: Option<f64>) {
    let id = contents.trials.len() as i64 + 1;
    let started = contents.study.created + id as f64 * 37.0;
    let filesystem = row.levels.first().map_or("ext4", |level| level.1.as_str());
    contents.trials.push(Trial {
        id,
        scenario: row.label.clone(),
        phase: Phase::Main,
        round,
        group: None,
        member: None,
        position,
        seed: u64::from(round) + 7,
        state: if value.is_some() { TrialState::Finished } else { TrialState::Failed },
        started,
        ended: Some(started + 35.0),
        failure: value.is_none().then(|| Failure {
            step: "load".into(),
            causes: vec!["cannot write /mnt/t".into(), "No space left on device".into()],
            log: String::new(),
        }),
        steps: vec![("mkfs".into(), 0.4), ("load".into(), 3.0)],
        facts: [("filesystem".to_string(), filesystem.to_string())].into(),
        commands: vec![format!("mkfs.{filesystem} -q /dev/loop0"), "mount /dev/loop0 /mnt/t".into()],
        warnings: Vec::new(),
        notes: Vec::new(),
        transcripts: Vec::new(),
    });
    let Some(value) = value else { return };
    // All scenarios write as much for each transaction.
    let written = if table.metric.direction == Direction::More { value * 30.0 * 34_000.0 } else { 3.1e9 };
    let figures = [
        (table.metric.name.as_ref(), value),
        ("latency_microseconds_p99", 2.4e7 / value.max(1e-9)),
        ("cpu_user_share", 0.31),
        ("cpu_system_share", 0.22 + f64::from(position) * 0.01),
        ("cpu_iowait_share", 0.17),
        ("cpu_idle_share", 0.30 - f64::from(position) * 0.01),
        ("device_write_bytes", written),
        ("write_amplification", 2.4),
    ];
    contents.runs.push(RunRow {
        id,
        trial: id,
        run: 0,
        warm_up: false,
        started: started + 4.0,
        seconds: 30.0,
        metrics: figures.iter().map(|(name, value)| ((*name).into(), *value)).collect(),
    });
}

/// Adds new rounds of a scenario of the table.
pub fn confirm(contents: &mut Contents, table: &Table, label: &str, values: &[f64]) {
    let row = table.rows.iter().find(|row| row.label == label).expect("a row of the table");
    for (round, value) in values.iter().enumerate() {
        add_trial(contents, table, row, round as u32, 0, Some(*value));
        contents.trials.last_mut().expect("just added").phase = Phase::Confirmation;
    }
    // A session ends after its trials.
    let last = contents.trials.iter().filter_map(|trial| trial.ended).fold(0.0, f64::max);
    let session = contents.sessions.last_mut().expect("a session");
    session.ended = session.ended.map(|ended| ended.max(last));
}

/// The runs of trials that are wanted.
pub fn runs_of(contents: &mut Contents, wanted: impl Fn(&Trial) -> bool) -> impl Iterator<Item = &mut RunRow> {
    let ids: Vec<i64> = contents.trials.iter().filter(|trial| wanted(trial)).map(|trial| trial.id).collect();
    contents.runs.iter_mut().filter(move |run| ids.contains(&run.trial))
}

/// Leaves the runs of trials that are there and finished.
pub fn keep_finished(contents: &mut Contents) {
    let finished = contents.trials.iter().filter(|trial| trial.state == TrialState::Finished);
    let finished: Vec<i64> = finished.map(|trial| trial.id).collect();
    contents.runs.retain(|run| finished.contains(&run.trial));
}

/// Takes each run apart into so many turns of a second; `change` makes of a turn what it was.
pub fn split_into_turns(contents: &mut Contents, turns: u32, mut change: impl FnMut(&Trial, &mut RunRow)) {
    contents.study.analysis.order = Order::Turns;
    for run in std::mem::take(&mut contents.runs) {
        let trial = contents.trials.iter().find(|trial| trial.id == run.trial).expect("each run has its trial");
        for number in 0..turns {
            let id = run.id * 100 + i64::from(number);
            let mut turn = RunRow { id, run: number, seconds: 1.0, ..run.clone() };
            change(trial, &mut turn);
            contents.runs.push(turn);
        }
    }
}

/// Adds what a power cut took from a scenario.
pub fn cut(contents: &mut Contents, label: &str, safety: Safety) {
    contents.safety.push(MeasuredSafety {
        scenario: label.into(),
        ended: 1_795_220_000.0,
        asked: serde_json::json!({}),
        safety: Some(safety),
        failure: None,
        member: None,
    });
}

/// Adds that what a power cut takes from a scenario could not be measured, for this.
pub fn cut_failed(contents: &mut Contents, label: &str, cause: &str) {
    cut(contents, label, found(Grade::A));
    let failure = Failure { step: "record".into(), causes: vec![cause.into()], log: String::new() };
    let last = contents.safety.last_mut().expect("just added");
    (last.safety, last.failure) = (None, Some(failure));
}

/// Contents with histograms and series that fit the values.
pub fn input(table: &Table) -> Input {
    input_of(contents(table), table)
}

/// The input of the published data set: worked out once for all who ask, and each has one of its own.
pub fn published() -> Input {
    static MADE: OnceLock<(Contents, Details)> = OnceLock::new();
    let (contents, details) = MADE.get_or_init(|| {
        let made = input(&filesystems_and_buffers());
        (made.contents, made.details)
    });
    knowing(Input::new(contents.clone(), details.clone()))
}

/// Its page.
pub fn published_page() -> &'static str {
    static PAGE: OnceLock<String> = OnceLock::new();
    PAGE.get_or_init(|| report::html(&published()))
}

/// As [`input`], of contents that were changed.
pub fn input_of(contents: Contents, table: &Table) -> Input {
    let mut details = Details::default();
    for run in &contents.runs {
        let trial = contents.trials.iter().find(|trial| trial.id == run.trial).expect("each run has its trial");
        let value = run.metrics[table.metric.name.as_ref()];
        // A load that takes less time has shorter latencies, too.
        let speed = if table.metric.direction == Direction::More { value } else { 3e4 / value.max(1e-9) };
        let seed = u64::from(trial.round) * 97 + trial.id as u64;
        details.add(trial, &detail((value, speed), &table.metric.name, seed));
    }
    details.runs_all = contents.runs.len();
    // Of an input of its own: what this one means must not be worked out before its test has changed it.
    is_short(&knowing(Input::new(contents.clone(), details.clone())));
    knowing(Input::new(contents, details))
}

/// Told what of these loads is a choice.
fn knowing(input: Input) -> Input {
    input.knowing(Knowledge {
        is_choice: |_, setting| ["cache_size", "server"].contains(&setting),
        ..Knowledge::default()
    })
}

/// The short answer of every study that any test makes has at most twelve lines of at most a hundred letters.
pub fn is_short(input: &Input) {
    let place = Place {
        study: Some("oltp-on-filesystems"),
        results: Some("filesystems.surefoot"),
        page: Some("filesystems.html"),
        work: None,
    };
    let text = report::summary(input, &place, 100, false);
    let lines = text.lines().count();
    assert!((1..=report::LINES_MAX).contains(&lines), "{lines} lines:\n{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "wider than 100:\n{text}");
}

/// The short answer in one line.
pub fn short(input: &Input) -> String {
    one_line(&report::summary(input, &Place::default(), 100, false))
}

/// Without the breaks and columns of a terminal.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn detail((value, speed): (f64, f64), series: &str, seed: u64) -> RunDetail {
    let mut random = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random >> 11) as f64 / (1u64 << 53) as f64
    };
    let mut latency = Latency::default();
    for _ in 0..4_000 {
        let tail = -next().max(1e-9).ln();
        latency.record(Duration::from_nanos((4e9 / speed.max(1e-3) * (0.6 + 0.25 * tail * tail)) as u64));
    }
    let line = |i: usize, noise: f64| if i % 12 == 11 { 0.45 * value } else { value * (0.96 + 0.12 * noise) };
    let values: Vec<f64> = (0..30).map(|i| line(i, next())).collect();
    RunDetail { latencies: [("transaction".into(), latency)].into(), series: [(series.into(), values)].into() }
}

/// A scenario of the first workload, as the JSON has it.
pub fn row_of_json(input: &Input, label: &str) -> serde_json::Value {
    let json = export::json(input);
    let rows = json["workloads"][0]["scenarios"].as_array().expect("a list").clone();
    rows.into_iter().find(|row| row["scenario"] == label).expect("it is in the plan")
}
