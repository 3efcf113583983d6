//! One session: its connection, and how far it is.

use super::tally::{Fault, Tally};
use crate::sql_replay::Pace;
use sqllog::{Lock, Log, Session, Step, Way};
use std::collections::HashMap;
use std::time::{Duration, Instant};
use wire::{Connection, Error, Param, Statement};

/// A statement that begins later than this after its time counts as late: well above a wake-up's delay.
const LATE: Duration = Duration::from_millis(1);

/// So far behind a run's end a session goes on for a lock that nobody is seen to wait for. One that is held for longer is a leader's, and the run
/// would be this session's alone; nobody leads by locks of tables.
const AHEAD_MICROSECONDS: i64 = 10_000_000;

/// Statements that are looked through for it.
const AHEAD_STATEMENTS: usize = 1000;

/// A session under way; it lasts from run to run.
#[derive(Default)]
pub struct Line {
    /// None: not connected yet, or no more.
    pub connection: Option<Box<dyn Connection>>,
    /// The statement that is next, or is being answered.
    pub at: usize,
    /// By its text's number.
    prepared: HashMap<u32, Statement>,
    /// When the statement that is being answered was due or sent.
    sent: Option<Instant>,
    /// Of a statement that is prepared and executed in one message.
    preparing: Option<Statement>,
    rows: u64,
    /// Locks that outlive transactions, as far as texts say it.
    locks: u64,
    /// Whether others wait for them, as they do where tables are among them: it goes on until it has given them back.
    pub is_waited_for: bool,
    /// Whether its connection was asked for.
    pub is_begun: bool,
    /// Since when an answer is to come, or the rest of one; none: nothing is.
    pub waits_since: Option<Instant>,
}

/// How far a session is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// It waits for an answer.
    Waiting,
    /// Its next statement is due then.
    Due(Instant),
    /// It has no statement left in this run.
    Paused,
    /// It has no statement left, or no connection.
    Over,
}

/// What a run is to a session.
pub struct Part<'a> {
    pub log: &'a Log,
    pub pace: Pace,
    /// When the run began, and the moment of the log that this stands for.
    pub started: Instant,
    pub from: i64,
    /// The number of the statement that the next run begins with, and its moment in the log.
    pub before: u64,
    pub to: i64,
}

impl Part<'_> {
    /// When this moment of the log is due; none: as soon as possible.
    pub fn due(&self, at_microseconds: i64) -> Option<Instant> {
        let Pace::AsLogged(speed) = self.pace else { return None };
        let microseconds = at_microseconds.saturating_sub(self.from).max(0) as f64;
        Some(self.started + crate::duration::of_seconds(microseconds / 1e6 / speed))
    }
}

impl Line {
    /// Goes on until it has to wait.
    pub fn advance(&mut self, session: &Session, part: &Part<'_>, tally: &mut Tally) -> Progress {
        loop {
            let Some(step) = session.steps.get(self.at) else { return self.over(session, part) };
            let came = if self.sent.is_some() {
                self.more()
            } else {
                // It would hold its locks while others wait for them.
                if step.number >= part.before && !self.is_in_transaction() && !self.gives_back(session, part) {
                    return Progress::Paused;
                }
                let due = part.due(step.at_microseconds);
                let now = Instant::now();
                if let Some(due) = due.filter(|due| *due > now) {
                    return Progress::Due(due);
                }
                tally.late += u64::from(due.is_some_and(|due| now > due + LATE));
                self.sent = Some(due.unwrap_or(now));
                self.send(step, part.log)
            };
            match came {
                Ok(None) => return Progress::Waiting,
                Ok(Some(_)) => {
                    self.keep_prepared(step);
                    let does = part.log.lock(step);
                    self.locks = held_after(self.locks, does);
                    self.is_waited_for = self.locks > 0 && (self.is_waited_for || does == Some(Lock::TakesTables));
                    tally.latency.record(self.took());
                    tally.answered(&step.expects, step.rows, self.rows);
                }
                Err(Error::Refused { code, message }) if !is_over(&code) => {
                    self.preparing = None;
                    let took = self.took();
                    let why = || format!("`{}`: {message} ({code})", shortened(&part.log.texts()[step.text as usize]));
                    if tally.refused(&step.expects, &code, why) {
                        tally.latency.record(took);
                    }
                }
                Err(error) => {
                    self.lose(session, tally, &error);
                    return Progress::Over;
                }
            }
            self.at += 1;
        }
    }

    /// Whether others may wait for what it holds.
    pub fn holds_locks(&self) -> bool {
        self.locks > 0 && self.connection.is_some()
    }

    /// Whether it has waited for a lock for so long.
    pub fn waits_for_lock(&self, session: &Session, log: &Log, for_long: Duration) -> bool {
        // What is late was due long before it was sent.
        self.waits_since.is_some_and(|since| since.elapsed() >= for_long)
            && session.steps.get(self.at).is_some_and(|step| log.may_wait_for_lock(step))
    }

