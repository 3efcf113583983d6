//! The second half of a measurement: real recoveries on images that a cut may have left of a recorded load.

use crate::drive::{Drive, named};
use crate::error::Error;
use crate::examples;
use crate::mounted_image::Images;
use crate::plan::TrialSpec;
use crate::recording_disk::Disks;
use crate::recoveries::Recoveries;
use crate::replay;
use crate::safety::tells_of_what_stands;
use crate::watchdog::Watchdog;
use observe::durability::Class;
use observe::record::Record;
use observe::safety::{Grade, Safety};
use powercut::ack_log::{self, Attempt};
use powercut::device::{self, keep_awake};
use powercut::explore::{Budget, Recovered, Subject, explore};
use powercut::states::{Cache, Choice, Draw, History, Image};
use sandbox::work::Work;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use storage::DiskCache;
use study::trial_spec::Cut;

/// Recoveries beyond this tell nothing new, however quick they are.
const IMAGES_MAX: u64 = 1_000_000;

/// How often what was found so far is told, as damage stands though the trial is ended; and where its kernel may die of an image.
const TALLY_INTERVAL: Duration = Duration::from_secs(1);
const TALLY_INTERVAL_IN_GUEST: Duration = Duration::from_millis(100);

/// What was promised of a load that was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Promised {
    /// What the load asked for, whatever was below it.
    pub by_load: Class,
    /// What a power cut may take by all settings, and by what was found of the filesystem, on the disk that recorded.
    pub by_settings: Class,
}

type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

/// A load that was recorded.
pub struct Recording<'a> {
    pub(crate) work: &'a Work,
    pub(crate) spec: TrialSpec,
    pub(crate) cut: &'a Cut,
    /// That served it, and serve images of it.
    pub(crate) disks: Disks,
    /// Where the log is kept.
    pub(crate) log: PathBuf,
    pub(crate) attempts: Vec<Attempt>,
    /// What a reader should know of it.
    pub(crate) notes: Vec<String>,
    /// When it was begun.
    pub(crate) started: Instant,
}

impl Recording<'_> {
    /// Runs recoveries on the images that a cut may have left. The log is kept where something was lost. `say` hears of each recovery before
    /// it begins, where the kernel may die of one, and what was found so far.
    ///
    /// # Errors
    /// When the log can't be used, or a recovery can't be tried.
    pub fn search(self, promised: Promised, interrupted: &AtomicBool, say: &mut dyn FnMut(&Record)) -> Result<Safety> {
        keeping(self.work, &self.spec.scenario, interrupted, say, |say| self.explore(promised, interrupted, say))
    }

    fn explore(&self, promised: Promised, interrupted: &AtomicBool, say: &mut dyn FnMut(&Record)) -> Result<Safety> {
        let Drive { rules, profile } = Drive::new(self.cut)?;
        let until_nanoseconds = ack_log::last_acknowledged_nanoseconds(&self.attempts);
        let draw = Draw { seed: self.spec.seed, profile, until_nanoseconds };
        let history = History::with_random_cuts(device::map(&self.log)?, rules, &draw)?;
        let mut notes = self.notes.clone();
        if history.points_left_out > 0 {
            notes.push(format!("{} more points at which power may fail were left out", history.points_left_out));
        }
        if history.units_abridged > 0 {
            let units = history.units_abridged;
            notes.push(format!(
                "of {units} units not every content was tried: many parts of them were under way at once"
            ));
        }
        let (words, speed) = (named::<DiskCache>(&self.cut.cache)?.words(), storage::speed(&self.cut.profile));
        let (disk, cache) = (format!("{words}, {}-byte units, {speed}", self.cut.unit_bytes), rules.cache);
        let about = About { disk, cache, notes, promised, started: self.started };
        let images = Images { history: &history, log: &self.log, disks: &self.disks, work: self.work };
        let is_wanted = self.spec.bench == study::Bench::Guest;
        // No figure of speed comes of it.
        let _awake = keep_awake();
        let budget = Budget { seconds: self.cut.budget_seconds, images_max: IMAGES_MAX, seed: self.spec.seed };
        let started = Instant::now();
        let mut clock = || started.elapsed().as_secs_f64();
        let is_interrupted = || interrupted.load(Ordering::Relaxed);
        let mut found = std::thread::scope(|scope| {
            let recoveries = Recoveries::start(scope, &self.spec, self.cut.recovery_seconds_max, images);
            let mut told = Told { recoveries, say, is_wanted, about: &about, last: None };
            explore(&history, &self.attempts, &mut told, &budget, &mut clock, &is_interrupted)
        })?;
        if found.images == 0 && !is_interrupted() {
            return Err("no image was tried within `safety.budget`: set a longer one".into());
        }
        // A guest's kernel is not put at risk for it. It helps a reader, and is no result.
        if !is_wanted && !found.findings.is_empty() {
            let watchdog = Watchdog::new(Duration::from_secs_f64(self.cut.recovery_seconds_max));
            if let Ok(Some(mut shown)) = images.show(&self.spec.storage, &watchdog) {
                examples::describe(&mut found.findings, &mut shown, &watchdog, rules.unit_bytes);
            }
        }
        Ok(about.complete(found))
    }
}

