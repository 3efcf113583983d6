//! Databases in SQL: a table with a key and a column for each field, as YCSB's binding for JDBC has it.
//!
//! Connections hand out one column of a row, so a record is asked for as one text of its key and all its fields. One statement is under
//! way on a connection at a time, and each is a transaction of its own.

use super::store::{Key, Request, Seen, Session, Shape, Store, changed};
use super::value::KEY_LENGTH;
use load::sql::{Cell, Database, Place, failed};
use load::workload::Error;
use std::os::fd::BorrowedFd;
use wire::{Conflict, Connection, Param, Statement, Value};

const TABLE: &str = "usertable";
const KEY: &str = "ycsb_key";

/// Records in a table.
pub struct Tables {
    /// Where the table is.
    pub database: Box<dyn Database>,
    /// Of its records.
    pub shape: Shape,
}

impl Tables {
    fn columns(&self) -> Vec<String> {
        (0..self.shape.fields).map(|field| format!("field{field}")).collect()
    }

    fn query(&self, place: &Place, sql: &str) -> Result<wire::Answer, Error> {
        let answer = self.database.connect(place)?.query(sql);
        answer.map_err(failed(self.database.name(), "answer"))
    }
}

impl Store for Tables {
    fn load(&self, place: &Place, next: &mut dyn FnMut(&mut Vec<u8>) -> Option<Key>) -> Result<(), Error> {
        self.database.create(place)?;
        let fields: Vec<String> = self.columns().iter().map(|name| format!("{name} TEXT")).collect();
        let end = self.database.dialect().table_bytewise;
        let sql = format!("CREATE TABLE {TABLE} ({KEY} VARCHAR({KEY_LENGTH}) PRIMARY KEY, {}){end}", fields.join(", "));
        self.query(place, &sql)?;
        let names = self.columns();
        let columns: Vec<&str> = std::iter::once(KEY).chain(names.iter().map(String::as_str)).collect();
        let (mut record, length) = (Vec::new(), self.shape.length);
        let mut rows = |row: &mut Vec<Cell>| {
            let Some(key) = next(&mut record) else { return false };
            let text = |bytes: &[u8]| Cell::Text(String::from_utf8_lossy(bytes).into_owned());
            row.push(text(&key));
            row.extend(record.chunks_exact(length).map(text));
            true
        };
        self.database.load(place, TABLE, &columns, &mut rows)?;
        self.database.loaded(place, &[TABLE.into()])
    }

    fn ready(&self, place: &Place) -> Result<(), Error> {
        self.database.checkpoint(place)
    }

    fn count(&self, place: &Place) -> Result<u64, Error> {
        self.database.check(place, &[TABLE.into()])?;
        let answer = self.query(place, &format!("SELECT count(*) FROM {TABLE}"))?;
        Ok(answer.first().and_then(|count| count.parse().ok()).unwrap_or(0))
    }

    fn connect(&self, place: &Place) -> Result<Box<dyn Session>, Error> {
        let mut connection = self.database.connect(place)?;
        let columns = self.columns();
        let record = format!("SELECT concat({KEY}, {}) FROM {TABLE}", columns.join(", "));
        let marks: Vec<String> = (2..2 + columns.len()).map(|number| format!("${number}")).collect();
        let engine = self.database.name();
        let mut prepare = |sql: &str| connection.prepare(sql).map_err(failed(engine, "prepare a statement"));
        let read = prepare(&format!("{record} WHERE {KEY} = $1"))?;
        let scan = prepare(&format!("{record} WHERE {KEY} >= $1 ORDER BY {KEY} LIMIT $2"))?;
        let insert =
            prepare(&format!("INSERT INTO {TABLE} ({KEY}, {}) VALUES ($1, {})", columns.join(", "), marks.join(", ")))?;
        let of_field = |name: &String| prepare(&format!("UPDATE {TABLE} SET {name} = $1 WHERE {KEY} = $2"));
        let updates = columns.iter().map(of_field).collect::<Result<Vec<Statement>, Error>>()?;
        let statements = Statements { read, scan, insert, updates };
        let (shape, found) = (self.shape, Vec::new());
        Ok(Box::new(TableSession { engine, shape, connection, statements, under_way: None, found }))
    }
}

struct Statements {
    read: Statement,
    scan: Statement,
    insert: Statement,
    /// By field.
    updates: Vec<Statement>,
}

/// A statement under way.
struct UnderWay {
    tag: usize,
    /// Rows that it is to change; none: it reads.
    changes: Option<u64>,
    /// Its end, once it has come: rows that it changed.
    changed: Option<u64>,
}

struct TableSession {
    engine: &'static str,
    shape: Shape,
    connection: Box<dyn Connection>,
    statements: Statements,
    under_way: Option<UnderWay>,
    /// Texts of records, one after the other.
    found: Vec<u8>,
}

fn text(bytes: &[u8]) -> Param<'_> {
    Param::Text(std::str::from_utf8(bytes).expect("keys and values are letters and digits"))
}

impl Session for TableSession {
    fn ask(&mut self, tag: usize, request: &Request) -> Result<(), Error> {
        assert!(self.under_way.is_none(), "one statement at a time");
        let (length, statements, found) = (self.shape.length, &self.statements, &mut self.found);
        let mut see = |value: Value| keep(found, value);
        let mut start = |statement: Statement, params: &[Param]| loop {
            match self.connection.start(statement, params, &mut see) {
                // SQLite hands its lock to whoever comes first when it is free: one may be out of luck for longer than it waits.
                Err(error) if error.conflict() == Some(Conflict::LockTimeout) => {}
                started => return started,
            }
        };
        let (started, changes) = match request {
            Request::Read(key) => (start(statements.read, &[text(key)]), None),
            Request::Scan(from, count) => (start(statements.scan, &[text(from), Param::Integer(*count as i64)]), None),
            Request::Update(key, field, value) => {
                (start(statements.updates[*field], &[text(value), text(key)]), Some(1))
            }
            Request::Insert(key, record) => {
                let params: Vec<Param> =
                    std::iter::once(text(key)).chain(record.chunks_exact(length).map(text)).collect();
                (start(statements.insert, &params), Some(1))
            }
        };
        let changed = started.map_err(failed(self.engine, "do what it is asked"))?;
        self.under_way = Some(UnderWay { tag, changes, changed });
        Ok(())
    }

    fn answer(&mut self, see: &mut dyn FnMut(Seen)) -> Result<Option<usize>, Error> {
        let Some(under_way) = &mut self.under_way else { return Ok(None) };
        if under_way.changed.is_none() {
            let found = &mut self.found;
            let advanced = self.connection.advance(&mut |value| keep(found, value));
            under_way.changed = advanced.map_err(failed(self.engine, "answer"))?;
        }
        let Some(found) = under_way.changed else { return Ok(None) };
        let tag = under_way.tag;
        if let Some(expected) = under_way.changes {
            changed("rows that a statement changed", expected, found)?;
        }
        self.under_way = None;
        for record in self.found.chunks(KEY_LENGTH + self.shape.record_bytes()) {
            let (key, fields) = record.split_at(KEY_LENGTH.min(record.len()));
            for (field, value) in fields.chunks(self.shape.length).enumerate() {
                see(Seen { tag, key, field, value });
            }
        }
        self.found.clear();
        Ok(Some(tag))
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.connection.descriptor()
    }
}

/// A record's text; what is none leaves the fields too short, which is seen.
fn keep(found: &mut Vec<u8>, value: Value) {
    if let Value::Text(text) = value {
        found.extend_from_slice(text);
    }
}
