//! Removes a tree, with the calls that `rm -r` makes: read a folder, unlink what is in it, remove it.

use load::duration::timed;
use load::workload::Error;
use observe::latency::Latency;
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Removes `folder` and all below it. Returns the time of each unlink.
pub fn remove(folder: &Path, interrupted: &AtomicBool) -> Result<Latency, Error> {
    let mut unlink = Latency::default();
    remove_folder(folder, interrupted, &mut unlink)?;
    Ok(unlink)
}

fn remove_folder(folder: &Path, interrupted: &AtomicBool, unlink: &mut Latency) -> Result<(), Error> {
    let unreadable = |source| Error::file("read", folder, source);
    // The whole folder is read first: what a folder lists while it changes is the filesystem's choice.
    let entries: Vec<_> = folder.read_dir().map_err(unreadable)?.collect::<Result<_, _>>().map_err(unreadable)?;
    for entry in entries {
        Error::if_interrupted(interrupted)?;
        let path = entry.path();
        if entry.file_type().map_err(unreadable)?.is_dir() {
            remove_folder(&path, interrupted, unlink)?;
        } else {
            timed(unlink, || fs::remove_file(&path)).map_err(Error::doing("remove", &path))?;
        }
    }
    fs::remove_dir(folder).map_err(Error::doing("remove", folder))
}
