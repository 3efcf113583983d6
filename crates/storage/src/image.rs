//! Image files behind loop devices: allocated and written once, then reused by every trial.
//!
//! A sparse or merely preallocated file would make the host's filesystem allocate, convert and journal while the
//! filesystem on it is measured. An image is written under another name and renamed when it is whole, so that a kill
//! leaves no half image. Only a folder that carries the marker is ever written to.

use crate::device::Device;
use crate::error::Error;
use crate::extents::{self, Content};
use crate::guest_disk;
use crate::linux;
use crate::loop_device;
use crate::refusal::Refusal;
use crate::settings::StorageSettings;
use std::collections::BTreeMap;
use std::fs::{DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// Marks a folder whose images are ours to overwrite.
pub(crate) const MARKER: &str = ".surefoot-images";

/// What a load wrote stays in them, such as a dump that only its owner may read.
pub(crate) const IMAGE_MODE: u32 = 0o600;

/// A killed trial lets go of its images within this time.
const LOCK_PATIENCE: Duration = Duration::from_secs(3);

/// File names of the images that a scenario needs, with their sizes in bytes. Scenarios of one size share them.
pub fn images(settings: &StorageSettings) -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    if settings.device == Device::Loop {
        all.extend(settings.disks().iter().map(|(what, bytes)| (name(what, *bytes), *bytes)));
    }
    let log = settings.external_log_bytes();
    if settings.makes_filesystem() && log > 0 {
        all.insert(name("log", log), log);
    }
    all
}

/// The path of one of them.
pub(crate) fn path(folder: &Path, what: &str, bytes: u64) -> PathBuf {
    folder.join(name(what, bytes))
}

pub(crate) fn name(what: &str, bytes: u64) -> String {
    format!("{what}-{bytes}.img")
}

/// Bytes of the image files in a folder and, for further volumes, in the folders in it.
pub fn images_bytes(folder: &Path) -> u64 {
    let of_entry = |path: PathBuf| match path.extension() {
        _ if path.is_dir() => images_bytes(&path),
        Some(extension) if extension == "img" => path.metadata().map_or(0, |metadata| metadata.len()),
        _ => 0,
    };
    folder.read_dir().into_iter().flatten().flatten().map(|entry| of_entry(entry.path())).sum()
}

/// Bytes that may still be written to the filesystem of a folder.
///
/// # Errors
/// When the folder is not there.
pub fn free_bytes(folder: &Path) -> Result<u64, Error> {
    let found = nix::sys::statvfs::statvfs(folder).map_err(|error| Error::file("look at", folder)(error.into()))?;
    Ok(found.blocks_available() as u64 * found.fragment_size() as u64)
}

/// For what nobody stops.
pub(crate) static NEVER: AtomicBool = AtomicBool::new(false);

/// Makes the images that a scenario needs, unless they are there; ends soon once it is to stop.
///
/// # Errors
/// When it was to stop, when there is too little space, the folder is not ours, or an image that is there has another size or is in use.
pub fn prepare_images(settings: &StorageSettings, folder: &Path, stop: &AtomicBool) -> Result<(), Error> {
    images(settings).into_iter().try_for_each(|(name, bytes)| prepare_image(&folder.join(name), bytes, stop))
}

/// Makes an image file of so many bytes, allocated and written; of one that is there, writes what a trial left unwritten.
pub(crate) fn prepare_image(image: &Path, bytes: u64, stop: &AtomicBool) -> Result<(), Error> {
    if guest_disk::of_image(image).is_some() {
        // It was made on the host, before the guest started.
        return Ok(());
    }
    let folder = image.parent().expect("an image lies in a folder");
    claim(folder)?;
    if image.exists() {
        return restore(image, bytes, stop);
    }
    let partial = image.with_extension("partial");
    // What a killed run left half written counts as free.
    let _ = std::fs::remove_file(&partial);
    let free = free_bytes(folder)?;
    if bytes > free {
        return Err(Error::NoSpace { path: folder.into(), needed: bytes, free });
    }
    write(&partial, bytes, stop).inspect_err(|_| {
        let _ = std::fs::remove_file(&partial);
    })?;
    std::fs::rename(&partial, image).map_err(Error::file("rename", &partial))?;
    verify(image, &open(image)?, bytes)
}

