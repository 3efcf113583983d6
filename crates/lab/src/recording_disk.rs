//! The disk of a scenario whose power is cut: one that records, or one that serves the images that a cut may have left.
//!
//! It is a process of its own; for a trial in a guest kernel, one outside that kernel, which is then told to do either.

use crate::drive::Drive;
use crate::recording::{self, RecordingDisk};
use crate::work::Work;
use powercut::device::{Disk, Options};
use powercut::states::Rules;
use powercut::timing::Profile;
use std::fs::File;
use std::path::Path;
use std::process::Command;
use study::trial_spec::{Cut, TrialSpec};

/// Why there is no disk.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A cache or profile that this version does not know.
    #[error("there is no such disk")]
    Unknown(#[from] serde_json::Error),
    /// This program, whose verb `disk` serves it.
    #[error("cannot tell which program this is")]
    Program(#[source] std::io::Error),
    /// The folders of its files.
    #[error("cannot make the folders of a recording disk")]
    Folder(#[source] std::io::Error),
    /// In a guest kernel.
    #[error("this guest kernel has no line to a recording disk")]
    Line(#[source] std::io::Error),
    /// The disk.
    #[error(transparent)]
    Device(#[from] powercut::device::Error),
}

/// Where a trial gets its disks from: one that records, then others that serve images.
#[derive(Debug)]
pub enum Disks {
    /// Each is a process of ours.
    Ours(RecordingDisk),
    /// Of a guest kernel, the same one again and again.
    Outside(File, Rules),
}

impl Disks {
    /// Of a trial that measures power cuts, where it runs.
    ///
    /// # Errors
    /// When a guest kernel has none.
    pub fn of(spec: &TrialSpec, wanted: &Cut) -> Result<Disks, Error> {
        if spec.bench == "guest" {
            return Ok(Disks::Outside(guest::init::disk_line().map_err(Error::Line)?, Drive::new(wanted)?.rules));
        }
        Ok(Disks::Ours(RecordingDisk::of(spec, wanted)))
    }

    /// One that records in the work folder's log.
    ///
    /// # Errors
    /// As [`start`].
    pub fn record(&self, work: &Work) -> Result<Disk, Error> {
        let log = recording::log(work);
        match self {
            Disks::Ours(disk) => start(disk, Drive::new(&disk.cut)?, work, &log),
            Disks::Outside(line, _) => Ok(Disk::beyond(line, &log)?),
        }
    }

    /// One that serves images from a log, as fast as it can.
    ///
    /// # Errors
    /// As [`start`], or when it can't read the log.
    pub fn explore(&self, work: &Work, log: &Path) -> Result<Disk, Error> {
        let (mut disk, rules) = match self {
            Disks::Ours(disk) => {
                let drive = Drive { profile: Profile::None, ..Drive::new(&disk.cut)? };
                (start(disk, drive, work, &work.power_cuts().join("unused.log"))?, drive.rules)
            }
            Disks::Outside(line, rules) => (Disk::beyond(line, log)?, *rules),
        };
        disk.explore(log, rules)?;
        Ok(disk)
    }
}

/// Starts a disk's process.
///
/// # Errors
/// When it does not start, or its log has not the room that it may take.
fn start(disk: &RecordingDisk, drive: Drive, work: &Work, log: &Path) -> Result<Disk, Error> {
    std::fs::create_dir_all(work.power_cuts()).map_err(Error::Folder)?;
    std::fs::create_dir_all(work.disk()).map_err(Error::Folder)?;
    let options = Options {
        mount_point: work.disk(),
        log: log.into(),
        disk_bytes: disk.disk_bytes,
        log_bytes_max: disk.cut.log_bytes_max,
        profile: drive.profile,
        cache: drive.rules.cache,
    };
    let mut command = Command::new(std::env::current_exe().map_err(Error::Program)?);
    command.arg("disk");
    Ok(Disk::start(command, &options)?)
}
