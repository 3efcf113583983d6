//! Whole runs on LMDB and SQLite, and stores that lie: each lie must end the run or its verification.

use super::store::{Key, Seen, Shape};
use super::*;
use crate::workload_tests::{figure, with_context};
use load::workload::WorkloadSettings as _;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn parameters(changes: serde_json::Value) -> Parameters {
    let changes = changes.as_object().expect("a table");
    settings::typed(&settings::check_all(parameters::SETTINGS, changes).expect("right"))
}

#[test]
fn every_mix_runs_on_both_embedded_stores() {
    for engine in ["lmdb", "sqlite"] {
        for mix in mix::NAMES {
            let folder = tempfile::tempdir().expect("a folder");
            let changes = json!({ "engine": engine, "mix": mix, "records": 300, "threads": 2, "time": "100ms",
                                  "sync": "none", "synchronous": "off" });
            with_context(folder.path(), |context| {
                let mut workload = KeyValue::new(parameters(changes));
                workload.prepare(context).expect("it loads");
                let outcome = workload.run(context).unwrap_or_else(|error| panic!("{engine} {mix}: {error}"));
                context.goes_on = true;
                workload.run(context).expect("it goes on");
                workload.verify(context).unwrap_or_else(|error| panic!("{engine} {mix}: {error}"));
                let all: u64 = outcome
                    .latencies
                    .iter()
                    .filter(|(kind, _)| *kind != OPERATION)
                    .map(|(_, latency)| latency.count())
                    .sum();
                assert_eq!(figure(&outcome, "operations"), all as f64);
                assert!(all > 0 && outcome.latencies[OPERATION].count() == all);
            });
        }
    }
}

/// What is mapped is not dropped from the page cache, so that a cold run would be a warm one.
#[cfg(target_os = "linux")]
#[test]
fn a_store_that_cools_maps_no_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let is_mapped = || {
        let maps = std::fs::read_to_string("/proc/self/maps").expect("one's own");
        maps.contains(folder.path().to_str().expect("text"))
    };
    let changes = json!({ "engine": "lmdb", "records": 50, "time": "20ms", "sync": "none" });
    with_context(folder.path(), |context| {
        let mut workload = KeyValue::new(parameters(changes));
        workload.prepare(context).expect("it loads");
        for _ in 0..2 {
            assert!(is_mapped());
            workload.cool().expect("it closes");
            assert!(!is_mapped());
            workload.run(context).expect("it opens again");
            context.goes_on = true;
        }
        workload.verify(context).expect("all is there");
    });
}

/// As one of many writers may find it for longer than it waits.
#[test]
fn a_lock_that_another_holds_is_asked_for_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let changes = json!({ "engine": "sqlite", "mix": "update-only", "records": 50, "threads": 1, "time": "20ms",
                          "busy_timeout": "0s", "synchronous": "off" });
    with_context(folder.path(), |context| {
        let mut workload = KeyValue::new(parameters(changes));
        workload.prepare(context).expect("it loads");
        workload.run(context).expect("it runs");
        context.goes_on = true;
        let other = rusqlite::Connection::open(engines::sqlite::file(folder.path())).expect("the file");
        other.execute_batch("BEGIN IMMEDIATE").expect("nobody else writes");
        std::thread::scope(|scope| {
            scope.spawn(move || {
                std::thread::sleep(STALL);
                other.execute_batch("COMMIT").expect("it ends");
            });
            workload.run(context).expect("it goes on");
        });
        workload.verify(context).expect("all is there");
    });
}

/// What a store does wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lie {
    Nothing,
    /// Acknowledges updates and inserts that it does not keep.
    LosesWrites,
    /// Keeps the first half of what it is given.
    TearsWrites,
    /// Writes another record than it was told.
    WritesElsewhere,
    /// Gives another record than was asked for.
    ReadsElsewhere,
    /// Leaves out each third record of a scan.
    SkipsInScans,
    /// Takes a moment for its first operation.
    Stalls,
    /// Takes long for the first operation of its first connection.
    OneStalls,
}

const STALL: Duration = Duration::from_millis(100);

/// Far beyond a run's end.
const LONG_STALL: Duration = Duration::from_secs(2);

/// Records in memory.
struct Memory {
    lie: Lie,
    shape: Shape,
    records: Arc<Mutex<BTreeMap<Key, Vec<u8>>>>,
    is_connected: AtomicBool,
}

