//! TOML → Study → Plan. Pure: no file, clock or process; all randomness comes from a seed.
//!
//! Three stages: `document.rs` (text to a tree with places), `check.rs` (tree to a [`Study`] that cannot be wrong, with every
//! problem at once), `plan.rs` (scenarios, rounds, order). Knows no filesystem and no workload: a [`Catalogue`] does.
//!
//! ```
//! use serde_json::{Map, Value};
//! use settings::{Kind, Setting};
//!
//! struct Nothing;
//! const NAP: &[Setting] =
//!     &[Setting::new("time", Kind::Seconds { min: 0.1, max: 60.0 }, "1s").help("How long.")];
//! impl study::Catalogue for Nothing {
//!     fn storage(&self) -> &'static [Setting] { &[] }
//!     fn storage_problems(&self, _: &Map<String, Value>) -> Vec<(String, String)> { Vec::new() }
//!     fn workloads(&self) -> Vec<&'static str> { vec!["nap"] }
//!     fn workload(&self, name: &str) -> Option<&'static [Setting]> { (name == "nap").then_some(NAP) }
//!     fn workload_problems(&self, _: &str, _: &Map<String, Value>) -> Vec<String> { Vec::new() }
//! }
//! let text = "name = \"naps\"\n[factors]\nworkload.nap.time = [\"1s\", \"2s\"]\n[workload.nap]\n";
//! let (study, problems) = study::read(text, &[], &Nothing);
//! assert!(problems.is_empty());
//! let plan = study::plan(&study.expect("no problems"), &|_| ()).expect("few scenarios");
//! let labels: Vec<&str> = plan.scenarios.iter().map(|scenario| scenario.label.as_str()).collect();
//! assert_eq!(labels, ["time=1s", "time=2s", "time=1s (control)"]);
//! ```

mod change;
mod check;
mod document;
mod factor;
pub mod groups;
mod limit;
mod matrix;
pub mod order;
mod own_settings;
mod plan;
mod problem;
mod safety;
mod schema;
pub mod screen;
mod table;
pub mod trial_spec;

pub use change::Override;
pub use check::{NAME, Study, is_name, read};
pub use limit::{Bound, LIMIT, Limit};
pub use matrix::SCENARIOS_MAX;
pub use own_settings::{CPUS, DESIGN, Design, GUEST, Mode, Order, Parity, ROUNDS_MAX, Screening, TOP, VOLUMES};
pub use plan::{ChosenTurns, Drawn, Parsed, Plan, PlannedScenario, plan};
pub use problem::{Problem, position};
pub use safety::{AtomicUnit, FAULTS, Load, SAFETY, Safety};
pub use schema::schema;
pub use table::{Published, TABLE, Table};
pub use trial_spec::Bench;

use serde_json::{Map, Value};
use settings::Setting;
use std::collections::BTreeMap;
use std::ops::Range;

/// A study's name as its text has it, whatever else is wrong there.
pub fn name(text: &str) -> Option<String> {
    let (root, _) = document::parse(text);
    root.get("name")?.json().as_str().map(String::from)
}

/// Where it stands in the text, in bytes, with its quotes.
pub fn place_of_name(text: &str) -> Option<Range<usize>> {
    let (root, _) = document::parse(text);
    root.get("name").filter(|node| node.json().is_string())?.span.clone()
}

/// A study file is text by hand: larger than this it is something else. Readers check before they read.
pub const FILE_BYTES_MAX: u64 = 1 << 20;

/// What there is to choose from, handed in by whoever knows.
pub trait Catalogue {
    /// Settings of `[storage]`.
    fn storage(&self) -> &'static [Setting];
    /// Problems of a scenario's storage as a whole: (setting, what is wrong).
    fn storage_problems(&self, storage: &Map<String, Value>) -> Vec<(String, String)>;
    /// Problems of a scenario's further volumes beside its storage and each other: (volume, setting, what is wrong).
    fn volume_problems_beside(
        &self,
        _storage: &Map<String, Value>,
        _volumes: &BTreeMap<String, Map<String, Value>>,
    ) -> Vec<(String, &'static str, String)> {
        Vec::new()
    }
    /// Settings of `[storage]` that have no effect beside this one's value: who changes it needs not say so of them.
    fn storage_displaced(&self, _setting: &str, _value: &Value) -> &'static [&'static str] {
        &[]
    }
    /// Names of all workloads.
    fn workloads(&self) -> Vec<&'static str>;
    /// Settings of `[workload.NAME]`.
    fn workload(&self, name: &str) -> Option<&'static [Setting]>;
    /// Problems of a workload's parameters as a whole.
    fn workload_problems(&self, name: &str, parameters: &Map<String, Value>) -> Vec<String>;
    /// Problems of a workload's parameters beside the settings of the study's services.
    fn workload_problems_beside(
        &self,
        _name: &str,
        _parameters: &Map<String, Value>,
        _services: &BTreeMap<String, Map<String, Value>>,
    ) -> Vec<String> {
        Vec::new()
    }
    /// Settings of a workload that do nothing beside the others: each by its name, with what it needs.
    fn workload_idle(&self, _name: &str, _parameters: &Map<String, Value>) -> Vec<(String, &'static str)> {
        Vec::new()
    }
    /// Names of the metrics that a workload's runs have with these parameters.
    fn workload_metrics(&self, _name: &str, _parameters: &Map<String, Value>) -> Vec<String> {
        Vec::new()
    }
    /// The services that a workload uses with these parameters, where the study says this of services; none: it is embedded.
    fn workload_services(
        &self,
        _name: &str,
        _parameters: &Map<String, Value>,
        _services: &BTreeMap<String, Map<String, Value>>,
    ) -> Vec<&'static str> {
        Vec::new()
    }
    /// Whether a service writes its log to the volume that the study has for logs.
    fn has_log_volume(&self, _service: &str) -> bool {
        false
    }
    /// Names of all services.
    fn services(&self) -> Vec<&'static str> {
        Vec::new()
    }
    /// Settings of `[service.NAME]`.
    fn service(&self, _name: &str) -> Option<&'static [Setting]> {
        None
    }
    /// Problems of a service's settings as a whole.
    fn service_problems(&self, _name: &str, _settings: &Map<String, Value>) -> Vec<String> {
        Vec::new()
    }
    /// Settings of a service that do nothing beside the others: each by its place in the service's table, with what it needs.
    fn service_idle(&self, _name: &str, _settings: &Map<String, Value>) -> Vec<(String, &'static str)> {
        Vec::new()
    }
    /// Problems of a service's settings beside those of the study's services.
    fn service_problems_beside(
        &self,
        _name: &str,
        _settings: &Map<String, Value>,
        _services: &BTreeMap<String, Map<String, Value>>,
    ) -> Vec<String> {
        Vec::new()
    }
}
