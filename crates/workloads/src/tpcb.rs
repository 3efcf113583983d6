//! `tpcb`: pgbench's TPC-B-like transaction and its two short forms, on pgbench's own tables.
//!
//! Three balances are raised by one delta and the delta is written down, so after each run the sums of all must agree, and the
//! history has exactly the acknowledged transactions. Statements and tables are those of PostgreSQL's manual, "pgbench".

use load::engines;
use load::sql::ColumnKind::{Filler, Integer, Key, Timestamp};
use load::sql::{self, Cell, Column, Database, Engine, Place, Pragmas, same};
use load::sql_load::{self, Class, Load, PARAMS_MAX, Script, TransactionWorkload, Transactions};
use load::workload::{self, Context, Elsewhere, Error, Estimate, Kind, Outcome, Workload, WorkloadSettings};
use observe::durability::Durability;
use random::Random;
use serde::Deserialize;
use settings::{Kind as Is, Setting};
use std::time::Instant;
use wire::{Conflict, Param};

/// The row in the list of workloads.
pub static KIND: Kind = Kind {
    name: "tpcb",
    summary: "pgbench's TPC-B-like transactions on PostgreSQL, MariaDB or SQLite",
    example: "[workload.tpcb]\nengine = \"postgres\"\nscale = 10\nthreads = 16\ntime = \"30s\"\n",
    settings: SETTINGS,
    choices: &["engine"],
    elsewhere: Elsewhere::All,
    read: workload::read::<Parameters>,
};

const SETTINGS: &[Setting] = &[
    Setting::new("engine", Is::Choice(engines::SQL_NAMES), engines::postgres::ENGINE.name)
        .help("The database: a server that `[service.NAME]` configures, or embedded SQLite with WAL and full flushes."),
    Setting::new("mix", Is::Choice(&["tpcb-like", "simple-update", "select-only"]), "tpcb-like")
        .help("pgbench's built-in scripts. `simple-update` leaves tellers and branches out, whose few rows all connections meet at."),
    Setting::new("scale", Is::Integer { min: 1, max: 20_000 }, "1")
        .help("100,000 accounts, 10 tellers and 1 branch each. Below the number of connections, they wait for each other's branch."),
    sql_load::THREADS,
    sql_load::DRIVER_THREADS,
    sql_load::TIME,
    sql_load::TRANSACTIONS,
    sql_load::PREPARED,
    sql_load::RATE,
    sql_load::THINK_TIME,
    sql_load::RETRY,
    sql_load::RECONNECT,
    sql_load::ERRORS_MAX,
];

const ACCOUNTS: i64 = 100_000;
const TELLERS: i64 = 10;

/// pgbench's range of a delta.
const DELTA_MAX: u64 = 5000;

/// Bytes of an account with its index entry, in PostgreSQL (pgbench's manual: a scale of 100 is about 1.5 GB).
const ACCOUNT_BYTES: u64 = 150;

/// Accounts loaded in a second, for `plan` only: 1,000,000 took 1.5 s in PostgreSQL (2026-11-21, two cores).
const LOADED_PER_SECOND: f64 = 600_000.0;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Mixture {
    TpcbLike,
    SimpleUpdate,
    SelectOnly,
}

#[derive(Debug, Clone, Deserialize)]
struct Parameters {
    engine: &'static Engine,
    mix: Mixture,
    scale: i64,
    #[serde(flatten)]
    load: Load,
}

impl WorkloadSettings for Parameters {
    load::settings_of_transactions!();

    load::problems_of_own_tables!();

    fn durability(&self) -> Durability {
        Durability::full()
    }

    fn estimate(&self) -> Estimate {
        let accounts = (self.scale * ACCOUNTS) as u64;
        Estimate {
            data_bytes: accounts * ACCOUNT_BYTES,
            load_seconds: accounts as f64 / LOADED_PER_SECOND,
            run_seconds: self.load.time_seconds,
        }
    }

    fn problems(&self) -> Vec<String> {
        sql_load::check(&self.load).into_iter().collect()
    }

