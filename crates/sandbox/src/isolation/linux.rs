//! Namespaces.

use super::{Isolation, Network};
use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, fork, getgid, getuid, pipe2};
use std::ffi::CString;
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// Moves into fresh namespaces, all but the network's where that is the host's. Returns only in the process that is to run the trial; the calling process waits
/// for it and exits with its status.
///
/// # Errors
/// When the namespaces were granted and could not be furnished (`/proc`, private mounts, `lo`).
pub fn enter(network: Network) -> nix::Result<Isolation> {
    die_with_parent()?;
    // Asked first: a user's namespace that is granted and then can't be given its numbers can't be left again.
    if !available() || !unshare_all(network) {
        return Ok(Isolation::None);
    }
    // Lives as long as its writing end, which is ours alone.
    let (life, ours) = pipe2(OFlag::O_CLOEXEC)?;
    // SAFETY: this process has one thread, so the child inherits no lock that another thread holds.
    match unsafe { fork() }? {
        ForkResult::Parent { child } => wait_and_exit(child),
        ForkResult::Child => {
            die_with_parent()?;
            drop(ours);
            // A parent that was killed before it could be asked for sends no signal, and has no number in our namespace.
            let mut parent = [PollFd::new(life.as_fd(), PollFlags::empty())];
            if poll(&mut parent, PollTimeout::ZERO)? > 0 {
                // Nobody is left who would hear of it.
                std::process::exit(1);
            }
            furnish(network)?;
            Ok(Isolation::Namespaces)
        }
    }
}

/// Whether this machine grants the namespaces a trial wants, and lets them be furnished: where parts of `/proc` are hidden, as in some
/// containers, none may be mounted in a user's namespace. Tried in processes that end at once.
pub fn available() -> bool {
    // Only the child of one that has a new PID namespace lives in it.
    in_a_child(|| unshare_all(Network::Own) && in_a_child(|| furnish(Network::Own).is_ok()))
}

fn in_a_child(act: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child calls only async-signal-safe functions before it exits.
    match unsafe { fork() } {
        Ok(ForkResult::Child) => {
            let code = i32::from(!act());
            // SAFETY: `_exit` is what a forked child of a threaded process may call.
            unsafe { libc::_exit(code) }
        }
        Ok(ForkResult::Parent { child }) => matches!(waitpid(child, None), Ok(WaitStatus::Exited(_, 0))),
        Err(_) => false,
    }
}

fn unshare_all(network: Network) -> bool {
    let mut isolation = CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWPID | CloneFlags::CLONE_NEWIPC;
    isolation.set(CloneFlags::CLONE_NEWNET, network == Network::Own);
    if unshare(isolation).is_ok() {
        return true;
    }
    let (user, group) = (getuid(), getgid());
    if unshare(isolation | CloneFlags::CLONE_NEWUSER).is_err() {
        return false;
    }
    // The kernel wants `setgroups` denied before an unprivileged process may map its group (user_namespaces(7)).
    let map = |file: &str, text: String| std::fs::write(format!("/proc/self/{file}"), text);
    map("setgroups", "deny".into()).is_ok()
        && map("uid_map", format!("{user} {user} 1")).is_ok()
        && map("gid_map", format!("{group} {group} 1")).is_ok()
}

/// Gives the calling thread, and what it starts, mounts and shared memory that its process's other threads do not see.
///
/// # Errors
/// When the kernel refuses.
pub fn own_mounts() -> nix::Result<()> {
    unshare(CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWIPC)?;
    make_mounts_private()
}

/// Makes all that is mounted read-only but this folder, for this namespace and whatever is started in it: a guest kernel's
/// root could otherwise be made writable again from inside, with the rights of the user who started it.
///
/// # Errors
/// When the kernel refuses, as those before 5.12 do.
pub fn fence(writable: &Path) -> nix::Result<()> {
    mount(Some(writable), writable, None::<&str>, MsFlags::MS_BIND, None::<&str>)?;
    set_read_only("/".as_ref(), true)?;
    set_read_only(writable, false)
}

/// mount_setattr(2): of a whole tree when it is to be read-only, of one mount when it is not.
fn set_read_only(path: &Path, read_only: bool) -> nix::Result<()> {
    let path = CString::new(path.as_os_str().as_bytes()).map_err(|_| Errno::EINVAL)?;
    let (set, clear) = if read_only { (libc::MOUNT_ATTR_RDONLY, 0) } else { (0, libc::MOUNT_ATTR_RDONLY) };
    let attributes = libc::mount_attr { attr_set: set, attr_clr: clear, propagation: 0, userns_fd: 0 };
    let flags = if read_only { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: a path and a structure that outlive the call, with the structure's own size.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            path.as_ptr(),
            flags,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    Errno::result(result).map(drop)
}

/// Private mounts (nothing of ours reaches the host), a `/proc` of the new PID namespace, and loopback where the network is new.
fn furnish(network: Network) -> nix::Result<()> {
    make_mounts_private()?;
    let safe = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    mount(Some("proc"), "/proc", Some("proc"), safe, None::<&str>)?;
    if network == Network::Own { loopback_up() } else { Ok(()) }
}

/// Nothing that is mounted from here on reaches the namespace that this one is a copy of.
fn make_mounts_private() -> nix::Result<()> {
    let nothing = None::<&str>;
    mount(nothing, "/", nothing, MsFlags::MS_REC | MsFlags::MS_PRIVATE, nothing)
}

/// An empty tmpfs on a folder.
///
/// # Errors
/// When the kernel refuses.
pub fn lay_tmpfs(on: &Path, options: &str) -> nix::Result<()> {
    mount(Some("tmpfs"), on, Some("tmpfs"), MsFlags::MS_NOSUID | MsFlags::MS_NODEV, Some(options))
}

/// A folder at another place, too.
///
/// # Errors
/// When the kernel refuses.
pub fn bind(from: &Path, to: &Path) -> nix::Result<()> {
    mount(Some(from), to, None::<&str>, MsFlags::MS_BIND, None::<&str>)
}

/// Takes what is mounted there out of sight; it goes when its last user does.
///
/// # Errors
/// When nothing is mounted there.
pub fn detach(path: &Path) -> nix::Result<()> {
    umount2(path, MntFlags::MNT_DETACH)
}

/// Brings the namespace's, or a guest kernel's, own network up.
///
/// # Errors
/// When the kernel refuses.
pub fn loopback_up() -> nix::Result<()> {
    let socket = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)?;
    // SAFETY: a plain ioctl call on a zeroed `ifreq` whose name is NUL-terminated.
    unsafe {
        let mut request: libc::ifreq = std::mem::zeroed();
        request.ifr_name[0] = b'l' as libc::c_char;
        request.ifr_name[1] = b'o' as libc::c_char;
        request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
        Errno::result(libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &request)).map(drop)
    }
}

/// Killed when the parent dies, so that `kill -9` of the conductor takes the trial with it.
fn die_with_parent() -> nix::Result<()> {
    prctl::set_pdeathsig(Signal::SIGKILL)
}

fn wait_and_exit(child: nix::unistd::Pid) -> ! {
    loop {
        match waitpid(child, None) {
            Ok(WaitStatus::Exited(_, status)) => std::process::exit(status),
            Ok(WaitStatus::Signaled(_, signal, _)) => std::process::exit(128 + signal as i32),
            Ok(_) | Err(Errno::EINTR) => {}
            Err(_) => std::process::exit(1),
        }
    }
}
