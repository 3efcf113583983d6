//! `sql-bench`: the benchmark suite that came with MySQL until 5.7, written anew for PostgreSQL, MariaDB and SQLite.
//!
//! Nine tests of one client, a file each. A test is a list of operations: loops of statements under one name, with a count.
//! Counts, loops and tables are those of the "classic" suite of MySQL 4.0 to 5.6 (its published results name them); statements
//! are written here. Each answer is known beforehand and checked: numbers of rows, of changed rows, sums, minima, order.
//!
//! An operation's time is that of the clock, and of this client's processor. Of SQLite, which runs inside the client, that
//! is the database's, too. A loop that nothing depends on is cut at `time_limit` and extrapolated, as there.
//!
//! Driven by `lab::trial`. Knows no database: what they say differently, they say in `load::sql::Dialect`.

mod alter_table;
mod atis;
mod big_tables;
mod connect;
mod create;
mod dialect;
mod insert;
mod select;
mod session;
mod shuffle;
#[cfg(test)]
mod tests;
mod transactions;
mod wisconsin;

use load::engines;
use load::sql::{Database, Engine, Place, Pragmas};
use load::workload::{self, Context, Elsewhere, Error, Estimate, Kind, Outcome, Workload, WorkloadSettings};
use observe::durability::Durability;
use observe::metric::{Direction, Measured, Metric};
use serde::Deserialize;
use session::{Loops, Session, Spent, Timing};
use settings::{Kind as Is, Setting};
use std::time::{Duration, Instant};

/// The row in the list of workloads.
pub static KIND: Kind = Kind {
    name: "sql-bench",
    summary: "MySQL's old benchmark suite, nine tests of one client from connecting to transactions, on PostgreSQL, MariaDB or SQLite",
    example: "[workload.sql-bench]\nengine = \"mariadb\"\ntests = [\"connect\", \"insert\", \"select\", \"transactions\"]\nscale = 0.01\n",
    settings: SETTINGS,
    choices: &["engine"],
    elsewhere: Elsewhere::Nothing,
    read: workload::read::<Parameters>,
};

