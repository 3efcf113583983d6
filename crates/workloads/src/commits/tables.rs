//! Commits in SQL: to tables of SQLite, PostgreSQL or MariaDB.

use super::look::Rows;
use super::rule::{LOADED_ROWS, LOADED_STREAM, Rule, id};
use super::target::{Client, CommitTarget, Committed};
use super::{COUNTERS, ROWS, adding};
use crate::ack_log::nanoseconds;
use load::sql::ColumnKind::{Filler, Integer, Key, Text};
use load::sql::{self, Cell, Database, Place, same};
use load::workload::Error;
use wire::{Conflict, Connection, Param, Statement};

/// Bytes that make a counter's row as wide as such rows are.
const FILLER_BYTES: u32 = 80;

/// A database with tables.
pub struct Tables(pub Box<dyn Database>);

impl CommitTarget for Tables {
    fn fill(&self, place: &Place, rule: Rule) -> Result<(), Error> {
        let database = &*self.0;
        let rows = [
            ("id", Key),
            ("stream", Integer),
            ("number", Integer),
            ("revision", Integer),
            ("payload", Text(rule.payload_bytes as u32)),
        ];
        let counters = [("id", Key), ("n", Integer), ("filler", Filler(FILLER_BYTES))];
        database.create(place)?;
        let mut connection = database.connect(place)?;
        for (table, columns) in [(ROWS, &rows[..]), (COUNTERS, &counters[..])] {
            let text = database.dialect().create(table, columns);
            connection.query(&text).map_err(sql::failed(database.name(), "make its tables"))?;
        }
        database.load_each(place, ROWS, &sql::names(&rows), 1..=LOADED_ROWS, |number, cells| {
            let id = id(LOADED_STREAM, number);
            cells.extend([id, u64::from(LOADED_STREAM), number, 0].map(|value| Cell::Integer(value as i64)));
            cells.push(Cell::Text(rule.payload(id)));
        })?;
        database.load_each(place, COUNTERS, &sql::names(&counters), 0..rule.streams, |stream, cells| {
            cells.extend([Cell::Integer(i64::from(stream)), Cell::Integer(0)]);
            cells.push(Cell::Text("-".repeat(FILLER_BYTES as usize)));
        })?;
        let tables = [ROWS, COUNTERS].map(String::from);
        database.loaded(place, &tables)?;
        // What its check needs is in the database from now on.
        database.check(place, &tables)
    }

    fn checkpoint(&self, place: &Place) -> Result<(), Error> {
        self.0.checkpoint(place)
    }

    fn write_out(&self, place: &Place) -> Result<(), Error> {
        self.0.write_out(place, &[ROWS, COUNTERS].map(String::from))
    }

    fn checkpoints_alone(&self) -> bool {
        self.0.checkpoints_alone()
    }

    fn questions(&self) -> [String; 3] {
        let [rows, counters] = [ROWS, COUNTERS].map(|table| self.0.qualified(table));
        let check = self.0.question_of_health(&[rows.clone(), counters.clone()]);
        let rows = format!("SELECT id, stream, number, revision, payload FROM {rows}");
        [check, rows, format!("SELECT id, n FROM {counters}")]
    }

    fn is_well(&self, _answer: &[Vec<Option<String>>], row: &[Option<String>]) -> bool {
        self.0.is_well(row)
    }

    fn is_there(&self, place: &Place) -> bool {
        self.0.is_there(place)
    }

    fn comes_up(&self, place: &Place) -> bool {
        let [check, ..] = self.questions();
        self.0.connect(place).is_ok_and(|mut connection| connection.query(&check).is_ok())
    }

    fn ask(&self, place: &Place) -> Result<Vec<Rows>, Error> {
        let mut connection = self.0.connect(place)?;
        let answers = self.questions().into_iter().map(|question| {
            let answer = connection.query(&question).map_err(sql::failed(self.0.name(), "say what it holds"));
            answer.map(|answer| answer.rows)
        });
        answers.collect()
    }

    fn connect<'a>(&'a self, place: &Place, rule: Rule, stream: u32) -> Result<Box<dyn Client + 'a>, Error> {
        let database = &*self.0;
        let mut connection = database.connect(place)?;
        let mut prepare =
            |sql: &str| connection.prepare(sql).map_err(sql::failed(database.name(), "prepare its statements"));
        let add = format!("{}(id, stream, number, revision, payload) VALUES ($1, $2, $3, 0, $4)", adding());
        let add = prepare(&add)?;
        let count = prepare(&format!("UPDATE {COUNTERS} SET n = $1 WHERE id = $2"))?;
        let touch = prepare(&format!("UPDATE {ROWS} SET revision = $1 WHERE id = $2"))?;
        Ok(Box::new(Session { database, connection, rule, stream, add, count, touch }))
    }
}

/// A stream's connection.
struct Session<'a> {
    database: &'a dyn Database,
    connection: Box<dyn Connection>,
    rule: Rule,
    stream: u32,
    add: Statement,
    count: Statement,
    touch: Statement,
}

impl Client for Session<'_> {
    fn commit(&mut self, number: u64, is_over: &dyn Fn() -> bool) -> Result<Option<Committed>, Error> {
        // Streams have rows of their own: only SQLite's one lock, taken at the beginning, makes them wait for each other.
        while let Err(error) = self.connection.execute_text(self.database.begin(), &mut |_| {}) {
            if error.conflict() != Some(Conflict::LockTimeout) {
                return Err(sql::failed(self.database.name(), "begin a transaction")(error));
            }
            if is_over() {
                return Ok(None);
            }
        }
        let (own, value, stream) = (id(self.stream, number), number as i64, i64::from(self.stream));
        let payload = self.rule.payload(own);
        let row = [Param::Integer(own as i64), Param::Integer(stream), Param::Integer(value), Param::Text(&payload)];
        self.change(self.add, &row)?;
        self.change(self.count, &[Param::Integer(value), Param::Integer(stream)])?;
        for touched in self.rule.touched(self.stream, number) {
            let loaded = id(LOADED_STREAM, touched) as i64;
            self.change(self.touch, &[Param::Integer(value), Param::Integer(loaded)])?;
        }
        let asked = nanoseconds();
        self.connection.execute_text("COMMIT", &mut |_| {}).map_err(sql::failed(self.database.name(), "commit"))?;
        Ok(Some(Committed { asked, acknowledged: nanoseconds() }))
    }

    fn give_up(&mut self) -> Result<(), Error> {
        match self.connection.execute_text("ROLLBACK", &mut |_| {}) {
            // SQLite has rolled back by itself after most errors, and then there is nothing to roll back.
            Err(error) if error.is_lost() => Err(sql::failed(self.database.name(), "roll back")(error)),
            _ => Ok(()),
        }
    }
}

impl Session<'_> {
    /// Changes one row.
    fn change(&mut self, statement: Statement, params: &[Param]) -> Result<(), Error> {
        let changed = self.connection.execute(statement, params, &mut |_| {});
        let changed = changed.map_err(sql::failed(self.database.name(), "change a row"))?;
        same(&format!("rows changed by a statement with {params:?}"), "1", &changed.to_string())
    }
}
