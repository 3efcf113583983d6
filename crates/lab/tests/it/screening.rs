//! Studies that are screened first: what is measured, what is kept and left out, what a resume makes of it.

use crate::screened::{Run, Truth, repeat};
use crate::simulated::Simulated;
use crate::{Known, contents, machine, plan, run, session};
use lab::conductor::{self, Stop, What};
use lab::resume;
use ledger::model::{Contents, Decision, Phase, Screened};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Four filesystems and five settings of two levels: 128 scenarios.
fn large(design: &str) -> String {
    format!(
        r#"name = "s"
question = "?"
[factors]
"storage.filesystem" = ["ext4", "xfs", "btrfs", "ext3"]
a = {{ off = {{ "storage.check" = false }}, on = {{ "storage.check" = true }} }}
b = {{ off = {{ "storage.size" = "1GiB" }}, on = {{ "storage.size" = "2GiB" }} }}
c = {{ off = {{ "storage.mount" = [] }}, on = {{ "storage.mount" = ["noatime"] }} }}
d = {{ off = {{ "memory" = "1GiB" }}, on = {{ "memory" = "2GiB" }} }}
e = {{ off = {{ "cpus.client" = [0] }}, on = {{ "cpus.client" = [1] }} }}
[workload.null]
[design]
{design}
"#
    )
}

/// xfs, a and d matter; c a little, b and e not at all.
fn machine_of() -> Simulated {
    let effects = [("xfs", 1.3), ("btrfs", 0.8), ("a=on", 1.2), ("d=on", 0.85), ("c=on", 1.01)];
    let mut machine = machine();
    machine.effects = effects.map(|(word, effect)| (word.to_string(), effect)).into();
    machine.drift = -0.0002;
    machine
}

fn failing(share: f64) -> Simulated {
    let mut machine = machine_of();
    machine.failures = share;
    // What it drifts by counts its own trials, which a resume begins anew.
    machine.drift = 0.0;
    machine
}

fn names(factors: &[ledger::model::ScreenedFactor]) -> Vec<&str> {
    factors.iter().map(|factor| factor.factor.as_str()).collect()
}

fn screened(contents: &Contents) -> &Screened {
    contents.screened("null").expect("the screen is complete")
}

/// Scenarios and trials by phase.
fn counts(contents: &Contents) -> BTreeMap<Phase, (usize, usize)> {
    let mut all: BTreeMap<Phase, (BTreeSet<&str>, usize)> = BTreeMap::new();
    for trial in contents.counted_trials() {
        let of_phase = all.entry(trial.phase).or_default();
        of_phase.0.insert(&trial.scenario);
        of_phase.1 += 1;
    }
    all.into_iter().map(|(phase, (scenarios, trials))| (phase, (scenarios.len(), trials))).collect()
}

const ROUNDS: &str = "screen = \"fraction\"\nrounds_min = 6\nrounds_max = 6";

#[test]
fn what_matters_is_studied_in_full_and_the_rest_stays_at_the_baseline() {
    let folder = tempfile::tempdir().expect("a folder");
    let results = folder.path().join("s.surefoot");
    let summary = run(&large(ROUNDS), &mut machine_of(), &results);
    assert_eq!(summary.failed, 0);
    let contents = contents(&results);
    let screened = screened(&contents);
    assert_eq!(names(&screened.kept), ["storage.filesystem", "a", "d"], "{screened:?}");
    assert_eq!((screened.scenarios, screened.of, screened.rounds), (64, 128, 3));
    let fixed: BTreeSet<&str> = names(&screened.fixed).into_iter().collect();
    assert_eq!(fixed, BTreeSet::from(["b", "c", "e"]));
    let of_c = screened.fixed.iter().find(|factor| factor.factor == "c").expect("c is fixed");
    assert!(of_c.low < 0.01 && of_c.high > 0.01 && of_c.bound < 0.04, "{of_c:?}");
    let counts = counts(&contents);
    assert_eq!(counts[&Phase::Screen], (64, 64 * 3));
    assert_eq!(counts[&Phase::Main], (4 * 2 * 2 + 1, 17 * 6), "and the control");
    assert_eq!(counts[&Phase::Confirmation].1 % 6, 0);
    let pick = &contents.finalists().next().expect("confirmed").pick;
    assert!(pick.contains("xfs") && pick.contains("a=on") && pick.contains("d=off"), "{pick}");
    let studied = contents.trials.iter().filter(|trial| trial.phase != Phase::Screen);
    assert!(studied.clone().all(|trial| trial.scenario.contains("b=off") && trial.scenario.contains("e=off")));
    let seeds = |of: Phase| contents.trials.iter().filter(move |trial| trial.phase == of).map(|trial| trial.seed);
    let main: BTreeSet<u64> = seeds(Phase::Main).chain(seeds(Phase::Confirmation)).collect();
    assert!(seeds(Phase::Screen).all(|seed| !main.contains(&seed)), "the screen's rounds are drawn anew");
}

