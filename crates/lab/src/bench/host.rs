//! The host bench: each trial is a `surefoot trial` process in namespaces of its own.
//!
//! The trial's standard input carries the TrialSpec, then the word `stop` if the user interrupts; its end means that
//! the conductor is gone. Its standard output carries records; everything its programs say goes to the trial's log.

use super::conversation::{self, Heard, Talk};
use super::{Bench, End, Error};
use crate::memory_limit::MemoryLimit;
use crate::work::Work;
use observe::record::Record;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::atomic::AtomicBool;
use std::time::{SystemTime, UNIX_EPOCH};
use study::trial_spec::TrialSpec;

/// Runs trials on this machine's kernel.
pub struct Host {
    /// The program to start: this same binary.
    pub program: PathBuf,
    /// The study's work folder.
    pub work: Work,
}

impl Bench for Host {
    fn run(&mut self, spec: &TrialSpec, interrupted: &AtomicBool, sink: &mut dyn FnMut(Record)) -> Result<End, Error> {
        let limit = spec.memory_bytes.map(|bytes| MemoryLimit::new(bytes, &self.work)).transpose()?;
        let child = self.start(limit.as_ref())?;
        let log = self.work.trial_log();
        let line = serde_json::to_string(spec).expect("a TrialSpec is plain data");
        let talk = Talk { spec, interrupted, log: &log, opening: line + "\n", after: None };
        let end = talk.hold(child, &mut |heard| {
            if let Heard::Record(record) = heard {
                sink(record);
            }
        });
        drop(limit);
        end
    }

    fn now(&self) -> f64 {
        SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock is past 1970").as_secs_f64()
    }

    fn machine(&self) -> BTreeMap<String, String> {
        let mut facts = observe::machine::facts();
        facts.extend(observe::machine::facts_for(self.work.folder()));
        facts
    }
}

impl Host {
    fn start(&self, limit: Option<&MemoryLimit>) -> Result<Child, Error> {
        let mut command = Command::new(&self.program);
        command.arg("trial").arg(self.work.folder());
        if let Some(limit) = limit {
            let started = |source| Error::Start { program: self.program.display().to_string(), source };
            limit.start_inside(&mut command).map_err(started)?;
        }
        conversation::start(command, &self.work)
    }
}
