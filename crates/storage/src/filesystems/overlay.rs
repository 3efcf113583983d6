//! An overlay, which a directory may lie on. Source: the kernel's Documentation/filesystems/overlayfs.rst.

use crate::filesystem::{MountType, PLAIN_MOUNT};
use observe::durability::{Class, Durability};

/// However it was asked for, kernels that have the option `fsync` show the second ("Durability and copy up").
const VOLATILE: [&str; 2] = ["volatile", "fsync=volatile"];

pub(crate) const OVERLAY: MountType = MountType {
    name: "overlay",
    durability: |options, _| {
        if let Some(option) = options.iter().find(|option| VOLATILE.contains(&option.as_str())) {
            return Durability::because(Class::LosesAll, format!("overlay with `{option}`: fsync does nothing"));
        }
        let note = "overlay: as durable as the filesystem of its upper folder, which is not looked at";
        Durability::because(Class::KeepsAcknowledged, note)
    },
    ..PLAIN_MOUNT
};
