//! Power cuts of a scenario that failed: measured again on request, and never called known.

use crate::{machine, plan, session};
use crash::plan::TrialSpec;
use lab::bench::simulated::Simulated;
use lab::bench::{Bench, End, Error};
use lab::conductor::{self, Stop, What};
use lab::resume;
use observe::record::{Failure, Record};
use observe::safety::Grade;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;

#[path = "../../../report/tests/it/found.rs"]
mod found;

/// A machine whose power-cut trials are killed, or not.
struct Cuts {
    machine: Simulated,
    are_killed: bool,
    trials: u32,
}

impl Bench for Cuts {
    fn run(&mut self, _: &TrialSpec, _: &AtomicBool, sink: &mut dyn FnMut(Record)) -> Result<End, Error> {
        self.trials += 1;
        if self.are_killed {
            return Ok(End::Failed(Failure {
                step: "trial".into(),
                causes: vec!["killed".into()],
                log: String::new(),
            }));
        }
        sink(Record::Safety(Box::new(found::found(Grade::A))));
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
fn measured(results: &Path, are_killed: bool, retry_failed: bool) -> (Stop, u32) {
    let text = "name = \"s\"\nquestion = \"?\"\n[factors]\n\"storage.filesystem\" = [\"ext4\", \"xfs\"]\n[storage]\n\
                [workload.oltp]\nengine = \"sqlite\"\n[safety]\n";
    let plan = plan(text);
    let opened = resume::open(results, &plan, &resume::Session { retry_failed, ..session(text) }).expect("it opens");
    let mut bench = Cuts { machine: machine(), are_killed, trials: 0 };
    let never = AtomicBool::new(false);
    let summary =
        conductor::conduct_safety(&plan, What::PowerCuts, opened, &mut bench, &never, &mut |_| {}).expect("it starts");
    (summary.stop, bench.trials)
}

#[test]
fn a_killed_trial_is_a_hole_until_it_is_measured_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let results = folder.path().join("s.surefoot");
    assert_eq!(measured(&results, true, false), (Stop::SafetyHoles, 2));
    assert_eq!(measured(&results, false, false), (Stop::SafetyHoles, 0), "nobody asked to do it again");
    assert_eq!(measured(&results, false, true), (Stop::SafetyKnown, 2));
    assert_eq!(measured(&results, true, true), (Stop::SafetyKnown, 0), "what is known is not measured again");
}
