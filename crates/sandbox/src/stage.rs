//! Where a trial's server can reach its data: a server runs as its own user, who may not walk into the work folder.
//!
//! Inside the trial's own mount namespace a small tmpfs lies on [`FOLDER`], and the folders of the filesystem under test are
//! bound into it. Nothing of it is seen outside, and it goes with the namespace.

use crate::isolation;
use crate::work::Work;
use services::service::{Place, User};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// A short path, because a socket's may have 108 bytes at most.
const FOLDER: &str = "/run/surefoot";

/// Where servers have their shared memory.
const SHARED_MEMORY: &str = "/dev/shm";

/// Sockets, configuration and messages: a few files.
const TMPFS_OPTIONS: &str = "size=64m,mode=755";

/// The folders of one trial's server.
#[derive(Debug)]
pub struct Stage {
    folder: PathBuf,
    bound: Vec<PathBuf>,
    /// Whether a tmpfs lies on the folder.
    mounted: bool,
    /// Whether one lies on `/dev/shm`.
    own_shared_memory: bool,
}

impl Stage {
    /// Sets it up: a tmpfs of the trial's own where it has namespaces and rights, a folder of the work folder elsewhere.
    ///
    /// # Errors
    /// When neither can be made.
    pub fn set(work: &Work) -> io::Result<Stage> {
        let mounted = isolation::may_mount();
        let folder = if mounted { PathBuf::from(FOLDER) } else { work.stage() };
        if !mounted && folder.exists() {
            std::fs::remove_dir_all(&folder)?;
        }
        std::fs::create_dir_all(&folder)?;
        if mounted {
            isolation::lay_tmpfs(&folder, TMPFS_OPTIONS)?;
        }
        // Shared-memory segments of a killed server go with the namespace.
        let own_shared_memory = isolation::has_namespaces()
            && !is_in_shared_memory(work.folder())
            && isolation::lay_tmpfs(SHARED_MEMORY.as_ref(), "").is_ok();
        Ok(Stage { folder, bound: Vec::new(), mounted, own_shared_memory })
    }

    /// A folder by a path that every user can walk.
    ///
    /// # Errors
    /// When it can't be bound.
    fn bind(&mut self, from: &Path, name: &str) -> io::Result<PathBuf> {
        if !self.mounted {
            return Ok(from.into());
        }
        let to = self.folder.join(name);
        std::fs::create_dir_all(&to)?;
        isolation::bind(from, &to)?;
        self.bound.push(to.clone());
        Ok(to)
    }

    /// A folder that is made where there is none, given to a user and bound.
    ///
    /// # Errors
    /// When one of that fails.
    pub fn lend(&mut self, from: &Path, name: &str, owner: Option<&User>) -> io::Result<PathBuf> {
        std::fs::create_dir_all(from)?;
        let bound = self.bind(from, name)?;
        give(&bound, owner)?;
        Ok(bound)
    }

    /// An empty folder of the stage's own, given to a user.
    ///
    /// # Errors
    /// When it can't be made.
    pub fn folder(&self, name: &str, owner: Option<&User>) -> io::Result<PathBuf> {
        let path = self.folder.join(name);
        std::fs::create_dir(&path)?;
        give(&path, owner)?;
        // Another server's user walks in to its socket.
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o711))?;
        Ok(path)
    }

    /// Where a service finds the data of this folder, lent by its own name, and runs.
    ///
    /// # Errors
    /// When they can't be bound, or its folder can't be made.
    pub fn place(&mut self, data: &Path, service: &str, owner: Option<&User>) -> io::Result<Place> {
        let data = self.lend(data, &data_name(service), owner)?;
        Ok(Place::new(data, self.folder(service, owner)?))
    }

    /// Takes all from it, for the next server; what was bound is seen where it was.
    ///
    /// # Errors
    /// When something is still bound, or can't be removed.
    pub fn clear(&mut self) -> io::Result<()> {
        while let Some(path) = self.bound.pop() {
            isolation::detach(&path)?;
        }
        self.folder.read_dir()?.try_for_each(|entry| std::fs::remove_dir_all(entry?.path()))
    }
}

/// The name on the stage of a service's data: the same whenever they are found there, as files may name each other.
pub fn data_name(service: &str) -> String {
    format!("{service}-data")
}

/// Whether a real path would be hidden by what lies on the shared memory. Of a work folder there, all that is mounted in it would be: a server's data
/// would be made in memory, in place of the filesystem under test.
fn is_in_shared_memory(folder: &Path) -> bool {
    let shared = Path::new(SHARED_MEMORY);
    folder.starts_with(shared.canonicalize().as_deref().unwrap_or(shared))
}

/// Makes a folder a user's own; one that is, is not written.
fn give(path: &Path, owner: Option<&User>) -> io::Result<()> {
    const MODE: u32 = 0o700;
    let found = std::fs::metadata(path)?;
    if let Some(user) = owner.filter(|user| (user.uid, user.gid) != (found.uid(), found.gid())) {
        std::os::unix::fs::chown(path, Some(user.uid), Some(user.gid))?;
    }
    if found.mode() & 0o7777 != MODE {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(MODE))?;
    }
    Ok(())
}

impl Drop for Stage {
    fn drop(&mut self) {
        // Or they would keep the filesystem under test from being unmounted.
        for path in self.bound.iter().rev() {
            let _ = isolation::detach(path);
        }
        if self.own_shared_memory {
            let _ = isolation::detach(SHARED_MEMORY.as_ref());
        }
        if self.mounted {
            let _ = isolation::detach(&self.folder);
        } else {
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With `--work /dev/shm/w` each filesystem under a server was measured as one and the same tmpfs.
    #[test]
    fn a_work_folder_in_shared_memory_is_not_hidden() {
        let shared = Path::new(SHARED_MEMORY).canonicalize().unwrap_or_else(|_| SHARED_MEMORY.into());
        assert!(is_in_shared_memory(&shared.join("work/slots/0")));
        for elsewhere in ["/dev/shmem/work", "/var/tmp/dev/shm", "/"] {
            assert!(!is_in_shared_memory(Path::new(elsewhere)), "{elsewhere}");
        }
    }
}
