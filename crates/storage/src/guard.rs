//! The guard: the only way to a mkfs. Never formats what it is not sure nobody needs.
//!
//! A block device that holds anything at all is refused unless `wipe` names it exactly: a known mark, or any byte that is
//! not zero where it is looked at (`guard/contents.rs`), but for what this study's own last trial left
//! (`guard/leftovers.rs`). One that is mounted, swap or held by another, or that shares its bytes with a loop device of
//! another's (`guard/users.rs`), is refused whatever anybody says. An image file must lie in a folder that carries our
//! marker. What passes becomes a [`Cleared`], which nothing else can make and without which `mkfs.rs` does nothing. A
//! device of the device mapper is cleared by being made here, of cleared devices only.

mod contents;
mod leftovers;
mod users;

use crate::device::Device;
use crate::device_mapper::{MappedDevice, Table};
use crate::error::Error;
use crate::filesystem::Filesystem;
use crate::layer::{Layer, SECTOR_BYTES};
use crate::linux;
use crate::loop_device::{self, LoopDevice};
use crate::refusal::Refusal;
use crate::settings::StorageSettings;
use crate::virtual_disk::Attached;
use crate::{guest_disk, image, signatures};
use contents::{contents, glance};
use observe::mountinfo;
use settings::quantity::format_bytes;
use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What a virtual disk's mount names as its source.
pub const VIRTUAL_SOURCE: &str = "surefoot-disk";

/// A device that may be formatted. Only the guard makes it.
#[derive(Debug)]
pub(crate) struct Cleared {
    path: PathBuf,
    held: Option<Held>,
    /// The number of a block device that was given to mkfs.
    given: Option<u64>,
    /// Whether mkfs did its work: before that, nothing on it is ours.
    is_formatted: bool,
}

/// A block device that nobody else can mount, or open as the only one, while this lives.
#[derive(Debug)]
struct Held {
    device: File,
    bytes: u64,
    /// What stood at its ends when it was cleared.
    glance: Vec<u8>,
}

impl Cleared {
    /// A device of our own making.
    fn own(path: PathBuf) -> Cleared {
        Cleared { path, held: None, given: None, is_formatted: false }
    }

    /// The device.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Gives a block device to mkfs, which starts at once: its path must still lead to the device that was looked at, and its
    /// ends must be as they were. Programs that open it exclusively themselves can't do so beside us; what they could meet
    /// in the milliseconds between is somebody who writes without asking for exclusive use. For the others we go on holding
    /// it, as long as what is given back lives.
    pub(crate) fn hand_over(&mut self, row: &Filesystem) -> Result<Option<impl Sized + use<>>, Error> {
        let Some(held) = self.held.take() else { return Ok(None) };
        let failed = |error| Error::file("look at", &self.path)(error);
        let number = held.device.metadata().map_err(failed)?.rdev();
        let is_same = self.path.symlink_metadata().map_err(failed)?.rdev() == number
            && size(&held.device).map_err(failed)? == held.bytes
            && glance(&held.device, held.bytes).map_err(failed)? == held.glance;
        if !is_same {
            return Err(Error::Refused(Refusal::new(&self.path, "changed since it was looked at")));
        }
        self.given = Some(number);
        Ok(Some(held.device).filter(|_| !row.mkfs_opens_exclusively))
    }

    /// mkfs has ended well. One that failed may have written nothing, and what is there may be a stranger's.
    pub(crate) fn formatted(&mut self) {
        self.is_formatted = true;
    }
}

/// Asks the guard about a scenario's block device without touching it, so that a study is refused before its first trial.
/// `images` is the folder of the scenario's images, where earlier trials noted what they left.
///
/// # Errors
/// When the device would be refused (exit status 4) or can't be read.
pub fn check_device(settings: &StorageSettings, images: &Path) -> Result<(), Error> {
    if settings.device == Device::Block { clear_block(settings, images).map(drop) } else { Ok(()) }
}

