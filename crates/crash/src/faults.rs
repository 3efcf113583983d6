//! What a failing disk does to a scenario: its filesystem and its database on a disk of ours, which fails at one request after the
//! other, in each way that it can; after each fault the load goes on in four ways.
//!
//! A case is a run of its own, from the same beginning: a mount, a start, some commits, the fault, the way on, looks at what is there.
//! The disk is a process that serves one file (`powercut::device`); no other disk is asked to fail. Linux's only.

mod agenda;
mod bench;
mod database;
mod run;

use crate::plan::TrialSpec;
use crate::recording;
use crate::recording_disk::Disks;
use crate::recoveries::side_by_side;
use crate::watchdog::Watchdog;
use agenda::{Strike, Structures, agenda};
use bench::{Asks, Bench, Broken, Outcome, Reference};
use load::engines;
use observe::faults::{Consequence, Example, FaultReplayed, FaultsFound};
use observe::record::causes;
use powercut::device::{Breaker, Disk};
use powercut::fault::{Case, Continuation, Failure, Fault, RequestKind};
use sandbox::isolation;
use sandbox::work::Work;
use std::collections::BTreeMap;
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

/// The block of a case whose disk had to be taken away.
const UNKNOWN: &str = "unknown";

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

/// A case that ended, or could not be run.
type Ended = (Case, Result<Outcome, Broken>);

/// Tries the faults that are asked for, as far as their time goes.
///
/// # Errors
/// When a case can't be tried.
pub fn search(
    loaded: &Loaded,
    spec: &TrialSpec,
    work: &Work,
    asked: &Faults,
    interrupted: &AtomicBool,
) -> Result<FaultsFound> {
    let started = Instant::now();
    let failures = asked.failures.iter().map(|name| Ok(name.parse()?)).collect::<Result<Vec<Failure>>>()?;
    let reads = failures.iter().any(|failure| strikes_reads(*failure));
    let (reference, structures) = in_own_mounts(|| refer(loaded, spec, work, reads))?;
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
    let until = started + Duration::from_secs_f64(asked.budget_seconds);
    let last = (reference.traced.len() as u64).max(1);
    let next = AtomicUsize::new(0);
    let is_broken = AtomicBool::new(false);
    let shared = Shared { spec, work, loaded, structures, strikes, asks, last, next, until, interrupted, is_broken };
    let (broken, struck) = run_all(&shared, &mut found);
    let reached = shared.next.into_inner().min(shared.strikes.len());
    // Of a strike that ended so not all ways on were run.
    found.drawn = reached.saturating_sub(first + broken.len()) as u64;
    found.drawn_struck = Some(struck_in_all_ways(&shared.strikes[first.min(reached)..reached], &struck));
    found.is_complete = reached == shared.strikes.len();
    end_early(&mut found, broken)?;
    if spec.workload == replacements::KIND.name {
        found.notes.push(replacements::describe(&spec.parameters));
    }
    found.notes.extend(full_in_a_guest(spec.bench, &failures).map(String::from));
    if reached < first {
        let seconds = started.elapsed().as_secs_f64();
        found.notes.push(format!("{} kinds of fault and block were not reached in {seconds:.0} s", first - reached));
    }
    found.rows.sort_by(|one, other| {
        let key = |row: &observe::faults::Row| (row.fault.clone(), row.structure.clone(), row.continuation.clone());
        key(one).cmp(&key(other))
    });
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
        let reads = strikes_reads(case.failure);
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
fn in_own_mounts<T: Send>(act: impl FnOnce() -> Result<T, Broken> + Send) -> Result<T> {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            if isolation::may_mount() {
                isolation::own_mounts().map_err(Broken::Namespace)?;
            }
            act()
        });
        thread.join().map_err(|_| Broken::Ended)?
    })
    .map_err(Into::into)
}

