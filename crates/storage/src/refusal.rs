//! Why a device, an image or a folder is not touched.

use std::path::{Path, PathBuf};

/// Why a device is not touched.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} {reason}", path.display())]
pub struct Refusal {
    /// The device, image or folder.
    pub path: PathBuf,
    /// What it is or holds: "is mounted at /home".
    pub reason: String,
    /// What the user may do about it.
    pub hint: Option<String>,
}

impl Refusal {
    pub(crate) fn new(path: &Path, reason: impl Into<String>) -> Refusal {
        Refusal { path: path.into(), reason: reason.into(), hint: None }
    }

    pub(crate) fn not_ours(folder: &Path) -> Refusal {
        Refusal::new(folder, "was not made by surefoot for this user alone")
    }
}
