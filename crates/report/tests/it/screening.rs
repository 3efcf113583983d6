//! What is said of a screen: what it kept, what it fixed and what that may cost, and what it can't see.

use crate::export;
use crate::fixture::{self, Row, Table};
use expect_test::{Expect, expect};
use ledger::model::{Contents, Decision, LimitRecord, Phase, Screened, ScreenedFactor, Together, TrialState};
use report::input::Input;

fn factor(name: &str, level: &str, effect: f64, half_width: f64, share: f64) -> ScreenedFactor {
    ScreenedFactor {
        factor: name.into(),
        baseline: "none".into(),
        level: level.into(),
        effect,
        low: effect - half_width,
        high: effect + half_width,
        bound: effect.abs() + half_width,
        share,
    }
}

fn screened() -> Screened {
    let pair = |a: &str, b: &str| [a.to_string(), b.to_string()];
    Screened {
        workload: "oltp".into(),
        design: "a 2^(4-1) fraction of resolution IV".into(),
        scenarios: 8,
        of: 16,
        rounds: 3,
        kept: vec![factor("storage.filesystem", "xfs", 0.42, 0.02, 0.97)],
        fixed: vec![
            factor("storage.mount", "noatime", 0.019, 0.009, 0.02),
            factor("service.postgres.settings.wal_level", "minimal", -0.003, 0.009, 0.0),
            factor("storage.size", "2GiB", 0.001, 0.009, 0.0),
        ],
        together: vec![Together {
            factors: pair("storage.filesystem", "storage.mount"),
            alike: vec![pair("service.postgres.settings.wal_level", "storage.size")],
            share: 0.01,
        }],
        explained: 0.97,
        visible: 0.013,
        alike: vec![vec![
            pair("storage.filesystem", "storage.mount"),
            pair("service.postgres.settings.wal_level", "storage.size"),
        ]],
        unseen: vec!["what three factors or more do only together: that is taken for the effect of fewer".into()],
    }
}

fn row(filesystem: &str, mount: &str, values: &[f64]) -> Row {
    let levels = [("storage.filesystem", filesystem), ("storage.mount", mount)];
    Row {
        label: format!("{filesystem} · {mount}"),
        levels: [&levels[..], &[("service.postgres.settings.wal_level", "none"), ("storage.size", "none")]]
            .concat()
            .into_iter()
            .map(|(factor, level)| (factor, level.to_string()))
            .collect(),
        ..Row::new(filesystem, values)
    }
}

/// Two filesystems studied on without noatime, and what was screened with it.
fn table(rounds: usize) -> Table {
    let of =
        |level: f64| [0.99, 1.0, 1.01, 0.995, 1.005, 1.0][..rounds].iter().map(|f| f * level).collect::<Vec<f64>>();
    let rows = vec![
        row("ext4", "none", &of(1000.0)),
        row("xfs", "none", &of(1420.0)),
        row("ext4", "noatime", &[]),
        row("xfs", "noatime", &[]),
    ];
    Table { rows, ..fixture::filesystems_and_buffers() }
}

fn contents(rounds: usize, is_complete: bool) -> Contents {
    let table = table(rounds);
    let mut contents = fixture::contents(&table);
    contents.study.analysis.screen_rounds = 3;
    contents.decisions.extend(is_complete.then(|| Decision::Screen(screened())));
    for (label, value) in [("ext4 · none", 500.0), ("xfs · noatime", 9000.0)] {
        fixture::confirm(&mut contents, &table, label, &[value, value]);
    }
    for trial in contents.trials.iter_mut().filter(|trial| trial.phase == Phase::Confirmation) {
        trial.phase = Phase::Screen;
    }
    contents
}

fn input(contents: Contents) -> Input {
    fixture::input_of(contents, &table(6))
}

#[track_caller]
fn check(contents: Contents, expected: Expect) {
    let text = report::terminal(&input(contents), 200, false);
    let kept: Vec<&str> =
        text.lines().filter(|line| !line.starts_with("warning") && !line.starts_with("Limits")).collect();
    expected.assert_eq(&(kept.join("\n") + "\n"));
}

