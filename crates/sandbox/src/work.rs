//! The work folder of a study: images, caches, the mount point, the trial's log. Everything in it can be made again.
//!
//! It has one owner at a time (`work/lock.rs`), belongs to the user who runs surefoot, and nobody else may write to it:
//! surefoot overwrites what it finds in there, as root.

mod lock;

pub use lock::Holder;

use crate::isolation;
use std::fs::{DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Marks a folder as ours, so that `clean` never removes another's.
const MARKER: &str = ".surefoot-work";

/// A study's work folder.
#[derive(Debug, Clone)]
pub struct Work {
    folder: PathBuf,
    /// Where a trial has what is its own: the folder itself, or a slot in it.
    place: PathBuf,
    /// Held while the conductor lives; a trial has none of its own.
    lock: Option<Arc<File>>,
}

/// Why the work folder can't be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It holds files that are not ours.
    #[error("{0} is not empty and was not made by surefoot")]
    NotOurs(PathBuf),
    /// Somebody else could have put there what is in it.
    #[error("{path} is not to be trusted: it {reason}")]
    NotPrivate {
        /// The folder, or a file in it.
        path: PathBuf,
        /// "may be written to by others (mode 775)".
        reason: String,
    },
    /// Another surefoot works in it.
    #[error("the work folder {folder} is in use by {holder}")]
    InUse {
        /// The folder.
        folder: PathBuf,
        /// Who, in words.
        holder: String,
    },
    /// It was there and is not any more.
    #[error("the work folder {0} is gone: somebody removed, replaced or moved it while the study ran")]
    Gone(PathBuf),
    /// Processes that an earlier trial started are still there.
    #[error("processes of an earlier trial still work in {0}: they have its trial.log open, which `fuser` shows")]
    Orphans(PathBuf),
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

impl Error {
    fn file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        move |source| Error::File { action, path: path.into(), source }
    }

    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Error::InUse { .. } => "wait until that has ended, or name another folder with --work DIR",
            Error::NotPrivate { .. } => {
                "surefoot overwrites what is in there: look at it, remove it, or name a folder of your own with --work DIR"
            }
            Error::Gone(_) => "what was measured is kept: the same command makes the folder anew and goes on",
            Error::Orphans(_) => "end them, then start again",
            Error::NotOurs(_) | Error::File { .. } => "name an empty or a new folder with --work DIR",
        }
    }
}

impl Work {
    /// Makes the folder, or takes one that an earlier run made, and becomes its owner for as long as this lives.
    ///
    /// # Errors
    /// When the folder is somebody else's, has an owner, or can't be written.
    pub fn own(folder: &Path, holder: &Holder) -> Result<Work, Error> {
        // A folder that `clean` removes just then is made again.
        loop {
            let folder = claimed(folder)?;
            let Some(lock) = lock::take(&folder, holder)? else { continue };
            let work = Work { place: folder.clone(), folder, lock: Some(Arc::new(lock)) };
            work.unmount_leftovers();
            work.furnish()?;
            return Ok(work);
        }
    }

    /// Takes out of sight what was left mounted when somebody looked at an image (`powercut --replay`) and was killed: trials mount
    /// where nobody else sees it.
    fn unmount_leftovers(&self) {
        for path in [self.mount_point(), self.disk()] {
            while !path.is_symlink() && isolation::detach(&path).is_ok() {}
        }
    }

    /// The folder of a conductor that owns it, for the processes that it starts; or to look at what is kept in it.
    ///
    /// # Errors
    /// When the folder is somebody else's or can't be written.
    pub fn open(folder: &Path) -> Result<Work, Error> {
        let folder = claimed(folder)?;
        let work = Work { place: folder.clone(), folder, lock: None };
        work.furnish()?;
        Ok(work)
    }

    /// The same folder for one of several trials that are up at the same time: images, mounts and log of its own; what trials
    /// share stays shared.
    ///
    /// # Errors
    /// When its place can't be made.
    pub fn slot(&self, number: usize) -> Result<Work, Error> {
        let slots = self.folder.join("slots");
        let place = slots.join(number.to_string());
        let work = Work { place, ..self.clone() };
        [&slots, &work.place].into_iter().try_for_each(|path| make_folder(path))?;
        work.furnish()?;
        Ok(work)
    }

