//! Results of one study over time: what changed is said with its interval and what else did, and what is elsewhere stays apart.

use crate::fixture::{self, Table};
use ledger::model::{Host, Member};
use observe::durability::Class;
use observe::safety::Grade;
use report::{Comparison, History, Input};

const DAY: f64 = 86_400.0;

/// The filesystems' results so many days later, the values of scenarios that begin so changed by a factor.
fn result(days: f64, label: &str, factor: f64, kernel: &str, postgres: &str) -> Input {
    of_table(fixture::filesystems_and_buffers(), days, label, factor, kernel, postgres)
}

fn of_table(mut table: Table, days: f64, label: &str, factor: f64, kernel: &str, postgres: &str) -> Input {
    for row in table.rows.iter_mut().filter(|row| row.label.starts_with(label)) {
        row.values.iter_mut().flatten().for_each(|value| *value *= factor);
    }
    let mut contents = fixture::contents(&table);
    contents.study.created += days * DAY;
    contents.sessions[0].machine.insert("kernel".into(), kernel.into());
    for trial in &mut contents.trials {
        trial.facts.insert("postgres.version".into(), postgres.into());
    }
    Input::new(contents, report::input::Details::default())
}

fn history(results: Vec<Input>) -> History {
    History::of(results.into_iter().enumerate().map(|(i, input)| (format!("{i}.surefoot"), input)).collect())
}

fn upgraded() -> History {
    // In any order: time decides.
    history(vec![result(50.0, "xfs · 128M", 0.88, "6.12.3", "17.2"), result(0.0, "", 1.0, "6.1.0-25", "15.8")])
}

#[test]
fn what_got_slower_after_an_upgrade_is_said_with_what_changed() {
    let text = upgraded().text();
    let said = "Between 2026-11-21 00:04 UTC and 2027-01-10 00:04 UTC xfs · 128M became 12.0 % slower (95 % interval 9.6–14.4 %); \
                meanwhile: kernel 6.1.0-25 → 6.12.3, postgres 15.8 → 17.2.";
    assert!(text.contains(said), "{text}");
    assert!(text.contains("0.880 [0.856, 0.904] worse"), "{text}");
    assert_eq!(text.matches(" worse").count(), 1, "only what changed is marked:\n{text}");
    assert!(text.contains("what did it"), "{text}");
    let json = upgraded().json();
    let scenarios = json[0]["workloads"][0]["scenarios"].as_array().expect("scenarios");
    assert_eq!(scenarios.len(), 6, "the control is no scenario of its own");
    let xfs = scenarios.iter().find(|scenario| scenario["scenario"] == "xfs · 128M").expect("it was measured");
    let change = &xfs["figures"][1]["to_previous"];
    assert!((change["ratio"].as_f64().expect("a ratio") - 0.88).abs() < 1e-9, "{change}");
    assert_eq!((&change["flagged"], &change["better"]), (&true.into(), &false.into()));
    assert_eq!(
        json[0]["results"][1]["meanwhile"],
        serde_json::json!(["kernel 6.1.0-25 → 6.12.3", "postgres 15.8 → 17.2"])
    );
}

/// What flushes no more is faster for it: it had been told as faster, "meanwhile: nothing that is recorded".
#[test]
fn what_keeps_less_in_a_power_cut_than_before_is_said() {
    let of = |class: Class, grade: Grade| {
        let mut table = fixture::filesystems_and_buffers();
        table.rows.iter_mut().filter(|row| row.label.starts_with("xfs")).for_each(|row| row.class = class);
        let mut result = of_table(table, 0.0, "", 1.0, "6.1.0-25", "15.8");
        fixture::cut(&mut result.contents, "ext4 · 2G", fixture::found(grade));
        result
    };
    let mut later = of(Class::LosesRecent, Grade::C);
    later.contents.study.created += DAY;
    let text = history(vec![of(Class::KeepsAcknowledged, Grade::A), later]).text();
    let said = "meanwhile: after a power cut: ext4 · 2G A · lost nothing → C · lost 12 commits, in a power cut: keeps every \
                acknowledged commit → may lose the last seconds (xfs · 128M and xfs · 2G).";
    assert!(text.contains(said), "{text}");
}

