//! ZFS, which a directory may lie on. It is not made here: it has no mkfs and no mount of a device, `zpool create` makes a pool
//! that mounts itself.

use crate::filesystem::{MountType, PLAIN_MOUNT};
use crate::program::{self, Output};
use crate::signature::Found;
use observe::durability::{Class, Durability};
use observe::mountinfo::Mount;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

pub(crate) const ZFS: MountType =
    MountType { name: "zfs", durability, mounted_features, features_reach_images: true, ..PLAIN_MOUNT };

/// Parameters of its module by which it sends no flushes at all, or none for fsync (zfs(4)).
const WITHOUT_FLUSHES: [&str; 2] = ["zfs_nocacheflush", "zil_nocacheflush"];

/// By zfsprops(7), `sync`. At worst seconds are lost, as what a pool writes at a time is all there or not, while it flushes. What nobody
/// could look at is not called safe.
fn durability(_: &[String], features: &[String]) -> Durability {
    let has = |name: &str| features.iter().any(|feature| feature == name);
    let [never, not_for_fsync] = WITHOUT_FLUSHES;
    if has(never) {
        let why = "no flushes, so a volatile write cache loses and reorders what fsync promised";
        return Durability::because(Class::MayCorrupt, format!("zfs with `{never}`: {why}"));
    }
    let why = match features.iter().find_map(|feature| feature.strip_prefix("sync=")) {
        Some("standard" | "always") if has(not_for_fsync) => {
            "zfs with `zil_nocacheflush`: fsync sends no flush, and a volatile write cache loses what it promised"
        }
        Some("standard" | "always") => return Durability::full(),
        Some("disabled") => {
            "zfs with `sync=disabled`: fsync waits for nothing, and the last seconds of writes are lost"
        }
        _ => {
            "zfs whose property `sync` can't be read by `zfs get`: with `sync=disabled` the last seconds of writes are lost"
        }
    };
    Durability::because(Class::LosesRecent, why)
}

/// The mount's source is its dataset.
fn mounted_features(mount: &Mount) -> Vec<String> {
    features(&mount.source)
}

/// Where udev has a link to each volume by the name of its dataset, with `+` for a blank (zvol_id).
const VOLUMES: &str = "/dev/zvol";

/// Of a volume of a pool, which is a block device such as `zd16`: a flush of it is what fsync is on a dataset.
pub(crate) fn of_volume(device: &str) -> Durability {
    let volumes = Path::new(VOLUMES);
    durability(&[], &features(&dataset_of(volumes, volumes, device).unwrap_or_default()))
}

/// By the link in this folder, or in one below, that leads to the device.
fn dataset_of(volumes: &Path, folder: &Path, device: &str) -> Option<String> {
    folder.read_dir().into_iter().flatten().flatten().find_map(|entry| {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            return dataset_of(volumes, &path, device);
        }
        let is_its = std::fs::read_link(&path).ok()?.file_name().is_some_and(|name| name == device);
        let dataset = path.strip_prefix(volumes).ok().filter(|_| is_its)?;
        Some(dataset.to_string_lossy().replace('+', " "))
    })
}

/// The module's parameters are those of all pools.
fn features(dataset: &str) -> Vec<String> {
    let words = ["get", "-H", "-o", "value", "sync", dataset];
    let said = program::run("zfs", &words, "zfsutils-linux").and_then(Output::success);
    let is_set = |name: &&str| {
        let text = std::fs::read_to_string(format!("/sys/module/zfs/parameters/{name}"));
        text.is_ok_and(|value| value.trim() != "0")
    };
    let parameters = WITHOUT_FLUSHES.into_iter().filter(is_set).map(String::from);
    said.map(|value| format!("sync={}", value.trim())).into_iter().chain(parameters).collect()
}

/// The command that says which version its programs have.
pub(crate) const VERSION: (&str, &str) = ("zfs", "version");

/// Four labels of 256 KiB, two at each end; in the upper half of each a ring of uberblocks a KiB apart, which begin with
/// 0x00bab10c as 64 bits in the byte order of their maker (sys/vdev_impl.h, sys/uberblock_impl.h).
const LABEL_BYTES: u64 = 256 << 10;
const MAGICS: [[u8; 8]; 2] = [0x00ba_b10c_u64.to_le_bytes(), 0x00ba_b10c_u64.to_be_bytes()];

/// All uberblocks on a device of so many bytes.
pub(crate) fn uberblocks(device: &impl FileExt, bytes: u64) -> io::Result<Vec<Found>> {
    let aligned = bytes & !(LABEL_BYTES - 1);
    let mut found = Vec::new();
    let labels = [Some(0), Some(LABEL_BYTES), aligned.checked_sub(2 * LABEL_BYTES), aligned.checked_sub(LABEL_BYTES)];
    for label in labels.into_iter().flatten().filter(|label| label + LABEL_BYTES <= bytes) {
        let start = label + LABEL_BYTES / 2;
        let mut ring = vec![0; (LABEL_BYTES / 2) as usize];
        device.read_exact_at(&mut ring, start)?;
        let slots = ring.chunks_exact(1024).enumerate();
        for (slot, _) in slots.filter(|(_, block)| MAGICS.iter().any(|magic| block.starts_with(magic))) {
            found.push(Found { name: "a member of a ZFS pool", offset: start + slot as u64 * 1024, length: 8 });
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_volume_is_known_by_its_link() {
        let volumes = tempfile::tempdir().expect("a folder");
        std::fs::create_dir_all(volumes.path().join("tank/vms")).expect("made");
        for (link, device) in [("disk+1", "zd16"), ("disk+1-part1", "zd16p1"), ("swap", "zd0")] {
            let to = Path::new("../../..").join(device);
            std::os::unix::fs::symlink(to, volumes.path().join("tank/vms").join(link)).expect("made");
        }
        let dataset = |device: &str| dataset_of(volumes.path(), volumes.path(), device);
        assert_eq!(dataset("zd16").as_deref(), Some("tank/vms/disk 1"));
        assert_eq!(dataset("zd1"), None);
    }

    #[test]
    fn one_uberblock_is_enough() {
        const BYTES: u64 = 5 << 20;
        for offset in [(128 << 10) + 5 * 1024, BYTES - (128 << 10)] {
            let file = tempfile::tempfile().expect("a file");
            file.set_len(BYTES).expect("sized");
            file.write_all_at(&MAGICS[1], offset).expect("written");
            assert_eq!(uberblocks(&file, BYTES).expect("readable")[0].offset, offset);
        }
    }
}
