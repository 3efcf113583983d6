//! What a device and the CPUs can give at most, in a few seconds: the ceilings that a study's figures are held against.
//!
//! surefoot's own and no workload of a study, so it stands in no list. Driven by `lab::probe` as one trial before the first
//! round, on the bench and the storage that the trials have. The device is asked by `block_io` past the page cache, on one
//! file: in sequence, at random with many I/Os under way, and by a flush after each write.

use load::block_io::{self, BlockIo, BlockIoResult, Engine, Pattern};
use load::workload::{self, Context, Elsewhere, Error, Estimate, Kind, Outcome, Workload, WorkloadSettings};
use observe::durability::Durability;
use observe::metric::{Direction, Measured, Metric};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The row that is in no list.
pub static KIND: Kind = Kind {
    name: "probe",
    summary: "what the device and the CPUs can give at most; surefoot's own, before a study's first round",
    example: "",
    settings: &[],
    choices: &[],
    elsewhere: Elsewhere::Nothing,
    read: workload::read::<Settings>,
};

/// What a probe is to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Seconds in all, shared out evenly over what is measured.
    pub seconds: f64,
    /// Blocks of random I/O, in bytes; none: only the CPUs are probed, there is no device.
    pub block_sizes: Vec<usize>,
}

/// One thread's steps of arithmetic and memory; what a step is has no meaning but that it is always the same.
const CPU_STEPS: Metric = Metric::new("cpu_steps_per_second", "1/s", Direction::More);
/// All CPUs' together, a thread each.
const CPU_STEPS_ALL: Metric = Metric::new("cpu_steps_per_second_all", "1/s", Direction::More);
const SEQUENTIAL_WRITE: Metric = Metric::new("sequential_write_bytes_per_second", "B/s", Direction::More);
const SEQUENTIAL_READ: Metric = Metric::new("sequential_read_bytes_per_second", "B/s", Direction::More);
/// A block written and flushed, one after the other.
const FLUSHES: Metric = Metric::new("flushes_per_second", "1/s", Direction::More);

/// A larger file takes longer to write than a short probe may last, on a disk of 100 MB/s more than a second.
const FILE_BYTES_MAX: u64 = 128 << 20;
/// Of a smaller file the device's own cache might answer everything.
const FILE_BYTES_MIN: u64 = 8 << 20;
/// Share of the free space that the file takes.
const FREE_PART: u64 = 4;
/// Sequential I/O: blocks as large as the block layer passes on whole on common disks, enough of them to keep a disk busy.
const SEQUENTIAL_BLOCK: usize = 1 << 20;
const SEQUENTIAL_DEPTH: usize = 8;
/// Random I/O: as deep as a SATA disk's queue.
const RANDOM_DEPTH: usize = 32;
/// Each thing is measured so often, and its best pass counts: a disturbance lowers what a device gives and never raises it.
const PASSES: usize = 2;
/// What a flush follows.
const FLUSHED_BLOCK: usize = 4096;
/// Memory that a step of the CPU probe walks over: more than a first-level cache, less than a second-level one.
const CPU_WORDS: usize = 16 << 10;
/// Steps between two looks at the clock.
const CPU_STEPS_A_LOOK: u64 = 1 << 16;

impl Settings {
    /// Seconds for each of the things measured.
    fn seconds_each(&self) -> f64 {
        let of_device = if self.block_sizes.is_empty() { 0 } else { 3 + 2 * self.block_sizes.len() };
        self.seconds / (PASSES * (2 + of_device)) as f64
    }
}

impl WorkloadSettings for Settings {
    fn metrics(&self) -> Vec<Metric> {
        vec![CPU_STEPS]
    }

    fn durability(&self) -> Durability {
        Durability::full()
    }

    fn estimate(&self) -> Estimate {
        Estimate { data_bytes: FILE_BYTES_MAX, load_seconds: 1.0, run_seconds: self.seconds }
    }

    fn open(self: Box<Self>) -> Result<Box<dyn Workload>, Error> {
        Ok(Box::new(Probe { settings: *self, file: PathBuf::new(), bytes: 0 }))
    }
}

struct Probe {
    settings: Settings,
    file: PathBuf,
    bytes: u64,
}

impl Workload for Probe {
    fn prepare(&mut self, context: &mut Context) -> Result<Vec<Measured>, Error> {
        if self.settings.block_sizes.is_empty() {
            return Ok(Vec::new());
        }
        self.file = context.data_folder.join("probe.data");
        let (_, free) = observe::disk::space(&context.data_folder).unwrap_or((0, 0));
        self.bytes = (free / FREE_PART).min(FILE_BYTES_MAX) / SEQUENTIAL_BLOCK as u64 * SEQUENTIAL_BLOCK as u64;
        if self.bytes < FILE_BYTES_MIN {
            let problem =
                format!("{free} bytes are free; the probe of the device takes at least {}", FILE_BYTES_MIN * FREE_PART);
            return Err(Error::Parameter { setting: "storage.size", problem });
        }
        block_io::lay_out(&self.job(Pattern::Write, SEQUENTIAL_BLOCK, 1))?;
        Ok(Vec::new())
    }

