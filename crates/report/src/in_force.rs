//! What was in force while trials ran: what they read back, and every setting with its value, each said once for all scenarios
//! that share it.
//!
//! Taken from the ledger alone. What filesystems tell of their blocks is left to the results file.

use analysis::judge::short_factor;
use ledger::model::{Contents, Scenario};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Beginnings of the storage's facts that are shown; the others describe superblocks, which follow from program and options.
const STORAGE_FACTS: &[&str] =
    &["device", "delay", "discard", "features", "filesystem_options", "guest", "mount_options"];

/// A fact or a setting.
#[derive(Debug, PartialEq)]
pub struct InForce {
    /// Its name: a fact's, or a setting's path.
    pub what: String,
    /// Its value, as it was recorded: bytes, seconds and fractions in plain numbers.
    pub value: String,
    /// In which scenarios, in words: `all`, levels of a factor, or labels.
    pub scenarios: String,
}

/// Versions, mount options and servers' settings, as trials read them back.
pub fn facts(contents: &Contents) -> Vec<InForce> {
    let scenarios: BTreeMap<&str, &Scenario> =
        contents.scenarios.iter().map(|scenario| (scenario.label.as_str(), scenario)).collect();
    let mut found = Found::default();
    for trial in &contents.trials {
        let Some(scenario) = scenarios.get(trial.scenario.as_str()) else { continue };
        for (name, value) in trial.facts.iter().filter(|(name, _)| is_shown(name, scenario)) {
            found.add(name, value, scenario);
        }
    }
    let of_trials: BTreeSet<&str> =
        contents.trials.iter().filter(|trial| !trial.facts.is_empty()).map(|trial| trial.scenario.as_str()).collect();
    let all: Vec<&Scenario> = scenarios.values().copied().filter(|known| of_trials.contains(&*known.label)).collect();
    found.told(|_| all.clone())
}

/// Every setting of every scenario; `all` are those that have the setting.
pub fn settings(contents: &Contents) -> Vec<InForce> {
    let mut found = Found::default();
    let mut having: BTreeMap<String, Vec<&Scenario>> = BTreeMap::new();
    for scenario in &contents.scenarios {
        for (path, value) in paths(scenario) {
            having.entry(path.clone()).or_default().push(scenario);
            match value {
                Value::Null => {}
                Value::String(text) if !text.is_empty() => found.add(&path, &text, scenario),
                other => found.add(&path, &other.to_string(), scenario),
            }
        }
    }
    found.told(|path| having[path].clone())
}