/// Of a workload that the first result lacks it had been said that it "became lower", at the first result's confidence.
#[test]
fn a_change_is_said_as_the_result_has_it_in_which_it_came() {
    let mut first = result(0.0, "", 1.0, "6.1", "15");
    first.contents.scenarios.iter_mut().for_each(|scenario| scenario.workload = "tree".into());
    let mut last = result(2.0, "xfs · 128M", 0.88, "6.1", "15");
    last.contents.study.analysis.confidence = 0.99;
    let text = history(vec![first, result(1.0, "", 1.0, "6.1", "15"), last]).text();
    assert!(text.contains("xfs · 128M became 12.0 % slower (99 % interval "), "{text}");
}

#[test]
fn equal_days_and_differences_below_the_margin_are_no_change() {
    let text = history(vec![result(0.0, "", 1.0, "6.1", "15"), result(1.0, "", 0.99, "6.1", "15")]).text();
    assert!(text.contains("no change larger than 3 % could be shown; meanwhile: nothing that is recorded."), "{text}");
    assert!(!text.contains(" worse") && !text.contains(" better\n"), "{text}");
}

#[test]
fn a_shown_change_needs_four_rounds() {
    let short = |days, factor| {
        let mut table = fixture::filesystems_and_buffers();
        table.rows.iter_mut().for_each(|row| row.values.truncate(3));
        of_table(table, days, "", factor, "6.1", "15")
    };
    let text = history(vec![short(0.0, 1.0), short(1.0, 0.5)]).text();
    assert!(
        text.contains("no change could be shown, as no scenario has 4 rounds in both") && text.contains("3 rounds"),
        "{text}"
    );
}

#[test]
fn small_steps_add_up() {
    let text =
        history((0..4).map(|i| result(f64::from(i), "ext4 · 2G", 0.98f64.powi(i), "6.1", "15")).collect()).text();
    assert_eq!(text.matches("no change larger than").count(), 3, "{text}");
    assert!(text.contains("in steps too small to be shown one by one, ext4 · 2G became 5.9 % slower"), "{text}");
    // That it once became faster at once was all that was said of it.
    let level = |i: i32| if i == 0 { 1.0 } else { 1.1 * 0.98f64.powi(i - 1) };
    let text = history((0..11).map(|i| result(f64::from(i), "ext4 · 2G", level(i), "6.1", "15")).collect()).text();
    assert!(text.contains("ext4 · 2G became 10"), "{text}");
    assert!(text.contains("in steps too small to be shown one by one, ext4 · 2G became 8.3 % slower"), "{text}");
}

#[test]
fn other_machines_and_studies_stay_apart() {
    let mut elsewhere = result(1.0, "", 0.5, "6.1", "15");
    elsewhere.contents.sessions[0].machine.insert("cpus".into(), "64".into());
    let mut other = result(2.0, "", 0.5, "6.1", "15");
    other.contents.study.question = "Something else?".into();
    let apart = history(vec![result(0.0, "", 1.0, "6.1", "15"), elsewhere, other]);
    assert!(!apart.has_two());
    let text = apart.text();
    assert!(text.contains("Not compared, as from another machine or bench: 1.surefoot."), "{text}");
    assert!(text.contains("filesystems: Something else?") && !text.contains(" worse"), "{text}");
}

