//! Loop devices, by the kernel's own calls (include/uapi/linux/loop.h).
//!
//! A device carries the autoclear flag: it detaches by itself when its last user goes, be that a mount, a program or
//! this process, whatever ended it.

use crate::error::{Error, Missing};
use crate::linux;
use nix::errno::Errno;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const LOOP_CONFIGURE: libc::c_ulong = 0x4C0A;
const LOOP_GET_STATUS64: libc::c_ulong = 0x4C05;
/// include/uapi/linux/fs.h
const BLKFLSBUF: libc::c_ulong = 0x1261;
const LOOP_CTL_GET_FREE: libc::c_ulong = 0x4C82;
const LO_FLAGS_AUTOCLEAR: u32 = 4;
const LO_FLAGS_DIRECT_IO: u32 = 16;

/// Another process may take the free device first; each try asks for a new one.
const TRIES_MAX: u32 = 100;

/// A killed trial's mounts go within this time, and its loop device with them.
const DETACH_SECONDS_MAX: u64 = 3;

/// `struct loop_info64`.
#[repr(C)]
struct LoopInfo {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    size_limit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

/// `struct loop_config`.
#[repr(C)]
struct LoopConfig {
    fd: u32,
    block_size: u32,
    info: LoopInfo,
    reserved: [u64; 8],
}

/// A loop device that stays attached while this lives or something is mounted from it.
#[derive(Debug)]
pub(crate) struct LoopDevice {
    /// `/dev/loop3`.
    pub(crate) path: PathBuf,
    /// `loop3`.
    pub(crate) name: String,
    /// Keeps it attached.
    file: File,
}

impl LoopDevice {
    /// Attaches an image, which keeps `backing` open, to a free device, with direct I/O and sectors of so many bytes; none: those of the disk below.
    pub(crate) fn attach(backing: &File, image: &Path, sector_bytes: Option<u32>) -> Result<LoopDevice, Error> {
        if sector_bytes.is_none() {
            // Kernels up to 6.11 look at the disk's sectors for files that are open so alone. With 512 bytes on a disk of 4096 they leave
            // direct I/O out, and the host's page cache would be measured. Some filesystems refuse it.
            let _ = linux::set_direct(backing, true);
        }
        let control_path = Path::new("/dev/loop-control");
        let control = File::options().read(true).write(true).open(control_path);
        let control = control.map_err(Error::file("open", control_path))?;
        for _ in 0..TRIES_MAX {
            // SAFETY: takes no argument and gives a number.
            let number = unsafe { libc::ioctl(control.as_raw_fd(), LOOP_CTL_GET_FREE as _) };
            if number < 0 {
                return Err(Error::file("get a loop device from", control_path)(io::Error::last_os_error()));
            }
            let name = format!("loop{number}");
            let path = Path::new("/dev").join(&name);
            let file = OpenOptions::new().read(true).write(true).open(&path).map_err(|error| unopened(&path, error))?;
            match configure(&file, backing, sector_bytes) {
                Ok(()) => {
                    // Who said of this device that it has no volatile cache said it for all that come after; without
                    // flushes nothing would be what it is taken for. Where it can't be written nobody has.
                    let _ = describe_cache(&path, VOLATILE_CACHE);
                    // Kernels since 6.8 that forbid writing to mounted devices mount none that is open for it.
                    let file = File::open(&path).map_err(Error::file("open", &path))?;
                    return Ok(LoopDevice { path, name, file });
                }
                Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {}
                Err(error) => return Err(Error::file("attach an image to", &path)(error)),
            }
        }
        Err(Error::file("attach an image to", image)(io::Error::from_raw_os_error(libc::EBUSY)))
    }

    /// Drops what the kernel keeps of the device's content.
    pub(crate) fn forget(&self) -> Result<(), Error> {
        forget(&self.file, &self.path)
    }

    /// The sectors that the kernel takes it to have.
    pub(crate) fn sector_bytes(&self) -> Option<u32> {
        let file = format!("/sys/block/{}/queue/logical_block_size", self.name);
        std::fs::read_to_string(file).ok()?.trim().parse().ok()
    }

