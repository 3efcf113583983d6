//! The driver: few threads that wait for many connections at once, in a closed or open loop; figures once all are done.
//!
//! A thread sends a connection's next statement and goes on with another's answer, so a load of many connections costs few
//! context switches. An embedded database does its work in the thread, so there each connection has a thread of its own.

use super::client::{Client, Progress, Script, Session, Statements};
use super::{Load, METRICS};
use crate::asked::{Asked, Limit, Wrong};
use crate::deadline::{self, Ends};
use crate::duration;
use crate::event_loop::{self, Connections, Next, cannot_wait};
use crate::one_cpu;
use crate::readiness::{Interest, Readiness};
use crate::sql::{Database, Place};
use crate::threads::{Control, Ended};
use crate::workload::{self, Context, Error, Outcome};
use observe::latency::Latency;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use wire::Conflict;

/// In an open loop, a transaction that starts later than this after its time counts as late: well above a wake-up's delay.
const LATE: Duration = Duration::from_millis(1);

/// A duplicate key passes when whoever holds it removes it. One that stands for so many tries is the table's own.
const DUPLICATES_MAX: u32 = 100;

/// What all threads of a run share.
struct Shared<'a> {
    load: &'a Load,
    control: Control<'a>,
    /// Transactions handed out, when they are limited.
    taken: AtomicU64,
    /// Transactions that the open loop has given a time.
    scheduled: AtomicU64,
}

/// What one connection counted.
#[derive(Default)]
struct Counted {
    committed: u64,
    /// Of these, the ones that wrote.
    wrote: u64,
    /// By kind.
    conflicts: [u64; 4],
    /// Tried again, or given up when `retry` is off.
    retries: u64,
    abandoned: u64,
    lost: u64,
    unknown: u64,
    /// Why the first one was given up, and what was said when the first one was lost at its commit.
    first_abandoned: Option<String>,
    first_unknown: Option<String>,
    late: u64,
    busy_seconds: f64,
    statements: Statements,
    bytes: u64,
    /// From the run's begin to its first transaction, where a pause comes before it, and to the end of its last one, and of the pause after that.
    until_first: Duration,
    until_end: Duration,
}

/// A conflict in words.
fn words(conflict: Conflict) -> &'static str {
    match conflict {
        Conflict::Deadlock => "a deadlock",
        Conflict::Serialization => "a serialization failure",
        Conflict::LockTimeout => "a lock that did not come free in time",
        Conflict::DuplicateKey => "a duplicate key",
    }
}

