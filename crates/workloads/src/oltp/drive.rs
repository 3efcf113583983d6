//! The driver: threads in a closed loop, a histogram each, figures once they are all done.

use super::engine::{Engine, Executed, Place, Session};
use super::mix::{Mix, OTHERS, READS, Transaction, WRITES, Written};
use super::{METRICS, Parameters};
use crate::ticker::Ticker;
use crate::workload::{Context, Error, Outcome};
use observe::latency::Latency;
use observe::metric::Measured;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Of a single-threaded run, so many last writes are read back at the end.
const LAST_WRITES: usize = 128;

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
    retries: u64,
    bytes: u64,
    last: VecDeque<Written>,
}

/// Runs the load once; `run` tells runs of a trial apart.
pub fn drive(parameters: &Parameters, engine: &dyn Engine, context: &mut Context, run: u64) -> Result<(Outcome, Vec<Written>), Error> {
    let place = Place { data_folder: context.data_folder.clone() };
    // Connecting and preparing is no part of the window.
    let sessions = Mutex::new(Vec::new());
    let shared = Shared {
        parameters,
        interrupted: context.interrupted,
        stop: AtomicBool::new(false),

        taken: AtomicU64::new(0),
        committed: AtomicU64::new(0),
        error: Mutex::new(None),
    };
    let (seed, progress) = (context.seed, &mut *context.progress);
    let barrier = std::sync::Barrier::new(parameters.threads + 1);
    let (counted, rates, seconds) = std::thread::scope(|scope| {
        for thread in 0..parameters.threads {
            let (shared, sessions, barrier, place) = (&shared, &sessions, &barrier, &place);
            let mix = Mix::new(parameters, seed, run, thread as u64);
            scope.spawn(move || {
                let session = engine.connect(place);
                barrier.wait();
                let counted = session.and_then(|mut session| shared.run(&mut *session, mix));
                match counted {
                    Ok(counted) => sessions.lock().expect("no thread panics with it").push(counted),
                    Err(error) => shared.fail(error),
                }
            });
        }
        barrier.wait();
        let started = Instant::now();
        let rates = shared.watch(started, parameters.threads, &sessions, progress);
        (std::mem::take(&mut *sessions.lock().expect("no thread panics with it")), rates, started.elapsed().as_secs_f64())
    });
    if let Some(error) = shared.error.into_inner().expect("no thread panics with it") {
        return Err(error);
    }
    Ok(outcome(counted, rates, seconds))
}

impl Shared<'_> {
    fn run(&self, session: &mut dyn Session, mut mix: Mix) -> Result<Counted, Error> {
        let single = self.parameters.threads == 1;
        let limit = self.parameters.transactions;
        let deadline = (self.parameters.time_seconds > 0.0)
            .then(|| Instant::now() + Duration::from_secs_f64(self.parameters.time_seconds));
        let mut counted = Counted::default();
        let mut transaction = Transaction::default();
        while !self.stop.load(Ordering::Relaxed) {
            if limit > 0 && self.taken.fetch_add(1, Ordering::Relaxed) >= limit {
                break;
            }
            mix.draw(&mut transaction);
            let begun = Instant::now();
            if deadline.is_some_and(|deadline| begun >= deadline) {
                break;
            }
            // A transaction that met a lock is the same transaction, however often it is tried.
            while session.execute(&transaction)? == Executed::Busy {
                counted.retries += 1;
                if self.interrupted.load(Ordering::Relaxed) {
                    return Err(Error::Interrupted);
                }
            }
            counted.latency.record(begun.elapsed());
            counted.committed += 1;
            self.committed.fetch_add(1, Ordering::Relaxed);
            counted.bytes += 8 + (transaction.new_c.len() + transaction.row.c.len() + transaction.row.pad.len() + 16) as u64;
            if single {
                remember(&mut counted.last, &transaction);
            }
        }
        Ok(counted)
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

fn outcome(counted: Vec<Counted>, rates: Vec<f64>, seconds: f64) -> (Outcome, Vec<Written>) {
    let mut all = Counted::default();
    for one in counted {
        all.latency.merge(&one.latency);
        all.committed += one.committed;
        all.retries += one.retries;
        all.bytes += one.bytes;
        all.last.extend(one.last);
    }
    let committed = all.committed as f64;
    let queries = committed * (READS + WRITES + OTHERS) as f64;
    let values = [
        committed / seconds,
        queries / seconds,
        committed,
        committed * READS as f64,
        committed * WRITES as f64,
        committed * OTHERS as f64,
        all.retries as f64,
        seconds,
        all.latency.microseconds_mean(),
        all.latency.microseconds_at(0.50),
        all.latency.microseconds_at(0.95),
        all.latency.microseconds_at(0.99),
        all.latency.microseconds_at(0.999),
        all.latency.microseconds_at(1.0),
    ];
    let metrics: Vec<Measured> = METRICS.iter().zip(values).map(|(metric, value)| metric.at(value)).collect();
    // Of several writes to a row the last one stands.
    let mut last: BTreeMap<(u32, u64), Written> = BTreeMap::new();
    for written in all.last {
        last.insert((written.table, written.id), written);
    }
    let outcome = Outcome {
        seconds,
        metrics,
        latencies: BTreeMap::from([("transaction".to_string(), all.latency)]),
        series: BTreeMap::from([("transactions_per_second".to_string(), rates)]),
        bytes_written: all.bytes,
        commits: all.committed,
        ..Outcome::default()
    };
    (outcome, last.into_values().collect())
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
    let context = Context {
        data_folder: folder.into(),
        cache_folder: folder.into(),
        seed: 1,
        client_cpus: Vec::new(),
        interrupted: &interrupted,
        progress: &mut |_, _| {},
    };
    let engine = super::sqlite::Sqlite::new(parameters.clone());
    engine.load(&context)?;
    let mut session = engine.connect(&Place { data_folder: folder.into() })?;
    let cost = |session: &mut dyn Session| -> Result<f64, Error> {
        let shared = Shared {
            parameters: &parameters,
            interrupted: &interrupted,
            stop: AtomicBool::new(false),

            taken: AtomicU64::new(0),
            committed: AtomicU64::new(0),
            error: Mutex::new(None),
        };
        let before = thread_cpu_seconds();
        shared.run(session, Mix::new(&parameters, 1, 1, 0))?;
        Ok((thread_cpu_seconds() - before) / transactions as f64)
    };
    Ok(DriverCost {
        whole_seconds_per_transaction: cost(&mut *session)?,
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
}

fn thread_cpu_seconds() -> f64 {
    let time = nix::time::clock_gettime(nix::time::ClockId::CLOCK_THREAD_CPUTIME_ID).expect("every Linux has this clock");
    time.tv_sec() as f64 + time.tv_nsec() as f64 / 1e9
}
