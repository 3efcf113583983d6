//! What the load asks of the database that it commits to: tables in SQL are `tables.rs`; others have a file each.

use super::look::Rows;
use super::rule::Rule;
use load::sql::Place;
use load::workload::Error;

/// A database.
pub trait CommitTarget: Sync {
    /// Makes and loads what commits work on.
    fn fill(&self, place: &Place, rule: Rule) -> Result<(), Error>;

    /// Writes and flushes what is dirty, so that a checkpoint cycle begins.
    fn checkpoint(&self, place: &Place) -> Result<(), Error>;

    /// How many times more seldom checkpoints come than others': where one flushes all that the settings leave to be lost, it would hide it.
    fn checkpoint_spacing(&self) -> u64 {
        1
    }

    /// Writes what is dirty of the load's own data, now.
    fn write_out(&self, place: &Place) -> Result<(), Error> {
        self.checkpoint(place)
    }

    /// Whether a checkpoint never ends while others commit.
    fn checkpoints_alone(&self) -> bool {
        false
    }

    /// What is asked of it, once it has recovered, for its own check, its rows and its counters: in SQL, by a connection that has chosen
    /// no database, or as one of its programs with its arguments, each on a line of its own.
    fn questions(&self) -> [String; 3];

    /// Whether a row of its own check's answer says that all is well.
    fn is_well(&self, answer: &[Vec<Option<String>>], row: &[Option<String>]) -> bool;

    /// Whether there is anything of it in the folder; of a server, that is known when it is reached.
    fn is_there(&self, _place: &Place) -> bool {
        true
    }

    /// Whether it answers at all: to the question of its own check.
    fn comes_up(&self, _place: &Place) -> bool {
        false
    }

    /// Its answers to [`CommitTarget::questions`].
    fn ask(&self, place: &Place) -> Result<Vec<Rows>, Error>;

    /// A way in for one stream.
    fn connect<'a>(&'a self, place: &Place, rule: Rule, stream: u32) -> Result<Box<dyn Client + 'a>, Error>;
}

/// A stream's way in.
pub trait Client {
    /// One transaction; none: the run was over before it could begin.
    fn commit(&mut self, number: u64, is_over: &dyn Fn() -> bool) -> Result<Option<Committed>, Error>;

    /// Gives up a transaction that failed; an error means that it takes another connection to go on.
    fn give_up(&mut self) -> Result<(), Error>;
}

/// A stream's connection to a server without SQL.
pub struct Session<C> {
    /// Where that is.
    pub place: Place,
    /// The connection.
    pub client: C,
    /// What the data are made by.
    pub rule: Rule,
    /// Which stream.
    pub stream: u32,
}

/// A commit's moments, in nanoseconds of `CLOCK_MONOTONIC`.
pub struct Committed {
    /// Just before it was asked for.
    pub asked: u64,
    /// Just after its acknowledgement had come.
    pub acknowledged: u64,
}
