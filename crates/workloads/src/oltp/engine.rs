//! The seam: what a database must do for `oltp`. An engine is one file; the driver knows none of them.

use super::mix::{Transaction, Written};
use crate::workload::{Context, Error};

/// A database with the tables in it.
pub trait Engine: Sync {
    /// Makes the tables and their rows in the context's folder.
    fn load(&self, context: &Context) -> Result<(), Error>;

    /// Brings it to the start of a checkpoint cycle.
    fn checkpoint(&self, context: &Context) -> Result<(), Error>;

    /// A connection for one thread.
    fn connect(&self, context: &Place) -> Result<Box<dyn Session>, Error>;

    /// Its own consistency check, all rows there, and the last acknowledged writes of a single-threaded run in place.
    fn verify(&self, context: &Context, last_writes: &[Written]) -> Result<(), Error>;
}

/// Where the data lies; what a thread needs of the context.
pub struct Place {
    /// The folder on the filesystem under test.
    pub data_folder: std::path::PathBuf,
}

/// One connection with its statements prepared.
pub trait Session {
    /// Runs one transaction, fetches and checks every row.
    fn execute(&mut self, transaction: &Transaction) -> Result<Executed, Error>;
}

/// How a transaction ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Executed {
    /// Acknowledged.
    Committed,
    /// Another held a lock, or had written first: rolled back, to be tried again with the same ids.
    Busy,
}
