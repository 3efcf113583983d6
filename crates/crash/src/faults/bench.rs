//! One case: the load on its disk, the fault, the way on, and looks at what is there.

use super::database::Database;
use super::run::Run;
use crate::error::Error;
use crate::plan::TrialSpec;
use crate::recording_disk::Disks;
use observe::faults::{Consequence, Example};
use observe::record::causes;
use powercut::device::{Breaker, Disk};
use powercut::fault::injector::{Asked, Injection, Traced};
use powercut::fault::verdict::{Transcript, judge};
use powercut::fault::{Case, Continuation, Fault, RequestKind};
use powercut::states::Choice;
use powercut::verdict::RecoveryOutcome;
use sandbox::work::Work;
use std::ops::Range;
use std::path::{Path, PathBuf};
use storage::{AfterCut, CutDisk, Part};

/// A disk that hangs answers again after this time, with an error, as one that was taken away.
const HANG_NANOSECONDS: u64 = 10_000_000_000;

/// Of which bit, sector or place a fault is follows from the case's name alone: a replay knows no more, and not the seed that a study drew.
const DAMAGE_SEED: u64 = 1;

/// What a search asks of every case.
#[derive(Debug, Clone, Default)]
pub struct Asks {
    /// Stretches of the disk that are struck alone; none: all of it.
    pub only: Vec<Range<u64>>,
    /// How late each answer of a slow disk is.
    pub delay_seconds: f64,
    /// How late the answer of a stall is.
    pub stall_seconds: f64,
}

/// Commits before the load is given up in which a fault can strike.
pub const COMMITS: u64 = 12;

/// After so many commits what is dirty is written, so that pages that lie on the disk are written over.
const WRITTEN_OUT_EVERY: u64 = 4;

/// Commits after the fault.
const COMMITS_AFTER: u64 = 4;

/// What came of a case.
#[derive(Debug)]
pub struct Outcome {
    /// The worst that was seen.
    pub consequence: Consequence,
    /// And all about it.
    pub example: Example,
    /// The requests that were struck.
    pub struck: Vec<Asked>,
    /// Whether the disk had to be taken from under it, with what it knew of those.
    pub was_ended: bool,
    /// What was done, step by step.
    pub steps: Vec<String>,
}

/// What the load asks of a disk that is well, and whose its blocks are.
pub struct Reference {
    /// Its requests.
    pub traced: Vec<Traced>,
    /// Where the parts of files lie.
    pub parts: Vec<Part>,
    /// Folders among the parts' files.
    pub folders: Vec<PathBuf>,
}

/// Where one case at a time runs.
pub struct Bench<'a> {
    spec: &'a TrialSpec,
    database: Database,
    // Declared before the disk, so that it is detached first.
    attached: CutDisk,
    disk: Disk,
}

impl<'a> Bench<'a> {
    /// On a disk of its own that begins with what the log wrote.
    ///
    /// # Errors
    /// When there is no such disk.
    pub fn new(spec: &'a TrialSpec, disks: &Disks, log: &Path, work: &Work) -> Result<Bench<'a>, Error> {
        let disk = disks.explore(work, log)?;
        let file = storage::recording_disk(&work.disk());
        let attached = CutDisk::attach(&spec.storage, &file, &work.mount_point())?;
        let kind = workloads::kind_of_trial(&spec.workload).expect("it was planned");
        let wanted = services::wanted(&(kind.read)(&spec.parameters).services(), &spec.services);
        let database = Database::of(wanted.last(), work)?;
        Ok(Bench { spec, database, attached, disk })
    }

    /// What takes the disk from under a case that hangs.
    ///
    /// # Errors
    /// When there is none.
    pub fn breaker(&self) -> Result<Breaker, Error> {
        Ok(self.disk.breaker()?)
    }

    /// What a block of the filesystem's own is.
    pub fn block_name(&self, at: u64, head: u64) -> Option<&'static str> {
        self.attached.block_name(at, head)
    }

