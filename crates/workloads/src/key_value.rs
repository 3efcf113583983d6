//! `key-value`: the mixes of reads, updates, inserts and scans that YCSB made known, on Redis, etcd, LMDB or a database in SQL.
//!
//! Mixes are `mix.rs`, distributions `distribution.rs`, by YCSB's own definitions; a store is a file behind `store.rs`. All that is read is
//! checked: what a field holds follows from record, field and version (`value.rs`), and which versions may be there from the writes
//! that were acknowledged and those under way (`versions.rs`, `check.rs`). A wrong value ends the run. After the last run, all records are read.

mod check;
mod distribution;
mod drive;
mod etcd;
mod lmdb;
mod mix;
mod parameters;
mod redis;
mod store;
mod tables;
#[cfg(test)]
mod tests;
mod value;
mod versions;

use check::{Check, Records, Rules};
use distribution::Choice;
use drive::{Driven, Pace, Work};
use load::asked::{Asked, Limit};
use load::engines;
use load::readiness::{Interest, Readiness};
use load::sql::{self, Place};
use load::workload::{self, Context, Elsewhere, Error, Kind, Outcome, Workload};
use mix::KINDS;
use observe::latency::Latency;
use observe::metric::{Direction, Measured, Metric};
use parameters::Parameters;
use random::Random;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use store::{DiskTimes, Request, Session, Store};
use versions::Versions;

/// The row in the list of workloads.
pub static KIND: Kind = Kind {
    name: "key-value",
    summary: "YCSB's mixes A to F of reads, updates, inserts and scans on Redis, etcd, LMDB, SQLite, PostgreSQL or MariaDB, every value checked",
    example: "[workload.key-value]\nengine = \"redis\"\nmix = \"a\"\nrecords = 100000\nthreads = 16\ntime = \"10s\"\n",
    settings: parameters::SETTINGS,
    choices: &["engine", "cache_size", "journal_mode", "map_size", "mmap_size", "page_size", "sync", "synchronous"],
    elsewhere: Elsewhere::All,
    read: workload::read::<Parameters>,
};

const METRICS: &[Metric] = observe::metrics! {
    More "1/s": "operations_per_second";
    Neither "1": "operations", "reads", "updates", "inserts", "scans", "read_modify_writes", "scanned_records";
    Less "1": "late_operations", "missed_operations";
    Less "s": "elapsed_seconds";
    Less "µs": "latency_microseconds_mean", "latency_microseconds_p50", "latency_microseconds_p95",
        "latency_microseconds_p99", "latency_microseconds_p99_9", "latency_microseconds_max";
};

/// Of the rewrite that a run asked for.
const AOF_REWRITE_SECONDS: Metric = Metric::new("aof_rewrite_seconds", "s", Direction::Less);

/// The operation that all are, whatever their kind.
const OPERATION: &str = "operation";

/// The workload at work.
struct KeyValue {
    parameters: Parameters,
    store: Box<dyn Store>,
    sessions: Vec<Box<dyn Session>>,
    /// Over all runs of the trial.
    records: Records,
    versions: Option<Versions>,
    /// Numbers of keys, ascending, where records are scanned.
    loaded: Vec<u64>,
    runs: u64,
}

impl KeyValue {
    fn new(parameters: Parameters) -> KeyValue {
        let shape = parameters.shape();
        let places = parameters.records as usize * shape.fields;
        let mut loaded = Vec::new();
        if shape.is_scanned {
            loaded.extend((0..parameters.records).map(value::key_number));
            loaded.sort_unstable();
        }
        KeyValue {
            store: parameters.store(),
            sessions: Vec::new(),
            records: Records::new(parameters.records),
            versions: parameters.mix().rewrites().then(|| Versions::new(places)),
            loaded,
            runs: 0,
            parameters,
        }
    }

