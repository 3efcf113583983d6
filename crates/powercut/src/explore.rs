//! Which of the legal images a real recovery runs on, and what all of them come to.
//!
//! A disk with a few hundred volatile units has more legal images than can be counted, yet a recovery reads few of these units,
//! and images that differ in the others only are the same to it. So the disk says what a recovery read, and only that is branched
//! on (`search`), at all points side by side (`agenda`). An image that was recovered at one
//! point is not recovered again at another, unless more is undecided there and what it reads of that must be known; what it left
//! is held against what had been acknowledged there. When nothing is left to branch on, every legal image is known to do as one
//! that was tried.
//!
//! That rests on recoveries doing the same with the same bytes. What guards it: images that are drawn at random, without
//! pruning, must show nothing new where the search was complete; bad images and one in a hundred others are recovered twice, and
//! where the second read other units, both are branched on.
//!
//! What is searched for is the worst. How much a cut takes on average, and how often it does harm, say cuts at random moments
//! (`drawn`), on which a part of the budget goes.
//!
//! A subject may have several recoveries under way. Images are then chosen while others are being recovered (`under_way`); what they
//! came to is heard in the order in which they were begun, so that nothing depends on which ends first.
//!
//! Pure but for the [`Subject`].

mod agenda;
mod drawn;
mod search;
mod tally;
mod under_way;

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;

use observe::safety::{Grade, Safety};

use crate::ack_log::{Attempt, last_acknowledged_nanoseconds};
use crate::states::{Choice, History, Image, RandomCut, Rest, Unit};
use crate::verdict::{Found, RecoveryOutcome, judge};
use agenda::Agenda;
use drawn::RandomCuts;
use random::SplitMix64;
use search::Search;
use tally::{Class, Kind, Tally};
use under_way::{Reason, UnderWay};

/// What a recovery of one image came to.
#[derive(Debug, Clone)]
pub struct Recovered {
    /// What it left.
    pub found: Arc<Found>,
    /// The undecided units that it read before it wrote them, in order of first read.
    pub read: Vec<Unit>,
    /// Whether the database recovered, too; otherwise its directory had been seen.
    pub is_new: bool,
}

/// What is put to the test: serves images, and lets a filesystem and a database recover on each.
pub trait Subject {
    /// Why it could not: a failure of the test itself, never of what is tested.
    type Error: std::fmt::Display;

    /// Recoveries that it does side by side: one more may be begun, so that none of these waits for the next.
    fn side_by_side(&self) -> usize {
        1
    }

    /// Begins to recover an image.
    ///
    /// # Errors
    /// When that can't be tried.
    fn begin(&mut self, point: usize, choice: &Choice) -> Result<(), Self::Error>;

    /// What came of the first of those that were begun and not ended.
    ///
    /// # Errors
    /// When that could not be tried.
    fn end(&mut self) -> Result<Recovered, Self::Error>;

    /// Whether it wants to know, before the next recovery, what was found so far.
    fn wants_tally(&self) -> bool {
        false
    }

    /// Hears it.
    fn tally(&mut self, _so_far: Safety) {}
}

/// How long to search, and from which seed random images are drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct Budget {
    /// By the given clock. Making a bad example smaller may take a tenth more.
    pub seconds: f64,
    /// Distinct images to recover at most.
    pub images_max: u64,
    /// Equal seeds draw equal images.
    pub seed: u64,
}

/// Bad images to recover twice.
const REPEATED_MAX: u64 = 100;
/// One of so many other images is recovered twice.
const REPEATED_SHARE: usize = 100;
/// Recoveries to spend on making the worst example smaller.
const SMALLER_RECOVERIES_MAX: u32 = 40;
/// Of the budget's seconds, when that has to end: none of these recoveries is begun later.
pub const SMALLER_SECONDS_SHARE: f64 = 1.1;