    fn data_key(&self) -> String {
        format!("tpcb, scale {}", self.scale)
    }

    fn open(self: Box<Self>) -> Result<Box<dyn Workload>, Error> {
        let database = self.engine.database(&Pragmas::default());
        let tpcb = Tpcb { parameters: *self, deltas: 0, acknowledged: 0, unknown: 0 };
        Ok(Box::new(TransactionWorkload::new(tpcb, database)))
    }
}

/// A table: its name, its columns, how many of them a load fills in, and its rows for each unit of the scale.
type Table = (&'static str, &'static [Column], usize, i64);

const TABLES: [Table; 4] = [
    ("pgbench_branches", &[("bid", Key), ("bbalance", Integer), ("filler", Filler(88))], 2, 1),
    ("pgbench_tellers", &[("tid", Key), ("bid", Integer), ("tbalance", Integer), ("filler", Filler(84))], 3, TELLERS),
    ("pgbench_accounts", &[("aid", Key), ("bid", Integer), ("abalance", Integer), ("filler", Filler(84))], 4, ACCOUNTS),
    ("pgbench_history", HISTORY, 0, 0),
];

const HISTORY: &[Column] = &[
    ("tid", Integer),
    ("bid", Integer),
    ("aid", Integer),
    ("delta", Integer),
    ("mtime", Timestamp),
    ("filler", Filler(22)),
];

/// A statement of the transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sql {
    Begin,
    UpdateAccount,
    SelectAccount,
    UpdateTeller,
    UpdateBranch,
    InsertHistory,
    Commit,
}

impl Mixture {
    fn steps(self) -> &'static [Sql] {
        use Sql::{Begin, Commit, InsertHistory, SelectAccount, UpdateAccount, UpdateBranch, UpdateTeller};
        match self {
            Mixture::TpcbLike => {
                &[Begin, UpdateAccount, SelectAccount, UpdateTeller, UpdateBranch, InsertHistory, Commit]
            }
            Mixture::SimpleUpdate => &[Begin, UpdateAccount, SelectAccount, InsertHistory, Commit],
            Mixture::SelectOnly => &[SelectAccount],
        }
    }
}

/// The transactions of one connection.
struct Connection {
    random: Random,
    mix: Mixture,
    scale: u64,
    aid: i64,
    tid: i64,
    bid: i64,
    delta: i64,
    rows: u64,
    /// Sum of the deltas of acknowledged transactions, and their number.
    deltas: i64,
    acknowledged: i64,
    /// Transactions that may have taken place.
    unknown: i64,
}

impl Script for Connection {
    fn texts(&self, begin: &str) -> Vec<String> {
        let text = |sql: &Sql| match sql {
            Sql::Begin => begin,
            Sql::UpdateAccount => "UPDATE pgbench_accounts SET abalance = abalance + $1 WHERE aid = $2",
            Sql::SelectAccount => "SELECT abalance FROM pgbench_accounts WHERE aid = $1",
            Sql::UpdateTeller => "UPDATE pgbench_tellers SET tbalance = tbalance + $1 WHERE tid = $2",
            Sql::UpdateBranch => "UPDATE pgbench_branches SET bbalance = bbalance + $1 WHERE bid = $2",
            Sql::InsertHistory => {
                "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES ($1, $2, $3, $4, CURRENT_TIMESTAMP)"
            }
            Sql::Commit => "COMMIT",
        };
        self.mix.steps().iter().map(|sql| text(sql).to_string()).collect()
    }

    fn draw(&mut self) {
        let mut below = |count: i64| 1 + self.random.below(self.scale * count as u64) as i64;
        (self.aid, self.tid, self.bid) = (below(ACCOUNTS), below(TELLERS), below(1));
        self.delta = self.random.below(2 * DELTA_MAX + 1) as i64 - DELTA_MAX as i64;
    }

    fn steps(&self) -> usize {
        self.mix.steps().len()
    }

    fn is_transaction(&self) -> bool {
        self.mix != Mixture::SelectOnly
    }

