//! `surefoot plan STUDY`: what a study would do; touches nothing.

use crate::cli::PlanArgs;
use crate::failure::{Failure, Status};
use crate::source;
use lab::work::Work;
use settings::quantity::{format_bytes, format_seconds};
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::path::Path;
use storage::{Device, StorageSettings};
use study::screen::{KEPT_MAX, Screen};
use study::trial_spec::Cache;
use study::{Mode, Plan, PlannedScenario};

/// Seconds a trial spends on provisioning, settling and teardown, roughly: 0.4 to 0.5 s on a 1 GiB loop device (2026-11-21,
/// two cores, all filesystems), and as much again for caution.
const PROVISION_SECONDS: f64 = 1.0;

/// Pick, runner-up and baseline.
const FINALISTS: usize = 3;

/// Prints the plan.
pub fn run(args: &PlanArgs) -> Result<Status, Failure> {
    for (option, is_given) in [("--results", args.study.results.is_some()), ("--work", args.study.work.is_some())] {
        if is_given {
            let error = anyhow::anyhow!("`{option}` has no effect on a plan, which touches nothing");
            return Err(Failure::new(Status::BadStudy, error).hint("leave it out, and give it to `surefoot run`"));
        }
    }
    let loaded = source::load(&args.study)?;
    let plan = &loaded.plan;
    let missing = missing(plan);
    let refused = refused(plan, &loaded.work).into_iter().map(|(label, error)| (label, in_words(&error)));
    let refused: Vec<(String, String)> = refused.collect();
    if args.json {
        println!("{:#}", json(plan, &missing, &refused));
        return Ok(Status::Answered);
    }
    println!("{}: {}\n", plan.name, plan.question);
    println!("scenarios ({}):", plan.scenarios.len());
    let screened: BTreeSet<usize> = plan.screens.iter().flat_map(|screen| screen.scenarios.iter().copied()).collect();
    for (index, scenario) in plan.scenarios.iter().enumerate() {
        let mark = match (scenario.baseline, screened.contains(&index)) {
            (true, _) => "  (baseline)",
            (false, true) => "  (screened)",
            (false, false) => "",
        };
        let durability = lab::durability::of(scenario);
        println!("  {}{mark} · {}", scenario.label, durability.class.words());
    }
    totals(plan);
    for warning in warnings(plan) {
        println!("note:       {warning}");
    }
    for (label, what) in &missing {
        println!("missing:    {label}: {what}");
    }
    for (label, why) in &refused {
        println!("refused:    {label}: {why}");
    }
    Ok(Status::Answered)
}

fn totals(plan: &Plan) {
    let design = &plan.design;
    let round_seconds: f64 = plan.scenarios.iter().map(|scenario| trial_seconds(plan, scenario)).sum();
    let studied = studied_max(plan);
    let trials = |rounds: u32| rounds as usize * studied;
    let (low, high) = (design.rounds_min, design.rounds_max);
    let until = match design.mode {
        Mode::Full => "every primary contrast is known",
        Mode::Tune => "one scenario is left, or all that are left are known against each other",
    };
    println!();
    plan.screens.iter().for_each(|screen| print_screen(screen, design.screen_rounds));
    for (workload, reason) in &plan.unscreened {
        println!("no screen:  of {workload}: {reason}");
    }
    println!("rounds:     {low} to {high}, until {until} within {:.3} %", design.precision * 100.0);
    if design.mode == Mode::Tune {
        println!("            from round 4 on, what is shown to be worse is measured no further");
    }
    let confirmation = design.confirmation_rounds();
    let finalists = plan.scenarios.iter().filter(|scenario| !scenario.control).count().min(FINALISTS);
    if confirmation > 0 {
        println!("then:       {confirmation} new rounds of pick, runner-up and baseline");
    }
    let confirmed = confirmation as usize * finalists;
    let trial_seconds = round_seconds / plan.scenarios.len().max(1) as f64;
    let beside = confirmed + screen_trials(plan);
    let time = |rounds: u32| format_seconds(trial_seconds * (trials(rounds) + beside) as f64);
    if design.mode == Mode::Tune || !plan.screens.is_empty() {
        println!("trials:     at most {}", trials(high) + beside);
        println!("time:       at most about {}", time(high));
    } else {
        println!("trials:     {} to {}", trials(low) + beside, trials(high) + beside);
        println!("time:       about {} to {}", time(low), time(high));
    }
    if let Some(budget) = design.time_budget_seconds {
        println!("budget:     {}", format_seconds(budget));
    }
    print_power_cuts(plan);
    println!("disk space: {} in the work folder", format_bytes(space_needed(plan)));
    let in_memory = plan.scenarios.iter().map(virtual_bytes).max().unwrap_or_default();
    if in_memory > 0 {
        println!("memory:     up to {} for virtual disks", format_bytes(in_memory));
    }
}

