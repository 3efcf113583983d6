//! `block-io`: blocks of one file, read or written one by one or many at a time: what a device and filesystem can do.
//!
//! The loop is one thread with nothing between the calls but what is measured, because it shares the machine with what
//! it measures: `benches/block_io_against_fio.rs` holds its speed and its CPU time against fio's. With `verify`, each
//! block carries its number, the serial of its last write and a checksum; reads check them, and after the last run the
//! whole file is read back, so that a lost, torn or misplaced write is an error.
//!
//! Driven by `lab::trial`; [`measure`] runs it alone.

mod drive;
mod file;
mod psync;
#[cfg_attr(not(target_os = "linux"), path = "block_io/uring_elsewhere.rs")]
mod uring;

use crate::asked::Asked;
use crate::random::Random;
use crate::workload::{Context, Error, Estimate, Kind, Outcome, Workload};
use observe::durability::{Class, Durability};
use observe::latency::Latency;
use observe::metric::{Direction, Measured, Metric};
use serde::Deserialize;
use serde_json::{Map, Value};
use settings::{Kind as Is, Setting};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// The row of the list.
pub static KIND: Kind = Kind {
    name: "block-io",
    summary: "reads or writes blocks of one file, random or in sequence, one or many at a time, as fio does",
    example: "[workload.block-io]\nsize = \"1GiB\"\npattern = \"randwrite\"\nengine = \"io_uring\"\ndepth = 16\n\
              direct = true\n",
    settings: SETTINGS,
    metrics: |map| metrics(BlockIo::of(map).pattern),
    durability: |map| durability(&BlockIo::of(map)),
    estimate: |map| estimate(&BlockIo::of(map)),
    check: |map| check(&BlockIo::of(map)),
    services: |_| Vec::new(),
    data_key: |_| String::new(),
    open: |map| Ok(Box::new(BlockIoWorkload { job: BlockIo::of(map), serials: Vec::new(), runs: 0 })),
};

const SETTINGS: &[Setting] = &[
    Setting {
        name: "size",
        kind: Is::Bytes { min: 512, max: u64::MAX },
        default: Some("1GiB"),
        help: "Size of the file. It is written in full before the runs. A file that fits into memory measures memory, \
               unless `direct` is on.",
    },
    Setting {
        name: "block_size",
        kind: Is::Bytes { min: 512, max: 1 << 24 },
        default: Some("4KiB"),
        help: "Size of a block, and of each read or write.",
    },
    Setting {
        name: "pattern",
        kind: Is::Choice(&["randwrite", "randread", "write", "read"]),
        default: Some("randwrite"),
        help: "Random or sequential, writing or reading. Random places are drawn anew each time, so that a block may \
               come twice before another comes once (fio's `norandommap`).",
    },
    Setting {
        name: "engine",
        kind: Is::Choice(&["psync", "io_uring"]),
        default: Some("psync"),
        help: "`psync` makes one `pread` or `pwrite` at a time; `io_uring` keeps `depth` of them in flight.",
    },
    Setting {
        name: "depth",
        kind: Is::Integer { min: 1, max: 1024 },
        default: Some("1"),
        help: "I/Os in flight at a time. Above 1 it needs `engine = \"io_uring\"`.",
    },
    Setting {
        name: "direct",
        kind: Is::Boolean,
        default: Some("false"),
        help: "Go past the page cache (`O_DIRECT`), so that the device is measured and not memory.",
    },
    Setting {
        name: "fdatasync_ios",
        kind: Is::Integer { min: 0, max: i64::MAX },
        default: Some("0"),
        help: "Flush with `fdatasync` after this many writes, all of them waited for; 0: never during the run.",
    },
    Setting { name: "time", kind: Is::Seconds { min: 0.01, max: 1e6 }, default: Some("30s"), help: "Length of a run." },
    Setting {
        name: "verify",
        kind: Is::Boolean,
        default: Some("true"),
        help: "Give each block a checksum, check each block that is read, and read the whole file back at the end. \
               Without it the loop's CPU time compares with fio's.",
    },
];

