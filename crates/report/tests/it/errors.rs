//! A scenario with errors: they stand beside its speed wherever that is shown, and it is never picked over one that is shown to have fewer.

use crate::export;
use crate::fixture::{self, Row, Table};
use ledger::model::Contents;
use observe::durability::Class;
use observe::metric::{Direction, Metric};
use report::Place;
use report::input::Input;
use serde_json::json;

/// Rates of right answers: the one that refuses most is the fastest.
fn servers() -> Table {
    let around = |level: f64| [0.996, 1.004, 0.998, 1.002, 1.001, 0.999].map(|noise| level * noise);
    Table {
        workload: "http-load",
        metric: Metric::new("requests_per_second", "1/s", Direction::More),
        rows: vec![
            Row::new("nginx", &around(1000.0)),
            Row::new("apache", &around(1100.0)),
            Row::new("lighttpd", &around(3000.0)),
        ],
    }
}

/// Of 1,000 requests a run; `asked` is missing in files of older versions.
fn count(contents: &mut Contents, label: &str, kinds: &[(&str, f64)], is_old: bool) {
    for run in fixture::runs_of(contents, |trial| trial.scenario == label) {
        run.metrics.insert("requests".into(), 1000.0);
        run.metrics.insert("errors".into(), kinds.iter().map(|(_, count)| count).sum());
        run.metrics.extend(kinds.iter().map(|(kind, count)| ((*kind).into(), *count)));
        if !is_old {
            run.metrics.insert("asked".into(), 1000.0);
        }
    }
}

fn counted(table: &Table, is_old: bool) -> Input {
    let mut contents = fixture::contents(table);
    count(&mut contents, "nginx", &[("errors_wrong_status", 0.0)], is_old);
    count(&mut contents, "apache", &[("errors_connection_reset", 4.0)], is_old);
    count(&mut contents, "lighttpd", &[("errors_wrong_status", 25.0), ("errors_read_timed_out", 6.0)], is_old);
    fixture::input_of(contents, table)
}

fn picked(input: &Input) -> serde_json::Value {
    export::json(input)["workloads"][0]["pick"].clone()
}

#[test]
fn the_one_with_fewest_errors_is_picked_and_the_answer_says_why() {
    let input = counted(&servers(), false);
    assert_eq!(picked(&input), "nginx");
    let terminal = report::terminal(&input, 250, false);
    for expected in [
        "Pick nginx: 1,000 requests per second",
        "lighttpd measured 3.00× that, but is no choice: 3.1 % of what was asked for went wrong (150 wrong status, 36 read timed out), \
         nothing with nginx.",
        "Not picked, as others had fewer errors: apache (0.4 %: 24 connection reset).",
        "3.1 %: 150 wrong status, 36 read timed out",
    ] {
        assert!(terminal.contains(expected), "{expected}\n{terminal}");
    }
    assert!(!terminal.contains("recorded before"), "{terminal}");
    let row = fixture::row_of_json(&input, "lighttpd");
    let kinds = json!({ "wrong_status": 150.0, "read_timed_out": 36.0 });
    assert_eq!(
        row["errors"],
        json!({ "asked": 6000.0, "wrong": 186.0, "share": 0.031, "kinds": kinds, "counted_as_answers": false })
    );
    assert_eq!(row["has_more_errors_than"], "nginx");
}

#[test]
fn errors_stand_beside_the_speed_on_page_and_in_markdown() {
    let input = counted(&servers(), false);
    let html = report::html(&input).replace('\u{a0}', " ");
    for expected in
        ["<td class=\"words wrap\">3.1 %: 150 wrong status, 36 read timed out</td>", "lighttpd · 3.1 % errors"]
    {
        assert!(html.contains(expected), "{expected}");
    }
    let markdown = report::markdown(&input);
    assert!(markdown.contains("3.1 %: 150 wrong status, 36 read timed out"), "{markdown}");
}