/// What `[safety]` adds, after the rounds.
fn print_power_cuts(plan: &Plan) {
    let Some(safety) = &plan.safety else { return };
    let scenarios = || plan.scenarios.iter().filter(|scenario| !scenario.control);
    let reasons: Vec<(&str, String)> =
        scenarios().filter_map(|one| Some((&*one.label, lab::safety::why_not(one, safety)?))).collect();
    let count = scenarios().count() - reasons.len();
    let each = safety.budget_seconds + safety.time_seconds + PROVISION_SECONDS;
    println!("power cuts: of {count} scenarios, about {}", format_seconds(each * count as f64));
    for (label, reason) in reasons {
        println!("            not of {label}: {reason}");
    }
}

fn screen_trials(plan: &Plan) -> usize {
    plan.screens.iter().map(|screen| screen.scenarios.len()).sum::<usize>() * plan.design.screen_rounds as usize
}

/// Scenarios of the main rounds, at most.
fn studied_max(plan: &Plan) -> usize {
    let left_out = |screen: &Screen| screen.of - screen.kept_max();
    plan.scenarios.len() - plan.screens.iter().map(left_out).sum::<usize>()
}

/// The stages that a screen makes, and what can't be seen so: known before anything runs.
fn print_screen(screen: &Screen, rounds: u32) {
    let (factors, count) = (screen.factors.len(), screen.scenarios.len());
    let trials = count * rounds as usize;
    println!(
        "screen:     {factors} factors of {} in {count} of {} scenarios, {rounds} rounds, {trials} trials:",
        screen.workload, screen.of
    );
    println!("            {}", screen.words());
    println!(
        "            then every combination of those that matter, {KEPT_MAX} factors and {} scenarios at most;",
        screen.kept_max()
    );
    println!("            the others stay at the baseline's levels");
    println!("            it can't see:");
    screen.unseen().iter().for_each(|what| println!("            - {what}"));
    let last = |path: &str| path.rsplit('.').next().unwrap_or(path).to_string();
    let sums = screen.alike();
    if !sums.is_empty() {
        println!("            seen as a sum only:");
    }
    for pairs in sums {
        let pairs: Vec<String> = pairs.iter().map(|[a, b]| format!("{} × {}", last(a), last(b))).collect();
        println!("            - {}", pairs.join(" with "));
    }
}

/// The length of the rounds that the study has at least, roughly.
pub fn expected_seconds(plan: &Plan) -> f64 {
    let round: f64 = plan.scenarios.iter().map(|scenario| trial_seconds(plan, scenario)).sum();
    round * f64::from(plan.design.rounds_min)
}

/// A trial's length, roughly.
fn trial_seconds(plan: &Plan, scenario: &PlannedScenario) -> f64 {
    let Some(kind) = workloads::kind(&scenario.workload) else { return 0.0 };
    let estimate = (kind.estimate)(&scenario.parameters);
    let runs = f64::from(plan.design.warm_up_runs + plan.design.runs);
    PROVISION_SECONDS + estimate.load_seconds + runs * estimate.run_seconds
}

/// Bytes that the study needs at once in the work folder: image files, and the loaded data that trials copy.
#[must_use]
pub fn space_needed(plan: &Plan) -> u64 {
    image_bytes(plan) + template_bytes(plan)
}

fn image_bytes(plan: &Plan) -> u64 {
    let mut images = BTreeMap::new();
    for scenario in &plan.scenarios {
        images.extend(storage::images(&StorageSettings::from_map(&scenario.storage)));
        for (name, volume) in &scenario.volumes {
            let of_volume = storage::images(&StorageSettings::from_map(volume)).into_iter();
            images.extend(of_volume.map(|(image, bytes)| (format!("{name}/{image}"), bytes)));
        }
    }
    images.values().sum()
}

/// A server's files without any rows, about: MariaDB's are the largest.
const EMPTY_SERVER_BYTES: u64 = 160 << 20;

