//! What an administrator does to GT.M's database when power has come back, and what is asked of it then.
//!
//! Each program runs in an IPC namespace of its own, because shared memory and semaphores die with the power: those of the
//! processes that were at work would tell what was never on the disk.

use super::said;
use crate::recovered::{Answers, SECONDS_MAX};
use crate::service::Error;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// With images of blocks before a change, all that was not committed is undone; the journal has what was (GT.M Administration
/// Guide, "Recovery from a Journal File"). Without a journal the file is only made fit to be opened.
pub fn repair(enter: &Path, journal: Option<&Path>, deadline: Instant) -> Result<(), Error> {
    let journal = journal.map(Path::to_string_lossy);
    let words = match &journal {
        Some(file) => vec!["mupip", "journal", "-recover", "-backward", file],
        None => vec!["mupip", "rundown", "-region", "DEFAULT"],
    };
    run(enter, &words, "recover", deadline).map(drop)
}

/// Repairs it and asks: both by one moment, as whoever takes the disk from under a recovery that hangs waits no longer.
pub fn recover(
    enter: &Path,
    journal: Option<&Path>,
    questions: &[String],
    deadline: Instant,
) -> Result<Answers, Error> {
    repair(enter, journal, deadline)?;
    ask(enter, questions, deadline)
}

/// Asks, of each question's lines the first a program and the others its arguments. A row of an answer is a line, its columns
/// stand between tabs.
fn ask(enter: &Path, questions: &[String], deadline: Instant) -> Result<Answers, Error> {
    let row = |line: &str| line.split('\t').map(|cell| Some(cell.to_string())).collect();
    let answer = |question: &String| {
        let words: Vec<&str> = question.split('\n').collect();
        let said = run(enter, &words, "answer", deadline).map_err(|error| asked(error, &words))?;
        Ok(said.lines().map(row).collect())
    };
    questions.iter().map(answer).collect()
}

/// Once it is repaired, what a program can't do is the data's fault. Its status says nothing: it is eight bits of a message's number.
fn asked(error: Error, words: &[&str]) -> Error {
    if !matches!(error, Error::Program { .. }) || error.was_killed() {
        return error;
    }
    let source = wire::Error::Refused { code: "ERROR".into(), message: error.complaint() };
    Error::Asked { server: "gtm", action: format!("answer `{}`", words.join(" ")), source }
}

/// Runs one of GT.M's programs; gives all that it said.
fn run(enter: &Path, words: &[&str], action: &'static str, deadline: Instant) -> Result<String, Error> {
    let left = deadline.saturating_duration_since(Instant::now()).as_secs() + 1;
    let mut command = Command::new("timeout");
    // Read by a shell and not executed: another thread that forks in the moment in which the file is written holds it open until its own
    // program starts, and the kernel executes no file that is open for writing.
    command.arg("--kill-after=1").arg(left.to_string()).args(["unshare", "--ipc", "sh"]).arg(enter).args(words);
    let output = command.stdin(Stdio::null()).output().map_err(Error::file("start", enter))?;
    let log = said(&output);
    if output.status.success() {
        return Ok(log);
    }
    if Instant::now() >= deadline {
        return Err(Error::Slow { server: "gtm".into(), action, seconds: SECONDS_MAX, log });
    }
    Err(Error::Program { program: words.join(" "), status: output.status.to_string(), log: log.trim().into() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::time::Duration;

    #[test]
    fn a_program_that_was_killed_has_refused_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let enter = folder.path().join("gtm");
        let question = ["mumps\n-run x".to_string()];
        let asked = |script: &str| {
            std::fs::write(&enter, script).expect("written");
            ask(&enter, &question, Instant::now() + Duration::from_secs(20)).expect_err("it ends badly")
        };
        let killed = asked("kill -9 $$");
        assert!(killed.was_killed(), "{killed:?}");
        assert!(matches!(asked("echo %GTM-E-DBCCERR; exit 1"), Error::Asked { .. }));
    }

    /// Each had a minute of its own: the disk was taken away amid the second one, and the filesystem did not mount, it was said.
    #[test]
    fn what_is_repaired_late_is_not_asked_for_another_minute() {
        let folder = tempfile::tempdir().expect("a folder");
        let enter = folder.path().join("gtm");
        std::fs::write(&enter, "[ $1 = mupip ] || exec sleep 60\n").expect("written");
        let ended = recover(&enter, None, &["mumps\n-run x".into()], Instant::now());
        assert!(matches!(ended, Err(Error::Slow { .. })), "{ended:?}");
    }

    /// In 9,066 images one was called damaged for "Text file busy".
    #[test]
    fn a_program_that_a_fork_still_holds_open_is_run() {
        let folder = tempfile::tempdir().expect("a folder");
        let enter = folder.path().join("gtm");
        let mut held = std::fs::File::create(&enter).expect("a file");
        held.write_all(b"#!/bin/sh\necho entered \"$@\"\n").expect("written");
        let answers =
            ask(&enter, &["mumps\n-run x".into()], Instant::now() + Duration::from_secs(20)).expect("it runs");
        assert_eq!(answers, [vec![vec![Some("entered mumps -run x".to_string())]]]);
        drop(held);
    }
}
