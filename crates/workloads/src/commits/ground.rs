//! What the load asks of the database that it commits to: tables in SQL are `tables.rs`, GT.M is `gtm.rs`.

use super::look::Rows;
use super::rule::Rule;
use crate::sql::Place;
use crate::workload::Error;

/// A database.
pub trait Ground: Sync {
    /// Makes and loads what commits work on.
    fn fill(&self, place: &Place, rule: Rule) -> Result<(), Error>;

    /// Writes and flushes what is dirty, so that a checkpoint cycle begins.
    fn checkpoint(&self, place: &Place) -> Result<(), Error>;

    /// Whether a checkpoint never ends while others commit.
    fn checkpoints_alone(&self) -> bool {
        false
    }

    /// Its answers to [`super::questions`].
    fn ask(&self, place: &Place) -> Result<Vec<Rows>, Error>;

    /// A way in for one stream.
    fn connect<'a>(&'a self, place: &Place, rule: Rule, stream: u32) -> Result<Box<dyn Client + 'a>, Error>;
}

/// A stream's way in.
pub trait Client {
    /// One transaction; none: the run was over before it could begin.
    fn commit(&mut self, number: u64, is_over: &dyn Fn() -> bool) -> Result<Option<Committed>, Error>;
}

/// A commit's moments, in nanoseconds of `CLOCK_MONOTONIC`.
pub struct Committed {
    /// Just before it was asked for.
    pub asked: u64,
    /// Just after its acknowledgement had come.
    pub acknowledged: u64,
}
