//! The talk with a trial's process, wherever that runs: the specification in, records out, `stop`, time-outs, and how it ended.

use super::{End, Error};
use crash::plan::TrialSpec;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use observe::record::{Failure, Record, log_end};
use sandbox::isolation;
use sandbox::work::Work;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt as _, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use storage::Device;

/// After `stop`, a trial has this long to tear down before it is killed: a workload looks at the flag at least once a second.
const STOP_SECONDS_MAX: u64 = 20;

/// The same on a block device, which the guard refuses once a trial on it was killed: what is in memory is written out (6 GB at 100 MB/s), and what
/// is left on the device is looked at, at 4,096 places. A second Ctrl-C ends at once.
const STOP_ON_BLOCK_SECONDS_MAX: u64 = 120;

/// What a killed trial left to be written out is on the disk within this time: 6 GB at 100 MB/s. Its processes wait for
/// that, too.
pub(super) const LEFTOVER_PATIENCE: Duration = Duration::from_secs(60);

/// How often the pipe's wait looks at the interrupt flag and the clock.
const POLL_MILLISECONDS: u16 = 100;

/// How much of a failed trial's log goes into the ledger.
const LOG_BYTES_MAX: u64 = 4096;

/// How much of it is looked at for a panic of a guest's kernel, which writes a page about it.
const SIGNAL_BYTES_MAX: u64 = 256 << 10;

/// Starts the process of a talk: pipes for what is said, a log for what its programs write, and a group of its own, so that
/// Ctrl-C in the terminal reaches the conductor only, which then says `stop`.
pub(super) fn start(mut command: Command, work: &Work) -> Result<Child, Error> {
    let log = work.new_trial_log(LEFTOVER_PATIENCE)?;
    let program = command.get_program().display().to_string();
    let started = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log).process_group(0).spawn();
    started.map_err(|source| Error::Start { program, source })
}

/// What a talk is about.
pub(super) struct TrialProcess<'a> {
    /// The trial.
    pub spec: &'a TrialSpec,
    /// Set when the user interrupts.
    pub interrupted: &'a AtomicBool,
    /// Where the trial's programs write what they say.
    pub log: PathBuf,
    /// Said to the process.
    pub opening: String,
    /// When: at once, or when it has said this line.
    pub after: Option<&'static str>,
}

impl TrialProcess<'_> {
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
            _ => End::Failed(self.failure(died(status, &log_end(&self.log, SIGNAL_BYTES_MAX)))),
        }
    }

    fn failure(&self, cause: String) -> Failure {
        Failure { step: "trial".into(), causes: vec![cause], log: log_end(&self.log, LOG_BYTES_MAX) }
    }
}

/// A talk with a process that was started.
pub(super) struct Talk<'a> {
    process: TrialProcess<'a>,
    child: Child,
    input: Option<ChildStdin>,
    output: ChildStdout,
    /// What was read and is no whole line yet.
    pending: Vec<u8>,
    last: Last,
    is_told: bool,
    stop_deadline: Option<Instant>,
    /// How long it was listened to: while it waits, its time stands still, too.
    spent: Duration,
}

