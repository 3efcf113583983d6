//! Like with like: the durability class of a scenario, from its storage and its engine together.

use observe::durability::Durability;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use storage::StorageSettings;
use study::PlannedScenario;

/// What a power cut may take in this scenario, as far as its settings say.
#[must_use]
pub fn of(scenario: &PlannedScenario) -> Durability {
    let data = storage::durability(&StorageSettings::from_map(&scenario.storage));
    let volumes = scenario.volumes.values().map(|volume| storage::durability(&StorageSettings::from_map(volume)));
    volumes.fold(data, Durability::and).and(of_load(&scenario.workload, &scenario.parameters, &scenario.services))
}

/// What the engine's settings, or those of the server it drives, do to it.
pub(crate) fn of_load(
    workload: &str,
    parameters: &Map<String, Value>,
    services: &BTreeMap<String, Map<String, Value>>,
) -> Durability {
    let Some(kind) = workloads::kind(workload) else { return Durability::full() };
    let own = (kind.durability)(parameters);
    let wanted = services::wanted(&(kind.services)(parameters), services);
    wanted.iter().fold(own, |all, service| all.and((service.kind.durability)(&service.settings)))
}