const SETTINGS: &[Setting] = &[
    Setting::new("engine", Is::Choice(engines::SQL_NAMES), engines::mariadb::ENGINE.name)
        .help("The database: a server that `[service.NAME]` configures, or embedded SQLite with WAL and full flushes."),
    Setting::new("tests", Is::TextList, r#"["alter-table", "ATIS", "big-tables", "connect", "create", "insert", "select", "transactions", "wisconsin"]"#)
        .help(
            "Which of the suite's nine tests to run, in their own order, each at most once. `surefoot report --format sql-bench` \
               prints what they took as the suite does.",
        ),
    Setting::new("scale", Is::Number { min: 0.0001, max: 1000.0 }, "0.01")
        .help(
            "Factor on the classic loop counts: 1 is the suite of 2002, 3.3 million counted operations, each row that is \
               inserted and each row that is updated committed by itself: a quarter of an hour where a flush takes a \
               fraction of a millisecond, hours on a turning disk, for which `design.trial_timeout` must be raised. 0.01 is \
               about its --small-test: rows of `insert`, `select` and `ATIS`, tables of `create` and columns of \
               `alter-table` become fewer, too, but wisconsin keeps a tenth of its rows. Above 1 the data of ATIS, \
               wisconsin and alter-table stay as they are.",
        ),
    Setting::new("time_limit", Is::Seconds { min: 0.01, max: 1e6 }, "600s")
        .help("A loop that takes longer is cut and its time extrapolated, marked `+`; loops that later ones depend on go on."),
    Setting::new("fast", Is::Boolean, "false")
        .help(
            "Whether rows are loaded by statements of about 64 KiB in one transaction, as with the suite's --fast, and not by a \
               statement and a commit each.",
        ),
];

/// A test: what it is called, its operations in the order in which each comes first, with blanks between them, and its work.
struct Test {
    name: &'static str,
    operations: &'static str,
    run: fn(&mut Session) -> Result<(), Error>,
}

/// Every test, in the suite's order.
static TESTS: [&Test; 9] = [
    &alter_table::TEST,
    &atis::TEST,
    &big_tables::TEST,
    &connect::TEST,
    &create::TEST,
    &insert::TEST,
    &select::TEST,
    &transactions::TEST,
    &wisconsin::TEST,
];

const TOTAL: Metric = Metric::new("total_seconds", "s", Direction::Less);
const USER_CPU: Metric = Metric::new("client_user_cpu_seconds", "s", Direction::Less);
const SYSTEM_CPU: Metric = Metric::new("client_system_cpu_seconds", "s", Direction::Less);
const CUT: Metric = Metric::new("loops_cut", "1", Direction::Less);

/// Seconds of the whole suite with its classic loops, for `plan` only: MariaDB took 774 s in a folder of ext4 without a journal, and
/// at 0.01 10 s on ext4 with one (2026-11-25, two cores). Loops over whole tables grow by the square, so a large factor takes longer.
const SECONDS_OF_SUITE: f64 = 800.0;

/// Bytes of the largest table of a test, and of ten thousand tables at once, in PostgreSQL.
const BYTES_OF_SUITE: f64 = 1e9;

/// Checked parameters.
#[derive(Debug, Clone, Deserialize)]
struct Parameters {
    engine: &'static Engine,
    tests: Vec<String>,
    scale: f64,
    #[serde(rename = "time_limit")]
    limit_seconds: f64,
    fast: bool,
}

impl Parameters {
    /// Names that are none are left out: the check says so.
    fn tests(&self) -> impl Iterator<Item = &'static Test> + '_ {
        TESTS.iter().copied().filter(|test| self.tests.iter().any(|name| name == test.name))
    }
}

impl WorkloadSettings for Parameters {
    fn metrics(&self) -> Vec<Metric> {
        let tests = self.tests().map(|test| of_test(test.name));
        let names = operations(self);
        let clocks =
            |what: &'static str, name: &'static str| [USER, SYSTEM].map(|clock| beside(what, name, clock, "s"));
        let of_tests = self.tests().flat_map(|test| clocks("test", test.name));
        let of_operations = names.iter().flat_map(|name| {
            let counts = [beside("operation", name, "count", "1"), beside("operation", name, "loops_cut", "1")];
            clocks("operation", name).into_iter().chain(counts)
        });
        let operations = names.iter().map(|name| of_operation(name));
        let totals = [TOTAL, USER_CPU, SYSTEM_CPU, CUT].into_iter();
        totals.chain(tests).chain(operations).chain(of_tests).chain(of_operations).collect()
    }

    fn durability(&self) -> Durability {
        Durability::full()
    }

    fn estimate(&self) -> Estimate {
        let share = self.tests().count() as f64 / TESTS.len() as f64;
        Estimate {
            data_bytes: (BYTES_OF_SUITE * self.scale) as u64 + (64 << 20),
            load_seconds: 0.0,
            run_seconds: SECONDS_OF_SUITE * self.scale * share,
        }
    }

    fn problems(&self) -> Vec<String> {
        let all = TESTS.map(|test| test.name);
        let problem = |name: &String| {
            let hint = settings::nearest_name(name, all.into_iter())
                .map_or_else(|| format!("tests are {}", all.join(", ")), |near| format!("did you mean `{near}`?"));
            format!("`tests`: the suite has no test `{name}`: {hint}")
        };
        let none = self.tests.is_empty().then(|| "`tests` must name at least one".to_string());
        let unknown = self.tests.iter().filter(|name| !all.contains(&name.as_str()));
        unknown.map(problem).chain(none).collect()
    }

    fn services(&self) -> Vec<&'static str> {
        self.engine.services()
    }

    fn data_key(&self) -> String {
        "sql-bench, an empty database".into()
    }

    fn open(self: Box<Self>) -> Result<Box<dyn Workload>, Error> {
        Ok(Box::new(SqlBench::new(*self)))
    }
}

/// A word of the suite's as part of a metric's name.
fn plain(word: &str) -> String {
    word.to_lowercase().replace(['+', '-'], "_")
}

fn of_test(test: &str) -> Metric {
    Metric::named(format!("test_{}_seconds", plain(test)), "s".into(), Direction::Less)
}

fn of_operation(operation: &str) -> Metric {
    Metric::named(format!("{}_seconds", plain(operation)), "s".into(), Direction::Less)
}

