//! The guard: the only way to a mkfs. Never formats what it is not sure nobody needs.
//!
//! A block device that holds a known mark is refused unless `wipe` names it exactly; one that is mounted, swap or held
//! by another is refused whatever anybody says. An image file must lie in a folder that carries our marker. What passes
//! becomes a [`Cleared`], which nothing else can make and without which `mkfs.rs` does nothing. A device of the device
//! mapper is cleared by being made here, of cleared devices only.

use crate::device_mapper::{MappedDevice, Table};
use crate::error::Error;
use crate::layer::{Layer, SECTOR_BYTES};
use crate::linux;
use crate::loop_device::{self, LoopDevice};
use crate::settings::{Device, StorageSettings};
use crate::virtual_disk::Attached;
use crate::{guest_disk, image, mountinfo, program, signatures};
use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
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
    fn new(path: &Path, reason: impl Into<String>) -> Refusal {
        Refusal { path: path.into(), reason: reason.into(), hint: None }
    }

    pub(crate) fn not_ours(folder: &Path) -> Refusal {
        Refusal::new(folder, "holds files and was not made by surefoot")
    }
}

/// What a virtual disk's mount names as its source.
pub const VIRTUAL_SOURCE: &str = "surefoot-disk";

/// A device that may be formatted. Only the guard makes it.
#[derive(Debug)]
pub(crate) struct Cleared {
    path: PathBuf,
}

impl Cleared {
    /// The device.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// Asks the guard about a scenario's block device without touching it, so that a study is refused before its first trial.
///
/// # Errors
/// When the device would be refused (exit status 4) or can't be read.
pub fn check_device(settings: &StorageSettings) -> Result<(), Error> {
    match (settings.device, &settings.path) {
        (Device::Block, Some(path)) => clear_block(path, settings.wipe.as_deref()).map(drop),
        _ => Ok(()),
    }
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
        return Ok((None, Cleared { path: disk }));
    }
    // A link in the folder could lead to another's file.
    let metadata = path.symlink_metadata().map_err(Error::file("look at", path))?;
    if !metadata.file_type().is_file() {
        return Err(Error::Refused(Refusal::new(path, "is no plain file")));
    }
    image::verify(path, bytes)?;
    refuse_used(path)?;
    let device = LoopDevice::attach(path, None)?;
    let cleared = Cleared { path: device.path.clone() };
    Ok((Some(device), cleared))
}

/// Attaches a virtual disk and clears it: a file of the kind of filesystem that only surefoot's own disk process serves, in a
/// mount of its own; in a guest kernel, the disk that stands in its place in a folder of ours.
pub(crate) fn clear_virtual(path: &Path, settings: &StorageSettings) -> Result<(Attached, Cleared), Error> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    if let Some(disk) = guest_disk::of_image(path).filter(|_| image::is_ours(folder)) {
        guest_disk::verify(path, &disk, settings.size)?;
        return Ok((Attached::Disk(disk.clone()), Cleared { path: disk }));
    }
    let real = folder.canonicalize().map_err(Error::file("look at", folder))?;
    let mounts = mountinfo::read();
    let mount = mounts.iter().rev().find(|mount| mount.mount_point == real);
    if mount.is_none_or(|mount| (&*mount.filesystem, &*mount.source) != ("fuse", VIRTUAL_SOURCE)) {
        return Err(Error::Refused(Refusal::not_ours(folder)));
    }
    let device = LoopDevice::attach(path, Some(settings.unit.bytes()))?;
    let cleared = Cleared { path: device.path.clone() };
    Ok((Attached::Loop(device), cleared))
}

