//! Studies that ask for the best only: who is dropped, who is not, what a resume makes of it, and the confirmation.

use crate::groups::conduct;
use crate::simulated::Simulated;
use crate::{contents, machine, plan, run, session, text};
use lab::conductor::{self, Stop};
use lab::resume;
use ledger::model::{Contents, Decision, Finalists, Phase, Worse};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// ext4 is the baseline, xfs best by little, ext3 and ext2 far behind.
fn spread() -> Simulated {
    let speeds = [("ext2", 500.0), ("ext3", 700.0), ("ext4", 1000.0), ("xfs", 1020.0), ("btrfs", 1010.0)];
    let mut machine = machine();
    machine.speeds = speeds.map(|(word, speed)| (word.to_string(), speed)).into();
    machine
}

const FILESYSTEMS: &[&str] = &["ext4", "ext3", "ext2", "xfs", "btrfs"];

fn tune(design: &str) -> String {
    text(FILESYSTEMS, &format!("mode = \"tune\"\n{design}"))
}

fn worse(contents: &Contents) -> Vec<&Worse> {
    contents.worse().collect()
}

fn finalists(contents: &Contents) -> Vec<&Finalists> {
    contents.finalists().collect()
}

/// Trials a scenario had, by phase.
fn counts(contents: &Contents, phase: Phase) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for trial in contents.counted_trials().into_iter().filter(|trial| trial.phase == phase) {
        *counts.entry(trial.scenario.as_str()).or_default() += 1;
    }
    counts
}

/// What was decided, and the bits of each trial's value, by scenario, phase and round.
type Outcome = (Vec<Decision>, BTreeMap<(String, Phase, u32), u64>);

fn outcome(path: &Path) -> Outcome {
    let contents = contents(path);
    let value = |trial: &ledger::model::Trial| {
        let rounds = contents.values_in(trial.phase, &contents.scenarios[0].primary_metric);
        let column = contents.scenarios.iter().position(|scenario| scenario.label == trial.scenario);
        let value = rounds.get(trial.round as usize).and_then(|row| row[column.expect("a scenario")]);
        value.unwrap_or_default().to_bits()
    };
    let trials = contents.counted_trials().into_iter();
    let all = trials.map(|trial| ((trial.scenario.clone(), trial.phase, trial.round), value(trial))).collect();
    (contents.decisions.clone(), all)
}

#[test]
fn who_is_shown_to_be_worse_is_measured_no_further_and_the_best_are_confirmed() {
    let folder = tempfile::tempdir().expect("a folder");
    let results = folder.path().join("s.surefoot");
    let mut machine = spread();
    machine.drift = -0.002;
    let summary = run(&tune("rounds_min = 6\nrounds_max = 12\nprecision = \"0.1%\""), &mut machine, &results);
    assert_eq!((summary.stop, summary.failed), (Stop::RoundsMax, 0));
    let contents = contents(&results);
    let worse = worse(&contents);
    let dropped: BTreeMap<&str, u32> =
        worse.iter().filter(|worse| !worse.stays).map(|worse| (&*worse.scenario, worse.round)).collect();
    assert_eq!(dropped.keys().copied().collect::<Vec<_>>(), ["ext2", "ext3"], "{worse:?}");
    assert!(worse.iter().all(|worse| worse.behind_at_least > 0.0 && worse.behind > worse.behind_at_least));
    let main = counts(&contents, Phase::Main);
    for (scenario, count) in &main {
        let expected = dropped.get(scenario).map_or(12, |round| *round as usize + 1);
        assert_eq!(*count, expected, "{scenario}: {main:?}");
    }
    assert_eq!(main["ext4 (control)"], 12);
    let [finalists] = finalists(&contents)[..] else { panic!("one workload: {:?}", contents.decisions) };
    assert_eq!(finalists.baseline.as_deref(), Some("ext4"));
    let confirmed = counts(&contents, Phase::Confirmation);
    let wanted: BTreeSet<&str> = [Some(&finalists.pick), finalists.runner_up.as_ref(), finalists.baseline.as_ref()]
        .into_iter()
        .flatten()
        .map(|label| &**label)
        .collect();
    assert_eq!(confirmed.keys().copied().collect::<BTreeSet<_>>(), wanted);
    assert!(confirmed.values().all(|count| *count == 6), "{confirmed:?}");
    let seeds = |phase| contents.trials.iter().filter(move |trial| trial.phase == phase).map(|trial| trial.seed);
    let main_seeds: BTreeSet<u64> = seeds(Phase::Main).collect();
    assert!(seeds(Phase::Confirmation).all(|seed| !main_seeds.contains(&seed)), "new rounds are drawn anew");
}

