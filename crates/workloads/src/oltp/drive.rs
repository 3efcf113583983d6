//! The driver: threads in a closed or open loop, a histogram each, figures once they are all done.

use super::mix::{Mix, Transaction, Written};
use super::session::{Executed, Session, SqlSession, Statements};
use super::{METRICS, Parameters};
use crate::sql::{Database, Place, Pragmas, Sqlite};
use crate::ticker::Ticker;
use crate::workload::{Context, Error, Outcome};
use observe::latency::Latency;
use observe::metric::Measured;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use wire::Conflict;

/// Of a single-threaded run, so many last writes are read back at the end.
const LAST_WRITES: usize = 128;

/// In an open loop, a transaction that starts later than this after its time counts as late: well above a wake-up's delay.
const LATE: Duration = Duration::from_millis(1);

/// What all threads of a run share.
struct Shared<'a> {
    parameters: &'a Parameters,
    interrupted: &'a AtomicBool,
    stop: AtomicBool,

    /// Transactions handed out, when they are limited.
    taken: AtomicU64,
    committed: AtomicU64,
    error: Mutex<Option<Error>>,
}

/// What one thread counted.
#[derive(Default)]
struct Counted {
    latency: Latency,
    committed: u64,
    conflicts: Conflicts,
    /// Tried again, or given up when `retry` is off.
    retries: u64,
    abandoned: u64,
    late: u64,
    busy_seconds: f64,
    statements: Statements,
    rows_added: i64,
    bytes: u64,
    last: VecDeque<Written>,
}

/// Conflicts by kind.
#[derive(Debug, Clone, Copy, Default)]
struct Conflicts {
    deadlocks: u64,
    serialization_failures: u64,
    lock_timeouts: u64,
    duplicate_keys: u64,
}

impl Conflicts {
    fn add(&mut self, conflict: Conflict) {
        *match conflict {
            Conflict::Deadlock => &mut self.deadlocks,
            Conflict::Serialization => &mut self.serialization_failures,
            Conflict::LockTimeout => &mut self.lock_timeouts,
            Conflict::DuplicateKey => &mut self.duplicate_keys,
        } += 1;
    }
}

/// What a run came to.
pub struct Driven {
    /// Its figures.
    pub outcome: Outcome,
    /// The last acknowledged writes, when one thread made them.
    pub last_writes: Vec<Written>,
    /// Rows that acknowledged transactions added, minus those they deleted.
    pub rows_added: i64,
}

/// Runs the load once; `run` tells runs of a trial apart.
pub fn drive(parameters: &Parameters, database: &dyn Database, context: &mut Context, run: u64) -> Result<Driven, Error> {
    let place = Place::of(context);
    // Connecting and preparing is no part of the window.
    let ended = Mutex::new(Vec::new());
    let shared = Shared::new(parameters, context.interrupted);
    let (seed, progress) = (context.seed, &mut *context.progress);
    let barrier = std::sync::Barrier::new(parameters.threads + 1);
    let (counted, rates, seconds) = std::thread::scope(|scope| {
        for thread in 0..parameters.threads {
            let (shared, ended, barrier, place) = (&shared, &ended, &barrier, &place);
            let mix = Mix::new(parameters, seed, run, thread as u64);
            scope.spawn(move || {
                let session = SqlSession::connect(database, place, parameters);
                barrier.wait();
                match session.and_then(|mut session| shared.run(&mut session, mix, thread)) {
                    Ok(counted) => ended.lock().expect("no thread panics with it").push(counted),
                    Err(error) => shared.fail(error),
                }
            });
        }
        barrier.wait();
        let started = Instant::now();
        let rates = shared.watch(started, parameters.threads, &ended, progress);
        (std::mem::take(&mut *ended.lock().expect("no thread panics with it")), rates, started.elapsed().as_secs_f64())
    });
    if let Some(error) = shared.error.into_inner().expect("no thread panics with it") {
        return Err(error);
    }
    Ok(driven(&counted, rates, seconds))
}

