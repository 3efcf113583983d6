//! What is said of studies that asked for the best only: who was dropped, and what new rounds made of the pick.

use crate::answers::{self, study};
use crate::export;
use crate::fixture::{self, Row, Table};
use expect_test::{Expect, expect};
use ledger::model::{Contents, Decision, Finalists, Mode, Order, Phase, Session, TrialState, Worse};
use report::input::{Details, Input};

fn rounds(level: f64, count: usize, seed: usize) -> Vec<f64> {
    answers::rounds(level, 0.01, seed)[..count].to_vec()
}

fn worse(scenario: &str, round: u32, behind: f64, stays: bool) -> Decision {
    Decision::Worse(Worse {
        scenario: scenario.into(),
        round,
        than: "xfs".into(),
        behind,
        behind_at_least: behind * 0.9,
        behind_at_most: behind * 1.1,
        rounds: round + 1,
        stays,
    })
}

/// xfs before f2fs; ext4, the baseline, is shown to be worse and stays; ext3 and btrfs fall out, though btrfs had the best rounds of a
/// machine that got slower.
fn table() -> Table {
    let mut rows = vec![
        Row::new("ext4", &rounds(1000.0, 8, 0)),
        Row::new("ext3", &rounds(600.0, 4, 1)),
        Row::new("btrfs", &rounds(1500.0, 5, 2)),
        Row::new("xfs", &rounds(1420.0, 8, 3)),
        Row::new("f2fs", &rounds(1410.0, 8, 6)),
    ];
    rows.push(Row { label: "ext4 (control)".into(), control: true, ..Row::new("ext4", &rounds(1002.0, 8, 5)) });
    study(rows)
}

pub fn tuned(new_rounds: &[(&str, f64)], count: usize) -> Contents {
    let table = table();
    let mut contents = fixture::contents(&table);
    (contents.study.analysis.mode, contents.study.analysis.confirmation_rounds) = (Mode::Tune, 6);
    contents.decisions =
        vec![worse("ext3", 3, 1.37, false), worse("ext4", 4, 0.4, true), worse("btrfs", 4, 0.1, false)];
    if count > 0 {
        contents.decisions.push(Decision::Confirm(Finalists {
            round: 7,
            workload: "oltp".into(),
            pick: "xfs".into(),
            runner_up: Some("f2fs".into()),
            baseline: Some("ext4".into()),
        }));
    }
    for (seed, (label, level)) in new_rounds.iter().enumerate() {
        fixture::confirm(&mut contents, &table, label, &rounds(*level, count, seed + 4));
    }
    contents
}

pub fn input(contents: Contents) -> Input {
    fixture::input_of(contents, &table())
}

/// All that the terminal shows but warnings and limits.
fn whole(contents: Contents) -> String {
    let text = report::terminal(&input(contents), 200, false);
    // A warning's lines but the first are set in, as those of any other long sentence are.
    let mut is_elsewhere = false;
    let kept: Vec<&str> = text
        .lines()
        .filter(|line| {
            is_elsewhere =
                line.starts_with("warning") || line.starts_with("Limits") || is_elsewhere && line.starts_with("  ");
            !is_elsewhere
        })
        .collect();
    kept.join("\n") + "\n"
}

#[track_caller]
fn check(contents: Contents, expected: Expect) {
    expected.assert_eq(&whole(contents));
}

/// Without the tails: they are of the rounds by which was picked, whatever came of the pick.
#[track_caller]
fn check_choice(contents: Contents, expected: Expect) {
    let whole = whole(contents);
    let (choice, _) = whole.split_once("\noltp: tails").expect("tails are told");
    expected.assert_eq(choice);
}

/// The short answer in one line.
pub fn short(contents: Contents) -> String {
    fixture::short(&input(contents))
}

pub const NEW: &[(&str, f64)] = &[("xfs", 1390.0), ("f2fs", 1385.0), ("ext4", 1004.0)];

