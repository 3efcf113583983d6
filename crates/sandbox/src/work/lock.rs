//! Who owns a work folder: a lock that vanishes with its holder, whatever ended it, and a note of who that is.

use super::Error;
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use std::time::{Duration, Instant};

pub(super) const FILE: &str = ".surefoot-lock";

/// Whoever may open it may hold it (flock(2)), and the note in it has a command line.
const MODE: u32 = 0o600;

/// A holder that was killed lets go within this time.
const PATIENCE: Duration = Duration::from_secs(5);
/// One that lives won't, but for the moment between fork and exec in which a child has all that its parent has.
const PATIENCE_WITH_THE_LIVING: Duration = Duration::from_millis(500);

/// Who owns a work folder.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Holder {
    /// Its process.
    pub process: u32,
    /// Its command line.
    pub command: String,
    /// Its machine.
    pub host: String,
    /// Since when, Unix time in seconds.
    pub since: f64,
    /// The results file that it writes, if it writes one.
    pub results: Option<String>,
}

impl Holder {
    /// This process, now.
    pub fn this_process(results: Option<&Path>) -> Holder {
        let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>();
        let host = nix::unistd::gethostname().map_or_else(|_| String::new(), |name| name.to_string_lossy().into());
        let since = std::time::UNIX_EPOCH.elapsed().map_or(0.0, |since| since.as_secs_f64());
        let results = results.map(|path| path.display().to_string());
        Holder { process: std::process::id(), command: words.join(" "), host, since, results }
    }

    fn lives(&self) -> bool {
        let process = i32::try_from(self.process).unwrap_or(i32::MAX);
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(process), None) != Err(nix::errno::Errno::ESRCH)
    }

    fn words(&self) -> String {
        let writes = self.results.as_ref().map_or_else(String::new, |results| format!(", which writes {results}"));
        let now = std::time::UNIX_EPOCH.elapsed().map_or(0.0, |since| since.as_secs_f64());
        let seconds = settings::quantity::format_seconds((now - self.since).max(0.0).round());
        format!("process {} on {} (`{}`){writes}, for {seconds}", self.process, self.host, self.command)
    }
}

/// Takes the folder's lock and notes the holder. None: the folder was removed meanwhile.
pub(super) fn take(folder: &Path, holder: &Holder) -> Result<Option<File>, Error> {
    let path = folder.join(FILE);
    let mut options = OpenOptions::new();
    let opened = options.read(true).write(true).create(true).mode(MODE).custom_flags(libc::O_NOFOLLOW).open(&path);
    let mut file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::file("open", &path)(error)),
    };
    super::private_file(&path, &file.metadata().map_err(Error::file("look at", &path))?).or_else(|error| {
        // Without a name it is one that was removed.
        if is_at(&file, folder) { Err(error) } else { Ok(()) }
    })?;
    // One that an earlier surefoot made; without a name it may be anybody's.
    if is_at(&file, folder) {
        file.set_permissions(Permissions::from_mode(MODE)).map_err(Error::file("protect", &path))?;
    }
    let began = Instant::now();
    while !try_lock(&file).map_err(Error::file("lock", &path))? {
        let found = read(&mut file);
        let lives = found.as_ref().is_none_or(Holder::lives);
        if began.elapsed() > if lives { PATIENCE_WITH_THE_LIVING } else { PATIENCE } {
            let holder = found.map_or_else(|| "another process".into(), |found| found.words());
            return Err(Error::InUse { folder: folder.into(), holder });
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    if !is_at(&file, folder) {
        return Ok(None);
    }
    let text = serde_json::to_vec(holder).expect("plain data");
    let written = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| file.write_all(&text));
    written.map_err(Error::file("write", &path))?;
    Ok(Some(file))
}

/// Whether the lock is ours now. An error says that none is to be had, as on Lustre without its mount option `flock`.
pub(super) fn try_lock(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn read(file: &mut File) -> Option<Holder> {
    let mut text = String::new();
    file.rewind().ok()?;
    file.take(1 << 16).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

/// Whether an open lock is the one that the folder has.
pub(super) fn is_at(lock: &File, folder: &Path) -> bool {
    let there = folder.join(FILE).symlink_metadata();
    let (Ok(there), Ok(ours)) = (there, lock.metadata()) else { return false };
    (there.dev(), there.ino()) == (ours.dev(), ours.ino())
}

/// Takes a lock that killed processes may still have, within this time.
pub(super) fn wait(file: &File, patience: Duration) -> bool {
    let began = Instant::now();
    while file.try_lock().is_err() {
        if began.elapsed() > patience {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    true
}
