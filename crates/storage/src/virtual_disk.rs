//! A disk that is surefoot's own process: the filesystem under test is made on it, and where it records found again as a power cut
//! left it.

use crate::error::Error;
use crate::filesystem::Check;
use crate::guest_disk;
use crate::linux;
use crate::loop_device::{self, LoopDevice};
use crate::mount::{self, Mounting};
use crate::places::{self, Part};
use crate::program;
use crate::settings::{DiskCache, StorageSettings};
use crate::settle::forget;
use crate::trial_folder::DATA_FOLDER;
use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A filesystem that was unmounted is gone within this time.
const FREE_WITHIN: Duration = Duration::from_secs(20);

const LOOK_EVERY: Duration = Duration::from_millis(1);

/// The disk's file in its folder; in a guest kernel a link to a disk of its own stands there.
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
        if let Some(disk) = guest_disk::of_image(file) {
            return Ok(Attached::Disk(disk));
        }
        let opened = loop_device::open(file)?;
        LoopDevice::attach(&opened, file, Some(settings.unit.bytes())).map(Attached::Loop)
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
    let (cache, speed) = (settings.cache.words(), speed(&settings.disk));
    format!("virtual disk of {} bytes, {cache}, {speed}", settings.size)
}

/// How fast a disk with this drive's times is, in words.
pub fn speed(drive: &str) -> String {
    if drive == "none" { "as fast as memory".into() } else { format!("timed as {drive}") }
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
    pub fn device_name(&self) -> &str {
        self.device.path().file_name().and_then(std::ffi::OsStr::to_str).unwrap_or_default()
    }

    /// What a block of the filesystem's own is, by its place in bytes and its first eight bytes as a big-endian number.
    pub fn block_name(&self, at: u64, head: u64) -> Option<&'static str> {
        (self.settings.row().block_name)(at, head)
    }

    /// Lets the kernel forget what it has read: the disk holds another image now.
    ///
    /// # Errors
    /// When the kernel refuses, or the filesystem stays mounted elsewhere.
    pub fn forget(&self) -> Result<(), Error> {
        self.wait_until_free()?;
        self.device.forget()
    }

    /// A server that was ended by force has a mount of its own until it is gone. What is mounted meanwhile would be the filesystem of
    /// before, with all that it remembers.
    fn wait_until_free(&self) -> Result<(), Error> {
        let (path, deadline) = (self.device.path(), Instant::now() + FREE_WITHIN);
        loop {
            match open_alone(path) {
                Ok(()) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::ResourceBusy && Instant::now() < deadline => {
                    std::thread::sleep(LOOK_EVERY);
                }
                Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                    let device = path.display().to_string();
                    return Err(Error::StillMounted { device, seconds: FREE_WITHIN.as_secs() });
                }
                Err(error) => return Err(Error::file("open", path)(error)),
            }
        }
    }

    /// Brings the filesystem up as a boot would: one that its mount does not recover is repaired first, one that then can't be
    /// mounted is not.
    ///
    /// # Errors
    /// When it can't be repaired or mounted.
    pub fn mount(&self) -> Result<AfterCut, Error> {
        let checker_said = self.repair()?;
        let source = self.device.path().to_string_lossy();
        let mounting = Mounting::new(&source, self.settings.mount_type().name, &self.options, &self.mount_point)?;
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
        self.checker(|check| check.flags)?.success()
    }

    /// The checker with flags and the device.
    fn checker(&self, flags: impl Fn(&Check) -> &'static [&'static str]) -> Result<program::Output, Error> {
        let row = self.settings.row();
        let Some(check) = &row.check else { return Err(Error::NoChecker(row.name)) };
        let device = self.device.path().to_string_lossy();
        let words: Vec<&str> = flags(check).iter().copied().chain([&*device]).collect();
        program::run(check.program, &words, row.package)
    }

    /// As a boot does after a crash, where a mount is not enough (fsck(8): 1 means that errors were corrected, 2 that a mounted
    /// one would want a reboot; fsck.minix says both).
    fn repair(&self) -> Result<Option<String>, Error> {
        let flags = (self.settings.row().repair_flags)(&self.settings.features());
        if flags.is_empty() {
            return Ok(None);
        }
        let output = self.checker(|_| flags)?;
        if matches!(output.status, Some(0..=3)) { Ok(Some(output.log)) } else { Err(output.failure()) }
    }
}

impl AfterCut {
    /// All parts of its files in the order of its device; none: it does not tell.
    ///
    /// # Errors
    /// When a folder or file can't be read.
    pub fn parts(&self) -> Result<Option<Vec<Part>>, Error> {
        self.tells_places.then(|| places::parts(&self.root)).transpose().map_err(Error::file("read", &self.root))
    }

    /// Whether this is a folder, seen from the filesystem's root.
    pub fn is_folder(&self, path: &Path) -> bool {
        self.root.join(path).is_dir()
    }

    /// Lets the kernel forget what it has read of all files that need not be written. What can't be opened keeps its cache.
    pub fn drop_caches(&self) {
        forget_files(&self.root);
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

/// Opens a device that must be nobody else's and closes it, in a thread with descriptors of its own: a program that another thread
/// starts meanwhile would have a copy until it runs, and a mount would be refused for it.
fn open_alone(path: &Path) -> io::Result<()> {
    let open = || {
        linux::own_descriptors()?;
        File::options().read(true).custom_flags(libc::O_EXCL).open(path).map(drop)
    };
    std::thread::scope(|scope| scope.spawn(open).join()).unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn forget_files(folder: &Path) {
    for entry in folder.read_dir().into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => forget_files(&entry.path()),
            Ok(kind) if kind.is_file() => drop(File::open(entry.path()).map(|file| forget(&file))),
            _ => {}
        }
    }
}
