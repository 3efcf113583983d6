//! `oltp` on a real SQLite file in a temporary folder.

use super::*;
use crate::workload_tests::{figure, read, with_loaded};
use observe::durability::Class;
use serde_json::{Value, json};
use std::sync::atomic::AtomicBool;

fn run(changes: Value) -> Outcome {
    let folder = tempfile::tempdir().expect("a folder");
    with_loaded(read(&KIND, &changes), folder.path(), |workload, context| {
        workload.run(context).expect("it runs");
        let outcome = workload.run(context).expect("it runs twice");
        workload.verify(context).expect("it is whole");
        outcome
    })
}

#[test]
fn a_transaction_has_fourteen_reads_four_writes_and_two_others() {
    let outcome = run(json!({ "table_size": 1000, "time": "0s", "transactions": 50, "synchronous": "off" }));
    let figures = ["transactions", "reads", "writes", "others", "retries"].map(|name| figure(&outcome, name));
    assert_eq!(figures, [50.0, 700.0, 200.0, 100.0, 0.0]);
    assert_eq!(outcome.latencies["transaction"].count(), 50);
    assert_eq!(outcome.commits, 50);
}

/// sysbench 1.0: `c` has 119 characters, `pad` 59.
#[test]
fn a_database_must_keep_what_the_mix_writes_and_no_more() {
    let mixes = [
        ("read-write", 8 + 119 + 16 + 119 + 59),
        ("read-only", 0),
        ("update-index", 8),
        ("update-non-index", 119),
        ("delete", 0),
        ("insert", 16 + 119 + 59),
    ];
    for (mix, bytes) in mixes {
        let changes = json!({ "table_size": 1000, "time": "0s", "transactions": 10, "mix": mix, "synchronous": "off" });
        assert_eq!(run(changes).bytes_written, 10 * bytes, "{mix}");
    }
}

#[test]
fn every_distribution_and_both_kinds_of_rows_run_and_verify() {
    for rows in ["1.0", "0.4"] {
        for distribution in ["uniform", "gaussian", "special-1.0", "special-0.4", "pareto", "zipf"] {
            run(json!({ "table_size": 400, "tables": 2, "time": "0s", "transactions": 20, "rows_like": rows,
                        "distribution": distribution, "synchronous": "off" }));
        }
    }
}

#[test]
fn threads_that_meet_are_tried_again_with_nothing_lost() {
    for begin in ["immediate", "deferred"] {
        let outcome = run(
            json!({ "table_size": 400, "threads": 4, "time": "0s", "transactions": 200, "begin": begin, "synchronous": "off" }),
        );
        assert_eq!(figure(&outcome, "transactions"), 200.0, "{begin}");
    }
}

#[test]
fn statements_on_their_own_find_what_others_are_replacing() {
    let outcome =
        run(json!({ "table_size": 200, "threads": 4, "time": "0s", "transactions": 400, "in_transaction": false,
                              "synchronous": "off" }));
    let figures = ["transactions", "others"].map(|name| figure(&outcome, name));
    assert_eq!(figures, [400.0, 0.0]);
}

#[test]
fn a_rate_that_is_hardly_one_begins_what_is_due() {
    let outcome = run(json!({ "table_size": 200, "time": "100ms", "rate": 1e-300, "synchronous": "off" }));
    assert_eq!(figure(&outcome, "transactions"), 1.0);
}

#[test]
fn transactions_that_are_given_up_are_errors_and_no_figure() {
    let folder = tempfile::tempdir().expect("a folder");
    let changes = json!({ "table_size": 200, "threads": 4, "time": "0s", "transactions": 200, "begin": "deferred",
                          "retry": false, "busy_timeout": "0s", "synchronous": "off", "errors_max": "0%" });
    with_loaded(read(&KIND, &changes), folder.path(), |workload, context| {
        // Whether threads meet is chance; this one meets all of them.
        let other = rusqlite::Connection::open(folder.path().join("oltp.sqlite")).expect("the file");
        other.execute_batch("BEGIN IMMEDIATE").expect("nobody else writes");
        let outcome = workload.run(context).expect("it runs");
        assert_eq!((outcome.asked.total, outcome.asked.errors()), (200, 200));
        let figures = ["abandoned_transactions", "transactions"].map(|name| figure(&outcome, name));
        assert_eq!(figures, [200.0, 0.0]);
        let said = outcome.asked.judge().expect_err("none may").to_string();
        assert!(said.contains("× given up (first: "), "{said}");
    });
}

#[test]
fn a_run_that_goes_on_has_the_connections_and_the_log_of_the_one_before() {
    let folder = tempfile::tempdir().expect("a folder");
    let changes = json!({ "table_size": 400, "threads": 2, "time": "0s", "transactions": 10, "journal_mode": "wal" });
    with_loaded(read(&KIND, &changes), folder.path(), |workload, context| {
        let mut log_bytes_after = |goes_on| {
            context.goes_on = goes_on;
            workload.run(context).expect("it runs");
            std::fs::metadata(folder.path().join("oltp.sqlite-wal")).expect("the log").len()
        };
        let [first, second, anew] = [false, true, false].map(&mut log_bytes_after);
        assert!(first < second, "{first} bytes after the first run, {second} after the second");
        assert!(anew < second, "{anew} bytes: a new run begins after a checkpoint");
        // SQLite checkpoints and removes the log when the last connection is closed.
        workload.cool().expect("it closes");
        assert!(!folder.path().join("oltp.sqlite-wal").exists());
        workload.verify(context).expect("it is whole");
    });
}