/// Runs the load once, each connection with the script of its number, in the sessions that the run before left. Gives
/// its figures, and the scripts with what they remember.
pub fn drive<S: Script>(
    load: &Load,
    database: &dyn Database,
    sessions: &mut Vec<Session>,
    context: &mut Context,
    script: impl Fn(usize) -> S + Sync,
) -> Result<(Outcome, Vec<S>), Error> {
    let place = Place::of(context);
    let is_embedded = database.engine().is_embedded;
    let threads = if is_embedded { load.threads } else { load.driver_threads.min(load.threads) };
    let shared = Shared::new(load, context.interrupted);
    let left = Mutex::new(std::mem::take(sessions));
    let connect = |thread: usize, ()| {
        // An embedded engine works in these threads: they are what is measured.
        if !is_embedded {
            one_cpu::keep(thread);
        }
        let lines = (thread..load.threads).step_by(threads).map(|number| {
            let session = left.lock().expect("no thread panics with it").pop();
            Client::connect(database, &place, script(number), load.protocol, session).map(Line::new)
        });
        Driver::new(&shared, lines.collect::<Result<Vec<Line<'_, S>>, Error>>()?)
    };
    let ended = shared.control.run(vec![(); threads], connect, Driver::run, context.progress)?;
    let Ended { parts, seconds, rates } = ended;
    let mut latencies: Vec<Latency> = Vec::new();
    let (mut counted, mut scripts) = (Vec::new(), Vec::new());
    for (of_thread, of_lines) in parts {
        latencies.resize_with(of_thread.len().max(latencies.len()), Latency::default);
        latencies.iter_mut().zip(&of_thread).for_each(|(all, of_thread)| all.merge(of_thread));
        for (of_line, script, session) in of_lines {
            counted.push(of_line);
            scripts.push(script);
            sessions.push(session);
        }
    }
    let kinds = scripts.first().map(S::kinds).unwrap_or_default();
    let latencies = by_kind(kinds, latencies);
    Ok((outcome(load, &counted, latencies, (rates, seconds)), scripts))
}

/// The operation that all transactions are, whatever their kind.
pub(super) const TRANSACTION: &str = "transaction";

/// Latencies of all transactions, and of each kind where there are several.
fn by_kind(kinds: Vec<String>, latencies: Vec<Latency>) -> BTreeMap<String, Latency> {
    let mut all = Latency::default();
    latencies.iter().for_each(|latency| all.merge(latency));
    let several = if kinds.len() > 1 { kinds.into_iter().zip(latencies).collect() } else { Vec::new() };
    several.into_iter().chain([(TRANSACTION.to_string(), all)]).collect()
}

/// What a thread of the load leaves: its latencies by kind, and of each of its connections counts, script and session.
type Left<S> = (Vec<Latency>, Vec<(Counted, S, Session)>);

/// A connection, and where its transaction is in time.
struct Line<'a, S> {
    client: Client<'a, S>,
    /// When the open loop wants the transaction under way to have started.
    intended: Option<Instant>,
    began: Instant,
    /// Whether its script waits amid a transaction.
    is_sleeping: bool,
    /// Duplicate keys that the transaction under way met.
    duplicates: u32,
    /// Writes before the transaction under way.
    writes_before: u64,
    /// When its last transaction ended, and in a closed loop the pause after it, which nobody waits for.
    ended: Instant,
    counted: Counted,
}

impl<'a, S: Script> Line<'a, S> {
    fn new(client: Client<'a, S>) -> Line<'a, S> {
        let (began, counted) = (Instant::now(), Counted::default());
        let (intended, is_sleeping, duplicates, writes_before) = (None, false, 0, 0);
        Line { client, intended, began, is_sleeping, duplicates, writes_before, ended: began, counted }
    }
}

/// One thread of the load.
struct Driver<'a, S> {
    shared: &'a Shared<'a>,
    lines: Vec<Line<'a, S>>,
    readiness: Readiness,
    started: Instant,
    deadline: Option<Instant>,
    /// By kind of transaction.
    latencies: Vec<Latency>,
}

