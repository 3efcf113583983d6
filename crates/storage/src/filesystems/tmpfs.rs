//! tmpfs, memory: nothing is made, `device = "tmpfs"` mounts it.

use crate::filesystem::{MountType, PLAIN_MOUNT};
use observe::durability::{Class, Durability};

pub(crate) const TMPFS: MountType = MountType {
    name: "tmpfs",
    hidden_defaults: "huge=never",
    durability: |_, _| Durability::because(Class::LosesAll, "tmpfs: memory only"),
    ..PLAIN_MOUNT
};

/// Its simpler relative, which a directory may lie on.
pub(crate) const RAMFS: MountType = MountType { name: "ramfs", ..TMPFS };
