//! Studies whose choice is closed, by new rounds or as scenarios fell out: what is known later may leave another one to pick.

use crate::fixture;
use crate::tuning::{NEW, input, short, tuned};
use ledger::model::{Contents, Decision, Mode, Order, Phase, TrialState};
use observe::safety::Grade;

/// Power cuts are measured last. A pick that one makes less safe than others was recommended for having been confirmed, "at most 0 %" behind.
#[test]
fn a_confirmed_pick_that_a_power_cut_makes_less_safe_is_picked_no_more() {
    for grade in [Grade::C, Grade::E] {
        let mut contents = tuned(NEW, 6);
        for decision in &mut contents.decisions {
            if let Decision::Worse(worse) = decision {
                worse.than = "f2fs".into();
            }
        }
        fixture::cut(&mut contents, "xfs", fixture::found(grade));
        let said = short(contents.clone());
        assert!(said.starts_with("Use f2fs: it is the fastest of the equally safe scenarios"), "{said}");
        assert!(said.contains("Not xfs, 1.01× as fast: after a power cut"), "{said}");
        assert!(said.contains("; not confirmed, as the pick of the new rounds is no choice any more."), "{said}");
        assert!(!said.contains("at most 0 %") && !said.contains("confirmed in 6"), "{said}");
        let whole = report::answer(&input(contents)).join(" ");
        assert!(whole.starts_with("Pick f2fs: ") && !whole.contains("It was picked from"), "{whole}");
    }
}

/// btrfs fell out for xfs, which no one may pick since its power cuts: nobody who may be picked was shown to be better.
#[test]
fn who_fell_out_for_one_that_is_no_choice_may_be_the_best() {
    let mut contents = tuned(&[], 0);
    assert!(short(contents.clone()).contains("xfs or f2fs: neither is ruled out as the fastest."));
    fixture::cut(&mut contents, "xfs", fixture::found(Grade::C));
    let said = short(contents.clone());
    assert!(said.starts_with("Use btrfs: it is the fastest of the equally safe scenarios."), "{said}");
    assert!(said.contains("How sure: 95 %, over 4 rounds, that none"), "{said}");
    // ext3 fell out for btrfs, which is a choice again: it stays out.
    if let Decision::Worse(ext3) = &mut contents.decisions[0] {
        ext3.than = "btrfs".into();
    }
    let whole = report::answer(&input(contents)).join(" ");
    assert!(whole.contains("btrfs after round 5 (behind xfs by at least 9.0 %, which is no choice itself)"), "{whole}");
    assert_eq!(whole.matches("no choice itself").count(), 1, "{whole}");
}

/// "More rounds may decide it", it said, and more rounds measured neither.
#[test]
fn who_is_back_is_measured_no_further() {
    let mut contents = tuned(&[], 0);
    fixture::cut(&mut contents, "xfs", fixture::found(Grade::C));
    for run in fixture::runs_of(&mut contents, |trial| trial.scenario == "btrfs") {
        run.metrics.values_mut().for_each(|value| *value *= 0.94);
    }
    let said = short(contents);
    assert!(said.contains("neither is ruled out as the fastest"), "{said}");
    assert!(
        said.contains("a new study without what is no choice may decide it.") && !said.contains("More rounds"),
        "{said}"
    );
}

/// No main round is measured any more: the command that was named did nothing.
#[test]
fn a_choice_that_is_closed_asks_for_no_more_rounds() {
    // Those of one workload close the choice of all.
    for (mode, confirmed) in [(Mode::Tune, "oltp"), (Mode::Full, "oltp"), (Mode::Tune, "another")] {
        let mut contents = tuned(NEW, 6);
        let analysis = &mut contents.study.analysis;
        (analysis.mode, analysis.precision, analysis.rounds_min) = (mode, 0.001, 20);
        contents.decisions.retain(|decision| mode == Mode::Tune || matches!(decision, Decision::Confirm(_)));
        if let Some(Decision::Confirm(finalists)) = contents.decisions.last_mut() {
            finalists.workload = confirmed.into();
        }
        let whole = report::terminal(&input(contents.clone()), 400, false);
        assert!(whole.contains("where 20 were wanted") && !whole.contains("with a larger `--"), "{whole}");
        let said = short(contents);
        assert!(said.contains("New rounds have closed the choice: a new study may decide it."), "{said}");
        assert!(!said.contains("--rounds") && said.contains("; a true difference of "), "{said}");
    }
}

/// "The choice between them is open", it said of a baseline that loses data, and is fast for that.
#[test]
fn what_is_no_choice_leaves_none_open_in_new_rounds() {
    let said = |is_cut: bool| {
        let mut contents = tuned(&[("xfs", 1390.0), ("f2fs", 1300.0), ("ext4", 1500.0)], 6);
        if is_cut {
            fixture::cut(&mut contents, "ext4", fixture::found(Grade::E));
        }
        report::answer(&input(contents)).join(" ")
    };
    assert!(said(false).contains("The new rounds speak against the pick: in them ext4 was shown to be better."));
    let cut = said(true);
    assert!(!cut.contains("the choice between them is open") && cut.contains(", confirmed in 6 new rounds"), "{cut}");
}

/// The trials of a scenario in these new rounds failed; in those from `until` on there was none, as it had been given up.
fn fail_in_new_rounds(contents: &mut Contents, label: &str, failed: &[u32], until: u32) {
    let is_new = |trial: &ledger::model::Trial| trial.phase == Phase::Confirmation && trial.scenario == label;
    contents.trials.retain(|trial| !is_new(trial) || trial.round < until);
    for trial in contents.trials.iter_mut().filter(|trial| is_new(trial) && failed.contains(&trial.round)) {
        trial.state = TrialState::Failed;
    }
    fixture::keep_finished(contents);
}

