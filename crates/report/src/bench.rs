//! Where trials ran: on the machine's own kernel, or in a guest kernel with its own memory.
//!
//! A guest's figures compare with figures of the same guest only; within a study, a bench differs because it is a factor.

use crate::input::Input;
use crate::number::Scale;
use ledger::model::{Contents, Scenario, TrialState};
use observe::metric::{Direction, Metric};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt;

/// Benches told in full; more are counted.
const BENCHES_MAX: usize = 4;

/// What holds for every figure from a guest.
const GUEST_LIMITS: &str = "Figures from a guest hold its dearer system calls and its one CPU: they compare with each other and not \
    with the host's.";

/// Where a scenario's trials ran.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bench {
    /// The machine's own kernel.
    Host,
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
    #[must_use]
    pub fn of(contents: &Contents, scenario: &Scenario) -> Bench {
        match scenario.settings["bench"].as_str() {
            None | Some("" | "host") => Bench::Host,
            Some("guest") => Bench::Guest(Guest::of(contents, scenario)),
            Some(other) => Bench::Other(other.into()),
        }
    }

    /// Whether it is a guest.
    #[must_use]
    pub fn is_guest(&self) -> bool {
        matches!(self, Bench::Guest(_))
    }

    /// Whether figures of both may be compared: of one kind, and of guests the same kernel with the same memory.
    #[must_use]
    pub fn is_like(&self, other: &Bench) -> bool {
        match (self, other) {
            (Bench::Guest(a), Bench::Guest(b)) => {
                a.kernels == b.kernels && a.memory_bytes == b.memory_bytes && a.files_sha256 == b.files_sha256
            }
            _ => self == other,
        }
    }

    /// For machines.
    #[must_use]
    pub fn json(&self) -> Value {
        match self {
            Bench::Host => json!({ "bench": "host" }),
            Bench::Other(name) => json!({ "bench": name }),
            Bench::Guest(guest) => json!({
                "bench": "guest",
                "guest_kernel": guest.kernels,
                "guest_kernel_file_sha256": guest.files_sha256,
                "guest_memory_bytes": guest.memory_bytes,
            }),
        }
    }
}

impl fmt::Display for Bench {
    /// As it follows "ran": "on the host's kernel", "in a guest kernel: Linux 6.1.176 (User-Mode Linux), 1 GiB of memory".
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Bench::Host => out.write_str("on the host's kernel"),
            Bench::Other(name) => write!(out, "on the bench `{name}`"),
            Bench::Guest(guest) => {
                let kernels: Vec<&str> = guest.kernels.iter().map(String::as_str).collect();
                let kernel = if kernels.is_empty() { "unknown".into() } else { kernels.join(" and ") };
                write!(out, "in a guest kernel: {kernel}")?;
                guest.memory_bytes.map_or(Ok(()), |bytes| write!(out, ", {} of memory", size(bytes)))
            }
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

/// "1 GiB", where it is whole; else with three digits.
fn size(bytes: u64) -> String {
    let whole = [(1 << 30, "GiB"), (1 << 20, "MiB")]
        .into_iter()
        .find(|(unit, _)| bytes >= *unit && bytes.is_multiple_of(*unit));
    let rounded = || Scale::of(&Metric::new("memory", "B", Direction::Neither), bytes as f64).with_unit(bytes as f64);
    whole.map_or_else(rounded, |(unit, name)| format!("{} {name}", bytes / unit))
}

/// The benches of a study, each once.
#[must_use]
pub fn benches(contents: &Contents) -> Vec<Bench> {
    let all: BTreeSet<Bench> = contents.scenarios.iter().map(|scenario| Bench::of(contents, scenario)).collect();
    all.into_iter().collect()
}

/// Where it ran and what that does to the figures; nothing to say of the host alone.
#[must_use]
pub fn note(input: &Input) -> Option<String> {
    let benches = benches(&input.contents);
    if !benches.iter().any(Bench::is_guest) {
        return None;
    }
    Some(format!("Trials ran {}. {GUEST_LIMITS}", list(&benches)))
}

/// All in a row.
#[must_use]
pub fn list(benches: &[Bench]) -> String {
    let named: Vec<String> = benches.iter().take(BENCHES_MAX).map(Bench::to_string).collect();
    let more = benches.len().saturating_sub(BENCHES_MAX);
    if more > 0 { format!("{}; and on {more} more", named.join("; ")) } else { named.join("; and ") }
}
