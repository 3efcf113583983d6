//! The filesystems, as a table: how each is made, mounted and checked, and its named configurations.
//!
//! A new filesystem is a row here; what the kernel shows of its mount options is in `options.rs`.

use crate::requirements::{self, Missing};

/// One filesystem.
#[derive(Debug, PartialEq)]
pub struct Filesystem {
    /// Its name, as in `storage.filesystem`.
    pub name: &'static str,
    /// The program that makes it.
    pub mkfs: &'static str,
    /// Flags for "say little and ask nothing".
    pub mkfs_flags: &'static [&'static str],
    /// Flags that keep mkfs from discarding the device's blocks.
    pub mkfs_nodiscard: &'static [&'static str],
    /// Whether mkfs opens the device exclusively (O_EXCL) itself, so that it can't run while we hold it. By strace, 2026-11-22:
    /// e2fsprogs 1.47, xfsprogs 6.1, btrfs-progs 6.2, f2fs-tools 1.15, jfsutils 1.1.15 and reiserfsprogs 3.6.27 do.
    pub mkfs_opens_exclusively: bool,
    /// The Debian package of its programs.
    pub package: &'static str,
    /// The type that the kernel mounts it by.
    pub mount_type: &'static str,
    /// Mount options that keep it from discarding, where that is not the default.
    pub mount_nodiscard: &'static [&'static str],
    /// The program that checks it without writing.
    pub check: &'static str,
    /// Its read-only flags.
    pub check_flags: &'static [&'static str],
    /// The checker's flags with which a boot runs it before the mount, where a mount alone does not recover from a crash; of ext
    /// only where there is no journal.
    pub repair_flags: &'static [&'static str],
    /// Mount options by which copies of one can be mounted side by side; none: their kernel part would take them for one.
    pub copy_options: Option<&'static [&'static str]>,
    /// Whether what it tells of its files' extents (FIEMAP) are places on its device.
    pub tells_places: bool,
    /// The program that tells its facts, unless the checker or the kernel does.
    pub facts: Option<&'static str>,
    /// The smallest device that mkfs accepts, in bytes.
    pub bytes_min: u64,
    /// The smallest external log, in bytes; none where it has no external log.
    pub external_log_bytes_min: Option<u64>,
    /// Mount options that users vary, for help.
    pub usual_options: &'static [&'static str],
    /// Presets of its own, without those that all have.
    own_presets: &'static [Preset],
    /// Why it can't be made and mounted this way.
    pub not_this_way: Option<&'static str>,
}

/// A named configuration.
#[derive(Debug, PartialEq)]
pub struct Preset {
    /// Its name, as in `storage.preset`.
    pub name: &'static str,
    /// Its options for mkfs.
    pub mkfs: &'static [&'static str],
    /// Its mount options.
    pub mount: &'static [&'static str],
    /// Size of its external log; 0: none.
    pub external_log_bytes: u64,
    /// What it is and does.
    pub help: &'static str,
}

impl Filesystem {
    /// All its presets: those that every filesystem has, then its own.
    #[must_use]
    pub fn presets(&self) -> Vec<&'static Preset> {
        GENERIC_PRESETS.iter().chain(self.own_presets).collect()
    }

    /// What this machine lacks to make and mount it: kernel support, programs.
    #[must_use]
    pub fn missing(&self) -> Vec<Missing> {
        requirements::of_filesystem(self)
    }

    pub(crate) fn is_ext(&self) -> bool {
        self.name.starts_with("ext")
    }
}

/// All filesystems.
#[must_use]
pub fn filesystems() -> &'static [Filesystem] {
    FILESYSTEMS
}

/// The filesystem of a name.
#[must_use]
pub fn filesystem(name: &str) -> Option<&'static Filesystem> {
    FILESYSTEMS.iter().find(|row| row.name == name)
}

