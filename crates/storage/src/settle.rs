//! Waiting until nothing works in the background, and dropping caches.

use crate::error::{Error, Missing};
use crate::fill;
use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};
use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

/// A device is at rest when nothing is under way and its counters stand still this long. Kernel threads that clean, discard or initialise sleep
/// less than this between two requests (ext4lazyinit up to ten times a request's own time, btrfs-discard 100 ms).
const QUIET: Duration = Duration::from_millis(300);

const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Longer work is no settling; lazily initialised inode tables of a large device take minutes.
const SETTLE_SECONDS_MAX: u64 = 120;

/// Takes a file's pages that need not be written out of the page cache. It is advice, and a refusal changes nothing.
pub(crate) fn forget(file: &File) {
    let _ = posix_fadvise(file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED);
}

/// Writes out the filesystem, then waits until its own device is at rest.
pub(crate) fn settle(folder: &Path, device: Option<&str>) -> Result<(), Error> {
    fill::flush(folder)?;
    let Some(device) = device else { return Ok(()) };
    let (started, mut counters, mut changed) = (Instant::now(), requests(device), Instant::now());
    while changed.elapsed() < QUIET || counters.last().is_some_and(|under_way| under_way != "0") {
        if started.elapsed() > Duration::from_secs(SETTLE_SECONDS_MAX) {
            return Err(Error::NotSettled { device: device.into(), seconds: SETTLE_SECONDS_MAX });
        }
        std::thread::sleep(LOOK_EVERY);
        let now = requests(device);
        if now != counters {
            (counters, changed) = (now, Instant::now());
        }
    }
    Ok(())
}

/// Reads, writes, discards and flushes completed, and last the requests under way (Documentation/block/stat.rst).
fn requests(device: &str) -> Vec<String> {
    let text = std::fs::read_to_string(format!("/sys/class/block/{device}/stat")).unwrap_or_default();
    let fields: Vec<&str> = text.split_whitespace().collect();
    [0, 4, 11, 15, 8].iter().filter_map(|index| fields.get(*index)).map(|field| (*field).to_string()).collect()
}

const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";

/// Whether this process may drop the caches; looks only.
pub fn may_drop_caches() -> bool {
    nix::unistd::access(DROP_CACHES, nix::unistd::AccessFlags::W_OK).is_ok()
}

/// Writes out everything and drops page cache, directory entries and inodes.
///
/// # Errors
/// When this process may not: only root of the machine may.
pub fn drop_caches() -> Result<(), Error> {
    nix::unistd::sync();
    std::fs::write(DROP_CACHES, "3").map_err(|error| match error.kind() {
        std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => {
            Missing::new("only root may drop the page cache", "run as root, or measure with warm caches").into()
        }
        _ => Error::file("drop the caches by", DROP_CACHES)(error),
    })
}
