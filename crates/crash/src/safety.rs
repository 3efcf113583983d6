//! What a power cut takes from each scenario: one trial each, on a recording disk and on the scenario's own bench.
//!
//! The trial has the scenario's filesystem and its options; the load is `commits`, with the scenario's server and its settings, or
//! `replacements`, which needs no server. Both know what must be there afterwards.

use crate::drive;
use crate::plan::TrialSpec;
use crate::plan::{Plan, PlannedScenario};
use load::engines;
use load::workload::{Files, Kind};
use observe::durability::Class;
use observe::faults::{Consequence, Example, FaultsFound, UNKNOWN};
use observe::record::Record;
use observe::safety::{Finding, Grade, Safety};
use powercut::explore::SMALLER_SECONDS_SHARE;
use powercut::fault::{Case, Fault};
use serde_json::{Map, Value};
use services::service;
use std::collections::BTreeMap;
use storage::{Device, StorageSettings};
use study::Load;
use study::trial_spec::{Cut, Faults};
use workloads::{commits, replacements};

/// Provisioning, the load and the way back, beside what may be spent on recoveries.
const BESIDE_SECONDS: f64 = 180.0;

/// What takes longer hangs in the kernel: a server that does has been ended before, and is what did not come up.
const RECOVERY_SECONDS_MAX: f64 = service::RECOVERY_SECONDS_MAX as f64 + 30.0;

/// Recoveries that may hang one after the other once the budget is over: of those under way, and of their repetitions, as many as are done
/// side by side at a time (three times), the last one for a smaller example, a disk for a look at examples, and two looks.
const HANGING_MAX: f64 = 7.0;

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

/// Loading, the cases that the others are held against, and a fault that is drawn at the last moment: each of its four ways on may hang for two
/// minutes. A trial that is ended says nothing of what it has found.
pub(crate) const BESIDE_FAULTS_SECONDS: f64 = 900.0;

/// Why it can't be measured what a power cut or a failing disk takes from a scenario, if it can't.
pub fn why_not(scenario: &PlannedScenario, settings: &study::Safety) -> Option<String> {
    let storage = &scenario.storage;
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
    if may_panic && scenario.bench != study::Bench::Guest {
        return Some("its options let damage end this machine; with bench = \"guest\" it ends a guest kernel".into());
    }
    if settings.load == Load::Commits { why_no_commits(scenario) } else { why_no_files(scenario, settings) }
}

/// Why it can't be measured what `replacements` loses in a scenario's place: the workload itself does it in another way.
fn why_no_files(scenario: &PlannedScenario, settings: &study::Safety) -> Option<String> {
    let workload = &scenario.workload;
    // An A of files would stand beside `synchronous = "off"`.
    if let Some(engine) = scenario.parameters.get("engine").and_then(Value::as_str).and_then(engines::named) {
        let name = engine.name;
        return Some(format!(
            "{workload} has its data in {name}: files that are replaced say nothing of what {name} keeps"
        ));
    }
    match (files(scenario), &settings.files) {
        (Files::Otherwise(why), _) => Some(format!("of {workload} no way of replacing files is the like: {why}")),
        (Files::By(own), Some(asked)) if own != asked => {
            Some(format!("{workload} does as `{own}` does, and `safety.files` says \"{asked}\": leave it out"))
        }
        _ => None,
    }
}

fn files(scenario: &PlannedScenario) -> Files {
    workloads::settings(&scenario.workload, &scenario.parameters).map_or(Files::Unknown, |load| load.files())
}