/// What could not be measured anew was recommended by the rounds before, "not confirmed in new rounds yet".
#[test]
fn who_fails_in_new_rounds_is_no_choice() {
    let failing = |label: &str, failed: &[u32], until: u32| {
        let mut contents = tuned(NEW, 6);
        for decision in &mut contents.decisions {
            if let Decision::Worse(worse) = decision {
                worse.than = "ext4".into();
            }
        }
        fail_in_new_rounds(&mut contents, label, failed, until);
        contents
    };
    for (failed, until, rounds, trials) in
        [(&[0, 1][..], 2, "6 of 14 rounds", "2 of 10 trials"), (&[2, 4][..], 6, "2 of 14 rounds", "2 of 14 trials")]
    {
        let contents = failing("xfs", failed, until);
        let said = short(contents.clone());
        assert!(said.starts_with("Use f2fs: it is the fastest of the scenarios that failed no more often"), "{said}");
        assert!(said.contains(&format!("Not xfs, 1.01× as fast: it failed in {rounds}.")), "{said}");
        assert!(said.contains("; not confirmed, as the pick of the new rounds is no choice any more."), "{said}");
        let whole = report::answer(&input(contents)).join(" ");
        assert!(whole.contains(&format!("Hole: {trials} of xfs failed")), "{whole}");
        // Nor is it one that may be the fastest.
        let said = short(failing("f2fs", failed, until));
        assert!(said.starts_with("Use xfs: it is the fastest of the scenarios that failed no more often"), "{said}");
    }
    // It had failed in the last main round, too, and was given up after the first new one.
    let mut contents = failing("xfs", &[0], 1);
    let is_last = |trial: &&mut ledger::model::Trial| trial.scenario == "xfs" && trial.round == 7;
    contents.trials.iter_mut().find(is_last).expect("eight main rounds").state = TrialState::Failed;
    fixture::keep_finished(&mut contents);
    let whole = report::answer(&input(contents.clone())).join(" ");
    assert!(
        whole.starts_with("Pick f2fs: ") && whole.contains("it failed in 7 of 14 rounds, and ext4 in none"),
        "{whole}"
    );
    // Where all fail alike nobody is behind, and nothing is confirmed.
    for label in ["f2fs", "ext4"] {
        fail_in_new_rounds(&mut contents, label, &[0, 1], 2);
    }
    let whole = report::answer(&input(contents)).join(" ");
    assert!(whole.contains("; not confirmed, as xfs failed in 2 of 2 new rounds."), "{whole}");
}

/// A disk that was full, or the like. One was recommended that nobody had measured anew, as it had failed in none of them.
#[test]
fn what_makes_all_fail_in_new_rounds_leaves_the_pick() {
    let mut contents = tuned(NEW, 6);
    contents.study.analysis.mode = Mode::Full;
    contents.decisions.retain(|decision| matches!(decision, Decision::Confirm(_)));
    for run in fixture::runs_of(&mut contents, |trial| trial.scenario == "btrfs") {
        run.metrics.values_mut().for_each(|value| *value *= 0.9);
    }
    for label in ["xfs", "f2fs", "ext4"] {
        fail_in_new_rounds(&mut contents, label, &[0, 1], 2);
    }
    let whole = report::answer(&input(contents.clone())).join(" ");
    assert!(whole.contains("; not confirmed, as xfs failed in 2 of 2 new rounds."), "{whole}");
    assert!(!whole.contains("others failed in fewer rounds"), "{whole}");
    let said = short(contents);
    assert!(said.starts_with("xfs or f2fs: neither is ruled out as the fastest."), "{said}");
    assert!(
        said.contains("xfs failed in 2 of 10 rounds, in the new ones as all did that were measured in them."),
        "{said}"
    );
}

/// It waited for a round that never came: "in 5 of 6 new rounds so far".
#[test]
fn a_new_round_in_which_the_pick_failed_by_an_accident_is_over() {
    let mut contents = tuned(NEW, 6);
    fail_in_new_rounds(&mut contents, "xfs", &[3], 6);
    let whole = report::answer(&input(contents.clone())).join(" ");
    assert!(whole.contains("in 5 new rounds") && !whole.contains("so far"), "{whole}");
    assert!(!short(contents).contains("Too early"), "one failure may be an accident");
}

/// It was named beside the pick as one that may be the fastest: "neither is ruled out". By turns, where its figure is 0 as a whole, nobody had seen it.
#[test]
fn a_runner_up_that_stalls_in_new_rounds_is_no_rival() {
    for order in [Order::Blocks, Order::Turns] {
        let mut contents = tuned(&[("xfs", 1390.0), ("f2fs", 0.0), ("ext4", 1004.0)], 6);
        contents.study.analysis.order = order;
        let said = short(contents.clone());
        assert!(said.starts_with("Use xfs: it is the fastest of the scenarios that did not stall"), "{said}");
        let whole = report::answer(&input(contents)).join(" ");
        assert!(!whole.contains("ruled out as the best"), "{whole}");
        assert!(whole.contains(", confirmed in 6 new rounds"), "it was left open for good: {whole}");
        assert!(whole.contains("was shown to be the best of the scenarios measured that did not stall"), "{whole}");
    }
}
