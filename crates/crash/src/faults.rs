//! What a failing disk does to a scenario: its filesystem and its database on a disk of ours, which fails at one request after the
//! other, in each way that it can; after each fault the load goes on in four ways.
//!
//! A case is a run of its own, from the same beginning: a mount, a start, some commits, the fault, the way on, looks at what is there.
//! The disk is a process that serves one file (`powercut::device`); no other disk is asked to fail. Linux's only.

mod agenda;
mod bench;
mod counting;
mod database;
mod run;

use crate::error::Error;
use crate::plan::TrialSpec;
use crate::recording;
use crate::recording_disk::Disks;
use crate::recoveries::side_by_side;
use crate::watchdog::Watchdog;
use agenda::{Strike, Structures, agenda};
use bench::{Asks, Bench, Outcome, Reference};
use counting::{Counted, Told, count_all, end_early, struck_in_all_ways};
use load::engines;
use observe::faults::{Consequence, Example, FaultReplayed, FaultsFound};
use observe::record::Record;
use powercut::device::{Breaker, Disk};
use powercut::fault::{Case, Continuation, Failure, Fault, RequestKind};
use sandbox::isolation;
use sandbox::work::Work;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};
use storage::Part;
use study::trial_spec::{Cut, Faults};
use workloads::replacements;

type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

/// A case that takes longer hangs in the kernel: even one with a disk that hangs and a server that recovers is over sooner.
const CASE_SECONDS_MAX: f64 = 120.0;

/// A disk on which the filesystem is made and the data are loaded.
pub struct Beginning {
    disks: Disks,
    disk: Disk,
    log: PathBuf,
}

impl Beginning {
    /// An empty one.
    ///
    /// # Errors
    /// When there is none.
    pub fn start(work: &Work, spec: &TrialSpec, cut: &Cut) -> Result<Beginning> {
        std::fs::create_dir_all(work.power_cuts())?;
        let disks = Disks::of(spec, cut)?;
        let disk = disks.record(work)?;
        Ok(Beginning { disks, disk, log: recording::log(work) })
    }

    /// What lies on it now is what each case begins with; nothing uses it any more.
    ///
    /// # Errors
    /// When not all of it was written down.
    pub fn finish(mut self) -> Result<Loaded> {
        self.disk.begin()?;
        self.disk.stop()?;
        Ok(Loaded { disks: self.disks, log: self.log })
    }
}

/// What each case begins with.
pub struct Loaded {
    disks: Disks,
    log: PathBuf,
}

/// What the threads that run cases share.
struct Shared<'a> {
    spec: &'a TrialSpec,
    work: &'a Work,
    loaded: &'a Loaded,
    structures: Structures,
    strikes: Vec<Strike>,
    asks: Asks,
    /// A request towards the end of the load: how far it goes before the ways on without a fault.
    last: u64,
    /// The next strike.
    next: AtomicUsize,
    /// When no further one is begun.
    until: Instant,
    interrupted: &'a AtomicBool,
    /// Whether a case could not be run: no further strike is begun.
    is_broken: AtomicBool,
}

