//! Like with like: the durability class of a scenario, from its storage and its engine together.

use crash::plan::{PlannedScenario, volumes};
use observe::durability::Durability;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// What a power cut may take in this scenario, as far as its settings say.
pub fn of(scenario: &PlannedScenario) -> Durability {
    let storage = volumes(scenario).map(storage::durability).fold(Durability::full(), Durability::and);
    storage.and(of_load(&scenario.workload, &scenario.parameters, &scenario.services))
}

/// What the engine's settings, or those of the server it drives, do to it.
pub(crate) fn of_load(
    workload: &str,
    parameters: &Map<String, Value>,
    services: &BTreeMap<String, Map<String, Value>>,
) -> Durability {
    let Some(load) = workloads::settings(workload, parameters) else { return Durability::full() };
    let wanted = services::wanted(&load.services(), services);
    wanted.iter().fold(load.durability(), |all, service| all.and(service.settings.durability()))
}
