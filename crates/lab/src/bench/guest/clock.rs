//! A guest kernel's clock, woken from outside.
//!
//! User-Mode Linux sets a timer of the host for whatever is due next, and waits for its SIGALRM. Seldom that signal is lost (seen on
//! 2026-11-25 with Linux 6.1.176: the next event lay 14 minutes back, and no timer was set). From then on nothing in the guest that
//! waits for a time goes on. A SIGALRM from here does what the timer's would: the kernel does what is due and sets its timer anew.

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;
use std::io;
use std::process::{Child, ExitStatus};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

/// As long as a guest may stand still at most; a guest at work has a hundred such signals of its own a second.
const PERIOD: Duration = Duration::from_secs(1);

/// Waits for a guest kernel's end, and wakes its clock until then.
pub(super) fn wait(mut kernel: Child) -> io::Result<ExitStatus> {
    let pid = Pid::from_raw(kernel.id().cast_signed());
    let (ended, end) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            while end.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
                if catches_alarm(pid) {
                    let _ = kill(pid, Signal::SIGALRM);
                }
            }
        });
        // It is left unreaped until no signal can be sent any more, so that nobody else has its number.
        let exited = loop {
            match waitid(Id::Pid(pid), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT) {
                Err(Errno::EINTR) => {}
                other => break other,
            }
        };
        drop(ended);
        exited
    })?;
    kernel.wait()
}

/// Whether the process has a handler for SIGALRM: before a kernel has, the signal would end it (`SigCgt` of proc(5)).
fn catches_alarm(pid: Pid) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let mask = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask & 1 << (Signal::SIGALRM as u32 - 1) != 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn who_waits_for_the_alarm_gets_it_and_others_live_on() {
        // It waits without a timer of its own, as a kernel does that lost its signal.
        let waits = Command::new("bash").args(["-c", "trap 'exit 7' ALRM; while :; do sleep 0.1; done"]).spawn();
        assert_eq!(wait(waits.expect("bash")).expect("it ends").code(), Some(7));
        let other = Command::new("sleep").arg("1.5").spawn().expect("sleep");
        assert!(wait(other).expect("it ends").success(), "a signal without a handler would have ended it");
    }
}