/// Tries the faults that are asked for, as far as their time goes. `say` hears of each case before it begins, where the kernel may die of one,
/// and what was found so far.
///
/// # Errors
/// When a case can't be tried.
pub fn search(
    loaded: &Loaded,
    spec: &TrialSpec,
    work: &Work,
    asked: &Faults,
    interrupted: &AtomicBool,
    say: &mut dyn FnMut(&Record),
) -> Result<FaultsFound> {
    let started = Instant::now();
    let failures = failures(asked)?;
    let (reference, structures) = in_own_mounts(|| refer(loaded, spec, work, needs_reads(&failures)))?;
    let asks = asks(asked, &structures, &reference)?;
    let (strikes, first) = agenda(&failures, &reference.traced, &structures, &asks.only, spec.seed);
    let count = |kind| reference.traced.iter().filter(|traced| traced.asked.kind == kind).count() as u64;
    let mut found = FaultsFound {
        writes: count(RequestKind::Write),
        flushes: count(RequestKind::Flush),
        reads: count(RequestKind::Read),
        possible: (strikes.len() * Continuation::ALL.len()) as u64,
        blocks: asked.blocks.clone().unwrap_or_default(),
        ..FaultsFound::default()
    };
    if spec.workload == replacements::KIND.name {
        found.notes.push(replacements::describe(&spec.parameters));
    }
    found.notes.extend(full_in_a_guest(spec.bench, &failures).map(String::from));
    let until = started + Duration::from_secs_f64(asked.budget_seconds);
    let last = (reference.traced.len() as u64).max(1);
    let next = AtomicUsize::new(0);
    let is_broken = AtomicBool::new(false);
    let shared = Shared { spec, work, loaded, structures, strikes, asks, last, next, until, interrupted, is_broken };
    let (broken, struck) = run_all(&shared, &mut found, say);
    let reached = shared.next.into_inner().min(shared.strikes.len());
    // Of a strike that ended so not all ways on were run.
    found.drawn = reached.saturating_sub(first + broken.len()) as u64;
    found.drawn_struck = Some(struck_in_all_ways(&shared.strikes[first.min(reached)..reached], &struck));
    found.is_complete = reached == shared.strikes.len();
    end_early(&mut found, broken)?;
    if reached < first {
        let seconds = started.elapsed().as_secs_f64();
        found.notes.push(format!("{} kinds of fault and block were not reached in {seconds:.0} s", first - reached));
    }
    found.sort_rows();
    found.seconds = started.elapsed().as_secs_f64();
    Ok(found)
}

/// Runs one case again, and tells it step by step.
///
/// # Errors
/// When it can't be tried.
pub fn replay(loaded: &Loaded, spec: &TrialSpec, work: &Work, asked: &Faults, case: &Case) -> Result<FaultReplayed> {
    let mut all = asks_anywhere(asked);
    if asked.blocks.is_some() {
        let reads = replay_reads(asked, case)?;
        let (reference, structures) = in_own_mounts(|| refer(loaded, spec, work, reads))?;
        all = asks(asked, &structures, &reference)?;
    }
    let outcome = in_own_mounts(|| {
        let mut bench = Bench::new(spec, &loaded.disks, &loaded.log, work)?;
        watched(&watchdog(), bench.breaker()?, case, || bench.run(case, &all))
    })?;
    let mut steps = outcome.steps;
    if outcome.struck.is_empty() && case.failure != Failure::NONE {
        steps.push("no request was left to be struck".into());
    }
    Ok(FaultReplayed { consequence: outcome.consequence, example: outcome.example, steps })
}

/// Does something in a thread whose mounts nobody else sees.
fn in_own_mounts<T: Send>(act: impl FnOnce() -> Result<T, Error> + Send) -> Result<T> {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            if isolation::may_mount() {
                isolation::own_mounts().map_err(Error::Namespace)?;
            }
            act()
        });
        thread.join().map_err(|_| Error::Ended("runs cases"))?
    })
    .map_err(Into::into)
}

fn failures(asked: &Faults) -> Result<Vec<Failure>> {
    asked.failures.iter().map(|name| Ok(name.parse()?)).collect()
}

/// Whether one of them strikes reads.
fn needs_reads(failures: &[Failure]) -> bool {
    failures.iter().any(|failure| strikes_reads(*failure))
}

/// Whether the load that a replay knows blocks by reads: where it did in the search, the case was of the blocks that it read, too.
fn replay_reads(asked: &Faults, case: &Case) -> Result<bool> {
    Ok(needs_reads(&failures(asked)?) || strikes_reads(case.failure))
}

/// Whether the load must read what it has written, so that there is something to strike.
fn strikes_reads(failure: Failure) -> bool {
    failure.fault != Fault::Nothing && failure.fault.kind().strikes.contains(&RequestKind::Read)
}

/// What the load asks of a disk that is well, and whose the blocks are.
fn refer(loaded: &Loaded, spec: &TrialSpec, work: &Work, reads: bool) -> Result<(Reference, Structures), Error> {
    let mut bench = Bench::new(spec, &loaded.disks, &loaded.log, work)?;
    let reference = bench.reference(reads)?;
    let structures = structures(spec, &reference, &bench);
    Ok((reference, structures))
}

