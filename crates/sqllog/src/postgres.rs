//! PostgreSQL's log: what a message says, whatever form the log has.

pub mod csv;
pub mod json;
mod params;
mod prefix;
pub mod stderr;

use crate::reason::Reason;
use crate::sessions::{Expects, Sessions, Statement, Way};

/// A message of the log.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Message<'a> {
    /// What identifies its session.
    key: u64,
    /// When it was written, in microseconds since 1970.
    at_microseconds: i64,
    /// `LOG`, `ERROR`, `DETAIL` …
    severity: &'a str,
    /// The database, where the form says it.
    database: Option<&'a str>,
    /// SQLSTATE, where the form says it.
    code: Option<&'a str>,
    text: &'a str,
}

/// Takes a message in; what belongs to the message before (`DETAIL`, `STATEMENT`) is one of its own in the form `stderr`.
fn take(message: &Message<'_>, sessions: &mut Sessions) {
    let Message { key, at_microseconds: at, severity, database, code, text } = *message;
    if let Some(database) = database {
        sessions.database(key, database);
    }
    match severity {
        "LOG" => {
            sessions.failed(key, None);
            sessions.other(key);
            log(key, at, text, sessions);
        }
        // A refused connection has no session; of others the end is logged by itself, if at all.
        "FATAL" | "PANIC" => sessions.end(key, Some(at)),
        "ERROR" => sessions.failing(key, at, code, text),
        "STATEMENT" => sessions.failed(key, Some(text)),
        "DETAIL" => detail(key, text, sessions),
        // HINT, CONTEXT, QUERY, LOCATION; NOTICE, WARNING, INFO, DEBUG1 …
        _ => {}
    }
}

fn log(key: u64, at: i64, text: &str, sessions: &mut Sessions) {
    if let Some(rest) = text.strip_prefix("duration: ") {
        let Some((milliseconds, rest)) = rest.split_once(" ms") else { return };
        let began = at.saturating_sub((milliseconds.parse::<f64>().unwrap_or(0.0) * 1000.0) as i64);
        match rest.trim_start() {
            // The statement itself was logged when it began.
            "" => sessions.over(key),
            rest => statement(key, began, rest, true, sessions),
        }
    } else if text.starts_with("connection received: ") {
        sessions.begin(key, at);
    } else if let Some(rest) = text.strip_prefix("connection authorized: ") {
        sessions.begin(key, at);
        if let Some((_, after)) = rest.split_once("database=") {
            sessions.database(key, after.split(' ').next().unwrap_or_default());
        }
    } else if text.starts_with("disconnection: ") {
        sessions.end(key, Some(at));
    } else {
        statement(key, at, text, false, sessions);
    }
}

/// `statement: …`, `execute NAME: …`; of others (`parse`, `bind`) only a later one does something.
fn statement(key: u64, at_microseconds: i64, text: &str, is_over: bool, sessions: &mut Sessions) {
    let (way, text) = if let Some(text) = text.strip_prefix("statement: ") {
        (Way::Text, text)
    } else if let Some((name, text)) = text.strip_prefix("execute ").and_then(|rest| rest.split_once(": ")) {
        if name.starts_with("fetch from ") {
            return sessions.leave_out(Reason::Fetch);
        }
        match name.split('/').next().unwrap_or_default() {
            "<unnamed>" => (Way::Unnamed, text),
            name => {
                sessions.named(key, name);
                (Way::Prepared, text)
            }
        }
    } else if text.starts_with("fastpath function call: ") {
        return sessions.leave_out(Reason::Command);
    } else {
        return;
    };
    let statement = Statement { at_microseconds, text, way, expects: Expects::Answer, is_over, rows: None };
    sessions.statement_or_deallocate(key, statement);
}

/// `parameters: $1 = 'a', $2 = NULL`; of PostgreSQL 16 and later with a capital.
fn detail(key: u64, text: &str, sessions: &mut Sessions) {
    let named = text.strip_prefix("parameters: ").or_else(|| text.strip_prefix("Parameters: "));
    if let Some(params) = named {
        sessions.parameters(key, params::read(params));
    }
}

/// What identifies a session: `%c`, the seconds of its start and its process, both in hexadecimal; or the process alone.
fn session_id(text: &str) -> Option<u64> {
    let (start, process) = text.split_once('.')?;
    let number = |digits: &str| u32::from_str_radix(digits, 16).ok();
    Some(u64::from(number(start)?) << 32 | u64::from(number(process)?))
}
