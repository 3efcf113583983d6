//! Settings of a plan that do nothing, as they wait for another one: a factor of such is refused, and one that is said for all scenarios is told.

use crash::plan::{Plan, PlannedScenario};
use serde_json::{Map, Value};
use settings::Setting;
use std::collections::{BTreeMap, BTreeSet};

/// Settings other than their defaults that do nothing in any scenario that has them: their paths, each with what it needs.
pub fn settings(plan: &Plan) -> BTreeMap<String, &'static str> {
    let of_each: Vec<(BTreeSet<String>, BTreeMap<String, &'static str>)> = plan.scenarios.iter().map(of).collect();
    let is_at_work = |path: &String| of_each.iter().any(|(has, idle)| has.contains(path) && !idle.contains_key(path));
    let all = of_each.iter().flat_map(|(_, idle)| idle).map(|(path, needs)| (path.clone(), *needs));
    all.filter(|(path, _)| !is_at_work(path)).collect()
}

/// What a scenario has other than by default, and what of it does nothing.
fn of(scenario: &PlannedScenario) -> (BTreeSet<String>, BTreeMap<String, &'static str>) {
    let (workload, parameters) = (&*scenario.workload, &scenario.parameters);
    let kind = workloads::kind(workload).expect("a plan has known workloads");
    let mut all = (BTreeSet::new(), BTreeMap::new());
    let mut add = |table: String, known: &'static [Setting], map: &Map<String, Value>, idle: Vec<(String, _)>| {
        let defaults = settings::defaults(known);
        let is_said = |name: &str| at(map, name) != at(&defaults, name);
        all.1.extend(idle.into_iter().filter(|(name, _)| is_said(name)).map(|(name, why)| (format!("{table}.{name}"), why)));
        all.0.extend(names(map).filter(|name| is_said(name)).map(|name| format!("{table}.{name}")));
    };
    add(format!("workload.{workload}"), kind.settings, parameters, workloads::idle(workload, parameters));
    for wanted in services::wanted(&(kind.read)(parameters).services(), &scenario.services) {
        if let Some(map) = scenario.services.get(wanted.kind.name) {
            add(format!("service.{}", wanted.kind.name), wanted.kind.settings, map, (wanted.kind.read)(map).idle());
        }
    }
    all
}

/// A setting's value, or that of a server's own setting in a table of such.
fn at<'a>(map: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    map.get(name).or_else(|| {
        let (table, name) = name.split_once('.')?;
        map.get(table)?.get(name)
    })
}

/// The names that [`at`] knows.
fn names(map: &Map<String, Value>) -> impl Iterator<Item = String> {
    map.iter().flat_map(|(name, value)| match value {
        Value::Object(table) => table.keys().map(|inner| format!("{name}.{inner}")).collect(),
        _ => vec![name.clone()],
    })
}
