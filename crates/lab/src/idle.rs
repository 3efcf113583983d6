//! Settings of a plan that do nothing, as they wait for another one: a factor of such is refused, and one that is said for all scenarios is told.

use crash::plan::{Plan, PlannedScenario};
use serde_json::{Map, Value};
use settings::Setting;
use std::collections::{BTreeMap, BTreeSet};

/// Settings other than their defaults that do nothing in any scenario that has them: their paths, each with what it needs.
pub fn without_effect(plan: &Plan) -> BTreeMap<String, &'static str> {
    let all: Vec<Said> = plan.scenarios.iter().map(Said::of).collect();
    let is_at_work = |path: &String| all.iter().any(|one| one.paths.contains(path) && !one.idle.contains_key(path));
    let idle = all.iter().flat_map(|one| &one.idle).filter(|(path, _)| !is_at_work(path));
    idle.map(|(path, needs)| (path.clone(), *needs)).collect()
}

/// What a scenario has other than by default.
#[derive(Default)]
struct Said {
    paths: BTreeSet<String>,
    /// What of it does nothing, each with what it needs.
    idle: BTreeMap<String, &'static str>,
}

impl Said {
    fn of(scenario: &PlannedScenario) -> Said {
        let (workload, parameters) = (&*scenario.workload, &scenario.parameters);
        let kind = workloads::kind(workload).expect("a plan has known workloads");
        let mut said = Said::default();
        let idle = workloads::idle(workload, parameters);
        said.add(&format!("workload.{workload}"), kind.settings, parameters, idle);
        for wanted in services::wanted(&(kind.read)(parameters).services(), &scenario.services) {
            let service = wanted.kind;
            if let Some(map) = scenario.services.get(service.name) {
                said.add(&format!("service.{}", service.name), service.settings, map, (service.read)(map).idle());
            }
        }
        said
    }

    /// Adds a table's.
    fn add(&mut self, table: &str, known: &[Setting], map: &Map<String, Value>, idle: Vec<(String, &'static str)>) {
        let defaults = settings::defaults(known);
        let is_said = |name: &str| at(map, name) != at(&defaults, name);
        let path = |name: String| format!("{table}.{name}");
        self.paths.extend(names(map).filter(|name| is_said(name)).map(path));
        self.idle.extend(idle.into_iter().filter(|(name, _)| is_said(name)).map(|(name, needs)| (path(name), needs)));
    }
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