impl Shared<'_> {
    fn new<'a>(parameters: &'a Parameters, interrupted: &'a AtomicBool) -> Shared<'a> {
        Shared {
            parameters,
            interrupted,
            stop: AtomicBool::new(false),
            taken: AtomicU64::new(0),
            committed: AtomicU64::new(0),
            error: Mutex::new(None),
        }
    }

    fn run(&self, session: &mut dyn Session, mut mix: Mix, thread: usize) -> Result<Counted, Error> {
        let single = self.parameters.threads == 1;
        let limit = self.parameters.transactions;
        let started = Instant::now();
        let deadline =
            (self.parameters.time_seconds > 0.0).then(|| started + Duration::from_secs_f64(self.parameters.time_seconds));
        let mut counted = Counted::default();
        let mut transaction = Transaction::default();
        let mut number = thread as u64;
        while !self.stop.load(Ordering::Relaxed) {
            if limit > 0 && self.taken.fetch_add(1, Ordering::Relaxed) >= limit {
                break;
            }
            mix.draw(&mut transaction);
            let intended = self.intended(started, number);
            number += self.parameters.threads as u64;
            // What is due after the end is no part of the run.
            if deadline.is_some_and(|deadline| intended.unwrap_or_else(Instant::now) >= deadline) {
                break;
            }
            let began = self.wait_for(intended, &mut counted);
            if self.execute(session, &transaction, &mut counted)? {
                let ended = Instant::now();
                // In an open loop the user waits from when the transaction should have begun.
                counted.latency.record(ended - intended.unwrap_or(began));
                counted.busy_seconds += (ended - began).as_secs_f64();
                counted.committed += 1;
                self.committed.fetch_add(1, Ordering::Relaxed);
                if self.parameters.mix.writes() {
                    counted.bytes += 8 + (transaction.new_c.len() + transaction.row.c.len() + transaction.row.pad.len() + 16) as u64;
                }
                if single {
                    remember(&mut counted.last, &transaction);
                }
            }
            if self.parameters.think_time_seconds > 0.0 {
                std::thread::sleep(Duration::from_secs_f64(self.parameters.think_time_seconds));
            }
        }
        (counted.statements, counted.rows_added) = (session.statements(), session.rows_added());
        Ok(counted)
    }

    /// When the open loop wants this transaction to start; none: a closed loop.
    fn intended(&self, started: Instant, number: u64) -> Option<Instant> {
        (self.parameters.rate > 0.0).then(|| started + Duration::from_secs_f64(number as f64 / self.parameters.rate))
    }

    fn wait_for(&self, intended: Option<Instant>, counted: &mut Counted) -> Instant {
        let Some(intended) = intended else { return Instant::now() };
        while Instant::now() < intended && !self.stop.load(Ordering::Relaxed) {
            std::thread::sleep((intended - Instant::now().min(intended)).min(Duration::from_millis(100)));
        }
        let began = Instant::now();
        counted.late += u64::from(began > intended + LATE);
        began
    }

    /// A transaction that met another is the same transaction, however often it is tried. Whether it was committed.
    fn execute(&self, session: &mut dyn Session, transaction: &Transaction, counted: &mut Counted) -> Result<bool, Error> {
        while let Executed::Conflict(conflict) = session.execute(transaction)? {
            counted.conflicts.add(conflict);
            if !self.parameters.retry {
                counted.abandoned += 1;
                return Ok(false);
            }
            counted.retries += 1;
            if self.interrupted.load(Ordering::Relaxed) {
                return Err(Error::Interrupted);
            }
        }
        Ok(true)
    }

    /// Says the speed once a second until every thread has ended.
    fn watch(&self, started: Instant, threads: usize, ended: &Mutex<Vec<Counted>>, progress: &mut dyn FnMut(f64, f64)) -> Vec<f64> {
        let mut ticker = Ticker::start(started);
        loop {
            if self.interrupted.load(Ordering::Relaxed) {
                self.fail(Error::Interrupted);
            }
            let failed = self.error.lock().expect("no thread panics with it").is_some();
            if failed || ended.lock().expect("no thread panics with it").len() == threads {
                return ticker.rates();
            }
            let now = Instant::now();
            if now >= ticker.due() {
                ticker.tick(now, self.committed.load(Ordering::Relaxed), progress);
            }
            // Short, because the run ends when this loop sees it.
            std::thread::sleep((ticker.due() - Instant::now().min(ticker.due())).min(Duration::from_millis(5)));
        }
    }

    fn fail(&self, error: Error) {
        self.stop.store(true, Ordering::Relaxed);
        // The first error is the cause of the others.
        self.error.lock().expect("no thread panics with it").get_or_insert(error);
    }
}

fn remember(last: &mut VecDeque<Written>, transaction: &Transaction) {
    let table = transaction.table;
    last.push_back(Written { table, id: transaction.update_c, c: transaction.new_c.clone() });
    last.push_back(Written { table, id: transaction.replaced, c: transaction.row.c.clone() });
    while last.len() > LAST_WRITES {
        last.pop_front();
    }
}

