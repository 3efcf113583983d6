//! PostgreSQL's `csvlog`: a record a message, of 23 fields up to version 12, 24 in 13, and 26 since 14 (the manual's "Using CSV-Format Log Output").

use super::{Message, session_id, take};
use crate::sessions::Sessions;
use crate::time;

const FIELDS_MIN: usize = 23;

/// Where a record's fields are.
const TIME: usize = 0;
const DATABASE: usize = 2;
const SESSION: usize = 5;
const SEVERITY: usize = 11;
const CODE: usize = 12;
const TEXT: usize = 13;
const DETAIL: usize = 14;
const STATEMENT: usize = 19;

/// Whether a line is the beginning of a record.
pub fn is_record(line: &str) -> bool {
    time::iso(line).is_some_and(|(_, rest)| rest.starts_with(','))
}

pub fn read(text: &str, sessions: &mut Sessions) {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
    let mut record = csv::StringRecord::new();
    loop {
        match reader.read_record(&mut record) {
            Ok(false) => return,
            Ok(true) => {}
            Err(_) => {
                sessions.lines += 1;
                sessions.bad_line();
                continue;
            }
        }
        sessions.lines += 1;
        let (moment, key) = (record.get(TIME).and_then(time::iso), record.get(SESSION).and_then(session_id));
        let (Some((at_microseconds, _)), Some(key), true) = (moment, key, record.len() >= FIELDS_MIN) else {
            sessions.bad_line();
            continue;
        };
        let field = |at: usize| record.get(at).filter(|text| !text.is_empty());
        let severity = field(SEVERITY).unwrap_or_default();
        let message = Message {
            key,
            at_microseconds,
            severity,
            database: field(DATABASE),
            code: field(CODE),
            text: field(TEXT).unwrap_or_default(),
        };
        with_parts(&message, field(DETAIL), field(STATEMENT), sessions);
    }
}

/// A message that comes with what belongs to it.
pub(super) fn with_parts(
    message: &Message<'_>,
    detail: Option<&str>,
    statement: Option<&str>,
    sessions: &mut Sessions,
) {
    take(message, sessions);
    let part = |severity, text| Message { severity, text, code: None, database: None, ..*message };
    if let Some(text) = detail {
        take(&part("DETAIL", text), sessions);
    }
    if let Some(text) = statement {
        take(&part("STATEMENT", text), sessions);
    }
}
