//! `block-io`: blocks of one file, read or written one by one or many at a time: what a device and filesystem can do.
//!
//! The loop is `load::block_io`. Driven by `lab::trial`.

use load::block_io::file::{self, FileState};
use load::block_io::{BlockIo, Engine, Pattern, drive};
use load::workload::{self, Context, Elsewhere, Error, Estimate, Kind, Outcome, Workload, WorkloadSettings};
use observe::durability::{Class, Durability};
use observe::metric::{Direction, Measured, Metric};
use random::Random;
use serde::Deserialize;
use settings::{Kind as Is, Setting};

/// The row of the list.
pub static KIND: Kind = Kind {
    name: "block-io",
    summary: "reads or writes blocks of one file, random or in sequence, one or many at a time, as fio does",
    example: "[workload.block-io]\nsize = \"1GiB\"\npattern = \"randwrite\"\nengine = \"io_uring\"\ndepth = 16\n\
              direct = true\n",
    settings: SETTINGS,
    choices: &["engine"],
    elsewhere: Elsewhere::Nothing,
    read: workload::read::<Parameters>,
};

const SETTINGS: &[Setting] = &[
    Setting::new("size", Is::Bytes { min: 512, max: u64::MAX }, "1GiB")
        .help(
            "Size of the file. It is written in full before the runs. A file that fits into memory measures memory, \
               unless `direct` is on.",
        ),
    Setting::new("file", Is::Choice(&["written", "allocated"]), "written")
        .help(
            "What the blocks are before they are written: `written` once, before the first run; or room that is `allocated` anew before each run and \
               holds nothing yet, as most logs of databases have it. A flush of the latter costs more, as it must keep where blocks lie.",
        ),
    Setting::new("block_size", Is::Bytes { min: 512, max: 1 << 24 }, "4KiB")
        .help("Size of a block, and of each read or write."),
    Setting::new("pattern", Is::Choice(&["randwrite", "randread", "write", "read"]), "randwrite")
        .help(
            "Random or sequential, writing or reading. Random places are drawn anew each time, so that a block may \
               come twice before another comes once (fio's `norandommap`). A sequence goes on in the next run where the last one ended, but \
               for a file that is `allocated` anew.",
        ),
    Setting::new("engine", Is::Choice(&["psync", "io_uring"]), "psync")
        .help("`psync` makes one `pread` or `pwrite` at a time; `io_uring` keeps `depth` of them in flight."),
    Setting::new("depth", Is::Integer { min: 1, max: 1024 }, "1")
        .help("I/Os in flight at a time. Above 1 it needs `engine = \"io_uring\"`."),
    Setting::new("direct", Is::Boolean, "false")
        .help("Go past the page cache (`O_DIRECT`), so that the device is measured and not memory."),
    Setting::new("fdatasync_ios", Is::Integer { min: 0, max: i64::MAX }, "0")
        .help("Flush with `fdatasync` after this many writes, all of them waited for; 0: never during the run."),
    Setting::new("time", Is::Seconds { min: 0.01, max: 1e6 }, "30s").help("Length of a run."),
    Setting::new("verify", Is::Boolean, "true")
        .help(
            "Give each block a checksum, check each block that is read, and read the whole file back at the end. \
               Without it the loop's CPU time compares with fio's.",
        ),
];

fn at(job: &BlockIo, context: &Context) -> BlockIo {
    BlockIo { path: context.data_folder.join("block-io.data"), seed: context.seed, ..job.clone() }
}

const IOS_PER_SECOND: Metric = Metric::new("ios_per_second", "1/s", Direction::More);
const BYTES_PER_SECOND: Metric = Metric::new("bytes_per_second", "B/s", Direction::More);
const CPU_PER_IO: Metric = Metric::new("cpu_microseconds_per_io", "µs", Direction::Less);
/// With the time of the flush after the last write.
const IOS_PER_SECOND_SYNCED: Metric = Metric::new("ios_per_second_synced", "1/s", Direction::More);

/// How long the flushes took.
const FDATASYNC_P99: Metric = Metric::new("fdatasync_microseconds_p99", "µs", Direction::Less);

#[derive(Deserialize)]
struct Parameters {
    #[serde(flatten)]
    job: BlockIo,
    file: String,
}

impl WorkloadSettings for Parameters {
    fn metrics(&self) -> Vec<Metric> {
        let job = &self.job;
        let mut metrics = vec![IOS_PER_SECOND, BYTES_PER_SECOND, CPU_PER_IO];
        metrics.extend(job.pattern.writes().then_some(IOS_PER_SECOND_SYNCED));
        metrics.extend((job.fdatasync_ios > 0).then_some(FDATASYNC_P99));
        metrics
    }

    fn durability(&self) -> Durability {
        let job = &self.job;
        if !job.pattern.writes() || job.fdatasync_ios > 0 {
            return Durability::full();
        }
        let reason = "`fdatasync_ios = 0`: writes are not flushed during the run";
        Durability::because(Class::LosesRecent, reason)
    }

    /// Loading at 100 MB/s, a slow disk's sequential speed.
    fn estimate(&self) -> Estimate {
        let job = &self.job;
        Estimate { data_bytes: job.size, load_seconds: job.size as f64 / 1e8, run_seconds: job.time }
    }