impl<'a> Talk<'a> {
    /// Begins with a process whose input and output are pipes and which leads a process group: it is told what it is to do, if it
    /// listens already.
    pub(super) fn begin(process: TrialProcess<'a>, mut child: Child) -> Talk<'a> {
        let input = child.stdin.take().expect("standard input was piped");
        let output = child.stdout.take().expect("standard output was piped");
        let is_listening = process.after.is_none();
        let mut talk = Talk {
            process,
            child,
            input: Some(input),
            output,
            pending: Vec::new(),
            last: Last::Nothing,
            is_told: false,
            stop_deadline: None,
            spent: Duration::ZERO,
        };
        if is_listening {
            talk.tell();
        }
        talk
    }

    /// Follows the process to its end. Where it waits for a turn, it has it.
    pub(super) fn follow_to_end(&mut self, sink: &mut dyn FnMut(Event)) -> Result<End, Error> {
        loop {
            if let Some(end) = self.follow(sink)? {
                return Ok(end);
            }
            self.go_on();
        }
    }

    /// Lets a process that waits go on.
    pub(super) fn go_on(&mut self) {
        self.say(&format!("{}\n", crate::trial::GO));
    }

    /// Hears records until the process waits (none), or has ended.
    pub(super) fn follow(&mut self, sink: &mut dyn FnMut(Event)) -> Result<Option<End>, Error> {
        let began = Instant::now();
        let paused = self.read(began, sink);
        self.spent += began.elapsed();
        let cut = match paused {
            Paused::Waiting => return Ok(None),
            Paused::Ended => None,
            Paused::Cut(cut) => Some(cut),
        };
        if cut.is_some() {
            end_all(self.child.id(), isolation::available());
        }
        drop(self.input.take());
        let status = self.child.wait().map_err(Error::Pipe)?;
        let last = std::mem::replace(&mut self.last, Last::Nothing);
        Ok(Some(self.process.end(last, cut, status)))
    }

    /// Says what is to be done.
    fn tell(&mut self) {
        let opening = std::mem::take(&mut self.process.opening);
        self.say(&opening);
        self.is_told = true;
    }

    /// A trial that died closes its end: its exit status says more than EPIPE.
    fn say(&mut self, words: &str) {
        if let Some(input) = &mut self.input {
            let _ = input.write_all(words.as_bytes());
        }
    }

    /// Reads records until the trial waits, closes its output, its time is over, or it does not heed `stop`.
    fn read(&mut self, began: Instant, sink: &mut dyn FnMut(Event)) -> Paused {
        let seconds_max = self.process.spec.timeout_seconds;
        let mut buffer = [0; 65536];
        loop {
            if (self.spent + began.elapsed()).as_secs_f64() >= seconds_max {
                return Paused::Cut(Cut::TimedOut(seconds_max));
            }
            let is_interrupted = self.process.interrupted.load(Ordering::Relaxed);
            match self.stop_deadline {
                // Before it was told what to do, there is nothing that it should tear down.
                None if is_interrupted && !self.is_told => return Paused::Cut(Cut::DeafToStop),
                None if is_interrupted => {
                    self.say("stop\n");
                    self.stop_deadline = Some(Instant::now() + stop_patience(self.process.spec));
                }
                Some(limit) if Instant::now() >= limit => return Paused::Cut(Cut::DeafToStop),
                _ => {}
            }
            let mut ready = [PollFd::new(self.output.as_fd(), PollFlags::POLLIN)];
            if !matches!(poll(&mut ready, PollTimeout::from(POLL_MILLISECONDS)), Ok(1..)) {
                continue;
            }
            match self.output.read(&mut buffer) {
                Ok(0) | Err(_) => return Paused::Ended,
                Ok(count) => self.pending.extend_from_slice(&buffer[..count]),
            }
            if self.hear(sink) {
                return Paused::Waiting;
            }
        }
    }

    /// Takes the whole lines that were read; whether the last of them says that the process waits.
    fn hear(&mut self, sink: &mut dyn FnMut(Event)) -> bool {
        let mut is_waiting = false;
        while let Some(end) = self.pending.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.pending.drain(..=end).collect();
            if self.process.after.is_some_and(|after| line.trim_ascii_end() == after.as_bytes()) {
                self.tell();
                sink(Event::Ready);
                continue;
            }
            // A line that is no record can't come from our own trial: it is cut off by a kill, and the exit status says so.
            match serde_json::from_slice(&line) {
                Ok(Record::Waiting) => is_waiting = true,
                Ok(record) => self.last.note(Event::Record(record), sink),
                Err(_) => {}
            }
        }
        is_waiting
    }
}

/// Ends a trial, by the group of its process. Without namespaces those that have left the group would outlive it: a server ends with the trial, and
/// workers that it had started, such as nginx' and Apache's, kept its port from all later ones.
fn end_all(trial: u32, has_namespaces: bool) {
    // In namespaces all end by themselves, and a disk that is served only after those that write to it.
    let others = if has_namespaces { Vec::new() } else { observe::processes::descendants(trial) };
    let pid = |process: u32| Pid::from_raw(process as i32);
    let _ = killpg(pid(trial), Signal::SIGKILL);
    for other in others {
        let _ = kill(pid(other), Signal::SIGKILL);
    }
}

