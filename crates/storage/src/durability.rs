//! What a power cut may take, from filesystem, options and device. The engine's own settings are the workload's affair.
//!
//! A class says what *fsync* promises, because that is what an engine's commit stands on; what happens to data that was
//! never flushed is told in the reasons. Sources: the kernel's Documentation/filesystems/*, and each one's fsync.

use crate::device::Device;
use crate::filesystem::MountType;
use crate::filesystems;
use crate::options;
use crate::readback;
use crate::settings::{DiskCache, StorageSettings};
use observe::durability::{Class, Durability};
use observe::mountinfo::{self, Mount};
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;

/// Where the kernel lists block devices.
const CLASS: &str = "/sys/class/block";

/// Drivers whose disks are memory: zram, brd and null_blk.
const IN_MEMORY: [&str; 3] = ["zram", "ram", "nullb"];

/// Devices on files on devices: more floors than anybody builds.
const FLOORS_MAX: u32 = 8;

/// The durability class of a scenario's storage, with its reasons.
pub fn durability(settings: &StorageSettings) -> Durability {
    with_features(settings, settings.mount_asked(), &settings.features())
}

/// The same once it is mounted: mkfs may have left out what nobody asked it to, as ext4's journal on a small device, and have
/// written mount options into the superblock.
pub(crate) fn of_mounted(settings: &StorageSettings, mount: &Mount) -> Durability {
    let kind = settings.mount_type();
    let features = [settings.features(), mounted_features(kind, mount)].concat();
    with_features(settings, with_unasked(kind, settings.mount_asked(), mount), &features)
}

/// These options and those that hold without being asked: superblocks have some of their own. A mount of ext4 shows none
/// (tune2fs(8), `-o`; mke2fs.conf(5), `default_mntopts`).
fn with_unasked(kind: &MountType, mut asked: Vec<String>, mount: &Mount) -> Vec<String> {
    let known: Vec<String> = asked.iter().map(|option| options::canonical(kind, option)).collect();
    asked.extend(readback::listed_options(mount).into_iter().filter(|option| !known.contains(option)));
    asked
}

fn with_features(settings: &StorageSettings, options: Vec<String>, features: &[String]) -> Durability {
    match settings.device {
        Device::Tmpfs => judge(settings.mount_type(), &[], &[]),
        Device::Dir => {
            settings.path.as_deref().map_or_else(Durability::full, |path| of_path(path, mounted_features, FLOORS_MAX))
        }
        Device::Virtual => of_virtual(settings, options, features),
        Device::Loop => {
            let mut found = judge(settings.mount_type(), &options, features);
            if found.class == Class::KeepsAcknowledged {
                found.reasons.push("loop device: flushes reach the host's filesystem, which passes them on".into());
            }
            found
        }
        Device::Block => {
            let device = settings.path.as_deref().and_then(|path| path.canonicalize().ok());
            let name = device.as_deref().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
            let below = under_device(Path::new(CLASS), &name, FLOORS_MAX);
            judge(settings.mount_type(), &options, features).and(below)
        }
    }
}

/// Of the drive that is imitated.
fn of_virtual(settings: &StorageSettings, mut options: Vec<String>, features: &[String]) -> Durability {
    let kind = settings.mount_type();
    let on_disk = match settings.cache {
        DiskCache::Volatile => "virtual disk with a volatile cache: flushes make its content durable",
        DiskCache::WriteThrough => {
            // Who sends no flushes to a disk that needs none loses nothing by it.
            options.retain(|option| !kind.flushless.contains(&&**option));
            "virtual disk without a volatile cache: what was written is durable, and no flushes are sent"
        }
        DiskCache::Lying => {
            let why = "virtual disk with cache = \"lying\": it acknowledges flushes and loses and reorders what fsync promised";
            return judge(kind, &options, features).and(Durability::because(Class::MayCorrupt, why));
        }
    };
    let mut found = judge(kind, &options, features);
    if found.class == Class::KeepsAcknowledged {
        found.reasons.push(on_disk.into());
    }
    found
}