#[test]
fn a_full_study_drops_nobody_and_confirms_only_when_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let results = folder.path().join("s.surefoot");
    run(&text(FILESYSTEMS, "rounds_min = 6\nrounds_max = 6"), &mut spread(), &results);
    assert_eq!((contents(&results).decisions, contents(&results).trials.len()), (Vec::new(), 36));
    let told = folder.path().join("told.surefoot");
    run(&text(FILESYSTEMS, "rounds_min = 6\nrounds_max = 6\nconfirm = 4"), &mut spread(), &told);
    let contents = contents(&told);
    assert!(worse(&contents).is_empty() && finalists(&contents).len() == 1);
    assert!(counts(&contents, Phase::Confirmation).values().all(|count| *count == 4));
}

#[test]
fn the_baseline_is_measured_on_when_it_is_worse_and_one_left_is_enough() {
    let folder = tempfile::tempdir().expect("a folder");
    let results = folder.path().join("s.surefoot");
    let mut machine = spread();
    machine.speeds = vec![("xfs".into(), 2000.0)];
    let summary = run(&tune("rounds_min = 6\nrounds_max = 20"), &mut machine, &results);
    assert_eq!(summary.stop, Stop::OneLeft);
    let contents = contents(&results);
    let stays: Vec<&str> = worse(&contents).iter().filter(|worse| worse.stays).map(|worse| &*worse.scenario).collect();
    assert_eq!(stays, ["ext4"]);
    let main = counts(&contents, Phase::Main);
    assert_eq!((main["ext4"], main["xfs"], main["ext4 (control)"], main["ext2"]), (6, 6, 6, 4), "{main:?}");
    assert_eq!(finalists(&contents)[0].pick, "xfs");
    assert!(finalists(&contents)[0].runner_up.is_some(), "the best of those that fell out");
}

/// ext4 without a journal's flushes is fast and unsafe: it beats nobody that is safe, and is beaten itself.
#[test]
fn an_unsafe_scenario_beats_no_safe_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let results = folder.path().join("s.surefoot");
    let text = "name = \"s\"\n[factors.how.safe]\n\"storage.filesystem\" = \"ext4\"\n[factors.how.unsafe]\n\
                \"storage.filesystem\" = \"ext4\"\n\"storage.mount\" = [\"nobarrier\"]\n[factors.how.slow]\n\
                \"storage.filesystem\" = \"xfs\"\n[storage]\n[workload.null]\n[design]\nmode = \"tune\"\nrounds_max = 8\n";
    let mut machine = machine();
    machine.speeds = vec![("unsafe".into(), 3000.0), ("slow".into(), 500.0)];
    run(text, &mut machine, &results);
    let found = contents(&results);
    let pairs: Vec<(&str, &str)> = worse(&found).iter().map(|worse| (&*worse.scenario, &*worse.than)).collect();
    assert_eq!(pairs, [("slow", "safe")]);
    assert_eq!(finalists(&found)[0].pick, "safe");
    assert_eq!(counts(&found, Phase::Main)["unsafe"], 6, "it goes on: nobody who may beat it does");
}

/// XFS is twice as fast as the others and refuses a part of what it is asked for: it beats nobody with fewer errors, and is not picked.
#[test]
fn a_scenario_with_more_errors_beats_none_with_fewer() {
    let folder = tempfile::tempdir().expect("a folder");
    let results = folder.path().join("s.surefoot");
    let mut machine = spread();
    machine.speeds[3].1 = 2000.0;
    machine.errors = vec![("xfs".into(), 0.05), ("".into(), 0.0)];
    run(&tune("rounds_min = 6\nrounds_max = 8\nprecision = \"0.1%\""), &mut machine, &results);
    let found = contents(&results);
    assert!(worse(&found).iter().all(|worse| worse.than != "xfs"), "{:?}", found.decisions);
    assert_ne!(finalists(&found)[0].pick, "xfs");
    let without = folder.path().join("without.surefoot");
    machine.errors.clear();
    run(&tune("rounds_min = 6\nrounds_max = 8\nprecision = \"0.1%\""), &mut machine, &without);
    assert_eq!(finalists(&contents(&without))[0].pick, "xfs", "it is the errors that decide");
}

/// XFS has one error a round, ext4 none.
fn erring() -> (Simulated, String) {
    let design = "mode = \"tune\"\nrounds_min = 6\nrounds_max = 20\nprecision = \"0.1%\"";
    let mut machine = spread();
    machine.errors = vec![("xfs".into(), 0.001), ("".into(), 0.0)];
    (machine, text(&["ext4", "xfs"], design))
}

