//! Load on a database's connections: transactions of a script, in a closed or open loop, whatever they are and whoever answers.
//!
//! `script.rs` of a workload says what a transaction is; `client.rs` is one connection in one transaction; `drive.rs` has the
//! threads, the clock and the figures; `work.rs` is what kinds of transactions do alike as workloads.

mod client;
mod drive;
#[cfg(test)]
mod tests;
mod work;

pub use client::{Class, Next, PARAMS_MAX, Script, Session};
pub use drive::{drive, thread_cpu_seconds_per_transaction};
pub use wire::Keep;
pub use work::{TransactionWorkload, Transactions};

use crate::asked;
use crate::sql::COUNTERS;
use observe::metric::Metric;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _};
use serde_json::Value;
use settings::{Kind as Is, Setting};

/// How statements are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// As text with the values in it.
    Simple,
    /// As text and parameters, prepared each time (PostgreSQL's).
    Extended,
    /// Prepared once for each connection.
    Prepared,
}

/// Its name, or whether statements are prepared.
impl<'de> Deserialize<'de> for Protocol {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(from)?;
        match (value.as_bool(), value.as_str()) {
            (Some(true), _) | (_, Some("prepared")) => Ok(Protocol::Prepared),
            (Some(false), _) | (_, Some("simple")) => Ok(Protocol::Simple),
            (_, Some("extended")) => Ok(Protocol::Extended),
            _ => Err(D::Error::custom(format!("{value} is no protocol"))),
        }
    }
}

/// Settings that every such load has.
#[derive(Debug, Clone, Deserialize)]
pub struct Load {
    /// Connections.
    pub threads: usize,
    /// Threads for a server's connections.
    pub driver_threads: usize,
    /// Length of a run; 0: until `transactions` are done.
    #[serde(rename = "time")]
    pub time_seconds: f64,
    /// Transactions of a run; 0: only by time.
    pub transactions: u64,
    /// How statements are sent: the setting `prepared` or `protocol`.
    #[serde(rename = "prepared", alias = "protocol")]
    pub protocol: Protocol,
    /// Open loop, transactions a second; 0: a closed loop.
    pub rate: f64,
    /// Pause after a transaction.
    #[serde(rename = "think_time")]
    pub think_time_seconds: f64,
    /// Whether a transaction that met another is tried again.
    pub retry: bool,
    /// Whether a lost connection is made anew.
    pub reconnect: bool,
    /// Share of transactions that may be given up, or be lost at their commit, in a closed loop.
    pub errors_max: f64,
}

impl Load {
    /// How long a run lasts; none: it ends after its transactions.
    pub fn run_seconds(&self) -> Option<f64> {
        (self.time_seconds > 0.0 && self.transactions == 0).then_some(self.time_seconds)
    }

    /// Whether its transactions may be done before its time is over.
    pub fn may_end_sooner(&self) -> bool {
        self.time_seconds > 0.0 && self.transactions > 0
    }
}

/// `threads`.
pub const THREADS: Setting = Setting::new("threads", Is::Integer { min: 1, max: 1024 }, "1")
    .help("Connections, each with one transaction at a time (sysbench's threads, pgbench's clients).");
/// `driver_threads`.
pub const DRIVER_THREADS: Setting = Setting::new("driver_threads", Is::Integer { min: 1, max: 64 }, "2")
    .help("Threads of the load generator for a server's connections; one waits for many. An embedded engine has one for each connection.");
/// `time`.
pub const TIME: Setting = Setting::new("time", Is::Seconds { min: 0.0, max: 1e6 }, "10s")
    .help("Length of a run; 0s: until `transactions` are done.");
/// `transactions`.
pub const TRANSACTIONS: Setting = Setting::new("transactions", Is::Integer { min: 0, max: i64::MAX }, "0")
    .help("A run ends after so many transactions; 0: only by time.");
