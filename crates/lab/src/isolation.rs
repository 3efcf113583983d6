//! A trial's own world: mount, PID, network and IPC namespaces that vanish with it, whatever kills it.
//!
//! Called once, at the start of `surefoot trial`, while the process has a single thread. Without root a user
//! namespace comes first; where the kernel refuses that too, or is not Linux, the trial runs without walls and says so.

#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(target_os = "linux")]
mod linux;

#[cfg(not(target_os = "linux"))]
pub use elsewhere::{available, bind, detach, enter, lay_tmpfs};
#[cfg(target_os = "linux")]
pub use linux::{available, bind, detach, enter, fence, lay_tmpfs, loopback_up, own_mounts};

/// How far the trial is walled off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Walls {
    /// Own mount, PID, network and IPC namespaces.
    Namespaces,
    /// The kernel refused namespaces: processes are ended by hand and ports are the host's.
    None,
}

/// Whether this process is the first of a trial's namespaces: the first process of a PID namespace has the others, too.
#[must_use]
pub fn has_namespaces() -> bool {
    std::process::id() == 1
}

/// Whether this process may mount, unseen by others.
#[must_use]
pub fn is_walled() -> bool {
    nix::unistd::geteuid().is_root() && has_namespaces()
}
