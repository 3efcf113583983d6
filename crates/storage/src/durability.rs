//! What a power cut may take, from filesystem, options and device. The engine's own settings are the workload's affair.
//!
//! A class says what *fsync* promises, because that is what an engine's commit stands on; what happens to data that was
//! never flushed is told in the reasons. Sources: the kernel's Documentation/filesystems/*, and each one's fsync.

use crate::mkfs;
use crate::mountinfo::{self, Mount};
use crate::settings::{Device, DiskCache, StorageSettings};
use observe::durability::{Class, Durability};
use std::path::Path;

/// Mount options by which a filesystem sends no flushes.
const NO_BARRIER: &[&str] = &["nobarrier", "barrier=0", "barrier=none", "fsync_mode=nobarrier"];

/// The durability class of a scenario's storage, with its reasons.
#[must_use]
pub fn durability(settings: &StorageSettings) -> Durability {
    match settings.device {
        Device::Tmpfs => judge("tmpfs", &[], &[]),
        Device::Dir => settings.path.as_deref().map_or_else(Durability::full, of_path),
        Device::Virtual => of_virtual(settings),
        Device::Loop | Device::Block => {
            let mut found = judge(&settings.filesystem, &settings.mount_asked(), &mkfs::features(settings));
            if settings.device == Device::Loop && found.class == Class::KeepsAcknowledged {
                found.reasons.push("loop device: flushes reach the host's filesystem, which passes them on".into());
            }
            found
        }
    }
}

/// Of the drive that is imitated.
fn of_virtual(settings: &StorageSettings) -> Durability {
    let (mut options, features) = (settings.mount_asked(), mkfs::features(settings));
    let on_disk = match settings.cache {
        DiskCache::Volatile => "virtual disk with a volatile cache: flushes make its content durable",
        DiskCache::WriteThrough => {
            // Who sends no flushes to a disk that needs none loses nothing by it.
            options.retain(|option| !NO_BARRIER.contains(&&**option));
            "virtual disk without a volatile cache: what was written is durable, and no flushes are sent"
        }
        DiskCache::Lying => {
            let why = "virtual disk with cache = \"lying\": it acknowledges flushes and loses and reorders what fsync promised";
            return class(Class::MayCorrupt, why);
        }
    };
    let mut found = judge(&settings.filesystem, &options, &features);
    if found.class == Class::KeepsAcknowledged {
        found.reasons.push(on_disk.into());
    }
    found
}

/// The durability of what a path lies on, as it is mounted now.
pub(crate) fn of_path(path: &Path) -> Durability {
    let path = path.canonicalize().unwrap_or_else(|_| path.into());
    let mounts = mountinfo::read();
    mountinfo::mount_of(&mounts, &path).map_or_else(|| of_unknown("an unknown mount"), of_mount)
}

/// What lies below image files in a folder: its class counts only when it is worse than the filesystem's under test; its
/// notes say nothing about that.
#[must_use]
pub fn under_images(folder: &Path) -> Durability {
    let mut host = of_path(folder);
    if host.class == Class::KeepsAcknowledged {
        host.reasons.clear();
    }
    host.reasons = host.reasons.iter().map(|reason| format!("the image file lies on: {reason}")).collect();
    host
}

fn of_mount(mount: &Mount) -> Durability {
    let options: Vec<String> = mount.options.iter().chain(&mount.super_options).cloned().collect();
    judge(&mount.filesystem, &options, &[])
}

fn judge(filesystem: &str, options: &[String], features: &[String]) -> Durability {
    let has = |wanted: &[&str]| options.iter().find(|option| wanted.contains(&&***option)).cloned();
    if let Some(option) = has(NO_BARRIER) {
        return class(
            Class::MayCorrupt,
            format!("`{option}`: no flushes, so a volatile write cache loses and reorders what fsync promised"),
        );
    }
    match filesystem {
        "tmpfs" | "ramfs" => class(Class::LosesAll, "tmpfs: memory only"),
        "ext2" => class(
            Class::MayCorrupt,
            "ext2 has no journal: metadata is written in no order, and fsck may drop or mix files",
        ),
        "ext3" | "ext4" => of_ext(filesystem, options, features),
        "xfs" => Durability::full(),
        "btrfs" => of_btrfs(options),
        "f2fs" if has(&["fsync_mode=strict"]).is_none() => note(
            "f2fs in its default `fsync_mode=posix`: fsync keeps a file's data, a rename may need its folder's fsync too",
        ),
        "nilfs2" | "f2fs" | "reiserfs" => Durability::full(),
        "jfs" => class(
            Class::MayCorrupt,
            "jfs sends the device no flushes: a volatile write cache loses and reorders what fsync promised",
        ),
        "bcachefs" => match has(&["journal_flush_disabled"]) {
            Some(option) => class(Class::LosesRecent, format!("`{option}`: fsync does not flush the journal")),
            None => Durability::full(),
        },
        "zfs" => note("zfs: kept unless the dataset has sync=disabled, which is not looked at"),
        "overlay" => match has(&["volatile"]) {
            Some(_) => class(Class::LosesAll, "overlay with `volatile`: fsync does nothing"),
            None => note("overlay: as durable as the filesystem of its upper folder, which is not looked at"),
        },
        other => of_unknown(other),
    }
}

fn of_ext(filesystem: &str, options: &[String], features: &[String]) -> Durability {
    if !mkfs::has_journal(features) {
        return class(
            Class::MayCorrupt,
            format!("{filesystem} without a journal: metadata is written in no order, and fsck may drop or mix files"),
        );
    }
    let mut notes = Vec::new();
    for option in options {
        let what = match option.as_str() {
            "data=writeback" => "what fsync flushed is kept; files written since may show old blocks after a crash",
            "data=journal" => "data goes through the journal too",
            "noauto_da_alloc" | "auto_da_alloc=0" => "a file replaced without fsync may be empty after a crash",
            "journal_async_commit" => {
                "the commit block is not waited for; its checksum tells at replay whether all was there"
            }
            _ => continue,
        };
        notes.push(format!("`{option}`: {what}"));
    }
    Durability { class: Class::KeepsAcknowledged, reasons: notes }
}

fn of_btrfs(options: &[String]) -> Durability {
    let mut notes = Vec::new();
    for option in options {
        let what = match option.as_str() {
            "nodatacow" => {
                "data is overwritten in place and has no checksums: what fsync flushed is kept, a torn block is not noticed"
            }
            "nodatasum" => "data has no checksums: a damaged block is not noticed",
            _ => continue,
        };
        notes.push(format!("`{option}`: {what}"));
    }
    Durability { class: Class::KeepsAcknowledged, reasons: notes }
}

/// What nobody has looked at is not called safe.
fn of_unknown(name: &str) -> Durability {
    class(Class::MayCorrupt, format!("surefoot does not know what {name} keeps"))
}

fn class(class: Class, reason: impl Into<String>) -> Durability {
    Durability { class, reasons: vec![reason.into()] }
}

fn note(reason: &str) -> Durability {
    class(Class::KeepsAcknowledged, reason)
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
        use Class::{KeepsAcknowledged, LosesRecent, MayCorrupt};
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
        check("bcachefs", None, &["journal_flush_disabled"], LosesRecent, "does not flush");
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