fn asks(asked: &Faults, structures: &Structures, reference: &Reference) -> Result<Asks> {
    let names = asked.blocks.as_deref().unwrap_or_default();
    Ok(Asks { only: structures.stretches(names, &reference.traced)?, ..asks_anywhere(asked) })
}

fn asks_anywhere(asked: &Faults) -> Asks {
    Asks { only: Vec::new(), delay_seconds: asked.delay_seconds, stall_seconds: asked.stall_seconds }
}

fn structures(spec: &TrialSpec, reference: &Reference, bench: &Bench) -> Structures {
    let engine = spec.parameters.get("engine").and_then(|name| engines::named(name.as_str()?));
    let kind = |part: &Part| {
        if reference.folders.contains(&part.file) {
            return "directory".to_string();
        }
        engine.map_or("file", |engine| (engine.file_kind)(&part.file.to_string_lossy())).into()
    };
    Structures::new(&reference.parts, kind, &reference.traced, |at, head| bench.block_name(at, head))
}

/// Of virtio's three answers of a disk none is "no space" (virtio 1.1, 5.2.6: OK, IOERR, UNSUPP).
fn full_in_a_guest(bench: study::Bench, failures: &[Failure]) -> Option<&'static str> {
    let is_full = failures.iter().any(|failure| failure.fault == Fault::Full);
    (is_full && bench == study::Bench::Guest)
        .then_some("a guest's disk (virtio) can't say \"no space\": `full` ended as an I/O error")
}

/// Runs all cases and counts them; gives why some could not be run, and what struck.
fn run_all(shared: &Shared, found: &mut FaultsFound, say: &mut dyn FnMut(&Record)) -> Counted {
    let workers = if shared.spec.storage.has_mountable_copies() { side_by_side(shared.spec) } else { 1 };
    let (tell, told) = channel();
    std::thread::scope(|scope| {
        for _ in 0..workers {
            let tell = tell.clone();
            scope.spawn(move || work(shared, &tell));
        }
        drop(tell);
        count_all(&shared.structures, found, told, say)
    })
}

/// What one worker does: the ways on without a fault, then strike after strike.
fn work(shared: &Shared, tell: &Sender<Told>) {
    let mut worker = Worker { shared, bench: None, watchdog: watchdog() };
    let isolated = if isolation::may_mount() { isolation::own_mounts() } else { Ok(()) };
    let mut strike = None;
    loop {
        for continuation in Continuation::ALL {
            let (failure, nth) = strike.unwrap_or((Failure::NONE, shared.last));
            let case = Case { failure, nth, continuation };
            shared.announce(case, tell);
            let outcome = isolated.map_err(Error::Namespace).and_then(|()| worker.run(&case));
            let is_broken = outcome.is_err();
            shared.is_broken.fetch_or(is_broken, Ordering::Relaxed);
            if tell.send(Told::Ended(case, outcome)).is_err() || is_broken {
                return;
            }
        }
        strike = shared.next();
        if strike.is_none() {
            return;
        }
    }
}

impl Shared<'_> {
    /// Says which case begins, where the kernel may die of it, and waits until that was heard.
    fn announce(&self, case: Case, tell: &Sender<Told>) {
        if self.spec.bench == study::Bench::Guest {
            let (heard, is_heard) = channel();
            let _ = tell.send(Told::Begins(case, heard));
            let _ = is_heard.recv();
        }
    }

    fn next(&self) -> Option<Strike> {
        let is_stopped = self.interrupted.load(Ordering::Relaxed) || self.is_broken.load(Ordering::Relaxed);
        if is_stopped || Instant::now() >= self.until {
            return None;
        }
        self.strikes.get(self.next.fetch_add(1, Ordering::Relaxed)).copied()
    }
}

/// A thread that runs cases.
struct Worker<'a> {
    shared: &'a Shared<'a>,
    /// None after a case that hung.
    bench: Option<Bench<'a>>,
    watchdog: Watchdog,
}

impl Worker<'_> {
    fn run(&mut self, case: &Case) -> Result<Outcome, Error> {
        let shared = self.shared;
        let mut bench = match self.bench.take() {
            Some(bench) => bench,
            None => Bench::new(shared.spec, &shared.loaded.disks, &shared.loaded.log, shared.work)?,
        };
        let outcome = watched(&self.watchdog, bench.breaker()?, case, || bench.run(case, &shared.asks))?;
        if !outcome.was_ended {
            self.bench = Some(bench);
        }
        Ok(outcome)
    }
}

