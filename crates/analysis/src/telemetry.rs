//! What the machine did in a run beside the work that was done: flushes per commit, bytes written per transaction.
//!
//! Pure; what an older file or another kernel does not have is none.

use ledger::model::RunRow;
use observe::metric::{BEFORE_FLUSH, Direction, Metric, TELEMETRY_SECONDS, WORK_DONE};

/// What a run's work is counted in.
#[derive(Debug, Clone, PartialEq)]
pub struct Work {
    /// The metric that tells how much was done in a second, with the word for one of it; none: a run's work is given.
    rate: Option<(String, String)>,
}

impl Work {
    /// By the primary metric: `transactions_per_second` counts transactions. Of a time or a latency, each run does the same.
    pub fn of(metric: &Metric) -> Work {
        let counted = metric.name.strip_suffix("_per_second").filter(|_| metric.unit == "1/s");
        let unit = |counted: &str| match counted {
            "ios" => "I/O".to_string(),
            // A search: what was done is the answers of all tries.
            "highest_rate" => "answer".to_string(),
            _ => counted.strip_suffix('s').unwrap_or(counted).replace('_', " "),
        };
        Work {
            rate: counted
                .filter(|_| metric.direction == Direction::More)
                .map(|counted| (metric.name.to_string(), unit(counted))),
        }
    }

    /// What one piece of it is: a transaction, or a run.
    pub fn unit(&self) -> &str {
        self.rate.as_ref().map_or("run", |(_, unit)| unit)
    }

    /// How much of it a run did, as it says or by its rate, over the time that this is of. None of an older search for the highest rate, whose
    /// tries are of other rates than the one it found.
    fn count(&self, run: &RunRow) -> Option<f64> {
        let Some((name, _)) = &self.rate else { return Some(1.0) };
        if let Some(done) = metric(run, WORK_DONE) {
            return Some(done).filter(|count| *count > 0.0);
        }
        if is_search(run) {
            return None;
        }
        // The flush that ends a turn is a part of its seconds, and of its rate where that is a matter of time.
        let of_turn = metric(run, BEFORE_FLUSH).zip(metric(run, "turn_flush_seconds"));
        let (rate, seconds) = match of_turn {
            Some((rate, flush_seconds)) => (rate, run.seconds - flush_seconds),
            None => (metric(run, name)?, run.seconds),
        };
        Some(rate * seconds).filter(|count| *count > 0.0)
    }
}

/// One of a run's metrics.
pub fn metric(run: &RunRow, name: &str) -> Option<f64> {
    run.metrics.get(name).copied()
}

/// Whether a run looked for the highest rate that holds: most of its time went by at rates far below that.
pub fn is_search(run: &RunRow) -> bool {
    metric(run, "rates_tried").is_some()
}

/// The time that a run's telemetry is of. In older files the run's, with the flush that ended its turn also where that does not count as the turn's time.
pub fn watched_seconds(run: &RunRow) -> f64 {
    metric(run, TELEMETRY_SECONDS).unwrap_or_else(|| {
        let is_counted = metric(run, BEFORE_FLUSH).is_some();
        run.seconds + metric(run, "turn_flush_seconds").filter(|_| !is_counted).unwrap_or(0.0)
    })
}

/// What the device got, and a log of changes that has a device of its own.
pub fn of_devices(run: &RunRow, name: &str) -> Option<f64> {
    let of_log = match metric(run, "device_log_writes") {
        Some(_) => metric(run, &format!("device_log_{name}"))?,
        None => 0.0,
    };
    Some(metric(run, &format!("device_{name}"))? + of_log)
}

/// CPU seconds of the load and what it loads.
pub fn cpu_seconds(run: &RunRow) -> Option<f64> {
    Some(metric(run, "driver_cpu_seconds")? + of_others(run, "cpu_seconds")?)
}

/// What the trial's other processes had: 0 of a load without any. None where a server's was not counted, as without a PID namespace.
pub fn of_others(run: &RunRow, name: &str) -> Option<f64> {
    let has_server = metric(run, "server_cpus").is_some();
    metric(run, &format!("others_{name}")).or((!has_server).then_some(0.0))
}

