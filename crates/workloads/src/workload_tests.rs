//! What the tests of several workloads share.

use load::workload::Context;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Does something with what a workload is given in a folder, where nobody interrupts it.
pub fn with_context<T>(folder: &Path, act: impl FnOnce(&mut Context) -> T) -> T {
    let interrupted = AtomicBool::new(false);
    act(&mut Context {
        data_folder: folder.into(),
        server: None,
        sockets: BTreeMap::new(),
        cache_folder: folder.into(),
        // Another than what loads of a witness have as their own: they must not depend on it.
        seed: 7,
        goes_on: false,
        runs: 1,
        client_cpus: Vec::new(),
        interrupted: &interrupted,
        progress: &mut |_, _| {},
    })
}
