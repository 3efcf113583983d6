//! Writers that replace files, a thread each, and their neighbour: another program of the same machine.
//!
//! Whether a file that was not flushed is whole after a cut depends on what else made the filesystem write its journal meanwhile.
//! Alone on a disk, a writer would wait for that for the 5 to 30 s after which the kernel writes by itself; a real machine has
//! programs that flush all the time. So the neighbour appends to a log of its own and flushes that, in a run's first half, and now and
//! then has the files' data written as the kernel does with old ones: without a flush and without the journal.

use super::rule::{FILE_BYTES, FILES, Rule};
use super::{METRICS, Method, Parameters, path};
use crate::ack_log::{AckLog, nanoseconds};
use load::threads::{Control, Ended};
use load::workload::{self, Context, Error, Outcome};
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Between two flushes of the neighbour's.
const NEIGHBOUR_PAUSE: Duration = Duration::from_millis(100);

/// So many of these come before the files' data are written.
const PAUSES_BEFORE_WRITE_BACK: u32 = 4;

/// The neighbour's file.
const NEIGHBOUR_FILE: &str = "neighbour.log";

/// What the threads of a run share.
struct Shared<'a> {
    parameters: &'a Parameters,
    folder: &'a Path,
    ack_log: &'a AckLog,
    control: Control<'a>,
}

/// Runs the writers once, each file from the version after its last.
pub fn drive(
    parameters: &Parameters,
    context: &mut Context,
    ack_log: &AckLog,
    last: &mut [u64],
) -> Result<Outcome, Error> {
    let (folder, control) = (&*context.data_folder, Control::new(context.interrupted));
    let shared = Shared { parameters, folder, ack_log, control };
    let files_of = |number| {
        let files = (0..FILES).zip(last.iter().copied());
        files.skip(number as usize).step_by(parameters.connections as usize).collect()
    };
    let files: Vec<Vec<(u32, u64)>> = (0..parameters.connections.min(FILES)).map(files_of).collect();
    let have_ended = AtomicBool::new(false);
    let (ended, neighbour) = std::thread::scope(|scope| {
        let neighbour = scope.spawn(|| neighbour(folder, parameters.time_seconds, &have_ended));
        let write = |files| shared.write(files);
        let ended = shared.control.run(files, |_, files| Ok(files), write, &mut *context.progress);
        have_ended.store(true, Ordering::Relaxed);
        (ended, neighbour.join().expect("the neighbour does not panic"))
    });
    let Ended { parts, seconds, rates } = ended?;
    for (file, version) in parts.into_iter().flatten() {
        last[file as usize] = version;
    }
    neighbour?;
    let replacements = shared.control.done();
    Ok(Outcome {
        seconds,
        metrics: workload::figures(METRICS, [replacements as f64 / seconds, replacements as f64]),
        series: [(METRICS[0].name.to_string(), rates)].into(),
        bytes_written: replacements * FILE_BYTES as u64,
        ..Outcome::all_right()
    })
}

impl Shared<'_> {
    /// Replaces its files by turns until the run is over; gives their last versions.
    fn write(&self, mut files: Vec<(u32, u64)>) -> Result<Vec<(u32, u64)>, Error> {
        let Parameters { method, seed, time_seconds, pause_seconds, .. } = *self.parameters;
        let deadline = Instant::now() + Duration::from_secs_f64(time_seconds);
        let is_over = || self.control.is_over() || Instant::now() >= deadline;
        loop {
            for (file, version) in &mut files {
                if is_over() {
                    return Ok(files);
                }
                let content = Rule { seed }.content(*file, *version + 1);
                let tried = nanoseconds();
                let replaced = replace(self.folder, *file, &content, method);
                let acknowledged = replaced.is_ok().then(nanoseconds);
                self.ack_log.write(*file, *version + 1, tried, acknowledged)?;
                replaced.map_err(|source| Error::file("replace", &path(self.folder, *file), source))?;
                *version += 1;
                self.control.count(1);
                std::thread::sleep(Duration::from_secs_f64(pause_seconds));
            }
        }
    }
}

