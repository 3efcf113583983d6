//! A trial that measures what a power cut takes: the load runs on a recording disk, and then real recoveries on images that a
//! cut may have left.

use super::{Cpus, Desk, Out, Stopped, check_effects};
use crate::recovery::Recoveries;
use crate::replay;
use crate::served::{self, Reached};
use crate::volumes::Volumes;
use crate::work::Work;
use observe::record::{Provisioned, Record};
use observe::safety::{Grade, Safety};
use powercut::device::{Disk, Options};
use powercut::explore::{Budget, explore};
use powercut::states::{History, Rules};
use powercut::witness::{self, Attempt};
use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::Ordering;
use std::time::Instant;
use storage::StorageSettings;
use study::trial_spec::{Cut, TrialSpec};
use workloads::workload::Kind;

/// Recoveries beyond this tell nothing new, however quick they are.
const IMAGES_MAX: u64 = 1_000_000;

/// Records, then explores.
pub(super) fn conduct(
    spec: &TrialSpec,
    wanted: &Cut,
    work: &Work,
    kind: &'static Kind,
    cpus: &Cpus,
    out: &mut Out<impl Write>,
) -> Result<(), Stopped> {
    let started = Instant::now();
    let files = Files::new(work).map_err(|error| Stopped::at("power cut")(error.into()))?;
    let mut spec = spec.clone();
    spec.parameters.insert("witness".into(), files.witness.to_string_lossy().into());
    let disk = disk(&spec, wanted, work, &files.log).map_err(Stopped::at("recording disk"))?;
    let slip = record(&spec, work, kind, cpus, disk, out)?;
    let recorded = started.elapsed().as_secs_f64();
    out.step("record", recorded);
    let mut safety = recoveries(&spec, wanted, work, &files).map_err(Stopped::at("power cut"))?;
    safety.disk = describe(wanted);
    safety.notes.extend(slip.map(|nanoseconds| {
        format!("one in a hundred of the disk's answers came more than {:.1} ms late", nanoseconds as f64 / 1e6)
    }));
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
    /// Where a disk that only explores would record.
    unused_log: PathBuf,
    witness: PathBuf,
}

impl Files {
    fn new(work: &Work) -> std::io::Result<Files> {
        let folder = work.power_cuts();
        std::fs::create_dir_all(&folder)?;
        std::fs::create_dir_all(work.disk())?;
        let file = |name: &str| folder.join(name);
        Ok(Files { log: file("writes.log"), unused_log: file("unused.log"), witness: file("commits") })
    }
}

fn disk(spec: &TrialSpec, wanted: &Cut, work: &Work, log: &Path) -> Result<Disk, Box<dyn std::error::Error>> {
    let plain = |text: &str| Value::String(text.into());
    let options = Options {
        mount_point: work.disk(),
        log: log.into(),
        disk_bytes: StorageSettings::from_map(&spec.storage).size,
        log_bytes_max: wanted.log_bytes_max,
        profile: serde_json::from_value(plain(&wanted.profile))?,
        cache: serde_json::from_value(plain(&wanted.cache))?,
    };
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("disk");
    Ok(Disk::start(command, &options)?)
}

fn describe(wanted: &Cut) -> String {
    let cache = match &*wanted.cache {
        "write-through" => "no volatile cache",
        "lying" => "a cache whose flushes do nothing",
        _ => "a volatile cache",
    };
    let speed =
        if wanted.profile == "none" { "as fast as memory".into() } else { format!("timed as {}", wanted.profile) };
    format!("{cache}, {}-byte units, {speed}", wanted.unit_bytes)
}

/// Makes the filesystem and runs the load on the recording disk; then everything on it is ended. How late a slow disk answered.
fn record(
    spec: &TrialSpec,
    work: &Work,
    kind: &'static Kind,
    cpus: &Cpus,
    mut disk: Disk,
    out: &mut Out<impl Write>,
) -> Result<Option<u64>, Stopped> {
    let volumes = Volumes::provision(spec, work, &mut |name, seconds| out.step(name, seconds));
    let volumes = volumes.map_err(|error| Stopped::at("provision")(error.into()))?;
    let result = under_load(spec, work, kind, cpus, &volumes, &mut disk, out);
    let torn = volumes.tear_down().map_err(|error| Stopped::at("tear down")(error.into()));
    result.and(torn)?;
    Ok(disk.slip_nanoseconds_p99())
}

fn under_load(
    spec: &TrialSpec,
    work: &Work,
    kind: &'static Kind,
    cpus: &Cpus,
    volumes: &Volumes,
    disk: &mut Disk,
    out: &mut Out<impl Write>,
) -> Result<(), Stopped> {
    out.say(&Record::Provisioned(Provisioned {
        facts: volumes.facts(),
        commands: Vec::new(),
        durability: Some(volumes.durability().and(crate::durability::of_load(
            &spec.workload,
            &spec.parameters,
            &spec.services,
        ))),
    }));
    check_effects(spec.ineffective_options, &volumes.ineffective(), out)?;
    let mut workload = (kind.open)(&spec.parameters).map_err(|error| Stopped::at("open")(error.into()))?;
    let reached = Reached { data: volumes.data.data_folder.clone(), ..Reached::default() };
    let mut desk = Desk { spec, work, volumes, kind, cpus, reached };
    let served = desk.serve(out)?;
    if let Some(served) = &served {
        desk.reached = served.reached();
    }
    let mut load = || {
        if served.is_none() {
            desk.with_context(out, |context| workload.prepare(context)).map_err(|e| Stopped::at("load")(e.into()))?;
        }
        volumes.settle().map_err(|error| Stopped::at("settle")(error.into()))?;
        disk.begin().map_err(|error| Stopped::at("recording disk")(error.into()))?;
        desk.with_context(out, |context| workload.run(context)).map_err(|e| Stopped::at("run")(e.into()))?;
        disk.stop().map_err(|error| Stopped::at("recording disk")(error.into()))
    };
    let done = load();
    done.map_err(|mut stopped| {
        stopped.log.push_str(&served.as_ref().map(served::Served::messages).unwrap_or_default());
        stopped
    })
    // Servers end by force here: what they would still write is not part of the log.
}

/// Runs recoveries on the images that a cut may have left.
fn recoveries(
    spec: &TrialSpec,
    wanted: &Cut,
    work: &Work,
    files: &Files,
) -> Result<Safety, Box<dyn std::error::Error>> {
    let cache = serde_json::from_value(Value::String(wanted.cache.clone()))?;
    let rules = Rules { unit_bytes: wanted.unit_bytes, cache };
    let history = History::new(std::fs::read(&files.log)?, rules)?;
    let attempts: Vec<Attempt> = witness::read(&std::fs::read_to_string(&files.witness)?)?;
    let serve = || {
        let mut disk = disk(spec, wanted, work, &files.unused_log)?;
        disk.explore(&files.log, rules)?;
        Ok(disk)
    };
    let mut bench = Recoveries::new(spec, work, &serve);
    let budget = Budget { seconds: wanted.budget_seconds, images_max: IMAGES_MAX, seed: spec.seed };
    let started = Instant::now();
    let mut clock = || started.elapsed().as_secs_f64();
    let interrupted = || super::STOP.load(Ordering::Relaxed);
    let mut safety = explore(&history, &attempts, &mut bench, &budget, &mut clock, &interrupted)?;
    let left_out = history.points_left_out();
    if left_out > 0 {
        safety.notes.push(format!("{left_out} more points at which power may fail were left out"));
    }
    Ok(safety)
}
