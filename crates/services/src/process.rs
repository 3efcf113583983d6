//! A server's process: started as its user on its CPUs, its messages in a file, ended by signal or by force.

use crate::effect::Effects;
use crate::service::{Error, Place, Program, Running, User};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use observe::affinity;
use std::cell::RefCell;
use std::fs::File;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How much of a server's messages is kept with a failure.
const LOG_BYTES_MAX: u64 = 4096;

/// A server answers within this time even when it has to recover; a trial's own time-out comes on top.
pub const READY_SECONDS_MAX: u64 = 120;

/// A clean stop writes out all that is dirty.
const STOP_SECONDS_MAX: u64 = 180;

/// What a server that hangs may write in this time: InnoDB says each minute what it waits for, also where that never comes, and on a disk each message
/// counts as a page, too.
const MESSAGES_BYTES_MAX: u64 = 64 << 10;

/// Whether a server that stops has longer than usual.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    /// It has not.
    Limited,
    /// It has, until it has written nothing for so long.
    WhileItWrites,
}

const POLL: Duration = Duration::from_millis(20);
/// How long a server that may just be ending is looked at before it is called alive.
const ENDING: Duration = Duration::from_secs(1);

/// A program with its arguments, to be run as a user.
pub struct Start<'a> {
    /// The program.
    pub program: &'a Path,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Who runs it; none: we.
    pub user: Option<&'a User>,
    /// On these CPUs; empty: all.
    pub cpus: &'a [usize],
    /// Where its messages go.
    pub log: PathBuf,
    /// Variables of its environment, beside a plain one.
    pub environment: Vec<(String, String)>,
}

impl<'a> Start<'a> {
    /// On the server's CPUs, with nothing in its environment.
    pub fn new(program: &'a Program, arguments: Vec<String>, place: &'a Place, log: PathBuf) -> Start<'a> {
        let (program, user) = (&*program.path, program.user.as_ref());
        Start { program, arguments, user, cpus: &place.cpus, log, environment: Vec::new() }
    }

    fn command(&self) -> Result<Command, Error> {
        let log = File::options().create(true).append(true).open(&self.log).map_err(Error::file("open", &self.log))?;
        if let Some(user) = self.user {
            // A server that names the file in its configuration opens it as its user.
            std::os::unix::fs::fchown(&log, Some(user.uid), Some(user.gid))
                .map_err(Error::file("change the owner of", &self.log))?;
        }
        let both = log.try_clone().map_err(Error::file("open", &self.log))?;
        let mut command = Command::new(self.program);
        command.args(&self.arguments).stdin(Stdio::null()).stdout(log).stderr(both);
        // Some servers make the files of their sockets where they are started.
        let folder = self.log.parent().filter(|folder| folder.is_absolute()).unwrap_or(Path::new("/"));
        command.current_dir(folder).env_clear();
        command.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").env("LC_ALL", "C.UTF-8").env("TZ", "UTC");
        command.envs(self.environment.iter().cloned());
        if let Some(user) = self.user {
            command.uid(user.uid).gid(user.gid);
        }
        // The load generator may have pinned itself before it started us.
        let cpus = if self.cpus.is_empty() { affinity::cpus() } else { self.cpus };
        if !cpus.is_empty() {
            let set = affinity::set(cpus);
            // SAFETY: between fork and exec only one system call is made.
            unsafe { command.pre_exec(move || Ok(nix::sched::sched_setaffinity(Pid::from_raw(0), &set)?)) };
        }
        observe::processes::end_with_us(&mut command);
        Ok(command)
    }

    /// Runs a program to its end.
    pub fn run(&self) -> Result<(), Error> {
        let status = self.command()?.status().map_err(Error::file("start", self.program))?;
        if status.success() { Ok(()) } else { Err(ended(self.program, status, &self.log)) }
    }

    /// Starts a server.
    pub fn server(&self) -> Result<Server, Error> {
        self.spawn(self.command()?)
    }

    /// Starts a server that is spoken to by its standard input and output; its messages still go to the log.
    pub fn conversation(&self) -> Result<(Server, ChildStdin, ChildStdout), Error> {
        let mut command = self.command()?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut server = self.spawn(command)?;
        let (input, output) = (server.child.stdin.take(), server.child.stdout.take());
        Ok((server, input.expect("its input is a pipe"), output.expect("its output is a pipe")))
    }

    fn spawn(&self, mut command: Command) -> Result<Server, Error> {
        // A group of its own, so that its helpers can be ended with it.
        command.process_group(0);
        let child = command.spawn().map_err(Error::file("start", self.program))?;
        Ok(Server { child, program: self.program.into(), log: self.log.clone() })
    }
}

