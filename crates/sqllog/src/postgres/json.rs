//! PostgreSQL's `jsonlog`, since version 15: an object a line (the manual's "Using JSON-Format Log Output").

use super::csv::with_parts;
use super::{Message, session_id};
use crate::sessions::Sessions;
use crate::time;
use serde_json::Value;

pub fn read(text: &str, sessions: &mut Sessions) {
    for line in text.lines() {
        sessions.lines += 1;
        let object = serde_json::from_str::<Value>(line).unwrap_or_default();
        let field = |name: &str| object.get(name).and_then(Value::as_str);
        let moment = field("timestamp").and_then(time::iso);
        let (Some((at_microseconds, _)), Some(key)) = (moment, field("session_id").and_then(session_id)) else {
            sessions.bad_line();
            continue;
        };
        let message = Message {
            key,
            at_microseconds,
            severity: field("error_severity").unwrap_or_default(),
            database: field("dbname"),
            code: field("state_code"),
            text: field("message").unwrap_or_default(),
        };
        with_parts(&message, field("detail"), field("statement"), sessions);
    }
}
