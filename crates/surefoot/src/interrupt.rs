//! Ctrl-C and SIGTERM: the one global, a flag that everything that waits looks at.

use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use std::sync::atomic::{AtomicBool, Ordering};

/// Set once the user wants to stop.
pub static INTERRUPTED: AtomicBool = AtomicBool::new(false);

extern "C" fn note(_: libc::c_int) {
    // The second Ctrl-C ends at once: the kernel takes the trial's namespaces away.
    if INTERRUPTED.swap(true, Ordering::Relaxed) {
        // SAFETY: `_exit` is async-signal-safe.
        unsafe { libc::_exit(130) }
    }
}

/// Catches Ctrl-C and SIGTERM from now on.
pub fn catch() {
    let action = SigAction::new(SigHandler::Handler(note), SaFlags::SA_RESTART, SigSet::empty());
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        // SAFETY: the handler only touches an atomic and calls `_exit`.
        unsafe { sigaction(signal, &action) }.expect("SIGINT and SIGTERM can be caught");
    }
}