    /// The folder as a guest kernel sees it, where the host's users have other numbers: the conductor has looked at it.
    ///
    /// # Errors
    /// When it is not there.
    pub fn in_guest(folder: &Path) -> Result<Work, Error> {
        let folder = folder.canonicalize().map_err(Error::file("resolve", folder))?;
        Ok(Work { place: folder.clone(), folder, lock: None })
    }

    fn furnish(&self) -> Result<(), Error> {
        [self.images(), self.cache(), self.mount_point()].iter().try_for_each(|path| make_folder(path))
    }

    /// Whether a folder carries our marker.
    pub fn is_ours(folder: &Path) -> bool {
        folder.join(MARKER).symlink_metadata().is_ok_and(|data| data.is_file())
    }

    /// A word that no other work folder of this machine has: by filesystem and inode of its marker.
    pub fn word(&self) -> String {
        let data = self.folder.join(MARKER).symlink_metadata();
        data.map_or_else(|_| "gone".into(), |data| format!("{:x}-{:x}", data.dev(), data.ino()))
    }

    /// Whether the folder is still the one that was locked.
    ///
    /// # Errors
    /// When it is not.
    pub fn still_there(&self) -> Result<(), Error> {
        let is_same = self.lock.as_ref().map_or_else(|| self.folder.is_dir(), |lock| lock::is_at(lock, &self.folder));
        if is_same { Ok(()) } else { Err(Error::Gone(self.folder.clone())) }
    }

    /// Opens the trial's log anew. It is locked until the last process that has it open is gone: the trial, and all that the
    /// trial started. One that was killed goes once the disk has what it waits for.
    ///
    /// # Errors
    /// When it is no plain file of ours, or processes of an earlier trial have it for longer than this.
    pub fn new_trial_log(&self, patience: Duration) -> Result<File, Error> {
        let path = self.trial_log();
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
        let mut options = OpenOptions::new();
        let opened = options.read(true).write(true).create(true).mode(0o600).custom_flags(flags).open(&path);
        let log = opened.map_err(|source| match source.raw_os_error() {
            Some(libc::ELOOP) => Error::NotPrivate { path: path.clone(), reason: "is a symbolic link".into() },
            _ => Error::File { action: "create", path: path.clone(), source },
        })?;
        let data = log.metadata().map_err(Error::file("look at", &path))?;
        private_file(&path, &data)?;
        if !lock::wait(&log, patience) {
            return Err(Error::Orphans(self.folder.clone()));
        }
        log.set_len(0).map_err(Error::file("empty", &path))?;
        Ok(log)
    }

    /// The folder itself.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where a server's files are that are bound nowhere else.
    pub fn stage(&self) -> PathBuf {
        self.place.join("run")
    }

    /// Image files behind loop devices.
    pub fn images(&self) -> PathBuf {
        Work::images_in(&self.place)
    }

    /// Where they are in a work folder that need not be there yet.
    pub fn images_in(folder: &Path) -> PathBuf {
        folder.join("images")
    }

    /// Where the file of a recording or virtual disk is seen.
    pub fn disk(&self) -> PathBuf {
        self.place.join("disk")
    }

    /// Where the file of a further volume's virtual disk is seen.
    pub fn volume_disk(&self, volume: &str) -> PathBuf {
        self.place.join(format!("disk-{volume}"))
    }

    /// Logs of recording disks, and the lists of what was acknowledged.
    pub fn power_cuts(&self) -> PathBuf {
        self.place.join("powercut")
    }

    /// Where the kernel's tracer is mounted while something of a power cut is traced.
    pub fn tracefs(&self) -> PathBuf {
        self.power_cuts().join("trace")
    }

    /// What workloads keep from trial to trial.
    pub fn cache(&self) -> PathBuf {
        self.folder.join("cache")
    }

    /// Where the filesystem under test is mounted, inside the trial's own mount namespace.
    pub fn mount_point(&self) -> PathBuf {
        self.place.join("mount")
    }

    /// Image files of a further volume.
    pub fn volume_images(&self, volume: &str) -> PathBuf {
        self.images().join(volume)
    }

    /// Where a further volume is mounted.
    pub fn volume_mount_point(&self, volume: &str) -> PathBuf {
        self.place.join(format!("mount-{volume}"))
    }

