//! SQLite under a load: embedded, but to a load a connection like any other.
//!
//! BEGIN is IMMEDIATE by default: with plain BEGIN a transaction that reads first and then writes fails at once when another
//! has written in between, however long it would wait (sqlite.org/rescode.html#busy_snapshot).

use crate::process;
use crate::sql::{
    COMMON, Cell, Database, Dialect, DumpForm, Engine, NextRow, PLAIN, Place, Pragmas, Sql, failed, same,
};
use crate::workload::Error;
use observe::durability::Class;
use rusqlite::ffi::{SQLITE_CONSTRAINT_PRIMARYKEY, SQLITE_CONSTRAINT_UNIQUE};
use rusqlite::{ErrorCode, Statement as Prepared, types::ValueRef};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use wire::{Answer, Connection, EachRow, Keep, NamedRow, Param, Statement, Value};

const NAME: &str = ENGINE.name;

/// The row in the list of engines.
pub static ENGINE: Engine = Engine {
    name: "sqlite",
    is_embedded: true,
    sql: Some(Sql {
        open: |pragmas| Box::new(Sqlite(pragmas.clone())),
        dumps: &[
            DumpForm {
                what: "an SQLite file",
                marks: &[MAGIC],
                // While a program has it open, or after a crash (sqlite.org/wal.html).
                beside: Some("-wal"),
                undone_by: Some(("-journal", HOT)),
                without: "`sqlite3 FILE '.backup COPY'` makes a whole one",
                ..DumpForm::PLAIN
            },
            DumpForm {
                what: "a text of SQLite's `.dump`",
                marks: &[b"PRAGMA foreign_keys=OFF;"],
                end: Some("COMMIT;"),
                ..DumpForm::PLAIN
            },
        ],
        has_unnamed_statements: false,
        takes_several_statements: false,
        remote: None,
        logs: &[],
        // Of its pragmas these two alone (sqlite.org/pragma.html): `foreign_keys` is in many a script.
        weakening: &[
            ("SYNCHRONOUS", Class::MayCorrupt, "SQLite may no longer flush"),
            ("JOURNAL_MODE", Class::MayCorrupt, "SQLite may have no journal"),
        ],
        // A path's file is the user's own, which each trial would change where no power cut is tried and no flush is counted.
        refused: &[("ATTACH", ELSEWHERE), ("VACUUM INTO", ELSEWHERE)],
        refused_beside_others: &[(
            "PRAGMA LOCKING_MODE EXCLUSIVE",
            "the first connection keeps its lock, and the others wait for ever: set threads = 1",
        )],
        // sqlite.org/pragma.html. Off is what `foreign_keys` is by itself, and `.dump` begins with it.
        refused_in_schema: &[
            ("PRAGMA AUTO_VACUUM", IS_MADE),
            ("PRAGMA ENCODING", IS_MADE),
            ("PRAGMA PAGE_SIZE", IS_SET),
            ("PRAGMA JOURNAL_MODE", IS_SET),
            ("PRAGMA SYNCHRONOUS", IS_SET),
            ("PRAGMA CACHE_SIZE", IS_SET),
            ("PRAGMA MMAP_SIZE", IS_SET),
            ("PRAGMA BUSY_TIMEOUT", IS_SET),
            ("PRAGMA FOREIGN_KEYS ON", IS_OVER),
            ("PRAGMA FOREIGN_KEYS 1", IS_OVER),
            ("PRAGMA FOREIGN_KEYS TRUE", IS_OVER),
            ("PRAGMA FOREIGN_KEYS YES", IS_OVER),
            ("PRAGMA LOCKING_MODE", IS_OVER),
            ("PRAGMA RECURSIVE_TRIGGERS", IS_OVER),
            ("PRAGMA TEMP_STORE", IS_OVER),
            ("PRAGMA WAL_AUTOCHECKPOINT", IS_OVER),
        ],
    }),
    small_row_bytes: 29.5,
    power_cuts_of: &["oltp", "tpcb", "orders", "key-value"],
    file_kind: |file| match file {
        wal if wal.ends_with("-wal") => "WAL",
        journal if journal.ends_with("-journal") => "rollback journal",
        _ => "database",
    },
    ..PLAIN
};