/// Records by key.
type Found = Vec<(Key, Vec<u8>)>;

struct MemorySession {
    lie: Lie,
    shape: Shape,
    records: Arc<Mutex<BTreeMap<Key, Vec<u8>>>>,
    answer: Option<(usize, Found)>,
}

impl Store for Memory {
    fn load(&self, _: &Place, next: &mut dyn FnMut(&mut Vec<u8>) -> Option<Key>) -> Result<(), Error> {
        let mut record = Vec::new();
        while let Some(key) = next(&mut record) {
            self.records.lock().expect("whole").insert(key, record.clone());
        }
        Ok(())
    }

    fn count(&self, _: &Place) -> Result<u64, Error> {
        Ok(self.records.lock().expect("whole").len() as u64)
    }

    fn connect(&self, _: &Place) -> Result<Box<dyn Session>, Error> {
        let records = Arc::clone(&self.records);
        let is_first = !self.is_connected.swap(true, Ordering::Relaxed);
        let lie = if self.lie == Lie::OneStalls && !is_first { Lie::Nothing } else { self.lie };
        Ok(Box::new(MemorySession { lie, shape: self.shape, records, answer: None }))
    }
}

impl Session for MemorySession {
    fn ask(&mut self, tag: usize, request: &Request) -> Result<(), Error> {
        if self.lie == Lie::OneStalls {
            self.lie = Lie::Nothing;
            std::thread::sleep(LONG_STALL);
        }
        let mut records = self.records.lock().expect("whole");
        let found = match *request {
            Request::Read(key) => {
                let other = records.keys().find(|other| **other != key).copied();
                let key = if self.lie == Lie::ReadsElsewhere { other.expect("there are several") } else { key };
                records.get(&key).map(|record| (key, record.clone())).into_iter().collect()
            }
            Request::Scan(from, count) => {
                let skipped = |place: &usize| self.lie == Lie::SkipsInScans && place % 3 == 2;
                let all = records.range(from..).enumerate().filter(|(place, _)| !skipped(place)).take(count);
                all.map(|(_, (key, record))| (*key, record.clone())).collect()
            }
            Request::Update(key, field, value) => {
                let other = records.keys().find(|other| **other != key).copied();
                let key = if self.lie == Lie::WritesElsewhere { other.expect("there are several") } else { key };
                let length = if self.lie == Lie::TearsWrites { value.len() / 2 } else { value.len() };
                if self.lie != Lie::LosesWrites {
                    let place = field * self.shape.length..field * self.shape.length + length;
                    records.get_mut(&key).expect("it is there")[place].copy_from_slice(&value[..length]);
                }
                Vec::new()
            }
            Request::Insert(key, record) => {
                if self.lie != Lie::LosesWrites {
                    records.insert(key, record.to_vec());
                }
                Vec::new()
            }
        };
        if self.lie == Lie::Stalls {
            self.lie = Lie::Nothing;
            std::thread::sleep(STALL);
        }
        self.answer = Some((tag, found));
        Ok(())
    }

    fn answer(&mut self, see: &mut dyn FnMut(Seen)) -> Result<Option<usize>, Error> {
        let Some((tag, records)) = self.answer.take() else { return Ok(None) };
        for (key, record) in &records {
            for (field, value) in record.chunks(self.shape.length).enumerate() {
                see(Seen { tag, key, field, value });
            }
        }
        Ok(Some(tag))
    }
}

/// A run on records in memory, and its verification.
fn run(lie: Lie, changes: serde_json::Value) -> Result<Outcome, Error> {
    let mut table = json!({ "engine": "lmdb", "records": 50, "fields": 3, "threads": 1, "time": "50ms" });
    table.as_object_mut().expect("a table").extend(changes.as_object().expect("a table").clone());
    let mut workload = KeyValue::new(parameters(table));
    let shape = workload.parameters.shape();
    workload.store = Box::new(Memory { lie, shape, records: Arc::default(), is_connected: AtomicBool::new(false) });
    with_context(Path::new("/nonexistent"), |context| {
        workload.prepare(context)?;
        let outcome = workload.run(context)?;
        workload.verify(context)?;
        Ok(outcome)
    })
}

