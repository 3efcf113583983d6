//! Toys that recover from made-up histories: what the search must find, and how little it must try for it.

use std::cell::Cell;

use std::convert::Infallible;

use std::collections::BTreeMap;

use proptest::prelude::*;

mod bounds;

use super::drawn::CONTROLS_MIN;
use super::*;
use crate::states::tests::{Step as Record, all_choices, history, log_of, page, steps, write};
use crate::states::{Cache, Draw, Point, Rules};
use crate::timing::Profile;

/// A subject that reads an image's units and says what it found.
struct Toy<'a, F> {
    history: &'a History<Vec<u8>>,
    recover: F,
    /// The hashes of the images that were recovered, in order.
    recovered: Vec<u128>,
    side_by_side: usize,
    begun: VecDeque<(usize, Choice)>,
}

impl<'a, F> Toy<'a, F> {
    fn new(history: &'a History<Vec<u8>>, recover: F) -> Toy<'a, F> {
        Toy { history, recover, recovered: Vec::new(), side_by_side: 1, begun: VecDeque::new() }
    }
}

impl<F: FnMut(&mut dyn FnMut(Unit) -> u8) -> Found> Subject for Toy<'_, F> {
    type Error = Infallible;

    fn side_by_side(&self) -> usize {
        self.side_by_side
    }

    fn begin(&mut self, point: usize, choice: &Choice) -> Result<(), Infallible> {
        self.begun.push_back((point, choice.clone()));
        assert!(self.begun.len() <= self.side_by_side + usize::from(self.side_by_side > 1));
        Ok(())
    }

    fn end(&mut self) -> Result<Recovered, Infallible> {
        let (point, choice) = &self.begun.pop_front().expect("one was begun");
        let point = *point;
        self.recovered.push(self.history.image_hash(point, choice));
        let (history, mut read) = (self.history, Vec::new());
        let at = &history.points()[point];
        let found = (self.recover)(&mut |unit| {
            if at.undecided.contains_key(&unit) && !read.contains(&unit) {
                read.push(unit);
            }
            history.content(at.held(unit, choice))[0]
        });
        Ok(Recovered { found: Arc::new(found), read, is_new: true })
    }
}

fn up(numbers: impl IntoIterator<Item = u64>) -> Found {
    Found {
        outcome: RecoveryOutcome::Up,
        streams: BTreeMap::from([(0, numbers.into_iter().collect())]),
        wrong: Vec::new(),
        logged: None,
    }
}

const UNLIMITED: Budget = Budget { seconds: f64::INFINITY, images_max: u64::MAX, seed: 1 };

