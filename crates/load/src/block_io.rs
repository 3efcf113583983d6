//! Blocks of one file, read or written one by one or many at a time.
//!
//! The loop is one thread with nothing between the calls but what is measured, because it shares the machine with what
//! it measures: `benches/block_io_against_fio.rs` holds its speed and its CPU time against fio's. With `verify`, each
//! block carries its number, the serial of its last write and a checksum; reads check them, and the whole file can be read back,
//! so that a lost, torn or misplaced write is an error.

pub mod drive;
pub mod file;
mod psync;
#[cfg_attr(not(target_os = "linux"), path = "block_io/uring_elsewhere.rs")]
mod uring;
mod wakeful;

use crate::workload::Error;
use observe::latency::Latency;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

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
    let mut state = file::state_after_lay_out(job);
    drive::drive(job, &mut state, &AtomicBool::new(false), &mut |_, _| {})
}

impl BlockIo {
    /// Whole blocks in the file.
    pub fn blocks(&self) -> u64 {
        self.size / self.block_size as u64
    }

    /// A read or write that failed. Direct I/O in pieces of a sector is an "Invalid argument" (open(2), `O_DIRECT`).
    fn failed(&self, source: io::Error) -> Error {
        let is_piece = self.direct && source.raw_os_error() == Some(libc::EINVAL);
        let why =
            format!("{source}: with `direct`, `block_size` ({} bytes) is whole sectors of the device", self.block_size);
        let source = if is_piece { io::Error::new(source.kind(), why) } else { source };
        Error::file(if self.pattern.writes() { "write" } else { "read" }, &self.path, source)
    }
}

impl Pattern {
    /// Whether blocks are written.
    pub fn writes(self) -> bool {
        matches!(self, Pattern::Randwrite | Pattern::Write)
    }

    fn is_random(self) -> bool {
        matches!(self, Pattern::Randwrite | Pattern::Randread)
    }
}
