//! Who uses a device: mounts, swap, holders, and loop devices that lead to the same bytes.

use crate::linux;
use crate::loop_device::{self, Backing};
use observe::mountinfo::{self, Mount};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Loop devices over loop devices over files: more floors than anybody builds.
const FLOORS_MAX: u32 = 8;

/// Who uses a device of this number, in words.
pub(super) fn user(real: &Path, number: u64) -> Option<String> {
    user_by(real, number, &loop_device::attached(), FLOORS_MAX)
}

fn user_by(real: &Path, number: u64, loops: &[Backing], floors: u32) -> Option<String> {
    used_itself(real, number).or_else(|| used_elsewhere(number, loops, floors))
}

/// By its own name and number.
fn used_itself(real: &Path, number: u64) -> Option<String> {
    let (major, minor) = linux::major_minor(number);
    let sys = PathBuf::from(format!("/sys/dev/block/{major}:{minor}"));
    if let Some(point) = mounted_at(real, number) {
        return Some(format!("is mounted at {}", point.display()));
    }
    let swaps = std::fs::read_to_string("/proc/swaps").unwrap_or_default();
    if swap_files(&swaps).any(|file| file == real || file.metadata().is_ok_and(|data| data.rdev() == number)) {
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

/// By another device that leads to the same bytes. Whether two loop devices on one file overlap is not asked: who has the
/// file attached has a use for it.
fn used_elsewhere(number: u64, loops: &[Backing], floors: u32) -> Option<String> {
    if let Some(over) = loops.iter().find(|other| other.number != number && is_same_disk(other.backing_number, number))
    {
        return Some(format!("is what {} stands on{}", over.path.display(), mounted(over)));
    }
    let own = loops.iter().find(|own| own.number == disk_of(number))?;
    let shares = |other: &&Backing| other.number != own.number && other.file == own.file;
    if let Some(other) = loops.iter().find(shares) {
        return Some(format!("has its file attached as {}, too{}", other.path.display(), mounted(other)));
    }
    let swaps = std::fs::read_to_string("/proc/swaps").unwrap_or_default();
    let is_file = |file: PathBuf| file.metadata().is_ok_and(|data| (data.dev(), data.ino()) == own.file);
    if swap_files(&swaps).any(is_file) {
        return Some("stands on swap in use".into());
    }
    let below = own.backing_number;
    if below == 0 || floors == 0 {
        return None;
    }
    // All but this loop device itself, which is no stranger to what it stands on.
    let others: Vec<Backing> = loops.iter().filter(|other| other.number != own.number).cloned().collect();
    let (major, minor) = linux::major_minor(below);
    let path = Path::new("/sys/dev/block").join(format!("{major}:{minor}")).canonicalize().ok()?;
    let path = Path::new("/dev").join(path.file_name()?);
    user_by(&path, below, &others, floors - 1).map(|user| format!("stands on {}, which {user}", path.display()))
}

fn mounted(device: &Backing) -> String {
    let point = mounted_at(&device.path, device.number);
    point.map_or_else(String::new, |point| format!(", mounted at {}", point.display()))
}

/// btrfs shows a made-up number, so the source counts too.
fn mounted_at(device: &Path, number: u64) -> Option<PathBuf> {
    let number = linux::major_minor(number);
    let is_it = |mount: &Mount| mount.device == number || Path::new(&mount.source) == device;
    mountinfo::read().into_iter().find(is_it).map(|mount| mount.mount_point)
}

/// Whether two numbers are one device, or a disk and a partition of it.
fn is_same_disk(one: u64, other: u64) -> bool {
    one != 0 && (one == other || disk_of(one) == other || one == disk_of(other))
}

/// The whole disk of a partition; of any other device, itself.
fn disk_of(number: u64) -> u64 {
    let (major, minor) = linux::major_minor(number);
    let sys = Path::new("/sys/dev/block").join(format!("{major}:{minor}"));
    let disk = sys.canonicalize().ok().filter(|sys| sys.join("partition").exists());
    let number_of = |disk: &Path| {
        let text = std::fs::read_to_string(disk.join("dev")).ok()?;
        let (major, minor) = text.trim().split_once(':')?;
        Some(libc::makedev(major.parse().ok()?, minor.parse().ok()?))
    };
    disk.and_then(|part| number_of(part.parent()?)).unwrap_or(number)
}

/// What the text of `/proc/swaps` names.
fn swap_files(swaps: &str) -> impl Iterator<Item = PathBuf> {
    swaps.lines().skip(1).filter_map(|line| line.split_whitespace().next()).map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swap_is_known_by_its_name() {
        let swaps = "Filename\tType\tSize\tUsed\tPriority\n/dev/sda2   partition\t1\t0\t-2\n";
        assert_eq!(swap_files(swaps).collect::<Vec<_>>(), [Path::new("/dev/sda2")]);
    }

    #[test]
    fn a_loop_device_over_a_device_uses_it() {
        let backing = |number, file, backing_number| Backing {
            path: format!("/dev/loop{number}").into(),
            number,
            file,
            backing_number,
        };
        let loops = [backing(1792, (1, 5), 0), backing(1793, (1, 5), 0), backing(1794, (6, 7), 4242)];
        let user = |number| used_elsewhere(number, &loops, 1);
        assert_eq!(user(1792).as_deref(), Some("has its file attached as /dev/loop1793, too"));
        assert_eq!(user(4242).as_deref(), Some("is what /dev/loop1794 stands on"));
        assert_eq!(user(9), None);
    }
}
