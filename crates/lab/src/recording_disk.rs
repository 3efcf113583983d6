//! The disk of a scenario whose power is cut: one that records, or one that serves the images that a cut may have left.

use crate::drive::Drive;
use crate::work::Work;
use powercut::device::{Disk, Options};
use powercut::timing::Profile;
use std::path::Path;
use std::process::Command;
use storage::StorageSettings;
use study::trial_spec::{Cut, TrialSpec};

/// Why there is no disk.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A cache or profile that this version does not know.
    #[error("there is no such disk")]
    Unknown(#[from] serde_json::Error),
    /// This program, whose verb `disk` serves it.
    #[error("cannot tell which program this is")]
    Program(#[from] std::io::Error),
    /// The disk.
    #[error(transparent)]
    Device(#[from] powercut::device::Error),
}

/// Starts one that records.
///
/// # Errors
/// When its process does not start, or its log has not the room that it may take.
pub fn record(spec: &TrialSpec, wanted: &Cut, work: &Work, log: &Path) -> Result<Disk, Error> {
    start(spec, wanted, Drive::new(wanted)?, work, log)
}

/// Starts one that serves images from a log, as fast as it can.
///
/// # Errors
/// When its process does not start, or can't read the log.
pub fn explore(spec: &TrialSpec, wanted: &Cut, work: &Work, log: &Path) -> Result<Disk, Error> {
    let drive = Drive { profile: Profile::None, ..Drive::new(wanted)? };
    let mut disk = start(spec, wanted, drive, work, &work.power_cuts().join("unused.log"))?;
    disk.explore(log, drive.rules)?;
    Ok(disk)
}

fn start(spec: &TrialSpec, wanted: &Cut, drive: Drive, work: &Work, log: &Path) -> Result<Disk, Error> {
    let options = Options {
        mount_point: work.disk(),
        log: log.into(),
        disk_bytes: StorageSettings::from_map(&spec.storage).size,
        log_bytes_max: wanted.log_bytes_max,
        profile: drive.profile,
        cache: drive.rules.cache,
    };
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("disk");
    Ok(Disk::start(command, &options)?)
}
