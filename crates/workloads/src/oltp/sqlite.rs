//! SQLite as an engine of `oltp`.
//!
//! BEGIN is IMMEDIATE by default: with plain BEGIN a transaction that reads first and then writes fails at once when another
//! has written in between, however long it would wait (sqlite.org/rescode.html#busy_snapshot).

use super::Parameters;
use super::engine::{Engine, Executed, Place, Session};
use super::mix::{self, Row, RowsLike, Transaction, Written};
use crate::random::Random;
use crate::workload::{Context, Error};
use rusqlite::{Connection, ErrorCode, Statement, params};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A file with the tables in it.
pub struct Sqlite {
    parameters: Parameters,
}

impl Sqlite {
    /// With these settings.
    pub fn new(parameters: Parameters) -> Sqlite {
        Sqlite { parameters }
    }

    fn open(&self, folder: &Path) -> rusqlite::Result<Connection> {
        let p = &self.parameters;
        let connection = Connection::open(file(folder))?;
        connection.busy_timeout(Duration::from_secs_f64(p.busy_timeout_seconds))?;
        let page_bytes = settings::quantity::parse_bytes(&p.page_size).expect("a choice of the table is a size");
        connection.pragma_update(None, "page_size", page_bytes as i64)?;
        connection.pragma_update_and_check(None, "journal_mode", &p.journal_mode, |_| Ok(()))?;
        connection.pragma_update(None, "synchronous", &p.synchronous)?;
        // Negative: in KiB instead of pages.
        connection.pragma_update(None, "cache_size", -(p.cache_bytes as i64 / 1024))?;
        connection.pragma_update_and_check(None, "mmap_size", p.mmap_bytes as i64, |_| Ok(())).or_else(not_a_row)?;
        Ok(connection)
    }

    fn load_table(&self, connection: &mut Connection, table: u32, random: &mut Random) -> rusqlite::Result<()> {
        let p = &self.parameters;
        let index = format!("CREATE INDEX k_{table} ON sbtest{table} (k)");
        connection.execute_batch(&format!(
            "CREATE TABLE sbtest{table} (id INTEGER PRIMARY KEY, k INTEGER NOT NULL DEFAULT 0,
             c CHAR(120) NOT NULL DEFAULT '', pad CHAR(60) NOT NULL DEFAULT '')"
        ))?;
        // 0.4 makes the index before it loads, 1.0 after.
        if p.rows_like == RowsLike::ZeroFour {
            connection.execute_batch(&index)?;
        }
        let transaction = connection.transaction()?;
        {
            let mut insert = transaction.prepare(&format!("INSERT INTO sbtest{table} (id, k, c, pad) VALUES (?1, ?2, ?3, ?4)"))?;
            let mut row = Row::default();
            for id in 1..=p.table_size {
                mix::loaded_row(p.rows_like, p.table_size, random, &mut row);
                insert.execute(params![id as i64, row.k as i64, row.c, row.pad])?;
            }
        }
        transaction.commit()?;
        if p.rows_like == RowsLike::One {
            connection.execute_batch(&index)?;
        }
        Ok(())
    }
}

impl Engine for Sqlite {
    fn load(&self, context: &Context) -> Result<(), Error> {
        let mut connection = self.open(&context.data_folder).map_err(|error| failed("open the database", error))?;
        let mut random = Random::new(context.seed);
        for table in 1..=self.parameters.tables {
            self.load_table(&mut connection, table, &mut random).map_err(|error| failed("load the rows", error))?;
        }
        Ok(())
    }

    fn checkpoint(&self, context: &Context) -> Result<(), Error> {
        let checkpoint = || {
            let connection = self.open(&context.data_folder)?;
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        };
        checkpoint().map_err(|error| failed("checkpoint", error))
    }

    fn connect(&self, place: &Place) -> Result<Box<dyn Session>, Error> {
        let connection = self.open(&place.data_folder).map_err(|error| failed("connect", error))?;
        let session = SqliteSession::new(connection, &self.parameters).map_err(|error| failed("prepare its statements", error))?;
        Ok(Box::new(session))
    }