fn explored<F>(toy: &mut Toy<'_, F>, attempts: &[Attempt], budget: &Budget) -> Safety
where
    F: FnMut(&mut dyn FnMut(Unit) -> u8) -> Found,
{
    let history = toy.history;
    let Ok(safety) = explore(history, attempts, toy, budget, &mut || 0.0, &|| false);
    safety
}

/// Blocks of a transaction in the toy's journal.
const BLOCKS: u64 = 60;
const TRANSACTIONS: u64 = 4;

/// Each transaction writes its blocks and, without waiting, its commit record (in the unit before them), and then flushes.
fn journal() -> History<Vec<u8>> {
    let mut records = vec![Record::Begin];
    for number in 1..=TRANSACTIONS {
        let first = (number - 1) * (BLOCKS + 1);
        let requests: Vec<u64> = (first..=first + BLOCKS).collect();
        records.extend(requests.iter().map(|unit| write(*unit, *unit, &[number as u8])));
        records.extend(requests.iter().map(|unit| Record::Done(*unit)));
        records.extend([Record::Flush(9999), Record::Done(9999)]);
    }
    history(Cache::Volatile, 1 << 20, &records)
}

/// The toy's commits: acknowledged after the flush, or before it.
fn commits(history: &History<Vec<u8>>, is_after: bool) -> Vec<Attempt> {
    let flushes = &history.points()[..TRANSACTIONS as usize];
    let attempt = |(index, flush): (usize, &Point)| Attempt {
        stream: 0,
        number: index as u64 + 1,
        tried_nanoseconds: 0,
        acknowledged_nanoseconds: Some(if is_after { flush.at_nanoseconds + 1 } else { flush.at_nanoseconds - 1 }),
    };
    flushes.iter().enumerate().map(attempt).collect()
}

/// Applies a transaction whose commit record is there if all its blocks are, one after the other.
fn with_checksums(read: &mut dyn FnMut(Unit) -> u8) -> Found {
    let is_whole = |number: &u64| {
        let first = (number - 1) * (BLOCKS + 1);
        (first..=first + BLOCKS).all(|unit| u64::from(read(unit as Unit)) == *number)
    };
    up((1..=TRANSACTIONS).take_while(is_whole))
}

/// Believes the commit record.
fn without_checksums(read: &mut dyn FnMut(Unit) -> u8) -> Found {
    let mut found = up([]);
    for number in 1..=TRANSACTIONS {
        let first = (number - 1) * (BLOCKS + 1);
        if u64::from(read(first as Unit)) != number {
            break;
        }
        let torn = (first + 1..=first + BLOCKS).filter(|unit| u64::from(read(*unit as Unit)) != number).count();
        if torn > 0 {
            found.wrong.push(format!("commit {number} lacks {torn} blocks"));
        }
        found.streams.entry(0).or_default().push(number);
    }
    found
}

#[test]
fn a_journal_with_checksums_is_shown_to_be_safe_by_few_images() {
    let history = journal();
    let mut toy = Toy::new(&history, with_checksums);
    let safety = explored(&mut toy, &commits(&history, true), &UNLIMITED);
    assert_eq!((safety.grade, safety.is_complete, safety.bad()), (Grade::A, true, 0));
    assert_eq!((safety.worst_lost_commits, safety.expected_lost_commits, safety.random_cuts), (0, None, 0));
    assert_eq!((safety.audited_new, safety.unsteady, safety.findings.len()), (0, 0, 0));
    assert_eq!((safety.tried, safety.acknowledged, safety.points), (TRANSACTIONS, TRANSACTIONS, TRANSACTIONS + 1));
    assert_eq!((safety.writes, safety.flushes), (TRANSACTIONS * (BLOCKS + 2), TRANSACTIONS));
    assert!(safety.audited >= CONTROLS_MIN as u64, "{}", safety.audited);
    // Of 2^61 legal images at each point, one for each unit, and the control group.
    let needed = TRANSACTIONS * (BLOCKS + 2);
    assert!(safety.images >= needed && safety.images < needed * 11 / 10 + 20, "{}", safety.images);
    let again = safety.recoveries - safety.images;
    assert!(again <= safety.points + safety.images / 20, "{again} recovered twice");
}

#[test]
fn a_journal_without_checksums_is_found_to_be_torn() {
    let history = journal();
    let mut toy = Toy::new(&history, without_checksums);
    let budget = Budget { images_max: 500, ..UNLIMITED };
    let safety = explored(&mut toy, &commits(&history, true), &budget);
    assert_eq!((safety.grade, safety.is_complete), (Grade::F, false));
    assert!(safety.images <= 500 && safety.silent > 300, "{} of {}", safety.silent, safety.images);
    let worst = &safety.findings[0];
    assert!(worst.what.starts_with("commit ") && worst.what.ends_with(" lacks 1 blocks"), "{}", worst.what);
    assert_eq!(worst.images, safety.silent);
    let example: Image = worst.example.parse().expect("a name");
    assert_eq!((example.choice.rest, example.choice.units.len()), (Rest::Newest, 1));
}

/// Two hundred flushes of a log that grows, and one moment at which pages are changed in place, each of two units: that is where
/// to look.
#[test]
fn torn_pages_are_found_among_many_flushes_of_a_log() {
    const LOG: Unit = 200;
    const PAGES: std::ops::Range<Unit> = 1000..1040;
    fn flushed(requests: &[u64]) -> Vec<Record> {
        let flush = 1_000_000 + requests[0];
        requests
            .iter()
            .map(|request| Record::Done(*request))
            .chain([Record::Flush(flush), Record::Done(flush)])
            .collect()
    }
    let pages = |version: u8| {
        let request = |unit: Unit| u64::from(version) * 10_000 + u64::from(unit);
        let written = PAGES.map(|unit| page(request(unit), u64::from(unit), &[version]));
        written.chain(flushed(&PAGES.map(request).collect::<Vec<_>>())).collect::<Vec<_>>()
    };
    let logged = |units: std::ops::Range<Unit>| {
        let units = units.map(u64::from);
        units.flat_map(|unit| [vec![write(unit, unit, &[1])], flushed(&[unit])].concat()).collect::<Vec<_>>()
    };
    let records = [pages(1), vec![Record::Begin], logged(0..77), pages(2), logged(77..LOG)].concat();
    let history = history(Cache::Volatile, 1 << 20, &records);
    // The end of the log, and then pages whose first half is newer than the second.
    let recover = |read: &mut dyn FnMut(Unit) -> u8| {
        (0..LOG).take_while(|unit| read(*unit) == 1).count();
        let torn = PAGES.step_by(2).any(|unit| read(unit) > read(unit + 1));
        Found { wrong: torn.then(|| "torn".to_string()).into_iter().collect(), ..up([]) }
    };
    let mut toy = Toy::new(&history, recover);
    let safety = explored(&mut toy, &[], &Budget { images_max: 60, ..UNLIMITED });
    assert_eq!(safety.grade, Grade::F, "{safety:?}");
}

/// Only when several units are missing at once something is wrong: the example must name just these.
#[test]
fn the_worst_example_names_what_it_must() {
    let units: Vec<Record> = (0..40).map(|unit| write(unit, unit, &[1])).collect();
    let history = history(Cache::Volatile, 1 << 20, &[vec![Record::Begin], units].concat());
    let recover = |read: &mut dyn FnMut(Unit) -> u8| {
        let missing: Vec<Unit> = (0..40).filter(|unit| read(*unit) == 0).collect();
        let wrong = [7, 19, 23].iter().all(|unit| missing.contains(unit)).then(|| "wrong".to_string());
        Found { wrong: wrong.into_iter().collect(), ..up([]) }
    };
    let mut toy = Toy::new(&history, recover);
    let safety = explored(&mut toy, &[], &Budget { images_max: 60, ..UNLIMITED });
    assert_eq!(safety.findings[0].example, "0:newest:7=0,19=0,23=0");
}

#[test]
fn what_is_acknowledged_before_its_flush_is_found_lost() {
    let history = journal();
    let mut toy = Toy::new(&history, with_checksums);
    let safety = explored(&mut toy, &commits(&history, false), &UNLIMITED);
    assert_eq!((safety.grade, safety.is_complete, safety.bad()), (Grade::B, true, 0));
    assert_eq!(safety.worst_lost_commits, 1);
    assert_eq!(safety.worst_lost_seconds, 1e-9);
    assert_eq!(safety.findings.len(), 1);
    assert_eq!(safety.findings[0].what, "acknowledged commits are missing: 1, the first from 0.000 s before the cut");
    let example: Image = safety.findings[0].example.parse().expect("a name");
    assert_eq!(example.choice.units.len(), 1);
}

/// Ten commits, each a unit of its own that is acknowledged at once and never flushed; a coin decides which are there.
fn coins() -> (History<Vec<u8>>, Vec<Attempt>) {
    const SECOND: u64 = 1_000_000_000;
    let records = (0..10).flat_map(|unit| [write(unit, unit, &[1]), Record::Done(unit)]);
    let records: Vec<Record> = [Record::Begin].into_iter().chain(records).chain([Record::Done(99)]).collect();
    let draw = Draw { seed: 5, profile: Profile::None, until_nanoseconds: 0 };
    let rules = Rules { unit_bytes: 512, cache: Cache::Volatile };
    let history = History::with_random_cuts(log_of(1 << 20, &records, SECOND), rules, &draw).expect("a log");
    let attempt = |unit: u32| Attempt {
        stream: unit,
        number: 1,
        tried_nanoseconds: u64::from(unit),
        acknowledged_nanoseconds: Some(u64::from(2 * unit + 2) * SECOND + 1),
    };
    (history, (0..10).map(attempt).collect())
}

#[test]
fn the_expected_loss_is_the_mean_over_cuts_at_random_moments() {
    let (history, attempts) = coins();
    let there = |read: &mut dyn FnMut(Unit) -> u8| {
        let streams = (0..10).filter(|unit| read(*unit) == 1).map(|unit| (unit, vec![1])).collect();
        Found { streams, ..up([]) }
    };
    let mut toy = Toy::new(&history, there);
    let budget = Budget { images_max: 900, ..UNLIMITED };
    let safety = explored(&mut toy, &attempts, &budget);
    let cuts = history.random_cuts();
    let lost = |cut: &RandomCut| {
        let point = &history.points()[cut.image.point];
        let is_gone = |unit: Unit| history.content(point.held(unit, &cut.image.choice))[0] == 0;
        let told = attempts.iter().filter(|attempt| attempt.acknowledged_nanoseconds < Some(cut.at_nanoseconds));
        told.filter(|attempt| is_gone(attempt.stream)).count() as f64
    };
    let tried = safety.random_cuts as usize;
    assert!(tried > 300, "{tried}");
    let mean = cuts[..tried].iter().map(lost).sum::<f64>() / tried as f64;
    let expected = safety.expected_lost_commits.expect("all came up");
    assert!((expected - mean).abs() < 1e-9, "{expected}, {mean}");
    // Half of what was told until then, which is all only at the end.
    let told: f64 = (0..10).map(|unit| f64::from(21 - (2 * unit + 2)) / 21.0).sum();
    assert!((expected - told / 2.0).abs() < 0.3, "{expected}, {}", told / 2.0);
    assert_eq!((safety.worst_lost_commits, safety.random_cuts_bad), (10, 0));
    let seconds = safety.expected_lost_seconds.expect("all came up");
    assert!(seconds > 0.0 && seconds < safety.worst_lost_seconds, "{seconds}");
    let mut again = Toy::new(&history, there);
    assert_eq!(explored(&mut again, &attempts, &budget), safety);
}

#[test]
fn a_cut_that_leaves_a_ruin_is_bad_and_has_no_loss() {
    let (history, attempts) = coins();
    let needs_the_second = |read: &mut dyn FnMut(Unit) -> u8| match (read(0), read(1)) {
        (1, 0) => Found { outcome: RecoveryOutcome::Down("no answer".into()), ..up([]) },
        (0, 0) => up([]),
        _ => Found { wrong: vec!["half".into()], ..up([]) },
    };
    let mut toy = Toy::new(&history, needs_the_second);
    let safety = explored(&mut toy, &attempts, &UNLIMITED);
    assert!(safety.is_complete && safety.images < safety.random_cuts, "most of them leave what is known: {safety:?}");
    let share = safety.random_cuts_bad as f64 / safety.random_cuts as f64;
    assert!((0.6..0.8).contains(&share), "three in four, once both are written: {share}");
    assert!(safety.bad_share_at_most().is_some_and(|most| most > share && most < share + 0.15));
    let ruin = |_: &mut dyn FnMut(Unit) -> u8| Found { outcome: RecoveryOutcome::Down(String::new()), ..up([]) };
    let safety = explored(&mut Toy::new(&history, ruin), &attempts, &UNLIMITED);
    assert_eq!((safety.random_cuts_bad, safety.expected_lost_commits), (safety.random_cuts, None));
}

#[test]
fn the_end_is_after_the_last_acknowledgement() {
    let history = history(Cache::Volatile, 4096, &[Record::Begin, write(1, 0, &[1])]);
    let attempt = Attempt { stream: 0, number: 1, tried_nanoseconds: 0, acknowledged_nanoseconds: Some(7_000_000_000) };
    let recover = |read: &mut dyn FnMut(Unit) -> u8| up((read(0) == 1).then_some(1));
    let mut toy = Toy::new(&history, recover);
    let safety = explored(&mut toy, &[attempt], &UNLIMITED);
    assert_eq!((safety.grade, safety.worst_lost_commits), (Grade::B, 1));
}

#[test]
fn a_disk_that_lies_may_lose_all() {
    let records: Vec<Record> = (1..=5)
        .flat_map(|n| [write(n, n, &[n as u8]), Record::Done(n), Record::Flush(n + 9), Record::Done(n + 9)])
        .collect();
    let history = history(Cache::Lying, 4096, &[vec![Record::Begin], records].concat());
    let attempts: Vec<Attempt> = (1..=5)
        .map(|number| Attempt {
            stream: 0,
            number,
            tried_nanoseconds: 0,
            acknowledged_nanoseconds: Some(number * 6_000_000_000),
        })
        .collect();
    let recover = |read: &mut dyn FnMut(Unit) -> u8| up((1..=5).take_while(|unit| read(*unit as Unit) != 0));
    let mut toy = Toy::new(&history, recover);
    let safety = explored(&mut toy, &attempts, &UNLIMITED);
    assert_eq!((safety.grade, safety.is_complete, safety.worst_lost_commits), (Grade::D, true, 5));
    assert!((safety.worst_lost_seconds - 24.0).abs() < 1e-6, "{}", safety.worst_lost_seconds);
}

#[test]
fn a_budget_that_ends_leaves_the_search_incomplete() {
    let history = journal();
    let attempts = commits(&history, true);
    let toy = || Toy::new(&history, with_checksums);
    let all = explored(&mut toy(), &attempts, &UNLIMITED);
    let few = explored(&mut toy(), &attempts, &Budget { images_max: 20, ..UNLIMITED });
    assert_eq!((few.images, few.is_complete), (20, false));
    let several = || Toy { side_by_side: 3, ..toy() };
    let side_by_side = explored(&mut several(), &attempts, &Budget { images_max: 20, ..UNLIMITED });
    assert_eq!((side_by_side.images, side_by_side.is_complete), (20, false));
    let whole = explored(&mut several(), &attempts, &UNLIMITED);
    assert_eq!(whole, explored(&mut several(), &attempts, &UNLIMITED), "whichever of them ends first");
    let exact = Budget { images_max: all.images, ..UNLIMITED };
    assert_eq!(explored(&mut toy(), &attempts, &exact), all, "a limit that is not passed changes nothing");

    let mut time = 100.0;
    let mut clock = || {
        time += 1.0;
        time
    };
    let budget = Budget { seconds: 30.0, ..UNLIMITED };
    let Ok(short) = explore(&history, &attempts, &mut toy(), &budget, &mut clock, &|| false);
    assert!(short.images > 10 && short.images <= 30 && !short.is_complete, "{}", short.images);

    let asked = Cell::new(0);
    let stop = || {
        asked.set(asked.get() + 1);
        asked.get() > 7
    };
    let Ok(stopped) = explore(&history, &attempts, &mut toy(), &UNLIMITED, &mut || 0.0, &stop);
    assert_eq!((asked.get(), stopped.is_complete), (8, false), "asked before each image, and no more once it said so");
    assert!(stopped.images <= 7, "{}", stopped.images);
}

#[test]
fn a_recovery_that_does_otherwise_the_second_time_is_counted() {
    let history = journal();
    let mut turn = 0;
    let recover = |read: &mut dyn FnMut(Unit) -> u8| {
        turn += 1;
        match with_checksums(read) {
            found if turn % 2 == 0 || found.streams[&0].len() as u64 == TRANSACTIONS => found,
            found => Found { outcome: RecoveryOutcome::Down("no answer".into()), ..found },
        }
    };
    let mut toy = Toy::new(&history, recover);
    let safety = explored(&mut toy, &commits(&history, true), &UNLIMITED);
    assert!(safety.unsteady > 50, "{}", safety.unsteady);
    assert_eq!((safety.grade, safety.is_complete), (Grade::E, false));
    assert_eq!(safety.findings[0].what, "the database does not come up: no answer");
}

/// What the second recovery reads is branched on, too: here a unit that only every second one looks at decides.
#[test]
fn reads_of_both_recoveries_are_branched_on() {
    let records = [Record::Begin, write(1, 0, &[1]), write(2, 1, &[1])];
    let history = history(Cache::Volatile, 4096, &records);
    let mut turn = 0;
    let recover = |read: &mut dyn FnMut(Unit) -> u8| {
        turn += 1;
        let outcome = RecoveryOutcome::Down("always".into());
        read((turn % 2) as Unit);
        Found { outcome, ..up([]) }
    };
    let mut toy = Toy::new(&history, recover);
    let safety = explored(&mut toy, &[], &UNLIMITED);
    assert_eq!((safety.images, safety.unsteady, safety.is_complete), (4, 0, true));
}

/// A disk that does not say that a unit was read: the pruned search can't see what it decides, the control group can.
#[test]
fn the_control_group_finds_what_the_search_wrongly_passed_over() {
    struct Silent<'a>(&'a History<Vec<u8>>, VecDeque<(usize, Choice)>);
    impl Subject for Silent<'_> {
        type Error = Infallible;

        fn begin(&mut self, point: usize, choice: &Choice) -> Result<(), Infallible> {
            self.1.push_back((point, choice.clone()));
            Ok(())
        }

        fn end(&mut self) -> Result<Recovered, Infallible> {
            let (point, choice) = self.1.pop_front().expect("one was begun");
            let at = &self.0.points()[point];
            let is_torn = at.held(2, &choice) != at.held(3, &choice);
            let wrong = if is_torn { vec!["torn".into()] } else { Vec::new() };
            Ok(Recovered { found: Arc::new(Found { wrong, ..up([]) }), read: vec![0, 1], is_new: true })
        }
    }
    let units: Vec<Record> = (0..4).map(|unit| write(unit, unit, &[1])).collect();
    let history = history(Cache::Volatile, 1 << 20, &[vec![Record::Begin], units].concat());
    let Ok(safety) = explore(&history, &[], &mut Silent(&history, VecDeque::new()), &UNLIMITED, &mut || 0.0, &|| false);
    assert!(safety.audited_new > 0 && !safety.is_complete, "{} of {}", safety.audited_new, safety.audited);
    assert_eq!(safety.grade, Grade::F, "a fault is one, whoever found it");
}