/// Searches until nothing is left, the budget is spent, or `stop` says so (asked before each image). The disk's description, the
/// load's promise and the settings', the seconds and most notes are left to the caller.
///
/// `attempts` are those of the recorded part; the last point, the log's end, is taken to be after all of them. So if the log
/// was closed while the load still ran, what was tried or acknowledged after it must not be among them.
///
/// # Errors
/// At the subject's first, unless something bad was found before: that stands, and the search is not complete.
pub fn explore<B: AsRef<[u8]>, S: Subject>(
    history: &History<B>,
    attempts: &[Attempt],
    subject: &mut S,
    budget: &Budget,
    clock: &mut dyn FnMut() -> f64,
    stop: &dyn Fn() -> bool,
) -> Result<Safety, S::Error> {
    let limits = Limits { budget, clock, stop, began: 0.0 };
    let mut explorer = Explorer::new(history, attempts, subject, limits);
    // To look for what is changed in place takes its time, too, and is no search.
    explorer.limits.began = (explorer.limits.clock)();
    match explorer.search().and_then(|()| explorer.make_worst_example_smaller()) {
        Ok(()) => Ok(explorer.safety()),
        Err(error) if explorer.tally.grade < Grade::E => Err(error),
        Err(error) => {
            let mut safety = explorer.safety();
            safety.notes.push(format!("the search ended early: {error}"));
            Ok(Safety { is_complete: false, ..safety })
        }
    }
}

/// When to end.
struct Limits<'a> {
    budget: &'a Budget,
    clock: &'a mut dyn FnMut() -> f64,
    stop: &'a dyn Fn() -> bool,
    began: f64,
}

impl Limits<'_> {
    /// Whether this share of the time is over.
    fn are_reached(&mut self, share: f64) -> bool {
        (self.stop)() || (self.clock)() - self.began >= self.budget.seconds * share
    }
}

/// What is known of an image.
struct Known {
    found: Arc<Found>,
    read: Vec<Unit>,
    /// The point at which it was recovered: other units may be undecided at others.
    point: usize,
}

/// What came of a step at a point.
enum Step {
    Wanted,
    /// What comes next depends on images that are under way.
    Waits,
    NothingLeft,
    LimitsReached,
}

struct Explorer<'a, B: AsRef<[u8]>, S> {
    history: &'a History<B>,
    attempts: &'a [Attempt],
    subject: &'a mut S,
    limits: Limits<'a>,
    random: SplitMix64,
    /// When power is cut, by point.
    cuts: Vec<u64>,
    /// By the image's hash.
    known: HashMap<u128, Known>,
    /// What recoveries left, each once: most leave the same.
    founds: HashSet<Arc<Found>>,
    /// By point.
    searches: Vec<Search>,
    /// The units that are changed in place, by point.
    changed: Vec<BTreeSet<Unit>>,
    /// What the search found, without the control group; by point.
    classes: Vec<BTreeSet<Class>>,
    /// Images that are being recovered, in the order in which that was begun.
    under_way: VecDeque<UnderWay>,
    /// What the control group found, and where.
    controls: Vec<(usize, Class)>,
    /// With those that are under way.
    controls_drawn: usize,
    /// Points at which there is anything to draw.
    drawable: Vec<usize>,
    /// Random cuts that are still to be tried, the next one last.
    to_cut: Vec<RandomCut>,
    /// What came of the others.
    random_cuts: RandomCuts,
    tally: Tally,
    recoveries: u64,
    repeated: u64,
    unsteady: u64,
}

impl<'a, B: AsRef<[u8]>, S: Subject> Explorer<'a, B, S> {
    fn new(history: &'a History<B>, attempts: &'a [Attempt], subject: &'a mut S, limits: Limits<'a>) -> Self {
        let points = history.points();
        let mut cuts: Vec<u64> = points.iter().map(|point| point.at_nanoseconds).collect();
        let last_told = last_acknowledged_nanoseconds(attempts);
        if let Some(end) = cuts.last_mut() {
            *end = last_told.saturating_add(1).max(*end);
        }
        let drawable = (0..points.len()).filter(|point| !points[*point].undecided.is_empty()).collect();
        Explorer {
            history,
            attempts,
            subject,
            random: SplitMix64::new(limits.budget.seed),
            limits,
            cuts,
            known: HashMap::new(),
            founds: HashSet::new(),
            searches: points.iter().map(|_| Search::new()).collect(),
            changed: history.changed_in_place(),
            classes: vec![BTreeSet::new(); points.len()],
            under_way: VecDeque::new(),
            controls: Vec::new(),
            controls_drawn: 0,
            drawable,
            to_cut: history.random_cuts().into_iter().rev().collect(),
            random_cuts: RandomCuts::default(),
            tally: Tally::default(),
            recoveries: 0,
            repeated: 0,
            unsteady: 0,
        }
    }

