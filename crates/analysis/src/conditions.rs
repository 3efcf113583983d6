//! What is given and what can be chosen: a rate, a number of connections or an amount of data is a condition of the load, which
//! nobody picks. Scenarios compete under the same conditions only.

use ledger::model::Scenario;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Whether a workload's setting is a choice, by their names. The workload's kind says it.
pub type IsChoice = fn(&str, &str) -> bool;

/// Tables of a scenario's settings that set conditions.
const CONDITIONS: &[&str] = &["workload", "guest", "bench"];

/// A setting of these tables that is chosen, of whatever kind the load is: who compares two kernels asks which of them a server should have.
const KERNEL: &str = "guest.kernel";

/// Paths of the factors that set conditions only, of scenarios of one workload.
pub fn conditions(scenarios: &[&Scenario], is_choice: IsChoice) -> Vec<String> {
    let mut levels: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (factor, level) in scenarios.iter().flat_map(|scenario| &scenario.levels) {
        levels.entry(factor).or_default().insert(level);
    }
    let varied = levels.into_iter().filter(|(_, levels)| levels.len() > 1).map(|(factor, _)| factor);
    varied.filter(|factor| is_condition(factor, scenarios, is_choice)).map(str::to_string).collect()
}

/// Scenarios under the same conditions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// The conditions' levels.
    pub levels: Vec<String>,
    /// Places in the plan.
    pub members: Vec<usize>,
    /// Whom these are held against: the member with the levels of the workload's baseline, but for the conditions.
    pub baseline: Option<usize>,
}

/// One workload's scenarios, by their places among `scenarios`, in groups by the levels of these conditions; in plan order.
pub fn groups(scenarios: &[Scenario], places: &[usize], conditions: &[String]) -> Vec<Group> {
    let level = |place: usize, factor: &String| scenarios[place].levels.get(factor).cloned().unwrap_or_default();
    let chosen = |place: usize| {
        let levels = scenarios[place].levels.iter().filter(|(factor, _)| !conditions.contains(factor));
        levels.collect::<Vec<_>>()
    };
    let baseline = places.iter().copied().find(|place| scenarios[*place].baseline);
    let mut groups: Vec<Group> = Vec::new();
    for place in places.iter().copied() {
        let levels: Vec<String> = conditions.iter().map(|factor| level(place, factor)).collect();
        let at = groups.iter().position(|group| group.levels == levels).unwrap_or_else(|| {
            groups.push(Group { levels, members: Vec::new(), baseline: None });
            groups.len() - 1
        });
        groups[at].members.push(place);
        if !scenarios[place].control && baseline.is_some_and(|baseline| chosen(baseline) == chosen(place)) {
            groups[at].baseline = Some(place);
        }
    }
    groups
}

/// A setting's path tells by itself; of a named factor the settings that its levels change.
fn is_condition(factor: &str, scenarios: &[&Scenario], is_choice: IsChoice) -> bool {
    let workload = scenarios.first().map_or("", |scenario| scenario.workload.as_str());
    let sets_condition = |path: &str| sets_condition(path, |setting| is_choice(workload, setting));
    if factor.contains('.') || factor == "bench" {
        return sets_condition(factor);
    }
    let mut alike: BTreeMap<Vec<(&String, &String)>, &Scenario> = BTreeMap::new();
    let mut changed = BTreeSet::new();
    for scenario in scenarios.iter().filter(|scenario| !scenario.control) {
        let others = scenario.levels.iter().filter(|(name, _)| *name != factor).collect();
        match alike.get(&others) {
            Some(first) => differences("", &first.settings, &scenario.settings, &mut changed),
            None => drop(alike.insert(others, scenario)),
        }
    }
    !changed.is_empty() && changed.iter().all(|path| sets_condition(path))
}

fn sets_condition(path: &str, is_choice: impl Fn(&str) -> bool) -> bool {
    let (table, setting) = (path.split('.').next().unwrap_or(path), path.rsplit('.').next().unwrap_or(path));
    CONDITIONS.contains(&table) && path != KERNEL && !is_choice(setting)
}

/// Paths of settings that differ.
fn differences(path: &str, a: &Value, b: &Value, changed: &mut BTreeSet<String>) {
    match (a.as_object(), b.as_object()) {
        (Some(of_a), Some(of_b)) => {
            for key in of_a.keys().chain(of_b.keys()) {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                differences(&path, &a[key], &b[key], changed);
            }
        }
        _ if a != b => drop(changed.insert(path.into())),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_compete_and_the_load_does_not() {
        let sets_condition = |path| sets_condition(path, |setting| setting == "engine");
        assert!(sets_condition("workload.oltp.threads") && !sets_condition("workload.oltp.engine"));
        assert!(sets_condition("guest.memory") && !sets_condition("storage.filesystem"));
        assert!(!sets_condition("guest.kernel"), "two kernels are what is compared");
    }
}
