//! Reads the whole file back: every block intact, and as many updates in it as there were I/Os.

use super::Parameters;
use load::stamp::serial_of;
use load::workload::Error;
use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Bytes read at a time, about: enough that the calls cost nothing beside the copying.
const READ_BYTES: usize = 1 << 20;

/// The serial of each block, which is how often it was updated; they sum to the number of I/Os.
pub fn file(parameters: &Parameters, path: &Path, interrupted: &AtomicBool) -> Result<Vec<u64>, Error> {
    let mut file = File::open(path).map_err(Error::doing("open", path))?;
    let at_once = (READ_BYTES / parameters.block_size).max(1) as u64;
    let mut buffer = vec![0; at_once as usize * parameters.block_size];
    let mut serials = Vec::with_capacity(parameters.ios as usize);
    while (serials.len() as u64) < parameters.ios {
        Error::if_interrupted(interrupted)?;
        let blocks = at_once.min(parameters.ios - serials.len() as u64) as usize;
        let piece = &mut buffer[..blocks * parameters.block_size];
        file.read_exact(piece).map_err(Error::doing("read back", path))?;
        for block in piece.chunks(parameters.block_size) {
            let number = serials.len() as u64;
            serials.push(serial_of(block, number).map_err(|damage| damage.of(path, number))?);
        }
    }
    let updates: u64 = serials.iter().sum();
    if updates == parameters.ios {
        return Ok(serials);
    }
    Err(Error::wrong_data(path.display().to_string(), format!("{} updates", parameters.ios), updates.to_string()))
}

/// Asks the kernel to drop its cached copy, so that the next read comes from the device. A hint: tmpfs keeps its own.
pub fn forget_cached(path: &Path) -> Result<(), Error> {
    let file = File::open(path).map_err(Error::doing("open", path))?;
    file.sync_all().map_err(Error::doing("flush", path))?;
    posix_fadvise(&file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED)
        .map_err(|errno| Error::file("drop the cached copy of", path, errno.into()))
}