    /// Runs the load on a disk that is well, and tells what it asked for.
    ///
    /// # Errors
    /// When it can't be run.
    pub fn reference(&mut self, reads: bool) -> Result<Reference, Error> {
        let mounted = self.mount_from_the_beginning()?;
        let mut parts = mounted.parts()?.unwrap_or_default();
        let place = self.database.start(&mounted.data_folder).map_err(Error::Well)?;
        let steps = workloads::steps(&self.spec.workload, &self.spec.parameters);
        let mut run = Run::new(&*steps, place);
        run.connect();
        self.disk.fail(None, true)?;
        load(&mut run, &mut self.database, &mounted, reads, &mut || Ok(false))?;
        let traced = self.disk.traced()?;
        run.disconnect();
        parts.extend(mounted.parts()?.unwrap_or_default());
        let folder = |part: &Part| mounted.is_folder(&part.file).then(|| part.file.clone());
        let folders = parts.iter().filter_map(folder).collect();
        well(&run.transcript)?;
        self.end(mounted)?;
        Ok(Reference { traced, parts, folders })
    }

    /// Runs a case from the beginning.
    ///
    /// # Errors
    /// When that can't be tried.
    pub fn run(&mut self, case: &Case, asks: &Asks) -> Result<Outcome, Error> {
        let is_honest = case.failure.fault == Fault::Nothing;
        let reads = super::strikes_reads(case.failure);
        let mut mounted = self.mount_from_the_beginning()?;
        let place = self.database.start(&mounted.data_folder).map_err(Error::Well)?;
        let steps = workloads::steps(&self.spec.workload, &self.spec.parameters);
        let mut run = Run::new(&*steps, place);
        run.connect();
        well(&run.transcript)?;
        self.disk.fail(Some(injection(case, asks)), false)?;
        let disk = &mut self.disk;
        load(&mut run, &mut self.database, &mounted, reads, &mut || Ok(!disk.struck()?.is_empty()))?;
        let struck = self.disk.struck()?;
        if is_honest || !struck.is_empty() {
            run.did(&match struck.first() {
                Some(asked) if !is_honest => format!("the fault has struck: {}", words(asked)),
                _ => "no fault".into(),
            });
            let went_on = self.go_on(case, &mut run, mounted)?;
            let Some(still) = went_on else { return Ok(outcome(case, run, struck)) };
            mounted = still;
            self.look_and_commit(&mut run);
        }
        let all_struck = self.disk.struck()?;
        if let Some(mounted) = self.mount_again(&mut run, mounted)? {
            match self.database.start_again(&mounted.data_folder) {
                Ok(place) => {
                    run.is_at(place);
                    run.look();
                }
                Err(why) => run.found(RecoveryOutcome::Down(why)),
            }
            run.disconnect();
            run.kernel.extend(self.end(mounted)?);
        }
        Ok(outcome(case, run, if struck.is_empty() { struck } else { all_struck }))
    }

    /// The looks before the disk is mended, and the commits between them. Once there was no answer, nothing more is asked for: a minute of
    /// waiting would show what is known.
    fn look_and_commit(&mut self, run: &mut Run) {
        for step in 0..COMMITS_AFTER + 3 {
            match step {
                _ if run.transcript.hung.is_some() => return,
                0 => run.look(),
                step if step <= COMMITS_AFTER => run.commit(&mut self.database),
                step if step == COMMITS_AFTER + 1 => run.write_out(),
                _ => run.look(),
            }
        }
    }

    /// What is done after the fault; none: what was mounted did not come up again.
    fn go_on(&mut self, case: &Case, run: &mut Run, mounted: AfterCut) -> Result<Option<AfterCut>, Error> {
        match case.continuation {
            Continuation::GoOn => {}
            Continuation::DropCaches => {
                run.did("the kernel forgets what it has read");
                mounted.drop_caches();
            }
            Continuation::Restart => {
                run.disconnect();
                run.heard("stop the server", self.database.stop());
                match self.database.start_again(&mounted.data_folder) {
                    Ok(place) => {
                        run.did("the server was started again");
                        run.is_at(place);
                    }
                    Err(why) => run.heard("start the server", Err(why)),
                }
            }
            Continuation::Remount => {
                let Some(mounted) = self.mount_again(run, mounted)? else { return Ok(None) };
                match self.database.start_again(&mounted.data_folder) {
                    Ok(place) => run.is_at(place),
                    Err(why) => run.heard("start the server", Err(why)),
                }
                return Ok(Some(mounted));
            }
        }
        Ok(Some(mounted))
    }

