//! What surefoot itself costs: `cargo bench -p surefoot --bench cost` prints (b) to (e) of `make bench`; (a) is
//! `cargo bench -p workloads`. Ratios of things measured in the same run; no test hangs on them. `cargo test` takes small inputs,
//! `-- --only e` one letter.

use goals::{Goals, Spread};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Instant;

fn main() -> ExitCode {
    let Some(mut goals) = Goals::of("cost") else { return ExitCode::SUCCESS };
    let folder =
        tempfile::Builder::new().prefix("surefoot-bench-").tempdir_in("/var/tmp").expect("a folder on the disk");
    let only = goals.after("--only").map(str::to_string);
    let wanted = |letter: &str| only.as_deref().is_none_or(|only| only == letter);
    if wanted("b") {
        driver(&mut goals);
    }
    if wanted("c") {
        provisioning(folder.path(), goals.is_test());
        measured_share(folder.path(), &mut goals);
    }
    if wanted("d") {
        report(&mut goals);
        page(&mut goals);
    }
    if wanted("e") {
        template(folder.path(), &mut goals);
    }
    goals.end()
}

/// (b) The OLTP driver without SQLite against the whole, CPU time of the thread; three pairs.
fn driver(goals: &mut Goals) {
    let folder = tempfile::tempdir().expect("a folder");
    let transactions = if goals.is_test() { 200 } else { 5000 };
    let percents: Vec<f64> = (0..3)
        .map(|pair| {
            let folder = folder.path().join(pair.to_string());
            std::fs::create_dir(&folder).expect("a folder");
            let cost = workloads::oltp::driver_cost(&folder, transactions).expect("SQLite works");
            cost.driver_seconds_per_transaction / cost.whole_seconds_per_transaction * 100.0
        })
        .collect();
    let percent = Spread::of(&percents);
    println!(
        "(b) OLTP driver without SQLite: {:.1} % of a transaction's CPU time (median of 3; {})",
        percent.median,
        goals.at_most("(b) percent of a transaction that the driver takes", percent, 10.0)
    );
}

const SUREFOOT: &str = env!("CARGO_BIN_EXE_surefoot");

const FILESYSTEMS: &[&str] = &["ext4", "xfs", "btrfs", "ext2", "ext3"];

/// (c) From the start of a trial to its first load, on a 4 GiB loop device.
fn provisioning(folder: &Path, small: bool) {
    let (size, rounds, filesystems) = if small { ("400MiB", 1, &FILESYSTEMS[..2]) } else { ("4GiB", 3, FILESYSTEMS) };
    let study = format!(
        "name = \"provisioning\"\nquestion = \"How long until the first load?\"\n[factors]\n\"storage.filesystem\" = {filesystems:?}\n\
         [storage]\nsize = \"{size}\"\n[workload.null]\ntime = \"100ms\"\n[design]\nprobe = \"0s\"\nrounds_min = {rounds}\nrounds_max = {rounds}\nwarm_up_runs = 0\ncontrol = false\n"
    );
    let json = goals::studied(SUREFOOT.as_ref(), folder, "provisioning", &study);
    let json: serde_json::Value = serde_json::from_str(&json).expect("a report is JSON");
    for filesystem in filesystems {
        let trials = json["ledger"]["trials"].as_array().expect("trials").iter();
        let of = trials.filter(|trial| trial["scenario"] == *filesystem);
        let seconds: Vec<f64> = of.filter_map(|trial| step(trial, "trial start to first load")).collect();
        println!(
            "(c) {filesystem:5} on {size}: {:.2} s from trial start to first load (median of {})",
            Spread::of(&seconds).median,
            seconds.len()
        );
    }
}

fn step(trial: &serde_json::Value, name: &str) -> Option<f64> {
    trial["steps"].as_array()?.iter().find(|step| step[0] == name)?[1].as_f64()
}

/// (c) How much of `quick`'s time is measurement, from its first trial to its last.
fn measured_share(folder: &Path, goals: &mut Goals) {
    let small = ["--rounds", "1", "--set", "workload.oltp.time=100ms", "--set", "storage.size=400MiB"];
    let scale: &[&str] = if goals.is_test() { &small } else { &["--rounds", "3"] };
    surefoot(folder, &[&["run", "quick", "--quiet"], scale].concat());
    let json: serde_json::Value =
        serde_json::from_str(&surefoot(folder, &["report", "quick.surefoot", "--json"])).expect("JSON");
    let trials = json["ledger"]["trials"].as_array().expect("trials");
    let moment = |trial: &serde_json::Value, name: &str| trial[name].as_f64().expect("a moment");
    let wall = moment(trials.last().expect("a trial"), "ended") - moment(&trials[0], "started");
    let sum = |measured_only: bool| -> f64 {
        let runs = json["ledger"]["runs"].as_array().expect("runs").iter();
        runs.filter(|run| !measured_only || run["warm_up"] == false).filter_map(|run| run["seconds"].as_f64()).sum()
    };
    let (measured, loaded) = (sum(true) / wall * 100.0, sum(false) / wall * 100.0);
    println!(
        "(c) quick: {measured:.0} % of its time is measurement, {loaded:.0} % with warm-ups ({})",
        goals.at_least("(c) percent of `quick` that is measurement", measured, 70.0)
    );
}

