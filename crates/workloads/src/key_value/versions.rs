//! Which versions of a field a read may give, while others are being written.
//!
//! Versions of a field are numbered in the order in which their writes begin. Writes that are under way at the same time may take place in
//! either order, so the newest need not win; but a write that begins when all earlier ones are acknowledged replaces them for good. So
//! each write knows the oldest version that it may not have replaced: the oldest that was under way when it began, or itself. Once it is
//! acknowledged, whoever begins to read must find that version or a newer one, and one that was begun at all.
//!
//! Most writes are alone on their field, and these cost two exchanges of one word; only those that meet are kept in a list, under a lock.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Locks, so that writers of different fields seldom meet, and few writes are looked through.
const SHARDS: usize = 1024;

/// A field of a record: its place among all fields of all records.
pub type Place = usize;

/// Of a field. In one word, as all of it changes at once.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Known {
    /// The newest that was begun; below 2^31.
    begun: u32,
    /// Whether that one is under way, none else is, and no list has it.
    is_alone: bool,
    /// The oldest that may still be read.
    oldest: u32,
}

impl Known {
    fn of(word: u64) -> Known {
        let newer = (word >> 32) as u32;
        Known { begun: newer >> 1, is_alone: newer & 1 == 1, oldest: word as u32 }
    }

    fn word(self) -> u64 {
        u64::from(self.begun << 1 | u32::from(self.is_alone)) << 32 | u64::from(self.oldest)
    }

    /// Nothing is under way: the newest was acknowledged, and was alone when it began.
    fn is_settled(self) -> bool {
        self.begun == self.oldest
    }
}

/// The versions of all fields.
pub struct Versions {
    known: Vec<AtomicU64>,
    /// What is being written, where writes of one field met.
    under_way: Vec<Mutex<Vec<(Place, u32)>>>,
}

/// A write under way.
#[derive(Debug, Clone, Copy)]
pub struct Write {
    place: Place,
    /// What it writes.
    pub version: u32,
    /// The oldest that it may not have replaced.
    oldest: u32,
}

impl Versions {
    /// Of so many fields, all of which have version 0.
    pub fn new(places: usize) -> Versions {
        let known = std::iter::repeat_with(AtomicU64::default).take(places).collect();
        let under_way = std::iter::repeat_with(Mutex::default).take(SHARDS).collect();
        Versions { known, under_way }
    }

    /// Reads what is known of these fields and does nothing with it: what no cache holds is brought there side by side, and not one after the
    /// other when each is changed. Of 16 updates at once, waiting for it was a third of the load's CPU time.
    pub fn fetch(&self, places: impl Iterator<Item = Place>) {
        let known = places.filter_map(|place| self.known.get(place)).map(|known| known.load(Ordering::Relaxed));
        std::hint::black_box(known.fold(0, std::ops::BitXor::bitxor));
    }

    /// Before a write is sent.
    pub fn begin(&self, place: Place) -> Write {
        let alone = |known: Known| {
            known.is_settled().then(|| Known { begun: known.begun + 1, is_alone: true, oldest: known.oldest })
        };
        if let Some(before) = self.change(place, alone) {
            return Write { place, version: before.begun + 1, oldest: before.begun + 1 };
        }
        let mut under_way = self.under_way[place % SHARDS].lock().expect("no thread panics with it");
        // The one that was alone may be acknowledged meanwhile; then this one is listed nonetheless.
        let listed = |known: Known| Some(Known { begun: known.begun + 1, is_alone: false, oldest: known.oldest });
        let before = self.change(place, listed).expect("it always may");
        if before.is_alone {
            under_way.push((place, before.begun));
        }
        let version = before.begun + 1;
        let older = under_way.iter().filter(|(other, _)| *other == place).map(|(_, version)| *version).min();
        under_way.push((place, version));
        Write { place, version, oldest: older.unwrap_or(version) }
    }

    /// After it was acknowledged.
    pub fn end(&self, write: Write) {
        let settled = |known: Known| known.is_alone.then_some(Known { is_alone: false, oldest: known.begun, ..known });
        if self.change(write.place, settled).is_some() {
            return;
        }
        let mut under_way = self.under_way[write.place % SHARDS].lock().expect("no thread panics with it");
        let known = under_way.iter().position(|known| *known == (write.place, write.version));
        under_way.swap_remove(known.expect("it was begun, and ends once"));
        let replaced = |known: Known| Some(Known { oldest: known.oldest.max(write.oldest), ..known });
        self.change(write.place, replaced);
    }