    /// Ends the server, mends the disk and mounts it as a boot would; none: it does not mount.
    fn mount_again(&mut self, run: &mut Run, mut mounted: AfterCut) -> Result<Option<AfterCut>, Error> {
        run.disconnect();
        run.heard("stop the server", self.database.stop());
        run.server.extend(self.database.complaints());
        self.database.clear()?;
        run.kernel.extend(self.kernel_said(&mut mounted));
        mounted.unmount()?;
        // What the kernel still has of the disk is gone with it.
        self.attached.forget()?;
        self.disk.mend()?;
        self.attached.forget()?;
        run.did("the disk was mended and mounted again");
        match self.attached.mount() {
            Ok(mounted) => Ok(Some(mounted)),
            Err(error) if error.is_of_machine() => Err(error.into()),
            Err(error) => {
                let words = causes(&error).join(": ");
                let of_it = of_the_disk(&words, self.attached.device_name());
                run.found(RecoveryOutcome::Unmountable(of_it.unwrap_or(words)));
                Ok(None)
            }
        }
    }

    /// Ends what was measured; gives what the kernel said meanwhile.
    fn end(&mut self, mut mounted: AfterCut) -> Result<Vec<String>, Error> {
        if let Err(error) = self.database.stop() {
            // Nothing is asked of it any more.
            drop(error);
            self.database.kill();
        }
        self.database.clear()?;
        let said = self.kernel_said(&mut mounted);
        mounted.unmount()?;
        Ok(said)
    }

    fn mount_from_the_beginning(&mut self) -> Result<AfterCut, Error> {
        self.database.kill();
        self.database.clear()?;
        self.attached.forget()?;
        let choice = Choice::default();
        self.disk.fail(None, false)?;
        self.disk.show(0, &choice)?;
        self.attached.forget()?;
        Ok(self.attached.mount()?)
    }

    /// What the kernel says of the device since it was mounted, and that is not its everyday word.
    fn kernel_said(&self, mounted: &mut AfterCut) -> Vec<String> {
        let said = mounted.kernel_said();
        let unusual = said.lines().filter(|line| !is_everyday(line));
        unusual.filter_map(|line| of_the_disk(line, self.attached.device_name())).collect()
    }
}

/// The same words on every loop device; none: they are not of this one, as `loop12` is not `loop1`.
fn of_the_disk(words: &str, device: &str) -> Option<String> {
    let mut parts = words.split(device);
    let mut said = parts.next()?.to_string();
    let mut is_of_it = false;
    for part in parts {
        if part.starts_with(|letter: char| letter.is_ascii_alphanumeric()) {
            said.push_str(device);
        } else {
            said.truncate(said.trim_end_matches("/dev/").len());
            said.push_str("the disk");
            is_of_it = true;
        }
        said.push_str(part);
    }
    is_of_it.then_some(said)
}

fn outcome(case: &Case, run: Run, struck: Vec<Asked>) -> Outcome {
    let (consequence, words) = judge(&run.transcript);
    let Run { transcript, mut server, kernel, steps, .. } = run;
    server.dedup();
    let example = Example { case: case.to_string(), words, client: transcript.errors, server, kernel };
    Outcome { consequence, example, struck, was_ended: false, steps }
}

fn injection(case: &Case, asks: &Asks) -> Injection {
    let late_nanoseconds = match case.failure.fault {
        Fault::Hang => HANG_NANOSECONDS,
        Fault::Slow => (asks.delay_seconds * 1e9) as u64,
        _ => (asks.stall_seconds * 1e9) as u64,
    };
    let only = asks.only.clone();
    Injection { failure: case.failure, nth: case.nth, only, late_nanoseconds, seed: DAMAGE_SEED }
}

