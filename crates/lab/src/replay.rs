//! Images of a power cut that were found bad, kept so that a person can look at one: the log of the disk, and how it was made.
//! The log can be had in the format of another tool, too.

use crate::recording_disk::{self, Disks};
use crate::work::Work;
use powercut::device::Disk;
use powercut::states::Image;
use std::io;
use std::path::{Path, PathBuf};
use storage::{AfterCut, CutDisk, StorageSettings};
use study::trial_spec::TrialSpec;

/// Why an image can't be served again.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nothing was kept of the scenario.
    #[error(
        "nothing is kept of the power cuts of `{scenario}` in {folder}: logs are kept of scenarios that lost something"
    )]
    NotKept {
        /// Its label.
        scenario: String,
        /// Where it would be.
        folder: PathBuf,
    },
    /// A kept file can't be read or written.
    #[error("cannot use {path}")]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It was not written by this version.
    #[error("{0} is not what surefoot keeps")]
    Foreign(PathBuf),
    /// Its filesystem is another kernel's.
    #[error(
        "`{0}` was measured in a guest kernel, and states are shown on this machine's own; the study with bench = \"host\" can \
         show them where this kernel has the filesystem"
    )]
    InGuest(String),
    /// The disk does not start.
    #[error(transparent)]
    Start(#[from] recording_disk::Error),
    /// The log or the file that it is exported to.
    #[error("cannot export {path}")]
    Export {
        /// The log.
        path: PathBuf,
        /// Why.
        #[source]
        source: powercut::log_writes::ExportError,
    },
    /// The disk.
    #[error(transparent)]
    Disk(#[from] powercut::device::Error),
    /// The filesystem on it.
    #[error(transparent)]
    Storage(#[from] storage::Error),
}

/// An image that is served, with what came up from it.
pub struct Replayed {
    /// The filesystem as its own recovery left it, or why it did not come up.
    pub after: Result<AfterCut, storage::Error>,
    /// What the filesystem's checker says of it, when it was not mounted.
    pub checked: Option<String>,
    // In this order, so that the mount goes before the device and that before the disk.
    _attached: CutDisk,
    _disk: Disk,
}

/// Keeps the log of a scenario, with what is needed to serve it again.
///
/// # Errors
/// When the files can't be written.
pub fn keep(work: &Work, spec: &TrialSpec, log: &Path) -> io::Result<()> {
    let kept = path(work, &spec.scenario);
    std::fs::rename(log, kept.with_extension("log"))?;
    std::fs::write(kept.with_extension("json"), serde_json::to_vec(spec).expect("a TrialSpec is plain data"))
}

/// Serves an image of a scenario and brings its filesystem up; it goes when the result goes.
///
/// # Errors
/// When nothing was kept, or the disk can't be served.
pub fn serve(work: &Work, scenario: &str, image: &Image) -> Result<Replayed, Error> {
    let kept = path(work, scenario);
    let (log, file) = (kept.with_extension("log"), kept.with_extension("json"));
    if !file.is_file() {
        return Err(Error::NotKept { scenario: scenario.into(), folder: work.power_cuts() });
    }
    let text = std::fs::read(&file).map_err(|source| Error::File { path: file.clone(), source })?;
    let spec: TrialSpec = serde_json::from_slice(&text).map_err(|_| Error::Foreign(file.clone()))?;
    let cut = spec.cut.clone().ok_or_else(|| Error::Foreign(file.clone()))?;
    if spec.bench == "guest" {
        return Err(Error::InGuest(scenario.into()));
    }
    let mut disk = Disks::of(&spec, &cut)?.explore(work, &log)?;
    disk.show(image.point, &image.choice)?;
    let attached = CutDisk::attach(&StorageSettings::from_map(&spec.storage), &work.disk(), &work.mount_point())?;
    let after = attached.mount();
    let checked = after.is_err().then(|| attached.check().unwrap_or_else(|error| error.to_string()));
    Ok(Replayed { after, checked, _attached: attached, _disk: disk })
}

/// Writes a scenario's log to a file as dm-log-writes would have; gives the number of entries.
///
/// # Errors
/// When nothing was kept, or the file can't be written.
pub fn export(work: &Work, scenario: &str, file: &Path) -> Result<u64, Error> {
    let path = path(work, scenario).with_extension("log");
    if !path.is_file() {
        return Err(Error::NotKept { scenario: scenario.into(), folder: work.power_cuts() });
    }
    let log = std::fs::read(&path).map_err(|source| Error::File { path: path.clone(), source })?;
    let out = std::fs::File::create(file).map_err(|source| Error::File { path: file.into(), source })?;
    powercut::log_writes::export(&log, std::io::BufWriter::new(out)).map_err(|source| Error::Export { path, source })
}

/// A scenario's files, without their ending: its label as far as a file name can have it, and a number that tells labels apart.
fn path(work: &Work, scenario: &str) -> PathBuf {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() || "=.".contains(letter) { letter } else { '-' };
    let name: String = scenario.chars().map(plain).take(80).collect();
    let number = scenario.bytes().fold(0u32, |all, byte| all.wrapping_mul(31).wrapping_add(byte.into()));
    work.power_cuts().join(format!("{name}-{number:08x}"))
}
