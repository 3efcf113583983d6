//! Files that are no ledger, or no longer one, and places that can't be written.

use crate::fixture::{SCENARIOS, begun, new_file, trial};
use ledger::model::TrialState;
use ledger::{Error, Reader, Writer};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

/// Set for the child that is to meet a folder as `nobody`.
const AS_NOBODY: &str = "LEDGER_TEST_AS_NOBODY";
const NOBODY: u32 = 65_534;

/// Both refuse it, with this error, and not a byte of it changes.
#[track_caller]
fn check_refused(path: &Path, is_right: fn(&Error) -> bool) {
    let before = std::fs::read(path).expect("readable");
    for error in [Reader::open(path).err(), Writer::create_or_open(path).err()] {
        let error = error.expect("refused");
        assert!(is_right(&error), "{error:?}");
        assert!(error.to_string().contains(&path.display().to_string()) && error.hint().is_some(), "{error}");
    }
    assert!(std::fs::read(path).expect("readable") == before, "a stranger's file is left as it is");
}

#[test]
fn foreign_files_are_told_apart_and_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let foreign = |error: &Error| matches!(error, Error::NotALedger { .. });
    let text = folder.path().join("text");
    std::fs::write(&text, "dear diary\n".repeat(1000)).expect("written");
    check_refused(&text, foreign);
    let database = folder.path().join("other.db");
    rusqlite::Connection::open(&database)
        .and_then(|file| file.execute_batch("CREATE TABLE t (x); INSERT INTO t VALUES (1)"))
        .expect("a file");
    check_refused(&database, foreign);
    let zeros = folder.path().join("zeros");
    std::fs::write(&zeros, [0; 8192]).expect("written");
    check_refused(&zeros, foreign);
}

#[test]
fn a_missing_file_is_no_study_and_an_empty_one_a_new_study() {
    let (folder, path) = new_file("s.surefoot");
    assert!(matches!(Reader::open(&path), Err(Error::Open { .. })));
    assert!(!path.exists(), "reading makes no file");
    std::fs::write(&path, "").expect("written");
    assert!(Reader::open(&path).and_then(|reader| reader.contents()).is_err());
    assert_eq!(Writer::create_or_open(&path).expect("it opens").study().expect("readable"), None);
    assert!(matches!(Writer::create_or_open(&folder.path().join("no/such/folder")), Err(Error::Open { .. })));
    assert!(Writer::create_or_open(folder.path()).is_err(), "a folder is no file");
}

#[test]
fn a_truncated_or_scribbled_file_is_an_error_and_never_a_panic() {
    let (folder, path) = new_file("s.surefoot");
    let mut writer = begun(&path);
    for round in 0..10 {
        trial(&mut writer, SCENARIOS[0], round, TrialState::Finished, 100.0);
    }
    drop(writer);
    let whole = std::fs::read(&path).expect("readable");
    assert!(whole.len() > 20_000, "the log was folded into the file when it was closed");
    let read_all = |path: &Path| {
        let reader = Reader::open(path)?;
        let contents = reader.contents()?;
        for run in &contents.runs {
            reader.detail(run.id)?;
        }
        ledger::export::json(&reader, &mut std::io::sink())
    };
    let cut = folder.path().join("cut.surefoot");
    for length in (1..whole.len()).step_by(whole.len() / 40).chain([whole.len() - 1, whole.len() - 4096]) {
        std::fs::write(&cut, &whole[..length]).expect("written");
        let error =
            read_all(&cut).err().unwrap_or_else(|| panic!("{length} of {} bytes pass for the whole", whole.len()));
        assert!(matches!(error, Error::NotALedger { .. } | Error::Damaged { .. }), "{length}: {error:?}");
    }
    for place in (100..whole.len() - 64).step_by(997) {
        let mut scribbled = whole.clone();
        scribbled[place..place + 64].fill(0xA5);
        std::fs::write(&cut, &scribbled).expect("written");
        // A changed figure can't be seen; whatever can must be an error.
        let _ = read_all(&cut);
    }
}

#[test]
fn a_second_writer_is_refused_until_the_first_is_done() {
    let (_folder, path) = new_file("s.surefoot");
    let first = begun(&path);
    assert!(ledger::is_held(&path));
    let error = Writer::create_or_open(&path).expect_err("refused");
    assert!(matches!(error, Error::Held { .. }) && error.hint().is_some(), "{error:?}");
    Reader::open(&path).expect("reading is free");
    drop(first);
    assert!(!ledger::is_held(&path));
    Writer::create_or_open(&path).expect("the next may");
}

/// In a folder of several users, `status` and `run` waited for ever, and no signal ended them.
#[test]
fn a_pipe_beside_or_in_place_of_a_ledger_is_not_waited_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, pipe) = (folder.path().join("s.surefoot"), folder.path().join("pipe.surefoot"));
    drop(begun(&path));
    let lock = folder.path().join("s.surefoot.lock");
    assert!(Command::new("mkfifo").args([&pipe, &lock]).status().expect("coreutils are there").success());
    assert!(!ledger::is_held(&path));
    Reader::open_untouched(&path).expect("it is read");
    assert!(matches!(Reader::open_untouched(&pipe), Err(Error::NotALedger(_))));
    assert!(matches!(Writer::create_or_open(&pipe), Err(Error::NotALedger(_))));
    let Err(Error::Open { source, .. }) = Writer::create_or_open(&path) else { panic!("the lock is a pipe") };
    assert!(source.to_string().contains("s.surefoot.lock is no plain file"), "{source}");
    // A link of somebody else's would have a file made wherever it leads.
    std::fs::remove_file(&lock).expect("removed");
    std::os::unix::fs::symlink(folder.path().join("made"), &lock).expect("linked");
    assert!(matches!(Writer::create_or_open(&path), Err(Error::Open { .. })));
    assert!(!folder.path().join("made").exists());
    std::fs::remove_file(&lock).expect("removed");
    Writer::create_or_open(&path).expect("nothing is in the way");
}

#[test]
fn a_folder_that_may_not_be_written() {
    let folder = tempfile::tempdir().expect("a folder");
    drop(begun(&folder.path().join("s.surefoot")));
    let mode = |path: &Path, mode| {
        std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode)).expect("set")
    };
    mode(folder.path(), 0o555);
    mode(&folder.path().join("s.surefoot"), 0o444);
    let program = std::env::current_exe().expect("this program");
    // The test program may lie where `nobody` can't go; a copy in a place of its own can be run.
    let place = tempfile::tempdir().expect("a folder");
    mode(place.path(), 0o755);
    let copy = place.path().join("it");
    std::fs::copy(program, &copy).expect("copied");
    let mut child = Command::new(&copy);
    child.args(["--exact", "faults::as_nobody", "--nocapture"]).env(AS_NOBODY, folder.path()).current_dir("/");
    if nix_is_root() {
        child.uid(NOBODY).gid(NOBODY);
    }
    let output = child.output().expect("it runs");
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    mode(folder.path(), 0o755);
}

/// Not a test of its own: the child of the test above.
#[test]
fn as_nobody() {
    let Some(folder) = std::env::var_os(AS_NOBODY) else { return };
    let path = Path::new(&folder).join("s.surefoot");
    assert_eq!(Reader::open(&path).and_then(|reader| reader.contents()).expect("it can be read").scenarios.len(), 2);
    for name in ["s.surefoot", "new.surefoot"] {
        let error = Writer::create_or_open(&Path::new(&folder).join(name)).expect_err("refused");
        assert!(matches!(error, Error::Open { .. }) && error.hint().is_some(), "{error:?}");
    }
}

fn nix_is_root() -> bool {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}
