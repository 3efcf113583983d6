//! The logs of MariaDB and MySQL (MariaDB's and MySQL's manuals, "General Query Log" and "Slow Query Log").

pub mod general;
pub mod slow;

use crate::time;

/// A moment at a text's beginning, in MySQL's form or in MariaDB's, and what follows.
fn moment(text: &str) -> Option<(i64, &str)> {
    time::iso(text).or_else(|| time::short(text))
}

/// What a server writes when it opens the log.
fn is_header(line: &str) -> bool {
    line.ends_with("started with:")
        || line.starts_with("Tcp port: ")
        || line.starts_with("Time") && line.contains("Id Command")
}