/// A subject that finds damage, or nothing, and then can't go on.
struct Breaking {
    left: usize,
    found: Found,
}

impl Subject for Breaking {
    type Error = &'static str;

    fn begin(&mut self, _point: usize, _choice: &Choice) -> Result<(), &'static str> {
        Ok(())
    }

    fn end(&mut self) -> Result<Recovered, &'static str> {
        self.left = self.left.checked_sub(1).ok_or("the loop device is gone")?;
        Ok(Recovered { found: Arc::new(self.found.clone()), read: vec![0, 1], is_new: true })
    }
}

#[test]
fn damage_that_was_found_stands_when_the_search_can_not_go_on() {
    let units: Vec<Record> = (0..4).map(|unit| write(unit, unit, &[1])).collect();
    let one = history(Cache::Volatile, 1 << 20, &[vec![Record::Begin], units.clone()].concat());
    let done = (0..4).map(Record::Done).chain([Record::Flush(9), Record::Done(9)]).collect();
    let again = (0..4).map(|unit| write(10 + unit, unit, &[2])).collect();
    let several = history(Cache::Volatile, 1 << 20, &[vec![Record::Begin], units, done, again].concat());
    let of = |history: &History<Vec<u8>>, left: usize, found: Found| {
        let mut subject = Breaking { left, found };
        explore(history, &[], &mut subject, &UNLIMITED, &mut || 0.0, &|| false)
    };
    let damaged = || Found { outcome: RecoveryOutcome::Down("gone".into()), ..up([]) };
    let safety = of(&one, 2, damaged()).expect("what was found counts");
    assert_eq!((safety.grade, safety.is_complete), (Grade::E, false));
    assert_eq!(safety.notes, ["the search ended early: the loop device is gone"]);
    // A longer budget would not have helped.
    let notes = of(&several, 2, damaged()).expect("what was found counts").notes;
    let passed_over = "no image was tried at 1 of the 2 moments at which power may fail";
    assert_eq!(notes, [passed_over, "the search ended early: the loop device is gone"]);
    assert_eq!(of(&one, 2, up([])), Err("the loop device is gone"), "of nothing found nothing is known");
}

