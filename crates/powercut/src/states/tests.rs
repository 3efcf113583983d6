//! The rules, read a second time as plainly as they are written, against the real thing; and single rules by example.

use std::collections::{BTreeSet, HashMap};

use proptest::prelude::*;

use super::*;
use crate::write_log::{Event, MAGIC, Operation, Request, Writer};
use plain::{Legal, Plain};

pub(crate) mod plain;

/// A record of a log to be made up.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Step {
    Write(Request, u64, Vec<u8>),
    Zero(Request, u64, u64),
    Discard(Request, u64, u64),
    Flush(Request),
    Done(Request),
    Begin,
    Only(Request, Request),
}

/// A log of these records, one each nanosecond.
pub(crate) fn log(disk_bytes: u64, steps: &[Step]) -> Vec<u8> {
    log_of(disk_bytes, steps, 1)
}

/// A log of these records, one each so many nanoseconds.
pub(crate) fn log_of(disk_bytes: u64, steps: &[Step], step_nanoseconds: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, disk_bytes).expect("memory");
    for (number, step) in steps.iter().enumerate() {
        let at_nanoseconds = number as u64 * step_nanoseconds;
        let submitted = |request, operation| Event::Submitted { request, at_nanoseconds, operation };
        let event = match step {
            Step::Write(request, offset, data) => submitted(*request, Operation::Write { offset: *offset, data }),
            &Step::Zero(request, offset, length) => submitted(request, Operation::Zero { offset, length }),
            &Step::Discard(request, offset, length) => submitted(request, Operation::Discard { offset, length }),
            Step::Flush(request) => submitted(*request, Operation::Flush),
            Step::Done(request) => Event::Done { request: *request, at_nanoseconds },
            Step::Begin => Event::Begin { at_nanoseconds },
            Step::Only(flush, write) => Event::Only { flush: *flush, write: *write },
        };
        writer.add(&event).expect("memory");
    }
    bytes
}

/// A history of a disk with units of 512 bytes.
pub(crate) fn history(cache: Cache, disk_bytes: u64, steps: &[Step]) -> History<Vec<u8>> {
    History::new(log(disk_bytes, steps), Rules { unit_bytes: 512, cache }).expect("a log")
}

/// A write of whole units of 512 bytes, each filled with a byte.
pub(crate) fn write(request: Request, unit: u64, fill: &[u8]) -> Step {
    Step::Write(request, unit * 512, fill.iter().flat_map(|fill| [*fill; 512]).collect())
}

/// What a unit may hold at a point, by its first byte.
fn may_hold(history: &History<Vec<u8>>, point: usize, unit: Unit) -> Vec<u8> {
    let point = &history.points()[point];
    let versions = point.undecided.get(&unit).cloned().unwrap_or_else(|| vec![point.durable(unit)]);
    versions.iter().map(|content| history.content(*content)[0]).collect()
}

#[test]
fn a_flush_for_one_write_alone_promises_nothing_of_others() {
    let steps = |only: &[Step]| {
        let all = [Step::Begin, write(1, 0, &[1]), write(2, 1, &[2]), Step::Done(1), Step::Done(2)];
        let flushes = [Step::Flush(3), Step::Done(3), Step::Flush(4), Step::Done(4)];
        history(Cache::Volatile, 4096, &all.into_iter().chain(flushes).chain(only.iter().cloned()).collect::<Vec<_>>())
    };
    let of_all = steps(&[]);
    assert_eq!((may_hold(&of_all, 1, 0), may_hold(&of_all, 1, 1)), (vec![1], vec![2]));
    let of_second = steps(&[Step::Only(3, 2)]);
    assert_eq!((may_hold(&of_second, 0, 0), may_hold(&of_second, 0, 1)), (vec![0, 1], vec![0, 2]));
    assert_eq!(
        (may_hold(&of_second, 1, 0), may_hold(&of_second, 1, 1)),
        (vec![0, 1], vec![2]),
        "before the second flush"
    );
    assert_eq!((may_hold(&of_second, 2, 0), may_hold(&of_second, 2, 1)), (vec![1], vec![2]), "after it");
    let of_both = steps(&[Step::Only(3, 2), Step::Only(3, 1)]);
    assert_eq!((may_hold(&of_both, 1, 0), may_hold(&of_both, 1, 1)), (vec![1], vec![2]));
    let of_none = steps(&[Step::Only(3, 77)]);
    assert_eq!((of_none.points().len(), may_hold(&of_none, 0, 1)), (2, vec![0, 2]), "a write that never came");
}

