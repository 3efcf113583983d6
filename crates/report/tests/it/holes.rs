//! Studies in which a scenario fails in some rounds: its mean is over other rounds than the others', and is no rank among them.

use crate::answers::{by_rate, rounds, study};
use crate::export;
use crate::fixture::{self, Row, Table};
use ledger::model::Session;
use ledger::reasons::{INTERRUPTED, NO_IMAGES, SAFETY_KNOWN};
use observe::durability::Class;
use observe::safety::Grade;
use report::{Input, Place, Standing};
use serde_json::Value;

/// A scenario that failed in these rounds.
fn failing(row: Row, failed: std::ops::Range<usize>) -> Row {
    let mut row = row;
    row.values[failed].iter_mut().for_each(|value| *value = None);
    row
}

fn short(table: &Table) -> String {
    fixture::one_line(&report::summary(&fixture::input(table), &Place::default(), 120, false))
}

fn part(table: &Table) -> Value {
    export::json(&fixture::input(table))["workloads"][0].clone()
}

#[test]
fn the_pick_is_the_best_by_rounds_that_both_have() {
    // The machine is half as fast in the last two rounds, which xfs failed: its mean is above that of ext4, and it is 5 % slower. ext4 failed as
    // often, in the first two.
    let level = [2000.0, 2010.0, 1995.0, 2004.0, 2001.0, 1999.0, 1000.0, 1002.0];
    let jitter = [1.0, 1.0, 1.001, 0.999, 1.002, 0.998, 1.0, 1.0];
    let xfs: Vec<f64> = level.iter().zip(jitter).map(|(value, jitter)| value * 0.95 * jitter).collect();
    let table = study(vec![failing(Row::new("ext4", &level), 0..2), failing(Row::new("xfs", &xfs), 6..8)]);
    let shown = short(&table);
    assert!(
        shown.starts_with("Use ext4: it is the fastest of the 2 scenarios. Not xfs (4.9")
            || shown.starts_with("Use ext4: it is the fastest of the 2 scenarios. Not xfs: 5"),
        "{shown}"
    );
    assert!(shown.contains("ext4 failed in 2 of 8 rounds, and no other that could be picked in fewer."), "{shown}");
    assert!(shown.contains("How sure: 95 %, over 4 rounds"), "the rounds that both have: {shown}");
    let part = part(&table);
    assert_eq!((&part["pick"], &part["best_set"]), (&"ext4".into(), &serde_json::json!(["ext4"])));
}

/// "provision: Invalid argument (os error 22)" was all that a mount option told which the kernel refused.
#[test]
fn the_systems_own_words_come_with_what_was_done() {
    let said = |causes: [&str; 2]| {
        let table = study(vec![failing(Row::new("xfs", &[0.0; 2]), 0..2), failing(Row::new("ext4", &[0.0; 2]), 0..2)]);
        let mut contents = fixture::contents(&table);
        let failures = contents.trials.iter_mut().filter_map(|trial| trial.failure.as_mut());
        failures.for_each(|failure| failure.causes = causes.map(String::from).to_vec());
        fixture::one_line(&report::summary(&fixture::input_of(contents, &table), &Place::default(), 400, false))
    };
    let refused = ["cannot mount /dev/loop0 as xfs with options `norecovery`", "Invalid argument (os error 22)"];
    let words = "load: cannot mount /dev/loop0 as xfs with options `norecovery`: Invalid argument (os error 22).";
    assert!(said(refused).contains(words), "{}", said(refused));
    let full = ["sqlite cannot make its tables", "the database says: disk is full (SQLite)"];
    assert!(said(full).contains("load: the database says: disk is full (SQLite)."), "{}", said(full));
}

/// It was recommended "with each rate".
#[test]
fn a_rate_at_which_everything_fails_has_no_pick() {
    let (low, high) = ("rate=200", "rate=300");
    let levels = [("ext4", low, 2200.0), ("ext4", high, 4400.0), ("xfs", low, 2000.0), ("xfs", high, 4000.0)];
    let mut table = by_rate(&levels);
    for row in table.rows.iter_mut().filter(|row| row.label.ends_with(high)) {
        row.values.fill(None);
    }
    let shown = short(&table);
    assert!(shown.starts_with("Use xfs with rate=200, nothing with rate=300."), "{shown}");
    let whole = report::answer(&fixture::input(&table)).join(" ");
    assert!(
        whole.starts_with("Pick by rate: xfs with rate=200: ") && whole.contains("; nothing with rate=300."),
        "{whole}"
    );
    // Of those that are not named it is said how many they are.
    let rates = ["rate=200", "rate=300", "rate=400", "rate=500", "rate=600", "rate=700"];
    let levels: Vec<_> = rates.iter().flat_map(|rate| [("ext4", *rate, 2200.0), ("xfs", *rate, 2000.0)]).collect();
    let mut table = by_rate(&levels);
    for row in table.rows.iter_mut().filter(|row| !row.label.ends_with(low)) {
        row.values.fill(None);
    }
    let shown = short(&table);
    let nothing = "nothing with rate=300, rate=400, rate=500, rate=600 and 1 more.";
    assert!(shown.starts_with(&format!("Use xfs with rate=200, {nothing}")), "{shown}");
}