/// Lays a layer over cleared devices. They are given up for it, so that nobody can format what is below; and as they are
/// the only devices in its table, what is made of nobody's devices is nobody's.
pub(crate) fn clear_mapped(layer: &Layer, parts: Vec<Cleared>) -> Result<(MappedDevice, Cleared), Error> {
    let (mut sectors, mut numbers, mut name) = (0, Vec::new(), format!("surefoot-{}", layer.target()));
    for Cleared { path } in parts {
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
    let cleared = Cleared { path: device.path.clone() };
    Ok((device, cleared))
}

/// Refuses an image that another process has attached.
pub(crate) fn refuse_used(image: &Path) -> Result<(), Error> {
    match loop_device::lasting_holder(image) {
        Some(holder) => Err(Error::Refused(Refusal::new(image, format!("is in use as /dev/{holder}")))),
        None => Ok(()),
    }
}

/// Clears a block device, when it is nobody's and empty, or `wipe` is its very name.
pub(crate) fn clear_block(path: &Path, wipe: Option<&str>) -> Result<Cleared, Error> {
    let refused = |reason: String| Error::Refused(Refusal::new(path, reason));
    let real = path.canonicalize().map_err(Error::file("look at", path))?;
    let metadata = real.metadata().map_err(Error::file("look at", path))?;
    if !metadata.file_type().is_block_device() {
        return Err(refused("is not a block device".into()));
    }
    if let Some(user) = user(&real, metadata.rdev()) {
        return Err(refused(user));
    }
    // The kernel's own word: exclusive opens fail while anything, in any namespace, holds the device or a part of it.
    let opened = OpenOptions::new().read(true).custom_flags(libc::O_EXCL).open(&real);
    let device = match opened {
        Ok(device) => device,
        Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {
            return Err(refused("is in use, says the kernel (exclusive open)".into()));
        }
        Err(error) => return Err(Error::file("open", path)(error)),
    };
    if wipe.is_some_and(|wipe| Path::new(wipe).as_os_str() == path.as_os_str()) {
        return Ok(Cleared { path: real });
    }
    if let Some(contents) = contents(&real, device)? {
        let mut refusal = Refusal::new(path, format!("holds {contents}"));
        refusal.hint = Some(format!("if nobody needs that, say wipe = \"{}\" in [storage]", path.display()));
        return Err(Error::Refused(refusal));
    }
    Ok(Cleared { path: real })
}

/// Takes our own marks away again, so that the device is as empty as it was found.
///
/// `cleared` shows that the guard let it be formatted; the device must not be mounted any more.
pub(crate) fn erase(cleared: &Cleared) -> Result<(), Error> {
    let path = cleared.path();
    let failed = |error| Error::file("erase the filesystem's marks on", path)(error);
    let device = OpenOptions::new().read(true).write(true).custom_flags(libc::O_EXCL).open(path).map_err(failed)?;
    let bytes = size(&device).map_err(failed)?;
    for found in signatures::probe(&device, bytes).map_err(failed)? {
        device.write_all_at(&vec![0; found.length], found.offset).map_err(failed)?;
    }
    device.sync_all().map_err(failed)
}

/// Whether a word for mkfs could name another device than the one that was cleared.
pub(crate) fn names_a_device(word: &str) -> bool {
    let keys = ["device=", "logdev=", "rtdev=", "LABEL=", "UUID="];
    word.contains('/') || word == "--" || keys.iter().any(|key| word.contains(key))
}

/// Who uses a device, in words.
fn user(real: &Path, number: u64) -> Option<String> {
    let (major, minor) = linux::major_minor(number);
    let sys = PathBuf::from(format!("/sys/dev/block/{major}:{minor}"));
    let mounts = mountinfo::read();
    // btrfs shows a made-up number, so the source counts too.
    let is_it = |mount: &&mountinfo::Mount| mount.device == (major, minor) || Path::new(&mount.source) == real;
    if let Some(mount) = mounts.iter().find(is_it) {
        return Some(format!("is mounted at {}", mount.mount_point.display()));
    }
    let swaps = std::fs::read_to_string("/proc/swaps").unwrap_or_default();
    if is_swap(&swaps, real) {
        return Some("is swap in use".into());
    }
    let parts = sys.read_dir().into_iter().flatten().flatten().filter(|entry| entry.path().join("partition").exists());
    for folder in parts.map(|entry| entry.path()).chain([sys.clone()]) {
        let holders = folder.join("holders").read_dir().into_iter().flatten().flatten();
        let names: Vec<String> = holders.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        if !names.is_empty() {
            return Some(format!("is held by {}", names.join(", ")));
        }
    }
    None
}

/// Whether the text of `/proc/swaps` names the device.
fn is_swap(swaps: &str, device: &Path) -> bool {
    swaps.lines().skip(1).filter_map(|line| line.split_whitespace().next()).any(|name| Path::new(name) == device)
}

/// What the device holds, by our own table and, as a second opinion, blkid's where it is installed.
fn contents(path: &Path, device: File) -> Result<Option<String>, Error> {
    let failed = |error| Error::file("read", path)(error);
    let bytes = size(&device).map_err(failed)?;
    let found = signatures::probe(&device, bytes).map_err(failed)?;
    // An exclusive open of ours must not disturb blkid's.
    drop(device);
    let mut names: Vec<&str> = found.iter().map(|found| found.name).collect();
    names.dedup();
    if !names.is_empty() {
        return Ok(Some(names.join(" and ")));
    }
    let partitions = path.file_name().map(|name| Path::new("/sys/class/block").join(name));
    let mut parts = partitions.iter().filter_map(|folder| folder.read_dir().ok()).flatten().flatten();
    if parts.any(|entry| entry.path().join("partition").exists()) {
        return Ok(Some("partitions".into()));
    }
    second_opinion(path)
}

/// blkid(8), low-level probing: 0 found, 2 nothing, 8 more than one.
fn second_opinion(path: &Path) -> Result<Option<String>, Error> {
    if program::find("blkid").is_none() {
        return Ok(None);
    }
    let arguments = ["-p".as_ref(), "-o".as_ref(), "export".as_ref(), path.as_os_str()];
    let output = program::run("blkid", &arguments, "util-linux")?;
    match output.status {
        Some(0) => {
            let kind = output.text.lines().find_map(|line| line.strip_prefix("TYPE=").or(line.strip_prefix("PTTYPE=")));
            Ok(Some(format!("{}, says blkid", kind.unwrap_or("something"))))
        }
        Some(2) => Ok(None),
        Some(8) => Ok(Some("marks of more than one kind, says blkid".into())),
        _ => Err(output.failure()),
    }
}

fn size(mut device: &File) -> std::io::Result<u64> {
    device.seek(SeekFrom::End(0))
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn swap_is_known_by_its_name() {
        let swaps = "Filename\tType\tSize\tUsed\tPriority\n/dev/sda2   partition\t1\t0\t-2\n";
        assert!(is_swap(swaps, Path::new("/dev/sda2")));
        assert!(!is_swap(swaps, Path::new("/dev/sda")));
    }

    #[test]
    fn plain_files_and_terminals_are_no_block_devices() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        for path in [file.path(), Path::new("/dev/null")] {
            let error = clear_block(path, path.to_str()).expect_err("refused");
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
        image::prepare_image(&images.join("device-1048576.img"), 1 << 20).expect("made");
        let link = images.join("log-1048576.img");
        std::os::unix::fs::symlink(images.join("device-1048576.img"), &link).expect("linked");
        let error = clear_image(&link, 1 << 20).expect_err("refused");
        assert!(error.is_refusal(), "{error}");
    }

    #[test]
    fn an_image_in_use_is_refused_and_let_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("images/device-1048576.img");
        image::prepare_image(&path, 1 << 20).expect("made");
        let (device, cleared) = clear_image(&path, 1 << 20).expect("cleared");
        assert_eq!(cleared.path(), device.as_ref().expect("a loop device").path);
        let error = clear_image(&path, 1 << 20).expect_err("refused");
        assert!(error.is_refusal(), "{error}");
    }
}
