//! Rounds that are split into groups, on the simulated bench: who is up with whom, what a resume makes of it, and what is claimed.

use crate::claimed::{RULES, grouped, share};
use crate::{contents, machine, plan, session, text};
use crash::plan::Plan;
use lab::bench::Bench as _;
use lab::conductor::{self, Stop, Summary};
use lab::groups::{self, Room, Seat};
use lab::{resume, turns};
use ledger::model::{Phase, TrialState};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use study::Order;

const FILESYSTEMS: &[&str] = &["ext4", "ext3", "ext2", "xfs", "btrfs", "f2fs"];

fn split(up_max: u32, design: &str) -> String {
    text(FILESYSTEMS, &format!("order = \"turns\"\nup_max = {up_max}\n{design}"))
}

fn round(plan: &Plan, round: u32) -> Vec<Vec<Seat>> {
    groups::of_round(plan, round, &vec![true; plan.scenarios.len()])
}

#[test]
fn each_group_has_baseline_and_control_and_pairs_meet_equally_often() {
    let mut plan = plan(&split(4, ""));
    let (baseline, control) = (0, 6);
    for seed in 0..20 {
        plan.drawn.seed = seed;
        let mut met: BTreeMap<(usize, usize), u32> = BTreeMap::new();
        for number in 0..10 {
            let groups = round(&plan, number);
            assert_eq!(groups.len(), 3, "five others, two a group");
            let positions: Vec<u32> = groups.concat().iter().map(|seat| seat.position).collect();
            assert_eq!(positions, (0..11).collect::<Vec<_>>());
            let mut others = Vec::new();
            for (number, group) in (0..).zip(&groups) {
                assert!(group.len() <= 4 && group.iter().all(|seat| seat.group == Some(number)), "{group:?}");
                let mut of_group: Vec<usize> = group.iter().map(|seat| seat.scenario).collect();
                assert!(of_group.contains(&baseline) && of_group.contains(&control));
                of_group.retain(|scenario| ![baseline, control].contains(scenario));
                of_group.sort_unstable();
                if let [a, b] = of_group[..] {
                    *met.entry((a, b)).or_default() += 1;
                }
                others.extend(of_group);
            }
            others.sort_unstable();
            assert_eq!(others, [1, 2, 3, 4, 5]);
        }
        let is_even = met.values().all(|times| (1..=3).contains(times));
        assert!(met.len() == 10 && is_even, "two of ten pairs a round: {met:?}");
    }
}

#[test]
fn groups_follow_from_the_room_there_is() {
    let image = 1_u64 << 30;
    let bytes = |images: u64| images * image * 10 / 9 + 4096;
    let room = |images: u64| Room { image_bytes: bytes(images), memory_bytes: 1 << 40, has_namespaces: true };
    // A load that is a matter of time; each image has a GiB.
    let of = |design: &str| {
        let text = text(FILESYSTEMS, design).replace("[workload.null]", "[workload.block-io]\nfdatasync_ios = 1");
        plan(&text.replace("[storage]", "[storage]\nsize = \"1GiB\""))
    };
    let plan = of("");
    let chosen = |images| turns::chosen(&plan, room(images));
    assert_eq!(chosen(7), (Order::Turns, None), "all fit");
    assert_eq!(chosen(5), (Order::Turns, Some(5)));
    assert_eq!(chosen(3), (Order::Turns, Some(3)));
    assert_eq!(chosen(2), (Order::Blocks, None));
    let reason = turns::why_not(&plan, room(2)).expect("two are no group");
    assert!(reason.contains("for image files") && reason.contains("a group needs 3 at least"), "{reason}");
    // Of two limits the closer one counts.
    let little = Room { memory_bytes: 1, ..room(7) };
    assert!(turns::why_not(&plan, little).expect("no memory").contains("of memory"));
    let bare = Room { has_namespaces: false, ..room(7) };
    assert!(turns::why_not(&plan, bare).expect("no namespaces").contains("grants no namespaces"));
    assert_eq!(turns::chosen(&of("up_max = 4"), room(5)), (Order::Turns, Some(4)));
    assert_eq!(turns::chosen(&of("up_max = 4"), room(3)), (Order::Turns, Some(3)));
    assert_eq!(
        turns::chosen(&of("up_max = 2"), room(7)).0,
        Order::Blocks,
        "two leave no room beside the baseline and the control"
    );
    assert_eq!(turns::chosen(&of("up_max = 2\ncontrol = false"), room(7)), (Order::Turns, Some(2)));
}