fn template_bytes(plan: &Plan) -> u64 {
    let mut templates = BTreeMap::new();
    for scenario in &plan.scenarios {
        let Some(kind) = workloads::kind(&scenario.workload) else { continue };
        let services = services::wanted(&(kind.services)(&scenario.parameters), &scenario.services);
        if services.is_empty() {
            continue;
        }
        let names: Vec<&str> = services.iter().map(|service| service.kind.name).collect();
        let empty = services.iter().filter(|service| service.kind.is_database).count() as u64 * EMPTY_SERVER_BYTES;
        let estimate = (kind.estimate)(&scenario.parameters);
        // What only grows in the runs is in no template.
        let rows = if estimate.load_seconds > 0.0 { estimate.data_bytes } else { 0 };
        templates.insert((names, (kind.data_key)(&scenario.parameters)), empty + rows);
    }
    templates.values().sum()
}

/// What this machine lacks, scenario by scenario.
#[must_use]
pub fn missing(plan: &Plan) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for scenario in &plan.scenarios {
        let in_guest = scenario.bench == "guest";
        let of_bench = if in_guest { missing_in_guest(scenario) } else { missing_on_host(plan, scenario) };
        all.extend(of_bench.into_iter().map(|what| (scenario.label.clone(), what)));
        for missing in missing_services(scenario) {
            all.push((scenario.label.clone(), format!("{}; {}", missing.what, missing.remedy)));
        }
    }
    all
}

/// The block devices that `run` will not touch, each once, with the first scenario that names it and why.
#[must_use]
pub fn refused(plan: &Plan, work: &Path) -> Vec<(String, storage::Error)> {
    let images = Work::images_in(work);
    let mut asked = BTreeSet::new();
    let mut all = Vec::new();
    for scenario in &plan.scenarios {
        let own = std::iter::once((images.clone(), &scenario.storage));
        let further = scenario.volumes.iter().map(|(name, volume)| (images.join(name), volume));
        for (images, settings) in own.chain(further) {
            let settings = StorageSettings::from_map(settings);
            // A filesystem that needs more room than another is a question of its own.
            let question = (settings.path.clone(), settings.wipe.clone(), settings.filesystem.clone(), images.clone());
            if settings.device == Device::Block && asked.insert(question) {
                let label = scenario.label.clone();
                all.extend(storage::check_device(&settings, &images).err().map(|error| (label, error)));
            }
        }
    }
    all
}

fn in_words(error: &storage::Error) -> String {
    match error.source() {
        // It names the device itself.
        Some(reason) if error.is_refusal() => reason.to_string(),
        Some(reason) => format!("{error}: {reason}"),
        None => error.to_string(),
    }
}

fn volumes(scenario: &PlannedScenario) -> impl Iterator<Item = StorageSettings> {
    std::iter::once(&scenario.storage).chain(scenario.volumes.values()).map(StorageSettings::from_map)
}

/// What its virtual disks take of the memory when all of them is written to.
fn virtual_bytes(scenario: &PlannedScenario) -> u64 {
    volumes(scenario).filter(|settings| settings.device == Device::Virtual).map(|settings| settings.size).sum()
}

fn missing_on_host(plan: &Plan, scenario: &PlannedScenario) -> Vec<String> {
    let mut all: Vec<String> = volumes(scenario)
        .flat_map(|settings| storage::missing(&settings))
        .map(|missing| format!("{}; {}", missing.what, missing.remedy))
        .collect();
    let (wanted, available) = (virtual_bytes(scenario), observe::machine::available_bytes());
    if wanted > available {
        let (wanted, available) = (format_bytes(wanted), format_bytes(available));
        all.push(format!("virtual disks lie in memory: they have {wanted}, and this machine has {available} to give; smaller: storage.size"));
    }
    if scenario.memory_bytes.is_some() && !lab::memory_limit::available() {
        all.push("`memory` needs a cgroup memory controller that may be written".into());
    }
    if plan.design.cache == Cache::Cold && !storage::may_drop_caches() {
        all.push("cache = \"cold\": only root may drop the page cache; run as root, or use \"warm\"".into());
    }
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    for cpu in scenario.client_cpus.iter().chain(&scenario.server_cpus).filter(|cpu| **cpu >= processors) {
        all.push(format!("there is no CPU {cpu}; this machine has 0 to {}", processors - 1));
    }
    all
}

