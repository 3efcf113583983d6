//! A disk that is surefoot's own process: the filesystem under test is made on it, and found again as a power cut left it.

use crate::error::Error;
use crate::loop_device::LoopDevice;
use crate::mkfs;
use crate::mount::{self, Mounting};
use crate::program;
use crate::provision::DATA_FOLDER;
use crate::settings::StorageSettings;
use std::path::{Path, PathBuf};

/// The disk's file in its folder.
pub(crate) fn file(folder: &Path) -> PathBuf {
    folder.join("disk.img")
}

/// Tells the kernel whether the disk has a volatile cache (Documentation/ABI/stable/sysfs-block, `write_cache`): a loop device
/// over a file always says that it has.
pub(crate) fn describe_cache(device: &LoopDevice, write_through: bool) -> Result<(), Error> {
    if !write_through {
        return Ok(());
    }
    let path = PathBuf::from(format!("/sys/block/{}/queue/write_cache", device.name));
    std::fs::write(&path, "write through").map_err(Error::file("write", path))
}

/// The disk of a filesystem whose power was cut. It is attached as long as this lives.
#[derive(Debug)]
pub struct CutDisk {
    device: LoopDevice,
    settings: StorageSettings,
    mount_point: PathBuf,
    options: Vec<String>,
}

/// A filesystem that came up again, mounted as long as this lives.
#[derive(Debug)]
pub struct AfterCut {
    /// The workload's folder on it.
    pub data_folder: PathBuf,
    mounting: Mounting,
}

impl CutDisk {
    /// Attaches the disk in a folder, with the settings that its filesystem was made by.
    ///
    /// # Errors
    /// When it can't be attached.
    pub fn attach(settings: &StorageSettings, folder: &Path, mount_point: &Path) -> Result<CutDisk, Error> {
        let device = LoopDevice::attach(&file(folder))?;
        describe_cache(&device, settings.write_through)?;
        let options = mount::options(settings, None);
        Ok(CutDisk { device, settings: settings.clone(), mount_point: mount_point.into(), options })
    }

    /// Lets the kernel forget what it has read: the disk holds another image now.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn forget(&self) -> Result<(), Error> {
        self.device.forget()
    }

    /// Brings the filesystem up as a boot would: one without a journal is repaired first, one that then can't be mounted is not.
    ///
    /// # Errors
    /// When it can't be repaired or mounted.
    pub fn mount(&self) -> Result<AfterCut, Error> {
        if self.needs_repair() {
            self.repair()?;
        }
        let source = self.device.path.to_string_lossy();
        let mounting = Mounting::new(&source, self.settings.mount_type(), &self.options, &self.mount_point)?;
        Ok(AfterCut { data_folder: self.mount_point.join(DATA_FOLDER), mounting })
    }

    /// What the filesystem's own checker says, without writing. An error carries what it found.
    ///
    /// # Errors
    /// When it finds damage, or can't run.
    pub fn check(&self) -> Result<String, Error> {
        let row = self.settings.row();
        let mut words: Vec<String> = row.check_flags.iter().map(|word| (*word).to_string()).collect();
        words.push(self.device.path.to_string_lossy().into());
        program::run(row.check, &words, row.package)?.success()
    }

    fn needs_repair(&self) -> bool {
        let has_journal = self.settings.filesystem != "ext2" && mkfs::has_journal(&mkfs::features(&self.settings));
        self.settings.row().is_ext() && !has_journal
    }

    /// As `fsck -y` does after a crash (e2fsck(8): 1 means that all errors were corrected).
    fn repair(&self) -> Result<(), Error> {
        let row = self.settings.row();
        let output = program::run(row.check, &["-f", "-y", &self.device.path.to_string_lossy()], row.package)?;
        if matches!(output.status, Some(0 | 1)) { Ok(()) } else { Err(output.failure()) }
    }
}

impl AfterCut {
    /// Unmounts it.
    ///
    /// # Errors
    /// When something in use keeps it.
    pub fn unmount(self) -> Result<(), Error> {
        self.mounting.unmount()
    }
}
