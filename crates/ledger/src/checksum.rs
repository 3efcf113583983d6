//! A checksum for each row of a results file: what a claim rests on is what was written, or it is refused.
//!
//! CRC-32 of the row's values, beside them in the column `crc`: any one flipped bit changes it, and any burst of up to 32. It guards
//! against media, memory and copies, not against people. Files of schema versions before 5 have none and are read as they are.

use crate::Error;
use crate::schema::{
    VERSION, VERSION_OF_CHECKSUMS, VERSION_OF_DECISIONS, VERSION_OF_FAULTS, VERSION_OF_GROUPS, VERSION_OF_MEMBERS,
    VERSION_OF_SAFETY,
};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};
use std::path::Path;

/// Added to each table by schema version 5; none in rows that an older surefoot wrote.
pub const COLUMN: &str = "crc";

/// A table, how a row of it is found, and what its checksum is of.
#[derive(Debug)]
pub struct Sealed {
    /// The table.
    pub table: &'static str,
    /// Its key.
    key: &'static str,
    /// What is read, and in this order summed.
    pub columns: &'static str,
    /// Columns that rows had checksums before, and the schema version that added each: they are summed last, and only where they have a value.
    pub later: &'static [(&'static str, i64)],
    /// The schema version that added the table.
    pub since: i64,
}

/// Rows by their id.
const fn by_id(table: &'static str, columns: &'static str) -> Sealed {
    Sealed { table, key: "rowid = ?1", columns, later: &[], since: 0 }
}

pub const STUDY: Sealed = by_id("study", "json");
pub const SESSION: Sealed =
    Sealed { later: &[("member", VERSION_OF_MEMBERS)], ..by_id("session", "id, started, ended, machine, reason") };
pub const MEMBER: Sealed = Sealed { since: VERSION_OF_MEMBERS, ..by_id("member", "number, json") };
pub const SCENARIO: Sealed = by_id("scenario", "id, label, json");
/// With how many runs it has, so that none goes missing.
pub const TRIAL: Sealed = Sealed {
    later: &[("group_number", VERSION_OF_GROUPS), ("member", VERSION_OF_MEMBERS)],
    ..by_id(
        "trial",
        "id, scenario, round, position, seed, state, started, ended, failure, phase, \
         (SELECT count(*) FROM run WHERE run.trial = trial.id)",
    )
};
pub const NOTE: Sealed = by_id("note", "id, trial, kind, name, value");
pub const METRIC: Sealed = by_id("metric", "id, name, unit, direction");
pub const RUN: Sealed = by_id("run", "id, trial, run, warm_up, started, seconds, figures");
pub const PROBE: Sealed = Sealed { since: VERSION_OF_DECISIONS, ..by_id("probe", "id, session, json") };
pub const DECISION: Sealed = Sealed { since: VERSION_OF_DECISIONS, ..by_id("decision", "id, json") };
pub const SAFETY: Sealed = Sealed { since: VERSION_OF_SAFETY, ..by_id("safety", "id, session, scenario, json") };
pub const FAULTS: Sealed = Sealed { since: VERSION_OF_FAULTS, ..by_id("faults", "id, session, scenario, json") };
pub const LATENCY: Sealed = by_run("latency", "run, name, hdr");
pub const SERIES: Sealed = by_run("series", "run, name, points");

/// A row of a run, by its name.
const BY_RUN: &str = "run = ?1 AND name = ?2";

/// Rows of a run, by their name.
const fn by_run(table: &'static str, columns: &'static str) -> Sealed {
    Sealed { key: BY_RUN, ..by_id(table, columns) }
}

impl Sealed {
    /// Writes a row's checksum, within the transaction that wrote the row.
    pub fn seal(&self, transaction: &Connection, key: &[&dyn rusqlite::ToSql]) -> rusqlite::Result<()> {
        let Sealed { table, key: which, .. } = self;
        let columns = self.all_columns(VERSION);
        let mut read = transaction.prepare_cached(&format!("SELECT {columns} FROM {table} WHERE {which}"))?;
        let crc = read.query_row(key, |row| self.sum(row))?;
        let place = key.len() + 1;
        let mut write = transaction.prepare_cached(&format!("UPDATE {table} SET {COLUMN} = ?{place} WHERE {which}"))?;
        let all: Vec<&dyn rusqlite::ToSql> = key.iter().copied().chain([&crc as &dyn rusqlite::ToSql]).collect();
        write.execute(&*all).map(drop)
    }

    /// What is selected of a file of this version, the checksum last.
    pub fn selected(&self, version: i64) -> String {
        format!("{}, {}", self.all_columns(version), if version >= VERSION_OF_CHECKSUMS { COLUMN } else { "NULL" })
    }

