//! What was written is what is read, or nothing is: flipped bits, missing rows, programs in place of tables.

use crate::fixture::{SCENARIOS, begun, new_file, run, safety, scenarios, study, trial};
use ledger::model::{Place, Probe, StudyRecord, TrialState};
use ledger::{Error, Reader, Verified, Writer};
use proptest::prelude::*;
use rusqlite::Connection;
use std::path::Path;

/// A file with a row in each table, folded into one.
fn made(path: &Path) -> Vec<u8> {
    let mut writer = begun(path);
    writer
        .probe(&Probe { scenarios: Vec::new(), figures: [].into(), failure: Some("none".into()), member: None })
        .expect("written");
    for round in 0..4 {
        let id = trial(&mut writer, SCENARIOS[round as usize % 2], round, TrialState::Finished, 100.0);
        writer.warning(id, "slow").expect("written");
        writer.note(id, "12 requests failed").expect("written");
    }
    writer.safety(&safety(SCENARIOS[0])).expect("written");
    writer.end_session("enough", 9.0).expect("written");
    drop(writer);
    std::fs::read(path).expect("readable")
}

/// All that can be read of a file, in words.
fn all(path: &Path) -> Result<String, Error> {
    let reader = Reader::open(path)?;
    let mut json = Vec::new();
    ledger::export::json(&reader, &mut json)?;
    Ok(String::from_utf8(json).expect("JSON is text"))
}

/// Where these bytes stand in a file; each must.
fn places(file: &[u8], bytes: &[u8]) -> Vec<usize> {
    let found: Vec<usize> = (0..file.len() - bytes.len()).filter(|at| &file[*at..*at + bytes.len()] == bytes).collect();
    assert!(!found.is_empty(), "it stands in the file");
    found
}

/// Every bit of every run's figures: without checksums 38 of 60 were read without a word.
#[test]
fn a_flipped_bit_in_figures_is_refused() {
    let (_folder, path) = new_file("s.surefoot");
    let whole = made(&path);
    let before = all(&path).expect("whole");
    let (mut flips, mut refused) = (0, 0);
    // Of the second run: 50 transactions a second, and a figure of 0.
    let mut figures = [50.0_f64, 0.0].map(f64::to_le_bytes).into_iter();
    let (speed, dirty) = (figures.next().expect("one"), figures.next().expect("two"));
    let blob = [&1_u32.to_le_bytes()[..], &speed, &2_u32.to_le_bytes(), &dirty].concat();
    let at = places(&whole, &blob)[0];
    for bit in 0..blob.len() * 8 {
        let mut flipped = whole.clone();
        flipped[at + bit / 8] ^= 1 << (bit % 8);
        std::fs::write(&path, &flipped).expect("written");
        flips += 1;
        match all(&path) {
            Err(error) => {
                let said = error.to_string();
                assert!(said.contains("run 1 of trial ") && said.contains("is not what was written"), "{said}");
                refused += 1;
            }
            Ok(read) => panic!("bit {bit} was read without a word: {read}"),
        }
    }
    assert_eq!((flips, refused), (192, 192));
    std::fs::write(&path, &whole).expect("written");
    assert_eq!(all(&path).expect("whole again"), before);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Anywhere in the file: refused, or nothing that is read changes. What SQLite's own pages say (how many rows, which free space)
    /// is not in a row, so that the whole file is looked at.
    #[test]
    fn a_flipped_bit_anywhere_changes_nothing_that_is_read(place in any::<prop::sample::Index>(), bit in 0..8_u32) {
        let (_folder, path) = new_file("s.surefoot");
        let mut file = whole().0.clone();
        let at = place.index(file.len());
        file[at] ^= 1 << bit;
        std::fs::write(&path, &file).expect("written");
        let verified = Reader::open(&path).and_then(|reader| reader.verify());
        if verified.is_ok() {
            let read = all(&path).expect("it was verified");
            prop_assert!(read == whole().1, "byte {at}, bit {bit}");
        }
    }
}

/// The file as it was written, and all that is read of it.
fn whole() -> &'static (Vec<u8>, String) {
    static WHOLE: std::sync::OnceLock<(Vec<u8>, String)> = std::sync::OnceLock::new();
    WHOLE.get_or_init(|| {
        let (_folder, path) = new_file("s.surefoot");
        (made(&path), all(&path).expect("whole"))
    })
}

/// Changes a file behind surefoot's back.
fn changed(sql: &str) -> Result<String, Error> {
    let (_folder, path) = new_file("s.surefoot");
    made(&path);
    Connection::open(&path).and_then(|file| file.execute_batch(sql)).expect("changed");
    all(&path)
}

/// One bit of its key, and nobody would ever have looked at the row.
#[test]
fn a_row_that_lost_its_run_is_missed() {
    let (_folder, path) = new_file("s.surefoot");
    made(&path);
    Connection::open(&path)
        .and_then(|file| file.execute_batch("PRAGMA foreign_keys = OFF; UPDATE latency SET run = 0 WHERE run = 1"))
        .expect("changed");
    let error = Reader::open(&path).and_then(|reader| reader.verify()).expect_err("a row is lost").to_string();
    assert!(error.contains("a row of `latency` belongs to one that is not in it"), "{error}");
}

