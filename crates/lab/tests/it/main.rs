//! Whole studies on the simulated bench: order, stop rule, faults and resumes, in milliseconds; and real servers that go down by force.

mod claimed;
mod claims;
mod estimates;
mod groups;
mod members;
mod power_cuts;
mod probe;
mod repetitions;
mod screened;
mod screening;
mod simulated;
mod stalls;
mod tune;
mod vectors;

use crash::plan::Plan;
use lab::bench::Bench as _;
use lab::conductor::{self, Event, Stop, Summary};
use lab::resume::{self, Session};
use ledger::model::{Asked, Contents, TrialState};
use observe::record::Record;
use proptest::prelude::*;
use serde_json::{Map, Value};
use simulated::Simulated;
use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use study::Catalogue;

struct Known;

impl Catalogue for Known {
    fn storage(&self) -> &'static [settings::Setting] {
        storage::settings()
    }
    fn storage_problems(&self, storage: &Map<String, Value>) -> Vec<(String, String)> {
        storage::problems(storage)
    }
    fn workloads(&self) -> Vec<&'static str> {
        workloads::kinds().iter().map(|kind| kind.name).collect()
    }
    fn workload(&self, name: &str) -> Option<&'static [settings::Setting]> {
        workloads::kind(name).map(|kind| kind.settings)
    }
    fn workload_problems(&self, name: &str, parameters: &Map<String, Value>) -> Vec<String> {
        workloads::settings(name, parameters).map_or_else(Vec::new, |load| load.problems())
    }
    fn workload_metrics(&self, name: &str, parameters: &Map<String, Value>) -> Vec<String> {
        let metrics = workloads::settings(name, parameters).map_or_else(Vec::new, |load| load.metrics());
        metrics.into_iter().map(|metric| metric.name.into_owned()).collect()
    }
}

fn text(filesystems: &[&str], design: &str) -> String {
    format!(
        "name = \"s\"\nquestion = \"?\"\n[factors]\n\"storage.filesystem\" = {filesystems:?}\n[storage]\n[workload.null]\n[design]\n{design}\n"
    )
}

fn plan(text: &str) -> Plan {
    let (study, problems) = study::read(text, &[], &Known);
    assert!(problems.is_empty(), "{problems:?}");
    crash::plan::plan(&study.expect("no problems")).expect("small")
}

fn machine() -> Simulated {
    Simulated::new(
        7,
        &lab::values::primary_metric("null", &settings::defaults(workloads::kind("null").expect("null").settings)),
    )
}

fn session(text: &str) -> Session<'_> {
    Session {
        member: None,
        text,
        asked: Asked::default(),
        version: "0.0.0",
        machine: BTreeMap::from([("cpu".into(), "simulated".into())]),
        accept_changes: false,
        retry_failed: false,
        noise: None,
        // After all that a simulated machine does, whose clock begins anew with each.
        now: 2e9,
    }
}

/// Runs a study to its end, or until the machine says stop.
fn run(text: &str, bench: &mut Simulated, results: &Path) -> Summary {
    let plan = plan(text);
    let opened = resume::open(results, &plan, &session(text)).expect("the results file opens");
    conductor::conduct(&plan, opened, bench, &AtomicBool::new(false), &mut |_| {}).expect("a simulated machine starts")
}

fn contents(results: &Path) -> Contents {
    ledger::Reader::open(results).expect("a ledger").contents().expect("readable")
}

/// (scenario, round) of finished trials that count, and their values.
fn finished(results: &Path) -> BTreeMap<(String, u32), f64> {
    let contents = contents(results);
    let metric = contents.scenarios[0].primary_metric.clone();
    let values = contents.values(&metric);
    let mut all = BTreeMap::new();
    for (round, row) in values.iter().enumerate() {
        for (column, value) in row.iter().enumerate() {
            all.extend(value.map(|value| ((contents.scenarios[column].label.clone(), round as u32), value)));
        }
    }
    all
}

