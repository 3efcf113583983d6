//! YCSB's core workloads A to F: which operations, in which shares, on which records (its `workloads/workloada` to `workloadf`). Pure.

use random::Random;

/// Records that a scan asks for at most, `maxscanlength`; their number is uniform from 1 (`scanlengthdistribution`).
const SCAN_MAX: u64 = 100;

/// Kinds of operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// All fields of a record (`readallfields`).
    Read,
    /// One field of a record is replaced.
    Update,
    /// A new record.
    Insert,
    /// Records from a key on, in the order of keys.
    Scan,
    /// A record is read, then one field of it is replaced.
    ReadModifyWrite,
}

/// All, in the order of [`Kind::number`].
pub const KINDS: [Kind; 5] = [Kind::Read, Kind::Update, Kind::Insert, Kind::Scan, Kind::ReadModifyWrite];

impl Kind {
    /// In words, as latencies are named.
    pub fn words(self) -> &'static str {
        ["read", "update", "insert", "scan", "read-modify-write"][self.number()]
    }

    /// Its place in lists.
    pub fn number(self) -> usize {
        self as usize
    }
}

/// A mix of operations.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mix {
    /// What users write.
    pub name: &'static str,
    /// Operations of 100, by kind.
    pub shares: [u64; 5],
    /// The distribution over records that YCSB has for it.
    pub distribution: &'static str,
}

/// YCSB's, and one more, without which writes could not be looked at alone.
pub const MIXES: [Mix; 7] = [
    Mix { name: "a", shares: [50, 50, 0, 0, 0], distribution: "zipfian" },
    Mix { name: "b", shares: [95, 5, 0, 0, 0], distribution: "zipfian" },
    Mix { name: "c", shares: [100, 0, 0, 0, 0], distribution: "zipfian" },
    Mix { name: "d", shares: [95, 0, 5, 0, 0], distribution: "latest" },
    Mix { name: "e", shares: [0, 0, 5, 95, 0], distribution: "zipfian" },
    Mix { name: "f", shares: [50, 0, 0, 0, 50], distribution: "zipfian" },
    Mix { name: "update-only", shares: [0, 100, 0, 0, 0], distribution: "zipfian" },
];

/// Their names.
pub const NAMES: &[&str] = &["a", "b", "c", "d", "e", "f", "update-only"];

impl Mix {
    /// The mix of this name.
    pub fn named(name: &str) -> Mix {
        *MIXES.iter().find(|mix| mix.name == name).expect("the settings' check lets only their names pass")
    }

    /// Whether it has operations of a kind.
    pub fn has(&self, kind: Kind) -> bool {
        self.shares[kind.number()] > 0
    }

    /// Whether fields are written again.
    pub fn rewrites(&self) -> bool {
        self.has(Kind::Update) || self.has(Kind::ReadModifyWrite)
    }

    /// Draws a kind.
    pub fn draw(&self, random: &mut Random) -> Kind {
        KINDS[random.weighted(&self.shares)]
    }
}

/// How many records a scan asks for.
pub fn scan_length(random: &mut Random) -> usize {
    1 + random.below(SCAN_MAX) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_whole_and_come_as_often() {
        assert_eq!(MIXES.map(|mix| mix.name), NAMES);
        let mut random = Random::new(7);
        for mix in MIXES {
            assert_eq!(mix.shares.iter().sum::<u64>(), 100, "{}", mix.name);
            assert!(!(mix.rewrites() && mix.has(Kind::Insert)), "{}: versions are of loaded records only", mix.name);
            let mut counts = [0_u64; 5];
            (0..100_000).for_each(|_| counts[mix.draw(&mut random).number()] += 1);
            for (count, share) in counts.iter().zip(mix.shares) {
                // Five standard deviations are at most 0.8 %.
                assert!(count.abs_diff(share * 1000) < 800, "{}: {counts:?}", mix.name);
            }
        }
        let lengths: Vec<usize> = (0..5000).map(|_| scan_length(&mut random)).collect();
        assert_eq!((lengths.iter().min(), lengths.iter().max()), (Some(&1), Some(&100)));
    }
}