/// A budget that tries each point once must have looked for commits that were acknowledged before their flush.
#[test]
fn the_first_image_of_a_point_has_nothing_volatile() {
    let units: Vec<Record> = (0..4).map(|unit| write(unit, unit, &[1])).collect();
    let history = history(Cache::Volatile, 1 << 20, &[vec![Record::Begin], units].concat());
    let first = Cell::new(None);
    let recover = |read: &mut dyn FnMut(Unit) -> u8| {
        let seen: Vec<u8> = (0..4).map(read).collect();
        first.set(Some(first.take().unwrap_or(seen)));
        up([])
    };
    let mut toy = Toy::new(&history, recover);
    let safety = explored(&mut toy, &[], &Budget { images_max: 1, ..UNLIMITED });
    assert_eq!((safety.images, first.take()), (1, Some(vec![0; 4])));
}

#[test]
fn many_kinds_of_fault_are_listed_in_one() {
    let units: Vec<Record> = (0..30).map(|unit| write(unit, unit, &[1])).collect();
    let history = history(Cache::Volatile, 1 << 20, &[vec![Record::Begin], units].concat());
    let recover = |read: &mut dyn FnMut(Unit) -> u8| match (0..30u8).find(|unit| read(Unit::from(*unit)) == 0) {
        Some(unit) => Found { outcome: RecoveryOutcome::Down("x".repeat(usize::from(unit) + 1)), ..up([]) },
        None => up([]),
    };
    let mut toy = Toy::new(&history, recover);
    let safety = explored(&mut toy, &[], &UNLIMITED);
    assert_eq!((safety.findings.len(), safety.damaged, safety.grade), (12, safety.images - 1, Grade::E));
    assert!(safety.findings[11].what.starts_with("19 other kinds of fault, such as: the database does not"));
    assert!(safety.findings[11].images >= 19);
}

