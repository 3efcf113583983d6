//! Commits one by one, by a caller who decides what comes next: what a failing disk is measured with. Of one client, so that the same
//! requests come to the disk again. Transactions are `commits/steps.rs`, replaced files `replacements/steps.rs`;
//! `process.rs` takes them in a process of its own.

pub mod process;

use crate::commits::Look;
use load::sql::Place;
use load::workload::Error;
use serde::{Deserialize, Serialize};

/// What commits are made to.
pub trait Steps {
    /// Opens the connection that commits.
    ///
    /// # Errors
    /// When the database can't be reached.
    fn connect(&self, place: &Place) -> Result<Box<dyn Connected + '_>, Error>;

    /// Writes what is dirty of the load's data to the disk: where there are checkpoints, by one or as soon as can be.
    ///
    /// # Errors
    /// When it fails.
    fn write_out(&self, place: &Place) -> Result<(), Error>;

    /// Asks for a whole checkpoint, where there are any.
    ///
    /// # Errors
    /// When it fails.
    fn checkpoint(&self, place: &Place) -> Result<(), Error>;

    /// What is there; commits that were refused may be missing between others.
    ///
    /// # Errors
    /// When nothing can be said.
    fn look(&self, place: &Place, tried: &[Attempted]) -> Result<Look, Error>;
}

/// A connection that commits.
pub trait Connected {
    /// Makes the commit with this number.
    ///
    /// # Errors
    /// When it was not acknowledged.
    fn commit(&mut self, number: u64) -> Result<(), NotAcknowledged>;

    /// Gives up the commit that was not acknowledged, as a client does that goes on.
    ///
    /// # Errors
    /// When the connection is of no more use.
    fn give_up(&mut self) -> Result<(), Error>;
}

/// A commit that was tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempted {
    /// Its number.
    pub number: u64,
    /// Whether its client was told that it failed.
    pub is_refused: bool,
}

/// Why a commit was not acknowledged.
#[derive(Debug)]
pub struct NotAcknowledged {
    /// What the client was told.
    pub error: Error,
    /// Whether it was told of no end at all, as its connection was lost.
    pub is_unknown: bool,
}

/// The only stream of commits that a look finds.
pub const STREAM: u32 = 0;
