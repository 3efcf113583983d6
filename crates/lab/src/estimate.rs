//! What a study takes, roughly and before it runs: time, room in the work folder, memory.

use crate::bench::guest;
use crate::groups;
use crash::plan::{Plan, PlannedScenario, volumes};
use observe::disk::space_of_folder;
use sandbox::work::Work;
use services::Wanted;
use settings::quantity::{format_bytes, format_seconds};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use storage::{Device, StorageSettings};
use study::{Bench, Order, Safety};

/// Seconds a trial spends on provisioning, settling and teardown, roughly: 0.4 to 0.5 s on a 1 GiB loop device (2026-11-21,
/// two cores, all filesystems), and as much again for caution.
pub const PROVISION_SECONDS: f64 = 1.0;

/// Seconds that a server takes to start and to stop, about: 0.2 to 0.5 s for those of 2026-11-25.
const SERVER_SECONDS: f64 = 0.5;

/// Bytes of a template that are copied a second, about: 300 MB/s of MariaDB's few files, 140 MB/s of a site's 23,000.
const COPIED_BYTES_PER_SECOND: f64 = 150e6;

/// Bytes that filling and ageing write a second, about: a slow disk's sequential speed.
const CONDITIONED_BYTES_PER_SECOND: f64 = 1e8;

/// A load that ends by itself takes so many times as long in a guest kernel: between 2.5 (sql-bench on MariaDB) and 20 (GT.M) on 2026-11-25.
const GUEST_SLOWNESS: f64 = 5.0;

/// The length of the rounds that the study has at least, roughly.
pub fn expected_seconds(plan: &Plan) -> f64 {
    templates_seconds(plan) + round_seconds(plan) * f64::from(plan.design.rounds_min)
}

/// How long `[safety]` takes at most after the rounds, roughly: power cuts and faults of each scenario that they can be measured of.
pub fn safety_seconds(plan: &Plan) -> f64 {
    let Some(safety) = &plan.safety else { return 0.0 };
    let each = power_cuts_seconds(safety) + faults_seconds(safety).unwrap_or(0.0);
    let is_measured =
        |scenario: &&PlannedScenario| !scenario.control && crash::safety::why_not(scenario, safety).is_none();
    each * plan.scenarios.iter().filter(is_measured).count() as f64
}

/// What power cuts of one scenario take.
pub fn power_cuts_seconds(safety: &Safety) -> f64 {
    safety.budget_seconds + safety.time_seconds + PROVISION_SECONDS
}

/// What faults of one scenario take; none: they are not asked for.
pub fn faults_seconds(safety: &Safety) -> Option<f64> {
    safety.faults.as_ref().map(|_| safety.fault_budget_seconds + PROVISION_SECONDS)
}

/// How long it takes, roughly, to load what trials only copy: once.
pub fn templates_seconds(plan: &Plan) -> f64 {
    templates(plan).values().map(|template| template.seconds).sum()
}

/// The length of a round of all scenarios, roughly, with those that are in each of several groups.
pub fn round_seconds(plan: &Plan) -> f64 {
    let repeated = groups::repeated(plan).into_iter().map(|index| &plan.scenarios[index]);
    plan.scenarios.iter().chain(repeated).map(|scenario| trial_seconds(plan, scenario)).sum()
}

/// A trial's length, roughly.
pub fn trial_seconds(plan: &Plan, scenario: &PlannedScenario) -> f64 {
    unmeasured_seconds(plan, scenario) + measured_seconds(plan, scenario)
}

/// What of it its runs are.
fn measured_seconds(plan: &Plan, scenario: &PlannedScenario) -> f64 {
    let load = workloads::settings(&scenario.workload, &scenario.parameters);
    let by_time = load.as_ref().and_then(|load| load.run_seconds());
    let chosen = plan.drawn.turns.filter(|_| by_time.is_some());
    let of_turns =
        chosen.and_then(|chosen| Some(f64::from(chosen.turns?) * f64::from(chosen.turn_milliseconds) / 1000.0));
    of_turns.unwrap_or_else(|| f64::from(plan.design.runs) * run_seconds(plan, scenario))
}

/// What of it is not measured: provisioning, load and warm-up.
pub fn unmeasured_seconds(plan: &Plan, scenario: &PlannedScenario) -> f64 {
    let Some(load) = workloads::settings(&scenario.workload, &scenario.parameters) else { return 0.0 };
    let estimate = load.estimate();
    let services = services::wanted(&load.services(), &scenario.services);
    let load_seconds = if are_copied(&services) {
        estimate.data_bytes as f64 / COPIED_BYTES_PER_SECOND
    } else {
        estimate.load_seconds
    };
    let servers_seconds = SERVER_SECONDS * services.len() as f64;
    let made_seconds = PROVISION_SECONDS + conditioning_seconds(scenario);
    made_seconds + (servers_seconds + load_seconds) * slowness(scenario) + warm_up_seconds(plan, scenario)
}

