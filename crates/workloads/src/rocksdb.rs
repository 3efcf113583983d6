//! `rocksdb`: RocksDB driven by its own program, `db_bench` (Debian's rocksdb-tools), as comparisons of filesystems publish it.
//!
//! One run is one process of `db_bench` with one of its benchmarks. What it prints is read by `rocksdb/output.rs`; what the store holds
//! afterwards is asked of RocksDB's `ldb` by `rocksdb/store.rs`.
//!
//! The Phoronix Test Suite's profile runs each benchmark on a store without a key, so that its random reads find nothing. Here the benchmarks
//! that read or overwrite begin with all keys, unless `filled = false`.
//!
//! Driven by `lab::trial`. Does not check values: `db_bench` writes random ones and keeps no account of them. RocksDB checks their blocks.

mod output;
mod store;

use crate::flush;
use load::asked::Asked;
use load::process::{self, Finished};
use load::workload::{Context, Error, Estimate, Kind, Outcome, Workload};
use observe::durability::{Class, Durability};
use observe::metric::{Direction, Measured, Metric};
use output::{Output, Percentiles};
use serde::Deserialize;
use serde_json::{Map, Value};
use settings::{Kind as Is, Setting};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use store::Keys;

/// The row of the list.
pub static KIND: Kind = Kind {
    name: "rocksdb",
    summary: "RocksDB by its own `db_bench`: fills, overwrites, updates and reads, as filesystem comparisons publish them",
    example: "[workload.rocksdb]\nbenchmark = \"readwhilewriting\"\nkeys = 1000000\nthreads = 2\ntime = \"60s\"\n",
    settings: SETTINGS,
    metrics: |map| Parameters::of(map).metrics(),
    durability: |map| Parameters::of(map).durability(),
    estimate: |map| Parameters::of(map).estimate(),
    check: |map| Parameters::of(map).problems(),
    services: |_| Vec::new(),
    data_key: |_| String::new(),
    run_seconds: load::workload::whole_job,
    open: |map| Ok(Box::new(RocksDb { parameters: Parameters::of(map), written: 0 })),
};

const SETTINGS: &[Setting] = &[
    Setting {
        name: "benchmark",
        kind: Is::Choice(&[
            "fillseq",
            "fillrandom",
            "fillsync",
            "overwrite",
            "updaterandom",
            "readrandom",
            "readwhilewriting",
            "readrandomwriterandom",
        ]),
        default: Some("fillrandom"),
        help: "What `db_bench` does, by its own names. `fillsync` flushes each write and takes a thousandth of the keys; `readwhilewriting` has a \
               thread more, which writes as fast as it can and is in no figure; `readrandomwriterandom` reads nine times for each write.",
    },
    Setting {
        name: "keys",
        kind: Is::Integer { min: 1, max: 100_000_000_000 },
        default: Some("1000000"),
        help: "Keys of the store, from which random ones are drawn. `fillseq` ends when each thread has written all of them.",
    },
    Setting {
        name: "key_size",
        kind: Is::Bytes { min: 8, max: 1 << 16 },
        default: Some("16B"),
        help: "Size of a key.",
    },
    Setting {
        name: "value_size",
        kind: Is::Bytes { min: 1, max: 1 << 26 },
        default: Some("100B"),
        help: "Size of a value; half of it compresses away.",
    },
    Setting { name: "threads", kind: Is::Integer { min: 1, max: 1024 }, default: Some("1"), help: "Threads at work." },
    Setting {
        name: "time",
        kind: Is::Seconds { min: 1.0, max: 1e6 },
        default: Some("30s"),
        help: "Length of a run, in whole seconds; without effect on `fillseq`.",
    },
    Setting {
        name: "sync",
        kind: Is::Boolean,
        default: Some("false"),
        help: "Flush the log before a write is acknowledged. `fillsync` does so in any case.",
    },
    Setting {
        name: "filled",
        kind: Is::Boolean,
        default: Some("true"),
        help: "Write all keys before the runs of benchmarks that read or overwrite. `false` is the Phoronix Test Suite's profile to the letter: each run \
               begins without a key. Without effect on fills, which begin so in any case.",
    },
    Setting {
        name: "compression",
        kind: Is::Choice(&["snappy", "none", "lz4", "zstd", "zlib"]),
        default: Some("snappy"),
        help: "How blocks of the tables are compressed; the log is not.",
    },
    Setting {
        name: "write_buffer_size",
        kind: Is::Bytes { min: 1 << 16, max: 1 << 40 },
        default: Some("64MiB"),
        help: "Written data that are held in memory before they become a table. A store below it is a log and memory only.",
    },
    Setting {
        name: "cache_size",
        kind: Is::Bytes { min: 0, max: 1 << 50 },
        default: Some("8MiB"),
        help: "RocksDB's own cache of blocks, empty at the start of each run. The page cache is beside it.",
    },
    Setting {
        name: "histogram",
        kind: Is::Boolean,
        default: Some("true"),
        help: "Time each operation, to a microsecond. Without it there are no latencies, and the loop is the one whose figures are published.",
    },
];

