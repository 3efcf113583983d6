//! PostgreSQL's `stderr`: a prefix before each message; further lines of a message begin with a tab.

use super::prefix::Prefix;
use super::{Message, take};
use crate::Problem;
use crate::reason::Reason;
use crate::sessions::Sessions;
use crate::spread::Spread;

/// Lines at the log's beginning by which its prefix is guessed.
const LINES_LOOKED_AT: usize = 1000;

/// A message whose lines are being read.
struct Begun<'a> {
    /// As its first line has it.
    message: Message<'a>,
    /// Of a message of more lines, its text.
    text: Option<String>,
}

pub fn read(text: &str, prefix: Option<&str>, sessions: &mut Sessions) -> Result<(), Problem> {
    let prefix = match prefix {
        Some(prefix) => Prefix::new(prefix)?,
        None => Prefix::guess(text.lines().take(LINES_LOOKED_AT)),
    };
    let is_verbose = text.contains("LOG:  00000: ");
    let moment = |line| prefix.read(line).map(|message| message.at_microseconds);
    let mut spread = Spread::new(crate::lines(text).filter_map(moment));
    let mut begun: Option<Begun<'_>> = None;
    for line in crate::lines(text) {
        sessions.lines += 1;
        match (line.strip_prefix('\t'), &mut begun) {
            (Some(more), Some(begun)) => {
                let text = begun.text.get_or_insert_with(|| begun.message.text.to_string());
                text.push('\n');
                text.push_str(more);
            }
            _ => {
                end(begun.take(), sessions);
                match prefix.read(line) {
                    Some(message) => {
                        let message = if is_verbose { with_code(message) } else { message };
                        let at_microseconds = spread.at(message.at_microseconds);
                        begun = Some(Begun { message: Message { at_microseconds, ..message }, text: None });
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
    let Some(Begun { message, text }) = begun else { return };
    take(&Message { text: text.as_deref().unwrap_or(message.text), ..message }, sessions);
}

/// What belongs to the message before it has no SQLSTATE of its own.
const PARTS: [&str; 6] = ["DETAIL", "HINT", "QUERY", "CONTEXT", "LOCATION", "STATEMENT"];

/// The message with the SQLSTATE that `log_error_verbosity = verbose` puts before its text (`elog.c`).
fn with_code(message: Message<'_>) -> Message<'_> {
    let is_code =
        |code: &str| code.len() == 5 && code.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
    match message.text.split_once(": ").filter(|(code, _)| !PARTS.contains(&message.severity) && is_code(code)) {
        Some((code, text)) => Message { code: message.code.or(Some(code)), text, ..message },
        None => message,
    }
}