    fn search(&mut self) -> Result<(), S::Error> {
        let mut agenda = Agenda::new(&self.changed.iter().map(BTreeSet::len).collect::<Vec<_>>());
        while let Some(point) = agenda.next() {
            match self.step(point)? {
                Step::Wanted => agenda.tried(true),
                Step::NothingLeft => agenda.tried(false),
                Step::Waits => {
                    self.hear()?;
                    continue;
                }
                Step::LimitsReached => return self.hear_all(),
            }
            self.draw_between()?;
        }
        self.draw_at_the_end()?;
        self.hear_all()
    }

    fn step(&mut self, point: usize) -> Result<Step, S::Error> {
        let Some(next) = self.searches[point].next(&self.history.points()[point]) else {
            return Ok(if self.is_searched(point) { Step::Waits } else { Step::NothingLeft });
        };
        if self.want(point, next.choice, Reason::Search(next.purpose))? {
            return Ok(Step::Wanted);
        }
        self.searches[point].is_cut = true;
        Ok(Step::LimitsReached)
    }

    fn is_to_be_repeated(&mut self, found: &Found, point: usize) -> bool {
        if judge(found, self.attempts, self.cuts[point]).grade < Grade::E {
            return self.random.index(REPEATED_SHARE) == 0;
        }
        self.repeated += 1;
        self.repeated <= REPEATED_MAX
    }

    /// Lets the worst finding's example name as few units as it can: halves are put back to their newest content, then smaller
    /// parts, as long as the fault stays.
    fn make_worst_example_smaller(&mut self) -> Result<(), S::Error> {
        let Some((kind, example)) = self.tally.worst() else { return Ok(()) };
        let Image { point, choice } = example.image.clone();
        let (kind, lost_commits, words) = (kind.clone(), example.lost_commits, example.words.clone());
        let mut wanted = Wanted { kind, lost_commits, words, left: SMALLER_RECOVERIES_MAX };
        let history = self.history;
        let mut missing: Vec<(Unit, u32)> = history.points()[point].missing(&choice).into_iter().collect();
        // What its recovery did not read should not matter.
        let read: BTreeSet<Unit> = self.known[&history.image_hash(point, &choice)].read.iter().copied().collect();
        let of_read: Vec<_> = missing.iter().filter(|(unit, _)| read.contains(unit)).copied().collect();
        if of_read.len() < missing.len() && self.is_still(&mut wanted, point, &of_read)? {
            missing = of_read;
        }
        let mut size = missing.len().div_ceil(2);
        while size > 0 && wanted.left > 0 {
            let mut start = 0;
            while start < missing.len() && wanted.left > 0 {
                let end = missing.len().min(start + size);
                let fewer = [&missing[..start], &missing[end..]].concat();
                if self.is_still(&mut wanted, point, &fewer)? {
                    missing = fewer;
                } else {
                    start = end;
                }
            }
            size = if size == 1 { 0 } else { size.div_ceil(2) };
        }
        let choice = Choice { rest: Rest::Newest, units: missing.into_iter().collect() };
        self.tally.replace_example(&wanted.kind, Image { point, choice }, wanted.words);
        Ok(())
    }

    /// Whether an image has the fault that is wanted, whose words are then this image's; costs one of the recoveries left, and
    /// none are when time is over.
    fn is_still(&mut self, wanted: &mut Wanted, point: usize, missing: &[(Unit, u32)]) -> Result<bool, S::Error> {
        let choice = Choice { rest: Rest::Newest, units: missing.iter().copied().collect() };
        let found = match self.known.get(&self.history.image_hash(point, &choice)) {
            Some(known) => Arc::clone(&known.found),
            None if wanted.left == 0 || self.limits.are_reached(SMALLER_SECONDS_SHARE) => {
                wanted.left = 0;
                return Ok(false);
            }
            None => {
                wanted.left -= 1;
                self.begin(point, &choice)?;
                self.end()?.found
            }
        };
        let verdict = judge(&found, self.attempts, self.cuts[point]);
        let is_same = tally::lost_alone(&verdict) == wanted.lost_commits;
        let place = tally::kinds(&verdict).position(|kind| is_same && kind == wanted.kind);
        if let Some(place) = place {
            wanted.words.clone_from(&verdict.faults[place]);
        }
        Ok(place.is_some())
    }

