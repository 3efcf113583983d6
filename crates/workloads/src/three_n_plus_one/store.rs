//! The seam: what a key-value store must do for 3n+1. An engine is one file; database servers share `served.rs`.

use super::Parameters;
use load::sql::{Counters, Engine, Place};
use load::workload::Error;
use observe::durability::Durability;
use std::process::Command;

/// Opens something of a store where it lies.
type Opens<T> = fn(&Place, &Parameters) -> Result<T, Error>;

/// A store as a row of the list.
pub struct StoreKind {
    /// What it is on; none: any server that takes SQL.
    pub engine: Option<&'static Engine>,
    /// The largest integer of a range: the engine holds all numbers of its sequences.
    pub to_max: u64,
    /// Numbers that four workers store in a second; measured at 10^6 and, on servers, 10^5 (2026-11-21, two cores).
    pub numbers_per_second: f64,
    /// What a power cut may take when no path is flushed.
    pub durability: fn(&Parameters) -> Durability,
    /// Opens it.
    pub open: Opens<Box<dyn Store>>,
    /// Who works on it.
    pub workers: Workers,
}

/// Who looks numbers up and stores them.
pub enum Workers {
    /// Processes of ours, each of which opens it so.
    Ours(Opens<Box<dyn Shared>>),
    /// Processes of the engine's: how one is started, and its orders.
    Own(Opens<(Command, Vec<u8>)>),
}

/// Most integers of a range whose sequences fit 64 bits with a sign, which that of 8,528,817,511 leaves.
pub const SIGNED_TO_MAX: u64 = 8_528_817_510;

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

/// The steps of a number as a store gave them: none where it has no such number, and the inner none where what it has is no number.
pub fn steps_of(n: u64, found: Option<Option<u64>>) -> Result<Option<u64>, Error> {
    let steps =
        |steps: Option<u64>| steps.ok_or_else(|| Error::wrong_data(format!("steps of {n}"), "a number", "other text"));
    found.map(steps).transpose()
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