#[test]
fn the_headline_is_what_new_rounds_measured() {
    check(
        tuned(NEW, 6),
        expect![[r#"
            No winner yet: f2fs can't be ruled out as the best. xfs was ahead: 1,390 transactions per second (95 % interval 1,378–1,403, 6 trials), confirmed in 6 new rounds. To compare, use the ratios below, not
              these means.
            It was picked from 8 rounds before them, in which it was at most 0.5 % behind the best of the scenarios measured (95 % confidence): 1,420 transactions per second (95 % interval 1,404–1,436 for the
              pick of 5, 8 trials).
            The baseline, ext4, measured 28.0 % less than xfs (95 % interval 27.1–28.9 %).
            xfs and f2fs can't be told apart within 3 %: no difference found, and the data rule out more than ±2.4 %.
            Not ruled out as the best: f2fs.
            Shown to be worse and measured no further, 2 of 5 scenarios: ext3 after round 4 (xfs is at least 2.2 times as fast) and btrfs after round 5 (behind xfs by at least 9.0 %).
            Check: two copies of ext4 differed by 0.2 % (95 % interval −0.8 to +1.2 %), so this study can't resolve less than about 1.2 %.

            oltp, transactions per second (more is better)
               scenario        mean, 1/s  95 % interval               vs ext4  verdict   after a power cut  confirmed  dropped        rounds
            1  xfs                 1,420    1,409–1,431  1.420 [1.406, 1.434]  faster    keeps all              1,390                      8
            2  f2fs                1,410    1,399–1,421  1.410 [1.394, 1.426]  faster    keeps all              1,386                      8
            3  ext4 (control)      1,002      994–1,010                                  keeps all                                         8
            4  ext4                1,000      992–1,008                     1  baseline  keeps all              1,001                      8
            5  btrfs               1,507    1,491–1,523  1.502 [1.470, 1.536]  faster    keeps all                     after round 5       5
            6  ext3                  597        592–602  0.594 [0.580, 0.609]  slower    keeps all                     after round 4       4
            Orders: ext4 (control) went before f2fs in 8 of 8 rounds; of all pairs this one is the least balanced.

            oltp: tails and shapes that differ
            figure                      claim          ratio  95 % interval  verdict  p, corrected  rounds
            99th percentile of latency  ext3 vs ext4   1.728    1.592–1.875  worse         < 0.001       4
            99th percentile of latency  btrfs vs ext4  0.686    0.644–0.730  better        < 0.001       5
            99th percentile of latency  xfs vs ext4    0.706    0.662–0.754  better        < 0.001       8
            99th percentile of latency  f2fs vs ext4   0.723    0.685–0.762  better        < 0.001       8
            rate of the worst second    ext3 vs ext4   0.594    0.580–0.609  worse         < 0.001       4
            rate of the worst second    btrfs vs ext4  1.502    1.470–1.536  better        < 0.001       5
            rate of the worst second    xfs vs ext4    1.420    1.406–1.434  better        < 0.001       8
            rate of the worst second    f2fs vs ext4   1.410    1.394–1.426  better        < 0.001       8
            Each figure is a family of claims of its own (Holm), one value a trial. Percentiles of speed are of its turns, or seconds.
        "#]],
    );
}

#[test]
fn before_the_new_rounds_it_is_said_so() {
    check_choice(
        tuned(&[], 0),
        expect![[r#"
            No winner yet: f2fs can't be ruled out as the best. xfs was ahead: 1,420 transactions per second (95 % interval 1,404–1,436 for the pick of 5, 8 trials); not confirmed in new rounds yet. To compare,
              use the ratios below, not these means.
            Choosing xfs costs at most 0.5 % against whichever of the scenarios measured is truly best (95 % confidence).
            xfs is 1.42× ext4 (95 % interval 1.41–1.43).
            ext3 is 0.59× ext4 (95 % interval 0.58–0.61).
            btrfs is 1.50× ext4 (95 % interval 1.47–1.54).
            f2fs is 1.41× ext4 (95 % interval 1.39–1.43).
            Not ruled out as the best: f2fs.
            Shown to be worse and measured no further, 2 of 5 scenarios: ext3 after round 4 (xfs is at least 2.2 times as fast) and btrfs after round 5 (behind xfs by at least 9.0 %).
            Check: two copies of ext4 differed by 0.2 % (95 % interval −0.8 to +1.2 %), so this study can't resolve less than about 1.2 %.

            oltp, transactions per second (more is better)
               scenario        mean, 1/s  95 % interval               vs ext4  verdict   after a power cut  dropped        rounds
            1  xfs                 1,420    1,409–1,431  1.420 [1.406, 1.434]  faster    keeps all                              8
            2  f2fs                1,410    1,399–1,421  1.410 [1.394, 1.426]  faster    keeps all                              8
            3  ext4 (control)      1,002      994–1,010                                  keeps all                              8
            4  ext4                1,000      992–1,008                     1  baseline  keeps all                              8
            5  btrfs               1,507    1,491–1,523  1.502 [1.470, 1.536]  faster    keeps all          after round 5       5
            6  ext3                  597        592–602  0.594 [0.580, 0.609]  slower    keeps all          after round 4       4
            Orders: ext4 (control) went before f2fs in 8 of 8 rounds; of all pairs this one is the least balanced.
        "#]],
    );
}

#[test]
fn amid_the_new_rounds_the_choice_may_be_open() {
    check_choice(
        tuned(NEW, 2),
        expect![[r#"
            No winner yet: f2fs can't be ruled out as the best. xfs was ahead: 1,382 transactions per second (95 % interval 1,356–1,409, 2 trials), in 2 of 6 new rounds so far. To compare, use the ratios below,
              not these means.
            It was picked from 8 rounds before them, in which it was at most 0.5 % behind the best of the scenarios measured (95 % confidence): 1,420 transactions per second (95 % interval 1,404–1,436 for the
              pick of 5, 8 trials).
            xfs is 1.38× ext4, from 2 rounds: a direction only.
            xfs is 0.04 % slower than f2fs, from 2 rounds: a direction only.
            In the new rounds f2fs was ahead of xfs: the choice between them is open.
            Not ruled out as the best: f2fs.
            Shown to be worse and measured no further, 2 of 5 scenarios: ext3 after round 4 (xfs is at least 2.2 times as fast) and btrfs after round 5 (behind xfs by at least 9.0 %).
            Check: two copies of ext4 differed by 0.2 % (95 % interval −0.8 to +1.2 %), so this study can't resolve less than about 1.2 %.

            oltp, transactions per second (more is better)
               scenario        mean, 1/s  95 % interval               vs ext4  verdict   after a power cut  confirmed  dropped        rounds
            1  xfs                 1,420    1,409–1,431  1.420 [1.406, 1.434]  faster    keeps all              1,382                      8
            2  f2fs                1,410    1,399–1,421  1.410 [1.394, 1.426]  faster    keeps all              1,383                      8
            3  ext4 (control)      1,002      994–1,010                                  keeps all                                         8
            4  ext4                1,000      992–1,008                     1  baseline  keeps all              1,003                      8
            5  btrfs               1,507    1,491–1,523  1.502 [1.470, 1.536]  faster    keeps all                     after round 5       5
            6  ext3                  597        592–602  0.594 [0.580, 0.609]  slower    keeps all                     after round 4       4
            Orders: ext4 (control) went before f2fs in 8 of 8 rounds; of all pairs this one is the least balanced.
        "#]],
    );
}

#[test]
fn a_runner_up_that_wins_the_new_rounds_is_said() {
    check_choice(
        tuned(&[("xfs", 1390.0), ("f2fs", 1440.0), ("ext4", 1004.0)], 6),
        expect![[r#"
            No winner yet: in new rounds f2fs was shown to be better. xfs was picked: 1,390 transactions per second (95 % interval 1,378–1,403, 6 trials), in 6 new rounds, which speak against it.
            It was picked from 8 rounds before them, in which it was at most 0.5 % behind the best of the scenarios measured (95 % confidence): 1,420 transactions per second (95 % interval 1,404–1,436 for the
              pick of 5, 8 trials).
            The baseline, ext4, measured 28.0 % less than xfs (95 % interval 27.1–28.9 %).
            xfs is 3.5 % slower than f2fs (95 % interval −5.1 to −1.9 %).
            The new rounds speak against the pick: in them f2fs was shown to be better.
            Not ruled out as the best: f2fs.
            Shown to be worse and measured no further, 2 of 5 scenarios: ext3 after round 4 (xfs is at least 2.2 times as fast) and btrfs after round 5 (behind xfs by at least 9.0 %).
            Check: two copies of ext4 differed by 0.2 % (95 % interval −0.8 to +1.2 %), so this study can't resolve less than about 1.2 %.

            oltp, transactions per second (more is better)
               scenario        mean, 1/s  95 % interval               vs ext4  verdict   after a power cut  confirmed  dropped        rounds
            1  xfs                 1,420    1,409–1,431  1.420 [1.406, 1.434]  faster    keeps all              1,390                      8
            2  f2fs                1,410    1,399–1,421  1.410 [1.394, 1.426]  faster    keeps all              1,441                      8
            3  ext4 (control)      1,002      994–1,010                                  keeps all                                         8
            4  ext4                1,000      992–1,008                     1  baseline  keeps all              1,001                      8
            5  btrfs               1,507    1,491–1,523  1.502 [1.470, 1.536]  faster    keeps all                     after round 5       5
            6  ext3                  597        592–602  0.594 [0.580, 0.609]  slower    keeps all                     after round 4       4
            Orders: ext4 (control) went before f2fs in 8 of 8 rounds; of all pairs this one is the least balanced.
        "#]],
    );
}

/// Bounds and best set are of the rounds that chose it: the short answer recommends nobody by them whom the new rounds show to be worse.
#[test]
fn who_loses_the_new_rounds_is_not_recommended() {
    const LOST: &[(&str, f64)] = &[("xfs", 1390.0), ("f2fs", 1440.0), ("ext4", 1004.0)];
    let open = tuned(LOST, 6);
    let mut best = open.clone();
    for run in fixture::runs_of(&mut best, |trial| trial.scenario == "f2fs" && trial.phase == Phase::Main) {
        *run.metrics.get_mut("transactions_per_second").expect("the figure") *= 0.9;
    }
    let before = |contents: &Contents| Contents {
        decisions: contents.decisions.iter().filter(|one| !matches!(one, Decision::Confirm(_))).cloned().collect(),
        ..contents.clone()
    };
    assert!(short(before(&open)).contains("Choosing xfs costs at most 0.5 %"), "{}", short(before(&open)));
    assert!(short(before(&best)).starts_with("Use xfs"), "{}", short(before(&best)));
    for contents in [open, best] {
        let said = short(contents);
        assert!(
            said.starts_with("Too early to choose: xfs was picked, and new rounds show f2fs to be better."),
            "{said}"
        );
        assert!(!said.contains("costs at most") && !said.contains("Use xfs"), "{said}");
        assert!(said.contains("How sure: not yet. The new rounds speak against"), "{said}");
        assert!(said.contains("A new study of the two may decide it."), "{said}");
    }
}

/// All declared comparisons are with it: the others have eight rounds in common, and the answer was "3 rounds show a direction only".
#[test]
fn a_baseline_that_was_given_up_leaves_the_choice_among_the_others() {
    let mut contents = tuned(&[], 0);
    contents.trials.retain(|trial| trial.scenario != "ext4" || trial.round < 5);
    for trial in contents.trials.iter_mut().filter(|trial| trial.scenario == "ext4" && trial.round >= 3) {
        trial.state = TrialState::Failed;
    }
    fixture::keep_finished(&mut contents);
    let said = short(contents.clone());
    assert!(
        said.starts_with("xfs or f2fs: neither is ruled out as the fastest. Choosing xfs costs at most 0.3 %."),
        "{said}"
    );
    let whole = report::terminal(&input(contents), 400, false);
    assert!(!whole.contains("direction only: no difference is claimed"), "{whole}");
}

/// A tenth of the pick's turns are far slower than its others, and its means are what they were.
#[test]
fn new_rounds_of_a_pick_that_is_slow_now_and_then_confirm_nothing() {
    let said = |slow: &str| {
        let mut contents = tuned(NEW, 6);
        fixture::split_into_turns(&mut contents, 20, |trial, turn| {
            let factor = match (trial.scenario == slow, turn.run % 10) {
                (true, 4) => 0.3,
                (true, _) => 0.97 / 0.9,
                (false, _) => 1.0,
            };
            *turn.metrics.get_mut("transactions_per_second").expect("the figure") *= factor;
        });
        report::answer(&Input::new(contents, Details::default())).join("\n")
    };
    let steady = said("nobody");
    assert!(steady.contains("xfs and f2fs can't be told apart") && steady.contains(", confirmed in 6"), "{steady}");
    let slow = said("xfs");
    assert!(slow.contains("xfs against f2fs is open (") && slow.contains(": 28 of 280 "), "{slow}");
    assert!(slow.contains(", in 6 new rounds, which leave it open"), "{slow}");
}

/// Of one comparison two intervals stood there, and not which was that of the new rounds.
#[test]
fn a_study_of_everything_may_be_confirmed_too() {
    let mut contents = tuned(NEW, 6);
    contents.study.analysis.mode = Mode::Full;
    contents.decisions.retain(|decision| matches!(decision, Decision::Confirm(_)));
    check(
        contents,
        expect![[r#"
            No winner yet: btrfs can't be ruled out as the best. xfs was ahead: 1,390 transactions per second (95 % interval 1,378–1,403, 6 trials), confirmed in 6 new rounds. To compare, use the ratios below,
              not these means.
            It was picked from 8 rounds before them, in which it was at most 9.8 % behind the best of the scenarios measured (95 % confidence): 1,420 transactions per second (95 % interval 1,404–1,436 for the
              pick of 5, 8 trials).
            New rounds: The baseline, ext4, measured 28.0 % less than xfs (95 % interval 27.1–28.9 %).
            New rounds: xfs and f2fs can't be told apart within 3 %: no difference found, and the data rule out more than ±2.4 %.
            xfs is 1.42× ext4 (95 % interval 1.41–1.43).
            xfs is 2.38× ext3 (95 % interval 2.33–2.44).
            btrfs is 6.1 % faster than xfs (95 % interval +3.8 to +8.4 %).
            ext3 is 0.59× ext4 (95 % interval 0.58–0.61).
            btrfs is 1.50× ext4 (95 % interval 1.47–1.54).
            f2fs is 1.41× ext4 (95 % interval 1.39–1.43).
            btrfs is 2.52× ext3 (95 % interval 2.49–2.56).
            f2fs is 2.35× ext3 (95 % interval 2.30–2.41).
            2 more comparisons are in the report's table of claims.
            Not ruled out as the best: btrfs.
            Check: two copies of ext4 differed by 0.2 % (95 % interval −0.8 to +1.2 %), so this study can't resolve less than about 1.2 %.

            oltp, transactions per second (more is better)
               scenario        mean, 1/s  95 % interval               vs ext4  verdict   after a power cut  confirmed  rounds
            1  btrfs               1,507    1,491–1,523  1.502 [1.470, 1.536]  faster    keeps all                          5
            2  xfs                 1,420    1,409–1,431  1.420 [1.406, 1.434]  faster    keeps all              1,390       8
            3  f2fs                1,410    1,399–1,421  1.410 [1.394, 1.426]  faster    keeps all              1,386       8
            4  ext4 (control)      1,002      994–1,010                                  keeps all                          8
            5  ext4                1,000      992–1,008                     1  baseline  keeps all              1,001       8
            6  ext3                  597        592–602  0.594 [0.580, 0.609]  slower    keeps all                          4
            Orders: ext4 (control) went before f2fs in 8 of 8 rounds; of all pairs this one is the least balanced.

            oltp: tails and shapes that differ
            figure                      claim                       ratio  95 % interval  verdict  p, corrected  rounds
            99th percentile of latency  ext3 vs ext4 (filesystem)   1.728    1.592–1.875  worse           0.001       4
            99th percentile of latency  btrfs vs ext4 (filesystem)  0.686    0.644–0.730  better        < 0.001       5
            99th percentile of latency  xfs vs ext4 (filesystem)    0.706    0.662–0.754  better        < 0.001       8
            99th percentile of latency  f2fs vs ext4 (filesystem)   0.723    0.685–0.762  better        < 0.001       8
            99th percentile of latency  btrfs vs ext3 (filesystem)   0.40      0.34–0.46  better          0.001       4
            99th percentile of latency  xfs vs ext3 (filesystem)     0.41      0.38–0.45  better        < 0.001       4
            99th percentile of latency  f2fs vs ext3 (filesystem)    0.43      0.40–0.47  better        < 0.001       4
            rate of the worst second    ext3 vs ext4 (filesystem)   0.594    0.580–0.609  worse         < 0.001       4
            rate of the worst second    btrfs vs ext4 (filesystem)  1.502    1.470–1.536  better        < 0.001       5
            rate of the worst second    xfs vs ext4 (filesystem)    1.420    1.406–1.434  better        < 0.001       8
            rate of the worst second    f2fs vs ext4 (filesystem)   1.410    1.394–1.426  better        < 0.001       8
            rate of the worst second    btrfs vs ext3 (filesystem)   2.52      2.49–2.56  better        < 0.001       4
            rate of the worst second    xfs vs ext3 (filesystem)     2.38      2.33–2.44  better        < 0.001       4
            rate of the worst second    f2fs vs ext3 (filesystem)    2.35      2.30–2.41  better        < 0.001       4
            rate of the worst second    btrfs vs xfs (filesystem)   1.061    1.038–1.084  better          0.003       5
            rate of the worst second    btrfs vs f2fs (filesystem)  1.071    1.057–1.084  better        < 0.001       5
            Each figure is a family of claims of its own (Holm), one value a trial. Percentiles of speed are of its turns, or seconds.
        "#]],
    );
}

/// New rounds are shown beside the figures by which it was picked, and are in none of them.
#[test]
fn new_rounds_are_in_no_mean_of_a_metric() {
    let input = input(tuned(NEW, 6));
    let view = analysis::view::View::of(&input.contents, &input.details, |_, _| true);
    let part = &view.parts[0];
    let means = analysis::means::metric_means(part, &input.contents);
    for label in ["xfs", "f2fs", "ext4"] {
        let mean = part.row(label).and_then(|row| row.centre).expect("values").mean;
        let in_table = means[label]["transactions_per_second"];
        assert!((in_table / mean - 1.0).abs() < 1e-9, "{label}: {in_table} and not {mean}");
    }
}

/// The rounds by which was picked say who is slow now and then, whatever the new ones do; who stalls in these is no pick.
#[test]
fn new_rounds_are_in_no_slow_mode() {
    for order in [Order::Blocks, Order::Turns] {
        let xfs = |level: f64, count: usize| {
            let mut contents = tuned(&[("xfs", level), ("f2fs", 1385.0), ("ext4", 1004.0)], count);
            contents.study.analysis.order = order;
            let input = input(contents);
            let view = analysis::view::View::of(&input.contents, &input.details, |_, _| true);
            let row = view.parts[0].row("xfs").expect("a row");
            let slow = row.slow.expect("runs");
            ((slow.slow, slow.of), row.stalls.is_some())
        };
        assert_eq!(xfs(1390.0, 0), ((0, 8), false));
        // A fifth of its speed in all of them.
        assert_eq!(xfs(280.0, 6), ((0, 8), false));
        assert_eq!(xfs(0.0, 6), ((0, 8), true), "by turns, too, where all of a trial's figure is 0");
    }
}

#[test]
fn who_was_dropped_is_no_hole() {
    let input = input(tuned(NEW, 6));
    assert!(!report::has_holes(&input));
    let json = export::json(&input);
    let part = &json["workloads"][0];
    assert_eq!((&part["mode"], &part["pick"]), (&"tune".into(), &"xfs".into()));
    assert_eq!(part["confirmations"][0]["rounds"], 6);
    assert!(part["importance"].as_array().is_some_and(Vec::is_empty) && part["importance_missing"].is_null());
    let dropped: Vec<(&str, u64)> = part["scenarios"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|row| Some((row["scenario"].as_str()?, row["dropped_after_round"].as_u64()?)))
        .collect();
    assert_eq!(dropped, [("btrfs", 5), ("ext3", 4)], "below all that were measured to the end");
    assert!(report::html(&input).contains("Shown to be worse and measured no further"));
}

/// Whoever adds new rounds after an answer looks at them again, at half of the level.
#[test]
fn new_rounds_that_are_added_are_another_look() {
    let once = tuned(NEW, 6);
    let mut twice = once.clone();
    let new = twice.trials.iter().filter(|trial| trial.phase == Phase::Confirmation);
    let begun: Vec<f64> = new.map(|trial| trial.started).collect();
    let answered = Session { ended: Some(begun[begun.len() / 2] - 0.5), ..twice.sessions[0].clone() };
    twice.sessions.insert(0, answered);
    for phase in [Phase::Main, Phase::Confirmation] {
        let looks = [&once, &twice].map(|contents| analysis::looks::looks(contents, phase));
        assert_eq!(looks, if phase == Phase::Main { [1, 1] } else { [1, 2] });
    }
    let ruled_out = |contents: &Contents| -> Vec<f64> {
        let view = analysis::view::View::of(contents, &report::input::Details::default(), |_, _| true);
        view.parts[0].confirmations[0].claims.iter().map(|claim| claim.ruled_out).collect()
    };
    let (first, second) = (ruled_out(&once), ruled_out(&twice));
    assert!(
        first.len() == 2 && first.iter().zip(&second).all(|(first, second)| first < second),
        "{first:?} {second:?}"
    );
}

/// What is compared in new rounds is declared before them: a baseline that stalls in them made the pick and the runner-up look surer.
#[test]
fn who_stalls_in_new_rounds_stays_a_member_of_their_family() {
    let ruled_out = |baseline: f64| {
        let contents = tuned(&[("xfs", 1390.0), ("f2fs", 1385.0), ("ext4", baseline)], 6);
        let view = analysis::view::View::of(&contents, &report::input::Details::default(), |_, _| true);
        let claims = &view.parts[0].confirmations[0].claims;
        (claims.len(), claims.iter().find(|claim| claim.is_against("f2fs")).expect("compared").ruled_out)
    };
    let (whole, stalled) = (ruled_out(1004.0), ruled_out(0.0));
    assert_eq!((whole.0, stalled.0), (2, 1));
    assert_eq!(whole.1, stalled.1);
}
