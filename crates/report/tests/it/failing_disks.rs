//! What failing disks were measured to do, beside the speed: in the short answer, the words, the page and the JSON.

use crate::export;
use crate::fixture::{self, Row, Table};
use expect_test::expect;
use ledger::model::MeasuredFaults;
use observe::faults::{Consequence, Example, FaultsFound};
use report::input::Input;
use serde_json::{Value, json};

/// Cases by fault and end.
fn found(cases: &[(&str, Consequence)]) -> FaultsFound {
    let mut found: FaultsFound = serde_json::from_value(json!({
        "writes": 90, "flushes": 40, "reads": 0, "possible": 520, "cases": 0, "not_struck": 0, "drawn": 2, "is_complete": false,
        "honest": 8, "honest_bad": 0, "rows": [], "notes": ["a note"], "seconds": 60.0,
    }))
    .expect("as a trial says it");
    for (number, (fault, end)) in cases.iter().enumerate() {
        found.add([fault, "WAL", "restart"], *end, || Example {
            case: format!("{fault}@{}/restart", number + 1),
            words: "commit 3 was acknowledged and is gone".into(),
            client: vec!["commit 4: disk I/O error".into()],
            server: Vec::new(),
            kernel: vec!["Aborting journal on device the disk-8.".into(), "Remounting filesystem read-only".into()],
        });
    }
    found
}

fn input(all: &[(&str, FaultsFound)]) -> Input {
    let values = |base: f64| [0.998, 1.002, 1.0, 0.997, 1.003, 1.001].map(|factor| base * factor);
    let rows = [("ext4", 1000.0), ("xfs", 700.0)].map(|(name, base)| Row::new(name, &values(base)));
    let table = Table { rows: rows.into(), ..fixture::filesystems_and_buffers() };
    let mut contents = fixture::contents(&table);
    for (label, found) in all {
        contents.faults.push(MeasuredFaults {
            scenario: (*label).into(),
            ended: 1_795_219_999.0,
            asked: Value::Null,
            faults: Some(found.clone()),
            failure: None,
            member: None,
        });
    }
    fixture::input_of(contents, &table)
}

/// ext4 is picked, and loses a commit when a flush fails.
fn lossy() -> Input {
    let of_ext4 = [("flush-error", Consequence::Lost), ("flush-error", Consequence::Told), ("full", Consequence::Told)];
    input(&[
        ("ext4", found(&of_ext4)),
        ("xfs", found(&[("flush-error", Consequence::Told), ("full", Consequence::Stopped)])),
    ])
}

#[test]
fn a_search_that_ended_early_is_a_hole() {
    let whole = found(&[("full", Consequence::Told)]);
    let early = FaultsFound { ended_early: true, ..whole.clone() };
    assert!(!report::has_holes(&input(&[("ext4", whole)])));
    assert!(report::has_holes(&input(&[("ext4", early)])));
}

/// What had been lost counts on, and nothing said that it was looked for in vain since.
#[test]
fn a_search_that_failed_after_a_loss_is_a_hole() {
    let mut input = input(&[("ext4", found(&[("flush-error", Consequence::Lost)]))]);
    assert!(!report::has_holes(&input));
    let failed = MeasuredFaults { faults: None, ..input.contents.faults[0].clone() };
    input.contents.faults.push(failed);
    assert!(report::has_holes(&input));
}

