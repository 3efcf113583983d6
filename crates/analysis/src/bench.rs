//! Where trials ran: on the machine's own kernel, maybe with the load from another machine, or in a guest kernel with its own memory.
//!
//! A guest's figures compare with figures of the same guest only, and those of a load over a network with those of the same client; within a study, a bench differs because it is a factor.

use ledger::model::{Contents, Scenario, TrialState};
use std::collections::BTreeSet;

/// Where a scenario's trials ran.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bench {
    /// The machine's own kernel.
    Host,
    /// The machine's own kernel, with the load from a load agent's machine, by the agent's address.
    Loaded(String),
    /// A kernel of its own, started for each trial.
    Guest(Guest),
    /// Another, by its name.
    Other(String),
}

/// A guest kernel.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Guest {
    /// What it calls itself; several when it changed between sessions, none before a trial ran.
    pub kernels: BTreeSet<String>,
    /// SHA-256 of its file, hexadecimal; as many as the file had contents.
    pub files_sha256: BTreeSet<String>,
    /// Its memory.
    pub memory_bytes: Option<u64>,
}

impl Bench {
    /// Of a scenario; files from before there were guests name none.
    pub fn of(contents: &Contents, scenario: &Scenario) -> Bench {
        let client = scenario.settings["client"].as_str();
        match scenario.settings["bench"].as_str() {
            None | Some("" | "host") => client.map_or(Bench::Host, |client| Bench::Loaded(client.into())),
            Some("guest") => Bench::Guest(Guest::of(contents, scenario)),
            Some(other) => Bench::Other(other.into()),
        }
    }

    /// Whether it is a guest.
    pub fn is_guest(&self) -> bool {
        matches!(self, Bench::Guest(_))
    }

    /// Whether figures of both may be compared: of one kind, and of guests the same kernel with the same memory.
    pub fn is_like(&self, other: &Bench) -> bool {
        match (self, other) {
            (Bench::Guest(a), Bench::Guest(b)) => {
                a.kernels == b.kernels && a.memory_bytes == b.memory_bytes && a.files_sha256 == b.files_sha256
            }
            _ => self == other,
        }
    }
}

impl Guest {
    fn of(contents: &Contents, scenario: &Scenario) -> Guest {
        let of_trials = |name: &str, all: bool| -> BTreeSet<String> {
            let trials = contents.trials.iter().filter(|trial| all || trial.scenario == scenario.label);
            let finished = trials.filter(|trial| trial.state == TrialState::Finished);
            finished.filter_map(|trial| trial.facts.get(name)).cloned().collect()
        };
        // Before its first trial has ended, a scenario's kernel is that of the others.
        let told = |name: &str| Some(of_trials(name, false)).filter(|known| !known.is_empty());
        let told = |name: &str| told(name).unwrap_or_else(|| of_trials(name, true));
        let (kernels, files_sha256) = (told("guest_kernel"), told("guest_kernel_file_sha256"));
        let memory_bytes = scenario.settings["guest"]["memory"].as_u64();
        Guest { kernels, files_sha256, memory_bytes }
    }
}

/// The benches of a study, each once.
pub fn benches(contents: &Contents) -> Vec<Bench> {
    let all: BTreeSet<Bench> = contents.scenarios.iter().map(|scenario| Bench::of(contents, scenario)).collect();
    all.into_iter().collect()
}