/// A unit of which the first bytes are `head` and the others 7.
pub(crate) fn page(request: Request, unit: u64, head: &[u8]) -> Step {
    let mut data = [7; 512];
    data[..head.len()].copy_from_slice(head);
    Step::Write(request, unit * 512, data.to_vec())
}

#[test]
fn pages_changed_in_place_are_told_from_what_is_new() {
    let before = [page(1, 0, &[1]), page(2, 1, &[1]), write(3, 2, &[9]), page(4, 5, &[1; 200])];
    let durable =
        [Step::Done(1), Step::Done(2), Step::Done(3), Step::Done(4), Step::Flush(5), Step::Done(5), Step::Begin];
    // A changed page, one written once more with the same, other content in place of some, content where none was, and a page of
    // which most was changed.
    let after = [page(6, 0, &[2]), page(7, 1, &[1]), page(8, 2, &[2]), page(9, 3, &[2]), page(10, 5, &[3; 300])];
    let history = history(Cache::Volatile, 4096, &before.into_iter().chain(durable).chain(after).collect::<Vec<_>>());
    assert_eq!(history.changed_in_place(), [[0].into()]);
}

#[test]
fn a_flush_covers_what_was_completed_before_it_was_submitted() {
    let steps = [
        Step::Begin,
        write(1, 0, &[1]),
        Step::Done(1),
        write(2, 1, &[2]),
        Step::Flush(3),
        Step::Done(2),
        Step::Done(3),
        Step::Flush(4),
        Step::Done(4),
        write(5, 2, &[5]),
    ];
    let history = history(Cache::Volatile, 4096, &steps);
    let points = history.points();
    assert_eq!(points.iter().map(|point| point.at_nanoseconds).collect::<Vec<_>>(), [6, 8, 9]);
    assert_eq!([0, 1, 2].map(|point| may_hold(&history, point, 0)), [vec![0, 1], vec![1], vec![1]]);
    assert_eq!([0, 1, 2].map(|point| may_hold(&history, point, 1)), [vec![0, 2], vec![0, 2], vec![2]]);
    assert_eq!([0, 1, 2].map(|point| may_hold(&history, point, 2)), [vec![0], vec![0], vec![0, 5]]);
    assert_eq!((history.writes, history.flushes, history.points_left_out), (3, 2, 0));
}

#[test]
fn without_a_volatile_cache_only_what_is_under_way_is_undecided() {
    let steps = [
        Step::Begin,
        write(1, 0, &[1]),
        write(2, 1, &[2]),
        Step::Done(1),
        Step::Done(2),
        write(3, 0, &[3]),
        Step::Flush(4),
        Step::Done(4),
        Step::Done(3),
    ];
    let history = history(Cache::WriteThrough, 4096, &steps);
    assert_eq!(history.points().iter().map(|point| point.at_nanoseconds).collect::<Vec<_>>(), [3, 4, 8, 8]);
    assert_eq!([0, 1, 2, 3].map(|point| may_hold(&history, point, 0)), [vec![0, 1], vec![1], vec![1, 3], vec![3]]);
    assert_eq!([0, 1, 2, 3].map(|point| may_hold(&history, point, 1)), [vec![0, 2], vec![0, 2], vec![2], vec![2]]);
}

#[test]
fn a_lying_disk_makes_nothing_durable_but_what_was_there_before() {
    let steps = [
        write(0, 0, &[9]),
        Step::Done(0),
        Step::Begin,
        write(1, 0, &[1]),
        Step::Done(1),
        Step::Flush(2),
        Step::Done(2),
        write(3, 0, &[3]),
        Step::Done(3),
    ];
    let history = history(Cache::Lying, 4096, &steps);
    assert_eq!([0, 1].map(|point| may_hold(&history, point, 0)), [vec![9, 1], vec![9, 1, 3]]);
    assert_eq!(history.points_left_out, 0);
}

