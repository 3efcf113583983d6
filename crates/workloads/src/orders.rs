//! `orders`: the order-entry load that TPC-C made known, by the definitions of its public standard (revision 5.11).
//!
//! It is not TPC-C, and its figure is no tpmC: nobody audits it, terminals are connections, deliveries are not queued, and by default nobody keys in or
//! thinks. Tables are `tables.rs`, the five transactions `transaction.rs` and `statements.rs`, one connection's work `terminal.rs`; what must
//! hold after each trial is `conditions.rs`.

/// Texts with what each is called, a row each.
macro_rules! named {
    ($($name:literal: $text:literal,)*) => { [$(($name, $text)),*] };
}

mod conditions;
mod names;
mod statements;
mod tables;
mod terminal;
#[cfg(test)]
mod tests;
mod transaction;

use load::engines;
use load::sql::{self, Database, Engine, Place, Pragmas, same};
use load::sql_load::{self, Load, TransactionWorkload, Transactions};
use load::workload::{self, Context, Elsewhere, Error, Estimate, Kind, Outcome, Workload, WorkloadSettings};
use observe::durability::Durability;
use observe::metric::Metric;
use random::Random;
use serde::Deserialize;
use settings::{Kind as Is, Setting};
use terminal::{Counts, Shared, Terminal};
use transaction::{Kind as Of, Mix};

/// The row in the list of workloads.
pub static KIND: Kind = Kind {
    name: "orders",
    summary: "orders, payments and deliveries of a wholesaler's warehouses, as TPC-C made them known, on PostgreSQL, MariaDB or SQLite",
    example: "[workload.orders]\nengine = \"postgres\"\nwarehouses = 10\nthreads = 16\ntime = \"60s\"\n",
    settings: SETTINGS,
    choices: &["engine", "cache_size", "journal_mode", "mmap_size", "page_size", "synchronous"],
    elsewhere: Elsewhere::All,
    // Users think as the standard says, and for no other time.
    read: |checked| {
        let mut map = checked.clone();
        map.insert("think_time".into(), 0.0.into());
        workload::read::<Parameters>(&map)
    },
};

const SETTINGS: &[Setting] = load::with_pragmas![
    Setting::new("engine", Is::Choice(engines::SQL_NAMES), engines::postgres::ENGINE.name)
        .help("The database: a server that `[service.NAME]` configures, or embedded SQLite."),
    Setting::new("warehouses", Is::Integer { min: 1, max: 30_000 }, "1")
        .help("The scale: each has 10 districts, 30,000 customers and a stock of 100,000 items, about 100 MB. With fewer warehouses than connections, they wait for each other."),
    Setting::new("mix", Is::Choice(&["standard", "sysbench"]), "standard")
        .help("How often new orders, payments, order status, deliveries and stock levels come: 45, 43, 4, 4 and 4 of 100, or 10, 10, 1, 1 and 1 of 23 as sysbench's scripts for this load have it."),
    Setting::new("thinking", Is::Boolean, "false")
        .help("Whether each connection is a user who keys in (18 s for a new order) and thinks (12 s on average) at a warehouse of its own, as the standard has it: 10 connections a warehouse then do at most 12.86 new orders a minute."),
    sql_load::THREADS,
    sql_load::DRIVER_THREADS,
    sql_load::TIME,
    sql_load::TRANSACTIONS,
    sql_load::PREPARED,
    sql_load::RATE,
    sql_load::RETRY,
    sql_load::RECONNECT,
    sql_load::ERRORS_MAX,
];

/// Metrics of this load, the primary one first; then what every load on a database has.
const OWN: &[Metric] = observe::metrics! {
    More "1/min": "new_orders_per_minute";
    Neither "1": "rolled_back_orders";
    Less "1": "new_order_deadlocks", "new_order_conflicts", "payment_deadlocks", "payment_conflicts",
        "order_status_deadlocks", "order_status_conflicts", "delivery_deadlocks", "delivery_conflicts",
        "stock_level_deadlocks", "stock_level_conflicts";
};

#[derive(Debug, Clone, Deserialize)]
struct Parameters {
    engine: &'static Engine,
    warehouses: i64,
    mix: String,
    thinking: bool,
    #[serde(flatten)]
    load: Load,
    #[serde(flatten)]
    pragmas: Pragmas,
}

impl Parameters {
    fn mix(&self) -> Mix {
        Mix(if self.mix == "sysbench" { [10, 10, 1, 1, 1] } else { [45, 43, 4, 4, 4] })
    }
}

/// Two rounds of keying in a new order and thinking about it.
const THINKING_SECONDS_MIN: f64 = 60.0;

/// Warehouses loaded in a second, for `plan` only: two took 2.3 s in SQLite, 4.5 s in PostgreSQL and 8.5 s in MariaDB, server and template included
/// (2026-11-23, two cores, beside other work).
const LOADED_PER_SECOND: f64 = 0.3;

