//! `oltp`: sysbench's transaction mix on an embedded or served database, by our own driver.
//!
//! Statements, tables and distributions are those of sysbench 0.4 and 1.0 (`rows_like` says whose rows); `mix.rs` has the
//! transaction, `keys.rs` the distributions, `script.rs` the statements, which `crate::load` runs.

mod acknowledged;
mod keys;
mod mix;
mod script;

use acknowledged::RowId;
use keys::Distribution;
use load::engines;
use load::sql::{self, Cell, Column, ColumnKind, Database, Engine, Place, Pragmas, same};
use load::sql_load::{self, Load, TransactionWorkload, Transactions};
use load::workload::{self, Context, Elsewhere, Error, Estimate, Kind, Outcome, Workload, WorkloadSettings};
use mix::{Mix, Mixture, RowsLike};
use observe::durability::Durability;
use random::Random;
use serde::Deserialize;
use settings::{Kind as Is, Setting};
use std::collections::{BTreeMap, HashMap};
use wire::Connection;

/// The row in the list of workloads.
pub static KIND: Kind = Kind {
    name: "oltp",
    summary: "sysbench's OLTP transactions (14 reads, 4 writes, begin and commit, and its other mixes) on SQLite, PostgreSQL or MariaDB",
    example: "[workload.oltp]\nengine = \"sqlite\"\ntable_size = 100000\nthreads = 4\ntime = \"30s\"\n",
    settings: SETTINGS,
    choices: &["engine", "begin", "cache_size", "journal_mode", "mmap_size", "page_size", "synchronous"],
    elsewhere: Elsewhere::All,
    read: workload::read::<Parameters>,
};

const SETTINGS: &[Setting] = load::with_pragmas![
    Setting::new("engine", Is::Choice(engines::SQL_NAMES), engines::sqlite::ENGINE.name)
        .help("The database: embedded SQLite, or a server that `[service.NAME]` configures."),
    Setting::new("mix", Is::Choice(&[
            "read-write",
            "read-only",
            "write-only",
            "point-select",
            "update-index",
            "update-non-index",
            "insert",
            "delete",
            "select-random-points",
            "select-random-ranges",
        ]), "read-write")
        .help("What a transaction does: sysbench's scripts of these names."),
    Setting::new("rows_like", Is::Choice(&["1.0", "0.4"]), "1.0")
        .help("Whose rows: sysbench 1.0 (random k, 119 and 59 digits, index after the load) or 0.4 (k = 0, constant text, index before it, ranges clamped into the table)."),
    Setting::new("tables", Is::Integer { min: 1, max: 1000 }, "1").help("Tables; each transaction takes one of them."),
    Setting::new("table_size", Is::Integer { min: 200, max: 1_000_000_000 }, "100000").help("Rows of each table."),
    Setting::absent("id_range", Is::Integer { min: 200, max: 1_000_000_000 })
        .help("Rows that the run touches, from id 1. Default: the whole table. A well-known comparison of 2005 loaded 200,000 rows and touched 10,000: table_size = 200000 with id_range = 10000 is that study to the letter."),
    sql_load::THREADS,
    sql_load::DRIVER_THREADS,
    Setting::new("distribution", Is::Choice(&["uniform", "gaussian", "special-1.0", "special-0.4", "pareto", "zipf"]), "uniform")
        .help("How ids are drawn. `special` sends three of four draws to a hot 1 % in the middle; 1.0 and 0.4 differ in its width."),
    Setting::new("range_size", Is::Integer { min: 1, max: 100_000 }, "100").help("Rows of a range query."),
    sql_load::TIME,
    sql_load::TRANSACTIONS,
    Setting::new("in_transaction", Is::Boolean, "true")
        .help("Whether BEGIN and COMMIT stand around the statements of a mix that has several."),
    sql_load::PREPARED,
    sql_load::RATE,
    sql_load::THINK_TIME,
    sql_load::RETRY,
    sql_load::RECONNECT,
    sql_load::ERRORS_MAX,
    Setting::new("begin", Is::Choice(&["immediate", "deferred"]), "immediate")
        .help("How SQLite begins: `immediate` takes the write lock at once and waits for it; `deferred` is sysbench's plain BEGIN, whose upgrade to a write fails when another thread has written, and is then retried."),
];

/// Checked parameters.
#[derive(Debug, Clone, Deserialize)]
pub struct Parameters {
    engine: &'static Engine,
    mix: Mixture,
    rows_like: RowsLike,
    tables: u32,
    table_size: u64,
    id_range: Option<u64>,
    #[serde(flatten)]
    load: Load,
    distribution: Distribution,
    range_size: u64,
    in_transaction: bool,
    #[serde(flatten)]
    pragmas: Pragmas,
}