#[test]
fn of_equal_neighbours_the_later_stays() {
    let flush = [Step::Flush(8), Step::Done(8)];
    let steps = [vec![Step::Begin], flush.to_vec(), flush.to_vec(), vec![write(1, 0, &[0])], flush.to_vec()].concat();
    let history = history(Cache::Volatile, 4096, &steps);
    assert_eq!(history.points().iter().map(|point| point.at_nanoseconds).collect::<Vec<_>>(), [7]);
    assert!(history.points()[0].undecided.is_empty(), "zeros on zeros decide nothing");
}

/// ext4 writes its superblock, 1 KiB, into the middle of a unit.
#[test]
fn a_part_of_a_unit_is_merged_onto_what_it_held() {
    let steps = [
        Step::Write(0, 0, vec![7; 4096]),
        Step::Done(0),
        Step::Begin,
        Step::Write(1, 1024, vec![1; 1024]),
        Step::Write(2, 2048, vec![2; 512]),
        Step::Zero(3, 0, 512),
    ];
    let history = History::new(log(8192, &steps), Rules { unit_bytes: 4096, cache: Cache::Volatile }).expect("a log");
    let sectors = |content: &Content| sectors_of(history.content(*content));
    let versions: Vec<_> = history.points()[0].undecided[&0].iter().map(sectors).collect();
    assert_eq!(versions[0], [7, 7, 7, 7, 7, 7, 7, 7]);
    assert_eq!(versions[7], [0, 7, 1, 1, 2, 7, 7, 7]);
    let all = [[7, 7, 7], [7, 7, 2], [7, 1, 7], [7, 1, 2], [0, 7, 7], [0, 7, 2], [0, 1, 7], [0, 1, 2]];
    let expected: BTreeSet<Vec<u8>> = all.iter().map(|[a, b, c]| vec![*a, 7, *b, *b, *c, 7, 7, 7]).collect();
    assert_eq!(versions.into_iter().collect::<BTreeSet<_>>(), expected);
}

/// Of four that were under way at once pairs such as the second and the fourth are not named.
#[test]
fn contents_that_are_too_many_to_be_named_are_counted() {
    let abridged = |steps: &[Step]| {
        let rules = Rules { unit_bytes: 4096, cache: Cache::Volatile };
        History::new(log(8192, &[&[Step::Begin][..], steps].concat()), rules).expect("a log").units_abridged
    };
    let part = |number: u64| Step::Write(number, number * 1024, vec![number as u8 + 1; 1024]);
    let done = Step::Done;
    assert_eq!(abridged(&[part(0), part(1), part(2)]), 0);
    assert_eq!(abridged(&[part(0), part(1), part(2), part(3)]), 1);
    assert_eq!(abridged(&[part(0), part(1), part(2), done(0), part(3)]), 1, "nor the first and the third");
    assert_eq!(abridged(&[part(0), part(1), done(0), part(2), done(1), part(3)]), 0, "never three at once");
    assert_eq!(abridged(&[part(0), part(1), part(2), done(0), done(1), done(2), part(3)]), 0, "after all others");
    let whole: Vec<Step> = (0..4).map(|number| Step::Write(number, 0, vec![number as u8; 4096])).collect();
    assert_eq!(abridged(&whole), 0, "one of them, whichever");
}

