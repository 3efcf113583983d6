//! In place of `io_uring` on systems without it.

use super::BlockIoResult;
use super::drive::Setup;
use crate::workload::Error;
use std::fs::File;
use std::io;

/// Refuses.
pub fn run(_setup: Setup, _file: &File) -> Result<BlockIoResult, Error> {
    Err(Error::engine(
        "io_uring",
        "start: this system has none; use `engine = \"psync\"`",
        io::Error::from(io::ErrorKind::Unsupported),
    ))
}
