//! A store of RocksDB's as a folder: what it holds, by RocksDB's own tool `ldb`, and its end.

use load::process::{self, Finished};
use load::workload::{Context, Error};
use std::path::Path;

/// So many standard deviations from the mean a count may be: by chance, one in 10^15.
const DEVIATIONS_MAX: f64 = 8.0;

/// How many keys there should be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Keys {
    /// Exactly these.
    All(u64),
    /// Each of so many writes took one of so many keys by lot.
    Drawn {
        /// Keys that there are.
        from: u64,
        /// Writes that were acknowledged.
        times: u64,
    },
    /// At least one and at most so many: how many writes there were is not said.
    AtMost(u64),
}

impl Keys {
    /// The fewest and the most keys that there may be.
    fn range(self) -> (f64, f64) {
        match self {
            Keys::All(keys) => (keys as f64, keys as f64),
            Keys::AtMost(keys) => (1.0, keys as f64),
            Keys::Drawn { from, times } => {
                // W. Feller, An Introduction to Probability Theory and Its Applications I, IV.2: balls in cells, empty ones.
                let (cells, load) = (from as f64, times as f64 / from as f64);
                let empty = (-load).exp();
                let deviation = (cells * empty * (1.0 - (1.0 + load) * empty)).max(0.0).sqrt();
                // The formula is one of large numbers: a key more or less is nothing.
                let slack = DEVIATIONS_MAX * deviation + 2.0;
                let expected = cells * (1.0 - empty);
                ((expected - slack).max(1.0).floor(), (expected + slack).min(cells).ceil())
            }
        }
    }

    /// # Errors
    /// When a store holds another number of keys.
    pub fn judge(self, store: &Path, found: u64) -> Result<(), Error> {
        let (least, most) = self.range();
        if (least..=most).contains(&(found as f64)) {
            return Ok(());
        }
        let expected = if least == most { format!("{least} keys") } else { format!("{least} to {most} keys") };
        Err(Error::wrong_data(store.display().to_string(), expected, found.to_string()))
    }
}

/// Whether all tables are there that the store's own list names, each with its size.
pub fn check(store: &Path, context: &Context) -> Result<(), Error> {
    let finished = ldb(store, &["checkconsistency"], context)?;
    if finished.stdout.trim() == "OK" { Ok(()) } else { Err(refused(&finished)) }
}

/// Keys that there are, by a scan, which checks the sums of all blocks. It ends at a block that is wrong without saying so, so that the
/// number is all that tells.
pub fn count(store: &Path, context: &Context) -> Result<u64, Error> {
    let finished = ldb(store, &["dump", "--count_only"], context)?;
    let count = finished.stdout.lines().find_map(|line| line.strip_prefix("Keys in range: ")?.trim().parse().ok());
    count.ok_or_else(|| refused(&finished))
}

fn ldb(store: &Path, arguments: &[&str], context: &Context) -> Result<Finished, Error> {
    let mut words = vec!["ldb".to_string(), format!("--db={}", store.display())];
    words.extend(arguments.iter().map(ToString::to_string));
    let finished = process::run(&words, &context.data_folder, process::LOAD_MAX, context.interrupted)?;
    if finished.status.success() { Ok(finished) } else { Err(refused(&finished)) }
}

fn refused(finished: &Finished) -> Error {
    finished.failed("ldb", finished.status.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use random::Random;

    fn may_be(keys: Keys, found: u64) -> bool {
        keys.judge(Path::new("store"), found).is_ok()
    }

    #[test]
    fn counts_that_db_bench_left() {
        // 2026-11-24, rocksdb-tools 7.8.3: `fillrandom` with 670,998 writes, `fillsync` with 5,998.
        assert!(may_be(Keys::Drawn { from: 1_000_000, times: 670_998 }, 488_750));
        assert!(may_be(Keys::Drawn { from: 1000, times: 5998 }, 995));
        // One in 200 of the former lost.
        assert!(!may_be(Keys::Drawn { from: 1_000_000, times: 670_998 }, 486_300));
        assert!(may_be(Keys::Drawn { from: 1, times: 1 }, 1));
        assert!(may_be(Keys::Drawn { from: 1000, times: 1 }, 1));
        assert!(!may_be(Keys::All(5), 4) && !may_be(Keys::AtMost(5), 0) && may_be(Keys::AtMost(5), 5));
    }

    proptest! {
        #[test]
        fn keys_drawn_by_lot_are_as_many_as_expected(from in 1u64..3000, times in 1u64..9000, seed: u64) {
            let mut random = Random::of_stream(seed, 0);
            let drawn: std::collections::BTreeSet<u64> = (0..times).map(|_| random.next_u64() % from).collect();
            let expected = Keys::Drawn { from, times };
            prop_assert!(may_be(expected, drawn.len() as u64));
        }
    }
}