const RATE: Metric = Metric::new("operations_per_second", "1/s", Direction::More);
/// With the time of the flush of the filesystem after the last operation.
const RATE_SYNCED: Metric = Metric::new("operations_per_second_synced", "1/s", Direction::More);
const STALL: Metric = Metric::new("stall_seconds", "s", Direction::Less);
const LOG_SYNCS: Metric = Metric::new("log_syncs", "1", Direction::Neither);
const LEVEL0: Metric = Metric::new("level0_files", "1", Direction::Neither);
const COMPACTING: Metric = Metric::new("compacting_files", "1", Direction::Neither);

/// Debian's package of both programs.
const PACKAGE: &str = "rocksdb-tools";

/// A run that takes longer is none; the study's own limit of a trial is below it.
const TIMEOUT: Duration = Duration::from_secs(24 * 3600);

/// `fillsync` takes one of so many keys.
const FILLSYNC_KEYS: u64 = 1000;

/// Writes a second of a thread at the most, for `plan` only: `fillseq` did 414,000 (2026-11-24, two cores).
const WRITES_PER_SECOND_MAX: f64 = 420_000.0;

/// What is written and not yet merged: at 20 files of level 0 writes are slowed down, and a log and a table in the making lie beside each of
/// two buffers.
const UNMERGED_BUFFERS_MAX: u64 = 24;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Benchmark {
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
    fn operations(self) -> &'static [&'static str] {
        match self {
            Benchmark::UpdateRandom => &["update"],
            Benchmark::ReadRandom | Benchmark::ReadWhileWriting => &["read"],
            Benchmark::ReadRandomWriteRandom => &["read", "write"],
            _ => &["write"],
        }
    }

    /// Whether each operation that it counts writes a key.
    fn counts_writes(self) -> bool {
        matches!(self.operations(), ["write"] | ["update"])
    }
}

/// Checked parameters.
#[derive(Debug, Clone, Deserialize)]
struct Parameters {
    benchmark: Benchmark,
    keys: u64,
    key_size: u64,
    value_size: u64,
    threads: u64,
    time: f64,
    sync: bool,
    filled: bool,
    compression: String,
    write_buffer_size: u64,
    cache_size: u64,
    histogram: bool,
}

impl Parameters {
    fn of(map: &Map<String, Value>) -> Parameters {
        serde_json::from_value(Value::Object(map.clone())).expect("the table of settings checked the parameters")
    }

    /// `db_bench`'s word for the benchmark.
    fn name(&self) -> String {
        format!("{:?}", self.benchmark).to_lowercase()
    }

    fn is_filled(&self) -> bool {
        self.filled && !self.benchmark.is_fill()
    }

    fn is_synced(&self) -> bool {
        let writes = self.benchmark != Benchmark::ReadRandom;
        writes && (self.sync || self.benchmark == Benchmark::FillSync)
    }

    /// Keys that the benchmark draws from.
    fn keys(&self) -> u64 {
        if self.benchmark == Benchmark::FillSync { self.keys / FILLSYNC_KEYS } else { self.keys }
    }

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

    fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        if self.keys() == 0 {
            problems.push(format!(
                "`keys` = {}: `fillsync` takes a thousandth of them, so that there must be at least {FILLSYNC_KEYS}",
                self.keys
            ));
        }
        if self.benchmark == Benchmark::ReadRandom && !self.filled {
            problems.push("`filled` = false leaves `readrandom` nothing to find".into());
        }
        if self.benchmark == Benchmark::ReadRandom && self.sync {
            problems.push("`sync` has no effect on `readrandom`, which writes nothing".into());
        }
        if self.time.fract() != 0.0 {
            problems.push("`time` must be whole seconds".into());
        }
        let absent = ["db_bench", "ldb"].into_iter().filter(|program| process::find(program).is_none());
        problems
            .extend(absent.map(|program| format!("the program {program} (package {PACKAGE}) is not on this machine")));
        problems
    }
}

