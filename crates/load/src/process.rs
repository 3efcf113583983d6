//! Runs a program in a process group of its own, keeps what it prints, and ends it when it must end.

use crate::workload::Error;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

/// Kept of each stream: a verbose run of fio with every percentile of hundreds of jobs is below it.
const OUTPUT_BYTES_MAX: usize = 16 << 20;

/// Last lines shown in an error.
const LOG_LINES: usize = 30;

/// How soon an interruption is seen.
const POLL_MILLISECONDS: u16 = 100;

/// After SIGTERM, until SIGKILL: fio and pgbench end within a second, and remove what they made elsewhere.
const GRACE: Duration = Duration::from_secs(3);

/// A program that has ended.
pub struct Finished {
    /// How it ended.
    pub status: ExitStatus,
    /// What it took, by the clock.
    pub seconds: f64,
    /// Of itself and of all its children that were waited for.
    pub user_cpu_seconds: f64,
    /// The same, inside the kernel.
    pub system_cpu_seconds: f64,
    /// What it printed.
    pub stdout: String,
    /// What it complained of.
    pub stderr: String,
}

impl Finished {
    /// The end of what it said, standard output first.
    pub fn last_lines(&self) -> String {
        let lines = |text: &str| {
            let mut lines: Vec<&str> = text.lines().rev().take(LOG_LINES).collect();
            lines.reverse();
            lines.join("\n")
        };
        [&self.stdout, &self.stderr].map(|text| lines(text)).join("\n").trim().to_string()
    }

    /// Itself where it ended well.
    ///
    /// # Errors
    /// How `program` ended otherwise.
    pub fn succeeded(self, program: &str) -> Result<Finished, Error> {
        if self.status.success() {
            return Ok(self);
        }
        Err(self.failed(program, self.status.to_string()))
    }

    /// That it did not do what it was to: how it ended, and what it said last.
    pub fn failed(&self, program: &str, status: String) -> Error {
        Error::Program { program: program.into(), status, log: self.last_lines() }
    }
}

/// The program's file, as the shell would find it.
pub fn find(program: &str) -> Option<PathBuf> {
    let executable =
        |path: &PathBuf| path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0);
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(executable);
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(executable)
}

/// That a program is not there, and the package to install: `packages` are programs with theirs.
pub fn missing(program: &str, packages: &[(&str, &str)]) -> Option<String> {
    let package = packages.iter().find(|(name, _)| *name == program);
    let package = package.map_or_else(String::new, |(_, package)| format!(" (package {package})"));
    find(program).is_none().then(|| format!("the program {program}{package} is not on this machine"))
}

/// Runs it to its end, or to the time-out's, or to the user's interruption.
pub fn run(
    arguments: &[String],
    folder: &Path,
    timeout: Duration,
    interrupted: &AtomicBool,
) -> Result<Finished, Error> {
    let refused = |action: &str, source: io::Error| Error::engine(arguments[0].clone(), action, source);
    let mut command = Command::new(&arguments[0]);
    command
        .args(&arguments[1..])
        .current_dir(folder)
        // Numbers with a decimal point, whatever the user's language.
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    observe::processes::end_with_us(&mut command);
    let started = Instant::now();
    let mut child = command.spawn().map_err(|source| refused("be started", source))?;
    let stdout = keep(child.stdout.take().expect("it is piped"));
    let stderr = keep(child.stderr.take().expect("it is piped"));
    let ended = wait(&child, started + timeout, interrupted).map_err(|source| refused("be waited for", source));
    let seconds = started.elapsed().as_secs_f64();
    // What it left running would hold the pipes and disturb the next run. While the child is not reaped, its number, which
    // is the group's, is not given away.
    let _ = killpg(group(&child), Signal::SIGKILL);
    let (status, usage) = reap(&child).map_err(|source| refused("be waited for", source))?;
    let of = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    let finished = Finished {
        status,
        seconds,
        user_cpu_seconds: of(usage.ru_utime),
        system_cpu_seconds: of(usage.ru_stime),
        stdout: stdout.text(),
        stderr: stderr.text(),
    };
    match ended? {
        End::ByItself => Ok(finished),
        End::Interrupted => Err(Error::Interrupted),
        End::TimedOut => {
            let seconds = timeout.as_secs_f64();
            Err(finished.failed(&arguments[0], format!("a time-out: it was ended after {seconds:.0} s")))
        }
    }
}