/// Opens an image of ours: a plain file with this name only, which nobody else may write to. A link, or a file with a second
/// name, could be anybody's.
pub(crate) fn open(image: &Path) -> Result<File, Error> {
    let refuse = |reason: &str| Error::Refused(Refusal::new(image, reason));
    let mut options = File::options();
    let opened = options.read(true).write(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(image);
    let file = opened.map_err(|error| match error.raw_os_error() {
        Some(libc::ELOOP) => refuse("is no plain file but a link"),
        _ => Error::file("open", image)(error),
    })?;
    let data = file.metadata().map_err(Error::file("look at", image))?;
    if !data.is_file() {
        return Err(refuse("is no plain file"));
    }
    if data.nlink() != 1 {
        return Err(refuse("has more than one name (hard links), so that it may be somebody's file"));
    }
    if !is_private(&data) {
        return Err(refuse("belongs to another user, or may be written to by others"));
    }
    // An earlier surefoot made them so that everybody could read the load's data.
    if data.mode() & 0o7777 != IMAGE_MODE {
        file.set_permissions(Permissions::from_mode(IMAGE_MODE)).map_err(Error::file("protect", image))?;
    }
    Ok(file)
}

/// Locks an image for as long as the file is open, be that by a loop device: two trials would each format it under the other.
/// Waits for a trial that was killed, whose loop device takes a moment to go.
pub(crate) fn lock(file: &File, image: &Path) -> Result<(), Error> {
    let began = Instant::now();
    while file.try_lock().is_err() {
        if began.elapsed() > LOCK_PATIENCE {
            let holder = loop_device::holder(image).map_or_else(String::new, |holder| format!(" as /dev/{holder}"));
            let reason = format!("is in use{holder}: another trial has it locked");
            return Err(Error::Refused(Refusal::new(image, reason)));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// Whether somebody has an image in a folder, or in one in it, locked.
pub(crate) fn has_locked(folder: &Path) -> bool {
    let is_locked = |file: File| matches!(file.try_lock(), Err(TryLockError::WouldBlock));
    let has_one = |path: PathBuf| match path.extension() {
        _ if path.is_dir() => has_locked(&path),
        Some(extension) if extension == "img" => File::open(&path).is_ok_and(is_locked),
        _ => false,
    };
    folder.read_dir().into_iter().flatten().flatten().any(|entry| has_one(entry.path()))
}

/// Every trial starts from an image that is allocated and written, whatever discards and zeroing the last one did.
fn restore(image: &Path, bytes: u64, stop: &AtomicBool) -> Result<(), Error> {
    let file = open(image)?;
    if file.metadata().map_err(Error::file("look at", image))?.len() == bytes {
        let ranges = extents::unwritten(&file, image)?;
        if !ranges.is_empty() {
            lock(&file, image)?;
            refuse_used(image)?;
            extents::write(&file, image, &ranges, &Content::Noise, stop)?;
        }
    }
    verify(image, &file, bytes)
}

/// Writes what mkfs has zeroed without writing; `device` is the loop device on the image.
pub(crate) fn write_zeroed(image: &Path, device: &Path) -> Result<(), Error> {
    let file = File::open(image).map_err(Error::file("open", image))?;
    let ranges = extents::unwritten(&file, image)?;
    if ranges.is_empty() {
        return Ok(());
    }
    // By the device and not the file, so that no second cache of the same blocks comes to be.
    let target = File::options().write(true).open(device).map_err(Error::file("open", device))?;
    extents::write(&target, device, &ranges, &Content::Zeros, &NEVER)
}

/// Refuses a folder without a marker of ours that holds anything but folders with one; marks any other.
pub(crate) fn claim(folder: &Path) -> Result<(), Error> {
    if is_ours(folder) {
        return Ok(());
    }
    DirBuilder::new().recursive(true).mode(0o755).create(folder).map_err(Error::file("create", folder))?;
    // A further volume's images lie in a folder in there, which may come first: data on a block device have no image.
    let mut entries = folder.read_dir().map_err(Error::file("read", folder))?;
    let holds_others = entries.any(|entry| !entry.is_ok_and(|entry| is_ours(&entry.path())));
    let data = folder.symlink_metadata().map_err(Error::file("look at", folder))?;
    if holds_others || !data.is_dir() || !is_private(&data) {
        return Err(Error::Refused(Refusal::not_ours(folder)));
    }
    let marker = folder.join(MARKER);
    let made = OpenOptions::new().write(true).create_new(true).mode(0o644).open(&marker);
    made.and_then(|mut file| file.write_all(b"surefoot overwrites the images in this folder\n"))
        .map_err(Error::file("write", &marker))
}

/// Whether a file or folder is this user's own, and nobody else may write to it.
pub(crate) fn is_private(data: &std::fs::Metadata) -> bool {
    data.uid() == nix::unistd::geteuid().as_raw() && data.mode() & 0o022 == 0
}

/// Whether the images of a folder are ours to overwrite: it has our marker, and nobody else could have put either there.
pub(crate) fn is_ours(folder: &Path) -> bool {
    let is_private = |path: &Path, is_kind: fn(&std::fs::Metadata) -> bool| {
        path.symlink_metadata().is_ok_and(|data| is_kind(&data) && is_private(&data))
    };
    is_private(folder, std::fs::Metadata::is_dir)
        && is_private(&folder.join(MARKER), |data| data.is_file() && data.nlink() == 1)
}

/// Whether the image has its size, and blocks on the disk for all of it.
pub(crate) fn verify(image: &Path, file: &File, expected: u64) -> Result<(), Error> {
    let metadata = file.metadata().map_err(Error::file("look at", image))?;
    // `st_blocks` counts units of 512 bytes whatever the filesystem (stat(2)).
    let (bytes, allocated) = (metadata.len(), metadata.blocks() * 512);
    if bytes == expected && allocated >= expected {
        return Ok(());
    }
    Err(Error::Image { path: image.into(), bytes, allocated, expected })
}

/// Whether an image still has its size after a trial.
pub(crate) fn verify_size(image: &Path, expected: u64) -> Result<(), Error> {
    if guest_disk::of_image(image).is_some() {
        return Ok(());
    }
    let metadata = image.symlink_metadata().map_err(Error::file("look at", image))?;
    let (bytes, allocated) = (metadata.len(), metadata.blocks() * 512);
    if bytes == expected { Ok(()) } else { Err(Error::Image { path: image.into(), bytes, allocated, expected }) }
}

fn write(path: &Path, bytes: u64, stop: &AtomicBool) -> Result<(), Error> {
    let mut options = OpenOptions::new();
    let opened = options.write(true).create_new(true).mode(IMAGE_MODE).open(path);
    let file = opened.map_err(Error::file("create", path))?;
    linux::no_copy_on_write(&file);
    // First as a whole, so that it lies in few pieces; tmpfs and others that can't are written all the same.
    if let Err(error) = linux::allocate(&file, bytes)
        && error.raw_os_error() != Some(libc::EOPNOTSUPP)
    {
        return Err(Error::file("allocate", path)(error));
    }
    // Noise and not zeros: a virtual disk may leave zeros out, and the image would be sparse one floor below.
    extents::write(&file, path, &[(0, bytes)], &Content::Noise, stop)
}

/// Refuses an image that another process has attached.
pub(crate) fn refuse_used(image: &Path) -> Result<(), Error> {
    let Some(holder) = loop_device::lasting_holder(image) else { return Ok(()) };
    Err(Error::Refused(Refusal::new(image, format!("is in use as /dev/{holder}"))))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn an_image_that_is_stopped_leaves_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let image = folder.path().join("device.img");
        let stopped = prepare_image(&image, 2 * MIB, &AtomicBool::new(true));
        assert!(matches!(stopped, Err(Error::Interrupted)), "{stopped:?}");
        assert_eq!(images_bytes(folder.path()), 0);
        assert!(!image.exists() && !image.with_extension("partial").exists());
    }

    #[test]
    fn images_of_further_volumes_count_too() {
        let folder = tempfile::tempdir().expect("a folder");
        prepare_image(&folder.path().join("device.img"), 2 * MIB, &NEVER).expect("made");
        prepare_image(&folder.path().join("wal/device.img"), MIB, &NEVER).expect("made");
        assert_eq!(images_bytes(folder.path()), 3 * MIB);
    }

    /// Each trial with data on a block device and a log on an image file had failed at its end, where it notes what it leaves.
    #[test]
    fn a_folder_with_images_of_further_volumes_alone_is_ours() {
        let folder = tempfile::tempdir().expect("a folder");
        let images = folder.path().join("images");
        prepare_image(&images.join("wal/device.img"), MIB, &NEVER).expect("made");
        claim(&images).expect("nobody else has anything there");
        assert!(is_ours(&images));
        let theirs = folder.path().join("theirs");
        prepare_image(&theirs.join("wal/device.img"), MIB, &NEVER).expect("made");
        std::fs::create_dir(theirs.join("diary")).expect("made");
        assert!(claim(&theirs).expect_err("refused").is_refusal());
    }

    #[test]
    fn each_disk_of_a_stripe_has_its_image() {
        let one = StorageSettings { size: 6 * MIB, ..StorageSettings::default() };
        let three = StorageSettings { stripe: 3, external_log: 4 * MIB, ..one.clone() };
        let named = |settings: &StorageSettings| images(settings).into_iter().collect::<Vec<_>>();
        assert_eq!(named(&one), [("device-6291456.img".into(), 6 * MIB)]);
        let disks = (1..=3).map(|disk| (format!("device-{disk}-2097152.img"), 2 * MIB));
        let all: Vec<_> = disks.chain([("log-4194304.img".into(), 4 * MIB)]).collect();
        assert_eq!(named(&three), all);
    }

    #[test]
    fn an_image_is_written_once_and_reused() {
        let folder = tempfile::tempdir().expect("a folder");
        let image = folder.path().join("images/device.img");
        prepare_image(&image, 9 * MIB, &NEVER).expect("made");
        let first = image.metadata().expect("there");
        assert!(first.blocks() * 512 >= 9 * MIB);
        prepare_image(&image, 9 * MIB, &NEVER).expect("verified");
        assert_eq!(image.metadata().expect("there").ino(), first.ino());
        assert_eq!(images_bytes(&folder.path().join("images")), 9 * MIB);
    }

    #[test]
    fn an_image_of_another_size_is_not_taken() {
        let folder = tempfile::tempdir().expect("a folder");
        let image = folder.path().join("images/device.img");
        prepare_image(&image, MIB, &NEVER).expect("made");
        let error = prepare_image(&image, 2 * MIB, &NEVER).expect_err("too short");
        assert!(matches!(error, Error::Image { bytes: MIB, expected: 0x20_0000, .. }));
        assert!(error.to_string().contains("is not a whole image: 1048576 bytes with"), "{error}");
    }

    /// In memory, too, where discards leave them as well: each trial after the first one that discarded had failed.
    #[test]
    fn holes_of_an_image_are_written_again() {
        for place in [std::env::temp_dir().as_path(), Path::new("/dev/shm")] {
            let folder = tempfile::tempdir_in(place).expect("a folder");
            let image = folder.path().join("images/device.img");
            prepare_image(&image, MIB, &NEVER).expect("made");
            File::options().write(true).open(&image).and_then(|file| file.set_len(2 * MIB)).expect("made longer");
            verify(&image, &open(&image).expect("ours"), 2 * MIB).expect_err("half of it is a hole");
            prepare_image(&image, 2 * MIB, &NEVER).expect("written");
            verify(&image, &open(&image).expect("ours"), 2 * MIB).expect("whole");
        }
    }

    #[test]
    fn a_file_with_another_name_or_a_link_is_not_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let precious = folder.path().join("precious");
        std::fs::write(&precious, vec![7; MIB as usize]).expect("written");
        let images = folder.path().join("images");
        claim(&images).expect("made");
        let image = images.join("device-1048576.img");
        let links: [fn(&Path, &Path) -> std::io::Result<()>; 2] =
            [|from, to| std::os::unix::fs::symlink(from, to), |from, to| std::fs::hard_link(from, to)];
        for link in links {
            link(&precious, &image).expect("linked");
            assert!(prepare_image(&image, MIB, &NEVER).expect_err("refused").is_refusal());
            std::fs::remove_file(&image).expect("removed");
        }
        assert!(std::fs::read(&precious).expect("there").iter().all(|byte| *byte == 7));
    }

    #[test]
    fn a_folder_that_others_can_write_to_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().expect("a folder");
        let images = folder.path().join("images");
        let image = images.join("device-1048576.img");
        prepare_image(&image, MIB, &NEVER).expect("made");
        let mode = |path: &Path, mode| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("ours");
        };
        for path in [&images, &images.join(MARKER), &image] {
            let before = path.metadata().expect("there").mode();
            mode(path, before | 0o002);
            assert!(prepare_image(&image, MIB, &NEVER).expect_err("refused").is_refusal(), "{}", path.display());
            mode(path, before);
        }
        prepare_image(&image, MIB, &NEVER).expect("ours again");
    }

    /// A dump that only root may read could be read by everybody once it had been loaded.
    #[test]
    fn what_a_load_wrote_is_read_by_its_user_only() {
        let folder = tempfile::tempdir().expect("a folder");
        let image = folder.path().join("images/device-1048576.img");
        for _ in 0..2 {
            prepare_image(&image, MIB, &NEVER).expect("made, then found");
            assert_eq!(image.metadata().expect("there").mode() & 0o7777, 0o600);
            // As an earlier surefoot left it.
            std::fs::set_permissions(&image, Permissions::from_mode(0o644)).expect("ours");
        }
    }

    #[test]
    fn a_locked_image_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let image = folder.path().join("images/device.img");
        prepare_image(&image, MIB, &NEVER).expect("made");
        let holder = open(&image).expect("ours");
        lock(&holder, &image).expect("free");
        let error = lock(&open(&image).expect("ours"), &image).expect_err("locked");
        assert!(error.is_refusal());
        drop(holder);
        lock(&open(&image).expect("ours"), &image).expect("free again");
    }

    #[test]
    fn too_little_space_is_found_before() {
        let folder = tempfile::tempdir().expect("a folder");
        let error = prepare_image(&folder.path().join("images/device.img"), 1 << 60, &NEVER).expect_err("an exbibyte");
        assert!(error.is_missing(), "{error}");
        assert!(error.to_string().contains("needs 1048576TiB and has"), "{error}");
        assert_eq!(images_bytes(&folder.path().join("images")), 0);
    }

    #[test]
    fn another_ones_folder_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("device-1048576.img"), "a virtual machine").expect("written");
        let settings = StorageSettings { size: MIB, ..StorageSettings::default() };
        let error = prepare_images(&settings, folder.path(), &NEVER).expect_err("refused");
        assert!(error.is_refusal(), "{error}");
    }
}
