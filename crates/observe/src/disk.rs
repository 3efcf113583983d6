//! Block devices: their counters (kernel: block/stat), the disk under a path, the space used of a filesystem.
//!
//! Reads sysfs only; opens no device.

use std::collections::BTreeSet;
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

    /// A device's counters now, by its name in `/sys/class/block`.
    pub fn read(device: &str) -> Option<Counters> {
        Counters::read_in(Path::new(CLASS), device)
    }

    fn read_in(class: &Path, device: &str) -> Option<Counters> {
        let folder = class.join(in_sysfs(device));
        let own = Counters::parse(&std::fs::read_to_string(folder.join("stat")).ok()?)?;
        if !folder.join("dm").is_dir() {
            let counted = counts_flushes(&folder);
            return Some(Counters {
                flushes: own.flushes.filter(|_| counted),
                flush_milliseconds: own.flush_milliseconds.filter(|_| counted),
                request_milliseconds: own.request_milliseconds.filter(|_| !folder.join("partition").exists()),
                ..own
            });
        }
        let disks = names(&folder.join("slaves"));
        // A partition's flushes are counted at its disk, and a disk with other holders works for them, too.
        let is_its_own = |disk: &String| {
            let folder = class.join(disk);
            !folder.join("partition").exists() && names(&folder.join("holders")).len() == 1
        };
        if disks.is_empty() || !disks.iter().all(is_its_own) {
            return Some(Counters { flushes: None, flush_milliseconds: None, ..own });
        }
        let below = disks.iter().map(|disk| Counters::read_in(class, disk)).collect::<Option<Vec<_>>>()?;
        Some(own.over(&below))
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

/// Whether a 0 among a device's flushes means that none came: they "are not tracked for partitions" (block/stat), the
/// block layer drops them before it counts where the cache writes through (`submit_bio_noacct`), and only a device with a
/// queue of requests, which has a folder `mq`, counts them at all (block/blk-flush.c).
fn counts_flushes(folder: &Path) -> bool {
    let cache = std::fs::read_to_string(folder.join("queue/write_cache")).unwrap_or_default();
    !folder.join("partition").exists() && folder.join("mq").is_dir() && cache.trim_end() != "write through"
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
        (0, _) => class(&mount_of(path)?.device_name()?),
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

/// One of a device's settings: `queue/scheduler`, `device/model`, `size`.
pub fn attribute(device: &str, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(class(device).join(name)).ok()?;
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

/// A line of the mount table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// Where it is mounted.
    pub point: PathBuf,
    /// Filesystem.
    pub kind: String,
    /// Device, or whatever the filesystem calls its source.
    pub source: String,
}

impl Mount {
    fn device_name(&self) -> Option<String> {
        device_name(self.source.starts_with("/dev/").then_some(&self.source)?)
    }
}

/// The mount that a path lies on.
pub fn mount_of(path: &Path) -> Option<Mount> {
    let path = path.canonicalize().ok()?;
    mount_in(&std::fs::read_to_string("/proc/self/mountinfo").ok()?, &path)
}

/// The mount that an absolute path lies on, in a text in the form of `/proc/self/mountinfo`.
pub fn mount_in(text: &str, path: &Path) -> Option<Mount> {
    let mounts = text.lines().filter_map(|line| {
        let (left, right) = line.split_once(" - ")?;
        let mut right = right.split(' ');
        let point = PathBuf::from(unescaped(left.split(' ').nth(4)?));
        Some(Mount { point, kind: right.next()?.to_string(), source: unescaped(right.next()?) })
    });
    // Of two on the same point the later one hides the earlier; `max_by_key` keeps the last of equals.
    mounts.filter(|mount| path.starts_with(&mount.point)).max_by_key(|mount| mount.point.components().count())
}

/// The kernel writes blank, tab, newline and backslash as three octal digits.
fn unescaped(text: &str) -> String {
    let mut parts = text.split('\\');
    let mut plain = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let code = part.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match code {
            Some(code) if code.is_ascii() => {
                plain.push(char::from(code));
                plain.push_str(&part[3..]);
            }
            _ => {
                plain.push('\\');
                plain.push_str(part);
            }
        }
    }
    plain
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
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_real_text_is_read() {
        let text = "   69741    32502  7675834    26930  1026370    26922 22565916    69646        0    46532   112292   131872       26 18419512     6079   303639     9636\n";
        let counters = Counters::parse(text).expect("it is one");
        assert_eq!((counters.reads, counters.read_bytes), (69_741, 7_675_834 * 512));
        assert_eq!((counters.writes, counters.write_bytes), (1_026_370, 22_565_916 * 512));
        assert_eq!(counters.busy_milliseconds, 46_532);
        assert_eq!(counters.request_milliseconds, Some(26_930 + 69_646 + 6079 + 9636));
        assert_eq!(counters.discards, Some((131_872, 18_419_512 * 512)));
        assert_eq!((counters.flushes, counters.flush_milliseconds), (Some(303_639), Some(9636)));
    }

    #[test]
    fn an_old_kernel_counts_no_discards_and_flushes() {
        let counters = Counters::parse("1 0 8 0 2 0 16 0 0 5 5").expect("eleven fields are enough");
        assert_eq!((counters.discards, counters.flushes, counters.request_milliseconds), (None, None, None));
        assert_eq!(Counters::parse("1 2 3"), None);
        assert_eq!(Counters::parse("1 0 8 0 2 0 16 0 0 x 5"), None);
    }

    /// A class of block devices: name, fields of `stat` (reads, writes, busy, flushes, their time), devices below.
    fn class_of(devices: &[(&str, [u64; 5], &[&str])]) -> tempfile::TempDir {
        let class = tempfile::tempdir().expect("a folder");
        let make = |path: PathBuf| std::fs::create_dir_all(path).expect("made");
        for (name, [reads, writes, busy, flushes, time], below) in devices {
            let folder = class.path().join(name);
            make(folder.join("holders"));
            let stat = format!("{reads} 0 8 0 {writes} 0 16 0 0 {busy} 0 0 0 0 0 {flushes} {time}");
            std::fs::write(folder.join("stat"), stat).expect("written");
            make(folder.join(if below.is_empty() { "mq" } else { "dm" }));
            for disk in *below {
                make(folder.join("slaves").join(disk));
                make(class.path().join(disk).join("holders").join(name));
            }
        }
        class
    }

    #[test]
    fn a_stripe_counts_what_its_disks_got() {
        let devices: [(&str, [u64; 5], &[&str]); 3] = [
            ("ubda", [1, 10, 100, 3, 7], &[]),
            ("ubdb", [2, 20, 200, 3, 8], &[]),
            ("dm-0", [3, 25, 900, 0, 0], &["ubda", "ubdb"]),
        ];
        let class = class_of(&devices);
        let counters = Counters::read_in(class.path(), "dm-0").expect("there");
        assert_eq!((counters.reads, counters.writes, counters.write_bytes), (3, 30, 32 * 512));
        assert_eq!((counters.flushes, counters.flush_milliseconds), (Some(6), Some(15)));
        assert_eq!((counters.busy_milliseconds, counters.discards), (150, Some((0, 0))));
        assert_eq!(counters.request_milliseconds, Some(7), "as busy, a disk's mean");
    }

    #[test]
    fn a_slowed_disk_is_as_busy_as_it_looks_from_above() {
        let devices: [(&str, [u64; 5], &[&str]); 5] = [
            ("ubda", [1, 10, 100, 3, 7], &[]),
            ("ubdb", [2, 20, 200, 3, 8], &[]),
            ("dm-0", [1, 13, 700, 0, 0], &["ubda"]),
            ("dm-1", [2, 23, 900, 0, 0], &["ubdb"]),
            ("dm-2", [3, 25, 1000, 0, 0], &["dm-0", "dm-1"]),
        ];
        let class = class_of(&devices);
        let read = |device| Counters::read_in(class.path(), device).expect("there");
        let (disk, stripe) = (read("dm-0"), read("dm-2"));
        assert_eq!(
            (disk.writes, disk.flushes, disk.flush_milliseconds, disk.busy_milliseconds),
            (10, Some(3), None, 700)
        );
        assert_eq!((stripe.writes, stripe.flushes, stripe.flush_milliseconds), (30, Some(6), None));
        assert_eq!(stripe.busy_milliseconds, 800);
        assert_eq!(disk.request_milliseconds, Some(0), "its own, and not the 7 of the disk below");
    }

    /// mdraid and persistent memory: each had 0 flushes for its commits, and the latter "does not flush".
    #[test]
    fn a_device_without_a_queue_of_requests_counts_no_flushes() {
        let devices: [(&str, [u64; 5], &[&str]); 2] =
            [("md0", [1, 10, 100, 0, 0], &[]), ("dm-0", [1, 10, 100, 0, 0], &["md0"])];
        let class = class_of(&devices);
        let flushes = || ["md0", "dm-0"].map(|name| Counters::read_in(class.path(), name).expect("there").flushes);
        assert_eq!(flushes(), [Some(0), Some(0)]);
        std::fs::remove_dir(class.path().join("md0/mq")).expect("removed");
        assert_eq!(flushes(), [None, None]);
    }

    #[test]
    fn what_requests_took_is_not_known_of_a_partition() {
        let devices: [(&str, [u64; 5], &[&str]); 1] = [("sda1", [1, 10, 100, 0, 0], &[])];
        let class = class_of(&devices);
        let read = || Counters::read_in(class.path(), "sda1").expect("there").request_milliseconds;
        assert_eq!(read(), Some(0));
        std::fs::write(class.path().join("sda1/partition"), "1").expect("written");
        assert_eq!(read(), None);
    }

    #[test]
    fn a_disk_with_other_users_is_not_counted_as_ours() {
        let devices: [(&str, [u64; 5], &[&str]); 3] = [
            ("sda", [1, 10, 100, 3, 7], &[]),
            ("dm-0", [5, 6, 70, 0, 0], &["sda"]),
            ("dm-1", [8, 9, 100, 0, 0], &["sda"]),
        ];
        let class = class_of(&devices);
        let counters = Counters::read_in(class.path(), "dm-0").expect("there");
        assert_eq!((counters.reads, counters.writes, counters.flushes), (5, 6, None));
    }

    #[test]
    fn the_nearest_mount_is_found() {
        let text = "27 1 254:0 / / rw - ext4 /dev/vda rw\n30 27 0:27 / /mnt/a\\040b rw shared:1 - btrfs /dev/loop1 rw\n31 27 0:28 / /mnt rw - tmpfs none rw\n";
        let at = |path: &str| mount_in(text, Path::new(path)).map(|mount| (mount.kind, mount.source));
        assert_eq!(at("/mnt/a b/c"), Some(("btrfs".into(), "/dev/loop1".into())));
        assert_eq!(at("/mnt/a"), Some(("tmpfs".into(), "none".into())));
        assert_eq!(at("/home"), Some(("ext4".into(), "/dev/vda".into())));
        assert_eq!(mount_in("", Path::new("/")), None);
    }

    #[test]
    fn memory_has_no_disk_under_it_and_an_unknown_device_no_name() {
        assert_eq!(disk_under(Path::new("/proc")), None);
        assert_eq!(device_name("no-such-device"), None);
        assert_eq!(Counters::read("no-such-device"), None);
    }

    /// Of this machine's devices; that there is none without a cache or no partition is no failure.
    #[test]
    fn flushes_are_counted_where_the_kernel_counts_them_only() {
        for entry in std::fs::read_dir("/sys/class/block").into_iter().flatten().flatten() {
            let (name, folder) = (entry.file_name().to_string_lossy().into_owned(), entry.path());
            let cache = std::fs::read_to_string(folder.join("queue/write_cache")).unwrap_or_default();
            let Some(counters) = Counters::read(&name) else { continue };
            let has_requests = folder.join("mq").is_dir() || folder.join("dm").is_dir();
            if folder.join("partition").exists() || cache.trim() == "write through" || !has_requests {
                assert_eq!(counters.flushes, None, "{name}");
            }
        }
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_parsers(text in "[ 0-9]{0,120}\\PC{0,10}", mounts in "([ -~\\\\é]{0,40}( - )?\n?){0,4}") {
            let _ = Counters::parse(&text);
            let _ = mount_in(&mounts, Path::new("/"));
        }

        #[test]
        fn unescaping_never_panics(text in "[\\\\0-9a-zé]{0,20}") {
            let _ = unescaped(&text);
        }
    }
}
