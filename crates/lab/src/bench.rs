//! The seam between deciding and doing: a bench runs one trial and hands out its records.

use observe::record::{Failure, Record};
use std::sync::atomic::AtomicBool;
use study::trial_spec::TrialSpec;

pub mod host;
pub mod simulated;

/// Where trials run: this host's kernel, or a simulation.
pub trait Bench {
    /// Runs one trial to its end and hands each record to `sink` as it comes.
    ///
    /// # Errors
    /// [`Error`] when no trial could be started at all; a trial that fails is [`End::Failed`].
    fn run(&mut self, spec: &TrialSpec, interrupted: &AtomicBool, sink: &mut dyn FnMut(Record)) -> Result<End, Error>;

    /// Unix time in seconds by this bench's clock.
    fn now(&self) -> f64;

    /// The machine's facts, kept with each session.
    fn machine(&self) -> std::collections::BTreeMap<String, String>;
}

/// How a trial ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// All its runs are recorded.
    Finished,
    /// It failed; a result like any other.
    Failed(Failure),
    /// The user interrupted; it will be done again.
    Interrupted,
}

/// Why no trial could be started.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The trial's process could not be started.
    #[error("cannot start a trial's process `{program}`")]
    Start {
        /// What was to be started.
        program: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// Talking to it failed.
    #[error("cannot talk to the trial's process")]
    Pipe(#[source] std::io::Error),
    /// The memory limit could not be set.
    #[error(transparent)]
    MemoryLimit(#[from] crate::memory_limit::Error),
}