/// What begins a shell command that runs as this user.
pub fn run_as(user: Option<&User>) -> String {
    user.map_or(String::new(), |user| format!("setpriv --reuid={0} --regid={0} --clear-groups ", user.name))
}

/// A word that a shell takes as it is.
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

impl Place {
    /// Writes what a server is started with, outside the filesystem under test.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<String, Error> {
        let path = self.run.join(name);
        std::fs::write(&path, text).map_err(Error::file("write", &path))?;
        Ok(path.to_string_lossy().into_owned())
    }
}

/// A server's first process.
pub struct Server {
    child: Child,
    program: PathBuf,
    log: PathBuf,
}

impl Server {
    /// Tries until it answers. A refusal of the connection only means that it is not yet there.
    pub fn wait_ready<T>(&mut self, ask: impl FnMut() -> Result<T, wire::Error>) -> Result<T, Error> {
        self.wait_ready_for(READY_SECONDS_MAX, ask)
    }

    /// The same, for so long at most.
    pub fn wait_ready_for<T>(
        &mut self,
        seconds: u64,
        mut ask: impl FnMut() -> Result<T, wire::Error>,
    ) -> Result<T, Error> {
        let deadline = Instant::now() + Duration::from_secs(seconds);
        let mut said = None;
        loop {
            match ask() {
                Ok(answer) => return Ok(answer),
                Err(error @ (wire::Error::Refused { .. } | wire::Error::Protocol(_))) => said = Some(error.to_string()),
                // It is not there yet.
                Err(_) => {}
            }
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(ended(&self.program, status, &self.log));
            }
            if Instant::now() >= deadline {
                return Err(saying(self.slow("answer", seconds), said));
            }
            std::thread::sleep(POLL);
        }
    }

    /// Its process's number.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// That it did not do something in time.
    pub fn slow(&self, action: &'static str, seconds: u64) -> Error {
        Error::Slow { server: name(&self.program), action, seconds, log: tail(&self.log) }
    }

    /// How it ended, which its connection or output showed.
    pub fn died(&mut self) -> Error {
        match self.ending() {
            Some(status) => ended(&self.program, status, &self.log),
            None => Error::Program {
                program: name(&self.program),
                status: "its connection closed".into(),
                log: tail(&self.log),
            },
        }
    }

    /// How it ended, if it has: a process that is ending closes its connections before it can be waited for, so it gets a
    /// moment.
    fn ending(&mut self) -> Option<ExitStatus> {
        let deadline = Instant::now() + ENDING;
        loop {
            match self.child.try_wait() {
                Ok(None) if Instant::now() < deadline => std::thread::sleep(POLL),
                Ok(status) => return status,
                Err(_) => return None,
            }
        }
    }

    /// Its last messages, and how it ended if it has. Asked when a load has failed.
    pub fn messages(&mut self) -> String {
        let status = self.ending();
        let said = tail(&self.log);
        match status {
            Some(status) => format!("{said}\n{} ended with {}", name(&self.program), words(status)),
            None => said,
        }
    }

    /// Asks it to stop and waits; beyond the usual time as long as it writes, where it is given that.
    pub fn stop(&mut self, signal: Signal, patience: Patience) -> Result<(), Error> {
        if let Ok(Some(status)) = self.child.try_wait() {
            return Err(ended(&self.program, status, &self.log));
        }
        let _ = kill(Pid::from_raw(self.child.id() as i32), signal);
        let (started, limit) = (Instant::now(), Duration::from_secs(STOP_SECONDS_MAX));
        let (mut deadline, mut written) = (started + limit, 0);
        loop {
            match self.child.try_wait() {
                // etcd ends cleanly, and then itself by the signal that it was sent.
                Ok(Some(status)) if status.success() || status.signal() == Some(signal as i32) => return Ok(()),
                Ok(Some(status)) => return Err(ended(&self.program, status, &self.log)),
                _ if Instant::now() < deadline => std::thread::sleep(POLL),
                _ if patience == Patience::WhileItWrites && self.is_writing(&mut written) => {
                    deadline = Instant::now() + limit;
                }
                _ => return Err(self.slow("stop", started.elapsed().as_secs())),
            }
        }
    }

    /// Whether it has written more than messages since it had `written` so many bytes, or waits for the disk now; its helpers, too.
    fn is_writing(&self, written: &mut u64) -> bool {
        let mut all = descendants(self.child.id());
        all.push(Pid::from_raw(self.child.id() as i32));
        let now: u64 = all.iter().map(|process| written_bytes(*process)).sum();
        let has_written = now.abs_diff(*written) > MESSAGES_BYTES_MAX;
        if has_written {
            *written = now;
        }
        has_written || all.iter().any(|process| waits_for_disk(*process))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(Some(_))) {
            return;
        }
        // PostgreSQL's processes have groups of their own. They end some time after their parent, and until then nobody else can have
        // its data folder.
        let helpers = descendants(self.child.id());
        let _ = nix::sys::signal::killpg(Pid::from_raw(self.child.id() as i32), Signal::SIGKILL);
        for helper in &helpers {
            let _ = kill(*helper, Signal::SIGKILL);
        }
        let _ = self.child.wait();
        let deadline = Instant::now() + ENDING;
        while helpers.iter().any(|helper| is_alive(*helper)) && Instant::now() < deadline {
            std::thread::sleep(POLL);
        }
    }
}