    fn verify(&self, context: &Context, last_writes: &[Written]) -> Result<(), Error> {
        let connection = self.open(&context.data_folder).map_err(|error| failed("open the database", error))?;
        let text = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, String>(0));
        let report = text("PRAGMA integrity_check").map_err(|error| failed("check its integrity", error))?;
        same("integrity_check", "ok", &report)?;
        for table in 1..=self.parameters.tables {
            let found = text(&format!("SELECT count(*) || ' rows, ids ' || min(id) || ' to ' || max(id) FROM sbtest{table}"));
            let found = found.map_err(|error| failed("count rows", error))?;
            let size = self.parameters.table_size;
            same(&format!("sbtest{table}"), &format!("{size} rows, ids 1 to {size}"), &found)?;
        }
        for written in last_writes {
            let found = text(&format!("SELECT c FROM sbtest{} WHERE id = {}", written.table, written.id));
            let found = found.map_err(|error| failed("read a row back", error))?;
            same(&format!("c of row {} of sbtest{}", written.id, written.table), &written.c, &found)?;
        }
        Ok(())
    }
}

/// A connection and its prepared statements for each table.
struct SqliteSession {
    // Declared before the connection, so that the statements go first.
    begin: Statement<'static>,
    commit: Statement<'static>,
    tables: Vec<TableStatements>,
    rows: RowsLike,
    connection: Box<Connection>,
}

struct TableStatements {
    point: Statement<'static>,
    range: Statement<'static>,
    sum: Statement<'static>,
    order: Statement<'static>,
    distinct: Statement<'static>,
    update_k: Statement<'static>,
    update_c: Statement<'static>,
    delete: Statement<'static>,
    insert: Statement<'static>,
}

impl SqliteSession {
    fn new(connection: Connection, parameters: &Parameters) -> rusqlite::Result<SqliteSession> {
        let connection = Box::new(connection);
        // SAFETY: the connection is boxed, so its address stays; it is dropped after every statement (field order) and
        // never handed out or moved out of the box.
        let lasting: &'static Connection = unsafe { &*std::ptr::from_ref::<Connection>(&*connection) };
        let prepare = |sql: &str| lasting.prepare(sql);
        let table = |n: u32| -> rusqlite::Result<TableStatements> {
            Ok(TableStatements {
                point: prepare(&format!("SELECT c FROM sbtest{n} WHERE id = ?1"))?,
                range: prepare(&format!("SELECT c FROM sbtest{n} WHERE id BETWEEN ?1 AND ?2"))?,
                sum: prepare(&format!("SELECT SUM(k) FROM sbtest{n} WHERE id BETWEEN ?1 AND ?2"))?,
                order: prepare(&format!("SELECT c FROM sbtest{n} WHERE id BETWEEN ?1 AND ?2 ORDER BY c"))?,
                distinct: prepare(&format!("SELECT DISTINCT c FROM sbtest{n} WHERE id BETWEEN ?1 AND ?2 ORDER BY c"))?,
                update_k: prepare(&format!("UPDATE sbtest{n} SET k = k + 1 WHERE id = ?1"))?,
                update_c: prepare(&format!("UPDATE sbtest{n} SET c = ?1 WHERE id = ?2"))?,
                delete: prepare(&format!("DELETE FROM sbtest{n} WHERE id = ?1"))?,
                insert: prepare(&format!("INSERT INTO sbtest{n} (id, k, c, pad) VALUES (?1, ?2, ?3, ?4)"))?,
            })
        };
        Ok(SqliteSession {
            begin: prepare(if parameters.begin == "immediate" { "BEGIN IMMEDIATE" } else { "BEGIN" })?,
            commit: prepare("COMMIT")?,
            tables: (1..=parameters.tables).map(table).collect::<rusqlite::Result<_>>()?,
            rows: parameters.rows_like,
            connection,
        })
    }

