//! What a database is to a load, embedded or served: its row in the list of engines, and, where it takes SQL, what can be asked of it.
//! Kinds of workload know only what is here; engines are a file each in `engines`.

mod dialect;
mod dump;
pub mod pragmas;

pub use dialect::{COMMON, Dialect};
pub use dump::DumpForm;
pub use pragmas::{BUSY_TIMEOUT, CACHE_SIZE, JOURNAL_MODE, MMAP_SIZE, PAGE_SIZE, Pragmas, SYNCHRONOUS};

use crate::workload::{Context, Error, Server};
use observe::durability::{Class, Durability};
use observe::metric::{Direction, Measured, Metric};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use wire::{Address, Connection};

/// An engine as a row of the list: all that is known of it without using it.
#[derive(Debug)]
pub struct Engine {
    /// The name users write: `postgres`. A server's service has it, too.
    pub name: &'static str,
    /// Bytes of a page where nobody asks for others.
    pub page_bytes: usize,
    /// Whether it works in the load's own threads; else it is a service.
    pub is_embedded: bool,
    /// What it is as a database that takes SQL, if it is one.
    pub sql: Option<Sql>,
    /// Bytes on the filesystem for each small row, with its log: measured with 3n+1 at 10^6 and, on servers, 10^5 numbers (2026-11-21). 0 of one that 3n+1 does not run on.
    pub small_row_bytes: f64,
    /// Workloads on it that lose in a power cut what `commits` loses on it; of others nobody knows which commits must be there.
    pub power_cuts_of: &'static [&'static str],
    /// Why what `commits` loses can't be measured with these settings of its service, if it can't.
    pub unmeasured: fn(&Map<String, Value>) -> Option<&'static str>,
    /// Why these settings of its service do nothing to the tables that a load makes by a [`Dialect`], if they do.
    pub unheard: fn(&Map<String, Value>) -> Option<String>,
    /// Whether a process can have it open once only, by its path: whatever mounts threads of the process have.
    pub opens_once: bool,
    /// What a file of its data folder is, by its path in there.
    pub file_kind: fn(&str) -> &'static str,
}

/// A database that takes SQL, as far as it is known without using it.
#[derive(Debug)]
pub struct Sql {
    /// Opens it; the pragmas are those of an embedded one.
    pub open: fn(&Pragmas) -> Box<dyn Database>,
    /// Forms of dumps that it loads.
    pub dumps: &'static [DumpForm],
    /// Whether its protocol prepares a statement with parameters for one use.
    pub has_unnamed_statements: bool,
    /// Whether a script's message may have several statements: what they do to a transaction is known of PostgreSQL's.
    pub takes_several_statements: bool,
    /// How its server is reached by an address; none: it has no server.
    pub remote: Option<Remote>,
    /// Forms of logs that its server writes (`sqllog::Form`, by name); none: it writes none.
    pub logs: &'static [&'static str],
    /// Words of statements, one after the other, that lower what a commit promises (its manual), the class that they may lower it to, and why.
    pub weakening: &'static [(&'static str, Class, &'static str)],
    /// A statement's first word and others that it has, of what neither a script nor a schema may do, and why.
    pub refused: &'static [(&'static str, &'static str)],
    /// The same of what no script may do where other connections are at work.
    pub refused_beside_others: &'static [(&'static str, &'static str)],
    /// The same of what a schema may not have alone, as it would have no effect there.
    pub refused_in_schema: &'static [(&'static str, &'static str)],
}

/// How a server is reached that surefoot did not start.
#[derive(Debug)]
pub struct Remote {
    /// Schemes of its URLs.
    pub schemes: &'static [&'static str],
    /// The port where none is named.
    pub port: u16,
    /// The user where none is named.
    pub user: &'static str,
    /// The variable of the environment in which its own clients look for a password.
    pub password_variable: &'static str,
    /// The option of a URL that names its socket, and an example of what it is set to.
    pub socket_option: (&'static str, &'static str),
    /// The socket's file, by that option and the port.
    pub socket: fn(&str, u16) -> PathBuf,
    /// Connects.
    pub connect: ConnectTo,
}

