//! Whether commits reach the device: the flushes it got in a scenario's measured runs, those of a screen left out, against the commits acknowledged.
//!
//! What was measured beats what settings promise. Judged only where the counters can tell; elsewhere nothing is said. The
//! conductor asks it, too.

use crate::counting::finished;
use ledger::model::{Contents, RunRow, Scenario};
use observe::durability::Class;
use serde_json::Value;
use std::collections::BTreeMap;

/// Fewer flushes for each commit than this are none: a journal's own timer (ext4: 5 s) alone makes as many beside twenty
/// commits a second.
const FLUSHES_PER_COMMIT_MIN: f64 = 0.01;
/// A connection waits for its commit, so that one flush acknowledges at most one commit a connection. Half of that is left
/// for what a run's edges cut off.
const SHARE_OF_BOUND: f64 = 0.5;
/// What the workloads that commit call their connections, each with one commit under way, or with as many as its `pipeline`: `oltp`, `maildir`,
/// `io-thrash`, `block-io`.
const CONNECTIONS: [&str; 3] = ["threads", "streams", "depth"];

/// The metrics that it reads.
pub const METRICS: &[&str] = &["flushes_per_commit", "device_flushes", "device_log_flushes", "commits", "missed_rows"];

/// The flushes of a scenario's measured runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Flushing {
    /// Flushes that its devices got.
    pub flushes: f64,
    /// Commits that were acknowledged; none where an older file does not tell.
    pub commits: Option<f64>,
    /// Whether commits went without: practically no flush, on devices whose counters tell.
    pub is_missing: bool,
}

impl Flushing {
    /// Flushes for each commit.
    pub fn per_commit(&self) -> f64 {
        self.commits.map_or(0.0, |commits| self.flushes / commits)
    }

    /// The class that counts: commits without flushes are not kept, whatever the settings say.
    pub fn safety(&self, by_settings: Class) -> Class {
        if self.is_missing { by_settings.max(Class::LosesRecent) } else { by_settings }
    }
}

/// Sums over a scenario's runs, and the facts of its trials.
#[derive(Default)]
struct Sums<'a> {
    facts: Vec<&'a BTreeMap<String, String>>,
    runs: usize,
    flushes: f64,
    commits: f64,
    /// Of these, commits that changed something.
    changing: f64,
}

impl Sums<'_> {
    fn add(&mut self, run: &RunRow) {
        let value = |name: &str| run.metrics.get(name).copied();
        let (Some(per_commit), Some(of_data)) = (value("flushes_per_commit"), value("device_flushes")) else { return };
        let flushes = of_data + value("device_log_flushes").unwrap_or(0.0);
        // Older files have no `commits`; where there were no flushes either, their number can't be had.
        let commits = value("commits").unwrap_or(if per_commit > 0.0 { flushes / per_commit } else { 0.0 });
        self.runs += 1;
        self.flushes += flushes;
        self.commits += commits;
        // A statement that finds no row leaves its commit nothing to flush.
        self.changing += (commits - value("missed_rows").unwrap_or(0.0)).max(0.0);
    }

    fn are_missing(&self, connections: f64) -> bool {
        let least = FLUSHES_PER_COMMIT_MIN.min(SHARE_OF_BOUND / connections);
        if self.commits == 0.0 {
            return self.flushes == 0.0;
        }
        // Of a few commits nothing can be told.
        self.changing * least >= 1.0 && self.flushes < self.changing * least
    }
}

/// By label, of each scenario that commits on devices whose flushes are counted.
pub fn flushing(contents: &Contents) -> BTreeMap<String, Flushing> {
    let mut sums: BTreeMap<&str, Sums> = BTreeMap::new();
    let trials = finished(contents);
    for trial in trials.values() {
        sums.entry(&trial.scenario).or_default().facts.push(&trial.facts);
    }
    for run in contents.runs.iter().filter(|run| !run.warm_up) {
        if let Some(sums) = trials.get(&run.trial).and_then(|trial| sums.get_mut(trial.scenario.as_str())) {
            sums.add(run);
        }
    }
    let mut found = BTreeMap::new();
    for scenario in &contents.scenarios {
        let Some(sums) = sums.get(scenario.label.as_str()).filter(|sums| sums.runs > 0) else { continue };
        let of_scenario = Flushing {
            flushes: sums.flushes,
            commits: (sums.commits > 0.0).then_some(sums.commits),
            is_missing: counters_tell(scenario, &sums.facts)
                && sums.are_missing(connections(&scenario.settings["workload"])),
        };
        found.insert(scenario.label.clone(), of_scenario);
    }
    found
}

/// Commits that may be under way at once.
fn connections(workload: &Value) -> f64 {
    let connections = CONNECTIONS.iter().filter_map(|name| workload[*name].as_f64()).fold(1.0, f64::max);
    connections * workload["pipeline"].as_f64().map_or(1.0, |pipeline| pipeline.max(1.0))
}

/// Whether devices without flushes have kept nothing: all of them are looked at, and none takes writes past its cache.
fn counters_tell(scenario: &Scenario, facts: &[&BTreeMap<String, String>]) -> bool {
    let settings = &scenario.settings;
    let further = settings["volumes"].as_object().into_iter().flatten();
    let mut volumes: Vec<(String, &Value)> = further.map(|(name, volume)| (format!("{name}."), volume)).collect();
    volumes.push((String::new(), &settings["storage"]));
    facts.iter().all(|facts| {
        volumes.iter().all(|(prefix, volume)| {
            let fact = |name: &str| facts.get(&format!("{prefix}{name}")).map(String::as_str);
            // A log on a device of its own gets the flushes of commits, which of a block device, and in older files, nobody counts there.
            let log_apart = fact("log").is_some() || volume["external_log"].as_u64().is_some_and(|bytes| bytes > 0);
            match volume["device"].as_str() {
                Some("loop") => !log_apart,
                Some("virtual") => volume["cache"] != "write-through",
                Some("block") => !log_apart && fact("device_fua") == Some("0"),
                // A folder lies on a disk that others flush, too, and memory has nothing to flush.
                _ => false,
            }
        })
    })
}
