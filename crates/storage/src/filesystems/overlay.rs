//! An overlay, which a directory may lie on. Source: the kernel's Documentation/filesystems/overlayfs.rst.

use crate::durability;
use crate::filesystem::{MountType, PLAIN_MOUNT};
use observe::durability::{Class, Durability};
use observe::mountinfo;
use std::path::Path;

const NAME: &str = "overlay";

/// However it was asked for, kernels that have the option `fsync` show the second ("Durability and copy up").
const VOLATILE: [&str; 2] = ["volatile", "fsync=volatile"];

pub(crate) const OVERLAY: MountType = MountType {
    name: NAME,
    durability: |options, _| {
        if let Some(option) = options.iter().find(|option| VOLATILE.contains(&option.as_str())) {
            return Durability::because(Class::LosesAll, format!("overlay with `{option}`: fsync does nothing"));
        }
        let upper = options.iter().find_map(|option| option.strip_prefix("upperdir="));
        upper.and_then(of_upper).unwrap_or_else(|| {
            let note = "overlay: as durable as the filesystem of its upper folder, which can't be looked at";
            Durability::because(Class::KeepsAcknowledged, note)
        })
    },
    ..PLAIN_MOUNT
};

/// Of what the upper folder lies on, which takes all writes; none: it is not seen from here, as a container's is not.
fn of_upper(folder: &str) -> Option<Durability> {
    let folder = Path::new(folder);
    let mount = mountinfo::mount_under(folder).filter(|_| folder.is_absolute())?;
    // Where an overlay is the root, a folder of that name is another one.
    if mount.filesystem == NAME {
        return None;
    }
    let mut found = durability::below(folder);
    found.reasons.iter_mut().for_each(|reason| reason.insert_str(0, "overlay, whose upper folder lies on: "));
    Some(found)
}
