//! `oltp`: sysbench's transaction mix on an embedded or served database, by our own driver.
//!
//! Statements, tables and distributions are those of sysbench 0.4 and 1.0 (`rows_like` says whose rows); `mix.rs` has the
//! transaction, `keys.rs` the distributions, `engine.rs` the seam that an engine fills with one file.

mod drive;
mod engine;
mod keys;
mod mix;
mod sqlite;

pub use drive::{DriverCost, driver_cost};

use crate::workload::{Context, Error, Estimate, Kind, Outcome, Workload};
use engine::Engine;
use keys::Distribution;
use mix::RowsLike;
use observe::durability::{Class, Durability};
use observe::metric::{Direction, Measured, Metric};
use serde::Deserialize;
use serde_json::{Map, Value};
use settings::{Kind as Is, Setting};

/// The row in the list of workloads.
pub static KIND: Kind = Kind {
    name: "oltp",
    summary: "sysbench's OLTP transactions (14 reads, 4 writes, begin and commit) on SQLite",
    example: "[workload.oltp]\nengine = \"sqlite\"\ntable_size = 100000\nthreads = 4\ntime = \"30s\"\n",
    settings: SETTINGS,
    metrics: |_| METRICS.to_vec(),
    durability,
    estimate,
    check,
    open: |map| Ok(Box::new(Oltp::new(Parameters::from_map(map)))),
};

const SETTINGS: &[Setting] = &[
    Setting { name: "engine", kind: Is::Choice(&["sqlite"]), default: Some("sqlite"), help: "The database." },
    Setting { name: "rows_like", kind: Is::Choice(&["1.0", "0.4"]), default: Some("1.0"), help: "Whose rows: sysbench 1.0 (random k, 119 and 59 digits, index after the load) or 0.4 (k = 0, constant text, index before it, ranges clamped into the table)." },
    Setting { name: "tables", kind: Is::Integer { min: 1, max: 1000 }, default: Some("1"), help: "Tables; each transaction takes one of them." },
    Setting { name: "table_size", kind: Is::Integer { min: 200, max: 1_000_000_000 }, default: Some("100000"), help: "Rows of each table." },
    Setting { name: "id_range", kind: Is::Integer { min: 200, max: 1_000_000_000 }, default: None, help: "Rows that the run touches, from id 1. Default: the whole table. A well-known comparison of 2005 loaded 200,000 rows and touched 10,000: table_size = 200000 with id_range = 10000 is that study to the letter." },
    Setting { name: "threads", kind: Is::Integer { min: 1, max: 1024 }, default: Some("1"), help: "Threads, each with a connection of its own, as fast as they can (closed loop)." },
    Setting { name: "distribution", kind: Is::Choice(&["uniform", "gaussian", "special-1.0", "special-0.4", "pareto", "zipf"]), default: Some("uniform"), help: "How ids are drawn. `special` sends three of four draws to a hot 1 % in the middle; 1.0 and 0.4 differ in its width." },
    Setting { name: "range_size", kind: Is::Integer { min: 1, max: 100_000 }, default: Some("100"), help: "Rows of a range query." },
    Setting { name: "time", kind: Is::Seconds { min: 0.0, max: 1e6 }, default: Some("10s"), help: "Length of a run; 0s: until `transactions` are done." },
    Setting { name: "transactions", kind: Is::Integer { min: 0, max: i64::MAX }, default: Some("0"), help: "A run ends after so many transactions; 0: only by time." },
    Setting { name: "begin", kind: Is::Choice(&["immediate", "deferred"]), default: Some("immediate"), help: "How SQLite begins: `immediate` takes the write lock at once and waits for it; `deferred` is sysbench's plain BEGIN, whose upgrade to a write fails when another thread has written, and is then retried." },
    Setting { name: "journal_mode", kind: Is::Choice(&["wal", "delete", "truncate", "persist", "memory", "off"]), default: Some("wal"), help: "SQLite's journal." },
    Setting { name: "synchronous", kind: Is::Choice(&["full", "normal", "off", "extra"]), default: Some("full"), help: "When SQLite flushes: `full` at every commit; `normal` in WAL mode only at checkpoints." },
    Setting { name: "page_size", kind: Is::Choice(&["4KiB", "512B", "1KiB", "2KiB", "8KiB", "16KiB", "32KiB", "64KiB"]), default: Some("4KiB"), help: "SQLite's page." },
    Setting { name: "cache_size", kind: Is::Bytes { min: 0, max: 1 << 40 }, default: Some("2MiB"), help: "SQLite's page cache, for each connection." },
    Setting { name: "mmap_size", kind: Is::Bytes { min: 0, max: 1 << 46 }, default: Some("0B"), help: "How much of the file SQLite maps into memory." },
    Setting { name: "busy_timeout", kind: Is::Seconds { min: 0.0, max: 3600.0 }, default: Some("5s"), help: "How long a connection waits for another's lock before the transaction is tried again." },
];

const METRICS: &[Metric] = &[
    Metric::new("transactions_per_second", "1/s", Direction::More),
    Metric::new("queries_per_second", "1/s", Direction::More),
    Metric::new("transactions", "1", Direction::Neither),
    Metric::new("reads", "1", Direction::Neither),
    Metric::new("writes", "1", Direction::Neither),
    Metric::new("others", "1", Direction::Neither),
    Metric::new("retries", "1", Direction::Less),
    Metric::new("elapsed_seconds", "s", Direction::Less),
    Metric::new("latency_microseconds_mean", "µs", Direction::Less),
    Metric::new("latency_microseconds_p50", "µs", Direction::Less),
    Metric::new("latency_microseconds_p95", "µs", Direction::Less),
    Metric::new("latency_microseconds_p99", "µs", Direction::Less),
    Metric::new("latency_microseconds_p99_9", "µs", Direction::Less),
    Metric::new("latency_microseconds_max", "µs", Direction::Less),
];