    fn text(&self, step: usize) -> usize {
        step
    }

    fn class(&self, step: usize) -> Class {
        match self.mix.steps()[step] {
            Sql::Begin | Sql::Commit => Class::Other,
            Sql::SelectAccount => Class::Read,
            _ => Class::Write,
        }
    }

    fn params<'a>(&'a self, step: usize, params: &mut [Param<'a>; PARAMS_MAX]) -> usize {
        let all: &[i64] = match self.mix.steps()[step] {
            Sql::Begin | Sql::Commit => &[],
            Sql::SelectAccount => &[self.aid],
            Sql::UpdateAccount => &[self.delta, self.aid],
            Sql::UpdateTeller => &[self.delta, self.tid],
            Sql::UpdateBranch => &[self.delta, self.bid],
            Sql::InsertHistory => &[self.tid, self.bid, self.aid, self.delta],
        };
        for (param, value) in params.iter_mut().zip(all) {
            *param = Param::Integer(*value);
        }
        all.len()
    }

    fn row(&mut self, _step: usize, value: wire::Value) {
        self.rows += u64::from(value.integer().is_some());
    }

    fn answered(&mut self, step: usize, changed: u64) -> Result<(), Error> {
        let rows = std::mem::take(&mut self.rows);
        let found = match self.class(step) {
            Class::Other => return Ok(()),
            Class::Read => rows,
            Class::Write => changed,
        };
        if found == 1 {
            return Ok(());
        }
        let sql = self.mix.steps()[step];
        let what = format!("rows of {sql:?} for account {}, teller {}, branch {}", self.aid, self.tid, self.bid);
        same(&what, "1", &found.to_string())
    }

    fn committed(&mut self, _began: Instant, _ended: Instant) -> u64 {
        if !self.is_transaction() {
            return 0;
        }
        self.deltas += self.delta;
        self.acknowledged += 1;
        // Balances and a row of history.
        match self.mix {
            Mixture::TpcbLike => 3 * 4 + 24,
            _ => 4 + 24,
        }
    }

    fn rolled_back(&mut self, _conflict: Option<Conflict>) {
        self.rows = 0;
    }

    fn unknown(&mut self, _began: Instant, _ended: Instant) {
        self.unknown += i64::from(self.is_transaction());
    }
}

/// The transactions at work.
struct Tpcb {
    parameters: Parameters,
    /// Over all runs of the trial.
    deltas: i64,
    acknowledged: i64,
    unknown: i64,
}

impl Transactions for Tpcb {
    type Script = Connection;

    fn load(&self) -> &Load {
        &self.parameters.load
    }

    fn fill(&self, database: &dyn Database, context: &Context) -> Result<(), Error> {
        let place = &Place::of(context);
        database.create(place)?;
        let mut connection = database.connect(place)?;
        for (table, columns, loaded, rows_per_scale) in TABLES {
            let sql = database.dialect().create(table, columns);
            connection.query(&sql).map_err(sql::failed(database.name(), "make its tables"))?;
            let rows = rows_per_scale * self.parameters.scale;
            if rows == 0 {
                continue;
            }
            database.load_each(place, table, &sql::names(&columns[..loaded]), 1..=rows, |id, cells| {
                cells.push(Cell::Integer(id));
                if loaded > 2 {
                    cells.push(Cell::Integer((id - 1) / rows_per_scale + 1));
                }
                cells.push(Cell::Integer(0));
                if loaded > 3 {
                    cells.push(Cell::Text(String::new()));
                }
            })?;
        }
        database.loaded(place, &TABLES.map(|(table, ..)| table.to_string()))
    }

    fn script(&self, _: &dyn Database, seed: u64, run: u64, connection: usize) -> Connection {
        let random = Random::of_stream(seed, run << 32 | connection as u64);
        let (mix, scale) = (self.parameters.mix, self.parameters.scale as u64);
        let (rows, [aid, tid, bid, delta, deltas, acknowledged, unknown]) = (0, [0; 7]);
        Connection { random, mix, scale, aid, tid, bid, delta, rows, deltas, acknowledged, unknown }
    }

