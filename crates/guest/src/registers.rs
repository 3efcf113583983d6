//! What a guest kernel's process needs on CPUs with many registers: a library that is loaded into it. `registers.c` says why.

use std::path::Path;

/// The library.
const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/registers.so"));

/// The environment variable by which a program loads it. Its value is the library's path, which must not have a space or a colon.
pub const LOADED_BY: &str = "LD_PRELOAD";

/// Writes the library to a file that a program can load.
///
/// # Errors
/// When it can't be written.
pub fn write_library(path: &Path) -> std::io::Result<()> {
    std::fs::write(path, LIBRARY)
}
