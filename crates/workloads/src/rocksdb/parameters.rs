//! What is asked of `db_bench`, what it will need, and what it can't do.

use super::RocksDb;
use super::output::Percentiles;
use load::process;
use load::workload::{Error, Estimate, Workload, WorkloadSettings};
use observe::durability::{Class, Durability};
use observe::metric::{Direction, Metric};
use serde::Deserialize;
use settings::{Kind as Is, Setting};

/// Its settings.
pub const SETTINGS: &[Setting] = &[
    Setting::new("benchmark", Is::Choice(&[
            "fillseq",
            "fillrandom",
            "fillsync",
            "overwrite",
            "updaterandom",
            "readrandom",
            "readwhilewriting",
            "readrandomwriterandom",
        ]), "fillrandom")
        .help(
            "What `db_bench` does, by its own names. `fillsync` flushes each write and takes a thousandth of the keys; `readwhilewriting` has a \
               thread more, which writes as fast as it can and is in no figure; `readrandomwriterandom` reads nine times for each write.",
        ),
    Setting::new("keys", Is::Integer { min: 1, max: 100_000_000_000 }, "1000000")
        .help("Keys of the store, from which random ones are drawn. `fillseq` ends when each thread has written all of them."),
    Setting::new("key_size", Is::Bytes { min: 8, max: 1 << 16 }, "16B").help("Size of a key."),
    Setting::new("value_size", Is::Bytes { min: 1, max: 1 << 26 }, "100B")
        .help("Size of a value; half of it compresses away."),
    Setting::new("threads", Is::Integer { min: 1, max: 1024 }, "1").help("Threads at work."),
    Setting::new("time", Is::Seconds { min: 1.0, max: 1e6 }, "30s")
        .help("Length of a run, in whole seconds; without effect on `fillseq`."),
    Setting::new("sync", Is::Boolean, "false")
        .help("Flush the log before a write is acknowledged. `fillsync` does so in any case."),
    Setting::new("filled", Is::Boolean, "true")
        .help(
            "Write all keys before the runs of benchmarks that read or overwrite. `false` is the Phoronix Test Suite's profile to the letter: each run \
               begins without a key. Without effect on fills, which begin so in any case.",
        ),
    Setting::new("compression", Is::Choice(&["snappy", "none", "lz4", "zstd", "zlib"]), "snappy")
        .help("How blocks of the tables are compressed; the log is not."),
    Setting::new("write_buffer_size", Is::Bytes { min: 1 << 16, max: 1 << 40 }, "64MiB")
        .help("Written data that are held in memory before they become a table. A store below it is a log and memory only."),
    Setting::new("cache_size", Is::Bytes { min: 0, max: 1 << 50 }, "8MiB")
        .help("RocksDB's own cache of blocks, empty at the start of each run. The page cache is beside it."),
    Setting::new("histogram", Is::Boolean, "true")
        .help("Time each operation, to a microsecond. Without it there are no latencies, and the loop is the one whose figures are published."),
];

/// The primary metric, as the program says it.
pub const RATE: Metric = Metric::new("operations_per_second", "1/s", Direction::More);
/// With the time of the flush of the filesystem after the last operation.
pub const RATE_SYNCED: Metric = Metric::new("operations_per_second_synced", "1/s", Direction::More);
/// Writes were held back for so long.
pub const STALL: Metric = Metric::new("stall_seconds", "s", Direction::Less);
/// Flushes of the log.
pub const LOG_SYNCS: Metric = Metric::new("log_syncs", "1", Direction::Neither);
/// Files that are not merged yet at the end.
pub const LEVEL0: Metric = Metric::new("level0_files", "1", Direction::Neither);
/// Files that were being merged at the end.
pub const COMPACTING: Metric = Metric::new("compacting_files", "1", Direction::Neither);

/// Debian's package of both programs.
const PACKAGE: &str = "rocksdb-tools";

/// `fillsync` takes one of so many keys.
const FILLSYNC_KEYS: u64 = 1000;

/// Writes a second of a thread at the most, for `plan` only: `fillseq` did 414,000 (2026-11-24, two cores).
const WRITES_PER_SECOND_MAX: f64 = 420_000.0;

/// What is written and not yet merged: at 20 files of level 0 writes are slowed down, and a log and a table in the making lie beside each of
/// two buffers.
const UNMERGED_BUFFERS_MAX: u64 = 24;

/// What `db_bench` does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Benchmark {
    FillSeq,
    FillRandom,
    FillSync,
    Overwrite,
    UpdateRandom,
    ReadRandom,
    ReadWhileWriting,
    ReadRandomWriteRandom,
}

impl Benchmark {
    fn is_fill(self) -> bool {
        matches!(self, Benchmark::FillSeq | Benchmark::FillRandom | Benchmark::FillSync)
    }

    /// What the program keeps histograms of.
    pub fn operations(self) -> &'static [&'static str] {
        match self {
            Benchmark::UpdateRandom => &["update"],
            Benchmark::ReadRandom | Benchmark::ReadWhileWriting => &["read"],
            Benchmark::ReadRandomWriteRandom => &["read", "write"],
            _ => &["write"],
        }
    }

    /// Whether each operation that it counts writes a key.
    pub fn counts_writes(self) -> bool {
        matches!(self.operations(), ["write"] | ["update"])
    }
}

/// Checked parameters: the settings of these names.
#[derive(Debug, Clone, Deserialize)]
pub struct Parameters {
    pub benchmark: Benchmark,
    pub keys: u64,
    pub key_size: u64,
    pub value_size: u64,
    pub threads: u64,
    pub time: f64,
    pub sync: bool,
    pub filled: bool,
    pub compression: String,
    pub write_buffer_size: u64,
    pub cache_size: u64,
    pub histogram: bool,
}