#[test]
fn a_store_that_lies_has_no_figure() {
    let wrong = |lie, mix: &str| {
        let error =
            run(lie, json!({ "mix": mix })).err().unwrap_or_else(|| panic!("{lie:?} is not found in mix {mix}"));
        assert!(matches!(error, Error::WrongData { .. }), "{lie:?}: {error}");
    };
    for mix in ["a", "f", "update-only"] {
        wrong(Lie::LosesWrites, mix);
        wrong(Lie::TearsWrites, mix);
        wrong(Lie::WritesElsewhere, mix);
    }
    wrong(Lie::LosesWrites, "d");
    wrong(Lie::ReadsElsewhere, "c");
    wrong(Lie::SkipsInScans, "e");
    for mix in mix::NAMES {
        run(Lie::Nothing, json!({ "mix": mix, "threads": 4 })).unwrap_or_else(|error| panic!("{mix}: {error}"));
    }
}

/// 50 operations are due in the first half of the stall, and each of them waits for 50 ms or longer, whatever else the machine does.
#[test]
fn an_open_loop_counts_from_when_an_operation_was_due() {
    let outcome =
        run(Lie::Stalls, json!({ "mix": "c", "rate": 1000, "time": "300ms" })).expect("it is slow, and right");
    let (operations, missed) = (figure(&outcome, "operations"), figure(&outcome, "missed_operations"));
    assert_eq!((operations, missed), (300.0, 0.0));
    assert!(figure(&outcome, "late_operations") >= 50.0);
    let slow = outcome.latencies[OPERATION].microseconds_at(1.0 - 50.0 / operations);
    assert!(slow >= 49_000.0, "{slow}");
    let closed = run(Lie::Stalls, json!({ "mix": "c", "time": "150ms" })).expect("right");
    assert_eq!(figure(&closed, "late_operations") + figure(&closed, "missed_operations"), 0.0);
}

#[test]
fn what_was_due_in_an_open_loop_before_its_end_is_begun_and_has_waited() {
    let changes = json!({ "mix": "c", "rate": 1000, "time": "50ms" });
    let outcome = run(Lie::Stalls, changes).expect("it is slow, and right");
    assert_eq!(["operations", "missed_operations"].map(|name| figure(&outcome, name)), [50.0, 0.0]);
    let shortest = outcome.latencies[OPERATION].microseconds_at(0.0);
    assert!(shortest >= 49_000.0, "{shortest} µs: all waited for the first");
}

/// The first is due at once and the second at the end: over the time until the first one's answer, whoever answers sooner would have the higher rate.
#[test]
fn who_holds_the_rate_of_an_open_loop_has_that_rate() {
    let outcome = run(Lie::Nothing, json!({ "mix": "c", "rate": 2, "time": "500ms" })).expect("right");
    let [rate, done] = ["operations_per_second", "operations"].map(|name| figure(&outcome, name));
    assert!(done == 1.0 && rate <= 2.0, "{done} at {rate}");
    let closed = run(Lie::Nothing, json!({ "mix": "c" })).expect("right");
    assert_eq!([outcome, closed].map(|outcome| outcome.asked.limit == Limit::Open), [true, false]);
}

#[test]
fn the_slowest_operation_of_a_closed_loop_takes_no_time_of_the_others() {
    let outcome = run(Lie::OneStalls, json!({ "mix": "c", "threads": 8, "time": "200ms" })).expect("right");
    let elapsed = figure(&outcome, "elapsed_seconds");
    assert!(elapsed >= LONG_STALL.as_secs_f64(), "{elapsed}");
    let least = (7.0 * 0.2 + LONG_STALL.as_secs_f64()) / 8.0;
    assert!((least..elapsed - 0.8).contains(&outcome.seconds), "{} of {elapsed} s", outcome.seconds);
    let [rate, done] = ["operations_per_second", "operations"].map(|name| figure(&outcome, name));
    assert!((rate * outcome.seconds - done).abs() < 1e-6, "the slow one is among the {done}");
}

#[test]
fn what_does_not_go_together_is_refused() {
    let problems = |changes| parameters(changes).problems().join("; ");
    assert_eq!(problems(json!({})), "");
    assert_eq!(
        problems(json!({ "engine": "lmdb", "pipeline": 2, "aof_rewrite": "1s" })),
        "`pipeline` is of redis: lmdb answers each connection's operations one by one; \
         `aof_rewrite` is of redis: lmdb has no append-only file"
    );
    assert_eq!(problems(json!({ "aof_rewrite": "10s" })), "`aof_rewrite` (10 s) is not within a run (`time`, 10 s)");
    let small = json!({ "engine": "lmdb", "map_size": "100MiB" });
    assert_eq!(problems(small), "`map_size`: the records take about 185.0 MB; make it larger, or load fewer `records`");
}

