//! What a recording can't show: a loss that is as long as it, and contents that are too many to be named.

use super::{Budget, Toy, UNLIMITED, explored, up};
use crate::ack_log::Attempt;
use crate::states::tests::{Step as Record, history, log, write};
use crate::states::{Cache, History, Rules, Unit};

/// Ten commits of one stream, each a unit of its own; the first so many are flushed before they are acknowledged.
fn commits(flushed: u64) -> (History<Vec<u8>>, Vec<Attempt>) {
    let (mut records, mut attempts) = (vec![Record::Begin], Vec::new());
    for unit in 0..10 {
        records.extend([write(unit, unit, &[1]), Record::Done(unit)]);
        if unit < flushed {
            records.extend([Record::Flush(100 + unit), Record::Done(100 + unit)]);
        }
        let acknowledged_nanoseconds = Some(records.len() as u64);
        attempts.push(Attempt { stream: 0, number: unit + 1, tried_nanoseconds: 0, acknowledged_nanoseconds });
    }
    (history(Cache::Volatile, 1 << 20, &records), attempts)
}

#[test]
fn a_loss_as_long_as_the_recording_is_no_bound() {
    let found = |flushed: u64| {
        let (history, attempts) = commits(flushed);
        let there = |read: &mut dyn FnMut(Unit) -> u8| up((1..=10).take_while(|number| read(*number as Unit - 1) == 1));
        explored(&mut Toy::new(&history, there), &attempts, &UNLIMITED)
    };
    let (none, all_but_two, all) = (found(0), found(8), found(10));
    assert_eq!((none.worst_lost_commits, none.is_censored), (10, Some(true)), "{none:?}");
    assert_eq!((all_but_two.worst_lost_commits, all_but_two.is_censored), (2, Some(false)), "{all_but_two:?}");
    assert_eq!((all.worst_lost_commits, all.is_censored), (0, Some(false)), "{all:?}");
}

/// A search that ended after its first image was said to have looked at all eleven moments.
#[test]
fn a_moment_counts_once_an_image_of_it_was_tried() {
    let (history, attempts) = commits(10);
    let there = |read: &mut dyn FnMut(Unit) -> u8| up((1..=10).take_while(|number| read(*number as Unit - 1) == 1));
    let found = |images_max| explored(&mut Toy::new(&history, there), &attempts, &Budget { images_max, ..UNLIMITED });
    let (first, all) = (found(1), found(u64::MAX));
    assert_eq!((first.points, first.is_complete, all.points, all.is_complete), (1, false, 11, true));
    let note =
        "no image was tried at 10 of the 11 moments at which power may fail: a longer `safety.budget` tries more";
    assert_eq!((first.notes, all.notes), (vec![note.to_string()], Vec::new()));
}

/// ext4 with blocks of 1 KiB, on a disk that writes 4 KiB at a time.
#[test]
fn what_is_too_much_to_be_named_is_not_all_of_a_recording() {
    let found = |parts: u64| {
        let writes = (0..parts).map(|part| Record::Write(part, part * 1024, vec![1; 1024]));
        let records: Vec<Record> = [Record::Begin].into_iter().chain(writes).collect();
        let rules = Rules { unit_bytes: 4096, cache: Cache::Volatile };
        let history = History::new(log(8192, &records), rules).expect("a log");
        let reads = |read: &mut dyn FnMut(Unit) -> u8| {
            read(0);
            up([])
        };
        explored(&mut Toy::new(&history, reads), &[], &UNLIMITED)
    };
    assert!(found(3).is_complete && !found(4).is_complete, "{:?}", found(4));
}
