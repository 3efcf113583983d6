//! Block devices: their counters (kernel: block/stat), the disk under a path, the space used of a filesystem.
//!
//! Reads sysfs only and opens no device; writes nothing but what its caller wants flushed.

use crate::mountinfo;
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// The kernel counts sectors of this size whatever the device's own (block/stat).
const SECTOR_BYTES: u64 = 512;

const CLASS: &str = "/sys/class/block";

/// A device's counters since boot.
///
/// Of a device of the device mapper they are what the disks below got, added up: the mapper itself counts no flushes, and
/// what it splits or joins reaches the disks as they count it. A filesystem's one flush of a stripe over two disks is two
/// flushes here, a mirror's one write two writes. Busy is a disk's mean: it adds up over time where the largest of several
/// would not, and half a stripe that works alone is half a volume that works.
///
/// Several paths to one disk are that disk. The mapper's multipath is made of requests, and counts all of them itself, flushes too. That of
/// NVMe's driver counts nothing before Linux 6.2, and from then on flushes as reads: there the paths tell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Read requests completed.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Write requests completed.
    pub writes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Reads and writes that were joined to a request that waited already.
    pub merges: u64,
    /// Milliseconds in which at least one request was under way. Linux 5.0 to 6.9 count a whole tick of the clock for each start of one
    /// after a rest (`update_io_ticks`, before commit 99dc422335d8): a quick device looks busy all of the time.
    pub busy_milliseconds: u64,
    /// Milliseconds that all requests took, each by itself: it can't have been busy for longer. Unknown where flushes are not counted
    /// that may have kept it busy: before 5.5, and for a partition.
    pub request_milliseconds: Option<u64>,
    /// Discard requests and bytes; kernels before 4.18 count none.
    pub discards: Option<(u64, u64)>,
    /// Flush requests. Kernels before 5.5 count none, nor does any for a partition, for a device without a volatile cache,
    /// which needs none, or for one that hands on what it gets without a queue of requests (RAID, persistent memory).
    pub flushes: Option<u64>,
    /// Milliseconds that flushes took. Unknown where a layer over a disk may let them wait itself (dm-delay).
    pub flush_milliseconds: Option<u64>,
}

impl Counters {
    /// Reads a text in the form of `/sys/block/X/stat`; `None` when it is none.
    pub fn parse(text: &str) -> Option<Counters> {
        let fields: Vec<u64> = text.split_ascii_whitespace().map(|word| word.parse().ok()).collect::<Option<_>>()?;
        let at = |index: usize| fields.get(index).copied();
        let bytes = |index: usize| at(index).and_then(|sectors| sectors.checked_mul(SECTOR_BYTES));
        Some(Counters {
            reads: at(0)?,
            read_bytes: bytes(2)?,
            writes: at(4)?,
            write_bytes: bytes(6)?,
            merges: at(1)?.saturating_add(at(5)?),
            busy_milliseconds: at(9)?,
            request_milliseconds: [3, 7, 14, 16]
                .into_iter()
                .map(at)
                .try_fold(0, |sum: u64, of_kind| Some(sum.saturating_add(of_kind?))),
            discards: at(11).zip(bytes(13)),
            flushes: at(15),
            flush_milliseconds: at(16),
        })
    }

    /// A device's counters now, by its name in `/sys/class/block`. None where the kernel keeps none.
    pub fn read(device: &str) -> Option<Counters> {
        Counters::read_in(Path::new(CLASS), device)
    }

    /// What was asked of a device, whatever a mirror or a RAID of the mapper makes of it for its disks.
    pub fn asked(device: &str) -> Option<Counters> {
        Counters::own_in(Path::new(CLASS), device)
    }

    /// Whether the kernel counts for how long it is busy. Of a RAID of md it does not before Linux 5.9: so many requests take no tick of the
    /// clock by chance.
    pub fn tells_busy(&self) -> bool {
        const REQUESTS: u64 = 10_000;
        self.busy_milliseconds > 0 || self.reads.saturating_add(self.writes) < REQUESTS
    }

    /// As the kernel counts at the device itself, or at its paths.
    fn own_in(class: &Path, device: &str) -> Option<Counters> {
        let folder = class.join(in_sysfs(device));
        let own = Counters::parse(&std::fs::read_to_string(folder.join("stat")).ok()?)?;
        let paths =
            nvme_paths(class, device).iter().map(|path| Counters::own_in(class, path)).collect::<Option<Vec<_>>>()?;
        if !paths.is_empty() {
            return Some(own.over_paths(&paths));
        }
        if is_uncounted(&folder) {
            return None;
        }
        // Without a queue of requests a driver counts by itself or not at all (memory, a partition of several paths): 0 says nothing then.
        if own.reads == 0 && own.writes == 0 && !folder.join("mq").is_dir() && !folder.join("dm").is_dir() {
            return None;
        }
        let counted = counts_flushes(&folder);
        Some(Counters {
            flushes: own.flushes.filter(|_| counted),
            flush_milliseconds: own.flush_milliseconds.filter(|_| counted),
            request_milliseconds: own.request_milliseconds.filter(|_| !folder.join("partition").exists()),
            ..own
        })
    }