fn driven(counted: &[Counted], rates: Vec<f64>, seconds: f64) -> Driven {
    let mut latency = Latency::default();
    for one in counted {
        latency.merge(&one.latency);
    }
    let sum = |of: fn(&Counted) -> u64| counted.iter().map(of).sum::<u64>() as f64;
    let committed = sum(|one| one.committed);
    let (reads, writes, others) = (sum(|one| one.statements.reads), sum(|one| one.statements.writes), sum(|one| one.statements.others));
    let (transactions_mean, transactions_stddev) = mean_and_stddev(counted, |one| one.committed as f64);
    let (seconds_mean, seconds_stddev) = mean_and_stddev(counted, |one| one.busy_seconds);
    let values = [
        committed / seconds,
        (reads + writes + others) / seconds,
        committed,
        reads,
        writes,
        others,
        sum(|one| one.retries),
        sum(|one| one.conflicts.deadlocks),
        sum(|one| one.conflicts.serialization_failures),
        sum(|one| one.conflicts.lock_timeouts),
        sum(|one| one.conflicts.duplicate_keys),
        sum(|one| one.abandoned),
        sum(|one| one.statements.missed),
        sum(|one| one.late),
        seconds,
        latency.microseconds_mean(),
        latency.microseconds_at(0.0),
        latency.microseconds_at(0.50),
        latency.microseconds_at(0.95),
        latency.microseconds_at(0.99),
        latency.microseconds_at(0.999),
        latency.microseconds_at(1.0),
        transactions_mean,
        transactions_stddev,
        seconds_mean,
        seconds_stddev,
    ];
    let metrics: Vec<Measured> = METRICS.iter().zip(values).map(|(metric, value)| metric.at(value)).collect();
    // Of several writes to a row the last one stands.
    let last: BTreeMap<(u32, u64), Written> =
        counted.iter().flat_map(|one| &one.last).map(|written| ((written.table, written.id), written.clone())).collect();
    let outcome = Outcome {
        seconds,
        metrics,
        latencies: BTreeMap::from([("transaction".to_string(), latency)]),
        series: BTreeMap::from([("transactions_per_second".to_string(), rates)]),
        bytes_written: counted.iter().map(|one| one.bytes).sum(),
        commits: if writes > 0.0 { committed as u64 } else { 0 },
        ..Outcome::default()
    };
    let rows_added = counted.iter().map(|one| one.rows_added).sum();
    Driven { outcome, last_writes: last.into_values().collect(), rows_added }
}

/// Over threads; the standard deviation is of these threads, not of a population they were drawn from, as sysbench has it.
fn mean_and_stddev(counted: &[Counted], of: fn(&Counted) -> f64) -> (f64, f64) {
    let count = counted.len() as f64;
    let mean = counted.iter().map(of).sum::<f64>() / count;
    let variance = counted.iter().map(|one| (of(one) - mean).powi(2)).sum::<f64>() / count;
    (mean, variance.sqrt())
}

/// CPU time of the driver itself beside that of the whole.
#[derive(Debug, Clone, Copy)]
pub struct DriverCost {
    /// Drawing, timing and counting, with an engine that does nothing.
    pub driver_seconds_per_transaction: f64,
    /// The same with SQLite, in its own thread's CPU time.
    pub whole_seconds_per_transaction: f64,
}

/// Measures what the driver costs for each transaction, single-threaded, SQLite beside an engine that does nothing.
///
/// # Errors
/// When SQLite fails.
pub fn driver_cost(folder: &std::path::Path, transactions: u64) -> Result<DriverCost, Error> {
    let mut map = settings::defaults(super::SETTINGS);
    map.extend([("time".to_string(), 0.0.into()), ("transactions".to_string(), transactions.into())]);
    let parameters = Parameters::from_map(&map);
    let interrupted = AtomicBool::new(false);
    let place = Place { data_folder: folder.into(), server: None };
    let database = Sqlite(Pragmas::from(&parameters));
    super::load(&database, &place, &parameters, 1)?;
    let mut session = SqlSession::connect(&database, &place, &parameters)?;
    let cost = |session: &mut dyn Session| -> Result<f64, Error> {
        let shared = Shared::new(&parameters, &interrupted);
        let before = thread_cpu_seconds();
        shared.run(session, Mix::new(&parameters, 1, 1, 0), 0)?;
        Ok((thread_cpu_seconds() - before) / transactions as f64)
    };
    Ok(DriverCost {
        whole_seconds_per_transaction: cost(&mut session)?,
        driver_seconds_per_transaction: cost(&mut Nothing)?,
    })
}

/// An engine that commits at once.
struct Nothing;

impl Session for Nothing {
    fn execute(&mut self, transaction: &Transaction) -> Result<Executed, Error> {
        std::hint::black_box(transaction);
        Ok(Executed::Committed)
    }

    fn statements(&self) -> Statements {
        Statements::default()
    }

    fn rows_added(&self) -> i64 {
        0
    }
}

fn thread_cpu_seconds() -> f64 {
    let time = nix::time::clock_gettime(nix::time::ClockId::CLOCK_THREAD_CPUTIME_ID).expect("every Linux has this clock");
    time.tv_sec() as f64 + time.tv_nsec() as f64 / 1e9
}
