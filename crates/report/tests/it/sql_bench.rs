//! `report --format sql-bench`: its shape, and that its totals are the sums of its rows.

use crate::fixture::{Row, Table, contents};
use expect_test::expect;
use ledger::model::Contents;
use observe::metric::{Direction, Metric};
use report::sql_bench;
use serde_json::json;

/// What a warm-up, and then a run left.
const WARM_UP: &str =
    "sql-bench\nconnect: Total time: 9.99 wallclock secs ( 9.00 usr 9.00 sys + 0.00 cusr 0.00 csys = 18.00 CPU)";
const RUN: &str = "sql-bench
ATIS: Time for insert (9768): 2.50 wallclock secs (0.50 usr 0.25 sys + 0.00 cusr 0.00 csys = 0.75 CPU)
ATIS: Total time: 33.10 wallclock secs (8.41 usr 2.89 sys + 0.00 cusr 0.00 csys = 11.30 CPU)
insert: Time for insert (300000): 75.50 wallclock secs (13.61 usr 6.80 sys + 0.00 cusr 0.00 csys = 20.41 CPU)
insert: Estimated time for select_diff_key (500): 1380.00 wallclock secs (0.12 usr 0.02 sys + 0.00 cusr 0.00 csys = 0.14 CPU)
insert: Total time: 1730.00 wallclock secs (523.67 usr 128.19 sys + 0.00 cusr 0.00 csys = 651.86 CPU)
create: Time for create+drop (10000): 17.00 wallclock secs (1.49 usr 0.50 sys + 0.00 cusr 0.00 csys = 1.99 CPU)
create: Time for create_MANY_tables (10000): 25.00 wallclock secs (1.12 usr 0.28 sys + 0.00 cusr 0.00 csys = 1.40 CPU)
create: Time for create_key+drop (10000): 23.00 wallclock secs (1.84 usr 0.62 sys + 0.00 cusr 0.00 csys = 2.46 CPU)
create: Total time: 65.00 wallclock secs (4.45 usr 1.40 sys + 0.00 cusr 0.00 csys = 5.85 CPU)";

fn made(workload: &'static str) -> Contents {
    let metric = Metric::new("total_seconds", "s", Direction::Less);
    let mut contents = contents(&Table { workload, metric, rows: vec![Row::new("ext4", &[1828.0])] });
    contents.scenarios[0].settings = json!({ "workload": { "engine": "mariadb", "scale": 1.0, "tests": ["ATIS", "insert", "create"], "fast": false } });
    contents.trials[0].remarks = vec![WARM_UP.into(), RUN.into()];
    contents.trials[0].facts.insert("mariadb.version".into(), "10.11.14".into());
    contents.runs[0].run = 1;
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
        insert: Total time: 1730.00 wallclock secs (523.67 usr 128.19 sys + 0.00 cusr 0.00 csys = 651.86 CPU)
        create: Total time: 65.00 wallclock secs (4.45 usr 1.40 sys + 0.00 cusr 0.00 csys = 5.85 CPU)

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

#[test]
fn results_without_such_a_run_say_so() {
    let error = sql_bench(&made("oltp")).expect_err("no sql-bench");
    assert_eq!(error.to_string(), "there is no finished run of the workload `sql-bench` in these results");
}
