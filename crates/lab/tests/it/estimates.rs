//! What is known of a trial's length before it runs.

use crate::{plan, text};
use lab::estimate::{of_unknown_length, run_seconds, trial_seconds};
use std::io::Write as _;

/// A session of a minute, in the form of PostgreSQL's manual with Debian's prefix.
const MINUTE: &str = "\
2026-11-24 10:00:00.000 UTC [11] joe@shop LOG:  connection authorized: user=joe database=shop
2026-11-24 10:00:00.001 UTC [11] joe@shop LOG:  statement: SELECT 1
2026-11-24 10:01:00.000 UTC [11] joe@shop LOG:  statement: SELECT 2
2026-11-24 10:01:00.000 UTC [11] joe@shop LOG:  disconnection: session time: 0:01:00.000 user=joe database=shop host=[local]
";

/// A study of ext4 with this load.
fn with(load: &str, design: &str) -> String {
    text(&["ext4"], design).replace("[workload.null]", load)
}

/// It had been as long as the log for each run.
#[test]
fn a_trial_replays_a_database_s_log_once() {
    let mut log = tempfile::NamedTempFile::new().expect("a file");
    log.write_all(MINUTE.as_bytes()).expect("written");
    let load = format!("[workload.sql-replay]\nlog = {:?}\nspeed = 1", log.path());
    for (warm_up_runs, runs) in [(0, 1), (1, 1), (1, 5)] {
        let plan = plan(&with(&load, &format!("warm_up_runs = {warm_up_runs}\nruns = {runs}")));
        let scenario = &plan.scenarios[0];
        let (run, trial) = (run_seconds(&plan, scenario), trial_seconds(&plan, scenario));
        assert!((run * f64::from(warm_up_runs + runs) - 60.0).abs() < 0.1, "{run}");
        assert!((60.0..65.0).contains(&trial), "{trial}");
    }
}

#[test]
fn a_run_of_so_many_transactions_takes_nobody_knows_how_long() {
    let unknown = |load: &str| of_unknown_length(&plan(&with(&format!("[workload.oltp]\n{load}"), "")));
    assert_eq!(unknown("time = \"0s\"\ntransactions = 100"), 2, "ext4 and the control");
    assert_eq!(unknown("time = \"1s\""), 0);
}