fn watchdog() -> Watchdog {
    Watchdog::new(Duration::from_secs_f64(CASE_SECONDS_MAX))
}

/// Runs a case, and takes the disk from under one that hangs in the kernel.
fn watched(
    watchdog: &Watchdog,
    disk: Breaker,
    case: &Case,
    run: impl FnOnce() -> Result<Outcome, Error>,
) -> Result<Outcome, Error> {
    let (outcome, hung) = watchdog.over(disk, run);
    if hung { Ok(hung_in_the_kernel(case)) } else { outcome }
}

/// Of what was struck nothing is known but that nothing ended.
fn hung_in_the_kernel(case: &Case) -> Outcome {
    let words = format!("it did not end within {CASE_SECONDS_MAX} s, until the disk was taken away");
    let (client, server, kernel) = (Vec::new(), Vec::new(), Vec::new());
    let example = Example { case: case.to_string(), words, client, server, kernel };
    let asked = powercut::fault::injector::Asked { kind: RequestKind::Flush, offset: 0, length: 0 };
    Outcome { consequence: Consequence::Hang, example, struck: vec![asked], was_ended: true, steps: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::counting::count;
    use super::*;

    /// Such a case had stood among those that struck a flush, whatever its fault; and a replay of one waited for the trial's end.
    #[test]
    fn a_case_that_hangs_loses_its_disk_and_struck_nobody_knows_what() {
        let case: Case = "write-error@7/go-on".parse().expect("a case");
        let mut hangs = std::process::Command::new("sleep").arg("60").spawn().expect("sleep starts");
        let disk = Breaker::Process(hangs.id());
        let outcome = watched(&Watchdog::new(Duration::from_millis(50)), disk, &case, || {
            hangs.wait().expect("it ends");
            Err(Error::Ended("runs cases"))
        });
        let outcome = outcome.expect("it hung");
        assert_eq!((outcome.consequence, outcome.was_ended), (Consequence::Hang, true));
        let mut found = FaultsFound::default();
        count(&Structures::default(), &mut found, &case, outcome);
        assert_eq!((&*found.rows[0].fault, &*found.rows[0].structure), ("write-error", "unknown"));
    }

    /// A load of more than a minute and a kernel that hung at the end had cost all that was found.
    #[test]
    fn a_fault_that_is_drawn_last_may_hang_in_every_way_on() {
        // Its filesystem may be held for a while before the next way on.
        let last_seconds = Continuation::ALL.len() as f64 * (CASE_SECONDS_MAX + 20.0);
        assert!(crate::safety::BESIDE_FAULTS_SECONDS >= last_seconds + 300.0, "{last_seconds}");
    }

    /// With `fault_blocks` a replay of a write had struck another one than the search, or knew no such block, where that had read for another fault.
    #[test]
    fn a_replay_knows_the_blocks_that_its_search_knew() {
        let reads = |names: &[&str], case: &str| {
            let failures = names.iter().map(ToString::to_string).collect();
            let (delay_seconds, stall_seconds) = (0.02, 1.0);
            let asked =
                Faults { failures, budget_seconds: 1.0, blocks: None, delay_seconds, stall_seconds, replay: None };
            replay_reads(&asked, &case.parse().expect("a case")).expect("faults")
        };
        assert!(reads(&["write-error", "read-error"], "write-error@3/go-on"));
        assert!(reads(&["write-error"], "read-bit@3/go-on"));
        assert!(!reads(&["write-error", "none"], "write-error@3/go-on"));
    }

    #[test]
    fn a_guests_disk_that_is_full_ends_as_another_fault() {
        let note = |bench, names: &[&str]| {
            let failures: Vec<Failure> = names.iter().map(|name| name.parse().expect("a fault")).collect();
            full_in_a_guest(bench, &failures)
        };
        assert!(note(study::Bench::Guest, &["write-error", "full"]).is_some_and(|note| note.contains("an I/O error")));
        assert_eq!(note(study::Bench::Guest, &["write-error"]), None);
        assert_eq!(note(study::Bench::Host, &["full"]), None);
    }
}
