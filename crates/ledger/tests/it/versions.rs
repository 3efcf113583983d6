//! Files of an older and of a newer surefoot.

use crate::fixture::{SCENARIOS, new_file, safety, scenarios, study};
use ledger::model::Probe;
use ledger::{Error, Reader, Writer};
use rusqlite::{Connection, params};
use std::path::Path;

/// Version 1 as it was released; never to be changed with the code.
const VERSION_1: &str = "
CREATE TABLE study (json TEXT NOT NULL);
CREATE TABLE session (id INTEGER PRIMARY KEY, started REAL NOT NULL, ended REAL, machine TEXT NOT NULL, reason TEXT);
CREATE TABLE scenario (id INTEGER PRIMARY KEY, label TEXT NOT NULL UNIQUE, json TEXT NOT NULL);
CREATE TABLE trial (id INTEGER PRIMARY KEY, scenario INTEGER NOT NULL REFERENCES scenario, round INTEGER NOT NULL,
  position INTEGER NOT NULL, seed TEXT NOT NULL, state TEXT NOT NULL, started REAL NOT NULL, ended REAL, failure TEXT);
CREATE TABLE note (id INTEGER PRIMARY KEY, trial INTEGER NOT NULL REFERENCES trial, kind TEXT NOT NULL, name TEXT NOT NULL, value);
CREATE TABLE metric (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, unit TEXT NOT NULL, direction TEXT NOT NULL);
CREATE TABLE run (id INTEGER PRIMARY KEY, trial INTEGER NOT NULL REFERENCES trial, run INTEGER NOT NULL,
  warm_up INTEGER NOT NULL, started REAL NOT NULL, seconds REAL NOT NULL, figures BLOB NOT NULL);
CREATE TABLE latency (run INTEGER NOT NULL REFERENCES run, name TEXT NOT NULL, hdr BLOB NOT NULL, PRIMARY KEY (run, name)) WITHOUT ROWID;
CREATE TABLE series (run INTEGER NOT NULL REFERENCES run, name TEXT NOT NULL, points BLOB NOT NULL, PRIMARY KEY (run, name)) WITHOUT ROWID;
PRAGMA application_id = 0x73666f74;
PRAGMA user_version = 1;
INSERT INTO metric VALUES (1, 'transactions_per_second', '1/s', 'more');
";

/// What versions 2 and 3 added, as they were released; never to be changed with the code.
const TO_VERSION_3: &str = "
CREATE INDEX run_by_trial ON run (trial);
CREATE INDEX note_by_trial ON note (trial);
CREATE TABLE probe (id INTEGER PRIMARY KEY, session INTEGER REFERENCES session, json TEXT NOT NULL);
CREATE TABLE decision (id INTEGER PRIMARY KEY, json TEXT NOT NULL);
ALTER TABLE trial ADD COLUMN phase TEXT NOT NULL DEFAULT 'main';
PRAGMA user_version = 3;
";

/// What version 4 added, as it was released; never to be changed with the code.
const TO_VERSION_4: &str = "
CREATE TABLE safety (id INTEGER PRIMARY KEY, session INTEGER REFERENCES session, scenario INTEGER NOT NULL REFERENCES scenario,
  json TEXT NOT NULL);
PRAGMA user_version = 4;
";

/// What version 2 added, likewise.
const TO_VERSION_2: &str = "
CREATE INDEX run_by_trial ON run (trial);
CREATE INDEX note_by_trial ON note (trial);
PRAGMA user_version = 2;
";

fn old_file(path: &Path) {
    let connection = Connection::open(path).expect("a file");
    connection.execute_batch(VERSION_1).expect("version 1");
    let json = serde_json::to_string(&study()).expect("plain data");
    connection.execute("INSERT INTO study VALUES (?1)", [json]).expect("written");
    for scenario in scenarios() {
        let json = serde_json::to_string(&scenario).expect("plain data");
        connection
            .execute("INSERT INTO scenario (label, json) VALUES (?1, ?2)", [&scenario.label, &json])
            .expect("written");
    }
    let trial = "INSERT INTO trial VALUES (1, 2, 0, 0, '18446744073709551615', 'finished', 1.0, 2.0, NULL)";
    connection.execute(trial, []).expect("written");
    let figures = [&1_u32.to_le_bytes()[..], &42.5_f64.to_le_bytes()].concat();
    connection.execute("INSERT INTO run VALUES (1, 1, 1, 0, 1.0, 30.0, ?1)", params![figures]).expect("written");
}

/// The version that is written.
const NEWEST: i64 = 8;

fn version(path: &Path) -> i64 {
    Connection::open(path)
        .and_then(|file| file.pragma_query_value(None, "user_version", |row| row.get(0)))
        .expect("a version")
}

