//! What a filesystem stands on.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What the filesystem stands on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Device {
    /// An image file behind a loop device.
    Loop,
    /// A real block device, behind the guard.
    Block,
    /// An existing directory as it is.
    Dir,
    /// Memory.
    Tmpfs,
    /// A disk that is a process of surefoot's, whose file lies in the folder of the images.
    Virtual,
}

/// The values of `storage.device` in their order, and what each is.
pub const DEVICES: [(&str, &str); 5] = [
    ("loop", "an image file in the work folder behind a loop device with direct I/O (default)"),
    ("block", "a real block device, behind the guard: it must hold zeros only, or be named by storage.wipe"),
    ("dir", "an existing directory as it is; needs no root"),
    ("tmpfs", "memory: the ceiling, not a candidate"),
    ("virtual", "a disk in memory with the times of a drive, and its cache: storage.disk = \"sata-7200\" and others"),
];

impl Device {
    /// Its name, as in `storage.device`.
    pub fn name(self) -> &'static str {
        NAMES[self as usize]
    }
}

/// Settings of a study that have no effect once this setting has this value: a change of the device takes them away.
pub fn displaced(setting: &str, value: &Value) -> &'static [&'static str] {
    match Device::deserialize(value) {
        Ok(Device::Block) if setting == "device" => &["size"],
        Ok(Device::Dir) if setting == "device" => &["size", "wipe"],
        Ok(_) if setting == "device" => &["path", "wipe"],
        _ => &[],
    }
}

/// Their names.
pub(crate) const NAMES: &[&str] = &[DEVICES[0].0, DEVICES[1].0, DEVICES[2].0, DEVICES[3].0, DEVICES[4].0];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_is_a_device() {
        for device in [Device::Loop, Device::Block, Device::Dir, Device::Tmpfs, Device::Virtual] {
            assert_eq!(serde_json::to_value(device).expect("a name"), device.name());
        }
    }
}
