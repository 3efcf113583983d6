//! The user's own files that a study reads: what they held when a session began, so that nobody goes on with others.

use crash::plan::Plan;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// Larger ones are told by their time: to read them whole would keep every session waiting.
const READ_BYTES_MAX: u64 = 1 << 30;

/// Facts of a session: by file, its size and the begin of its SHA-256. What can't be read is found missing elsewhere.
pub fn facts(plan: &Plan) -> BTreeMap<String, String> {
    let files: BTreeSet<PathBuf> =
        plan.scenarios.iter().flat_map(|one| files(&one.workload, &one.parameters)).collect();
    let fact = |file: &PathBuf| Some((observe::machine::input(file), fingerprint(file).ok()?));
    files.iter().filter_map(fact).collect()
}

/// The user's own files that a workload reads, by their paths as the study has them.
pub(crate) fn files(workload: &str, parameters: &Map<String, Value>) -> Vec<PathBuf> {
    workloads::kind(workload).map_or_else(Vec::new, |kind| (kind.read)(parameters).user_files())
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
