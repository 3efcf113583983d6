//! The file of a job: laid out, opened, flushed, read back.

use super::BlockIo;
use crate::noise::Noise;
use crate::stamp::{Damage, serial_of, stamp};
use crate::workload::Error;
use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// The serial that every block has when the file is laid out.
const FIRST_SERIAL: u64 = 1;

/// Direct I/O wants buffers aligned to the device's blocks; no device has larger ones than a page.
const ALIGNMENT: usize = 4096;

/// Bytes written or read at a time while laying out and reading back.
const PIECE_BYTES: usize = 1 << 20;

/// What goes on from run to run.
#[derive(Debug, Clone, Default)]
pub struct FileState {
    /// The serial of each block's last write; empty without `verify`.
    pub serials: Vec<u64>,
    /// The next block of a sequence: a run that began at the file's start again would meet what the one before left in memory.
    pub next: u64,
}

/// Writes all blocks, stamped, and flushes.
pub fn lay_out(job: &BlockIo, interrupted: &AtomicBool) -> Result<(), Error> {
    let mut file = File::create(&job.path).map_err(Error::doing("create", &job.path))?;
    let noise = Noise::new(job.seed);
    let mut piece = Vec::with_capacity(PIECE_BYTES + job.block_size);
    let mut block = vec![0; job.block_size];
    for number in 0..job.blocks() {
        noise.fill(&mut block, number);
        stamp(&mut block, number, FIRST_SERIAL);
        piece.extend_from_slice(&block);
        if piece.len() >= PIECE_BYTES || number + 1 == job.blocks() {
            Error::if_interrupted(interrupted)?;
            file.write_all(&piece).map_err(Error::doing("write", &job.path))?;
            piece.clear();
        }
    }
    file.sync_all().map_err(Error::doing("flush", &job.path))?;
    // Direct I/O to a block that is cached has to drop it from the cache first, which is not to be measured.
    if job.direct { forget_cached(job, &file) } else { Ok(()) }
}

/// Makes the file anew with room for all blocks and none of them written, as a log that grows into space that it has reserved: a flush of such
/// a write must also flush where the block lies. Gives what that leaves: no block was written.
pub fn allocate(job: &BlockIo) -> Result<FileState, Error> {
    let file = File::create(&job.path).map_err(Error::doing("create", &job.path))?;
    let bytes = job.blocks() * job.block_size as u64;
    nix::fcntl::posix_fallocate(&file, 0, bytes as i64)
        .map_err(|errno| Error::file("allocate room for", &job.path, errno.into()))?;
    file.sync_all().map_err(Error::doing("flush", &job.path))?;
    Ok(FileState::with_serials(job, 0))
}

/// Asks the kernel to drop its cached copy. A hint: tmpfs keeps its own.
fn forget_cached(job: &BlockIo, file: &File) -> Result<(), Error> {
    posix_fadvise(file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED)
        .map_err(|errno| Error::file("drop the cached copy of", &job.path, errno.into()))
}

/// What [`lay_out`] leaves.
pub fn state_after_lay_out(job: &BlockIo) -> FileState {
    FileState::with_serials(job, FIRST_SERIAL)
}

impl FileState {
    fn with_serials(job: &BlockIo, serial: u64) -> FileState {
        FileState { serials: if job.verify { vec![serial; job.blocks() as usize] } else { Vec::new() }, next: 0 }
    }
}

/// The file as the job wants it.
pub fn open(job: &BlockIo) -> Result<File, Error> {
    let flags = if job.direct { nix::libc::O_DIRECT } else { 0 };
    File::options()
        .read(true)
        .write(job.pattern.writes())
        .custom_flags(flags)
        .open(&job.path)
        .map_err(Error::doing(if job.direct { "open for direct I/O" } else { "open" }, &job.path))
}

/// Flushes; the seconds that it took.
pub fn flush(path: &Path) -> Result<f64, Error> {
    let file = File::open(path).map_err(Error::doing("open", path))?;
    let flushing = Instant::now();
    file.sync_data().map_err(Error::doing("flush", path))?;
    Ok(flushing.elapsed().as_secs_f64())
}

/// Reads every block back, from the device where the kernel lets go of its cached copy.
pub fn verify(job: &BlockIo, serials: &[u64], interrupted: &AtomicBool) -> Result<(), Error> {
    flush(&job.path)?;
    let mut file = File::open(&job.path).map_err(Error::doing("open", &job.path))?;
    forget_cached(job, &file)?;
    let blocks_at_once = (PIECE_BYTES / job.block_size).max(1);
    let mut buffer = vec![0; blocks_at_once * job.block_size];
    let mut number = 0;
    for serials in serials.chunks(blocks_at_once) {
        Error::if_interrupted(interrupted)?;
        let piece = &mut buffer[..serials.len() * job.block_size];
        file.read_exact(piece).map_err(Error::doing("read back", &job.path))?;
        for (block, serial) in piece.chunks(job.block_size).zip(serials) {
            check_block(job, block, number, *serial)?;
            number += 1;
        }
    }
    Ok(())
}

/// A block must be intact, at its place, and its last write.
pub fn check_block(job: &BlockIo, buffer: &[u8], block: u64, serial: u64) -> Result<(), Error> {
    let found = serial_of(buffer, block).map_err(|damage| damage.of(&job.path, block))?;
    if found == serial {
        return Ok(());
    }
    let damage = Damage { expected: format!("write {serial}"), found: format!("write {found}") };
    Err(damage.of(&job.path, block))
}

/// A buffer that direct I/O accepts.
pub struct Aligned {
    bytes: Vec<u8>,
    start: usize,
    length: usize,
}

impl Aligned {
    /// Zeros.
    pub fn new(length: usize) -> Aligned {
        let bytes = vec![0; length + ALIGNMENT];
        let start = bytes.as_ptr().align_offset(ALIGNMENT);
        Aligned { bytes, start, length }
    }

    /// The aligned part. It stays where it is when the `Aligned` is moved.
    pub fn bytes(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.start + self.length]
    }
}
