//! `sql`: a user's own transactions, in scripts that pgbench reads, on their own tables.
//!
//! What a script is, is known by the crate `script`; here are the load's settings, its data (`data.rs`), a connection's way through the
//! scripts (`connection.rs`) and the user's own checks (`checks.rs`).

mod checks;
mod connection;
mod data;
mod files;

use connection::Connection;
use files::Files;
pub(crate) use files::{dump, weakened};
use load::engines;
use load::sql::{Database, Engine, Place, Pragmas};
use load::sql_load::{self, Load, Protocol, TransactionWorkload, Transactions};
use load::workload::{self, Context, Elsewhere, Error, Estimate, Kind, Outcome, Texts, Workload, WorkloadSettings};
use observe::durability::Durability;
use serde::Deserialize;
use serde_json::{Map, Value};
use settings::{Kind as Is, Setting};
use std::path::PathBuf;

/// The row in the list of workloads.
pub static KIND: Kind = Kind {
    name: "sql",
    summary: "your own transactions, in pgbench's scripts, on your own data, on PostgreSQL, MariaDB or SQLite",
    example: "[workload.sql]\nengine = \"postgres\"\nschema = \"shop.sql\"\ndata = \"shop.data\"\nscripts = [\"order.sql@9\", \"report.sql\"]\nthreads = 16\ntime = \"30s\"\n",
    settings: SETTINGS,
    choices: &["engine", "cache_size", "journal_mode", "mmap_size", "page_size", "synchronous"],
    elsewhere: Elsewhere::All,
    read: workload::read::<Parameters>,
};

const SETTINGS: &[Setting] = load::with_pragmas![
    Setting::new("engine", Is::Choice(engines::SQL_NAMES), engines::postgres::ENGINE.name)
        .help("The database: a server that `[service.NAME]` configures, or embedded SQLite."),
    Setting::new("scripts", Is::TextList, "[]")
        .help("Files of transactions as pgbench reads them (`\\set`, `\\if`, `\\sleep`, `\\gset` …), each with its weight: [\"order.sql@9\", \"report.sql\"]. Each transaction is one script, chosen by weight. Paths are those of the folder where surefoot is started."),
    Setting::new("schema", Is::Text, "")
        .help("A file of statements that make the tables and their indexes, before the data are loaded."),
    Setting::new("data", Is::Text, "")
        .help("A file of rules that fill tables: `\\table NAME ROWS`, then `\\column NAME VALUE` for each column, with the expressions of scripts, `:row` and `letters(n)`."),
    Setting::new("dump", Is::Text, "")
        .help("A dump that is loaded before `schema`: `pg_dump`'s text or archive, `mysqldump`'s text, an SQLite file or its `.dump`."),
    Setting::new("variables", Is::Table, "{}")
        .help("Variables of scripts and rules (pgbench's -D): { scale = 10 }. Without it `:scale` is 1."),
    Setting::new("checks", Is::Table, "{}")
        .help("Statements that must give a stated answer when all runs of a trial are done: { \"SELECT count(*) FROM orders WHERE total < 0\" = 0 }. Columns of a row are joined by `|`, rows by line ends."),
    Setting::new("protocol", Is::Choice(&["simple", "extended", "prepared"]), "simple")
        .help("How statements are sent (pgbench's -M): `simple` as text with the values in it, `prepared` once for each connection, `extended` with parameters but prepared each time (PostgreSQL only)."),
    sql_load::THREADS,
    sql_load::DRIVER_THREADS,
    sql_load::TIME,
    sql_load::TRANSACTIONS,
    sql_load::RATE,
    sql_load::THINK_TIME,
    sql_load::RETRY,
    sql_load::RECONNECT,
    sql_load::ERRORS_MAX,
];

/// Checked parameters.
#[derive(Debug, Clone, Deserialize)]
struct Parameters {
    engine: &'static Engine,
    scripts: Vec<String>,
    schema: PathBuf,
    data: PathBuf,
    dump: PathBuf,
    variables: Map<String, Value>,
    checks: Map<String, Value>,
    #[serde(flatten)]
    load: Load,
    #[serde(flatten)]
    pragmas: Pragmas,
}

impl Parameters {
    /// Names and values of the user's variables, and the scale that every script has.
    fn given(&self) -> Vec<(&str, script::Value)> {
        let value = |value: &Value| match value {
            Value::Bool(boolean) => script::Value::Boolean(*boolean),
            Value::Number(number) => number
                .as_i64()
                .map_or_else(|| script::Value::Double(number.as_f64().unwrap_or(f64::NAN)), script::Value::Integer),
            Value::String(text) => script::Value::Text(text.as_str().into()),
            _ => script::Value::Null,
        };
        let scale = (!self.variables.contains_key("scale")).then_some(("scale", script::Value::Integer(1)));
        self.variables.iter().map(|(name, given)| (name.as_str(), value(given))).chain(scale).collect()
    }
}

