//! Everything on a filesystem to its device.

use load::workload::Error;
use std::path::Path;

/// Flushes the filesystem that a folder is on.
pub fn filesystem_of(folder: &Path) -> Result<(), Error> {
    let file = std::fs::File::open(folder).map_err(Error::doing("open", folder))?;
    observe::disk::flush_filesystem_of(&file).map_err(Error::doing("flush the filesystem of", folder))
}