/// `prepared`.
pub const PREPARED: Setting = Setting::new("prepared", Is::Boolean, "true")
    .help("Whether statements are prepared once for each connection, or sent as text each time.");
/// `rate`.
pub const RATE: Setting = Setting::new("rate", Is::Number { min: 0.0, max: 1e7 }, "0")
    .help("Open loop: so many transactions are begun each second, whether the ones before have ended or not, and latency counts from when each should have begun. 0: a closed loop.");
/// `think_time`.
pub const THINK_TIME: Setting = Setting::new("think_time", Is::Seconds { min: 0.0, max: 3600.0 }, "0s")
    .help("Each connection's pause after a transaction.");
/// `retry`.
pub const RETRY: Setting = Setting::new("retry", Is::Boolean, "true").help(
    "Whether a transaction that met a deadlock or another conflict is tried again, or given up; both are counted.",
);

/// `reconnect`.
pub const RECONNECT: Setting = Setting::new("reconnect", Is::Boolean, "false")
    .help("Whether a connection that the server ended is made anew and its transaction tried again, or the trial fails. Both are counted; a transaction that was lost at its commit may have taken place, and is not tried again.");

/// `errors_max`.
pub const ERRORS_MAX: Setting = asked::ERRORS_MAX.help("Of a closed loop: a run of which a larger share of transactions is given up after a conflict (`retry = false`) or lost at its commit (`reconnect = true`) fails. In an open loop they are counted and the run stands. They never count as transactions.");

/// Problems of these settings together.
pub fn check(load: &Load) -> Option<String> {
    if load.time_seconds == 0.0 && load.transactions == 0 {
        return Some("neither `time` nor `transactions` ends a run: set one of them".into());
    }
    let has_both = load.rate > 0.0 && load.think_time_seconds > 0.0;
    has_both.then(|| "transactions at a `rate` do not wait for one another: leave out `rate`, or `think_time`".into())
}

/// Metrics that count transactions without an acknowledged end: given up, and lost at the commit.
const ERRORS: [&str; 2] = ["errors_given_up", "errors_lost_at_commit"];

/// What every such load measures, what it asked for, and what the database counts.
pub fn metrics() -> impl Iterator<Item = Metric> {
    METRICS.iter().cloned().chain(asked::METRICS).chain(ERRORS.map(asked::metric)).chain(COUNTERS.iter().cloned())
}

/// What the settings of such a load say, of a struct with its `engine` and its `load`.
#[macro_export]
macro_rules! settings_of_transactions {
    () => {
        fn metrics(&self) -> Vec<observe::metric::Metric> {
            $crate::sql_load::metrics().collect()
        }

        fn services(&self) -> Vec<&'static str> {
            self.engine.services()
        }

        fn run_seconds(&self) -> Option<f64> {
            self.load.run_seconds()
        }

        fn may_end_sooner(&self) -> bool {
            self.load.may_end_sooner()
        }
    };
}

/// What every such load measures, the primary metric first.
pub const METRICS: &[Metric] = observe::metrics! {
    More "1/s": "transactions_per_second", "queries_per_second";
    Neither "1": "transactions", "reads", "writes", "others";
    Less "1": "retries", "deadlocks", "serialization_failures", "lock_timeouts", "duplicate_keys",
        "abandoned_transactions", "lost_connections", "unknown_transactions";
    Neither "1": "missed_rows";
    Less "1": "late_transactions", "missed_transactions";
    Less "s": "elapsed_seconds";
    Less "µs": "latency_microseconds_mean", "latency_microseconds_min", "latency_microseconds_p50",
        "latency_microseconds_p95", "latency_microseconds_p99", "latency_microseconds_p99_9",
        "latency_microseconds_max";
    Neither "1": "thread_transactions_mean";
    Less "1": "thread_transactions_stddev";
    Neither "s": "thread_seconds_mean";
    Less "s": "thread_seconds_stddev";
};