/// (d) A report over 100,000 runs: time and peak memory of the whole process.
fn report(goals: &mut Goals) {
    let folder = tempfile::tempdir_in("/dev/shm").expect("a folder in memory");
    let path = folder.path().join("large.surefoot");
    let runs = if goals.is_test() { 200 } else { 100_000 };
    let rounds = 50.min(runs / 20);
    synthetic(&path, &Shape { levels: &[20], rounds, runs_a_trial: runs / rounds / 20, seconds: 0 });
    let started = Instant::now();
    let output = Command::new("/usr/bin/time")
        .args(["-f", "%M", SUREFOOT, "report"])
        .arg(&path)
        .args(["--html", "/dev/null"])
        .output()
        .expect("the package `time` is installed");
    let seconds = started.elapsed().as_secs_f64();
    let said = String::from_utf8_lossy(&output.stderr);
    let peak: f64 = said.lines().last().and_then(|line| line.trim().parse().ok()).unwrap_or_else(|| panic!("{said}"));
    let megabytes = peak * 1024.0 / 1e6;
    let in_time = goals.at_most("(d) seconds of a report over 100,000 runs", seconds, 5.0);
    let in_memory = goals.at_most("(d) megabytes of a report over 100,000 runs", megabytes, 500.0);
    println!("(d) report over {runs} runs: {seconds:.1} s ({in_time}), {megabytes:.0} MB at its peak ({in_memory})");
}

/// (d) From the address to the load event of the page of a study of 42 scenarios, everything drawn, in headless Chromium.
fn page(goals: &mut Goals) {
    const PROBE: &str = "<script>addEventListener('load', () => { document.documentElement.dataset.loaded = performance.now(); });</script>";
    let folder = tempfile::tempdir().expect("a folder");
    let (ledger, page) = (folder.path().join("page.surefoot"), folder.path().join("page.html"));
    let (rounds, seconds, visits) = if goals.is_test() { (2, 30, 1) } else { (20, 300, 3) };
    synthetic(&ledger, &Shape { levels: &[7, 3, 2], rounds, runs_a_trial: 1, seconds });
    surefoot(folder.path(), &["report", "page.surefoot", "--html", "page.html"]);
    let html = std::fs::read_to_string(&page).expect("a page");
    std::fs::write(&page, html.replacen("</body>", &format!("{PROBE}</body>"), 1)).expect("a page");
    let open = |visit: usize| -> Option<f64> {
        let output = Command::new("chromium")
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--dump-dom"])
            .arg(format!("--user-data-dir={}", folder.path().join(visit.to_string()).display()))
            .arg(format!("file://{}", page.display()))
            .output()
            .ok()?;
        let dom = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(dom.contains("data-explore=\"ready\""), "the page did not draw itself");
        let milliseconds: f64 = dom.split_once("data-loaded=\"")?.1.split('"').next()?.parse().ok()?;
        Some(milliseconds / 1000.0)
    };
    let loads: Vec<f64> = (0..visits).filter_map(open).collect();
    if loads.is_empty() {
        println!("(d) page of 42 scenarios: SKIPPED, no Chromium (package chromium)");
        return goals.must("(d) a Chromium to open the page in (package chromium)", false);
    }
    let spread = Spread::of(&loads);
    println!(
        "(d) page of 42 scenarios, {:.2} MB: {:.2} s to its load event in Chromium (median of {}; {})",
        html.len() as f64 / 1e6,
        spread.median,
        loads.len(),
        goals.at_most("(d) seconds until the page of 42 scenarios is loaded", spread, 1.0)
    );
}

/// A study to make up: each run with sixty metrics.
struct Shape {
    /// How many levels each factor has; scenarios are all their combinations.
    levels: &'static [u32],
    rounds: u32,
    runs_a_trial: u32,
    /// Length of what is recorded second by second, as of PostgreSQL: 36 series and a histogram; 0 for none.
    seconds: u32,
}

impl Shape {
    /// Factor → level of a scenario.
    fn levels_of(&self, scenario: u32) -> std::collections::BTreeMap<String, String> {
        let mut rest = scenario;
        let level = |(factor, count): (usize, &u32)| {
            let level = rest % count;
            rest /= count;
            (format!("factor_{factor}"), format!("factor_{factor}={level}"))
        };
        self.levels.iter().enumerate().map(level).collect()
    }
}

