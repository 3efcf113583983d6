//! Everything on a filesystem to its device.

use load::workload::Error;
use std::path::Path;

/// Flushes the filesystem that a folder is on.
pub fn filesystem_of(folder: &Path) -> Result<(), Error> {
    let file = std::fs::File::open(folder).map_err(Error::doing("open", folder))?;
    flush(&file).map_err(Error::doing("flush the filesystem of", folder))
}

#[cfg(target_os = "linux")]
fn flush(file: &std::fs::File) -> std::io::Result<()> {
    Ok(nix::unistd::syncfs(file)?)
}

/// Only Linux can flush a single one.
#[cfg(not(target_os = "linux"))]
fn flush(_file: &std::fs::File) -> std::io::Result<()> {
    // SAFETY: takes nothing and can't fail.
    unsafe { libc::sync() };
    Ok(())
}
