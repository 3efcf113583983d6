//! What acknowledged transactions wrote to rows, and whether the table still has it, with any number of connections.
//!
//! Several connections write a row in an order that only the database knows. But a write that began after another was
//! acknowledged came after it. So of each row's writes, those that are not surely followed by another may be the last one, and
//! the row must hold one of them.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Instant;

/// A row: table, from 1, and id.
pub type RowId = (u32, u64);

/// At most so many rows are remembered, over all connections: about 200 MB.
const REMEMBERED_MAX: u64 = 1 << 21;

/// The last write of one connection to each row: its writes before are surely followed by it.
#[derive(Debug, Default)]
pub struct Acknowledged {
    /// Every so manieth id is remembered, the same for all connections; 0: none.
    every: u64,
    last: HashMap<RowId, Write>,
}

#[derive(Debug, Clone, Copy)]
struct Write {
    /// Of the text in column c; none: it may have been written or not.
    hash: Option<u64>,
    began: Instant,
    ended: Instant,
}

/// Every so manieth row is remembered, so that memory holds what `connections` write to `rows`.
pub fn every(rows: u64, connections: usize) -> u64 {
    (rows * connections as u64).div_ceil(REMEMBERED_MAX).max(1)
}

impl Acknowledged {
    /// Of every so manieth row.
    pub fn of_every(every: u64) -> Acknowledged {
        Acknowledged { every, last: HashMap::new() }
    }

    /// A write of a transaction that began and was acknowledged then. `c` none: nobody knows whether it took place.
    pub fn write(&mut self, row: RowId, c: Option<&str>, began: Instant, ended: Instant) {
        if self.every > 0 && row.1.is_multiple_of(self.every) {
            self.last.insert(row, Write { hash: c.map(hash), began, ended });
        }
    }
}

/// What each row may hold, as hashes of column c; none where one of its last writes may have taken place or not.
pub fn possible(all: impl IntoIterator<Item = Acknowledged>) -> BTreeMap<RowId, Vec<u64>> {
    let mut writes: BTreeMap<RowId, Vec<Write>> = BTreeMap::new();
    for (row, write) in all.into_iter().flat_map(|one| one.last) {
        writes.entry(row).or_default().push(write);
    }
    let last = |writes: Vec<Write>| -> Vec<u64> {
        let is_followed = |write: &Write| writes.iter().any(|other| other.began > write.ended);
        let hashes: Option<Vec<u64>> =
            writes.iter().filter(|write| !is_followed(write)).map(|write| write.hash).collect();
        hashes.unwrap_or_default()
    };
    writes.into_iter().map(|(row, writes)| (row, last(writes))).collect()
}

/// The hash of a text in column c; a column of fixed width may fill it up with blanks.
pub fn hash(c: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    c.trim_end().hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::Duration;

    proptest! {
        /// Writes to one row at any times by three connections, each holding the row's lock at one moment in between: what the
        /// row holds at the end is always possible, and a write that another surely followed never is.
        #[test]
        fn the_last_of_any_history_is_possible(spans in prop::collection::vec((0_u64..50, 1_u64..30, 0.0..1.0_f64), 1..12)) {
            let zero = Instant::now();
            let at = |millis: f64| zero + Duration::from_secs_f64(millis / 1e3);
            let mut connections: Vec<Acknowledged> = (0..3).map(|_| Acknowledged::of_every(1)).collect();
            let mut free = [0.0; 3];
            let (mut truth, mut surely) = ((0.0, 0), Vec::new());
            for (number, (pause, length, share)) in spans.iter().enumerate() {
                let who = number % 3;
                let began = free[who] + *pause as f64;
                let (ended, locked) = (began + *length as f64, began + share * *length as f64);
                free[who] = ended + 0.5;
                let text = format!("text {number}");
                connections[who].write((1, 7), Some(&text), at(began), at(ended));
                surely.push((began, ended, hash(&text)));
                if locked >= truth.0 {
                    truth = (locked, hash(&text));
                }
            }
            let possible = &possible(connections)[&(1, 7)];
            prop_assert!(possible.contains(&truth.1));
            for (_, ended, hash) in &surely {
                let followed = surely.iter().any(|(began, ..)| began > ended);
                prop_assert_eq!(possible.contains(hash), !followed);
            }
        }
    }

    #[test]
    fn a_write_that_nobody_knows_of_hides_its_row_until_another_follows() {
        let (zero, second) = (Instant::now(), Duration::from_secs(1));
        let mut one = Acknowledged::of_every(1);
        let mut two = Acknowledged::of_every(1);
        one.write((1, 1), None, zero, zero + second);
        two.write((1, 1), Some("a"), zero, zero + second);
        two.write((1, 2), Some("b"), zero, zero + second);
        one.write((1, 3), None, zero, zero + second);
        two.write((1, 3), Some("c"), zero + 2 * second, zero + 3 * second);
        let possible = possible([one, two]);
        assert!(possible[&(1, 1)].is_empty());
        assert_eq!((&possible[&(1, 2)], &possible[&(1, 3)]), (&vec![hash("b")], &vec![hash("c  ")]));
    }

    #[test]
    fn memory_is_bounded_by_leaving_rows_out() {
        assert_eq!((every(1000, 16), every(1 << 21, 16)), (1, 16));
        let mut one = Acknowledged::of_every(16);
        let now = Instant::now();
        (0..160).for_each(|id| one.write((1, id), Some("x"), now, now));
        assert_eq!(possible([one]).len(), 10);
    }
}
