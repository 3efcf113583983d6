//! A load that stalls: its zero is a value for the conductor as it is for the report.

use crate::{contents, machine, plan, session, text};
use lab::conductor::{self, Event, Stop};
use lab::resume;
use ledger::model::Phase;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Runs a study; what the conductor knew at each round's end, and what the stop rule said.
fn conducted(
    text: &str,
    bench: &mut crate::simulated::Simulated,
    results: &Path,
) -> (Stop, Vec<Vec<Option<f64>>>, String) {
    let plan = plan(text);
    let opened = resume::open(results, &plan, &session(text)).expect("the results file opens");
    let (mut rounds, mut said) = (Vec::new(), String::new());
    let summary = conductor::conduct(&plan, opened, bench, &AtomicBool::new(false), &mut |event| {
        if let Event::RoundEnded { values, decision, .. } = event {
            rounds.clone_from(&values.rounds);
            said = decision;
        }
    });
    (summary.expect("a simulated machine starts").stop, rounds, said)
}

#[test]
fn the_conductor_and_the_report_have_one_figure_and_a_stall_is_no_precision() {
    let folder = tempfile::tempdir().expect("a folder");
    let results = folder.path().join("s.surefoot");
    let text = text(&["ext4", "xfs"], "rounds_min = 6\nrounds_max = 9\nruns = 2");
    let mut machine = machine();
    (machine.noise, machine.stalls) = (0.001, ("xfs".into(), 0.5));
    let (stop, known, said) = conducted(&text, &mut machine, &results);
    let contents = contents(&results);
    let recorded = contents.values(&contents.scenarios[0].primary_metric);
    assert_eq!(known, recorded, "what the stop rule saw is what the report shows");
    let stalled = recorded.iter().flatten().filter(|value| **value == Some(0.0)).count();
    assert!(0 < stalled && stalled < recorded.len(), "one run of two was 0 in some trials: {recorded:?}");
    assert!(recorded.iter().flatten().all(Option::is_some), "none is a hole");
    assert_eq!(stop, Stop::RoundsMax, "a difference to 0 has no width");
    assert!(said.contains("xfs stalled in a trial"), "{said}");
    // Another session walks through the same rounds by the file alone.
    let (stop, again, _) = conducted(&text, &mut machine.clone(), &results);
    assert_eq!((stop, again), (Stop::RoundsMax, recorded));
}

#[test]
fn who_stalls_is_neither_picked_nor_dropped_where_only_the_best_is_asked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let results = folder.path().join("s.surefoot");
    let text = text(&["ext4", "xfs", "btrfs"], "rounds_min = 4\nrounds_max = 8\nmode = \"tune\"");
    let mut machine = machine();
    (machine.noise, machine.stalls) = (0.01, ("xfs".into(), 0.5));
    machine.speeds = vec![("xfs".into(), 3000.0), ("btrfs".into(), 1200.0)];
    conducted(&text, &mut machine, &results);
    let contents = contents(&results);
    let finalists = contents.finalists().next().expect("decided");
    assert!(finalists.pick.contains("btrfs"), "three times as fast, but it stalls: {finalists:?}");
    assert!(contents.worse().all(|worse| !worse.scenario.contains("xfs") && !worse.than.contains("xfs")));
    let of_xfs = contents
        .counted_trials()
        .iter()
        .filter(|trial| trial.scenario.contains("xfs") && trial.phase == Phase::Main)
        .count();
    assert_eq!(of_xfs, 8, "measured to the end");
}
