//! The recording disk: a file that a loop device is put on, served by a process of its own.
//!
//! While it records it keeps what is written in memory and writes every request down, with when it came and when the host was
//! told that it is done ([`crate::write_log`]). Afterwards it serves the images that a power cut may have left
//! ([`crate::states`]), and says which undecided units a recovery read. Without a log it is a disk as slow as a drive, and says
//! whether it kept to that ([`crate::timing_fidelity`]).
//!
//! A process of its own, because a thread that waits in the kernel would keep the served file's connection open while its
//! process dies, and everything would hang. When the process that serves is killed, all I/O on the disk fails and ends. Its file
//! reaches the kernel by FUSE, spoken raw; it must not touch the filesystem that lies on its disk.
//! By hand: `surefoot disk OPTIONS`, with orders as JSON lines on standard input; a piece of a long answer ends with `+`, and an
//! input line of `+` asks for the next. Where the load runs in a guest kernel, orders and
//! answers are a serial line of that kernel's, and its disk is the same file (`line.rs`).

mod awake;
mod fuse;
mod images;
mod line;
pub mod memory;
mod orders;
mod recorder;
mod server;
mod spool;

use crate::clock::Ahead;
use crate::fault::injector::{Asked, Injection, Traced};
use crate::states::{Cache, Choice, Rules, Unit};
use crate::timing::Profile;
use crate::timing_fidelity::TimingFidelity;
pub use awake::keep_awake;
pub use line::Breaker;
use line::Line;
use memmap2::Mmap;
use orders::{Answer, Order};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufRead, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A disk's size is a multiple of this.
const PAGE_BYTES: u64 = 4096;

/// Questions to another clock, of which the one that was answered soonest counts.
const CLOCK_LOOKS: u32 = 32;

/// A log's bytes, in the page cache: a process that starts others needs not copy what maps them.
pub type Log = Mmap;

/// A log that is closed.
///
/// # Errors
/// When it can't be read.
pub fn map(log: &Path) -> Result<Log, Error> {
    let file = File::open(log).map_err(Error::file("open", log))?;
    // SAFETY: the process that wrote the log has closed it, and nobody else writes to what surefoot keeps.
    unsafe { Mmap::map(&file) }.map_err(Error::file("map", log))
}

/// What a disk is to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Options {
    /// An empty directory, in which the disk's file appears.
    pub mount_point: PathBuf,
    /// Where it is written down what is done to it; none: nowhere.
    pub log: Option<LogFile>,
    /// Size of the disk: whole pages of 4096 bytes.
    pub disk_bytes: u64,
    /// Whose times it has.
    pub profile: Profile,
    /// What its cache promises.
    pub cache: Cache,
    /// Of its chance: the same requests take as long again.
    pub seed: u64,
}

/// The file of a write log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogFile {
    /// Where it is; not on the disk itself.
    pub path: PathBuf,
    /// It is closed before it is larger.
    pub bytes_max: u64,
}

