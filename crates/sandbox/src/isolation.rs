//! A trial's own world: mount, PID, network and IPC namespaces that vanish with it, whatever kills it.
//!
//! Called once, at the start of `surefoot trial`, while the process has a single thread. Without root a user
//! namespace comes first; where the kernel refuses that too, or is not Linux, the trial runs without isolation and says so.

#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(target_os = "linux")]
mod linux;

#[cfg(not(target_os = "linux"))]
pub use elsewhere::{available, bind, detach, enter, lay_tmpfs};
#[cfg(target_os = "linux")]
pub use linux::{available, bind, detach, enter, fence, lay_tmpfs, loopback_up, own_mounts};

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// What to do where the kernel refuses namespaces. Debian's switch is on since its version 11; Ubuntu's, of AppArmor, refuses since 23.10 what a
/// user's namespace is for.
pub const REMEDY: &str = "run as root, or allow user namespaces: kernel.unprivileged_userns_clone=1, and on Ubuntu \
                          kernel.apparmor_restrict_unprivileged_userns=0";

/// How far the trial is isolated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    /// Own mount, PID, network and IPC namespaces.
    Namespaces,
    /// The kernel refused namespaces: processes are ended by hand and ports are the host's.
    None,
}

/// Which network a trial has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// One of its own, with loopback only.
    Own,
    /// The host's: its load comes from another machine.
    Hosts,
}

/// Whether this process is the first of a trial's namespaces: the first process of a PID namespace has the others, too.
pub fn has_namespaces() -> bool {
    std::process::id() == 1
}

/// Whether this process may mount, unseen by others.
pub fn may_mount() -> bool {
    nix::unistd::geteuid().is_root() && has_namespaces()
}

/// Lets everything else in a trial's namespaces stand still, or go on: whatever it started, and what that started. Without
/// namespaces it would be the whole machine, and nothing is done.
///
/// # Errors
/// When the kernel refuses.
pub fn stand_still(still: bool) -> nix::Result<()> {
    if !has_namespaces() {
        return Ok(());
    }
    let signal = if still { Signal::SIGSTOP } else { Signal::SIGCONT };
    // kill(2): -1 is every process that this one sees, but itself and the first of the namespace.
    match kill(Pid::from_raw(-1), signal) {
        // There is no other.
        Err(Errno::ESRCH) => Ok(()),
        result => result,
    }
}
