//! `commits` on a real SQLite file in a temporary folder.

use super::*;
use crate::ack_log::tests::witnessed;
use crate::workload_tests::{read, with_loaded};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;

fn parameters(folder: &Path, changes: Value) -> Map<String, Value> {
    let mut table = changes.as_object().expect("a table").clone();
    table.insert("witness".into(), folder.join("witness").to_string_lossy().into());
    let defaults = json!({ "time": "300ms", "pause": "5ms" });
    for (name, value) in defaults.as_object().expect("a table") {
        table.entry(name).or_insert(value.clone());
    }
    settings::check_all(SETTINGS, &table).expect("right")
}

/// Prepares and runs it; the parameters for a look.
fn committed(folder: &Path, changes: Value) -> Map<String, Value> {
    let parameters = parameters(folder, changes);
    with_loaded((KIND.read)(&parameters), folder, |workload, context| {
        workload.ready(context).expect("it is made ready");
        let outcome = workload.run(context).expect("it runs");
        workload.verify(context).expect("it is whole");
        assert_eq!(outcome.commits as usize, witnessed(folder).len());
        assert_eq!(outcome.metrics[0].metric, (KIND.read)(&parameters).metrics()[0]);
    });
    parameters
}

#[test]
fn all_that_was_acknowledged_is_found() {
    for changes in [json!({}), json!({ "journal_mode": "delete", "connections": 3 }), json!({ "journal_mode": "off" })]
    {
        let folder = tempfile::tempdir().expect("a folder");
        let parameters = committed(folder.path(), changes);
        let connections = parameters["connections"].as_u64().expect("a number") as u32;
        let mut expected: BTreeMap<u32, Vec<u64>> = (0..connections).map(|stream| (stream, Vec::new())).collect();
        for (stream, number, tried, acknowledged) in witnessed(folder.path()) {
            assert!(acknowledged.is_some_and(|acknowledged| tried < acknowledged), "{stream} {number}");
            expected.entry(stream).or_default().push(number);
        }
        assert!(!expected[&0].is_empty());
        let look = look_at_embedded(&parameters, folder.path()).expect("it comes up");
        assert_eq!(look, Look { streams: expected, ..Look::default() });
    }
}

#[test]
fn lmdb_commits_are_found_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let parameters = committed(folder.path(), json!({ "engine": "lmdb" }));
    let look = look_at_embedded(&parameters, folder.path()).expect("it comes up");
    let counts: u64 = look.streams.values().map(|numbers| numbers.len() as u64).sum();
    assert_eq!(counts as usize, witnessed(folder.path()).len());
    assert_eq!((look.wrong, look.damage), (Vec::<String>::new(), None));
    std::fs::remove_file(folder.path().join("lmdb/data.mdb")).expect("it is there");
    assert_eq!(look_at_embedded(&parameters, folder.path()), Err("the database's file is gone".into()));
}

#[test]
fn what_is_altered_by_hand_is_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let parameters = committed(folder.path(), json!({}));
    let altered = |sql: &str, back: &str| {
        let file = rusqlite::Connection::open(engines::sqlite::file(folder.path())).expect("the file");
        file.execute_batch(sql).expect(sql);
        let look = look_at_embedded(&parameters, folder.path()).expect("it comes up");
        file.execute_batch(back).expect(back);
        assert_eq!(look.damage, None, "{sql}");
        look.wrong.join("; ")
    };
    let keep = "CREATE TABLE kept AS SELECT * FROM commits; ";
    let back = "DELETE FROM commits; INSERT INTO commits SELECT * FROM kept; DROP TABLE kept;";
    let gone = altered(&format!("{keep} DELETE FROM commits WHERE id = 1"), back);
    assert!(gone.starts_with("counters that disagree"), "{gone}");
    let gone = altered(&format!("{keep} DELETE FROM commits WHERE id = 999000007"), back);
    assert_eq!(gone, "loaded rows that are missing: 1, the first 999000007");
    let torn = altered(&format!("{keep} UPDATE commits SET payload = 'x' || substr(payload, 2) WHERE id = 1"), back);
    assert_eq!(torn, "rows with another text than was written: 1, the first 1");
    let half = altered(&format!("{keep} UPDATE commits SET revision = revision + 1 WHERE id = 999000007"), back);
    assert!(half.starts_with("rows without the change"), "{half}");
    let half = altered("UPDATE counters SET n = n - 1", "UPDATE counters SET n = n + 1");
    assert!(half.starts_with("counters that disagree with the rows of their stream: 2"), "{half}");
    assert_eq!(altered("SELECT 1", "SELECT 1"), "");
}

