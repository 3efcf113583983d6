//! `kill -9` of a writer at any moment: what it said was recorded is there, the file opens, the next writer goes on.

use crate::fixture::{SCENARIOS, SPEED, begun, new_file, run, scenarios, study, trial};
use ledger::model::{Host, Member, Place, TrialState};
use ledger::{Reader, Writer};
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

/// Set for the child that writes until it is killed.
const WRITES: &str = "LEDGER_TEST_WRITES";
const KILLS: usize = 40;

/// Not a test of its own: the child of the test below. Says each round once it is recorded.
#[test]
fn writer_to_be_killed() {
    let Some(path) = std::env::var_os(WRITES) else { return };
    let mut writer = Writer::create_or_open(Path::new(&path)).expect("it opens after any kill");
    writer.void_unfinished().expect("written");
    let contents = Reader::open(Path::new(&path)).and_then(|reader| reader.contents()).expect("readable");
    let first = contents.trials.iter().map(|trial| trial.round + 1).max().unwrap_or(0);
    for round in first.. {
        trial(&mut writer, SCENARIOS[0], round, TrialState::Finished, f64::from(round + 1));
        println!("recorded {round}");
        // Left running, with runs that must never count.
        let id = writer.begin_trial(SCENARIOS[1], Place::main(round, 1), 0, 1.0).expect("written");
        writer.run(id, &run(1, 1.0)).expect("written");
    }
}

/// Set for the child that makes new ledgers until it is killed.
const BEGINS: &str = "LEDGER_TEST_BEGINS";

/// Not a test of its own: the child of the test below.
#[test]
fn writer_to_be_killed_at_its_beginning() {
    let Some(folder) = std::env::var_os(BEGINS) else { return };
    println!("begins");
    for number in 0.. {
        drop(Writer::create_or_open(&Path::new(&folder).join(format!("{number}.surefoot"))).expect("a new ledger"));
    }
}

/// A member that measures as nobody would keep its whole fleet from being merged.
#[test]
fn a_study_and_its_member_are_written_together_or_not_at_all() {
    let (_folder, path) = new_file("s.surefoot");
    let mut writer = Writer::create_or_open(&path).expect("a new ledger");
    // What ends it between the two, as a kill may.
    let failing = "CREATE TRIGGER ends BEFORE INSERT ON member BEGIN SELECT RAISE(ABORT, 'ended'); END";
    let change =
        |sql: &str| rusqlite::Connection::open(&path).and_then(|file| file.execute_batch(sql)).expect("changed");
    change(failing);
    let host = Host { name: "n1".into(), id: String::new() };
    let member = Member { number: 2, of: 3, attempt: 1, rounds: 4, host, known_by: String::new(), others: Vec::new() };
    writer.set_study(&study(), &scenarios(), Some(&member)).expect_err("it was ended");
    assert_eq!(writer.study().expect("readable"), None);
    change("DROP TRIGGER ends");
    writer.set_study(&study(), &scenarios(), Some(&member)).expect("written");
    assert_eq!((writer.study().expect("readable"), writer.member().expect("readable")), (Some(study()), Some(member)));
}

#[test]
fn a_ledger_killed_at_its_beginning_is_begun_again() {
    for kill in 0..KILLS {
        let folder = tempfile::tempdir().expect("a folder");
        let mut child = child("kills::writer_to_be_killed_at_its_beginning", BEGINS, folder.path());
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines().map_while(Result::ok);
        assert!(lines.into_iter().any(|line| line.contains("begins")));
        std::thread::sleep(std::time::Duration::from_micros(kill as u64 * 337));
        child.kill().expect("it runs");
        child.wait().expect("it ends");
        // Also the one that the kill hit before its file had a name.
        let files = std::fs::read_dir(folder.path()).expect("readable").map(|entry| entry.expect("readable").path());
        let begun: Vec<_> = files.filter(|path| path.extension().is_some_and(|end| end == "surefoot")).collect();
        for path in begun.iter().cloned().chain([folder.path().join(format!("{}.surefoot", begun.len()))]) {
            let writer = Writer::create_or_open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            assert_eq!(writer.study().expect("readable"), None);
        }
        let left = std::fs::read_dir(folder.path()).expect("readable").count();
        assert_eq!(left, begun.len() + 1, "no side files stay");
    }
}

