//! Power cuts and failing disks of a scenario that failed: measured again on request, and never called known.

use crate::simulated::Simulated;
use crate::{contents, machine, plan, session, text};
use crash::plan::TrialSpec;
use lab::bench::{Bench, End, Error};
use lab::conductor::{self, Stop, What};
use lab::resume;
use ledger::model::Phase;
use observe::faults::{Consequence, Example, FaultsFound};
use observe::record::{Failure, Record};
use observe::safety::Grade;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

#[path = "../../../report/tests/it/found.rs"]
mod found;

/// A machine whose power-cut trials are killed, or find this.
struct Cuts {
    machine: Simulated,
    found: Option<Record>,
    trials: u32,
}

impl Bench for Cuts {
    fn run(&mut self, _: &TrialSpec, _: &AtomicBool, sink: &mut dyn FnMut(Record)) -> Result<End, Error> {
        self.trials += 1;
        let Some(found) = self.found.clone() else {
            return Ok(End::Failed(Failure {
                step: "trial".into(),
                causes: vec!["killed".into()],
                log: String::new(),
            }));
        };
        sink(found);
        Ok(End::Finished)
    }

    fn now(&self) -> f64 {
        self.machine.now()
    }

    fn machine(&self) -> BTreeMap<String, String> {
        self.machine.machine()
    }
}

/// Why it stopped, and how many trials it asked for.
fn measured(results: &Path, found: (What, Option<Record>), retry_failed: bool) -> (Stop, u32) {
    measured_with(results, ("", ""), found, retry_failed)
}

/// The same with these settings of `[storage]` and of `[safety]`.
fn measured_with(
    results: &Path,
    (storage, safety): (&str, &str),
    (what, found): (What, Option<Record>),
    retry_failed: bool,
) -> (Stop, u32) {
    let text = format!(
        "name = \"s\"\nquestion = \"?\"\n[factors]\n\"storage.filesystem\" = [\"ext4\", \"xfs\"]\n[storage]\n{storage}\
         [workload.oltp]\nengine = \"sqlite\"\n[safety]\n{safety}"
    );
    let text = text.as_str();
    let plan = plan(text);
    let opened = resume::open(results, &plan, &resume::Session { retry_failed, ..session(text) }).expect("it opens");
    let mut bench = Cuts { machine: machine(), found, trials: 0 };
    let never = AtomicBool::new(false);
    let summary = conductor::conduct_safety(&plan, what, opened, &mut bench, &never, &mut |_| {}).expect("it starts");
    (summary.stop, bench.trials)
}

#[test]
fn a_killed_trial_is_a_hole_until_it_is_measured_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let results = folder.path().join("s.surefoot");
    let killed = || (What::PowerCuts, None);
    let found = || (What::PowerCuts, Some(Record::Safety(Box::new(found::found(Grade::A)))));
    assert_eq!(measured(&results, killed(), false), (Stop::SafetyHoles, 2));
    assert_eq!(measured(&results, found(), false), (Stop::SafetyHoles, 0), "nobody asked to do it again");
    assert_eq!(measured(&results, found(), true), (Stop::SafetyKnown, 2));
    assert_eq!(measured(&results, killed(), true), (Stop::SafetyKnown, 0), "what is known is not measured again");
}

