//! A load that stalls in some of its runs: it is said, it is not picked, and it is not averaged away.

use crate::answers::study;
use crate::export;
use crate::fixture::{self, Row, Table};
use ledger::model::RunRow;
use observe::metric::{Direction, Metric};
use report::Comparison;

const STEADY: [f64; 6] = [1000.0, 1010.0, 995.0, 1004.0, 990.0, 1001.0];
const FAST: [f64; 6] = [3000.0, 3020.0, 2990.0, 3010.0, 2980.0, 3005.0];

fn times(values: [f64; 6], factor: f64) -> [f64; 6] {
    values.map(|value| value * factor)
}

fn with_zeros(mut values: [f64; 6], rounds: &[usize]) -> [f64; 6] {
    rounds.iter().for_each(|round| values[*round] = 0.0);
    values
}

/// Whether every coordinate of the page's charts is one; its script knows the word, too.
fn are_numbers(page: &str) -> bool {
    let mut pictures = page.split("<svg").skip(1).filter_map(|svg| svg.split("</svg>").next());
    pictures.all(|svg| !["NaN", "\"inf", "-inf"].iter().any(|word| svg.contains(word)))
}

fn json(table: &Table) -> serde_json::Value {
    export::json(&fixture::input(table))
}

#[test]
fn the_fastest_is_no_pick_if_it_stalled_once() {
    let table = study(vec![
        Row::new("ext4", &STEADY),
        Row::new("xfs", &times(STEADY, 1.1)),
        Row::new("btrfs", &with_zeros(FAST, &[2])),
    ]);
    let input = fixture::input(&table);
    let shown = report::terminal(&input, 160, false);
    assert!(shown.starts_with("Pick xfs: "), "{shown}");
    assert!(shown.contains("of the scenarios measured that did not stall"), "{shown}");
    assert!(shown.contains("warning: oltp: btrfs stalled in 1 of 6 runs. A figure of 0 is kept"), "{shown}");
    let row = shown.lines().find(|line| line.contains("  btrfs ")).expect("its row");
    assert!(row.contains(" 0  ") && !row.contains("0–0") && row.contains("1 of 6 runs"), "{row}");
    assert!(!shown.contains("btrfs is ") && !shown.contains("than btrfs"), "nothing is claimed of it: {shown}");
    let short = fixture::short(&input);
    assert!(short.starts_with("Use xfs: it is the fastest of the scenarios that did not stall. "), "{short}");
    assert!(short.contains("that none of the scenarios that did not stall is faster."), "{short}");
    let page = report::html(&input);
    assert!(page.contains("btrfs (stalled in 1 of 6 runs)") && are_numbers(&page), "in tables and charts");
    let part = &json(&table)["workloads"][0];
    assert_eq!((&part["pick"], part["scenarios"].as_array().map(Vec::len)), (&"xfs".into(), Some(3)));
    let last = &part["scenarios"][2];
    assert_eq!((&last["scenario"], &last["stalled_runs"], &last["runs"]), (&"btrfs".into(), &1.into(), &6.into()));
    assert_eq!(last["geometric_mean"].as_f64(), Some(0.0));
    assert!(last["median"].as_f64().is_some_and(|median| (median - 3002.5).abs() < 1e-6), "{last}");
    assert_eq!(last["values"][2].as_f64(), Some(0.0), "not a hole");
    assert!(last["behind_best_at_most"].is_null());
}

