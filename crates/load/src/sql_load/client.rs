//! One connection and the transaction it is in: a step at a time, so that one thread can wait for many.

use super::Protocol;
use crate::sql::{Database, Place, failed};
use crate::workload::Error;
use std::fmt::Write as _;
use std::os::fd::BorrowedFd;
use std::time::Instant;
use wire::{Conflict, Connection, Keep, NamedRow, Param, Statement, Value};

/// The most parameters that a statement has.
pub const PARAMS_MAX: usize = 32;

/// What comes next in a transaction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Next {
    /// A statement.
    Send,
    /// Nothing is sent for so many seconds.
    Sleep(f64),
    /// It is done.
    End,
}

/// How sysbench counts a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// SELECT.
    Read,
    /// INSERT, UPDATE, DELETE.
    Write,
    /// BEGIN, COMMIT.
    Other,
}

/// The transactions of one connection. Most have a fixed number of steps, and say no more than that; others say step by step what is next.
pub trait Script: Send {
    /// The texts of all its statements, parameters as `$1`; `begin` is how the database begins.
    fn texts(&self, begin: &str) -> Vec<String>;

    /// Draws the next transaction. Not part of its time.
    fn draw(&mut self);

    /// Kinds of transactions, where there are several: each has latencies of its own.
    fn kinds(&self) -> Vec<String> {
        Vec::new()
    }

    /// The kind of the transaction that was drawn.
    fn kind(&self) -> usize {
        0
    }

    /// How many statements it has, where that is fixed.
    fn steps(&self) -> usize;

    /// Whether its first statement is BEGIN and its last COMMIT, where that is fixed.
    fn is_transaction(&self) -> bool;

    /// What comes after so many answered statements.
    ///
    /// # Errors
    /// When the script itself can't go on.
    fn next(&mut self, step: usize) -> Result<Next, Error> {
        Ok(if step == self.steps() { Next::End } else { Next::Send })
    }

    /// Whether this step's refusal leaves a transaction open that is to be rolled back.
    fn is_open(&self, step: usize) -> bool {
        self.is_transaction() && step > 0
    }

    /// Whether the answer to this step acknowledges a commit; a write outside a transaction is its own.
    fn commits(&self, step: usize) -> bool {
        !self.is_transaction() || step + 1 == self.steps()
    }

    /// Which of the texts a step is.
    fn text(&self, step: usize) -> usize;

    /// How a step counts.
    fn class(&self, step: usize) -> Class;

    /// A step's parameters; gives their number.
    fn params<'a>(&'a self, step: usize, params: &mut [Param<'a>; PARAMS_MAX]) -> usize;

    /// A step's statement with its values in it, from its text.
    fn spell(&self, step: usize, text: &str, spelled: &mut String) {
        let mut params = [Param::Integer(0); PARAMS_MAX];
        let count = self.params(step, &mut params);
        spell(text, &params[..count], spelled);
    }

    /// The pause before the next transaction; `think_seconds` is the setting `think_time`.
    fn pause_seconds(&mut self, is_first: bool, think_seconds: f64) -> f64 {
        if is_first { 0.0 } else { think_seconds }
    }

    /// Whether it wants the last row of this step's answer, whole.
    fn keeps_row(&self, _step: usize) -> Option<Keep> {
        None
    }

    /// That row; none: the answer had none.
    fn kept(&mut self, _step: usize, _row: Option<NamedRow>) {}

    /// Sees the first column of a row of a step's answer.
    fn row(&mut self, step: usize, value: Value);

    /// A step is answered: an error when wrongly.
    fn answered(&mut self, step: usize, changed: u64) -> Result<(), Error>;

    /// The transaction that began and was acknowledged then; gives the bytes that it asked to write.
    fn committed(&mut self, began: Instant, ended: Instant) -> u64;

    /// It was rolled back, and will be tried again or given up; none: its connection was lost.
    fn rolled_back(&mut self, conflict: Option<Conflict>);

    /// The connection was lost before the answer to its commit: it took place or not.
    fn unknown(&mut self, began: Instant, ended: Instant);
}

/// How far a transaction is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Progress {
    /// The database has not answered yet.
    Waiting,
    /// Its script waits until it goes on.
    Sleeping(f64),
    /// Acknowledged.
    Committed,
    /// It met another: rolled back, to be tried again with the same ids.
    Conflict(Conflict),
    /// The connection is gone, and the transaction with it.
    Lost,
    /// The connection is gone, and nobody knows whether the transaction took place.
    Unknown,
}