/// The load in which the fault strikes, until it has.
fn load(
    run: &mut Run,
    database: &mut Database,
    mounted: &AfterCut,
    reads: bool,
    has_struck: &mut dyn FnMut() -> Result<bool, powercut::device::Error>,
) -> Result<(), Error> {
    for number in 1..=COMMITS {
        if reads && number % WRITTEN_OUT_EVERY == 1 {
            mounted.drop_caches();
            run.look();
        }
        run.commit(database);
        if number.is_multiple_of(WRITTEN_OUT_EVERY) {
            run.write_out();
        }
        if has_struck()? {
            return Ok(());
        }
    }
    // Once, as some take seconds for it: there are blocks that nothing else writes.
    run.checkpoint();
    Ok(())
}

/// Before the disk fails, nothing else does.
fn well(transcript: &Transcript) -> Result<(), Error> {
    transcript.errors.first().map_or(Ok(()), |error| Err(Error::Well(error.clone())))
}

fn words(asked: &Asked) -> String {
    match asked.kind {
        RequestKind::Flush => "a flush".into(),
        RequestKind::Write => format!("a write of {} bytes at {}", asked.length, asked.offset),
        RequestKind::Read => format!("a read of {} bytes at {}", asked.length, asked.offset),
    }
}

/// What filesystems say when nothing is wrong.
fn is_everyday(line: &str) -> bool {
    const EVERYDAY: &[&str] = &[
        "mounted filesystem",
        "unmounting filesystem",
        "Mounting V",
        "Ending clean mount",
        "Unmounting Filesystem",
        "first mount of filesystem",
        "last unmount of filesystem",
        "using crc32c",
        "using free-space-tree",
        "using free space tree",
        "enabling ssd",
        "enabling free space tree",
        "disk space caching",
        "turning on async discard",
        "turning off async discard",
        "checking UUID tree",
    ];
    EVERYDAY.iter().any(|everyday| line.contains(everyday))
}

#[cfg(test)]
mod tests {
    use super::{Asks, injection, is_everyday, of_the_disk};
    use powercut::fault::injector::{Action, Asked, Injector};
    use powercut::fault::{Case, RequestKind};

    /// By the study's seed a replay had damaged another bit than the search, which draws one, and ended in another way.
    #[test]
    fn a_case_does_the_same_damage_whenever_it_is_run() {
        let struck = |name: &str| {
            let case: Case = format!("{name}@1/restart").parse().expect("a case");
            let mut injector = Injector::new(Some(injection(&case, &Asks::default())), false);
            let asked = |kind| Asked { kind, offset: 1 << 20, length: 64 << 10 };
            let mut decide = |kind| injector.decide(asked(kind), &[], 64 << 20);
            match decide(RequestKind::Write) {
                Action::Pass => decide(RequestKind::Read),
                action => action,
            }
        };
        for name in ["rotten-bit", "rotten-sector", "read-block", "misdirected-write", "torn-write"] {
            assert_eq!(struck(name), struck(name), "{name}");
            assert_ne!(struck(name), Action::Pass, "{name}");
        }
    }

    #[test]
    fn what_is_said_at_every_mount_is_no_complaint() {
        assert!(is_everyday("EXT4-fs (loop3): mounted filesystem 3f r/w with ordered data mode. Quota mode: none."));
        assert!(!is_everyday("Buffer I/O error on dev loop3, logical block 5, lost async page write"));
        assert!(!is_everyday("EXT4-fs (loop3): Remounting filesystem read-only"));
    }

    #[test]
    fn what_is_said_of_another_disk_is_not_said_of_this_one() {
        let said = |line: &str| of_the_disk(line, "loop1");
        assert_eq!(said("EXT4-fs (loop12): Remounting filesystem read-only"), None, "of a case beside this one");
        assert_eq!(said("I/O error, dev loop1, sector 8").as_deref(), Some("I/O error, dev the disk, sector 8"));
        let both = said("cannot mount /dev/loop1 as ext4, beside /dev/loop12").expect("of both");
        assert_eq!(both, "cannot mount the disk as ext4, beside /dev/loop12");
        assert_eq!(said("jbd2/loop1-8: aborted, loop1").as_deref(), Some("jbd2/the disk-8: aborted, the disk"));
    }
}
