//! Whose the bytes of a device are, by what a mounted filesystem tells of its files.

use crate::extents;
use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// A part of a file, as it lies on the device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The file, or the folder, seen from the filesystem's root.
    pub file: PathBuf,
    /// Where the part begins in the file, in bytes.
    pub at: u64,
    /// Where it begins on the device, in bytes.
    pub device_at: u64,
    /// Its length in bytes.
    pub length: u64,
}

/// All parts of all files below a folder, in the order of the device.
pub(crate) fn parts(root: &Path) -> io::Result<Vec<Part>> {
    let mut all = Vec::new();
    add(root, Path::new(""), &mut all)?;
    all.sort_by_key(|part: &Part| part.device_at);
    Ok(all)
}

fn add(root: &Path, folder: &Path, all: &mut Vec<Part>) -> io::Result<()> {
    for entry in root.join(folder).read_dir()? {
        let entry = entry?;
        let (kind, file) = (entry.file_type()?, folder.join(entry.file_name()));
        if kind.is_dir() {
            add(root, &file, all)?;
        } else if !kind.is_file() {
            continue;
        }
        let open = File::options().read(true).custom_flags(libc::O_NOFOLLOW).open(entry.path())?;
        // Not every filesystem tells of its folders.
        let placed = extents::placed(&open).unwrap_or_default();
        let part = |(at, device_at, length)| Part { file: file.clone(), at, device_at, length };
        all.extend(placed.into_iter().map(part));
    }
    Ok(())
}