/// Statements that were executed, failed ones and those of retried transactions included, as sysbench counts them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Statements {
    /// SELECT.
    pub reads: u64,
    /// INSERT, UPDATE, DELETE.
    pub writes: u64,
    /// BEGIN, COMMIT, ROLLBACK.
    pub others: u64,
    /// Writes that changed no row.
    pub missed: u64,
}

/// A connection with its prepared statements: what a run leaves to the next one.
pub struct Session {
    connection: Box<dyn Connection>,
    /// One for each text of the script; empty when statements are sent as text.
    prepared: Vec<Statement>,
    rollback: Option<Statement>,
    /// It ended while nothing was under way: the next transaction learns of it.
    ended: Option<wire::Error>,
}

/// A session with its script.
pub struct Client<'a, S> {
    database: &'a dyn Database,
    place: &'a Place,
    session: Session,
    /// What its transactions are.
    pub script: S,
    texts: Vec<String>,
    protocol: Protocol,
    at: usize,
    is_sent: bool,
    /// Whether a row of the answer under way has come.
    has_row: bool,
    /// Why it is being rolled back.
    conflict: Option<Conflict>,
    last_error: Option<wire::Error>,
    spelled: String,
    /// What it executed so far.
    pub statements: Statements,
}

impl<'a, S: Script> Client<'a, S> {
    /// Goes on with a session of the same script; without one it connects, and prepares the statements when they are to be.
    pub fn connect(
        database: &'a dyn Database,
        place: &'a Place,
        script: S,
        protocol: Protocol,
        session: Option<Session>,
    ) -> Result<Client<'a, S>, Error> {
        let is_new = session.is_none();
        let session = match session {
            Some(session) => session,
            None => Session { connection: database.connect(place)?, prepared: Vec::new(), rollback: None, ended: None },
        };
        let texts = script.texts(database.begin());
        let mut client = Client {
            database,
            place,
            session,
            script,
            texts,
            protocol,
            at: 0,
            is_sent: false,
            has_row: false,
            conflict: None,
            last_error: None,
            spelled: String::new(),
            statements: Statements::default(),
        };
        if protocol == Protocol::Prepared && is_new {
            client.prepare()?;
        }
        Ok(client)
    }

    /// What its transactions left, and the session, which is between two of them when the run ended well.
    pub fn into_parts(self) -> (S, Session) {
        (self.script, self.session)
    }

    /// Makes a lost connection anew.
    pub fn reconnect(&mut self) -> Result<(), Error> {
        self.session.connection = self.database.connect(self.place)?;
        if self.session.rollback.is_some() { self.prepare() } else { Ok(()) }
    }

    fn prepare(&mut self) -> Result<(), Error> {
        let session = &mut self.session;
        let all = self.texts.iter().map(|text| session.connection.prepare(text)).collect::<Result<_, _>>();
        let failed = failed(self.database.name(), "prepare its statements");
        session.prepared = all.map_err(&failed)?;
        session.rollback = Some(session.connection.prepare("ROLLBACK").map_err(failed)?);
        Ok(())
    }

    /// Readable when [`Client::advance`] has something to do; none: it never waits.
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.session.connection.descriptor()
    }

    /// Takes what came while no statement is under way; whether it is the connection's end, which its next statement will meet.
    ///
    /// # Errors
    /// When what came is no notice.
    pub fn unasked(&mut self) -> Result<bool, Error> {
        match self.session.connection.advance(&mut |_| {}) {
            Ok(_) => Ok(false),
            Err(error) if error.is_lost() => {
                self.session.ended = Some(error);
                Ok(true)
            }
            Err(error) => Err(failed(self.database.name(), "keep a connection that nothing was asked on")(error)),
        }
    }

    /// Goes on with the transaction until it ends or has to wait.
    ///
    /// # Errors
    /// When the database fails, or answers wrongly.
    pub fn advance(&mut self) -> Result<Progress, Error> {
        loop {
            if !self.is_sent && self.conflict.is_none() {
                match self.script.next(self.at)? {
                    Next::Send => {}
                    Next::Sleep(seconds) => return Ok(Progress::Sleeping(seconds)),
                    // Work that nobody committed would be counted as done.
                    Next::End if self.session.connection.is_in_transaction() => {
                        let why = "it is still open when all its statements are answered (is autocommit off?)";
                        return Err(Error::engine(self.database.name(), "end a transaction", why));
                    }
                    Next::End => {
                        self.at = 0;
                        return Ok(Progress::Committed);
                    }
                }
            }
            if let Some(error) = self.session.ended.take() {
                return self.lost(error);
            }
            let came = if self.is_sent { self.more() } else { self.send() };
            self.is_sent = true;
            match came {
                Ok(None) => return Ok(Progress::Waiting),
                Ok(Some(changed)) => {
                    self.is_sent = false;
                    if let Some(conflict) = self.conflict.take() {
                        return Ok(Progress::Conflict(conflict));
                    }
                    self.answered(changed)?;
                }
                Err(error) if error.is_lost() => return self.lost(error),
                Err(error) => {
                    self.is_sent = false;
                    if let Some(conflict) = self.refused(error)? {
                        return Ok(Progress::Conflict(conflict));
                    }
                }
            }
        }
    }

    fn send(&mut self) -> Result<Option<u64>, wire::Error> {
        if self.conflict.is_some() {
            self.statements.others += 1;
            let connection = &mut self.session.connection;
            return match self.session.rollback {
                Some(statement) => connection.start(statement, &[], &mut |_| {}),
                None => connection.start_text("ROLLBACK", &mut |_| {}),
            };
        }
        let step = self.at;
        match self.script.class(step) {
            Class::Read => self.statements.reads += 1,
            Class::Write => self.statements.writes += 1,
            Class::Other => self.statements.others += 1,
        }
        let text = self.script.text(step);
        // An embedded database answers at once, while the script's parameters are lent to it: its rows are kept meanwhile.
        let mut rows = Rows::default();
        let see = &mut |value: Value<'_>| rows.keep(value);
        let connection = &mut self.session.connection;
        if let Some(keep) = self.script.keeps_row(step) {
            connection.keep_row(keep);
        }
        let started = if self.protocol == Protocol::Simple {
            self.script.spell(step, &self.texts[text], &mut self.spelled);
            connection.start_text(&self.spelled, see)
        } else {
            let mut params = [Param::Integer(0); PARAMS_MAX];
            let count = self.script.params(step, &mut params);
            match self.session.prepared.get(text) {
                Some(statement) => connection.start(*statement, &params[..count], see),
                None => connection.start_unnamed(&self.texts[text], &params[..count], see),
            }
        };
        self.has_row = !rows.rows.is_empty();
        rows.each(|value| self.script.row(step, value));
        started
    }

    fn more(&mut self) -> Result<Option<u64>, wire::Error> {
        let (rolling_back, step) = (self.conflict.is_some(), self.at);
        let (script, has_row) = (&mut self.script, &mut self.has_row);
        self.session.connection.advance(&mut |value| {
            *has_row = true;
            if !rolling_back {
                script.row(step, value);
            }
        })
    }

    fn answered(&mut self, changed: u64) -> Result<(), Error> {
        let step = self.at;
        if self.script.keeps_row(step).is_some() {
            let row = self.session.connection.kept().map_err(failed(self.database.name(), "give a row"))?;
            self.script.kept(step, row);
        }
        // Of a write with RETURNING, SQLite and MariaDB say the rows, and not their number.
        let is_missed = self.script.class(step) == Class::Write && changed == 0 && !self.has_row;
        self.statements.missed += u64::from(is_missed);
        self.script.answered(step, changed)?;
        self.at += 1;
        Ok(())
    }

    /// The connection is gone. Without a connection to be lost (an embedded engine) it is a plain failure.
    fn lost(&mut self, error: wire::Error) -> Result<Progress, Error> {
        if self.descriptor().is_none() {
            return Err(failed(self.database.name(), "run a transaction")(error));
        }
        let (step, rolling_back) = (std::mem::take(&mut self.at), self.conflict.take().is_some());
        // What was never sent has not taken place.
        let was_sent = std::mem::take(&mut self.is_sent);
        let commits = was_sent && !rolling_back && self.script.commits(step);
        self.script.rolled_back(None);
        self.last_error = Some(error);
        Ok(if commits { Progress::Unknown } else { Progress::Lost })
    }

    /// Why the connection was lost, as a failure.
    pub fn loss(&mut self) -> Error {
        let error = self.last_error.take().unwrap_or_else(|| wire::Error::Lost(std::io::ErrorKind::BrokenPipe.into()));
        failed(self.database.name(), "run a transaction")(error)
    }

    /// A statement was refused: a conflict that is over, or, none, one that is to be rolled back first.
    fn refused(&mut self, error: wire::Error) -> Result<Option<Conflict>, Error> {
        let Some(conflict) = error.conflict().filter(|_| self.conflict.is_none()) else {
            return Err(failed(self.database.name(), "run a transaction")(error));
        };
        let is_open = self.script.is_open(std::mem::take(&mut self.at));
        self.script.rolled_back(Some(conflict));
        if !is_open {
            return Ok(Some(conflict));
        }
        self.conflict = Some(conflict);
        Ok(None)
    }
}