/// Why there is no disk, or no log of it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A size that no disk has.
    #[error("a disk of {0} bytes can't be: its size is a multiple of {PAGE_BYTES} bytes, and at least that")]
    Size(u64),
    /// Refused before anything was written.
    #[error(
        "the write log may take {log_bytes_max} bytes, and {} has {free_bytes} bytes free: give it less (a shorter run needs \
         less), or put it elsewhere",
        .log.display()
    )]
    Room {
        /// Where it would go.
        log: PathBuf,
        /// What may be written there.
        free_bytes: u64,
        /// What was asked for.
        log_bytes_max: u64,
    },
    /// The log had to be closed before the end. The disk goes on, and what was written down until then holds.
    #[error(
        "the write log {} was closed early: {reason}; let the measured part write less, or give the log more room",
        .log.display()
    )]
    Full {
        /// Where it is.
        log: PathBuf,
        /// Why.
        reason: String,
    },
    /// A file that can't be used.
    #[error("can't {doing} {}", .path.display())]
    File {
        /// What was tried.
        doing: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// A file that is no log.
    #[error("can't read {}", .path.display())]
    Log {
        /// Where it is.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        source: crate::write_log::Error,
    },
    /// The process or one of its threads can't be started.
    #[error("can't start the disk's process")]
    Start(#[source] io::Error),
    /// The process said no.
    #[error("the disk's process refused: {0}")]
    Refused(String),
    /// The process is gone.
    #[error("the disk's process has ended, and the disk with it")]
    Ended,
    /// The process lives, and says nothing.
    #[error("the disk's process gave no answer for {0} s: it is stopped, or hangs")]
    Silent(u16),
    /// An order that is none.
    #[error("the disk was given an order that is none")]
    Order(#[source] serde_json::Error),
    /// Orders or answers can't pass.
    #[error("the disk's process and the one that gave it orders lost each other")]
    Pipe(#[source] io::Error),
}

impl Error {
    fn file(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        move |source| Error::File { doing, path: path.into(), source }
    }
}

/// Serves a disk until there are no more orders: what the process does that [`Disk::start`] starts.
///
/// What goes wrong is answered, first of all that there is a disk or why not.
///
/// # Errors
/// When orders can't be read or answers not written.
pub fn main(options: &Options, orders: impl BufRead, answers: impl Write) -> Result<(), Error> {
    orders::serve(options, orders, answers)
}

/// A disk, by the process that serves it. The process ends when this is dropped, or with the thread that started it.
#[derive(Debug)]
pub struct Disk {
    /// None: it keeps none.
    log: Option<PathBuf>,
    line: Line,
    /// None where another kernel's process serves it.
    served: Option<Served>,
    timing_fidelity: Option<TimingFidelity>,
    /// Of the disk's clock, when it is not ours: at the begin, and at the begin and the end.
    ahead: Option<Ahead>,
}

/// The process, and where its file is seen. It ends when this is dropped.
#[derive(Debug)]
pub struct Served {
    process: Child,
    mount_point: PathBuf,
    is_mounted: bool,
}

impl Disk {
    /// Makes a disk of zeros, and records from then on. `program` is a command line up to where the options follow, as one argument;
    /// it must come to [`main`].
    ///
    /// # Errors
    /// When it can't be made or the log has not the room that it may take.
    pub fn start(mut program: Command, options: &Options) -> Result<Disk, Error> {
        check(options)?;
        let text = serde_json::to_string(options).expect("paths that are text, and numbers");
        // A group of its own: an interrupt on the terminal must not take the disk away below a filesystem.
        program.arg(text).stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        observe::processes::end_with_us(&mut program);
        let mut process = program.spawn().map_err(Error::Start)?;
        let orders = OwnedFd::from(process.stdin.take().expect("it was asked for"));
        let answers = OwnedFd::from(process.stdout.take().expect("it was asked for"));
        let line = Line::new(orders.into(), answers.into());
        let served = Served { process, mount_point: options.mount_point.clone(), is_mounted: true };
        let log = options.log.as_ref().map(|log| log.path.clone());
        let mut disk = Disk { log, line, served: Some(served), timing_fidelity: None, ahead: None };
        match disk.answer() {
            Ok(_) => Ok(disk),
            Err(error) => {
                if let Some(served) = &mut disk.served {
                    // It says no only before it mounts.
                    served.is_mounted = !matches!(error, Error::Refused(_));
                }
                Err(error)
            }
        }
    }

    /// A disk that was started outside the kernel that we run in, and handed over to this line.
    ///
    /// # Errors
    /// When the line has only one handle.
    pub fn beyond(line: &File, log: &Path) -> Result<Disk, Error> {
        let line = Line::new(line.try_clone().map_err(Error::Pipe)?, line.try_clone().map_err(Error::Pipe)?);
        Ok(Disk { log: Some(log.into()), line, served: None, timing_fidelity: None, ahead: None })
    }

    /// Lets another kernel give the orders: the process, which is to be kept, where orders go, and where answers come from.
    ///
    /// # Panics
    /// When the process is not ours.
    #[must_use]
    pub fn hand_over(self) -> (Served, OwnedFd, OwnedFd) {
        let (orders, answers) = self.line.into_ends();
        (self.served.expect("it was started here"), orders, answers)
    }

    /// As [`Served::file`], of a disk that was started here.
    ///
    /// # Panics
    /// When it was not.
    pub fn file(&self) -> PathBuf {
        self.served.as_ref().expect("it was started here").file()
    }

    /// The number of its process, when it was started here.
    ///
    /// # Panics
    /// When it was not.
    pub fn process(&self) -> u32 {
        self.served.as_ref().expect("it was started here").process.id()
    }

    /// The measured part begins: what came before does not count for [`Disk::timing_fidelity`].
    ///
    /// # Errors
    /// When the log had to be closed before.
    pub fn begin(&mut self) -> Result<(), Error> {
        self.ahead = self.compare_clocks()?;
        self.ask(&Order::Begin).map(drop)
    }

    /// The measured part ends, and no more is recorded from here on; requests are served as before.
    ///
    /// # Errors
    /// [`Error::Full`] when the log had to be closed before, and holds not all.
    pub fn stop(&mut self) -> Result<(), Error> {
        if let Answer::Stopped { timing_fidelity } = self.ask(&Order::Stop)? {
            self.timing_fidelity = timing_fidelity;
        }
        if let (Some(before), Some(after)) = (self.ahead, self.compare_clocks()?) {
            self.ahead = Some(before.and_later(&after));
        }
        Ok(())
    }

    /// How far the disk's clock was ahead of ours between [`Disk::begin`] and [`Disk::stop`]; none: it is the same clock.
    pub fn ahead(&self) -> Option<Ahead> {
        self.ahead
    }

    /// How far it kept to its profile between [`Disk::begin`] and [`Disk::stop`]; none when nothing was delayed.
    pub fn timing_fidelity(&self) -> Option<TimingFidelity> {
        self.timing_fidelity
    }

    /// From now on it serves images of a log's points, its own or an earlier disk's of this size, without delays, and what is
    /// written is not recorded. The first image is that of the log's end, with all that was written. Nothing may be mounted from it.
    ///
    /// # Errors
    /// When the log can't be read.
    pub fn explore(&mut self, log: &Path, rules: Rules) -> Result<(), Error> {
        self.ask(&Order::Explore { log: Cow::Borrowed(log), rules }).map(drop)
    }

    /// Serves this image, as if power had just come back. Nothing may be mounted from it.
    ///
    /// # Errors
    /// When there is no such image.
    pub fn show(&mut self, point: usize, choice: &Choice) -> Result<(), Error> {
        self.ask(&Order::Show { point, choice: Cow::Borrowed(choice) }).map(drop)
    }

    /// The undecided units that were read since the image was shown and before they were overwritten, in order of their first
    /// read. A write of a part of a unit reads it, too.
    ///
    /// # Errors
    /// When no image is shown.
    pub fn read(&mut self) -> Result<Vec<Unit>, Error> {
        let Answer::Read { units } = self.ask(&Order::Read)? else { return Err(Error::Ended) };
        Ok(units)
    }

    /// From now on it fails so, counting its requests from here, or is well; it serves images. If its requests are traced, they are
    /// kept for [`Disk::traced`].
    ///
    /// # Errors
    /// When it records.
    pub fn fail(&mut self, injection: Option<Injection>, is_traced: bool) -> Result<(), Error> {
        self.ask(&Order::Fail { injection, is_traced }).map(drop)
    }

    /// The requests that its fault has struck.
    ///
    /// # Errors
    /// When it records.
    pub fn struck(&mut self) -> Result<Vec<Asked>, Error> {
        let Answer::Struck { requests } = self.ask(&Order::Struck)? else { return Err(Error::Ended) };
        Ok(requests)
    }

    /// The requests that came since [`Disk::fail`], if they were to be traced.
    ///
    /// # Errors
    /// When it records.
    pub fn traced(&mut self) -> Result<Vec<Traced>, Error> {
        let Answer::Traced { requests } = self.ask(&Order::Traced)? else { return Err(Error::Ended) };
        Ok(requests)
    }

    /// It fails no more. What it had not answered ends with an error: the disk was taken away and put in again.
    ///
    /// # Errors
    /// When it records.
    pub fn mend(&mut self) -> Result<(), Error> {
        self.ask(&Order::Mend).map(drop)
    }

    /// What can end it from another thread.
    ///
    /// # Errors
    /// When its line has only one handle.
    pub fn breaker(&self) -> Result<Breaker, Error> {
        self.served.as_ref().map_or_else(|| self.line.breaker(), |served| Ok(Breaker::Process(served.process.id())))
    }

    /// Ends it at once: all that is under way fails with I/O errors, and nothing hangs.
    pub fn kill(&mut self) {
        if let Some(served) = &mut self.served {
            served.kill();
        }
    }

    /// The narrowest of several looks; none where the disk's clock is ours.
    fn compare_clocks(&mut self) -> Result<Option<Ahead>, Error> {
        if self.served.is_some() {
            return Ok(None);
        }
        let mut looks = Vec::new();
        for _ in 0..CLOCK_LOOKS {
            let asked = now_nanoseconds();
            let Answer::Now { at_nanoseconds } = self.ask(&Order::Now)? else { return Err(Error::Ended) };
            looks.push(Ahead::of(asked, at_nanoseconds, now_nanoseconds()));
        }
        Ok(looks.into_iter().min_by_key(Ahead::width_nanoseconds))
    }

    fn ask(&mut self, order: &Order) -> Result<Answer, Error> {
        self.line.give(order)?;
        self.answer()
    }

    fn answer(&mut self) -> Result<Answer, Error> {
        match self.line.hear()? {
            Answer::Full { reason } => Err(Error::Full { log: self.log.clone().unwrap_or_default(), reason }),
            Answer::Refused { message } => Err(Error::Refused(message)),
            answer => Ok(answer),
        }
    }
}

impl Served {
    /// The file that a loop device with direct I/O is put on, or another kernel's disk.
    pub fn file(&self) -> PathBuf {
        self.mount_point.join(fuse::FILE)
    }

    fn kill(&mut self) {
        // It may have ended before.
        let _ = self.process.kill();
        let _ = self.process.wait();
        if std::mem::take(&mut self.is_mounted) {
            fuse::detach(&self.mount_point);
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.kill();
    }
}

/// What can be known before.
fn check(options: &Options) -> Result<(), Error> {
    let Options { log, disk_bytes, .. } = options;
    if *disk_bytes == 0 || !disk_bytes.is_multiple_of(PAGE_BYTES) {
        return Err(Error::Size(*disk_bytes));
    }
    log.as_ref().map_or(Ok(()), check_room)
}

fn check_room(LogFile { path: log, bytes_max }: &LogFile) -> Result<(), Error> {
    let folder = log.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let room = nix::sys::statvfs::statvfs(folder).map_err(io::Error::from).map_err(Error::file("look at", folder))?;
    let free_bytes = room.blocks_available() * room.fragment_size();
    if free_bytes < *bytes_max {
        return Err(Error::Room { log: log.clone(), free_bytes, log_bytes_max: *bytes_max });
    }
    Ok(())
}

/// Of `CLOCK_MONOTONIC`.
fn now_nanoseconds() -> u64 {
    let now = nix::time::clock_gettime(nix::time::ClockId::CLOCK_MONOTONIC).expect("every Linux has this clock");
    now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64
}
