//! The user's own files that a study reads: what they held when a session began, so that nobody goes on with others, and no trial reads
//! what another did not.

use crash::plan::{Plan, TrialSpec};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Larger ones are told by their time: to read them whole would keep every session waiting.
const READ_BYTES_MAX: u64 = 1 << 30;

/// What a plan's files held when the session began, by their paths as the study has them.
#[derive(Debug, Default)]
pub struct Inputs {
    files: BTreeMap<PathBuf, Held>,
    /// Whoever asks for the study knows that they change.
    may_change: bool,
}

#[derive(Debug)]
struct Held {
    /// Its length and its time: while they stay, it is not read again.
    stamp: (u64, SystemTime),
    fingerprint: String,
}

/// A file is not what it was.
#[derive(Debug, thiserror::Error)]
#[error("{0} is not what it was when the session began: trials that read different data can't be compared")]
pub struct Changed(PathBuf);

impl Inputs {
    /// Those of a plan, which may change if that is accepted. What can't be read is found missing elsewhere.
    pub fn of(plan: &Plan, accept_changes: bool) -> Inputs {
        let files = plan.scenarios.iter().flat_map(|one| files(&one.workload, &one.parameters)).collect();
        Inputs { may_change: accept_changes, ..Inputs::of_files(files) }
    }

    fn of_files(files: BTreeSet<PathBuf>) -> Inputs {
        let held = |file: PathBuf| {
            // What is written while it is read is a change.
            let stamp = stamp(&file).ok()?;
            let fingerprint = fingerprint(&file).ok()?;
            Some((file, Held { stamp, fingerprint }))
        };
        Inputs { files: files.into_iter().filter_map(held).collect(), may_change: false }
    }

    /// Facts of a session: by file, its size and the begin of its SHA-256.
    pub fn facts(&self) -> impl Iterator<Item = (String, String)> {
        self.files.iter().map(|(file, held)| (observe::machine::input(file), held.fingerprint.clone()))
    }

    /// A trial reads its files anew: a log that its server still writes has more of them each time.
    ///
    /// # Errors
    /// When one of its files has changed.
    pub fn require_unchanged(&self, spec: &TrialSpec) -> Result<(), Changed> {
        self.require(files(&spec.workload, &spec.parameters))
    }

    fn require(&self, files: Vec<PathBuf>) -> Result<(), Changed> {
        let has_changed =
            |file: &PathBuf| !self.may_change && self.files.get(file).is_some_and(|held| !held.is_of(file));
        files.into_iter().find(has_changed).map_or(Ok(()), |file| Err(Changed(file)))
    }
}

impl Held {
    fn is_of(&self, file: &Path) -> bool {
        stamp(file).is_ok_and(|stamp| stamp == self.stamp) || fingerprint(file).is_ok_and(|now| now == self.fingerprint)
    }
}

/// The user's own files that a workload reads, by their paths as the study has them.
pub(crate) fn files(workload: &str, parameters: &Map<String, Value>) -> Vec<PathBuf> {
    workloads::kind(workload).map_or_else(Vec::new, |kind| (kind.read)(parameters).user_files())
}

fn stamp(file: &Path) -> io::Result<(u64, SystemTime)> {
    let data = file.metadata()?;
    Ok((data.len(), data.modified()?))
}

fn fingerprint(file: &Path) -> io::Result<String> {
    let data = file.metadata()?;
    if !data.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    if data.len() > READ_BYTES_MAX {
        let changed = data.modified()?.duration_since(UNIX_EPOCH).map_err(io::Error::other)?;
        return Ok(format!("{} bytes, changed at {}.{:09}", data.len(), changed.as_secs(), changed.subsec_nanos()));
    }
    let mut digest = Sha256::new();
    let bytes = io::copy(&mut File::open(file)?, &mut digest)?;
    let mut said = format!("{bytes} bytes, SHA-256 ");
    for byte in digest.finalize().iter().take(8) {
        let _ = write!(said, "{byte:02x}");
    }
    Ok(said)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A log that its server still writes, and one that was put away at midnight.
    #[test]
    fn a_file_that_is_written_on_or_gone_is_no_more_the_same() {
        let folder = tempfile::tempdir().expect("a folder");
        let [log, dump] = ["access.log", "shop.dump"].map(|name| folder.path().join(name));
        for file in [&log, &dump] {
            std::fs::write(file, "one\n").expect("written");
        }
        let inputs = Inputs::of_files([log.clone(), dump.clone(), folder.path().join("none")].into());
        assert_eq!(inputs.facts().count(), 2);
        let changed = |files: &[&PathBuf]| {
            inputs.require(files.iter().map(|file| (*file).clone()).collect()).err().map(|changed| changed.0)
        };
        assert_eq!(changed(&[&log, &dump]), None);
        // Written anew and alike, as by who copies it again.
        std::fs::write(&log, "one\n").expect("written");
        assert_eq!(changed(&[&log, &dump]), None);
        std::fs::write(&log, "one\ntwo\n").expect("written");
        assert_eq!((changed(&[&dump]), changed(&[&dump, &log])), (None, Some(log.clone())));
        std::fs::remove_file(&dump).expect("removed");
        assert_eq!(changed(&[&dump]), Some(dump.clone()));
        let accepted = Inputs { may_change: true, ..inputs };
        assert!(accepted.require(vec![log, dump]).is_ok() && accepted.facts().count() == 2);
    }
}