#[test]
fn it_goes_before_a_study_of_the_best_only() {
    let folder = tempfile::tempdir().expect("a folder");
    let results = folder.path().join("s.surefoot");
    let design = "screen = \"auto\"\nmode = \"tune\"\nrounds_min = 6\nrounds_max = 12";
    run(&large(design), &mut machine_of(), &results);
    let contents = contents(&results);
    assert!(contents.worse().count() > 5, "{:?}", contents.decisions);
    assert!(contents.worse().all(|worse| !screened(&contents).leaves_out(
        &contents.scenarios.iter().find(|scenario| scenario.label == worse.scenario).expect("known").levels
    )));
    assert!(counts(&contents)[&Phase::Main].1 < 17 * 12);
}

/// What was decided, and each trial's place, wherever it was cut off.
#[test]
fn a_resume_decides_and_measures_the_same() {
    let outcome = |path: &Path| -> (Vec<Decision>, BTreeSet<(String, Phase, u32)>) {
        let contents = contents(path);
        let trials = contents.counted_trials().into_iter();
        let places = trials.map(|trial| (trial.scenario.clone(), trial.phase, trial.round)).collect();
        (contents.decisions.clone(), places)
    };
    let folder = tempfile::tempdir().expect("a folder");
    let whole = folder.path().join("whole.surefoot");
    let failing = || failing(0.01);
    run(&large(ROUNDS), &mut failing(), &whole);
    for after in [40, 191, 192, 230] {
        let results = folder.path().join(format!("{after}.surefoot"));
        let mut machine = failing();
        machine.interrupt_after = Some(after);
        let summary = run(&large(ROUNDS), &mut machine, &results);
        assert_eq!(summary.stop, Stop::Interrupted, "{after}");
        run(&large(ROUNDS), &mut failing(), &results);
        assert!(outcome(&results) == outcome(&whole), "cut off after {after} trials");
    }
}

#[test]
fn a_screen_with_a_scenario_that_always_fails_ends_the_study_and_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    // Of trials whose data were found wrong behind their runs, the figures had decided which factors are studied.
    for fails_late in [false, true] {
        let results = folder.path().join(format!("{fails_late}.surefoot"));
        let mut machine = failing(0.5);
        machine.fails_late = fails_late;
        let summary = run(&large(ROUNDS), &mut machine, &results);
        assert_eq!(summary.stop, Stop::ScreenFailed);
        assert!(summary.failed > 0 && contents(&results).decisions.is_empty());
        assert!(!counts(&contents(&results)).contains_key(&Phase::Main));
    }
}

/// Each of 128 scenarios had its power cuts, though 16 are studied; and so it had where the screen failed.
#[test]
fn power_cuts_are_those_of_what_is_studied() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = large(&format!("{ROUNDS}\n[safety]\nload = \"files\""));
    let cut = |mut machine: Simulated, name: &str| {
        let results = folder.path().join(name);
        run(&text, &mut machine, &results);
        contents(&results).safety.into_iter().map(|measured| measured.scenario).collect::<BTreeSet<String>>()
    };
    let of_studied = cut(machine_of(), "whole.surefoot");
    assert_eq!(of_studied.len(), 4 * 2 * 2, "{of_studied:?}");
    assert!(of_studied.iter().all(|label| label.contains("b=off") && label.contains("e=off")), "{of_studied:?}");
    assert!(cut(failing(0.5), "failed.surefoot").is_empty());
    // Nor by itself, later on.
    let (results, plan) = (folder.path().join("whole.surefoot"), plan(&text));
    let again = resume::Session { retry_failed: true, ..session(&text) };
    let opened = resume::open(&results, &plan, &again).expect("it opens");
    let never = AtomicBool::new(false);
    conductor::conduct_safety(&plan, What::PowerCuts, opened, &mut machine_of(), &never, &mut |_| {})
        .expect("it starts");
    let known: BTreeSet<String> = contents(&results).safety.into_iter().map(|measured| measured.scenario).collect();
    assert_eq!(known, of_studied);
}

