//! What a guest kernel costs a trial, and how much slower work is there than on the host: `cargo bench -p surefoot --bench
//! guest`, as root, which the host's side needs; with `-- --only TEXT` the parts with that text. `cargo test` takes small inputs.
//!
//! Goals: at most 2 s from the conductor's spawn to the trial's first step, 1 s from its last record to the end of its process,
//! and of a run's time 1 % for saying records. Missed where the median's interval lies wholly on the wrong side. How much
//! slower has no goal: contrasts of pairs in the rounds of one study, with its interval.

use goals::{Goals, Spread};
use serde_json::Value;
use std::path::Path;
use std::process::ExitCode;

const GUESTS: usize = 12;

const START_SECONDS_MAX: f64 = 2.0;
const STOP_SECONDS_MAX: f64 = 1.0;
const RECORDS_SHARE_MAX: f64 = 0.01;

struct Scale {
    guests: usize,
    rounds: u32,
    seconds: &'static str,
    /// Of runs whose records are counted: a progress record a second.
    long_rounds: u32,
    long_seconds: &'static str,
}

const SQLITE: &str = "[workload.oltp]\nengine = \"sqlite\"";

/// The same file, filesystem and image on both sides; only direct I/O gets as far as the image.
const FILE: &str = "[workload.block-io]\nsize = \"128MiB\"\nverify = false\npattern = ";

/// What is compared: a name, and the load without its length.
const CASES: &[(&str, &str, &str)] = &[
    ("system calls: random reads of 4 KiB in memory", FILE, "\"randread\""),
    ("direct: random reads of 4 KiB", FILE, "\"randread\"\ndirect = true"),
    ("direct: random writes of 4 KiB", FILE, "\"randwrite\"\ndirect = true"),
    ("direct: random writes, each flushed", FILE, "\"randwrite\"\ndirect = true\nfdatasync_ios = 1"),
    ("direct: random reads, 16 in flight", FILE, "\"randread\"\ndirect = true\nengine = \"io_uring\"\ndepth = 16"),
    ("oltp on SQLite", SQLITE, ""),
];

const BOTH: &str = "[factors]\nbench = [\"host\", \"guest\"]";

fn main() -> ExitCode {
    let Some(mut goals) = Goals::of("guest") else { return ExitCode::SUCCESS };
    let only = goals.after("--only").unwrap_or_default().to_string();
    let cases = if goals.is_test() { &CASES[..1] } else { CASES };
    let scale = match goals.is_test() {
        true => Scale { guests: 1, rounds: 2, seconds: "100ms", long_rounds: 1, long_seconds: "1s" },
        false => Scale { guests: GUESTS, rounds: 8, seconds: "1s", long_rounds: 2, long_seconds: "10s" },
    };
    let folder =
        tempfile::Builder::new().prefix("surefoot-bench-").tempdir_in("/var/tmp").expect("a folder on the disk");
    if "start and stop".contains(&only) {
        start_and_stop(folder.path(), &scale, &mut goals);
    }
    if "records".contains(&only) {
        records(folder.path(), &scale, &mut goals);
    }
    for (name, load, rest) in cases.iter().filter(|(name, ..)| name.contains(&only)) {
        let load = format!("{load}{rest}\ntime = \"{}\"", scale.seconds);
        let json = study(folder.path(), BOTH, &load, scale.rounds);
        slow_down(name, &json);
    }
    goals.end()
}

fn start_and_stop(folder: &Path, scale: &Scale, goals: &mut Goals) {
    let json = study(folder, "bench = \"guest\"", "[workload.null]\ntime = \"100ms\"", scale.guests as u32);
    // What the guest does before the trial counts from its first word, which the conductor hears a little later.
    let starts = [
        ("spawn to trial start", &["start guest", "furnish guest"][..], Some(START_SECONDS_MAX)),
        ("of it until the guest's first word", &["start guest"], None),
    ];
    let stops = [
        ("last record to the process's end", &["stop guest"][..], Some(STOP_SECONDS_MAX)),
        ("the trial's own teardown before it", &["tear down"], None),
    ];
    for (name, steps, goal) in starts.into_iter().chain(stops) {
        let seconds: Vec<f64> =
            trials(&json, "").map(|trial| steps.iter().map(|name| step(trial, name)).sum()).collect();
        let spread = Spread::of(&seconds);
        let Spread { median, low, high } = spread;
        let goal = goal.map_or(String::new(), |goal| format!(" ({})", goals.at_most(name, spread, goal)));
        println!("{name}: {median:.3} s, {low:.3} to {high:.3} s{goal}; median of {} guests", seconds.len());
    }
}

