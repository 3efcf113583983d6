//! Signals: Ctrl-C and SIGTERM set the one global, a flag that everything that waits looks at.

use crate::cli::Command;
use crate::failure::{Failure, Status};
use anyhow::anyhow;
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

/// Children are waited for, whatever whoever started us does with his: that he ignores SIGCHLD is inherited
/// (signal(7)), and of no trial could be said how it ended.
pub fn hear_of_children() {
    let action = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
    // SAFETY: no handler of ours: the kernel's own.
    unsafe { sigaction(Signal::SIGCHLD, &action) }.expect("SIGCHLD can be handled");
}

extern "C" fn note_hangup(_: libc::c_int) {
    // The shell sends one and the terminal another: the second is no second wish.
    INTERRUPTED.store(true, Ordering::Relaxed);
}

/// Catches the terminal's end, too; who was started to outlive it (`nohup`) does.
pub fn catch_hangup() {
    let action = SigAction::new(SigHandler::Handler(note_hangup), SaFlags::SA_RESTART, SigSet::empty());
    // SAFETY: the handler only touches an atomic.
    let before = unsafe { sigaction(Signal::SIGHUP, &action) }.expect("SIGHUP can be caught");
    if matches!(before.handler(), SigHandler::SigIgn) {
        // SAFETY: puts back what was there.
        unsafe { sigaction(Signal::SIGHUP, &before) }.expect("SIGHUP can be ignored");
    }
}

/// Verbs that only print end quietly when their reader goes (`surefoot schema | head`), as any filter does. Those that talk to
/// other processes must not: a trial that died is news, not the end.
pub fn quiet_on_closed_pipe(command: &Command) {
    use Command::{Faults, LoadAgent, Powercut, Replay, Resume, Run, SelfTest, Serve, Trial, Worker};
    if let Run(_) | Resume(_) | Powercut(_) | Faults(_) | SelfTest(_) | LoadAgent(_) | Replay(_) | Serve(_) | Trial(_)
    | Worker(_) = command
    {
        return;
    }
    on_closed_pipe(SigHandler::SigDfl);
    tell_what_cannot_be_printed();
}

/// On a full disk `println!` panics. To verbs that only print it is a failure like any other, and they have nothing to take away.
fn tell_what_cannot_be_printed() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let said = panic.payload().downcast_ref::<String>();
        let Some(why) = said.and_then(|said| said.strip_prefix("failed printing to ")) else { return usual(panic) };
        let failure = Failure::new(Status::Fault, anyhow!("cannot write to {why}"));
        failure.hint("make room on its disk, or print elsewhere").report();
        std::process::exit(Status::Fault as i32)
    }));
}

/// Prints what a verb found that talks to others, and ends as quietly where its reader has gone: it talks to nobody meanwhile.
pub fn printing(print: impl FnOnce()) {
    on_closed_pipe(SigHandler::SigDfl);
    print();
    on_closed_pipe(SigHandler::SigIgn);
}

fn on_closed_pipe(handler: SigHandler) {
    let action = SigAction::new(handler, SaFlags::empty(), SigSet::empty());
    // SAFETY: no handler of ours: the kernel's own, or none.
    unsafe { sigaction(Signal::SIGPIPE, &action) }.expect("SIGPIPE can be handled");
}
