//! A named figure of a run: the one home of its unit and of whether more or less is better.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Which way is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// More is better: rates.
    More,
    /// Less is better: times, latencies.
    Less,
    /// Neither: a figure that explains, like bytes written.
    Neither,
}

/// A list of metrics by which way is better and the unit, in the order in which they stand:
/// `metrics! { More "1/s": "reads_per_second"; Neither "1": "reads", "updates"; }`.
#[macro_export]
macro_rules! metrics {
    ($($direction:ident $unit:literal: $($name:expr),+;)+) => {
        &[$($($crate::metric::Metric::new($name, $unit, $crate::metric::Direction::$direction)),+),+]
    };
}

/// A figure's name, unit and direction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metric {
    /// `snake_case`, with the unit in it where there is one: `transactions_per_second`.
    pub name: Cow<'static, str>,
    /// Unit for axes and tables: `1/s`, `µs`, `B`, `s`, `1`.
    pub unit: Cow<'static, str>,
    /// Which way is better.
    pub direction: Direction,
}

/// Whether a unit is of something done in a time.
pub fn is_rate(unit: &str) -> bool {
    ["/s", "/min"].iter().any(|of_time| unit.ends_with(of_time))
}

/// Of runs that each do another part of one work: where it began. Such runs are not held against each other.
pub const PART_BEGIN: &str = "part_begin";

/// Of a turn whose primary figure has the flush that ended it: the figure without.
pub const BEFORE_FLUSH: &str = "before_flush";

/// How much a run did, where its primary rate is over a part of the run's seconds only: their product is no count then.
pub const WORK_DONE: &str = "work_done";

/// How long a run's telemetry is of. A run's own seconds have no flush that the load ends itself with, and a pause that nobody waited for.
pub const TELEMETRY_SECONDS: &str = "telemetry_seconds";

/// What surefoot itself says of runs, or reads a meaning in. In a results file a name stands for one figure.
const TAKEN: &[&str] = &[
    "asked",
    BEFORE_FLUSH,
    "commits",
    "context_switches_per_second",
    "dirty_bytes_end",
    "dirty_bytes_max",
    "driver_cpu_cores",
    "driver_cpu_seconds",
    "driver_cpus",
    "errors",
    "flush_seconds_mean",
    "flushes_per_commit",
    "memory_available_bytes_min",
    "memory_writeback_bytes_max",
    "others_cpu_cores",
    "others_cpu_seconds",
    "own_cpus",
    PART_BEGIN,
    "server_cpus",
    "space_grown_bytes",
    "space_used_bytes",
    "standstill_bytes",
    TELEMETRY_SECONDS,
    "turn_flush_seconds",
    WORK_DONE,
    "write_amplification",
];

/// How such names begin of which there are many.
const TAKEN_BEGINNINGS: &[&str] = &["device_", "errors_", "pressure_", "virtual_disk_"];

/// Whether surefoot has a figure of this name itself, so that no program may have one.
pub fn is_taken(name: &str) -> bool {
    let is_of_cpus = name.starts_with("cpu_") && name.ends_with("_share");
    is_of_cpus || TAKEN.contains(&name) || TAKEN_BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
}

impl Metric {
    /// A metric known at compile time.
    pub const fn new(name: &'static str, unit: &'static str, direction: Direction) -> Metric {
        Metric { name: Cow::Borrowed(name), unit: Cow::Borrowed(unit), direction }
    }

    /// A metric whose name is only known when the study is read (the `command` workload).
    pub fn named(name: String, unit: String, direction: Direction) -> Metric {
        Metric { name: Cow::Owned(name), unit: Cow::Owned(unit), direction }
    }

    /// This metric with a value.
    pub fn at(&self, value: f64) -> Measured {
        Measured { metric: self.clone(), value }
    }
}

/// A metric and its value in one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// What was measured.
    #[serde(flatten)]
    pub metric: Metric,
    /// In the metric's unit.
    pub value: f64,
}