/// Before `cache` could be left out it was "volatile" where nothing was said.
#[test]
fn what_was_measured_with_the_cache_that_is_meant_is_not_measured_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let results = |name: &str| folder.path().join(name);
    let found = || (What::PowerCuts, Some(Record::Safety(Box::new(found::found(Grade::A)))));
    let trials = |results: &Path, storage: &str, safety: &str| {
        let (stop, trials) = measured_with(results, (storage, safety), found(), false);
        assert_eq!(stop, Stop::SafetyKnown);
        trials
    };
    let image = results("image.surefoot");
    assert_eq!(trials(&image, "", "cache = \"volatile\"\n"), 2);
    assert_eq!(trials(&image, "", ""), 0);
    assert_eq!(trials(&image, "", "cache = \"lying\"\n"), 2);
    assert_eq!(
        trials(&image, "", "cache = \"lying\"\nclasses = [\"A\"]\n"),
        0,
        "what may be picked is asked of the same images"
    );
    let (disk, own) = (results("virtual.surefoot"), "device = \"virtual\"\ncache = \"write-through\"\n");
    assert_eq!(trials(&disk, own, "cache = \"volatile\"\n"), 2);
    assert_eq!(trials(&disk, own, ""), 2, "it has its own cache");
    assert_eq!(trials(&disk, own, "cache = \"write-through\"\n"), 0);
}

/// A machine whose user presses Ctrl-C as soon as a power-cut trial begins.
struct Impatient(Simulated);

impl Bench for Impatient {
    fn run(&mut self, spec: &TrialSpec, stop: &AtomicBool, sink: &mut dyn FnMut(Record)) -> Result<End, Error> {
        if spec.cut.is_none() {
            return self.0.run(spec, stop, sink);
        }
        stop.store(true, Ordering::Relaxed);
        Ok(End::Interrupted)
    }

    fn run_by_turns(
        &mut self,
        specs: &[TrialSpec],
        order: &[usize],
        stop: &AtomicBool,
        sink: &mut dyn FnMut(usize, Record),
    ) -> Result<Vec<End>, Error> {
        self.0.run_by_turns(specs, order, stop, sink)
    }

    fn now(&self) -> f64 {
        self.0.now()
    }

    fn machine(&self) -> BTreeMap<String, String> {
        self.0.machine()
    }
}

/// Nobody broke off rounds at a difference who breaks off what follows them.
#[test]
fn who_breaks_off_power_cuts_has_the_whole_answer_of_the_rounds() {
    let design = "rounds_min = 6\nrounds_max = 6\n[safety]\nload = \"files\"";
    let text = text(&["ext4", "xfs"], design);
    let answered = |interrupt_after: Option<u32>| {
        let folder = tempfile::tempdir().expect("a folder");
        let results = folder.path().join("s.surefoot");
        let plan = plan(&text);
        let mut bench = Impatient(machine());
        let begun = resume::Session { now: bench.now(), ..session(&text) };
        let opened = resume::open(&results, &plan, &begun).expect("it opens");
        bench.0.interrupt_after = interrupt_after;
        let ended = conductor::conduct(&plan, opened, &mut bench, &AtomicBool::new(false), &mut |_| {});
        assert_eq!(ended.expect("it starts").stop, Stop::Interrupted);
        let contents = contents(&results);
        assert!(contents.safety.is_empty() && !contents.sessions[0].came_to_an_end());
        analysis::looks::Answer::of(&contents, Phase::Main).share
    };
    assert_eq!(answered(None), 1.0);
    assert!(answered(Some(15)) < 1.0, "amid the sixth round");
}

/// A machine whose trials of power cuts find this and are ended, and whose guest kernel dies of the second case of a failing disk.
struct Dying(Simulated, Grade);

impl Bench for Dying {
    fn run(&mut self, spec: &TrialSpec, _: &AtomicBool, sink: &mut dyn FnMut(Record)) -> Result<End, Error> {
        if spec.faults.is_none() {
            sink(Record::Safety(Box::new(found::found(self.1))));
            let causes = vec!["the trial did not end within 15 min".into()];
            return Ok(End::Failed(Failure { step: "trial".into(), causes, log: String::new() }));
        }
        let mut found = FaultsFound::default();
        let (case, words) = ("full@1/go-on".into(), String::new());
        let (client, server, kernel) = (Vec::new(), Vec::new(), Vec::new());
        let example = Example { case, words, client, server, kernel };
        found.add(["full", "WAL", "go-on"], Consequence::Told, || example);
        sink(Record::Faults(Box::new(found)));
        sink(Record::Recovering { image: "write-error@3/restart".into() });
        let causes = vec!["the guest kernel panicked: EXT4-fs: panic forced".into(), "ended by signal 6".into()];
        Ok(End::Failed(Failure { step: "trial".into(), causes, log: String::new() }))
    }