    fn all_columns(&self, version: i64) -> String {
        let later = self.later.iter().map(|(column, since)| if version >= *since { *column } else { "NULL" });
        [self.columns].into_iter().chain(later).collect::<Vec<_>>().join(", ")
    }

    /// Holds a row that was selected so against its checksum. Whether it has one.
    pub fn check(&self, row: &Row, path: &Path) -> Result<bool, Error> {
        let failed = |error| crate::schema::unreadable(path, error);
        let Some(wanted) = row.get::<_, Option<u32>>(self.width()).map_err(failed)? else { return Ok(false) };
        if self.sum(row).map_err(failed)? == wanted {
            return Ok(true);
        }
        let what = format!("{} is not what was written: its checksum differs", self.named(row));
        Err(Error::Damaged { path: path.into(), what })
    }

    /// Whether its rows are found by their first two columns, and not by an id.
    pub fn is_of_run(&self) -> bool {
        self.key == BY_RUN
    }

    /// How many values a row has that are summed.
    pub fn width(&self) -> usize {
        self.columns_count() + self.later.len()
    }

    /// How a row is written with its checksum: all that is summed but the column that is `made` from others.
    pub fn insertion(&self, made: Option<usize>) -> String {
        let columns = self.all_columns(VERSION);
        let kept = columns.split(", ").enumerate().filter(|(column, _)| Some(*column) != made).map(|(_, name)| name);
        let kept: Vec<&str> = kept.chain([COLUMN]).collect();
        let places = vec!["?"; kept.len()].join(", ");
        format!("INSERT INTO {} ({}) VALUES ({places})", self.table, kept.join(", "))
    }

    fn columns_count(&self) -> usize {
        // The subquery of a trial has no comma.
        self.columns.split(',').count()
    }

    fn sum(&self, row: &Row) -> rusqlite::Result<u32> {
        let values: Vec<ValueRef> =
            (0..self.width()).map(|column| row.get_ref(column)).collect::<rusqlite::Result<_>>()?;
        Ok(self.sum_of(&values))
    }

    /// The checksum of a row that has these values, in the order in which they are selected.
    pub fn sum_of(&self, values: &[ValueRef]) -> u32 {
        let mut crc = crc32fast::Hasher::new();
        crc.update(self.table.as_bytes());
        let count = self.columns_count();
        for (column, value) in values.iter().enumerate() {
            let (kind, bytes): (u8, &[u8]) = match value {
                ValueRef::Null if column >= count => continue,
                ValueRef::Null => (0, &[]),
                ValueRef::Integer(value) => (1, &value.to_le_bytes()),
                ValueRef::Real(value) => (2, &value.to_bits().to_le_bytes()),
                ValueRef::Text(text) => (3, text),
                ValueRef::Blob(blob) => (4, blob),
            };
            crc.update(&[kind]);
            crc.update(&(bytes.len() as u64).to_le_bytes());
            crc.update(bytes);
        }
        crc.finalize()
    }

    /// The row in words: "run 3 of trial 17".
    fn named(&self, row: &Row) -> String {
        let value = |column: usize| match row.get_ref(column) {
            Ok(ValueRef::Integer(value)) => value.to_string(),
            Ok(ValueRef::Text(text)) => format!("`{}`", String::from_utf8_lossy(text)),
            _ => "?".into(),
        };
        match self.table {
            "study" => "the study".into(),
            "run" => format!("run {} of trial {}", value(2), value(1)),
            "note" => format!("a note of trial {}", value(1)),
            "latency" | "series" => format!("the {} {} of the run with id {}", self.table, value(1), value(0)),
            table => format!("{table} {}", value(0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_has_checksums_of_every_column() {
        let all: [&Sealed; 14] = [
            &STUDY, &SESSION, &SCENARIO, &TRIAL, &NOTE, &METRIC, &RUN, &PROBE, &DECISION, &SAFETY, &FAULTS, &LATENCY,
            &SERIES, &MEMBER,
        ];
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("s.surefoot");
        drop(crate::Writer::create_or_open(&path).expect("made"));
        let file = Connection::open(&path).expect("a file");
        let columns =
            "SELECT m.name, c.name FROM sqlite_schema AS m, pragma_table_info(m.name) AS c WHERE m.type = 'table'";
        let mut statement = file.prepare(columns).expect("a statement");
        let rows =
            statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))).expect("rows");
        let mut tables = std::collections::BTreeSet::new();
        for (table, column) in rows.map(|row| row.expect("a row")) {
            let sealed = all.iter().find(|sealed| sealed.table == table).unwrap_or_else(|| panic!("{table} has none"));
            let is_summed = sealed.all_columns(VERSION).split(", ").any(|summed| summed == column);
            assert!(is_summed || column == COLUMN, "{table}.{column}");
            tables.insert(table);
        }
        assert_eq!(tables.len(), all.len());
    }
}
