//! What can go wrong with storage, with all that a person needs to put it right.

use crate::refusal::Refusal;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::PathBuf;

/// One thing that is missing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{what}; {remedy}")]
pub struct Missing {
    /// What.
    pub what: String,
    /// How to get it.
    pub remedy: String,
}

impl Missing {
    pub(crate) fn new(what: impl Into<String>, remedy: impl Into<String>) -> Missing {
        Missing { what: what.into(), remedy: remedy.into() }
    }

    /// A program that one of Debian's packages has.
    pub(crate) fn package(program: &str, package: &str) -> Missing {
        Missing::new(format!("{program} is not installed"), format!("install the package {package}"))
    }
}

/// Why storage could not be made, read back or taken away.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The guard does not let a device be formatted: exit status 4.
    #[error("refused to touch {}", .0.path.display())]
    Refused(#[source] Refusal),
    /// A program or right is missing: exit status 5.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// The user stopped it.
    #[error("interrupted")]
    Interrupted,
    /// There is too little free space for an image file.
    #[error("{} needs {} and has {} free", path.display(), settings::quantity::format_bytes(*needed), settings::quantity::format_bytes(*free))]
    NoSpace {
        /// The folder.
        path: PathBuf,
        /// Bytes needed.
        needed: u64,
        /// Bytes free.
        free: u64,
    },
    /// An image file is not what was made.
    #[error("{} is not a whole image: {bytes} bytes with {allocated} allocated, expected {expected}; remove it", path.display())]
    Image {
        /// The file.
        path: PathBuf,
        /// Its size.
        bytes: u64,
        /// Bytes of it that lie on the disk.
        allocated: u64,
        /// The size it should have.
        expected: u64,
    },
    /// A file or folder.
    #[error("cannot {action} {}", path.display())]
    File {
        /// "create", "write", …
        action: &'static str,
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A program failed.
    #[error("`{command}` failed with {status}")]
    Program {
        /// The command line.
        command: String,
        /// How it ended.
        status: String,
        /// What it said.
        log: String,
    },
    /// A filesystem that nothing checks.
    #[error("{0} has no checker")]
    NoChecker(&'static str),
    /// The kernel refused a mount.
    #[error("cannot mount {device} as {filesystem} with options `{options}`")]
    Mount {
        /// What.
        device: String,
        /// The type.
        filesystem: String,
        /// The options.
        options: String,
        /// Why.
        #[source]
        source: io::Error,
        /// What the kernel said meanwhile.
        log: String,
    },
    /// What was mounted is not there when read back.
    #[error("{} is not among the mounts that the kernel shows", .0.display())]
    NotMounted(PathBuf),
    /// Filling stopped early.
    #[error("filled to {found:.1} % of the filesystem, not {wanted:.1} %")]
    NotFilled {
        /// The share asked, in per cent.
        wanted: f64,
        /// The share reached.
        found: f64,
    },
    /// What was unmounted is still mounted in another namespace.
    #[error(
        "the filesystem on {device} is still in use {seconds} s after it was unmounted: a process has a mount of it"
    )]
    StillMounted {
        /// The device.
        device: String,
        /// How long it was waited for.
        seconds: u64,
    },
    /// The device does not come to rest.
    #[error("{device} still works in the background after {seconds} s")]
    NotSettled {
        /// The device.
        device: String,
        /// How long it was waited for.
        seconds: u64,
    },
}

impl Error {
    /// What a program or the kernel said, where that explains the failure.
    pub fn log(&self) -> Option<&str> {
        let (Error::Program { log, .. } | Error::Mount { log, .. }) = self else { return None };
        Some(log)
    }

    /// Whether the guard refused: exit status 4.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Error::Refused(_))
    }

    /// Whether something is missing: exit status 5.
    pub fn is_missing(&self) -> bool {
        matches!(self, Error::Missing(_) | Error::NoSpace { .. })
    }

    /// Whether a device could not be mounted for what says nothing of its filesystem: somebody else has it, or its checker
    /// is not here, could not be started or was killed (SIGKILL), as by a kernel that has no memory left.
    pub fn is_of_machine(&self) -> bool {
        match self {
            Error::Mount { source, .. } => source.kind() == io::ErrorKind::ResourceBusy,
            Error::Program { status, .. } => status.starts_with("signal: 9 "),
            _ => matches!(self, Error::StillMounted { .. } | Error::Missing(_) | Error::File { .. }),
        }
    }

    pub(crate) fn file(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Error {
        let path = path.into();
        move |source| Error::File { action, path, source }
    }
}

#[cfg(test)]
mod tests {
    use crate::program;

    /// Images whose checker was killed or not there had been called damaged.
    #[test]
    fn a_checker_that_was_kept_from_its_work_has_found_nothing() {
        let ended = |script: &str| program::run("sh", &["-c", script], "dash").expect("it starts").failure();
        assert!(ended("kill -KILL $$").is_of_machine());
        for script in ["exit 4", "exit 8", "kill -TERM $$"] {
            assert!(!ended(script).is_of_machine(), "{script}");
        }
        let missing = program::run("no-such-program", &[""; 0], "its-package").err().expect("it is not there");
        assert!(missing.is_of_machine());
    }
}