/// Why it can't be measured what `commits` loses in a scenario's place.
fn why_no_commits(scenario: &PlannedScenario) -> Option<String> {
    let name = scenario.parameters.get("engine").and_then(Value::as_str).unwrap_or("none");
    let workload = &*scenario.workload;
    let Some(engine) = engines::named(name).filter(|engine| engine.power_cuts_of.contains(&workload)) else {
        let like = engines::named(name).and_then(|engine| engine.power_cuts_of.first());
        let instead = like.map_or_else(
            || "load = \"files\" measures files that are replaced".into(),
            |like| format!("a study of `{like}` on {name} with the same settings measures what these lose"),
        );
        return Some(format!("of {workload} on {name} nobody knows which commits must be there; {instead}"));
    };
    if scenario.bench == study::Bench::Guest && !engine.is_embedded {
        return Some(format!(
            "in a guest kernel embedded engines are measured, as sqlite is, and {name} on bench = \"host\" only"
        ));
    }
    // A service without a table has its defaults, which may be what can't be measured.
    let defaults = Map::new();
    (engine.unmeasured)(scenario.services.get(name).unwrap_or(&defaults)).map(Into::into)
}

/// Whether a record tells of what stands however the trial ends that found it.
pub fn tells_of_what_stands(record: &Record) -> bool {
    matches!(record, Record::Safety(found) if stands(found))
}

/// Damage, or a loss where none was promised. Of the last commit alone a scenario competes as before, and more may have come.
fn stands(found: &Safety) -> bool {
    found.grade >= Grade::E || found.grade >= Grade::C && found.promised(found.promise) == Class::KeepsAcknowledged
}

/// What is known of a measurement while its trial runs.
#[derive(Debug, Default)]
pub struct Measurement {
    safety: Option<Box<Safety>>,
    faults: Option<Box<FaultsFound>>,
    /// The image whose recovery was begun last, or the case.
    recovering: Option<String>,
}

impl Measurement {
    /// Takes what its trial says.
    pub fn take(&mut self, record: Record) {
        match record {
            Record::Safety(found) => self.safety = Some(found),
            Record::Faults(found) => self.faults = Some(found),
            Record::Recovering { image } => self.recovering = Some(image),
            _ => {}
        }
    }

    /// What was found, once the trial has finished.
    pub fn finished(self) -> Option<Box<Safety>> {
        self.safety
    }

    /// What was found of failing disks, once the trial has finished.
    pub fn finished_faults(self) -> Option<Box<FaultsFound>> {
        self.faults
    }

    /// What was found of failing disks until the trial failed, for this reason. Where a case killed the kernel that it ran in, its client had no
    /// answer. None where there is neither.
    pub fn faults_until(self, why: &str, is_panic: bool) -> Option<Box<FaultsFound>> {
        let (mut found, example) = (self.faults?, self.recovering?);
        let case = example.parse::<Case>().ok().filter(|case| is_panic && case.failure.fault != Fault::Nothing);
        if let Some(case) = case {
            let words = format!("the kernel itself dies of it: {why}");
            let (client, server, kernel) = (Vec::new(), Vec::new(), Vec::new());
            let example = Example { case: example.clone(), words, client, server, kernel };
            found.add([&case.failure.to_string(), UNKNOWN, case.continuation.name()], Consequence::Hang, || example);
        }
        if found.cases == 0 {
            return None;
        }
        (found.is_complete, found.ended_early) = (false, true);
        let note = format!(
            "the search ended early, in the case {example}; what it found in its last second is not counted: {why}"
        );
        found.notes.push(note);
        found.sort_rows();
        Some(found)
    }

    /// What was found until the trial failed, for this reason, if it stands, whatever kept the search from its end: damage, or a loss where none
    /// was promised, which may be larger than was seen.
    pub fn found_until(self, why: &str) -> Option<Box<Safety>> {
        let mut safety = self.safety.filter(|found| stands(found))?;
        safety.is_complete = false;
        if safety.worst_lost_commits > 0 {
            safety.is_censored = Some(true);
        }
        let note = format!("the search ended early; what it found in its last second is not counted: {why}");
        safety.notes.push(note);
        Some(safety)
    }

