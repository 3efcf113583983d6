//! Loads: one folder or file a workload, each with its parameters, its driver, its metrics and its verification.
//!
//! Driven by `lab::trial`. A workload does not know its filesystem: it gets a folder on it.

pub mod block_io;
pub mod command;
pub mod commits;
pub mod compile;
pub mod crypto;
mod find_rate;
mod http_load;
pub mod http_replay;
pub mod io_thrash;
mod key_value;
pub mod maildir;
mod null;
pub mod oltp;
mod orders;
pub mod probe;
pub mod replacements;
pub mod rocksdb;
mod sql;
mod sql_replay;
pub mod steps;
mod three_n_plus_one;
pub mod tree;

mod ack_log;
mod flush;
mod lmdb;
mod source_archive;
mod tpcb;
#[cfg(test)]
mod workload_tests;

use load::engines;
use load::workload::{Error, Kind, WorkloadSettings};
use serde_json::{Map, Value};
use steps::Steps;

/// Every workload there is.
static KINDS: [&Kind; 20] = [
    &oltp::KIND,
    &tpcb::KIND,
    &sql::KIND,
    &sql_replay::KIND,
    &orders::KIND,
    &sqlbench::KIND,
    &key_value::KIND,
    &rocksdb::KIND,
    &three_n_plus_one::KIND,
    &io_thrash::KIND,
    &tree::KIND,
    &maildir::KIND,
    &compile::KIND,
    &block_io::KIND,
    &http_load::KIND,
    &find_rate::KIND,
    &http_replay::KIND,
    &crypto::KIND,
    &command::KIND,
    &null::KIND,
];

/// Every workload there is, in the order of lists.
pub fn kinds() -> &'static [&'static Kind] {
    &KINDS
}

/// The workload of this name.
pub fn kind(name: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.name == name).copied()
}

/// Whether a setting of the workload of this name is a choice, or a condition of the load.
pub fn is_choice(name: &str, setting: &str) -> bool {
    kind(name).is_some_and(|kind| kind.choices.contains(&setting))
}

/// As [`kind`], or one that surefoot itself runs beside a study's.
pub fn kind_of_trial(name: &str) -> Option<&'static Kind> {
    kind(name).or([&probe::KIND, &commits::KIND, &replacements::KIND].into_iter().find(|kind| kind.name == name))
}

/// The checked settings of the workload of this name.
pub fn settings(name: &str, checked: &Map<String, Value>) -> Option<Box<dyn WorkloadSettings>> {
    kind(name).map(|kind| (kind.read)(checked))
}

/// A workload's settings that do nothing beside the others, each with what it needs: its own, and those of an embedded database where its
/// engine is a server.
pub fn idle(name: &str, checked: &Map<String, Value>) -> Vec<(String, &'static str)> {
    let Some(kind) = kind(name) else { return Vec::new() };
    let engine = checked.get("engine").and_then(|engine| engines::named(engine.as_str()?));
    let is_served = engine.is_some_and(|engine| !engine.is_embedded);
    let of_embedded = load::with_pragmas![].iter().filter(|setting| is_served && kind.settings.contains(setting));
    let of_embedded = of_embedded.map(|setting| (setting.name, "an embedded `engine`"));
    let all = (kind.read)(checked).idle().into_iter().chain(of_embedded);
    all.map(|(name, needs)| (name.to_string(), needs)).collect()
}

/// The commits of this load, one by one: by the name of the load that surefoot itself runs, and its checked parameters.
pub fn steps(workload: &str, parameters: &Map<String, Value>) -> Box<dyn Steps> {
    let is_mapped = workload == commits::KIND.name && commits::is_mapped(parameters);
    if is_mapped {
        Box::new(steps::process::Remote::new(workload, parameters))
    } else {
        steps_here(workload, parameters)
    }
}

fn steps_here(workload: &str, parameters: &Map<String, Value>) -> Box<dyn Steps> {
    if workload == replacements::KIND.name { replacements::steps(parameters) } else { commits::steps(parameters) }
}

/// Runs a worker process of a workload; its orders are on standard input.
///
/// # Errors
/// When the workload has no workers, or the work fails.
pub fn worker(name: &str) -> Result<(), Error> {
    if name == steps::process::WORKER {
        return steps::process::serve();
    }
    if name == three_n_plus_one::KIND.name {
        return three_n_plus_one::worker_main();
    }
    Err(Error::Program { program: name.into(), status: "no workers of its own".into(), log: String::new() })
}
