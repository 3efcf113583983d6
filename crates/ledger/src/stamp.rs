//! A ledger's state as a word, without opening it.

use crate::lock::is_held;
use crate::schema;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Another word whenever something was written, by the sizes and times of the file and its log, or a run began or ended.
pub fn stamp(ledger: &Path) -> String {
    let of = |path: &Path| {
        let found = path.metadata().ok().filter(|metadata| metadata.len() > 0);
        found.map_or("none".into(), |found| {
            format!("{:x}.{:x}.{:x}.{:x}", found.ino(), found.len(), found.mtime(), found.mtime_nsec())
        })
    };
    let running = if is_held(ledger) { "running" } else { "at-rest" };
    format!("{}-{}-{running}", of(ledger), of(&schema::log_of(ledger)))
}
