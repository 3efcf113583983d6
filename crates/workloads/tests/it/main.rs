//! Workloads at work: real folders, real programs, real faults.

mod block_io;
mod command;
mod desk;
mod io_thrash;
mod tree;