    /// Before a read is sent: the oldest version that it may give.
    pub fn oldest(&self, place: Place) -> u32 {
        Known::of(self.known[place].load(Ordering::SeqCst)).oldest
    }

    /// After its answer has come: the newest that it may give.
    pub fn newest(&self, place: Place) -> u32 {
        Known::of(self.known[place].load(Ordering::SeqCst)).begun
    }

    /// What was known before; none: it is not to be changed.
    fn change(&self, place: Place, to: impl Fn(Known) -> Option<Known>) -> Option<Known> {
        let changed = |word| to(Known::of(word)).map(Known::word);
        self.known[place].fetch_update(Ordering::SeqCst, Ordering::SeqCst, changed).ok().map(Known::of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_one_writer_wrote_last_is_read() {
        let versions = Versions::new(2);
        assert_eq!((versions.oldest(1), versions.newest(1)), (0, 0));
        let first = versions.begin(1);
        assert_eq!((versions.oldest(1), versions.newest(1)), (0, 1), "it may be there or not");
        versions.end(first);
        assert_eq!((versions.oldest(1), versions.newest(1)), (1, 1));
        assert_eq!((versions.oldest(0), versions.newest(0)), (0, 0), "another field");
    }

    #[test]
    fn either_of_two_that_were_under_way_together_may_be_there() {
        let versions = Versions::new(1);
        let (first, second) = (versions.begin(0), versions.begin(0));
        versions.end(second);
        assert_eq!(versions.oldest(0), 1, "the first may take place after the second");
        versions.end(first);
        assert_eq!(versions.oldest(0), 1);
        let third = versions.begin(0);
        versions.end(third);
        assert_eq!(versions.oldest(0), 3, "it began when both were acknowledged");
    }

    #[test]
    fn threads_that_meet_lose_no_write() {
        let versions = Versions::new(2);
        std::thread::scope(|scope| {
            for thread in 0..4_usize {
                let versions = &versions;
                scope.spawn(move || {
                    for write in 0..20_000_usize {
                        let place = usize::from((write + thread).is_multiple_of(16));
                        let before = versions.oldest(place);
                        let write = versions.begin(place);
                        assert!(before <= write.oldest && write.oldest <= write.version);
                        versions.end(write);
                        assert!(versions.oldest(place) >= write.oldest);
                    }
                });
            }
        });
        assert_eq!(versions.newest(0) + versions.newest(1), 80_000);
        for place in [0, 1] {
            let last = versions.begin(place);
            versions.end(last);
            assert_eq!(versions.oldest(place), versions.newest(place), "nothing else is under way");
        }
    }

    proptest! {
        /// A store that lets each write take place at any moment between its begin and its acknowledgement never gives what is refused; and
        /// without overlap exactly one version is right.
        #[test]
        fn a_right_store_is_never_blamed(steps in prop::collection::vec((0usize..4, 0u8..3), 1..200)) {
            let versions = Versions::new(1);
            let mut held = 0;
            let mut writers: [Option<(Write, bool)>; 4] = [None; 4];
            let mut readers: [Option<(u32, Option<u32>)>; 4] = [None; 4];
            for (who, what) in steps {
                match (what, &mut writers[who]) {
                    (0, writer @ None) => *writer = Some((versions.begin(0), false)),
                    (0, Some((write, is_done @ false))) => {
                        held = write.version;
                        *is_done = true;
                    }
                    (0, writer @ Some((_, true))) => versions.end(writer.take().expect("it is there").0),
                    _ => match &mut readers[who] {
                        reader @ None => *reader = Some((versions.oldest(0), None)),
                        Some((_, found @ None)) => *found = Some(held),
                        reader => {
                            let (oldest, found) = reader.take().expect("it is there");
                            let found = found.expect("it has read");
                            prop_assert!((oldest..=versions.newest(0)).contains(&found));
                        }
                    },
                }
                if writers.iter().all(Option::is_none) {
                    prop_assert!((versions.oldest(0)..=versions.newest(0)).contains(&held));
                }
            }
        }
    }
}
