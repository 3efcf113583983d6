//! What the tests of several workloads share.

use load::workload::{Context, Kind, Outcome, Workload, WorkloadSettings};
use observe::durability::Durability;
use serde_json::{Map, Value};
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

/// The settings of a kind, where a study writes these.
pub fn checked(kind: &Kind, written: &Value) -> Map<String, Value> {
    settings::check_all(kind.settings, written.as_object().expect("a table")).expect("right")
}

/// What they say.
pub fn read(kind: &Kind, written: &Value) -> Box<dyn WorkloadSettings> {
    (kind.read)(&checked(kind, written))
}

/// Does something with a load that has its data in a folder.
pub fn with_loaded<T>(
    load: Box<dyn WorkloadSettings>,
    folder: &Path,
    act: impl FnOnce(&mut dyn Workload, &mut Context) -> T,
) -> T {
    with_context(folder, |context| {
        let mut workload = load.open().expect("it opens");
        workload.prepare(context).expect("it loads");
        act(&mut *workload, context)
    })
}

/// A figure of a run.
pub fn figure(outcome: &Outcome, name: &str) -> f64 {
    let found = outcome.metrics.iter().find(|measured| measured.metric.name == name);
    found.unwrap_or_else(|| panic!("no {name}")).value
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

/// GT.M's class was that of LMDB's `sync = "commit"`, which it does not know: it was picked as equally safe, and loses the last second.
#[test]
fn a_flush_that_an_engine_does_not_know_is_no_promise() {
    let keeps = |engine: &str, sync: &str| {
        let kind = super::kind("three-n-plus-one").expect("a kind");
        let mut checked = settings::defaults(kind.settings);
        checked.extend([("engine", engine), ("sync", sync)].map(|(name, value)| (name.to_string(), value.into())));
        (kind.read)(&checked).durability() == Durability::full()
    };
    assert!(keeps("lmdb", "commit") && !keeps("lmdb", "none"));
    assert!(!keeps("gtm", "commit") && !keeps("gtm", "none"));
}

/// MariaDB's manual, CREATE TABLE: a table's own ENGINE stands above the server's `default_storage_engine`.
#[test]
fn an_engine_that_no_table_takes_is_no_choice() {
    let aria = serde_json::json!({ "settings": { "default_storage_engine": "Aria" } });
    let services = BTreeMap::from([("mariadb".to_string(), aria.as_object().expect("a table").clone())]);
    let problems = |workload: &str, engine: &str| {
        let mut checked = settings::defaults(super::kind(workload).expect("a kind").settings);
        checked.insert("engine".into(), engine.into());
        super::settings(workload, &checked).expect("a kind").problems_beside(&services).len()
    };
    for workload in ["oltp", "tpcb", "orders", "key-value", "three-n-plus-one"] {
        assert_eq!([problems(workload, "mariadb"), problems(workload, "postgres")], [1, 0], "{workload}");
    }
    assert_eq!([problems("sql", "mariadb"), problems("sql-bench", "mariadb")], [0, 0]);
}

/// On PostgreSQL "synchronous = off" was measured, and found to be no faster than "full".
#[test]
fn settings_of_an_embedded_database_do_nothing_on_a_server() {
    let idle = |workload: &str, engine: &str| {
        let mut checked = settings::defaults(super::kind(workload).expect("a kind").settings);
        checked.insert("engine".into(), engine.into());
        super::idle(workload, &checked).into_iter().map(|(name, _)| name).collect::<Vec<_>>()
    };
    let all = ["journal_mode", "synchronous", "page_size", "cache_size", "mmap_size", "busy_timeout"];
    for workload in ["oltp", "orders"] {
        assert_eq!(idle(workload, "postgres"), all, "{workload}");
        assert!(idle(workload, "sqlite").is_empty(), "{workload}");
    }
    assert!(idle("tpcb", "postgres").is_empty());
    assert_eq!(idle("key-value", "redis"), [&["sync", "map_size"][..], &all].concat());
    assert_eq!(idle("key-value", "lmdb"), all, "which takes no SQL");
    assert_eq!(idle("three-n-plus-one", "postgres"), ["sync", "journal_mode", "map_size"]);
    assert_eq!(idle("three-n-plus-one", "sqlite"), ["map_size"]);
}
