//! Like with like: the durability class of a scenario, from its storage and its engine together.

use observe::durability::Durability;
use storage::StorageSettings;
use study::PlannedScenario;

/// What a power cut may take in this scenario, as far as its settings say.
#[must_use]
pub fn of(scenario: &PlannedScenario) -> Durability {
    let storage = storage::durability(&StorageSettings::from_map(&scenario.storage));
    match workloads::kind(&scenario.workload) {
        Some(kind) => storage.and((kind.durability)(&scenario.parameters)),
        None => storage,
    }
}
