//! Scripts of transactions in the form that pgbench reads: text to commands, and their execution for one connection.
//!
//! The form is that of PostgreSQL's manual, "pgbench", "Custom Scripts". Whoever drives a script sends its statements: no socket, no clock
//! and no file here. What pgbench has beyond a load on a database (`\shell`, `\setshell`) or that has no meaning on other databases
//! (pipelines) is refused by name.

pub mod distributions;
mod evaluate;
mod expression;
mod functions;
mod generator;
#[cfg(test)]
mod hostile;
mod lexer;
mod machine;
mod parse;
mod statement;
mod value;

pub use generator::{Field, Generator, Table, generators};
pub use lexer::{Piece, statements};
pub use machine::{Machine, Next, Seeds};
pub use parse::{Command, Kept, Program, Script, Source};
pub use statement::{Part, Statement, Verb, verb, words};
pub use value::Value;

/// What is wrong with a script, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {problem}")]
pub struct Problem {
    /// The script's name.
    pub file: String,
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    /// What is wrong, and what is allowed.
    pub problem: String,
}

/// Why a script could not go on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {problem}")]
pub struct Failure {
    /// The script's name.
    pub file: String,
    /// The command's line.
    pub line: usize,
    /// Why: `division by zero`.
    pub problem: String,
}