#[test]
fn what_leaves_its_writes_to_the_kernel_takes_no_turns_by_itself() {
    let room = Room { image_bytes: 1 << 50, memory_bytes: 1 << 50, has_namespaces: true };
    let of = |load: &str, design: &str| {
        let plan = plan(&text(FILESYSTEMS, design).replace("[workload.null]", load));
        (turns::chosen(&plan, room).0, turns::why_blocks(&plan, room))
    };
    let check = |load: &str, expected: Order| {
        let (order, reason) = of(load, "");
        assert_eq!((order, reason.is_some()), (expected, expected == Order::Blocks), "{load}: {reason:?}");
    };
    check("[workload.block-io]\nfdatasync_ios = 0", Order::Blocks);
    check("[workload.block-io]\nfdatasync_ios = 16", Order::Turns);
    check("[workload.block-io]\npattern = \"randread\"", Order::Turns);
    check("[workload.oltp]\nengine = \"sqlite\"", Order::Turns);
    check("[workload.oltp]\nengine = \"sqlite\"\nsynchronous = \"off\"", Order::Blocks);
    assert_eq!(of("[workload.block-io]", "order = \"turns\"").0, Order::Turns, "the study says so");
}

/// Of one scenario alone and of short runs `plan` said that no load can be cut into turns by time.
#[test]
fn who_could_take_turns_and_does_not_is_told_why() {
    let of =
        |design: &str, load: &str| turns::why_whole(&plan(&text(&["ext4"], design).replace("[workload.null]", load)));
    assert_eq!(of("control = false", "[workload.oltp]"), "no workload has two scenarios");
    let brief = "[workload.oltp]\ntime = \"200ms\"";
    assert_eq!(of("runs = 5", brief), "all runs of a trial together are no longer than a turn");
    assert_eq!(of("", "[workload.tree]"), "no load can be cut into turns by time");
}

/// Turns of a second, as the study says, were told of runs of half a second and of loads that have no time.
#[test]
fn turns_are_no_longer_than_a_run() {
    let of = |load: &str| {
        let plan = plan(&text(&["ext4"], "runs = 5").replace("[workload.null]", load));
        turns::turn_seconds_of(&plan, &plan.scenarios[0])
    };
    assert_eq!(of("[workload.oltp]\ntime = \"500ms\""), Some(0.5));
    assert_eq!(of("[workload.oltp]\ntime = \"20s\""), Some(1.0));
    assert_eq!(of("[workload.tree]"), None);
}

/// Who had a trial in which round and group, with its figure's bits and how often.
type Trials = BTreeMap<(String, u32, Option<u32>), (TrialState, usize)>;

fn trials(path: &Path) -> Trials {
    let contents = contents(path);
    let mut all = Trials::new();
    for trial in contents.trials.iter().filter(|trial| trial.state != TrialState::Interrupted) {
        let one = all.entry((trial.scenario.clone(), trial.round, trial.group)).or_insert((trial.state, 0));
        *one = (trial.state, one.1 + 1);
    }
    all
}

/// A session on a machine that goes on from where the last one left it.
pub fn conduct(text: &str, bench: &mut crate::simulated::Simulated, path: &Path, retry_failed: bool) -> Summary {
    let plan = plan(text);
    // Sessions follow each other by the machine's clock.
    let session = resume::Session { retry_failed, now: bench.now(), ..session(text) };
    let opened = resume::open(path, &plan, &session).expect("it opens");
    conductor::conduct(&plan, opened, bench, &AtomicBool::new(false), &mut |_| {}).expect("it starts")
}

#[test]
fn a_study_in_groups_compares_across_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let results = folder.path().join("s.surefoot");
    let mut bench = machine();
    (bench.noise, bench.spell) = (0.005, 0.3);
    bench.speeds = vec![("btrfs".into(), 800.0)];
    let summary = conduct(&split(4, "rounds_min = 6\nrounds_max = 6"), &mut bench, &results, false);
    assert_eq!(summary, Summary { stop: Stop::PrecisionReached, failed: 0 });
    let found = trials(&results);
    assert_eq!(found.len(), 6 * (5 + 2 * 3), "five others once, baseline and control in three groups");
    assert!(found.values().all(|one| *one == (TrialState::Finished, 1)));
    let contents = contents(&results);
    let rounds = contents.values(&contents.scenarios[0].primary_metric);
    let column = |word: &str| contents.scenarios.iter().position(|one| one.label.contains(word)).expect("a scenario");
    // Groups strayed by 30 %; what is left is what the trials strayed, and those that their group is held against.
    for (a, b, ratio) in [("xfs", "ext3", 1.0), ("btrfs", "ext2", 0.8), ("f2fs", "ext4", 1.0)] {
        for row in &rounds {
            let found = row[column(a)].expect("a figure") / row[column(b)].expect("a figure");
            assert!((found / ratio - 1.0).abs() < 0.05, "{a} over {b}: {found}");
        }
    }
    let view = analysis::view::View::of(&contents, &analysis::details::Details::default(), workloads::is_choice);
    let verdicts = view.parts[0].judgement.claims.iter().filter(|claim| claim.names_one("btrfs"));
    assert!(verdicts.clone().count() > 0);
    verdicts.for_each(|claim| assert!(claim.verdict.is_some_and(|verdict| verdict.is_claim()), "{claim:?}"));
}

