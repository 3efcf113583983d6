//! What a power cut takes from each scenario: one trial each, on a recording disk and on this machine's kernel, after the rounds.
//!
//! The trial has the scenario's filesystem and its options; the load is `commits`, with the scenario's server and its settings, or
//! `replacements`, which needs no server. Both know what must be there afterwards.

use crate::bench::{self, Bench, End};
use crate::drive::Drive;
use observe::record::{Failure, Record};
use observe::safety::Safety;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use storage::{Device, StorageSettings};
use study::trial_spec::{Cache, Cut, TrialSpec};
use study::{Load, Plan, PlannedScenario};
use workloads::workload::Kind;
use workloads::{commits, replacements};

/// Provisioning, the load and the way back, beside what may be spent on recoveries.
const BESIDE_SECONDS: f64 = 180.0;

/// What the load here leaves is recovered in about a second, and on a busy machine in a few.
const RECOVERY_SECONDS_MAX: f64 = 60.0;

/// Whose data the load knows how to look at after a cut.
const ENGINES: [&str; 3] = ["sqlite", "postgres", "mariadb"];

/// Names of settings that the load of a measurement has itself; a scenario's own of these names mean another load.
const OF_THE_LOAD: [&str; 9] =
    ["connections", "time", "pause", "payload", "checkpoint_every", "witness", "seed", "acknowledge", METHOD];

/// The load's setting that `safety.files` is.
const METHOD: &str = "method";

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
    if scenario.bench != "host" {
        return Some(format!("bench = \"{}\": recording disks are on this machine's kernel only", scenario.bench));
    }
    if storage.device != Device::Loop {
        return Some("only scenarios on image files (device = \"loop\") can be moved to a recording disk".into());
    }
    if !scenario.volumes.is_empty() || storage.stripe > 1 || storage.external_log_bytes() > 0 {
        return Some("it has more than one disk, and one is recorded".into());
    }
    let commits = ["oltp", "tpcb"].contains(&&*scenario.workload) && ENGINES.contains(&engine);
    if settings.load == Load::Commits && !commits {
        let workload = &scenario.workload;
        return Some(format!(
            "of {workload} on {engine} nobody knows which commits must be there; load = \"files\" measures files that are replaced"
        ));
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
    let mut safety = None;
    let end = bench.run(&spec(plan, scenario, settings), interrupted, &mut |record| {
        watch(&record);
        if let Record::Safety(found) = record {
            safety = Some(found);
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
        (End::Failed(failure), _) => Ended::Not(failure),
        (End::Interrupted, _) => Ended::Interrupted,
    })
}

fn spec(plan: &Plan, scenario: &PlannedScenario, settings: &study::Safety) -> TrialSpec {
    let cut = Cut {
        budget_seconds: settings.budget_seconds,
        unit_bytes: settings.unit.bytes(),
        cache: settings.cache.clone(),
        profile: settings.profile.clone(),
        log_bytes_max: settings.log_bytes_max,
        recovery_seconds_max: RECOVERY_SECONDS_MAX,
    };
    let drive = Drive::new(&cut).expect("a study's names are the disk's");
    let load = load(settings);
    let mut spec = TrialSpec {
        study: plan.name.clone(),
        scenario: scenario.label.clone(),
        round: 0,
        position: 0,
        seed: plan.design.seed,
        bench: scenario.bench.clone(),
        guest: Map::new(),
        storage: scenario.storage.clone(),
        volumes: BTreeMap::new(),
        services: if settings.load == Load::Commits { scenario.services.clone() } else { BTreeMap::new() },
        workload: load.name.into(),
        parameters: parameters(load, scenario, settings),
        memory_bytes: None,
        server_cpus: Vec::new(),
        client_cpus: Vec::new(),
        warm_up_runs: 0,
        runs: 1,
        cache: Cache::Warm,
        timeout_seconds: settings.budget_seconds + settings.time_seconds + BESIDE_SECONDS,
        ineffective_options: plan.design.ineffective_options,
        cut: Some(cut),
    };
    let row = storage::filesystem(spec.storage.get("filesystem").and_then(Value::as_str).unwrap_or("ext4"));
    let size = settings.disk_bytes.max(row.map_or(0, |row| row.bytes_min));
    let on_disk = json!({
        "device": "virtual", "size": size, "fill": 0.0, "age": 0, "check": false, "write_through": drive.rules.cache == powercut::states::Cache::WriteThrough,
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
    parameters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_study_may_choose_the_load_knows() {
        let of_study = study::SAFETY.iter().find(|setting| setting.name == "files").expect("a setting");
        let of_load = replacements::KIND.settings.iter().find(|setting| setting.name == METHOD).expect("a setting");
        assert_eq!(of_study.kind, of_load.kind);
    }
}