type Percentile = fn(&Percentiles) -> f64;

/// Metrics of an operation's latency, and where their values are.
fn latency(operation: &str) -> [(Metric, Percentile); 4] {
    let metric =
        |what: &str| Metric::named(format!("{operation}_latency_microseconds_{what}"), "µs".into(), Direction::Less);
    [
        (metric("mean"), |one| one.mean),
        (metric("p50"), |one| one.p50),
        (metric("p99"), |one| one.p99),
        (metric("p99_9"), |one| one.p99_9),
    ]
}

/// The workload.
struct RocksDb {
    parameters: Parameters,
    /// Operations of the last run.
    written: u64,
}

impl Workload for RocksDb {
    fn prepare(&mut self, context: &mut Context) -> Result<Vec<Measured>, Error> {
        if !self.parameters.is_filled() {
            return Ok(Vec::new());
        }
        let keys = self.parameters.keys;
        let arguments = ["--benchmarks=fillseq,flush,stats", "--threads=1"].map(String::from);
        let finished = self.db_bench(&arguments, context)?;
        let output = read("fillseq", &finished)?;
        if output.operations == keys {
            return Ok(Vec::new());
        }
        let (expected, found) = (format!("{keys} writes"), format!("{} writes", output.operations));
        Err(Error::WrongData { place: "what db_bench says of `fillseq`".into(), expected, found })
    }

    /// Without keys before the run, there are no files whose end would be part of it either.
    fn ready(&mut self, context: &mut Context) -> Result<(), Error> {
        if !self.parameters.is_filled() {
            store::remove(&folder(context))?;
        }
        flush::filesystem_of(&context.data_folder)
    }

    fn run(&mut self, context: &mut Context) -> Result<Outcome, Error> {
        let p = &self.parameters;
        let report = context.data_folder.join("rocksdb-rates.csv");
        let mut arguments = vec![
            format!("--benchmarks={},stats", p.name()),
            format!("--threads={}", p.threads),
            format!("--sync={}", p.sync),
            format!("--use_existing_db={}", p.is_filled()),
            format!("--histogram={}", p.histogram),
            "--report_interval_seconds=1".into(),
            format!("--report_file={}", report.display()),
            // By default a thread looks at the clock after 1,000 operations: minutes of flushes on a disk.
            "--ops_between_duration_checks=10".into(),
        ];
        if p.benchmark != Benchmark::FillSeq {
            arguments.push(format!("--duration={}", p.time));
        }
        let finished = self.db_bench(&arguments, context)?;
        let output = read(&p.name(), &finished)?;
        self.judge(&output)?;
        let ended = Instant::now();
        flush::filesystem_of(&context.data_folder)?;
        let flush_seconds = ended.elapsed().as_secs_f64();
        let rates = std::fs::read_to_string(&report).map_err(|source| Error::file("read", &report, source))?;
        self.written = output.operations;
        self.outcome(&output, flush_seconds, output::rates(&rates), &finished)
    }

    /// The tables that there should be are there, and with them as many keys as were written.
    fn verify(&mut self, context: &mut Context) -> Result<(), Error> {
        let store = folder(context);
        store::check(&store, context)?;
        self.keys_after().judge(&store, store::count(&store, context)?)
    }
}

impl RocksDb {
    /// One process of it, on the store under test.
    fn db_bench(&self, arguments: &[String], context: &Context) -> Result<Finished, Error> {
        let p = &self.parameters;
        let mut words = vec![
            "db_bench".to_string(),
            format!("--db={}", folder(context).display()),
            format!("--num={}", p.keys),
            format!("--key_size={}", p.key_size),
            format!("--value_size={}", p.value_size),
            format!("--compression_type={}", p.compression),
            format!("--write_buffer_size={}", p.write_buffer_size),
            format!("--cache_size={}", p.cache_size),
            // 0 stands for the time, and the sign is not wanted.
            format!("--seed={}", context.seed >> 1 | 1),
        ];
        words.extend_from_slice(arguments);
        let finished = process::run(&words, &context.data_folder, TIMEOUT, context.interrupted)?;
        let complaint = output::complaint(&finished.stderr);
        if finished.status.success() && complaint.is_none() {
            return Ok(finished);
        }
        let status = format!("{}: {}", finished.status, complaint.unwrap_or("it says nothing"));
        Err(Error::Program { program: "db_bench".into(), status, log: finished.last_lines() })
    }