/// Whether a path, or a table that it lies in, is one of these.
pub fn is_named(path: &str, named: &[String]) -> bool {
    let mut rests = named.iter().filter_map(|known| path.strip_prefix(known.as_str()));
    rests.any(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Servers' facts have their name before a dot; further volumes, too.
fn is_shown(fact: &str, scenario: &Scenario) -> bool {
    let of_storage = |fact: &str| STORAGE_FACTS.iter().any(|start| fact.starts_with(start));
    match fact.split_once('.') {
        Some((volume, fact)) if scenario.settings["volumes"].get(volume).is_some() => of_storage(fact),
        Some(_) => true,
        None => of_storage(fact),
    }
}

/// A scenario's settings under the paths that a study has for them.
fn paths(scenario: &Scenario) -> Vec<(String, Value)> {
    let settings = &scenario.settings;
    let entries = |table: &Value| table.as_object().cloned().unwrap_or_default();
    let mut all =
        vec![("bench".into(), settings["bench"].clone()), ("memory".into(), settings["memory_bytes"].clone())];
    let mut add = |table: &str, values: &Value| {
        all.extend(entries(values).into_iter().map(|(name, value)| (format!("{table}.{name}"), value)));
    };
    add("storage", &settings["storage"]);
    entries(&settings["volumes"]).iter().for_each(|(name, volume)| add(&format!("storage.{name}"), volume));
    for (service, values) in entries(&settings["services"]) {
        let (free, own) = entries(&values).into_iter().partition(|(_, value)| value.is_object());
        add(&format!("service.{service}"), &Value::Object(own));
        let free: serde_json::Map<String, Value> = free;
        free.iter().for_each(|(table, values)| add(&format!("service.{service}.{table}"), values));
    }
    add(&format!("workload.{}", scenario.workload), &settings["workload"]);
    add("guest", &settings["guest"]);
    all
}

/// Name and value, and the scenarios in which they were found.
#[derive(Default)]
struct Found<'a>(BTreeMap<(String, String), BTreeMap<&'a str, &'a Scenario>>);

impl<'a> Found<'a> {
    fn add(&mut self, what: &str, value: &str, scenario: &'a Scenario) {
        self.0.entry((what.into(), value.into())).or_default().insert(&scenario.label, scenario);
    }

    /// `all` tells among which scenarios a name is looked for.
    fn told(self, all: impl Fn(&str) -> Vec<&'a Scenario>) -> Vec<InForce> {
        let told = |((what, value), scenarios): ((String, String), BTreeMap<&str, &Scenario>)| {
            let scenarios = in_words(&scenarios, &all(&what));
            InForce { what, value, scenarios }
        };
        self.0.into_iter().map(told).collect()
    }
}

/// The shortest words that are true of these scenarios and of no others.
fn in_words(of: &BTreeMap<&str, &Scenario>, all: &[&Scenario]) -> String {
    if of.len() == all.len() {
        return "all".into();
    }
    let by_workload = in_words_of(of, all, |scenario| Some(&scenario.workload)).map(|words| ("workload", words));
    let factors: BTreeSet<&str> = all.iter().flat_map(|scenario| scenario.levels.keys()).map(String::as_str).collect();
    let by_factor =
        factors.into_iter().filter_map(|name| Some((name, in_words_of(of, all, |one| one.levels.get(name))?)));
    match by_workload.into_iter().chain(by_factor).min_by_key(|(_, levels)| levels.len()) {
        Some((factor, levels)) => {
            let (factor, levels) = (short_factor(factor), levels.into_iter().collect::<Vec<_>>().join(", "));
            if levels.starts_with(&format!("{}=", factor.replace(' ', "_"))) {
                levels
            } else {
                format!("{factor} {levels}")
            }
        }
        None => of.keys().copied().collect::<Vec<_>>().join("; "),
    }
}

/// The levels, when they alone tell these scenarios from the others.
fn in_words_of<'a>(
    of: &BTreeMap<&str, &'a Scenario>,
    all: &[&'a Scenario],
    level: impl Fn(&'a Scenario) -> Option<&'a String>,
) -> Option<BTreeSet<String>> {
    let levels: Option<BTreeSet<String>> = of.values().map(|scenario| level(scenario).cloned()).collect();
    let levels = levels?;
    let like = all.iter().filter(|scenario| level(scenario).is_some_and(|level| levels.contains(level)));
    (like.count() == of.len()).then_some(levels)
}

#[cfg(test)]
mod tests {
    use super::*;
    use observe::durability::{Class, Durability};

    fn scenario(label: &str, filesystem: &str, threads: &str) -> Scenario {
        let levels = [("storage.filesystem", filesystem), ("workload.oltp.threads", threads)];
        Scenario {
            label: label.into(),
            levels: levels.map(|(factor, level)| (factor.to_string(), level.to_string())).into(),
            workload: "oltp".into(),
            primary_metric: "transactions_per_second".into(),
            control: false,
            baseline: false,
            durability: Durability { class: Class::KeepsAcknowledged, reasons: Vec::new() },
            settings: serde_json::json!({}),
        }
    }

    #[test]
    fn scenarios_are_told_by_levels_where_these_suffice() {
        let scenarios = [
            scenario("a", "ext4", "threads=1"),
            scenario("b", "ext4", "threads=2"),
            scenario("c", "xfs", "threads=1"),
            scenario("d", "xfs", "threads=2"),
        ];
        let all: Vec<&Scenario> = scenarios.iter().collect();
        let words = |labels: &str| {
            let of = all.iter().filter(|known| labels.contains(&known.label));
            in_words(&of.map(|known| (known.label.as_str(), *known)).collect(), &all)
        };
        assert_eq!(["abcd", "cd", "bd", "ad"].map(words), ["all", "filesystem xfs", "threads=2", "a; d"]);
    }

    #[test]
    fn a_setting_is_named_by_itself_or_with_its_table() {
        let named = ["workload.command.metrics".to_string(), "storage.size".to_string()];
        let is = ["workload.command.metrics.speed", "storage.size", "storage.size_of", "storage"];
        assert_eq!(is.map(|path| is_named(path, &named)), [true, true, false, false]);
    }
}
