//! Workloads at work: real folders, real programs, real faults.

#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod block_io;
mod command;
mod compile;
mod crypto;
mod desk;
mod io_thrash;
mod maildir;
mod rocksdb;
mod tree;