impl Parameters {
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

impl WorkloadSettings for Parameters {
    load::settings_of_transactions!();

    load::problems_of_own_tables!();

    fn durability(&self) -> Durability {
        self.engine.durability(&self.pragmas)
    }

    fn estimate(&self) -> Estimate {
        let rows = self.table_size * u64::from(self.tables);
        Estimate {
            data_bytes: rows * row_bytes(self.rows_like),
            load_seconds: rows as f64 / LOADED_ROWS_PER_SECOND,
            run_seconds: self.load.time_seconds,
        }
    }

    fn problems(&self) -> Vec<String> {
        let (ids, size, range) = (self.ids(), self.table_size, self.range_size);
        let of_rows = load::sentences! {
            ids > size => "id_range ({ids}) is larger than table_size ({size})";
            range > ids => "range_size ({range}) is larger than the rows that a run touches ({ids})";
        };
        sql_load::check(&self.load).into_iter().chain(of_rows).collect()
    }

    fn data_key(&self) -> String {
        format!("oltp, {} tables of {} rows like {:?}", self.tables, self.table_size, self.rows_like)
    }

    fn open(self: Box<Self>) -> Result<Box<dyn Workload>, Error> {
        let database = self.engine.database(&self.pragmas);
        let oltp = Oltp { parameters: *self, rows_added: 0, rows_unknown: 0, possible: BTreeMap::new() };
        Ok(Box::new(TransactionWorkload::new(oltp, database)))
    }
}

/// sysbench's names.
fn table_name(table: u32) -> String {
    format!("sbtest{table}")
}

fn table_names(parameters: &Parameters) -> Vec<String> {
    (1..=parameters.tables).map(table_name).collect()
}

/// sysbench's table: a table that it loaded can be driven by us, and the other way round.
const COLUMNS: [Column; 4] = [
    ("id", ColumnKind::Identity),
    ("k", ColumnKind::Integer),
    ("c", ColumnKind::Text(120)),
    ("pad", ColumnKind::Text(60)),
];

/// Makes and fills the tables.
fn fill(database: &dyn Database, place: &Place, parameters: &Parameters, seed: u64) -> Result<(), Error> {
    let engine = database.name();
    database.create(place)?;
    let mut connection = database.connect(place)?;
    let mut run = |sql: &str| connection.query(sql).map(drop).map_err(sql::failed(engine, "make its tables"));
    let mut random = Random::new(seed);
    for table in 1..=parameters.tables {
        let name = table_name(table);
        let index = format!("CREATE INDEX k_{table} ON {name} (k)");
        run(&database.dialect().create(&name, &COLUMNS))?;
        // 0.4 makes the index before it loads, 1.0 after.
        if parameters.rows_like == RowsLike::ZeroFour {
            run(&index)?;
        }
        let (ids, mut row) = (1..=parameters.table_size, mix::Row::default());
        database.load_each(place, &name, &sql::names(&COLUMNS), ids, |id, cells| {
            mix::loaded_row(parameters.rows_like, parameters.table_size, &mut random, &mut row);
            cells.extend([id, row.k].map(|number| Cell::Integer(number as i64)));
            cells.extend([&row.c, &row.pad].map(|text| Cell::Text(text.clone())));
        })?;
        if parameters.rows_like == RowsLike::One {
            run(&index)?;
        }
    }
    database.loaded(place, &table_names(parameters))
}

/// Rows are read back in pieces of so many ids.
const READ_BACK_IDS: u64 = 10_000;

/// The transactions at work.
struct Oltp {
    parameters: Parameters,
    rows_added: i64,
    rows_unknown: i64,
    /// What rows may hold in column c after all runs so far.
    possible: BTreeMap<RowId, Vec<u64>>,
}

impl Oltp {
    /// Every row that was written holds what one of its last acknowledged writes wrote.
    fn acknowledged_writes(&self, connection: &mut dyn Connection, engine: &'static str) -> Result<(), Error> {
        let failed = sql::failed(engine, "read rows back");
        let mut rows = self.possible.iter().peekable();
        while let Some(((table, first), _)) = rows.peek().copied() {
            let (name, last) = (table_name(*table), first + READ_BACK_IDS);
            let text = format!("SELECT id, c FROM {name} WHERE id BETWEEN {first} AND {last}");
            let answer = connection.query(&text).map_err(&failed)?;
            let found = answer.rows.iter().filter_map(|row| Some((row.first()?.as_deref()?, row.get(1)?.as_deref()?)));
            let texts: HashMap<&str, &str> = found.collect();
            while let Some((row, hashes)) = rows.next_if(|next| next.0.0 == *table && next.0.1 <= last) {
                let found = texts.get(row.1.to_string().as_str()).copied();
                if !hashes.is_empty() && !found.is_some_and(|c| hashes.contains(&acknowledged::hash(c))) {
                    let (place, found) = (format!("c of row {} of {name}", row.1), found.unwrap_or("no row"));
                    return Err(Error::wrong_data(place, "what an acknowledged transaction wrote last", found));
                }
            }
        }
        Ok(())
    }
}

impl Transactions for Oltp {
    type Script = script::Oltp;