/// Of five factors without any effect the one that was kept "explains 100 % of what it saw".
#[test]
fn what_does_not_stand_out_of_the_noise_explains_nothing() {
    let mut contents = contents(6, false);
    let kept = vec![factor("storage.filesystem", "xfs", 0.0096, 0.0117, 1.0)];
    let noise = Screened { kept, together: Vec::new(), explained: 1.0, ..screened() };
    contents.decisions.push(Decision::Screen(noise));
    let text = report::terminal(&input(contents), 2000, false);
    assert!(text.contains("kept filesystem, as something must be kept; nothing stood out; fixed at"), "{text}");
}

#[test]
fn what_was_screened_and_what_not() {
    check(
        contents(6, true),
        expect![[r#"
            Pick xfs · none: 1,420 transactions per second (95 % interval 1,407–1,433 for the pick of 2, 6 trials).
            It is shown to be the best of the scenarios measured (95 % confidence).
            Screened 4 factors in 8 of 16 scenarios over 3 rounds: kept filesystem, which explains 97 % of what it saw; fixed at the baseline's level and not studied further: mount (noatime measured +1.9 %, at
              most ±2.8 %), wal level (at most ±1.2 %) and size (at most ±1 %). Acting together: filesystem × mount (or wal level × size: only their sum is seen). What it can't see: an effect of two levels below
              1.3 % (80 % power); what three factors or more do only together: that is taken for the effect of fewer. Sums: filesystem × mount with wal level × size.
            xfs is 1.42× ext4 (95 % interval 1.42–1.42).

            oltp, transactions per second (more is better)
               scenario     mean, 1/s  95 % interval        vs ext4 · none  verdict   after a power cut  rounds
            1  xfs · none       1,420    1,409–1,431  1.420 [1.420, 1.420]  faster    keeps all               6
            2  ext4 · none      1,000      993–1,007                     1  baseline  keeps all               6
            Orders: ext4 · none went before xfs · none in 5 of 6 rounds; of all pairs this one is the least balanced.

            oltp: tails and shapes that differ
            figure                      claim                     ratio  95 % interval  verdict  p, corrected  rounds
            99th percentile of latency  xfs vs ext4 (filesystem)  0.720    0.686–0.755  better        < 0.001       6
            rate of the worst second    xfs vs ext4 (filesystem)  1.420    1.420–1.420  better        < 0.001       6
            Each figure is a family of claims of its own (Holm), one value a trial. Percentiles of speed are of its turns, or seconds.
        "#]],
    );
}

#[test]
fn under_way_there_is_no_answer() {
    check(
        contents(0, false),
        expect![[r#"
        The screen is in round 2 of 3: there is no answer yet.
    "#]],
    );
    let mut stalled = contents(0, false);
    stalled.study.analysis.screen_rounds = 2;
    let mut broken_off = stalled.clone();
    broken_off.sessions[0].reason = Some(ledger::reasons::INTERRUPTED_BEHIND_ROUNDS.into());
    for stalled in [stalled, broken_off] {
        let said = report::answer(&input(stalled)).join(" ");
        assert!(said.starts_with("The screen is measured, and a scenario has a figure of 0 in it"), "{said}");
    }
    let mut failed = contents(0, false);
    failed.trials[0].state = TrialState::Failed;
    check(
        failed,
        expect![[r#"
        The screen is in round 2 of 3, and 1 of its trials failed: there is no answer. A scenario without any value keeps it from telling factors apart; the command that began it measures it again with
          `--retry-failed`.
    "#]],
    );
}

/// The screen asked "ext4 · none", too: its errors, and its commits without flushes, are in no other figure.
#[test]
fn what_went_wrong_in_the_screen_is_in_no_figure() {
    let mut contents = contents(6, true);
    let found = [
        ("asked", 1000.0),
        ("errors", 400.0),
        ("errors_wrong_status", 400.0),
        ("commits", 1000.0),
        ("flushes_per_commit", 0.0),
        ("device_flushes", 0.0),
    ];
    for run in fixture::runs_of(&mut contents, |trial| trial.phase == Phase::Screen) {
        run.metrics.extend(found.map(|(name, value)| (name.into(), value)));
    }
    let input = input(contents);
    let row = fixture::row_of_json(&input, "ext4 · none");
    assert!(row["errors"].is_null() && row["does_not_flush"].is_null(), "{row}");
    assert!(!report::terminal(&input, 200, false).contains("wrong status"));
}

#[test]
fn what_was_screened_out_is_no_hole_and_its_figures_are_nowhere() {
    let of_study = input(contents(6, true));
    assert!(!report::has_holes(&of_study));
    let json = export::json(&of_study);
    let part = &json["workloads"][0];
    assert_eq!(part["scenarios"].as_array().map(Vec::len), Some(2), "those that are studied");
    assert_eq!(part["scenarios"][1]["geometric_mean"].as_f64().map(f64::round), Some(1000.0), "not the screen's 500");
    assert_eq!(part["screening"]["kept"][0]["factor"], "storage.filesystem");
    assert!(report::html(&of_study).contains("Screened 4 factors in 8 of 16 scenarios"));
    let mut failed = contents(6, true);
    failed.trials.last_mut().expect("of the screen").state = TrialState::Failed;
    let failed = input(failed);
    assert!(report::has_holes(&failed));
    let answer = report::answer(&failed).join("\n");
    assert!(answer.contains("Hole: 1 trial of the screen failed; it rests on the others."), "{answer}");
}

/// Rounds of the screen are counted from the first, as the study's own are.
#[test]
fn a_round_of_the_screen_is_called_so() {
    let mut contents = contents(0, false);
    contents.trials[0].state = TrialState::Failed;
    contents.trials.last_mut().expect("of the screen").state = TrialState::Running;
    let standing = report::Standing::of(&contents, true);
    let source = report::served::Source { version_path: "/a/version", version: "1" };
    let page = report::served::report(&input(contents), &standing, false, source);
    assert!(page.contains("Under way: xfs · noatime in round 2, screen, since "), "{page}");
    assert!(page.contains("ext4 · none, round 1, screen: failed in step"), "{page}");
}

/// What is no object ended the script, and the section to explore had its heading alone.
#[test]
fn a_page_after_a_screen_can_be_explored() {
    let html = report::html(&input(contents(6, true)));
    let data = crate::explore::data_of(&html);
    let scenarios = data["scenarios"].as_array().expect("scenarios");
    assert!(scenarios.len() == 4 && scenarios.iter().all(serde_json::Value::is_object), "{scenarios:?}");
    let Some(opened) = crate::page::open(&crate::page::write("screened.html", &html)) else { return };
    assert_eq!(opened.console, "");
    assert!(opened.dom.contains("data-explore=\"ready\"") && !opened.dom.contains("data-error="));
}

/// `powercut` had asked for all combinations before the screen, and `run --retry-failed` asks no more for those that it left out.
#[test]
fn power_cuts_of_what_was_screened_out_are_no_hole() {
    let said = |contents: &Contents| {
        let input = input(contents.clone());
        let is_warned =
            export::json(&input)["warnings"].to_string().contains("what a power cut takes was not measured");
        [report::has_holes(&input), is_warned]
    };
    let mut contents = contents(6, true);
    fixture::cut_failed(&mut contents, "xfs · noatime", "no room");
    assert_eq!(said(&contents), [false, false]);
    fixture::cut_failed(&mut contents, "xfs · none", "no room");
    assert_eq!(said(&contents), [true, true]);
}

/// "Not known: … of xfs · noatime was not measured" had stood there, and intervals were of all combinations together.
#[test]
fn what_a_screen_left_out_is_held_against_no_limit() {
    let mut contents = contents(6, true);
    contents.study.limits = vec![LimitRecord {
        title: "Its speed".into(),
        workload: "oltp".into(),
        metric: fixture::transactions().name.to_string(),
        value: 500.0,
        is_least: true,
        source: String::new(),
    }];
    let text = report::summary(&input(contents), &report::Place::default(), 100, false);
    assert!(text.starts_with("Yes: all limits are kept"), "{text}");
    assert!(text.contains("for all 2 limits together") && !text.contains("noatime was"), "{text}");
}
