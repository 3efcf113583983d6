//! Database servers by their own wire protocols, with prepared statements, for loads that wait for many at once.
//!
//! A load generator shares the server's processors, so a statement costs one write and (mostly) one read, rows are looked at
//! where they lie in the buffer, and nobody has to wait in a read: a blocking read wakes up for the first piece of an answer
//! that comes in two. `services` asks a server for its settings with it; `workloads` drives load.

mod buffer;
pub mod etcd;
pub mod grpc;
#[cfg(test)]
mod hostile;
mod http2;
pub mod mysql;
pub mod postgres;
pub mod redis;
mod stream;

use std::io;
use std::os::fd::BorrowedFd;

/// Where a server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A name or an address, and the port.
    Host(String, u16),
    /// The file of its socket.
    Socket(std::path::PathBuf),
}

/// A parameter of a prepared statement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Param<'a> {
    /// NULL.
    Null,
    /// A boolean, or 1 and 0 where there are none.
    Boolean(bool),
    /// An integer that fits the column it is compared with.
    Integer(i64),
    /// A fraction.
    Double(f64),
    /// Text.
    Text(&'a str),
}

/// The first column of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    /// NULL.
    Null,
    /// An integer.
    Integer(i64),
    /// A fraction, of a database that has no decimals.
    Double(f64),
    /// Anything as text.
    Text(&'a [u8]),
}

impl<'a> Value<'a> {
    /// As an integer, when it is one or reads like one.
    pub fn integer(self) -> Option<i64> {
        match self {
            Value::Null | Value::Double(_) => None,
            Value::Integer(value) => Some(value),
            Value::Text(text) => std::str::from_utf8(text).ok()?.trim().parse().ok(),
        }
    }

    /// As a number with a fraction, when it is one or reads like one.
    pub fn number(self) -> Option<f64> {
        match self {
            Value::Null => None,
            Value::Integer(value) => Some(value as f64),
            Value::Double(value) => Some(value),
            Value::Text(text) => std::str::from_utf8(text).ok()?.trim().parse().ok(),
        }
    }

    /// As text, when it is text.
    pub fn text(self) -> Option<&'a str> {
        let Value::Text(text) = self else { return None };
        std::str::from_utf8(text).ok()
    }
}

/// A prepared statement of one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Statement(u32);

impl Statement {
    /// By a number that the connection's own kind understands.
    pub fn numbered(number: u32) -> Statement {
        Statement(number)
    }

    /// That number.
    pub fn number(self) -> u32 {
        self.0
    }
}

/// A statement that was prepared and started, and the rows that it changed, where its answer is there already.
pub type Prepared = (Statement, Option<u64>);

/// What a plain query gave.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// Rows, each column as text; none: NULL.
    pub rows: Vec<Vec<Option<String>>>,
    /// Number of changed rows.
    pub changed: u64,
}

impl Answer {
    /// The first column of the first row.
    pub fn first(&self) -> Option<&str> {
        self.rows.first()?.first()?.as_deref()
    }
}

/// What is kept of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// Values only; names are empty where they would have to be asked for.
    Values,
    /// Names, too.
    Named,
}

/// A row with the names of its columns; none: NULL.
pub type NamedRow = Vec<(String, Option<String>)>;

/// What is shown the first column of each row.
pub type EachRow<'a> = &'a mut dyn FnMut(Value);

/// A connection: what a load needs of any database.
pub trait Connection: Send {
    /// Prepares a statement; parameters are written `$1`, `$2` … for every database.
    ///
    /// # Errors
    /// When the server refuses it or the connection is lost.
    fn prepare(&mut self, sql: &str) -> Result<Statement, Error>;

    /// Begins to execute a prepared statement. An embedded database executes it at once, hands out the first column of each
    /// row and gives the number of changed rows; a server's answer is taken by [`Connection::advance`].
    ///
    /// # Errors
    /// When it is refused or the connection is lost. After a refusal the connection goes on.
    fn start(&mut self, statement: Statement, params: &[Param], row: EachRow) -> Result<Option<u64>, Error>;

    /// The same with a statement's text.
    ///
    /// # Errors
    /// As [`Connection::start`].
    fn start_text(&mut self, sql: &str, row: EachRow) -> Result<Option<u64>, Error>;

    /// The same with a statement's text and parameters: it is prepared for this once.
    ///
    /// # Errors
    /// As [`Connection::start`]; where a database has no such thing, a statement of this kind can't be sent.
    fn start_unnamed(&mut self, _sql: &str, _params: &[Param], _row: EachRow) -> Result<Option<u64>, Error> {
        Err(Error::Protocol("only PostgreSQL's protocol prepares a statement for one use".into()))
    }

    /// The same, and the statement stays prepared for later uses. After a refusal it is not.
    ///
    /// # Errors
    /// As [`Connection::start_unnamed`].
    fn start_preparing(&mut self, _sql: &str, _params: &[Param], _row: EachRow) -> Result<Prepared, Error> {
        Err(Error::Protocol("only PostgreSQL's protocol prepares and executes in one message".into()))
    }