    /// What was found until a recovery killed the kernel that it ran in, for this reason, which is a fault like one that keeps a
    /// filesystem from coming up. None where it died before the first recovery.
    pub fn killed(self, why: &str) -> Option<Box<Safety>> {
        let (mut safety, example) = (self.safety?, self.recovering?);
        let what = format!("the kernel itself dies of the recovery: {why}");
        let finding = Finding { what, images: 1, example, ..Finding::default() };
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
}

/// The trial that measures a scenario. Its memory has no limit: the contents of disks that show images would count against it.
pub fn spec(plan: &Plan, scenario: &PlannedScenario, settings: &study::Safety) -> TrialSpec {
    let on_disk = on_disk(&scenario.storage, settings);
    let cut = Cut {
        budget_seconds: settings.budget_seconds,
        // A disk tears no sector of its own.
        unit_bytes: settings.unit.bytes().max(on_disk.unit.bytes()),
        cache: on_disk.cache.name().into(),
        profile: settings.profile.clone(),
        log_bytes_max: settings.log_bytes_max,
        recovery_seconds_max: RECOVERY_SECONDS_MAX,
        copy_out: None,
    };
    let load = load(settings);
    TrialSpec {
        guest: scenario.guest.clone(),
        services: if settings.load == Load::Commits { scenario.services.clone() } else { BTreeMap::new() },
        parameters: parameters(load, scenario, settings),
        timeout_seconds: timeout_seconds(settings),
        ineffective_options: plan.design.ineffective_options,
        cut: Some(cut),
        ..TrialSpec::single(&plan.name, &scenario.label, load.name, scenario.bench, plan.drawn.seed, on_disk)
    }
}

/// When a trial is ended, which then says nothing of what it has found: not before its recoveries have ended, hang as they may.
fn timeout_seconds(settings: &study::Safety) -> f64 {
    let of_recoveries = settings.budget_seconds * SMALLER_SECONDS_SHARE + HANGING_MAX * RECOVERY_SECONDS_MAX;
    settings.time_seconds + of_recoveries + BESIDE_SECONDS
}

/// A scenario's filesystem, on the disk that is recorded.
fn on_disk(storage: &StorageSettings, settings: &study::Safety) -> StorageSettings {
    let named = |name: &String| drive::named(name).expect("the study's table has the storage's names");
    StorageSettings {
        device: Device::Virtual,
        disk: settings.profile.clone(),
        // A virtual disk has one of its own; an image file's is volatile.
        cache: settings.cache.as_ref().map_or(storage.cache, named),
        fill: 0.0,
        age: 0,
        // The kernel's tracer sees no flush for a single write (FUA) of a disk below a delay.
        delay_read: 0.0,
        delay_write: 0.0,
        delay_flush: 0.0,
        check: false,
        ..storage.resized(settings.disk_bytes.max(storage.bytes_min()))
    }
}

/// The trial that measures what a failing disk does to a scenario.
pub fn spec_of_faults(plan: &Plan, scenario: &PlannedScenario, settings: &study::Safety) -> TrialSpec {
    // One connection, so that the same requests come to the disk again.
    let write_back = (settings.load == Load::Commits).then_some(false);
    let settings = study::Safety { connections: 1, write_back, ..settings.clone() };
    let (failures, budget_seconds) = (settings.failures(), settings.fault_budget_seconds);
    let (delay_seconds, stall_seconds) = (settings.fault_delay_seconds, settings.fault_stall_seconds);
    let blocks = settings.fault_blocks.clone();
    TrialSpec {
        timeout_seconds: budget_seconds + BESIDE_FAULTS_SECONDS,
        faults: Some(Faults { failures, budget_seconds, blocks, delay_seconds, stall_seconds, replay: None }),
        ..spec(plan, scenario, &settings)
    }
}

/// What is at work when power is cut.
fn load(settings: &study::Safety) -> &'static Kind {
    if settings.load == Load::Commits { &commits::KIND } else { &replacements::KIND }
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
    let own = if let Files::By(method) = files(scenario) { Some(method) } else { None };
    if let Some(method) = settings.files.as_deref().or(own) {
        parameters.insert(METHOD.into(), method.into());
    }
    if let Some(write_back) = settings.write_back {
        parameters.insert(WRITE_BACK.into(), write_back.into());
    }
    parameters
}