    fn rules(&self) -> Rules<'_> {
        Rules { shape: self.parameters.shape(), versions: self.versions.as_ref(), loaded: &self.loaded }
    }

    /// Runs the load, and what the study wants beside it; how long that took.
    fn drive(&self, sessions: Vec<Box<dyn Session>>, context: &mut Context) -> Result<(Driven, Option<f64>), Error> {
        let (parameters, mix) = (&self.parameters, self.parameters.mix());
        let name = if parameters.distribution == "of-mix" { mix.distribution } else { &parameters.distribution };
        let (seed, run) = (context.seed, self.runs);
        let random = |number: usize| Random::of_stream(seed, run << 32 | number as u64);
        let choice = Choice::named(name, parameters.records, mix.has(mix::Kind::Insert));
        let work = Work { mix, choice, rules: self.rules(), records: &self.records, random: &random };
        let threads = if parameters.engine.is_embedded { parameters.threads } else { parameters.driver_threads };
        let pace = Pace {
            threads: threads.min(parameters.threads),
            pipeline: parameters.pipeline,
            seconds: parameters.time_seconds,
            rate: parameters.rate,
        };
        if parameters.aof_rewrite_seconds == 0.0 {
            return Ok((drive::drive(pace, &work, sessions, context)?, None));
        }
        let (place, is_over) = (Place::of(context), AtomicBool::new(false));
        if !engines::redis::has_log(&mut engines::redis::connect(&place)?)? {
            let problem = "redis keeps no append-only file: set service.redis.settings.appendonly = \"yes\"".into();
            return Err(Error::Parameter { setting: "aof_rewrite", problem });
        }
        std::thread::scope(|scope| {
            let beside = scope.spawn(|| rewrite(&place, parameters.aof_rewrite_seconds, &is_over));
            let driven = drive::drive(pace, &work, sessions, context);
            is_over.store(driven.is_err(), Ordering::Relaxed);
            let seconds = beside.join().expect("it does not panic");
            Ok((driven?, Some(seconds?)))
        })
    }

    fn outcome(&self, driven: Driven, rewrite_seconds: Option<f64>) -> Outcome {
        let (counted, seconds) = (driven.counted, driven.rate_seconds);
        let mut all = Latency::default();
        counted.latencies.iter().for_each(|latency| all.merge(latency));
        let counts = counted.latencies.each_ref().map(|latency| latency.count() as f64);
        let [reads, updates, inserts, scans, read_modify_writes] = counts;
        let operations = all.count() as f64;
        let Parameters { rate, time_seconds, .. } = self.parameters;
        let missed = if rate > 0.0 { ((rate * time_seconds).ceil() - operations).max(0.0) } else { 0.0 };
        let values = [
            operations / seconds,
            operations,
            reads,
            updates,
            inserts,
            scans,
            read_modify_writes,
            counted.scanned as f64,
            counted.late as f64,
            missed,
            driven.seconds,
        ];
        let latency = workload::mean_and(&[0.50, 0.95, 0.99, 0.999, 1.0], &all);
        let mut metrics = workload::figures(METRICS, values.into_iter().chain(latency));
        metrics.extend(rewrite_seconds.map(|seconds| AOF_REWRITE_SECONDS.at(seconds)));
        let by_kind = KINDS.iter().zip(counted.latencies).filter(|(_, latency)| latency.count() > 0);
        let mut latencies: BTreeMap<String, Latency> =
            by_kind.map(|(kind, latency)| (kind.words().to_string(), latency)).collect();
        latencies.insert(OPERATION.into(), all);
        Outcome {
            seconds,
            metrics,
            latencies,
            // In seconds beyond these all connections but the slowest were done.
            series: [(METRICS[0].name.to_string(), driven.rates.into_iter().take(seconds as usize).collect())].into(),
            bytes_written: counted.bytes,
            commits: (updates + inserts + read_modify_writes) as u64,
            ..Outcome::of(Asked { limit: Limit::of(rate > 0.0, 0.0), ..Asked::all_right() })
        }
    }
}

impl Workload for KeyValue {
    fn prepare(&mut self, context: &mut Context) -> Result<Vec<Measured>, Error> {
        let started = Instant::now();
        let shape = self.parameters.shape();
        let mut records = 0..self.parameters.records;
        let mut next = |record: &mut Vec<u8>| {
            let number = value::key_number(records.next().filter(|_| !context.interrupted.load(Ordering::Relaxed))?);
            record.clear();
            (0..shape.fields).for_each(|field| value::write(number, field, 0, shape.length, record));
            Some(value::key(number))
        };
        self.store.load(&Place::of(context), &mut next)?;
        Error::if_interrupted(context.interrupted)?;
        Ok(workload::load_seconds(started))
    }

