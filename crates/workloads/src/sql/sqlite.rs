//! SQLite under a load: embedded, but to a load a connection like any other.
//!
//! BEGIN is IMMEDIATE by default: with plain BEGIN a transaction that reads first and then writes fails at once when another
//! has written in between, however long it would wait (sqlite.org/rescode.html#busy_snapshot).

use super::{Cell, Column, ColumnKind, Counters, Database, Place, failed, same};
use crate::workload::Error;
use observe::durability::{Class, Durability};
use rusqlite::ffi::{SQLITE_CONSTRAINT_PRIMARYKEY, SQLITE_CONSTRAINT_UNIQUE};
use rusqlite::{ErrorCode, Statement as Prepared, types::ValueRef};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use settings::{Kind as Is, Setting};
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;
use wire::{Answer, Connection, Param, Statement, Value};

const NAME: &str = "sqlite";

/// SQLite's own settings, as the settings below give them.
#[derive(Debug, Clone, Deserialize)]
pub struct Pragmas {
    /// `wal`, `delete` …
    pub journal_mode: String,
    /// `full`, `normal` …
    pub synchronous: String,
    /// Bytes of a page.
    #[serde(rename = "page_size", deserialize_with = "written_bytes")]
    pub page_bytes: u64,
    /// Bytes of each connection's page cache.
    #[serde(rename = "cache_size")]
    pub cache_bytes: u64,
    /// Bytes mapped into memory.
    #[serde(rename = "mmap_size")]
    pub mmap_bytes: u64,
    /// How long a connection waits for another's lock.
    #[serde(rename = "busy_timeout")]
    pub busy_timeout_seconds: f64,
    /// Whether a transaction takes the write lock at once, as it does where there is no setting for it.
    #[serde(rename = "begin", default = "immediate", deserialize_with = "is_immediate")]
    pub begin_immediate: bool,
}

/// `journal_mode`.
pub const JOURNAL_MODE: Setting = Setting {
    name: "journal_mode",
    kind: Is::Choice(&["wal", "delete", "truncate", "persist", "memory", "off"]),
    default: Some("wal"),
    help: "SQLite's journal.",
};
/// `synchronous`.
pub const SYNCHRONOUS: Setting = Setting {
    name: "synchronous",
    kind: Is::Choice(&["full", "normal", "off", "extra"]),
    default: Some("full"),
    help: "When SQLite flushes: `full` at every commit; `normal` in WAL mode only at checkpoints.",
};
/// `page_size`.
pub const PAGE_SIZE: Setting = Setting {
    name: "page_size",
    kind: Is::Choice(&["4KiB", "512B", "1KiB", "2KiB", "8KiB", "16KiB", "32KiB", "64KiB"]),
    default: Some("4KiB"),
    help: "SQLite's page.",
};
/// `cache_size`.
pub const CACHE_SIZE: Setting = Setting {
    name: "cache_size",
    kind: Is::Bytes { min: 0, max: 1 << 40 },
    default: Some("2MiB"),
    help: "SQLite's page cache, for each connection.",
};
/// `mmap_size`.
pub const MMAP_SIZE: Setting = Setting {
    name: "mmap_size",
    kind: Is::Bytes { min: 0, max: 1 << 46 },
    default: Some("0B"),
    help: "How much of the file SQLite maps into memory.",
};
/// `busy_timeout`.
pub const BUSY_TIMEOUT: Setting = Setting {
    name: "busy_timeout",
    kind: Is::Seconds { min: 0.0, max: 3600.0 },
    default: Some("5s"),
    help: "How long a connection waits for another's lock before the transaction is tried again.",
};

impl Pragmas {
    /// What they do to durability, by SQLite's documentation of `synchronous` and `journal_mode` (sqlite.org/pragma.html).
    pub fn durability(&self) -> Durability {
        let (journal, synchronous) = (self.journal_mode.as_str(), self.synchronous.as_str());
        let because = |class, reason: String| Durability { class, reasons: vec![reason] };
        match (journal, synchronous) {
            ("off" | "memory", _) => {
                because(Class::MayCorrupt, format!("journal_mode = {journal}: nothing to roll back from"))
            }
            (_, "off") => because(Class::MayCorrupt, "synchronous = off: SQLite never flushes".into()),
            ("wal", "normal") => because(
                Class::LosesRecent,
                "synchronous = normal with WAL: commits are flushed at checkpoints only".into(),
            ),
            (_, "normal") => because(
                Class::MayCorrupt,
                "synchronous = normal without WAL: a power cut at the wrong moment may corrupt".into(),
            ),
            _ => Durability::full(),
        }
    }
}

