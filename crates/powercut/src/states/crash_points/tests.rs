//! Every random cut is legal, and those of a drive are in its order.

use super::*;
use crate::states::History;
use crate::states::tests::plain::{Legal, Plain};
use crate::states::tests::{SECTORS, Step, caches, log_of, steps, write};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const MILLISECOND: u64 = 1_000_000;

fn draw(profile: Profile, seed: u64) -> Draw {
    Draw { seed, profile, until_nanoseconds: 0 }
}

fn rules(cache: Cache) -> Rules {
    Rules { unit_bytes: 512, cache }
}

fn cut_history(cache: Cache, profile: Profile, steps: &[Step], step_nanoseconds: u64) -> History<Vec<u8>> {
    let log = log_of(1 << 30, steps, step_nanoseconds);
    History::with_random_cuts(log, rules(cache), &draw(profile, 1)).expect("a log")
}

/// The first byte of a unit after a cut.
fn held(history: &History<Vec<u8>>, cut: &RandomCut, unit: Unit) -> u8 {
    history.content(history.points()[cut.image.point].held(unit, &cut.image.choice))[0]
}

/// What the random cuts before a moment found in these units, and how often.
fn seen(history: &History<Vec<u8>>, units: &[Unit], moments: std::ops::Range<u64>) -> HashMap<Vec<u8>, usize> {
    let mut seen = HashMap::new();
    for cut in history.random_cuts().iter().filter(|cut| moments.contains(&cut.at_nanoseconds)) {
        *seen.entry(units.iter().map(|unit| held(history, cut, *unit)).collect()).or_default() += 1;
    }
    seen
}

#[test]
fn without_a_drive_a_coin_decides_of_each_unit() {
    let steps = [
        Step::Begin,
        write(1, 0, &[1]),
        write(2, 1, &[2]),
        Step::Done(1),
        Step::Done(2),
        Step::Done(9),
        write(3, 0, &[3]),
    ];
    for cache in [Cache::Volatile, Cache::Lying] {
        let history = cut_history(cache, Profile::None, &steps, MILLISECOND);
        assert_eq!(
            seen(&history, &[0, 1], 0..3 * MILLISECOND).into_keys().collect::<Vec<_>>(),
            [[0, 0]],
            "none is done"
        );
        let both = seen(&history, &[0, 1], 4 * MILLISECOND..6 * MILLISECOND);
        let all: usize = both.values().sum();
        assert!(all > 300 && both.len() == 4, "{both:?}");
        // Four standard deviations.
        let most = (all as f64 * 3.0 / 16.0).sqrt() * 4.0;
        assert!(both.values().all(|count| (*count as f64 - all as f64 / 4.0).abs() < most), "{both:?}");
    }
}

/// The first is far out, and the head is where the second is.
#[test]
fn a_spindle_writes_out_in_the_order_of_its_tracks() {
    let (far, near) = (1 << 20, 8);
    let steps = [
        Step::Begin,
        write(1, far, &[1]),
        Step::Done(1),
        write(2, near, &[2]),
        Step::Done(2),
        Step::Flush(3),
        Step::Done(9),
        Step::Done(3),
        Step::Done(9),
    ];
    let step = 50 * MILLISECOND;
    let history = cut_history(Cache::Volatile, Profile::Sata7200, &steps, step);
    let units = [far as Unit, near as Unit];
    assert_eq!(seen(&history, &units, 0..5 * step).into_keys().collect::<Vec<_>>(), [[0, 0]], "all is in the cache");
    let during: BTreeSet<Vec<u8>> = seen(&history, &units, 5 * step..6 * step).into_keys().collect();
    assert_eq!(during, [vec![0, 0], vec![0, 2], vec![1, 2]].into());
    let after = seen(&history, &units, 6 * step..9 * step);
    assert_eq!(after.into_keys().collect::<Vec<_>>(), [[1, 2]], "the drive has it before the host is told");
}

#[test]
fn flash_writes_out_in_the_order_of_writing() {
    let writes = [7, 3, 5, 1].map(|unit| Step::Write(unit, unit << 22, vec![1; 1 << 20]));
    let steps: Vec<Step> = writes.into_iter().chain([Step::Flush(9), Step::Done(9)]).collect();
    let unit_bytes = 1 << 20;
    let log = log_of(1 << 30, &steps, MILLISECOND);
    let reached = |profile| {
        let rules = Rules { unit_bytes, cache: Cache::Volatile };
        reached(&log, rules, profile).expect("a log").expect("a drive")
    };
    let (flushed, at_once) = (reached(Profile::ConsumerSsd), reached(Profile::NvmePlp));
    for all in [&flushed, &at_once] {
        assert_eq!(all.iter().map(|reached| reached.unit).collect::<Vec<_>>(), [28, 12, 20, 4]);
        assert_eq!(all.iter().map(|reached| reached.before).collect::<Vec<_>>(), [1, 2, 3, 4]);
    }
    assert!(flushed.iter().all(|reached| reached.at_nanoseconds > 4 * MILLISECOND), "{flushed:?}");
    assert!(at_once[0].at_nanoseconds < MILLISECOND, "a cache that outlives the cut: {at_once:?}");
}

