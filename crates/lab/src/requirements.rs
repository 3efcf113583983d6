//! What a study needs and this machine lacks, and which devices it will not get. Looks, and touches nothing.

use crate::bench::guest;
use crate::estimate::virtual_bytes;
use crate::inputs;
use crash::plan::{Plan, PlannedScenario, volumes};
use load::workload::{Elsewhere, Kind, WorkloadSettings};
use observe::affinity;
use sandbox::work::Work;
use settings::quantity::format_bytes;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use storage::Device;
use study::Bench;
use study::trial_spec::Cache;

/// A trial with servers has one of its own (`sandbox::stage`), which hides this machine's.
const SHARED_MEMORY: &str = "/dev/shm";

/// Up to so many scenarios of one cause are named.
const NAMED_MAX: usize = 2;

/// Lines for scenarios and what is said of each: those of which the same is said share one.
pub fn by_cause(all: &[(String, String)]) -> Vec<String> {
    let mut causes: Vec<(&str, Vec<&str>)> = Vec::new();
    for (label, cause) in all {
        match causes.iter_mut().find(|(known, _)| known == cause) {
            Some((_, labels)) => labels.push(label),
            None => causes.push((cause, vec![label])),
        }
    }
    let line = |(cause, labels): (&str, Vec<&str>)| match labels.len() {
        0..=NAMED_MAX => format!("{}: {cause}", labels.join(" and ")),
        many => format!("{many} scenarios, such as {}: {cause}", labels[0]),
    };
    causes.into_iter().map(line).collect()
}

/// What this machine lacks, scenario by scenario.
pub fn missing(plan: &Plan) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for scenario in &plan.scenarios {
        let in_guest = scenario.bench == Bench::Guest;
        let of_bench = if in_guest { missing_in_guest(scenario) } else { missing_on_host(plan, scenario) };
        let of_client = missing_for_client(scenario);
        // A guest's root is this machine's, so that its programs are here, too.
        let load = workloads::settings(&scenario.workload, &scenario.parameters);
        let is_driven_here = scenario.client.is_none();
        let driven = |load: &dyn WorkloadSettings| if is_driven_here { load.missing_for_load() } else { Vec::new() };
        let of_load = load.map(|load| [load.missing(), driven(&*load)].concat()).unwrap_or_default();
        let what = of_bench.into_iter().chain(of_client).chain(of_load);
        let what = what.chain(missing_services(scenario)).chain(hidden_files(scenario));
        all.extend(what.map(|what| (scenario.label.clone(), what)));
    }
    all
}

/// The block devices that `run` will not touch, each once, with the first scenario that names it and why.
pub fn refused(plan: &Plan, work: &Path) -> Vec<(String, storage::Error)> {
    let images = Work::images_in(work);
    let mut asked = BTreeSet::new();
    let mut all = Vec::new();
    for scenario in &plan.scenarios {
        let own = std::iter::once((images.clone(), &scenario.storage));
        let further = scenario.volumes.iter().map(|(name, volume)| (images.join(name), volume));
        for (images, settings) in own.chain(further) {
            // A filesystem that needs more room than another is a question of its own.
            let question = (settings.path.clone(), settings.wipe.clone(), settings.filesystem.clone(), images.clone());
            if settings.device == Device::Block && asked.insert(question) {
                let label = scenario.label.clone();
                all.extend(storage::check_device(settings, &images).err().map(|error| (label, error)));
            }
        }
    }
    all
}

fn missing_on_host(plan: &Plan, scenario: &PlannedScenario) -> Vec<String> {
    let missing = volumes(scenario).flat_map(storage::missing);
    let mut all: Vec<String> = missing.map(|missing| missing.to_string()).collect();
    let (wanted, available) = (virtual_bytes(scenario), observe::machine::available_bytes());
    if wanted > available {
        let (wanted, available) = (format_bytes(wanted), format_bytes(available));
        all.push(format!("virtual disks lie in memory: they have {wanted}, and this machine has {available} to give; smaller: storage.size"));
    }
    if scenario.memory_bytes.is_some() && !sandbox::memory_limit::available() {
        all.push("`memory` needs a cgroup memory controller that may be written".into());
    }
    if plan.design.cache == Cache::Cold && !storage::may_drop_caches() {
        all.push("cache = \"cold\": only root may drop the page cache; run as root, or use \"warm\"".into());
    }
    let usable = affinity::cpus();
    let is_there = |cpu: &&usize| usable.is_empty() || usable.contains(cpu);
    for cpu in scenario.client_cpus.iter().chain(&scenario.server_cpus).filter(|cpu| !is_there(cpu)) {
        all.push(format!("there is no CPU {cpu} here; surefoot may use {}", affinity::list(usable)));
    }
    all
}