#[test]
fn every_scenario_once_a_round_until_the_rounds_are_done() {
    let folder = tempfile::tempdir().expect("a folder");
    let results = folder.path().join("s.surefoot");
    let text = text(&["ext4", "xfs"], "rounds_min = 4\nrounds_max = 4");
    let mut noisy = machine();
    noisy.noise = 0.3;
    let summary = run(&text, &mut noisy, &results);
    assert_eq!(summary, Summary { stop: Stop::RoundsMax, failed: 0 });
    assert_eq!(finished(&results).len(), 3 * 4, "two filesystems and the control");
}

/// (round, scenarios by position) of the trials of a results file.
fn orders(results: &Path) -> BTreeMap<u32, Vec<String>> {
    let mut trials = contents(results).trials;
    trials.sort_by_key(|trial| (trial.round, trial.position));
    let mut orders: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    trials.into_iter().for_each(|trial| orders.entry(trial.round).or_default().push(trial.scenario));
    orders
}

#[test]
fn a_study_keeps_what_was_drawn_for_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let results = folder.path().join("s.surefoot");
    let text = text(&["ext4", "xfs"], "rounds_min = 3\nrounds_max = 3");
    let drawn = |plan: &Plan, new| resume::drawn(&results, plan, new).expect("readable");
    let mut plan = plan(&text);
    plan.drawn = drawn(&plan, 99);
    assert_eq!(
        plan.drawn,
        study::Drawn {
            seed: 99,
            is_balanced: true,
            order: study::Order::Blocks,
            up_max: None,
            turns: None,
            rounds_before: 0
        }
    );
    drop(resume::open(&results, &plan, &session(&text)).expect("it opens"));
    assert_eq!(drawn(&plan, 100), plan.drawn, "the same when it goes on");
    plan.drawn.turns = Some(study::ChosenTurns { turn_milliseconds: 750, turns: None, rounds: 8 });
    assert_eq!(drawn(&plan, 100).turns, None, "what a later session would choose is of no account");
    plan.design.seed = Some(5);
    plan.drawn = drawn(&plan, 100);
    let refused = resume::open(&results, &plan, &session(&text)).err();
    assert!(matches!(refused, Some(resume::Error::OtherStudy { .. })), "another seed is another study");
}

#[test]
fn a_study_of_before_goes_on_in_shuffled_orders() {
    let folder = tempfile::tempdir().expect("a folder");
    let (new, old) = (folder.path().join("new.surefoot"), folder.path().join("old.surefoot"));
    let text = text(&["ext4", "xfs", "btrfs"], "rounds_min = 4\nrounds_max = 4");
    run(&text, &mut machine(), &new);
    let mut begun = contents(&new);
    (begun.study.balanced_orders, begun.study.seed) = (false, 1);
    let mut writer = ledger::Writer::create_or_open(&old).expect("a new file");
    writer.set_study(&begun.study, &begun.scenarios, None).expect("written");
    drop(writer);
    let mut plan = plan(&text);
    plan.drawn = resume::drawn(&old, &plan, 99).expect("readable");
    let opened = resume::open(&old, &plan, &session(&text)).expect("it goes on");
    let mut bench = machine();
    conductor::conduct(&plan, opened, &mut bench, &AtomicBool::new(false), &mut |_| {}).expect("it starts");
    // SplitMix64(1 + round), and Fisher and Yates from the end: by a few lines of Python.
    let shuffled = [[2, 0, 3, 1], [0, 1, 3, 2], [2, 3, 0, 1], [0, 3, 1, 2]]
        .map(|order: [usize; 4]| order.map(|index| begun.scenarios[index].label.clone()).to_vec());
    assert_eq!(orders(&old).into_values().collect::<Vec<_>>(), shuffled);
    assert_ne!(orders(&new), orders(&old));
}

#[test]
fn it_stops_when_the_widths_are_small_and_never_before_the_least_rounds() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = text(&["ext4", "xfs"], "rounds_min = 6\nrounds_max = 20");
    let mut quiet = machine();
    quiet.noise = 0.002;
    let summary = run(&text, &mut quiet, &folder.path().join("quiet.surefoot"));
    assert_eq!((summary.stop, quiet.trials()), (Stop::PrecisionReached, 6 * 3));
    let mut noisy = machine();
    noisy.noise = 0.3;
    let summary = run(&text, &mut noisy, &folder.path().join("noisy.surefoot"));
    assert_eq!((summary.stop, noisy.trials()), (Stop::RoundsMax, 20 * 3));
}

