//! The disk that shows images to recoveries, with its block device: in memory where the kernel's tracer tells what a recovery does
//! to it, else the disk's process.

use crate::block_trace::BlockTrace;
use crate::error::Error;
use crate::recording_disk::Disks;
use crate::watchdog::Watchdog;
use powercut::device::memory::{self, MemoryDisk};
use powercut::device::{Breaker, Disk, Log};
use powercut::states::{Choice, History, Unit};
use sandbox::work::Work;
use std::path::Path;
use storage::{AfterCut, CutDisk, StorageSettings};

/// A disk that shows images.
pub struct MountedImage<'a> {
    // Declared before the disk, so that it is detached first.
    attached: CutDisk,
    disk: ImageDisk<'a>,
}

enum ImageDisk<'a> {
    Memory(MemoryDisk<'a, Log>, BlockTrace),
    Process(Disk),
}

/// Where images come from.
#[derive(Clone, Copy)]
pub struct Images<'a> {
    /// What they are made of.
    pub history: &'a History<Log>,
    /// The same, for the disk's process.
    pub log: &'a Path,
    /// Where that is.
    pub disks: &'a Disks,
    /// The trial's folders.
    pub work: &'a Work,
}

impl<'a> Images<'a> {
    /// Whether several disks can show them at once; a guest kernel has one for it.
    pub fn can_be_several(&self) -> bool {
        matches!(self.disks, Disks::Ours(_))
    }

    /// Attaches a disk by the settings that its filesystem was made by. None: that hung.
    ///
    /// # Errors
    /// When there is none, or it can't be attached.
    pub fn show(&self, settings: &StorageSettings, watchdog: &Watchdog) -> Result<Option<MountedImage<'a>>, Error> {
        let (mount_point, tracefs) = (self.work.mount_point(), self.work.tracefs());
        // In a guest kernel there is no loop device.
        if self.can_be_several()
            && let Some(shown) = MountedImage::in_memory(self.history, settings, &mount_point, &tracefs)?
        {
            return Ok(Some(shown));
        }
        let disk = self.disks.explore(self.work, self.log)?;
        let file = storage::recording_disk(&self.work.disk());
        let (shown, hung) =
            watchdog.over(disk.breaker()?, || MountedImage::by_process(disk, &file, settings, &mount_point));
        Ok(if hung { None } else { Some(shown?) })
    }
}

impl<'a> MountedImage<'a> {
    /// One in memory, attached by the settings that its filesystem was made by; `tracefs` is a folder to mount the tracer on. None:
    /// there is no tracer.
    ///
    /// # Errors
    /// When it can't be attached.
    pub fn in_memory(
        history: &'a History<Log>,
        settings: &StorageSettings,
        mount_point: &Path,
        tracefs: &Path,
    ) -> Result<Option<MountedImage<'a>>, Error> {
        let disk = MemoryDisk::new(history).map_err(Error::Memory)?;
        let attached = CutDisk::attach(settings, &disk.path(), mount_point)?;
        let trace = BlockTrace::start(attached.device_name(), memory::EVENTS, tracefs);
        Ok(trace.ok().map(|trace| MountedImage { attached, disk: ImageDisk::Memory(disk, trace) }))
    }

    /// One that a process serves as this file.
    ///
    /// # Errors
    /// When it can't be attached.
    pub fn by_process(
        disk: Disk,
        file: &Path,
        settings: &StorageSettings,
        mount_point: &Path,
    ) -> Result<MountedImage<'a>, Error> {
        let attached = CutDisk::attach(settings, file, mount_point)?;
        Ok(MountedImage { attached, disk: ImageDisk::Process(disk) })
    }
}

impl MountedImage<'_> {
    /// Mounts an image as if power had just come back.
    ///
    /// # Errors
    /// When it can't be shown, somebody else has the device, or the machine kept its checker from its work.
    pub fn mount(&mut self, point: usize, choice: &Choice) -> Result<Result<AfterCut, storage::Error>, Error> {
        // Forgetting writes out what a mount that failed may have left, so it comes before the image; who looks at new devices may
        // have read of the one before, so it comes after, too.
        self.attached.forget()?;
        match &mut self.disk {
            ImageDisk::Memory(disk, trace) => {
                disk.follow(trace.take().map_err(Error::Memory)?.as_deref());
                disk.show(point, choice).map_err(Error::Memory)?;
            }
            ImageDisk::Process(disk) => disk.show(point, choice)?,
        }
        self.attached.forget()?;
        match self.attached.mount() {
            Err(error) if error.is_of_machine() => Err(error.into()),
            mounted => Ok(mounted),
        }
    }

    /// What the filesystem's checker says of it, as it is now and not mounted; none: the kernel does not let go of what it had read.
    pub fn check(&mut self) -> Option<Result<String, storage::Error>> {
        self.attached.forget().ok()?;
        Some(self.attached.check())
    }

    /// The undecided units that were read since an image was mounted, before they were written; in order.
    ///
    /// # Errors
    /// When that can't be told.
    pub fn units_read(&mut self) -> Result<Vec<Unit>, Error> {
        match &mut self.disk {
            ImageDisk::Memory(disk, trace) => {
                disk.follow(trace.take().map_err(Error::Memory)?.as_deref());
                Ok(disk.units_read())
            }
            ImageDisk::Process(disk) => Ok(disk.read()?),
        }
    }

    /// What takes the disk from under a recovery that hangs.
    ///
    /// # Errors
    /// When there is none.
    pub fn breaker(&self) -> Result<Breaker, Error> {
        match &self.disk {
            ImageDisk::Memory(disk, _) => disk.breaker().map_err(Error::Memory),
            ImageDisk::Process(disk) => Ok(disk.breaker()?),
        }
    }
}