impl<'a, S: Script> Driver<'a, S> {
    fn new(shared: &'a Shared<'a>, lines: Vec<Line<'a, S>>) -> Result<Driver<'a, S>, Error> {
        let readiness = Readiness::new(lines.len()).map_err(cannot_wait)?;
        let kinds = lines.first().map_or(0, |line| line.client.script.kinds().len()).max(1);
        let latencies = std::iter::repeat_with(Latency::default).take(kinds).collect();
        let driver = Driver { shared, lines, readiness, started: Instant::now(), deadline: None, latencies };
        (0..driver.lines.len()).try_for_each(|index| driver.listen(index))?;
        Ok(driver)
    }

    /// Waits for a line's answers too, from now on; a connection that is closed is waited for no longer.
    fn listen(&self, index: usize) -> Result<(), Error> {
        let Some(descriptor) = self.lines[index].client.descriptor() else { return Ok(()) };
        self.readiness.add(descriptor, index, Interest::Read).map_err(cannot_wait)
    }

    /// Runs the lines to their ends; gives the latencies of all and the counts of each.
    fn run(mut self) -> Result<Left<S>, Error> {
        self.started = Instant::now();
        let seconds = self.shared.load.time_seconds;
        self.deadline = (seconds > 0.0).then(|| self.started + duration::of_seconds(seconds));
        let first = (0..self.lines.len()).map(|index| self.next_start(index)).collect();
        let shared = self.shared;
        event_loop::run(&mut self, first, &shared.control)?;
        let ended = self.lines.into_iter().map(|line| {
            let until_end = line.ended.saturating_duration_since(self.started);
            let counted = Counted { statements: line.client.statements, until_end, ..line.counted };
            let (script, session) = line.client.into_parts();
            (counted, script, session)
        });
        Ok((self.latencies, ended.collect()))
    }

    /// When a line's next transaction is to start; none: it has done all of its own.
    fn next_start(&mut self, index: usize) -> Option<Instant> {
        let (shared, now) = (self.shared, Instant::now());
        let line = &mut self.lines[index];
        line.ended = now;
        let limit = shared.load.transactions;
        if shared.control.is_over() || limit > 0 && shared.taken.fetch_add(1, Ordering::Relaxed) >= limit {
            return None;
        }
        line.intended = shared.intended(self.started);
        let is_first = line.counted.committed == 0;
        let pause = line.client.script.pause_seconds(is_first, shared.load.think_time_seconds);
        let at = line.intended.unwrap_or(now).max(now + duration::of_seconds(pause));
        let is_in_run = self.deadline.is_none_or(|deadline| match line.intended {
            Some(intended) => deadline::begins(intended, (deadline, deadline - self.started), now),
            None => at < deadline,
        });
        if line.intended.is_none() {
            // A pause belongs to the transaction before it: without the last one, a run would have a higher rate the shorter it is.
            line.ended = at;
            if is_first && is_in_run {
                line.counted.until_first = duration::of_seconds(pause);
            }
        }
        is_in_run.then_some(at)
    }

    /// Begins a line's next transaction.
    fn draw(&mut self, index: usize) {
        let line = &mut self.lines[index];
        line.client.script.draw();
        line.duplicates = 0;
        line.writes_before = line.client.statements.writes;
        line.began = Instant::now();
        line.counted.late += u64::from(line.intended.is_some_and(|intended| line.began > intended + LATE));
    }

    /// Goes on with a line's transaction, and with the ones after it as long as they need not wait.
    fn go_on(&mut self, index: usize) -> Result<Next, Error> {
        loop {
            let line = &mut self.lines[index];
            match line.client.advance()? {
                Progress::Waiting => return Ok(Next::Waits),
                Progress::Sleeping(seconds) => {
                    line.is_sleeping = true;
                    return Ok(Next::At(Instant::now() + duration::of_seconds(seconds)));
                }
                Progress::Committed => self.committed(index),
                Progress::Conflict(conflict) => {
                    line.counted.conflicts[conflict as usize] += 1;
                    line.duplicates += u32::from(conflict == Conflict::DuplicateKey);
                    if self.shared.load.retry && line.duplicates < DUPLICATES_MAX {
                        line.counted.retries += 1;
                        if self.shared.control.is_over() {
                            return Err(Error::Interrupted);
                        }
                        continue;
                    }
                    line.counted.abandoned += 1;
                    line.counted.first_abandoned.get_or_insert_with(|| words(conflict).into());
                }
                lost @ (Progress::Lost | Progress::Unknown) => {
                    self.reconnect(index, lost)?;
                    if lost == Progress::Lost && self.shared.load.retry {
                        self.lines[index].counted.retries += 1;
                        continue;
                    }
                }
            }
            match self.next_start(index) {
                None => return Ok(Next::Ended),
                Some(at) if at > Instant::now() => return Ok(Next::At(at)),
                Some(_) => self.draw(index),
            }
        }
    }

    /// Makes a lost connection anew, when the load may; a transaction that may have taken place is not tried again.
    fn reconnect(&mut self, index: usize, lost: Progress) -> Result<(), Error> {
        let (line, load) = (&mut self.lines[index], self.shared.load);
        if !load.reconnect {
            return Err(line.client.loss());
        }
        line.counted.lost += 1;
        if lost == Progress::Unknown {
            line.counted.unknown += 1;
            let loss = line.client.loss();
            line.counted.first_unknown.get_or_insert_with(|| observe::record::causes(&loss).join(": "));
            line.client.script.unknown(line.began, Instant::now());
        } else if !load.retry {
            line.counted.abandoned += 1;
            line.counted.first_abandoned.get_or_insert_with(|| "the connection was lost".into());
        }
        line.client.reconnect()?;
        self.listen(index)
    }

    fn committed(&mut self, index: usize) {
        let (line, ended) = (&mut self.lines[index], Instant::now());
        // In an open loop the user waits from when the transaction should have begun.
        self.latencies[line.client.script.kind()].record(ended - line.intended.unwrap_or(line.began));
        line.counted.busy_seconds += (ended - line.began).as_secs_f64();
        line.counted.committed += 1;
        line.counted.wrote += u64::from(line.client.statements.writes > line.writes_before);
        line.counted.bytes += line.client.script.committed(line.began, ended);
        self.shared.control.count(1);
    }
}

impl<S: Script> Connections for Driver<'_, S> {
    fn readiness(&mut self) -> &mut Readiness {
        &mut self.readiness
    }

