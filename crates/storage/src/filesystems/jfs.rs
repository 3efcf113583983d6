//! JFS. Sources: mkfs.jfs(8), fsck.jfs(8), fs/jfs and its `jfs_show_options`.

use crate::filesystem::{Check, Filesystem, MIB, MountType, PLAIN, PLAIN_MOUNT};
use crate::signature::at;
use observe::durability::{Class, Durability};

const NO_FLUSHES: &str =
    "jfs sends the device no flushes: a volatile write cache loses and reorders what fsync promised";

pub(crate) const JFS: Filesystem = Filesystem {
    name: "jfs",
    package: "jfsutils",
    mkfs: "mkfs.jfs",
    mkfs_flags: &["-q"],
    version: Some(("mkfs.jfs", "-V")),
    check: Some(Check { program: "fsck.jfs", flags: &["-n"] }),
    bytes_min: 16 * MIB,
    mount: MountType {
        name: "jfs",
        hidden_defaults: "integrity nodiscard errors=remount-ro",
        durability: |_, _| Durability::because(Class::MayCorrupt, NO_FLUSHES),
        ..PLAIN_MOUNT
    },
    modules: &["jfs"],
    // The kernel mounts no JFS for writing whose log has not been replayed, and replays none itself.
    repair_flags: |_| &["-p"],
    signatures: &[at("a jfs filesystem", 0x8000, b"JFS1"), at("a copy of a jfs superblock", 0xf000, b"JFS1")],
    ..PLAIN
};
