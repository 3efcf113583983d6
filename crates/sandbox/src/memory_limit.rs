//! A cgroup around a trial that limits its memory, page cache included: v2 where the memory controller is there, else v1.

use crate::work::Work;
use nix::unistd::{AccessFlags, access};
use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// How the names of all our groups begin; after it comes the work folder's own word, by which its owner knows what its killed
/// runs left, and then the process.
const PREFIX: &str = "surefoot-";

/// A killed run's processes are gone within this time.
const LEFTOVER_PATIENCE: Duration = Duration::from_secs(2);

/// A cgroup; removed when dropped.
#[derive(Debug)]
pub struct MemoryLimit {
    folder: PathBuf,
    bytes: u64,
}

/// Why there can be no limit.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No memory controller that we may use.
    #[error("`memory` needs the memory controller of cgroup v2 or v1, and neither is mounted and writable")]
    NoController,
    /// The system refused.
    #[error("cannot write {path}")]
    Write {
        /// Which file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

impl MemoryLimit {
    /// Makes a group of this size for one trial.
    ///
    /// # Errors
    /// Without a memory controller, or without the right to use it.
    pub fn new(bytes: u64, work: &Work) -> Result<MemoryLimit, Error> {
        let (root, version) = controller().ok_or(Error::NoController)?;
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let folder = root.join(format!("{}{}-{number}", prefix(work), std::process::id()));
        if !folder.exists() {
            std::fs::create_dir(&folder).map_err(|source| Error::Write { path: folder.clone(), source })?;
        }
        let limit = MemoryLimit { folder, bytes };
        match version {
            Version::Two => {
                limit.write("memory.max", bytes)?;
                // No swap: a trial that swaps measures the swap device.
                let _ = limit.write("memory.swap.max", 0);
            }
            Version::One => {
                limit.write("memory.limit_in_bytes", bytes)?;
                // Of memory and swap together; kernels that do not count swap have no such file.
                let _ =
                    limit.write("memory.memsw.limit_in_bytes", bytes).or_else(|_| limit.write("memory.swappiness", 0));
            }
        }
        Ok(limit)
    }

    /// Lets a process live in the group from its start on.
    ///
    /// # Errors
    /// When the group takes none.
    pub fn start_inside(&self, command: &mut Command) -> io::Result<()> {
        let procs = File::options().write(true).open(self.folder.join("cgroup.procs"))?;
        enter(command, procs);
        Ok(())
    }

    /// How much it grants.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How many processes the kernel ended because the limit was reached.
    pub fn processes_killed(&self) -> u64 {
        let read = |file| std::fs::read_to_string(self.folder.join(file)).ok();
        let text = read("memory.events").or_else(|| read("memory.oom_control")).unwrap_or_default();
        text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok()).unwrap_or(0)
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn write(&self, file: &str, value: u64) -> Result<(), Error> {
        let path = self.folder.join(file);
        std::fs::write(&path, value.to_string()).map_err(|source| Error::Write { path, source })
    }
}

impl Drop for MemoryLimit {
    fn drop(&mut self) {
        // The group empties a moment after its last process was reaped.
        for _ in 0..50 {
            if std::fs::remove_dir(&self.folder).is_ok() || !self.folder.exists() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Lets a process start outside of the limit that its parent lives in.
///
/// # Errors
/// Without a memory controller, or without the right to use it.
pub fn start_outside(command: &mut Command) -> Result<(), Error> {
    let (root, _) = controller().ok_or(Error::NoController)?;
    let path = root.join("cgroup.procs");
    let procs = File::options().write(true).open(&path).map_err(|source| Error::Write { path, source })?;
    enter(command, procs);
    Ok(())
}

/// Moves the process that is started into the group whose file this is.
fn enter(command: &mut Command, procs: File) {
    // SAFETY: between fork and exec only `write` is called.
    unsafe { command.pre_exec(move || (&procs).write_all(b"0")) };
}

/// Whether a limit could be set here.
pub fn available() -> bool {
    controller().is_some()
}

/// Removes the groups that killed runs in this work folder left; returns how many. Who asks owns the folder, so that no other
/// run in it lives; groups of other folders' runs are not touched.
pub fn remove_leftovers(work: &Work) -> usize {
    let Some((root, _)) = controller() else { return 0 };
    let Ok(entries) = root.read_dir() else { return 0 };
    let prefix = prefix(work);
    let ours = entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with(&prefix));
    let began = Instant::now();
    // A group with processes can't be removed.
    let removed = |folder: PathBuf| loop {
        if std::fs::remove_dir(&folder).is_ok() {
            return true;
        }
        if began.elapsed() > LEFTOVER_PATIENCE || !folder.exists() {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    ours.filter(|entry| removed(entry.path())).count()
}

fn prefix(work: &Work) -> String {
    format!("{PREFIX}{}-", work.word())
}

enum Version {
    One,
    Two,
}

fn controller() -> Option<(PathBuf, Version)> {
    // A mount whose name is no UTF-8 hides no other.
    let mounts = String::from_utf8_lossy(&std::fs::read("/proc/self/mounts").ok()?).into_owned();
    let mut fields = mounts.lines().filter_map(|line| {
        let mut words = line.split(' ');
        Some((PathBuf::from(words.nth(1)?), words.next()?, words.next()?))
    });
    fields.find_map(|(folder, kind, options)| {
        let version = match kind {
            "cgroup2" => {
                let controllers = std::fs::read_to_string(folder.join("cgroup.subtree_control")).ok()?;
                controllers.split_whitespace().any(|name| name == "memory").then_some(Version::Two)?
            }
            "cgroup" if options.split(',').any(|option| option == "memory") => Version::One,
            _ => return None,
        };
        access(&folder, AccessFlags::W_OK).is_ok().then_some((folder, version))
    })
}
