//! Which versions of a field a read may give, while others are being written.
//!
//! Versions of a field are numbered in the order in which their writes begin. Writes that are under way at the same time may take place in
//! either order, so the newest need not win; but a write that begins when all earlier ones are acknowledged replaces them for good. So
//! each write knows the oldest version that it may not have replaced: the oldest that was under way when it began, or itself. Once it is
//! acknowledged, whoever begins to read must find that version or a newer one, and one that was begun at all.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

/// Locks, so that writers of different fields seldom meet, and few writes are looked through.
const SHARDS: usize = 1024;

/// A field of a record: its place among all fields of all records.
pub type Place = usize;

/// Of a field. Side by side, as both are wanted for each write, and no cache holds those of all fields.
#[derive(Default)]
struct Known {
    /// The newest that was begun.
    begun: AtomicU32,
    /// The oldest that may still be read.
    oldest: AtomicU32,
}

/// The versions of all fields.
pub struct Versions {
    known: Vec<Known>,
    /// What is being written.
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
        let known = std::iter::repeat_with(Known::default).take(places).collect();
        let under_way = std::iter::repeat_with(Mutex::default).take(SHARDS).collect();
        Versions { known, under_way }
    }

    /// Before a write is sent.
    pub fn begin(&self, place: Place) -> Write {
        let mut under_way = self.under_way[place % SHARDS].lock().expect("no thread panics with it");
        let version = self.known[place].begun.fetch_add(1, Ordering::Relaxed) + 1;
        let older = under_way.iter().filter(|(other, _)| *other == place).map(|(_, version)| *version).min();
        under_way.push((place, version));
        Write { place, version, oldest: older.unwrap_or(version) }
    }

    /// After it was acknowledged.
    pub fn end(&self, write: Write) {
        let mut under_way = self.under_way[write.place % SHARDS].lock().expect("no thread panics with it");
        let known = under_way.iter().position(|known| *known == (write.place, write.version));
        under_way.swap_remove(known.expect("it was begun, and ends once"));
        self.known[write.place].oldest.fetch_max(write.oldest, Ordering::SeqCst);
    }

    /// Before a read is sent: the oldest version that it may give.
    pub fn oldest(&self, place: Place) -> u32 {
        self.known[place].oldest.load(Ordering::SeqCst)
    }

    /// After its answer has come: the newest that it may give.
    pub fn newest(&self, place: Place) -> u32 {
        self.known[place].begun.load(Ordering::SeqCst)
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
