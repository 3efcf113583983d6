//! What both engines share: which block comes next, what it holds, when to flush, when to stop.

use super::file::{Aligned, FileState, check_block};
use super::wakeful::Wakeful;
use super::{BlockIo, BlockIoResult, Engine, psync, uring};
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
    if interrupted.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { Ok(result) }
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
    /// Room for a block, filled, so that none of its memory is touched for the first time while it is measured.
    pub fn buffer(&self, which: u64) -> Aligned {
        let mut buffer = Aligned::new(self.job.block_size);
        self.noise.fill(buffer.bytes(), which);
        buffer
    }

    /// The time begins.
    pub fn begin(self) -> Load<'a> {
        let Setup { job, state, interrupted, progress, .. } = self;
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
            job,
            state,
            interrupted,
            progress,
        }
    }
}

/// The state of a running job.
pub struct Load<'a> {
    pub(super) job: &'a BlockIo,
    state: &'a mut FileState,
    interrupted: &'a AtomicBool,
    progress: &'a mut dyn FnMut(f64, f64),
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
        if self.job.pattern.is_random() {
            return self.random.below(self.blocks);
        }
        let block = self.state.next;
        self.state.next = if block + 1 == self.blocks { 0 } else { block + 1 };
        block
    }

    /// Makes the buffer the new content of `block`.
    pub fn fill(&mut self, buffer: &mut [u8], block: u64) {
        self.serial += 1;
        if self.job.verify {
            stamp(buffer, block, self.serial);
            self.state.serials[block as usize] = self.serial;
        } else {
            label(buffer, block, self.serial);
        }
    }

    /// Checks a block that was read.
    pub fn check(&self, buffer: &[u8], block: u64) -> Result<(), Error> {
        if !self.job.verify {
            return Ok(());
        }
        check_block(self.job, buffer, block, self.state.serials[block as usize])
    }

    /// Counts an I/O that began and ended so.
    pub fn count(&mut self, began: Instant, ended: Instant) {
        self.io.record(ended - began);
        self.ios += 1;
    }

    /// Whether the job goes on at `now`; reports once a second. Once it does not, `now` is the end until it is asked again.
    pub fn goes_on(&mut self, now: Instant) -> bool {
        self.ended = now;
        if self.job.direct {
            self.wakeful.keep(now);
        }
        if now >= self.ticker_due {
            self.ticker.tick(now, self.ios, self.progress);
            self.ticker_due = self.ticker.due();
        }
        let goes_on = now < self.deadline && !self.interrupted.load(Ordering::Relaxed);
        if !goes_on {
            // Here and not later, when buffers have been given back.
            self.cpu_seconds = thread_cpu_seconds() - self.cpu_before;
        }
        goes_on
    }

    /// Whether it is time to flush, after `self.ios` writes.
    pub fn flush_is_due(&self) -> bool {
        self.job.fdatasync_ios > 0 && self.ios.is_multiple_of(self.job.fdatasync_ios)
    }

    /// Flushes.
    pub fn flush(&mut self, file: &std::fs::File) -> Result<(), Error> {
        let flushing = Instant::now();
        file.sync_data().map_err(|source| Error::file("flush", &self.job.path, source))?;
        self.fdatasync.record(flushing.elapsed());
        Ok(())
    }

    /// What it came to.
    pub fn result(self) -> BlockIoResult {
        let flushes = self.fdatasync.count();
        let io = if self.job.pattern.writes() { "write" } else { "read" };
        let mut latencies = [(io.to_string(), self.io)].into_iter().collect::<std::collections::BTreeMap<_, _>>();
        if flushes > 0 {
            latencies.insert("fdatasync".into(), self.fdatasync);
        }
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

    fn job(verify: bool) -> BlockIo {
        BlockIo {
            path: "never opened".into(),
            seed: 7,
            size: 1 << 20,
            block_size: 4096,
            pattern: Pattern::Write,
            engine: Engine::Psync,
            depth: 1,
            direct: false,
            fdatasync_ios: 0,
            time: 1.0,
            verify,
        }
    }

    fn with_setup(job: &BlockIo, test: impl FnOnce(Setup)) {
        let mut state = file::state_after_lay_out(job);
        let noise = Noise::new(job.seed);
        let (interrupted, progress) = (&AtomicBool::new(false), &mut |_, _| {});
        test(Setup { job, state: &mut state, interrupted, progress, noise });
    }

    #[test]
    fn what_comes_before_the_beginning_is_not_in_the_time() {
        let job = job(false);
        with_setup(&job, |setup| {
            let waited = Instant::now();
            std::thread::sleep(Duration::from_millis(20));
            let mut load = setup.begin();
            assert!(load.started - waited >= Duration::from_millis(20));
            let deadline = load.started + Duration::from_secs(1);
            assert!(load.goes_on(deadline - Duration::from_nanos(1)) && !load.goes_on(deadline));
            assert!((load.result().seconds - 1.0).abs() < 1e-9);
        });
    }
}
