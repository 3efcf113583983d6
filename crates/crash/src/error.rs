//! Why it can't be measured what a power cut or a failing disk takes, or shown again: failures of the test itself, and no findings.

use powercut::timing_fidelity::{LATE_SHARE_MAX, TimingFidelity};
use sandbox::memory_limit;
use services::service;
use std::io;
use std::path::PathBuf;

/// What failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A cache or profile that this version does not know.
    #[error("there is no such disk")]
    Unknown(#[from] serde_json::Error),
    /// This program, whose verb `disk` serves a disk.
    #[error("cannot tell which program this is")]
    Program(#[source] io::Error),
    /// The folders of a disk's files.
    #[error("cannot make the folders of a recording disk")]
    Folder(#[source] io::Error),
    /// The memory limit of the trial, which its disk is to be outside of.
    #[error("cannot keep a disk's memory out of the trial's limit")]
    Limit(#[source] memory_limit::Error),
    /// In a guest kernel.
    #[error("this guest kernel has no line to a recording disk")]
    Line(#[source] io::Error),
    /// A disk's process.
    #[error(transparent)]
    Disk(#[from] powercut::device::Error),
    /// The disk in memory, or what is told of it.
    #[error("the disk in memory can't be used")]
    Memory(#[source] io::Error),
    /// Figures on a virtual disk are not the drive's.
    #[error(transparent)]
    Late(#[from] Late),
    /// The block device, or what is mounted from it.
    #[error(transparent)]
    Storage(#[from] storage::Error),
    /// A server or its data.
    #[error(transparent)]
    Service(#[from] service::Error),
    /// The folders that a server's user can reach.
    #[error("cannot prepare the server's folders")]
    Stage(#[source] io::Error),
    /// The same, behind a case.
    #[error("cannot clear the server's folders")]
    Clear(#[source] io::Error),
    /// What this machine kept a server from. Says nothing of the data.
    #[error("this machine kept the server from recovering: give it more memory, or let fewer programs run beside it")]
    Machine(#[source] service::Error),
    /// The process that reads an embedded database.
    #[error(transparent)]
    Look(load::workload::Error),
    /// Before a disk failed.
    #[error("on a disk that is well the database fails: {0}")]
    Well(String),
    /// Mounts of a thread's own, so that several see theirs at the same place.
    #[error("the kernel grants no further mount namespace")]
    Namespace(#[source] nix::Error),
    /// The thread that does this panicked, and has said why.
    #[error("a thread that {0} has ended")]
    Ended(&'static str),
    /// Nothing was kept of a scenario.
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
    /// A log, or the file that it is exported to.
    #[error("cannot export {path}")]
    Export {
        /// The log.
        path: PathBuf,
        /// Why.
        #[source]
        source: powercut::log_writes::ExportError,
    },
}

/// A virtual disk that answered later than its drive.
#[derive(Debug, PartialEq, thiserror::Error)]
#[error(
    "the virtual disk of {table} was no {profile} in this run: one in a hundred of its {} answers came {} or more after the drive's, \
     and at most {} is allowed, {:.0} % of what it takes for a request on the mean, {}; run it on an idle machine or one with more \
     CPUs, or choose a slower drive as {table}.disk",
    .found.requests,
    microseconds(.found.late_nanoseconds_p99 as f64),
    microseconds(.found.late_nanoseconds_max()),
    LATE_SHARE_MAX * 100.0,
    microseconds(.found.request_nanoseconds_mean)
)]
pub struct Late {
    /// `storage`, `storage.wal`.
    pub(crate) table: String,
    /// Whose times it was to have.
    pub(crate) profile: String,
    pub(crate) found: TimingFidelity,
}

/// Its lateness is some microseconds and less than one where all is well.
fn microseconds(nanoseconds: f64) -> String {
    format!("{:.1} µs", nanoseconds / 1e3)
}
