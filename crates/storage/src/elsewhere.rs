//! In place of `linux.rs` on other systems, where trials run in a directory that is there: nothing is mounted and no image made.

use std::fs::File;
use std::io;
use std::path::Path;

pub(crate) fn mount(_source: &str, _point: &Path, _filesystem: &str, _flags: u64, _data: &str) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn own_descriptors() -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn unmount(_point: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn detach(_point: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn allocate(_file: &File, _bytes: u64) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn set_direct(_file: &File, _is_direct: bool) -> io::Result<()> {
    Ok(())
}

pub(crate) fn no_copy_on_write(_file: &File) {}

pub(crate) fn major_minor(device: u64) -> (u32, u32) {
    (libc::major(device).cast_unsigned(), libc::minor(device).cast_unsigned())
}