#[test]
fn a_pick_that_loses_silently_is_not_picked_without_a_word() {
    expect![[r#"
        Use ext4: it is the fastest of the 2 scenarios. Not xfs: 0.70× the speed.
        transactions per second  mean, 1/s  95 % interval  against the first  after a power cut  on a failing disk
        ext4 (baseline)              1,000      998–1,003                  1  keeps all          lost in 1 of 3 cases
        xfs                            700        698–702  0.70× (0.70–0.70)  keeps all          stopped at worst, in 2 cases
        How sure: 95 %, over 6 rounds, that none of the 2 scenarios is faster.
        On a failing disk, acknowledged commits were lost in 1 of 3 cases, and nobody said so (flush-error): ext4.
        What would change it: another machine, load or version. More rounds only narrow the figures.
    "#]].assert_eq(&report::summary(&lossy(), &report::Place::default(), 120, false));
    let harmless = report::summary(
        &input(&[("ext4", found(&[("full", Consequence::Told)]))]),
        &report::Place::default(),
        120,
        false,
    );
    assert!(!harmless.contains("On a failing disk,"), "{harmless}");
}

#[test]
fn the_whole_answer_has_each_scenario() {
    let text = report::terminal(&lossy(), 150, false);
    let lines: Vec<&str> = text.lines().filter(|line| line.contains("ailing disk")).collect();
    expect![[r#"
        On a failing disk, ext4: acknowledged commits were lost in 1 of 3 cases, and nobody said so (flush-error); a sample of 3 of 520 cases.
        On a failing disk, xfs: nothing was lost or wrong without a word: stopped at worst, in 2 cases; a sample of 2 of 520 cases; of the requests and faults
           scenario  mean, 1/s  95 % interval               vs ext4  verdict   after a power cut  on a failing disk             rounds"#]].assert_eq(&lines.join("\n"));
}

/// A search that reached no case had been told as one that found nothing lost or wrong.
#[test]
fn without_a_case_nothing_is_known() {
    let told = found(&[("full", Consequence::Told)]);
    let idle = FaultsFound { possible: 0, is_complete: true, ..found(&[]) };
    let lines = |all: &[(&str, FaultsFound)]| {
        let text = report::terminal(&input(all), 150, false);
        text.lines().filter(|line| line.starts_with("On a failing disk")).map(str::to_string).collect::<Vec<_>>()
    };
    let all = lines(&[("ext4", found(&[])), ("xfs", told)]);
    assert_eq!(
        all[0],
        "On a failing disk, ext4: nothing is known: none of 520 cases was tried in the time that `safety.fault_budget` gives."
    );
    assert!(all[1].starts_with("On a failing disk, xfs: nothing was lost or wrong without a word: told"), "{all:?}");
    let all = lines(&[("ext4", idle)]);
    assert_eq!(all, ["On a failing disk, ext4: nothing is known: its load made no request that such a fault strikes."]);
}

#[test]
fn the_page_has_faults_ways_on_and_examples() {
    let page = report::html(&lossy());
    for words in [
        "On a failing disk",
        "By fault and block",
        "1 told, 1 lost",
        "flush-error@1/restart",
        "Aborting journal on device the disk-8. (and 1 more lines)",
        "0 of 8 wrong",
        "ext4: a note",
    ] {
        assert!(page.contains(words), "{words}");
    }
    assert!(!report::html(&input(&[])).contains("On a failing disk"));
}

#[test]
fn machines_get_all_of_it() {
    let json = export::json(&lossy());
    let scenarios = json["workloads"][0]["scenarios"].as_array().expect("scenarios");
    let of = |label: &str| &scenarios.iter().find(|one| one["scenario"] == label).expect("a scenario")["faults"];
    assert_eq!((&of("ext4")["worst"], &of("ext4")["silent_share_at_most"]), (&json!("lost"), &Value::Null));
    assert_eq!((&of("xfs")["worst"], &of("xfs")["cases"]), (&json!("stopped"), &json!(2)));
    assert!(
        of("xfs")["silent_share_at_most"].as_f64().is_some_and(|share| share > 0.7),
        "of two cases nothing is known"
    );
}

#[test]
fn without_a_speed_the_answer_is_what_the_disk_does() {
    let mut only = lossy();
    only.contents.trials.clear();
    expect![[r#"
        Only what a failing disk does was measured, no speed: `surefoot run` measures both. Lost or wrong without a word: ext4.
        scenario  on a failing disk
        ext4      lost in 1 of 3 cases
        xfs       stopped at worst, in 2 cases
    "#]].assert_eq(&report::summary(&only, &report::Place::default(), 120, false));
    assert!(report::html(&lossy()).contains("<summary>Scenarios</summary>"));
    assert!(!report::html(&only).contains("<summary>Scenarios</summary>"), "there is no speed to show");
}