    /// It begins its next transaction, or goes on where its script waits.
    fn due(&mut self, index: usize) -> Result<Next, Error> {
        if !std::mem::take(&mut self.lines[index].is_sleeping) {
            self.draw(index);
        }
        self.go_on(index)
    }

    fn answered(&mut self, index: usize) -> Result<Next, Error> {
        self.go_on(index)
    }

    fn unasked(&mut self, index: usize) -> Result<(), Error> {
        let client = &mut self.lines[index].client;
        // It would be told of again and again.
        if client.unasked()?
            && let Some(descriptor) = client.descriptor()
        {
            self.readiness.remove(descriptor).map_err(cannot_wait)?;
        }
        Ok(())
    }
}

impl Shared<'_> {
    fn new<'a>(load: &'a Load, interrupted: &'a AtomicBool) -> Shared<'a> {
        Shared { load, control: Control::new(interrupted), taken: AtomicU64::new(0), scheduled: AtomicU64::new(0) }
    }

    /// When the open loop wants the next transaction to start, whichever connection has it; none: a closed loop.
    fn intended(&self, started: Instant) -> Option<Instant> {
        if self.load.rate == 0.0 {
            return None;
        }
        let number = self.scheduled.fetch_add(1, Ordering::Relaxed);
        Some(started + duration::until(number, self.load.rate))
    }
}

fn outcome(
    load: &Load,
    counted: &[Counted],
    latencies: BTreeMap<String, Latency>,
    (rates, elapsed_seconds): (Vec<f64>, f64),
) -> Outcome {
    let (latency, asked) = (&latencies[TRANSACTION], asked(load, counted));
    let seconds = rate_seconds(load, counted).unwrap_or(elapsed_seconds);
    let sum = |of: fn(&Counted) -> u64| counted.iter().map(of).sum::<u64>() as f64;
    let committed = sum(|one| one.committed);
    let (reads, writes, others) =
        (sum(|one| one.statements.reads), sum(|one| one.statements.writes), sum(|one| one.statements.others));
    let latency = workload::mean_and(&[0.0, 0.50, 0.95, 0.99, 0.999, 1.0], latency);
    let of_threads = mean_and_stddev(counted, |one| one.committed as f64)
        .into_iter()
        .chain(mean_and_stddev(counted, |one| one.busy_seconds));
    let values = [
        committed / seconds,
        (reads + writes + others) / seconds,
        committed,
        reads,
        writes,
        others,
        sum(|one| one.retries),
        sum(|one| one.conflicts[Conflict::Deadlock as usize]),
        sum(|one| one.conflicts[Conflict::Serialization as usize]),
        sum(|one| one.conflicts[Conflict::LockTimeout as usize]),
        sum(|one| one.conflicts[Conflict::DuplicateKey as usize]),
        sum(|one| one.abandoned),
        sum(|one| one.lost),
        sum(|one| one.unknown),
        sum(|one| one.statements.missed),
        sum(|one| one.late),
        missed(load, asked.total),
        elapsed_seconds,
    ];
    Outcome {
        seconds,
        metrics: workload::figures(METRICS, values.into_iter().chain(latency).chain(of_threads)),
        latencies,
        // In seconds beyond these all connections but the slowest were done.
        series: [("transactions_per_second".to_string(), rates.into_iter().take(seconds as usize).collect())].into(),
        bytes_written: counted.iter().map(|one| one.bytes).sum(),
        commits: counted.iter().map(|one| one.wrote).sum(),
        ..Outcome::of(asked)
    }
}

