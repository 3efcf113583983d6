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

#[test]
fn choices_are_settings_and_what_loads_a_server_is_none() {
    for kind in super::kinds() {
        let is_setting = |choice: &&str| kind.settings.iter().any(|setting| setting.name == *choice);
        let wrong: Vec<_> = kind.choices.iter().filter(|choice| !is_setting(choice)).collect();
        assert!(wrong.is_empty(), "{}: {wrong:?}", kind.name);
    }
    let is_choice = |path: &&str| path.split_once('.').is_some_and(|(name, setting)| super::is_choice(name, setting));
    let own = ["oltp.engine", "oltp.journal_mode", "rocksdb.compression", "rocksdb.sync", "key-value.map_size"];
    assert!(own.iter().all(is_choice));
    let load = ["oltp.threads", "oltp.table_size", "rocksdb.keys", "http-load.rate", "http-load.engine"];
    assert!(!load.iter().any(is_choice));
}