    fn read_in(class: &Path, device: &str) -> Option<Counters> {
        let (folder, own) = (class.join(in_sysfs(device)), Counters::own_in(class, device)?);
        if !folder.join("dm").is_dir() || folder.join("mq").is_dir() {
            return Some(own);
        }
        let disks = names(&folder.join("slaves"));
        // A partition's flushes are counted at its disk, and a disk with other holders works for them, too.
        let is_its_own = |disk: &String| {
            let folder = class.join(disk);
            !folder.join("partition").exists() && names(&folder.join("holders")).len() == 1
        };
        if disks.is_empty() || !disks.iter().all(is_its_own) {
            return Some(own);
        }
        // Over memory that counts nothing there is what the layer counts.
        let below = disks.iter().map(|disk| Counters::read_in(class, disk)).collect::<Option<Vec<_>>>();
        Some(below.map_or(own, |below| own.over(&below)))
    }

    /// These of a disk that has several paths, with what each of them counted. Time in which two were busy counts twice where the kernel tells
    /// no other.
    fn over_paths(self, paths: &[Counters]) -> Counters {
        let both = self.over(paths);
        Counters {
            busy_milliseconds: match self.busy_milliseconds {
                0 => paths.iter().map(|path| path.busy_milliseconds).sum(),
                known => known,
            },
            request_milliseconds: paths.iter().map(|path| path.request_milliseconds).sum(),
            flush_milliseconds: paths.iter().map(|path| path.flush_milliseconds).sum(),
            ..both
        }
    }

    /// These of a layer, with what the disks below it counted.
    fn over(self, below: &[Counters]) -> Counters {
        let sum = |of: &dyn Fn(&Counters) -> u64| below.iter().map(of).sum();
        let known = |of: &dyn Fn(&Counters) -> Option<u64>| below.iter().map(of).sum::<Option<u64>>();
        let discards = |of: &dyn Fn((u64, u64)) -> u64| known(&|disk| disk.discards.map(of));
        let one = below.len() == 1;
        Counters {
            reads: sum(&|disk| disk.reads),
            read_bytes: sum(&|disk| disk.read_bytes),
            writes: sum(&|disk| disk.writes),
            write_bytes: sum(&|disk| disk.write_bytes),
            merges: sum(&|disk| disk.merges),
            // A layer over one disk is that disk to all above it, with the time in which it lets requests wait.
            busy_milliseconds: if one {
                self.busy_milliseconds
            } else {
                sum(&|disk| disk.busy_milliseconds) / below.len() as u64
            },
            request_milliseconds: if one {
                self.request_milliseconds
            } else {
                known(&|disk| disk.request_milliseconds).map(|sum| sum / below.len() as u64)
            },
            discards: discards(&|both| both.0).zip(discards(&|both| both.1)),
            flushes: known(&|disk| disk.flushes),
            flush_milliseconds: known(&|disk| disk.flush_milliseconds).filter(|_| !one),
        }
    }
}

/// Whether somebody has switched the counting of requests off (`iostats` in queue-sysfs): the counters stand still then. Drivers without a queue of
/// requests count by themselves, whatever is said there. A partition is counted with its disk.
fn is_uncounted(folder: &Path) -> bool {
    let disk = if folder.join("partition").exists() { folder.join("..") } else { folder.to_path_buf() };
    let iostats = std::fs::read_to_string(disk.join("queue/iostats")).unwrap_or_default();
    disk.join("mq").is_dir() && iostats.trim_end() == "0"
}

/// Whether a 0 among a device's flushes means that none came: they "are not tracked for partitions" (block/stat), the
/// block layer drops them before it counts where the cache writes through (`submit_bio_noacct`), and only a device with a
/// queue of requests, which has a folder `mq`, counts them at all (block/blk-flush.c).
fn counts_flushes(folder: &Path) -> bool {
    let cache = std::fs::read_to_string(folder.join("queue/write_cache")).unwrap_or_default();
    !folder.join("partition").exists() && folder.join("mq").is_dir() && cache.trim_end() != "write through"
}

