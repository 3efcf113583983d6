//! Minix, in its third version: small, without a journal, and with no mount option of its own. The kernel of `bench = "guest"` has it.
//!
//! Sources: mkfs.minix(8), include/linux/minix_fs.h, fs/minix (whose fsync is `generic_file_fsync`, which flushes).

use crate::durability::without_journal;
use crate::filesystem::{Check, Filesystem, MIB, MountType, PLAIN, PLAIN_MOUNT};
use crate::signature::{Signature, at};

pub(crate) const MINIX: Filesystem = Filesystem {
    name: "minix",
    package: "util-linux",
    mkfs: "mkfs.minix",
    mkfs_flags: &["-3"],
    version: Some(("mkfs.minix", "-V")),
    check: Some(Check { program: "fsck.minix", flags: &["-f"] }),
    bytes_min: MIB,
    has_journal: |_| false,
    mount: MountType { name: "minix", flushless: &[], durability: |_, _| without_journal("minix"), ..PLAIN_MOUNT },
    modules: &["minix"],
    repair_flags: |_| &["-f", "-a"],
    signatures: &[
        of(0x418, b"ZM"),
        of(0x410, &[0x7f, 0x13]),
        of(0x410, &[0x8f, 0x13]),
        of(0x410, b"h$"),
        of(0x410, b"x$"),
    ],
    ..PLAIN
};

/// One of its three versions, of which the first two have names of 14 or of 30 letters.
const fn of(offset: u64, magic: &'static [u8]) -> Signature {
    at("a minix filesystem", offset, magic)
}