/// Nodes alike had been one machine over time, which got slower and faster.
#[test]
fn hosts_of_a_fleet_are_not_one_machine() {
    let of_id = |days: f64, [name, id]: [&str; 2], factor: f64| {
        let mut input = result(days, "xfs", factor, "6.1", "15");
        let (host, known_by, others) = (Host { name: name.into(), id: id.into() }, String::new(), Vec::new());
        input.contents.members = vec![Member { number: 1, of: 2, attempt: 1, rounds: 6, host, known_by, others }];
        input
    };
    let on = |days: f64, name: &str, factor: f64| of_id(days, [name, ""], factor);
    let apart = history(vec![on(0.0, "n1", 1.0), on(1.0, "n2", 0.5)]);
    assert!(!apart.has_two() && !apart.text().contains("of what it was"), "{}", apart.text());
    assert!(apart.text().contains("Not compared, as from another machine or bench: 1.surefoot."), "{}", apart.text());
    assert!(history(vec![on(0.0, "n1", 1.0), on(1.0, "n1", 0.5)]).text().contains("of what it was"));
    // What was installed anew had not been compared.
    let anew = history(vec![of_id(0.0, ["n1", "a1"], 1.0), of_id(1.0, ["n1", "b2"], 0.5)]).text();
    assert!(anew.contains("of what it was") && anew.contains("machine id a1 → b2"), "{anew}");
    let compared = Comparison::of(&on(0.0, "n1", 1.0), &on(1.0, "n2", 1.0)).expect("both ran on a host").text();
    assert!(compared.contains("host: n1 → n2") && !compared.contains("facts are equal"), "{compared}");
}

/// No ratio says it, and it was "no change".
#[test]
fn what_fails_or_stalls_after_an_upgrade_is_said() {
    let mut table = fixture::filesystems_and_buffers();
    for row in &mut table.rows {
        match row.label.as_str() {
            "xfs · 2G" => row.values[2] = Some(0.0),
            "btrfs · 2G" => row.values.fill(None),
            "ext4 · 2G" => row.values[..2].fill(None),
            _ => {}
        }
    }
    let later = of_table(table, 1.0, "", 1.0, "6.12", "15");
    let text = history(vec![result(0.0, "", 1.0, "6.1", "15"), later]).text();
    for said in [
        "xfs · 2G stalled (a trial's figure is 0)",
        "btrfs · 2G failed in all its trials",
        "ext4 · 2G failed in 2 of 6 rounds",
    ] {
        assert!(text.contains(said) && !text.contains("no change"), "no {said:?} in\n{text}");
    }
    // What failed and stalled before is no news.
    let as_before = |days| {
        let mut table = fixture::filesystems_and_buffers();
        table.rows[3].values[2] = Some(0.0);
        table.rows[5].values.fill(None);
        of_table(table, days, "", 1.0, "6.1", "15")
    };
    assert!(history(vec![as_before(0.0), as_before(1.0)]).text().contains("no change larger than 3 % could be shown"));
}

#[test]
fn a_changed_study_file_is_said() {
    let mut later = result(1.0, "", 1.0, "6.1", "15");
    later.contents.study.hash = "other".into();
    later.contents.study.overrides = vec!["storage.size=2GiB".into()];
    let text = history(vec![result(0.0, "", 1.0, "6.1", "15"), later]).text();
    assert!(text.contains("the study itself (`--set` design.rounds_max=6 → storage.size=2GiB)"), "{text}");
}

/// By the room that there was the same study goes by turns, or one trial after another.
#[test]
fn another_measure_is_said() {
    let mut later = result(1.0, "xfs", 0.9, "6.1", "15");
    later.contents.study.analysis.order = ledger::model::Order::Turns;
    let text = history(vec![result(0.0, "", 1.0, "6.1", "15"), later]).text();
    assert!(
        text.contains("meanwhile: what a figure is of: a typical run (geometric mean of runs) → all turns"),
        "{text}"
    );
    assert!(!text.contains("rounds:"), "the same, in other words: {text}");
}

#[test]
fn the_page_has_a_line_for_each_scenario() {
    let html = upgraded().html();
    let Some(opened) = crate::page::open(&crate::page::write("history.html", &html)) else { return };
    assert_eq!(opened.console, "");
    assert!(
        opened.dom.contains("id=\"history-0-0\"") && opened.dom.contains("became 12.0&nbsp;% slower"),
        "{}",
        opened.dom
    );
    assert!(opened.dom.contains("data-ready=\"1\""), "the script did not reach its end");
    assert_eq!(opened.dom.matches("<td class=\"words slower\">").count(), 2, "to the one before, and to the first");
}
