//! All that a trial needs to know, as JSON on its standard input.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// One scenario, provisioned once, in one round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialSpec<S> {
    /// Name of the study.
    pub study: String,
    /// The scenario's label, unique in the study: `ext4 · noatime`.
    pub scenario: String,
    /// Round, from 0.
    pub round: u32,
    /// Position in the round's shuffled order, from 0.
    pub position: u32,
    /// Seed of the round's data and load: the same for all scenarios of a round.
    pub seed: u64,
    /// Where it runs.
    pub bench: Bench,
    /// Checked settings of `[guest]`, plain form; empty on other benches.
    #[serde(default)]
    pub guest: Map<String, Value>,
    /// Checked settings of `[storage]`.
    pub storage: S,
    /// Further volumes by name, each like `storage`.
    pub volumes: BTreeMap<String, S>,
    /// Checked settings of `[service.NAME]` by name; a service that the study says nothing about is absent.
    pub services: BTreeMap<String, Map<String, Value>>,
    /// Which workload.
    pub workload: String,
    /// Checked settings of `[workload.NAME]`, plain form.
    pub parameters: Map<String, Value>,
    /// Memory limit of the trial, page cache included.
    pub memory_bytes: Option<u64>,
    /// CPUs of the server; empty: the default.
    pub server_cpus: Vec<usize>,
    /// CPUs of the load generator.
    pub client_cpus: Vec<usize>,
    /// The load agent that drives it, as host and port; none: this machine does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// Unmeasured runs first.
    pub warm_up_runs: u32,
    /// Measured runs.
    pub runs: u32,
    /// Whether it waits before each measured run, and before its end, until it is told to go on; and how.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<Turns>,
    /// State of the caches before each run.
    pub cache: Cache,
    /// The trial is ended after this long.
    pub timeout_seconds: f64,
    /// How the trial takes an option that did not take effect.
    pub ineffective_options: Ineffective,
    /// Whether it measures, in place of its runs, what a power cut takes, and how.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<Cut>,
    /// Whether it measures on the disk of `cut`, in place of power cuts, what a failing disk does, and how.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub faults: Option<Faults>,
}

impl<S> TrialSpec<S> {
    /// One warm run of a workload, on settings that are still to be said, in five minutes at most: as trials beside the rounds are.
    pub fn single(study: &str, scenario: &str, workload: &str, bench: Bench, seed: u64, storage: S) -> TrialSpec<S> {
        TrialSpec {
            study: study.into(),
            scenario: scenario.into(),
            round: 0,
            position: 0,
            seed,
            bench,
            guest: Map::new(),
            storage,
            volumes: BTreeMap::new(),
            services: BTreeMap::new(),
            workload: workload.into(),
            parameters: Map::new(),
            memory_bytes: None,
            server_cpus: Vec::new(),
            client_cpus: Vec::new(),
            client: None,
            warm_up_runs: 0,
            runs: 1,
            turns: None,
            cache: Cache::Warm,
            timeout_seconds: 300.0,
            ineffective_options: Ineffective::Fail,
            cut: None,
            faults: None,
        }
    }
}

/// Where trials run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bench {
    /// On this machine's kernel.
    Host,
    /// In a kernel of its own.
    Guest,
}

/// How a trial takes its turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turns {
    /// Whether the flush that ends a turn is a part of it.
    pub charge_flush: bool,
    /// Whether a turn is a whole job, and no length of time.
    pub is_job: bool,
}

/// How a trial measures what a power cut takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cut {
    /// How long recoveries may be run.
    pub budget_seconds: f64,
    /// What the disk writes as a whole or not at all.
    pub unit_bytes: u32,
    /// What the disk's cache promises: a name that `safety.cache` may have.
    pub cache: String,
    /// Whose times the disk has: a name that `safety.disk` may have.
    pub profile: String,
    /// The log of what was written grows to this at most.
    pub log_bytes_max: u64,
    /// A recovery that takes longer hangs, and is a fault.
    pub recovery_seconds_max: f64,
    /// In the place of a measurement: the name of one image of a measured scenario, which is brought up and copied out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy_out: Option<String>,
}

/// How a trial measures what a failing disk does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Faults {
    /// What goes wrong: names that `safety.faults` may have.
    pub failures: Vec<String>,
    /// How long cases are run.
    pub budget_seconds: f64,
    /// Kinds of block that are struck alone, as reports name them; none: all are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<Vec<String>>,
    /// How late each answer of a slow disk is.
    pub delay_seconds: f64,
    /// How late the answer of a stall is.
    pub stall_seconds: f64,
    /// In the place of a search: the name of one case, which is run and told step by step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<String>,
}

/// State of the caches before each run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cache {
    /// Page cache dropped before each run.
    Cold,
    /// As the load and earlier runs left it.
    Warm,
}

/// What an option without effect does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ineffective {
    /// Fails the trial, with the reason.
    Fail,
    /// Is listed as a warning.
    Warn,
}

/// The levels of a scenario: factor name → level label.
pub type Levels = BTreeMap<String, String>;
