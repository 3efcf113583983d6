//! Decides and conducts: which trial is next, where it runs, what is recorded, when it is enough.
//!
//! Start at `conductor.rs`; a trial's own flow is in `trial.rs`, and runs in a process of its own behind `bench.rs`.

pub mod bench;
#[cfg(target_os = "linux")]
mod block_trace;
pub mod conductor;
pub mod drive;
pub mod durability;
#[cfg(target_os = "linux")]
mod examples;
pub mod isolation;
pub mod memory_limit;
pub mod probe;
pub mod recording;
#[cfg(target_os = "linux")]
pub mod recording_disk;
#[cfg(target_os = "linux")]
pub mod recoveries;
#[cfg(target_os = "linux")]
pub mod recovery;
#[cfg(target_os = "linux")]
pub mod replay;
pub mod resume;
pub mod safety;
pub mod screening;
pub mod served;
#[cfg(target_os = "linux")]
pub mod shown;
pub mod stage;
pub mod trial;
pub mod tune;
#[cfg_attr(not(target_os = "linux"), path = "virtual_disks_elsewhere.rs")]
mod virtual_disks;
pub mod volumes;
#[cfg(target_os = "linux")]
mod watchdog;
pub mod work;
