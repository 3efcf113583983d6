//! PostgreSQL's `jsonlog`, since version 15: an object a line (the manual's "Using JSON-Format Log Output").

use super::csv::take_fields;
use crate::sessions::Sessions;
use serde_json::Value;

pub fn read(text: &str, sessions: &mut Sessions) {
    for line in text.lines() {
        sessions.lines += 1;
        let object = serde_json::from_str::<Value>(line).unwrap_or_default();
        take_fields(|(_, name)| object.get(name).and_then(Value::as_str), sessions);
    }
}
