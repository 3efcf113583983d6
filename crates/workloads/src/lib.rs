//! Loads: one folder or file a workload, each with its parameters, its driver, its metrics and its verification.
//!
//! Driven by `lab::trial`. A workload does not know its filesystem: it gets a folder on it.

pub mod workload;
pub mod block_io;
pub mod command;
pub mod io_thrash;
pub mod tree;
mod noise;
mod random;
mod stamp;
mod ticker;