/// The time that the rates of a loop are over that ends by its time; none: over all of the time until the last transaction's end.
fn rate_seconds(load: &Load, counted: &[Counted]) -> Option<f64> {
    let window = duration::of_seconds(load.run_seconds()?);
    let mut ends = Ends::default();
    counted.iter().for_each(|one| ends.add(window - one.until_first, one.until_end - one.until_first));
    ends.mean_seconds()
}

/// Transactions of an open loop that were due before the run's end and not begun, as all connections were busy for longer than a backlog
/// is worked off: no latency counts how long they waited. `begun` is how many were.
fn missed(load: &Load, begun: u64) -> f64 {
    let due = (load.rate * load.time_seconds).ceil();
    let due = if load.transactions > 0 { due.min(load.transactions as f64) } else { due };
    (due - begun as f64).max(0.0)
}

/// Transactions that were begun, and those of them that did not come to an acknowledged end.
fn asked(load: &Load, counted: &[Counted]) -> Asked {
    let sum = |of: fn(&Counted) -> u64| counted.iter().map(of).sum::<u64>();
    let wrong = |name: &'static str, words: &'static str, count: u64, first: fn(&Counted) -> &Option<String>| {
        let first = counted.iter().find_map(|one| first(one).clone());
        Wrong { name: name.into(), words: words.into(), count, first }
    };
    let (abandoned, unknown) = (sum(|one| one.abandoned), sum(|one| one.unknown));
    let [given_up, lost_at_commit] = super::ERRORS;
    Asked {
        what: "transactions".into(),
        total: sum(|one| one.committed) + abandoned + unknown,
        wrong: vec![
            wrong(given_up, "given up", abandoned, |one| &one.first_abandoned),
            wrong(lost_at_commit, "lost at the commit", unknown, |one| &one.first_unknown),
        ],
        limit: Limit::of(load.rate > 0.0, load.errors_max),
    }
}

/// Over threads; the standard deviation is of these threads, not of a population they were drawn from, as sysbench has it.
fn mean_and_stddev(counted: &[Counted], of: fn(&Counted) -> f64) -> [f64; 2] {
    let count = counted.len() as f64;
    let mean = counted.iter().map(of).sum::<f64>() / count;
    let variance = counted.iter().map(|one| (of(one) - mean).powi(2)).sum::<f64>() / count;
    [mean, variance.sqrt()]
}

/// CPU time of the calling thread for each transaction of a run on one embedded connection.
///
/// # Errors
/// When the database fails.
pub fn thread_cpu_seconds_per_transaction<S: Script>(
    load: &Load,
    database: &dyn Database,
    place: &Place,
    script: S,
) -> Result<f64, Error> {
    let interrupted = AtomicBool::new(false);
    let shared = Shared::new(load, &interrupted);
    let driver = Driver::new(&shared, vec![Line::new(Client::connect(database, place, script, load.protocol, None)?)])?;
    let before = observe::cpu::thread_seconds();
    driver.run()?;
    Ok((observe::cpu::thread_seconds() - before) / load.transactions as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A database that stood still for a whole run is not one that answers in no time.
    #[test]
    fn without_a_transaction_there_is_no_latency() {
        let load = serde_json::json!({
            "threads": 1, "driver_threads": 1, "time": 1.0, "transactions": 0, "prepared": true, "rate": 0.0,
            "think_time": 0.0, "retry": true, "reconnect": false, "errors_max": 0.0,
        });
        let load: Load = serde_json::from_value(load).expect("all settings");
        let latencies = BTreeMap::from([(TRANSACTION.to_string(), Latency::default())]);
        let empty = outcome(&load, &[Counted::default()], latencies, (vec![0.0, 7.0], 2.5));
        assert!(empty.metrics.iter().all(|measured| !measured.metric.name.starts_with("latency_")));
        assert_eq!((empty.metrics[0].value, empty.series["transactions_per_second"].len()), (0.0, 1), "it stood still");
    }
}
