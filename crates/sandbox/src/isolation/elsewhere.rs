//! Systems without namespaces: a trial runs without isolation, as it does where Linux refuses them.

use super::{Isolation, Network};
use nix::errno::Errno;
use std::path::Path;

/// Builds no isolation; returns in the process that called.
///
/// # Errors
/// When the system would not end this process with its parent.
pub fn enter(_: Network) -> nix::Result<Isolation> {
    die_with_parent()?;
    Ok(Isolation::None)
}

/// None are to be had.
pub fn available() -> bool {
    false
}

/// There is none.
///
/// # Errors
/// Always.
pub fn lay_tmpfs(_on: &Path, _options: &str) -> nix::Result<()> {
    Err(Errno::EOPNOTSUPP)
}

/// Folders are not bound.
///
/// # Errors
/// Always.
pub fn bind(_from: &Path, _to: &Path) -> nix::Result<()> {
    Err(Errno::EOPNOTSUPP)
}

/// Nothing is mounted.
///
/// # Errors
/// Always.
pub fn detach(_path: &Path) -> nix::Result<()> {
    Err(Errno::EOPNOTSUPP)
}

/// Killed when the parent dies, so that `kill -9` of the conductor takes the trial with it (procctl(2)).
#[cfg(target_os = "freebsd")]
fn die_with_parent() -> nix::Result<()> {
    let mut signal = libc::SIGKILL;
    // SAFETY: of this process; the data is one `int`, which outlives the call.
    let result = unsafe { libc::procctl(libc::P_PID, 0, libc::PROC_PDEATHSIG_CTL, (&raw mut signal).cast()) };
    Errno::result(result).map(drop)
}

/// Others have no such call: a trial ends when it next says something and nobody listens.
#[cfg(not(target_os = "freebsd"))]
fn die_with_parent() -> nix::Result<()> {
    Ok(())
}
