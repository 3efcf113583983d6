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
        let here = Here::find();
        remove_leftovers(parent, &here);
        let Here { host, boot } = here;
        loop {
            let now = std::time::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_nanos());
            let path = parent.join(format!("{TRIAL_FOLDER}{host}-{boot}-{}-{now}", std::process::id()));
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

/// The machine of a trial. On NFS a lock of a folder is not seen by other machines, whose trials may live.
struct Here {
    host: String,
    /// The begin of what the kernel calls this boot: containers of one machine have names of their own, and see each other's locks.
    boot: String,
}

impl Here {
    fn find() -> Here {
        let host = nix::unistd::gethostname().unwrap_or_default().to_string_lossy().into_owned();
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        Here { host, boot: boot.split('-').next().unwrap_or_default().trim().into() }
    }

    /// Whether a folder of this name is a trial's of this machine, and none that somebody called after one: a host, a boot, a process, and
    /// nanoseconds since 1970.
    fn has(&self, name: &str) -> bool {
        const DIGITS: usize = 19;
        let mut parts = name.strip_prefix(TRIAL_FOLDER).unwrap_or_default().rsplitn(4, '-');
        let parts: [Option<&str>; 4] = std::array::from_fn(|_| parts.next());
        let [Some(moment), Some(process), Some(boot), Some(host)] = parts else { return false };
        let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        let is_here = host == self.host || (!boot.is_empty() && boot == self.boot);
        is_here && is_number(process) && is_number(moment) && moment.len() == DIGITS
    }
}

/// Removes folders of this machine's trials that live no more.
fn remove_leftovers(parent: &Path, here: &Here) {
    for entry in parent.read_dir().into_iter().flatten().flatten() {
        if !here.has(&entry.file_name().to_string_lossy()) {
            continue;
        }
        // In a folder where others may write, a link or a pipe may have such a name.
        let folder = File::options().read(true).custom_flags(libc::O_DIRECTORY | libc::O_NOFOLLOW).open(entry.path());
        if folder.is_ok_and(|folder| folder.try_lock().is_ok()) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A killed container's had stayed for good: the next one has another name.
    #[test]
    fn folders_are_known_by_their_machine_whatever_container_they_are_of() {
        let here = Here { host: "node-1".into(), boot: "3fa9017c".into() };
        let (of_today, of_before) = ("3fa9017c-7-1795000000123456789", "00c0ffee-7-1795000000123456789");
        for ours in ["node-1", "c0ffee1234"].map(|host| format!("surefoot-trial-{host}-{of_today}")) {
            assert!(here.has(&ours), "{ours}");
        }
        assert!(here.has(&format!("surefoot-trial-node-1-{of_before}")), "before it was started anew");
        for host in ["node-2", "node-1-a", "1", ""] {
            assert!(!here.has(&format!("surefoot-trial-{host}-{of_before}")), "{host}");
        }
        for other in [
            "surefoot-trial-results",
            "surefoot-trial-node-1-3fa9017c-7-2026",
            "results-node-1-3fa9017c-7-1795000000123456789",
        ] {
            assert!(!here.has(other), "{other}");
        }
        let elsewhere = Here { boot: String::new(), ..here };
        assert!(!elsewhere.has("surefoot-trial-another--7-1795000000123456789"), "no kernel said which boot it is");
    }
}