/// Of what a folder lies on in which another filesystem keeps all. Of the device below it is asked whether that is
/// memory, and no more: what lies on itself would be asked without end.
pub(crate) fn below(folder: &Path) -> Durability {
    of_path(folder, mounted_features, 0)
}

/// The durability of what a path lies on, as it is mounted now, with these of its features, and of the device below.
fn of_path(path: &Path, features: fn(&MountType, &Mount) -> Vec<String>, floors: u32) -> Durability {
    let path = path.canonicalize().unwrap_or_else(|_| path.into());
    let mounts = mountinfo::read();
    let Some(mount) = mountinfo::mount_of(&mounts, &path) else { return of_unknown("an unknown mount") };
    let options: Vec<String> = mount.options.iter().chain(&mount.super_options).cloned().collect();
    let own = filesystems::mount_type(&mount.filesystem).map_or_else(
        || of_unknown(&mount.filesystem),
        |kind| judge(kind, &with_unasked(kind, options, mount), &features(kind, mount)),
    );
    own.and(under_device(Path::new(CLASS), &block_device(mount).unwrap_or_default(), floors))
}

/// What lies below a block device of this name: memory loses all, whatever lies between, and a loop device is its file. `class` is where
/// the kernel lists devices.
fn under_device(class: &Path, name: &str, floors: u32) -> Durability {
    let is_numbered = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit());
    if IN_MEMORY.iter().any(|driver| name.strip_prefix(driver).is_some_and(is_numbered)) {
        return Durability::because(Class::LosesAll, format!("{name}: memory only"));
    }
    if floors == 0 || name.is_empty() {
        return Durability::full();
    }
    let folder = class.join(name);
    let folder = folder.canonicalize().unwrap_or(folder);
    let disk = folder.parent().filter(|_| folder.join("partition").exists()).unwrap_or(folder.as_path());
    let own = if is_kept_from_flushes(disk) {
        let why = "gets no flushes, as the kernel was told (queue/write_cache) that its volatile write cache is none";
        Durability::because(Class::MayCorrupt, format!("{name} {why}"))
    } else {
        Durability::full()
    };
    if name.strip_prefix("zd").is_some_and(is_numbered) {
        let volume = disk.file_name().unwrap_or_default().to_string_lossy();
        return own.and(filesystems::of_zfs_volume(&volume));
    }
    let file = std::fs::read_to_string(disk.join("loop/backing_file")).ok();
    if let Some(file) = file.and_then(|file| Path::new(file.trim_end_matches('\n')).canonicalize().ok()) {
        let is_device = file.metadata().is_ok_and(|data| data.file_type().is_block_device());
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let file = if is_device { under_device(class, &name, floors - 1) } else { under_files(&file, floors - 1) };
        return own.and(file);
    }
    let disks = disk.join("slaves").read_dir().into_iter().flatten().flatten();
    let each = disks.map(|disk| under_device(class, &disk.file_name().to_string_lossy(), floors - 1));
    each.fold(own, Durability::and)
}

/// Whether the kernel ends flushes before they reach a disk, as somebody has told it that there is no volatile cache
/// (Documentation/ABI/stable/sysfs-block, `write_cache`), and the disk says that there is: SCSI's and virtio's do. No
/// driver has writes past a cache (`fua`) without having one, and what is told changes nothing of that: NVMe's have it.
/// A loop device's cache is that of its file, and whoever has the device next inherits what was told of it.
fn is_kept_from_flushes(disk: &Path) -> bool {
    let says = |file: &Path, words: &str| std::fs::read_to_string(file).is_ok_and(|text| text.starts_with(words));
    let scsi = disk.join("device/scsi_disk").read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
    let mut told_by = scsi.chain([disk.to_path_buf()]).map(|folder| folder.join("cache_type"));
    let is_known = says(&disk.join("queue/fua"), "1") || disk.join("loop/backing_file").exists();
    (is_known || told_by.any(|file| says(&file, "write back")))
        && says(&disk.join("queue/write_cache"), "write through")
}