    fn load(&self) -> &Load {
        &self.parameters.load
    }

    fn fill(&self, database: &dyn Database, context: &Context) -> Result<(), Error> {
        fill(database, &Place::of(context), &self.parameters, context.seed)
    }

    fn script(&self, database: &dyn Database, seed: u64, run: u64, connection: usize) -> script::Oltp {
        let mix = Mix::new(&self.parameters, seed, run, connection as u64);
        script::Oltp::new(&self.parameters, mix, database.misses_replaced_rows())
    }

    fn ran(&mut self, scripts: Vec<script::Oltp>, _: &dyn Database, _: &Place, _: &mut Outcome) -> Result<(), Error> {
        self.rows_added += scripts.iter().map(|script| script.rows_added).sum::<i64>();
        self.rows_unknown += scripts.iter().map(|script| script.rows_unknown).sum::<i64>();
        // Every write of this run came after those of the runs before.
        self.possible.extend(acknowledged::possible(scripts.into_iter().map(|script| script.acknowledged)));
        Ok(())
    }

    fn tables(&self, _: &dyn Database, _: &Place) -> Result<Vec<String>, Error> {
        Ok(table_names(&self.parameters))
    }

    fn verify(&self, database: &dyn Database, place: &Place) -> Result<(), Error> {
        let mut connection = database.connect(place)?;
        let mut total = 0;
        for table in table_names(&self.parameters) {
            let text = format!("SELECT count(*), min(id), max(id) FROM {table}");
            let answer = connection.query(&text).map_err(sql::failed(database.name(), "count rows"))?;
            let row: Vec<String> =
                answer.rows.first().into_iter().flatten().cloned().map(Option::unwrap_or_default).collect();
            total += row.first().and_then(|count| count.parse::<i64>().ok()).unwrap_or(0);
            // With a mix that only replaces rows, each table keeps its own.
            if self.parameters.mix != Mixture::Insert && self.parameters.mix != Mixture::Delete {
                let size = self.parameters.table_size;
                same(&format!("rows, first and last id of {table}"), &format!("{size}, 1, {size}"), &row.join(", "))?;
            }
        }
        let expected = (self.parameters.table_size * u64::from(self.parameters.tables)) as i64 + self.rows_added;
        let near = total.clamp(expected - self.rows_unknown, expected + self.rows_unknown);
        same("rows of all tables", &near.to_string(), &total.to_string())?;
        self.acknowledged_writes(&mut *connection, database.name())
    }
}

/// CPU time of the driver itself beside that of the whole.
#[derive(Debug, Clone, Copy)]
pub struct DriverCost {
    /// Drawing, timing and counting, with transactions of no statements.
    pub driver_seconds_per_transaction: f64,
    /// The same with SQLite, in its own thread's CPU time.
    pub whole_seconds_per_transaction: f64,
}

/// Measures what the driver costs for each transaction, single-threaded, SQLite beside transactions of no statements.
///
/// # Errors
/// When SQLite fails.
pub fn driver_cost(folder: &std::path::Path, transactions: u64) -> Result<DriverCost, Error> {
    let mut map = settings::defaults(SETTINGS);
    map.extend([("time".to_string(), 0.0.into()), ("transactions".to_string(), transactions.into())]);
    let parameters: Parameters = settings::typed(&map);
    let place = Place { data_folder: folder.into(), server: None };
    let database = engines::sqlite::Sqlite(parameters.pragmas.clone());
    fill(&database, &place, &parameters, 1)?;
    let mix = || Mix::new(&parameters, 1, 1, 0);
    let cost = |script| sql_load::thread_cpu_seconds_per_transaction(&parameters.load, &database, &place, script);
    Ok(DriverCost {
        whole_seconds_per_transaction: cost(script::Oltp::new(&parameters, mix(), false))?,
        driver_seconds_per_transaction: cost(script::Oltp::without_statements(&parameters, mix()))?,
    })
}

#[cfg(test)]
mod tests;
