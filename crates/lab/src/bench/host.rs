//! The host bench: each trial is a `surefoot trial` process in namespaces of its own.
//!
//! The trial's standard input carries the TrialSpec, then the word `stop` if the user interrupts; its end means that
//! the conductor is gone. Its standard output carries records; everything its programs say goes to the trial's log.

use super::conversation::{self, Event, LEFTOVER_PATIENCE, Talk, TrialProcess};
use super::{Bench, End, Ends, Error, Sink};
use crash::plan::TrialSpec;
use crash::safety::tells_of_what_stands;
use observe::record::{Failure, Record};
use sandbox::memory_limit::MemoryLimit;
use sandbox::work::Work;
use settings::quantity::format_bytes;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Runs trials on this machine's kernel.
pub struct Host {
    /// The program to start: this same binary.
    pub program: PathBuf,
    /// The study's work folder.
    pub work: Work,
    /// What lets its trials use the load agent that it names.
    pub client: Option<Client>,
    /// Since this session began.
    pub clock: Clock,
}

/// What time it is: what the machine's clock said once, and the seconds since then. A clock that is set meanwhile would put trials before
/// those that came first, or make a trial of seconds one of hours.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    /// Unix time, seconds.
    started: f64,
    since: Instant,
}

impl Clock {
    /// From now on.
    ///
    /// # Panics
    /// When the machine's clock says a year before 1970.
    pub fn start() -> Clock {
        let started = SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock is past 1970").as_secs_f64();
        Clock { started, since: Instant::now() }
    }

    fn now(&self) -> f64 {
        self.started + self.since.elapsed().as_secs_f64()
    }
}

/// How trials are told of their study's load agent.
pub struct Client {
    /// The study's half of the pairing.
    pub pairing: PathBuf,
    /// What the trials of one study share an agent by.
    pub lease: String,
}

impl Bench for Host {
    fn run(&mut self, spec: &TrialSpec, interrupted: &AtomicBool, sink: &mut dyn FnMut(Record)) -> Result<End, Error> {
        let mut up = self.start(spec, None, interrupted)?;
        let mut stands = false;
        let end = up.talk.follow_to_end(&mut records(&mut |record| {
            stands |= tells_of_what_stands(&record);
            sink(record);
        }))?;
        let end = up.judged(end);
        // A report names the images that were found, which the search can't say any more.
        #[cfg(target_os = "linux")]
        if stands && matches!(end, End::Failed(_)) {
            crash::replay::settle(&self.work, &spec.scenario, true);
        }
        Ok(end)
    }

    fn run_by_turns(&mut self, specs: &[TrialSpec], order: &[usize], interrupted: &AtomicBool, sink: Sink) -> Ends {
        let mut all: Vec<Option<Up>> = Vec::new();
        let mut ends: Vec<Option<End>> = vec![None; specs.len()];
        // One after the other, so that none is measured while another is made.
        for (index, spec) in specs.iter().enumerate() {
            // What is not there yet need not be made.
            if interrupted.load(Ordering::Relaxed) {
                all.push(None);
                continue;
            }
            let mut up = self.start(spec, Some(index), interrupted)?;
            ends[index] = up.follow(&mut |record| sink(index, record))?;
            all.push(ends[index].is_none().then_some(up));
        }
        // And once more at the end, where each looks at its data and takes its storage away.
        for index in order.iter().copied().chain(0..specs.len()) {
            let Some(up) = &mut all[index] else { continue };
            // Who is to stop hears it in `follow`; told to go on, it would take a turn that nobody asked for.
            if !interrupted.load(Ordering::Relaxed) {
                up.talk.go_on();
            }
            ends[index] = up.follow(&mut |record| sink(index, record))?;
            if ends[index].is_some() {
                all[index] = None;
            }
        }
        Ok(ends.into_iter().map(|end| end.unwrap_or(End::Interrupted)).collect())
    }

    fn now(&self) -> f64 {
        self.clock.now()
    }

    fn machine(&self) -> BTreeMap<String, String> {
        let mut facts = observe::machine::facts(&storage::version_commands());
        facts.extend(observe::machine::facts_for(self.work.folder()));
        facts
    }
}

/// A trial that is up, with its limit.
struct Up<'a> {
    talk: Talk<'a>,
    limit: Option<MemoryLimit>,
}

impl Up<'_> {
    /// Until it waits or has ended.
    fn follow(&mut self, sink: &mut dyn FnMut(Record)) -> Result<Option<End>, Error> {
        Ok(self.talk.follow(&mut records(sink))?.map(|end| self.judged(end)))
    }

    /// A trial of which the kernel ended processes for want of memory has failed, and by that.
    fn judged(&self, end: End) -> End {
        if end != End::Finished {
            storage::restore_caches();
        }
        let Some(limit) = &self.limit else { return end };
        let killed = limit.processes_killed();
        if killed == 0 || end == End::Interrupted {
            return end;
        }
        let in_the_run = Failure { step: "run".into(), ..Failure::default() };
        let mut failure = if let End::Failed(failure) = end { failure } else { in_the_run };
        let (limit, were) = (format_bytes(limit.bytes()), if killed == 1 { "was" } else { "were" });
        let cause = format!(
            "out of memory: {killed} of the trial's processes {were} ended by the kernel, as `memory` limits it to {limit}"
        );
        failure.causes.insert(0, cause);
        End::Failed(failure)
    }
}

/// Hands out what comes from a process that listens from the start.
fn records(sink: &mut dyn FnMut(Record)) -> impl FnMut(Event) {
    move |heard| {
        if let Event::Record(record) = heard {
            sink(record);
        }
    }
}

impl Host {
    /// Starts a trial, in a slot of the work folder where it is one of several.
    fn start<'a>(
        &self,
        spec: &'a TrialSpec,
        slot: Option<usize>,
        interrupted: &'a AtomicBool,
    ) -> Result<Up<'a>, Error> {
        let limit = spec.memory_bytes.map(|bytes| MemoryLimit::new(bytes, &self.work)).transpose()?;
        let mut command = Command::new(&self.program);
        command.arg("trial").arg(self.work.folder());
        let work = slot.map_or_else(|| Ok(self.work.clone()), |slot| self.work.slot(slot))?;
        if let Some(slot) = slot {
            command.arg("--slot").arg(slot.to_string());
        }
        // The trial itself says who has them, where they stay in use.
        for settings in std::iter::once(&spec.storage).chain(spec.volumes.values()) {
            storage::wait_until_free(settings, &work.images(), LEFTOVER_PATIENCE, interrupted);
        }
        if let Some(client) = self.client.as_ref().filter(|_| spec.client.is_some()) {
            command.arg("--pairing").arg(&client.pairing).args(["--lease", &client.lease]);
        }
        if let Some(limit) = &limit {
            let started = |source| Error::Start { program: self.program.display().to_string(), source };
            limit.start_inside(&mut command).map_err(started)?;
        }
        let child = conversation::start(command, &work)?;
        let opening = serde_json::to_string(spec).expect("a TrialSpec is plain data") + "\n";
        let process = TrialProcess { spec, interrupted, log: work.trial_log(), opening, after: None };
        Ok(Up { talk: Talk::begin(process, child), limit })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_goes_by_one_look_at_the_machines_clock() {
        let clock = Clock { started: 1e9, since: Instant::now() };
        assert!((1e9..1e9 + 3600.0).contains(&clock.now()), "{} of what it began with", clock.now());
    }
}
