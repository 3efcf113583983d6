//! Bcachefs, which needs a kernel and programs that few distributions have. Sources: bcachefs(8), fs/bcachefs.

use crate::filesystem::{Check, Filesystem, MIB, MountType, PLAIN, PLAIN_MOUNT, mounted};
use crate::signature::at;
use observe::durability::{Class, Durability};

const UNFLUSHED_BY: &str = "journal_flush_disabled";
const UNFLUSHED: &str = "`journal_flush_disabled`: fsync does not flush the journal";

pub(crate) const BCACHEFS: Filesystem = Filesystem {
    name: "bcachefs",
    package: "bcachefs-tools",
    mkfs: "mkfs.bcachefs",
    mkfs_flags: &["--quiet", "--force"],
    version: Some(("bcachefs", "version")),
    check: Some(Check { program: "fsck.bcachefs", flags: &["-n"] }),
    bytes_min: 64 * MIB,
    own_presets: &[mounted("compression-zstd", &["compression=zstd"], "data compressed by zstd")],
    mount: MountType {
        name: "bcachefs",
        hidden_defaults: "nodiscard",
        renamed: "journal_flush_disabled=1:journal_flush_disabled",
        durability: |options, _| {
            let mut said = options.iter().map(|option| option.split_once('=').unwrap_or((option.as_str(), "1")));
            let has_none = said.any(|(name, value)| name == UNFLUSHED_BY && value != "0");
            if has_none { Durability::because(Class::LosesRecent, UNFLUSHED) } else { Durability::full() }
        },
        ..PLAIN_MOUNT
    },
    mount_nodiscard: &["nodiscard"],
    modules: &["bcachefs"],
    signatures: &[at(
        "a bcachefs filesystem",
        // The superblock is in sector 8, the magic 24 bytes into it.
        0x1018,
        &[0xc6, 0x85, 0x73, 0xf6, 0x66, 0xce, 0x90, 0xa9, 0xd9, 0x6a, 0x60, 0xcf, 0x80, 0x3d, 0xf7, 0xef],
    )],
    ..PLAIN
};