#[test]
fn a_long_write_is_there_unit_by_unit() {
    let steps = [Step::Write(1, 256, vec![1; 1 << 20])];
    let log = log_of(1 << 30, &steps, 1);
    let all = reached(&log, rules(Cache::WriteThrough), Profile::Sata7200).expect("a log").expect("a drive");
    assert_eq!(all.iter().map(|reached| reached.unit).collect::<Vec<_>>(), (0..=2048).collect::<Vec<_>>());
    // 160 MB/s.
    let took = all[2048].at_nanoseconds - all[0].at_nanoseconds;
    assert!((6 * MILLISECOND..8 * MILLISECOND).contains(&took), "{took}");
}

/// Points that are left out take their moments with them, which says nothing of what these left; a cache that lies leaves none out.
#[test]
fn points_that_are_left_out_take_their_moments_along() {
    let mut steps = vec![Step::Begin];
    for request in 0..5000 {
        let fill = 1 + (request % 200) as u8;
        steps.extend([write(request, request % 8, &[fill]), Step::Done(request), Step::Flush(9999), Step::Done(9999)]);
    }
    let cuts = |cache| cut_history(cache, Profile::None, &steps, 1000).random_cuts();
    assert_eq!(cuts(Cache::Volatile).len(), CUTS);
    assert_eq!(cuts(Cache::Lying).len(), CUTS);
    let through = cut_history(Cache::WriteThrough, Profile::None, &steps, 1000);
    let (kept, all) = (through.points().len() as f64, 5001.0);
    let share = through.random_cuts().len() as f64 / CUTS_WITHOUT_CACHE as f64;
    assert!((share - kept / all).abs() < 0.02, "{share} of the moments, {kept} of {all} points");
}

#[test]
fn without_a_begin_there_is_nothing_to_cut() {
    assert_eq!(cut_history(Cache::Volatile, Profile::None, &[write(1, 0, &[1])], 1).random_cuts(), []);
}

#[test]
fn the_load_may_go_on_after_the_last_write() {
    let log = log_of(4096, &[Step::Begin, write(1, 0, &[1]), Step::Done(1)], 1);
    let draw = Draw { until_nanoseconds: 1000, ..draw(Profile::None, 1) };
    let cuts = History::with_random_cuts(log, rules(Cache::Volatile), &draw).expect("a log").random_cuts();
    let late = cuts.iter().filter(|cut| cut.at_nanoseconds >= 500).count();
    assert!((400..624).contains(&late) && cuts.iter().all(|cut| cut.at_nanoseconds < 1000), "{late}");
}

fn profiles() -> impl Strategy<Value = Profile> {
    prop_oneof![
        Just(Profile::None),
        Just(Profile::Scsi10k),
        Just(Profile::Sata7200),
        Just(Profile::ConsumerSsd),
        Just(Profile::NvmePlp)
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// Whatever the drive's pace: some are far behind the log that they are held against, some far ahead of it.
    #[test]
    fn every_random_cut_leaves_what_the_rules_allow(
        steps in steps(SECTORS, 40),
        cache in caches(),
        profile in profiles(),
        step_nanoseconds in prop_oneof![Just(1), Just(20_000), Just(3 * MILLISECOND), Just(100 * MILLISECOND)],
        unit_sectors in 0..2u32,
        seed: u64,
    ) {
        let unit_sectors = 1usize << unit_sectors;
        let rules = Rules { unit_bytes: unit_sectors as u32 * 512, cache };
        let log = log_of(SECTORS as u64 * 512, &steps, step_nanoseconds);
        let history = History::with_random_cuts(&log[..], rules, &draw(profile, seed)).expect("a log");
        let cuts = history.random_cuts();
        let again = History::with_random_cuts(&log[..], rules, &draw(profile, seed)).expect("a log");
        prop_assert_eq!(&again.random_cuts(), &cuts);
        let without = History::new(&log[..], rules).expect("a log");
        prop_assert_eq!(without.points().len(), history.points().len());
        let named = |history: &History<&[u8]>| -> Vec<BTreeMap<Unit, Vec<Vec<u8>>>> {
            let bytes = |versions: &[Content]| versions.iter().map(|version| history.content(*version).to_vec()).collect();
            let units = |point: &Point| point.undecided.iter().map(|(unit, versions)| (*unit, bytes(versions))).collect();
            history.points().iter().map(units).collect()
        };
        prop_assert_eq!(named(&without), named(&history), "images have the same names");
        let plain = Plain::new(&steps);
        let begin = steps.iter().position(|step| *step == Step::Begin);
        prop_assert_eq!(cuts.is_empty(), begin.is_none());
        for cut in cuts.iter().take(150) {
            let records = (cut.at_nanoseconds / step_nanoseconds) as usize + 1;
            prop_assert!(begin.is_some_and(|begin| begin < records) && records <= steps.len());
            let point = &history.points()[cut.image.point];
            prop_assert!(point.at_nanoseconds >= cut.at_nanoseconds);
            for unit in 0..SECTORS / unit_sectors {
                let sectors = unit * unit_sectors..(unit + 1) * unit_sectors;
                let Legal { all: legal, .. } = plain.legal(&sectors, cache, records);
                let bytes = history.content(point.held(unit as Unit, &cut.image.choice));
                let held: Vec<u8> = bytes.chunks(512).map(|sector| sector[0]).collect();
                prop_assert!(legal.contains(&held), "unit {} holds {:?} after {}: {:?}", unit, held, cut.at_nanoseconds, legal);
            }
        }
    }
}