/// Each trial lasts as long as its group, and a round as long as its groups.
#[test]
fn what_more_rounds_take_is_the_time_of_the_groups() {
    let folder = tempfile::tempdir().expect("a folder");
    let results = folder.path().join("s.surefoot");
    let mut bench = machine();
    bench.trial_seconds = 10.0;
    conduct(&split(4, "rounds_min = 2\nrounds_max = 2"), &mut bench, &results, false);
    let contents = contents(&results);
    let view = analysis::view::View::of(&contents, &analysis::details::Details::default(), workloads::is_choice);
    let more = view.parts[0].more_rounds(&contents).expect("two rounds claim nothing");
    let seconds = (more.rounds - 2) as f64 * 110.0;
    assert!(more.rounds > 2 && (more.seconds.expect("trials ended") - seconds).abs() < 1e-3, "{more:?}");
}

#[test]
fn an_interrupted_group_goes_on_where_it_was() {
    let text = split(4, "rounds_min = 3\nrounds_max = 3\nseed = 5");
    let folder = tempfile::tempdir().expect("a folder");
    let whole = folder.path().join("whole.surefoot");
    let mut bench = machine();
    conduct(&text, &mut bench, &whole, false);
    let metric = contents(&whole).scenarios[0].primary_metric.clone();
    let values = |path: &Path| contents(path).values(&metric);
    for cut in 1..bench.trials() {
        let path = folder.path().join(format!("{cut}.surefoot"));
        let mut bench = machine();
        bench.interrupt_after = Some(cut);
        assert_eq!(conduct(&text, &mut bench, &path, false).stop, Stop::Interrupted, "{cut}");
        bench.interrupt_after = None;
        assert_eq!(conduct(&text, &mut bench, &path, false).stop, Stop::RoundsMax, "{cut}");
        assert_eq!((trials(&path), values(&path)), (trials(&whole), values(&whole)), "{cut}");
    }
}

/// Those of a group that had come to their end would be compared with others of another day.
#[test]
fn an_interrupted_group_is_measured_anew_as_a_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    for (up_max, cuts) in [(4, 1..24), (8, 1..16)] {
        let text = split(up_max, "rounds_min = 2\nrounds_max = 2\nseed = 5");
        for cut in cuts {
            let path = folder.path().join(format!("{up_max}-{cut}.surefoot"));
            let mut bench = machine();
            bench.failures = 0.2;
            bench.interrupt_after = Some(cut);
            if conduct(&text, &mut bench, &path, false).stop != Stop::Interrupted {
                continue;
            }
            let mut groups: BTreeMap<(u32, Option<u32>), BTreeSet<bool>> = BTreeMap::new();
            for trial in contents(&path).trials {
                groups.entry((trial.round, trial.group)).or_default().insert(trial.state == TrialState::Interrupted);
            }
            assert!(groups.values().all(|states| states.len() == 1), "{up_max} {cut}: {groups:?}");
            bench.interrupt_after = None;
            conduct(&text, &mut bench, &path, false);
            let contents = contents(&path);
            let second = contents.sessions[1].started;
            let mut sessions: BTreeMap<(u32, Option<u32>), BTreeSet<bool>> = BTreeMap::new();
            for trial in contents.counted_trials() {
                sessions.entry((trial.round, trial.group)).or_default().insert(trial.started >= second);
            }
            assert!(sessions.values().all(|sessions| sessions.len() == 1), "{up_max} {cut}: {sessions:?}");
        }
    }
}