    /// Whether only the recording may have ended the longest loss: more than each stream's last commit, and over so much of its time.
    fn is_censored(&self) -> bool {
        let told =
            || self.attempts.iter().filter_map(|attempt| Some((attempt.acknowledged_nanoseconds?, attempt.stream)));
        let (Some((first, _)), Some((last, _))) = (told().min(), told().max()) else { return false };
        let streams: BTreeSet<u32> = told().map(|(_, stream)| stream).collect();
        let seconds = (last - first) as f64 / 1e9;
        let is_more = self.tally.worst_lost_commits > streams.len() as u64;
        is_more && self.tally.worst_lost_seconds >= CENSORED_SHARE * seconds
    }

    fn safety(&self) -> Safety {
        let is_new = |(point, class): &&(usize, Class)| {
            self.searches[*point].is_complete() && !self.classes[*point].contains(class)
        };
        let audited_new = self.controls.iter().filter(is_new).count() as u64;
        let count = |is_so: fn(&RecoveryOutcome) -> bool| {
            self.known.values().filter(|known| is_so(&known.found.outcome)).count() as u64
        };
        let is_complete = self.searches.iter().all(Search::is_complete)
            && self.history.points_left_out == 0
            && self.history.units_abridged == 0
            && self.unsteady == 0
            && audited_new == 0;
        Safety {
            grade: self.tally.grade,
            disk: String::new(),
            promise: observe::durability::Class::KeepsAcknowledged,
            by_settings: None,
            tried: self.attempts.len() as u64,
            acknowledged: self.attempts.iter().filter(|attempt| attempt.acknowledged_nanoseconds.is_some()).count()
                as u64,
            points: self.tally.points.len() as u64,
            images: self.known.len() as u64,
            is_complete,
            recoveries: self.recoveries,
            worst_lost_commits: self.tally.worst_lost_commits,
            worst_lost_seconds: self.tally.worst_lost_seconds,
            is_censored: Some(self.is_censored()),
            expected_lost_commits: self.random_cuts.expected_lost_commits(),
            expected_lost_seconds: self.random_cuts.expected_lost_seconds(),
            random_cuts: self.random_cuts.all,
            random_cuts_bad: self.random_cuts.bad,
            unmountable: count(|outcome| matches!(outcome, RecoveryOutcome::Unmountable(_))),
            damaged: count(|outcome| matches!(outcome, RecoveryOutcome::Down(_) | RecoveryOutcome::Damaged(_))),
            silent: self.tally.silent.len() as u64,
            audited: self.controls.len() as u64,
            audited_new,
            unsteady: self.unsteady,
            writes: self.history.writes + self.history.flushes,
            flushes: self.history.flushes,
            findings: self.tally.findings(),
            notes: self.passed_over().into_iter().collect(),
            seconds: 0.0,
        }
    }

    /// That there are points of which nothing is known, and what helps where the search ended by its budget.
    fn passed_over(&self) -> Option<String> {
        let (tried, all) = (self.tally.points.len(), self.searches.len());
        let is_cut = self.searches.iter().any(|search| search.is_cut);
        let remedy = if is_cut { ": a longer `safety.budget` tries more" } else { "" };
        let left = all.saturating_sub(tried);
        (left > 0).then(|| format!("no image was tried at {left} of the {all} moments at which power may fail{remedy}"))
    }
}

/// A loss over so much of the time from the first acknowledgement to the last is as long as a recording can show. The load has no checkpoint
/// in its second half, and its first commits after one take a moment.
const CENSORED_SHARE: f64 = 0.4;

/// The fault that a smaller example is to show, and its words there.
struct Wanted {
    kind: Kind,
    lost_commits: u64,
    words: String,
    /// Recoveries that it may still cost.
    left: u32,
}

#[cfg(test)]
mod tests;