    fn run(&mut self, context: &mut Context) -> Result<Outcome, Error> {
        let place = Place::of(context);
        if !context.goes_on {
            self.sessions.clear();
            self.store.ready(&place)?;
        }
        self.runs += 1;
        let mut sessions = std::mem::take(&mut self.sessions);
        while sessions.len() < self.parameters.threads {
            sessions.push(self.store.connect(&place)?);
        }
        let before = self.store.disk_times(&place)?;
        let (mut driven, rewrite_seconds) = self.drive(sessions, context)?;
        self.sessions = std::mem::take(&mut driven.sessions);
        let mut outcome = self.outcome(driven, rewrite_seconds);
        outcome.metrics.extend(disk_times(&before, &self.store.disk_times(&place)?));
        if let Some(seconds) = rewrite_seconds {
            let left = outcome.seconds - self.parameters.aof_rewrite_seconds;
            if seconds > left {
                outcome
                    .notes
                    .push(format!("the rewrite of the append-only file took {seconds:.1} s and ended after the run"));
            }
        }
        Ok(outcome)
    }

    fn cool(&mut self) -> Result<(), Error> {
        self.sessions.clear();
        self.store.cool();
        Ok(())
    }

    /// Reads every record.
    fn verify(&mut self, context: &mut Context) -> Result<(), Error> {
        self.sessions.clear();
        let place = Place::of(context);
        let there = self.records.there();
        sql::same("records: loaded and inserted", &there.to_string(), &self.store.count(&place)?.to_string())?;
        let mut session = self.store.connect(&place)?;
        let at_once = if self.parameters.is_redis() { VERIFYING } else { 1 };
        let mut checks: Vec<Check> = std::iter::repeat_with(Check::default).take(at_once as usize).collect();
        for first in (0..there).step_by(at_once as usize) {
            let records = first..(first + at_once).min(there);
            read_all(&mut *session, &self.rules(), records, &mut checks)?;
            Error::if_interrupted(context.interrupted)?;
        }
        Ok(())
    }
}

/// Of what a store counted itself during a run.
fn disk_times(before: &[DiskTimes], after: &[DiskTimes]) -> Vec<Measured> {
    let p99 = |(before, after): (&DiskTimes, &DiskTimes)| {
        let seconds = after.1.as_ref()?.since(before.1.as_ref()?)?.quantile(0.99)?;
        Some(before.0.at(seconds * 1e6))
    };
    before.iter().zip(after).filter_map(p99).collect()
}

/// Records that are asked for at once when all are read.
const VERIFYING: u64 = 64;

/// Reads records of these numbers and waits for all.
fn read_all(
    session: &mut dyn Session,
    rules: &Rules,
    records: std::ops::Range<u64>,
    checks: &mut [Check],
) -> Result<(), Error> {
    let mut missing = 0;
    for (tag, record) in records.enumerate() {
        let number = value::key_number(record);
        let key = value::key(number);
        checks[tag].read(rules, record, (number, key));
        session.ask(tag, &Request::Read(key))?;
        missing += 1;
    }
    session.send()?;
    while missing > 0 {
        match session.answer(&mut |seen| checks[seen.tag].see(rules, seen))? {
            Some(tag) => {
                checks[tag].end(rules)?;
                missing -= 1;
            }
            None => wait(session)?,
        }
    }
    Ok(())
}

fn wait(session: &dyn Session) -> Result<(), Error> {
    let Some(descriptor) = session.descriptor() else { return Ok(()) };
    let waited = || {
        let mut readiness = Readiness::new(1)?;
        readiness.add(descriptor, 0, Interest::Read)?;
        readiness.wait(Duration::from_secs(1), &mut Vec::new())
    };
    waited().map_err(load::event_loop::cannot_wait)
}

/// Asks Redis for a rewrite of its log after so many seconds, and waits for its end; how long it took.
fn rewrite(place: &Place, after_seconds: f64, is_over: &AtomicBool) -> Result<f64, Error> {
    let at = Instant::now() + load::duration::of_seconds(after_seconds);
    let mut client = engines::redis::connect(place)?;
    let is_over = || is_over.load(Ordering::Relaxed);
    while Instant::now() < at && !is_over() {
        std::thread::sleep(at.saturating_duration_since(Instant::now()).min(Duration::from_millis(10)));
    }
    let started = Instant::now();
    engines::redis::rewrite_log(&mut client, &is_over)?;
    Ok(started.elapsed().as_secs_f64())
}