/// A write-back of a block of 1 KiB is slow, and its neighbour in the same unit is written, flushed and acknowledged meanwhile.
#[test]
fn what_is_durable_of_a_unit_outlives_what_is_under_way_beside_it() {
    let steps = [
        Step::Begin,
        Step::Write(1, 0, vec![1; 1024]),
        Step::Write(2, 1024, vec![2; 1024]),
        Step::Done(2),
        Step::Flush(3),
        Step::Done(3),
        Step::Done(1),
        Step::Write(4, 3072, vec![4; 1024]),
        Step::Done(4),
        Step::Flush(5),
        Step::Only(5, 4),
        Step::Done(5),
    ];
    let history = History::new(log(8192, &steps), Rules { unit_bytes: 4096, cache: Cache::Volatile }).expect("a log");
    let held = |point: usize| -> BTreeSet<Vec<u8>> {
        let point = &history.points()[point];
        let versions = point.undecided.get(&0).cloned().unwrap_or_else(|| vec![point.durable(0)]);
        versions.iter().map(|content| sectors_of(history.content(*content)).into_iter().step_by(2).collect()).collect()
    };
    assert_eq!(held(0), [vec![0; 4], vec![1, 0, 0, 0], vec![0, 2, 0, 0], vec![1, 2, 0, 0]].into());
    assert_eq!(
        held(1),
        [vec![0, 2, 0, 0], vec![1, 2, 0, 0], vec![1, 2, 0, 4]].into(),
        "the first was done before the last came"
    );
    assert_eq!(held(2), [vec![1, 2, 0, 4]].into(), "and goes with it, as a unit is written whole");
}

#[test]
fn the_newest_may_be_the_durable_content_again() {
    let steps = [write(0, 0, &[7]), Step::Done(0), Step::Begin, write(1, 0, &[1]), write(2, 0, &[7])];
    let history = history(Cache::Volatile, 4096, &steps);
    assert_eq!(may_hold(&history, 0, 0), [7, 1, 7]);
    let choice = |units: &[(Unit, u32)]| Choice { rest: Rest::Newest, units: units.iter().copied().collect() };
    let hash = |choice: &Choice| history.image_hash(0, choice);
    assert_eq!(hash(&choice(&[])), hash(&choice(&[(0, 0)])));
    assert_eq!(hash(&choice(&[])), hash(&choice(&[(0, 9), (5, 1)])), "beyond the newest is the newest");
    assert_ne!(hash(&choice(&[])), hash(&choice(&[(0, 1)])));
    let point = &history.points()[0];
    assert_eq!(point.missing(&choice(&[(0, 0)])), BTreeMap::new());
    assert_eq!(point.missing(&choice(&[(0, 1), (5, 1)])), BTreeMap::from([(0, 1)]));
    assert_eq!(point.shortened(&choice(&[(0, 2), (5, 1)])), Choice::default());
}

#[test]
fn points_share_what_did_not_change_between_them() {
    let mut steps: Vec<Step> = (0..1000).flat_map(|part| [write(part, part * 1024, &[9]), Step::Done(part)]).collect();
    steps.push(Step::Begin);
    for request in 1000..3000 {
        steps.extend([write(request, request, &[1]), Step::Done(request), Step::Flush(1), Step::Done(1)]);
    }
    let history = history(Cache::Volatile, 1 << 30, &steps);
    let points = history.points();
    assert_eq!(points.len(), 2001);
    for pair in points.windows(2) {
        let shared = |part: &u32| Arc::ptr_eq(&pair[0].durable.parts[part], &pair[1].durable.parts[part]);
        assert!(pair[0].durable.parts.keys().filter(|part| !shared(part)).count() <= 1);
    }
}

#[test]
fn too_many_points_are_thinned_out_and_counted() {
    let mut steps = vec![Step::Begin];
    for request in 0..5000 {
        steps.extend([write(request, request % 8, &[1 + (request % 200) as u8]), Step::Done(request)]);
    }
    let history = history(Cache::WriteThrough, 4096, &steps);
    let (kept, left_out) = (history.points().len() as u64, history.points_left_out);
    assert!(kept > 500 && kept <= 2048, "{kept}");
    assert_eq!(kept + left_out, 5001);
    assert_eq!(history.points().last().expect("the end").at_nanoseconds, 10_000);
}

#[test]
fn a_disk_of_too_many_units_is_refused() {
    let rules = Rules { unit_bytes: 512, cache: Cache::Volatile };
    let error = History::new(log(1 << 50, &[Step::Zero(0, 0, 1 << 50)]), rules).expect_err("too large");
    assert_eq!(error, Error::Large { disk_bytes: 1 << 50, unit_bytes: 512 });
    let history = History::new(log(1 << 40, &[Step::Zero(0, 0, 1 << 40)]), rules).expect("large, but empty");
    assert_eq!(history.points().len(), 1);
}