/// SQLite's transactions, in runs of a length that is not a toy's.
fn records(folder: &Path, scale: &Scale, goals: &mut Goals) {
    let load = format!("{SQLITE}\ntime = \"{}\"", scale.long_seconds);
    let json = study(folder, BOTH, &load, scale.long_rounds);
    for bench in ["host", "guest"] {
        let share = |trial: &Value| {
            let runs = json["ledger"]["runs"].as_array().expect("runs").iter();
            let runs = runs.filter(|run| run["trial"] == trial["id"]).filter_map(|run| run["seconds"].as_f64());
            step(trial, "records") / runs.sum::<f64>()
        };
        let shares: Vec<f64> = trials(&json, bench).map(share).collect();
        let spread = Spread::of(&shares);
        println!(
            "records on the {bench}: {:.4} % of the runs' time, {:.4} to {:.4} % (as a share, {}); {} trials of one run of {}",
            spread.median * 100.0,
            spread.low * 100.0,
            spread.high * 100.0,
            goals.at_most(&format!("records on the {bench}, share of time"), spread, RECORDS_SHARE_MAX),
            shares.len(),
            scale.long_seconds
        );
    }
}

/// How many times as long the same work takes in the guest, by the report's own contrast of pairs.
fn slow_down(name: &str, json: &Value) {
    let workload = &json["analysis"]["workloads"][0];
    let claim = &workload["claims"][0];
    let figure = |name: &str| claim[name].as_f64().unwrap_or(f64::NAN);
    let of = |bench: &str| {
        let scenarios = workload["scenarios"].as_array().expect("scenarios");
        scenarios.iter().find(|scenario| scenario["bench"] == bench).expect("its scenario")["geometric_mean"]
            .as_f64()
            .unwrap_or(f64::NAN)
    };
    assert_eq!((claim["of"].as_str(), claim["against"].as_str()), (Some("guest"), Some("host")), "{claim}");
    println!(
        "{name}: {:.0} 1/s on the host, {:.0} in the guest: {:.2} times as long, {:.2} to {:.2} (95 %, {} pairs)",
        of("host"),
        of("guest"),
        1.0 / figure("ratio"),
        1.0 / figure("high"),
        1.0 / figure("low"),
        claim["rounds"]
    );
}

/// Runs a study and gives its report.
fn study(folder: &Path, bench: &str, load: &str, rounds: u32) -> Value {
    let text = format!(
        "name = \"guest\"\n{bench}\n[storage]\nsize = \"512MiB\"\n{load}\n\
         [design]\nprobe = \"0s\"\nrounds_min = {rounds}\nrounds_max = {rounds}\nwarm_up_runs = 0\ncontrol = false\n"
    );
    let report = goals::studied(Path::new(env!("CARGO_BIN_EXE_surefoot")), folder, "guest", &text);
    serde_json::from_str(&report).expect("a report is JSON")
}

/// Trials of the scenarios with this text.
fn trials<'a>(json: &'a Value, scenario: &'a str) -> impl Iterator<Item = &'a Value> {
    let all = json["ledger"]["trials"].as_array().expect("trials").iter();
    all.filter(move |trial| trial["scenario"].as_str().is_some_and(|label| label.contains(scenario)))
}

fn step(trial: &Value, name: &str) -> f64 {
    let steps = trial["steps"].as_array().expect("steps");
    let found = steps.iter().find(|step| step[0] == name).and_then(|step| step[1].as_f64());
    found.unwrap_or_else(|| panic!("no step `{name}` in {trial}"))
}