    fn statements(&mut self, t: &Transaction) -> Result<(), Refusal> {
        let rows = self.rows;
        self.begin.execute([])?;
        let table = &mut self.tables[t.table as usize - 1];
        for id in t.points {
            let found = fetch(&mut table.point, id, id, rows)?;
            expect_count(t, "point select", id, 1, found.rows)?;
        }
        let [range, sum, order, distinct] = t.ranges;
        let found = fetch_range(&mut table.range, range, rows)?;
        expect_count(t, "range", range.0, t.range_rows[0], found.rows)?;
        let total: Option<i64> = table.sum.query_row([sum.0 as i64, sum.1 as i64], |row| row.get(0))?;
        if total.is_none_or(|total| total < 0) {
            return Err(wrong(t, "SUM(k)", sum.0, "a sum of at least 0", format!("{total:?}")));
        }
        let found = fetch_range(&mut table.order, order, rows)?;
        expect_count(t, "ordered range", order.0, t.range_rows[2], found.rows)?;
        let found = fetch_range(&mut table.distinct, distinct, rows)?;
        if found.rows == 0 || found.rows > t.range_rows[3] {
            return Err(wrong(t, "distinct range", distinct.0, "from 1 row to the whole range", found.rows.to_string()));
        }
        let changed = table.update_k.execute([t.update_k as i64])?;
        expect_count(t, "UPDATE k", t.update_k, 1, changed as u64)?;
        let changed = table.update_c.execute(params![t.new_c, t.update_c as i64])?;
        expect_count(t, "UPDATE c", t.update_c, 1, changed as u64)?;
        let changed = table.delete.execute([t.replaced as i64])?;
        expect_count(t, "DELETE", t.replaced, 1, changed as u64)?;
        table.insert.execute(params![t.replaced as i64, t.row.k as i64, t.row.c, t.row.pad])?;
        self.commit.execute([])?;
        Ok(())
    }
}

impl Session for SqliteSession {
    fn execute(&mut self, transaction: &Transaction) -> Result<Executed, Error> {
        let refusal = match self.statements(transaction) {
            Ok(()) => return Ok(Executed::Committed),
            Err(refusal) => refusal,
        };
        if !self.connection.is_autocommit() {
            self.connection.execute_batch("ROLLBACK").map_err(|error| failed("roll back", error))?;
        }
        match refusal {
            Refusal::Sqlite(error) if is_busy(&error) => Ok(Executed::Busy),
            Refusal::Sqlite(error) => Err(failed("run a transaction", error)),
            Refusal::Wrong(error) => Err(*error),
        }
    }
}

/// Why a transaction stopped.
enum Refusal {
    Sqlite(rusqlite::Error),
    Wrong(Box<Error>),
}

impl From<rusqlite::Error> for Refusal {
    fn from(error: rusqlite::Error) -> Refusal {
        Refusal::Sqlite(error)
    }
}

struct Fetched {
    rows: u64,
}

fn fetch_range(statement: &mut Statement, range: (u64, u64), rows: RowsLike) -> Result<Fetched, Refusal> {
    fetch(statement, range.0, range.1, rows)
}

/// Fetches every row and looks at each c. A point select takes one parameter, a range two.
fn fetch(statement: &mut Statement, first: u64, last: u64, like: RowsLike) -> Result<Fetched, Refusal> {
    let mut fetched = Fetched { rows: 0 };
    let mut rows = if statement.parameter_count() == 1 {
        statement.query([first as i64])?
    } else {
        statement.query([first as i64, last as i64])?
    };
    while let Some(row) = rows.next()? {
        let c = row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?;
        if !mix::is_plausible_c(like, c) {
            let place = format!("c of a row from {first} to {last}");
            return Err(Refusal::Wrong(Box::new(Error::WrongData { place, expected: "text of this load".into(), found: c.into() })));
        }
        fetched.rows += 1;
    }
    Ok(fetched)
}

fn expect_count(t: &Transaction, what: &str, id: u64, expected: u64, found: u64) -> Result<(), Refusal> {
    if found == expected { Ok(()) } else { Err(wrong(t, what, id, &format!("{expected} rows"), format!("{found} rows"))) }
}

fn wrong(t: &Transaction, what: &str, id: u64, expected: &str, found: String) -> Refusal {
    let place = format!("{what} of id {id} in sbtest{}", t.table);
    Refusal::Wrong(Box::new(Error::WrongData { place, expected: expected.into(), found }))
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

fn failed(action: &str, error: rusqlite::Error) -> Error {
    Error::Engine { engine: "sqlite".into(), action: action.into(), source: Box::new(error) }
}

fn same(place: &str, expected: &str, found: &str) -> Result<(), Error> {
    if expected == found {
        return Ok(());
    }
    Err(Error::WrongData { place: place.into(), expected: expected.into(), found: found.into() })
}

/// A build of SQLite without memory mapping answers this pragma with no row.
fn not_a_row(error: rusqlite::Error) -> rusqlite::Result<()> {
    if error == rusqlite::Error::QueryReturnedNoRows { Ok(()) } else { Err(error) }
}

fn file(folder: &Path) -> PathBuf {
    folder.join("oltp.sqlite")
}