/// One replacement, as programs do it.
pub fn replace(folder: &Path, file: u32, content: &[u8], method: Method) -> io::Result<()> {
    let name = path(folder, file);
    match method {
        Method::Rename | Method::RenameFsync | Method::RenameFsyncDirectory => {
            let new = name.with_extension("new");
            let mut written = File::create(&new)?;
            written.write_all(content)?;
            if method != Method::Rename {
                written.sync_all()?;
            }
            drop(written);
            std::fs::rename(&new, &name)?;
            if method == Method::RenameFsyncDirectory {
                File::open(folder)?.sync_all()?;
            }
            Ok(())
        }
        Method::Truncate => std::fs::write(&name, content),
        Method::OverwriteFsync => {
            let written = OpenOptions::new().write(true).open(&name)?;
            written.write_all_at(content, 0)?;
            written.sync_data()
        }
    }
}

/// Another program at work, until the writers have ended.
fn neighbour(folder: &Path, run_seconds: f64, have_ended: &AtomicBool) -> Result<(), Error> {
    let failed = |source| Error::file("append to", &folder.join(NEIGHBOUR_FILE), source);
    let mut neighbour = Neighbour::open(folder).map_err(failed)?;
    let (begun, run) = (Instant::now(), Duration::from_secs_f64(run_seconds));
    let mut pauses = 0;
    while !have_ended.load(Ordering::Relaxed) {
        std::thread::sleep(NEIGHBOUR_PAUSE);
        if neighbour_flushes(begun.elapsed(), run) {
            neighbour.flush().map_err(failed)?;
        }
        pauses += 1;
        if pauses % PAUSES_BEFORE_WRITE_BACK == 0 {
            start_write_back_of_all(folder);
        }
    }
    Ok(())
}

/// Whether the neighbour flushes at this time of a run: in its first half, so that files are found half written. What a program leaves to be
/// flushed by others is lost for as long as nobody does, and the second half shows that.
fn neighbour_flushes(passed: Duration, run: Duration) -> bool {
    passed < run / 2
}

/// Another program of the same machine, with a log of its own.
pub struct Neighbour(File);

impl Neighbour {
    pub fn open(folder: &Path) -> io::Result<Neighbour> {
        OpenOptions::new().create(true).append(true).open(folder.join(NEIGHBOUR_FILE)).map(Neighbour)
    }

    /// Writes a line and flushes it.
    pub fn flush(&mut self) -> io::Result<()> {
        writeln!(self.0, "all is well")?;
        self.0.sync_all()
    }
}

/// Has the data of all files written as the kernel does with old ones: without a flush.
pub fn start_write_back_of_all(folder: &Path) {
    (0..FILES).for_each(|file| start_write_back(&path(folder, file)));
}

/// Has a file's data written without waiting for it; of a file that is just not there, nothing.
fn start_write_back(path: &Path) {
    let Ok(file) = File::open(path) else { return };
    // Linux starts to write what is dirty before it drops what is clean (`generic_fadvise`), and does nothing else.
    #[cfg(any(target_os = "linux", target_os = "freebsd"))]
    let _ = nix::fcntl::posix_fadvise(&file, 0, 0, nix::fcntl::PosixFadviseAdvice::POSIX_FADV_DONTNEED);
    drop(file);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It flushed each tenth of a second to the end: renames that nobody flushes "lost the last 0.1 s", where a disk at rest loses 30 s.
    #[test]
    fn nobody_flushes_in_the_second_half_of_a_run_but_the_writers() {
        let at = |seconds: f64| neighbour_flushes(Duration::from_secs_f64(seconds), Duration::from_secs(3));
        assert_eq!([0.0, 1.49, 1.5, 2.9].map(at), [true, true, false, false]);
    }
}
