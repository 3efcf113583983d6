//! A guest kernel for a trial: User-Mode Linux, which is one ordinary process of one ordinary user.
//!
//! Its root is the host's, read-only, by hostfs; its disks are image files; this same binary is its first process.
//! [`kernel`] finds it, [`boot`] says its command line, [`init`] is the part that runs inside, [`modules`] loads what
//! is not built into it, [`registers`] lets it run on CPUs with many registers.

pub mod boot;
#[cfg(target_os = "linux")]
pub mod disk;
#[cfg(target_os = "linux")]
pub mod init;
pub mod kernel;
pub mod modules;
#[cfg(target_os = "linux")]
pub mod registers;
