//! The results file: append-only, SQLite, one file a study. The only crate that knows its schema.
//!
//! Written by the conductor alone (`writer.rs`), read by everyone else (`reader.rs`), also while it is written.

mod checksum;
mod connect;
mod contents;
pub mod export;
pub mod figure;
pub mod groups;
mod journal;
mod lock;
mod merge;
pub mod model;
pub mod parquet;
mod publish;
mod reader;
pub mod reasons;
mod schema;
mod stamp;
mod writer;

pub use lock::is_held;
pub use merge::{MergeError, Merged, merge, read_merged, same_file};
pub use publish::publish;
pub use reader::{Reader, Verified};
pub use schema::has_our_mark;
pub use stamp::stamp;
pub use writer::Writer;

use std::path::PathBuf;

/// Why a results file can't be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is something else.
    #[error("{0} is not a results file of surefoot")]
    NotALedger(PathBuf),
    /// It is a folder.
    #[error("{0} is a folder, and no results file")]
    Folder(PathBuf),
    /// It is cut off or damaged.
    #[error("{path} is damaged: {what}")]
    Damaged {
        /// Which.
        path: PathBuf,
        /// What SQLite or we saw.
        what: String,
    },
    /// A newer surefoot wrote it.
    #[error("{path} has schema version {found}; this surefoot knows versions up to {known}")]
    Newer {
        /// Which.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// The newest we know.
        known: i64,
    },
    /// Another surefoot writes it now.
    #[error("{0} is being written by another run of surefoot")]
    Held(PathBuf),
    /// It was there when the writer opened it.
    #[error("{0} was removed, renamed or replaced while it was being written")]
    Gone(PathBuf),
    /// It can't be opened or made.
    #[error("cannot open the results file {path}")]
    Open {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// Of an earlier file by this name.
    #[error("{0} is the log of an earlier results file, which is gone")]
    StrayLog(PathBuf),
    /// SQLite would carry it out, and with it what somebody else may have written there.
    #[error("{journal} lies beside {path}: SQLite would write what it holds into that file, and may remove another")]
    Journal {
        /// Which.
        path: PathBuf,
        /// The journal.
        journal: PathBuf,
    },
    /// SQLite refused.
    #[error("cannot {action} the results file {path}")]
    Sqlite {
        /// "read", "write".
        action: &'static str,
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: rusqlite::Error,
    },
    /// Made, but its study could not be recorded: the run ended before, or its disk was full.
    #[error("{0} holds no study yet")]
    NoStudy(PathBuf),
    /// No member of a fleet has this number.
    #[error("member {member} is not in {path}{}", there_are(known))]
    NoMember {
        /// The file.
        path: PathBuf,
        /// Which was asked for.
        member: u32,
        /// Those that are there.
        known: Vec<String>,
    },
    /// An export could not be written.
    #[error("cannot write the export")]
    Export(#[from] std::io::Error),
}

fn there_are(known: &[String]) -> String {
    match known {
        [] => ": it holds one machine's results, and no fleet's".into(),
        known => format!("; there are {}", known.join(", ")),
    }
}

const FULL: &str = "make room on its disk, then run the same command again: what was recorded before is kept, and it goes on from there";

impl Error {
    /// Whether it is what this file holds that can't be read.
    pub(crate) fn is_of(&self, file: &std::path::Path) -> bool {
        match self {
            Error::NotALedger(path) | Error::Folder(path) | Error::NoStudy(path) => path == file,
            Error::Damaged { path, .. } | Error::Journal { path, .. } => path == file,
            Error::Newer { path, .. } | Error::Open { path, .. } | Error::Sqlite { path, .. } => path == file,
            _ => false,
        }
    }

    /// What to do next, where that is not plain from the message.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Error::NotALedger(_) => Some("name another file; this one is left as it is"),
            Error::Folder(_) => Some("name a file; `surefoot history` and `surefoot merge` take a folder of them"),
            Error::Damaged { .. } => {
                Some("what can be read may be saved by `sqlite3 FILE .recover`; measure anew with --results FILE")
            }
            Error::Newer { .. } => Some("read it with the surefoot that wrote it, or a newer one"),
            Error::Held(_) => Some("wait for it to end, or name another file"),
            Error::StrayLog(_) => Some("put the file back that it belongs to, or remove the log"),
            Error::Journal { .. } => Some(
                "after a kill the same `surefoot run` goes on, which takes its own journal away; a file from elsewhere was sent with changes \
                 that are not finished: remove the journal, and read what is left with care",
            ),
            Error::Open { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
                Some("see that its folder is there; `surefoot status` lists the results files of this one")
            }
            Error::Open { .. } => Some("name a file that you may read, in a folder that you may write to"),
            Error::Gone(_) => Some(
                "what was measured is lost with it, unless it lies elsewhere: put it back and run the same command again, or begin anew \
                 with --results FILE in a folder that nobody clears",
            ),
            Error::Sqlite { source, .. } => match source.sqlite_error_code() {
                Some(rusqlite::ErrorCode::DiskFull) => Some(FULL),
                // Where a disk is full even the side files can't be made, which SQLite calls an I/O error.
                Some(rusqlite::ErrorCode::SystemIoFailure | rusqlite::ErrorCode::CannotOpen) => Some(
                    "see that the disk is not full (`df`) and does not fail (`dmesg`); what was recorded before is kept, and the same \
                     command goes on where it stopped",
                ),
                _ => None,
            },
            Error::NoStudy(_) => Some(
                "the run that made it ended before it could record its study; run the same command again, and see that the disk is not \
                 full (`df`)",
            ),
            Error::NoMember { .. } | Error::Export(_) => None,
        }
    }
}
