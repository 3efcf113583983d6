//! The disk of a scenario whose power is cut: one that records, or one that serves the images that a cut may have left.
//!
//! It is a process of its own; for a trial in a guest kernel, one outside that kernel, which is then told to do either.

use crate::drive::Drive;
use crate::error::Error;
use crate::plan::TrialSpec;
use crate::recording::{self, RecordingDisk};
use powercut::device::{Disk, LogFile, Options};
use powercut::states::Rules;
use powercut::timing::{Profile, SEED};
use sandbox::memory_limit;
use sandbox::work::Work;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use study::trial_spec::Cut;

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
        if spec.bench == study::Bench::Guest {
            return Ok(Disks::Outside(guest::init::disk_line().map_err(Error::Line)?, Drive::new(wanted)?.rules));
        }
        Ok(Disks::Ours(RecordingDisk::of(spec, wanted)))
    }

    /// One that records in the work folder's log.
    ///
    /// # Errors
    /// As [`Start::start`].
    pub fn record(&self, work: &Work) -> Result<Disk, Error> {
        let log = recording::log(work);
        match self {
            Disks::Ours(disk) => {
                let log = LogFile { path: log, bytes_max: disk.cut.log_bytes_max };
                std::fs::create_dir_all(work.power_cuts()).map_err(Error::Folder)?;
                of_cut(disk, Drive::new(&disk.cut)?, work).start(Some(log))
            }
            Disks::Outside(line, _) => Ok(Disk::beyond(line, &log)?),
        }
    }

    /// One that serves images from a log, as fast as it can.
    ///
    /// # Errors
    /// As [`Start::start`], or when it can't read the log.
    pub fn explore(&self, work: &Work, log: &Path) -> Result<Disk, Error> {
        let (mut disk, rules) = match self {
            Disks::Ours(disk) => {
                let drive = Drive { profile: Profile::None, ..Drive::new(&disk.cut)? };
                (of_cut(disk, drive, work).start(None)?, drive.rules)
            }
            Disks::Outside(line, rules) => (Disk::beyond(line, log)?, *rules),
        };
        disk.explore(log, rules)?;
        Ok(disk)
    }
}

fn of_cut(disk: &RecordingDisk, drive: Drive, work: &Work) -> Start {
    Start { mount_point: work.disk(), disk_bytes: disk.disk_bytes, drive, seed: SEED, is_limited: false }
}

/// A disk that is to be started, as a process of ours.
#[derive(Debug)]
pub(crate) struct Start {
    /// Where its file appears.
    pub(crate) mount_point: PathBuf,
    pub(crate) disk_bytes: u64,
    pub(crate) drive: Drive,
    /// Of the drive's chance.
    pub(crate) seed: u64,
    /// Whether the trial's memory is limited, which the disk's content is no part of.
    pub(crate) is_limited: bool,
}

impl Start {
    /// Starts its process.
    ///
    /// # Errors
    /// When it does not start, or its log has not the room that it may take.
    pub(crate) fn start(self, log: Option<LogFile>) -> Result<Disk, Error> {
        std::fs::create_dir_all(&self.mount_point).map_err(Error::Folder)?;
        let Start { mount_point, disk_bytes, drive: Drive { rules, profile }, seed, is_limited } = self;
        let options = Options { mount_point, log, disk_bytes, profile, cache: rules.cache, seed };
        let mut command = Command::new(std::env::current_exe().map_err(Error::Program)?);
        command.arg("disk");
        if is_limited {
            memory_limit::start_outside(&mut command).map_err(Error::Limit)?;
        }
        Ok(Disk::start(command, &options)?)
    }
}
