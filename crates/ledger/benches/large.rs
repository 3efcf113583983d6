//! How long and how much memory it takes to read a large ledger: `cargo bench -p ledger [-- RUNS]`. It has no goal; what users wait
//! for, the report over as many runs, is in `crates/surefoot/benches/cost.rs`. `cargo test` takes a thousand runs.
//!
//! Reads in a process of its own, so that the writing does not count.

#[path = "large/typical.rs"]
mod typical;

use ledger::model::{Place, TrialState};
use ledger::{Reader, Writer};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;
use typical::{scenario, study, typical_run};

/// The size that a report must cope with.
const RUNS: u32 = 100_000;
const SCENARIOS: u32 = 50;
const RUNS_A_TRIAL: u32 = 5;

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
        .set_study(&study(&labels[0]), &labels.iter().map(|label| scenario(label)).collect::<Vec<_>>(), None)
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
        writer.finish_trials(&[(id, TrialState::Finished, None)], 1.0).expect("written");
    }
}
