//! What both engines share: which block comes next, what it holds, when to flush, when to stop.

use super::file::{Aligned, FileState, check_block};
use super::wakeful::Wakeful;
use super::{BlockIo, BlockIoResult, Engine, psync, uring};
use crate::duration::timed;
use crate::noise::Noise;
use crate::stamp::{label, stamp};
use crate::ticker::Ticker;
use crate::workload::Error;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use observe::latency::Latency;
use random::Random;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// So much at most is compressed together: Btrfs takes 128 KiB, bcachefs 256 KiB.
const COMPRESSED_BYTES: usize = 256 << 10;

/// Runs the job for its time.
pub fn drive(
    job: &BlockIo,
    state: &mut FileState,
    interrupted: &AtomicBool,
    progress: &mut dyn FnMut(f64, f64),
) -> Result<BlockIoResult, Error> {
    let file = super::file::open(job)?;
    let setup = Setup { job, state, interrupted, progress, noise: Noise::new(job.seed) };
    let result = match job.engine {
        Engine::Psync => psync::run(setup, &file)?,
        Engine::IoUring => uring::run(setup, &file)?,
    };
    Error::if_interrupted(interrupted).map(|()| result)
}

/// A job whose time has not begun: engines make what they need of it first.
pub struct Setup<'a> {
    pub(super) job: &'a BlockIo,
    state: &'a mut FileState,
    interrupted: &'a AtomicBool,
    progress: &'a mut dyn FnMut(f64, f64),
    noise: Noise,
}

impl<'a> Setup<'a> {
    /// Room for as many blocks as are compressed together, each with bytes of its own, when blocks are written.
    pub fn buffers_of_neighbours(&self) -> Aligned {
        let writes = self.job.pattern.writes();
        self.buffers(0, if writes { COMPRESSED_BYTES.div_ceil(self.job.block_size) } else { 1 })
    }

    /// Room for blocks, filled, so that none of its memory is touched for the first time while it is measured.
    pub fn buffers(&self, first: u64, count: usize) -> Aligned {
        let mut buffers = Aligned::new(count * self.job.block_size);
        for (which, buffer) in (first..).zip(buffers.bytes().chunks_mut(self.job.block_size)) {
            self.noise.fill(buffer, which);
        }
        buffers
    }

    /// The time begins.
    pub fn begin(self) -> Load<'a> {
        let Setup { job, state, .. } = &self;
        // Serials go on from run to run, so that a block left from an earlier run is stale and not right.
        let serial = state.serials.iter().copied().max().unwrap_or(1);
        let cpu_before = thread_cpu_seconds();
        let started = Instant::now();
        let ticker = Ticker::start(started);
        Load {
            random: Random::new(job.seed),
            blocks: job.blocks(),
            serial,
            started,
            ended: started,
            deadline: started + Duration::from_secs_f64(job.time),
            cpu_before,
            cpu_seconds: 0.0,
            ticker_due: ticker.due(),
            ticker,
            wakeful: Wakeful::new(started),
            ios: 0,
            io: Latency::default(),
            fdatasync: Latency::default(),
            setup: self,
        }
    }
}

/// The state of a running job.
pub struct Load<'a> {
    pub(super) setup: Setup<'a>,
    random: Random,
    blocks: u64,
    serial: u64,
    started: Instant,
    ended: Instant,
    deadline: Instant,
    cpu_before: f64,
    cpu_seconds: f64,
    ticker: Ticker,
    ticker_due: Instant,
    wakeful: Wakeful,
    ios: u64,
    io: Latency,
    fdatasync: Latency,
}