    /// What the run did is what was asked for.
    fn judge(&self, output: &Output) -> Result<(), Error> {
        let p = &self.parameters;
        let wrong = |what: &str, expected: String, found: String| {
            Err(Error::WrongData { place: format!("{what} of `{}`", p.name()), expected, found })
        };
        if let Some(thread) = output.looked_up.filter(|thread| p.is_filled() && thread.found != thread.keys) {
            return wrong("the reads", format!("all {} keys", thread.keys), format!("{} of them", thread.found));
        }
        let fill = p.keys.saturating_mul(p.threads);
        if p.benchmark == Benchmark::FillSeq && output.operations != fill {
            return wrong("the writes", fill.to_string(), output.operations.to_string());
        }
        if p.is_synced() && output.store.log_syncs == 0 {
            return wrong("the writes", "flushes of the log".into(), "none".into());
        }
        Ok(())
    }

    fn outcome(
        &self,
        output: &Output,
        flush_seconds: f64,
        rates: Vec<f64>,
        finished: &Finished,
    ) -> Result<Outcome, Error> {
        let p = &self.parameters;
        let (operations, store) = (output.operations as f64, &output.store);
        let mut metrics = vec![RATE.at(output.rate)];
        if p.benchmark != Benchmark::ReadRandom {
            metrics.extend([
                RATE_SYNCED.at(operations / (output.seconds + flush_seconds)),
                STALL.at(store.stall_seconds),
                LOG_SYNCS.at(store.log_syncs as f64),
                LEVEL0.at(store.level0_files as f64),
                COMPACTING.at(store.compacting_files as f64),
            ]);
        }
        for operation in if p.histogram { p.benchmark.operations() } else { &[] } {
            let missing = || unreadable(format!("it printed no histogram of each {operation}"), finished);
            let one = output.latencies.get(*operation).ok_or_else(missing)?;
            metrics.extend(latency(operation).map(|(metric, of)| metric.at(of(one))));
        }
        let mut notes: Vec<String> =
            output.warnings.iter().map(|warning| format!("db_bench warns: {warning}")).collect();
        if store.compacting_files > 0 {
            notes.push("RocksDB was still compacting when the run ended: that work is in no figure".into());
        }
        // The reports count what the extra thread writes, too.
        let is_alone = p.benchmark != Benchmark::ReadWhileWriting;
        Ok(Outcome {
            seconds: output.seconds,
            metrics,
            series: is_alone.then(|| (RATE.name.into(), rates)).into_iter().collect(),
            bytes_written: if p.benchmark.counts_writes() {
                output.operations * (p.key_size + p.value_size)
            } else {
                0
            },
            // Of writes that were acknowledged together, one waited for the flush.
            commits: if p.is_synced() { store.log_syncs } else { 0 },
            notes,
            transcript: Some(finished.stdout.clone()),
            ..Outcome::of(Asked::all_right())
        })
    }

    fn keys_after(&self) -> Keys {
        let p = &self.parameters;
        if p.is_filled() || p.benchmark == Benchmark::FillSeq {
            Keys::All(p.keys())
        } else if p.benchmark.counts_writes() {
            Keys::Drawn { from: p.keys(), times: self.written }
        } else {
            Keys::AtMost(p.keys())
        }
    }
}

/// Reads what a benchmark printed.
fn read(name: &str, finished: &Finished) -> Result<Output, Error> {
    output::parse(name, &finished.stdout).map_err(|problem| unreadable(problem, finished))
}

fn unreadable(problem: String, finished: &Finished) -> Error {
    let status = format!("{}, but without a figure: {problem}", finished.status);
    Error::Program { program: "db_bench".into(), status, log: finished.last_lines() }
}

fn folder(context: &Context) -> PathBuf {
    Path::new(&context.data_folder).join("rocksdb")
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use serde_json::json;
    use settings::check_all;

    fn map(written: &Value) -> Map<String, Value> {
        check_all(SETTINGS, written.as_object().unwrap()).unwrap()
    }

    fn problems(written: &Value, expected: Expect) {
        expected.assert_eq(&(KIND.check)(&map(written)).join("\n"));
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
        let bytes = |written: Value| (KIND.estimate)(&map(&written)).data_bytes;
        let keys = 1_000_000 * 116;
        assert_eq!(bytes(json!({"benchmark": "readrandom"})), keys);
        assert_eq!(bytes(json!({"time": "1s"})), keys + 420_000 * 116);
        assert_eq!(bytes(json!({"time": "1h"})), keys + 24 * (64 << 20));
    }
}