#[test]
fn names_that_are_none_are_refused() {
    for name in ["", "1", "1:", "1:best", "1:newest:", "1:newest:1", "1:newest:1=1,1=0", "x:newest", "1:newest:1=1:2=1"]
    {
        assert_eq!(name.parse::<Image>(), Err(NameError(name.into())));
    }
    assert_eq!("17:oldest".parse::<Image>().expect("a name").choice.rest, Rest::Oldest);
}

/// The disks of the histories below: so many sectors of 512 bytes.
pub(super) const SECTORS: usize = 6;

/// A random history: writes, zeros, discards and flushes that overlap, on few sectors, with few contents.
pub(crate) fn steps(sectors: usize, records: usize) -> impl Strategy<Value = Vec<Step>> {
    let action = (0..12u8, 0..sectors, 1..4usize, 0..4u8);
    (prop::collection::vec(action, 0..records), 0..records).prop_map(move |(actions, begin)| {
        let (mut steps, mut under_way) = (Vec::new(), Vec::new());
        for (request, (kind, place, length, fill)) in actions.into_iter().enumerate() {
            if request == begin / 2 {
                steps.push(Step::Begin);
            }
            let length = length.min(sectors - place);
            let (request, offset, bytes) = (request as u64, place as u64 * 512, length as u64 * 512);
            let step = match kind {
                0..4 => Step::Write(request, offset, vec![fill; length * 512]),
                4 => Step::Zero(request, offset, bytes),
                5 => Step::Discard(request, offset, bytes),
                6..8 => Step::Flush(request),
                _ if under_way.is_empty() => continue,
                _ => Step::Done(under_way.remove(place % under_way.len())),
            };
            if !matches!(step, Step::Done(_)) {
                under_way.push(request);
            }
            steps.push(step);
        }
        // Of a request that never was: so the end has a time of its own.
        steps.push(Step::Done(u64::MAX));
        steps
    })
}

fn sectors_of(bytes: &[u8]) -> Vec<u8> {
    bytes.chunks(512).map(|sector| sector[0]).collect()
}

pub(super) fn caches() -> impl Strategy<Value = Cache> {
    prop_oneof![Just(Cache::Volatile), Just(Cache::WriteThrough), Just(Cache::Lying)]
}