/// A load of data, or a run that has no limit of its own, may take this long.
pub const LOAD_MAX: Duration = Duration::from_secs(24 * 3600);

/// Runs a program that loads data, whose words are only of interest when it fails.
///
/// # Errors
/// When it can't be started, is interrupted or fails.
pub fn succeed(arguments: &[String], folder: &Path, interrupted: &AtomicBool) -> Result<(), Error> {
    let finished = run(arguments, folder, LOAD_MAX, interrupted)?;
    if finished.status.success() {
        return Ok(());
    }
    // Its first complaint is the cause of the others, and the server's own log would stand in place of them.
    let cause = finished.stderr.lines().find(|line| !line.trim().is_empty()).unwrap_or("it says nothing");
    Err(finished.failed(&arguments[0], format!("{}: {cause}", finished.status)))
}

/// Whether a file begins with one of these marks.
///
/// # Errors
/// When it can't be read.
pub fn begins_with(path: &Path, marks: &[&[u8]]) -> Result<bool, Error> {
    let (mut head, longest) = (Vec::new(), marks.iter().map(|mark| mark.len()).max().unwrap_or(0));
    let read = std::fs::File::open(path).and_then(|file| file.take(longest as u64).read_to_end(&mut head));
    read.map_err(Error::doing("read", path))?;
    Ok(marks.iter().any(|mark| head.starts_with(mark)))
}

enum End {
    ByItself,
    Interrupted,
    TimedOut,
}

/// Waits for the child without reaping it; asks its group to end when it is time.
fn wait(child: &Child, deadline: Instant, interrupted: &AtomicBool) -> io::Result<End> {
    let handle = handle(child)?;
    loop {
        if has_ended(&handle)? {
            return Ok(End::ByItself);
        }
        let end = match (interrupted.load(Ordering::Relaxed), Instant::now() >= deadline) {
            (true, _) => End::Interrupted,
            (_, true) => End::TimedOut,
            _ => continue,
        };
        let _ = killpg(group(child), Signal::SIGTERM);
        let grace = Instant::now() + GRACE;
        while !has_ended(&handle)? && Instant::now() < grace {}
        return Ok(end);
    }
}

/// Takes the ended child away, and learns what it used. Nobody else waits for it.
fn reap(child: &Child) -> io::Result<(ExitStatus, libc::rusage)> {
    let mut status = 0;
    // SAFETY: a struct of numbers, for which zeros are values.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: both pointers are to variables of the right types that outlive the call.
        match unsafe { libc::wait4(child.id() as i32, &raw mut status, 0, &raw mut usage) } {
            1.. => return Ok((ExitStatus::from_raw(status), usage)),
            _ => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
        }
    }
}

fn group(child: &Child) -> Pid {
    Pid::from_raw(child.id() as i32)
}

/// A descriptor that becomes readable when the child ends.
#[cfg(target_os = "linux")]
fn handle(child: &Child) -> io::Result<OwnedFd> {
    use std::os::fd::FromRawFd as _;
    // SAFETY: the call takes two numbers and gives a new descriptor, which nobody else owns, or -1.
    let descriptor = unsafe { libc::syscall(libc::SYS_pidfd_open, child.id(), 0) };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: as above.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor as i32) })
}

#[cfg(not(target_os = "linux"))]
fn handle(child: &Child) -> io::Result<OwnedFd> {
    use nix::sys::event::{EvFlags, EventFilter, FilterFlag, KEvent, Kqueue};
    let queue = Kqueue::new()?;
    let process = child.id() as usize;
    let end = KEvent::new(process, EventFilter::EVFILT_PROC, EvFlags::EV_ADD, FilterFlag::NOTE_EXIT, 0, 0);
    queue.kevent(&[end], &mut [], None)?;
    Ok(queue.into())
}

