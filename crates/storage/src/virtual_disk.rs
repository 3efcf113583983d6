//! A disk that is surefoot's own process: the filesystem under test is made on it, and where it records found again as a power cut
//! left it.

use crate::error::Error;
use crate::guest_disk;
use crate::loop_device::{self, LoopDevice};
use crate::mkfs;
use crate::mount::{self, Mounting};
use crate::places::{self, Part};
use crate::program;
use crate::provision::DATA_FOLDER;
use crate::settings::{DiskCache, StorageSettings};
use std::fs::File;
use std::path::{Path, PathBuf};

/// The disk's file in its folder; in a guest kernel a link to a disk of its own stands there.
#[must_use]
pub fn recording_disk(folder: &Path) -> PathBuf {
    folder.join("disk.img")
}

/// The block device that the disk is for this kernel.
#[derive(Debug)]
pub(crate) enum Attached {
    Loop(LoopDevice),
    /// A guest kernel's own disk.
    Disk(PathBuf),
}

impl Attached {
    pub(crate) fn path(&self) -> &Path {
        match self {
            Attached::Loop(device) => &device.path,
            Attached::Disk(path) => path,
        }
    }

    fn attach(file: &Path, settings: &StorageSettings) -> Result<Attached, Error> {
        match guest_disk::of_image(file) {
            Some(disk) => Ok(Attached::Disk(disk)),
            None => {
                let opened = loop_device::open(file)?;
                LoopDevice::attach(&opened, file, Some(settings.unit.bytes())).map(Attached::Loop)
            }
        }
    }

    fn forget(&self) -> Result<(), Error> {
        match self {
            Attached::Loop(device) => device.forget(),
            Attached::Disk(path) => loop_device::forget(&File::open(path).map_err(Error::file("open", path))?, path),
        }
    }
}

/// Tells the kernel of the disk's cache, where that is not what it takes for granted.
pub(crate) fn describe_cache(device: &Path, cache: DiskCache) -> Result<(), Error> {
    match cache {
        DiskCache::Volatile | DiskCache::Lying => Ok(()),
        DiskCache::WriteThrough => loop_device::describe_cache(device, loop_device::NO_VOLATILE_CACHE),
    }
}

/// The disk in words.
pub(crate) fn describe(settings: &StorageSettings) -> String {
    let cache = match settings.cache {
        DiskCache::Volatile => "a volatile cache",
        DiskCache::WriteThrough => "no volatile cache",
        DiskCache::Lying => "a cache whose flushes do nothing",
    };
    let speed = match &*settings.disk {
        "none" => "as fast as memory".into(),
        drive => format!("timed as {drive}"),
    };
    format!("virtual disk of {} bytes, {cache}, {speed}", settings.size)
}

/// The disk of a filesystem whose power was cut. It is attached as long as this lives.
#[derive(Debug)]
pub struct CutDisk {
    device: Attached,
    settings: StorageSettings,
    mount_point: PathBuf,
    options: Vec<String>,
}

/// A filesystem that came up again, mounted as long as this lives.
#[derive(Debug)]
pub struct AfterCut {
    root: PathBuf,
    tells_places: bool,
    /// The workload's folder on it.
    pub data_folder: PathBuf,
    /// What the filesystem's checker said before the mount, where a boot runs it first.
    pub checker_said: Option<String>,
    mounting: Mounting,
}

impl CutDisk {
    /// Attaches a disk's file, with the settings that its filesystem was made by.
    ///
    /// # Errors
    /// When it can't be attached.
    pub fn attach(settings: &StorageSettings, file: &Path, mount_point: &Path) -> Result<CutDisk, Error> {
        let device = Attached::attach(file, settings)?;
        describe_cache(device.path(), settings.cache)?;
        let mut options = mount::options(settings, None);
        options.extend(settings.row().copy_options.into_iter().flatten().map(|option| (*option).to_string()));
        Ok(CutDisk { device, settings: settings.clone(), mount_point: mount_point.into(), options })
    }

    /// The block device: `loop3`.
    #[must_use]
    pub fn device_name(&self) -> &str {
        self.device.path().file_name().and_then(std::ffi::OsStr::to_str).unwrap_or_default()
    }

    /// Lets the kernel forget what it has read: the disk holds another image now.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn forget(&self) -> Result<(), Error> {
        self.device.forget()
    }

    /// Brings the filesystem up as a boot would: one that its mount does not recover is repaired first, one that then can't be
    /// mounted is not.
    ///
    /// # Errors
    /// When it can't be repaired or mounted.
    pub fn mount(&self) -> Result<AfterCut, Error> {
        let checker_said = self.repair_flags().map(|flags| self.repair(flags)).transpose()?;
        let source = self.device.path().to_string_lossy();
        let mounting = Mounting::new(&source, self.settings.mount_type(), &self.options, &self.mount_point)?;
        Ok(AfterCut {
            root: self.mount_point.clone(),
            tells_places: self.settings.row().tells_places,
            data_folder: self.mount_point.join(DATA_FOLDER),
            checker_said,
            mounting,
        })
    }

    /// What the filesystem's own checker says, without writing. An error carries what it found.
    ///
    /// # Errors
    /// When it finds damage, or can't run.
    pub fn check(&self) -> Result<String, Error> {
        let row = self.settings.row();
        let mut words: Vec<String> = row.check_flags.iter().map(|word| (*word).to_string()).collect();
        words.push(self.device.path().to_string_lossy().into());
        program::run(row.check, &words, row.package)?.success()
    }

    /// Of the checker, where a mount is not enough: of ext without a journal, and where the checker is what replays the log.
    fn repair_flags(&self) -> Option<&'static [&'static str]> {
        let row = self.settings.row();
        let has_journal = self.settings.filesystem != "ext2" && mkfs::has_journal(&mkfs::features(&self.settings));
        let is_needed = !row.is_ext() || !has_journal;
        (is_needed && !row.repair_flags.is_empty()).then_some(row.repair_flags)
    }

    /// As a boot does after a crash (fsck(8): 1 means that all errors were corrected).
    fn repair(&self, flags: &[&str]) -> Result<String, Error> {
        let row = self.settings.row();
        let device = self.device.path().to_string_lossy();
        let words: Vec<&str> = flags.iter().copied().chain([&*device]).collect();
        let output = program::run(row.check, &words, row.package)?;
        if matches!(output.status, Some(0 | 1)) { Ok(output.log) } else { Err(output.failure()) }
    }
}

impl AfterCut {
    /// All parts of its files in the order of its device; none: it does not tell.
    ///
    /// # Errors
    /// When a folder or file can't be read.
    pub fn parts(&self) -> std::io::Result<Option<Vec<Part>>> {
        self.tells_places.then(|| places::parts(&self.root)).transpose()
    }

    /// What the kernel said since the mount began.
    pub fn kernel_said(&mut self) -> String {
        self.mounting.kernel_said()
    }

    /// Unmounts it.
    ///
    /// # Errors
    /// When something in use keeps it.
    pub fn unmount(self) -> Result<(), Error> {
        self.mounting.unmount()
    }
}