#[test]
fn what_failed_is_a_hole_in_its_group_and_can_be_done_again() {
    let text = split(4, "rounds_min = 6\nrounds_max = 6\nseed = 3");
    let folder = tempfile::tempdir().expect("a folder");
    for seed in 0..10 {
        let path = folder.path().join(format!("{seed}.surefoot"));
        let mut bench = machine();
        (bench.seed, bench.failures, bench.spell) = (seed, 0.2, 0.1);
        let failed = conduct(&text, &mut bench, &path, false).failed;
        assert!(failed > 0);
        let of_round = |round: u32| {
            let contents = contents(&path);
            let row = contents.values(&contents.scenarios[0].primary_metric).remove(round as usize);
            let column =
                |label: &str| contents.scenarios.iter().position(|one| one.label == label).expect("a scenario");
            let known = contents.trial_values(Phase::Main, &contents.scenarios[0].primary_metric);
            let known = known.into_iter().filter(|(trial, _)| trial.round == round);
            // Whoever has a figure in a group whose baseline or control has one, too, has one in the round. Their own difference is known
            // where a group has both.
            let groups = |label: &str| -> BTreeSet<Option<u32>> {
                known.clone().filter(|(trial, _)| trial.scenario == label).map(|(trial, _)| trial.group).collect()
            };
            let (baseline, control) = (groups("ext4"), groups("ext4 (control)"));
            let never_met = !baseline.is_empty() && baseline.is_disjoint(&control);
            for (trial, _) in known.clone() {
                let is_shared = baseline.contains(&trial.group) || control.contains(&trial.group);
                let is_comparable = (is_shared || baseline.is_empty() && control.is_empty())
                    && !(never_met && trial.scenario == "ext4 (control)");
                assert_eq!(
                    row[column(&trial.scenario)].is_some(),
                    is_comparable,
                    "{} in round {round}",
                    trial.scenario
                );
            }
        };
        (0..6).for_each(of_round);
        bench.failures = 0.0;
        assert_eq!(conduct(&text, &mut bench, &path, true).failed, 0);
        let finished = trials(&path).values().filter(|one| one.0 == TrialState::Finished).count();
        assert_eq!(finished, 6 * 11, "seed {seed}");
        // What is compared within a round was measured in one session.
        let contents = contents(&path);
        let second = contents.sessions[1].started;
        for round in 0..6 {
            let of_round = contents.counted_trials().into_iter().filter(|trial| trial.round == round);
            let sessions: BTreeSet<bool> = of_round.map(|trial| trial.started >= second).collect();
            assert_eq!(sessions.len(), 1, "seed {seed}, round {round}");
        }
    }
}

#[test]
fn a_study_goes_on_in_the_groups_it_began_with() {
    let folder = tempfile::tempdir().expect("a folder");
    let results = folder.path().join("s.surefoot");
    let text = text(FILESYSTEMS, "order = \"turns\"");
    let mut plan = plan(&text);
    plan.drawn.up_max = Some(4);
    plan.drawn = resume::drawn(&results, &plan, 9).expect("readable");
    drop(resume::open(&results, &plan, &session(&text)).expect("it opens"));
    // Later there is more room, or less.
    for room in [None, Some(3)] {
        plan.drawn.up_max = room;
        let drawn = resume::drawn(&results, &plan, 10).expect("readable");
        assert_eq!((drawn.seed, drawn.up_max), (9, Some(4)));
    }
}

const STUDIES: u32 = 300;

/// With 5 % and two standard errors of 300 studies.
#[test]
fn equals_in_groups_are_called_different_no_more_often_than_is_said() {
    let is_false = |seed: u64| {
        let study = grouped(seed, 6, 4, &ledger::groups::adjusted);
        stats::analyse(&study, &RULES).claims.iter().any(|claim| claim.verdict.is_claim())
    };
    let found = share(STUDIES, is_false);
    assert!(found <= 0.05 + 0.0252, "{found}");
}

#[test]
fn what_the_groups_share_makes_differences_across_them_steadier() {
    let strays = |adjust: &dyn Fn(&[ledger::groups::Figure]) -> BTreeMap<usize, f64>| {
        let difference = |seed: u64| {
            let study = grouped(seed, 6, 4, adjust);
            let all = study.differences(&study.pair(1, 2));
            all.iter().sum::<f64>() / all.len() as f64
        };
        ((0..u64::from(STUDIES)).map(|seed| difference(seed).powi(2)).sum::<f64>() / f64::from(STUDIES)).sqrt()
    };
    let (adjusted, plain) = (strays(&ledger::groups::adjusted), strays(&ledger::groups::plain));
    println!(
        "a difference strays by {:.2} %, and by {:.2} % where nothing is taken off",
        adjusted * 100.0,
        plain * 100.0
    );
    assert!(adjusted < 0.75 * plain, "{adjusted} {plain}");
}