/// The block device of a mount, by its name in `/sys/class/block`; btrfs shows a made-up number, so its source is asked too.
pub(crate) fn block_device(mount: &Mount) -> Option<String> {
    let (major, minor) = mount.device;
    let numbered = Path::new("/sys/dev/block").join(format!("{major}:{minor}"));
    let named = Path::new(&mount.source).canonicalize().ok().filter(|path| path.starts_with("/dev"));
    let path = numbered.canonicalize().ok().or(named)?;
    path.file_name().map(|name| name.to_string_lossy().into_owned())
}

fn mounted_features(kind: &MountType, mount: &Mount) -> Vec<String> {
    (kind.mounted_features)(mount)
}

/// What lies below image files in a folder: its class counts only when it is worse than the filesystem's under test; its
/// notes say nothing about that.
pub fn under_images(folder: &Path) -> Durability {
    under_files(folder, FLOORS_MAX)
}

fn under_files(path: &Path, floors: u32) -> Durability {
    let features: fn(&MountType, &Mount) -> Vec<String> =
        |kind, mount| if kind.features_reach_images { mounted_features(kind, mount) } else { Vec::new() };
    let mut host = of_path(path, features, floors);
    if host.class == Class::KeepsAcknowledged {
        host.reasons.clear();
    }
    host.reasons = host.reasons.iter().map(|reason| format!("the image file lies on: {reason}")).collect();
    host
}

/// Of what is mounted with these options, and was made with these features.
fn judge(kind: &MountType, options: &[String], features: &[String]) -> Durability {
    let flushless = options.iter().find(|option| kind.flushless.contains(&&***option));
    let with_flushes = (kind.durability)(options, features);
    let Some(option) = flushless else { return with_flushes };
    let why = "no flushes, so a volatile write cache loses and reorders what fsync promised";
    with_flushes.and(Durability::because(Class::MayCorrupt, format!("`{option}`: {why}")))
}

/// What nobody has looked at is not called safe.
fn of_unknown(name: &str) -> Durability {
    Durability::because(Class::MayCorrupt, format!("surefoot does not know what {name} keeps"))
}

/// Of a filesystem that keeps what it acknowledged, with what is to be known of its options.
pub(crate) fn noted(options: &[String], what: fn(&str) -> Option<&str>) -> Durability {
    let note = |option: &String| Some(format!("`{option}`: {}", what(option)?));
    Durability { class: Class::KeepsAcknowledged, reasons: options.iter().filter_map(note).collect() }
}

