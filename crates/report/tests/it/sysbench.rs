//! `report --format sysbench`: its shape, and what must hold between its lines, as in a real report of 2005.

use crate::fixture::{Row, Table, contents, transactions};
use expect_test::expect;
use ledger::model::Contents;
use report::input::{Details, Input};
use report::{Form, sysbench};
use serde_json::json;
use std::collections::HashMap;

/// The report in "Filesystems comparison using sysbench and mySQL" (2005): sysbench 0.3.3.
const OF_2005: &str = "OLTP test statistics:
queries performed:
read: 28003808
write: 8000763
other: 4000295
total: 40004866
transactions: 2000023 (341.16 per sec.)
deadlocks: 249 (0.04 per sec.)
read/write requests: 36004571 (6141.51 per sec.)
other operations: 4000295 (682.35 per sec.)
Test execution summary:
total time: 5862.4972s
total number of events: 2000023
total time taken by event execution: 93741.9585
per-request statistics:
min: 0.0052s
avg: 0.0469s
max: 0.5604s
approx. 95 percentile: 0.1432s
";

/// Four transactions of sixteen threads, one of which met a deadlock in its third write.
fn made() -> Contents {
    let table =
        Table { workload: "oltp", metric: transactions(), rows: vec![Row::new("ext4", &[400.0, 100.0, 200.0])] };
    let mut contents = contents(&table);
    contents.scenarios[0].settings = json!({ "workload": { "threads": 2 } });
    for run in &mut contents.runs {
        let seconds = 4000.0 / run.metrics["transactions_per_second"];
        let figures = [
            ("transactions", 4000.0),
            ("reads", 14.0 * 4001.0),
            ("writes", 4.0 * 4000.0 + 3.0),
            ("others", 2.0 * 4000.0 + 2.0),
            ("deadlocks", 1.0),
            ("serialization_failures", 0.0),
            ("lock_timeouts", 0.0),
            ("duplicate_keys", 0.0),
            ("lost_connections", 0.0),
            ("elapsed_seconds", seconds),
            ("latency_microseconds_min", 312.0),
            ("latency_microseconds_mean", seconds * 2.0 / 4000.0 * 1e6),
            ("latency_microseconds_p95", 25_000.0),
            ("latency_microseconds_max", 91_000.0),
            ("thread_transactions_mean", 2000.0),
            ("thread_transactions_stddev", 12.5),
            ("thread_seconds_mean", seconds),
            ("thread_seconds_stddev", 0.01),
        ];
        run.metrics.extend(figures.map(|(name, value)| (name.into(), value)));
    }
    contents
}

fn report(form: Form) -> String {
    sysbench(&Input::new(made(), Details::default()), form).expect("there are runs")
}

/// Every `name: number (rate …)` of a report.
fn numbers(text: &str) -> HashMap<String, (f64, f64)> {
    let number = |word: &str| word.trim_matches(|c| "(s".contains(c)).parse::<f64>().ok();
    let line = |line: &str| {
        let (name, rest) = line.trim().split_once(':')?;
        let mut words = rest.split_whitespace();
        Some((name.to_string(), (number(words.next()?)?, words.next().and_then(number).unwrap_or(0.0))))
    };
    text.lines().filter_map(line).collect()
}

#[test]
fn the_form_of_1_0() {
    expect![[r#"
        # ext4, round 3, run 0
        SQL statistics:
            queries performed:
                read:                            56014
                write:                           16003
                other:                           8002
                total:                           80019
            transactions:                        4000   (200.00 per sec.)
            queries:                             80019  (4000.95 per sec.)
            ignored errors:                      1      (0.05 per sec.)
            reconnects:                          0      (0.00 per sec.)

        General statistics:
            total time:                          20.0000s
            total number of events:              4000

        Latency (ms):
                 min:                                    0.31
                 avg:                                   10.00
                 max:                                   91.00
                 95th percentile:                       25.00
                 sum:                                40000.00

        Threads fairness:
            events (avg/stddev):           2000.0000/12.50
            execution time (avg/stddev):   20.0000/0.01

    "#]]
    .assert_eq(&report(Form::One));
}

#[test]
fn what_must_hold_between_the_lines_of_0_4_holds_in_ours_and_in_the_report_of_2005() {
    for text in [OF_2005.to_string(), report(Form::ZeroFour)] {
        let of = numbers(&text);
        let count = |name: &str| of[name].0;
        let (t, d, seconds) = (count("transactions"), count("deadlocks"), count("total time"));
        assert_eq!(count("read"), 14.0 * (t + d), "a retried transaction reads again");
        assert_eq!(count("other"), 2.0 * t + d);
        assert!(count("write") >= 4.0 * t && count("write") <= 4.0 * (t + d));
        assert_eq!(count("total"), count("read") + count("write") + count("other"));
        assert_eq!(count("read/write requests"), count("read") + count("write"));
        for name in ["transactions", "deadlocks", "read/write requests", "other operations"] {
            assert!((of[name].1 - of[name].0 / seconds).abs() <= 0.00501, "{name}: {:?}", of[name]);
        }
        assert!((count("avg") - count("total time taken by event execution") / t).abs() <= 0.000_051);
        assert_eq!(count("total number of events"), t);
    }
}

/// As of an older surefoot: nothing but the primary figure and what was always there.
#[test]
fn what_was_not_measured_is_no_zero() {
    let mut contents = made();
    for run in &mut contents.runs {
        run.metrics.retain(|name, _| {
            ["transactions", "reads", "writes", "elapsed_seconds"].contains(&&**name)
                || name.starts_with("transactions_")
        });
    }
    for form in [Form::One, Form::ZeroFour] {
        let text = sysbench(&Input::new(contents.clone(), Details::default()), form).expect("there are runs");
        let missing = ["other:", "total:", "min:", "avg:", "max:", "execution time (avg/stddev):"];
        for name in missing {
            let line =
                text.lines().find(|line| line.trim().starts_with(name)).unwrap_or_else(|| panic!("{name} in {text}"));
            assert!(line.trim_end().ends_with('-'), "{line}");
        }
        for line in
            text.lines().filter(|line| ["ignored", "reconnects", "deadlocks"].iter().any(|name| line.contains(name)))
        {
            assert!(line.contains(" - ") && line.ends_with("(- per sec.)"), "{line}");
        }
        assert!(text.contains("2000.0000/-") && !text.contains(" 0 ") && !text.contains(" 0.00"), "{text}");
    }
}

#[test]
fn results_without_such_a_run_say_so() {
    let table = Table { workload: "tree", metric: transactions(), rows: vec![Row::new("ext4", &[1.0])] };
    let error = sysbench(&Input::new(contents(&table), Details::default()), Form::One).expect_err("no oltp");
    assert_eq!(error.to_string(), "there is no finished run of the workload `oltp` in these results");
}
