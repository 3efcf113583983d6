//! What every row holds, by its place alone. Pure.

use random::Random;
use std::collections::BTreeMap;

/// Ids are `stream × NUMBERS + number`; they fit 32 bits.
pub const NUMBERS: u64 = 1_000_000;

/// The stream that the loaded rows count as, numbered from 1: above those of all connections.
pub const LOADED_STREAM: u32 = 999;

/// So many that they fill several pages of any database.
pub const LOADED_ROWS: u64 = 300;

/// Loaded rows that a commit puts its number in.
pub const TOUCHED: usize = 3;

/// What texts are of: 64 characters that no database has to quote.
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// The id of a row.
pub fn id(stream: u32, number: u64) -> u64 {
    u64::from(stream) * NUMBERS + number
}

/// The rule of one run.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// Where everything random comes from.
    pub seed: u64,
    /// Connections.
    pub streams: u32,
    /// Text in a row.
    pub payload_bytes: usize,
}

impl Rule {
    /// The text of a row. No two rows share one, and no filesystem can shrink it much.
    pub fn payload(&self, id: u64) -> String {
        let mut random = Random::of_stream(self.seed, id);
        let mut text = String::with_capacity(self.payload_bytes + 9);
        while text.len() < self.payload_bytes {
            let bits = random.next_u64();
            // Ten characters of six bits.
            text.extend((0..10).map(|place| char::from(ALPHABET[(bits >> (6 * place)) as usize % ALPHABET.len()])));
        }
        text.truncate(self.payload_bytes);
        text
    }

    /// Numbers of the loaded rows that a commit puts its number in. Each stream has rows of its own, so that none waits for
    /// another.
    pub fn touched(&self, stream: u32, number: u64) -> [u64; TOUCHED] {
        let (first, step) = (u64::from(stream), u64::from(self.streams));
        let mut random = Random::of_stream(!self.seed, id(stream, number));
        std::array::from_fn(|_| 1 + first + step * random.below((LOADED_ROWS - first).div_ceil(step)))
    }

    /// The revisions of loaded rows by number after these commits, stream and number, those of a stream in ascending order; a row that
    /// is not here has 0.
    pub fn revisions(&self, commits: impl Iterator<Item = (u32, u64)>) -> BTreeMap<u64, u64> {
        commits.flat_map(|(stream, number)| self.touched(stream, number).map(|row| (row, number))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ids_fit_a_column_of_32_bits() {
        assert!(id(LOADED_STREAM, NUMBERS - 1) < 1 << 31);
    }

    proptest! {
        #[test]
        fn streams_touch_loaded_rows_of_their_own(seed: u64, streams in 1u32..=64, number in 1u64..NUMBERS) {
            let rule = Rule { seed, streams, payload_bytes: 40 };
            let mut owner = BTreeMap::new();
            for stream in 0..streams {
                for row in rule.touched(stream, number) {
                    prop_assert!((1..=LOADED_ROWS).contains(&row));
                    prop_assert_eq!(*owner.entry(row).or_insert(stream), stream);
                }
            }
        }

        #[test]
        fn a_text_is_its_rows_own(seed: u64, id in 0u64..1 << 31, bytes in 16usize..=255) {
            let rule = Rule { seed, streams: 2, payload_bytes: bytes };
            prop_assert_eq!(rule.payload(id).len(), bytes);
            prop_assert_eq!(rule.payload(id), rule.payload(id));
            prop_assert_ne!(rule.payload(id), rule.payload(id + 1));
        }
    }
}
