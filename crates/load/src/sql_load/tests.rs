//! The driver with transactions of known length on SQLite: over which time a rate is, and what becomes of a backlog.

use super::*;
use crate::engines::sqlite::Sqlite;
use crate::sql::Pragmas;
use crate::workload::{Context, Error, Outcome};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::time::Instant;
use wire::{Conflict, Param, Value as Cell};

/// Reads a number; sleeps first, so many times.
struct Sleeping {
    sleeps_left: u32,
    seconds: f64,
    has_slept: bool,
    /// Each so many-th counts as a write; 0: none.
    writes_each: u32,
    drawn: u32,
    /// Before the first transaction and before each other one; none: as the load says.
    pauses: Option<[f64; 2]>,
}

impl Sleeping {
    fn new(sleeps_left: u32, seconds: f64) -> Sleeping {
        Sleeping { sleeps_left, seconds, has_slept: false, writes_each: 0, drawn: 0, pauses: None }
    }
}

impl Script for Sleeping {
    fn texts(&self, _begin: &str) -> Vec<String> {
        vec!["SELECT 1".into()]
    }

    fn draw(&mut self) {
        self.has_slept = false;
        self.drawn += 1;
    }

    fn steps(&self) -> usize {
        1
    }

    fn is_transaction(&self) -> bool {
        false
    }

    fn next(&mut self, step: usize) -> Result<Next, Error> {
        if step == 1 {
            return Ok(Next::End);
        }
        if self.has_slept || self.sleeps_left == 0 {
            return Ok(Next::Send);
        }
        self.has_slept = true;
        self.sleeps_left -= 1;
        Ok(Next::Sleep(self.seconds))
    }

    fn pause_seconds(&mut self, is_first: bool, think_seconds: f64) -> f64 {
        let [first, later] = self.pauses.unwrap_or([0.0, think_seconds]);
        if is_first { first } else { later }
    }

    fn text(&self, _step: usize) -> usize {
        0
    }

    fn class(&self, _step: usize) -> Class {
        if self.writes_each > 0 && self.drawn.is_multiple_of(self.writes_each) { Class::Write } else { Class::Read }
    }

    fn params<'a>(&'a self, _step: usize, _params: &mut [Param<'a>; PARAMS_MAX]) -> usize {
        0
    }

    fn row(&mut self, _step: usize, _value: Cell) {}

    fn answered(&mut self, _step: usize, _changed: u64) -> Result<(), Error> {
        Ok(())
    }

    fn committed(&mut self, _began: Instant, _ended: Instant) -> u64 {
        0
    }

    fn rolled_back(&mut self, _conflict: Option<Conflict>) {}

    fn unknown(&mut self, _began: Instant, _ended: Instant) {}
}

const CLOSED: Load = Load {
    threads: 8,
    driver_threads: 1,
    time_seconds: 0.2,
    transactions: 0,
    protocol: Protocol::Prepared,
    rate: 0.0,
    think_time_seconds: 0.0,
    retry: true,
    reconnect: false,
    errors_max: 0.0,
};

fn run(load: &Load, script: impl Fn(usize) -> Sleeping + Sync) -> Outcome {
    let folder = tempfile::tempdir().expect("a folder");
    let interrupted = AtomicBool::new(false);
    let context = &mut Context {
        data_folder: folder.path().into(),
        server: None,
        sockets: BTreeMap::new(),
        cache_folder: folder.path().into(),
        seed: 1,
        goes_on: false,
        runs: 1,
        client_cpus: Vec::new(),
        interrupted: &interrupted,
        progress: &mut |_, _| {},
    };
    let database = Sqlite(Pragmas { journal_mode: "delete".into(), synchronous: "off".into(), ..Pragmas::default() });
    drive(load, &database, &mut Vec::new(), context, script).expect("it runs").0
}

fn figure(outcome: &Outcome, name: &str) -> f64 {
    outcome.metrics.iter().find(|measured| measured.metric.name == name).expect("a figure").value
}

