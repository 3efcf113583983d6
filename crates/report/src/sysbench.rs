//! An `oltp` result in the shape of sysbench's report, 1.0's or 0.4's, so that scripts written for it go on working.
//!
//! One measured run of each scenario: the one whose transactions per second are the median of its runs. In 0.4's form a
//! deadlock is any conflict, and its ROLLBACK, which sysbench does not send, is not counted.

use crate::document::printable;
use crate::input::{Counting, Error, Input};
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
    if out.is_empty() { Err(Error::NoRun(&["oltp"])) } else { Ok(out) }
}

/// What both forms say; none was not measured, as in files of an older surefoot, and printed as `-`.
struct Figures {
    seconds: f64,
    transactions: Option<f64>,
    reads: Option<f64>,
    writes: Option<f64>,
    others: Option<f64>,
    /// Conflicts, retried or not.
    conflicts: Option<f64>,
    reconnects: Option<f64>,
    minimum_ms: Option<f64>,
    mean_ms: Option<f64>,
    p95_ms: Option<f64>,
    maximum_ms: Option<f64>,
    /// Time that all threads spent in transactions.
    event_seconds: Option<f64>,
    /// Mean and standard deviation over threads.
    thread_transactions: [Option<f64>; 2],
    thread_seconds: [Option<f64>; 2],
}

impl Figures {
    fn of(scenario: &Scenario, run: &RunRow) -> Figures {
        let figure = |name: &str| run.metrics.get(name).copied();
        let milliseconds = |name: &str| Some(figure(name)? / 1000.0);
        let threads = scenario.settings["workload"]["threads"].as_f64().map(|threads| threads.max(1.0));
        let transactions = figure("transactions");
        let mean_ms = milliseconds("latency_microseconds_mean");
        // Files of an older surefoot have the latencies only.
        let of_latencies = || Some(transactions? * mean_ms? / 1000.0 / threads?);
        let thread_seconds = figure("thread_seconds_mean").or_else(of_latencies);
        let kinds = ["deadlocks", "serialization_failures", "lock_timeouts", "duplicate_keys"];
        Figures {
            seconds: figure("elapsed_seconds").unwrap_or(run.seconds).max(f64::MIN_POSITIVE),
            transactions,
            reads: figure("reads"),
            writes: figure("writes"),
            others: figure("others"),
            conflicts: kinds.map(figure).into_iter().sum(),
            reconnects: figure("lost_connections"),
            minimum_ms: milliseconds("latency_microseconds_min"),
            mean_ms,
            p95_ms: milliseconds("latency_microseconds_p95"),
            maximum_ms: milliseconds("latency_microseconds_max"),
            event_seconds: product(thread_seconds, threads),
            thread_transactions: [
                figure("thread_transactions_mean").or_else(|| Some(transactions? / threads?)),
                figure("thread_transactions_stddev"),
            ],
            thread_seconds: [thread_seconds, figure("thread_seconds_stddev")],
        }
    }

    fn threads(&self, out: &mut String) {
        let ([events, events_stddev], [seconds, seconds_stddev]) = (self.thread_transactions, self.thread_seconds);
        let _ = write!(
            out,
            "\nThreads fairness:\n    events (avg/stddev):           {}/{}\n    execution time (avg/stddev):   {}/{}\n",
            shown(events, 4),
            shown(events_stddev, 2),
            shown(seconds, 4),
            shown(seconds_stddev, 2)
        );
    }

    /// Counts, each with its rate.
    fn counts(&self, counts: &[(&str, Option<f64>)], out: &mut String) {
        for (name, count) in counts {
            let rate = shown(count.map(|count| count / self.seconds), 2);
            let _ = writeln!(out, "    {name:<36} {:<6} ({rate} per sec.)", shown(*count, 0));
        }
    }
}

fn sum(values: &[Option<f64>]) -> Option<f64> {
    values.iter().copied().sum()
}

fn product(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    Some(a? * b?)
}

fn shown(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(|| "-".into(), |value| format!("{value:.digits$}"))
}

fn queries(f: &Figures, others: Option<f64>, total: Option<f64>) -> String {
    let [reads, writes, others, total] = [f.reads, f.writes, others, total].map(|count| shown(count, 0));
    format!(
        "    queries performed:\n        read:                            {reads}\n        write:                           {writes}\n        \
         other:                           {others}\n        total:                           {total}\n"
    )
}

fn one(f: &Figures, out: &mut String) {
    let total = sum(&[f.reads, f.writes, f.others]);
    let _ = write!(out, "SQL statistics:\n{}", queries(f, f.others, total));
    let counts = [
        ("transactions:", f.transactions),
        ("queries:", total),
        ("ignored errors:", f.conflicts),
        ("reconnects:", f.reconnects),
    ];
    f.counts(&counts, out);
    let _ = write!(
        out,
        "\nGeneral statistics:\n    total time:                          {:.4}s\n    total number of events:              {}\n\nLatency (ms):\n",
        f.seconds,
        shown(f.transactions, 0)
    );
    for (name, value) in [
        ("min:", f.minimum_ms),
        ("avg:", f.mean_ms),
        ("max:", f.maximum_ms),
        ("95th percentile:", f.p95_ms),
        ("sum:", product(f.event_seconds, Some(1000.0))),
    ] {
        let _ = writeln!(out, "         {name:<36}{:>8}", shown(value, 2));
    }
    f.threads(out);
}

fn zero_four(f: &Figures, out: &mut String) {
    let others = sum(&[f.others, product(f.conflicts, Some(-1.0))]);
    let _ = write!(out, "OLTP test statistics:\n{}", queries(f, others, sum(&[f.reads, f.writes, others])));
    let counts = [
        ("transactions:", f.transactions),
        ("deadlocks:", f.conflicts),
        ("read/write requests:", sum(&[f.reads, f.writes])),
        ("other operations:", others),
    ];
    f.counts(&counts, out);
    let _ = write!(
        out,
        "\nTest execution summary:\n    total time:                          {:.4}s\n    total number of events:              {}\n    \
         total time taken by event execution: {}\n    per-request statistics:\n",
        f.seconds,
        shown(f.transactions, 0),
        shown(f.event_seconds, 4)
    );
    for (name, value) in
        [("min:", f.minimum_ms), ("avg:", f.mean_ms), ("max:", f.maximum_ms), ("approx.  95 percentile:", f.p95_ms)]
    {
        let unit = if value.is_some() { "s" } else { " " };
        let line = format!("         {name:<36}{:>10}{unit}", shown(product(value, Some(1e-3)), 4));
        let _ = writeln!(out, "{}", line.trim_end());
    }
    f.threads(out);
}