impl Default for Pragmas {
    /// A write-ahead log that is flushed at every commit; the rest as SQLite has it.
    fn default() -> Pragmas {
        Pragmas {
            journal_mode: "wal".into(),
            synchronous: "full".into(),
            page_bytes: 4096,
            cache_bytes: 2 << 20,
            mmap_bytes: 0,
            busy_timeout_seconds: 5.0,
            begin_immediate: true,
        }
    }
}

/// A file with the tables in it.
pub struct Sqlite(pub Pragmas);

impl Sqlite {
    fn open(&self, place: &Place) -> Result<rusqlite::Connection, Error> {
        let open = || {
            let p = &self.0;
            let connection = rusqlite::Connection::open(file(&place.data_folder))?;
            connection.busy_timeout(Duration::from_secs_f64(p.busy_timeout_seconds))?;
            connection.pragma_update(None, "page_size", p.page_bytes as i64)?;
            connection.pragma_update_and_check(None, "journal_mode", &p.journal_mode, |_| Ok(()))?;
            connection.pragma_update(None, "synchronous", &p.synchronous)?;
            // Negative: in KiB instead of pages.
            connection.pragma_update(None, "cache_size", -(p.cache_bytes as i64 / 1024))?;
            connection
                .pragma_update_and_check(None, "mmap_size", p.mmap_bytes as i64, |_| Ok(()))
                .or_else(not_a_row)?;
            Ok(connection)
        };
        open().map_err(refused).map_err(failed(NAME, "open the database"))
    }
}

impl Database for Sqlite {
    fn name(&self) -> &'static str {
        NAME
    }

    fn connect(&self, place: &Place) -> Result<Box<dyn Connection>, Error> {
        Ok(Box::new(SqliteConnection { statements: Vec::new(), connection: Box::new(self.open(place)?) }))
    }

    fn create(&self, _place: &Place) -> Result<(), Error> {
        Ok(())
    }

    fn table(&self, name: &str, columns: &[Column]) -> String {
        let column = |column: &Column| {
            let kind = match column.kind {
                ColumnKind::Identity | ColumnKind::Key => "INTEGER PRIMARY KEY".to_string(),
                ColumnKind::Filler(width) => format!("CHAR({width})"),
                ColumnKind::Timestamp => "TEXT".into(),
                ColumnKind::Integer => "INTEGER NOT NULL DEFAULT 0".into(),
                ColumnKind::Text(width) => format!("CHAR({width}) NOT NULL DEFAULT ''"),
            };
            format!("{} {kind}", column.name)
        };
        format!("CREATE TABLE {name} ({})", columns.iter().map(column).collect::<Vec<_>>().join(", "))
    }

    fn load(
        &self,
        place: &Place,
        table: &str,
        columns: &[Column],
        next: &mut dyn FnMut(&mut Vec<Cell>) -> bool,
    ) -> Result<(), Error> {
        let mut connection = self.open(place)?;
        let names: Vec<&str> = columns.iter().map(|column| column.name).collect();
        let marks = vec!["?"; columns.len()].join(", ");
        let mut load = || {
            let transaction = connection.transaction()?;
            {
                let mut insert =
                    transaction.prepare(&format!("INSERT INTO {table} ({}) VALUES ({marks})", names.join(", ")))?;
                let mut row = Vec::new();
                while next(&mut row) {
                    for (index, cell) in row.iter().enumerate() {
                        match cell {
                            Cell::Integer(value) => insert.raw_bind_parameter(index + 1, value)?,
                            Cell::Text(text) => insert.raw_bind_parameter(index + 1, text)?,
                        }
                    }
                    insert.raw_execute()?;
                    row.clear();
                }
            }
            transaction.commit()
        };
        load().map_err(refused).map_err(failed(NAME, "load the rows"))
    }

    fn loaded(&self, _place: &Place, _tables: &[String]) -> Result<(), Error> {
        Ok(())
    }

    fn checkpoint(&self, place: &Place) -> Result<(), Error> {
        let connection = self.open(place)?;
        let done = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        done.map_err(refused).map_err(failed(NAME, "checkpoint"))
    }

    fn check(&self, place: &Place, _tables: &[String]) -> Result<(), Error> {
        let report = self.open(place)?.query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0));
        same("integrity_check", "ok", &report.map_err(refused).map_err(failed(NAME, "check its integrity"))?)
    }

    fn counters(&self, _place: &Place) -> Result<Counters, Error> {
        Ok(Counters::default())
    }

    fn begin(&self) -> &'static str {
        if self.0.begin_immediate { "BEGIN IMMEDIATE" } else { "BEGIN" }
    }
}