#[test]
fn where_all_have_errors_the_pick_says_its_own() {
    let table = servers();
    let mut input = counted(&table, false);
    count(&mut input.contents, "nginx", &[("errors_wrong_status", 500.0)], false);
    let input = fixture::input_of(input.contents, &table);
    assert_eq!(picked(&input), "apache");
    let terminal = report::terminal(&input, 250, false);
    assert!(
        terminal.contains("6 trials); 0.4 % of what was asked for went wrong (24 connection reset)."),
        "{terminal}"
    );
}

/// 12, 9 and 11 errors: of equals one has most of them, and it may be the fastest.
#[test]
fn an_accident_of_errors_decides_nothing() {
    let table = servers();
    let mut contents = fixture::contents(&table);
    for (label, wrong) in [("nginx", 1.5), ("apache", 11.0 / 6.0), ("lighttpd", 2.0)] {
        count(&mut contents, label, &[("errors_wrong_status", wrong)], false);
    }
    let input = fixture::input_of(contents, &table);
    assert_eq!(picked(&input), "lighttpd");
    let said = report::terminal(&input, 250, false);
    assert!(said.contains("12 wrong status") && !said.contains("no choice") && !said.contains("Not picked"), "{said}");
    assert!(fixture::row_of_json(&input, "lighttpd")["has_more_errors_than"].is_null());
    // All in one round: a burst is one event.
    let mut contents = fixture::contents(&table);
    for label in ["nginx", "apache", "lighttpd"] {
        count(&mut contents, label, &[("errors_wrong_status", 0.0)], false);
    }
    let last = contents.trials.iter().filter(|trial| trial.scenario == "lighttpd").map(|trial| trial.id).max();
    for run in contents.runs.iter_mut().filter(|run| Some(run.trial) == last) {
        run.metrics.extend([("errors".into(), 300.0), ("errors_wrong_status".into(), 300.0)]);
    }
    assert_eq!(picked(&fixture::input_of(contents, &table)), "lighttpd");
}

#[test]
fn a_pick_with_many_errors_warns_that_its_figures_are_of_right_answers_alone() {
    let table = servers();
    let warning = "33.3 % of what was asked for went wrong: the figures are of the right answers alone.";
    let mut contents = fixture::contents(&table);
    for (label, refused) in [("nginx", 333.0), ("apache", 500.0), ("lighttpd", 900.0)] {
        count(&mut contents, label, &[("errors_wrong_status", refused)], false);
    }
    let input = fixture::input_of(contents, &table);
    assert_eq!(picked(&input), "nginx");
    let brief = |input: &Input| report::summary(input, &Place::default(), 250, false);
    assert!(brief(&input).contains(warning), "{}", brief(&input));
    let few = counted(&table, false);
    assert!(!brief(&few).contains("right answers alone"), "{}", brief(&few));
}

#[test]
fn safety_comes_before_errors_and_each_condition_has_its_own_fewest() {
    let mut table = servers();
    table.rows[0].class = Class::LosesAll;
    assert_eq!(
        picked(&counted(&table, false)),
        "apache",
        "what loses everything is no choice, however right its answers"
    );
    let mut table = servers();
    for row in &mut table.rows {
        let rate = if row.label == "nginx" { "20" } else { "60" };
        row.levels = vec![("service.web", row.label.clone()), ("workload.http-load.rate", rate.into())];
    }
    let json = export::json(&counted(&table, false));
    let picks: Vec<&str> = json["workloads"][0]["picks"]
        .as_array()
        .expect("picks by rate")
        .iter()
        .filter_map(|pick| pick["pick"].as_str())
        .collect();
    assert_eq!(picks, ["nginx", "apache"], "{json:#}");
}

#[test]
fn an_older_file_opens_and_says_that_its_figures_count_wrong_answers() {
    let input = counted(&servers(), true);
    let terminal = report::terminal(&input, 250, false);
    let expected = "recorded before wrong answers were kept out of the figures, and there were some: lighttpd (3.1 %";
    assert!(terminal.contains(expected), "{terminal}");
    assert_eq!(picked(&input), "nginx");
}