/// Out of memory where the load is heaviest: in the other six rounds it is 12 % faster.
#[test]
fn who_fails_more_often_is_not_picked_and_is_named() {
    let mut fast = Row::new("btrfs", &rounds(1120.0, 0.01, 2));
    [1, 3, 5, 7].into_iter().for_each(|round| fast.values[round] = None);
    let table = study(vec![Row::new("ext4", &rounds(1000.0, 0.01, 0)), Row::new("xfs", &rounds(950.0, 0.01, 1)), fast]);
    let shown = short(&table);
    assert!(
        shown.starts_with(
            "Use ext4: it is the fastest of the scenarios that failed no more often. Not btrfs, 1.12× as fast: it failed in 4 of 8 rounds."
        ),
        "{shown}"
    );
    let found = part(&table);
    assert_eq!((&found["pick"], &found["best_set"]), (&"ext4".into(), &serde_json::json!(["ext4"])));
    let row = fixture::row_of_json(&fixture::input(&table), "btrfs");
    assert_eq!((&row["failed_rounds"], &row["fails_more_than"]), (&4.into(), &"ext4".into()));
    let full = report::terminal(&fixture::input(&table), 250, false);
    assert!(full.contains("but is no choice: it failed in 4 of 8 rounds, and ext4 in none."), "{full}");
    // Where it is no faster it is named all the same, and who was given up has failed from then on.
    let slow = failing(Row::new("btrfs", &rounds(900.0, 0.01, 2)), 3..8);
    let mut contents = fixture::contents(&study(vec![
        Row::new("ext4", &rounds(1000.0, 0.01, 0)),
        Row::new("xfs", &rounds(950.0, 0.01, 1)),
        slow,
    ]));
    contents.trials.retain(|trial| trial.scenario != "btrfs" || trial.round < 5);
    let full = report::terminal(&report::input::Input::new(contents, Default::default()), 250, false);
    assert!(full.contains("Not picked, as others failed in fewer rounds: btrfs (5 of 8 rounds)."), "{full}");
}

/// On a machine that got slower, who failed in the slow rounds "measured 1.27× that", being a tenth slower in the rounds of both.
#[test]
fn who_fails_when_the_machine_is_slow_is_not_called_faster() {
    let level = [2000.0, 2010.0, 1995.0, 2004.0, 1001.0, 999.0, 1000.0, 1002.0];
    let jitter = [1.0, 1.0, 1.001, 0.999, 1.002, 0.998, 1.0, 1.0];
    let times = |factor: f64| level.iter().zip(jitter).map(move |(value, jitter)| value * factor * jitter);
    let (xfs, btrfs): (Vec<f64>, Vec<f64>) = (times(0.8).collect(), times(0.9).collect());
    let btrfs = failing(Row::new("btrfs", &btrfs), 4..8);
    let table = study(vec![Row::new("ext4", &level), Row::new("xfs", &xfs), btrfs]);
    let full = report::answer(&fixture::input(&table)).join(" ");
    assert!(full.starts_with("Pick ext4: ") && !full.contains("but is no choice"), "{full}");
    assert!(full.contains("Not picked, as others failed in fewer rounds: btrfs (4 of 8 rounds)."), "{full}");
    // Beside one that is faster, and no choice either.
    let with = |jfs: f64, factor: f64| {
        let btrfs = failing(Row::new("btrfs", &times(factor).collect::<Vec<f64>>()), 4..8);
        let jfs: Vec<f64> = times(jfs).collect();
        let table = study(vec![Row::new("ext4", &level), Row::new("jfs", &jfs), btrfs]);
        let mut contents = fixture::contents(&table);
        ["jfs", "btrfs"].iter().for_each(|label| fixture::cut(&mut contents, label, fixture::found(Grade::E)));
        report::answer(&fixture::input_of(contents, &table)).join(" ")
    };
    let (slow, fast) = (with(2.0, 0.9), with(2.0, 1.2));
    assert!(slow.contains("jfs measured 2.00× that, but is no choice") && !slow.contains("Faster than"), "{slow}");
    assert!(fast.contains("Faster than the pick, and no choice either: btrfs"), "{fast}");
    // Who only ranks before it hides nobody: it was "no choice either", beside none.
    let hidden = with(1.1, 0.9);
    assert!(hidden.contains("jfs measured 1.10× that, but is no choice") && !hidden.contains("either"), "{hidden}");
}