#[test]
fn a_time_budget_holds_in_the_screen_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let results = folder.path().join("s.surefoot");
    let budget = format!("{ROUNDS}\ntime_budget = \"1000s\"");
    assert_eq!(run(&large(&budget), &mut machine_of(), &results).stop, Stop::TimeBudget);
    assert_eq!(counts(&contents(&results)), BTreeMap::from([(Phase::Screen, (64, 64))]), "of 10 s each");
}

/// One workload is too small for "auto" and is studied as it is.
#[test]
fn each_workload_is_screened_for_itself() {
    let text = large("screen = \"auto\"\nrounds_min = 6\nrounds_max = 6\nconfirm = 0");
    let (study, problems) = study::read(&text, &[], &Known);
    assert!(problems.is_empty(), "{problems:?}");
    let mut plan = crash::plan::plan(&study.expect("no problems")).expect("small");
    assert_eq!((plan.screens.len(), plan.unscreened.len()), (1, 0));
    plan.only(&["xfs".into()]);
    let [(workload, reason)] = &plan.unscreened[..] else { panic!("{:?}", plan.unscreened) };
    assert!(workload == "null" && reason.contains("fewer than the 64"), "{reason}");
    let folder = tempfile::tempdir().expect("a folder");
    let results = folder.path().join("s.surefoot");
    let opened = resume::open(&results, &plan, &session(&text)).expect("opens");
    let mut machine = machine_of();
    conductor::conduct(&plan, opened, &mut machine, &AtomicBool::new(false), &mut |_| {}).expect("runs");
    assert_eq!(counts(&contents(&results)), BTreeMap::from([(Phase::Main, (33, 33 * 6))]));
}

/// A few of the studies of `benches/screen.rs`, by seed.
#[test]
fn sparse_effects_are_found_and_a_hidden_pair_is_not_always() {
    let run = Run { two_level: 7, levels: 4, rounds: 3, plackett_burman: false };
    let truth = Truth { active: 3, together: false, hidden: false, largest: 0.3 };
    for together in [false, true] {
        let found = repeat(60, Truth { together, ..truth }, run);
        assert!(
            found.best_kept >= 0.95
                && found.behind < 0.01
                && found.factors <= 4.0
                && found.trials < 0.2 * found.trials_full,
            "{together}: {found:?}"
        );
    }
    let hidden = repeat(60, Truth { hidden: true, ..truth }, run);
    assert!(hidden.best_kept < 0.95, "two that do nothing alone are taken for others: {hidden:?}");
}

/// A part of the scenarios may be without the baseline, by which groups are compared.
#[test]
fn a_screen_in_groups_has_the_baseline_in_each() {
    let folder = tempfile::tempdir().expect("a folder");
    let results = folder.path().join("s.surefoot");
    let mut machine = machine_of();
    (machine.spell, machine.noise, machine.drift) = (0.3, 0.01, 0.0);
    let groups = format!("{ROUNDS}\norder = \"turns\"\nup_max = 10");
    assert_eq!(run(&large(&groups), &mut machine, &results).failed, 0);
    let contents = contents(&results);
    let mut groups: BTreeMap<(Phase, u32, u32), Vec<&str>> = BTreeMap::new();
    for trial in contents.counted_trials() {
        // New rounds of three fit into one group.
        let Some(group) = trial.group else { continue };
        groups.entry((trial.phase, trial.round, group)).or_default().push(&trial.scenario);
    }
    assert!(groups.keys().filter(|(phase, ..)| *phase == Phase::Screen).count() > 3);
    let baseline = contents.study.baseline.as_str();
    for (place, scenarios) in &groups {
        assert!(scenarios.contains(&baseline) && scenarios.len() <= 10, "{place:?}: {scenarios:?}");
    }
    let kept = names(&screened(&contents).kept);
    assert!(kept.contains(&"storage.filesystem") && kept.contains(&"a") && kept.contains(&"d"), "{kept:?}");
}
