//! An overlay, which a directory may lie on.

use crate::filesystem::{MountType, PLAIN_MOUNT};
use observe::durability::{Class, Durability};

pub(crate) const OVERLAY: MountType = MountType {
    name: "overlay",
    durability: |options, _| {
        if options.iter().any(|option| option == "volatile") {
            return Durability::because(Class::LosesAll, "overlay with `volatile`: fsync does nothing");
        }
        let note = "overlay: as durable as the filesystem of its upper folder, which is not looked at";
        Durability::because(Class::KeepsAcknowledged, note)
    },
    ..PLAIN_MOUNT
};