impl WorkloadSettings for Parameters {
    load::settings_of_transactions!();

    fn problems(&self) -> Vec<String> {
        let own = sql_load::check(&self.load).into_iter();
        let extended = (self.load.protocol == Protocol::Extended && !self.engine.facts().has_unnamed_statements)
            .then(|| format!("protocol: {} has no `extended`; it takes simple and prepared", self.engine.name));
        let of_files = match Files::read(self) {
            Ok(files) => files.problems(self),
            Err(problems) => problems,
        };
        own.chain(extended).chain(of_files).collect()
    }

    /// What the engine's settings do to durability, unless files say otherwise where nobody looks.
    fn durability(&self) -> Durability {
        let by_files = Files::read(self).map_or_else(|_| Durability::full(), |files| files.durability(self.engine));
        self.engine.durability(&self.pragmas).and(by_files)
    }

    fn estimate(&self) -> Estimate {
        let bytes = Files::read(self).map_or(0, |files| files.data_bytes(self));
        Estimate {
            data_bytes: bytes,
            load_seconds: bytes as f64 / LOADED_BYTES_PER_SECOND,
            run_seconds: self.load.time_seconds,
        }
    }

    /// The same files with the same variables give the same data.
    fn data_key(&self) -> String {
        let variables = Value::Object(self.variables.clone());
        let files = Files::read(self).map_or_else(|problems| problems.join("; "), |files| files.key());
        format!("sql on {}, {files}, variables {variables}", self.engine.name)
    }

    fn user_files(&self) -> Vec<PathBuf> {
        let scripts = files::scripts(&self.scripts).map(|(name, _)| PathBuf::from(name));
        let data = [&self.schema, &self.data, &self.dump].into_iter().cloned();
        scripts.chain(data).filter(|file| !file.as_os_str().is_empty()).collect()
    }

    fn brings_files(&self) -> bool {
        true
    }

    fn texts(&self, _: u64) -> Result<Texts, Error> {
        files::texts(&self.scripts)
    }

    fn open(self: Box<Self>) -> Result<Box<dyn Workload>, Error> {
        let files = Files::read(&self).map_err(wrong)?;
        Ok(workload(*self, files))
    }

    /// To run on data that are there.
    fn open_with_texts(self: Box<Self>, texts: &Texts) -> Result<Box<dyn Workload>, Error> {
        let files = Files::of_texts(&self, texts).map_err(wrong)?;
        Ok(workload(*self, files))
    }
}

/// Loaded in a second, for `plan` only: a million rows by rule, 80 MB by our estimate, took 2 s in SQLite, 7 s in PostgreSQL and 10 s in MariaDB, server and
/// template included (2026-11-23, two cores, beside other work).
const LOADED_BYTES_PER_SECOND: f64 = 15e6;

/// The transactions at work.
struct Sql {
    parameters: Parameters,
    files: Files,
    /// As the data made them; none: not asked yet.
    unsafe_tables: Option<Vec<String>>,
}

fn workload(parameters: Parameters, files: Files) -> Box<dyn Workload> {
    let database = parameters.engine.database(&parameters.pragmas);
    Box::new(TransactionWorkload::new(Sql { parameters, files, unsafe_tables: None }, database))
}

fn wrong(problems: Vec<String>) -> Error {
    Error::Parameter { setting: "scripts", problem: problems.join("; ") }
}

/// What a reader must know of tables that lose their rows in a crash; none: there are none.
pub(crate) fn note_of_unsafe(tables: &[String]) -> Option<String> {
    let words = || {
        let tables = tables.join(", ");
        format!("A crash empties or breaks {tables}, whatever the settings promise: no such table keeps its commits.")
    };
    (!tables.is_empty()).then(words)
}

impl Transactions for Sql {
    type Script = Connection;

    fn load(&self) -> &Load {
        &self.parameters.load
    }

    fn fill(&self, database: &dyn Database, context: &Context) -> Result<(), Error> {
        data::load(database, &self.files, &self.parameters, context)
    }

    fn script(&self, _: &dyn Database, seed: u64, run: u64, connection: usize) -> Connection {
        Connection::new(&self.files.program, connection, (seed, run), &self.parameters.given())
    }

    fn ran(
        &mut self,
        _: Vec<Connection>,
        database: &dyn Database,
        place: &Place,
        outcome: &mut Outcome,
    ) -> Result<(), Error> {
        if self.unsafe_tables.is_none() {
            self.unsafe_tables = Some(database.unsafe_tables(place)?);
        }
        outcome.notes.extend(note_of_unsafe(self.unsafe_tables.as_deref().unwrap_or_default()));
        Ok(())
    }

    fn tables(&self, database: &dyn Database, place: &Place) -> Result<Vec<String>, Error> {
        database.tables(place)
    }

    fn verify(&self, database: &dyn Database, place: &Place) -> Result<(), Error> {
        checks::hold(database, place, &self.parameters.checks)
    }
}