/// One error a round against none after six rounds may be an accident, 1 of 64, by a fair coin. After ten rounds it is 1 of 1,024.
#[test]
fn errors_end_a_study_by_the_share_of_the_level_that_a_look_has() {
    let folder = tempfile::tempdir().expect("a folder");
    let results = folder.path().join("s.surefoot");
    let (mut machine, text) = erring();
    assert_eq!(run(&text, &mut machine, &results).stop, Stop::OneLeft);
    let found = contents(&results);
    assert!(worse(&found).is_empty(), "{:?}", found.decisions);
    assert_eq!(counts(&found, Phase::Main)["xfs"], 10);
}

/// Nine rounds are not enough. Gone on with, it had ended at the sixth, by the errors of all nine, and chosen from six.
#[test]
fn a_study_that_is_gone_on_with_ends_no_sooner_by_errors_that_came_later() {
    let folder = tempfile::tempdir().expect("a folder");
    let [whole, cut] = ["whole.surefoot", "cut.surefoot"].map(|name| folder.path().join(name));
    let (mut machine, text) = erring();
    run(&text, &mut machine.clone(), &whole);
    let nine = contents(&whole).trials.iter().filter(|trial| trial.phase == Phase::Main && trial.round < 9).count();
    machine.interrupt_after = Some(u32::try_from(nine).expect("few"));
    assert_eq!(run(&text, &mut machine, &cut).stop, Stop::Interrupted);
    machine.interrupt_after = None;
    assert_eq!(run(&text, &mut machine, &cut).stop, Stop::OneLeft);
    assert_eq!(finalists(&contents(&cut))[0].round, 9);
    assert_eq!(outcome(&whole), outcome(&cut));
}

/// XFS is twice as fast as the others and fails once: it makes nobody fall out who did not.
#[test]
fn a_scenario_that_failed_drops_nobody_who_did_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let results = folder.path().join("s.surefoot");
    let mut machine = spread();
    machine.speeds[3].1 = 2000.0;
    machine.fails_in = Some(("xfs".into(), 2));
    run(&tune("rounds_min = 6\nrounds_max = 8\nprecision = \"0.1%\""), &mut machine, &results);
    let found = contents(&results);
    assert!(worse(&found).iter().all(|worse| worse.than != "xfs"), "{:?}", found.decisions);
    assert_eq!(finalists(&found)[0].pick, "xfs", "one failure may be an accident");
}

/// Each rate is a question of its own: what is slow under one is not dropped under the other.
#[test]
fn scenarios_compete_under_the_same_condition_only() {
    let folder = tempfile::tempdir().expect("a folder");
    let results = folder.path().join("s.surefoot");
    let text = "name = \"s\"\n[factors]\n\"storage.filesystem\" = [\"ext4\", \"xfs\"]\n\"workload.null.time\" = [\"1s\", \"2s\"]\n\
                [storage]\n[workload.null]\n[design]\nmode = \"tune\"\nrounds_max = 8\ncontrol = false\n";
    let mut machine = machine();
    machine.speeds = vec![("ext4 · time=1s".into(), 100.0), ("xfs · time=1s".into(), 50.0), ("xfs".into(), 2000.0)];
    run(text, &mut machine, &results);
    let found = contents(&results);
    let pairs: BTreeSet<(&str, &str)> = worse(&found).iter().map(|worse| (&*worse.scenario, &*worse.than)).collect();
    let expected = [("ext4 · time=2s", "xfs · time=2s"), ("xfs · time=1s", "ext4 · time=1s")];
    assert_eq!(pairs, BTreeSet::from(expected));
    let picks: BTreeSet<&str> = finalists(&found).iter().map(|finalists| &*finalists.pick).collect();
    assert_eq!(picks, BTreeSet::from(["ext4 · time=1s", "xfs · time=2s"]));
}

#[test]
fn more_rounds_do_not_open_a_choice_that_was_confirmed() {
    let folder = tempfile::tempdir().expect("a folder");
    let results = folder.path().join("s.surefoot");
    run(&tune("rounds_min = 6\nrounds_max = 6\nprecision = \"0.1%\""), &mut spread(), &results);
    let before = outcome(&results);
    let again = run(&tune("rounds_min = 6\nrounds_max = 12\nprecision = \"0.1%\""), &mut spread(), &results);
    assert_eq!(before, outcome(&results));
    assert_eq!(again.stop, Stop::ChoiceClosed, "it is no matter of time");
}

