//! What both engines share: which block comes next, what it holds, when to flush, when to stop.

use super::file::check_block;
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
    serials: &mut [u64],
    interrupted: &AtomicBool,
    progress: &mut dyn FnMut(f64, f64),
) -> Result<BlockIoResult, Error> {
    let file = super::file::open(job)?;
    let mut load = Load::new(job, serials, interrupted, progress);
    let cpu_before = thread_cpu_seconds();
    match job.engine {
        Engine::Psync => psync::run(&mut load, &file)?,
        Engine::IoUring => uring::run(&mut load, &file)?,
    }
    let cpu_seconds = thread_cpu_seconds() - cpu_before;
    if interrupted.load(Ordering::Relaxed) {
        return Err(Error::Interrupted);
    }
    Ok(load.result(cpu_seconds))
}

/// The state of a running job.
pub struct Load<'a> {
    pub(super) job: &'a BlockIo,
    serials: &'a mut [u64],
    interrupted: &'a AtomicBool,
    progress: &'a mut dyn FnMut(f64, f64),
    random: Random,
    noise: Noise,
    next: u64,
    blocks: u64,
    serial: u64,
    started: Instant,
    ended: Instant,
    deadline: Instant,
    ticker: Ticker,
    ticker_due: Instant,
    wakeful: Wakeful,
    ios: u64,
    io: Latency,
    fdatasync: Latency,
}

impl<'a> Load<'a> {
    fn new(
        job: &'a BlockIo,
        serials: &'a mut [u64],
        interrupted: &'a AtomicBool,
        progress: &'a mut dyn FnMut(f64, f64),
    ) -> Load<'a> {
        let noise = Noise::new(job.seed);
        // Serials go on from run to run, so that a block left from an earlier run is stale and not right.
        let serial = serials.iter().copied().max().unwrap_or(1);
        let started = Instant::now();
        let ticker = Ticker::start(started);
        Load {
            random: Random::new(job.seed),
            noise,
            next: 0,
            blocks: job.blocks(),
            serial,
            started,
            ended: started,
            deadline: started + Duration::from_secs_f64(job.time),
            ticker_due: ticker.due(),
            ticker,
            wakeful: Wakeful::new(started),
            ios: 0,
            io: Latency::default(),
            fdatasync: Latency::default(),
            job,
            serials,
            interrupted,
            progress,
        }
    }

    /// The block of the next I/O.
    pub fn next_block(&mut self) -> u64 {
        if self.job.pattern.is_random() {
            return self.random.below(self.blocks);
        }
        let block = self.next;
        self.next = if block + 1 == self.blocks { 0 } else { block + 1 };
        block
    }

    /// Fills a buffer once; later writes change its stamp only.
    pub fn first_fill(&self, buffer: &mut [u8], which: u64) {
        self.noise.fill(buffer, which);
    }

    /// Makes the buffer the new content of `block`.
    pub fn fill(&mut self, buffer: &mut [u8], block: u64) {
        self.serial += 1;
        if self.job.verify {
            stamp(buffer, block, self.serial);
            self.serials[block as usize] = self.serial;
        } else {
            label(buffer, block, self.serial);
        }
    }

    /// Checks a block that was read.
    pub fn check(&self, buffer: &[u8], block: u64) -> Result<(), Error> {
        if !self.job.verify {
            return Ok(());
        }
        check_block(self.job, buffer, block, self.serials[block as usize])
    }

    /// Counts an I/O that began and ended so.
    pub fn count(&mut self, began: Instant, ended: Instant) {
        self.io.record(ended - began);
        self.ios += 1;
    }

    /// Whether the job goes on at `now`; reports once a second.
    pub fn goes_on(&mut self, now: Instant) -> bool {
        self.ended = now;
        if self.job.direct {
            self.wakeful.keep(now);
        }
        if now >= self.ticker_due {
            self.ticker.tick(now, self.ios, self.progress);
            self.ticker_due = self.ticker.due();
        }
        now < self.deadline && !self.interrupted.load(Ordering::Relaxed)
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

    fn result(self, cpu_seconds: f64) -> BlockIoResult {
        let flushes = self.fdatasync.count();
        let io = if self.job.pattern.writes() { "write" } else { "read" };
        let mut latencies = [(io.to_string(), self.io)].into_iter().collect::<std::collections::BTreeMap<_, _>>();
        if flushes > 0 {
            latencies.insert("fdatasync".into(), self.fdatasync);
        }
        BlockIoResult {
            ios: self.ios,
            seconds: (self.ended - self.started).as_secs_f64(),
            cpu_seconds,
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