    /// Keeps the last row of the answer to the next statement that is started, whole and with names, for [`Connection::kept`]. What was kept
    /// before, of a statement that was refused, is gone.
    fn keep_row(&mut self, keep: Keep);

    /// That row; none: the answer had none.
    ///
    /// # Errors
    /// When the server's row can't be read.
    fn kept(&mut self) -> Result<Option<NamedRow>, Error>;

    /// Whether a transaction was open after the last answer, by the database's own word.
    fn is_in_transaction(&self) -> bool;

    /// Takes what has come of the answer, without waiting. None: more is to come. An embedded statement is done when it
    /// is started.
    ///
    /// # Errors
    /// As [`Connection::start`].
    fn advance(&mut self, _row: EachRow) -> Result<Option<u64>, Error> {
        Ok(Some(0))
    }

    /// Executes a prepared statement and waits for its end: for loads of one connection a thread.
    ///
    /// # Errors
    /// As [`Connection::start`].
    fn execute(&mut self, statement: Statement, params: &[Param], row: EachRow) -> Result<u64, Error> {
        let begun = self.start(statement, params, row)?;
        finish(self, begun, row)
    }

    /// The same with a statement's text.
    ///
    /// # Errors
    /// As [`Connection::start`].
    fn execute_text(&mut self, sql: &str, row: EachRow) -> Result<u64, Error> {
        let begun = self.start_text(sql, row)?;
        finish(self, begun, row)
    }

    /// Runs a statement's text and waits for all columns of all rows: for set-up and checks, not for load.
    ///
    /// # Errors
    /// As [`Connection::start`].
    fn query(&mut self, sql: &str) -> Result<Answer, Error>;

    /// Readable when more of an answer has come; none: embedded.
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

/// Waits for the end of an answer.
fn finish<C: Connection + ?Sized>(connection: &mut C, mut changed: Option<u64>, row: EachRow) -> Result<u64, Error> {
    while changed.is_none() {
        if let Some(descriptor) = connection.descriptor() {
            buffer::wait(descriptor)?;
        }
        changed = connection.advance(row)?;
    }
    Ok(changed.unwrap_or_default())
}

/// Why a connection could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No server listens there.
    #[error("cannot connect to {0}")]
    Connect(String, #[source] io::Error),
    /// The connection broke.
    #[error("the connection to the server was lost")]
    Lost(#[source] io::Error),
    /// The server refused.
    #[error("the database says: {message} ({code})")]
    Refused {
        /// SQLSTATE of PostgreSQL, error number of MySQL's family, a word of an embedded engine.
        code: String,
        /// Its words.
        message: String,
    },
    /// The server sent what the protocol does not allow here.
    #[error("the server's answer can't be read: {0}")]
    Protocol(String),
}

/// Why a transaction has to be tried again, through no fault of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conflict {
    /// It waits for another that waits for it.
    Deadlock,
    /// Another changed first what it read.
    Serialization,
    /// A lock did not come free in time.
    LockTimeout,
    /// Another put a row with the same key there first.
    DuplicateKey,
}

impl Error {
    /// A refusal behind which the server closes the connection, by its own word and whatever the code.
    pub(crate) fn last_words(refusal: Error) -> Error {
        Error::Lost(io::Error::new(io::ErrorKind::ConnectionAborted, refusal))
    }

    /// Whether the connection is gone: broken, or ended by the server. MySQL does not say which refusals end a connection: 1053, 1927 (and its
    /// client's 2006, 2013). PostgreSQL does, and its codes of lost connections are of others, too, such as those of foreign tables.
    pub fn is_lost(&self) -> bool {
        match self {
            Error::Lost(_) => true,
            Error::Refused { code, .. } => ["1053", "1927", "2006", "2013"].contains(&&**code),
            Error::Connect(..) | Error::Protocol(_) => false,
        }
    }

    /// What kind of conflict the server met; none: a real failure. Codes: PostgreSQL's manual, appendix A; MySQL's server
    /// error reference (1213, 1205, 1020, 1062, and 3572 of NOWAIT, for which MariaDB has 1205); SQLite's result codes.
    pub fn conflict(&self) -> Option<Conflict> {
        let Error::Refused { code, .. } = self else { return None };
        match code.as_str() {
            "40P01" | "1213" => Some(Conflict::Deadlock),
            "40001" | "1020" => Some(Conflict::Serialization),
            "55P03" | "1205" | "3572" | "SQLITE_BUSY" => Some(Conflict::LockTimeout),
            "23505" | "1062" | "SQLITE_CONSTRAINT_UNIQUE" => Some(Conflict::DuplicateKey),
            _ => None,
        }
    }
}

/// A text in which what is not printable in ASCII, or has a meaning of its own, stands as `%` and two hexadecimal digits.
pub fn percent_decoded(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((&first, behind)) = rest.split_first() {
        let coded = (first == b'%').then(|| std::str::from_utf8(behind.get(..2)?).ok()).flatten();
        let byte = coded.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.unwrap_or(first));
        rest = if byte.is_some() { &behind[2..] } else { behind };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
