//! `sql-bench` on real servers, and its RUN files.

use crate::harness::World;

/// The suite at its smallest: it asks each server for all nine tests.
const STUDY: &str = r#"name = "s"
[factors]
"workload.sql-bench.engine" = ["postgres", "mariadb", "sqlite"]
[storage]
filesystem = "ext4"
size = "320MiB"
[workload.sql-bench]
scale = 0.0001
[design]
probe = "0s"
rounds_min = 1
rounds_max = 1
warm_up_runs = 0
control = false
"#;

#[test]
fn all_nine_tests_answer_right_on_every_database() {
    let world = World::new();
    let runs = world.run(STUDY, 0)["ledger"]["runs"].clone();
    assert_eq!(runs.as_array().map(Vec::len), Some(3));
    for run in runs.as_array().expect("runs") {
        let figure = |name: &str| run["metrics"][name].as_f64().expect("a figure");
        let tests =
            ["alter_table", "atis", "big_tables", "connect", "create", "insert", "select", "transactions", "wisconsin"];
        let sum: f64 = tests.iter().map(|test| figure(&format!("test_{test}_seconds"))).sum();
        assert!((sum - figure("total_seconds")).abs() < 1e-6, "{run}");
        assert_eq!(figure("loops_cut"), 0.0);
    }

    let text = world.surefoot(&["report", "s.surefoot", "--format", "sql-bench"]).status(0).stdout;
    let files: Vec<&str> = text.split("\n# ").collect();
    assert_eq!(files.len(), 3, "{text}");
    for (engine, version) in [("postgres", "1"), ("mariadb", "1"), ("sqlite", "")] {
        let is_of_it = |file: &&&str| file.trim_start_matches("# ").starts_with(&format!("{engine}, "));
        let file = files.iter().find(is_of_it).expect("one a database");
        assert!(file.contains(&format!("Server version:      {engine} {version}").trim_end().to_string()), "{file}");
        assert!(file.contains("All 9 test executed successfully"), "{file}");
        let row = |name: &str| file.lines().find(|line| line.split(' ').next() == Some(name)).unwrap_or_default();
        // Of insert 300, of select 100, of wisconsin 3,100, and what ATIS has at least.
        assert!(
            row("insert").split_whitespace().last().is_some_and(|count| count.parse::<u64>().unwrap() > 4000),
            "{file}"
        );
        assert!(row("TOTALS").ends_with(' '), "nothing was cut: {file}");
    }
    world.assert_nothing_left();
}