    /// Whether the kernel really passes I/O by the host's page cache.
    pub(crate) fn direct_io(&self) -> bool {
        let file = format!("/sys/block/{}/loop/dio", self.name);
        std::fs::read_to_string(file).is_ok_and(|text| text.trim() == "1")
    }
}

impl Drop for LoopDevice {
    /// Others may get the device next, who would go without flushes and not know it.
    fn drop(&mut self) {
        restore_cache(&self.path);
    }
}

/// Loop devices that nothing is attached to are taken to have a volatile cache again: a trial that was killed could not say so, and whoever gets
/// its device next would go without flushes.
pub fn restore_caches() {
    for device in Path::new("/sys/block").read_dir().into_iter().flatten().flatten() {
        let name = device.file_name();
        let is_free = name.to_string_lossy().starts_with("loop") && !device.path().join("loop").exists();
        let path = Path::new("/dev").join(&name);
        if is_free {
            restore_cache(&path);
        }
    }
}

/// Takes a device to have a volatile cache again, where it was said to have none.
fn restore_cache(device: &Path) {
    if std::fs::read_to_string(cache_description(device)).is_ok_and(|words| words.trim() == NO_VOLATILE_CACHE) {
        // Who may not write to it is no owner of it, and was none before.
        let _ = describe_cache(device, VOLATILE_CACHE);
    }
}

/// A container has the nodes that were there when it was started, also one that may make devices.
fn unopened(path: &Path, error: io::Error) -> Error {
    if error.kind() != io::ErrorKind::NotFound {
        return Error::file("open", path)(error);
    }
    let remedy = "of a container, start it with this machine's devices, too: -v /dev:/dev";
    Missing::new(format!("there is no {}", path.display()), remedy).into()
}

/// Opens what is to be attached.
pub(crate) fn open(image: &Path) -> Result<File, Error> {
    OpenOptions::new().read(true).write(true).open(image).map_err(Error::file("open", image))
}

/// In the kernel's words: a flush makes durable what was written.
pub(crate) const VOLATILE_CACHE: &str = "write back";
/// In the kernel's words: what was written is durable, and no flushes are sent.
pub(crate) const NO_VOLATILE_CACHE: &str = "write through";

/// Tells the kernel what cache a device has; a loop device over a file and a guest's disk are taken to have a volatile one.
pub(crate) fn describe_cache(device: &Path, words: &str) -> Result<(), Error> {
    let path = cache_description(device);
    std::fs::write(&path, words).map_err(Error::file("write", path))
}

/// Where the kernel has that (Documentation/ABI/stable/sysfs-block, `write_cache`).
fn cache_description(device: &Path) -> PathBuf {
    Path::new("/sys/block").join(device.file_name().unwrap_or_default()).join("queue/write_cache")
}

/// Drops what the kernel keeps of a block device's content.
pub(crate) fn forget(device: &File, path: &Path) -> Result<(), Error> {
    // SAFETY: takes no argument.
    let flushed = Errno::result(unsafe { libc::ioctl(device.as_raw_fd(), BLKFLSBUF as _) });
    flushed.map(drop).map_err(|error| Error::file("drop the caches of", path)(error.into()))
}

fn configure(device: &File, backing: &File, sector_bytes: Option<u32>) -> io::Result<()> {
    // SAFETY: plain integers and bytes, for which all zeros is "not said".
    let mut config: LoopConfig = unsafe { std::mem::zeroed() };
    config.fd = backing.as_raw_fd().cast_unsigned();
    config.block_size = sector_bytes.unwrap_or_default();
    config.info.flags = LO_FLAGS_AUTOCLEAR | LO_FLAGS_DIRECT_IO;
    // SAFETY: LOOP_CONFIGURE reads one `loop_config`, laid out as the kernel's.
    Ok(Errno::result(unsafe { libc::ioctl(device.as_raw_fd(), LOOP_CONFIGURE as _, &config) }).map(drop)?)
}

/// A loop device, and what it stands on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Backing {
    /// `/dev/loop3`.
    pub(crate) path: PathBuf,
    /// Its number.
    pub(crate) number: u64,
    /// Filesystem and inode of what it stands on, whatever its name is by now.
    pub(crate) file: (u64, u64),
    /// Where that is a device: its number.
    pub(crate) backing_number: u64,
}

/// All loop devices that something is attached to, as the devices themselves say.
pub(crate) fn attached() -> Vec<Backing> {
    let devices = Path::new("/sys/block").read_dir().into_iter().flatten().flatten();
    devices.filter_map(|entry| backing(&entry.path())).collect()
}

