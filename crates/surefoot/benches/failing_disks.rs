//! How many faults a second are tried, each with its four ways on: `cargo bench -p surefoot --bench failing_disks`, as root; with
//! `-- --only sqlite` the rows with that text. `cargo test` takes small inputs.
//!
//! Beside it the way of a loop that makes the filesystem, loads, fails and looks, once for each case: the same program by `--replay`.
//! Both take turns. Goals: 8 faults a second with SQLite and 1 with PostgreSQL.
//!
//! `honest`: all databases, and files, on a disk that is well, through the same machinery, each way on at each request. Nothing may be found,
//! in 2,000 cases.

use goals::{Goals, Spread, said};
use serde_json::Value;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

/// A database, its goal in faults a second, and the lines of its filesystem and workload. SQLite with a WAL is on XFS: on an ext4 that has
/// gone read-only it waits ten seconds for a lock, whoever asks.
const ROWS: &[(&str, f64, &str)] = &[
    (
        "sqlite, rollback, ext4",
        8.0,
        "[storage]\nfilesystem = \"ext4\"\n[workload.oltp]\nengine = \"sqlite\"\njournal_mode = \"delete\"\nsynchronous = \"extra\"",
    ),
    (
        "sqlite, WAL, xfs",
        8.0,
        "[storage]\nfilesystem = \"xfs\"\n[workload.oltp]\nengine = \"sqlite\"\njournal_mode = \"wal\"\nsynchronous = \"full\"",
    ),
    ("postgres, ext4", 1.0, "[storage]\nfilesystem = \"ext4\"\n[workload.oltp]\nengine = \"postgres\""),
];

/// What runs on a disk that is well: a name, the workload, what `[safety]` has of its own, and seconds.
const HONEST: &[(&str, &str, &str, u32)] = &[
    (
        "SQLite, rollback",
        "[workload.oltp]\nengine = \"sqlite\"\njournal_mode = \"delete\"\nsynchronous = \"extra\"",
        "",
        30,
    ),
    ("SQLite, WAL", "[workload.oltp]\nengine = \"sqlite\"\njournal_mode = \"wal\"\nsynchronous = \"full\"", "", 30),
    ("LMDB", "[workload.three-n-plus-one]\nengine = \"lmdb\"\nsync = \"commit\"", "", 30),
    ("PostgreSQL", "[workload.oltp]\nengine = \"postgres\"", "", 120),
    ("MariaDB", "[workload.oltp]\nengine = \"mariadb\"", "", 120),
    ("GT.M", "[workload.three-n-plus-one]\nengine = \"gtm\"", "", 60),
    ("files", "[workload.tree]", "load = \"files\"\nfiles = \"rename-fsync-directory\"", 20),
];

const HONEST_CASES_MIN: f64 = 2000.0;

/// Ways on of a fault.
const WAYS: f64 = 4.0;

const TURNS: usize = 7;

fn main() -> ExitCode {
    let Some(mut goals) = Goals::of("failing_disks") else { return ExitCode::SUCCESS };
    let only = goals.after("--only").unwrap_or_default().to_string();
    let is_test = goals.is_test();
    let (turns, seconds) = if is_test { (1, 10) } else { (TURNS, 20) };
    let folder =
        tempfile::Builder::new().prefix("surefoot-bench-").tempdir_in("/var/tmp").expect("a folder on the disk");
    // A server has tried nothing after three seconds where other work is done; its faults have a test of their own (`tests/end_to_end/failing_disks.rs`).
    let is_quick = |row: &&(&str, f64, &str)| !is_test || row.1 > 1.0;
    for (name, goal, load) in ROWS.iter().filter(is_quick).filter(|(name, ..)| name.contains(&only)) {
        let rates: Vec<(f64, f64)> = (0..turns)
            .map(|_| (searched(folder.path(), load, seconds, &mut goals), naive(folder.path(), goals.is_test())))
            .collect();
        let (ours, loops): (Vec<f64>, Vec<f64>) = rates.into_iter().unzip();
        let ratios: Vec<f64> = ours.iter().zip(&loops).map(|(ours, naive)| ours / naive).collect();
        let (spread, ratio) = (Spread::of(&ours), Spread::of(&ratios));
        let kept = goals.at_least(&format!("{name}, faults a second"), spread, *goal);
        println!(
            "{name}: {:.2} faults a second with all four ways on, {:.2} to {:.2} ({kept}); {:.1} times a loop that begins anew for each \
             case, {:.1} to {:.1}; {turns} turns",
            spread.median, spread.low, spread.high, ratio.median, ratio.low, ratio.high
        );
    }
    if "honest".contains(&only) {
        honest(folder.path(), &mut goals);
    }
    goals.end()
}

