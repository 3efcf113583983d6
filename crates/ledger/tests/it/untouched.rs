//! A reader that leaves no trace: not after a run that ended, not after one that was killed, and none that disturbs a run.

use crate::fixture::{SCENARIOS, SPEED, begun, new_file, trial};
use ledger::model::TrialState;
use ledger::{Reader, Writer};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

type Files = BTreeMap<String, (Vec<u8>, SystemTime)>;

/// A folder's files with their times, but for SQLite's index of the log, which any reader of a log makes anew.
fn files(folder: &Path) -> Files {
    let paths = folder.read_dir().expect("a folder").map(|entry| entry.expect("an entry").path());
    let of = |path: &Path| {
        let changed = path.metadata().and_then(|metadata| metadata.modified()).expect("a time");
        (std::fs::read(path).expect("readable"), changed)
    };
    let kept = paths.filter(|path| path.extension().is_none_or(|extension| extension != "surefoot-shm"));
    kept.map(|path| (path.file_name().expect("a name").to_string_lossy().into_owned(), of(&path))).collect()
}

fn speeds(path: &Path) -> usize {
    Reader::open_untouched(path).and_then(|reader| reader.contents()).expect("readable").values(&SPEED.name).len()
}

#[test]
fn a_ledger_at_rest_is_left_as_it_is() {
    let (folder, path) = new_file("a b%#?.surefoot");
    let mut writer = begun(&path);
    trial(&mut writer, SCENARIOS[0], 0, TrialState::Finished, 5.0);
    drop(writer);
    let before = files(folder.path());
    assert_eq!(speeds(&path), 1);
    assert_eq!(files(folder.path()), before);
}

/// A name is bytes, and what begins with two slashes is a path all the same.
#[test]
fn a_ledger_of_any_name_is_read_and_copied() {
    let (folder, path) = new_file(OsStr::from_bytes(b"caf\xe9 %41.surefoot"));
    let mut writer = begun(&path);
    trial(&mut writer, SCENARIOS[0], 0, TrialState::Finished, 5.0);
    drop(writer);
    assert_eq!(speeds(&path), 1);
    let slashes = [&b"/"[..], path.as_os_str().as_bytes()].concat();
    assert_eq!(speeds(Path::new(OsStr::from_bytes(&slashes))), 1);
    // The folder of a fleet's results may be called so, too.
    let copy = folder.path().join(OsStr::from_bytes(b"caf\xe9 of all.surefoot"));
    ledger::publish(&path, &copy).expect("copied");
    assert_eq!(speeds(&copy), 1);
}

#[test]
fn the_log_of_a_killed_writer_is_read_and_stays() {
    let (folder, path) = new_file("s.surefoot");
    let mut writer = begun(&path);
    trial(&mut writer, SCENARIOS[0], 0, TrialState::Finished, 5.0);
    // What a kill leaves: the files as they are while it writes.
    let killed = tempfile::tempdir().expect("a folder");
    for name in ["s.surefoot", "s.surefoot-wal"] {
        std::fs::copy(folder.path().join(name), killed.path().join(name)).expect("a copy");
    }
    let before = files(killed.path());
    assert!(before["s.surefoot-wal"].0.len() > 4096, "the test's records lie in the log");
    assert_eq!(speeds(&killed.path().join("s.surefoot")), 1);
    assert_eq!(files(killed.path()), before);
}

#[test]
fn the_log_of_a_removed_file_does_not_bring_it_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut writer = begun(&folder.path().join("s.surefoot"));
    trial(&mut writer, SCENARIOS[0], 0, TrialState::Finished, 5.0);
    // After a kill, and then somebody removes the file to measure anew.
    let killed = tempfile::tempdir().expect("a folder");
    std::fs::copy(folder.path().join("s.surefoot-wal"), killed.path().join("s.surefoot-wal")).expect("a copy");
    let new = killed.path().join("s.surefoot");
    let refused = || Writer::create_or_open(&new).map(drop);
    assert!(matches!(refused(), Err(ledger::Error::StrayLog { .. })), "{:?}", refused());
    std::fs::rename(killed.path().join("s.surefoot-wal"), killed.path().join("s.surefoot-journal")).expect("renamed");
    assert!(matches!(refused(), Err(ledger::Error::StrayLog { .. })), "{:?}", refused());
}

