//! The ceilings of a study: what its devices and CPUs can give, measured by one trial for each device before the first round.
//!
//! A probe is a trial like any other (same bench, same walls, same guard before its mkfs) with a plain filesystem on the
//! scenarios' device. Its figures go to the ledger beside the trials. A probe that fails costs the study its ceilings only.

use crate::bench::{Bench, End};
use crate::conductor::Error;
use ledger::model::Probe;
use observe::record::Record;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use study::trial_spec::{Ineffective, TrialSpec};
use study::{Plan, PlannedScenario};
use workloads::probe::{KIND, Settings};

/// Share of a study's expected time that probes may measure.
const STUDY_SHARE: f64 = 0.05;
/// In less than this nothing can be measured that is worth a ceiling: such a short study has no probe unless it asks for one.
const SECONDS_MIN: f64 = 1.0;
/// Longer measuring brings nothing that a ceiling needs.
const SECONDS_MAX: f64 = 4.0;
/// Devices that are probed; a factor of many delays would be one of many probes.
const PROBES_MAX: usize = 4;
/// A probe that takes longer, provisioning included, is given up.
const TIMEOUT_SECONDS: f64 = 60.0;

/// Settings of `[storage]` that make the filesystem and not the device below it.
const OF_FILESYSTEM: [&str; 8] = ["filesystem", "preset", "mkfs", "mount", "fill", "age", "check", "external_log"];

/// Pages of databases beside 4 KiB, which the rest reads and writes: PostgreSQL's and InnoDB's defaults.
const PAGES: [(&str, usize); 2] = [("postgres", 8192), ("mariadb", 16_384)];
const BLOCK: usize = 4096;

/// How long a study's probes measure, all together: what the study says, else a part of its expected time. None: not at all.
#[must_use]
pub fn seconds(plan: &Plan, expected_seconds: f64) -> Option<f64> {
    match plan.design.probe_seconds {
        Some(asked) => Some(asked).filter(|asked| *asked > 0.0),
        None => Some((expected_seconds * STUDY_SHARE).min(SECONDS_MAX)).filter(|found| *found >= SECONDS_MIN),
    }
}

/// Probes each device of a plan, or the first few, and hands out what was found.
///
/// # Errors
/// When no trial could be started at all.
pub fn probe(
    plan: &Plan,
    seconds: f64,
    bench: &mut dyn Bench,
    interrupted: &AtomicBool,
    sink: &mut dyn FnMut(&Probe) -> Result<(), ledger::Error>,
) -> Result<(), Error> {
    let families = families(plan);
    let share = seconds / families.len().clamp(1, PROBES_MAX) as f64;
    for family in families.iter().take(PROBES_MAX) {
        let spec = spec(plan, family, share);
        let mut figures = BTreeMap::new();
        let end = bench.run(&spec, interrupted, &mut |record| {
            if let Record::Run(run) = record {
                let of_probe = run.metrics.into_iter().filter(|measured| is_of_probe(&measured.metric.name));
                figures.extend(of_probe.map(|measured| (measured.metric.name.to_string(), measured.value)));
            }
        })?;
        let failure = match end {
            End::Finished => None,
            End::Failed(failure) => Some(format!("{}: {}", failure.step, failure.causes.join(": "))),
            End::Interrupted => return Ok(()),
        };
        let scenarios = family.iter().map(|scenario| scenario.label.clone()).collect();
        sink(&Probe { scenarios, figures, failure })?;
    }
    let rest = families.iter().skip(PROBES_MAX).flatten().map(|scenario| scenario.label.clone());
    let scenarios: Vec<String> = rest.collect();
    if !scenarios.is_empty() {
        let failure = Some(format!("only the first {PROBES_MAX} of {} devices are probed", families.len()));
        sink(&Probe { scenarios, figures: BTreeMap::new(), failure })?;
    }
    Ok(())
}

/// The telemetry of the probe's own run is of no use.
fn is_of_probe(name: &str) -> bool {
    ["cpu_steps", "sequential_", "random_", "flushes_per_second"].iter().any(|prefix| name.starts_with(prefix))
}

/// Scenarios that share bench and device.
fn families(plan: &Plan) -> Vec<Vec<&PlannedScenario>> {
    let mut families: Vec<(Value, Vec<&PlannedScenario>)> = Vec::new();
    for scenario in &plan.scenarios {
        let mut device = scenario.storage.clone();
        device.retain(|name, _| !OF_FILESYSTEM.contains(&name.as_str()));
        let key = json!([scenario.bench, scenario.guest, device]);
        match families.iter_mut().find(|family| family.0 == key) {
            Some(family) => family.1.push(scenario),
            None => families.push((key, vec![scenario])),
        }
    }
    families.into_iter().map(|family| family.1).collect()
}

fn spec(plan: &Plan, family: &[&PlannedScenario], seconds: f64) -> TrialSpec {
    let first = family.first().expect("a family has a scenario");
    let block_sizes = if first.storage.get("device").is_some_and(|device| device == "tmpfs") {
        Vec::new()
    } else {
        block_sizes(family)
    };
    let settings = serde_json::to_value(Settings { seconds, block_sizes }).expect("settings are plain data");
    let Value::Object(parameters) = settings else { unreachable!("a struct becomes an object") };
    TrialSpec {
        guest: first.guest.clone(),
        storage: plain(&first.storage),
        parameters,
        timeout_seconds: TIMEOUT_SECONDS,
        ineffective_options: Ineffective::Warn,
        ..TrialSpec::single(&plan.name, KIND.name, KIND.name, &first.bench, plan.design.seed)
    }
}

/// The same device with a filesystem that adds nothing of its own: ext4 without a journal, on which writing to a file that is
/// there and flushing it is one write and one flush.
fn plain(storage: &Map<String, Value>) -> Map<String, Value> {
    let mut plain = storage.clone();
    let own = json!({
        "filesystem": "ext4", "preset": null, "mkfs": ["-O", "^has_journal"], "mount": ["noatime"],
        "fill": 0.0, "age": 0, "check": false, "external_log": 0,
    });
    plain.extend(own.as_object().cloned().unwrap_or_default());
    plain
}

fn block_sizes(family: &[&PlannedScenario]) -> Vec<usize> {
    let uses = |engine: &str| {
        let is_it = |scenario: &&PlannedScenario| {
            let kind = workloads::kind(&scenario.workload);
            kind.is_some_and(|kind| (kind.services)(&scenario.parameters).contains(&engine))
        };
        family.iter().any(is_it)
    };
    let pages = PAGES.iter().filter(|(engine, _)| uses(engine)).map(|(_, bytes)| *bytes);
    std::iter::once(BLOCK).chain(pages).collect()
}
