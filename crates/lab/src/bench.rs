//! The seam between deciding and doing: a bench runs one trial and hands out its records.

use observe::record::{Failure, Record};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use study::trial_spec::TrialSpec;

mod conversation;
pub mod guest;
pub mod host;
pub mod simulated;

/// Where trials run: this host's kernel, a guest's, or a simulation.
pub trait Bench {
    /// Runs one trial to its end and hands each record to `sink` as it comes.
    ///
    /// # Errors
    /// [`Error`] when no trial could be started at all; a trial that fails is [`End::Failed`].
    fn run(&mut self, spec: &TrialSpec, interrupted: &AtomicBool, sink: &mut dyn FnMut(Record)) -> Result<End, Error>;

    /// Unix time in seconds by this bench's clock.
    fn now(&self) -> f64;

    /// The machine's facts, kept with each session.
    fn machine(&self) -> BTreeMap<String, String>;
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
    /// The work folder is not what it was.
    #[error(transparent)]
    Work(#[from] crate::work::Error),
    /// Talking to it failed.
    #[error("cannot talk to the trial's process")]
    Pipe(#[source] std::io::Error),
    /// There is no guest kernel.
    #[error(transparent)]
    Kernel(#[from] ::guest::kernel::Error),
    /// A guest can't be started like this.
    #[error(transparent)]
    Boot(#[from] ::guest::boot::Error),
    /// The memory limit could not be set.
    #[error(transparent)]
    MemoryLimit(#[from] crate::memory_limit::Error),
}

/// This machine: its own kernel, and guests on it.
pub struct OfThisMachine {
    /// For `bench = "host"`.
    pub host: host::Host,
    /// For `bench = "guest"`.
    pub guest: guest::Guest,
}

impl Bench for OfThisMachine {
    fn run(&mut self, spec: &TrialSpec, interrupted: &AtomicBool, sink: &mut dyn FnMut(Record)) -> Result<End, Error> {
        self.host.work.still_there()?;
        match &*spec.bench {
            "guest" => self.guest.run(spec, interrupted, sink),
            _ => self.host.run(spec, interrupted, sink),
        }
    }

    fn now(&self) -> f64 {
        self.host.now()
    }

    fn machine(&self) -> BTreeMap<String, String> {
        let mut facts = self.host.machine();
        facts.extend(self.guest.machine());
        facts
    }
}