/// The end of a journal that names a file, as SQLite writes it before it commits to several files (pager.c, `writeSuperJournal`).
fn naming(victim: &Path) -> Vec<u8> {
    let name = victim.to_str().expect("plain letters").as_bytes();
    let sum: u32 = name.iter().map(|byte| u32::from(*byte)).sum();
    let magic = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
    [&[0xff; 4][..], name, &(name.len() as u32).to_be_bytes(), &sum.to_be_bytes(), &magic].concat()
}

#[test]
fn a_journal_from_elsewhere_is_not_carried_out() {
    let (folder, path) = new_file("s.surefoot");
    let mut writer = begun(&path);
    trial(&mut writer, SCENARIOS[0], 0, TrialState::Finished, 5.0);
    drop(writer);
    let (victim, link) = (folder.path().join("victim"), folder.path().join("link.surefoot"));
    std::fs::write(&victim, "dear").expect("written");
    std::os::unix::fs::symlink(&path, &link).expect("linked");
    let journal = folder.path().join("s.surefoot-journal");
    std::fs::write(&journal, naming(&victim)).expect("written");
    let before = files(folder.path());
    for name in [&path, &link] {
        let all = [
            Reader::open(name).err(),
            Reader::open_untouched(name).err(),
            Writer::create_or_open(name).map(drop).err(),
        ];
        for refused in all {
            let refused = refused.expect("refused");
            assert!(matches!(refused, ledger::Error::Journal { .. }) && refused.hint().is_some(), "{refused:?}");
        }
    }
    assert_eq!(files(folder.path()), before);
    // One that names nothing may be what a kill left: the next writer takes it away, and no reader.
    std::fs::write(&journal, [0xff; 600]).expect("written");
    for refused in [Reader::open(&path).err(), Reader::open_untouched(&path).err()] {
        assert!(matches!(refused, Some(ledger::Error::Journal { .. })), "{refused:?}");
    }
    drop(Writer::create_or_open(&path).expect("it goes on"));
    assert_eq!((journal.exists(), speeds(&path)), (false, 1));
}

#[test]
fn who_comes_by_a_link_is_held_off_by_the_same_lock() {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, link) = (folder.path().join("s.surefoot"), folder.path().join("link.surefoot"));
    let mut writer = begun(&path);
    std::os::unix::fs::symlink(&path, &link).expect("linked");
    assert!(ledger::is_held(&link));
    let refused = Writer::create_or_open(&link).map(drop);
    assert!(matches!(refused, Err(ledger::Error::Held { .. })), "{refused:?}");
    trial(&mut writer, SCENARIOS[0], 0, TrialState::Finished, 5.0);
    assert_eq!(speeds(&link), 1, "a running study is read as one");
    drop(writer);
    let writer = Writer::create_or_open(&link).expect("nobody holds it");
    assert!(ledger::is_held(&path));
    drop(writer);
    assert!(!ledger::is_held(&path) && !ledger::is_held(&link));
}

#[test]
fn a_writer_that_leaves_before_its_readers_leaves_all_in_the_file() {
    let (folder, path) = new_file("s.surefoot");
    let mut writer = begun(&path);
    trial(&mut writer, SCENARIOS[0], 0, TrialState::Finished, 5.0);
    let reader = Reader::open(&path).expect("readable");
    drop(writer);
    let alone = folder.path().join("copy.surefoot");
    std::fs::copy(&path, &alone).expect("a copy");
    assert_eq!(speeds(&alone), 1);
    drop(reader);
}

#[test]
fn a_writer_is_not_disturbed_by_readers_that_ask_all_the_time() {
    let (_folder, path) = new_file("s.surefoot");
    drop(begun(&path));
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    // What they see does not matter here: a file at rest may stop to be so while it is read.
                    let _ =
                        (ledger::is_held(&path), Reader::open_untouched(&path).and_then(|reader| reader.contents()));
                }
            });
        }
        for round in 0..30 {
            let mut writer = Writer::create_or_open(&path).expect("no reader holds it");
            trial(&mut writer, SCENARIOS[0], round, TrialState::Finished, 5.0);
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(speeds(&path), 30);
}
