//! The work folder of a study: images, caches, the mount point, the trial's log. Everything in it can be made again.

use std::io;
use std::path::{Path, PathBuf};

/// Marks a folder as ours, so that `clean` never removes another's.
const MARKER: &str = ".surefoot-work";

/// A study's work folder.
#[derive(Debug, Clone)]
pub struct Work {
    folder: PathBuf,
}

/// Why the work folder can't be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It holds files that are not ours.
    #[error("{0} is not empty and was not made by surefoot")]
    NotOurs(PathBuf),
    /// The system refused.
    #[error("cannot {action} {path}")]
    File {
        /// "create", "remove".
        action: &'static str,
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

impl Work {
    /// Makes the folder, or takes one that an earlier run made.
    ///
    /// # Errors
    /// When the folder is somebody else's or can't be written.
    pub fn open(folder: &Path) -> Result<Work, Error> {
        let create = |path: &Path| {
            std::fs::create_dir_all(path).map_err(|source| Error::File { action: "create", path: path.into(), source })
        };
        create(folder)?;
        let marker = folder.join(MARKER);
        if !marker.exists() {
            let mut entries =
                folder.read_dir().map_err(|source| Error::File { action: "read", path: folder.into(), source })?;
            if entries.next().is_some() {
                return Err(Error::NotOurs(folder.into()));
            }
            std::fs::write(&marker, "made by surefoot; `surefoot clean` removes this folder\n")
                .map_err(|source| Error::File { action: "write", path: marker.clone(), source })?;
        }
        // Absolute, because a trial's working folder is not ours.
        let folder = std::path::absolute(folder).map_err(|source| Error::File {
            action: "resolve",
            path: folder.into(),
            source,
        })?;
        let work = Work { folder };
        for path in [work.images(), work.cache(), work.mount_point()] {
            create(&path)?;
        }
        Ok(work)
    }

    /// Whether a folder carries our marker.
    #[must_use]
    pub fn is_ours(folder: &Path) -> bool {
        folder.join(MARKER).is_file()
    }

    /// The folder itself.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Image files behind loop devices.
    #[must_use]
    pub fn images(&self) -> PathBuf {
        Work::images_in(&self.folder)
    }

    /// Where they are in a work folder that need not be there yet.
    #[must_use]
    pub fn images_in(folder: &Path) -> PathBuf {
        folder.join("images")
    }

    /// Where the file of a recording or virtual disk is seen.
    #[must_use]
    pub fn disk(&self) -> PathBuf {
        self.folder.join("disk")
    }

    /// Where the file of a further volume's virtual disk is seen.
    #[must_use]
    pub fn volume_disk(&self, volume: &str) -> PathBuf {
        self.folder.join(format!("disk-{volume}"))
    }

    /// Logs of recording disks, and the lists of what was acknowledged.
    #[must_use]
    pub fn power_cuts(&self) -> PathBuf {
        self.folder.join("powercut")
    }

    /// Where the kernel's tracer is mounted while something of a power cut is traced.
    #[must_use]
    pub fn tracefs(&self) -> PathBuf {
        self.power_cuts().join("trace")
    }

    /// What workloads keep from trial to trial.
    #[must_use]
    pub fn cache(&self) -> PathBuf {
        self.folder.join("cache")
    }

    /// Where the filesystem under test is mounted, inside the trial's own mount namespace.
    #[must_use]
    pub fn mount_point(&self) -> PathBuf {
        self.folder.join("mount")
    }

    /// Image files of a further volume.
    #[must_use]
    pub fn volume_images(&self, volume: &str) -> PathBuf {
        self.images().join(volume)
    }

    /// Where a further volume is mounted.
    #[must_use]
    pub fn volume_mount_point(&self, volume: &str) -> PathBuf {
        self.folder.join(format!("mount-{volume}"))
    }

    /// What a guest kernel needs: the disk for what trials share, and a place for its memory.
    #[must_use]
    pub fn guest(&self) -> PathBuf {
        self.folder.join("guest")
    }

    /// What the programs of the current trial said.
    #[must_use]
    pub fn trial_log(&self) -> PathBuf {
        self.folder.join("trial.log")
    }

    /// Removes the folder with everything in it.
    ///
    /// # Errors
    /// When something in it can't be removed.
    pub fn remove(self) -> Result<(), Error> {
        std::fs::remove_dir_all(&self.folder).map_err(|source| Error::File {
            action: "remove",
            path: self.folder.clone(),
            source,
        })
    }
}