const IOS_PER_SECOND: Metric = Metric::new("ios_per_second", "1/s", Direction::More);
const BYTES_PER_SECOND: Metric = Metric::new("bytes_per_second", "B/s", Direction::More);
const CPU_PER_IO: Metric = Metric::new("cpu_microseconds_per_io", "µs", Direction::Less);
/// With the time of the flush after the last write.
const IOS_PER_SECOND_SYNCED: Metric = Metric::new("ios_per_second_synced", "1/s", Direction::More);

/// One job: what to do to which file.
#[derive(Debug, Clone, Deserialize)]
pub struct BlockIo {
    /// The file.
    #[serde(skip)]
    pub path: PathBuf,
    /// Random places come from this.
    #[serde(skip)]
    pub seed: u64,
    /// Bytes of the file.
    pub size: u64,
    /// Bytes of a block.
    pub block_size: usize,
    /// What is done to which blocks.
    pub pattern: Pattern,
    /// By which calls.
    pub engine: Engine,
    /// I/Os in flight.
    pub depth: usize,
    /// Past the page cache.
    pub direct: bool,
    /// Writes between two flushes; 0: none.
    pub fdatasync_ios: u64,
    /// Seconds.
    pub time: f64,
    /// Whether blocks carry checksums.
    pub verify: bool,
}

/// What is done to which blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// Writes at random places.
    Randwrite,
    /// Reads at random places.
    Randread,
    /// Writes from start to end, again and again.
    Write,
    /// Reads from start to end, again and again.
    Read,
}

/// By which calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Engine {
    /// `pread`, `pwrite`.
    Psync,
    /// Many in flight.
    IoUring,
}

/// What a job did.
#[derive(Debug, Clone, Default)]
pub struct BlockIoResult {
    /// Blocks read or written.
    pub ios: u64,
    /// From the first call to the last return.
    pub seconds: f64,
    /// CPU time of the driving thread, in user and kernel.
    pub cpu_seconds: f64,
    /// Calls of `fdatasync`.
    pub flushes: u64,
    /// `read` or `write`, and `fdatasync`.
    pub latencies: BTreeMap<String, Latency>,
    /// I/Os of each whole second.
    pub rates: Vec<f64>,
}

/// Writes the whole file, as [`measure`] expects it.
///
/// # Errors
/// When the file can't be written.
pub fn lay_out(job: &BlockIo) -> Result<(), Error> {
    file::lay_out(job, &AtomicBool::new(false))
}

/// Runs a job on a file that [`lay_out`] wrote.
///
/// # Errors
/// When an I/O fails, or a block that was read is not what was written.
pub fn measure(job: &BlockIo) -> Result<BlockIoResult, Error> {
    let mut serials = file::serials_after_lay_out(job);
    drive::drive(job, &mut serials, &AtomicBool::new(false), &mut |_, _| {})
}

impl BlockIo {
    fn of(map: &Map<String, Value>) -> BlockIo {
        serde_json::from_value(Value::Object(map.clone())).expect("the table of settings checked the parameters")
    }

    /// Whole blocks in the file.
    fn blocks(&self) -> u64 {
        self.size / self.block_size as u64
    }

    fn at(&self, context: &Context) -> BlockIo {
        BlockIo { path: context.data_folder.join("block-io.data"), seed: context.seed, ..self.clone() }
    }
}

impl Pattern {
    /// Whether blocks are written.
    #[must_use]
    pub fn writes(self) -> bool {
        matches!(self, Pattern::Randwrite | Pattern::Write)
    }

    fn is_random(self) -> bool {
        matches!(self, Pattern::Randwrite | Pattern::Randread)
    }
}

fn metrics(pattern: Pattern) -> Vec<Metric> {
    let mut metrics = vec![IOS_PER_SECOND, BYTES_PER_SECOND, CPU_PER_IO];
    if pattern.writes() {
        metrics.push(IOS_PER_SECOND_SYNCED);
    }
    metrics
}

fn durability(job: &BlockIo) -> Durability {
    if !job.pattern.writes() || job.fdatasync_ios > 0 {
        return Durability::full();
    }
    let reason = "`fdatasync_ios = 0`: writes are not flushed during the run";
    Durability { class: Class::LosesRecent, reasons: vec![reason.into()] }
}