/// The baseline is shown to be worse, stays, fails twice and is given up: measured again alone, it would be held against scenarios of another
/// day.
#[test]
fn a_worse_baseline_that_was_given_up_is_measured_again_with_the_others() {
    let folder = tempfile::tempdir().expect("a folder");
    let results = folder.path().join("s.surefoot");
    let design =
        "mode = \"tune\"\nrounds_min = 12\nrounds_max = 12\nconfirm = 0\ncontrol = false\nprecision = \"0.1%\"";
    let text = text(&["ext4", "xfs", "btrfs"], design);
    let mut machine = machine();
    machine.speeds = vec![("ext4".into(), 500.0)];
    // It fails in the seventh round, and in the eighth in another session.
    (machine.fails_in, machine.interrupt_after) = (Some(("ext4".into(), 6)), Some(7 * 3));
    assert_eq!(conduct(&text, &mut machine, &results, false).stop, Stop::Interrupted);
    (machine.fails_in, machine.interrupt_after) = (Some(("ext4".into(), 7)), None);
    conduct(&text, &mut machine, &results, false);
    let found = contents(&results);
    assert!(worse(&found).iter().any(|worse| worse.scenario == "ext4" && worse.stays), "{:?}", found.decisions);
    assert_eq!(counts(&found, Phase::Main)["ext4"], 8, "given up after the eighth");
    machine.fails_in = None;
    conduct(&text, &mut machine, &results, true);
    let found = contents(&results);
    assert_eq!(counts(&found, Phase::Main)["ext4"], 12);
    for round in 0..12 {
        let of_round = found.counted_trials().into_iter().filter(|trial| trial.round == round);
        let session = |started: f64| found.sessions.iter().rposition(|session| session.started <= started);
        let sessions: BTreeSet<Option<usize>> = of_round.map(|trial| session(trial.started)).collect();
        assert_eq!(sessions.len(), 1, "round {round} is of several days: {sessions:?}");
    }
}

#[test]
fn a_time_budget_leaves_room_for_the_confirmation() {
    let folder = tempfile::tempdir().expect("a folder");
    let results = folder.path().join("s.surefoot");
    // Six trials of ten seconds a round, and 180 s of confirmation: a tenth of the trials is dropped on the way.
    let design = "rounds_min = 6\nrounds_max = 50\nprecision = \"0.1%\"\ntime_budget = \"600s\"";
    let mut machine = spread();
    assert_eq!(run(&tune(design), &mut machine, &results).stop, Stop::TimeBudget);
    assert!(machine.trials() <= 60, "{} trials of ten seconds", machine.trials());
    assert!(counts(&contents(&results), Phase::Confirmation).values().all(|count| *count == 6));
}

/// Four rounds of 60 s, and of 40 s once two have fallen out: after five of them there are 45 s left, and "the next round would not fit".
#[test]
fn a_round_of_fewer_scenarios_fits_into_less_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let results = folder.path().join("s.surefoot");
    let design = "rounds_min = 6\nrounds_max = 12\nconfirm = 0\nprecision = \"0.1%\"\ntime_budget = \"325s\"";
    let mut machine = spread();
    assert_eq!(run(&tune(design), &mut machine, &results).stop, Stop::TimeBudget);
    let found = contents(&results);
    let rounds = counts(&found, Phase::Main)["xfs"];
    let last = found.counted_trials().into_iter().filter(|trial| trial.round as usize + 1 == rounds).count();
    assert!(last < 6, "nobody fell out: {:?}", found.decisions);
    assert!(10 * (machine.trials() as usize + last) > 325, "there was time for another round of {last} trials of 10 s");
}

#[test]
fn another_mode_is_another_study() {
    let folder = tempfile::tempdir().expect("a folder");
    let results = folder.path().join("s.surefoot");
    run(&tune("rounds_min = 6\nrounds_max = 6"), &mut spread(), &results);
    let full = text(FILESYSTEMS, "rounds_min = 6\nrounds_max = 6");
    let refused = resume::open(&results, &plan(&full), &session(&full)).err();
    assert!(
        matches!(refused, Some(resume::Error::OtherStudy { .. })),
        "its scenarios have no holes that may be filled"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// However often it is interrupted, it decides the same after the same rounds, and confirms the same.
    #[test]
    fn interruptions_change_no_decision(cuts in prop::collection::vec(1_u32..20, 0..6), seed in 0_u64..1000) {
        let folder = tempfile::tempdir().expect("a folder");
        let text = tune("rounds_min = 5\nrounds_max = 7\nconfirm = 3\nprecision = \"1%\"");
        let mut machine = spread();
        (machine.seed, machine.failures) = (seed, 0.05);
        let (whole, cut) = (folder.path().join("whole.surefoot"), folder.path().join("cut.surefoot"));
        run(&text, &mut machine.clone(), &whole);
        for trials in cuts {
            machine.interrupt_after = Some(machine.trials() + trials);
            run(&text, &mut machine, &cut);
        }
        machine.interrupt_after = None;
        let plan = plan(&text);
        let opened = resume::open(&cut, &plan, &session(&text)).expect("it opens");
        conductor::conduct(&plan, opened, &mut machine, &AtomicBool::new(false), &mut |_| {}).expect("it runs");
        prop_assert_eq!(outcome(&whole), outcome(&cut));
    }
}
