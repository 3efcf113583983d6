//! What a power cut takes from each scenario: one trial each, on a recording disk and on the scenario's own bench, after the rounds.
//!
//! The trial has the scenario's filesystem and its options; the load is `commits`, with the scenario's server and its settings, or
//! `replacements`, which needs no server. Both know what must be there afterwards.

use crate::bench::{self, Bench, End, guest};
use observe::record::{Failure, Record};
use observe::safety::{Finding, Grade, Safety};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use storage::{Device, StorageSettings};
use study::trial_spec::{Cut, TrialSpec};
use study::{Load, Plan, PlannedScenario};
use workloads::workload::Kind;
use workloads::{commits, replacements};

/// Provisioning, the load and the way back, beside what may be spent on recoveries.
const BESIDE_SECONDS: f64 = 180.0;

/// What the load here leaves is recovered in about a second, and on a busy machine in a few.
const RECOVERY_SECONDS_MAX: f64 = 60.0;

/// Workloads whose database the load knows how to look at after a cut, with their engines.
const MEASURED: [(&str, &[&str]); 3] = [
    ("oltp", &["sqlite", "postgres", "mariadb"]),
    ("tpcb", &["sqlite", "postgres", "mariadb"]),
    ("three-n-plus-one", &["gtm"]),
];

/// Names of settings that the load of a measurement has itself; a scenario's own of these names mean another load.
const OF_THE_LOAD: [&str; 10] = [
    "connections",
    "time",
    "pause",
    "payload",
    "checkpoint_every",
    "witness",
    "seed",
    "acknowledge",
    METHOD,
    WRITE_BACK,
];

/// The load's setting that `safety.files` is.
const METHOD: &str = "method";

/// The load's setting that `safety.write_back` is.
const WRITE_BACK: &str = "write_back";

/// How the measurement of one scenario ended.
#[derive(Debug)]
pub enum Ended {
    /// It was measured.
    Measured(Box<Safety>),
    /// It could not be, for this reason.
    Not(Failure),
    /// The user interrupted.
    Interrupted,
}

/// Why a scenario's safety can't be measured, if it can't.
#[must_use]
pub fn why_not(scenario: &PlannedScenario, settings: &study::Safety) -> Option<String> {
    let storage = StorageSettings::from_map(&scenario.storage);
    let engine = scenario.parameters.get("engine").and_then(Value::as_str).unwrap_or("none");
    if !["host", "guest"].contains(&&*scenario.bench) {
        return Some(format!("bench = \"{}\" has no disks that could lose power", scenario.bench));
    }
    if !matches!(storage.device, Device::Loop | Device::Virtual) {
        let moved = "device = \"loop\" or \"virtual\"";
        return Some(format!(
            "only scenarios on image files or virtual disks ({moved}) can be moved to a recording disk"
        ));
    }
    if !scenario.volumes.is_empty() || storage.stripe > 1 || storage.external_log_bytes() > 0 {
        return Some("it has more than one disk, and one is recorded".into());
    }
    // As ext4's `errors=panic`: what a cut leaves may be damaged, and is mounted.
    let may_panic = storage.mount.iter().chain(&storage.mkfs).any(|option| option.contains("panic"));
    if may_panic && scenario.bench != "guest" {
        return Some("its options let damage end this machine; with bench = \"guest\" it ends a guest kernel".into());
    }
    let commits =
        MEASURED.iter().any(|(workload, engines)| *workload == scenario.workload && engines.contains(&engine));
    if settings.load == Load::Commits && !commits {
        let workload = &scenario.workload;
        return Some(format!(
            "of {workload} on {engine} nobody knows which commits must be there; load = \"files\" measures files that are replaced"
        ));
    }
    if settings.load == Load::Commits && scenario.bench == "guest" && engine != "sqlite" {
        return Some(format!("in a guest kernel sqlite is measured, and {engine} on bench = \"host\" only"));
    }
    let journal = scenario.services.get("gtm").and_then(|settings| settings.get("journal"));
    if settings.load == Load::Commits && journal.is_some_and(|journal| journal == "nobefore") {
        return Some(
            "GT.M's journal without before-images is rolled forward from a backup, which is not imitated".into(),
        );
    }
    None
}

/// Measures one scenario.
///
/// # Errors
/// When no trial could be started at all.
pub fn measure(
    plan: &Plan,
    scenario: &PlannedScenario,
    settings: &study::Safety,
    bench: &mut dyn Bench,
    interrupted: &AtomicBool,
    watch: &mut dyn FnMut(&Record),
) -> Result<Ended, bench::Error> {
    if let Some(reason) = why_not(scenario, settings) {
        return Ok(Ended::Not(Failure { step: "power cut".into(), causes: vec![reason], log: String::new() }));
    }
    let (mut safety, mut under_way) = (None, None);
    let end = bench.run(&spec(plan, scenario, settings), interrupted, &mut |record| {
        watch(&record);
        match record {
            Record::Safety(found) => safety = Some(found),
            Record::Recovering { image } => under_way = Some(image),
            _ => {}
        }
    })?;
    // What a search that was cut short has seen is not what it was asked for.
    if interrupted.load(Ordering::Relaxed) {
        return Ok(Ended::Interrupted);
    }
    Ok(match (end, safety) {
        (End::Finished, Some(safety)) => Ended::Measured(safety),
        (End::Finished, None) => Ended::Not(Failure {
            step: "power cut".into(),
            causes: vec!["the trial ended without a result".into()],
            log: String::new(),
        }),
        (End::Failed(failure), safety) => match died(&failure, safety, under_way) {
            Some(safety) => Ended::Measured(safety),
            None => Ended::Not(failure),
        },
        (End::Interrupted, _) => Ended::Interrupted,
    })
}

