//! One thread's connection: the statements of the mix, run and checked, whatever the database.

use super::mix::{self, Mixture, RowsLike, Transaction};
use super::{Parameters, table_name};
use crate::sql::{Database, Place, failed};
use crate::workload::Error;
use std::fmt::Write as _;
use wire::{Conflict, Connection, Param, Statement, Value};

/// Statements of sysbench's OLTP, each for one table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sql {
    Point,
    Range,
    Sum,
    Ordered,
    Distinct,
    UpdateK,
    UpdateC,
    Delete,
    Insert,
    InsertNew,
    RandomPoints,
    RandomRanges,
}

impl Sql {
    const ALL: [Sql; 12] = [
        Sql::Point, Sql::Range, Sql::Sum, Sql::Ordered, Sql::Distinct, Sql::UpdateK, Sql::UpdateC, Sql::Delete, Sql::Insert,
        Sql::InsertNew, Sql::RandomPoints, Sql::RandomRanges,
    ];

    /// The text, parameters as `$1`.
    pub fn text(self, table: &str) -> String {
        let list = |one: &dyn Fn(usize) -> String, between: &str| {
            (0..mix::RANDOM_COUNT).map(one).collect::<Vec<_>>().join(between)
        };
        match self {
            Sql::Point => format!("SELECT c FROM {table} WHERE id = $1"),
            Sql::Range => format!("SELECT c FROM {table} WHERE id BETWEEN $1 AND $2"),
            Sql::Sum => format!("SELECT SUM(k) FROM {table} WHERE id BETWEEN $1 AND $2"),
            Sql::Ordered => format!("SELECT c FROM {table} WHERE id BETWEEN $1 AND $2 ORDER BY c"),
            Sql::Distinct => format!("SELECT DISTINCT c FROM {table} WHERE id BETWEEN $1 AND $2 ORDER BY c"),
            Sql::UpdateK => format!("UPDATE {table} SET k = k + 1 WHERE id = $1"),
            Sql::UpdateC => format!("UPDATE {table} SET c = $1 WHERE id = $2"),
            Sql::Delete => format!("DELETE FROM {table} WHERE id = $1"),
            Sql::Insert => format!("INSERT INTO {table} (id, k, c, pad) VALUES ($1, $2, $3, $4)"),
            Sql::InsertNew => format!("INSERT INTO {table} (k, c, pad) VALUES ($1, $2, $3)"),
            Sql::RandomPoints => {
                format!("SELECT id, k, c, pad FROM {table} WHERE k IN ({})", list(&|index| format!("${}", index + 1), ", "))
            }
            Sql::RandomRanges => {
                let one = |index: usize| format!("k BETWEEN ${} AND ${}", 2 * index + 1, 2 * index + 2);
                format!("SELECT count(k) FROM {table} WHERE {}", list(&one, " OR "))
            }
        }
    }

    fn of(mixture: Mixture) -> &'static [Sql] {
        const READS: [Sql; 5] = [Sql::Point, Sql::Range, Sql::Sum, Sql::Ordered, Sql::Distinct];
        const WRITES: [Sql; 4] = [Sql::UpdateK, Sql::UpdateC, Sql::Delete, Sql::Insert];
        const BOTH: [Sql; 9] = [
            Sql::Point, Sql::Range, Sql::Sum, Sql::Ordered, Sql::Distinct, Sql::UpdateK, Sql::UpdateC, Sql::Delete, Sql::Insert,
        ];
        match mixture {
            Mixture::ReadWrite => &BOTH,
            Mixture::ReadOnly => &READS,
            Mixture::WriteOnly => &WRITES,
            Mixture::PointSelect => &[Sql::Point],
            Mixture::UpdateIndex => &[Sql::UpdateK],
            Mixture::UpdateNonIndex => &[Sql::UpdateC],
            Mixture::Insert => &[Sql::InsertNew],
            Mixture::Delete => &[Sql::Delete],
            Mixture::SelectRandomPoints => &[Sql::RandomPoints],
            Mixture::SelectRandomRanges => &[Sql::RandomRanges],
        }
    }
}

/// How a transaction ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Executed {
    /// Acknowledged.
    Committed,
    /// It met another: rolled back, to be tried again with the same ids.
    Conflict(Conflict),
}