const DIALECT: Dialect = Dialect { timestamp: "TEXT", alters_many_columns: false, for_update: "", ..COMMON };

const ELSEWHERE: &str =
    "it reaches a file that is not on the filesystem under test, or memory: keep all tables in one file";

const IS_MADE: &str =
    "the file is there before the schema, and keeps what it was made with: name one as `dump` that has it";
const IS_SET: &str = "each connection sets it anew: it is a setting of [workload.sql]";
const IS_OVER: &str =
    "it holds for the connection that makes the tables, and for none of the load: begin the scripts with it";

/// A database file begins so (sqlite.org/fileformat.html).
const MAGIC: &[u8] = b"SQLite format 3\0";

/// And so does a journal that is not over; else it is gone, empty, or has zeros here (the same, The Rollback Journal).
const HOT: &[u8] = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7";

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

    /// Opens it for a load, which a pragma that is not in effect would mislead.
    fn open_as_asked(&self, place: &Place) -> Result<rusqlite::Connection, Error> {
        let connection = self.open(place)?;
        ask_back(&connection, &self.0).map_err(failed(NAME, "open the database"))?;
        Ok(connection)
    }
}

/// Pragmas that SQLite can't follow are no errors to it (sqlite.org/pragma.html).
fn ask_back(connection: &rusqlite::Connection, asked: &Pragmas) -> Result<(), wire::Error> {
    // Until the file is read, SQLite believes that it can have any page size.
    connection.pragma_query_value(None, "schema_version", |_| Ok(())).map_err(refused)?;
    let synchronous = ["off", "normal", "full", "extra"].iter().position(|level| *level == asked.synchronous);
    let all = [
        ("page_size", asked.page_bytes.to_string()),
        ("journal_mode", asked.journal_mode.clone()),
        ("synchronous", synchronous.unwrap_or_default().to_string()),
        ("mmap_size", asked.mmap_bytes.to_string()),
    ];
    for (name, asked) in all {
        let answer = connection.pragma_query_value(None, name, |row| Ok(as_text(row.get_ref(0)?)));
        // A build without memory mapping has no such pragma, and maps nothing.
        let answer = answer.or_else(|error| not_a_row(error).map(|()| None)).map_err(refused)?;
        let found = answer.unwrap_or_else(|| "0".into());
        if found != asked {
            let why = if name == "page_size" { ": a file keeps the size that it was made with" } else { "" };
            let message = format!("{name} is {found}, where {asked} was asked{why}");
            return Err(wire::Error::Refused { code: "SQLite".into(), message });
        }
    }
    Ok(())
}