/// Reads units that follow from what it read, and ends in one of many states: any deterministic recovery.
fn wanderer(seed: u64, sectors: usize) -> impl FnMut(&mut dyn FnMut(Unit) -> u8) -> Found {
    move |read| {
        let mut random = SplitMix64::new(seed);
        for _ in 0..6 {
            let unit = random.index(sectors) as Unit;
            random = SplitMix64::new(random.next_u64().wrapping_add(u64::from(read(unit))));
            if random.index(5) == 0 {
                break;
            }
        }
        let letter = |number: usize| char::from(b'a' + number as u8);
        let words = [letter(random.index(26)), letter(random.index(26))].iter().collect();
        Found { wrong: vec![words], ..up([]) }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(250))]

    #[test]
    fn a_complete_search_finds_what_all_legal_images_do(
        steps in steps(5, 30),
        seed: u64,
        is_through: bool,
        side_by_side in 1..5_usize,
    ) {
        let cache = if is_through { Cache::WriteThrough } else { Cache::Volatile };
        let history = history(cache, 5 * 512, &steps);
        let mut toy = Toy { side_by_side, ..Toy::new(&history, wanderer(seed, 5)) };
        let budget = Budget { seed, ..UNLIMITED };
        let limits = Limits { budget: &budget, clock: &mut || 0.0, stop: &|| false, began: 0.0 };
        let mut explorer = Explorer::new(&history, &[], &mut toy, limits);
        let Ok(()) = explorer.search();
        prop_assert!(explorer.searches.iter().all(Search::is_complete));
        let classes = explorer.classes.clone();
        let safety = explorer.safety();
        prop_assert!(safety.is_complete);
        prop_assert_eq!((safety.audited_new, safety.unsteady), (0, 0));
        let distinct: HashSet<u128> = toy.recovered.iter().copied().collect();
        prop_assert_eq!(distinct.len() as u64, safety.images);
        for (point, classes) in classes.iter().enumerate() {
            let Some(choices) = all_choices(&history.points()[point], 3000) else { continue };
            let class = |choice: &Choice| {
                let (Ok(()), Ok(recovered)) = (toy.begin(point, choice), toy.end());
                tally::class(&judge(&recovered.found, &[], 0))
            };
            let all: BTreeSet<Class> = choices.iter().map(class).collect();
            prop_assert_eq!(classes, &all);
        }
    }
}