fn missing_in_guest(scenario: &PlannedScenario) -> Vec<String> {
    let kernel = match lab::bench::guest::kernel(&scenario.guest) {
        Ok(kernel) => kernel,
        Err(error) => {
            return vec![format!("{error}; install the package user-mode-linux, or name one with guest.kernel")];
        }
    };
    let has = |module: &str| kernel.has(module);
    let mut all: Vec<String> = volumes(scenario)
        .flat_map(|settings| storage::missing_in_guest(&settings, &has))
        .map(|missing| format!("{}; {}", missing.what, missing.remedy))
        .collect();
    if !lab::isolation::available() {
        let remedy = "run as root, or allow user namespaces: kernel.unprivileged_userns_clone=1";
        all.push(format!("a guest kernel needs namespaces, which this kernel refuses; {remedy}"));
    }
    let (wanted, available) = (lab::bench::guest::memory_bytes(&scenario.guest), observe::machine::available_bytes());
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

fn missing_services(scenario: &study::PlannedScenario) -> Vec<services::service::Missing> {
    let names =
        workloads::kind(&scenario.workload).map(|kind| (kind.services)(&scenario.parameters)).unwrap_or_default();
    let wanted = services::wanted(&names, &scenario.services);
    wanted.iter().filter_map(|service| (service.kind.missing)(&service.settings)).collect()
}

/// What makes the answer smaller than it looks.
fn warnings(plan: &Plan) -> Vec<String> {
    let memory = observe::machine::memory_bytes();
    let fits = plan.scenarios.iter().any(|scenario| {
        let guest = (!scenario.guest.is_empty()).then(|| lab::bench::guest::memory_bytes(&scenario.guest));
        let limit = guest.or(scenario.memory_bytes).unwrap_or(memory);
        workloads::kind(&scenario.workload).is_some_and(|kind| {
            let data = (kind.estimate)(&scenario.parameters).data_bytes;
            data > 0 && data < limit
        })
    });
    let mut all = Vec::new();
    if fits {
        all.push("the data fits into memory: only flushes reach the device; `memory = \"1GiB\"` limits a trial, guest.memory a guest".into());
    }
    let mut classes: Vec<_> = plan.scenarios.iter().map(|scenario| lab::durability::of(scenario).class).collect();
    classes.sort_unstable();
    classes.dedup();
    if classes.len() > 1 {
        all.push("the scenarios promise different durability: a difference in speed is not like with like".into());
    }
    all
}

fn json(plan: &Plan, missing: &[(String, String)], refused: &[(String, String)]) -> serde_json::Value {
    let scenarios: Vec<_> = plan
        .scenarios
        .iter()
        .map(|scenario| {
            serde_json::json!({
                "label": scenario.label, "levels": scenario.levels, "workload": scenario.workload,
                "control": scenario.control, "durability": lab::durability::of(scenario),
                "storage": scenario.storage, "parameters": scenario.parameters,
                "estimated_seconds": trial_seconds(plan, scenario),
            })
        })
        .collect();
    let missing: Vec<_> =
        missing.iter().map(|(scenario, what)| serde_json::json!({ "scenario": scenario, "what": what })).collect();
    let refused: Vec<_> =
        refused.iter().map(|(scenario, why)| serde_json::json!({ "scenario": scenario, "why": why })).collect();
    serde_json::json!({
        "name": plan.name, "question": plan.question, "hash": plan.hash, "baseline": plan.scenarios[plan.baseline].label,
        "rounds_min": plan.design.rounds_min, "rounds_max": plan.design.rounds_max,
        "mode": if plan.design.mode == Mode::Tune { "tune" } else { "full" },
        "confirmation_rounds": plan.design.confirmation_rounds(),
        "screens": plan.screens.iter().map(|screen| screen_json(screen, plan)).collect::<Vec<_>>(), "unscreened": plan.unscreened,
        "scenarios": scenarios, "space_bytes": space_needed(plan), "missing": missing, "refused": refused, "notes": warnings(plan),
    })
}

fn screen_json(screen: &Screen, plan: &Plan) -> serde_json::Value {
    let labels: Vec<&str> = screen.scenarios.iter().map(|index| plan.scenarios[*index].label.as_str()).collect();
    serde_json::json!({
        "workload": screen.workload, "design": screen.words(), "rounds": plan.design.screen_rounds, "scenarios": labels,
        "of": screen.of, "studied_max": screen.kept_max(), "unseen": screen.unseen(), "alike": screen.alike(),
    })
}
