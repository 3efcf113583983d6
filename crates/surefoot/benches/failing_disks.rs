//! How many faults a second are tried, each with its four ways on: `cargo bench -p surefoot --bench failing_disks`, as root; with
//! `-- --only sqlite` the rows with that text. `cargo test` takes small inputs.
//!
//! Beside it the way of a loop that makes the filesystem, loads, fails and looks, once for each case: the same program by `--replay`.
//! Both take turns. Goals: 8 faults a second with SQLite and 1 with PostgreSQL. On a disk that is well nothing is ever wrong.

use goals::{Goals, Spread, said};
use serde_json::Value;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

/// A database, its goal in faults a second, and the workload's lines.
const ROWS: &[(&str, f64, &str)] = &[
    ("sqlite", 8.0, "engine = \"sqlite\"\njournal_mode = \"wal\"\nsynchronous = \"full\""),
    ("postgres", 1.0, "engine = \"postgres\""),
];

/// Ways on of a fault.
const WAYS: f64 = 4.0;

const TURNS: usize = 7;

fn main() -> ExitCode {
    let Some(mut goals) = Goals::of("failing_disks") else { return ExitCode::SUCCESS };
    let only = goals.after("--only").unwrap_or_default().to_string();
    let (turns, seconds) = if goals.is_test() { (1, 3) } else { (TURNS, 20) };
    let folder =
        tempfile::Builder::new().prefix("surefoot-bench-").tempdir_in("/var/tmp").expect("a folder on the disk");
    for (name, goal, load) in ROWS.iter().filter(|(name, ..)| name.contains(&only)) {
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
    goals.end()
}

/// Faults a second of a search.
fn searched(folder: &Path, load: &str, seconds: u32, goals: &mut Goals) -> f64 {
    let text = format!(
        "name = \"f\"\nquestion = \"?\"\n[storage]\nfilesystem = \"ext4\"\n[workload.oltp]\n{load}\n[safety]\nsize = \"256MiB\"\n\
         fault_budget = \"{seconds}s\"\nfaults = [\"write-error\", \"flush-error\", \"lost-write\"]\n"
    );
    std::fs::write(folder.join("f.toml"), text).expect("a study file");
    let _ = std::fs::remove_file(folder.join("f.surefoot"));
    let program = Path::new(env!("CARGO_BIN_EXE_surefoot"));
    let _ = said(program, folder, &["faults", "f.toml", "--quiet"]);
    let json: Value =
        serde_json::from_str(&said(program, folder, &["report", "f.surefoot", "--json"])).expect("a report as JSON");
    let found = &json["ledger"]["faults"][0]["faults"];
    let number = |name: &str| found[name].as_f64().unwrap_or_else(|| panic!("no {name} in {found:#}"));
    goals.must("on a disk that is well nothing is wrong", number("honest_bad") == 0.0);
    goals.must("faults strike", number("cases") > 0.0);
    (number("cases") + number("not_struck")) / WAYS / number("seconds")
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