/// Checked parameters.
#[derive(Debug, Clone, Deserialize)]
pub struct Parameters {
    engine: String,
    rows_like: RowsLike,
    tables: u32,
    table_size: u64,
    id_range: Option<u64>,
    threads: usize,
    distribution: Distribution,
    range_size: u64,
    #[serde(rename = "time")]
    time_seconds: f64,
    transactions: u64,
    begin: String,
    journal_mode: String,
    synchronous: String,
    page_size: String,
    #[serde(rename = "cache_size")]
    cache_bytes: u64,
    #[serde(rename = "mmap_size")]
    mmap_bytes: u64,
    #[serde(rename = "busy_timeout")]
    busy_timeout_seconds: f64,
}

impl Parameters {
    fn from_map(map: &Map<String, Value>) -> Parameters {
        serde_json::from_value(Value::Object(map.clone())).expect("the settings' checks make every field fit")
    }

    /// Rows that the run touches.
    fn ids(&self) -> u64 {
        self.id_range.unwrap_or(self.table_size)
    }
}

/// A row with its index entry and b-tree overhead, measured on a file of 100,000 rows of each kind with 4 KiB pages.
fn row_bytes(rows: RowsLike) -> u64 {
    match rows {
        RowsLike::One => 211,
        RowsLike::ZeroFour => 73,
    }
}

/// Rows loaded in a second, for `plan` only: 20,000 took 0.04 s on ext4 (2026-11-21, two cores), larger tables are slower.
const LOADED_ROWS_PER_SECOND: f64 = 300_000.0;

fn estimate(map: &Map<String, Value>) -> Estimate {
    let parameters = Parameters::from_map(map);
    let rows = parameters.table_size * u64::from(parameters.tables);
    Estimate {
        data_bytes: rows * row_bytes(parameters.rows_like),
        load_seconds: rows as f64 / LOADED_ROWS_PER_SECOND,
        run_seconds: parameters.time_seconds,
    }
}

fn check(map: &Map<String, Value>) -> Vec<String> {
    let parameters = Parameters::from_map(map);
    let mut problems = Vec::new();
    if parameters.time_seconds == 0.0 && parameters.transactions == 0 {
        problems.push("neither `time` nor `transactions` ends a run: set one of them".into());
    }
    if parameters.ids() > parameters.table_size {
        problems.push(format!("id_range ({}) is larger than table_size ({})", parameters.ids(), parameters.table_size));
    }
    if parameters.range_size > parameters.ids() {
        problems.push(format!("range_size ({}) is larger than the rows that a run touches ({})", parameters.range_size, parameters.ids()));
    }
    problems
}

/// SQLite's documentation of `synchronous` and `journal_mode` (sqlite.org/pragma.html).
fn durability(map: &Map<String, Value>) -> Durability {
    let parameters = Parameters::from_map(map);
    let (journal, synchronous) = (parameters.journal_mode.as_str(), parameters.synchronous.as_str());
    let because = |class, reason: String| Durability { class, reasons: vec![reason] };
    match (journal, synchronous) {
        ("off" | "memory", _) => because(Class::MayCorrupt, format!("journal_mode = {journal}: nothing to roll back from")),
        (_, "off") => because(Class::MayCorrupt, "synchronous = off: SQLite never flushes".into()),
        ("wal", "normal") => because(Class::LosesRecent, "synchronous = normal with WAL: commits are flushed at checkpoints only".into()),
        (_, "normal") => because(Class::MayCorrupt, "synchronous = normal without WAL: a power cut at the wrong moment may corrupt".into()),
        _ => Durability::full(),
    }
}

/// The workload at work.
struct Oltp {
    parameters: Parameters,
    engine: Box<dyn Engine>,
    runs: u64,
    last_writes: Vec<mix::Written>,
}

impl Oltp {
    fn new(parameters: Parameters) -> Oltp {
        // The choice of engines has one word; PostgreSQL and MariaDB become arms of a match here.
        assert_eq!(parameters.engine, "sqlite", "the settings' check knows the engines");
        let engine = Box::new(sqlite::Sqlite::new(parameters.clone()));
        Oltp { parameters, engine, runs: 0, last_writes: Vec::new() }
    }
}

impl Workload for Oltp {
    fn prepare(&mut self, context: &mut Context) -> Result<Vec<Measured>, Error> {
        let started = std::time::Instant::now();
        self.engine.load(context)?;
        let seconds = started.elapsed().as_secs_f64();
        Ok(vec![Metric::new("load_seconds", "s", Direction::Less).at(seconds)])
    }

    fn run(&mut self, context: &mut Context) -> Result<Outcome, Error> {
        // Every run starts at the same point of the checkpoint cycle, and does other transactions than the one before.
        self.engine.checkpoint(context)?;
        self.runs += 1;
        let (outcome, written) = drive::drive(&self.parameters, &*self.engine, context, self.runs)?;
        self.last_writes = written;
        Ok(outcome)
    }

    fn verify(&mut self, context: &mut Context) -> Result<(), Error> {
        self.engine.verify(context, &self.last_writes)
    }
}

#[cfg(test)]
mod tests;