/// One of four works for two rounds: averages over levels are without it, and rest on all rounds of the others.
#[test]
fn who_was_given_up_takes_no_rounds_of_the_others() {
    let table = study(vec![
        Row::with_cache("ext4", "128M", &rounds(1000.0, 0.01, 0)),
        Row::with_cache("ext4", "2G", &rounds(2000.0, 0.01, 1)),
        Row::with_cache("xfs", "128M", &rounds(900.0, 0.01, 3)),
        failing(Row::with_cache("xfs", "2G", &rounds(2200.0, 0.01, 4)), 2..8),
    ]);
    let mut contents = fixture::contents(&table);
    contents.trials.retain(|trial| trial.scenario != "xfs · 2G" || trial.round < 4);
    let input = fixture::input_of(contents, &table);
    let shown = report::summary(&input, &Place::default(), 120, false);
    assert!(shown.starts_with("Use ext4 · 2G: "), "{shown}");
    assert!(!shown.contains("--rounds"), "what was given up is not waited for: {shown}");
    let json = export::json(&input);
    let claims = json["workloads"][0]["claims"].as_array().expect("a list");
    assert_eq!(claims.len(), 2, "{claims:?}");
    for claim in claims {
        assert_eq!(claim["rounds"], 8, "{claim}");
    }
    let said = report::answer(&input).join("\n");
    for expected in [" slower than ext4 (", ", where cache size is 128M.", "2G is 2.0", ", where filesystem is ext4."] {
        assert!(said.contains(expected), "{expected} in {said}");
    }
}

/// Two rounds of who was given up were what "a true difference of 250 times would be found" was of.
#[test]
fn what_would_be_found_is_not_of_who_was_given_up() {
    let xfs = Row::new("xfs", &[1000.0, 1000.0, 1010.0, 1010.0, 1000.0, 990.0, 1000.0, 1010.0]);
    let ext4 = Row::new("ext4", &[990.0, 1010.0, 1000.0, 1020.0, 980.0, 1000.0, 1010.0, 990.0]);
    let btrfs = failing(Row::new("btrfs", &[700.0, 800.0, 1.0, 1.0]), 2..4);
    let shown = short(&study(vec![xfs, ext4, btrfs]));
    let (_, found) = shown.split_once("a true difference of ").expect("how sure it is");
    assert!(found.starts_with("2."), "{shown}");
}

/// Each was shown to be worse than another, in other rounds: nobody is left, and nobody is the best.
#[test]
fn where_each_is_worse_than_another_none_is_the_best() {
    let round = |level: f64, round: usize| Some(level * [1.001, 0.999, 1.0, 1.002, 0.998, 1.0][round % 6]);
    let row = |label: &str, of_third: [Option<f64>; 3]| {
        let values = (0..18).map(|index| round(of_third[index / 6]?, index + label.len()));
        Row { values: values.collect(), ..Row::new(label, &[]) }
    };
    let table = study(vec![
        row("ext4", [Some(1000.0), None, Some(900.0)]),
        row("xfs", [Some(950.0), Some(1000.0), None]),
        row("btrfs", [None, Some(950.0), Some(950.0)]),
    ]);
    assert_eq!(part(&table)["best_set"], serde_json::json!([]));
    let shown = short(&table);
    assert!(shown.starts_with("Too early to choose: the best may be 1.1 times as fast as "), "{shown}");
    assert!(!shown.contains("that none of"), "{shown}");
}

#[test]
fn one_round_in_common_decides_nothing() {
    let ext4 = failing(Row::new("ext4", &rounds(1000.0, 0.01, 0)), 0..3);
    let lucky = failing(Row::new("btrfs", &rounds(1500.0, 0.01, 2)), 4..7);
    let lucky = Row { values: lucky.values[..7].to_vec(), ..lucky };
    let ext4 = Row { values: ext4.values[..7].to_vec(), ..ext4 };
    let table = study(vec![ext4, lucky]);
    let shown = short(&table);
    assert!(shown.starts_with("Too early to choose: "), "{shown}");
    assert!(!shown.contains("costs at most") && !shown.contains("Use "), "one round may be luck: {shown}");
}