#[test]
fn one_run_of_two_is_not_averaged_away() {
    let table = study(vec![Row::new("ext4", &STEADY), Row::new("xfs", &times(STEADY, 1.5))]);
    let mut contents = fixture::contents(&table);
    let of_xfs = contents.trials.iter().filter(|trial| trial.scenario == "xfs" && trial.round == 3);
    let trial = of_xfs.map(|trial| trial.id).next().expect("a trial");
    let second: RunRow = contents.runs.iter().find(|run| run.trial == trial).expect("its run").clone();
    let mut second = RunRow { id: 999, run: 1, ..second };
    second.metrics.insert("transactions_per_second".into(), 0.0);
    contents.runs.push(second);
    let input = fixture::input_of(contents, &table);
    assert_eq!(input.contents.values("transactions_per_second")[3][1], Some(0.0));
    let shown = report::terminal(&input, 160, false);
    assert!(shown.starts_with("Pick ext4: ") && shown.contains("xfs stalled in 1 of 7 runs"), "{shown}");
    // Of what is counted the mean is the arithmetic one.
    let mut counted = input.contents.clone();
    let zero = counted.runs.iter_mut().find(|run| run.id == 999).expect("just added");
    zero.metrics.extend([("device_write_bytes".into(), 0.0), ("latency_microseconds_p99".into(), 0.0)]);
    let other = counted.runs.iter().find(|run| run.trial == trial).expect("its run").metrics["device_write_bytes"];
    assert_eq!(counted.values("device_write_bytes")[3][1], Some(other / 2.0));
    // No time is no latency: the other run's would make it a fast trial, and so would the mean with 0.
    assert_eq!(counted.values("latency_microseconds_p99")[3][1], None);
}

#[test]
fn where_all_stall_nothing_is_picked() {
    for zeros in [&[1, 4][..], &[0, 1, 2, 3, 4, 5]] {
        let rows = vec![Row::new("ext4", &with_zeros(STEADY, zeros)), Row::new("xfs", &with_zeros(FAST, zeros))];
        let table = study(rows);
        let input = fixture::input(&table);
        let shown = report::terminal(&input, 160, false);
        let wanted = format!(
            "Nothing to pick: every scenario that could be has a figure of 0: ext4 (stalled in {n} of 6 runs) and xfs (stalled in {n} of 6 runs).",
            n = zeros.len()
        );
        assert!(fixture::one_line(&shown).starts_with(&wanted), "{shown}");
        assert!(are_numbers(&report::html(&input)));
        assert!(json(&table)["workloads"][0]["pick"].is_null());
    }
}

#[test]
fn a_time_of_zero_is_not_fast() {
    let seconds = Metric::new("elapsed_seconds", "s", Direction::Less);
    let rows = vec![Row::new("ext4", &STEADY), Row::new("xfs", &with_zeros(STEADY, &[0]))];
    let table = Table { workload: "tree", metric: seconds, rows };
    let shown = report::terminal(&fixture::input(&table), 160, false);
    assert!(shown.starts_with("Pick ext4: "), "{shown}");
    assert!(shown.contains("xfs measured 0 in 1 of 6 runs") && shown.contains("Nothing takes no time"), "{shown}");
    let row = |label: &str| shown.lines().position(|line| line.contains(&format!("  {label} "))).expect("a row");
    assert!(row("ext4") < row("xfs"), "0 is not the best rank: {shown}");
    assert!(are_numbers(&report::html(&fixture::input(&table))));
}

#[test]
fn a_pick_that_stalls_in_new_rounds_is_not_confirmed() {
    let table = study(vec![Row::new("ext4", &STEADY), Row::new("xfs", &times(STEADY, 1.5))]);
    let mut contents = fixture::contents(&table);
    contents.decisions.push(ledger::model::Decision::Confirm(ledger::model::Finalists {
        round: 5,
        workload: "oltp".into(),
        pick: "xfs".into(),
        runner_up: None,
        baseline: Some("ext4".into()),
    }));
    fixture::confirm(&mut contents, &table, "ext4", &STEADY);
    fixture::confirm(&mut contents, &table, "xfs", &with_zeros(times(STEADY, 1.5), &[5]));
    let shown = report::terminal(&fixture::input_of(contents, &table), 160, false);
    assert!(
        shown.contains("Nothing to pick: what was picked and measured in new rounds has a figure of 0: xfs"),
        "{shown}"
    );
    assert!(!shown.contains("Pick xfs") && shown.contains("xfs stalled in 1 of 12 runs"), "{shown}");
}

#[test]
fn results_are_not_held_against_a_zero() {
    let [before, after] = [STEADY, with_zeros(times(STEADY, 2.0), &[0])]
        .map(|values| fixture::input(&study(vec![Row::new("ext4", &values), Row::new("xfs", &STEADY)])));
    let said = Comparison::of(&before, &after).expect("alike").text();
    let line = said.lines().find(|line| line.contains("not judged: it stalled")).expect("said");
    assert!(line.contains(" 0 "), "its mean is the report's: {line}");
}
