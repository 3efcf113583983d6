//! The user's data: a dump, the statements of a schema, and tables that are filled by rule.

use super::Parameters;
use super::files::Files;
use load::sql::{Cell, Database, Place};
use load::workload::{Context, Error};
use script::{Failure, Piece, Value};
use std::sync::atomic::Ordering;

/// Everything that comes from a rule comes from this: all rounds have the same data, so that they are loaded once.
const SEED: u64 = 1;

/// Loads them in this order: dump, schema, rules.
pub fn load(database: &dyn Database, files: &Files, parameters: &Parameters, context: &Context) -> Result<(), Error> {
    let place = Place::of(context);
    database.create(&place)?;
    if files.has_dump {
        let dump = std::path::absolute(&parameters.dump).map_err(Error::doing("find", &parameters.dump))?;
        database.load_dump(&place, &dump, context.interrupted)?;
    }
    let mut connection = database.connect(&place)?;
    for (line, statement) in &files.schema {
        connection.query(statement).map_err(|source| {
            Error::engine(database.name(), format!("make its tables: {}:{line}", parameters.schema.display()), source)
        })?;
    }
    let given: Vec<Value> = parameters.given().into_iter().map(|(_, value)| value).collect();
    for (place_in_file, table) in files.tables.iter().enumerate() {
        let rows = table.rows(&given).map_err(failed)?;
        let names: Vec<&str> = table.fields.iter().map(|field| field.name.as_str()).collect();
        let mut generator = table.generator(&given, SEED, place_in_file as u64);
        let (mut number, mut failure) = (0, None);
        database.load(&place, &table.name, &names, &mut |cells| {
            if number == rows || context.interrupted.load(Ordering::Relaxed) {
                return false;
            }
            number += 1;
            failure = generator.row(number, |value| cells.push(cell(value))).err();
            failure.is_none()
        })?;
        if let Some(failure) = failure {
            return Err(failed(failure));
        }
        Error::if_interrupted(context.interrupted)?;
    }
    drop(connection);
    database.loaded(&place, &database.tables(&place)?)
}

fn failed(failure: Failure) -> Error {
    Error::engine("the rule", "give a row", failure)
}

fn cell(value: Value) -> Cell {
    match value {
        Value::Null => Cell::Null,
        Value::Boolean(boolean) => Cell::Boolean(boolean),
        Value::Integer(integer) => Cell::Integer(integer),
        Value::Double(double) => Cell::Double(double),
        Value::Text(text) => Cell::Text(text.into()),
    }
}

/// A schema's statements with their lines.
pub fn statements(text: &str, backslash_escapes: bool) -> Result<Vec<(usize, String)>, (usize, String)> {
    let line = |at: usize| text[..at].matches('\n').count() + 1;
    let pieces = script::statements(text, backslash_escapes).map_err(|(at, what)| (line(at), what.to_string()))?;
    let statement = |piece: Piece| match piece {
        Piece::Statement { at, texts } => Ok((line(at), texts.join(";"))),
        Piece::Meta { at, .. } => {
            Err((line(at), "a schema has statements only; what psql's commands do, `dump` can do".into()))
        }
    };
    pieces.into_iter().map(statement).collect()
}
