//! Logs of databases as sessions of statements: what each connection asked for, in its order, and when.
//!
//! PostgreSQL's three forms (`stderr`, `csvlog`, `jsonlog`: the manual's chapter "Error Reporting and Logging") and the general and the slow log
//! of MariaDB and MySQL. `postgres.rs` and `mysql.rs` read a form each, `sessions.rs` puts together what they say, `message.rs` says what a text
//! is, `transactions.rs` leaves out what the log cuts in half, `spread.rs` gives the statements of a whole second their times. A log is read as a
//! whole, before it is replayed: who replays it shares the server's processors.

#[cfg(test)]
mod hostile;
mod message;
mod mysql;
mod notes;
mod postgres;
mod reason;
mod sessions;
mod spread;
mod time;
mod transactions;

pub use message::Lock;
pub use reason::{LeftOut, Reason};
pub use sessions::{Expects, Log, Session, Step, Way};

/// The form of a log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Form {
    /// PostgreSQL's `stderr`, with `log_line_prefix` before each message.
    #[default]
    Stderr,
    /// PostgreSQL's `csvlog`.
    Csv,
    /// PostgreSQL's `jsonlog`.
    Json,
    /// The general log of MariaDB and MySQL.
    General,
    /// Their slow log.
    Slow,
}

impl Form {
    /// All, with the names that settings have.
    pub const ALL: [(Form, &'static str); 5] = [
        (Form::Stderr, "stderr"),
        (Form::Csv, "csv"),
        (Form::Json, "json"),
        (Form::General, "general"),
        (Form::Slow, "slow"),
    ];

    /// The form of this name.
    pub fn named(name: &str) -> Option<Form> {
        Form::ALL.iter().find(|(_, own)| *own == name).map(|(form, _)| *form)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Form::ALL.iter().find(|(form, _)| *form == self).map_or("", |(_, name)| name)
    }

    /// Whether it is PostgreSQL's.
    pub fn is_postgres(self) -> bool {
        matches!(self, Form::Stderr | Form::Csv | Form::Json)
    }

    /// The form that a log's beginning has.
    pub fn of(head: &str) -> Form {
        let first = head.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        if first.starts_with('{') {
            Form::Json
        } else if head.lines().take(LINES_LOOKED_AT).any(mysql::slow::is_head) {
            Form::Slow
        } else if head.lines().take(LINES_LOOKED_AT).any(mysql::general::is_entry) {
            Form::General
        } else if postgres::csv::is_record(first) {
            Form::Csv
        } else {
            Form::Stderr
        }
    }
}

/// A log's lines. A carriage return belongs to what a client sent, unless the log itself ends its lines with one.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let has_returns = text.split('\n').next().is_some_and(|first| first.ends_with('\r'));
    let lines = text.strip_suffix('\n').unwrap_or(text).split('\n').skip(usize::from(text.is_empty()));
    lines.map(move |line| if has_returns { line.strip_suffix('\r').unwrap_or(line) } else { line })
}

/// Whether a log ends amid a line, as a copy of one that is still written does: its last message lacks its end, and may be another one.
fn is_cut(text: &str) -> bool {
    !text.ends_with('\n')
}

/// Lines at a log's beginning by which its form is told.
const LINES_LOOKED_AT: usize = 50;

/// How a log is to be read.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Its form; none: as its beginning says.
    pub form: Option<Form>,
    /// Of `stderr`: the server's `log_line_prefix`; none: one of those that are common.
    pub line_prefix: Option<String>,
    /// The database whose sessions are wanted; none: there is one only.
    pub database: Option<String>,
    /// The most statements, from the log's beginning; 0: all.
    pub statements_max: u64,
    /// Share of lines that may be none of this form.
    pub bad_lines_max: f64,
}

/// Why a log can't be replayed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// Nothing in it is a statement.
    #[error("it has no statements: {0}")]
    Empty(String),
    /// A prefix has an escape that PostgreSQL's manual does not have, or says nothing of sessions or of time.
    #[error("log_line_prefix: {0}")]
    Prefix(String),
    /// Too much of it is something else.
    #[error(
        "{bad} of {lines} lines are not of the form `{form}` (line {first} is the first); see `bad_lines_max`, `form` and, of \
         `stderr`, `log_line_prefix`"
    )]
    BadLines {
        /// How many.
        bad: u64,
        /// Of how many.
        lines: u64,
        /// The first one's number, from 1.
        first: u64,
        /// The form that it was read as.
        form: &'static str,
    },
    /// One place cannot stand for several databases.
    #[error("it has sessions on several databases ({0}): name one with `database`")]
    Databases(String),
    /// A database without a session.
    #[error("it has no session on the database `{wanted}`; it has {found}")]
    NoDatabase {
        /// The one that was named.
        wanted: String,
        /// Those that are there.
        found: String,
    },
}

/// Reads a whole log. Bytes that are not UTF-8 stand in the text as U+FFFD.
///
/// # Errors
/// When it has nothing to replay, or too much that is no log.
pub fn read(text: &str, options: &Options) -> Result<Log, Problem> {
    let form = options.form.unwrap_or_else(|| Form::of(text));
    let mut sessions = sessions::Sessions::new(form, options);
    match form {
        Form::Stderr => postgres::stderr::read(text, options.line_prefix.as_deref(), &mut sessions)?,
        Form::Csv => postgres::csv::read(text, &mut sessions),
        Form::Json => postgres::json::read(text, &mut sessions),
        Form::General => mysql::general::read(text, &mut sessions),
        Form::Slow => mysql::slow::read(text, &mut sessions),
    }
    sessions.finish()
}