/// Waits until nobody has an image in a folder, or the block device of these settings; whether that is so. The filesystem of a trial that
/// was killed is written out before it lets go of them, which takes as long as the disk does. Ends soon once it is to stop.
pub fn wait_until_free(settings: &StorageSettings, images: &Path, patience: Duration, stop: &AtomicBool) -> bool {
    let began = Instant::now();
    let device = settings.path.as_deref().filter(|_| settings.device == Device::Block);
    while image::has_locked(images) || device.is_some_and(is_held) {
        if began.elapsed() > patience || stop.load(Ordering::Relaxed) {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    true
}

/// Whether a device is mounted in any namespace, or held otherwise.
fn is_held(device: &Path) -> bool {
    let opened = OpenOptions::new().read(true).custom_flags(libc::O_EXCL).open(device);
    opened.is_err_and(|error| error.raw_os_error() == Some(libc::EBUSY))
}

/// Attaches an image of ours and clears it.
///
/// In a guest kernel the image is a disk already, and there is no loop device.
pub(crate) fn clear_image(path: &Path, bytes: u64) -> Result<(Option<LoopDevice>, Cleared), Error> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    if !image::is_ours(folder) {
        return Err(Error::Refused(Refusal::not_ours(folder)));
    }
    if let Some(disk) = guest_disk::of_image(path) {
        guest_disk::verify(path, &disk, bytes)?;
        return Ok((None, Cleared::own(disk)));
    }
    let file = image::open(path)?;
    // The loop device keeps the file open, and with it the lock, until it is gone.
    image::lock(&file, path)?;
    image::verify(path, &file, bytes)?;
    image::refuse_used(path)?;
    let device = LoopDevice::attach(&file, path, None)?;
    let cleared = Cleared::own(device.path.clone());
    Ok((Some(device), cleared))
}

/// Attaches a virtual disk and clears it: a file of the kind of filesystem that only surefoot's own disk process serves, in a
/// mount of its own; in a guest kernel, the disk that stands in its place in a folder of ours.
pub(crate) fn clear_virtual(path: &Path, settings: &StorageSettings) -> Result<(Attached, Cleared), Error> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    if let Some(disk) = guest_disk::of_image(path).filter(|_| image::is_ours(folder)) {
        guest_disk::verify(path, &disk, settings.size)?;
        return Ok((Attached::Disk(disk.clone()), Cleared::own(disk)));
    }
    let real = folder.canonicalize().map_err(Error::file("look at", folder))?;
    let mounts = mountinfo::read();
    let mount = mounts.iter().rev().find(|mount| mount.mount_point == real);
    if mount.is_none_or(|mount| (&*mount.filesystem, &*mount.source) != ("fuse", VIRTUAL_SOURCE)) {
        return Err(Error::Refused(Refusal::not_ours(folder)));
    }
    let device = LoopDevice::attach(&loop_device::open(path)?, path, Some(settings.unit.bytes()))?;
    let cleared = Cleared::own(device.path.clone());
    Ok((Attached::Loop(device), cleared))
}

/// Lays a layer over cleared devices. They are given up for it, so that nobody can format what is below; and as they are
/// the only devices in its table, what is made of nobody's devices is nobody's.
pub(crate) fn clear_mapped(layer: &Layer, parts: Vec<Cleared>) -> Result<(MappedDevice, Cleared), Error> {
    let (mut sectors, mut numbers, mut name) = (0, Vec::new(), format!("surefoot-{}", layer.target()));
    for Cleared { path, .. } in parts {
        let device = File::open(&path).map_err(Error::file("open", &path))?;
        let number = device.metadata().map_err(Error::file("look at", &path))?.rdev();
        sectors += size(&device).map_err(Error::file("look at", &path))? / SECTOR_BYTES;
        let (major, minor) = linux::major_minor(number);
        numbers.push(format!("{major}:{minor}"));
        // A device is part of one layer only, so the name is this one's alone.
        name = format!("{name}-{}", path.file_name().unwrap_or_default().to_string_lossy());
    }
    let table = Table { sectors, target: layer.target().into(), arguments: layer.arguments(&numbers) };
    let device = MappedDevice::new(&name, &table)?;
    let cleared = Cleared::own(device.path.clone());
    Ok((device, cleared))
}

