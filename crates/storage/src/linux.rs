//! The calls that only Linux has: everything in this room that no other Unix could do is here or works on files of `/proc` and
//! `/sys`. `elsewhere.rs` stands in for it on other systems.

use nix::fcntl::{FallocateFlags, FcntlArg, OFlag, fallocate, fcntl};
use nix::mount::{MntFlags, MsFlags, umount2};
use nix::sched::{CloneFlags, unshare};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::Path;

/// mount(2); `flags` are its own.
pub(crate) fn mount(source: &str, point: &Path, filesystem: &str, flags: u64, data: &str) -> io::Result<()> {
    let flags = MsFlags::from_bits_retain(flags as libc::c_ulong);
    Ok(nix::mount::mount(Some(source), point, Some(filesystem), flags, Some(data))?)
}

/// From here on, what this thread opens is not in the programs that other threads start (unshare(2), CLONE_FILES).
pub(crate) fn own_descriptors() -> io::Result<()> {
    Ok(unshare(CloneFlags::CLONE_FILES)?)
}

/// umount(2).
pub(crate) fn unmount(point: &Path) -> io::Result<()> {
    Ok(umount2(point, MntFlags::empty())?)
}

/// Takes a mount out of sight at once; it goes when its last user does.
pub(crate) fn detach(point: &Path) -> io::Result<()> {
    Ok(umount2(point, MntFlags::MNT_DETACH)?)
}

/// Gives a file its room as a whole.
pub(crate) fn allocate(file: &File, bytes: u64) -> io::Result<()> {
    Ok(fallocate(file, FallocateFlags::empty(), 0, bytes.cast_signed())?)
}

/// Whether reads and writes pass by the page cache (`O_DIRECT`); refused where the filesystem can't (some versions of tmpfs).
pub(crate) fn set_direct(file: &File, is_direct: bool) -> io::Result<()> {
    let mut flags = OFlag::from_bits_retain(fcntl(file, FcntlArg::F_GETFL)?);
    flags.set(OFlag::O_DIRECT, is_direct);
    fcntl(file, FcntlArg::F_SETFL(flags))?;
    Ok(())
}

/// On a host that copies on write (btrfs), each write to the file would allocate anew; others ignore or refuse the flag.
pub(crate) fn no_copy_on_write(file: &File) {
    /// `FS_NOCOW_FL`, include/uapi/linux/fs.h.
    const NO_COPY_ON_WRITE: libc::c_int = 0x0080_0000;
    // SAFETY: FS_IOC_SETFLAGS reads one `int` (ioctl_iflags(2)); a refusal changes nothing.
    unsafe { libc::ioctl(file.as_raw_fd(), libc::FS_IOC_SETFLAGS, &NO_COPY_ON_WRITE) };
}

/// A device's major and minor number.
pub(crate) fn major_minor(device: u64) -> (u32, u32) {
    (libc::major(device), libc::minor(device))
}