/// What it takes to fill and age its filesystems; how large a block device is nobody knows here.
fn conditioning_seconds(scenario: &PlannedScenario) -> f64 {
    let bytes = |storage: &StorageSettings| {
        let filled = if is_sized(storage) { storage.fill * storage.size as f64 } else { 0.0 };
        filled + storage.age as f64
    };
    volumes(scenario).map(bytes).sum::<f64>() / CONDITIONED_BYTES_PER_SECOND
}

/// Whether the study says how large the filesystem is.
fn is_sized(storage: &StorageSettings) -> bool {
    matches!(storage.device, Device::Loop | Device::Tmpfs | Device::Virtual)
}

/// What its warm-ups are.
fn warm_up_seconds(plan: &Plan, scenario: &PlannedScenario) -> f64 {
    f64::from(plan.design.warm_up_runs) * run_seconds(plan, scenario)
}

/// That a trial takes longer than one may, by all that is known of it: it would be ended, and fail.
pub fn overlong(plan: &Plan, scenario: &PlannedScenario) -> Option<String> {
    // The first one loads what the others copy.
    let seconds = trial_seconds(plan, scenario) + template(scenario).map_or(0.0, |(_, template)| template.seconds);
    let is_overlong = seconds > plan.design.trial_timeout_seconds;
    let about = if may_end_sooner(scenario) { "at most about" } else { "about" };
    is_overlong.then(|| too_long(plan, &format!("{about} {}", format_seconds(seconds))))
}

/// The same where it is certain, as runs that last by the clock take as long by themselves.
pub fn certainly_overlong(plan: &Plan, scenario: &PlannedScenario) -> Option<String> {
    let load = workloads::settings(&scenario.workload, &scenario.parameters)?;
    let seconds = warm_up_seconds(plan, scenario) + measured_seconds(plan, scenario);
    let is_certain = load.is_by_the_clock() && seconds >= plan.design.trial_timeout_seconds;
    is_certain.then(|| too_long(plan, &format!("{} or more", format_seconds(seconds))))
}

fn too_long(plan: &Plan, takes: &str) -> String {
    let most = format_seconds(plan.design.trial_timeout_seconds);
    format!("a trial takes {takes}, and one that has not ended after {most} (design.trial_timeout) fails")
}

fn slowness(scenario: &PlannedScenario) -> f64 {
    if scenario.bench == Bench::Guest { GUEST_SLOWNESS } else { 1.0 }
}

/// A run's length, roughly; 0 where nothing is known of it.
pub fn run_seconds(plan: &Plan, scenario: &PlannedScenario) -> f64 {
    let Some(load) = workloads::settings(&scenario.workload, &scenario.parameters) else { return 0.0 };
    // What lasts by the clock lasts as long anywhere, and what may end before its time no longer.
    let is_timed = load.is_by_the_clock() || load.may_end_sooner();
    let slowness = if is_timed { 1.0 } else { slowness(scenario) };
    let runs = f64::from(plan.design.warm_up_runs) + f64::from(plan.design.runs);
    load.estimate().run_seconds * slowness / if load.runs_share_work() { runs } else { 1.0 }
}

/// Whether its runs may be over well before the time that is counted for them.
pub fn may_end_sooner(scenario: &PlannedScenario) -> bool {
    workloads::settings(&scenario.workload, &scenario.parameters).is_some_and(|load| load.may_end_sooner())
}

/// Of how many scenarios nobody knows how long a run is.
pub fn of_unknown_length(plan: &Plan) -> usize {
    plan.scenarios.iter().filter(|scenario| run_seconds(plan, scenario) == 0.0).count()
}

/// Bytes that the study needs at once in the work folder: image files, and the loaded data that trials copy.
pub fn space_needed(plan: &Plan) -> u64 {
    images_bytes(plan).saturating_add(template_bytes(plan))
}

/// Bytes of the image files of all that is up at the same time.
pub fn images_bytes(plan: &Plan) -> u64 {
    image_bytes(plan).saturating_mul(groups::up_max_of(plan) as u64)
}

/// Bytes of the image files of one trial.
pub(crate) fn image_bytes(plan: &Plan) -> u64 {
    images(plan).values().sum()
}

/// The image files of one trial, from the folder of its images, with their bytes.
fn images(plan: &Plan) -> BTreeMap<String, u64> {
    let mut images = BTreeMap::new();
    for scenario in &plan.scenarios {
        images.extend(storage::images(&scenario.storage));
        for (name, volume) in &scenario.volumes {
            let of_volume = storage::images(volume).into_iter();
            images.extend(of_volume.map(|(image, bytes)| (format!("{name}/{image}"), bytes)));
        }
    }
    images
}