/// Loading at 100 MB/s, a slow disk's sequential speed.
fn estimate(job: &BlockIo) -> Estimate {
    Estimate { data_bytes: job.size, load_seconds: job.size as f64 / 1e8, run_seconds: job.time }
}

fn check(job: &BlockIo) -> Vec<String> {
    let mut problems = Vec::new();
    if job.engine == Engine::Psync && job.depth > 1 {
        problems.push(format!("`depth` = {} needs `engine` = \"io_uring\": psync does one I/O at a time", job.depth));
    }
    if job.blocks() < job.depth as u64 {
        problems.push("`size` must hold at least `depth` blocks of `block_size`".into());
    }
    if job.direct && !job.block_size.is_multiple_of(512) {
        problems.push("`block_size` must be a multiple of 512 bytes with `direct`".into());
    }
    if job.fdatasync_ios > 0 && !job.pattern.writes() {
        problems.push("`fdatasync_ios` has no effect on a `pattern` that only reads: leave it at 0".into());
    }
    problems
}

/// The workload.
struct BlockIoWorkload {
    job: BlockIo,
    /// The serial of each block's last write; empty without `verify`.
    serials: Vec<u64>,
    /// Runs so far: each draws other places.
    runs: u64,
}

impl Workload for BlockIoWorkload {
    fn prepare(&mut self, context: &mut Context) -> Result<Vec<Measured>, Error> {
        let job = self.job.at(context);
        file::lay_out(&job, context.interrupted)?;
        self.serials = file::serials_after_lay_out(&job);
        Ok(Vec::new())
    }

    fn run(&mut self, context: &mut Context) -> Result<Outcome, Error> {
        let mut job = self.job.at(context);
        job.seed = Random::of_stream(context.seed, self.runs).next_u64();
        self.runs += 1;
        let done = drive::drive(&job, &mut self.serials, context.interrupted, context.progress)?;
        let ios = done.ios as f64;
        let mut metrics = vec![
            IOS_PER_SECOND.at(ios / done.seconds),
            BYTES_PER_SECOND.at(ios * job.block_size as f64 / done.seconds),
            CPU_PER_IO.at(done.cpu_seconds / ios * 1e6),
        ];
        if job.pattern.writes() {
            metrics.push(IOS_PER_SECOND_SYNCED.at(ios / (done.seconds + file::flush(&job.path)?)));
        }
        Ok(Outcome {
            seconds: done.seconds,
            metrics,
            latencies: done.latencies,
            series: [(IOS_PER_SECOND.name.into(), done.rates)].into(),
            bytes_written: if job.pattern.writes() { done.ios * job.block_size as u64 } else { 0 },
            commits: done.flushes,
            ..Outcome::of(Asked::all_right())
        })
    }

    fn verify(&mut self, context: &mut Context) -> Result<(), Error> {
        if !self.job.verify {
            return Ok(());
        }
        file::verify(&self.job.at(context), &self.serials, context.interrupted)
    }
}

/// A damaged or stale block as an error.
fn wrong(path: &Path, block: u64, damage: crate::stamp::Damage) -> Error {
    Error::WrongData {
        place: format!("block {block} of {}", path.display()),
        expected: damage.expected,
        found: damage.found,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use settings::check_all;

    fn problems(text: &str, expected: Expect) {
        let written: Map<String, Value> = serde_json::from_str(text).unwrap();
        expected.assert_eq(&(KIND.check)(&check_all(SETTINGS, &written).unwrap()).join("\n"));
    }

    #[test]
    fn settings_that_do_not_go_together_are_named() {
        problems("{}", expect![""]);
        problems(
            r#"{"depth": 4}"#,
            expect![[r#"`depth` = 4 needs `engine` = "io_uring": psync does one I/O at a time"#]],
        );
        problems(
            r#"{"pattern": "read", "fdatasync_ios": 1}"#,
            expect!["`fdatasync_ios` has no effect on a `pattern` that only reads: leave it at 0"],
        );
        problems(
            r#"{"size": "8KiB", "engine": "io_uring", "depth": 16, "direct": true, "block_size": "1000B"}"#,
            expect![[r#"
                `size` must hold at least `depth` blocks of `block_size`
                `block_size` must be a multiple of 512 bytes with `direct`"#]],
        );
    }
}
