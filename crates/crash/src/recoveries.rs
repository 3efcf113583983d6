//! Brings images up, as many side by side as there are CPUs.
//!
//! Files of a server name the folder that they lie in, so every image must be seen at the same place: each recovery runs in a thread
//! that has mounts of its own.

use crate::error::Error;
use crate::mounted_image::{Images, MountedImage};
use crate::plan::TrialSpec;
use crate::recovery::{Memo, Recovery, nothing};
use crate::watchdog::Watchdog;
use load::engines;
use powercut::explore::{Recovered, Subject};
use powercut::states::Choice;
use powercut::verdict::RecoveryOutcome;
use sandbox::isolation;
use std::collections::{HashSet, VecDeque};
use std::num::NonZero;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::Scope;
use std::time::Duration;
use storage::StorageSettings;

/// At most so many side by side: each has the disk's content in memory.
const WORKERS_MAX: usize = 4;

/// What a worker does.
const WORK: &str = "brings images up";

/// Brings images up again, as many side by side as there are CPUs: each in a worker of its own, which is a thread with a disk and mounts
/// that no other sees.
pub struct Recoveries {
    jobs: Sender<Job>,
    workers: usize,
    /// Where the results of those that were begun come, in that order.
    begun: VecDeque<Receiver<Result<Recovered, Error>>>,
    /// Images that were recovered: one that comes again is to be done again.
    done: HashSet<(usize, Choice)>,
}

/// An image to bring up.
struct Job {
    point: usize,
    choice: Choice,
    is_again: bool,
    result: Sender<Result<Recovered, Error>>,
}

impl Recoveries {
    /// Of the scenario that was recorded, in threads of this scope. A recovery that takes more than `seconds_max` hangs, and costs its
    /// worker the disk: it gets another.
    pub fn start<'scope>(
        scope: &'scope Scope<'scope, '_>,
        spec: &'scope TrialSpec,
        seconds_max: f64,
        images: Images<'scope>,
    ) -> Recoveries {
        let (jobs, to_do) = channel();
        let to_do = Arc::new(Mutex::new(to_do));
        let memo = Arc::new(Mutex::new(Memo::default()));
        // One where there can't be more: in a guest kernel, and of a filesystem that would be taken for one with its copy.
        let can_be_several = images.can_be_several() && spec.storage.has_mountable_copies();
        let workers = if can_be_several { side_by_side(spec) } else { 1 };
        for _ in 0..workers {
            let (to_do, memo) = (to_do.clone(), memo.clone());
            scope.spawn(move || {
                let isolation = if workers > 1 { isolation::own_mounts() } else { Ok(()) };
                let recovery = Recovery::new(spec, images.work, memo);
                let watchdog = Watchdog::new(Duration::from_secs_f64(seconds_max));
                let settings = &spec.storage;
                let mut worker = Worker { images, shown: None, settings, recovery, watchdog, seconds_max };
                let next = || to_do.lock().ok()?.recv().ok();
                while let Some(job) = next() {
                    let recovered = isolation.map_err(Error::Namespace).and_then(|()| worker.recover(&job));
                    // Nobody waits for it any more where another has failed.
                    let _ = job.result.send(recovered);
                }
            });
        }
        Recoveries { jobs, workers, begun: VecDeque::new(), done: HashSet::new() }
    }
}

/// How many databases of a trial's kind can be brought up side by side, each with mounts of its own.
pub(crate) fn side_by_side(spec: &TrialSpec) -> usize {
    let engine = spec.parameters.get("engine").and_then(|name| engines::named(name.as_str()?));
    if !isolation::may_mount() || engine.is_some_and(|engine| engine.opens_once) {
        return 1;
    }
    std::thread::available_parallelism().map_or(1, NonZero::get).min(WORKERS_MAX)
}

impl Subject for Recoveries {
    type Error = Error;

    fn side_by_side(&self) -> usize {
        self.workers
    }

    fn begin(&mut self, point: usize, choice: &Choice) -> Result<(), Error> {
        let (result, comes) = channel();
        let is_again = !self.done.insert((point, choice.clone()));
        self.jobs.send(Job { point, choice: choice.clone(), is_again, result }).map_err(|_| Error::Ended(WORK))?;
        self.begun.push_back(comes);
        Ok(())
    }

    fn end(&mut self) -> Result<Recovered, Error> {
        self.begun.pop_front().ok_or(Error::Ended(WORK))?.recv().map_err(|_| Error::Ended(WORK))?
    }
}

/// Where one image at a time is brought up.
struct Worker<'a> {
    images: Images<'a>,
    /// None after a recovery that hung.
    shown: Option<MountedImage<'a>>,
    settings: &'a StorageSettings,
    recovery: Recovery<'a>,
    /// Takes the disk from under a recovery that hangs.
    watchdog: Watchdog,
    seconds_max: f64,
}

impl Worker<'_> {
    fn recover(&mut self, job: &Job) -> Result<Recovered, Error> {
        let anew = || self.images.show(self.settings, &self.watchdog);
        let shown = self.shown.take().map_or_else(anew, |shown| Ok(Some(shown)))?;
        let Some(mut shown) = shown else { return Ok(self.hung(job)) };
        let breaker = shown.breaker()?;
        let (recovered, hung) =
            self.watchdog.over(breaker, || self.recovery.bring_up(&mut shown, job.point, &job.choice, job.is_again));
        if hung {
            return Ok(self.hung(job));
        }
        self.shown = Some(shown);
        recovered
    }

    /// What it read is not known, so that all that is undecided may matter.
    fn hung(&self, job: &Job) -> Recovered {
        let read = self.images.history.points()[job.point].undecided.keys().copied().collect();
        let said = format!("the recovery did not end within {} s", self.seconds_max);
        let found = Arc::new(nothing(RecoveryOutcome::Unmountable(said)));
        Recovered { found, read, is_new: true }
    }
}