/// A connection and its prepared statements.
struct SqliteConnection {
    // Declared before the connection, so that the statements go first.
    statements: Vec<Prepared<'static>>,
    connection: Box<rusqlite::Connection>,
}

impl Connection for SqliteConnection {
    fn prepare(&mut self, sql: &str) -> Result<Statement, wire::Error> {
        // SAFETY: the connection is boxed, so its address stays; it is dropped after every statement (field order) and
        // never handed out or moved out of the box.
        let lasting: &'static rusqlite::Connection = unsafe { &*std::ptr::from_ref(&*self.connection) };
        self.statements.push(lasting.prepare(sql).map_err(refused)?);
        Ok(Statement::numbered(self.statements.len() as u32 - 1))
    }

    fn start(
        &mut self,
        statement: Statement,
        params: &[Param],
        row: &mut dyn FnMut(Value),
    ) -> Result<Option<u64>, wire::Error> {
        let statement = &mut self.statements[statement.number() as usize];
        for (index, param) in params.iter().enumerate() {
            match param {
                Param::Integer(value) => statement.raw_bind_parameter(index + 1, value),
                Param::Text(text) => statement.raw_bind_parameter(index + 1, text),
            }
            .map_err(refused)?;
        }
        step_through(statement, row).map(Some)
    }

    fn start_text(&mut self, sql: &str, row: &mut dyn FnMut(Value)) -> Result<Option<u64>, wire::Error> {
        let mut statement = self.connection.prepare(sql).map_err(refused)?;
        step_through(&mut statement, row).map(Some)
    }

    /// An embedded statement is done when it is started.
    fn advance(&mut self, _row: &mut dyn FnMut(Value)) -> Result<Option<u64>, wire::Error> {
        Ok(Some(0))
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn query(&mut self, sql: &str) -> Result<Answer, wire::Error> {
        let mut answer = Answer::default();
        let mut statement = self.connection.prepare(sql).map_err(refused)?;
        let columns = statement.column_count();
        if columns == 0 {
            answer.changed = statement.raw_execute().map_err(refused)? as u64;
            return Ok(answer);
        }
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next().map_err(refused)? {
            let column = |index| Ok(as_text(row.get_ref(index)?));
            answer.rows.push((0..columns).map(column).collect::<rusqlite::Result<_>>().map_err(refused)?);
        }
        Ok(answer)
    }
}

/// Runs a statement whose parameters are bound: hands out the first column of each row, and gives the number of changed rows.
fn step_through(statement: &mut Prepared, row: &mut dyn FnMut(Value)) -> Result<u64, wire::Error> {
    if statement.column_count() == 0 {
        return statement.raw_execute().map(|changed| changed as u64).map_err(refused);
    }
    let mut rows = statement.raw_query();
    while let Some(found) = rows.next().map_err(refused)? {
        row(match found.get_ref(0).map_err(refused)? {
            ValueRef::Integer(value) => Value::Integer(value),
            ValueRef::Text(text) => Value::Text(text),
            _ => Value::Null,
        });
    }
    Ok(0)
}

fn as_text(value: ValueRef) -> Option<String> {
    match value {
        ValueRef::Null | ValueRef::Blob(_) => None,
        ValueRef::Integer(value) => Some(value.to_string()),
        ValueRef::Real(value) => Some(value.to_string()),
        ValueRef::Text(text) => Some(String::from_utf8_lossy(text).into_owned()),
    }
}

fn refused(error: rusqlite::Error) -> wire::Error {
    let extended = error.sqlite_error().map(|error| error.extended_code);
    let code = match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => "SQLITE_BUSY",
        _ if extended.is_some_and(|code| [SQLITE_CONSTRAINT_UNIQUE, SQLITE_CONSTRAINT_PRIMARYKEY].contains(&code)) => {
            "SQLITE_CONSTRAINT_UNIQUE"
        }
        _ => "SQLite",
    };
    wire::Error::Refused { code: code.into(), message: error.to_string() }
}

/// A build of SQLite without memory mapping answers this pragma with no row.
fn not_a_row(error: rusqlite::Error) -> rusqlite::Result<()> {
    if error == rusqlite::Error::QueryReturnedNoRows { Ok(()) } else { Err(error) }
}

/// A page's size is one of a choice, so it comes as a study writes it.
fn written_bytes<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    let text = String::deserialize(from)?;
    settings::quantity::parse_bytes(&text).ok_or_else(|| D::Error::custom(format!("{text} is not a size")))
}

fn is_immediate<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    Ok(String::deserialize(from)? == "immediate")
}

fn immediate() -> bool {
    true
}

/// Where the tables are.
pub fn file(folder: &Path) -> PathBuf {
    folder.join("oltp.sqlite")
}