/// Statements that were executed, failed ones and those of retried transactions included, as sysbench counts them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Statements {
    /// SELECT.
    pub reads: u64,
    /// INSERT, UPDATE, DELETE.
    pub writes: u64,
    /// BEGIN, COMMIT, ROLLBACK.
    pub others: u64,
    /// Updates and deletes that found no row, because another had replaced it while they waited.
    pub missed: u64,
}

/// What a thread does its transactions with.
pub trait Session {
    /// Runs one transaction, fetches and checks every row.
    fn execute(&mut self, transaction: &Transaction) -> Result<Executed, Error>;

    /// What it executed so far.
    fn statements(&self) -> Statements;

    /// Rows that its acknowledged transactions added, minus those that they deleted.
    fn rows_added(&self) -> i64;
}

/// A session on a database's connection.
pub struct SqlSession {
    connection: Box<dyn Connection>,
    engine: &'static str,
    mixture: Mixture,
    rows: RowsLike,
    /// By table, then by `Sql`.
    prepared: Vec<Vec<Option<Statement>>>,
    begin: Option<Statement>,
    commit: Option<Statement>,
    begin_text: &'static str,
    in_transaction: bool,
    may_miss: bool,
    open: bool,
    done: Statements,
    added: i64,
    pending: i64,
    text: String,
}

impl SqlSession {
    /// Connects and prepares.
    pub fn connect(database: &dyn Database, place: &Place, parameters: &Parameters) -> Result<SqlSession, Error> {
        let engine = database.name();
        let mut connection = database.connect(place)?;
        let in_transaction = parameters.in_transaction && parameters.mix.is_transaction();
        let mut prepare = |sql: &str| connection.prepare(sql).map_err(failed(engine, "prepare its statements"));
        let (mut prepared, mut begin, mut commit) = (Vec::new(), None, None);
        if parameters.prepared {
            for table in 1..=parameters.tables {
                let mut statements = vec![None; Sql::ALL.len()];
                for sql in Sql::of(parameters.mix) {
                    statements[*sql as usize] = Some(prepare(&sql.text(&table_name(table)))?);
                }
                prepared.push(statements);
            }
            if in_transaction {
                (begin, commit) = (Some(prepare(database.begin())?), Some(prepare("COMMIT")?));
            }
        }
        Ok(SqlSession {
            connection,
            engine,
            mixture: parameters.mix,
            rows: parameters.rows_like,
            prepared,
            begin,
            commit,
            begin_text: database.begin(),
            in_transaction,
            may_miss: database.misses_replaced_rows() && parameters.threads > 1,
            open: false,
            done: Statements::default(),
            added: 0,
            pending: 0,
            text: String::new(),
        })
    }

    fn run(&mut self, table: u32, sql: Sql, params: &[Param], row: &mut dyn FnMut(Value)) -> Result<u64, Refusal> {
        if let Some(statements) = self.prepared.get(table as usize - 1) {
            let statement = statements[sql as usize].expect("the mix's statements were prepared");
            return Ok(self.connection.execute(statement, params, row)?);
        }
        spell(&sql.text(&table_name(table)), params, &mut self.text);
        let answer = self.connection.query(&self.text)?;
        for found in &answer.rows {
            row(found.first().and_then(Option::as_deref).map_or(Value::Null, |text| Value::Text(text.as_bytes())));
        }
        Ok(answer.changed)
    }

    fn plain(&mut self, prepared: Option<Statement>, text: &str) -> Result<(), Refusal> {
        self.done.others += 1;
        match prepared {
            Some(statement) => drop(self.connection.execute(statement, &[], &mut |_| {})?),
            None => drop(self.connection.query(text)?),
        }
        Ok(())
    }

    fn transaction(&mut self, t: &Transaction) -> Result<(), Refusal> {
        if self.in_transaction {
            self.plain(self.begin, self.begin_text)?;
            self.open = true;
        }
        match self.mixture {
            Mixture::ReadWrite => {
                self.read(t)?;
                self.write(t)?;
            }
            Mixture::ReadOnly => self.read(t)?,
            Mixture::WriteOnly => self.write(t)?,
            Mixture::PointSelect => self.point(t, t.points[0])?,
            Mixture::UpdateIndex => self.change(t, Sql::UpdateK, t.update_k, &[id(t.update_k)])?,
            Mixture::UpdateNonIndex => self.change(t, Sql::UpdateC, t.update_c, &[Param::Text(&t.new_c), id(t.update_c)])?,
            Mixture::Insert => self.insert_new(t)?,
            Mixture::Delete => self.delete(t)?,
            Mixture::SelectRandomPoints => self.random_points(t)?,
            Mixture::SelectRandomRanges => self.random_ranges(t)?,
        }
        if self.in_transaction {
            self.plain(self.commit, "COMMIT")?;
            self.open = false;
        }
        self.added += std::mem::take(&mut self.pending);
        Ok(())
    }

