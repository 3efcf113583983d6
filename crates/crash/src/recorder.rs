//! The first half of a measurement: a load runs on a disk that records, beside the kernel's tracer and the list of what the load was
//! told.

use crate::block_trace::BlockTrace;
use crate::plan::TrialSpec;
use crate::recording;
use crate::recording_disk::Disks;
use crate::replay;
use crate::search::Recording;
use powercut::ack_log::{self, Attempt};
use powercut::device::{self, Disk};
use powercut::fua;
use powercut::write_log::{Event, Request, Writer};
use sandbox::work::Work;
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;
use study::trial_spec::Cut;
use workloads::replacements;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// A recording disk, which waits for its filesystem and its load.
pub struct Recorder<'a> {
    work: &'a Work,
    spec: TrialSpec,
    cut: &'a Cut,
    disks: Disks,
    disk: Disk,
    /// What the load was told.
    witness: PathBuf,
    /// While the load runs.
    trace: Option<io::Result<BlockTrace>>,
    /// What the kernel said of the load's requests.
    traced: io::Result<Option<String>>,
    started: Instant,
}

impl<'a> Recorder<'a> {
    /// Starts the disk of a trial.
    ///
    /// # Errors
    /// When there is none, or its folder can't be made.
    pub fn start(work: &'a Work, spec: &TrialSpec, cut: &'a Cut) -> Result<Recorder<'a>> {
        let started = Instant::now();
        let folder = work.power_cuts();
        std::fs::create_dir_all(&folder)?;
        let witness = folder.join("commits");
        let mut spec = spec.clone();
        spec.parameters.insert("witness".into(), witness.to_string_lossy().into());
        let disks = Disks::of(&spec, cut)?;
        let disk = disks.record(work)?;
        Ok(Recorder { work, spec, cut, disks, disk, witness, trace: None, traced: Ok(None), started })
    }

    /// The trial with its load told where to write down what it is told.
    pub fn spec(&self) -> &TrialSpec {
        &self.spec
    }

    /// The load begins; `device` is the block device that its filesystem is on.
    ///
    /// # Errors
    /// When the disk is gone.
    pub fn begin(&mut self, device: &str) -> Result<()> {
        self.trace = Some(BlockTrace::start(device, fua::EVENTS, &self.work.tracefs()));
        Ok(self.disk.begin()?)
    }

    /// The load has ended: what is written from now on is no part of the recording.
    ///
    /// # Errors
    /// When the disk is gone.
    pub fn stop(&mut self) -> Result<()> {
        self.disk.stop()?;
        if let Some(trace) = self.trace.take() {
            self.traced = trace.and_then(|mut trace| trace.take());
        }
        Ok(())
    }

    /// Ends the disk, which nothing may use any more. `load` is what the load has to say of itself.
    ///
    /// # Errors
    /// When the log, or the list of what the load was told, can't be read or kept.
    pub fn finish(self, load: Vec<String>) -> Result<Recording<'a>> {
        let log = recording::log(self.work);
        let fua = repair(&log, self.traced)?;
        let ahead = self.disk.ahead();
        let clock = ahead.map(|ahead| {
            let microseconds = ahead.width_nanoseconds() as f64 / 1e3;
            format!("the guest's clock is known to {microseconds:.0} µs of the disk's; a loss that less would decide is not counted")
        });
        let late = self.disk.timing_fidelity().map(|found| {
            let milliseconds = found.late_nanoseconds_p99 as f64 / 1e6;
            format!("one in a hundred of the disk's answers came more than {milliseconds:.1} ms late")
        });
        let mut notes: Vec<String> = clock.into_iter().chain(late).chain([fua]).chain(load).collect();
        if self.spec.workload == replacements::KIND.name {
            notes.push(replacements::describe(&self.spec.parameters));
        }
        let all = ack_log::read(&std::fs::read_to_string(&self.witness)?)?;
        let attempts: Vec<Attempt> = match ahead {
            Some(ahead) => all.iter().map(|attempt| ahead.date(attempt)).collect(),
            None => all,
        };
        // Before the search, because a recovery may kill the kernel that this runs in.
        let log = replay::keep(self.work, &self.spec, &log)?;
        let (work, spec, cut, disks, started) = (self.work, self.spec, self.cut, self.disks, self.started);
        Ok(Recording { work, spec, cut, disks, log, attempts, notes, started })
    }
}

/// Writes into the log which flushes were for single writes, and says what came of it.
fn repair(log: &Path, traced: io::Result<Option<String>>) -> Result<String> {
    let unknown = |why: &str| format!("a flush for a single write (FUA) counts as one of everything: {why}");
    let trace = match traced {
        Ok(Some(trace)) => trace,
        Ok(None) => return Ok(unknown("the kernel's tracer had no room for all requests")),
        Err(error) => return Ok(unknown(&format!("the kernel's tracer can't be used: {error}"))),
    };
    let Some(found) = fua::find(&device::map(log)?, &trace)? else {
        return Ok(unknown("the kernel's tracer saw other flushes than the disk"));
    };
    let mut writer = Writer::at_end(File::options().append(true).open(log)?);
    found.iter().try_for_each(|event| writer.add(event))?;
    let flushes: BTreeSet<Request> = found.iter().filter_map(Event::only_of).collect();
    Ok(format!("flushes that were for single writes (FUA), by the kernel's tracer: {}", flushes.len()))
}