/// Set for the child that reads what another process writes.
const READS: &str = "LEDGER_TEST_READS";

/// Not a test of its own: the child of the test below. Says how many trials it finds.
#[test]
fn reader_beside_a_writer() {
    let Some(path) = std::env::var_os(READS) else { return };
    let contents = Reader::open_untouched(Path::new(&path)).and_then(|reader| reader.contents()).expect("readable");
    println!("found {} trials", contents.trials.len());
}

/// `surefoot status` while a study runs: who leaves last takes the log away, and thinks so of itself where the writer's lock on the file is gone.
#[test]
fn what_is_recorded_after_a_reader_has_left_is_read_and_outlives_a_kill() {
    let (folder, path) = new_file("s.surefoot");
    let mut writer = begun(&path);
    for round in 0..3 {
        trial(&mut writer, SCENARIOS[0], round, TrialState::Finished, 5.0);
        // The conductor reads what there is so far, too.
        writer.reader().and_then(|reader| reader.contents()).expect("readable");
        let output = child("kills::reader_beside_a_writer", READS, &path).wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.contains(&format!("found {} trials", round + 1)), "round {round}: {said}");
    }
    // What a kill leaves: the files as they are while it writes.
    let killed = tempfile::tempdir().expect("a folder");
    for name in ["s.surefoot", "s.surefoot-wal"] {
        std::fs::copy(folder.path().join(name), killed.path().join(name)).expect("a copy");
    }
    let contents = Reader::open(&killed.path().join("s.surefoot")).and_then(|reader| reader.contents());
    assert_eq!(contents.expect("readable").trials.len(), 3);
}

fn child(test: &str, variable: &str, value: &Path) -> std::process::Child {
    Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", test, "--nocapture"])
        .env(variable, value)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts")
}

#[test]
fn a_killed_writer_loses_nothing_that_it_recorded() {
    let (_folder, path) = new_file("s.surefoot");
    drop(begun(&path));
    let mut recorded: Option<u32> = None;
    for kill in 0..KILLS {
        let mut child = child("kills::writer_to_be_killed", WRITES, &path);
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines().map_while(Result::ok);
        // Killed after some rounds and a moment into the next one, both different each time.
        let mut rounds = lines.filter_map(|line| line.split("recorded ").nth(1)?.trim().parse().ok());
        recorded = rounds.by_ref().take(1 + kill % 3).last().or(recorded);
        std::thread::sleep(std::time::Duration::from_micros(kill as u64 * 137));
        child.kill().expect("it runs");
        child.wait().expect("it ends");
        recorded = rounds.last().or(recorded);
        assert!(!ledger::is_held(&path), "the lock goes with its holder");
        let contents = Reader::open(&path).and_then(|reader| reader.contents()).expect("readable after a kill");
        let values = contents.values(&SPEED.name);
        let last = recorded.expect("some rounds were recorded");
        assert!(values.len() > last as usize, "round {last} was recorded, {} rounds are there", values.len());
        for (round, row) in values.iter().enumerate().take(last as usize + 1) {
            // A round that was killed before it ended is skipped by the next writer: a hole, never a wrong value.
            let whole = |value: f64| (value / (round + 1) as f64 - 1.0).abs() < 1e-12;
            assert!(row[0].is_none_or(whole) && row[1].is_none(), "round {round}: {row:?}");
        }
        assert!(values[last as usize][0].is_some());
    }
    let mut writer = Writer::create_or_open(&path).expect("it opens");
    writer.void_unfinished().expect("written");
    let contents = Reader::open(&path).and_then(|reader| reader.contents()).expect("readable");
    assert!(contents.trials.iter().all(|trial| trial.state != TrialState::Running));
}
