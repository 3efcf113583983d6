//! Which commit this is built from, for `surefoot --version` and results files; outside of a clone only the version.
//!
//! Reads what git keeps and starts no git. A clone's changes that are not committed are not seen.

use std::fs::read_to_string;
use std::path::Path;

fn main() {
    let git = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.git");
    println!("cargo::rerun-if-changed=build.rs");
    // What is not there must not be named, or every build would build anew.
    for part in ["HEAD", "packed-refs", "refs/heads"].map(|name| git.join(name)).iter().filter(|part| part.exists()) {
        println!("cargo::rerun-if-changed={}", part.display());
    }
    let version = env!("CARGO_PKG_VERSION");
    match commit(&git) {
        Some(commit) => println!("cargo::rustc-env=SUREFOOT_VERSION={version} (commit {commit:.12})"),
        None => println!("cargo::rustc-env=SUREFOOT_VERSION={version}"),
    }
}

/// Of the branch that is checked out, or without one.
fn commit(git: &Path) -> Option<String> {
    let head = read_to_string(git.join("HEAD")).ok()?;
    let Some(branch) = head.trim().strip_prefix("ref: ") else { return Some(head.trim().into()) };
    if let Ok(commit) = read_to_string(git.join(branch)) {
        return Some(commit.trim().into());
    }
    let packed = read_to_string(git.join("packed-refs")).ok()?;
    packed.lines().find_map(|line| Some(line.strip_suffix(branch)?.trim().to_string()))
}
