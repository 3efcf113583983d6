//! The seam: what a key-value store must do for 3n+1. An engine is one file.

use crate::sql::Counters;
use crate::workload::Error;

/// What all workers found together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Most steps of any integer of the range.
    pub longest: u64,
    /// Highest number met.
    pub highest: u64,
    /// Look-ups.
    pub reads: u64,
    /// Numbers stored.
    pub updates: u64,
}

/// A store before and after its workers.
pub trait Store {
    /// Begins anew with these blocks.
    fn create(&mut self, blocks: &[(u64, u64)]) -> Result<(), Error>;

    /// The steps of these numbers, where they are known.
    fn look_up(&mut self, numbers: &[u64]) -> Result<Vec<Option<u64>>, Error>;

    /// Blocks that nobody has finished.
    fn unfinished_blocks(&mut self) -> Result<u64, Error>;

    /// Claims of workers that were killed are void.
    fn release_claims(&mut self) -> Result<(), Error>;

    /// The shared totals.
    fn totals(&mut self) -> Result<Totals, Error>;

    /// How many numbers are stored.
    fn numbers(&mut self) -> Result<u64, Error>;

    /// What the engine counts itself.
    fn counters(&mut self) -> Result<Counters, Error> {
        Ok(Counters::default())
    }

    /// The engine's own consistency check.
    fn check(&mut self) -> Result<(), Error> {
        Ok(())
    }
}

/// A store that our own workers fill, opened by one of them.
pub trait Shared: Store {
    /// Takes a block that nobody has, or none is left.
    fn claim(&mut self) -> Result<Option<(u64, u64)>, Error>;

    /// The steps of a number, if it is known.
    fn steps(&mut self, n: u64) -> Result<Option<u64>, Error>;

    /// Stores a path whose first number takes `total` steps, each next one fewer, and raises the shared maxima: in one
    /// transaction, so that a killed run leaves nothing that the maxima do not cover.
    fn put_path(&mut self, path: &[u64], total: u64, highest: u64) -> Result<(), Error>;

    /// A claimed block is done; its counts are added.
    fn finish(&mut self, block: (u64, u64), reads: u64, updates: u64) -> Result<(), Error>;
}
