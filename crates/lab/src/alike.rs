//! Scenarios of a plan that are one under several names.

use crash::plan::{Plan, PlannedScenario};
use std::collections::BTreeMap;

/// Labels of scenarios with the same settings, where two or more are so: what is found between them is noise. A control is the baseline once more
/// on purpose, and not among them.
pub fn alike(plan: &Plan) -> Vec<Vec<&str>> {
    let mut by_settings: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for scenario in plan.scenarios.iter().filter(|scenario| !scenario.control) {
        by_settings.entry(settings_of(scenario)).or_default().push(&scenario.label);
    }
    by_settings.into_values().filter(|labels| labels.len() > 1).collect()
}

/// All of it but for its names and its part in the comparison.
fn settings_of(scenario: &PlannedScenario) -> String {
    let nameless =
        PlannedScenario { label: String::new(), levels: BTreeMap::new(), baseline: false, ..scenario.clone() };
    format!("{nameless:?}")
}
