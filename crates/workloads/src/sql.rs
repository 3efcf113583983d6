//! Databases that a load can be put on, embedded or served: one file each. `oltp` and `tpcb` know only what is here.

mod mariadb;
mod postgres;
pub mod sqlite;

pub use sqlite::{Pragmas, Sqlite};

use crate::workload::{Context, Error};
use observe::metric::{Direction, Measured, Metric};
use std::path::PathBuf;
use wire::Connection;

/// Where a database lies.
#[derive(Debug, Clone)]
pub struct Place {
    /// The folder on the filesystem under test.
    pub data_folder: PathBuf,
    /// The socket of its server, or the program that enters it; none: it is embedded.
    pub server: Option<PathBuf>,
}

impl Place {
    /// What a thread needs of the context.
    pub fn of(context: &Context) -> Place {
        Place { data_folder: context.data_folder.clone(), server: context.server.clone() }
    }
}

/// A cell of a row that is loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cell {
    /// An integer.
    Integer(i64),
    /// Text without tabs, line ends, quotes or backslashes.
    Text(String),
}

/// A column of a table.
pub struct Column {
    /// Name.
    pub name: &'static str,
    /// What it holds.
    pub kind: ColumnKind,
}

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    /// A primary key that the database numbers itself when none is given.
    Identity,
    /// A primary key that is always given.
    Key,
    /// A number that is not NULL.
    Integer,
    /// Text of a fixed width, not NULL.
    Text(u32),
    /// Text of a fixed width that may be NULL and that nobody reads.
    Filler(u32),
    /// A moment that may be NULL.
    Timestamp,
}

/// What a database counts itself, since it was made.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Counters {
    /// Bytes of its log of changes (WAL, redo).
    pub log_bytes: Option<f64>,
    /// Checkpoints.
    pub checkpoints: Option<f64>,
    /// Waits for the lock of a row.
    pub lock_waits: Option<f64>,
    /// Seconds of these waits.
    pub lock_wait_seconds: Option<f64>,
}

/// Metrics of [`Counters::since`].
pub const COUNTERS: &[Metric] = &[
    Metric::new("log_bytes", "B", Direction::Neither),
    Metric::new("log_bytes_per_transaction", "B", Direction::Less),
    Metric::new("checkpoints", "1", Direction::Less),
    Metric::new("lock_waits", "1", Direction::Less),
    Metric::new("lock_wait_seconds", "s", Direction::Less),
];

impl Counters {
    /// What grew since, and how much of it a transaction caused.
    pub fn since(self, before: Counters, transactions: f64) -> Vec<Measured> {
        let grown = |now: Option<f64>, then: Option<f64>| now.zip(then).map(|(now, then)| now - then);
        let log = grown(self.log_bytes, before.log_bytes);
        let each = log.filter(|_| transactions > 0.0).map(|bytes| bytes / transactions);
        let checkpoints = grown(self.checkpoints, before.checkpoints);
        let waits = grown(self.lock_waits, before.lock_waits);
        let waited = grown(self.lock_wait_seconds, before.lock_wait_seconds);
        let values = [log, each, checkpoints, waits, waited];
        COUNTERS.iter().zip(values).filter_map(|(metric, value)| Some(metric.at(value?))).collect()
    }
}

/// A database.
pub trait Database: Sync {
    /// The name that settings know it by.
    fn name(&self) -> &'static str;

    /// A connection for one thread.
    fn connect(&self, place: &Place) -> Result<Box<dyn Connection>, Error>;

    /// Makes the database itself, before its tables.
    fn create(&self, place: &Place) -> Result<(), Error>;

    /// The statement that makes a table.
    fn table(&self, name: &str, columns: &[Column]) -> String;

    /// Loads rows as fast as it can; `next` fills a row and gives false when there is none left.
    fn load(
        &self,
        place: &Place,
        table: &str,
        columns: &[Column],
        next: &mut dyn FnMut(&mut Vec<Cell>) -> bool,
    ) -> Result<(), Error>;

    /// What is to be done once all tables are loaded: statistics, the next number of identities.
    fn loaded(&self, place: &Place, tables: &[String]) -> Result<(), Error>;

    /// Brings it to the start of a checkpoint cycle.
    fn checkpoint(&self, place: &Place) -> Result<(), Error>;

    /// Its own consistency check.
    fn check(&self, place: &Place, tables: &[String]) -> Result<(), Error>;

    /// What it counted so far.
    fn counters(&self, place: &Place) -> Result<Counters, Error>;

    /// Whether a statement that waited for a row which another replaced meanwhile finds no row.
    fn misses_replaced_rows(&self) -> bool {
        false
    }

    /// A table's name for a connection that has chosen no database.
    fn qualified(&self, table: &str) -> String {
        table.into()
    }

    /// How a transaction begins.
    fn begin(&self) -> &'static str {
        "BEGIN"
    }
}

/// The served database of a service's name; none: it is no server's.
pub fn served(name: &str) -> Option<Box<dyn Database>> {
    match name {
        "postgres" => Some(Box::new(postgres::Postgres)),
        "mariadb" => Some(Box::new(mariadb::MariaDb)),
        _ => None,
    }
}

/// Names of the served databases, which are names of services too.
pub const SERVED: &[&str] = &["postgres", "mariadb"];

/// The service that an engine's name stands for; none: it is embedded.
pub fn service_of(engine: &str) -> Option<&'static str> {
    SERVED.iter().find(|name| **name == engine).copied()
}

/// A refusal or loss as a workload's error: `map_err(failed("postgres", "load the rows"))`.
pub fn failed(engine: &'static str, action: &'static str) -> impl FnOnce(wire::Error) -> Error {
    move |error| Error::Engine { engine: engine.into(), action: action.into(), source: Box::new(error) }
}

/// Wrong data unless both are the same.
pub fn same(place: &str, expected: &str, found: &str) -> Result<(), Error> {
    if expected == found {
        return Ok(());
    }
    Err(Error::WrongData { place: place.into(), expected: expected.into(), found: found.into() })
}

fn socket(place: &Place, engine: &'static str) -> Result<PathBuf, Error> {
    let none = || wire::Error::Connect(engine.into(), std::io::ErrorKind::NotFound.into());
    place.server.clone().ok_or_else(none).map_err(failed(engine, "be reached: the trial started no server"))
}
