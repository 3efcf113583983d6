//! `report --format sql-bench`: its shape, and that its totals are the sums of its rows.

use crate::fixture::{Row, Table, contents};
use expect_test::expect;
use ledger::model::Contents;
use observe::metric::{Direction, Metric};
use report::sql_bench;
use serde_json::json;

/// Name in metrics, seconds, user and system time of the client, count, loops that were cut.
const OPERATIONS: [(&str, [f64; 5]); 5] = [
    ("create_drop", [17.0, 1.49, 0.5, 10_000.0, 0.0]),
    ("create_key_drop", [23.0, 1.84, 0.62, 10_000.0, 0.0]),
    ("create_many_tables", [25.0, 1.12, 0.28, 10_000.0, 0.0]),
    ("insert", [78.0, 14.11, 7.05, 309_768.0, 0.0]),
    ("select_diff_key", [1380.0, 0.12, 0.02, 500.0, 1.0]),
];
const TESTS: [(&str, [f64; 3]); 3] =
    [("atis", [33.1, 8.41, 2.89]), ("insert", [1730.0, 523.67, 128.19]), ("create", [65.0, 4.45, 1.4])];

fn made(workload: &'static str) -> Contents {
    let metric = Metric::new("total_seconds", "s", Direction::Less);
    let mut contents = contents(&Table { workload, metric, rows: vec![Row::new("ext4", &[1828.0])] });
    contents.scenarios[0].settings = json!({ "workload": { "engine": "mariadb", "scale": 1.0, "tests": ["ATIS", "insert", "create"], "fast": false } });
    contents.trials[0].facts.insert("mariadb.version".into(), "10.11.14".into());
    let run = &mut contents.runs[0];
    run.run = 1;
    let of_tests = TESTS.iter().flat_map(|(name, values)| {
        let names = ["seconds", "user_cpu_seconds", "system_cpu_seconds"].map(|figure| format!("test_{name}_{figure}"));
        names.into_iter().zip(*values)
    });
    let of_operations = OPERATIONS.iter().flat_map(|(name, values)| {
        let beside = ["user_cpu_seconds", "system_cpu_seconds", "count", "loops_cut"];
        let names = beside.map(|figure| format!("operation_{name}_{figure}"));
        std::iter::once(format!("{name}_seconds")).chain(names).zip(*values)
    });
    run.metrics.extend(of_tests.chain(of_operations).map(|(name, value)| (name.into(), value)));
    // What the machine did has seconds, too.
    run.metrics.extend(
        [("driver_cpu_seconds", 3.0), ("client_user_cpu_seconds", 1.0)].map(|(name, value)| (name.into(), value)),
    );
    contents
}

#[test]
fn the_form_of_a_run_file() {
    expect![[r##"
        # ext4, round 1, run 1
        Benchmark DBD suite: surefoot 0.1.0
        Date of test:        2026-11-21 00:04 UTC
        Running tests on:    Linux 6.12.9
        Arguments:           --scale=1.0 --tests=["ATIS","insert","create"] --fast=false
        Comments:
        Limits from:
        Server version:      mariadb 10.11.14
        Optimization:        None
        Hardware:            2 CPUs, AMD EPYC 7763 64-Core Processor

        ATIS: Total time: 33.10 wallclock secs (8.41 usr 2.89 sys + 0.00 cusr 0.00 csys = 11.30 CPU)
        create: Total time: 65.00 wallclock secs (4.45 usr 1.40 sys + 0.00 cusr 0.00 csys = 5.85 CPU)
        insert: Total time: 1730.00 wallclock secs (523.67 usr 128.19 sys + 0.00 cusr 0.00 csys = 651.86 CPU)

        All 3 test executed successfully

        Totals per operation:
        Operation             seconds     usr     sys     cpu   tests
        create+drop                           17.00    1.49    0.50    1.99   10000 
        create_MANY_tables                    25.00    1.12    0.28    1.40   10000 
        create_key+drop                       23.00    1.84    0.62    2.46   10000 
        insert                                78.00   14.11    7.05   21.16  309768 
        select_diff_key                     1380.00    0.12    0.02    0.14     500 +
        TOTALS                              1523.00   18.68    8.47   27.15  340268 +

    "##]]
    .assert_eq(&sql_bench(&made("sql-bench")).expect("there is a run"));
}

#[test]
fn totals_are_the_sums_of_the_rows() {
    let text = sql_bench(&made("sql-bench")).expect("there is a run");
    let (_, rows) = text.split_once("tests\n").expect("the table's head");
    let numbers =
        |line: &str| -> Vec<f64> { line.split_whitespace().skip(1).filter_map(|word| word.parse().ok()).collect() };
    let (rows, totals): (Vec<&str>, Vec<&str>) =
        rows.lines().filter(|line| !line.is_empty()).partition(|line| !line.starts_with("TOTALS"));
    for (place, total) in numbers(totals[0]).into_iter().enumerate() {
        let sum: f64 = rows.iter().map(|line| numbers(line)[place]).sum();
        assert!((sum - total).abs() < 0.051, "{place}: {sum} and {total}");
    }
}

/// Of an older surefoot, which left these in words; and of a run that lacks a test.
#[test]
fn what_was_not_measured_is_no_zero_and_no_success() {
    let mut contents = made("sql-bench");
    contents.runs[0].metrics.retain(|name, _| {
        !name.starts_with("operation_") && !name.starts_with("test_create") && !name.ends_with("_cpu_seconds")
    });
    let text = sql_bench(&contents).expect("there is a run");
    expect![[r##"

        ATIS: Total time: 33.10 wallclock secs (- usr - sys + 0.00 cusr 0.00 csys = - CPU)
        insert: Total time: 1730.00 wallclock secs (- usr - sys + 0.00 cusr 0.00 csys = - CPU)

        2 of 3 test have figures

        Totals per operation:
        Operation             seconds     usr     sys     cpu   tests
        create+drop                           17.00       -       -       -       - 
        create_MANY_tables                    25.00       -       -       -       - 
        create_key+drop                       23.00       -       -       -       - 
        insert                                78.00       -       -       -       - 
        select_diff_key                     1380.00       -       -       -       - 
        TOTALS                              1523.00       -       -       -       - 

    "##]]
    .assert_eq(text.split_once("AMD EPYC 7763 64-Core Processor\n").expect("the header").1);
}

#[test]
fn results_without_such_a_run_say_so() {
    let error = sql_bench(&made("oltp")).expect_err("no sql-bench");
    assert_eq!(error.to_string(), "there is no finished run of the workload `sql-bench` in these results");
}