fn honest(folder: &Path, goals: &mut Goals) {
    let mut all = 0.0;
    let is_test = goals.is_test();
    for (name, workload, safety, seconds) in HONEST.iter().filter(|row| !is_test || row.0 == "files") {
        let seconds = if is_test { 2 } else { *seconds };
        let scenario = format!("[storage]\nfilesystem = \"ext4\"\n{workload}");
        let found = found(folder, &scenario, &format!("{safety}\nfault_budget = \"{seconds}s\"\nfaults = [\"none\"]"));
        let (cases, bad) = (number(&found, "honest"), number(&found, "honest_bad"));
        println!("{name}, on a disk that is well: {bad} of {cases} cases found something");
        goals.must("on a disk that is well nothing is found", bad == 0.0 && cases > 0.0);
        all += cases;
    }
    let kept = goals.at_least("cases on a disk that is well", all, HONEST_CASES_MIN);
    println!("{all} cases on a disk that is well ({kept})");
}

/// Faults a second of a search.
fn searched(folder: &Path, scenario: &str, seconds: u32, goals: &mut Goals) -> f64 {
    let faults = "faults = [\"write-error\", \"flush-error\", \"lost-write\"]";
    let found = found(folder, scenario, &format!("fault_budget = \"{seconds}s\"\n{faults}"));
    goals.must("on a disk that is well nothing is wrong", number(&found, "honest_bad") == 0.0);
    goals.must("faults strike", number(&found, "cases") > 0.0);
    (number(&found, "cases") + number(&found, "not_struck")) / WAYS / number(&found, "seconds")
}

/// What a search finds.
fn found(folder: &Path, scenario: &str, safety: &str) -> Value {
    let text = format!("name = \"f\"\nquestion = \"?\"\n{scenario}\n[safety]\nsize = \"256MiB\"\n{safety}\n");
    std::fs::write(folder.join("f.toml"), text).expect("a study file");
    let _ = std::fs::remove_file(folder.join("f.surefoot"));
    let program = Path::new(env!("CARGO_BIN_EXE_surefoot"));
    let _ = said(program, folder, &["faults", "f.toml", "--quiet"]);
    let json: Value =
        serde_json::from_str(&said(program, folder, &["report", "f.surefoot", "--json"])).expect("a report as JSON");
    json["ledger"]["faults"][0]["faults"].clone()
}

fn number(found: &Value, name: &str) -> f64 {
    found[name].as_f64().unwrap_or_else(|| panic!("no {name} in {found:#}"))
}

/// The same of a loop, by two faults.
fn naive(folder: &Path, is_test: bool) -> f64 {
    let faults: &[&str] = if is_test { &["write-error@3"] } else { &["write-error@3", "flush-error@2"] };
    let started = Instant::now();
    for fault in faults {
        for way in ["go-on", "drop-caches", "restart", "remount"] {
            let case = format!("{fault}/{way}");
            let arguments = ["faults", "f.toml", "--scenario", "oltp", "--replay", &case];
            let _ = said(Path::new(env!("CARGO_BIN_EXE_surefoot")), folder, &arguments);
        }
    }
    faults.len() as f64 / started.elapsed().as_secs_f64()
}