impl Load<'_> {
    /// The block of the next I/O.
    pub fn next_block(&mut self) -> u64 {
        if self.setup.job.pattern.is_random() {
            return self.random.below(self.blocks);
        }
        let block = self.setup.state.next;
        self.setup.state.next = if block + 1 == self.blocks { 0 } else { block + 1 };
        block
    }

    /// Gives the buffer bytes that its block's neighbours do not have: were they the last block's, neighbours would be compressed together
    /// to nearly nothing. At 20 GB/s and more (4 KiB: 0.15 µs) it is no limit of a disk's. Blocks that are larger than what is compressed
    /// together keep what they have.
    pub fn fill(&self, buffer: &mut [u8], block: u64) {
        if buffer.len() < COMPRESSED_BYTES {
            self.setup.noise.fill(buffer, block);
        }
    }

    /// Makes the buffer the new content of `block`.
    pub fn stamp(&mut self, buffer: &mut [u8], block: u64) {
        self.serial += 1;
        if self.setup.job.verify {
            stamp(buffer, block, self.serial);
            self.setup.state.serials[block as usize] = self.serial;
        } else {
            label(buffer, block, self.serial);
        }
    }

    /// Checks a block that was read.
    pub fn check(&self, buffer: &[u8], block: u64) -> Result<(), Error> {
        if !self.setup.job.verify {
            return Ok(());
        }
        check_block(self.setup.job, buffer, block, self.setup.state.serials[block as usize])
    }

    /// Counts an I/O that began and ended so.
    pub fn count(&mut self, began: Instant, ended: Instant) {
        self.io.record(ended - began);
        self.ios += 1;
    }

    /// Whether the job goes on at `now`; reports once a second. Once it does not, `now` is the end until it is asked again.
    pub fn goes_on(&mut self, now: Instant) -> bool {
        self.ended = now;
        if self.setup.job.direct {
            self.wakeful.keep(now);
        }
        if now >= self.ticker_due {
            self.ticker.tick(now, self.ios, self.setup.progress);
            self.ticker_due = self.ticker.due();
        }
        let goes_on = now < self.deadline && !self.setup.interrupted.load(Ordering::Relaxed);
        if !goes_on {
            // Here and not later, when buffers have been given back.
            self.cpu_seconds = thread_cpu_seconds() - self.cpu_before;
        }
        goes_on
    }

    /// Whether it is time to flush, after `self.ios` writes.
    pub fn flush_is_due(&self) -> bool {
        self.setup.job.fdatasync_ios > 0 && self.ios.is_multiple_of(self.setup.job.fdatasync_ios)
    }

    /// Flushes.
    pub fn flush(&mut self, file: &std::fs::File) -> Result<(), Error> {
        timed(&mut self.fdatasync, || file.sync_data()).map_err(Error::doing("flush", &self.setup.job.path))
    }

    /// What it came to.
    pub fn result(self) -> BlockIoResult {
        let flushes = self.fdatasync.count();
        let io = if self.setup.job.pattern.writes() { "write" } else { "read" };
        let fdatasync = (flushes > 0).then_some(("fdatasync".to_string(), self.fdatasync));
        let latencies = [(io.to_string(), self.io)].into_iter().chain(fdatasync).collect();
        BlockIoResult {
            ios: self.ios,
            seconds: (self.ended - self.started).as_secs_f64(),
            cpu_seconds: self.cpu_seconds,
            flushes,
            latencies,
            rates: self.ticker.rates(),
        }
    }
}

/// The same counter that fio reports as `usr_cpu` and `sys_cpu`.
fn thread_cpu_seconds() -> f64 {
    let usage = getrusage(UsageWho::RUSAGE_THREAD).expect("a thread may ask for its own usage");
    (usage.user_time().num_microseconds() + usage.system_time().num_microseconds()) as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::super::{Pattern, file};
    use super::*;
    use std::io::Write as _;
    use std::path::Path;

    fn job(folder: &Path) -> BlockIo {
        BlockIo {
            path: folder.join("file"),
            seed: 7,
            size: 1 << 20,
            block_size: 4096,
            pattern: Pattern::Write,
            engine: Engine::Psync,
            depth: 1,
            direct: false,
            fdatasync_ios: 0,
            time: 0.05,
            verify: true,
        }
    }

    /// Each trial on a disk with sectors of 4096 bytes had failed by "Invalid argument" alone.
    #[test]
    fn direct_i_o_in_pieces_of_a_sector_says_so() {
        let failed = |direct: bool, errno: i32| {
            let job = BlockIo { direct, block_size: 512, ..job(Path::new("/d")) };
            let Error::File { action, source, .. } = job.failed(std::io::Error::from_raw_os_error(errno)) else {
                panic!("of a file")
            };
            format!("{action}: {source}")
        };
        let said = failed(true, libc::EINVAL);
        assert!(said.starts_with("write: Invalid argument") && said.contains("whole sectors of the device"), "{said}");
        assert!(!failed(false, libc::EINVAL).contains("sectors") && !failed(true, libc::EIO).contains("sectors"));
    }

    #[test]
    fn what_is_written_does_not_compress() {
        let folder = tempfile::tempdir().unwrap();
        for (engine, depth) in [(Engine::Psync, 1), (Engine::IoUring, 1), (Engine::IoUring, 4)] {
            for pattern in [Pattern::Write, Pattern::Randwrite] {
                for (block_size, verify) in [(4096, true), (4096, false), (512, false), (64 << 10, true)] {
                    let job = BlockIo { engine, depth, pattern, block_size, verify, ..job(folder.path()) };
                    file::lay_out(&job, &AtomicBool::new(false)).unwrap();
                    let mut state = file::state_after_lay_out(&job);
                    drive(&job, &mut state, &AtomicBool::new(false), &mut |_, _| {}).unwrap();
                    file::verify(&job, &state.serials, &AtomicBool::new(false)).unwrap();
                    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
                    encoder.write_all(&std::fs::read(&job.path).unwrap()).unwrap();
                    let length = encoder.finish().unwrap().len() as u64;
                    assert!(length > job.size * 9 / 10, "{length} of {}: {job:?}", job.size);
                }
            }
        }
    }

    #[test]
    fn what_comes_before_the_beginning_is_not_in_the_time() {
        let job = job(Path::new("never opened"));
        let mut state = file::state_after_lay_out(&job);
        let (noise, interrupted, progress) = (Noise::new(7), &AtomicBool::new(false), &mut |_, _| {});
        let setup = Setup { job: &job, state: &mut state, interrupted, progress, noise };
        let waited = Instant::now();
        std::thread::sleep(Duration::from_millis(20));
        let mut load = setup.begin();
        assert!(load.started - waited >= Duration::from_millis(20));
        let deadline = load.started + Duration::from_millis(50);
        assert!(load.goes_on(deadline - Duration::from_nanos(1)) && !load.goes_on(deadline));
        assert!((load.result().seconds - 0.05).abs() < 1e-9);
    }
}
