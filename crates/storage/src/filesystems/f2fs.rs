//! F2FS. Sources: mkfs.f2fs(8), the kernel's Documentation/filesystems/f2fs.rst.

use crate::filesystem::{Check, Filesystem, MIB, MountType, PLAIN, PLAIN_MOUNT, mounted};
use crate::signature::at;
use observe::durability::{Class, Durability};

pub(crate) const F2FS: Filesystem = Filesystem {
    name: "f2fs",
    package: "f2fs-tools",
    mkfs: "mkfs.f2fs",
    mkfs_flags: &["-q", "-f"],
    mkfs_nodiscard: &["-t", "0"],
    version: Some(("mkfs.f2fs", "-V")),
    check: Some(Check { program: "fsck.f2fs", flags: &["--dry-run"] }),
    bytes_min: 64 * MIB,
    own_presets: &[
        mounted("fsync-strict", &["fsync_mode=strict"], "fsync as careful as in ext4 and xfs"),
        mounted("fsync-posix", &["fsync_mode=posix"], "fsync promises what POSIX asks; the default"),
    ],
    mount: MountType {
        name: "f2fs",
        flushless: &["nobarrier", "fsync_mode=nobarrier"],
        durability: |options, _| {
            if options.iter().any(|option| option.starts_with("checkpoint=disable")) {
                let why = "`checkpoint=disable`: after a power cut all is as it was when it was mounted";
                return Durability::because(Class::LosesAll, why);
            }
            if options.iter().any(|option| option == "disable_roll_forward") {
                let why = "`disable_roll_forward`: what fsync flushed since the last checkpoint does not come back";
                return Durability::because(Class::LosesRecent, why);
            }
            if options.iter().any(|option| option == "fsync_mode=strict") {
                return Durability::full();
            }
            let note = "f2fs in its default `fsync_mode=posix`: fsync keeps a file's data, a rename may need its folder's fsync too";
            Durability::because(Class::KeepsAcknowledged, note)
        },
        ..PLAIN_MOUNT
    },
    mount_nodiscard: &["nodiscard"],
    // Before Linux 6.14 it asks for its checksums by an alias that only modprobe could resolve.
    modules: &["crc32_generic", "f2fs"],
    signatures: &[
        at("an f2fs filesystem", 0x400, &[0x10, 0x20, 0xf5, 0xf2]),
        at("a copy of an f2fs superblock", 0x1400, &[0x10, 0x20, 0xf5, 0xf2]),
    ],
    ..PLAIN
};