    fn read(&mut self, t: &Transaction) -> Result<(), Refusal> {
        for point in t.points {
            self.point(t, point)?;
        }
        let [range, sum, ordered, distinct] = t.ranges;
        let found = self.texts(t, Sql::Range, &[id(range.0), id(range.1)])?;
        expect_count(t, "range", range.0, t.range_rows[0], found)?;
        self.sum(t, sum)?;
        let found = self.texts(t, Sql::Ordered, &[id(ordered.0), id(ordered.1)])?;
        expect_count(t, "ordered range", ordered.0, t.range_rows[2], found)?;
        let found = self.texts(t, Sql::Distinct, &[id(distinct.0), id(distinct.1)])?;
        if found == 0 || found > t.range_rows[3] {
            return Err(wrong(t, "distinct range", distinct.0, "from 1 row to the whole range", found.to_string()));
        }
        Ok(())
    }

    fn write(&mut self, t: &Transaction) -> Result<(), Refusal> {
        self.change(t, Sql::UpdateK, t.update_k, &[id(t.update_k)])?;
        self.change(t, Sql::UpdateC, t.update_c, &[Param::Text(&t.new_c), id(t.update_c)])?;
        self.change(t, Sql::Delete, t.replaced, &[id(t.replaced)])?;
        self.done.writes += 1;
        let row = [id(t.replaced), id(t.row.k), Param::Text(&t.row.c), Param::Text(&t.row.pad)];
        let changed = self.run(t.table, Sql::Insert, &row, &mut |_| {})?;
        expect_count(t, "INSERT", t.replaced, 1, changed)
    }

    fn point(&mut self, t: &Transaction, point: u64) -> Result<(), Refusal> {
        let found = self.texts(t, Sql::Point, &[id(point)])?;
        expect_count(t, "point select", point, 1, found)
    }

    /// Fetches every row and looks at each c; gives their number.
    fn texts(&mut self, t: &Transaction, sql: Sql, params: &[Param]) -> Result<u64, Refusal> {
        self.done.reads += 1;
        let (mut count, mut strange, rows) = (0, None, self.rows);
        self.run(t.table, sql, params, &mut |value| {
            count += 1;
            if !value.text().is_some_and(|c| mix::is_plausible_c(rows, c)) {
                strange.get_or_insert_with(|| format!("{value:?}"));
            }
        })?;
        match strange {
            Some(found) => Err(wrong(t, "c of a row", integer(params[0]), "text of this load", found)),
            None => Ok(count),
        }
    }

    fn sum(&mut self, t: &Transaction, range: (u64, u64)) -> Result<(), Refusal> {
        self.done.reads += 1;
        let mut total = None;
        self.run(t.table, Sql::Sum, &[id(range.0), id(range.1)], &mut |value| total = value.integer())?;
        if total.is_none_or(|total| total < 0) {
            return Err(wrong(t, "SUM(k)", range.0, "a sum of at least 0", format!("{total:?}")));
        }
        Ok(())
    }

    fn change(&mut self, t: &Transaction, sql: Sql, row: u64, params: &[Param]) -> Result<(), Refusal> {
        self.done.writes += 1;
        let changed = self.run(t.table, sql, params, &mut |_| {})?;
        if changed == 0 && self.may_miss {
            self.done.missed += 1;
            return Ok(());
        }
        expect_count(t, "a change", row, 1, changed)
    }

    fn insert_new(&mut self, t: &Transaction) -> Result<(), Refusal> {
        self.done.writes += 1;
        let row = [id(t.row.k), Param::Text(&t.row.c), Param::Text(&t.row.pad)];
        let changed = self.run(t.table, Sql::InsertNew, &row, &mut |_| {})?;
        self.pending += 1;
        expect_count(t, "INSERT", 0, 1, changed)
    }