/// All choices at a point, when there are not too many.
pub(crate) fn all_choices(point: &Point, most: usize) -> Option<Vec<Choice>> {
    let mut all = vec![Choice::default()];
    for (&unit, versions) in &point.undecided {
        if all.len() * versions.len() > most {
            return None;
        }
        let with = |choice: &Choice, version: usize| {
            let mut choice = choice.clone();
            choice.units.insert(unit, version as u32);
            choice
        };
        all = all.iter().flat_map(|choice| (0..versions.len()).map(move |version| with(choice, version))).collect();
    }
    Some(all)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn the_points_are_what_the_rules_say(steps in steps(SECTORS, 40), cache in caches(), unit_sectors in 0..2u32) {
        let unit_sectors = 1usize << unit_sectors;
        let rules = Rules { unit_bytes: unit_sectors as u32 * 512, cache };
        let history = History::new(log(SECTORS as u64 * 512, &steps), rules).expect("a log");
        let plain = Plain::new(&steps);
        let cuts = plain.cuts(cache, steps.len() - 1);
        prop_assert!(history.points().len() <= cuts.len());
        for cut in cuts {
            // A point that was merged stands for those before it.
            let point = history.points().iter().find(|point| point.at_nanoseconds >= cut as u64).expect("the end at least");
            for unit in 0..SECTORS / unit_sectors {
                let sectors = unit * unit_sectors..(unit + 1) * unit_sectors;
                let Legal { durable, newest, all, .. } = plain.legal(&sectors, cache, cut);
                let held = |choice: &Choice| sectors_of(history.content(point.held(unit as Unit, choice)));
                prop_assert_eq!(&sectors_of(history.content(point.durable(unit as Unit))), &durable);
                prop_assert_eq!(&held(&Choice { rest: Rest::Oldest, ..Choice::default() }), &durable);
                prop_assert_eq!(&held(&Choice::default()), &newest);
                let versions = point.undecided.get(&(unit as Unit));
                let found: BTreeSet<Vec<u8>> = match versions {
                    Some(versions) => versions.iter().map(|content| sectors_of(history.content(*content))).collect(),
                    None => [durable.clone()].into(),
                };
                prop_assert_eq!(&found, &all, "unit {} before record {}", unit, cut);
                if let Some(versions) = versions {
                    prop_assert!(found.len() > 1);
                    let again = usize::from(durable == newest);
                    prop_assert_eq!(versions.len(), found.len() + again, "none twice");
                }
            }
        }
    }

    /// A disk that keeps larger units whole neither takes nor gives a sector anything.
    #[test]
    fn a_sector_of_a_larger_unit_may_hold_what_it_may_hold_alone(steps in steps(SECTORS, 40), cache in caches(), at: prop::sample::Index) {
        let by = |unit_sectors: u32| {
            History::new(log(SECTORS as u64 * 512, &steps), Rules { unit_bytes: unit_sectors * 512, cache }).expect("a log")
        };
        let (alone, larger) = (by(1), by(2));
        let cuts = Plain::new(&steps).cuts(cache, steps.len() - 1);
        let cut = cuts[at.index(cuts.len())] as u64;
        let held = |history: &History<Vec<u8>>, unit: usize, sector: usize| -> BTreeSet<u8> {
            let point = history.points().iter().find(|point| point.at_nanoseconds >= cut).expect("the end at least");
            let versions = point.undecided.get(&(unit as Unit)).cloned().unwrap_or_else(|| vec![point.durable(unit as Unit)]);
            versions.iter().map(|content| sectors_of(history.content(*content))[sector]).collect()
        };
        for sector in 0..SECTORS {
            prop_assert_eq!(held(&larger, sector / 2, sector % 2), held(&alone, sector, 0), "sector {}", sector);
        }
    }

    #[test]
    fn hashes_are_equal_when_images_are(steps in steps(SECTORS, 40), cache in caches()) {
        let history = history(cache, SECTORS as u64 * 512, &steps);
        let (mut images, mut hashes) = (HashMap::new(), HashMap::new());
        for (number, point) in history.points().iter().enumerate() {
            for choice in all_choices(point, 200).unwrap_or_default() {
                let bytes: Vec<u8> = (0..SECTORS as Unit).map(|unit| history.content(point.held(unit, &choice))[0]).collect();
                let other = Choice { rest: Rest::Oldest, ..choice.clone() };
                let hash = history.image_hash(number, &choice);
                prop_assert_eq!(hash, history.image_hash(number, &other), "all units are named");
                prop_assert_eq!(hash, history.image_hash(number, &point.shortened(&choice)));
                prop_assert_eq!(hash, history.image_hash(number, &point.shortened(&other)));
                prop_assert_eq!(*images.entry(bytes.clone()).or_insert(hash), hash);
                prop_assert_eq!(&*hashes.entry(hash).or_insert_with(|| bytes.clone()), &bytes);
            }
        }
    }

    #[test]
    fn a_damaged_log_is_read_or_refused(steps in steps(SECTORS, 40), cut in 0..4000usize, at in 0..4000usize, bit in 0..8u8) {
        let mut bytes = log(SECTORS as u64 * 512, &steps);
        bytes.truncate(bytes.len().min(MAGIC.len() + 8 + cut));
        let at = at % bytes.len();
        bytes[at] ^= 1 << bit;
        if let Ok(history) = History::new(bytes, Rules { unit_bytes: 4096, cache: Cache::Volatile }) {
            prop_assert!(!history.points().is_empty());
        }
    }

    #[test]
    fn a_name_is_read_as_it_was_written(
        point: usize,
        is_oldest: bool,
        units in prop::collection::btree_map(any::<Unit>(), any::<u32>(), 0..9),
    ) {
        let rest = if is_oldest { Rest::Oldest } else { Rest::Newest };
        let image = Image { point, choice: Choice { rest, units } };
        prop_assert_eq!(image.to_string().parse(), Ok(image));
    }
}