/// Of a filesystem that never has a journal.
pub(crate) fn without_journal(name: &str) -> Durability {
    let why = "has no journal: metadata is written in no order, and fsck may drop or mix files";
    Durability::because(Class::MayCorrupt, format!("{name} {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(filesystem: &str, preset: Option<&str>, mount: &[&str], expect: Class, reason: &str) {
        let settings = StorageSettings {
            filesystem: filesystem.into(),
            preset: preset.map(str::to_string),
            mount: mount.iter().map(|word| (*word).to_string()).collect(),
            ..StorageSettings::default()
        };
        let found = durability(&settings);
        assert_eq!(found.class, expect, "{settings:?}");
        assert!(found.reasons.iter().any(|found| found.contains(reason)), "{:?}", found.reasons);
    }

    #[test]
    fn classes() {
        use Class::{KeepsAcknowledged, LosesAll, LosesRecent, MayCorrupt};
        check("ext4", None, &[], KeepsAcknowledged, "loop device");
        check("xfs", None, &["noatime"], KeepsAcknowledged, "loop device");
        check("ext2", None, &[], MayCorrupt, "no journal");
        check("ext4", Some("no-journal"), &[], MayCorrupt, "without a journal");
        check("ext4", Some("nobarrier"), &[], MayCorrupt, "`nobarrier`");
        check("ext3", None, &["barrier=0"], MayCorrupt, "`barrier=0`");
        check("ext3", Some("writeback"), &[], KeepsAcknowledged, "old blocks");
        check("btrfs", Some("nodatacow"), &[], KeepsAcknowledged, "torn block");
        check("btrfs", None, &["nobarrier"], MayCorrupt, "no flushes");
        check("jfs", None, &[], MayCorrupt, "no flushes");
        check("f2fs", None, &[], KeepsAcknowledged, "posix");
        check(
            "f2fs",
            None,
            &["checkpoint=disable:10%", "fsync_mode=strict"],
            LosesAll,
            "as it was when it was mounted",
        );
        check("f2fs", None, &["checkpoint=disable", "nobarrier"], LosesAll, "as it was when it was mounted");
        check("f2fs", None, &["disable_roll_forward"], LosesRecent, "does not come back");
        check("ext4", None, &["norecovery"], MayCorrupt, "without the journal");
        check("ext3", None, &["noload"], MayCorrupt, "without the journal");
        check("bcachefs", None, &["journal_flush_disabled"], LosesRecent, "does not flush");
        check("bcachefs", None, &["journal_flush_disabled=1"], LosesRecent, "does not flush");
        check("bcachefs", None, &["journal_flush_disabled=0"], KeepsAcknowledged, "loop device");
    }

    /// Its mkfs may write options for every mount, and the class was that of those that the mount was asked for.
    #[test]
    fn what_a_mount_shows_counts_though_nobody_asked_it() {
        let settings = StorageSettings { filesystem: "bcachefs".into(), ..StorageSettings::default() };
        let class = |super_options: &[&str]| {
            let mount = Mount {
                device: (0, 0),
                mount_point: "/m".into(),
                options: vec!["rw".into()],
                filesystem: settings.filesystem.clone(),
                source: "none".into(),
                super_options: super_options.iter().map(ToString::to_string).collect(),
            };
            of_mounted(&settings, &mount).class
        };
        assert_eq!(class(&["rw"]), Class::KeepsAcknowledged);
        assert_eq!(class(&["rw", "journal_flush_disabled"]), Class::LosesRecent);
    }

    /// Found by power cuts: such images do not mount, whatever their disk's cache, and were promised to keep all.
    #[test]
    fn a_commit_that_is_not_waited_for_is_told_by_a_sum_of_all_its_blocks_alone() {
        let class = |filesystem: &str, features: &str| {
            let mount = ["data=journal", "journal_async_commit"].map(String::from).to_vec();
            let mkfs = if features.is_empty() { Vec::new() } else { vec!["-O".into(), features.into()] };
            durability(&StorageSettings { filesystem: filesystem.into(), mount, mkfs, ..StorageSettings::default() })
                .class
        };
        assert_eq!(class("ext4", ""), Class::MayCorrupt);
        assert_eq!(class("ext4", "^metadata_csum"), Class::KeepsAcknowledged);
        assert_eq!(class("ext3", ""), Class::KeepsAcknowledged);
        assert_eq!(class("ext3", "metadata_csum"), Class::MayCorrupt);
    }

    #[test]
    fn a_virtual_disk_is_as_its_cache() {
        let found = |cache, mount: &str| {
            let mount = vec![mount.into()];
            durability(&StorageSettings { device: Device::Virtual, cache, mount, ..StorageSettings::default() }).class
        };
        assert_eq!(found(DiskCache::Volatile, "noatime"), Class::KeepsAcknowledged);
        assert_eq!(found(DiskCache::Volatile, "nobarrier"), Class::MayCorrupt);
        assert_eq!(found(DiskCache::WriteThrough, "nobarrier"), Class::KeepsAcknowledged);
        assert_eq!(found(DiskCache::Lying, "noatime"), Class::MayCorrupt);
        let filesystem = "f2fs".into();
        let mount = vec!["checkpoint=disable".into()];
        let (device, cache) = (Device::Virtual, DiskCache::Lying);
        let none = StorageSettings { device, cache, filesystem, mount, ..StorageSettings::default() };
        assert_eq!(durability(&none).class, Class::LosesAll);
    }

    #[test]
    fn what_a_pool_says_of_its_dataset_counts() {
        let kind = filesystems::mount_type("zfs").expect("it is known");
        let class =
            |features: &[&str]| judge(kind, &[], &features.iter().map(ToString::to_string).collect::<Vec<_>>()).class;
        assert_eq!(class(&["sync=standard"]), Class::KeepsAcknowledged);
        assert_eq!(class(&["sync=always"]), Class::KeepsAcknowledged);
        assert_eq!(class(&["sync=disabled"]), Class::LosesRecent);
        assert_eq!(class(&[]), Class::LosesRecent, "nobody could look");
        assert_eq!(class(&["sync=always", "zil_nocacheflush"]), Class::LosesRecent, "fsync flushes no cache");
        assert_eq!(class(&["sync=always", "zfs_nocacheflush"]), Class::MayCorrupt, "nothing does");
        assert!(kind.features_reach_images, "an image's flush is an fsync there");
    }

    /// A folder of a container that was started so had been called safe by newer kernels' name.
    #[test]
    fn an_overlay_whose_fsync_does_nothing_loses_all_by_either_name() {
        let kind = filesystems::mount_type("overlay").expect("it is known");
        let class = |option: &str| judge(kind, &["rw", "metacopy=on", option].map(String::from), &[]).class;
        assert_eq!(["volatile", "fsync=volatile"].map(class), [Class::LosesAll; 2]);
        assert_eq!(["fsync=auto", "fsync=strict", "xino=on"].map(class), [Class::KeepsAcknowledged; 3]);
    }

    /// The root of a live system lies in memory, and images on it had been called safe.
    #[test]
    fn an_overlay_is_what_its_upper_folder_lies_on() {
        let kind = filesystems::mount_type("overlay").expect("it is known");
        let of = |upper: &str| judge(kind, &["rw".to_string(), format!("upperdir={upper}")], &[]);
        assert_eq!(of("/dev/shm").class, Class::LosesAll);
        assert_eq!(of("/dev/shm").reasons, ["overlay, whose upper folder lies on: tmpfs: memory only"]);
        assert_eq!(of("/proc").class, Class::MayCorrupt);
        for unseen in ["/no/such/folder", "src"] {
            assert_eq!(of(unseen).class, Class::KeepsAcknowledged, "{unseen}");
        }
    }

    /// A study on /dev/ram0 had been called as safe as one on a disk.
    #[test]
    fn a_device_in_memory_loses_all_whatever_lies_between() {
        let class = tempfile::tempdir().expect("a folder");
        let memory = tempfile::NamedTempFile::new_in("/dev/shm").expect("memory");
        for stands_on in
            ["sda/slaves", "rbd0/slaves", "dm-0/slaves/sda", "dm-1/slaves/zram0", "md0/slaves/dm-1", "loop7/loop"]
        {
            std::fs::create_dir_all(class.path().join(stands_on)).expect("made");
        }
        let file = format!("{}\n", memory.path().display());
        std::fs::write(class.path().join("loop7/loop/backing_file"), file).expect("written");
        let class_of = |device: &str| under_device(class.path(), device, FLOORS_MAX).class;
        for device in ["sda", "rbd0", "dm-0", ""] {
            assert_eq!(class_of(device), Class::KeepsAcknowledged, "{device}");
        }
        for device in ["zram0", "ram0", "nullb0", "dm-1", "md0", "loop7"] {
            assert_eq!(class_of(device), Class::LosesAll, "{device}");
        }
    }

    /// Set so for speed, a disk gets no flush, whatever a filesystem sends, and had been called as safe as others.
    #[test]
    fn a_disk_that_the_kernel_keeps_flushes_from_is_not_safe() {
        let class = tempfile::tempdir().expect("a folder");
        let write = |file: &str, text: &str| {
            let file = class.path().join(file);
            std::fs::create_dir_all(file.parent().expect("a folder")).and_then(|()| std::fs::write(&file, text))
        };
        for (disk, cache_type) in [("sda", "device/scsi_disk/0:0:0:0/cache_type"), ("vda", "cache_type")] {
            std::fs::create_dir_all(class.path().join("md0/slaves").join(disk)).expect("made");
            let found = |taken_for: &str, is: &str| {
                write(&format!("{disk}/queue/write_cache"), taken_for).expect("written");
                write(&format!("{disk}/{cache_type}"), is).expect("written");
                [disk, "md0"].map(|device| under_device(class.path(), device, FLOORS_MAX).class)
            };
            assert_eq!(found("write through\n", "write back\n"), [Class::MayCorrupt; 2], "{disk}");
            for cache in ["write back\n", "write through\n"] {
                assert_eq!(found(cache, cache), [Class::KeepsAcknowledged; 2], "{disk}");
            }
        }
        let nvme = |fua: &str, taken_for: &str| {
            write("nvme0n1/queue/fua", fua).expect("written");
            write("nvme0n1/queue/write_cache", taken_for).expect("written");
            under_device(class.path(), "nvme0n1", FLOORS_MAX).class
        };
        assert_eq!(nvme("1\n", "write through\n"), Class::MayCorrupt);
        assert_eq!(nvme("1\n", "write back\n"), Class::KeepsAcknowledged);
        assert_eq!(nvme("0\n", "write through\n"), Class::KeepsAcknowledged, "it has no volatile cache");
        write("loop8/loop/backing_file", "/no/such/file\n").expect("written");
        std::fs::create_dir_all(class.path().join("nvme0n1/slaves/zram0")).expect("made");
        for (taken_for, expected) in
            [("write back\n", Class::KeepsAcknowledged), ("write through\n", Class::MayCorrupt)]
        {
            write("loop8/queue/write_cache", taken_for).expect("written");
            assert_eq!(under_device(class.path(), "loop8", FLOORS_MAX).class, expected, "{taken_for}");
            assert_eq!(nvme("1\n", taken_for), Class::LosesAll, "what lies below counts all the same");
        }
    }

    /// Ext4 on a volume of a pool with `sync=disabled` had been called as safe as on a disk.
    #[test]
    fn a_volume_of_a_pool_is_asked_for_what_its_flushes_do() {
        let class = tempfile::tempdir().expect("a folder");
        std::fs::create_dir_all(class.path().join("dm-0/slaves/zd4095")).expect("made");
        for device in ["zd4095", "dm-0"] {
            let found = under_device(class.path(), device, FLOORS_MAX);
            assert_eq!(found.class, Class::LosesRecent, "{device}");
            assert!(found.reasons[0].contains("can't be read by `zfs get`"), "{:?}", found.reasons);
        }
    }

    #[test]
    fn memory_loses_all_and_a_directory_is_what_it_lies_on() {
        let tmpfs = StorageSettings { device: Device::Tmpfs, ..StorageSettings::default() };
        assert_eq!(durability(&tmpfs).class, Class::LosesAll);
        let dir =
            |path: &str| StorageSettings { device: Device::Dir, path: Some(path.into()), ..StorageSettings::default() };
        assert_eq!(durability(&dir("/dev/shm")).class, Class::LosesAll);
        assert_eq!(durability(&dir("/proc")).class, Class::MayCorrupt);
    }
}
