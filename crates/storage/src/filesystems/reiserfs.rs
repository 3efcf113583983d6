//! ReiserFS 3. Sources: mkreiserfs(8), reiserfsck(8), fs/reiserfs and its `reiserfs_show_options`.

use crate::filesystem::{Check, Filesystem, JOURNAL, MIB, MountType, ORDERED, PLAIN, PLAIN_MOUNT, WRITEBACK, mounted};
use crate::signature::at;

pub(crate) const REISERFS: Filesystem = Filesystem {
    name: "reiserfs",
    package: "reiserfsprogs",
    mkfs: "mkfs.reiserfs",
    mkfs_flags: &["-q", "-ff"],
    check: Some(Check { program: "fsck.reiserfs", flags: &["--check", "--yes"] }),
    bytes_min: 34 * MIB,
    own_presets: &[mounted("notail", &["notail"], "no packing of file tails"), JOURNAL, ORDERED, WRITEBACK],
    mount: MountType {
        name: "reiserfs",
        hidden_defaults: "data=ordered barrier=flush tail",
        flushless: &["nobarrier", "barrier=none"],
        ..PLAIN_MOUNT
    },
    modules: &["reiserfs"],
    signatures: &[at("a reiserfs filesystem", 0x1_0034, b"ReIsEr"), at("a reiserfs filesystem", 0x2034, b"ReIsEr")],
    ..PLAIN
};