fn synthetic(path: &Path, shape: &Shape) {
    use ledger::model::{AnalysisSettings, Place, Scenario, StudyRecord, TrialState};
    use observe::metric::{Direction, Metric};
    let (scenarios, rounds) = (shape.levels.iter().product::<u32>(), shape.rounds);
    let mut writer = ledger::Writer::create_or_open(path).expect("a new ledger");
    let label = |index: u32| shape.levels_of(index).into_values().collect::<Vec<_>>().join(" · ");
    let analysis = AnalysisSettings {
        confidence: 0.95,
        margin: 0.03,
        precision: 0.03,
        rounds_min: 6,
        rounds_max: rounds,
        ..AnalysisSettings::default()
    };
    let study = StudyRecord {
        name: "large".into(),
        question: "How long does a report take?".into(),
        seed: 1,
        balanced_orders: true,
        baseline: label(0),
        analysis,
        ..StudyRecord::default()
    };
    let scenario = |index: u32| Scenario {
        label: label(index),
        levels: shape.levels_of(index),
        workload: "oltp".into(),
        primary_metric: "metric_0".into(),
        control: false,
        baseline: index == 0,
        durability: observe::durability::Durability::full(),
        settings: serde_json::Value::Null,
    };
    writer.set_study(&study, &(0..scenarios).map(scenario).collect::<Vec<_>>(), None).expect("written");
    writer.begin_session(&std::collections::BTreeMap::new(), 0.0).expect("written");
    let metrics: Vec<Metric> =
        (0..60).map(|index| Metric::named(format!("metric_{index}"), "1/s".into(), Direction::More)).collect();
    for round in 0..rounds {
        for position in 0..scenarios {
            let id = writer.begin_trial(&label(position), Place::main(round, position), 1, 0.0).expect("written");
            for number in 0..shape.runs_a_trial {
                // Any figures will do, as long as they vary.
                let value =
                    |index: usize| 1000.0 + f64::from((round * 7 + position * 13 + number * 3) % 31) + index as f64;
                let measured = metrics.iter().enumerate().map(|(index, metric)| metric.at(value(index))).collect();
                let recorded = recorded(shape.seconds, value(0));
                let run = observe::record::Run { run: number, seconds: 10.0, metrics: measured, ..recorded };
                writer.run(id, &run).expect("written");
            }
            writer.finish_trials(&[(id, TrialState::Finished, None)], 1.0).expect("written");
        }
    }
    writer.end_session("all rounds are done", 2.0).expect("written");
}

/// What a run records beside its figures.
fn recorded(seconds: u32, value: f64) -> observe::record::Run {
    let mut run = observe::record::Run::default();
    if seconds > 0 {
        let mut latency = observe::latency::Latency::default();
        (1..20_000_u64).for_each(|i| latency.record(std::time::Duration::from_micros(i * i % 7_919 + 50 + i / 3)));
        run.latencies.insert("transaction".into(), latency);
        let points = |seed: u32| (0..seconds).map(|i| value + f64::from((i * 7_919 + seed * 104_729) % 977)).collect();
        run.series = (0..35).map(|seed| (format!("device_series_{seed}"), points(seed))).collect();
        run.series.insert("metric_0_per_second".into(), points(35));
    }
    run
}

/// Rows of a PostgreSQL data set of 1 GiB, index included (2026-11-21, PostgreSQL 15).
const ROWS_OF_A_GIBIBYTE: u32 = 4_300_000;

/// (e) PostgreSQL with 1 GiB of data on a fresh filesystem: copied from the template, beside loaded, flushed in both cases.
fn template(folder: &Path, goals: &mut Goals) {
    let (rows, rounds, size) = if goals.is_test() { (1000, 1, "400MiB") } else { (ROWS_OF_A_GIBIBYTE, 3, "4GiB") };
    let study = format!(
        "name = \"template\"\nquestion = \"How long until the data are there?\"\n[factors]\n\"service.postgres.data\" = [\"template\", \"load\"]\n\
         [storage]\nsize = \"{size}\"\n[workload.oltp]\nengine = \"postgres\"\ntable_size = {rows}\ntime = \"500ms\"\n\
         [design]\nprobe = \"0s\"\nrounds_min = {rounds}\nrounds_max = {rounds}\nwarm_up_runs = 0\ncontrol = false\n"
    );
    let json = goals::studied(SUREFOOT.as_ref(), folder, "template", &study);
    let json: serde_json::Value = serde_json::from_str(&json).expect("a report is JSON");
    let of = |scenario: &str, steps: &[&str]| {
        let trials = json["ledger"]["trials"].as_array().expect("trials").iter();
        let of = trials.filter(|trial| trial["scenario"].as_str().is_some_and(|label| label.contains(scenario)));
        let sum = |trial: &serde_json::Value| -> f64 {
            steps.iter().map(|name| step(trial, name).expect("the step was taken")).sum()
        };
        Spread::of(&of.map(sum).collect::<Vec<f64>>()).median
    };
    let (copied, loaded) =
        (of("template", &["copy template", "settle"]), of("load", &["create database", "load", "settle"]));
    println!(
        "(e) PostgreSQL, {rows} rows: {copied:.1} s from the template, {loaded:.1} s loaded, {:.1} times as long (medians of {rounds}; {})",
        loaded / copied,
        goals.at_least("(e) how many times longer loading takes than copying", loaded / copied, 5.0)
    );
}

fn surefoot(folder: &Path, arguments: &[&str]) -> String {
    goals::said(SUREFOOT.as_ref(), folder, arguments)
}