    fn run(&mut self, _context: &mut Context) -> Result<Outcome, Error> {
        let started = Instant::now();
        let mut metrics = self.pass()?;
        for _ in 1..PASSES {
            for (best, again) in metrics.iter_mut().zip(self.pass()?) {
                best.value = best.value.max(again.value);
            }
        }
        Ok(Outcome { seconds: started.elapsed().as_secs_f64(), metrics, ..Outcome::all_right() })
    }

    fn verify(&mut self, _context: &mut Context) -> Result<(), Error> {
        Ok(())
    }
}

impl Probe {
    fn job(&self, pattern: Pattern, block_size: usize, depth: usize) -> BlockIo {
        BlockIo {
            path: self.file.clone(),
            seed: 1,
            size: self.bytes,
            block_size,
            pattern,
            engine: if depth > 1 { Engine::IoUring } else { Engine::Psync },
            depth,
            direct: true,
            fdatasync_ios: 0,
            time: self.settings.seconds_each(),
            verify: false,
        }
    }

    /// Everything once, in the same order each time.
    fn pass(&self) -> Result<Vec<Measured>, Error> {
        let mut metrics = self.device()?;
        let seconds = self.settings.seconds_each();
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        metrics.push(CPU_STEPS.at(cpu_steps_per_second(1, seconds)));
        metrics.push(CPU_STEPS_ALL.at(cpu_steps_per_second(cpus, seconds)));
        Ok(metrics)
    }

    fn device(&self) -> Result<Vec<Measured>, Error> {
        let mut metrics = Vec::new();
        if self.settings.block_sizes.is_empty() {
            return Ok(metrics);
        }
        let flushed = BlockIo { fdatasync_ios: 1, ..self.job(Pattern::Randwrite, FLUSHED_BLOCK, 1) };
        let done = block_io::measure(&flushed)?;
        metrics.push(FLUSHES.at(done.flushes as f64 / done.seconds));
        for (pattern, metric) in [(Pattern::Write, SEQUENTIAL_WRITE), (Pattern::Read, SEQUENTIAL_READ)] {
            let done = deep(&self.job(pattern, SEQUENTIAL_BLOCK, SEQUENTIAL_DEPTH))?;
            metrics.push(metric.at(done.ios as f64 * SEQUENTIAL_BLOCK as f64 / done.seconds));
        }
        for size in &self.settings.block_sizes {
            for (pattern, name) in [(Pattern::Randwrite, "random_write"), (Pattern::Randread, "random_read")] {
                let done = deep(&self.job(pattern, *size, RANDOM_DEPTH))?;
                let metric = Metric::named(format!("{name}_ios_per_second_{size}"), "1/s".into(), Direction::More);
                metrics.push(metric.at(done.ios as f64 / done.seconds));
            }
        }
        Ok(metrics)
    }
}

/// Many I/Os under way; one at a time where the kernel has no `io_uring` (a guest's, or one that forbids it).
fn deep(job: &BlockIo) -> Result<BlockIoResult, Error> {
    match block_io::measure(job) {
        Err(Error::Engine { .. }) => block_io::measure(&BlockIo { engine: Engine::Psync, depth: 1, ..job.clone() }),
        other => other,
    }
}

/// Steps of so many threads in a second, together.
fn cpu_steps_per_second(threads: usize, seconds: f64) -> f64 {
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads as u64).map(|seed| scope.spawn(move || cpu_steps(seed, seconds))).collect();
        running.into_iter().map(|thread| thread.join().expect("arithmetic does not panic")).sum()
    })
}

/// Arithmetic and memory without end. A step reads, mixes (SplitMix64's multiplication and shift) and writes a word at a place that depends
/// on the last one.
#[derive(Debug)]
pub struct Steps {
    words: Vec<u64>,
    state: u64,
}

impl Steps {
    /// Those of this seed.
    pub fn new(seed: u64) -> Steps {
        Steps { words: vec![seed; CPU_WORDS], state: seed }
    }

    /// Makes so many.
    pub fn take(&mut self, count: u64) {
        let mut state = self.state;
        for _ in 0..count {
            let word = &mut self.words[(state >> 40) as usize % CPU_WORDS];
            state =
                (state ^ (state >> 27) ^ *word).wrapping_mul(0x94d0_49bb_1331_11eb).wrapping_add(0x9e37_79b9_7f4a_7c15);
            *word = state;
        }
        self.state = std::hint::black_box(state);
    }
}

fn cpu_steps(seed: u64, seconds: f64) -> f64 {
    let (mut made, mut steps) = (0, Steps::new(seed));
    let started = Instant::now();
    let limit = Duration::from_secs_f64(seconds);
    while started.elapsed() < limit {
        steps.take(CPU_STEPS_A_LOOK);
        made += CPU_STEPS_A_LOOK;
    }
    made as f64 / started.elapsed().as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_shared_out() {
        let settings = |block_sizes: &[usize]| Settings { seconds: 2.8, block_sizes: block_sizes.to_vec() };
        assert!((settings(&[4096]).seconds_each() - 0.2).abs() < 1e-9);
        assert!((settings(&[]).seconds_each() - 0.7).abs() < 1e-9);
    }

    #[test]
    fn the_processor_makes_steps() {
        assert!(cpu_steps_per_second(2, 0.01) > 0.0);
    }
}
