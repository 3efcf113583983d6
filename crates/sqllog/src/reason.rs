//! Why something of a log is not replayed, and how often.

use std::collections::BTreeMap;

/// Why something is not replayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The log begins or ends amid a transaction.
    CutTransaction,
    /// COPY: its rows are in no log.
    Copy,
    /// A statement has parameters, and the log does not have them.
    ParametersUnknown,
    /// More rows of an answer that was asked for in pieces.
    Fetch,
    /// Bytes that are not UTF-8, which a text can't have: another statement would be sent.
    NotUtf8,
    /// A stored program's, beside the call that runs it.
    StoredProgram,
    /// A command of the protocol that is no statement.
    Command,
    /// After `statements`.
    AfterLimit,
    /// On another database than the one that was named.
    OtherDatabase,
}

impl Reason {
    /// What it is, of one or many.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Reason::CutTransaction => "of transactions that the log cuts in half",
            Reason::Copy => "that are COPY, whose rows no log has",
            Reason::ParametersUnknown => "with parameters that the log does not have",
            Reason::Fetch => "that fetch more rows of an answer, which comes as a whole here",
            Reason::NotUtf8 => "with bytes that are not UTF-8, or with U+FFFD",
            Reason::StoredProgram => "of stored programs, which their calls run",
            Reason::Command => "that are commands of the protocol",
            Reason::AfterLimit => "after the first that are wanted",
            Reason::OtherDatabase => "on other databases",
        }
    }
}

/// Statements that are not replayed, by reason.
pub type LeftOut = BTreeMap<Reason, u64>;
