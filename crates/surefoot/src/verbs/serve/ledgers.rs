//! What is served, files and folders of fleets: their names in paths, the version that each has now, and the last reading of it.
//!
//! Asking for the version opens no file, and costs next to nothing. While one request
//! reads a new version, others get the page of the one before: a large ledger takes seconds.

use super::fleet;
use crate::knowledge;
use report::served::{self, Source};
use report::{Input, Standing};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

/// A file may be replaced while it is read; so often it is read again.
const READS_MAX: usize = 3;
/// Names that lead to other pages.
const TAKEN: &str = "all";

/// A results file, or the folder of a fleet's.
pub struct Ledger {
    /// Its name in paths.
    pub name: String,
    path: PathBuf,
    is_fleet: bool,
    last: Mutex<Option<Arc<Reading>>>,
    under_way: Mutex<()>,
}

/// What was read of a file, and its page.
pub struct Reading {
    /// The version that it was at least.
    pub version: String,
    /// What it held; or why it can't be read, or of a fleet how far it is.
    pub results: Result<(Input, Standing), String>,
    /// Whether the page shows what is there, and not why it can't be shown.
    pub is_readable: bool,
    /// Whether nothing more is to come.
    pub is_over: bool,
    /// Its page.
    pub page: String,
}

/// Files with their names: the file's own without its ending, numbered where two have the same.
pub fn named(paths: &[PathBuf]) -> Vec<Ledger> {
    let mut ledgers: Vec<Ledger> = Vec::new();
    for path in paths {
        // `serve .` has the folder's own name.
        let whole = path.canonicalize().unwrap_or_else(|_| path.clone());
        let stem = whole.file_stem().unwrap_or_default().to_string_lossy();
        let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
        let stem: String = stem.chars().map(plain).collect();
        let is_free = |name: &String| name != TAKEN && !ledgers.iter().any(|ledger| ledger.name == *name);
        let numbered = (2..).map(|number| format!("{stem}-{number}"));
        let name = std::iter::once(stem.clone()).chain(numbered).find(is_free).expect("one of endless many is free");
        let (last, under_way) = (Mutex::new(None), Mutex::new(()));
        ledgers.push(Ledger { name, path: path.clone(), is_fleet: path.is_dir(), last, under_way });
    }
    ledgers
}

/// The version of all files together.
pub fn version_of_all(ledgers: &[Ledger]) -> String {
    let versions: Vec<String> = ledgers.iter().map(Ledger::version).collect();
    joined(versions.iter().map(String::as_str))
}

/// Versions of several files as one.
pub fn joined<'a>(versions: impl Iterator<Item = &'a str>) -> String {
    versions.collect::<Vec<_>>().join("+")
}

impl Ledger {
    /// The version there is now. What could not be read is looked at again after a while, as that may have been for want of descriptors, say.
    pub fn version(&self) -> String {
        let last = lock(&self.last).clone();
        match last {
            last if self.is_fleet => fleet::version(&self.path, last.is_some_and(|last| last.is_over)),
            Some(last) if !last.is_readable => unread(&ledger::stamp(&self.path)),
            _ => ledger::stamp(&self.path),
        }
    }

    /// The file as it is now, or as it was a moment ago while somebody reads it.
    pub fn reading(&self, has_siblings: bool) -> Arc<Reading> {
        let version = self.version();
        let last = || lock(&self.last).clone();
        if let Some(last) = last().filter(|last| last.version == version) {
            return last;
        }
        let _turn = match (self.under_way.try_lock(), last()) {
            (Ok(turn), _) => turn,
            (Err(TryLockError::Poisoned(turn)), _) => turn.into_inner(),
            (Err(TryLockError::WouldBlock), Some(older)) => return older,
            (Err(TryLockError::WouldBlock), None) => lock(&self.under_way),
        };
        // Who had the turn before us may have read this very version.
        if let Some(last) = last().filter(|last| last.version == self.version()) {
            return last;
        }
        let reading = Arc::new(self.read(has_siblings));
        *lock(&self.last) = Some(reading.clone());
        reading
    }

    fn read(&self, has_siblings: bool) -> Reading {
        if self.is_fleet {
            return fleet::read(&self.path, &self.name, has_siblings);
        }
        if let Some(reading) = fleet::read_merged(&self.path, &self.name, has_siblings) {
            return reading;
        }
        let mut tries = 0;
        let (version, results) = loop {
            tries += 1;
            let version = ledger::stamp(&self.path);
            let results = self.results();
            // The log of a run under way grows while it is read, which SQLite takes care of; a file at rest must stay so.
            let is_sure = results.is_ok() && ledger::is_held(&self.path);
            if is_sure || tries == READS_MAX || ledger::stamp(&self.path) == version {
                break (version, results);
            }
        };
        let version = if results.is_ok() { version } else { unread(&version) };
        let version_path = format!("/{}/version", self.name);
        let source = Source { version_path: &version_path, version: &version };
        let page = match &results {
            Ok((input, standing)) => served::report(input, standing, has_siblings, source),
            Err(why) => served::message(why, "This page looks again by itself.", Some(source)),
        };
        Reading { version, page, is_readable: results.is_ok(), is_over: false, results }
    }

    fn results(&self) -> Result<(Input, Standing), String> {
        let read = || -> anyhow::Result<(Input, Standing)> {
            let is_running = ledger::is_held(&self.path);
            let input = knowledge::told(report::read(&ledger::Reader::open_untouched(&self.path)?)?);
            let standing = Standing::of(&input.contents, is_running);
            Ok((input, standing))
        };
        read().map_err(|error| format!("{error:#}"))
    }
}

/// The version of a file that could not be read.
fn unread(stamp: &str) -> String {
    format!("{stamp}-{}", fleet::moment(false))
}

/// What a thread that panicked left is a whole reading, or none.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With the file's own stamp its page had promised to look again, and never did.
    #[test]
    fn what_could_not_be_read_is_looked_at_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("mail.surefoot");
        std::fs::write(&path, "no results").expect("written");
        let ledgers = named(std::slice::from_ref(&path));
        let reading = ledgers[0].reading(false);
        assert!(!reading.is_readable && reading.version.starts_with(&ledger::stamp(&path)));
        assert_ne!(reading.version, ledger::stamp(&path));
    }

    #[test]
    fn names_are_plain_and_apart() {
        let paths = ["a/x y.surefoot", "b/x y.surefoot", "all.surefoot", "<i>.surefoot", "/tmp/é"].map(PathBuf::from);
        let names: Vec<String> = named(&paths).into_iter().map(|ledger| ledger.name).collect();
        assert_eq!(names, ["x-y", "x-y-2", "all-2", "-i-", "-"]);
    }
}
