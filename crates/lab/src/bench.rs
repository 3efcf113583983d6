//! The seam between deciding and doing: a bench runs one trial and hands out its records.

use crate::inputs::{self, Inputs};
use crash::plan::TrialSpec;
use observe::record::{Failure, Record};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

mod conversation;
pub mod guest;
pub mod host;

/// Where trials run: this host's kernel, or a guest's.
pub trait Bench {
    /// Runs one trial to its end and hands each record to `sink` as it comes.
    ///
    /// # Errors
    /// [`Error`] when no trial could be started at all; a trial that fails is [`End::Failed`].
    fn run(&mut self, spec: &TrialSpec, interrupted: &AtomicBool, sink: &mut dyn FnMut(Record)) -> Result<End, Error>;

    /// Runs trials that take turns: all are up at the same time, and `order` says whose turn it is, each as often as it has
    /// measured runs. `sink` is told which trial a record is of. Here one trial after the other, for a bench without time.
    ///
    /// # Errors
    /// As [`Bench::run`].
    fn run_by_turns(&mut self, specs: &[TrialSpec], _order: &[usize], interrupted: &AtomicBool, sink: Sink) -> Ends {
        let one = |(index, spec): (usize, &TrialSpec)| self.run(spec, interrupted, &mut |record| sink(index, record));
        specs.iter().enumerate().map(one).collect()
    }

    /// Unix time in seconds by this bench's clock.
    fn now(&self) -> f64;

    /// The machine's facts, kept with each session.
    fn machine(&self) -> BTreeMap<String, String>;
}

/// Is told each record of several trials, with the trial's number among them.
pub type Sink<'a> = &'a mut dyn FnMut(usize, Record);

/// How several trials ended.
pub type Ends = Result<Vec<End>, Error>;

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
    Work(#[from] sandbox::work::Error),
    /// Its process would be of another program than the trials before it: of an upgrade, or built anew.
    #[error("{0} was replaced or removed while the study ran: trials of two programs can't be compared")]
    Replaced(PathBuf),
    /// It would read other data than the trials before it.
    #[error(transparent)]
    Input(#[from] inputs::Changed),
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
    MemoryLimit(#[from] sandbox::memory_limit::Error),
}

/// This machine: its own kernel, and guests on it.
pub struct OfThisMachine {
    /// For `bench = "host"`.
    pub host: host::Host,
    /// For `bench = "guest"`.
    pub guest: guest::Guest,
    /// What the user's files held when the session began: each trial is to read that.
    pub inputs: Inputs,
}

impl OfThisMachine {
    /// The folder and the program are those of the trials before.
    fn require_same(&self) -> Result<(), Error> {
        self.host.work.still_there()?;
        let program = &self.host.program;
        if observe::program::is_replaced(program) { Err(Error::Replaced(program.clone())) } else { Ok(()) }
    }
}

impl Bench for OfThisMachine {
    fn run(&mut self, spec: &TrialSpec, interrupted: &AtomicBool, sink: &mut dyn FnMut(Record)) -> Result<End, Error> {
        self.require_same()?;
        self.inputs.require_unchanged(spec)?;
        match spec.bench {
            study::Bench::Guest => self.guest.run(spec, interrupted, sink),
            study::Bench::Host => self.host.run(spec, interrupted, sink),
        }
    }

    fn run_by_turns(&mut self, specs: &[TrialSpec], order: &[usize], interrupted: &AtomicBool, sink: Sink) -> Ends {
        self.require_same()?;
        specs.iter().try_for_each(|spec| self.inputs.require_unchanged(spec))?;
        self.host.run_by_turns(specs, order, interrupted, sink)
    }

    fn now(&self) -> f64 {
        self.host.now()
    }

    fn machine(&self) -> BTreeMap<String, String> {
        let mut facts = self.host.machine();
        facts.extend(self.guest.machine().chain(self.inputs.facts()));
        facts
    }
}
