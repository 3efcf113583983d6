//! What a power cut takes: a disk that writes down all that is written to it, the images that a cut may leave by the rules of
//! block devices, and what real recoveries make of them.
//!
//! The way of a measurement: a filesystem and its load run on a recording disk (`device`), which is as slow as [`timing`]
//! says and keeps a log of every write and flush ([`write_log`]); the load keeps a list of what was acknowledged ([`witness`]).
//! From the log follow the points at which power may fail and what each unit of the disk may hold then ([`states`]). The disk
//! serves such images, a real recovery runs on each ([`explore`] decides which), and what it left is held against the list
//! ([`verdict`]), which gives the score.
//!
//! Knows no filesystem, no engine and no study: who mounts and asks is the caller of `explore`.

pub mod ack_log;
pub mod block_trace;
pub mod clock;
#[cfg(target_os = "linux")]
pub mod device;
pub mod explore;
pub mod fault;
pub mod fua;
pub mod log_writes;
pub mod states;
pub mod timing;
pub mod timing_fidelity;
pub mod verdict;
pub mod write_log;