/// Connects to an address, with user, password and database.
pub type ConnectTo = fn(&Address, &str, Option<&str>, &str) -> Result<Box<dyn Connection>, wire::Error>;

impl Engine {
    /// The facts of a database that takes SQL, for who may only be asked to use such engines.
    pub fn facts(&self) -> &Sql {
        self.sql.as_ref().expect("the settings' check let only engines pass that take SQL")
    }

    /// The service that it is; none: it is embedded.
    pub fn service(&self) -> Option<&'static str> {
        (!self.is_embedded).then_some(self.name)
    }

    /// The same, as the services of a load on it.
    pub fn services(&self) -> Vec<&'static str> {
        self.service().into_iter().collect()
    }

    /// The database that takes SQL, for who may only be asked to use such engines.
    pub fn database(&self, pragmas: &Pragmas) -> Box<dyn Database> {
        (self.facts().open)(pragmas)
    }

    /// What it does to durability: of a server its own settings decide, and its service knows them.
    pub fn durability(&self, pragmas: &Pragmas) -> Durability {
        if self.is_embedded { pragmas.durability() } else { Durability::full() }
    }
}

/// A server without SQL and without more to say of it: each engine says in what it differs.
pub const PLAIN: Engine = Engine {
    name: "",
    page_bytes: 4096,
    is_embedded: false,
    sql: None,
    small_row_bytes: 0.0,
    power_cuts_of: &[],
    unmeasured: |_| None,
    unheard: |_| None,
    opens_once: false,
    file_kind: |_| "database",
};

/// What the settings say of a load that makes all its tables by its engine's [`Dialect`], of a struct with its `engine`.
#[macro_export]
macro_rules! problems_of_own_tables {
    () => {
        fn problems_beside(
            &self,
            services: &std::collections::BTreeMap<String, serde_json::Map<String, serde_json::Value>>,
        ) -> Vec<String> {
            services.get(self.engine.name).and_then(self.engine.unheard).into_iter().collect()
        }
    };
}

impl PartialEq for Engine {
    fn eq(&self, other: &Engine) -> bool {
        self.name == other.name
    }
}

impl Serialize for Engine {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name)
    }
}

/// Where a database lies.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Place {
    /// The folder on the filesystem under test.
    pub data_folder: PathBuf,
    /// Its server; none: it is embedded.
    pub server: Option<Server>,
}

impl Place {
    /// What a thread needs of the context.
    pub fn of(context: &Context) -> Place {
        Place { data_folder: context.data_folder.clone(), server: context.server.clone() }
    }
}

/// A cell of a row that is loaded.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// NULL.
    Null,
    /// A boolean, or 1 and 0 where there are none.
    Boolean(bool),
    /// An integer.
    Integer(i64),
    /// A fraction.
    Double(f64),
    /// Text.
    Text(String),
}

/// Fills a row that is loaded, and gives false when there is none left.
pub type NextRow<'a> = &'a mut dyn FnMut(&mut Vec<Cell>) -> bool;