#[test]
fn rows_that_were_changed_or_taken_away_are_named() {
    let check = |sql: &str, says: &str| {
        let error = changed(sql).expect_err(sql).to_string();
        assert!(error.contains(says), "{sql}: {error}");
    };
    check("UPDATE trial SET state = 'failed' WHERE id = 2", "trial 2 is not what was written");
    check("UPDATE trial SET round = 7 WHERE id = 2", "trial 2 is not what was written");
    check("UPDATE metric SET direction = 'less' WHERE id = 1", "metric 1 is not");
    check("UPDATE study SET json = json || ' '", "the study is not");
    check("UPDATE scenario SET label = 'zfs' WHERE id = 1", "scenario 1 is not");
    check("UPDATE session SET reason = NULL", "session 1 is not");
    check("UPDATE note SET value = 'fast' WHERE kind = 'warning'", "a note of trial 1 is not");
    check("UPDATE safety SET json = replace(json, '12', '11')", "safety 1 is not");
    check("UPDATE probe SET json = json || ' '", "probe 1 is not");
    check("UPDATE series SET points = zeroblob(8)", "the series `transactions_per_second` of the run with id 1 is not");
    check("UPDATE latency SET name = 'commit'", "the latency `commit` of the run with id 1 is not");
    check("PRAGMA foreign_keys = OFF; DELETE FROM run WHERE id = 2", "trial 1 is not what was written");
}

#[test]
fn what_never_ends_or_takes_all_memory_is_refused() {
    let endless = "ALTER TABLE run RENAME TO old; CREATE VIEW run AS WITH RECURSIVE t(id) AS (VALUES (1) UNION ALL SELECT id + 1 FROM t)
                   SELECT id, 1 AS trial, 0 AS run, 0 AS warm_up, 0.0 AS started, 1.0 AS seconds, x'' AS figures, NULL AS crc FROM t;";
    for (sql, says) in [
        (endless, "surefoot makes no view run"),
        ("CREATE TRIGGER t AFTER INSERT ON run BEGIN DELETE FROM trial; END", "surefoot makes no trigger t"),
        ("CREATE TABLE more (a, b AS (zeroblob(1000000000)))", "surefoot makes no table more"),
        ("UPDATE trial SET round = 2147483647, crc = NULL WHERE id = 2", "trial 2 says it is of round 2147483647"),
        ("UPDATE trial SET round = 4294967296, crc = NULL WHERE id = 2", "a value in it is of the wrong kind"),
        ("UPDATE trial SET state = CAST(x'66ff' AS TEXT), crc = NULL", "a text in it is not UTF-8"),
        ("UPDATE study SET json = CAST(x'7bff' AS TEXT), crc = NULL", "a text in it is not UTF-8"),
        ("DROP TABLE series", "no such table"),
    ] {
        let error = changed(sql).expect_err(sql);
        assert!(error.to_string().contains(says) && error.hint().is_some(), "{sql}: {error}");
    }
}

#[test]
fn a_whole_file_is_verified_and_one_with_a_broken_index_is_not() {
    let (_folder, path) = new_file("s.surefoot");
    made(&path);
    let verify = || Reader::open(&path).and_then(|reader| reader.verify());
    assert_eq!(verify().expect("whole"), Verified { trials: 4, runs: 12, without_checksum: 0 });
    let file = Connection::open(&path).expect("a file");
    file.execute_batch("PRAGMA writable_schema = ON; UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'note_by_trial') WHERE name = 'run_by_trial'").expect("changed");
    drop(file);
    let error = verify().expect_err("the index is another's").to_string();
    assert!(error.contains("is damaged"), "{error}");
}

#[test]
fn a_file_that_is_removed_is_noticed_at_the_next_record() {
    for replaced in [false, true] {
        let (folder, path) = new_file("s.surefoot");
        let mut writer = begun(&path);
        let id = writer.begin_trial(SCENARIOS[0], Place::main(0, 0), 1, 2.0).expect("written");
        std::fs::rename(&path, folder.path().join("elsewhere")).expect("moved");
        if replaced {
            drop(Connection::open(&path).and_then(|other| other.execute_batch("CREATE TABLE t (x)")));
        }
        let error = writer.run(id, &run(0, 1.0)).expect_err("noticed");
        assert!(matches!(error, Error::Gone { .. }) && error.hint().is_some(), "{error:?}");
    }
}

#[test]
fn a_study_that_goes_on_seals_what_it_changes() {
    let (_folder, path) = new_file("s.surefoot");
    let mut writer = begun(&path);
    writer.begin_trial(SCENARIOS[0], Place::main(0, 0), 1, 2.0).expect("written");
    drop(writer);
    let mut writer = Writer::create_or_open(&path).expect("it opens");
    assert_eq!(writer.void_unfinished().expect("written"), 1);
    // What the command line had said stands in the file now: text and changes belong together.
    let now = StudyRecord { text: "name = \"mail\"\n[design]\nseed = 7".into(), overrides: Vec::new(), ..study() };
    writer.go_on(&now).expect("written");
    drop(writer);
    let reader = Reader::open(&path).expect("it opens");
    let verified = reader.verify().expect("whole");
    assert_eq!((verified.trials, verified.runs, scenarios().len()), (1, 0, 2));
    let kept = reader.study().expect("readable");
    assert_eq!((&kept.text, &kept.overrides), (&now.text, &now.overrides));
    assert_eq!(kept.all_asked()[0].overrides, study().overrides, "what the first session asked");
}
