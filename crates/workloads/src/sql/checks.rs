//! The user's own checks: statements whose answer is known.

use load::sql::{self, Database, Place, same};
use load::workload::Error;
use serde_json::{Map, Value};
use wire::Answer;

/// Asks them all.
///
/// # Errors
/// When one gives another answer than stated, or none.
pub fn hold(database: &dyn Database, place: &Place, checks: &Map<String, Value>) -> Result<(), Error> {
    if checks.is_empty() {
        return Ok(());
    }
    let mut connection = database.connect(place)?;
    for (statement, expected) in checks {
        let answer = connection.query(statement).map_err(sql::failed(database.name(), "answer a check"))?;
        let expected = expected.as_str().map_or_else(|| expected.to_string(), str::to_string);
        same(statement, &expected, &shown(&answer))?;
    }
    Ok(())
}

/// An answer as `psql --no-align --tuples-only` shows it: NULL is empty.
fn shown(answer: &Answer) -> String {
    let row = |row: &Vec<Option<String>>| {
        row.iter().map(|cell| cell.as_deref().unwrap_or_default()).collect::<Vec<_>>().join("|")
    };
    answer.rows.iter().map(row).collect::<Vec<_>>().join("\n")
}