    fn ran(&mut self, connections: Vec<Connection>, _: &dyn Database, _: &Place, _: &mut Outcome) -> Result<(), Error> {
        for connection in connections {
            load::add_up! { self, connection; deltas, acknowledged, unknown }
        }
        Ok(())
    }

    fn tables(&self, _: &dyn Database, _: &Place) -> Result<Vec<String>, Error> {
        Ok(TABLES.map(|(table, ..)| table.to_string()).to_vec())
    }

    /// Every acknowledged transaction is there, and nothing else.
    fn verify(&self, database: &dyn Database, place: &Place) -> Result<(), Error> {
        let mut connection = database.connect(place)?;
        let mut number = |what: &str, table: &str| -> Result<i64, Error> {
            let answer = connection
                .query(&format!("SELECT coalesce({what}, 0) FROM {table}"))
                .map_err(sql::failed(database.name(), "add up"))?;
            answer
                .first()
                .and_then(|text| text.parse().ok())
                .ok_or_else(|| Error::wrong_data(format!("{what} of {table}"), "a number", format!("{answer:?}")))
        };
        let check = |what: &str, expected: i64, found: i64| same(what, &expected.to_string(), &found.to_string());
        let (rows, sum) = (number("count(*)", "pgbench_history")?, number("sum(delta)", "pgbench_history")?);
        // Those that were lost at their commit are there or not, but never in part.
        check("rows of pgbench_history", rows.clamp(self.acknowledged, self.acknowledged + self.unknown), rows)?;
        if rows == self.acknowledged {
            check("sum of deltas", self.deltas, sum)?;
        }
        check("sum of accounts' balances", sum, number("sum(abalance)", "pgbench_accounts")?)?;
        let both = if self.parameters.mix == Mixture::TpcbLike { sum } else { 0 };
        check("sum of tellers' balances", both, number("sum(tbalance)", "pgbench_tellers")?)?;
        check("sum of branches' balances", both, number("sum(bbalance)", "pgbench_branches")?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload_tests::{self, figure, read};
    use serde_json::{Value, json};

    fn with_loaded(changes: Value, act: impl FnOnce(&mut dyn Workload, &mut Context)) {
        let folder = tempfile::tempdir().expect("a folder");
        let mut all = json!({ "engine": "sqlite", "time": "0s", "transactions": 40 });
        all.as_object_mut().expect("a table").extend(changes.as_object().expect("a table").clone());
        workload_tests::with_loaded(read(&KIND, &all), folder.path(), act);
    }

    #[test]
    fn every_mix_adds_up_after_each_run() {
        for (mix, statements) in
            [("tpcb-like", [1.0, 4.0, 2.0]), ("simple-update", [1.0, 2.0, 2.0]), ("select-only", [1.0, 0.0, 0.0])]
        {
            with_loaded(json!({ "mix": mix, "threads": 3 }), |workload, context| {
                for _ in 0..2 {
                    let outcome = workload.run(context).expect("it runs");
                    assert_eq!(figure(&outcome, "transactions"), 40.0);
                    let per_transaction = ["reads", "writes"].map(|name| figure(&outcome, name) / 40.0);
                    assert_eq!(per_transaction, [statements[0], statements[1]], "{mix}");
                }
                workload.verify(context).expect("it adds up");
            });
        }
    }

    #[test]
    fn a_lost_or_doubled_transaction_is_found() {
        for theft in [
            "DELETE FROM pgbench_history WHERE rowid = 5",
            "UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = 9",
        ] {
            with_loaded(json!({}), |workload, context| {
                workload.run(context).expect("it runs");
                let thief = rusqlite::Connection::open(context.data_folder.join("oltp.sqlite")).expect("the file");
                thief.execute_batch(theft).expect("it is writable");
                assert!(matches!(workload.verify(context), Err(Error::WrongData { .. })), "{theft}");
            });
        }
    }
}
