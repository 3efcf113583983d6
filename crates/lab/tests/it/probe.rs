//! What is probed, and for how long, on the simulated bench.

use crate::simulated::Simulated;
use crate::{plan, text};
use crash::plan::TrialSpec;
use lab::bench::{Bench, End, Ends, Error, Sink};
use lab::probe::{probe, seconds};
use lab::turns::places;
use ledger::model::Probe;
use observe::record::Record;
use sandbox::work::{Holder, Work};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

fn found(text: &str, bench: &mut Simulated) -> Vec<Probe> {
    let mut found = Vec::new();
    probe(&plan(text), 2.0, bench, &AtomicBool::new(false), &mut |probe| {
        found.push(probe.clone());
        Ok(())
    })
    .expect("a simulated machine starts");
    found
}

fn machine() -> Simulated {
    Simulated::new(7, "flushes_per_second")
}

#[test]
fn scenarios_on_one_device_share_a_probe() {
    let mut bench = machine();
    let probes = found(&text(&["ext4", "xfs"], ""), &mut bench);
    assert_eq!((probes.len(), bench.trials()), (1, 1));
    assert_eq!(probes[0].scenarios.len(), 3, "two filesystems and the control: {probes:?}");
    assert!(probes[0].figures["flushes_per_second"] > 0.0 && probes[0].failure.is_none(), "{probes:?}");
}

#[test]
fn each_device_has_its_own_and_too_many_are_said() {
    let devices = |count: usize| {
        let sizes: Vec<String> = (1..=count).map(|size| format!("\"{size}GiB\"")).collect();
        text(&["ext4"], "control = false")
            .replace("\"storage.filesystem\" = [\"ext4\"]", &format!("\"storage.size\" = [{}]", sizes.join(", ")))
    };
    let two = found(&devices(2), &mut machine());
    assert_eq!(two.iter().map(|probe| probe.scenarios.len()).collect::<Vec<_>>(), [1, 1]);
    let mut bench = machine();
    let six = found(&devices(6), &mut bench);
    assert_eq!((six.len(), bench.trials()), (5, 4));
    assert_eq!((six[4].scenarios.len(), six[4].figures.len()), (2, 0));
    assert_eq!(six[4].failure.as_deref(), Some("only the first 4 of 6 devices are probed"));
}

#[test]
fn a_failure_is_kept_and_an_interruption_leaves_nothing() {
    let text = text(&["ext4"], "");
    let mut failing = machine();
    failing.failures = 1.0;
    let failed = found(&text, &mut failing);
    assert_eq!(failed[0].failure.as_deref(), Some("run: a simulated failure"));
    let mut interrupted = machine();
    interrupted.interrupt_after = Some(0);
    assert_eq!(found(&text, &mut interrupted), []);
}

#[test]
fn the_time_is_a_twentieth_of_the_study_unless_it_says_otherwise() {
    let of = |design: &str, expected: f64| seconds(&plan(&text(&["ext4"], design)), expected);
    assert_eq!([of("", 19.0), of("", 40.0), of("", 3600.0)], [None, Some(2.0), Some(4.0)]);
    assert_eq!([of("probe = \"0s\"", 3600.0), of("probe = \"30s\"", 1.0)], [None, Some(30.0)]);
}

/// Keeps what it is asked for, and whether by turns.
#[derive(Default)]
struct Asked(Vec<(TrialSpec, bool)>);

impl Bench for Asked {
    fn run(&mut self, spec: &TrialSpec, _: &AtomicBool, _: &mut dyn FnMut(Record)) -> Result<End, Error> {
        self.0.push((spec.clone(), false));
        Ok(End::Finished)
    }

    fn run_by_turns(&mut self, specs: &[TrialSpec], _: &[usize], _: &AtomicBool, _: Sink) -> Ends {
        self.0.extend(specs.iter().map(|spec| (spec.clone(), true)));
        Ok(vec![End::Finished; specs.len()])
    }

    fn now(&self) -> f64 {
        0.0
    }

    fn machine(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }
}

fn asked(text: &str) -> Vec<(TrialSpec, bool)> {
    let mut bench = Asked::default();
    probe(&plan(text), 2.0, &mut bench, &AtomicBool::new(false), &mut |_| Ok(())).expect("it starts");
    bench.0
}

/// A probe that was killed leaves a block device to nobody: each trial that followed was refused.
#[test]
fn a_probe_of_a_block_device_has_the_time_of_a_trial() {
    let limit = |storage: &str, design: &str| {
        let text = text(&["ext4"], design).replace("[storage]\n", &format!("[storage]\n{storage}\n"));
        asked(&text).iter().map(|(spec, _)| spec.timeout_seconds).collect::<Vec<_>>()
    };
    let block = "device = \"block\"\npath = \"/dev/sdx\"";
    assert_eq!(limit("", ""), [60.0]);
    assert_eq!(limit(block, ""), [1800.0]);
    assert_eq!(limit(block, "trial_timeout = \"5s\""), [60.0]);
}

/// By turns it had to write an image of its own within its minute, for which there may be no room, and failed where the disk was too slow for that.
#[test]
fn a_probe_is_made_where_the_trials_have_their_images() {
    let is_by_turns =
        |design: &str| asked(&text(&["ext4", "xfs"], design)).iter().map(|(_, turns)| *turns).collect::<Vec<_>>();
    assert_eq!(is_by_turns("order = \"turns\""), [true]);
    assert_eq!(is_by_turns("order = \"blocks\""), [false]);
    let folder = tempfile::tempdir().expect("a folder");
    let work = Work::own(&folder.path().join("work"), &Holder::this_process(None)).expect("it is nobody's");
    let of_one = plan(&text(&["ext4"], "order = \"turns\"\ncontrol = false"));
    let places = places(&of_one, &work).expect("they can be made");
    let images: Vec<PathBuf> = places.iter().map(Work::images).collect();
    assert_eq!(images, [work.slot(0).expect("it can be made").images()], "of one scenario, too");
}