#[test]
fn an_old_file_is_read_as_it_is_and_climbs_when_it_goes_on() {
    let (_folder, path) = new_file("old.surefoot");
    old_file(&path);
    let value = || {
        Reader::open(&path).and_then(|reader| reader.contents()).expect("readable").values("transactions_per_second")
    };
    let probes = || Reader::open(&path).and_then(|reader| reader.contents()).expect("readable").probes;
    let is_old = |value: Option<f64>| value.is_some_and(|value| (value - 42.5).abs() < 1e-9);
    assert!(value()[0][0].is_none() && is_old(value()[0][1]));
    assert_eq!(version(&path), 1, "reading changes nothing");
    assert_eq!(probes(), [], "there was no table for them");
    let mut writer = Writer::create_or_open(&path).expect("it opens");
    assert_eq!(writer.study().expect("readable"), Some(study()));
    crate::fixture::trial(&mut writer, SCENARIOS[0], 0, ledger::model::TrialState::Finished, 9.0);
    assert!(version(&path) > 1);
    let probe = Probe {
        scenarios: SCENARIOS.map(str::to_string).to_vec(),
        figures: [("flushes_per_second".to_string(), 3080.5)].into(),
        failure: None,
        member: None,
    };
    writer.probe(&probe).expect("written");
    assert_eq!(probes(), [probe]);
    assert!(is_old(value()[0][1]), "what was measured stays");
    assert!(value()[0][0].is_some());
}

#[test]
fn a_file_from_before_power_cuts_were_measured_goes_on() {
    let (_folder, path) = new_file("three.surefoot");
    old_file(&path);
    Connection::open(&path).and_then(|file| file.execute_batch(TO_VERSION_3)).expect("version 3");
    let probe = Probe { scenarios: Vec::new(), figures: [].into(), failure: Some("no io_uring".into()), member: None };
    let json = serde_json::to_string(&probe).expect("plain data");
    Connection::open(&path)
        .and_then(|file| file.execute("INSERT INTO probe (json) VALUES (?1)", [json]))
        .expect("written");
    let before = std::fs::read(&path).expect("readable");
    let contents = Reader::open_untouched(&path).and_then(|reader| reader.contents()).expect("readable");
    assert_eq!((contents.safety.len(), contents.probes), (0, vec![probe.clone()]));
    assert_eq!(contents.study.analysis.safety_classes, None);
    assert_eq!(std::fs::read(&path).expect("readable"), before, "reading changes nothing");
    let mut writer = Writer::create_or_open(&path).expect("it climbs");
    writer.safety(&safety(SCENARIOS[1])).expect("written");
    drop(writer);
    let contents = Reader::open_untouched(&path).and_then(|reader| reader.contents()).expect("readable");
    assert_eq!((version(&path), contents.probes), (NEWEST, vec![probe]));
    assert_eq!(contents.safety, [safety(SCENARIOS[1])]);
}

/// Files of every version before this one open, are read as they are, say that they have no checksums, and go on.
#[test]
fn files_of_all_earlier_versions_open_and_go_on() {
    for (version_before, steps) in
        [(1, &[][..]), (2, &[TO_VERSION_2]), (3, &[TO_VERSION_3]), (4, &[TO_VERSION_3, TO_VERSION_4])]
    {
        let (_folder, path) = new_file("old.surefoot");
        old_file(&path);
        let file = Connection::open(&path).expect("a file");
        steps.iter().for_each(|step| file.execute_batch(step).expect("as it was released"));
        // As an older surefoot kept them: a note, and nothing said which tool's lines a remark was.
        file.execute("INSERT INTO note (trial, kind, name, value) VALUES (1, 'remark', '', '3 requests failed')", [])
            .expect("written");
        drop(file);
        let before = std::fs::read(&path).expect("readable");
        let reader = Reader::open_untouched(&path).expect("it opens");
        let (contents, verified) = (reader.contents().expect("readable"), reader.verify().expect("whole"));
        assert_eq!((reader.version(), contents.without_checksum, verified.without_checksum), (version_before, 1, 1));
        assert!(contents.values("transactions_per_second")[0][1].is_some_and(|value| (value - 42.5).abs() < 1e-9));
        assert_eq!(contents.trials[0].notes, ["3 requests failed"]);
        drop(reader);
        assert_eq!(std::fs::read(&path).expect("readable"), before, "reading changes nothing");
        let mut writer = Writer::create_or_open(&path).expect("it climbs");
        crate::fixture::trial(&mut writer, SCENARIOS[0], 0, ledger::model::TrialState::Finished, 9.0);
        drop(writer);
        let reader = Reader::open(&path).expect("it opens");
        let verified = reader.verify().expect("whole");
        assert_eq!(
            (reader.version(), verified.runs, verified.without_checksum),
            (NEWEST, 4, 1),
            "the old run stays without"
        );
    }
}

