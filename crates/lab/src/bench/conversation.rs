//! The talk with a trial's process, wherever that runs: the specification in, records out, `stop`, time-outs, and how it ended.

use super::{End, Error};
use crate::work::Work;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use observe::record::{Failure, Record};
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt as _, ExitStatusExt};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use study::trial_spec::TrialSpec;

/// After `stop`, a trial has this long to tear down before it is killed: a workload looks at the flag at least once a second.
const STOP_SECONDS_MAX: u64 = 20;

/// How often the pipe's wait looks at the interrupt flag and the clock.
const POLL_MILLISECONDS: u16 = 100;

/// How much of a failed trial's log goes into the ledger.
const LOG_BYTES_MAX: usize = 4096;

/// Starts the process of a talk: pipes for what is said, a log for what its programs write, and a group of its own, so that
/// Ctrl-C in the terminal reaches the conductor only, which then says `stop`.
pub(super) fn start(mut command: Command, work: &Work) -> Result<Child, Error> {
    let log = work.new_trial_log()?;
    let program = command.get_program().display().to_string();
    let started = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log).process_group(0).spawn();
    started.map_err(|source| Error::Start { program, source })
}

/// What a talk is about.
pub(super) struct Talk<'a> {
    /// The trial.
    pub spec: &'a TrialSpec,
    /// Set when the user interrupts.
    pub interrupted: &'a AtomicBool,
    /// Where the trial's programs write what they say.
    pub log: &'a Path,
    /// Said to the process.
    pub opening: String,
    /// When: at once, or when it has said this line.
    pub after: Option<&'static str>,
}

impl Talk<'_> {
    /// Talks with a process until it has ended, whose input and output are pipes and which leads a process group.
    pub(super) fn hold(&self, mut child: Child, sink: &mut dyn FnMut(Heard)) -> Result<End, Error> {
        let mut input = child.stdin.take().expect("standard input was piped");
        let output = child.stdout.take().expect("standard output was piped");
        if self.after.is_none() {
            // A trial that died at once closes its end: its exit status says more than EPIPE.
            let _ = input.write_all(self.opening.as_bytes());
        }
        let mut last = Last::Nothing;
        let cut = self.follow(output, &mut input, &mut |heard| last.note(heard, sink));
        if cut.is_some() {
            // The whole group: without namespaces the trial's programs would outlive it.
            let _ = nix::sys::signal::killpg(nix::unistd::Pid::from_raw(child.id() as i32), nix::sys::signal::SIGKILL);
        }
        drop(input);
        let status = child.wait().map_err(Error::Pipe)?;
        Ok(self.end(last, cut, status))
    }

    /// Reads records until the trial closes its output, its time is over, or it does not heed `stop`.
    fn follow(&self, mut output: ChildStdout, input: &mut ChildStdin, note: &mut dyn FnMut(Heard)) -> Option<Cut> {
        let deadline = Instant::now() + Duration::from_secs_f64(self.spec.timeout_seconds);
        let mut stop_deadline = None;
        let mut is_told = self.after.is_none();
        let mut pending = Vec::new();
        let mut buffer = [0; 65536];
        loop {
            if Instant::now() >= deadline {
                return Some(Cut::TimedOut(self.spec.timeout_seconds));
            }
            match stop_deadline {
                // Before it was told what to do, there is nothing that it should tear down.
                None if self.interrupted.load(Ordering::Relaxed) && !is_told => return Some(Cut::DeafToStop),
                None if self.interrupted.load(Ordering::Relaxed) => {
                    let _ = writeln!(input, "stop");
                    stop_deadline = Some(Instant::now() + Duration::from_secs(STOP_SECONDS_MAX));
                }
                Some(limit) if Instant::now() >= limit => return Some(Cut::DeafToStop),
                _ => {}
            }
            let mut ready = [PollFd::new(output.as_fd(), PollFlags::POLLIN)];
            if !matches!(poll(&mut ready, PollTimeout::from(POLL_MILLISECONDS)), Ok(1..)) {
                continue;
            }
            match output.read(&mut buffer) {
                Ok(0) | Err(_) => return None,
                Ok(count) => pending.extend_from_slice(&buffer[..count]),
            }
            while let Some(end) = pending.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = pending.drain(..=end).collect();
                if self.after.is_some_and(|after| line.trim_ascii_end() == after.as_bytes()) {
                    let _ = input.write_all(self.opening.as_bytes());
                    is_told = true;
                    note(Heard::Ready);
                } else if let Ok(record) = serde_json::from_slice(&line) {
                    note(Heard::Record(record));
                }
                // A line that is no record can't come from our own trial: it is cut off by a kill, and the exit status says so.
            }
        }
    }

    fn end(&self, last: Last, cut: Option<Cut>, status: ExitStatus) -> End {
        match (last, cut) {
            (Last::Finished, _) => End::Finished,
            (Last::Failed(failure), _) if !failure.causes.iter().any(|cause| cause == crate::trial::INTERRUPTED) => {
                End::Failed(failure)
            }
            (_, Some(Cut::TimedOut(seconds))) => End::Failed(
                self.failure(format!("the trial did not end within {}", settings::quantity::format_seconds(seconds))),
            ),
            _ if self.interrupted.load(Ordering::Relaxed) => End::Interrupted,
            _ => End::Failed(self.failure(died(status, &std::fs::read(self.log).unwrap_or_default()))),
        }
    }

    fn failure(&self, cause: String) -> Failure {
        Failure { step: "trial".into(), causes: vec![cause], log: tail(self.log) }
    }
}

