//! A trial that measures what a power cut takes: the load runs on a recording disk, and then real recoveries on images that a
//! cut may have left.

mod copy_out;

use super::{Out, Stopped, Trial};
use crate::block_trace::BlockTrace;
use crate::drive::Drive;
use crate::examples;
use crate::recording;
use crate::recording_disk::Disks;
use crate::recoveries::Recoveries;
use crate::recovery::Broken;
use crate::replay;
use crate::shown::Images;
use crate::virtual_disks::VirtualDisks;
use crate::watchdog::Watchdog;
use crate::work::Work;
use observe::durability::Class;
use observe::record::Record;
use observe::safety::{Grade, Safety};
use powercut::clock::Ahead;
use powercut::device::{self, keep_awake};
use powercut::explore::{Budget, Recovered, Subject, explore};
use powercut::fua;
use powercut::punctuality::Punctuality;
use powercut::states::{Cache, Choice, Draw, History, Image};
use powercut::witness::{self, Attempt};
use powercut::write_log::{Event, Request, Writer};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use storage::StorageSettings;
use study::trial_spec::Cut;
use workloads::replacements;

/// Recoveries beyond this tell nothing new, however quick they are.
const IMAGES_MAX: u64 = 1_000_000;

/// How often what was found so far is told, where the kernel may die.
const TALLY_INTERVAL: Duration = Duration::from_millis(100);