impl Database for Sqlite {
    fn engine(&self) -> &'static Engine {
        &ENGINE
    }

    fn dialect(&self) -> &'static Dialect {
        &DIALECT
    }

    fn is_there(&self, place: &Place) -> bool {
        file(&place.data_folder).exists()
    }

    fn connect(&self, place: &Place) -> Result<Box<dyn Connection>, Error> {
        let connection = Box::new(self.open_as_asked(place)?);
        Ok(Box::new(SqliteConnection { statements: Vec::new(), connection, keeping: Keeping::default() }))
    }

    fn load(&self, place: &Place, table: &str, columns: &[&str], next: NextRow) -> Result<(), Error> {
        let mut connection = self.open(place)?;
        let names = columns.join(", ");
        let marks = vec!["?"; columns.len()].join(", ");
        let mut load = || {
            let transaction = connection.transaction()?;
            {
                let mut insert = transaction.prepare(&format!("INSERT INTO {table} ({names}) VALUES ({marks})"))?;
                let mut row = Vec::new();
                while next(&mut row) {
                    for (index, cell) in row.iter().enumerate() {
                        match cell {
                            Cell::Null => insert.raw_bind_parameter(index + 1, rusqlite::types::Null)?,
                            Cell::Boolean(value) => insert.raw_bind_parameter(index + 1, value)?,
                            Cell::Double(value) => insert.raw_bind_parameter(index + 1, value)?,
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

    /// A database file, which is copied, or the text that `.dump` writes.
    fn load_dump(&self, place: &Place, dump: &Path, _interrupted: &AtomicBool) -> Result<(), Error> {
        if process::begins_with(dump, &[MAGIC])? {
            std::fs::copy(dump, file(&place.data_folder)).map_err(Error::doing("copy", dump))?;
            return self.open_as_asked(place).map(drop);
        }
        let text = std::fs::read_to_string(dump).map_err(Error::doing("read", dump))?;
        self.open(place)?.execute_batch(&text).map_err(refused).map_err(failed(NAME, "load the dump"))
    }

    fn tables(&self, place: &Place) -> Result<Vec<String>, Error> {
        let connection = self.open(place)?;
        let names = || -> rusqlite::Result<Vec<String>> {
            let sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name";
            connection.prepare(sql)?.query_map([], |row| row.get(0))?.collect()
        };
        names().map_err(refused).map_err(failed(NAME, "list its tables"))
    }

    fn checkpoint(&self, place: &Place) -> Result<(), Error> {
        let connection = self.open(place)?;
        let done = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        done.map_err(refused).map_err(failed(NAME, "checkpoint"))
    }

    fn question_of_health(&self, _tables: &[String]) -> String {
        "PRAGMA integrity_check".into()
    }

    fn check(&self, place: &Place, _tables: &[String]) -> Result<(), Error> {
        let report = self.open(place)?.query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0));
        same("integrity_check", "ok", &report.map_err(refused).map_err(failed(NAME, "check its integrity"))?)
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
    keeping: Keeping,
}

/// What is kept of an answer: its last row.
#[derive(Default)]
struct Keeping {
    is_on: bool,
    row: Option<NamedRow>,
}

// SAFETY: statements are bound to the connection that is boxed beside them and to nothing else, all go to another thread together, and
// SQLite's own build here is serialized, which is why rusqlite's connections are `Send`.
unsafe impl Send for SqliteConnection {}

impl Connection for SqliteConnection {
    fn prepare(&mut self, sql: &str) -> Result<Statement, wire::Error> {
        // SAFETY: the connection is boxed, so its address stays; it is dropped after every statement (field order) and
        // never handed out or moved out of the box.
        let lasting: &'static rusqlite::Connection = unsafe { &*std::ptr::from_ref(&*self.connection) };
        self.statements.push(lasting.prepare(sql).map_err(refused)?);
        Ok(Statement::numbered(self.statements.len() as u32 - 1))
    }

    fn start(&mut self, statement: Statement, params: &[Param], row: EachRow) -> Result<Option<u64>, wire::Error> {
        let statement = &mut self.statements[statement.number() as usize];
        for (index, param) in params.iter().enumerate() {
            match param {
                Param::Null => statement.raw_bind_parameter(index + 1, rusqlite::types::Null),
                Param::Boolean(value) => statement.raw_bind_parameter(index + 1, value),
                Param::Integer(value) => statement.raw_bind_parameter(index + 1, value),
                Param::Double(value) => statement.raw_bind_parameter(index + 1, value),
                Param::Text(text) => statement.raw_bind_parameter(index + 1, text),
            }
            .map_err(refused)?;
        }
        step_through(statement, &mut self.keeping, row).map(Some)
    }

    fn start_text(&mut self, sql: &str, row: EachRow) -> Result<Option<u64>, wire::Error> {
        let mut statement = self.connection.prepare(sql).map_err(refused)?;
        step_through(&mut statement, &mut self.keeping, row).map(Some)
    }

    fn is_in_transaction(&self) -> bool {
        !self.connection.is_autocommit()
    }

    fn keep_row(&mut self, _keep: Keep) {
        self.keeping = Keeping { is_on: true, row: None };
    }

    fn kept(&mut self) -> Result<Option<NamedRow>, wire::Error> {
        Ok(std::mem::take(&mut self.keeping).row)
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
fn step_through(statement: &mut Prepared, keeping: &mut Keeping, row: EachRow) -> Result<u64, wire::Error> {
    if statement.column_count() == 0 {
        return statement.raw_execute().map(|changed| changed as u64).map_err(refused);
    }
    let names: Vec<String> =
        if keeping.is_on { statement.column_names().into_iter().map(str::to_string).collect() } else { Vec::new() };
    let mut rows = statement.raw_query();
    while let Some(found) = rows.next().map_err(refused)? {
        if keeping.is_on {
            let value = |(index, name): (usize, &String)| Ok((name.clone(), as_text(found.get_ref(index)?)));
            keeping.row = Some(names.iter().enumerate().map(value).collect::<rusqlite::Result<_>>().map_err(refused)?);
        }
        row(match found.get_ref(0).map_err(refused)? {
            ValueRef::Integer(value) => Value::Integer(value),
            ValueRef::Text(text) => Value::Text(text),
            ValueRef::Real(value) => Value::Double(value),
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

/// Where the tables are.
pub fn file(folder: &Path) -> PathBuf {
    folder.join("oltp.sqlite")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(folder: &Path, pragmas: Pragmas) -> Result<rusqlite::Connection, Error> {
        let place = Place { data_folder: folder.into(), server: None };
        Sqlite(pragmas).open_as_asked(&place)
    }

    /// Without its journal a copy has half a transaction, and may be malformed (sqlite.org/howtocorrupt.html).
    #[test]
    fn a_file_amid_a_transaction_is_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let form = ENGINE.facts().dumps.first().expect("a file of its own");
        let told = |journal: &[u8]| {
            std::fs::write(folder.path().join("shop.db-journal"), journal).expect("written");
            form.lacks(&folder.path().join("shop.db"))
        };
        assert_eq!([&b""[..], &[0; 512]].map(told), [None, None], "as `truncate` and `persist` leave it");
        let hot = told(b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7 and pages").expect("it is hot");
        assert!(hot.contains("shop.db-journal: `sqlite3 FILE"), "{hot}");
    }

    #[test]
    fn a_pragma_without_effect_is_an_error() {
        let folder = tempfile::tempdir().expect("a folder");
        let made = Pragmas { page_bytes: 8192, ..Pragmas::default() };
        open(folder.path(), made.clone())
            .expect("a new file has what is asked")
            .execute_batch("CREATE TABLE t (a)")
            .expect("made");
        for journal_mode in ["delete", "truncate", "persist", "memory", "off", "wal"] {
            let asked = Pragmas { journal_mode: journal_mode.into(), mmap_bytes: 1 << 20, ..made.clone() };
            open(folder.path(), asked).expect(journal_mode);
        }
        let refused = |asked: Pragmas| {
            let error = open(folder.path(), asked).expect_err("it can't have that");
            std::error::Error::source(&error).expect("a cause").to_string()
        };
        for journal_mode in ["wal", "delete"] {
            let said = refused(Pragmas { journal_mode: journal_mode.into(), page_bytes: 4096, ..made.clone() });
            assert!(said.contains("page_size is 8192, where 4096 was asked"), "{said}");
        }
        let said = refused(Pragmas { mmap_bytes: 8 << 30, ..made.clone() });
        assert!(said.contains("mmap_size is 2147418112, where 8589934592 was asked"), "{said}");
        let other = tempfile::tempdir().expect("a folder");
        let place = Place { data_folder: other.path().into(), server: None };
        let dump = file(folder.path());
        let load = |pragmas| Sqlite(pragmas).load_dump(&place, &dump, &AtomicBool::new(false));
        load(Pragmas::default()).expect_err("the file has other pages");
        load(made).expect("the file has these");
    }
}