#[test]
fn a_row_that_is_gone_fails_the_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let changes = json!({ "table_size": 400, "time": "0s", "transactions": 200 });
    with_loaded(read(&KIND, &changes), folder.path(), |workload, context| {
        let thief = rusqlite::Connection::open(folder.path().join("oltp.sqlite")).expect("the file");
        thief.execute_batch("DELETE FROM sbtest1 WHERE id % 10 = 3").expect("it is writable");
        let error = workload.run(context).expect_err("a row is missing");
        assert!(matches!(error, Error::WrongData { .. }), "{error}");
        assert!(matches!(workload.verify(context), Err(Error::WrongData { .. })));
    });
}

#[test]
fn an_update_that_was_lost_is_found_at_the_end_with_any_number_of_connections() {
    for threads in [1, 4] {
        let folder = tempfile::tempdir().expect("a folder");
        let changes = json!({ "table_size": 200, "time": "0s", "transactions": 400, "threads": threads,
                              "mix": "write-only", "synchronous": "off" });
        with_loaded(read(&KIND, &changes), folder.path(), |workload, context| {
            workload.run(context).expect("it runs");
            workload.verify(context).expect("it is whole");
            let thief = rusqlite::Connection::open(folder.path().join("oltp.sqlite")).expect("the file");
            // One row of a hundred has an older text again.
            thief.execute_batch("UPDATE sbtest1 SET c = pad || pad WHERE id = 100").expect("it is writable");
            let error = workload.verify(context).expect_err("a lost update");
            assert!(error.to_string().contains("c of row 100 of sbtest1"), "{error}");
        });
    }
}

#[test]
fn an_interrupt_ends_it_soon() {
    let folder = tempfile::tempdir().expect("a folder");
    with_loaded(read(&KIND, &json!({ "table_size": 400, "time": "1h" })), folder.path(), |workload, context| {
        context.interrupted = Box::leak(Box::new(AtomicBool::new(true)));
        assert!(matches!(workload.run(context), Err(Error::Interrupted)));
    });
}

#[test]
fn settings_that_cannot_work_together_are_told() {
    assert_eq!(read(&KIND, &json!({ "rate": 10, "think_time": "1s" })).problems().len(), 1);
    assert_eq!(read(&KIND, &json!({ "time": "0s" })).problems().len(), 1);
    assert_eq!(read(&KIND, &json!({ "table_size": 300, "id_range": 400 })).problems().len(), 1);
    assert!(read(&KIND, &json!({})).problems().is_empty());
}

#[test]
fn durability_follows_sqlites_own_words() {
    let class = |journal: &str, synchronous: &str| {
        read(&KIND, &json!({ "journal_mode": journal, "synchronous": synchronous })).durability().class
    };
    assert_eq!(class("wal", "full"), Class::KeepsAcknowledged);
    assert_eq!(["delete", "truncate"].map(|journal| class(journal, "extra")), [Class::KeepsAcknowledged; 2]);
    assert_eq!(class("delete", "full"), Class::LosesRecent, "PRAGMA synchronous, EXTRA: that the journal is gone");
    assert_eq!(class("delete", "normal"), Class::MayCorrupt);
    assert_eq!(class("wal", "normal"), Class::LosesRecent);
    assert_eq!(class("wal", "off"), Class::MayCorrupt);
    assert_eq!(class("memory", "full"), Class::MayCorrupt);
}

#[test]
fn every_mix_runs_and_verifies_prepared_and_as_text() {
    let mixes = [
        "read-write",
        "read-only",
        "write-only",
        "point-select",
        "update-index",
        "update-non-index",
        "insert",
        "delete",
        "select-random-points",
        "select-random-ranges",
    ];
    for mix in mixes {
        for prepared in [true, false] {
            let outcome = run(
                json!({ "table_size": 400, "time": "0s", "transactions": 30, "mix": mix, "prepared": prepared, "synchronous": "off" }),
            );
            assert_eq!(figure(&outcome, "transactions"), 30.0, "{mix}");
        }
    }
}

#[test]
fn an_open_loop_begins_what_is_due_and_a_slow_one_is_late() {
    // A machine that stands still for longer than a backlog is worked off misses some: `load` tests that none is with time.
    let figures = |outcome: &Outcome| ["transactions", "missed_transactions"].map(|name| figure(outcome, name));
    let outcome = run(json!({ "table_size": 400, "time": "500ms", "rate": 100, "threads": 2, "synchronous": "off" }));
    assert_eq!(figures(&outcome).iter().sum::<f64>(), 50.0);
    // A think time of 20 ms lets one connection do 50 a second at most.
    let slow = run(
        json!({ "table_size": 400, "time": "30ms", "rate": 1000, "mix": "write-only", "think_time": "20ms", "threads": 1 }),
    );
    let [done, missed] = figures(&slow);
    assert!(done >= 2.0 && done + missed == 30.0, "{done} and {missed}");
    assert!(
        figure(&slow, "late_transactions") >= done - 5.0 && figure(&slow, "elapsed_seconds") >= (done - 1.0) * 0.02
    );
    assert!(figure(&slow, "transactions_per_second") <= 51.0, "its rate is what one connection can do");
}
