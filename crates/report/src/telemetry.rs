//! What the machine did in a run beside the work that was done: flushes per commit, bytes written per transaction.
//!
//! Pure; what an older file or another kernel does not have is none.

use crate::number::Scale;
use ledger::model::RunRow;
use observe::metric::{Direction, Metric};

/// What a run's work is counted in.
#[derive(Debug, Clone, PartialEq)]
pub struct Work {
    /// The metric that tells how much was done in a second, with the word for one of it; none: a run's work is given.
    rate: Option<(String, String)>,
}

impl Work {
    /// By the primary metric: `transactions_per_second` counts transactions. Of a time or a latency, each run does the same.
    #[must_use]
    pub fn of(metric: &Metric) -> Work {
        let counted = metric.name.strip_suffix("_per_second").filter(|_| metric.unit == "1/s");
        let unit = |counted: &str| match counted {
            "ios" => "I/O".to_string(),
            _ => counted.strip_suffix('s').unwrap_or(counted).replace('_', " "),
        };
        Work {
            rate: counted
                .filter(|_| metric.direction == Direction::More)
                .map(|counted| (metric.name.to_string(), unit(counted))),
        }
    }

    /// " per transaction", " per run".
    #[must_use]
    pub fn per(&self) -> String {
        format!(" per {}", self.rate.as_ref().map_or("run", |(_, unit)| unit))
    }

    /// How much of it a run did.
    fn count(&self, run: &RunRow) -> Option<f64> {
        let Some((name, _)) = &self.rate else { return Some(1.0) };
        Some(run.metrics.get(name.as_str())? * run.seconds).filter(|count| *count > 0.0)
    }
}

/// One of a run's metrics.
#[must_use]
pub fn metric(run: &RunRow, name: &str) -> Option<f64> {
    run.metrics.get(name).copied()
}

/// What the device got, and a log of changes that has a device of its own.
#[must_use]
pub fn of_devices(run: &RunRow, name: &str) -> Option<f64> {
    let of_log = match metric(run, "device_log_writes") {
        Some(_) => metric(run, &format!("device_log_{name}"))?,
        None => 0.0,
    };
    Some(metric(run, &format!("device_{name}"))? + of_log)
}

/// CPU seconds of the load and what it loads.
#[must_use]
pub fn cpu_seconds(run: &RunRow) -> Option<f64> {
    Some(metric(run, "driver_cpu_seconds")? + metric(run, "others_cpu_seconds").unwrap_or(0.0))
}

/// A figure that may explain a difference.
#[derive(Debug)]
pub struct Figure {
    /// Its name for machines.
    pub name: &'static str,
    /// What there is more or less of: "flushes".
    pub words: &'static str,
    /// Whether it comes in pieces: "fewer flushes", "less CPU time".
    pub is_counted: bool,
    /// Whether it is told for each piece of work done.
    pub is_per_work: bool,
    value: fn(&RunRow) -> Option<f64>,
}

impl Figure {
    /// Its value in a run.
    #[must_use]
    pub fn of(&self, run: &RunRow, work: &Work) -> Option<f64> {
        let value = (self.value)(run)?;
        if self.is_per_work { Some(value / work.count(run)?) } else { Some(value) }
    }

    /// How its values are shown where this one is the largest.
    #[must_use]
    pub fn scale(&self, largest: f64) -> Scale {
        let unit = match self.name {
            name if name.ends_with("_bytes") => "B",
            name if name.contains("seconds") => "s",
            _ => "1",
        };
        Scale::of(&Metric::named(self.name.into(), unit.into(), Direction::Neither), largest)
    }

    /// "flushes per commit", "bytes written per transaction".
    #[must_use]
    pub fn full_words(&self, work: &Work) -> String {
        format!("{}{}", self.words, if self.is_per_work { work.per() } else { String::new() })
    }
}

const fn counted(name: &'static str, words: &'static str, value: fn(&RunRow) -> Option<f64>) -> Figure {
    Figure { name, words, is_counted: true, is_per_work: true, value }
}

const fn time(name: &'static str, words: &'static str, value: fn(&RunRow) -> Option<f64>) -> Figure {
    Figure { name, words, is_counted: false, is_per_work: true, value }
}

/// All of them, from what a commit waits for down to what it may not need at all.
pub const FIGURES: &[Figure] = &[
    Figure {
        is_per_work: false,
        ..counted("flushes_per_commit", "flushes per commit", |run| metric(run, "flushes_per_commit"))
    },
    counted("flushes", "flushes", |run| match metric(run, "flushes_per_commit") {
        // Told per commit already.
        Some(_) => None,
        None => of_devices(run, "flushes"),
    }),
    Figure {
        is_per_work: false,
        ..time("flush_seconds_mean", "time of a flush", |run| metric(run, "flush_seconds_mean"))
    },
    counted("write_bytes", "bytes written", |run| of_devices(run, "write_bytes")),
    counted("log_bytes", "bytes of the server's log", |run| metric(run, "log_bytes")),
    counted("writes", "write requests", |run| of_devices(run, "writes")),
    Figure {
        is_per_work: false,
        ..time("device_busy_share", "time with the device busy", |run| metric(run, "device_busy_share"))
    },
    time("cpu_seconds", "CPU time", cpu_seconds),
    counted("context_switches", "context switches", |run| {
        Some(metric(run, "context_switches_per_second")? * run.seconds)
    }),
    counted("lock_waits", "lock waits", |run| metric(run, "lock_waits")),
    time("lock_wait_seconds", "time waiting for locks", |run| metric(run, "lock_wait_seconds")),
    counted("conflicts", "deadlocks and lock timeouts", |run| {
        Some(metric(run, "deadlocks")? + metric(run, "lock_timeouts")?)
    }),
    counted("merges", "merged requests", |run| of_devices(run, "merges")),
    counted("read_bytes", "bytes read", |run| of_devices(run, "read_bytes")),
    counted("reads", "read requests", |run| of_devices(run, "reads")),
    Figure {
        is_per_work: false,
        ..time("pressure_io_some_share", "time stalled for the disk", |run| metric(run, "pressure_io_some_share"))
    },
];
