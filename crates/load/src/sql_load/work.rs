//! A kind of transactions at work on a database: what all kinds do alike, around what is a kind's own.

use super::{Load, Script, Session, drive};
use crate::sql::{Database, Place};
use crate::workload::{Context, Error, Outcome, Workload, load_seconds};
use observe::metric::Measured;
use std::time::Instant;

/// What is a kind's own.
pub trait Transactions: Sync {
    /// The transactions of one connection.
    type Script: Script;

    /// How they are sent.
    fn load(&self) -> &Load;

    /// Makes its tables and fills them.
    ///
    /// # Errors
    /// When the database refuses.
    fn fill(&self, database: &dyn Database, context: &Context) -> Result<(), Error>;

    /// A connection's transactions in one run: from the trial's seed, the run's number, which begins at 1, and the connection's.
    fn script(&self, database: &dyn Database, seed: u64, run: u64, connection: usize) -> Self::Script;

    /// Keeps what a run's connections remember, and adds to its figures.
    ///
    /// # Errors
    /// When the database does not say what is asked of it.
    fn ran(
        &mut self,
        scripts: Vec<Self::Script>,
        database: &dyn Database,
        place: &Place,
        outcome: &mut Outcome,
    ) -> Result<(), Error>;

    /// Its tables, for the database's own check.
    ///
    /// # Errors
    /// When the database does not say which they are.
    fn tables(&self, database: &dyn Database, place: &Place) -> Result<Vec<String>, Error>;

    /// Looks, after all runs, whether each acknowledged transaction is there.
    ///
    /// # Errors
    /// [`Error::WrongData`] where one is not.
    fn verify(&self, database: &dyn Database, place: &Place) -> Result<(), Error>;
}

/// Such a kind as a workload.
pub struct TransactionWorkload<T> {
    transactions: T,
    database: Box<dyn Database>,
    /// What a run leaves to the one that goes on.
    sessions: Vec<Session>,
    runs: u64,
}

impl<T: Transactions> TransactionWorkload<T> {
    /// These transactions on this database.
    pub fn new(transactions: T, database: Box<dyn Database>) -> TransactionWorkload<T> {
        TransactionWorkload { transactions, database, sessions: Vec::new(), runs: 0 }
    }
}

impl<T: Transactions> Workload for TransactionWorkload<T> {
    fn prepare(&mut self, context: &mut Context) -> Result<Vec<Measured>, Error> {
        let started = Instant::now();
        self.transactions.fill(&*self.database, context)?;
        Ok(load_seconds(started))
    }

    fn run(&mut self, context: &mut Context) -> Result<Outcome, Error> {
        let (place, database) = (Place::of(context), &*self.database);
        // A new run has new connections and starts at the same point of the checkpoint cycle as every other; one that goes on is amid both.
        if !context.goes_on {
            self.sessions.clear();
            database.checkpoint(&place)?;
        }
        // Every run does other transactions than the one before.
        self.runs += 1;
        let before = database.counters(&place)?;
        let (seed, run, transactions) = (context.seed, self.runs, &self.transactions);
        let script = |connection: usize| transactions.script(database, seed, run, connection);
        let (mut outcome, scripts) = drive(transactions.load(), database, &mut self.sessions, context, script)?;
        // Of a load that only reads the log is none of its transactions'.
        let transactions = if outcome.commits > 0 { outcome.latencies[drive::TRANSACTION].count() as f64 } else { 0.0 };
        outcome.metrics.extend(database.counters(&place)?.since(before, transactions));
        // Whether all is there is looked at in the end: reading it now would leave other caches to a run that goes on.
        self.transactions.ran(scripts, database, &place, &mut outcome)?;
        Ok(outcome)
    }

    fn cool(&mut self) -> Result<(), Error> {
        self.sessions.clear();
        Ok(())
    }

    fn verify(&mut self, context: &mut Context) -> Result<(), Error> {
        self.sessions.clear();
        let (place, database) = (Place::of(context), &*self.database);
        database.check(&place, &self.transactions.tables(database, &place)?)?;
        self.transactions.verify(database, &place)
    }
}
