//! A scenario whose commits reach the device without flushes is marked wherever its speed stands, and is no choice beside
//! one that flushes; what can't be told is not said.

use crate::export;
use crate::fixture::{self, Row, Table};
use crate::page;
use expect_test::expect;
use ledger::model::{Contents, TableRecord};
use observe::durability::Class;
use report::input::Input;
use serde_json::{Value, json};

const MARK: &str = "does not flush";

/// ext4 and XFS flush for each commit, jfs is three times as fast.
fn three_filesystems() -> Table {
    let around = |level: f64| [0.996, 1.004, 0.998, 1.002, 1.001, 0.999].map(|noise| level * noise);
    let rows =
        vec![Row::new("ext4", &around(1000.0)), Row::new("xfs", &around(1100.0)), Row::new("jfs", &around(3000.0))];
    Table { rows, ..fixture::filesystems_and_buffers() }
}

/// What all runs of a scenario together counted.
fn count(contents: &mut Contents, label: &str, flushes: f64, commits: f64) {
    let share = contents.trials.iter().filter(|trial| trial.scenario == label).count() as f64;
    for run in fixture::runs_of(contents, |trial| trial.scenario == label) {
        run.metrics.insert("device_flushes".into(), flushes / share);
        run.metrics.insert("commits".into(), commits / share);
        run.metrics.insert("flushes_per_commit".into(), flushes / commits);
    }
}

fn counted(jfs_flushes: f64) -> Input {
    let mut input = fixture::input(&three_filesystems());
    count(&mut input.contents, "ext4", 20_300.0, 10_000.0);
    count(&mut input.contents, "xfs", 10_000.0, 10_000.0);
    count(&mut input.contents, "jfs", jfs_flushes, 10_000.0);
    input
}