    fn now(&self) -> f64 {
        self.0.now()
    }

    fn machine(&self) -> BTreeMap<String, String> {
        self.0.machine()
    }
}

#[test]
fn damage_stands_whatever_ended_its_trial_and_a_loss_may_be_more() {
    for (grade, stop) in [(Grade::F, Stop::SafetyKnown), (Grade::C, Stop::SafetyKnown), (Grade::B, Stop::SafetyHoles)] {
        let folder = tempfile::tempdir().expect("a folder");
        let results = folder.path().join("s.surefoot");
        let text = text(&["ext4", "xfs"], "[safety]\nload = \"files\"");
        let plan = plan(&text);
        let opened = resume::open(&results, &plan, &session(&text)).expect("it opens");
        let (never, mut bench) = (AtomicBool::new(false), Dying(machine(), grade));
        let ended = conductor::conduct_safety(&plan, What::PowerCuts, opened, &mut bench, &never, &mut |_| {});
        assert_eq!(ended.expect("it starts").stop, stop);
        let all = contents(&results).safety;
        assert_eq!(all.len(), 2);
        for kept in all {
            assert_eq!(kept.safety.is_some(), grade > Grade::B, "{:?}", kept.failure);
            assert!(kept.safety.is_none_or(|found| {
                let is_known = grade == Grade::F || found.held_to() == Grade::D;
                is_known && found.notes[0].contains("did not end within 15 min")
            }));
        }
    }
}

#[test]
fn a_guest_that_dies_of_a_failing_disk_leaves_what_was_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let results = folder.path().join("s.surefoot");
    let text = text(&["ext4", "xfs"], "[safety]\nload = \"files\"");
    let plan = plan(&text);
    let opened = resume::open(&results, &plan, &session(&text)).expect("it opens");
    let (never, mut bench) = (AtomicBool::new(false), Dying(machine(), Grade::A));
    let ended = conductor::conduct_safety(&plan, What::Faults, opened, &mut bench, &never, &mut |_| {});
    assert_eq!(ended.expect("it starts").stop, Stop::FaultsHoles);
    let all = contents(&results).faults;
    assert_eq!(all.len(), 2);
    for kept in all {
        let found = kept.faults.expect("what was found");
        assert!(found.ended_early && found.notes[0].contains("panic forced"), "{found:?}");
        assert_eq!((found.cases, found.count(Consequence::Told), found.count(Consequence::Hang)), (2, 1, 1));
    }
}

#[test]
fn a_search_for_faults_that_ended_early_is_a_hole_until_it_is_done_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let results = folder.path().join("s.surefoot");
    let searched = |ended_early: bool| {
        let found = serde_json::json!({
            "writes": 9, "flushes": 3, "reads": 0, "possible": 48, "cases": 2, "not_struck": 0, "drawn": 0, "is_complete": !ended_early,
            "honest": 8, "honest_bad": 0, "rows": [], "notes": [], "seconds": 1.0, "ended_early": ended_early,
        });
        (What::Faults, Some(Record::Faults(serde_json::from_value(found).expect("what a search finds"))))
    };
    assert_eq!(measured(&results, searched(true), false), (Stop::FaultsHoles, 2));
    assert_eq!(measured(&results, searched(false), false), (Stop::FaultsHoles, 0), "nobody asked to do it again");
    assert_eq!(measured(&results, searched(false), true), (Stop::FaultsKnown, 2));
    assert_eq!(measured(&results, searched(true), true), (Stop::FaultsKnown, 0), "what is known is not measured again");
}
