//! PostgreSQL's `csvlog`: a record a message, of 23 fields up to version 12, 24 in 13, and 26 since 14 (the manual's "Using CSV-Format Log Output").

use super::{Message, session_id, take};
use crate::sessions::Sessions;
use crate::time;

const FIELDS_MIN: usize = 23;

/// Where a field is in a record, and its name in an object of `jsonlog`.
pub type Field = (usize, &'static str);

const TIME: Field = (0, "timestamp");
const DATABASE: Field = (2, "dbname");
const SESSION: Field = (5, "session_id");
const SEVERITY: Field = (11, "error_severity");
const CODE: Field = (12, "state_code");
const TEXT: Field = (13, "message");
const DETAIL: Field = (14, "detail");
const STATEMENT: Field = (19, "statement");

/// Whether a line is the beginning of a record.
pub fn is_record(line: &str) -> bool {
    time::iso(line).is_some_and(|(_, rest)| rest.starts_with(','))
}

pub fn read(text: &str, sessions: &mut Sessions) {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
    let mut record = csv::StringRecord::new();
    loop {
        let is_read = match reader.read_record(&mut record) {
            Ok(false) => return,
            read => read.is_ok(),
        };
        sessions.lines += 1;
        if is_read && record.len() >= FIELDS_MIN {
            take_fields(|(at, _)| record.get(at).filter(|text| !text.is_empty()), sessions);
        } else {
            sessions.bad_line();
        }
    }
}

/// A message that comes with what belongs to it.
pub(super) fn take_fields<'a>(field: impl Fn(Field) -> Option<&'a str>, sessions: &mut Sessions) {
    let (moment, key) = (field(TIME).and_then(time::iso), field(SESSION).and_then(session_id));
    let (Some((at_microseconds, _)), Some(key)) = (moment, key) else { return sessions.bad_line() };
    let part = |severity, text| Message { key, at_microseconds, severity, database: None, code: None, text };
    let message = part(field(SEVERITY).unwrap_or_default(), field(TEXT).unwrap_or_default());
    take(&Message { database: field(DATABASE), code: field(CODE), ..message }, sessions);
    for (severity, text) in [("DETAIL", field(DETAIL)), ("STATEMENT", field(STATEMENT))] {
        text.into_iter().for_each(|text| take(&part(severity, text), sessions));
    }
}
