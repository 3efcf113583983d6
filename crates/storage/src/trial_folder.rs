//! A trial's folder: on a filesystem of its own, or in a directory that is there, its own and gone with it.

use crate::error::Error;
use std::fs::File;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// Name of the workload's folder on a filesystem that was made for it.
pub(crate) const DATA_FOLDER: &str = "data";

/// Beginning of the name of a trial's folder in an existing directory.
const TRIAL_FOLDER: &str = "surefoot-trial-";

/// A folder in an existing directory, a trial's own; removed with this.
#[derive(Debug)]
pub(crate) struct TrialFolder {
    pub(crate) path: PathBuf,
    /// Locked while the trial lives, so that a later one knows what a killed one left.
    _lock: File,
}

impl TrialFolder {
    pub(crate) fn new(parent: &Path) -> Result<TrialFolder, Error> {
        // Of this machine: on NFS a lock of a folder is not seen by others, whose trials may live.
        let host = nix::unistd::gethostname().unwrap_or_default();
        let begin = format!("{TRIAL_FOLDER}{}-", host.to_string_lossy());
        remove_leftovers(parent, &begin);
        loop {
            let now = std::time::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_nanos());
            let path = parent.join(format!("{begin}{}-{now}", std::process::id()));
            match std::fs::create_dir(&path) {
                Ok(()) => {
                    let lock = File::open(&path).map_err(Error::file("open", &path))?;
                    let _ = lock.try_lock();
                    return Ok(TrialFolder { path, _lock: lock });
                }
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Error::file("create", path)(error)),
            }
        }
    }

    pub(crate) fn remove(self) -> Result<(), Error> {
        std::fs::remove_dir_all(&self.path).map_err(Error::file("remove", &self.path))
    }
}

impl Drop for TrialFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// Removes folders of trials that live no more, whose names begin like this.
fn remove_leftovers(parent: &Path, begin: &str) {
    for entry in parent.read_dir().into_iter().flatten().flatten() {
        if !is_trials(&entry.file_name().to_string_lossy(), begin) {
            continue;
        }
        // In a folder where others may write, a link or a pipe may have such a name.
        let folder = File::options().read(true).custom_flags(libc::O_DIRECTORY | libc::O_NOFOLLOW).open(entry.path());
        if folder.is_ok_and(|folder| folder.try_lock().is_ok()) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// Whether a name is a trial's, and not that of a folder which somebody called after one: a process, and nanoseconds since 1970.
fn is_trials(name: &str, begin: &str) -> bool {
    const DIGITS: usize = 19;
    let parts = name.strip_prefix(begin).and_then(|rest| rest.split_once('-'));
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    parts.is_some_and(|(process, moment)| is_number(process) && is_number(moment) && moment.len() == DIGITS)
}