    /// Of a row that an earlier one deleted, nothing is left to delete: sysbench's mix of deletes is so.
    fn delete(&mut self, t: &Transaction) -> Result<(), Refusal> {
        self.done.writes += 1;
        let changed = self.run(t.table, Sql::Delete, &[id(t.replaced)], &mut |_| {})?;
        self.done.missed += u64::from(changed == 0);
        self.pending -= i64::try_from(changed).unwrap_or(i64::MAX);
        if changed > 1 { Err(wrong(t, "DELETE", t.replaced, "at most 1 row", changed.to_string())) } else { Ok(()) }
    }

    fn random_points(&mut self, t: &Transaction) -> Result<(), Refusal> {
        self.done.reads += 1;
        let keys = t.random_ks.map(id);
        self.run(t.table, Sql::RandomPoints, &keys, &mut |_| {})?;
        Ok(())
    }

    fn random_ranges(&mut self, t: &Transaction) -> Result<(), Refusal> {
        self.done.reads += 1;
        let mut bounds = [Param::Integer(0); 2 * mix::RANDOM_COUNT];
        for (pair, k) in bounds.chunks_mut(2).zip(t.random_ks) {
            (pair[0], pair[1]) = (id(k), id(k + mix::RANDOM_DELTA));
        }
        let mut count = None;
        self.run(t.table, Sql::RandomRanges, &bounds, &mut |value| count = value.integer())?;
        if count.is_none() {
            return Err(wrong(t, "count of random ranges", t.random_ks[0], "a number", "none".into()));
        }
        Ok(())
    }
}

impl Session for SqlSession {
    fn execute(&mut self, transaction: &Transaction) -> Result<Executed, Error> {
        let refusal = match self.transaction(transaction) {
            Ok(()) => return Ok(Executed::Committed),
            Err(refusal) => refusal,
        };
        self.pending = 0;
        let error = match refusal {
            Refusal::Wrong(error) => return Err(*error),
            Refusal::Database(error) => error,
        };
        let Some(conflict) = error.conflict() else { return Err(failed(self.engine, "run a transaction")(error)) };
        if std::mem::take(&mut self.open) {
            self.done.others += 1;
            self.connection.query("ROLLBACK").map_err(failed(self.engine, "roll back"))?;
        }
        Ok(Executed::Conflict(conflict))
    }

    fn statements(&self) -> Statements {
        self.done
    }

    fn rows_added(&self) -> i64 {
        self.added
    }
}

/// Why a transaction stopped.
enum Refusal {
    Database(wire::Error),
    Wrong(Box<Error>),
}

impl From<wire::Error> for Refusal {
    fn from(error: wire::Error) -> Refusal {
        Refusal::Database(error)
    }
}

fn id(value: u64) -> Param<'static> {
    Param::Integer(value as i64)
}

fn integer(param: Param) -> u64 {
    if let Param::Integer(value) = param { value as u64 } else { 0 }
}

/// A statement with its parameters written out: what a client without prepared statements sends.
fn spell(sql: &str, params: &[Param], text: &mut String) {
    text.clear();
    let mut parts = sql.split('$');
    text.push_str(parts.next().unwrap_or_default());
    for (part, param) in parts.zip(params) {
        let _ = match param {
            Param::Integer(value) => write!(text, "{value}"),
            Param::Text(value) => write!(text, "'{value}'"),
        };
        text.push_str(part.trim_start_matches(|c: char| c.is_ascii_digit()));
    }
}

fn expect_count(t: &Transaction, what: &str, row: u64, expected: u64, found: u64) -> Result<(), Refusal> {
    if found == expected { Ok(()) } else { Err(wrong(t, what, row, &format!("{expected} rows"), format!("{found} rows"))) }
}

fn wrong(t: &Transaction, what: &str, row: u64, expected: &str, found: String) -> Refusal {
    let place = format!("{what} of id {row} in {}", table_name(t.table));
    Refusal::Wrong(Box::new(Error::WrongData { place, expected: expected.into(), found }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_spelled_with_its_parameters() {
        let mut text = String::new();
        spell(&Sql::UpdateC.text("sbtest1"), &[Param::Text("abc"), Param::Integer(7)], &mut text);
        assert_eq!(text, "UPDATE sbtest1 SET c = 'abc' WHERE id = 7");
        assert!(Sql::RandomPoints.text("t").ends_with("$9, $10)") && Sql::RandomRanges.text("t").ends_with("k BETWEEN $19 AND $20"));
    }
}
