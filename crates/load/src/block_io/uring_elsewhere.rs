//! In place of `io_uring` on systems without it.

use super::drive::Load;
use crate::workload::Error;
use std::fs::File;
use std::io;

/// Refuses.
pub fn run(_load: &mut Load, _file: &File) -> Result<(), Error> {
    Err(Error::Engine {
        engine: "io_uring".into(),
        action: "start: this system has none; use `engine = \"psync\"`".into(),
        source: io::Error::from(io::ErrorKind::Unsupported).into(),
    })
}