fn backing(sys: &Path) -> Option<Backing> {
    let backing_file = std::fs::read_to_string(sys.join("loop/backing_file")).ok()?;
    let path = Path::new("/dev").join(sys.file_name()?);
    let number = std::fs::read_to_string(sys.join("dev")).ok()?;
    let (major, minor) = number.trim().split_once(':')?;
    let number = libc::makedev(major.parse().ok()?, minor.parse().ok()?);
    let (file, backing_number) = match status(&path) {
        Some(info) => ((info.device, info.inode), info.rdevice),
        // Its node is not here, or not ours to open: by the name that the kernel shows.
        None => {
            let data = Path::new(backing_file.trim_end()).metadata().ok()?;
            ((data.dev(), data.ino()), if data.file_type().is_block_device() { data.rdev() } else { 0 })
        }
    };
    Some(Backing { path, number, file, backing_number })
}

fn status(path: &Path) -> Option<LoopInfo> {
    let device = File::open(path).ok()?;
    // SAFETY: plain integers and bytes.
    let mut info: LoopInfo = unsafe { std::mem::zeroed() };
    // SAFETY: LOOP_GET_STATUS64 fills one `loop_info64`, laid out as the kernel's.
    (unsafe { libc::ioctl(device.as_raw_fd(), LOOP_GET_STATUS64 as _, &raw mut info) } == 0).then_some(info)
}

/// The loop device that an image is attached to, by whatever name. By the names that the kernel shows: it is asked again and
/// again, and an open loop device does not go.
pub(crate) fn holder(image: &Path) -> Option<String> {
    let image = image.metadata().ok()?;
    let devices = Path::new("/sys/block").read_dir().ok()?.flatten();
    devices.map(|entry| entry.path()).find_map(|device| {
        let backing = std::fs::read_to_string(device.join("loop/backing_file")).ok()?;
        let data = Path::new(backing.trim_end()).metadata().ok()?;
        let is_it = (data.dev(), data.ino()) == (image.dev(), image.ino());
        is_it.then(|| device.file_name().map(|name| name.to_string_lossy().into()))?
    })
}