/// Records, then explores.
pub(super) fn conduct(trial: &Trial, wanted: &Cut, out: &mut Out<impl Write>) -> Result<(), Stopped> {
    if let Some(image) = &wanted.copy_out {
        return copy_out::conduct(trial, image, out);
    }
    let started = Instant::now();
    let work = trial.work;
    let files = Files::new(work).map_err(|error| Stopped::at("power cut")(error.into()))?;
    let mut spec = trial.spec.clone();
    spec.parameters.insert("witness".into(), files.witness.to_string_lossy().into());
    let trial = Trial { spec: &spec, cpus: trial.cpus.clone(), ..*trial };
    let disks = Disks::of(&spec, wanted).map_err(|error| Stopped::at("recording disk")(error.into()))?;
    let recorded = record(&trial, &disks, out)?;
    let record_seconds = started.elapsed().as_secs_f64();
    out.step("record", record_seconds);
    let attempts = files.attempts(recorded.ahead).map_err(Stopped::at("power cut"))?;
    // Before the search, because a recovery may kill the kernel that this runs in.
    let log = replay::keep(work, &spec, &files.log).map_err(|error| Stopped::at("power cut")(error.into()))?;
    let mut notes: Vec<String> = recorded.notes().collect();
    if spec.workload == replacements::KIND.name {
        notes.push(replacements::describe(&spec.parameters));
    }
    let promise = (trial.kind.durability)(&spec.parameters).class;
    let searched = search(&trial, wanted, Recording { disks, log, attempts, notes, promise, started }, out);
    let searched = searched.inspect_err(|_| drop(replay::forget(work, &spec.scenario)));
    let safety = searched.map_err(Stopped::at("power cut"))?;
    out.step("explore", safety.seconds - record_seconds);
    if safety.grade == Grade::A {
        replay::forget(work, &spec.scenario).map_err(|error| Stopped::at("power cut")(error.into()))?;
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
        Ok(Files { log: recording::log(work), witness: folder.join("commits") })
    }

    /// What the load was told, by the disk's clock.
    fn attempts(&self, ahead: Option<Ahead>) -> Result<Vec<Attempt>, Box<dyn std::error::Error>> {
        let all = witness::read(&std::fs::read_to_string(&self.witness)?)?;
        Ok(match ahead {
            Some(ahead) => all.iter().map(|attempt| ahead.date(attempt)).collect(),
            None => all,
        })
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

/// Makes the filesystem and runs the load on a recording disk; then everything on it is ended, and the disk, too, where it is ours.
fn record(trial: &Trial, disks: &Disks, out: &mut Out<impl Write>) -> Result<Recorded, Stopped> {
    let mut disk = disks.record(trial.work).map_err(|error| Stopped::at("recording disk")(error.into()))?;
    let (mut traced, mut notes) = (Ok(None), Vec::new());
    trial.on_storage(VirtualDisks::default(), out, |desk, workload, served, out| {
        if served.is_none() {
            desk.with_context(out, |context| workload.prepare(context)).map_err(|e| Stopped::at("load")(e.into()))?;
        }
        desk.volumes.settle().map_err(|error| Stopped::at("settle")(error.into()))?;
        let device = desk.volumes.data.device_name.as_deref().unwrap_or_default();
        let trace = BlockTrace::start(device, fua::EVENTS, &trial.work.tracefs());
        disk.begin().map_err(|error| Stopped::at("recording disk")(error.into()))?;
        let outcome = desk.with_context(out, |context| workload.run(context));
        notes = outcome.map_err(|error| Stopped::at("run")(error.into()))?.notes;
        // The server is left to be ended by force: what it would still write is not part of the log.
        disk.stop().map_err(|error| Stopped::at("recording disk")(error.into()))?;
        traced = trace.and_then(|mut trace| trace.take());
        Ok(())
    })?;
    let fua = repair(&recording::log(trial.work), traced).map_err(Stopped::at("power cut"))?;
    Ok(Recorded { ahead: disk.ahead(), punctuality: disk.punctuality(), fua, load: notes })
}

/// Writes into the log which flushes were for single writes, and says what came of it.
fn repair(log: &Path, traced: io::Result<Option<String>>) -> Result<String, Box<dyn std::error::Error>> {
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

/// What the disk knew of its recording.
struct Recorded {
    /// Where its clock is not the load's.
    ahead: Option<Ahead>,
    /// How late a slow disk answered.
    punctuality: Option<Punctuality>,
    /// What is known of flushes for single writes.
    fua: String,
    /// What the load has to say of itself.
    load: Vec<String>,
}

impl Recorded {
    fn notes(&self) -> impl Iterator<Item = String> {
        let clock = self.ahead.map(|ahead| {
            let microseconds = ahead.width_nanoseconds() as f64 / 1e3;
            format!("the guest's clock is known to {microseconds:.0} µs of the disk's; a loss that less would decide is not counted")
        });
        let late = self.punctuality.map(|found| {
            let milliseconds = found.late_nanoseconds_p99 as f64 / 1e6;
            format!("one in a hundred of the disk's answers came more than {milliseconds:.1} ms late")
        });
        clock.into_iter().chain(late).chain([self.fua.clone()]).chain(self.load.iter().cloned())
    }
}

/// A load that was recorded.
struct Recording {
    /// That served it, and serve images of it.
    disks: Disks,
    log: PathBuf,
    attempts: Vec<Attempt>,
    /// What a reader should know of it.
    notes: Vec<String>,
    /// What the load asked for.
    promise: Class,
    /// When it was begun.
    started: Instant,
}

/// Runs recoveries on the images that a cut may have left.
fn search(
    trial: &Trial,
    wanted: &Cut,
    recording: Recording,
    out: &mut Out<impl Write>,
) -> Result<Safety, Box<dyn std::error::Error>> {
    let Recording { disks, log, attempts, mut notes, promise, started } = recording;
    let Drive { rules, profile } = Drive::new(wanted)?;
    let until_nanoseconds = witness::last_acknowledged_nanoseconds(&attempts);
    let draw = Draw { seed: trial.spec.seed, profile, until_nanoseconds };
    let history = History::with_random_cuts(device::map(&log)?, rules, &draw)?;
    if history.points_left_out() > 0 {
        notes.push(format!("{} more points at which power may fail were left out", history.points_left_out()));
    }
    let about = About { disk: describe(wanted, rules.cache), cache: rules.cache, notes, promise, started };
    let images = Images { history: &history, log: &log, disks: &disks, work: trial.work };
    let is_wanted = trial.spec.bench == "guest";
    // No figure of speed comes of it.
    let _awake = keep_awake();
    let budget = Budget { seconds: wanted.budget_seconds, images_max: IMAGES_MAX, seed: trial.spec.seed };
    let started = Instant::now();
    let mut clock = || started.elapsed().as_secs_f64();
    let interrupted = || super::STOP.load(Ordering::Relaxed);
    let found = std::thread::scope(|scope| {
        let recoveries = Recoveries::start(scope, trial.spec, wanted.recovery_seconds_max, images);
        let mut told = Told { recoveries, out, is_wanted, about: &about, last: None };
        explore(&history, &attempts, &mut told, &budget, &mut clock, &interrupted)
    });
    let mut found = found?;
    // A guest's kernel is not put at risk for it.
    if !is_wanted && !found.findings.is_empty() {
        let settings = StorageSettings::from_map(&trial.spec.storage);
        let watchdog = Watchdog::new(Duration::from_secs_f64(wanted.recovery_seconds_max));
        if let Some(mut shown) = images.show(&settings, &watchdog)? {
            examples::describe(&mut found.findings, &mut shown, &watchdog, rules.unit_bytes);
        }
    }
    Ok(about.complete(found))
}

/// What is to be said with all that is found.
struct About {
    /// The disk, in words.
    disk: String,
    cache: Cache,
    notes: Vec<String>,
    promise: Class,
    started: Instant,
}

impl About {
    fn complete(&self, found: Safety) -> Safety {
        let mut notes = [&found.notes[..], &self.notes].concat();
        if found.flushes == 0 && self.cache == Cache::Volatile {
            notes.push("the disk was not asked for a single flush while these commits were acknowledged".into());
        }
        let seconds = self.started.elapsed().as_secs_f64();
        Safety { disk: self.disk.clone(), promise: self.promise, notes, seconds, ..found }
    }
}

/// Recoveries of which somebody outside hears before they begin: a guest's kernel may die of one, and all that it knew with it.
struct Told<'a, 'b, W: Write> {
    recoveries: Recoveries,
    out: &'b mut Out<W>,
    is_wanted: bool,
    about: &'a About,
    /// When the tally was told.
    last: Option<Instant>,
}

impl<W: Write> Subject for Told<'_, '_, W> {
    type Error = Broken;

    fn side_by_side(&self) -> usize {
        self.recoveries.side_by_side()
    }

    fn begin(&mut self, point: usize, choice: &Choice) -> Result<(), Broken> {
        if self.is_wanted {
            let image = Image { point, choice: choice.clone() }.to_string();
            self.out.say(&Record::Recovering { image });
        }
        self.recoveries.begin(point, choice)
    }

    fn end(&mut self) -> Result<Recovered, Broken> {
        self.recoveries.end()
    }

    fn wants_tally(&self) -> bool {
        self.is_wanted && self.last.is_none_or(|last| last.elapsed() >= TALLY_INTERVAL)
    }

    fn tally(&mut self, so_far: Safety) {
        self.last = Some(Instant::now());
        self.out.say(&Record::Safety(Box::new(self.about.complete(so_far))));
    }
}
