//! What a power cut takes: a load is recorded on a disk of ours, and real filesystems and databases recover from what a cut may have
//! left.
//!
//! Start at `safety.rs`, what is measured of a scenario, and `search.rs`, what is made of a recording. The disk itself, its images and
//! the verdicts are `powercut`; who starts the trial, and who puts the load on the disk, is `lab`. Disks of device = "virtual" are the
//! same processes, without a log.

pub mod drive;
pub mod plan;
pub mod recording;
pub mod safety;
#[cfg_attr(not(target_os = "linux"), path = "virtual_disks_elsewhere.rs")]
pub mod virtual_disks;

#[cfg(target_os = "linux")]
pub mod block_trace;
#[cfg(target_os = "linux")]
mod database;
#[cfg(target_os = "linux")]
pub mod error;
#[cfg(target_os = "linux")]
mod examples;
#[cfg(target_os = "linux")]
pub mod faults;
#[cfg(target_os = "linux")]
pub mod mounted_image;
#[cfg(target_os = "linux")]
pub mod recorder;
#[cfg(target_os = "linux")]
pub mod recording_disk;
#[cfg(target_os = "linux")]
mod recoveries;
#[cfg(target_os = "linux")]
mod recovery;
#[cfg(target_os = "linux")]
pub mod replay;
#[cfg(target_os = "linux")]
pub mod search;
#[cfg(target_os = "linux")]
mod watchdog;