/// Searches, and keeps the log where its images can be asked for: of what was told and stands, also where the search then fails.
fn keeping(
    work: &Work,
    scenario: &str,
    interrupted: &AtomicBool,
    say: &mut dyn FnMut(&Record),
    search: impl FnOnce(&mut dyn FnMut(&Record)) -> Result<Safety>,
) -> Result<Safety> {
    let mut stands = false;
    let found = search(&mut |record| {
        stands |= tells_of_what_stands(record);
        say(record);
    });
    let is_interrupted = interrupted.load(Ordering::Relaxed);
    match &found {
        Ok(safety) if !is_interrupted => replay::settle(work, scenario, safety.grade > Grade::A),
        Err(_) if stands && !is_interrupted => replay::settle(work, scenario, true),
        _ => replay::restore(work, scenario),
    }
    found
}

/// What is to be said with all that is found.
struct About {
    /// The disk, in words.
    disk: String,
    cache: Cache,
    notes: Vec<String>,
    promised: Promised,
    started: Instant,
}

impl About {
    fn complete(&self, found: Safety) -> Safety {
        let mut notes = [&found.notes[..], &self.notes].concat();
        if found.flushes == 0 && self.cache == Cache::Volatile {
            notes.push("the disk was not asked for a single flush while these commits were acknowledged".into());
        }
        let seconds = self.started.elapsed().as_secs_f64();
        let Promised { by_load: promise, by_settings } = self.promised;
        Safety { disk: self.disk.clone(), promise, by_settings: Some(by_settings), notes, seconds, ..found }
    }
}

/// Recoveries of which somebody outside hears before they begin: a guest's kernel may die of one, and all that it knew with it.
struct Told<'a> {
    recoveries: Recoveries,
    say: &'a mut dyn FnMut(&Record),
    is_wanted: bool,
    about: &'a About,
    /// When the tally was told.
    last: Option<Instant>,
}

impl Subject for Told<'_> {
    type Error = Error;

    fn side_by_side(&self) -> usize {
        self.recoveries.side_by_side()
    }

    fn begin(&mut self, point: usize, choice: &Choice) -> Result<(), Error> {
        if self.is_wanted {
            let image = Image { point, choice: choice.clone() }.to_string();
            (self.say)(&Record::Recovering { image });
        }
        self.recoveries.begin(point, choice)
    }

    fn end(&mut self) -> Result<Recovered, Error> {
        self.recoveries.end()
    }

    fn wants_tally(&self) -> bool {
        let interval = if self.is_wanted { TALLY_INTERVAL_IN_GUEST } else { TALLY_INTERVAL };
        self.last.is_none_or(|last| last.elapsed() >= interval)
    }

    fn tally(&mut self, so_far: Safety) {
        self.last = Some(Instant::now());
        (self.say)(&Record::Safety(Box::new(self.about.complete(so_far))));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::safety::found::found;
    use storage::StorageSettings;

    /// A report named images of a log that was gone, or was shown those of an older one by their names.
    #[test]
    fn the_log_of_what_stands_is_kept_though_the_search_fails() {
        let folder = tempfile::tempdir().expect("a folder");
        let work = Work::open(folder.path()).expect("ours");
        std::fs::create_dir_all(work.power_cuts()).expect("a folder");
        let spec = TrialSpec::single("study", "ext4", "commits", study::Bench::Host, 1, StorageSettings::default());
        let kept_after = |log: &str, grade: Grade, is_interrupted: bool| {
            let new = folder.path().join("new");
            std::fs::write(&new, log).expect("written");
            let kept = replay::keep(&work, &spec, &new).expect("kept");
            let ended = keeping(&work, "ext4", &AtomicBool::new(is_interrupted), &mut |_| {}, |say| {
                say(&Record::Safety(Box::new(found(grade))));
                Err("no recovery can be tried".into())
            });
            assert!(ended.is_err(), "{ended:?}");
            std::fs::read_to_string(kept).ok()
        };
        assert_eq!(kept_after("first", Grade::B, false), None);
        assert_eq!(kept_after("second", Grade::E, false).as_deref(), Some("second"));
        assert_eq!(kept_after("third", Grade::A, false).as_deref(), Some("second"), "it is measured no more");
        assert_eq!(kept_after("fourth", Grade::F, true).as_deref(), Some("second"), "nobody hears of it");
        assert_eq!(kept_after("fifth", Grade::D, false).as_deref(), Some("fifth"));
    }
}
