//! TOML → Study → Plan. Pure: no file, clock or process; all randomness comes from a seed.
//!
//! Three stages: `document.rs` (text to a tree with places), `check.rs` (tree to a [`Study`] that cannot be wrong, with every
//! problem at once), `plan.rs` (scenarios, rounds, order). Knows no filesystem and no workload: a [`Catalogue`] does.

mod check;
mod document;
mod factor;
mod own_settings;
mod plan;
mod problem;
mod schema;
pub mod trial_spec;

pub use check::{Override, Study, read};
pub use own_settings::{Design, Parity};
pub use plan::{Plan, PlannedScenario, SCENARIOS_MAX, plan};
pub use problem::{Problem, position};
pub use schema::schema;

use serde_json::{Map, Value};
use settings::Setting;

/// A study file is text by hand: larger than this it is something else. Readers check before they read.
pub const FILE_BYTES_MAX: u64 = 1 << 20;

/// What there is to choose from, handed in by whoever knows.
pub trait Catalogue {
    /// Settings of `[storage]`.
    fn storage(&self) -> &'static [Setting];
    /// Problems of a scenario's storage as a whole: (setting, what is wrong).
    fn storage_problems(&self, storage: &Map<String, Value>) -> Vec<(String, String)>;
    /// Names of all workloads.
    fn workloads(&self) -> Vec<&'static str>;
    /// Settings of `[workload.NAME]`.
    fn workload(&self, name: &str) -> Option<&'static [Setting]>;
    /// Problems of a workload's parameters as a whole.
    fn workload_problems(&self, name: &str, parameters: &Map<String, Value>) -> Vec<String>;
}
