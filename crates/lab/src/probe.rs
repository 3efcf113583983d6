//! The ceilings of a study: what its devices and CPUs can give, measured by one trial for each device before the first round.
//!
//! A probe is a trial like any other (same bench, same isolation, same guard before its mkfs) with a plain filesystem on the
//! scenarios' device. Its figures go to the ledger beside the trials. A probe that fails costs the study its ceilings only.

use crate::bench::{Bench, End};
use crate::conductor::Error;
use crash::plan::{Plan, PlannedScenario, TrialSpec};
use ledger::model::Probe;
use load::engines;
use observe::record::Record;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use storage::Device;
use study::Order;
use study::trial_spec::Ineffective;
use workloads::probe::{KIND, Settings};

/// Share of a study's expected time that probes may measure.
const STUDY_SHARE: f64 = 0.05;
/// In less than this nothing can be measured that is worth a ceiling: such a short study has no probe unless it asks for one.
const SECONDS_MIN: f64 = 1.0;
/// Longer measuring brings nothing that a ceiling needs.
const SECONDS_MAX: f64 = 4.0;
/// Devices that are probed; a factor of many delays would be one of many probes.
const PROBES_MAX: usize = 4;
/// A probe that takes longer, provisioning included, is given up; of a block device, one that takes longer than trials may.
const TIMEOUT_SECONDS: f64 = 60.0;

/// What is read and written where no database has other pages.
const BLOCK: usize = 4096;

/// How long a study's probes measure, all together: what the study says, else a part of its expected time. None: not at all.
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
        let mut hear = |record: Record| {
            if let Record::Run(run) = record {
                let of_probe = run.metrics.into_iter().filter(|measured| is_of_probe(&measured.metric.name));
                figures.extend(of_probe.map(|measured| (measured.metric.name.to_string(), measured.value)));
            }
        };
        let end = match plan.drawn.order {
            Order::Blocks => bench.run(&spec, interrupted, &mut hear)?,
            // Where trials have their images: anywhere else it would have to write one first.
            Order::Turns => bench.run_by_turns(&[spec], &[], interrupted, &mut |_, record| hear(record))?.remove(0),
        };
        let failure = match end {
            End::Finished => None,
            End::Failed(failure) => Some(format!("{}: {}", failure.step, failure.causes.join(": "))),
            End::Interrupted => return Ok(()),
        };
        let scenarios = family.iter().map(|scenario| scenario.label.clone()).collect();
        sink(&Probe { scenarios, figures, failure, member: None })?;
    }
    let rest = families.iter().skip(PROBES_MAX).flatten().map(|scenario| scenario.label.clone());
    let scenarios: Vec<String> = rest.collect();
    if !scenarios.is_empty() {
        let failure = Some(format!("only the first {PROBES_MAX} of {} devices are probed", families.len()));
        sink(&Probe { scenarios, figures: BTreeMap::new(), failure, member: None })?;
    }
    Ok(())
}

/// The telemetry of the probe's own run is of no use.
fn is_of_probe(name: &str) -> bool {
    ["cpu_steps", "sequential_", "random_", "flushes_per_second"].iter().any(|prefix| name.starts_with(prefix))
}

/// Scenarios that share bench and device.
fn families(plan: &Plan) -> Vec<Vec<&PlannedScenario>> {
    let mut families: Vec<Vec<&PlannedScenario>> = Vec::new();
    for scenario in &plan.scenarios {
        let is_like = |other: &PlannedScenario| {
            (other.bench, &other.guest, other.storage.plain())
                == (scenario.bench, &scenario.guest, scenario.storage.plain())
        };
        match families.iter_mut().find(|family| is_like(family[0])) {
            Some(family) => family.push(scenario),
            None => families.push(vec![scenario]),
        }
    }
    families
}

fn spec(plan: &Plan, family: &[&PlannedScenario], seconds: f64) -> TrialSpec {
    let first = family.first().expect("a family has a scenario");
    let storage = first.storage.plain();
    let block_sizes = if storage.device == Device::Tmpfs { Vec::new() } else { block_sizes(family) };
    let settings = serde_json::to_value(Settings { seconds, block_sizes }).expect("settings are plain data");
    let Value::Object(parameters) = settings else { unreachable!("a struct becomes an object") };
    TrialSpec {
        guest: first.guest.clone(),
        parameters,
        timeout_seconds: timeout_seconds(plan, storage.device),
        ineffective_options: Ineffective::Warn,
        ..TrialSpec::single(&plan.name, KIND.name, KIND.name, first.bench, plan.drawn.seed, storage)
    }
}

/// The guard refuses a block device that a killed trial had, so that the study would lose all others; its looks at a large disk take half a minute each.
fn timeout_seconds(plan: &Plan, device: Device) -> f64 {
    if device == Device::Block { plan.design.trial_timeout_seconds.max(TIMEOUT_SECONDS) } else { TIMEOUT_SECONDS }
}

fn block_sizes(family: &[&PlannedScenario]) -> Vec<usize> {
    let uses = |service: &str| {
        let is_it = |scenario: &&PlannedScenario| {
            workloads::settings(&scenario.workload, &scenario.parameters)
                .is_some_and(|load| load.services().contains(&service))
        };
        family.iter().any(is_it)
    };
    let served = engines::all().iter().filter(|engine| engine.service().is_some_and(uses));
    let pages = served.map(|engine| engine.page_bytes).filter(|bytes| *bytes != BLOCK);
    std::iter::once(BLOCK).chain(pages).collect()
}
