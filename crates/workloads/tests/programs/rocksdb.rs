//! `rocksdb`: Debian's `db_bench` and `ldb` on real folders (package rocksdb-tools).

use crate::desk::{Desk, has_its_metrics, on_small_tmpfs, parameters, value};
use load::workload::{Error, Workload};
use observe::durability::Class;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use workloads::rocksdb::KIND;

/// Small enough for tables and compactions in a second.
fn small(benchmark: &str) -> Value {
    json!({"benchmark": benchmark, "keys": 20_000, "threads": 2, "time": "1s", "write_buffer_size": "256KiB"})
}

#[test]
fn every_benchmark_yields_its_metrics_and_leaves_its_keys() {
    const WRITES: [&str; 4] = ["fillseq", "fillrandom", "fillsync", "overwrite"];
    const READS: [&str; 4] = ["updaterandom", "readrandom", "readwhilewriting", "readrandomwriterandom"];
    // Side by side: most of them last for the second that is their shortest time.
    std::thread::scope(|scope| {
        for benchmarks in [WRITES, READS] {
            scope.spawn(move || benchmarks.into_iter().for_each(yields_its_metrics_and_leaves_its_keys));
        }
    });
}

fn yields_its_metrics_and_leaves_its_keys(benchmark: &str) {
    let (desk, written) = (Desk::new(), small(benchmark));
    let mut workload = desk.prepared(&KIND, &written);
    let outcome = desk.run(&mut *workload).unwrap();
    has_its_metrics(&KIND, &written, &outcome);
    desk.act(|context| workload.verify(context)).unwrap_or_else(|error| panic!("{benchmark}: {error}"));
    // Every run of fills begins anew; all others go on in the store that holds all keys.
    let more = desk.run(&mut *workload).unwrap();
    desk.act(|context| workload.verify(context)).unwrap_or_else(|error| panic!("{benchmark}, once more: {error}"));
    assert!(more.seconds > 0.0 && outcome.transcript.is_some_and(|text| text.contains(benchmark)));
    assert!(more.notes.iter().all(|note| !note.contains("unknown version")), "{:?}", more.notes);
    let flushes = benchmark == "fillsync";
    assert_eq!(outcome.commits > 0, flushes, "{benchmark}");
    let class = (KIND.read)(&parameters(&KIND, &written)).durability().class;
    assert_eq!(class == Class::KeepsAcknowledged, flushes || benchmark == "readrandom", "{benchmark}");
}

#[test]
fn with_sync_each_write_waits_for_a_flush() {
    let mut written = small("overwrite");
    written["sync"] = true.into();
    let outcome = Desk::new().trial(&KIND, &written).unwrap();
    // Two threads, of which one may flush for both.
    assert!(value(&outcome, "log_syncs") * 2.0 * outcome.seconds >= value(&outcome, "operations_per_second"));
    assert_eq!((KIND.read)(&parameters(&KIND, &written)).durability().class, Class::KeepsAcknowledged);
}

#[test]
fn a_profile_to_the_letter_begins_without_a_key() {
    let mut written = small("overwrite");
    (written["filled"], written["keys"], written["histogram"]) = (false.into(), 1_000_000.into(), false.into());
    let outcome = Desk::new().trial(&KIND, &written).unwrap();
    has_its_metrics(&KIND, &written, &outcome);
}

/// A store of 20,000 keys that was filled and read, and its tables, the largest first.
fn filled(desk: &Desk) -> (Box<dyn Workload>, Vec<PathBuf>) {
    let workload = desk.prepared(&KIND, &small("readrandom"));
    let files = std::fs::read_dir(desk.data.path().join("rocksdb")).unwrap().map(|entry| entry.unwrap().path());
    let mut tables: Vec<_> = files.filter(|path| path.extension().is_some_and(|ending| ending == "sst")).collect();
    tables.sort_by_key(|path| std::cmp::Reverse(path.metadata().unwrap().len()));
    assert!(tables.len() > 2, "{tables:?}");
    (workload, tables)
}

#[test]
fn a_store_that_rotted_is_no_result() {
    let desk = Desk::new();
    let (mut workload, tables) = filled(&desk);
    let mut bytes = std::fs::read(&tables[0]).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 8].fill(b'x');
    std::fs::write(&tables[0], bytes).unwrap();
    // Who reads it is refused by the sum of its block.
    let Error::Program { log, .. } = desk.run(&mut *workload).expect_err("a read of the block") else { panic!() };
    assert!(log.contains("Corruption"), "{log}");
    // `ldb` counts up to there and calls it well.
    let Error::WrongData { expected, found, .. } = desk.act(|context| workload.verify(context)).unwrap_err() else {
        panic!()
    };
    assert!(expected == "20000 keys" && found.parse::<u64>().unwrap() < 20_000, "{expected}, {found}");
}

#[test]
fn a_lost_table_is_no_result() {
    let desk = Desk::new();
    let (mut workload, tables) = filled(&desk);
    std::fs::remove_file(&tables[0]).unwrap();
    let Error::Program { program, log, .. } = desk.act(|context| workload.verify(context)).unwrap_err() else {
        panic!()
    };
    assert!(program == "ldb" && log.contains("No such file"), "{log}");
}

#[test]
/// RocksDB says what was wrong, or a thread of its own comes before that to an assertion of this build about a write that had failed.
fn a_full_disk_is_an_error_and_no_figure() {
    on_small_tmpfs(8 << 20, |desk| {
        let error = desk.trial(&KIND, &json!({"time": "30s", "threads": 1})).unwrap_err();
        let Error::Program { program, status, .. } = error else { panic!("{error}") };
        let is_named = ["No space left on device", "GetStatusForPrevError"].iter().any(|words| status.contains(words));
        assert!(program == "db_bench" && is_named, "{status}");
    });
}

#[test]
fn an_interruption_ends_it() {
    let desk = Desk::new();
    desk.interrupted.store(true, Ordering::Relaxed);
    assert!(matches!(desk.trial(&KIND, &json!({"time": "3600s"})), Err(Error::Interrupted)));
}
