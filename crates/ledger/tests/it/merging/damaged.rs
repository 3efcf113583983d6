//! Merging files that are damaged: what is left out, and what is not written over.

use super::{POOL, contents, json, member, started};
use crate::fixture::{SCENARIOS, SPEED, safety, study};
use ledger::model::Member;
use ledger::{MergeError, Reader, Writer, merge, read_merged};
use std::collections::BTreeMap;

#[test]
fn a_file_that_is_broken_is_told_and_left_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let (empty, cut, target) =
        (folder.path().join("empty"), folder.path().join("cut"), folder.path().join("fleet.surefoot"));
    std::fs::write(&empty, []).expect("written");
    let bytes = std::fs::read(&POOL.files[2]).expect("readable");
    std::fs::write(&cut, &bytes[..bytes.len() / 2]).expect("written");
    let merged = merge(&[empty, POOL.files[0].clone(), cut], &target).expect("one is left");
    assert_eq!((merged.members.len(), merged.broken.len()), (1, 2), "{:?}", merged.broken);
    // As a member's is until its first round has ended: "is not a results file of surefoot" had been said of it.
    assert!(merged.broken[0].to_string().contains("holds no study yet"), "{:?}", merged.broken);
    assert_eq!(contents(&target).members.len(), 1);
    // Only that nothing can be read had been said, and not why.
    let study = folder.path().join("study.toml");
    std::fs::write(&study, "name = \"small\"").expect("written");
    let unreadable = merge(&[study], &folder.path().join("none")).expect_err("no results");
    let why = std::error::Error::source(&unreadable).expect("there is a reason").to_string();
    assert!(why.ends_with("study.toml is not a results file of surefoot"), "{why}");
}

#[test]
fn a_damaged_row_costs_its_file_and_the_next_start_of_its_member_takes_its_place() {
    let folder = tempfile::tempdir().expect("a folder");
    let (damaged, target) = (folder.path().join("damaged"), folder.path().join("fleet.surefoot"));
    std::fs::copy(&POOL.files[3], &damaged).expect("copied");
    let damage = "UPDATE note SET value = 7 WHERE id = (SELECT max(id) FROM note)";
    rusqlite::Connection::open(&damaged).and_then(|file| file.execute_batch(damage)).expect("changed");
    let files = [POOL.files[0].clone(), damaged.clone(), POOL.files[7].clone()];
    let merged = merge(&files, &target).expect("two are whole");
    let taken: Vec<(u32, u32)> = merged.members.iter().map(|member| (member.number, member.attempt)).collect();
    assert_eq!((taken, merged.broken.len()), (vec![(1, 1), (2, 3)], 1));
    assert!(merged.broken[0].to_string().contains("note"), "{}", merged.broken[0]);
    let (read, broken) = read_merged(&files, &|_, _| vec![SPEED.name.to_string()]).expect("two are whole");
    assert_eq!((read.members, broken.len()), (contents(&target).members, 1));
    // A file that is written anew is not left out: its members may be nowhere else.
    let before = std::fs::read(&damaged).expect("readable");
    let error = merge(&files, &damaged).expect_err("it is damaged");
    assert!(error.to_string().contains("note"), "{error}");
    assert_eq!(std::fs::read(&damaged).expect("readable"), before);
    let error = merge(&[damaged], &folder.path().join("none")).expect_err("nothing is whole");
    assert!(error.to_string().contains("note"), "{error}");
    // Half of it may be what has filled a disk.
    let left = folder.path().read_dir().expect("a folder").flatten().map(|entry| entry.file_name());
    assert_eq!(left.filter(|name| name.to_string_lossy().contains(".merging")).count(), 0);
}

/// A file's disk may lose bytes after its first merge: then the answer holds the only whole copy.
#[test]
fn what_an_answer_holds_outlives_damage_to_the_file_that_it_came_from() {
    let note = "UPDATE note SET value = 7 WHERE id = (SELECT max(id) FROM note)";
    // By what they hold of power cuts starts are ranked, too.
    for damage in [note, "UPDATE safety SET json = '{'"] {
        let folder = tempfile::tempdir().expect("a folder");
        let (damaged, target) = (folder.path().join("damaged"), folder.path().join("fleet.surefoot"));
        std::fs::copy(&POOL.files[3], &damaged).expect("copied");
        let mut writer = Writer::create_or_open(&damaged).expect("it opens");
        writer.begin_session(&BTreeMap::new(), 10.0).expect("written");
        writer.safety(&safety(SCENARIOS[0])).expect("written");
        drop(writer);
        let files = [POOL.files[0].clone(), damaged.clone()];
        merge(&files, &target).expect("one fleet");
        let before = json(&target);
        rusqlite::Connection::open(&damaged).and_then(|file| file.execute_batch(damage)).expect("changed");
        let merged = merge(&files, &target).expect("the answer is whole");
        assert_eq!((merged.members.len(), merged.broken.len()), (2, 1), "{damage}: {:?}", merged.broken);
        assert_eq!(json(&target), before);
        // Where it is damaged, too, nothing is written over.
        rusqlite::Connection::open(&target).and_then(|file| file.execute_batch(damage)).expect("changed");
        let before = std::fs::read(&target).expect("readable");
        merge(&files, &target).expect_err("it is nowhere whole");
        assert_eq!(std::fs::read(&target).expect("readable"), before);
    }
}

/// What a kill left beside a file that somebody removed: SQLite would take it for the answer's own.
#[test]
fn an_answer_does_not_take_over_the_log_of_an_earlier_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let target = folder.path().join("fleet.surefoot");
    std::fs::write(folder.path().join("fleet.surefoot-wal"), [0; 32]).expect("written");
    let refused = merge(&POOL.files[..1], &target).expect_err("a stray log");
    assert!(matches!(refused, MergeError::Ledger(ledger::Error::StrayLog(_))) && !target.exists(), "{refused}");
}

/// Whoever shows a fleet shows all its numbers: four thousand million lines had been printed.
#[test]
fn a_member_of_more_than_there_can_be_is_damage() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, number, of) in [("of", 1, u32::MAX), ("number", u32::MAX, 4)] {
        let path = folder.path().join(name);
        started(&path, &study(), &Member { of, ..member(number, 1, "n1") }, 0, true);
        let error = Reader::open(&path).and_then(|reader| reader.contents()).expect_err("no such fleet");
        assert!(error.to_string().contains("10000 at most"), "{error}");
    }
}