/// A figure that may explain a difference.
#[derive(Debug)]
pub struct Figure {
    /// Its name for machines.
    pub name: &'static str,
    /// Whether it is told for each piece of work done.
    pub is_per_work: bool,
    value: fn(&RunRow) -> Option<f64>,
}

impl Figure {
    /// Its value in a run.
    pub fn of(&self, run: &RunRow, work: &Work) -> Option<f64> {
        let value = (self.value)(run)?;
        if self.is_per_work { Some(value / work.count(run)?) } else { Some(value) }
    }
}

const fn per_work(name: &'static str, value: fn(&RunRow) -> Option<f64>) -> Figure {
    Figure { name, is_per_work: true, value }
}

const fn whole(name: &'static str, value: fn(&RunRow) -> Option<f64>) -> Figure {
    Figure { name, is_per_work: false, value }
}

/// All of them, from what a commit waits for down to what it may not need at all.
pub const FIGURES: &[Figure] = &[
    whole("flushes_per_commit", |run| metric(run, "flushes_per_commit")),
    per_work("flushes", |run| match metric(run, "flushes_per_commit") {
        // Told per commit already.
        Some(_) => None,
        None => of_devices(run, "flushes"),
    }),
    whole("flush_seconds_mean", |run| metric(run, "flush_seconds_mean")),
    per_work("write_bytes", |run| of_devices(run, "write_bytes")),
    per_work("log_bytes", |run| metric(run, "log_bytes")),
    per_work("writes", |run| of_devices(run, "writes")),
    whole("device_busy_share", |run| metric(run, "device_busy_share")),
    per_work("cpu_seconds", cpu_seconds),
    per_work("context_switches", |run| Some(metric(run, "context_switches_per_second")? * watched_seconds(run))),
    per_work("lock_waits", |run| metric(run, "lock_waits")),
    per_work("lock_wait_seconds", |run| metric(run, "lock_wait_seconds")),
    per_work("conflicts", |run| Some(metric(run, "deadlocks")? + metric(run, "lock_timeouts")?)),
    per_work("merges", |run| of_devices(run, "merges")),
    per_work("read_bytes", |run| of_devices(run, "read_bytes")),
    per_work("reads", |run| of_devices(run, "reads")),
    whole("pressure_io_some_share", |run| metric(run, "pressure_io_some_share")),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::run;

    /// "With it went 38 % less CPU time per highest rate": servers that were asked for the same at the same rates. And of two filesystems that
    /// extracted 25,000 files alike, the one that removed them more slowly had "fewer bytes written per file".
    #[test]
    fn work_is_what_was_done_in_the_time_that_its_rate_is_of() {
        let per_work = |rate: &'static str, more: &[(&str, f64)]| {
            let all = [(rate, 100.0), ("driver_cpu_seconds", 4.0)];
            let figure = FIGURES.iter().find(|figure| figure.name == "cpu_seconds").expect("a figure");
            figure.of(&run(1, all.iter().chain(more)), &Work::of(&Metric::new(rate, "1/s", Direction::More)))
        };
        assert_eq!(per_work("transactions_per_second", &[]), Some(0.004));
        assert_eq!(per_work("highest_rate_per_second", &[("rates_tried", 12.0)]), None);
        assert_eq!(per_work("files_per_second", &[("work_done", 400.0)]), Some(0.01));
        // The rate of a job has no flush in it, and that of a load by time has: of both there was work in 8 s.
        let job = [("before_flush", 100.0), ("turn_flush_seconds", 2.0)];
        assert_eq!(per_work("ios_per_second", &job), Some(0.005));
        let by_time = [("before_flush", 125.0), ("turn_flush_seconds", 2.0)];
        assert_eq!(per_work("transactions_per_second", &by_time), Some(0.004));
    }

    #[test]
    fn the_time_of_a_server_that_nobody_counted_is_missing() {
        let seconds = |more: &[(&str, f64)]| {
            let own = [("driver_cpu_seconds", 4.0)];
            cpu_seconds(&run(1, own.iter().chain(more)))
        };
        assert_eq!(seconds(&[]), Some(4.0), "an embedded engine's is the load's own");
        assert_eq!(seconds(&[("server_cpus", 2.0), ("others_cpu_seconds", 9.0)]), Some(13.0));
        assert_eq!(seconds(&[("server_cpus", 2.0)]), None);
    }
}