/// The paths to an NVMe namespace that several controllers may have (`nvme0n1`: `nvme0c0n1`, `nvme0c1n1`), which are hidden but in sysfs.
fn nvme_paths(class: &Path, device: &str) -> Vec<String> {
    let parts = device.strip_prefix("nvme").and_then(|rest| rest.split_once('n'));
    let Some((subsystem, namespace)) = parts else { return Vec::new() };
    let is_path = |name: &String| {
        let rest = name.strip_prefix("nvme").and_then(|rest| rest.strip_prefix(subsystem)?.strip_prefix('c'));
        let controller = rest.and_then(|rest| rest.strip_suffix(namespace)?.strip_suffix('n'));
        controller.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    names(class).into_iter().filter(is_path).collect()
}

/// The name that a device has in `/sys/class/block`, from `loop3` or `/dev/loop3` or a link to it.
pub fn device_name(device: &str) -> Option<String> {
    let name = match device.strip_prefix("/dev/") {
        None => device.to_string(),
        Some(_) => Path::new(device).canonicalize().ok()?.file_name()?.to_str()?.to_string(),
    };
    class(&name).exists().then_some(name)
}

/// The whole disk that holds a file or folder; `None` where there is none (tmpfs, network).
pub fn disk_under(path: &Path) -> Option<String> {
    let number = path.metadata().ok()?.dev();
    let folder = match (libc::major(number), libc::minor(number)) {
        // Filesystems over several devices (btrfs) have a number of their own; the mount table names a device.
        (0, _) => {
            let source = mountinfo::mount_under(path)?.source;
            class(&device_name(source.starts_with("/dev/").then_some(&source)?)?)
        }
        (major, minor) => PathBuf::from(format!("/sys/dev/block/{major}:{minor}")),
    };
    let folder = folder.canonicalize().ok()?;
    let disk = if folder.join("partition").exists() { folder.parent()? } else { &folder };
    Some(disk.file_name()?.to_str()?.to_string())
}

/// The disk below the file that a loop device is made of.
pub fn disk_below_loop(device: &str) -> Option<String> {
    let file = std::fs::read_to_string(class(device).join("loop/backing_file")).ok()?;
    disk_under(Path::new(file.trim_end_matches('\n')))
}

/// One of a device's settings: `queue/scheduler`, `device/model`, `size`. A partition has its disk's where it has none of its own.
pub fn attribute(device: &str, name: &str) -> Option<String> {
    attribute_in(Path::new(CLASS), device, name)
}

fn attribute_in(class: &Path, device: &str, name: &str) -> Option<String> {
    let folder = class.join(in_sysfs(device));
    let disk = Some(folder.join("..")).filter(|_| folder.join("partition").exists());
    let text =
        std::iter::once(folder).chain(disk).find_map(|folder| std::fs::read_to_string(folder.join(name)).ok())?;
    Some(text.trim().to_string()).filter(|text| !text.is_empty())
}

/// Bytes used and bytes free for unprivileged users on the filesystem at a path.
pub fn space(path: &Path) -> Option<(u64, u64)> {
    let facts = nix::sys::statvfs::statvfs(path).ok()?;
    let used = facts.blocks().saturating_sub(facts.blocks_free());
    Some((used.checked_mul(facts.fragment_size())?, facts.blocks_available().checked_mul(facts.fragment_size())?))
}

/// Bytes that a folder's files take on their disk: blocks that are allocated, a file with several names once, and nothing that is
/// mounted below it. None where the folder can't be read; files that vanish meanwhile don't count.
pub fn space_of_folder(folder: &Path) -> Option<u64> {
    /// `st_blocks` counts these, whatever the filesystem's own blocks are: stat(2).
    const BLOCK_BYTES: u64 = 512;
    let top = std::fs::symlink_metadata(folder).ok()?;
    let (mut bytes, mut open, mut seen) = (top.blocks() * BLOCK_BYTES, vec![folder.to_path_buf()], BTreeSet::new());
    std::fs::read_dir(folder).ok()?;
    while let Some(path) = open.pop() {
        let Ok(entries) = std::fs::read_dir(&path) else { continue };
        for entry in entries.flatten() {
            let Ok(facts) = entry.metadata() else { continue };
            if facts.dev() != top.dev() || facts.nlink() > 1 && !facts.is_dir() && !seen.insert(facts.ino()) {
                continue;
            }
            bytes += facts.blocks() * BLOCK_BYTES;
            if facts.is_dir() {
                open.push(entry.path());
            }
        }
    }
    Some(bytes)
}

/// Writes out all of the filesystem that a file is on.
///
/// # Errors
/// What the device refused.
#[cfg(target_os = "linux")]
pub fn flush_filesystem_of(file: &File) -> io::Result<()> {
    Ok(nix::unistd::syncfs(file)?)
}

/// Writes out all filesystems: only Linux can flush a single one.
///
/// # Errors
/// None.
#[cfg(not(target_os = "linux"))]
pub fn flush_filesystem_of(_file: &File) -> io::Result<()> {
    nix::unistd::sync();
    Ok(())
}

fn class(device: &str) -> PathBuf {
    Path::new(CLASS).join(in_sysfs(device))
}

/// sysfs writes the slashes of names like `cciss/c0d0` as exclamation marks.
fn in_sysfs(device: &str) -> String {
    device.replace('/', "!")
}

fn names(folder: &Path) -> Vec<String> {
    let entries = folder.read_dir().into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

#[cfg(test)]
mod tests;