/// Clears the block device of a study, when it is nobody's and empty, or `wipe` is its very name. `images` is where trials
/// note what they leave.
pub(crate) fn clear_block(settings: &StorageSettings, images: &Path) -> Result<Cleared, Error> {
    let path = settings.path.as_deref().unwrap_or(Path::new(""));
    let refused = |reason: String| Error::Refused(Refusal::new(path, reason));
    let real = path.canonicalize().map_err(Error::file("look at", path))?;
    let metadata = real.metadata().map_err(Error::file("look at", path))?;
    if !metadata.file_type().is_block_device() {
        return Err(refused("is not a block device".into()));
    }
    if let Some(user) = users::user(&real, metadata.rdev()) {
        return Err(refused(user));
    }
    // The kernel's own word: exclusive opens fail while anything, in any namespace, holds the device or a part of it.
    let opened = OpenOptions::new().read(true).custom_flags(libc::O_EXCL).open(&real);
    let device = match opened {
        Ok(device) => device,
        Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {
            let mut refusal = Refusal::new(path, "is in use, says the kernel (exclusive open)");
            let hint = "where a trial on it was killed, that is still written out: try again in a minute";
            refusal.hint = Some(hint.into());
            return Err(Error::Refused(refusal));
        }
        Err(error) => return Err(Error::file("open", path)(error)),
    };
    // The name may lead elsewhere since.
    let failed = |error| Error::file("look at", path)(error);
    if device.metadata().map_err(failed)?.rdev() != metadata.rdev() {
        return Err(refused("changed while it was looked at".into()));
    }
    let bytes = size(&device).map_err(failed)?;
    if let Some(reason) = why_unusable(&device, bytes, settings.row()) {
        return Err(refused(reason));
    }
    let is_named = settings.wipe.as_ref().is_some_and(|wipe| Path::new(wipe).as_os_str() == path.as_os_str());
    // The kernel gives its names anew at each start; links, as those of /dev/disk/by-id, lead to the same disk.
    if is_named && path == real && leftovers::are_of_another(images, path, leftovers::disk(path)) {
        let mut refusal = Refusal::new(path, "is another disk than this study had by that name");
        refusal.hint = Some("name the right one as /dev/disk/by-id has it, where names stay".into());
        return Err(Error::Refused(refusal));
    }
    if !is_named
        && !leftovers::are_all(images, &real, &device, bytes)?
        && let Some(contents) = contents(&real, &device, bytes)?
    {
        let mut refusal = Refusal::new(path, format!("holds {contents}"));
        refusal.hint = Some(format!("if nobody needs that, say wipe = \"{}\" in [storage]", path.display()));
        return Err(Error::Refused(refusal));
    }
    // What was read for this must not lie in memory when something is measured.
    loop_device::forget(&device, &real)?;
    let glance = glance(&device, bytes).map_err(Error::file("read", path))?;
    Ok(Cleared { path: real, held: Some(Held { device, bytes, glance }), given: None, is_formatted: false })
}

/// Why no filesystem can be made on a device, whoever may need it.
fn why_unusable(device: &File, bytes: u64, row: &Filesystem) -> Option<String> {
    /// include/uapi/linux/fs.h
    const BLKROGET: libc::c_ulong = 0x125E;
    let mut is_read_only: libc::c_int = 0;
    // SAFETY: BLKROGET writes one `int`.
    let asked = unsafe { libc::ioctl(device.as_raw_fd(), BLKROGET as _, &raw mut is_read_only) };
    if bytes == 0 {
        return Some("has 0 bytes: nothing is attached to it, or no medium is in it".into());
    }
    if asked == 0 && is_read_only != 0 {
        return Some("is read-only".into());
    }
    if bytes < row.bytes_min {
        let (bytes, least) = (format_bytes(bytes), format_bytes(row.bytes_min));
        return Some(format!("has {bytes}, and {} needs {least}", row.name));
    }
    None
}

/// Takes our own marks away again, and notes what else is left, so that this study's next trial knows it.
///
/// `cleared` shows that the guard let it be formatted; the device must not be mounted any more. One that was refused on the way to mkfs, or
/// that mkfs failed on, may hold what a stranger wrote, and is not touched.
pub(crate) fn leave(cleared: &Cleared, images: &Path) -> Result<(), Error> {
    let path = cleared.path();
    let Some(number) = cleared.given.filter(|_| cleared.is_formatted) else { return Ok(()) };
    let failed = |error| Error::file("erase the filesystem's marks on", path)(error);
    let device = OpenOptions::new().read(true).write(true).custom_flags(libc::O_EXCL).open(path).map_err(failed)?;
    if device.metadata().map_err(failed)?.rdev() != number {
        return Err(Error::Refused(Refusal::new(path, "is another device than the one that was formatted")));
    }
    let bytes = size(&device).map_err(failed)?;
    for found in signatures::probe(&device, bytes).map_err(failed)? {
        device.write_all_at(&vec![0; found.length], found.offset).map_err(failed)?;
    }
    device.sync_all().map_err(failed)?;
    leftovers::note(images, path, &device, bytes)
}

/// Whether a word for mkfs could name another device than the one that was cleared.
pub(crate) fn names_a_device(word: &str) -> bool {
    let keys = ["device=", "logdev=", "rtdev=", "LABEL=", "UUID="];
    word.contains('/') || word == "--" || keys.iter().any(|key| word.contains(key))
}

