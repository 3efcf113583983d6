//! Commits on GT.M: each stream is a process of GT.M's own, which runs the routine `commits.m`.
//!
//! The process is told each transaction on a pipe, and answers on another when `TCOMMIT` has returned. Both moments are taken on
//! this side of the pipes: before the order is written, so that a try is never dated late, and after the answer was read, so
//! that an acknowledgement is never dated early; the answer's way makes it some microseconds late, as it would any client's.

use super::look::Rows;
use super::rule::{LOADED_ROWS, LOADED_STREAM, Rule, id};
use super::target::{Client, CommitTarget, Committed};
use crate::ack_log::nanoseconds;
use load::engines::gtm;
use load::sql::Place;
use load::workload::Error;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// The routine.
const ROUTINE: &str = include_str!("commits.m");

/// An epoch: what is dirty is written and flushed, and before-images begin anew. Only of a database that the process has open.
const CHECKPOINT: &str = "if $data(^counters) view \"EPOCH\"";

/// `integ` reads every block. Where a global or a subscript is gone, so are its rows.
const QUESTIONS: [&str; 3] = [
    "mupip\ninteg\n-full\n-region\nDEFAULT",
    "mumps\n-run\n%XCMD\nset id=\"\" for  set id=$order(^commits(id)) quit:id=\"\"  \
     write id,$char(9),$translate(^commits(id),\" \",$char(9)),!",
    "mumps\n-run\n%XCMD\nset id=\"\" for  set id=$order(^counters(id)) quit:id=\"\"  write id,$char(9),^counters(id),!",
];

/// Who waits for one of GT.M's programs gives up after so long, and ends it.
const ANSWER_SECONDS_MAX: u32 = 12;

/// A process that was told to end may take so long.
const ENDS_WITHIN: Duration = Duration::from_secs(3);

/// What `mupip integ` says of a database that is whole, in one line of many.
const WHOLE: &str = "No errors detected by integ.";

/// What a program said as an answer's rows: a line each, with tabs between columns.
fn rows_of_lines(said: &str) -> Rows {
    said.lines().map(|line| line.split('\t').map(|cell| Some(cell.to_string())).collect()).collect()
}

/// The trial's database.
#[derive(Default)]
pub struct Gtm {
    /// Held while the routine is put there.
    opening: Mutex<()>,
}

impl Gtm {
    fn open(&self, place: &Place) -> Result<gtm::Gtm, Error> {
        let _alone = self.opening.lock().expect("no stream panics");
        gtm::Gtm::open(place, "commits", ROUTINE)
    }
}

impl CommitTarget for Gtm {
    fn fill(&self, place: &Place, rule: Rule) -> Result<(), Error> {
        let mut orders = String::new();
        for stream in 0..rule.streams {
            let _ = writeln!(orders, "counter {stream}");
        }
        for number in 1..=LOADED_ROWS {
            let id = id(LOADED_STREAM, number);
            let _ = writeln!(orders, "row {id} {LOADED_STREAM} {number} {}", rule.payload(id));
        }
        orders.push('\n');
        self.open(place)?.run(&["mumps", "-run", "load^commits"], &orders).map(drop)
    }

    fn checkpoint(&self, place: &Place) -> Result<(), Error> {
        self.open(place)?.run_within(ANSWER_SECONDS_MAX, &["mumps", "-run", "%XCMD", CHECKPOINT]).map(drop)
    }

    fn ask(&self, place: &Place) -> Result<Vec<Rows>, Error> {
        let database = self.open(place)?;
        let answer =
            |question: &String| database.run_within(ANSWER_SECONDS_MAX, &question.split('\n').collect::<Vec<_>>());
        self.questions().iter().map(|question| Ok(rows_of_lines(&answer(question)?))).collect()
    }

    fn questions(&self) -> [String; 3] {
        QUESTIONS.map(String::from)
    }

    fn is_well(&self, answer: &[Vec<Option<String>>], _row: &[Option<String>]) -> bool {
        answer.iter().flatten().flatten().any(|line| line.trim() == WHOLE)
    }

    fn connect<'a>(&'a self, place: &Place, rule: Rule, stream: u32) -> Result<Box<dyn Client + 'a>, Error> {
        let mut command = self.open(place)?.command(&["mumps", "-run", "work^commits"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(Error::doing("start", command.get_program().as_ref()))?;
        let orders = child.stdin.take().expect("standard input was piped");
        let answers = BufReader::new(child.stdout.take().expect("standard output was piped"));
        let mut process = Process { rule, stream, child, orders, answers };
        process.expect("ready")?;
        Ok(Box::new(process))
    }
}

/// A stream's process; it ends when this goes.
struct Process {
    rule: Rule,
    stream: u32,
    child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Process {
    /// Reads one line. Another than this one is the beginning of why it ends.
    fn expect(&mut self, expected: &str) -> Result<(), Error> {
        let mut said = String::new();
        if !self.has_answer() {
            // What it waits for may never come.
            let _ = self.child.kill();
            said = format!("no answer for {ANSWER_SECONDS_MAX} s; ended by surefoot\n");
        }
        let is_read = self.answers.read_line(&mut said).is_ok();
        if is_read && said.trim_end() == expected {
            return Ok(());
        }
        // Should it still wait for orders.
        let _ = self.orders.write_all(b"\n");
        let _ = self.answers.read_to_string(&mut said);
        let _ = self.child.stderr.take().map(|mut errors| errors.read_to_string(&mut said));
        let status = self.child.wait().map_or_else(|error| error.to_string(), |status| status.to_string());
        Err(Error::Program { program: "mumps -run work^commits".into(), status, log: said })
    }

    fn has_answer(&self) -> bool {
        if !self.answers.buffer().is_empty() {
            return true;
        }
        let mut fds = [PollFd::new(self.answers.get_ref().as_fd(), PollFlags::POLLIN)];
        let milliseconds = u16::try_from(ANSWER_SECONDS_MAX * 1000).unwrap_or(u16::MAX);
        poll(&mut fds, PollTimeout::from(milliseconds)).is_ok_and(|ready| ready > 0)
    }
}

impl Client for Process {
    fn commit(&mut self, number: u64, _is_over: &dyn Fn() -> bool) -> Result<Option<Committed>, Error> {
        let (stream, own) = (self.stream, id(self.stream, number));
        let mut order = format!("{stream} {number} {own} {}", self.rule.payload(own));
        for touched in self.rule.touched(stream, number) {
            let _ = write!(order, " {}", id(LOADED_STREAM, touched));
        }
        order.push('\n');
        let asked = nanoseconds();
        // When it can't be written the process is ending, which reading shows.
        let _ = self.orders.write_all(order.as_bytes());
        self.expect(&number.to_string())?;
        Ok(Some(Committed { asked, acknowledged: nanoseconds() }))
    }

    /// What fails ends the process.
    fn give_up(&mut self) -> Result<(), Error> {
        let (program, log) = ("mumps -run work^commits".into(), String::new());
        Err(Error::Program { program, status: "its error".into(), log })
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.orders.write_all(b"\n");
        let deadline = Instant::now() + ENDS_WITHIN;
        while matches!(self.child.try_wait(), Ok(None)) {
            if Instant::now() >= deadline {
                let _ = self.child.kill();
                let _ = self.child.wait();
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_gtm_prints_are_rows() {
        let cell = |text: &str| Some(text.to_string());
        assert_eq!(rows_of_lines("1\t2\n\nx\n"), [vec![cell("1"), cell("2")], vec![cell("")], vec![cell("x")]]);
    }
}