fn has_ended(handle: &OwnedFd) -> io::Result<bool> {
    let mut events = [PollFd::new(handle.as_fd(), PollFlags::POLLIN)];
    match poll(&mut events, PollTimeout::from(POLL_MILLISECONDS)) {
        Ok(ready) => Ok(ready > 0),
        Err(nix::errno::Errno::EINTR) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

/// What a stream gave so far, and word of its end.
struct Kept {
    bytes: Arc<Mutex<Vec<u8>>>,
    end: mpsc::Receiver<()>,
}

/// Reads a stream to its end, in a thread, and keeps the last part.
fn keep(mut stream: impl Read + Send + 'static) -> Kept {
    let bytes = Arc::new(Mutex::new(Vec::new()));
    let (sender, end) = mpsc::channel::<()>();
    let shared = Arc::clone(&bytes);
    std::thread::spawn(move || {
        let _ends_with_this_thread = sender;
        let mut buffer = vec![0; 64 << 10];
        loop {
            let read = match stream.read(&mut buffer) {
                Ok(bytes @ 1..) => bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Ok(0) | Err(_) => return,
            };
            let mut kept = shared.lock().expect("nobody panics while he holds the lock");
            kept.extend_from_slice(&buffer[..read]);
            let surplus = kept.len().saturating_sub(OUTPUT_BYTES_MAX);
            if surplus > OUTPUT_BYTES_MAX {
                kept.drain(..surplus);
            }
        }
    });
    Kept { bytes, end }
}

impl Kept {
    /// All of it, once the stream has ended; or what there is, when a process that left the group holds it open.
    fn text(self) -> String {
        let _ = self.end.recv_timeout(GRACE);
        String::from_utf8_lossy(&self.bytes.lock().expect("nobody panics while he holds the lock")).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_long_output_is_kept() {
        let long = io::repeat(b'x').take(3 * OUTPUT_BYTES_MAX as u64).chain(&b"end"[..]);
        let kept = keep(long).text();
        assert!(kept.ends_with("xend") && kept.len() <= 2 * OUTPUT_BYTES_MAX);
    }

    /// Without namespaces it had gone on, beside the trials that followed.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_program_does_not_outlive_who_waits_for_it() {
        let folder = tempfile::tempdir().unwrap();
        let own = "echo $$ >unfinished; mv unfinished number; exec sleep 987";
        let words = ["sh", "-c", own].map(String::from);
        // SAFETY: the child uses its own handles only, and is killed.
        let waits = match unsafe { nix::unistd::fork() }.unwrap() {
            nix::unistd::ForkResult::Child => {
                let _ = run(&words, folder.path(), Duration::from_secs(60), &AtomicBool::new(false));
                // SAFETY: ends the child without the test harness's exit.
                unsafe { libc::_exit(0) }
            }
            nix::unistd::ForkResult::Parent { child } => child,
        };
        let asked = Instant::now();
        let until = |is_so: &dyn Fn() -> bool| {
            while !is_so() {
                assert!(asked.elapsed() < Duration::from_secs(50), "it takes too long");
                std::thread::sleep(Duration::from_millis(5));
            }
        };
        let number = folder.path().join("number");
        until(&|| number.exists());
        nix::sys::signal::kill(waits, Signal::SIGKILL).unwrap();
        nix::sys::wait::waitpid(waits, None).unwrap();
        let program = std::fs::read_to_string(number).unwrap();
        // A zombie that nobody has reaped is dead as well.
        let state = || std::fs::read_to_string(format!("/proc/{}/stat", program.trim()));
        until(&|| state().map_or(true, |state| state.contains(") Z ") || state.contains(") X ")));
    }

    #[test]
    fn programs_are_found_as_a_shell_does() {
        assert!(find("sh").is_some() && find("/bin/sh").is_some());
        assert!(find("no-such-program").is_none() && find("/etc/passwd").is_none());
    }
}
