//! The logs of MariaDB and MySQL (MariaDB's and MySQL's manuals, "General Query Log" and "Slow Query Log").

pub mod general;
pub mod slow;

use crate::time;

/// A moment at a text's beginning, in MySQL's form or in MariaDB's, and what follows.
fn moment(text: &str) -> Option<(i64, &str)> {
    time::iso(text).or_else(|| time::short(text))
}

/// The database that `USE name` chooses.
fn used(statement: &str) -> Option<&str> {
    let (word, name) = statement.trim().split_at_checked(4)?;
    let name = name.trim().trim_end_matches(';').trim_end();
    let name = match name.strip_prefix('`') {
        Some(quoted) => quoted.strip_suffix('`').filter(|name| !name.contains('`')),
        None => Some(name).filter(|name| !name.contains(char::is_whitespace)),
    };
    name.filter(|name| !name.is_empty() && word.trim_end().eq_ignore_ascii_case("use"))
}

/// What a server writes when it opens the log.
fn is_header(line: &str) -> bool {
    line.ends_with("started with:")
        || line.starts_with("Tcp port: ")
        || line.starts_with("Time") && line.contains("Id Command")
}