impl WorkloadSettings for Parameters {
    load::problems_of_own_tables!();

    fn metrics(&self) -> Vec<Metric> {
        OWN.iter().cloned().chain(sql_load::metrics()).collect()
    }

    fn durability(&self) -> Durability {
        self.engine.durability(&self.pragmas)
    }

    fn estimate(&self) -> Estimate {
        Estimate {
            data_bytes: self.warehouses as u64 * tables::WAREHOUSE_BYTES,
            load_seconds: self.warehouses as f64 / LOADED_PER_SECOND,
            run_seconds: self.load.time_seconds,
        }
    }

    fn problems(&self) -> Vec<String> {
        let is_short = (0.0..THINKING_SECONDS_MIN).contains(&self.load.time_seconds) && self.load.transactions == 0;
        let of_thinking = load::sentences! {
            self.thinking && self.load.rate > 0.0 =>
                "users who think have a pace of their own: leave out `rate`, or `thinking`";
            self.thinking && is_short =>
                "users who think do nearly nothing in less than {THINKING_SECONDS_MIN} s: set `time`";
        };
        sql_load::check(&self.load).into_iter().chain(of_thinking).collect()
    }

    fn services(&self) -> Vec<&'static str> {
        self.engine.services()
    }

    fn data_key(&self) -> String {
        format!("orders 2, {} warehouses", self.warehouses)
    }

    /// Users who think do nothing in a short turn.
    fn run_seconds(&self) -> Option<f64> {
        if self.thinking { None } else { self.load.run_seconds() }
    }

    fn is_by_the_clock(&self) -> bool {
        self.load.run_seconds().is_some()
    }

    fn may_end_sooner(&self) -> bool {
        self.load.may_end_sooner()
    }

    fn open(self: Box<Self>) -> Result<Box<dyn Workload>, Error> {
        let database = self.engine.database(&self.pragmas);
        let orders = Orders { parameters: *self, acknowledged: 0, unknown: 0 };
        Ok(Box::new(TransactionWorkload::new(orders, database)))
    }
}

/// All rounds have the same data, so that they are loaded once.
const DATA_SEED: u64 = 1;

/// Orders that a warehouse has when it is loaded.
const LOADED_ORDERS: i64 = names::DISTRICTS * names::CUSTOMERS;

/// The transactions at work.
struct Orders {
    parameters: Parameters,
    /// New orders over all runs of the trial: acknowledged, and lost at their commit.
    acknowledged: i64,
    unknown: i64,
}

impl Transactions for Orders {
    type Script = Terminal;

    fn load(&self) -> &Load {
        &self.parameters.load
    }

    fn fill(&self, database: &dyn Database, context: &Context) -> Result<(), Error> {
        tables::load(database, &Place::of(context), self.parameters.warehouses, DATA_SEED, context.interrupted)
    }

    fn script(&self, database: &dyn Database, seed: u64, run: u64, connection: usize) -> Terminal {
        let shared = Shared {
            warehouses: self.parameters.warehouses,
            mix: self.parameters.mix(),
            thinks: self.parameters.thinking,
            dialect: database.dialect(),
        };
        Terminal::new(&shared, connection, Random::of_stream(seed, run << 32 | connection as u64))
    }

    fn ran(
        &mut self,
        terminals: Vec<Terminal>,
        _: &dyn Database,
        _: &Place,
        outcome: &mut Outcome,
    ) -> Result<(), Error> {
        let mut counts = [Counts::default(); 5];
        for terminal in &terminals {
            counts.iter_mut().zip(terminal.counts).for_each(|(all, of_terminal)| all.add(of_terminal));
        }
        let orders = counts[Of::NewOrder.number()];
        self.acknowledged += orders.committed as i64;
        self.unknown += orders.unknown as i64;
        let by_kind = counts.iter().flat_map(|of_kind| [of_kind.deadlocks, of_kind.conflicts]);
        let values = [orders.committed as f64 / outcome.seconds * 60.0, orders.rolled_back as f64]
            .into_iter()
            .chain(by_kind.map(|count| count as f64));
        outcome.metrics.splice(0..0, workload::figures(OWN, values));
        Ok(())
    }

    fn tables(&self, _: &dyn Database, _: &Place) -> Result<Vec<String>, Error> {
        Ok(tables::names())
    }

    fn verify(&self, database: &dyn Database, place: &Place) -> Result<(), Error> {
        conditions::hold(database, place)?;
        let mut connection = database.connect(place)?;
        let counted =
            connection.query("SELECT count(*) FROM orders1").map_err(sql::failed(database.name(), "count"))?;
        let found = counted.first().and_then(|text| text.parse().ok()).unwrap_or(-1);
        // Those that were lost at their commit are there or not.
        let least = self.parameters.warehouses * LOADED_ORDERS + self.acknowledged;
        let expected = found.clamp(least, least + self.unknown);
        same("orders: loaded and acknowledged", &expected.to_string(), &found.to_string())
    }
}
