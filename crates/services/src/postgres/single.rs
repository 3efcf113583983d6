//! `postgres --single`: one process that recovers, takes statements from its standard input and has neither socket nor
//! helpers: some 35 ms of one CPU until it has answered, where a whole start takes many times that.

use crate::process::{Server, Start};
use crate::recovered::{Answers, SECONDS_MAX};
use crate::service::Error;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::io::{Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::process::ChildStdout;
use std::time::Instant;

/// What it says before it reads a statement (`InteractiveBackend` in PostgreSQL's src/backend/tcop/postgres.c).
const PROMPT: &str = "backend> ";

/// The line below the names of columns, and below each row (`debugStartup` and `debugtup` in src/backend/access/common/printtup.c).
const RULE: &str = "\t----";

/// What stands between a column's value and its type there.
const TYPE: &str = "\"\t(typeid = ";

/// Settings of one that is only asked. Nothing that it writes is kept, so it need not flush; the first error ends it, so that
/// none is taken for an empty answer.
pub const SETTINGS: &str =
    "exit_on_error=on log_line_prefix= fsync=off shared_buffers=1MB huge_pages=off max_connections=10";

/// Starts it and asks. It has ended then, one way or the other.
///
/// # Errors
/// [`Error::Program`] when it ends before it takes a statement, or crashes; [`Error::Asked`] when it refuses one;
/// [`Error::Slow`] when it is silent at the deadline.
pub fn ask(start: &Start, questions: &[String], deadline: Instant) -> Result<Answers, Error> {
    let (server, mut input, output) = start.conversation()?;
    let mut talk = Talk { server, output, piece: vec![0; PIECE_BYTES], deadline };
    talk.until_prompt()?;
    let mut answers = Vec::new();
    for question in questions {
        // A line is a statement. When it can't be written the server is ending, which reading shows.
        let _ = input.write_all(format!("{}\n", question.replace('\n', " ")).as_bytes());
        answers.push(rows(&talk.until_prompt().map_err(|error| asked(error, question))?));
    }
    // At the end of its input it ends by itself, which takes 2 ms and gives back shared memory that would outlive it otherwise.
    drop(input);
    while let Ok(true) = talk.read(&mut Vec::new()) {}
    Ok(answers)
}

/// One that was at work and ended in order refused the question; one that was killed or crashed is down.
fn asked(error: Error, question: &str) -> Error {
    match &error {
        Error::Program { status, .. } if status.starts_with("status") => {
            let source = wire::Error::Refused { code: "ERROR".into(), message: error.complaint() };
            Error::Asked { server: "postgres", action: format!("answer `{question}`"), source }
        }
        _ => error,
    }
}

/// A server and what it prints.
struct Talk {
    // Ended by force when dropped.
    server: Server,
    output: ChildStdout,
    piece: Vec<u8>,
    deadline: Instant,
}

/// What is read at once.
const PIECE_BYTES: usize = 64 << 10;

impl Talk {
    /// What it prints before it waits for the next statement.
    fn until_prompt(&mut self) -> Result<String, Error> {
        let mut text = Vec::new();
        let ending = format!("\n{PROMPT}");
        while text != PROMPT.as_bytes() && !text.ends_with(ending.as_bytes()) {
            if !self.read(&mut text)? {
                return Err(self.server.died());
            }
        }
        text.truncate(text.len() - PROMPT.len());
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    /// Adds what it has printed, once there is something; false: it has closed its output.
    fn read(&mut self, text: &mut Vec<u8>) -> Result<bool, Error> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        let timeout = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
        match poll(&mut [PollFd::new(self.output.as_fd(), PollFlags::POLLIN)], timeout) {
            Ok(0) => return Err(self.server.slow("recover", SECONDS_MAX)),
            Ok(_) => {}
            // Interrupted: there may be nothing to read.
            Err(_) => return Ok(true),
        }
        let count = self.output.read(&mut self.piece).unwrap_or(0);
        text.extend_from_slice(&self.piece[..count]);
        Ok(count > 0)
    }
}

/// The rows of an answer. Values stand there as they are, so one may hold line ends; columns that are NULL are left out.
fn rows(text: &str) -> Vec<Vec<Option<String>>> {
    let mut lines = text.split_terminator('\n');
    let columns = lines.by_ref().take_while(|line| *line != RULE).count();
    let (mut rows, mut row, mut value) = (Vec::new(), vec![None; columns], String::new());
    for line in lines {
        if value.is_empty() && line == RULE {
            rows.push(std::mem::replace(&mut row, vec![None; columns]));
            continue;
        }
        value.push_str(line);
        match column(&value) {
            Some((index, found)) if index < columns => row[index] = Some(found.into()),
            Some(_) => {}
            None => {
                value.push('\n');
                continue;
            }
        }
        value.clear();
    }
    rows
}

/// Place, from 0, and value of a column: `\t 1: name = "value"\t(typeid = 25, len = -1, typmod = -1, byval = f)`.
fn column(line: &str) -> Option<(usize, &str)> {
    let (before, kind) = line.rsplit_once(TYPE)?;
    let (head, value) = before.split_once(" = \"")?;
    let (place, _) = head.split_once(':')?;
    let place: usize = place.trim().parse().ok()?;
    kind.ends_with(')').then_some((place.checked_sub(1)?, value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// A shell that plays the server.
    fn play(script: &str, seconds: f64, questions: &[&str]) -> Result<Answers, Error> {
        let folder = tempfile::tempdir().expect("a folder");
        let start = Start::of_shell(script, folder.path());
        let questions: Vec<String> = questions.iter().map(ToString::to_string).collect();
        ask(&start, &questions, Instant::now() + Duration::from_secs_f64(seconds))
    }

    const PLAYED: f64 = 30.0;

    #[test]
    fn rows_are_read_as_they_are_printed() {
        let printed = "\t 1: id\t(typeid = 23, len = 4, typmod = -1, byval = t)\n\
                       \t 2: word\t(typeid = 25, len = -1, typmod = -1, byval = f)\n\t----\n\
                       \t 1: id = \"7\"\t(typeid = 23, len = 4, typmod = -1, byval = t)\n\
                       \t 2: word = \"two\n\t----\nlines = \"quoted\"\"\t(typeid = 25, len = -1, typmod = -1, byval = f)\n\t----\n\
                       \t 1: id = \"8\"\t(typeid = 23, len = 4, typmod = -1, byval = t)\n\t----\n";
        let text = |text: &str| Some(text.to_string());
        assert_eq!(rows(printed), [vec![text("7"), text("two\n\t----\nlines = \"quoted\"")], vec![text("8"), None]]);
        assert!(rows("").is_empty());
    }

    #[test]
    fn it_is_asked_one_question_after_the_other() {
        let script = r#"printf 'backend> '; read a; printf '\t 1: a\t(typeid = 1)\n\t----\n\t 1: a = "%s"\t(typeid = 1)\n\t----\nbackend> ' "$a"
                        read b; printf 'backend> '; cat >&2"#;
        let answers = play(script, PLAYED, &["SELECT\n1", "BEGIN"]).expect("answers");
        assert_eq!(answers, [vec![vec![Some("SELECT 1".to_string())]], vec![]]);
    }

    #[test]
    fn one_that_goes_down_says_why() {
        let never_up =
            play("echo 'LOG:  hello' >&2; echo 'PANIC:  no checkpoint' >&2; kill -6 $$", PLAYED, &["SELECT 1"]);
        let error = never_up.expect_err("it went down");
        assert!(matches!(&error, Error::Program { status, .. } if status == "signal 6"), "{error:?}");
        assert_eq!(error.complaint(), "no checkpoint");
        let refused =
            play("printf 'backend> '; read a; echo 'FATAL:  invalid page' >&2; exit 1", PLAYED, &["SELECT 1"]);
        let error = refused.expect_err("it refused");
        assert!(matches!(error, Error::Asked { .. }), "{error:?}");
        assert_eq!(
            (error.to_string(), error.complaint()),
            ("postgres cannot answer `SELECT 1`".into(), "invalid page".into())
        );
        let crashed = play("printf 'backend> '; read a; kill -11 $$", PLAYED, &["SELECT 1"]).expect_err("it crashed");
        assert!(matches!(&crashed, Error::Program { status, .. } if status == "signal 11"), "{crashed:?}");
    }

    #[test]
    fn one_that_hangs_is_ended() {
        let error = play("echo 'LOG:  redo' >&2; exec sleep 600", 0.2, &[]).expect_err("it hangs");
        assert!(matches!(error, Error::Slow { action: "recover", .. }), "{error:?}");
        assert!(error.to_string().contains("did not recover within"), "{error}");
    }
}
