//! A trial that measures what a power cut takes: the load runs on a recording disk, and then real recoveries on images that a
//! cut may have left.

use super::{Out, Stopped, Trial};
use crate::drive::Drive;
use crate::recording_disk;
use crate::recovery::Recoveries;
use crate::replay;
use crate::work::Work;
use observe::record::Record;
use observe::safety::{Grade, Safety};
use powercut::explore::{Budget, explore};
use powercut::states::{Cache, History};
use powercut::witness::{self, Attempt};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Instant;
use study::trial_spec::{Cut, TrialSpec};
use workloads::replacements;

/// Recoveries beyond this tell nothing new, however quick they are.
const IMAGES_MAX: u64 = 1_000_000;

/// Records, then explores.
pub(super) fn conduct(trial: &Trial, wanted: &Cut, out: &mut Out<impl Write>) -> Result<(), Stopped> {
    let started = Instant::now();
    let work = trial.work;
    let files = Files::new(work).map_err(|error| Stopped::at("power cut")(error.into()))?;
    let mut spec = trial.spec.clone();
    spec.parameters.insert("witness".into(), files.witness.to_string_lossy().into());
    let trial = Trial { spec: &spec, cpus: trial.cpus.clone(), ..*trial };
    let slip = record(&trial, wanted, &files.log, out)?;
    let recorded = started.elapsed().as_secs_f64();
    out.step("record", recorded);
    let mut safety = recoveries(&spec, wanted, work, &files).map_err(Stopped::at("power cut"))?;
    safety.promise = (trial.kind.durability)(&spec.parameters).class;
    safety.notes.extend(slip.map(|nanoseconds| {
        format!("one in a hundred of the disk's answers came more than {:.1} ms late", nanoseconds as f64 / 1e6)
    }));
    if spec.workload == replacements::KIND.name {
        safety.notes.push(replacements::describe(&spec.parameters));
    }
    safety.seconds = started.elapsed().as_secs_f64();
    out.step("explore", safety.seconds - recorded);
    if safety.grade > Grade::A {
        replay::keep(work, &spec, &files.log).map_err(|error| Stopped::at("power cut")(error.into()))?;
    }
    out.say(&Record::Safety(Box::new(safety)));
    Ok(())
}

/// What is kept outside the disk.
struct Files {
    log: PathBuf,
    witness: PathBuf,
}

impl Files {
    fn new(work: &Work) -> std::io::Result<Files> {
        let folder = work.power_cuts();
        std::fs::create_dir_all(&folder)?;
        std::fs::create_dir_all(work.disk())?;
        let file = |name: &str| folder.join(name);
        Ok(Files { log: file("writes.log"), witness: file("commits") })
    }
}

fn describe(wanted: &Cut, cache: Cache) -> String {
    let cache = match cache {
        Cache::Volatile => "a volatile cache",
        Cache::WriteThrough => "no volatile cache",
        Cache::Lying => "a cache whose flushes do nothing",
    };
    let speed =
        if wanted.profile == "none" { "as fast as memory".into() } else { format!("timed as {}", wanted.profile) };
    format!("{cache}, {}-byte units, {speed}", wanted.unit_bytes)
}

/// Makes the filesystem and runs the load on a recording disk; then everything on it is ended. How late a slow disk answered.
fn record(trial: &Trial, wanted: &Cut, log: &Path, out: &mut Out<impl Write>) -> Result<Option<u64>, Stopped> {
    let disk = recording_disk::record(trial.spec, wanted, trial.work, log);
    let mut disk = disk.map_err(|error| Stopped::at("recording disk")(error.into()))?;
    trial.on_storage(out, |desk, workload, served, out| {
        if served.is_none() {
            desk.with_context(out, |context| workload.prepare(context)).map_err(|e| Stopped::at("load")(e.into()))?;
        }
        desk.volumes.settle().map_err(|error| Stopped::at("settle")(error.into()))?;
        disk.begin().map_err(|error| Stopped::at("recording disk")(error.into()))?;
        desk.with_context(out, |context| workload.run(context)).map_err(|e| Stopped::at("run")(e.into()))?;
        // The server is left to be ended by force: what it would still write is not part of the log.
        disk.stop().map_err(|error| Stopped::at("recording disk")(error.into()))
    })?;
    Ok(disk.slip_nanoseconds_p99())
}

/// Runs recoveries on the images that a cut may have left.
fn recoveries(
    spec: &TrialSpec,
    wanted: &Cut,
    work: &Work,
    files: &Files,
) -> Result<Safety, Box<dyn std::error::Error>> {
    let rules = Drive::new(wanted)?.rules;
    let history = History::new(std::fs::read(&files.log)?, rules)?;
    let attempts: Vec<Attempt> = witness::read(&std::fs::read_to_string(&files.witness)?)?;
    let serve = || recording_disk::explore(spec, wanted, work, &files.log);
    let mut bench = Recoveries::new(spec, wanted.recovery_seconds_max, work, &serve);
    let budget = Budget { seconds: wanted.budget_seconds, images_max: IMAGES_MAX, seed: spec.seed };
    let started = Instant::now();
    let mut clock = || started.elapsed().as_secs_f64();
    let interrupted = || super::STOP.load(Ordering::Relaxed);
    let mut safety = explore(&history, &attempts, &mut bench, &budget, &mut clock, &interrupted)?;
    safety.disk = describe(wanted, rules.cache);
    let left_out = history.points_left_out();
    if left_out > 0 {
        safety.notes.push(format!("{left_out} more points at which power may fail were left out"));
    }
    Ok(safety)
}