    fn problems(&self) -> Vec<String> {
        let job = &self.job;
        load::sentences! {
            self.file == "allocated" && job.pattern != Pattern::Write =>
                "`file` = \"allocated\" needs `pattern` = \"write\": other patterns come to a block that was written \
                 before";
            job.engine == Engine::Psync && job.depth > 1 =>
                "`depth` = {depth} needs `engine` = \"io_uring\": psync does one I/O at a time", depth = job.depth;
            job.blocks() < job.depth as u64 => "`size` must hold at least `depth` blocks of `block_size`";
            job.direct && !job.block_size.is_multiple_of(512) =>
                "`block_size` must be a multiple of 512 bytes with `direct`";
            job.fdatasync_ios > 0 && !job.pattern.writes() =>
                "`fdatasync_ios` has no effect on a `pattern` that only reads: leave it at 0";
        }
    }

    fn run_seconds(&self) -> Option<f64> {
        (self.job.time > 0.0).then_some(self.job.time)
    }

    fn open(self: Box<Self>) -> Result<Box<dyn Workload>, Error> {
        let is_allocated = self.file == "allocated";
        Ok(Box::new(BlockIoWorkload { job: self.job, is_allocated, state: FileState::default(), runs: 0 }))
    }
}

/// The workload.
struct BlockIoWorkload {
    job: BlockIo,
    /// Whether each run finds room without blocks.
    is_allocated: bool,
    state: FileState,
    /// Runs so far: each draws other places.
    runs: u64,
}

impl Workload for BlockIoWorkload {
    fn prepare(&mut self, context: &mut Context) -> Result<Vec<Measured>, Error> {
        let job = at(&self.job, context);
        if self.is_allocated {
            // Whether there is room, and the filesystem can keep it.
            file::allocate(&job)?;
            return Ok(Vec::new());
        }
        file::lay_out(&job, context.interrupted)?;
        self.state = file::state_after_lay_out(&job);
        Ok(Vec::new())
    }

    /// Its flushes and writes are none of the run's.
    fn ready(&mut self, context: &mut Context) -> Result<(), Error> {
        if self.is_allocated {
            let job = at(&self.job, context);
            self.state = file::allocate(&job)?;
        }
        Ok(())
    }

    fn run(&mut self, context: &mut Context) -> Result<Outcome, Error> {
        let mut job = at(&self.job, context);
        job.seed = Random::of_stream(context.seed, self.runs).next_u64();
        self.runs += 1;
        let done = drive::drive(&job, &mut self.state, context.interrupted, context.progress)?;
        if self.is_allocated && done.ios > job.blocks() {
            let problem = format!(
                "all {} blocks were written before the run was over: make it larger, or `time` shorter",
                job.blocks()
            );
            return Err(Error::Parameter { setting: "size", problem });
        }
        let ios = done.ios as f64;
        let mut metrics = vec![
            IOS_PER_SECOND.at(ios / done.seconds),
            BYTES_PER_SECOND.at(ios * job.block_size as f64 / done.seconds),
            CPU_PER_IO.at(done.cpu_seconds / ios * 1e6),
        ];
        metrics.extend(done.latencies.get("fdatasync").map(|took| FDATASYNC_P99.at(took.microseconds_at(0.99))));
        let mut flush_seconds = 0.0;
        if job.pattern.writes() {
            flush_seconds = file::flush(&job.path)?;
            metrics.push(IOS_PER_SECOND_SYNCED.at(ios / (done.seconds + flush_seconds)));
        }
        Ok(Outcome {
            seconds: done.seconds,
            flush_seconds,
            metrics,
            latencies: done.latencies,
            series: [(IOS_PER_SECOND.name.into(), done.rates)].into(),
            bytes_written: if job.pattern.writes() { done.ios * job.block_size as u64 } else { 0 },
            commits: done.flushes,
            ..Outcome::all_right()
        })
    }

    fn verify(&mut self, context: &mut Context) -> Result<(), Error> {
        if !self.job.verify {
            return Ok(());
        }
        file::verify(&at(&self.job, context), &self.state.serials, context.interrupted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload_tests::read;
    use expect_test::{Expect, expect};
    use serde_json::{Value, json};

    fn problems(written: Value, expected: Expect) {
        expected.assert_eq(&read(&KIND, &written).problems().join("\n"));
    }

    #[test]
    fn settings_that_do_not_go_together_are_named() {
        problems(json!({}), expect![""]);
        problems(
            json!({"file": "allocated"}),
            expect![[
                r#"`file` = "allocated" needs `pattern` = "write": other patterns come to a block that was written before"#
            ]],
        );
        problems(
            json!({"depth": 4}),
            expect![[r#"`depth` = 4 needs `engine` = "io_uring": psync does one I/O at a time"#]],
        );
        problems(
            json!({"pattern": "read", "fdatasync_ios": 1}),
            expect!["`fdatasync_ios` has no effect on a `pattern` that only reads: leave it at 0"],
        );
        problems(
            json!({"size": "8KiB", "engine": "io_uring", "depth": 16, "direct": true, "block_size": "1000B"}),
            expect![[r#"
                `size` must hold at least `depth` blocks of `block_size`
                `block_size` must be a multiple of 512 bytes with `direct`"#]],
        );
    }
}