#[test]
fn a_time_budget_ends_before_the_round_that_would_not_fit() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = text(&["ext4", "xfs"], "rounds_min = 2\nrounds_max = 20\ntime_budget = \"100s\"");
    let mut machine = machine();
    machine.noise = 0.3;
    // Three trials of ten seconds a round: the fourth round would end after 120 seconds.
    let summary = run(&text, &mut machine, &folder.path().join("s.surefoot"));
    assert_eq!((summary.stop, machine.trials()), (Stop::TimeBudget, 9));
}

#[test]
fn failures_are_holes_and_a_scenario_that_always_fails_is_given_up() {
    let folder = tempfile::tempdir().expect("a folder");
    let results = folder.path().join("s.surefoot");
    let text = text(&["ext4", "xfs"], "rounds_min = 6\nrounds_max = 6");
    let mut broken = machine();
    broken.failures = 1.0;
    let summary = run(&text, &mut broken, &results);
    assert_eq!(summary, Summary { stop: Stop::NothingLeft, failed: 6 });
    // Filled on request.
    let plan = plan(&text);
    let mut again = session(&text);
    again.retry_failed = true;
    let opened = resume::open(&results, &plan, &again).expect("it opens");
    let summary = conductor::conduct(&plan, opened, &mut machine(), &AtomicBool::new(false), &mut |_| {});
    assert_eq!(summary.expect("it runs").failed, 0);
    assert_eq!(finished(&results).len(), 18);
}

#[test]
fn another_study_or_machine_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let results = folder.path().join("s.surefoot");
    let first = text(&["ext4"], "rounds_min = 1\nrounds_max = 1");
    run(&first, &mut machine(), &results);
    let other = text(&["xfs"], "rounds_min = 1\nrounds_max = 1");
    let refused = resume::open(&results, &plan(&other), &session(&other)).err().expect("refused");
    assert!(matches!(refused, resume::Error::OtherStudy { .. }), "{refused}");
    // More rounds of the same study are the same study.
    let more = text(&["ext4"], "rounds_min = 2\nrounds_max = 2");
    run(&more, &mut machine(), &results);
    assert_eq!(finished(&results).len(), 4);
    let mut moved = session(&more);
    let mut facts = observe::machine::facts(&[]);
    facts.insert("kernel".into(), "of another day".into());
    moved.machine = facts;
    // The simulated machine's facts have no kernel: whatever is identity there must differ here.
    let refused = resume::open(&results, &plan(&more), &moved).err();
    assert!(matches!(refused, Some(resume::Error::OtherMachine(_))), "another machine is refused");
    moved.accept_changes = true;
    resume::open(&results, &plan(&more), &moved).expect("accepted");
    let mut newer = session(&more);
    newer.version = "of another day";
    let refused = resume::open(&results, &plan(&more), &newer).err().expect("refused");
    assert!(refused.to_string().contains("now of another day"), "{refused}");
}

/// A study that was run again with another limit had been answered by the one that it began with.
#[test]
fn what_is_asked_of_figures_is_as_the_last_session_has_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let results = folder.path().join("s.surefoot");
    let first = text(&["ext4", "xfs"], "rounds_min = 2\nrounds_max = 2");
    let limited = |text: &str, at_most: u32| {
        let limit = "[[limit]]\nworkload = \"null\"\nmetric = \"turns_per_second\"";
        format!("{text}{limit}\nat_most = {at_most}\n").replace("\"?\"", "\"Fast enough?\"")
    };
    run(&first, &mut machine(), &results);
    for at_most in [100, 50] {
        let mut idle = machine();
        let asked = limited(&first, at_most);
        run(&asked, &mut idle, &results);
        let study = contents(&results).study;
        assert_eq!((idle.trials(), study.limits.len(), study.limits[0].value), (0, 1, f64::from(at_most)));
        assert_eq!((&*study.question, study.text), ("Fast enough?", asked));
    }
    run(&first, &mut machine(), &results);
    assert!(contents(&results).study.limits.is_empty());
    assert_eq!(finished(&results).len(), 6, "nothing is measured anew");
}