#[test]
fn a_safe_one_that_was_hardly_measured_beside_the_other_is_no_best() {
    // Neither failed more often; the third is less safe, and was beside both.
    let mut xfs = failing(Row::new("xfs", &rounds(1000.0, 0.01, 0)), 0..3);
    xfs.values[7] = None;
    let table = study(vec![
        xfs,
        failing(Row::new("ext4", &rounds(900.0, 0.01, 1)), 3..7),
        Row { class: Class::LosesRecent, ..Row::new("btrfs", &rounds(800.0, 0.01, 2)) },
    ]);
    let shown = short(&table);
    assert!(shown.starts_with("Too early to choose: ") && shown.contains("have no round in common."), "{shown}");
}

/// Of four rounds, in one of which a trial had failed, it was "`--rounds 4` gives a first verdict", which measured nothing.
#[test]
fn more_rounds_are_more_than_those_with_failures() {
    let table = study(vec![
        Row::new("ext4", &[1000.0, 1010.0, 990.0, 1005.0]),
        failing(Row::new("xfs", &[1400.0, 1420.0, 1390.0, 1400.0]), 1..2),
    ]);
    let shown = short(&table);
    // The study wants six at least, and one of its four has no figure of xfs.
    assert!(shown.contains("`--rounds 7` gives a first verdict"), "{shown}");
}

#[test]
fn who_fails_makes_no_outlier_of_the_others() {
    let table = study(vec![
        Row::new("ext4", &rounds(1000.0, 0.01, 0)),
        failing(Row::new("xfs", &rounds(500.0, 0.01, 1)), 3..4),
    ]);
    assert_eq!(part(&table)["outliers"], serde_json::json!([]));
}

#[test]
fn a_level_that_stalled_leaves_no_bound_over_all_levels() {
    let mut stalled = rounds(1000.0, 0.01, 2);
    stalled[3] = 0.0;
    let table = study(vec![
        Row::with_cache("ext4", "128M", &rounds(1000.0, 0.01, 0)),
        Row::with_cache("ext4", "2G", &rounds(2000.0, 0.01, 1)),
        Row::with_cache("xfs", "128M", &rounds(1000.0, 0.01, 3)),
        Row::with_cache("xfs", "2G", &rounds(2000.0, 0.01, 4)),
        Row::with_cache("btrfs", "128M", &stalled),
        Row::with_cache("btrfs", "2G", &rounds(2000.0, 0.01, 5)),
    ]);
    let swings = part(&table)["swings"].clone();
    let filesystem = swings.as_array().into_iter().flatten().find(|swing| swing["factor"] == "storage.filesystem");
    assert!(filesystem.expect("two of its levels are compared")["ratio_at_most"].is_null(), "{swings}");
    let shown = report::terminal(&fixture::input(&table), 160, false);
    assert!(shown.contains("no swing between the levels that could be compared"), "{shown}");
}

/// By `surefoot powercut`: it ends no rounds that were broken off, and one that is broken off itself opens none that a rule had ended.
#[test]
fn power_cuts_that_are_measured_alone_say_nothing_of_the_rounds() {
    let table = study(vec![Row::new("ext4", &rounds(1000.0, 0.01, 0)), Row::new("xfs", &rounds(1420.0, 0.01, 1))]);
    let shown = |of_rounds: &str, alone: &[Option<&str>]| {
        let mut contents = fixture::contents(&table);
        contents.sessions[0].reason = Some(of_rounds.into());
        let mut now = contents.sessions[0].ended.expect("it ended");
        for reason in alone {
            now += 20.0;
            let (started, ended) = (now - 10.0, reason.map(|_| now));
            let session = contents.sessions[0].clone();
            contents.sessions.push(Session { started, ended, reason: reason.map(String::from), ..session });
        }
        let state = Standing::of(&contents, false).state;
        let input = Input::new(contents, report::input::Details::default());
        (state, report::summary(&input, &Place::default(), 120, false).contains("the study is not finished"))
    };
    let (by_rule, goes_on) = ("all rounds are done", "interrupted; the command that began it goes on");
    assert_eq!(shown(by_rule, &[]), ("done", false));
    assert_eq!(shown(NO_IMAGES, &[]).0, "cut off; the command that began it goes on");
    for broken_off in [Some(INTERRUPTED), None] {
        assert_eq!(shown(by_rule, &[broken_off, Some(SAFETY_KNOWN)]), ("done", false), "{broken_off:?}");
        assert!(shown(by_rule, &[broken_off]).1, "{broken_off:?}");
        assert_eq!(shown(INTERRUPTED, &[broken_off, Some(SAFETY_KNOWN)]), (goes_on, true), "{broken_off:?}");
    }
    assert_eq!(shown(INTERRUPTED, &[Some(SAFETY_KNOWN)]), (goes_on, true));
}