fn size(mut device: &File) -> std::io::Result<u64> {
    device.seek(SeekFrom::End(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stranger's filesystem appears between the look and mkfs: the refusal must not wipe it off as if it were ours.
    #[test]
    fn a_device_that_was_refused_on_the_way_is_left_as_it_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("device");
        std::fs::write(&path, vec![0; 1 << 20]).expect("written");
        let device = File::options().read(true).write(true).open(&path).expect("opened");
        let (bytes, seen) = (1 << 20, glance(&device, 1 << 20).expect("read"));
        let stranger = device.try_clone().expect("opened");
        let mut cleared = Cleared {
            path: path.clone(),
            held: Some(Held { device, bytes, glance: seen }),
            given: None,
            is_formatted: false,
        };
        // The magic number of ext4.
        stranger.write_all_at(&[0x53, 0xef], 1024 + 56).expect("written");
        let row = crate::filesystems::filesystem("ext4").expect("it is known");
        assert!(matches!(cleared.hand_over(row), Err(Error::Refused(_))));
        leave(&cleared, folder.path()).expect("nothing to do");
        assert_eq!(std::fs::read(&path).expect("read")[1024 + 56..1024 + 58], [0x53, 0xef]);
    }

    /// mkfs may have refused an option: what was there is still there, and still the user's.
    #[test]
    fn a_device_that_mkfs_failed_on_is_left_as_it_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("device");
        std::fs::write(&path, vec![0; 1 << 20]).expect("written");
        let device = File::options().read(true).write(true).open(&path).expect("opened");
        device.write_all_at(&[0x53, 0xef], 1024 + 56).expect("written");
        let (bytes, seen) = (1 << 20, glance(&device, 1 << 20).expect("read"));
        let held = Some(Held { device, bytes, glance: seen });
        let mut cleared = Cleared { path: path.clone(), held, given: None, is_formatted: false };
        let row = crate::filesystems::filesystem("ext4").expect("it is known");
        drop(cleared.hand_over(row).expect("as it was"));
        leave(&cleared, folder.path()).expect("nothing to do");
        assert_eq!(std::fs::read(&path).expect("read")[1024 + 56..1024 + 58], [0x53, 0xef]);
        cleared.formatted();
        let images = folder.path().join("images");
        image::claim(&images).expect("a folder of ours");
        leave(&cleared, &images).expect("ours");
        assert_eq!(std::fs::read(&path).expect("read")[1024 + 56..1024 + 58], [0, 0]);
    }

    #[test]
    fn words_that_could_name_a_device() {
        for word in ["/dev/sdb", "device=/dev/sdb", "size=1,device=LABEL=j", "../dev/sda", "logdev=loop1", "--"] {
            assert!(names_a_device(word), "{word}");
        }
        for word in ["-O", "^extents,64bit", "-b", "size=4096", "-Estride=4", "reflink=0"] {
            assert!(!names_a_device(word), "{word}");
        }
    }

    #[test]
    fn plain_files_and_terminals_are_no_block_devices() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        for path in [file.path(), Path::new("/dev/null")] {
            let asked = StorageSettings {
                device: Device::Block,
                path: Some(path.into()),
                wipe: path.to_str().map(str::to_string),
                ..StorageSettings::default()
            };
            let error = clear_block(&asked, path).expect_err("refused");
            assert!(error.is_refusal(), "{error}");
        }
    }

    #[test]
    fn an_image_outside_our_folder_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let image = folder.path().join("device-1048576.img");
        std::fs::write(&image, vec![0; 1 << 20]).expect("written");
        let error = clear_image(&image, 1 << 20).expect_err("refused");
        assert!(error.is_refusal(), "{error}");
    }

    #[test]
    fn a_link_in_our_folder_is_not_followed() {
        let folder = tempfile::tempdir().expect("a folder");
        let images = folder.path().join("images");
        image::prepare_image(&images.join("device-1048576.img"), 1 << 20, &image::NEVER).expect("made");
        let link = images.join("log-1048576.img");
        std::os::unix::fs::symlink(images.join("device-1048576.img"), &link).expect("linked");
        let error = clear_image(&link, 1 << 20).expect_err("refused");
        assert!(error.is_refusal(), "{error}");
    }

    /// The trials after one that was killed had failed while its filesystem was still written out.
    #[test]
    fn an_image_is_waited_for_until_it_is_free() {
        let folder = tempfile::tempdir().expect("a folder");
        let waits = |seconds, stop: &AtomicBool| {
            let patience = Duration::from_secs(seconds);
            wait_until_free(&StorageSettings::default(), folder.path(), patience, stop)
        };
        assert!(waits(0, &image::NEVER), "there is none");
        let path = folder.path().join("wal/device.img");
        image::prepare_image(&path, 1 << 20, &image::NEVER).expect("made");
        let held = image::open(&path).expect("it is ours");
        image::lock(&held, &path).expect("it is free");
        assert!(!waits(0, &image::NEVER));
        assert!(!waits(3600, &AtomicBool::new(true)));
        std::thread::scope(|scope| {
            scope.spawn(move || {
                std::thread::sleep(Duration::from_millis(50));
                drop(held);
            });
            assert!(waits(3600, &image::NEVER));
        });
    }

    #[test]
    fn an_image_in_use_is_refused_and_let_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("images/device-1048576.img");
        image::prepare_image(&path, 1 << 20, &image::NEVER).expect("made");
        let (device, cleared) = clear_image(&path, 1 << 20).expect("cleared");
        assert_eq!(cleared.path(), device.as_ref().expect("a loop device").path);
        let error = clear_image(&path, 1 << 20).expect_err("refused");
        assert!(error.is_refusal(), "{error}");
    }
}