fn stop_patience(spec: &TrialSpec) -> Duration {
    let mut volumes = std::iter::once(&spec.storage).chain(spec.volumes.values());
    let is_on_block = volumes.any(|settings| settings.device == Device::Block);
    Duration::from_secs(if is_on_block { STOP_ON_BLOCK_SECONDS_MAX } else { STOP_SECONDS_MAX })
}

/// Why a talk pauses.
enum Paused {
    /// The process waits to be told to go on.
    Waiting,
    /// It closed its output.
    Ended,
    /// It is to be killed.
    Cut(Cut),
}

/// What comes from the process.
pub(super) enum Event {
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
    fn note(&mut self, heard: Event, sink: &mut dyn FnMut(Event)) {
        match heard {
            Event::Record(Record::Finished) => *self = Last::Finished,
            Event::Record(Record::Failed(failure)) => *self = Last::Failed(failure),
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

fn died(status: ExitStatus, log: &str) -> String {
    // Above 128 is how the namespaces' first process passes on the signal that ended the trial.
    let signal = status.signal().or_else(|| status.code().filter(|code| *code > 128).map(|code| code - 128));
    match signal_in_guest(log).or(signal) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use storage::StorageSettings;
    use study::Bench;

    /// On a hard disk the teardown takes longer than 20 s: after Ctrl-C the same command was refused.
    #[test]
    fn a_trial_on_a_block_device_has_time_to_give_it_back() {
        let block =
            StorageSettings { device: Device::Block, path: Some("/dev/sdx".into()), ..StorageSettings::default() };
        let spec = |storage| TrialSpec::single("s", "a", "oltp", Bench::Host, 1, storage);
        let mut with_log = spec(StorageSettings::default());
        assert_eq!(stop_patience(&with_log), Duration::from_secs(20));
        assert_eq!(stop_patience(&spec(block.clone())), Duration::from_secs(120));
        with_log.volumes.insert("wal".into(), block);
        assert_eq!(stop_patience(&with_log), Duration::from_secs(120));
    }

    /// Of a web server in a container without namespaces the workers lived on, and no later one got its port.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_trial_that_is_ended_leaves_no_worker_of_its_server() {
        let folder = tempfile::tempdir().expect("a folder");
        let line = "setsid sh -c 'sleep 300 & echo $! >unfinished; mv unfinished worker; wait' & wait";
        let mut command = Command::new("/bin/sh");
        command.args(["-c", line]).current_dir(folder.path()).process_group(0);
        let mut trial = command.spawn().expect("it starts");
        let file = folder.path().join("worker");
        let pause = || std::thread::sleep(Duration::from_millis(10));
        while !file.exists() {
            pause();
        }
        end_all(trial.id(), false);
        trial.wait().expect("it is ours");
        let worker = std::fs::read_to_string(file).expect("it was written");
        let lives = || {
            let stat = std::fs::read_to_string(format!("/proc/{}/stat", worker.trim())).unwrap_or_default();
            stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with(['Z', 'X']))
        };
        while lives() {
            pause();
        }
    }

    #[test]
    fn the_signal_behind_a_panic_is_told() {
        let aborted = ExitStatus::from_raw(libc::SIGABRT);
        let log = "Kernel panic - not syncing: Attempted to kill init! exitcode=0x00000007\nCPU: 0 PID: 1\n";
        assert!(died(aborted, log).contains("SIGBUS: a mapped file"), "{}", died(aborted, log));
        let log = "Kernel panic - not syncing: Attempted to kill init! exitcode=0x00000100\n";
        assert!(died(aborted, log).ends_with("signal 6"), "{}", died(aborted, log));
        assert!(died(ExitStatus::from_raw(libc::SIGKILL), "").contains("SIGKILL"));
    }
}