#[cfg(test)]
#[path = "../../report/tests/it/found.rs"]
pub(crate) mod found;

#[cfg(test)]
mod tests {
    use super::*;
    use storage::DiskCache;

    #[test]
    fn what_a_study_may_choose_the_load_knows() {
        let of_study = study::SAFETY.iter().find(|setting| setting.name == "files").expect("a setting");
        let of_load = replacements::KIND.settings.iter().find(|setting| setting.name == METHOD).expect("a setting");
        assert_eq!(of_study.kind, of_load.kind);
    }

    #[test]
    fn a_virtual_disk_keeps_its_own_cache_unless_the_study_names_one() {
        let cache = |own: DiskCache, asked: Option<&str>| {
            let storage = StorageSettings { device: Device::Virtual, cache: own, ..StorageSettings::default() };
            let settings = study::Safety { cache: asked.map(String::from), ..study::Safety::default() };
            on_disk(&storage, &settings).cache
        };
        assert_eq!(cache(DiskCache::WriteThrough, None), DiskCache::WriteThrough);
        assert_eq!(cache(DiskCache::Lying, None), DiskCache::Lying);
        assert_eq!(cache(DiskCache::WriteThrough, Some("volatile")), DiskCache::Volatile);
        let of_an_image = on_disk(&StorageSettings::default(), &study::Safety::default());
        assert_eq!((of_an_image.device, of_an_image.cache), (Device::Virtual, DiskCache::Volatile));
    }

    #[test]
    fn a_recorded_disk_is_not_delayed_and_has_the_blocks_of_the_scenario() {
        let (delay_read, delay_write, delay_flush) = (0.01, 0.02, 0.03);
        let slow = StorageSettings { delay_read, delay_write, delay_flush, ..StorageSettings::default() };
        let settings = study::Safety { disk_bytes: 64 << 20, ..study::Safety::default() };
        let disk = on_disk(&slow, &settings);
        assert_eq!((disk.delay_read, disk.delay_write, disk.delay_flush), (0.0, 0.0, 0.0));
        assert_eq!((disk.size, &*disk.mkfs), (64 << 20, &["-T".to_string(), "default".into()][..]));
    }

    /// A recovery that hung at the end had cost all that was found, and its scenario competed by its promise.
    #[test]
    fn recoveries_that_hang_have_ended_before_their_trial_is() {
        for budget_seconds in [0.1, 10.0, 86_400.0] {
            let settings = study::Safety { budget_seconds, ..study::Safety::default() };
            // What is under way when the budget ends: with two side by side six recoveries, which may hang.
            let last_seconds = settings.time_seconds + budget_seconds + 3.0 * RECOVERY_SECONDS_MAX;
            // Smaller examples are looked for in a tenth more, and then examples are described.
            let described_seconds = last_seconds + 0.1 * budget_seconds + 4.0 * RECOVERY_SECONDS_MAX;
            let left_seconds = timeout_seconds(&settings) - described_seconds;
            assert!(left_seconds > 120.0, "{left_seconds} s for all else with a budget of {budget_seconds} s");
        }
    }

    /// It was said that the filesystem does not mount, and its disk was taken away.
    #[test]
    fn a_server_that_hangs_is_ended_by_who_asks_it() {
        let [disk, server] = [RECOVERY_SECONDS_MAX, service::RECOVERY_SECONDS_MAX as f64];
        assert!(disk >= server + 20.0, "beside it there are mounts, and the end of a server takes a moment");
    }