/// Of [`space_needed`], the bytes that are in the work folder already: images where this study has them, and the loaded data that are kept. Images
/// of another size, or of trials that took turns, are none of its own.
pub fn space_there(plan: &Plan, work: &Path) -> u64 {
    // As `turns::places` has them, but made by nobody.
    let places: Vec<PathBuf> = match plan.drawn.order {
        Order::Blocks => vec![work.into()],
        Order::Turns => (0..groups::up_max_of(plan)).map(|slot| work.join("slots").join(slot.to_string())).collect(),
    };
    let images = images(plan);
    let of_place = |place: &PathBuf| {
        let folder = Work::images_in(place);
        images.keys().filter_map(|image| folder.join(image).metadata().ok()).map(|data| data.len()).sum::<u64>()
    };
    // On the host, and on the disk that guests keep theirs on.
    let kept = ["cache", "guest"].iter().filter_map(|folder| space_of_folder(&work.join(folder))).sum::<u64>();
    places.iter().map(of_place).sum::<u64>().saturating_add(kept.min(template_bytes(plan)))
}

/// A server's files without any rows, about: MariaDB's are the largest.
const EMPTY_SERVER_BYTES: u64 = 160 << 20;

pub(crate) fn template_bytes(plan: &Plan) -> u64 {
    templates(plan).values().map(|template| template.bytes).sum()
}

/// Whether the data of these servers are loaded once, and trials copy them.
fn are_copied(services: &[Wanted]) -> bool {
    !services.is_empty() && services.iter().all(|service| !service.loads_anew)
}

/// Loaded data that trials copy.
struct Template {
    bytes: u64,
    seconds: f64,
}

/// The databases that it is of, and the words that tell the data: a site is the same whichever server serves it.
type TemplateKey = (Vec<&'static str>, String);

/// Those of a study.
fn templates(plan: &Plan) -> BTreeMap<TemplateKey, Template> {
    plan.scenarios.iter().filter_map(template).collect()
}

/// What the trials of a scenario copy.
fn template(scenario: &PlannedScenario) -> Option<(TemplateKey, Template)> {
    let load = workloads::settings(&scenario.workload, &scenario.parameters)?;
    let services = services::wanted(&load.services(), &scenario.services);
    if !are_copied(&services) {
        return None;
    }
    let databases = services.iter().map(|service| service.kind).filter(|kind| kind.is_database);
    let names: Vec<&'static str> = databases.map(|kind| kind.name).collect();
    let empty = names.len() as u64 * EMPTY_SERVER_BYTES;
    let estimate = load.estimate();
    // What only grows in the runs is in no template.
    let rows = if estimate.load_seconds > 0.0 { estimate.data_bytes } else { 0 };
    let template = Template { bytes: empty + rows, seconds: estimate.load_seconds * slowness(scenario) };
    Some(((names, load.data_key()), template))
}

/// What a scenario's virtual disks take of the memory when all of them is written to.
pub fn virtual_bytes(scenario: &PlannedScenario) -> u64 {
    volumes(scenario).filter(|settings| settings.device == Device::Virtual).map(|settings| settings.size).sum()
}

/// Of its size a filesystem has so much for data, about: ext4's inode tables take 1.6 %, and it keeps 5 % for root.
const FILESYSTEM_SHARE_MAX: f64 = 0.95;

/// That the data of a scenario do not fit on its filesystem, where the study says how large that is.
pub fn outgrown(scenario: &PlannedScenario) -> Option<String> {
    let load = workloads::settings(&scenario.workload, &scenario.parameters)?;
    let (data, size, fill) = (load.estimate().data_bytes, scenario.storage.size, scenario.storage.fill);
    let room = size as f64 * (FILESYSTEM_SHARE_MAX - fill).max(0.0);
    (is_sized(&scenario.storage) && data as f64 > room).then(|| {
        let (data, size) = (format_bytes(data), format_bytes(size));
        let filled =
            if fill > 0.0 { format!(" that is filled to {:.0} % before", fill * 100.0) } else { String::new() };
        format!(
            "the data take about {data}, which a filesystem of {size}{filled} does not hold: make storage.size larger"
        )
    })
}

/// Whether the data of a scenario fit into the memory that its trials have, and the load does not go past the page cache.
pub fn fits_into_memory(scenario: &PlannedScenario) -> bool {
    if scenario.parameters.get("direct").is_some_and(|direct| *direct == true) {
        return false;
    }
    let guest = (!scenario.guest.is_empty()).then(|| guest::memory_bytes(&scenario.guest));
    let machine = Some(observe::machine::memory_bytes()).filter(|bytes| *bytes > 0);
    let limit = [guest, scenario.memory_bytes, machine].into_iter().flatten().min();
    workloads::settings(&scenario.workload, &scenario.parameters).is_some_and(|load| {
        let data = load.estimate().data_bytes;
        data > 0 && limit.is_some_and(|limit| data < limit)
    })
}