/// What the suite prints beside an operation's seconds, or a test's: what the client's processor took, and of an operation how
/// often it was done, and how many of its loops were cut. `surefoot report --format sql-bench` is made of these.
fn beside(what: &str, name: &str, figure: &str, unit: &'static str) -> Metric {
    Metric::named(format!("{what}_{}_{figure}", plain(name)), unit.into(), Direction::Neither)
}

const USER: &str = "user_cpu_seconds";
const SYSTEM: &str = "system_cpu_seconds";

/// Operations of these tests, each once: the suite adds up those of one name.
fn operations(parameters: &Parameters) -> Vec<&'static str> {
    let mut seen = std::collections::HashSet::new();
    let all = parameters.tests().flat_map(|test| test.operations.split(' '));
    all.filter(|operation| seen.insert(*operation)).collect()
}

/// What a test took.
struct Done {
    /// Its operations, in their order.
    timings: Vec<Timing>,
    /// All of it, with what lies between the operations.
    spent: Spent,
}

/// The workload at work.
struct SqlBench {
    parameters: Parameters,
    database: Box<dyn Database>,
}

impl SqlBench {
    fn new(parameters: Parameters) -> SqlBench {
        let database = parameters.engine.database(&Pragmas::default());
        SqlBench { parameters, database }
    }

    /// What [`metrics`] promises, in its order.
    fn measured(&self, done: &[Done]) -> Vec<Measured> {
        let sum = |of: fn(&Done) -> f64| done.iter().map(of).sum::<f64>();
        let timings = || done.iter().flat_map(|done| &done.timings);
        let totals = [
            sum(|done| done.spent.seconds),
            sum(|done| done.spent.user_seconds),
            sum(|done| done.spent.system_seconds),
            timings().filter(|timing| timing.is_cut).count() as f64,
        ];
        let names = operations(&self.parameters);
        let sum_of = |operation: &str, of: fn(&Timing) -> f64| {
            timings().filter(|timing| timing.operation == operation).map(of).sum::<f64>()
        };
        let tests = done.iter().map(|done| done.spent.seconds);
        let seconds = names.iter().map(|name| sum_of(name, |timing| timing.spent.seconds));
        let of_tests = done.iter().flat_map(|done| [done.spent.user_seconds, done.spent.system_seconds]);
        let of_operations = names.iter().flat_map(|name| {
            let of: [fn(&Timing) -> f64; 4] = [
                |timing| timing.spent.user_seconds,
                |timing| timing.spent.system_seconds,
                |timing| timing.count as f64,
                |timing| f64::from(u8::from(timing.is_cut)),
            ];
            of.map(|of| sum_of(name, of))
        });
        let values = totals.into_iter().chain(tests).chain(seconds).chain(of_tests).chain(of_operations);
        self.parameters.metrics().iter().zip(values).map(|(metric, value)| metric.at(value)).collect()
    }
}

impl Workload for SqlBench {
    /// Tests make their own tables; only what these are in is made beforehand.
    fn prepare(&mut self, context: &mut Context) -> Result<Vec<Measured>, Error> {
        self.database.create(&Place::of(context))?;
        Ok(Vec::new())
    }

    fn ready(&mut self, context: &mut Context) -> Result<(), Error> {
        self.database.checkpoint(&Place::of(context))
    }

    fn run(&mut self, context: &mut Context) -> Result<Outcome, Error> {
        let place = Place::of(context);
        let began = Instant::now();
        let mut session = Session::new(&*self.database, &place, context, Loops(self.parameters.scale));
        session.limit = Duration::from_secs_f64(self.parameters.limit_seconds);
        session.is_fast = self.parameters.fast;
        let mut done = Vec::new();
        for test in self.parameters.tests() {
            let (timings, spent) = session.test(test.run)?;
            done.push(Done { timings, spent });
        }
        Ok(Outcome { seconds: began.elapsed().as_secs_f64(), metrics: self.measured(&done), ..Outcome::all_right() })
    }

    /// Tests drop what they made: what is left is the database itself.
    fn verify(&mut self, context: &mut Context) -> Result<(), Error> {
        self.database.check(&Place::of(context), &[])
    }
}