#[test]
fn settings_that_promise_what_the_device_did_not_get() {
    expect![[r#"
        Pick xfs: 1,100 transactions per second (95 % interval 1,095–1,105 for the pick of 3, 6 trials).
        It is shown to be the best of the equally safe scenarios measured (95 % confidence).
        jfs (does not flush) measured 2.73× that, but is no choice: 3 flushes for 10,000 commits, so a power cut may take acknowledged
          commits.
        xfs is 10.0 % faster than ext4 (95 % interval +10.0 to +10.0 %). With it went 0.49× the flushes per commit; bytes written per
          transaction alike.
        jfs (does not flush) is 2.73× xfs (95 % interval 2.73–2.73). With it went practically no flushes per commit; bytes written per
          transaction alike.
        jfs (does not flush) is 3.00× ext4 (95 % interval 3.00–3.00). With it went practically no flushes per commit; bytes written per
          transaction alike.
        jfs (does not flush): practically no flush reached the device, so a power cut may take acknowledged commits; its speed is not
          comparable with scenarios that flush.
        Limits: one machine, fresh filesystems, a synthetic load, these levels and versions. The intervals cover the variation from trial
          to trial and round to round on this machine only.
        warning: oltp: every acknowledged commit is kept by the settings, but the device got 3 flushes for 10,000 commits with jfs. What
          was acknowledged may lie only in a cache that a power cut empties: this counts as less safe than what flushes. Look for what
          swallows flushes: the filesystem, its mount options, or a setting of the database.
        warning: oltp: the scenarios do not keep the same promises in a power cut. A scenario that may lose data is fast for a reason: its
          speed is not comparable with a safe one's. Set `parity = "require"`, or compare within one class only.

        oltp, transactions per second (more is better)
           scenario  mean, 1/s  95 % interval               vs ext4  verdict   after a power cut  flushes/commit  rounds
        1  jfs           3,000    2,991–3,009     3.00 [3.00, 3.00]  faster    does not flush           0.000300       6
        2  xfs           1,100    1,097–1,103  1.100 [1.100, 1.100]  faster    keeps all                    1.00       6
        3  ext4          1,000      997–1,003                     1  baseline  keeps all                    2.03       6
        Orders: jfs went before xfs in 6 of 6 rounds; of all pairs this one is the least balanced.

        oltp: tails and shapes that differ
        figure                      claim                     ratio  95 % interval  verdict  p, corrected  rounds
        99th percentile of latency  jfs vs ext4 (filesystem)   0.34      0.31–0.37  better        < 0.001       6
        99th percentile of latency  jfs vs xfs (filesystem)    0.35      0.31–0.40  better        < 0.001       6
        rate of the worst second    xfs vs ext4 (filesystem)  1.100    1.100–1.100  better        < 0.001       6
        rate of the worst second    jfs vs ext4 (filesystem)   3.00      3.00–3.00  better        < 0.001       6
        rate of the worst second    jfs vs xfs (filesystem)    2.73      2.73–2.73  better        < 0.001       6
        Each figure is a family of claims of its own (Holm), one value a trial. Percentiles of speed are of its turns, or seconds.
    "#]].assert_eq(&report::terminal(&counted(3.0), 130, false));
}

#[test]
fn the_page_marks_it_in_tables_and_pictures() {
    let mut input = counted(3.0);
    input.contents.study.tables.push(TableRecord {
        title: "Speed".into(),
        workload: "oltp".into(),
        metric: "transactions_per_second".into(),
        rows: "storage.filesystem".into(),
        columns: "storage.filesystem".into(),
        only: Vec::new(),
        source: String::new(),
        published: Vec::new(),
    });
    for scenario in &mut input.contents.scenarios {
        scenario.settings["bench"] = json!("guest");
        scenario.settings["guest"] = json!({ "memory": 1 << 30 });
    }
    let machine = &mut input.contents.sessions[0].machine;
    machine.insert("guest_kernel".into(), "Linux 6.1.176 (User-Mode Linux)".into());
    let html = report::html(&input);
    for expected in [
        "jfs (does not flush)</td>",
        "keeps every acknowledged commit by its settings, but does not flush: 3 flushes for 10,000 commits",
        "<td class=\"words wrap\">does not flush: 3 flushes for 10,000 commits</td>",
        "jfs (does not flush) vs ext4 (filesystem)",
        "jfs † vs ext4",
        "jfs (does not flush) ⚠",
        "(2,988–3,012) does not flush</td>",
        "3,000 †",
        "† does not flush: ",
        "flushes per commit",
    ] {
        assert!(html.contains(expected), "{expected}");
    }
    assert!(report::terminal(&input, 130, false).contains("(2,988–3,012) †"));
    let Some(opened) = page::open(&page::write("marked.html", &html)) else { return };
    assert_eq!(opened.console, "");
    assert!(opened.dom.contains("data-ready=\"1\""));
}

#[test]
fn machines_are_told_and_get_the_same_pick() {
    let input = counted(3.0);
    let json = export::json(&input);
    assert_eq!(json["workloads"][0]["pick"], "xfs");
    let claim = &json["workloads"][0]["versus_baseline"];
    let of_jfs = claim.as_array().expect("a list").iter().find(|claim| claim["of"] == "jfs").expect("it is compared");
    assert_eq!((&of_jfs["of_mark"], &of_jfs["against_mark"]), (&json!(MARK), &json!("")));
    let jfs = fixture::row_of_json(&input, "jfs");
    assert_eq!(
        (&jfs["does_not_flush"], &jfs["flushes"], &jfs["commits"]),
        (&json!(true), &json!(3.0), &json!(10_000.0))
    );
    assert_eq!((&jfs["durability"], &jfs["safety"]), (&json!("keeps_acknowledged"), &json!("loses_recent")));
    assert_eq!(fixture::row_of_json(&input, "xfs")["does_not_flush"], false);
}

#[test]
fn two_results_mark_it_on_the_side_that_has_it() {
    let text = report::Comparison::of(&counted(3.0), &counted(10_000.0)).expect("both ran on the host").text();
    assert!(text.contains("3,000 1/s (does not flush) → 3,000 1/s "), "{text}");
}

#[test]
fn a_group_of_commits_shares_flushes() {
    let input = counted(800.0);
    assert_eq!(fixture::row_of_json(&input, "jfs")["does_not_flush"], false);
    assert!(!report::html(&input).contains(MARK) && !report::terminal(&input, 130, false).contains(MARK));
    assert_eq!(export::json(&input)["workloads"][0]["pick"], "jfs");
}

/// `flushes` for a hundred thousand commits of jfs; what its scenario and trials are besides, is the caller's.
fn is_marked(flushes: f64, change: impl Fn(&mut Contents)) -> Option<bool> {
    let mut input = fixture::input(&three_filesystems());
    count(&mut input.contents, "jfs", flushes, 100_000.0);
    change(&mut input.contents);
    fixture::row_of_json(&input, "jfs")["does_not_flush"].as_bool()
}

fn settings(contents: &mut Contents) -> &mut Value {
    &mut contents.scenarios[2].settings
}

#[test]
fn many_connections_may_share_one_flush() {
    let threads =
        |threads: u64| move |contents: &mut Contents| settings(contents)["workload"] = json!({ "threads": threads });
    assert_eq!(is_marked(900.0, threads(1)), Some(true));
    assert_eq!(is_marked(1100.0, threads(1)), Some(false));
    // Five hundred connections can't do with fewer than 200 flushes, but with those they can.
    assert_eq!(is_marked(220.0, threads(500)), Some(false));
    assert_eq!(is_marked(40.0, threads(500)), Some(true));
    let pipelined = |contents: &mut Contents| settings(contents)["workload"] = json!({ "threads": 10, "pipeline": 50 });
    assert_eq!([220.0, 40.0].map(|flushes| is_marked(flushes, pipelined)), [Some(false), Some(true)]);
}

#[test]
fn what_the_counters_can_not_tell_is_not_said() {
    let device =
        |device: &'static str| move |contents: &mut Contents| settings(contents)["storage"]["device"] = json!(device);
    for unjudged in ["dir", "tmpfs", "block"] {
        assert_eq!(is_marked(0.0, device(unjudged)), Some(false), "{unjudged}");
    }
    let on_virtual = |cache: &'static str| {
        move |contents: &mut Contents| {
            device("virtual")(contents);
            settings(contents)["storage"]["cache"] = json!(cache);
        }
    };
    assert_eq!(is_marked(0.0, on_virtual("write-through")), Some(false), "the kernel sends it none");
    assert_eq!(is_marked(0.0, on_virtual("volatile")), Some(true));
    let fact = |name: &'static str, value: &'static str| {
        move |contents: &mut Contents| {
            device("block")(contents);
            contents.trials.iter_mut().for_each(|trial| _ = trial.facts.insert(name.into(), value.into()));
        }
    };
    assert_eq!(is_marked(0.0, fact("device_fua", "1")), Some(false), "writes past the cache need no flush");
    assert_eq!(is_marked(0.0, fact("device_fua", "0")), Some(true));
    let log_apart = |contents: &mut Contents| {
        contents.trials.iter_mut().for_each(|trial| _ = trial.facts.insert("log".into(), "loop device".into()));
    };
    assert_eq!(is_marked(0.0, log_apart), Some(false), "the journal's own device gets the flushes");
    let log_in_memory =
        |contents: &mut Contents| settings(contents)["volumes"] = json!({ "wal": { "device": "tmpfs" } });
    assert_eq!(is_marked(0.0, log_in_memory), Some(false));
    let nothing_counted = |contents: &mut Contents| {
        contents.runs.iter_mut().for_each(|run| _ = run.metrics.remove("flushes_per_commit"));
    };
    assert_eq!(is_marked(0.0, nothing_counted), None, "no commits, or no counter");
    let nothing_found = |contents: &mut Contents| {
        contents.runs.iter_mut().for_each(|run| _ = run.metrics.insert("missed_rows".into(), 99_990.0 / 6.0));
    };
    assert_eq!(is_marked(12.0, nothing_found), Some(false), "statements that found no row");
}

#[test]
fn older_files_count_no_commits() {
    let old = |contents: &mut Contents| contents.runs.iter_mut().for_each(|run| _ = run.metrics.remove("commits"));
    assert_eq!(is_marked(0.0, old), Some(true));
    assert_eq!(is_marked(90.0, old), Some(true));
    assert_eq!(is_marked(8_000.0, old), Some(false));
    let mut input = counted(0.0);
    old(&mut input.contents);
    assert!(report::terminal(&input, 130, false).contains("the device got no flush for any commit with jfs"));
}

#[test]
fn settings_that_promise_less_are_no_finding() {
    let mut table = three_filesystems();
    table.rows[2].class = Class::LosesRecent;
    let mut input = fixture::input(&table);
    count(&mut input.contents, "jfs", 3.0, 10_000.0);
    let text = report::terminal(&input, 130, false);
    assert!(text.contains("loses seconds, does not flush") && !text.contains("is kept by the settings"), "{text}");
    assert!(text.contains("jfs (does not flush): after a power cut, the last seconds of"), "{text}");
}

/// A program that flushes nothing had been told to keep all that it acknowledged.
#[test]
fn what_another_program_keeps_is_not_known() {
    let mut input = fixture::input(&three_filesystems());
    let jfs = input.contents.scenarios.iter_mut().find(|scenario| scenario.label == "jfs").expect("a scenario");
    jfs.durability.reasons = vec!["`command`: what the program itself flushes is not known".into()];
    for text in [report::terminal(&input, 130, false), report::summary(&input, &report::Place::default(), 130, false)] {
        let has = |label: &str, words: &str| text.lines().any(|line| line.contains(label) && line.contains(words));
        assert!(has("jfs", "not known") && !has("jfs", "keeps all") && has("xfs", "keeps all"), "{text}");
    }
}

#[test]
fn where_nothing_flushes_the_pick_says_it() {
    let mut input = counted(3.0);
    for label in ["ext4", "xfs"] {
        count(&mut input.contents, label, 3.0, 10_000.0);
    }
    let text = report::terminal(&input, 130, false);
    assert!(text.starts_with("Pick jfs (does not flush): 3,000"), "{text}");
    assert!(
        text.contains("warning: oltp: every acknowledged commit is kept by the settings, but the device got 3 flushes")
    );
}
