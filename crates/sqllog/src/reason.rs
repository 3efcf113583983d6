//! Why something of a log is not replayed, and how often.

use crate::Form;
use std::collections::BTreeMap;

/// Why something is not replayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The log begins or ends amid a transaction.
    CutTransaction,
    /// The log ends amid it.
    CutStatement,
    /// COPY: its rows are in no log.
    Copy,
    /// LOAD DATA: its file is not here.
    LoadData,
    /// INTO OUTFILE: it would write a file outside of the database.
    IntoFile,
    /// A statement has parameters, and the log does not have them.
    ParametersUnknown,
    /// More rows of an answer that was asked for in pieces.
    Fetch,
    /// Bytes that are not UTF-8, which a text can't have: another statement would be sent.
    NotUtf8,
    /// It chooses another encoding than UTF-8, in which all is sent.
    Encoding,
    /// A stored program's, beside the call that runs it.
    StoredProgram,
    /// A command of the protocol that is no statement.
    Command,
    /// It ends the server, or sessions by the numbers that they had in the log.
    EndsOthers,
    /// It was cancelled, which nobody does in a replay.
    Cancelled,
    /// After `statements`.
    AfterLimit,
    /// On another database than the one that was named.
    OtherDatabase,
}

impl Reason {
    /// What it is, of one or many.
    pub fn words(self) -> &'static str {
        match self {
            Reason::CutTransaction => "of transactions that the log cuts in half",
            Reason::CutStatement => "that the log's end cuts off",
            Reason::Copy => "that are COPY, whose rows no log has",
            Reason::LoadData => "that are LOAD DATA, whose file no log has",
            Reason::IntoFile => "that write a file beside the database (INTO OUTFILE)",
            Reason::ParametersUnknown => "with parameters that the log does not have",
            Reason::Fetch => "that fetch more rows of an answer, which comes as a whole here",
            Reason::NotUtf8 => "with bytes that are not UTF-8, or with U+FFFD",
            Reason::Encoding => "that choose another encoding than UTF-8, in which all is sent",
            Reason::StoredProgram => "of stored programs, which their calls run",
            Reason::Command => "that are commands of the protocol",
            Reason::EndsOthers => "that end the server, or sessions by the numbers that they had there",
            Reason::Cancelled => "that were cancelled, by somebody or by a time-out that is not here",
            Reason::AfterLimit => "after the first that are wanted",
            Reason::OtherDatabase => "on other databases",
        }
    }
}

/// Statements that are not replayed, by reason.
pub type LeftOut = BTreeMap<Reason, u64>;

/// What a log of this form lacks of which nothing can be replayed.
pub fn empty(form: Form, left_out: &LeftOut) -> String {
    let hint = match form {
        Form::Stderr | Form::Csv | Form::Json => {
            "PostgreSQL logs them with log_statement = 'all' or log_min_duration_statement = 0, in English (lc_messages = 'C')"
        }
        Form::General => "the server logs them with general_log = ON",
        Form::Slow => "the server logs them with slow_query_log = ON and long_query_time = 0",
    };
    let parts = left_out.iter().map(|(reason, count)| format!("; it has {count} {}", reason.words()));
    hint.to_string() + &parts.collect::<String>()
}