/// A column of a table: its name, and what it holds.
pub type Column = (&'static str, ColumnKind);

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

/// The names of columns.
pub fn names(columns: &[Column]) -> Vec<&'static str> {
    columns.iter().map(|(name, _)| *name).collect()
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
    /// Its row in the list.
    fn engine(&self) -> &'static Engine;

    /// The name that settings know it by.
    fn name(&self) -> &'static str {
        self.engine().name
    }

    /// What it says differently.
    fn dialect(&self) -> &'static Dialect {
        &COMMON
    }

    /// Whether there is anything of it yet; of a server, that is known when it is reached.
    fn is_there(&self, _place: &Place) -> bool {
        true
    }

    /// A connection for one thread.
    fn connect(&self, place: &Place) -> Result<Box<dyn Connection>, Error>;

    /// Makes the database itself, before its tables, where a connection does not.
    fn create(&self, _place: &Place) -> Result<(), Error> {
        Ok(())
    }

    /// Loads rows as fast as it can.
    fn load(&self, place: &Place, table: &str, columns: &[&str], next: NextRow) -> Result<(), Error>;

    /// Loads a dump that its own tools wrote.
    ///
    /// # Errors
    /// When it is none of this database's, or does not load.
    fn load_dump(&self, place: &Place, dump: &Path, interrupted: &AtomicBool) -> Result<(), Error>;

    /// All tables that users made.
    fn tables(&self, place: &Place) -> Result<Vec<String>, Error>;

    /// Tables that lose their rows in a crash, whatever the settings promise.
    fn unsafe_tables(&self, _place: &Place) -> Result<Vec<String>, Error> {
        Ok(Vec::new())
    }

    /// What is to be done once all tables are loaded: statistics, the next number of identities.
    fn loaded(&self, _place: &Place, _tables: &[String]) -> Result<(), Error> {
        Ok(())
    }

    /// Brings it to the start of a checkpoint cycle.
    fn checkpoint(&self, place: &Place) -> Result<(), Error>;

    /// Writes what is dirty of these tables to the disk, now: a checkpoint, or what is sooner done.
    fn write_out(&self, place: &Place, _tables: &[String]) -> Result<(), Error> {
        self.checkpoint(place)
    }

    /// Its own consistency check.
    fn check(&self, place: &Place, tables: &[String]) -> Result<(), Error>;

    /// The statement by which it is asked for its own check after it has recovered, by a connection that has chosen no database.
    fn question_of_health(&self, tables: &[String]) -> String;

    /// Whether a row of the answer to [`Database::question_of_health`] says that all is well.
    fn is_well(&self, row: &[Option<String>]) -> bool {
        row.last().is_some_and(|said| said.as_deref().is_some_and(|said| said.eq_ignore_ascii_case("ok")))
    }

    /// Whether a checkpoint never ends while others commit.
    fn checkpoints_alone(&self) -> bool {
        false
    }

    /// What it counted so far.
    fn counters(&self, _place: &Place) -> Result<Counters, Error> {
        Ok(Counters::default())
    }

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

impl dyn Database + '_ {
    /// Loads a row for each of these numbers.
    ///
    /// # Errors
    /// When it refuses them, or is lost.
    pub fn load_each<T>(
        &self,
        place: &Place,
        table: &str,
        columns: &[&str],
        mut numbers: impl Iterator<Item = T>,
        mut row: impl FnMut(T, &mut Vec<Cell>),
    ) -> Result<(), Error> {
        self.load(place, table, columns, &mut |cells| {
            let Some(number) = numbers.next() else { return false };
            row(number, cells);
            true
        })
    }
}

/// A refusal or loss as a workload's error: `map_err(failed("postgres", "load the rows"))`.
pub fn failed<E: Into<Box<dyn std::error::Error + Send + Sync>>>(engine: &str, action: &str) -> impl Fn(E) -> Error {
    move |source| Error::engine(engine, action, source)
}

/// Wrong data unless both are the same.
pub fn same(place: &str, expected: &str, found: &str) -> Result<(), Error> {
    if expected == found {
        return Ok(());
    }
    Err(Error::wrong_data(place, expected, found))
}

pub(crate) fn server<'a>(place: &'a Place, engine: &'static str) -> Result<&'a Server, Error> {
    let none = || wire::Error::Connect(engine.into(), std::io::ErrorKind::NotFound.into());
    place.server.as_ref().ok_or_else(none).map_err(failed(engine, "be reached: the trial started no server"))
}

/// For its own tools, which load data where the server is.
pub(crate) fn socket(place: &Place, engine: &'static str) -> Result<PathBuf, Error> {
    let none = || wire::Error::Connect(engine.into(), std::io::ErrorKind::AddrNotAvailable.into());
    let file = server(place, engine)?.file().map(Path::to_path_buf);
    file.ok_or_else(none).map_err(failed(engine, "be reached by its socket"))
}
