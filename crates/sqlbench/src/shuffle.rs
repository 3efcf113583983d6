//! The suite's own numbers: a walk that looks random, is the same everywhere, and asks for no generator.

/// The walk. Each step depends on the loop's counter and on how many rows there are.
#[derive(Debug, Clone, Copy)]
pub struct Walk(u64);

impl Walk {
    /// The next value: any whole number, mostly below `rows`.
    pub fn step(&mut self, counter: u64, rows: u64) -> u64 {
        self.0 ^= (self.0 + 63 + counter) * 3 % rows;
        self.0
    }

    /// A walk from this value.
    pub fn from(start: u64) -> Walk {
        Walk(start)
    }
}

/// The keys from `rows` up to, not including, 2 × `rows` in the suite's order, and the walk that goes on from there.
pub fn shuffled(rows: u64) -> (Vec<u64>, Walk) {
    let mut keys: Vec<u64> = (rows..2 * rows).collect();
    let mut walk = Walk(1);
    for index in 0..rows {
        let other = walk.step(index, rows) % rows;
        keys.swap(index as usize, other as usize);
    }
    (keys, walk)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_first_keys_worked_out_by_hand() {
        // t = 1: t ^= (1+63+0)*3 % 10 = 192 % 10 = 2 → 3, swap 0 and 3; t ^= (3+63+1)*3 % 10 = 201 % 10 = 1 → 2, swap 1 and 2;
        // t ^= (2+63+2)*3 % 10 = 1 → 3, swap 2 and 3; t ^= (3+63+3)*3 % 10 = 7 → 4, swap 3 and 4.
        let mut walk = Walk(1);
        assert_eq!([0, 1, 2, 3].map(|counter| walk.step(counter, 10)), [3, 2, 3, 4]);
    }

    proptest! {
        #[test]
        fn every_key_comes_once(rows in 1u64..3000) {
            let (mut keys, _) = shuffled(rows);
            keys.sort_unstable();
            prop_assert!(keys.into_iter().eq(rows..2 * rows));
        }
    }
}