    /// What a guest kernel needs: the disk for what trials share, and a place for its memory.
    pub fn guest(&self) -> PathBuf {
        self.place.join("guest")
    }

    /// What the programs of the current trial said.
    pub fn trial_log(&self) -> PathBuf {
        self.place.join("trial.log")
    }

    /// Removes the folder with everything in it. Whoever waits for it finds that it is gone.
    ///
    /// # Errors
    /// When something in it can't be removed.
    pub fn remove(self) -> Result<(), Error> {
        let entries = self.folder.read_dir().and_then(Iterator::collect::<io::Result<Vec<_>>>);
        for entry in entries.map_err(Error::file("read", &self.folder))? {
            // Last: what can't be removed now is still in a folder of ours, which the next `clean` takes.
            if [MARKER, lock::FILE].iter().any(|name| entry.file_name() == *name) {
                continue;
            }
            let path = entry.path();
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let removed = if is_folder { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) };
            removed.map_err(Error::file("remove", &path))?;
        }
        std::fs::remove_dir_all(&self.folder).map_err(Error::file("remove", &self.folder))
    }
}

/// The folder, real and absolute, with our marker: an empty one gets it.
fn claimed(folder: &Path) -> Result<PathBuf, Error> {
    if !folder.exists() {
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o755).create(folder).map_err(Error::file("create", folder))?;
    }
    // Absolute, because a trial's working folder is not ours; and without links, so that they can't lead elsewhere later.
    let folder = folder.canonicalize().map_err(Error::file("resolve", folder))?;
    let look = || folder.symlink_metadata().map_err(Error::file("look at", &folder));
    let marker = folder.join(MARKER);
    if marker.symlink_metadata().is_err() && folder.read_dir().map_err(Error::file("read", &folder))?.next().is_none() {
        let data = look()?;
        if data.uid() == own_user() && data.mode() & 0o022 != 0 {
            let mode = data.mode() & 0o7755;
            std::fs::set_permissions(&folder, Permissions::from_mode(mode)).map_err(Error::file("protect", &folder))?;
        }
        private(&folder, &look()?)?;
        mark(&marker)?;
    }
    // Another run may have made it since it was looked for.
    let Ok(data) = marker.symlink_metadata() else { return Err(Error::NotOurs(folder)) };
    private(&folder, &look()?)?;
    private_file(&marker, &data)?;
    Ok(folder)
}

/// Makes the marker, if nobody else is just doing so.
fn mark(marker: &Path) -> Result<(), Error> {
    let made = OpenOptions::new().write(true).create_new(true).mode(0o644).open(marker);
    match made.and_then(|mut file| file.write_all(b"made by surefoot; `surefoot clean` removes this folder\n")) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(Error::file("write", marker)(error)),
        _ => Ok(()),
    }
}

fn make_folder(path: &Path) -> Result<(), Error> {
    match DirBuilder::new().mode(0o755).create(path) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let data = path.symlink_metadata().map_err(Error::file("look at", path))?;
            if data.is_dir() {
                return Ok(());
            }
            Err(Error::NotPrivate { path: path.into(), reason: "is no folder".into() })
        }
        Err(error) => Err(Error::file("create", path)(error)),
    }
}

fn own_user() -> u32 {
    nix::unistd::geteuid().as_raw()
}

/// Refuses what others may have made or can change.
fn private(path: &Path, data: &Metadata) -> Result<(), Error> {
    let refuse = |reason: String| Err(Error::NotPrivate { path: path.into(), reason });
    if data.uid() != own_user() {
        return refuse(format!("belongs to user {}, and surefoot runs as user {}", data.uid(), own_user()));
    }
    if data.mode() & 0o022 != 0 {
        return refuse(format!("may be written to by others (mode {:o})", data.mode() & 0o7777));
    }
    Ok(())
}

/// The same of a file, which must have one name only: another one could lead to anybody's file.
fn private_file(path: &Path, data: &Metadata) -> Result<(), Error> {
    let refuse = |reason: &str| Err(Error::NotPrivate { path: path.into(), reason: reason.into() });
    if !data.is_file() {
        return refuse("is no plain file");
    }
    if data.nlink() != 1 {
        return refuse("has more than one name (hard links)");
    }
    private(path, data)
}

#[cfg(test)]
mod tests;
