//! The host bench: each trial is a `surefoot trial` process in namespaces of its own.
//!
//! The trial's standard input carries the TrialSpec, then the word `stop` if the user interrupts; its end means that
//! the conductor is gone. Its standard output carries records; everything its programs say goes to the trial's log.

use super::{Bench, End, Error};
use crate::memory_limit::MemoryLimit;
use crate::work::Work;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use observe::record::{Failure, Record};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use study::trial_spec::TrialSpec;

/// After `stop`, a trial has this long to tear down before it is killed: a workload looks at the flag at least once a second.
const STOP_SECONDS_MAX: u64 = 20;

/// How often the pipe's wait looks at the interrupt flag and the clock.
const POLL_MILLISECONDS: u16 = 100;

/// How much of a failed trial's log goes into the ledger.
const LOG_BYTES_MAX: usize = 4096;

/// Runs trials on this machine.
pub struct Host {
    /// The program to start: this same binary.
    pub program: PathBuf,
    /// The study's work folder.
    pub work: Work,
}

impl Bench for Host {
    fn run(&mut self, spec: &TrialSpec, interrupted: &AtomicBool, sink: &mut dyn FnMut(Record)) -> Result<End, Error> {
        let limit = spec.memory_bytes.map(MemoryLimit::new).transpose()?;
        let mut child = self.start(limit.as_ref())?;
        let mut input = child.stdin.take().expect("standard input was piped");
        let output = child.stdout.take().expect("standard output was piped");
        let line = serde_json::to_string(spec).expect("a TrialSpec is plain data");
        // A trial that died at once closes its end: its exit status says more than EPIPE.
        let _ = writeln!(input, "{line}");
        let mut last = Last::Nothing;
        let cut = follow(output, spec, interrupted, &mut |record| last.note(&record, sink), &mut || {
            let _ = writeln!(input, "stop");
        });
        if cut.is_some() {
            // The whole group: without namespaces the trial's programs would outlive it.
            let _ = nix::sys::signal::killpg(nix::unistd::Pid::from_raw(child.id() as i32), nix::sys::signal::SIGKILL);
        }
        drop(input);
        let status = child.wait().map_err(Error::Pipe)?;
        drop(limit);
        Ok(self.end(last, cut, status, interrupted))
    }

    fn now(&self) -> f64 {
        SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock is past 1970").as_secs_f64()
    }

    fn machine(&self) -> BTreeMap<String, String> {
        let mut facts = observe::machine::facts();
        facts.extend(observe::machine::facts_for(self.work.folder()));
        facts
    }
}

impl Host {
    fn start(&self, limit: Option<&MemoryLimit>) -> Result<Child, Error> {
        let started = |source| Error::Start { program: self.program.display().to_string(), source };
        let log = File::create(self.work.trial_log()).map_err(started)?;
        let mut command = Command::new(&self.program);
        command.arg("trial").arg(self.work.folder());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
        // A group of its own: Ctrl-C in the terminal reaches the conductor only, which then says `stop`.
        command.process_group(0);
        if let Some(limit) = limit {
            let procs = File::options().write(true).open(limit.procs_file()).map_err(started)?;
            // SAFETY: between fork and exec only `write` is called.
            unsafe { command.pre_exec(move || (&procs).write_all(b"0")) };
        }
        command.spawn().map_err(started)
    }

    fn end(&self, last: Last, cut: Option<Cut>, status: ExitStatus, interrupted: &AtomicBool) -> End {
        match (last, cut) {
            (Last::Finished, _) => End::Finished,
            (Last::Failed(failure), _) if !failure.causes.iter().any(|cause| cause == crate::trial::INTERRUPTED) => {
                End::Failed(failure)
            }
            (_, Some(Cut::TimedOut(seconds))) => End::Failed(
                self.failure(format!("the trial did not end within {}", settings::quantity::format_seconds(seconds))),
            ),
            _ if interrupted.load(Ordering::Relaxed) => End::Interrupted,
            _ => End::Failed(self.failure(died(status))),
        }
    }

    fn failure(&self, cause: String) -> Failure {
        Failure { step: "trial".into(), causes: vec![cause], log: tail(&self.work.trial_log()) }
    }
}

/// The last record that decides how a trial ended.
enum Last {
    Nothing,
    Finished,
    Failed(Failure),
}

impl Last {
    fn note(&mut self, record: &Record, sink: &mut dyn FnMut(Record)) {
        match record {
            Record::Finished => *self = Last::Finished,
            Record::Failed(failure) => *self = Last::Failed(failure.clone()),
            other => sink(other.clone()),
        }
    }
}

/// Why a trial was killed by us.
enum Cut {
    TimedOut(f64),
    DeafToStop,
}

/// Reads records until the trial closes its output, its time is over, or it does not heed `stop`.
fn follow(
    mut output: ChildStdout,
    spec: &TrialSpec,
    interrupted: &AtomicBool,
    note: &mut dyn FnMut(Record),
    stop: &mut dyn FnMut(),
) -> Option<Cut> {
    let deadline = Instant::now() + Duration::from_secs_f64(spec.timeout_seconds);
    let mut stop_deadline = None;
    let mut pending = Vec::new();
    let mut buffer = [0; 65536];
    loop {
        if Instant::now() >= deadline {
            return Some(Cut::TimedOut(spec.timeout_seconds));
        }
        match stop_deadline {
            None if interrupted.load(Ordering::Relaxed) => {
                stop();
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
            // A line that is no record can't come from our own trial: it is cut off by a kill, and the exit status says so.
            if let Ok(record) = serde_json::from_slice(&line) {
                note(record);
            }
        }
    }
}

fn died(status: ExitStatus) -> String {
    // Above 128 is how the namespaces' first process passes on the signal that ended the trial.
    let signal = status.signal().or_else(|| status.code().filter(|code| *code > 128).map(|code| code - 128));
    match signal {
        Some(9) => "the trial's process was killed (SIGKILL): out of memory, or by hand".into(),
        Some(signal) => format!("the trial's process was ended by signal {signal}"),
        None => format!("the trial's process ended with {status} before it had finished"),
    }
}

fn tail(path: &std::path::Path) -> String {
    let bytes = std::fs::read(path).unwrap_or_default();
    String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(LOG_BYTES_MAX)..]).into_owned()
}