/// First columns of rows: texts one after the other, and where each ends.
#[derive(Default)]
struct Rows {
    texts: Vec<u8>,
    rows: Vec<Kept>,
}

enum Kept {
    Null,
    Integer(i64),
    Double(f64),
    /// Length.
    Text(usize),
}

impl Rows {
    fn keep(&mut self, value: Value) {
        self.rows.push(match value {
            Value::Null => Kept::Null,
            Value::Integer(value) => Kept::Integer(value),
            Value::Double(value) => Kept::Double(value),
            Value::Text(text) => {
                self.texts.extend_from_slice(text);
                Kept::Text(text.len())
            }
        });
    }

    fn each(&self, mut see: impl FnMut(Value)) {
        let mut rest = self.texts.as_slice();
        for row in &self.rows {
            see(match row {
                Kept::Null => Value::Null,
                Kept::Integer(value) => Value::Integer(*value),
                Kept::Double(value) => Value::Double(*value),
                Kept::Text(length) => {
                    let (text, after) = rest.split_at(*length);
                    rest = after;
                    Value::Text(text)
                }
            });
        }
    }
}

/// A statement with its parameters written out: what a client without prepared statements sends.
fn spell(sql: &str, params: &[Param], text: &mut String) {
    text.clear();
    let mut parts = sql.split('$');
    text.push_str(parts.next().unwrap_or_default());
    for (part, param) in parts.zip(params) {
        let _ = match param {
            Param::Null => write!(text, "NULL"),
            Param::Boolean(value) => write!(text, "{value}"),
            Param::Integer(value) => write!(text, "{value}"),
            Param::Double(value) => write!(text, "{value:?}"),
            Param::Text(value) => write!(text, "'{value}'"),
        };
        text.push_str(part.trim_start_matches(|c: char| c.is_ascii_digit()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_spelled_with_its_parameters() {
        let mut text = String::new();
        spell(
            "UPDATE t SET c = $1 WHERE id = $2 OR id = $3",
            &[Param::Text("abc"), Param::Integer(7), Param::Integer(-1)],
            &mut text,
        );
        assert_eq!(text, "UPDATE t SET c = 'abc' WHERE id = 7 OR id = -1");
    }
}
