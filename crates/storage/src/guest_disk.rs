//! Disks of a guest kernel: block devices of its own, each on an image file of the host's.
//!
//! In the guest, links with the images' names lead to the disks, so that a trial finds there what it finds on the host.

use crate::error::Error;
use crate::filesystems::DEFAULT;
use crate::image;
use crate::layer::SECTOR_BYTES;
use crate::program;
use crate::settle::forget;
use observe::mountinfo;
use std::fs::{File, OpenOptions};
use std::io::Seek as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// How the serial of each of our disks begins, which no other disk has.
const SERIAL: &str = "surefoot-";

/// The disk for what is kept from trial to trial looks this large; its file has only what was written.
const CACHE_BYTES: u64 = 64 << 30;

/// In a guest kernel: puts one of its disks in the place of the image file that it stands on.
///
/// # Errors
/// When the folder is not ours or the link can't be made.
pub fn put_disk(path: &Path, disk: &Path) -> Result<(), Error> {
    let folder = path.parent().expect("an image lies in a folder");
    image::claim(folder)?;
    std::os::unix::fs::symlink(disk, path).map_err(Error::file("link", path))
}

/// The disk that stands in an image's place, which only a guest kernel has.
pub(crate) fn of_image(path: &Path) -> Option<PathBuf> {
    let disk = path.read_link().ok()?;
    let name = disk.strip_prefix("/dev").ok()?;
    let serial = std::fs::read_to_string(Path::new("/sys/class/block").join(name).join("serial")).ok()?;
    serial.starts_with(SERIAL).then_some(disk)
}

/// Whether a guest's disk has the image's size, in whole sectors.
pub(crate) fn verify(path: &Path, disk: &Path, expected: u64) -> Result<(), Error> {
    let mut file = File::open(disk).map_err(Error::file("open", disk))?;
    let bytes = file.seek(std::io::SeekFrom::End(0)).map_err(Error::file("look at", disk))?;
    if bytes == expected - expected % SECTOR_BYTES {
        return Ok(());
    }
    Err(Error::Image { path: path.into(), bytes, allocated: bytes, expected })
}

/// Gives what was written to the image file to the disk below and takes it out of the host's memory, so that every trial
/// of a guest kernel begins alike.
///
/// # Errors
/// When the file can't be opened or written out.
pub fn settle_image(path: &Path) -> Result<(), Error> {
    let file = File::open(path).map_err(Error::file("open", path))?;
    file.sync_data().map_err(Error::file("write out", path))?;
    forget(&file);
    Ok(())
}

/// What lies below the images of a folder, and whether they are read and written by the page cache of that, in words.
pub fn below_images(folder: &Path) -> String {
    let on = mountinfo::mount_under(folder).map_or_else(String::new, |mount| {
        let options = mount.options.iter().chain(&mount.super_options).cloned().collect::<Vec<_>>().join(",");
        format!("images on {} ({options}), ", mount.filesystem)
    });
    let marker = folder.join(image::MARKER);
    let direct = OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(marker).is_ok();
    format!("{on}direct I/O {}", if direct { "on" } else { "refused by the host's filesystem" })
}

/// Makes the disk that keeps what trials share (templates of databases), unless it is there: a sparse file with ext4 on
/// it. Nobody measures on it; it is a disk and not a folder of the host's, because servers give files to their users.
///
/// # Errors
/// When the file can't be made, or mkfs fails.
pub fn prepare_cache(path: &Path) -> Result<(), Error> {
    if path.exists() {
        return Ok(());
    }
    // Under another name until it is whole: only a file that was new is ever formatted.
    let partial = path.with_extension("partial");
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(Error::file("create", folder))?;
    }
    let _ = std::fs::remove_file(&partial);
    let mut options = OpenOptions::new();
    let opened = options.write(true).create_new(true).mode(image::IMAGE_MODE).open(&partial);
    let file = opened.map_err(Error::file("create", &partial))?;
    file.set_len(CACHE_BYTES).map_err(Error::file("create", &partial))?;
    let words = ["-q", "-F", "-m", "0", "-E", "nodiscard,lazy_itable_init=1,lazy_journal_init=1"];
    let words: Vec<&std::ffi::OsStr> = words.iter().map(std::ffi::OsStr::new).chain([partial.as_os_str()]).collect();
    program::run(DEFAULT.mkfs, &words, DEFAULT.package)?.success()?;
    std::fs::rename(&partial, path).map_err(Error::file("rename", &partial))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt as _;

    #[test]
    fn a_plain_file_or_another_device_is_no_disk_of_a_guest() {
        let folder = tempfile::tempdir().expect("a folder");
        let image = folder.path().join("device-1.img");
        assert_eq!(of_image(&image), None);
        std::os::unix::fs::symlink("/dev/null", &image).expect("linked");
        assert_eq!(of_image(&image), None);
    }

    /// As of `size = "500MB"`, which is no number of sectors.
    #[test]
    fn a_disk_has_the_whole_sectors_of_its_image() {
        let disk = tempfile::NamedTempFile::new().expect("a file");
        disk.as_file().set_len(1024).expect("sized");
        let verify = |expected| verify(Path::new("device.img"), disk.path(), expected);
        for expected in [1024, 1025, 1535] {
            verify(expected).expect("all that a disk can have of it");
        }
        for expected in [1023, 1536] {
            verify(expected).expect_err("another size");
        }
    }

    #[test]
    fn the_disk_for_what_is_kept_is_made_once_and_sparse() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("cache.img");
        prepare_cache(&path).expect("made");
        let made = path.metadata().expect("there");
        assert_eq!((made.len(), made.mode() & 0o7777), (CACHE_BYTES, 0o600));
        assert!(made.blocks() * 512 < 1 << 30, "{} blocks", made.blocks());
        prepare_cache(&path).expect("there already");
        assert_eq!(path.metadata().expect("there").ino(), made.ino());
    }
}
