//! An `oltp` result in the shape of sysbench's report, 1.0's or 0.4's, so that scripts written for it go on working.
//!
//! One measured run of each scenario: the one whose transactions per second are the median of its runs. In 0.4's form a
//! deadlock is any conflict, and its ROLLBACK, which sysbench does not send, is not counted.

use crate::input::{Counting, Error, Input};
use crate::terminal::printable;
use ledger::model::{RunRow, Scenario};
use std::fmt::Write;

/// Whose report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// sysbench 1.0.
    One,
    /// sysbench 0.4.
    ZeroFour,
}

/// The report of every scenario of `oltp`, one after the other.
///
/// # Errors
/// When the results have no finished run of `oltp`.
pub fn sysbench(input: &Input, form: Form) -> Result<String, Error> {
    let counting = Counting::of(&input.contents);
    let mut out = String::new();
    for scenario in input.contents.scenarios.iter().filter(|scenario| scenario.workload == "oltp") {
        let Some((trial, run)) = counting.median_run(scenario, "transactions_per_second") else { continue };
        let figures = Figures::of(scenario, run);
        let _ = writeln!(out, "# {}, round {}, run {}", printable(&scenario.label), trial.round + 1, run.run);
        match form {
            Form::One => one(&figures, &mut out),
            Form::ZeroFour => zero_four(&figures, &mut out),
        }
        out.push('\n');
    }
    if out.is_empty() { Err(Error::NoRun { workloads: &["oltp"] }) } else { Ok(out) }
}

/// What both forms say.
struct Figures {
    threads: u64,
    seconds: f64,
    transactions: f64,
    reads: f64,
    writes: f64,
    others: f64,
    /// Conflicts, retried or not.
    conflicts: f64,
    reconnects: f64,
    minimum_ms: f64,
    mean_ms: f64,
    p95_ms: f64,
    maximum_ms: f64,
    /// Mean and standard deviation over threads.
    thread_transactions: (f64, f64),
    thread_seconds: (f64, f64),
}

impl Figures {
    fn of(scenario: &Scenario, run: &RunRow) -> Figures {
        let figure = |name: &str| run.metrics.get(name).copied();
        let count = |name: &str| figure(name).unwrap_or(0.0);
        let milliseconds = |name: &str| count(name) / 1000.0;
        let threads = scenario.settings["workload"]["threads"].as_u64().unwrap_or(1).max(1);
        let transactions = count("transactions");
        let mean_ms = milliseconds("latency_microseconds_mean");
        Figures {
            threads,
            seconds: count("elapsed_seconds").max(f64::MIN_POSITIVE),
            transactions,
            reads: count("reads"),
            writes: count("writes"),
            others: count("others"),
            conflicts: ["deadlocks", "serialization_failures", "lock_timeouts", "duplicate_keys"]
                .map(count)
                .iter()
                .sum(),
            reconnects: count("lost_connections"),
            minimum_ms: milliseconds("latency_microseconds_min"),
            mean_ms,
            p95_ms: milliseconds("latency_microseconds_p95"),
            maximum_ms: milliseconds("latency_microseconds_max"),
            thread_transactions: (
                figure("thread_transactions_mean").unwrap_or(transactions / threads as f64),
                count("thread_transactions_stddev"),
            ),
            // Files of an older surefoot have the latencies only.
            thread_seconds: (
                figure("thread_seconds_mean").unwrap_or(transactions * mean_ms / 1000.0 / threads as f64),
                count("thread_seconds_stddev"),
            ),
        }
    }

    /// Time that all threads spent in transactions.
    fn event_seconds(&self) -> f64 {
        self.thread_seconds.0 * self.threads as f64
    }
}

fn one(f: &Figures, out: &mut String) {
    let total = f.reads + f.writes + f.others;
    let rate = |count: f64| count / f.seconds;
    let _ = write!(
        out,
        "SQL statistics:\n    queries performed:\n        read:                            {:.0}\n        write:                           {:.0}\n        \
         other:                           {:.0}\n        total:                           {total:.0}\n",
        f.reads, f.writes, f.others
    );
    for (name, count) in [
        ("transactions:", f.transactions),
        ("queries:", total),
        ("ignored errors:", f.conflicts),
        ("reconnects:", f.reconnects),
    ] {
        let _ = writeln!(out, "    {name:<36} {count:<6.0} ({:.2} per sec.)", rate(count));
    }
    let _ = write!(
        out,
        "\nGeneral statistics:\n    total time:                          {:.4}s\n    total number of events:              {:.0}\n\nLatency (ms):\n",
        f.seconds, f.transactions
    );
    let sum = f.event_seconds() * 1000.0;
    for (name, value) in [
        ("min:", f.minimum_ms),
        ("avg:", f.mean_ms),
        ("max:", f.maximum_ms),
        ("95th percentile:", f.p95_ms),
        ("sum:", sum),
    ] {
        let _ = writeln!(out, "         {name:<36}{value:>8.2}");
    }
    let _ = write!(
        out,
        "\nThreads fairness:\n    events (avg/stddev):           {:.4}/{:.2}\n    execution time (avg/stddev):   {:.4}/{:.2}\n",
        f.thread_transactions.0, f.thread_transactions.1, f.thread_seconds.0, f.thread_seconds.1
    );
}

fn zero_four(f: &Figures, out: &mut String) {
    let others = f.others - f.conflicts;
    let _ = write!(
        out,
        "OLTP test statistics:\n    queries performed:\n        read:                            {:.0}\n        write:                           {:.0}\n        \
         other:                           {others:.0}\n        total:                           {:.0}\n",
        f.reads,
        f.writes,
        f.reads + f.writes + others
    );
    let counts = [
        ("transactions:", f.transactions),
        ("deadlocks:", f.conflicts),
        ("read/write requests:", f.reads + f.writes),
        ("other operations:", others),
    ];
    for (name, count) in counts {
        let _ = writeln!(out, "    {name:<36} {count:<6.0} ({:.2} per sec.)", count / f.seconds);
    }
    let _ = write!(
        out,
        "\nTest execution summary:\n    total time:                          {:.4}s\n    total number of events:              {:.0}\n    \
         total time taken by event execution: {:.4}\n    per-request statistics:\n",
        f.seconds,
        f.transactions,
        f.event_seconds()
    );
    for (name, value) in
        [("min:", f.minimum_ms), ("avg:", f.mean_ms), ("max:", f.maximum_ms), ("approx.  95 percentile:", f.p95_ms)]
    {
        let _ = writeln!(out, "         {name:<36}{:>10.4}s", value / 1000.0);
    }
    let _ = write!(
        out,
        "\nThreads fairness:\n    events (avg/stddev):           {:.4}/{:.2}\n    execution time (avg/stddev):   {:.4}/{:.2}\n",
        f.thread_transactions.0, f.thread_transactions.1, f.thread_seconds.0, f.thread_seconds.1
    );
}
