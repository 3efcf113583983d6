//! PostgreSQL's `stderr`: a prefix before each message; further lines of a message begin with a tab.

use super::prefix::{Head, Prefix};
use super::{Message, take};
use crate::Problem;
use crate::reason::Reason;
use crate::sessions::Sessions;
use crate::spread::Spread;

/// Lines at the log's beginning by which its prefix is guessed.
const LINES_LOOKED_AT: usize = 1000;

/// A message whose lines are being read.
struct Begun<'a> {
    head: Head<'a>,
    severity: &'a str,
    /// Of a message of one line, that line.
    line: &'a str,
    /// Of a longer one, its text.
    text: Option<String>,
}

pub fn read(text: &str, prefix: Option<&str>, sessions: &mut Sessions) -> Result<(), Problem> {
    let prefix = match prefix {
        Some(prefix) => Prefix::new(prefix)?,
        None => Prefix::guess(text.lines().take(LINES_LOOKED_AT)),
    };
    let is_verbose = text.contains("LOG:  00000: ");
    let moment = |line| prefix.read(line).map(|(head, ..)| head.at_microseconds);
    let mut spread = Spread::new(crate::lines(text).filter_map(moment));
    let mut begun: Option<Begun<'_>> = None;
    for line in crate::lines(text) {
        sessions.lines += 1;
        match (line.strip_prefix('\t'), &mut begun) {
            (Some(more), Some(begun)) => {
                let text = begun.text.get_or_insert_with(|| begun.line.to_string());
                text.push('\n');
                text.push_str(more);
            }
            _ => {
                end(begun.take(), sessions);
                match prefix.read(line) {
                    Some((head, severity, line)) => {
                        let (code, line) = if is_verbose { with_code(severity, line) } else { (None, line) };
                        let at_microseconds = spread.at(head.at_microseconds);
                        let head = Head { code: head.code.or(code), at_microseconds, ..head };
                        begun = Some(Begun { head, severity, line, text: None });
                    }
                    None => sessions.bad_line(),
                }
            }
        }
    }
    if begun.is_some() && crate::is_cut(text) {
        sessions.leave_out(Reason::CutStatement);
    } else {
        end(begun, sessions);
    }
    Ok(())
}

fn end(begun: Option<Begun<'_>>, sessions: &mut Sessions) {
    let Some(Begun { head, severity, line, text }) = begun else { return };
    let Head { key, at_microseconds, database, code } = head;
    let text = text.as_deref().unwrap_or(line);
    take(&Message { key, at_microseconds, severity, database, code, text }, sessions);
}

/// What belongs to the message before it has no SQLSTATE of its own.
const PARTS: [&str; 6] = ["DETAIL", "HINT", "QUERY", "CONTEXT", "LOCATION", "STATEMENT"];

/// The SQLSTATE that `log_error_verbosity = verbose` puts before each message (`elog.c`), and the message.
fn with_code<'a>(severity: &str, text: &'a str) -> (Option<&'a str>, &'a str) {
    let is_code =
        |code: &str| code.len() == 5 && code.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
    match text.split_once(": ").filter(|(code, _)| !PARTS.contains(&severity) && is_code(code)) {
        Some((code, text)) => (Some(code), text),
        None => (None, text),
    }
}