/// What comes from the process.
pub(super) enum Heard {
    /// It is there and was told what to do.
    Ready,
    /// A record, but none of the last.
    Record(Record),
}

/// The last record that decides how a trial ended.
enum Last {
    Nothing,
    Finished,
    Failed(Failure),
}

impl Last {
    fn note(&mut self, heard: Heard, sink: &mut dyn FnMut(Heard)) {
        match heard {
            Heard::Record(Record::Finished) => *self = Last::Finished,
            Heard::Record(Record::Failed(failure)) => *self = Last::Failed(failure),
            other => sink(other),
        }
    }
}

/// Why a trial was killed by us.
enum Cut {
    TimedOut(f64),
    /// Or not yet able to hear it.
    DeafToStop,
}

fn died(status: ExitStatus, log: &[u8]) -> String {
    // Above 128 is how the namespaces' first process passes on the signal that ended the trial.
    let signal = status.signal().or_else(|| status.code().filter(|code| *code > 128).map(|code| code - 128));
    match signal_in_guest(&String::from_utf8_lossy(log)).or(signal) {
        Some(libc::SIGKILL) => "the trial's process was killed (SIGKILL): out of memory, or by hand".into(),
        Some(libc::SIGBUS) => {
            "the trial's process was ended by SIGBUS: a mapped file could not be read or written, as on a full filesystem".into()
        }
        Some(signal) => format!("the trial's process was ended by signal {signal}"),
        None => format!("the trial's process ended with {status} before it had finished"),
    }
}

/// The signal that ended a guest's first process, the trial. Its kernel panics then, and ends by another one.
fn signal_in_guest(log: &str) -> Option<i32> {
    let (_, code) = log.rsplit_once("Attempted to kill init! exitcode=0x")?;
    // wait(2): the signal is in the lowest seven bits of a status.
    let status = i32::from_str_radix(code.split_whitespace().next()?, 16).ok()?;
    Some(status & 0x7f).filter(|signal| *signal > 0)
}

fn tail(path: &Path) -> String {
    let bytes = std::fs::read(path).unwrap_or_default();
    String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(LOG_BYTES_MAX)..]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signal_behind_a_panic_is_told() {
        let aborted = ExitStatus::from_raw(libc::SIGABRT);
        let log = b"Kernel panic - not syncing: Attempted to kill init! exitcode=0x00000007\nCPU: 0 PID: 1\n";
        assert!(died(aborted, log).contains("SIGBUS: a mapped file"), "{}", died(aborted, log));
        let log = b"Kernel panic - not syncing: Attempted to kill init! exitcode=0x00000100\n";
        assert!(died(aborted, log).ends_with("signal 6"), "{}", died(aborted, log));
        assert!(died(ExitStatus::from_raw(libc::SIGKILL), b"").contains("SIGKILL"));
    }
}
