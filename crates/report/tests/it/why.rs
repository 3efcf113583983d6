//! What changed with a difference is said where it is shown, in the words of what was counted, and never as its cause.

use crate::export;
use crate::fixture::{self, Row, Table};
use expect_test::expect;
use ledger::model::{Decision, Finalists, Phase};
use report::input::Input;
use serde_json::{Value, json};

/// What one run counted, by the scenario and the round.
type Counted = fn(&str, f64) -> Vec<(&'static str, f64)>;

const NOISE: [f64; 6] = [0.996, 1.004, 0.998, 1.002, 1.001, 0.999];

/// XFS is 1.3 times as fast as ext4, over six rounds of ten seconds.
fn study(counted: Counted) -> Input {
    let around = |level: f64| NOISE.map(|noise| level * noise);
    let rows = vec![Row::new("ext4", &around(1000.0)), Row::new("xfs", &around(1300.0))];
    let mut input = fixture::input(&Table { rows, ..fixture::filesystems_and_buffers() });
    for trial in input.contents.trials.clone() {
        for run in input.contents.runs.iter_mut().filter(|run| run.trial == trial.id) {
            run.seconds = 10.0;
            run.metrics.retain(|name, _| &**name == "transactions_per_second");
            // Each figure has a noise of its own, so that nothing is the same to the last digit.
            let noise = |index: usize| NOISE[(trial.round as usize * 5 + index) % NOISE.len()];
            let figures = counted(&trial.scenario, run.metrics["transactions_per_second"] * 10.0);
            run.metrics.extend(
                figures.into_iter().enumerate().map(|(index, (name, value))| (name.into(), value * noise(index))),
            );
        }
    }
    input
}

/// As [`study`], with four new rounds of both: xfs was picked, and is 1.5 times as fast in them.
fn confirmed(counted: Counted) -> Input {
    let rows = vec![Row::new("ext4", &[1000.0; 6]), Row::new("xfs", &[1300.0; 6])];
    let table = Table { rows, ..fixture::filesystems_and_buffers() };
    let mut contents = study(counted).contents;
    contents.decisions.push(Decision::Confirm(Finalists {
        round: 5,
        workload: "oltp".into(),
        pick: "xfs".into(),
        runner_up: None,
        baseline: Some("ext4".into()),
    }));
    for (label, level) in [("ext4", 1000.0), ("xfs", 1500.0)] {
        fixture::confirm(&mut contents, &table, label, &NOISE.map(|noise| level * noise));
    }
    let is_new = |id: i64| contents.trials.iter().any(|trial| trial.id == id && trial.phase == Phase::Confirmation);
    for trial in contents.trials.clone().iter().filter(|trial| is_new(trial.id)) {
        for run in contents.runs.iter_mut().filter(|run| run.trial == trial.id) {
            run.seconds = 10.0;
            run.metrics.retain(|name, _| &**name == "transactions_per_second");
            let figures = counted(&trial.scenario, run.metrics["transactions_per_second"] * 10.0);
            let noise = NOISE[(trial.round as usize * 5) % NOISE.len()];
            run.metrics.extend(figures.into_iter().map(|(name, value)| (name.into(), value * noise)));
        }
    }
    Input::new(contents, report::input::Details::default())
}

#[test]
fn a_difference_in_new_rounds_is_explained_by_those_rounds() {
    // In the new rounds XFS flushes less often still.
    let input = confirmed(|scenario, transactions| {
        let flushes = match (scenario, transactions > 14_000.0) {
            ("xfs", false) => 1.0,
            ("xfs", true) => 0.5,
            _ => 2.1,
        };
        vec![("flushes_per_commit", flushes), ("device_flushes", flushes * transactions)]
    });
    let json = export::json(&input);
    let claim = &json["workloads"][0]["confirmations"][0]["claims"][0];
    assert_eq!((&claim["of"], &claim["verdict"]), (&json!("xfs"), &json!("faster")));
    let changed = claim["went_with"].as_array().expect("a list");
    let flushes = changed.iter().find(|change| change["figure"] == "flushes_per_commit").expect("it changed");
    assert!((flushes["of"].as_f64().expect("a figure") / 0.5 - 1.0).abs() < 0.01, "{flushes}");
    assert_eq!(flushes["changed"], true);
    assert!(why(&input).iter().any(|line| line.contains("0.24× the flushes per commit")), "{:?}", why(&input));
    assert!(report::html(&input).contains("xfs vs ext4 in the new rounds"));
}

/// Flushes and bytes for each commit differ, CPU time does not.
fn flushes_and_bytes(scenario: &str, transactions: f64) -> Vec<(&'static str, f64)> {
    let (flushes, bytes) = if scenario == "xfs" { (1.0, 8192.0) } else { (2.1, 11_300.0) };
    vec![
        ("flushes_per_commit", flushes),
        ("device_flushes", flushes * transactions),
        ("device_write_bytes", bytes * transactions),
        ("driver_cpu_seconds", 0.0005 * transactions),
        ("device_reads", 0.0),
    ]
}

fn why(input: &Input) -> Vec<String> {
    let said =
        report::answer(input).into_iter().filter_map(|line| Some(line.split_once("With it went ")?.1.to_string()));
    said.collect()
}

fn change(input: &Input, figure: &str) -> Value {
    let json = export::json(input);
    let changes = json["workloads"][0]["claims"][0]["went_with"].as_array().expect("a list").clone();
    changes.into_iter().find(|change| change["figure"] == figure).unwrap_or(Value::Null)
}

#[test]
fn what_changed_is_said_in_a_clause() {
    let input = study(flushes_and_bytes);
    expect![
        "0.48× the flushes per commit, 27.5 % fewer bytes written per transaction; CPU time per transaction alike."
    ]
    .assert_eq(&why(&input).join("\n"));
    let flushes = change(&input, "flushes_per_commit");
    assert_eq!((&flushes["changed"], &flushes["alike"]), (&json!(true), &json!(false)), "{flushes}");
    assert!((flushes["ratio"].as_f64().expect("a ratio") - 1.0 / 2.1).abs() < 0.01, "{flushes}");
    assert_eq!(change(&input, "cpu_seconds")["alike"], true);
    // 81,920 bytes a second for ten transactions are 8 KiB each.
    let bytes = change(&input, "write_bytes")["of"].as_f64().expect("a mean");
    assert!((bytes - 8192.0).abs() < 50.0, "{bytes}");
}

#[test]
fn what_is_zero_is_tabulated_and_not_tested() {
    let reads = change(&study(flushes_and_bytes), "reads");
    assert_eq!((&reads["of"], &reads["against"]), (&json!(0.0), &json!(0.0)));
    assert_eq!((&reads["ratio"], &reads["p_corrected"], &reads["changed"]), (&Value::Null, &Value::Null, &Value::Null));
}

#[test]
fn nothing_is_said_where_nothing_changed() {
    let alike = study(|_, transactions| vec![("driver_cpu_seconds", 0.0005 * transactions), ("commits", transactions)]);
    assert_eq!(why(&alike), Vec::<String>::new());
    assert_eq!(change(&alike, "cpu_seconds")["alike"], true);
    assert_eq!(why(&study(|_, _| Vec::new())), Vec::<String>::new());
}

/// A figure that differs by chance in a round or two is not said to have changed.
#[test]
fn what_scatters_does_not_count_as_changed() {
    let input = study(|scenario, transactions| {
        let wild = (transactions as u64 % 7) as f64 + 1.0;
        vec![("flushes_per_commit", if scenario == "xfs" { wild } else { 4.5 })]
    });
    assert_eq!(change(&input, "flushes_per_commit")["changed"], false);
    assert_eq!(why(&input), Vec::<String>::new());
}

#[test]
fn the_page_has_a_table_of_it() {
    let html = report::html(&study(flushes_and_bytes));
    assert!(html.contains("id=\"why-0\""), "no table");
    assert!(html.contains("bytes written per transaction"), "no figure");
    assert!(html.contains("need not be its cause"), "no caution");
}

/// Two settings that are on or off: the second one's figures were taken for the first one's, and left out.
#[test]
fn levels_of_two_factors_by_the_same_names_have_a_row_each() {
    let row = |a: &str, b: &str, level: f64| Row {
        label: format!("a={a} · b={b}"),
        levels: vec![("a", a.into()), ("b", b.into())],
        ..Row::new("ext4", &NOISE.map(|noise| level * noise))
    };
    let rows =
        vec![row("off", "off", 1000.0), row("on", "off", 1300.0), row("off", "on", 1500.0), row("on", "on", 1950.0)];
    let mut input = fixture::input(&Table { rows, ..fixture::filesystems_and_buffers() });
    for trial in input.contents.trials.clone() {
        for run in input.contents.runs.iter_mut().filter(|run| run.trial == trial.id) {
            let flushes = if trial.scenario.contains("=on") { 1.0 } else { 2.0 };
            run.metrics.insert("flushes_per_commit".into(), flushes);
        }
    }
    let html = report::html(&input);
    let (_, table) = html.split_once("id=\"why-0\"").expect("a table");
    let (table, _) = table.split_once("</table>").expect("its end");
    assert!(table.contains("on vs off (a)") && table.contains("on vs off (b)"), "{table}");
}
