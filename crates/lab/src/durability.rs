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

/// What the engine's settings, or those of the server it drives, do to it; of the loads that surefoot itself runs, too.
pub(crate) fn of_load(
    workload: &str,
    parameters: &Map<String, Value>,
    services: &BTreeMap<String, Map<String, Value>>,
) -> Durability {
    let Some(kind) = workloads::kind_of_trial(workload) else { return Durability::full() };
    let load = (kind.read)(parameters);
    let wanted = services::wanted(&load.services(), services);
    wanted.iter().fold(load.durability(), |all, service| all.and(service.settings.durability()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use observe::durability::Class;

    /// The load that power cuts are measured with stands in no list.
    #[test]
    fn the_server_of_a_recorded_load_is_held_to_its_settings() {
        let class = |fsync: &str| {
            let kind = services::kind("postgres").expect("it is in the list");
            let table = serde_json::json!({ "settings": { "fsync": fsync } });
            let table = settings::check_all(kind.settings, table.as_object().expect("a table")).expect("right");
            let mut parameters = settings::defaults(workloads::commits::KIND.settings);
            parameters.insert("engine".into(), "postgres".into());
            of_load(workloads::commits::KIND.name, &parameters, &[("postgres".to_string(), table)].into()).class
        };
        assert_eq!(["on", "off"].map(class), [Class::KeepsAcknowledged, Class::MayCorrupt]);
    }
}