#[test]
fn a_commit_that_failed_is_listed_without_an_acknowledgement() {
    let folder = tempfile::tempdir().expect("a folder");
    let parameters = parameters(folder.path(), json!({ "time": "1h" }));
    with_loaded((KIND.read)(&parameters), folder.path(), |workload, context| {
        let thief = rusqlite::Connection::open(engines::sqlite::file(folder.path())).expect("the file");
        thief.execute_batch("DELETE FROM counters WHERE id = 1").expect("it is writable");
        // The other stream ends, too.
        let error = workload.run(context).expect_err("a counter is gone");
        assert!(matches!(error, Error::WrongData { .. }), "{error}");
    });
    let failed: Vec<_> = witnessed(folder.path()).into_iter().filter(|line| line.3.is_none()).collect();
    assert_eq!(failed.iter().map(|line| (line.0, line.1)).collect::<Vec<_>>(), [(1, 1)]);
    let look = look_at_embedded(&parameters, folder.path()).expect("it comes up");
    assert!(look.wrong[0].contains("stream 1: it is missing, 0 rows are there"), "{:?}", look.wrong);
    assert!(look.streams[&1].is_empty());
}

#[test]
fn a_file_that_is_no_database_does_not_come_up_and_an_empty_one_is_damaged() {
    let folder = tempfile::tempdir().expect("a folder");
    let parameters = parameters(folder.path(), json!({}));
    let look = || look_at_embedded(&parameters, folder.path());
    assert_eq!(look(), Err("the database's file is gone".into()));
    std::fs::write(engines::sqlite::file(folder.path()), "").expect("written");
    let damage = look().expect("SQLite takes it for a new one").damage.expect("without tables");
    assert!(damage.contains("no such table: commits"), "{damage}");
    std::fs::write(engines::sqlite::file(folder.path()), vec![7; 8192]).expect("written");
    let said = look().expect_err("it is none");
    assert!(said.contains("file is not a database"), "{said}");
}

#[test]
fn a_page_that_was_overwritten_is_damage() {
    let folder = tempfile::tempdir().expect("a folder");
    let parameters = committed(folder.path(), json!({ "journal_mode": "delete" }));
    let file = engines::sqlite::file(folder.path());
    let mut bytes = std::fs::read(&file).expect("there");
    // Its second page is the root of a table.
    bytes[4096..6144].fill(0xa5);
    std::fs::write(&file, bytes).expect("written");
    match look_at_embedded(&parameters, folder.path()) {
        Ok(look) => assert!(look.damage.is_some(), "{look:?}"),
        Err(said) => assert!(said.contains("malformed"), "{said}"),
    }
}

#[test]
fn runs_go_on_where_the_last_one_ended_and_an_interrupt_ends_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let parameters = parameters(folder.path(), json!({ "time": "50ms" }));
    with_loaded((KIND.read)(&parameters), folder.path(), |workload, context| {
        let first = workload.run(context).expect("it runs").commits;
        let second = workload.run(context).expect("it runs again").commits;
        workload.verify(context).expect("it is whole");
        assert_eq!(witnessed(folder.path()).len() as u64, first + second);
        context.interrupted = Box::leak(Box::new(AtomicBool::new(true)));
        assert!(matches!(workload.run(context), Err(Error::Interrupted)));
    });
}

#[test]
fn what_is_loaded_and_asked_does_not_depend_on_the_run() {
    let key = |changes: Value| read(&KIND, &changes).data_key();
    assert_eq!(key(json!({})), key(json!({ "witness": "/elsewhere", "time": "9s", "synchronous": "off" })));
    assert_ne!(key(json!({})), key(json!({ "seed": 2 })));
    assert_eq!(
        Parameters { engine: &engines::mariadb::ENGINE, ..settings::typed(&settings::defaults(SETTINGS)) }
            .target()
            .questions()[2],
        "SELECT id, n FROM sbtest.counters"
    );
    assert!(crate::kind_of_trial("commits").is_some() && crate::kind("commits").is_none());
}