fn missing_in_guest(scenario: &PlannedScenario) -> Vec<String> {
    let kernel = match guest::kernel(&scenario.guest) {
        Ok(kernel) => kernel,
        Err(error) => {
            return vec![format!("{error}; install the package user-mode-linux, or name one with guest.kernel")];
        }
    };
    let is_known = ::guest::kernel::modules_folder(&kernel.release).is_some();
    let has = |module: &str| !is_known || kernel.has(module);
    let missing = volumes(scenario).flat_map(|settings| storage::missing_in_guest(settings, &has));
    let mut all: Vec<String> = missing.map(|missing| missing.to_string()).collect();
    if !is_known && volumes(scenario).any(|settings| !storage::kernel_modules(settings).is_empty()) {
        let release = &kernel.release;
        all.push(format!(
            "nothing tells which filesystems the guest kernel Linux {release} has, as there is no folder /lib/modules/{release}; \
             `make ARCH=um modules_install` makes it, of a kernel that has all built in, too"
        ));
    }
    if !sandbox::isolation::available() {
        let remedy = sandbox::isolation::REMEDY;
        all.push(format!("a guest kernel needs namespaces, which this kernel refuses; {remedy}"));
    }
    let (wanted, available) = (guest::memory_bytes(&scenario.guest), observe::machine::available_bytes());
    if wanted > available {
        let (wanted, available) = (format_bytes(wanted), format_bytes(available));
        all.push(format!("guest.memory is {wanted}, and this machine has {available} to give"));
    }
    if scenario.memory_bytes.is_some() {
        all.push("`memory` limits trials on the host; a guest has guest.memory".into());
    }
    if scenario.client_cpus.iter().chain(&scenario.server_cpus).any(|cpu| *cpu > 0) {
        all.push("a guest kernel has one CPU, 0".into());
    }
    all
}

/// Why a load agent can't drive a scenario, if the study names one.
fn missing_for_client(scenario: &PlannedScenario) -> Option<String> {
    let client = scenario.client.as_ref()?;
    let is_address =
        client.rsplit_once(':').is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok());
    if !is_address {
        return Some(format!("client: {client:?} is no HOST:PORT, like \"192.0.2.7:7077\""));
    }
    let is_driven = |kind: &Kind| kind.elsewhere != Elsewhere::Nothing;
    let kind = workloads::kind(&scenario.workload)?;
    if !is_driven(kind) {
        let all: Vec<&str> = workloads::kinds().iter().filter(|kind| is_driven(kind)).map(|kind| kind.name).collect();
        return Some(format!("client: a load agent drives {}, and not `{}`", all.join(", "), kind.name));
    }
    if scenario.bench == Bench::Guest {
        return Some("client: a guest kernel has no network; use bench = \"host\"".into());
    }
    if !scenario.client_cpus.is_empty() {
        return Some("cpus.client: with a `client`, the load has another machine's CPUs".into());
    }
    let wanted = services::wanted(&(kind.read)(&scenario.parameters).services(), &scenario.services);
    match wanted.last() {
        None => Some(format!("client: `{}` on an embedded engine has no server that could be reached", kind.name)),
        Some(driven) if !driven.kind.listens => {
            Some(format!("client: `{}` can't be made to listen on a network", driven.kind.name))
        }
        Some(_) => None,
    }
}

fn missing_services(scenario: &PlannedScenario) -> Vec<String> {
    let load = workloads::settings(&scenario.workload, &scenario.parameters);
    let names = load.map(|load| load.services()).unwrap_or_default();
    let wanted = services::wanted(&names, &scenario.services);
    wanted.iter().filter_map(|service| Some(service.settings.missing()?.to_string())).collect()
}

/// The user's files that a trial's own shared memory hides.
fn hidden_files(scenario: &PlannedScenario) -> Vec<String> {
    let load = workloads::settings(&scenario.workload, &scenario.parameters);
    let is_served = load.is_some_and(|load| !load.services().is_empty());
    let is_hidden = |file: &PathBuf| {
        let is_there = file.canonicalize().is_ok_and(|file| file.starts_with(SHARED_MEMORY));
        is_there && is_served && sandbox::isolation::available()
    };
    let files = inputs::files(&scenario.workload, &scenario.parameters).into_iter().filter(is_hidden);
    let words = "lies in /dev/shm, of which a trial with a server has its own; copy it elsewhere";
    files.map(|file| format!("{} {words}", file.display())).collect()
}