/// Whether the load must read what it has written, so that there is something to strike.
fn strikes_reads(failure: Failure) -> bool {
    failure.fault != Fault::Nothing && failure.fault.kind().strikes.contains(&RequestKind::Read)
}

/// What the load asks of a disk that is well, and whose the blocks are.
fn refer(loaded: &Loaded, spec: &TrialSpec, work: &Work, reads: bool) -> Result<(Reference, Structures), Broken> {
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

/// In how many ways on each strike struck.
type Struck = BTreeMap<Strike, usize>;

/// What could not be run, and what was struck.
type Counted = (Vec<Broken>, Struck);

/// How many of these struck in all ways on.
fn struck_in_all_ways(strikes: &[Strike], struck: &Struck) -> u64 {
    strikes.iter().filter(|strike| struck.get(*strike) == Some(&Continuation::ALL.len())).count() as u64
}

/// Runs all cases and counts them; gives why some could not be run, and what struck.
fn run_all(shared: &Shared, found: &mut FaultsFound) -> Counted {
    let workers = if shared.spec.storage.has_mountable_copies() { side_by_side(shared.spec) } else { 1 };
    let (tell, told) = channel();
    std::thread::scope(|scope| {
        for _ in 0..workers {
            let tell = tell.clone();
            scope.spawn(move || work(shared, &tell));
        }
        drop(tell);
        count_all(&shared.structures, found, told)
    })
}

/// Counts cases as they end; gives why some could not be run, and what struck.
fn count_all(structures: &Structures, found: &mut FaultsFound, told: impl IntoIterator<Item = Ended>) -> Counted {
    let (mut broken, mut struck) = (Vec::new(), Struck::new());
    for (case, outcome) in told {
        match outcome {
            Ok(outcome) => {
                if !outcome.struck.is_empty() {
                    *struck.entry((case.failure, case.nth)).or_default() += 1;
                }
                count(structures, found, &case, outcome);
            }
            Err(why) => broken.push(why),
        }
    }
    (broken, struck)
}

/// A case that can't be run ends the search, and what was counted stands.
fn end_early(found: &mut FaultsFound, broken: Vec<Broken>) -> Result<()> {
    let Some(why) = broken.into_iter().next() else { return Ok(()) };
    if found.cases == 0 {
        return Err(why.into());
    }
    (found.is_complete, found.ended_early) = (false, true);
    found.notes.push(format!("the search ended early, as a case could not be run: {}", causes(&why).join(": ")));
    Ok(())
}

/// What one worker does: the ways on without a fault, then strike after strike.
fn work(shared: &Shared, tell: &Sender<Ended>) {
    let mut worker = Worker { shared, bench: None, watchdog: watchdog() };
    let isolated = if isolation::may_mount() { isolation::own_mounts() } else { Ok(()) };
    let mut strike = None;
    loop {
        for continuation in Continuation::ALL {
            let (failure, nth) = strike.unwrap_or((Failure::NONE, shared.last));
            let case = Case { failure, nth, continuation };
            let outcome = isolated.map_err(Broken::Namespace).and_then(|()| worker.run(&case));
            let is_broken = outcome.is_err();
            shared.is_broken.fetch_or(is_broken, Ordering::Relaxed);
            if tell.send((case, outcome)).is_err() || is_broken {
                return;
            }
        }
        strike = shared.next();
        if strike.is_none() {
            return;
        }
    }
}

fn count(structures: &Structures, found: &mut FaultsFound, case: &Case, outcome: Outcome) {
    if case.failure.fault == Fault::Nothing {
        found.honest += 1;
        if outcome.consequence != Consequence::Nothing {
            found.honest_bad += 1;
            let (ended, words) = (outcome.consequence.words(), &outcome.example.words);
            found.notes.push(format!("on a disk that is well a case ended as \"{ended}\": {words}"));
        }
        return;
    }
    let Some(struck) = outcome.struck.first() else {
        found.not_struck += 1;
        return;
    };
    let structure = if outcome.was_ended { UNKNOWN } else { structures.name(struck) };
    let key = [&*case.failure.to_string(), structure, case.continuation.name()];
    found.add(key, outcome.consequence, || outcome.example);
}

impl Shared<'_> {
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
    fn run(&mut self, case: &Case) -> Result<Outcome, Broken> {
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
    run: impl FnOnce() -> Result<Outcome, Broken>,
) -> Result<Outcome, Broken> {
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
    use super::*;

    fn ended(end: Result<Consequence, Broken>) -> Ended {
        let failure = "write-error".parse().expect("a fault");
        let case = Case { failure, nth: 1, continuation: Continuation::GoOn };
        let outcome = end.map(|consequence| Outcome { consequence, ..hung_in_the_kernel(&case) });
        (case, outcome)
    }

    fn none() -> FaultsFound {
        FaultsFound { writes: 1, possible: 4, is_complete: true, seconds: 1.0, ..FaultsFound::default() }
    }

    #[test]
    fn a_case_that_can_not_be_run_takes_no_other_with_it() {
        let slow = || Err(Broken::Well("it does not start".into()));
        let mut found = none();
        let told = [ended(Ok(Consequence::Told)), ended(slow()), ended(Ok(Consequence::Lost))];
        let (broken, _) = count_all(&Structures::default(), &mut found, told);
        assert_eq!((found.cases, broken.len()), (2, 1));
        end_early(&mut found, broken).expect("two were counted");
        assert!(!found.is_complete && found.ended_early);
        let note = "the search ended early, as a case could not be run: on a disk that is well the database fails: it does not start";
        assert_eq!(found.notes, [note]);
        let mut found = none();
        let (broken, _) = count_all(&Structures::default(), &mut found, [ended(slow())]);
        assert!(end_early(&mut found, broken).is_err(), "nothing was counted");
    }

    /// Such a case had stood among those that struck a flush, whatever its fault; and a replay of one waited for the trial's end.
    #[test]
    fn a_case_that_hangs_loses_its_disk_and_struck_nobody_knows_what() {
        let case: Case = "write-error@7/go-on".parse().expect("a case");
        let mut hangs = std::process::Command::new("sleep").arg("60").spawn().expect("sleep starts");
        let disk = Breaker::Process(hangs.id());
        let outcome = watched(&Watchdog::new(Duration::from_millis(50)), disk, &case, || {
            hangs.wait().expect("it ends");
            Err(Broken::Ended)
        });
        let outcome = outcome.expect("it hung");
        assert_eq!((outcome.consequence, outcome.was_ended), (Consequence::Hang, true));
        let mut found = none();
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

    /// A server does not ask for the same requests each time: late ones are missed.
    #[test]
    fn a_drawn_fault_that_struck_nobody_counts_for_no_share() {
        let failure: Failure = "write-error".parse().expect("a fault");
        let told = |nth: u64, ways_struck: usize| {
            Continuation::ALL.into_iter().enumerate().map(move |(way, continuation)| {
                let case = Case { failure, nth, continuation };
                let whole = Outcome { consequence: Consequence::Told, ..hung_in_the_kernel(&case) };
                let missed =
                    Outcome { consequence: Consequence::Nothing, struck: Vec::new(), ..hung_in_the_kernel(&case) };
                (case, Ok(if way < ways_struck { whole } else { missed }))
            })
        };
        let ways = Continuation::ALL.len();
        let mut found = none();
        let all = told(1, ways).chain(told(2, ways)).chain(told(3, 0)).chain(told(4, 1));
        let (broken, struck) = count_all(&Structures::default(), &mut found, all);
        assert!(broken.is_empty());
        assert_eq!((found.cases, found.not_struck), (9, 7));
        // The first of them was not drawn.
        let drawn: Vec<Strike> = (2..=4).map(|nth| (failure, nth)).collect();
        assert_eq!(struck_in_all_ways(&drawn, &struck), 1);
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