/// Names of all rows, in their order.
pub(crate) const NAMES: &[&str] =
    &["ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "nilfs2", "jfs", "reiserfs", "bcachefs", "zfs"];

const MIB: u64 = 1 << 20;

/// Logs of the external-log presets: above the least of mkfs.xfs (64 MiB) and of ext4 (1024 blocks).
const PRESET_LOG_BYTES: u64 = 128 * MIB;

const fn mounted(name: &'static str, mount: &'static [&'static str], help: &'static str) -> Preset {
    Preset { name, mkfs: &[], mount, external_log_bytes: 0, help }
}

const fn made(name: &'static str, mkfs: &'static [&'static str], help: &'static str) -> Preset {
    Preset { name, mkfs, mount: &[], external_log_bytes: 0, help }
}

const GENERIC_PRESETS: &[Preset] = &[
    mounted("default", &[], "what mkfs and mount do when nobody says otherwise"),
    mounted("atime", &["strictatime"], "every read updates the access time"),
    mounted("noatime", &["noatime"], "no read updates the access time"),
    mounted(
        "relatime",
        &["relatime"],
        "a read updates the access time once a day or after a change; the kernel's default",
    ),
];

const JOURNAL: Preset =
    mounted("journal", &["data=journal"], "data goes through the journal too: written twice, in order");
const ORDERED: Preset =
    mounted("ordered", &["data=ordered"], "data reaches the disk before the metadata that names it");
const WRITEBACK: Preset = mounted(
    "writeback",
    &["data=writeback"],
    "only metadata is journalled; unflushed files may show old blocks after a crash",
);
const NOBARRIER: Preset = mounted(
    "nobarrier",
    &["nobarrier"],
    "no flushes to the device: fast, and corrupt after a power cut with a volatile cache",
);
const EXTERNAL_LOG: Preset = Preset {
    name: "external-log",
    mkfs: &[],
    mount: &[],
    external_log_bytes: PRESET_LOG_BYTES,
    help: "the journal on a device of its own",
};

const EXT: Filesystem = Filesystem {
    name: "ext4",
    mkfs: "mkfs.ext4",
    mkfs_flags: &["-q", "-F"],
    mkfs_nodiscard: &["-E", "nodiscard"],
    mkfs_opens_exclusively: true,
    package: "e2fsprogs",
    mount_type: "ext4",
    mount_nodiscard: &[],
    check: "e2fsck",
    check_flags: &["-f", "-n"],
    repair_flags: &["-f", "-y"],
    copy_options: Some(&[]),
    tells_places: true,
    facts: Some("dumpe2fs"),
    bytes_min: 2 * MIB,
    // Journals have 1024 blocks or more (JBD2_MIN_JOURNAL_BLOCKS), here of 4 KiB.
    external_log_bytes_min: Some(4 * MIB),
    usual_options: &["noatime", "data=", "commit=", "barrier=", "nodelalloc", "lazytime"],
    own_presets: &[
        JOURNAL,
        ORDERED,
        WRITEBACK,
        mounted("nodelalloc", &["nodelalloc"], "blocks are chosen at the write, not at the flush"),
        made("no-extents", &["-O", "^extents,^64bit"], "block maps as in ext3 instead of extents"),
        made("no-journal", &["-O", "^has_journal"], "no journal: needs fsck after a crash"),
        made("fast-commit", &["-O", "fast_commit"], "fsync writes a short logical record where it can"),
        NOBARRIER,
        EXTERNAL_LOG,
    ],
    not_this_way: None,
};

/// Rows whose kernel part is not on every machine share what does not differ.
const OTHER: Filesystem = Filesystem {
    external_log_bytes_min: None,
    mkfs_nodiscard: &[],
    mount_nodiscard: &[],
    repair_flags: &[],
    copy_options: None,
    tells_places: false,
    facts: None,
    usual_options: &["noatime"],
    own_presets: &[],
    ..EXT
};

static FILESYSTEMS: &[Filesystem] = &[
    Filesystem {
        name: "ext2",
        mkfs: "mkfs.ext2",
        mount_type: "ext2",
        bytes_min: MIB,
        external_log_bytes_min: None,
        usual_options: &["noatime"],
        own_presets: &[],
        ..EXT
    },
    Filesystem {
        name: "ext3",
        mkfs: "mkfs.ext3",
        mount_type: "ext3",
        usual_options: &["noatime", "data=", "commit=", "barrier="],
        own_presets: &[JOURNAL, ORDERED, WRITEBACK, NOBARRIER, EXTERNAL_LOG],
        ..EXT
    },
    EXT,
    Filesystem {
        name: "xfs",
        mkfs: "mkfs.xfs",
        mkfs_flags: &["-q", "-f"],
        mkfs_nodiscard: &["-K"],
        package: "xfsprogs",
        mount_type: "xfs",
        check: "xfs_repair",
        check_flags: &["-n"],
        copy_options: Some(&["nouuid"]),
        tells_places: true,
        facts: Some("xfs_info"),
        // mkfs.xfs refuses less since 5.19.
        bytes_min: 300 * MIB,
        external_log_bytes_min: Some(64 * MIB),
        usual_options: &["noatime", "logbsize=", "logbufs=", "allocsize=", "wsync", "lazytime"],
        own_presets: &[
            made("no-reflink", &["-m", "reflink=0"], "no shared extents, so no bookkeeping for them"),
            mounted("large-log-buffers", &["logbufs=8", "logbsize=256k"], "larger log writes"),
            mounted("wsync", &["wsync"], "names are made, changed and removed synchronously"),
            EXTERNAL_LOG,
        ],
        ..OTHER
    },
    Filesystem {
        name: "btrfs",
        mkfs: "mkfs.btrfs",
        mkfs_flags: &["-q", "-f"],
        mkfs_nodiscard: &["-K"],
        package: "btrfs-progs",
        mount_type: "btrfs",
        // Discards are on by themselves since Linux 6.2 where the device takes them.
        mount_nodiscard: &["nodiscard"],
        check: "btrfs",
        check_flags: &["check", "--readonly"],
        facts: Some("btrfs"),
        // mkfs.btrfs 6.2 with its default DUP metadata: 114294784 bytes, rounded up.
        bytes_min: 110 * MIB,
        usual_options: &["noatime", "compress=", "nodatacow", "commit=", "flushoncommit", "autodefrag"],
        own_presets: &[
            mounted("nodatacow", &["nodatacow"], "files are overwritten in place, without checksums"),
            mounted("nodatasum", &["nodatasum"], "data without checksums"),
            mounted("compress-zstd", &["compress=zstd"], "data compressed by zstd"),
            mounted("compress-lzo", &["compress=lzo"], "data compressed by LZO"),
            mounted("compress-zlib", &["compress=zlib"], "data compressed by zlib"),
            mounted("notreelog", &["notreelog"], "fsync commits the whole tree instead of a log"),
            NOBARRIER,
        ],
        ..OTHER
    },
    Filesystem {
        name: "f2fs",
        mkfs: "mkfs.f2fs",
        mkfs_flags: &["-q", "-f"],
        mkfs_nodiscard: &["-t", "0"],
        package: "f2fs-tools",
        mount_type: "f2fs",
        mount_nodiscard: &["nodiscard"],
        check: "fsck.f2fs",
        check_flags: &["--dry-run"],
        bytes_min: 64 * MIB,
        usual_options: &["noatime", "fsync_mode=", "mode=", "compress_algorithm="],
        own_presets: &[
            mounted("fsync-strict", &["fsync_mode=strict"], "fsync as careful as in ext4 and xfs"),
            mounted("fsync-posix", &["fsync_mode=posix"], "fsync promises what POSIX asks; the default"),
        ],
        ..OTHER
    },
    Filesystem {
        name: "nilfs2",
        mkfs: "mkfs.nilfs2",
        mkfs_flags: &["-q", "-f"],
        mkfs_nodiscard: &["-K"],
        // nilfs-tools 2.2.9 open it for anybody.
        mkfs_opens_exclusively: false,
        package: "nilfs-tools",
        mount_type: "nilfs2",
        // There is no checker that is ready for use; mounting rolls forward from the last checkpoint.
        check: "none",
        check_flags: &[],
        // mkfs.nilfs2 2.2.9 wants 134221824 bytes, one page more than 128 MiB.
        bytes_min: 129 * MIB,
        usual_options: &["noatime", "order=", "nobarrier"],
        own_presets: &[mounted("order-strict", &["order=strict"], "data in order of its writing"), NOBARRIER],
        ..OTHER
    },
    Filesystem {
        name: "jfs",
        mkfs: "mkfs.jfs",
        mkfs_flags: &["-q"],
        package: "jfsutils",
        mount_type: "jfs",
        check: "fsck.jfs",
        check_flags: &["-n"],
        // The kernel mounts no JFS for writing whose log has not been replayed, and replays none itself.
        repair_flags: &["-p"],
        bytes_min: 16 * MIB,
        ..OTHER
    },
    Filesystem {
        name: "reiserfs",
        mkfs: "mkfs.reiserfs",
        mkfs_flags: &["-q", "-ff"],
        package: "reiserfsprogs",
        mount_type: "reiserfs",
        check: "fsck.reiserfs",
        check_flags: &["--check", "--yes"],
        bytes_min: 34 * MIB,
        usual_options: &["noatime", "notail", "data=", "barrier="],
        own_presets: &[mounted("notail", &["notail"], "no packing of file tails"), JOURNAL, ORDERED, WRITEBACK],
        ..OTHER
    },
    Filesystem {
        name: "bcachefs",
        mkfs: "mkfs.bcachefs",
        mkfs_flags: &["--quiet", "--force"],
        mkfs_nodiscard: &[],
        package: "bcachefs-tools",
        mount_type: "bcachefs",
        mount_nodiscard: &["nodiscard"],
        check: "fsck.bcachefs",
        check_flags: &["-n"],
        bytes_min: 64 * MIB,
        usual_options: &["noatime", "compression=", "data_checksum=", "nocow"],
        own_presets: &[mounted("compression-zstd", &["compression=zstd"], "data compressed by zstd")],
        ..OTHER
    },
    Filesystem {
        name: "zfs",
        mkfs: "zpool",
        mkfs_flags: &[],
        package: "zfsutils-linux",
        mount_type: "zfs",
        check: "zpool",
        check_flags: &[],
        bytes_min: 64 * MIB,
        not_this_way: Some(
            "zfs has no mkfs and no mount of a device: `zpool create` makes a pool that mounts itself; \
             make one by hand and name a directory in it with device = \"dir\"",
        ),
        ..OTHER
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_are_the_rows() {
        assert_eq!(FILESYSTEMS.iter().map(|row| row.name).collect::<Vec<_>>(), NAMES);
    }

    #[test]
    fn presets_have_one_name_each() {
        for row in FILESYSTEMS {
            let presets = row.presets();
            let names: HashSet<_> = presets.iter().map(|preset| preset.name).collect();
            assert_eq!(names.len(), presets.len(), "{}", row.name);
        }
    }
}
