//! NILFS2. Sources: mkfs.nilfs2(8), include/uapi/linux/nilfs2_ondisk.h and `nilfs_show_options`.

use crate::filesystem::{Filesystem, MIB, MountType, NOBARRIER, PLAIN, PLAIN_MOUNT, mounted};
use crate::signature::{at, by_rule};

pub(crate) const NILFS2: Filesystem = Filesystem {
    name: "nilfs2",
    package: "nilfs-tools",
    mkfs: "mkfs.nilfs2",
    mkfs_flags: &["-q", "-f"],
    mkfs_nodiscard: &["-K"],
    mkfs_dry_runs: &["-n", "-V"],
    // nilfs-tools 2.2.9 open it for anybody.
    mkfs_opens_exclusively: false,
    version: Some(("mkfs.nilfs2", "-V")),
    // There is no checker that is ready for use; mounting rolls forward from the last checkpoint.
    check: None,
    // mkfs.nilfs2 2.2.9 wants 134221824 bytes, one page more than 128 MiB.
    bytes_min: 129 * MIB,
    own_presets: &[mounted("order-strict", &["order=strict"], "data in order of its writing"), NOBARRIER],
    mount: MountType {
        name: "nilfs2",
        hidden_defaults: "order=relaxed barrier nodiscard errors=remount-ro",
        ..PLAIN_MOUNT
    },
    modules: &["nilfs2"],
    signatures: &[
        at("a nilfs2 filesystem", 0x406, MAGIC),
        // `NILFS_SB2_OFFSET_BYTES`.
        by_rule("a copy of a nilfs2 superblock", |all| (all >> 12).checked_sub(1).map(|at| (at << 12) + 6), MAGIC),
    ],
    ..PLAIN
};

const MAGIC: &[u8] = &[0x34, 0x34];