    /// Its connection is gone, or was not made: what is left of it is lost.
    pub fn lose(&mut self, session: &Session, tally: &mut Tally, why: &(dyn std::error::Error + 'static)) {
        let left = session.steps.len().saturating_sub(self.at);
        if left > 0 {
            tally.fault(Fault::of_connection(why), left as u64, || observe::record::causes(why).join(": "));
        }
        self.at = session.steps.len();
        self.connection = None;
    }

    /// Something came that it does not wait for: a notice, or the connection's end.
    pub fn unasked(&mut self, session: &Session, tally: &mut Tally) -> Progress {
        match self.more() {
            Err(error) => {
                self.lose(session, tally, &error);
                Progress::Over
            }
            Ok(_) => Progress::Waiting,
        }
    }

    /// It has no statement left. One that the log does not see end stays open, as there.
    fn over(&mut self, session: &Session, part: &Part<'_>) -> Progress {
        let Some(ended) = session.ended.filter(|_| self.connection.is_some()) else {
            // No more connections at a time than sessions that are at work, and nobody waits for ever for its locks.
            if part.pace == Pace::Closed || self.is_waited_for {
                self.connection = None;
            }
            return Progress::Over;
        };
        if let Some(due) = part.due(ended).filter(|due| *due > Instant::now()) {
            return if part.before == u64::MAX || self.is_waited_for { Progress::Due(due) } else { Progress::Paused };
        }
        self.connection = None;
        Progress::Over
    }

    fn send(&mut self, step: &Step, log: &Log) -> Result<Option<u64>, Error> {
        let Some(connection) = &mut self.connection else {
            return Err(Error::Lost(std::io::ErrorKind::NotConnected.into()));
        };
        self.rows = 0;
        if log.forgets_prepared(step) {
            self.prepared.clear();
        }
        let text = &log.texts()[step.text as usize];
        if step.way == Way::Text {
            return connection.start_text(text, &mut |_| {});
        }
        let params: Vec<Param> =
            log.params(step).iter().map(|param| param.as_deref().map_or(Param::Null, Param::Text)).collect();
        if step.way == Way::Unnamed {
            return connection.start_unnamed(text, &params, &mut |_| {});
        }
        if let Some(statement) = self.prepared.get(&step.text) {
            return connection.start(*statement, &params, &mut |_| {});
        }
        let (statement, changed) = connection.start_preparing(text, &params, &mut |_| {})?;
        self.preparing = Some(statement);
        Ok(changed)
    }

    fn more(&mut self) -> Result<Option<u64>, Error> {
        let (rows, connection) = (&mut self.rows, &mut self.connection);
        match connection {
            Some(connection) => connection.advance(&mut |_| *rows += 1),
            None => Err(Error::Lost(std::io::ErrorKind::NotConnected.into())),
        }
    }

    fn is_in_transaction(&self) -> bool {
        self.connection.as_ref().is_some_and(|connection| connection.is_in_transaction())
    }

    /// Whether others wait for its locks, or it holds fewer than now soon. What it takes and gives back meanwhile is no reason to go on.
    fn gives_back(&self, session: &Session, part: &Part<'_>) -> bool {
        // With its connection it gives back all, at the latest.
        if self.is_waited_for {
            return true;
        }
        let until = part.to.saturating_add(AHEAD_MICROSECONDS);
        let is_near = |place: usize, step: &Step| place < AHEAD_STATEMENTS && step.at_microseconds <= until;
        let ahead = session.steps[self.at..].iter().enumerate();
        let mut held = self.locks;
        self.locks > 0
            && ahead.take_while(|(place, step)| is_near(*place, step)).any(|(_, step)| {
                held = held_after(held, part.log.lock(step));
                held < self.locks
            })
    }

    fn keep_prepared(&mut self, step: &Step) {
        if let Some(statement) = self.preparing.take() {
            self.prepared.insert(step.text, statement);
        }
    }

    fn took(&mut self) -> Duration {
        self.sent.take().map_or(Duration::ZERO, |sent| sent.elapsed())
    }
}

/// Locks that are held behind a statement that does this.
fn held_after(held: u64, does: Option<Lock>) -> u64 {
    match does {
        Some(Lock::Takes | Lock::TakesTables) => held + 1,
        Some(Lock::GivesBack) => held.saturating_sub(1),
        Some(Lock::GivesAllBack) => 0,
        None => held,
    }
}

/// Whether a refusal with this code ends the connection.
fn is_over(code: &str) -> bool {
    Error::Refused { code: code.into(), message: String::new() }.is_lost()
}

const SHOWN_CHARACTERS: usize = 60;

/// A statement's beginning, on one line.
pub fn shortened(text: &str) -> String {
    let one_line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match one_line.char_indices().nth(SHOWN_CHARACTERS) {
        Some((at, _)) => format!("{}…", &one_line[..at]),
        None => one_line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As logged, on a server that is behind: who holds the lock may have it for a moment only.
    #[test]
    fn a_late_statement_has_not_waited_since_it_was_due() {
        let text = "2026-11-24 01:00:00.000 UTC [7] joe@shop LOG:  statement: SELECT pg_advisory_lock(1)\n";
        let log = sqllog::read(text, &sqllog::Options::default()).expect("it is a log");
        let due = Instant::now().checked_sub(Duration::from_secs(60)).expect("the machine is up for so long");
        let line = |waits_since| Line { sent: Some(due), waits_since, ..Line::default() };
        let waits = |line: Line| line.waits_for_lock(&log.sessions[0], &log, Duration::from_secs(30));
        assert!(waits(line(Some(due))));
        assert!(!waits(line(Some(Instant::now()))) && !waits(line(None)));
    }
}