#[test]
fn the_slowest_transaction_of_a_closed_loop_takes_no_time_of_the_others() {
    const SLOW_SECONDS: f64 = 2.0;
    let script = |number| Sleeping::new(u32::from(number == 0), SLOW_SECONDS);
    let outcome = run(&CLOSED, script);
    let elapsed = figure(&outcome, "elapsed_seconds");
    assert!(elapsed >= SLOW_SECONDS, "{elapsed}");
    let least = (7.0 * CLOSED.time_seconds + SLOW_SECONDS) / 8.0;
    assert!((least..elapsed - 0.8).contains(&outcome.seconds), "{} of {elapsed} s", outcome.seconds);
    let [rate, done] = ["transactions_per_second", "transactions"].map(|name| figure(&outcome, name));
    assert!((rate * outcome.seconds - done).abs() < 1e-6, "the slow one is among the {done}");
    // A run of so many transactions is over with its last one.
    let counted = run(&Load { time_seconds: 0.0, transactions: 100, ..CLOSED }, script);
    assert_eq!((counted.seconds, figure(&counted, "transactions")), (figure(&counted, "elapsed_seconds"), 100.0));
}

#[test]
fn what_was_due_in_an_open_loop_before_its_end_is_begun_and_has_waited() {
    const STALL_SECONDS: f64 = 0.3;
    let open = Load { threads: 1, time_seconds: 0.1, rate: 100.0, ..CLOSED };
    let outcome = run(&open, |_| Sleeping::new(1, STALL_SECONDS));
    let figures = ["transactions", "missed_transactions"].map(|name| figure(&outcome, name));
    assert_eq!(figures, [10.0, 0.0]);
    let shortest = outcome.latencies["transaction"].microseconds_at(0.0);
    assert!(shortest >= (STALL_SECONDS - open.time_seconds) * 1e6 * 0.99, "{shortest} µs: all waited for the first");
    assert!(outcome.seconds >= STALL_SECONDS, "the rate falls behind: {}", outcome.seconds);
}

/// The first is due at once and the second at the end: over the time until the first one's answer, whoever answers sooner would have the higher rate.
#[test]
fn who_holds_the_rate_of_an_open_loop_has_that_rate() {
    let open = Load { time_seconds: 0.5, rate: 2.0, ..CLOSED };
    let outcome = run(&open, |_| Sleeping::new(0, 0.0));
    assert_eq!(figure(&outcome, "transactions"), 1.0);
    let rate = figure(&outcome, "transactions_per_second");
    assert!(rate <= open.rate, "{rate}");
}

#[test]
fn the_pause_after_a_runs_last_transaction_is_in_its_time_and_nobody_waits_for_it() {
    let thinking = Load { think_time_seconds: 100.0, ..CLOSED };
    let outcome = run(&thinking, |_| Sleeping::new(0, 0.0));
    assert_eq!(figure(&outcome, "transactions"), 8.0);
    let rate = figure(&outcome, "transactions_per_second");
    assert!(rate <= 8.0 / thinking.think_time_seconds, "{rate}");
    assert!(figure(&outcome, "elapsed_seconds") < thinking.think_time_seconds);
}

/// Each connection does two, and would begin a third when the run is over: its time is two pauses, and not the run.
#[test]
fn a_pause_before_the_first_transaction_is_none_of_its_time() {
    const PAUSE_SECONDS: f64 = 0.15;
    let outcome = run(&CLOSED, |_| Sleeping { pauses: Some([0.01, PAUSE_SECONDS]), ..Sleeping::new(0, 0.0) });
    let rate = figure(&outcome, "transactions_per_second");
    assert!(rate > 0.0 && rate <= CLOSED.threads as f64 / PAUSE_SECONDS, "{rate}");
}

/// A load of which few transactions write flushes for these alone.
#[test]
fn a_transaction_that_only_read_is_no_commit() {
    let load = Load { threads: 1, time_seconds: 0.0, transactions: 30, ..CLOSED };
    let outcome = run(&load, |_| Sleeping { writes_each: 3, ..Sleeping::new(0, 0.0) });
    assert_eq!((figure(&outcome, "transactions"), outcome.commits), (30.0, 10));
    assert_eq!(run(&load, |_| Sleeping::new(0, 0.0)).commits, 0);
}

/// As SQLite answers `UPDATE … RETURNING`: with rows, and no number of changed ones.
#[test]
fn a_write_that_gives_rows_has_found_them() {
    let load = Load { threads: 1, time_seconds: 0.0, transactions: 30, ..CLOSED };
    let outcome = run(&load, |_| Sleeping { writes_each: 1, ..Sleeping::new(0, 0.0) });
    assert_eq!(["writes", "missed_rows"].map(|name| figure(&outcome, name)), [30.0, 0.0]);
}
