//! The filesystems, a file each in `filesystems/`, and where they are listed.

mod bcachefs;
mod btrfs;
mod ext;
mod f2fs;
mod jfs;
mod minix;
mod nilfs2;
mod overlay;
mod reiserfs;
mod tmpfs;
mod xfs;
mod zfs;

use crate::filesystem::{Filesystem, MountType};
use crate::signature::Signature;

pub(crate) use ext::{BARE_MKFS, BARE_MOUNT, EXT4 as DEFAULT};
pub(crate) use tmpfs::TMPFS;
pub(crate) use zfs::{of_volume as of_zfs_volume, uberblocks};

/// Those that can be made.
const MADE: &[Filesystem] = &[
    ext::EXT2,
    ext::EXT3,
    ext::EXT4,
    xfs::XFS,
    btrfs::BTRFS,
    f2fs::F2FS,
    nilfs2::NILFS2,
    jfs::JFS,
    reiserfs::REISERFS,
    bcachefs::BCACHEFS,
    minix::MINIX,
];

static FILESYSTEMS: &[Filesystem] = MADE;

/// Those that a directory may lie on beside them.
static MOUNTED_ONLY: &[MountType] = &[tmpfs::TMPFS, tmpfs::RAMFS, overlay::OVERLAY, zfs::ZFS];

/// Names of all that can be made, in their order.
pub(crate) const NAMES: &[&str] = &{
    let mut names = [""; MADE.len()];
    let mut index = 0;
    while index < names.len() {
        names[index] = MADE[index].name;
        index += 1;
    }
    names
};

/// All filesystems.
pub fn filesystems() -> &'static [Filesystem] {
    FILESYSTEMS
}

/// The filesystem of a name.
pub fn filesystem(name: &str) -> Option<&'static Filesystem> {
    FILESYSTEMS.iter().find(|row| row.name == name)
}

/// What the kernel mounts by a name.
pub(crate) fn mount_type(name: &str) -> Option<&'static MountType> {
    FILESYSTEMS.iter().map(|row| &row.mount).chain(MOUNTED_ONLY).find(|mount| mount.name == name)
}

/// The commands that say which versions of the filesystems' programs are here: program and argument.
pub fn version_commands() -> Vec<(&'static str, &'static str)> {
    FILESYSTEMS.iter().filter_map(|row| row.version).chain([zfs::VERSION]).collect()
}

/// The marks of all that have their places.
pub(crate) fn signatures() -> impl Iterator<Item = &'static Signature> {
    FILESYSTEMS.iter().flat_map(|row| row.signatures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn presets_have_one_name_each() {
        for row in FILESYSTEMS {
            let presets = row.presets();
            let names: HashSet<_> = presets.iter().map(|preset| preset.name).collect();
            assert_eq!(names.len(), presets.len(), "{}", row.name);
        }
    }

    #[test]
    fn rows_are_whole() {
        for row in FILESYSTEMS {
            assert!([row.name, row.package, row.mkfs, row.mount.name].iter().all(|text| !text.is_empty()), "{row:?}");
            assert!(row.bytes_min > 0 && !row.modules.is_empty(), "{row:?}");
        }
    }
}