/// What was found until a recovery killed the kernel that it ran in, which is a fault like one that keeps a filesystem from coming
/// up. None when it ended otherwise.
fn died(failure: &Failure, safety: Option<Box<Safety>>, under_way: Option<String>) -> Option<Box<Safety>> {
    let (why, mut safety, example) = (guest::panic_of(failure)?, safety?, under_way?);
    let finding = Finding {
        what: format!("the kernel itself dies of the recovery: {why}"),
        images: 1,
        example,
        lacks: String::new(),
        checked: String::new(),
    };
    // The worst come first.
    let place = if safety.grade > Grade::E { safety.findings.len() } else { 0 };
    safety.findings.insert(place, finding);
    safety.grade = safety.grade.max(Grade::E);
    safety.images += 1;
    safety.unmountable += 1;
    safety.is_complete = false;
    let note = "the search ended with that kernel; what it found in its last tenth of a second is not counted";
    safety.notes.push(note.into());
    Some(safety)
}

fn spec(plan: &Plan, scenario: &PlannedScenario, settings: &study::Safety) -> TrialSpec {
    let cut = Cut {
        budget_seconds: settings.budget_seconds,
        unit_bytes: settings.unit.bytes(),
        cache: settings.cache.clone(),
        profile: settings.profile.clone(),
        log_bytes_max: settings.log_bytes_max,
        recovery_seconds_max: RECOVERY_SECONDS_MAX,
        copy_out: None,
    };
    let load = load(settings);
    let mut spec = TrialSpec {
        guest: scenario.guest.clone(),
        storage: scenario.storage.clone(),
        services: if settings.load == Load::Commits { scenario.services.clone() } else { BTreeMap::new() },
        parameters: parameters(load, scenario, settings),
        timeout_seconds: settings.budget_seconds + settings.time_seconds + BESIDE_SECONDS,
        ineffective_options: plan.design.ineffective_options,
        cut: Some(cut),
        ..TrialSpec::single(&plan.name, &scenario.label, load.name, &scenario.bench, plan.design.seed)
    };
    let row = storage::filesystem(spec.storage.get("filesystem").and_then(Value::as_str).unwrap_or("ext4"));
    let size = settings.disk_bytes.max(row.map_or(0, |row| row.bytes_min));
    let on_disk = json!({
        "device": "virtual", "size": size, "disk": settings.profile, "cache": settings.cache, "fill": 0.0, "age": 0, "check": false,
    });
    spec.storage.extend(on_disk.as_object().cloned().unwrap_or_default());
    spec
}

/// What is at work when power is cut.
fn load(settings: &study::Safety) -> &'static Kind {
    match settings.load {
        Load::Commits => &commits::KIND,
        Load::Files => &replacements::KIND,
    }
}

/// The engine's own settings as the scenario has them, and the load's.
fn parameters(load: &Kind, scenario: &PlannedScenario, settings: &study::Safety) -> Map<String, Value> {
    let mut parameters = settings::defaults(load.settings);
    let of_engine = parameters.keys().filter(|name| !OF_THE_LOAD.contains(&name.as_str())).cloned().collect::<Vec<_>>();
    for name in of_engine {
        if let Some(value) = scenario.parameters.get(&name) {
            parameters.insert(name, value.clone());
        }
    }
    parameters.insert("connections".into(), settings.connections.into());
    parameters.insert("time".into(), settings.time_seconds.into());
    if let Some(method) = &settings.files {
        parameters.insert(METHOD.into(), method.as_str().into());
    }
    if let Some(write_back) = settings.write_back {
        parameters.insert(WRITE_BACK.into(), write_back.into());
    }
    parameters
}

#[cfg(test)]
#[path = "../../report/tests/it/found.rs"]
mod found;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_study_may_choose_the_load_knows() {
        let of_study = study::SAFETY.iter().find(|setting| setting.name == "files").expect("a setting");
        let of_load = replacements::KIND.settings.iter().find(|setting| setting.name == METHOD).expect("a setting");
        assert_eq!(of_study.kind, of_load.kind);
    }

    #[test]
    fn a_kernel_that_a_recovery_killed_is_a_finding_and_one_without_memory_is_none() {
        let so_far = || Some(Box::new(Safety { images: 4, is_complete: true, ..found::found(Grade::A) }));
        let failure = |cause: &str| Failure { step: "trial".into(), causes: vec![cause.into()], log: String::new() };
        let panicked = failure("the guest kernel panicked: Kernel mode signal 8");
        let safety = died(&panicked, so_far(), Some("0:oldest".into())).expect("a finding");
        assert_eq!((safety.grade, safety.images, safety.unmountable, safety.is_complete), (Grade::E, 5, 1, false));
        let finding = &safety.findings[0];
        assert_eq!(finding.example, "0:oldest");
        assert!(finding.what.ends_with("Kernel mode signal 8"), "{finding:?}");
        assert!(died(&panicked, so_far(), None).is_none(), "it died before the first recovery");
        for other in ["the guest kernel panicked: Out of memory", "the trial's process was ended by signal 9"] {
            assert!(died(&failure(other), so_far(), Some("0:oldest".into())).is_none(), "{other}");
        }
    }
}