/// The memory that the load itself takes is asked of the machine that drives it, which an agent's is.
#[test]
fn a_load_that_an_agent_drives_lacks_nothing_here() {
    let large = "[workload.key-value]\nengine = \"sqlite\"\nfields = 64\nrecords = 1000000000";
    let text = |client: &str| text(&["ext4"], "").replace("[workload.null]", large).replace("[factors]", client);
    let lacks = |client: &str| {
        let missing = lab::requirements::missing(&plan(&text(client)));
        missing.iter().any(|(_, what)| what.contains("the load itself needs 512.0 GB"))
    };
    let here = plan(&text("[factors]"));
    let load = workloads::settings("key-value", &here.scenarios[0].parameters).expect("a kind");
    assert_eq!(lacks("[factors]"), !load.missing_for_load().is_empty());
    assert!(!lacks("client = \"192.0.2.7:7077\"\n[factors]"));
}

#[test]
fn a_clock_that_was_set_back_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let results = folder.path().join("s.surefoot");
    let text = text(&["ext4", "xfs"], "rounds_min = 1\nrounds_max = 1");
    let (plan, mut machine) = (plan(&text), machine());
    let at = |now: f64| resume::open(&results, &plan, &Session { now, ..session(&text) });
    let opened = at(machine.now()).expect("a new file");
    conductor::conduct(&plan, opened, &mut machine, &AtomicBool::new(false), &mut |_| {}).expect("it runs");
    let refused = at(machine.now() - 60.0).err().expect("refused").to_string();
    assert!(refused.contains("clock is 1min behind the last moment in"), "{refused}");
    at(machine.now() - 0.5).expect("a clock is put right by so much");
    at(machine.now()).expect("time goes on");
}

#[test]
fn an_interrupted_trial_is_done_again_and_the_watcher_sees_every_record() {
    let folder = tempfile::tempdir().expect("a folder");
    let results = folder.path().join("s.surefoot");
    let text = text(&["ext4", "xfs"], "rounds_min = 2\nrounds_max = 2");
    let mut machine = machine();
    machine.interrupt_after = Some(4);
    assert_eq!(run(&text, &mut machine, &results).stop, Stop::Interrupted);
    assert_eq!(finished(&results).len(), 4);
    assert!(contents(&results).trials.iter().any(|trial| trial.state == TrialState::Interrupted));
    machine.interrupt_after = None;
    let plan = plan(&text);
    let opened = resume::open(&results, &plan, &session(&text)).expect("it opens");
    let mut runs = 0;
    conductor::conduct(&plan, opened, &mut machine, &AtomicBool::new(false), &mut |event| {
        runs += usize::from(matches!(event, Event::Record(Record::Run(_))));
    })
    .expect("it runs");
    assert_eq!(finished(&results).len(), 6);
    assert_eq!(runs, 2 * (plan.design.runs + plan.design.warm_up_runs) as usize);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// However often a study is interrupted, it ends with the same trials, and as a study that never was.
    #[test]
    fn interruptions_change_nothing(cuts in prop::collection::vec(1_u32..5, 0..6), seed in 0_u64..1000) {
        let folder = tempfile::tempdir().expect("a folder");
        let text = text(&["ext4", "xfs", "btrfs"], "rounds_min = 3\nrounds_max = 3");
        let mut machine = machine();
        machine.seed = seed;
        machine.failures = 0.1;
        let whole = folder.path().join("whole.surefoot");
        run(&text, &mut machine.clone(), &whole);
        let cut = folder.path().join("cut.surefoot");
        for trials in cuts {
            machine.interrupt_after = Some(machine.trials() + trials);
            run(&text, &mut machine, &cut);
        }
        machine.interrupt_after = None;
        run(&text, &mut machine, &cut);
        prop_assert_eq!(finished(&whole), finished(&cut));
        let order: HashSet<(String, u32)> = contents(&cut).trials.iter().map(|t| (t.scenario.clone(), t.round)).collect();
        prop_assert!(order.len() <= 12);
    }
}