/// The processes that a process started, theirs too.
fn descendants(process: u32) -> Vec<Pid> {
    observe::processes::descendants(process).into_iter().map(|id| Pid::from_raw(id as i32)).collect()
}

/// What it has handed to the kernel to be written, and what the kernel counts as written for it (direct writes by completion are in the second
/// alone).
fn written_bytes(process: Pid) -> u64 {
    let counts = std::fs::read_to_string(format!("/proc/{process}/io")).unwrap_or_default();
    let of_line = |line: &str| {
        let (name, bytes) = line.split_once(": ")?;
        ["wchar", "write_bytes"].contains(&name).then(|| bytes.parse::<u64>().ok())?
    };
    counts.lines().filter_map(of_line).sum()
}

/// Whether one of its threads is in an uninterruptible wait, as a flush is.
fn waits_for_disk(process: Pid) -> bool {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let stats = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("stat")).ok());
    stats.into_iter().any(|stat| stat.rsplit_once(") ").is_some_and(|(_, state)| state.starts_with('D')))
}

/// Whether it still runs: who has ended and was not waited for has nothing open any more.
fn is_alive(process: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with(['Z', 'X']))
}

/// A server that answers.
pub struct AtWork {
    // Looking at a process changes what is known of it; nobody else sees that.
    server: RefCell<Server>,
    socket: PathBuf,
    effects: Effects,
    stop: Signal,
}

impl AtWork {
    /// That listens on `socket`, runs with these settings, and is stopped by this signal.
    pub fn new(server: Server, socket: PathBuf, effects: Effects, stop: Signal) -> AtWork {
        AtWork { server: RefCell::new(server), socket, effects, stop }
    }
}

impl Running for AtWork {
    fn socket(&self) -> PathBuf {
        self.socket.clone()
    }

    fn effects(&self) -> &Effects {
        &self.effects
    }

    fn messages(&self) -> String {
        self.server.borrow_mut().messages()
    }

    fn has_ended(&self) -> bool {
        matches!(self.server.borrow_mut().child.try_wait(), Ok(Some(_)))
    }

    fn stop(self: Box<Self>) -> Result<(), Error> {
        self.server.borrow_mut().stop(self.stop, Patience::Limited)
    }

    fn stop_at_ease(self: Box<Self>) -> Result<(), Error> {
        self.server.borrow_mut().stop(self.stop, Patience::WhileItWrites)
    }
}

fn ended(program: &Path, status: ExitStatus, log: &Path) -> Error {
    Error::Program { program: name(program), status: words(status), log: tail(log) }
}

/// With what it says to whoever connects, which its messages need not have.
fn saying(mut error: Error, said: Option<String>) -> Error {
    if let (Error::Slow { log, .. }, Some(said)) = (&mut error, said) {
        *log = format!("{log}\nto who connects: {said}").trim_start().into();
    }
    error
}

fn words(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("status {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "an unknown status".into(),
    }
}

fn name(program: &Path) -> String {
    program.file_name().unwrap_or(program.as_os_str()).to_string_lossy().into_owned()
}

fn tail(log: &Path) -> String {
    observe::record::log_end(log, LOG_BYTES_MAX).trim().to_string()
}