    #[test]
    fn a_kernel_that_a_failing_disk_killed_is_a_case_and_takes_no_other_with_it() {
        let until = |cases: usize, begun: &str, is_panic: bool| {
            let mut found = FaultsFound::default();
            let example = || Example {
                case: "full@1/go-on".into(),
                words: String::new(),
                client: Vec::new(),
                server: Vec::new(),
                kernel: Vec::new(),
            };
            (0..cases).for_each(|_| found.add(["full", "WAL", "go-on"], Consequence::Told, example));
            let faults = Some(Box::new(found));
            let measurement = Measurement { faults, recovering: Some(begun.into()), ..Measurement::default() };
            measurement.faults_until("EXT4-fs: panic forced", is_panic)
        };
        let found = until(2, "write-error@3/restart", true).expect("what was found, and the case");
        assert_eq!((found.cases, found.is_complete, found.ended_early), (3, false, true));
        let row = found.rows.last().expect("a row");
        assert_eq!((&*row.fault, &*row.structure, &*row.continuation), ("write-error", UNKNOWN, "restart"));
        assert_eq!(row.worst(), Some(Consequence::Hang));
        assert!(found.notes[0].contains("write-error@3/restart") && found.notes[0].contains("panic forced"));
        // Of other reasons the case knows nothing.
        assert_eq!(until(2, "write-error@3/restart", false).map(|found| found.cases), Some(2));
        assert!(until(0, "write-error@3/restart", false).is_none());
    }

    /// A guest that ran out of memory, or a trial that was ended, had taken what was found along, and the scenario competed by its promise.
    #[test]
    fn damage_and_losses_that_nobody_promised_stand_whatever_ended_the_trial_that_found_them() {
        let until = |grade, promise, lost| {
            let found = Safety { promise, by_settings: Some(promise), worst_lost_commits: lost, ..found::found(grade) };
            let safety = Some(Box::new(Safety { is_complete: true, is_censored: Some(false), ..found }));
            Measurement { safety, ..Measurement::default() }.found_until("out of memory")
        };
        for promise in [Class::KeepsAcknowledged, Class::LosesRecent] {
            for grade in [Grade::E, Grade::F] {
                let found = until(grade, promise, 0).expect("damage");
                assert_eq!((found.grade, found.is_complete, found.is_censored), (grade, false, Some(false)));
                assert!(found.notes[0].ends_with("out of memory"), "{found:?}");
            }
        }
        for grade in [Grade::C, Grade::D] {
            let found = until(grade, Class::KeepsAcknowledged, 7).expect("a loss");
            assert_eq!((found.grade, found.held_to()), (grade, Grade::D), "more may have come");
            assert!(until(grade, Class::LosesRecent, 7).is_none(), "it was promised");
        }
        for grade in [Grade::A, Grade::B] {
            assert!(until(grade, Class::KeepsAcknowledged, 1).is_none(), "more may have come");
        }
        assert!(Measurement::default().found_until("out of memory").is_none(), "it died before the first recovery");
    }

    #[test]
    fn a_kernel_that_a_recovery_killed_is_a_finding() {
        let so_far = |recovering: Option<&str>| {
            let safety = Safety { images: 4, is_complete: true, ..found::found(Grade::A) };
            let recovering = recovering.map(Into::into);
            Measurement { safety: Some(Box::new(safety)), recovering, ..Measurement::default() }
        };
        let safety = so_far(Some("0:oldest")).killed("Kernel mode signal 8").expect("a finding");
        assert_eq!((safety.grade, safety.images, safety.unmountable, safety.is_complete), (Grade::E, 5, 1, false));
        let finding = &safety.findings[0];
        assert_eq!(finding.example, "0:oldest");
        assert!(finding.what.ends_with("Kernel mode signal 8"), "{finding:?}");
        assert!(so_far(None).killed("Kernel mode signal 8").is_none(), "it died before the first recovery");
    }
}