impl Parameters {
    /// `db_bench`'s word for the benchmark.
    pub fn name(&self) -> String {
        format!("{:?}", self.benchmark).to_lowercase()
    }

    /// Whether all keys are there before the runs, which go on from one to the next.
    pub fn is_filled(&self) -> bool {
        self.filled && !self.benchmark.is_fill()
    }

    /// Whether writes wait for a flush of the log.
    pub fn is_synced(&self) -> bool {
        let writes = self.benchmark != Benchmark::ReadRandom;
        writes && (self.sync || self.benchmark == Benchmark::FillSync)
    }

    /// Keys that the benchmark draws from.
    pub fn keys(&self) -> u64 {
        if self.benchmark == Benchmark::FillSync { self.keys / FILLSYNC_KEYS } else { self.keys }
    }
}

impl WorkloadSettings for Parameters {
    fn metrics(&self) -> Vec<Metric> {
        let mut metrics = vec![RATE];
        if self.benchmark != Benchmark::ReadRandom {
            metrics.extend([RATE_SYNCED, STALL, LOG_SYNCS, LEVEL0, COMPACTING]);
        }
        let timed = if self.histogram { self.benchmark.operations() } else { &[] };
        metrics.extend(timed.iter().flat_map(|operation| latency(operation)).map(|(metric, _)| metric));
        metrics
    }

    fn durability(&self) -> Durability {
        if self.is_synced() || self.benchmark == Benchmark::ReadRandom {
            return Durability::full();
        }
        Durability::because(Class::LosesRecent, "`sync = false`: writes are acknowledged before the log is flushed")
    }

    fn estimate(&self) -> Estimate {
        let pair = self.key_size + self.value_size;
        let per_second = WRITES_PER_SECOND_MAX.min(1e8 / pair as f64);
        let all_keys_seconds = self.keys as f64 / per_second;
        let (run_seconds, written) = match self.benchmark {
            Benchmark::FillSeq => (all_keys_seconds * self.threads as f64, self.keys.saturating_mul(self.threads)),
            Benchmark::ReadRandom => (self.time, 0),
            _ => (self.time, (self.time * per_second) as u64),
        };
        let unmerged = written.saturating_mul(pair).min(self.write_buffer_size.saturating_mul(UNMERGED_BUFFERS_MAX));
        Estimate {
            data_bytes: self.keys.saturating_mul(pair).saturating_add(unmerged),
            load_seconds: if self.is_filled() { all_keys_seconds } else { 0.0 },
            run_seconds,
        }
    }

    /// What does not go together.
    fn problems(&self) -> Vec<String> {
        let (keys, reads) = (self.keys, self.benchmark == Benchmark::ReadRandom);
        load::sentences! {
            self.keys() == 0 =>
                "`keys` = {keys}: `fillsync` takes a thousandth of them, so that there must be at least \
                 {FILLSYNC_KEYS}";
            reads && !self.filled => "`filled` = false leaves `readrandom` nothing to find";
            reads && self.sync => "`sync` has no effect on `readrandom`, which writes nothing";
            self.time.fract() != 0.0 => "`time` must be whole seconds";
        }
    }

    fn missing(&self) -> Vec<String> {
        ["db_bench", "ldb"].into_iter().filter_map(|program| process::missing(program, &[(program, PACKAGE)])).collect()
    }

    fn open(self: Box<Self>) -> Result<Box<dyn Workload>, Error> {
        Ok(Box::new(RocksDb { parameters: *self, runs: 0, written: 0 }))
    }
}

/// Where a value is.
pub type Percentile = fn(&Percentiles) -> f64;

/// Metrics of an operation's latency, and where their values are.
pub fn latency(operation: &str) -> [(Metric, Percentile); 4] {
    let metric =
        |what: &str| Metric::named(format!("{operation}_latency_microseconds_{what}"), "µs".into(), Direction::Less);
    [
        (metric("mean"), |one| one.mean),
        (metric("p50"), |one| one.p50),
        (metric("p99"), |one| one.p99),
        (metric("p99_9"), |one| one.p99_9),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::KIND;
    use crate::workload_tests::read;
    use expect_test::{Expect, expect};
    use serde_json::{Value, json};

    fn problems(written: &Value, expected: Expect) {
        expected.assert_eq(&read(&KIND, written).problems().join("\n"));
    }

    #[test]
    fn all_problems_come_at_once() {
        problems(&json!({}), expect![""]);
        problems(
            &json!({"benchmark": "fillsync", "keys": 999, "time": "1500ms"}),
            expect![[r#"
            `keys` = 999: `fillsync` takes a thousandth of them, so that there must be at least 1000
            `time` must be whole seconds"#]],
        );
        problems(
            &json!({"benchmark": "readrandom", "filled": false, "sync": true}),
            expect![[r#"
            `filled` = false leaves `readrandom` nothing to find
            `sync` has no effect on `readrandom`, which writes nothing"#]],
        );
    }

    #[test]
    fn room_for_what_is_written_is_bounded_by_what_may_lie_unmerged() {
        let bytes = |written: Value| read(&KIND, &written).estimate().data_bytes;
        let keys = 1_000_000 * 116;
        assert_eq!(bytes(json!({"benchmark": "readrandom"})), keys);
        assert_eq!(bytes(json!({"time": "1s"})), keys + 420_000 * 116);
        assert_eq!(bytes(json!({"time": "1h"})), keys + 24 * (64 << 20));
    }
}