#[cfg(test)]
impl Start<'static> {
    /// A shell that plays the server, in this folder.
    pub(crate) fn of_shell(line: &str, folder: &Path) -> Start<'static> {
        Start {
            program: Path::new("/bin/sh"),
            arguments: vec!["-c".into(), line.into()],
            user: None,
            cpus: &[],
            log: folder.join("log"),
            environment: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With more dirty memory than its disk takes in three minutes, it was ended, and the trial failed that had been measured.
    #[test]
    fn a_server_that_writes_is_told_from_one_that_hangs() {
        let folder = tempfile::tempdir().expect("a folder");
        let start = |line: &str| Start::of_shell(line, folder.path()).server().expect("it starts");
        // Its helper writes. All that it wrote before is new to the first look.
        let (writes, mut written, mut seen) = (start("(while :; do echo page; done) > pages & wait"), 0, 0);
        while seen < 2 {
            seen += usize::from(writes.is_writing(&mut written));
            std::thread::sleep(POLL);
        }
        drop(writes);
        let waits = "head -c 100000 /dev/zero > pages; echo > done; while [ ! -e go ]; do sleep 0.01; done; echo still waiting; exec sleep 300";
        let (hangs, mut written) = (start(waits), 0);
        while !folder.path().join("done").exists() {
            std::thread::sleep(POLL);
        }
        // It may wait for the disk for a moment, too.
        let settle = |written: &mut u64| {
            while hangs.is_writing(written) {
                std::thread::sleep(POLL);
            }
        };
        settle(&mut written);
        let before = written;
        assert_ne!(before, 0, "it has written");
        std::fs::write(folder.path().join("go"), "").expect("written");
        let runs = || std::fs::read_to_string(format!("/proc/{}/comm", hangs.id())).unwrap_or_default();
        while runs() != "sleep\n" {
            std::thread::sleep(POLL);
        }
        settle(&mut written);
        assert_eq!(written, before, "it only says that it waits");
    }

    /// A trial that had run out of its time in a container without namespaces left its server to all that followed.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_server_does_not_outlive_the_trial_that_started_it() {
        let folder = tempfile::tempdir().expect("a folder");
        // Known before, so that the child waits for no other thread that asks.
        let _ = affinity::cpus();
        // SAFETY: the child uses its own handles only, and is killed.
        let trial = match unsafe { nix::unistd::fork() }.expect("a process") {
            nix::unistd::ForkResult::Child => {
                let line = "echo $$ >unfinished; mv unfinished number; exec sleep 300";
                let server = Start::of_shell(line, folder.path()).server();
                std::thread::sleep(Duration::from_secs(300));
                drop(server);
                // SAFETY: ends the child without the test harness's exit.
                unsafe { libc::_exit(0) }
            }
            nix::unistd::ForkResult::Parent { child } => child,
        };
        let number = folder.path().join("number");
        while !number.exists() {
            std::thread::sleep(POLL);
        }
        kill(trial, Signal::SIGKILL).expect("it lives");
        nix::sys::wait::waitpid(trial, None).expect("it is ours");
        let server = std::fs::read_to_string(number).expect("it was written").trim().parse().expect("a number");
        while is_alive(Pid::from_raw(server)) {
            std::thread::sleep(POLL);
        }
    }

    /// That it did not answer was all that was said of one that let nobody in.
    #[test]
    fn what_a_server_says_to_who_connects_is_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut server = Start::of_shell("exec sleep 300", folder.path()).server().expect("it starts");
        let mut told = |error: fn() -> wire::Error| {
            let ended = server.wait_ready_for(0, || Err::<(), _>(error())).expect_err("nobody is let in");
            (matches!(ended, Error::Slow { .. }), ended.log().to_string())
        };
        let refused = || wire::Error::Refused { code: "1045".into(), message: "Access denied".into() };
        assert_eq!(told(refused), (true, "to who connects: the database says: Access denied (1045)".into()));
        assert_eq!(told(|| wire::Error::Lost(std::io::ErrorKind::ConnectionReset.into())), (true, String::new()));
    }

    #[test]
    fn a_server_that_is_ended_by_force_has_no_helpers_left() {
        let folder = tempfile::tempdir().expect("a folder");
        let line = "setsid sh -c 'sleep 300 & echo $! >helper; wait' & wait";
        let server = Start::of_shell(line, folder.path()).server().expect("it starts");
        let helper = || std::fs::read_to_string(folder.path().join("helper")).ok()?.trim().parse().ok();
        let helper = loop {
            match helper() {
                Some(id) => break Pid::from_raw(id),
                None => std::thread::sleep(POLL),
            }
        };
        assert!(is_alive(helper));
        drop(server);
        assert!(!is_alive(helper), "{helper} lives");
    }
}
