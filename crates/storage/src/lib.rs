//! Makes a device, a filesystem and a mount, reads back what took effect, and takes them away.
//!
//! Driven by `lab::trial` through [`provision`]; asked by `plan` and `doctor` about what would be needed. Knows no
//! workload. Invariants: `guard.rs` is on the only path to a mkfs, and nothing made here outlives the trial's
//! mount namespace, because loop devices carry the autoclear flag and mapped ones are marked for removal.

mod check;
mod command;
mod device;
mod device_mapper;
mod durability;
mod error;
mod extents;
mod filesystem;
mod filesystems;
mod fill;
mod guard;
mod guest_disk;
mod image;
mod layer;
#[cfg_attr(not(target_os = "linux"), path = "elsewhere.rs")]
mod linux;
mod loop_device;
mod mkfs;
mod mkfs_words;
mod mount;
mod options;
mod places;
mod program;
mod provision;
mod readback;
mod refusal;
mod requirements;
mod settings;
mod settle;
mod signature;
mod signatures;
mod trial_folder;
mod virtual_disk;

pub use check::{problems, problems_beside};
pub use command::commands;
pub use device::{DEVICES, Device, displaced};
pub use durability::{durability, under_images as durability_under_images};
pub use error::{Error, Missing};
pub use filesystem::{Check, Filesystem, Preset};
pub use filesystems::{filesystem, filesystems, version_commands};
pub use guard::{VIRTUAL_SOURCE, check_device, wait_until_free};
pub use guest_disk::{below_images, prepare_cache, put_disk, settle_image};
pub use image::{free_bytes, images, images_bytes, prepare_images};
pub use loop_device::restore_caches;
pub use places::Part;
pub use program::search_path;
pub use provision::{Mounted, provision};
pub use readback::reads_back;
pub use refusal::Refusal;
pub use requirements::{kernel_modules, missing, missing_for, missing_in_guest};
pub use settings::{DiskCache, Sector, StorageSettings, settings};
pub use settle::{drop_caches, may_drop_caches};
pub use virtual_disk::{AfterCut, CutDisk, recording_disk, speed};
