//! One writer at a time: an `flock` on a file beside the ledger, which the kernel lets go when the writer dies.
//!
//! Not on the ledger itself: SQLite locks byte ranges of it, and closing any descriptor of a file drops those.

use crate::Error;
use crate::schema::{beside, resolved};
use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A writer that is held off for so long is held off by another writer.
const TAKE_TIME_MAX: Duration = Duration::from_millis(100);
/// From one try to the next.
const AGAIN_AFTER: Duration = Duration::from_millis(5);

/// Held while it lives.
#[derive(Debug)]
pub struct Lock {
    _file: File,
    path: PathBuf,
}

impl Lock {
    /// Takes the lock of a ledger.
    pub fn take(ledger: &Path) -> Result<Lock, Error> {
        let path = path_of(ledger);
        let opened = |source| Error::Open { path: ledger.into(), source };
        let deadline = Instant::now() + TAKE_TIME_MAX;
        loop {
            let file = match open(&path) {
                // Another run made it since it was looked for.
                Err(error) if error.kind() == ErrorKind::AlreadyExists && Instant::now() < deadline => continue,
                found => found.map_err(opened)?,
            };
            match file.try_lock() {
                // An earlier holder may have removed the file between our opening and our locking it.
                Ok(()) if is_at(&file, &path) => return Ok(Lock { _file: file, path }),
                Ok(()) => {}
                // Who asks whether it is held holds it himself for that moment.
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => std::thread::sleep(AGAIN_AFTER),
                Err(TryLockError::WouldBlock) => return Err(Error::Held(ledger.into())),
                Err(TryLockError::Error(source)) => return Err(opened(source)),
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // After a kill the file stays; it is harmless, and the next run takes it.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Opens a lock, or makes it. A pipe of its name would be waited for, which no signal ends, and the file that a link names
/// would be made there.
fn open(path: &Path) -> io::Result<File> {
    match path.symlink_metadata() {
        Ok(found) if found.is_file() => File::options().create(true).truncate(false).write(true).open(path),
        Ok(_) => Err(io::Error::other(format!("its lock {} is no plain file: remove that", path.display()))),
        Err(_) => File::options().create_new(true).write(true).open(path),
    }
}

/// Whether a conductor writes this ledger now.
pub fn is_held(ledger: &Path) -> bool {
    let path = path_of(ledger);
    let is_file = path.symlink_metadata().is_ok_and(|found| found.is_file());
    // Shared, so that two who ask at once do not take each other for a writer.
    let is_taken = |file: File| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
    is_file && File::open(path).is_ok_and(is_taken)
}

/// The lock of a ledger, whichever of its names it is called by.
fn path_of(ledger: &Path) -> PathBuf {
    beside(&resolved(ledger), ".lock")
}

/// Whether this open file is still the one at this path.
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    match (file.metadata(), path.metadata()) {
        (Ok(ours), Ok(theirs)) => (ours.dev(), ours.ino()) == (theirs.dev(), theirs.ino()),
        _ => false,
    }
}
