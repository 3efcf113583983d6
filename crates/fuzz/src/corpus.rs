//! The stored inputs of a target: real ones to start from, and each that was once a finding.

use crate::{Random, Target};
use std::path::{Path, PathBuf};

/// All of them, in the order of their names; those that an earlier run with coverage found come after them.
pub(crate) fn read(target: &Target) -> Vec<Vec<u8>> {
    let stored = files(&target.corpus());
    assert!(!stored.is_empty(), "{} holds no input", target.corpus().display());
    let found = if crate::coverage::IS_COUNTED { files(&found(target)) } else { Vec::new() };
    stored.iter().chain(&found).map(|path| std::fs::read(path).expect("it was just listed")).collect()
}

/// Keeps an input that reached something new, outside of the repository.
pub(crate) fn keep(target: &Target, bytes: &[u8]) {
    let folder = found(target);
    let name = format!("{:016x}", Random::of_bytes(bytes).bits());
    // Without it the next run finds it again.
    let _ = std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(folder.join(name), bytes));
}

/// `target/fuzz`, beside the profile's folder that this test's binary lies in.
pub(crate) fn output() -> PathBuf {
    let program = std::env::current_exe().expect("this program has a path");
    program.ancestors().nth(3).expect("target/PROFILE/deps/TEST").join("fuzz")
}

fn found(target: &Target) -> PathBuf {
    output().join(format!("corpus-{}", target.test.replace("::", "-")))
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = folder.read_dir().into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    files.sort();
    files
}