/// The loop device that still holds the image after those of a killed trial had their time to go.
pub(crate) fn lasting_holder(image: &Path) -> Option<String> {
    let started = Instant::now();
    loop {
        let holder = holder(image)?;
        if started.elapsed() > Duration::from_secs(DETACH_SECONDS_MAX) {
            return Some(holder);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attach(image: &Path, sector_bytes: Option<u32>) -> Result<LoopDevice, Error> {
        LoopDevice::attach(&open(image)?, image, sector_bytes)
    }

    #[test]
    fn the_kernels_structures_have_their_sizes() {
        assert_eq!(size_of::<LoopInfo>(), 232);
        assert_eq!(size_of::<LoopConfig>(), 304);
    }

    /// With --privileged alone a container has no node for the kernel's next loop device.
    #[test]
    fn a_node_that_a_container_lacks_is_told_with_the_way_to_it() {
        let missing = unopened(Path::new("/dev/loop8"), io::ErrorKind::NotFound.into());
        assert!(missing.is_missing() && missing.to_string().ends_with("-v /dev:/dev"), "{missing}");
        assert!(!unopened(Path::new("/dev/loop8"), io::ErrorKind::PermissionDenied.into()).is_missing());
    }

    #[test]
    fn an_image_is_attached_and_let_go() {
        let folder = tempfile::tempdir().expect("a folder");
        let image = folder.path().join("device.img");
        std::fs::write(&image, vec![7; 1 << 20]).expect("written");
        assert_eq!(holder(&image), None);
        let device = attach(&image, None).expect("attached");
        assert_eq!(holder(&image), Some(device.name.clone()));
        assert_eq!(std::fs::read(&device.path).expect("readable"), vec![7; 1 << 20]);
        drop(device);
        assert_eq!(lasting_holder(&image), None);
    }

    /// Or kernels up to 6.11 would give it sectors of 512 bytes on a disk of 4096, and go by the page cache.
    #[test]
    fn an_image_is_open_past_the_page_cache_where_the_sectors_are_the_disks() {
        let folder = tempfile::tempdir().expect("a folder");
        let image = folder.path().join("device.img");
        std::fs::write(&image, vec![0; 1 << 20]).expect("written");
        let is_taken = linux::set_direct(&open(&image).expect("open"), true).is_ok();
        for (sector_bytes, expected) in [(None, is_taken), (Some(512), false)] {
            let backing = open(&image).expect("open");
            let device = LoopDevice::attach(&backing, &image, sector_bytes).expect("attached");
            let flags = nix::fcntl::fcntl(&backing, nix::fcntl::FcntlArg::F_GETFL).expect("it has flags");
            assert_eq!(flags & libc::O_DIRECT != 0, expected, "{sector_bytes:?}");
            drop((device, backing));
            assert_eq!(lasting_holder(&image), None);
        }
    }

    /// By a kernel that forbids writing to mounted devices (`bdev_allow_write_mounted=0`) each mount was refused.
    #[test]
    fn an_attached_device_is_held_for_reading_only() {
        let folder = tempfile::tempdir().expect("a folder");
        let image = folder.path().join("device.img");
        std::fs::write(&image, vec![7; 1 << 20]).expect("written");
        let device = attach(&image, None).expect("attached");
        let flags = nix::fcntl::fcntl(&device.file, nix::fcntl::FcntlArg::F_GETFL).expect("it has flags");
        assert_eq!(flags & libc::O_ACCMODE, libc::O_RDONLY);
        device.forget().expect("its caches");
        File::options().write(true).open(&device.path).expect("others may write to it");
        drop(device);
        assert_eq!(lasting_holder(&image), None);
    }

    #[test]
    fn a_device_has_its_volatile_cache_again_for_its_next_user() {
        let folder = tempfile::tempdir().expect("a folder");
        let image = folder.path().join("device.img");
        std::fs::write(&image, vec![0; 1 << 20]).expect("written");
        let cache = |device: &LoopDevice| std::fs::read_to_string(cache_description(&device.path)).expect("readable");
        for _ in 0..TRIES_MAX {
            let device = attach(&image, None).expect("attached");
            let name = device.name.clone();
            describe_cache(&device.path, NO_VOLATILE_CACHE).expect("written");
            assert_eq!(cache(&device), "write through\n");
            drop(device);
            let left = std::fs::read_to_string(cache_description(Path::new(&name))).expect("readable");
            assert_eq!(left, "write back\n", "whoever attaches it");
            assert_eq!(lasting_holder(&image), None);
            // As of a trial that was killed.
            describe_cache(Path::new(&name), NO_VOLATILE_CACHE).expect("written");
            restore_caches();
            let left = std::fs::read_to_string(cache_description(Path::new(&name))).expect("readable");
            assert_eq!(left, "write back\n", "whoever looks for it");
            describe_cache(Path::new(&name), NO_VOLATILE_CACHE).expect("written");
            let next = attach(&image, None).expect("attached");
            if next.name == name {
                assert_eq!(cache(&next), "write back\n");
                return;
            }
            // Somebody else has it now, who must not go without flushes.
            describe_cache(&Path::new("/dev").join(name), VOLATILE_CACHE).expect("written");
        }
        panic!("none of {TRIES_MAX} loop devices came back");
    }

    #[test]
    fn a_device_has_the_sectors_that_it_is_given() {
        let folder = tempfile::tempdir().expect("a folder");
        let image = folder.path().join("device.img");
        std::fs::write(&image, vec![0; 1 << 20]).expect("written");
        for bytes in [4096, 512] {
            let device = attach(&image, Some(bytes)).expect("attached");
            assert_eq!(device.sector_bytes(), Some(bytes));
            drop(device);
            assert_eq!(lasting_holder(&image), None);
        }
    }

    #[test]
    fn many_at_once_get_one_each() {
        let folder = tempfile::tempdir().expect("a folder");
        let attach_one = |index: usize| {
            let image = folder.path().join(format!("{index}.img"));
            std::fs::write(&image, vec![0; 1 << 20]).expect("written");
            attach(&image, None).expect("attached")
        };
        let devices: Vec<LoopDevice> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|index| scope.spawn(move || attach_one(index))).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        });
        let names: std::collections::HashSet<_> = devices.iter().map(|device| &device.name).collect();
        assert_eq!(names.len(), 8);
    }
}
