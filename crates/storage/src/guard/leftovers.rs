//! What trials of this study left on a block device: a digest of it, kept beside the study's images.
//!
//! A trial takes its filesystem's marks away and leaves its blocks. Without this note the next trial would meet data that
//! nobody knows. Only a device that still holds exactly what the last trial left passes by it; what was written since, at
//! the places that are looked at, makes the device somebody else's.

use super::contents::Look;
use crate::error::Error;
use crate::image;
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// A note is far smaller.
const NOTE_BYTES_MAX: u64 = 4096;

#[derive(Debug, Serialize, Deserialize, PartialEq, Eq)]
struct Note {
    device: PathBuf,
    /// Which disk had that name, where it told.
    #[serde(default)]
    disk: Option<String>,
    bytes: u64,
    seed: u64,
    sha256: String,
}

/// Notes what a trial leaves on its device.
pub(super) fn note(folder: &Path, path: &Path, device: &File, bytes: u64) -> Result<(), Error> {
    let look = Look::new(bytes)?;
    let sha256 = look.digest(device).map_err(Error::file("read", path))?;
    let note = Note { device: path.into(), disk: disk(path), bytes, seed: look.seed(), sha256 };
    image::claim(folder)?;
    let (target, partial) = (file(folder, path, "left"), file(folder, path, "partial"));
    let _ = std::fs::remove_file(&partial);
    let text = serde_json::to_vec(&note).expect("plain data");
    let opened = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&partial);
    let written = opened.and_then(|mut file| file.write_all(&text).and_then(|()| file.sync_all()));
    written.and_then(|()| std::fs::rename(&partial, &target)).map_err(Error::file("write", &target))
}

/// Whether the device holds what the study's last trial left, and nothing else.
pub(super) fn are_all(folder: &Path, path: &Path, device: &File, bytes: u64) -> Result<bool, Error> {
    if !image::is_ours(folder) {
        return Ok(false);
    }
    let Some(note) = read(&file(folder, path, "left")).filter(|note| note.device == path && note.bytes == bytes) else {
        return Ok(false);
    };
    let found = Look::again(bytes, note.seed).digest(device).map_err(Error::file("read", path))?;
    Ok(found == note.sha256)
}

/// Whether the study's last trial by this name was on another disk than this one.
pub(super) fn are_of_another(folder: &Path, path: &Path, disk: Option<String>) -> bool {
    let noted = image::is_ours(folder).then(|| read(&file(folder, path, "left"))).flatten();
    let before = noted.filter(|note| note.device == path).and_then(|note| note.disk);
    before.zip(disk).is_some_and(|(before, now)| before != now)
}

/// What stays with a disk, whatever the kernel calls it: by NVMe, SCSI and SATA, virtio, or the device mapper.
pub(super) fn disk(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let files = ["wwid", "device/wwid", "serial", "device/serial", "dm/uuid"];
    files.iter().find_map(|file| observe::disk::attribute(name, file))
}

fn read(path: &Path) -> Option<Note> {
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path).ok()?;
    image::is_private(&file.metadata().ok()?).then_some(())?;
    let mut text = Vec::new();
    file.take(NOTE_BYTES_MAX).read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}

fn file(folder: &Path, device: &Path, extension: &str) -> PathBuf {
    let name = device.file_name().unwrap_or_default().to_string_lossy();
    folder.join(format!("on-{name}.{extension}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_disk_by_the_same_name_is_known() {
        let folder = tempfile::tempdir().expect("a folder");
        let images = folder.path().join("images");
        image::claim(&images).expect("a folder of ours");
        let path = Path::new("/dev/sdx");
        let is_another = |disk: Option<&str>| are_of_another(&images, path, disk.map(String::from));
        assert!(!is_another(Some("naa.2")), "nothing is noted");
        let noted = |disk: &str| format!(r#"{{"device":"/dev/sdx",{disk}"bytes":7,"seed":1,"sha256":""}}"#);
        std::fs::write(file(&images, path, "left"), noted(r#""disk":"naa.1","#)).expect("written");
        assert_eq!([Some("naa.1"), Some("naa.2"), None].map(is_another), [false, true, false]);
        std::fs::write(file(&images, path, "left"), noted("")).expect("written");
        assert!(!is_another(Some("naa.2")), "an older note knows no disk");
    }
}