/// LMDB's own words, "Environment mapsize limit reached", are all that a short answer has.
#[test]
fn a_full_map_is_told_by_the_settings_name() {
    let full = crate::lmdb::failed("load the records")(heed::Error::Mdb(heed::MdbError::MapFull));
    let cause = std::error::Error::source(&full).expect("what LMDB says").to_string();
    assert_eq!(cause, "MDB_MAP_FULL: the data and what updates leave are more than `map_size`");
}

/// `journal_mode` of LMDB had been compared as if its levels were two.
#[test]
fn a_store_has_no_settings_of_another() {
    let idle = |engine: &str| parameters(json!({ "engine": engine })).idle();
    assert!(idle("lmdb").contains(&("journal_mode", "SQLite as `engine`")), "{:?}", idle("lmdb"));
    assert!(!idle("lmdb").iter().any(|(name, _)| ["sync", "map_size"].contains(name)), "{:?}", idle("lmdb"));
    assert_eq!(idle("sqlite"), [("sync", "LMDB as `engine`"), ("map_size", "LMDB as `engine`")]);
}

/// In turns of a second, the rewrite would begin when nobody asks the store for anything.
#[test]
fn runs_with_a_rewrite_are_not_cut_into_turns() {
    let of = |changes| {
        let parameters = parameters(changes);
        (parameters.run_seconds(), parameters.is_by_the_clock())
    };
    assert_eq!(of(json!({})), (Some(10.0), true));
    assert_eq!(of(json!({ "aof_rewrite": "3s" })), (None, true));
}

/// A study is right on a machine that is too small for it: another may measure it, and another may drive its load.
#[test]
fn too_little_memory_is_the_machines_and_not_the_studys() {
    let lacking = |changes: serde_json::Value| {
        let parameters = parameters(changes);
        assert_eq!(parameters.problems(), Vec::<String>::new());
        [parameters.lacking(8_000_000_000), parameters.lacking_for_load(8_000_000_000)].map(Option::unwrap_or_default)
    };
    assert_eq!(lacking(json!({})), ["", ""]);
    let [of_redis, of_load] = lacking(json!({ "records": 1_000_000_000 }));
    assert!(of_redis.starts_with("`records`: redis keeps them in memory, about 1850.0 GB"), "{of_redis}");
    assert!(of_load.starts_with("`records`: to know what may be read, the load itself needs 80.0 GB"), "{of_load}");
    let [of_postgres, of_load] = lacking(json!({ "engine": "postgres", "fields": 64, "records": 1_000_000_000 }));
    assert_eq!(of_postgres, "");
    assert!(of_load.starts_with("`records`: to know what may be read, the load itself needs 512.0 GB"), "{of_load}");
    let reads = json!({ "engine": "postgres", "fields": 64, "records": 1_000_000_000, "mix": "c" });
    assert_eq!(lacking(reads), ["", ""]);
    let nobody_knows = parameters(json!({ "records": 1_000_000_000 }));
    assert_eq!([nobody_knows.lacking(0), nobody_knows.lacking_for_load(0)], [None, None]);
}

/// A store that stood still for a whole run is not one that answers in no time.
#[test]
fn without_an_operation_there_is_no_latency() {
    let workload = KeyValue::new(parameters(json!({ "engine": "lmdb", "time": "1s" })));
    let outcome = |counted: drive::Counted| {
        workload.outcome(
            Driven { counted, seconds: 2.5, rate_seconds: 1.0, rates: vec![0.0, 7.0], sessions: Vec::new() },
            None,
        )
    };
    let has_latency = |outcome: &Outcome| outcome.metrics.iter().any(|one| one.metric.name.starts_with("latency_"));
    let empty = outcome(drive::Counted::default());
    assert!(!has_latency(&empty) && figure(&empty, "operations_per_second") == 0.0);
    assert_eq!(empty.series["operations_per_second"], [0.0], "in the other one second most connections were done");
    let mut one = drive::Counted::default();
    one.latencies[0].record(Duration::from_micros(700));
    assert!(has_latency(&outcome(one)));
}