#[test]
fn a_newer_file_is_refused_by_both_and_left_as_it_is() {
    let (_folder, path) = new_file("new.surefoot");
    old_file(&path);
    Connection::open(&path).and_then(|file| file.pragma_update(None, "user_version", 99)).expect("written");
    for error in [Reader::open(&path).err(), Writer::create_or_open(&path).err()] {
        let error = error.expect("refused");
        assert!(matches!(error, Error::Newer { found: 99, .. }), "{error:?}");
        assert!(error.hint().is_some());
    }
    assert_eq!(version(&path), 99);
}

/// What version 8 added, taken away again.
const TO_VERSION_7: &str =
    "DROP TABLE member; ALTER TABLE session DROP COLUMN member; ALTER TABLE trial DROP COLUMN member;
PRAGMA user_version = 7;
";

/// Version 7 knew no fleet: rows with a group have checksums that know no member.
#[test]
fn a_file_from_before_there_were_fleets_is_read_and_goes_on() {
    let (_folder, path) = new_file("seven.surefoot");
    let mut writer = crate::fixture::begun(&path);
    let place = ledger::model::Place { group: Some(1), ..ledger::model::Place::main(0, 0) };
    let id = writer.begin_trial(SCENARIOS[0], place, 1, 1.0).expect("written");
    writer.finish_trials(&[(id, ledger::model::TrialState::Finished, None)], 2.0).expect("written");
    drop(writer);
    Connection::open(&path).and_then(|file| file.execute_batch(TO_VERSION_7)).expect("version 7");
    let contents = || Reader::open(&path).and_then(|reader| reader.contents()).expect("readable");
    let found = contents();
    assert_eq!((version(&path), found.members.len(), found.trials[0].member), (7, 0, None));
    drop(Writer::create_or_open(&path).expect("it climbs"));
    assert_eq!((version(&path), contents().trials), (NEWEST, found.trials));
}

/// Version 6 had no table for them.
#[test]
fn a_file_from_before_disks_failed_goes_on() {
    let (_folder, path) = new_file("six.surefoot");
    drop(crate::fixture::begun(&path));
    let to_version_6 = format!("{TO_VERSION_7}DROP TABLE faults; PRAGMA user_version = 6;");
    Connection::open(&path).and_then(|file| file.execute_batch(&to_version_6)).expect("version 6");
    let faults = || Reader::open(&path).and_then(|reader| reader.contents()).expect("readable").faults;
    assert_eq!((version(&path), faults().len()), (6, 0));
    let measured = ledger::model::MeasuredFaults {
        scenario: SCENARIOS[1].into(),
        ended: 9.0,
        asked: serde_json::json!({ "faults": ["full"] }),
        faults: None,
        failure: Some(observe::record::Failure { step: "failing disk".into(), ..Default::default() }),
        member: None,
    };
    let mut writer = Writer::create_or_open(&path).expect("it climbs");
    writer.faults(&measured).expect("written");
    drop(writer);
    assert_eq!((version(&path), faults()), (NEWEST, vec![measured]));
}

/// Rows of version 5 have checksums that know no group.
#[test]
fn a_file_from_before_rounds_were_split_keeps_its_checksums() {
    let (_folder, path) = new_file("five.surefoot");
    let mut writer = crate::fixture::begun(&path);
    crate::fixture::trial(&mut writer, SCENARIOS[0], 0, ledger::model::TrialState::Finished, 9.0);
    drop(writer);
    let to_version_5 = format!(
        "{TO_VERSION_7}DROP TABLE faults; ALTER TABLE trial DROP COLUMN group_number; PRAGMA user_version = 5;"
    );
    Connection::open(&path).and_then(|file| file.execute_batch(&to_version_5)).expect("version 5");
    let groups = || -> Vec<Option<u32>> {
        let reader = Reader::open(&path).expect("readable");
        reader.verify().expect("whole");
        reader.contents().expect("readable").trials.iter().map(|trial| trial.group).collect()
    };
    assert_eq!((version(&path), groups()), (5, vec![None]));
    let mut writer = Writer::create_or_open(&path).expect("it climbs");
    let place = ledger::model::Place { group: Some(1), ..ledger::model::Place::main(1, 0) };
    writer.begin_trial(SCENARIOS[0], place, 1, 2.0).expect("written");
    drop(writer);
    assert_eq!((version(&path), groups()), (NEWEST, vec![None, Some(1)]));
    for group in ["0", "NULL"] {
        let changed = format!("UPDATE trial SET group_number = {group} WHERE id = 2");
        Connection::open(&path).and_then(|file| file.execute_batch(&changed)).expect("changed");
        let refused = Reader::open(&path).and_then(|reader| reader.contents()).expect_err("its checksum differs");
        assert!(matches!(refused, Error::Damaged { .. }), "{refused}");
    }
}
