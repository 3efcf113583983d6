//! The statements of sysbench's OLTP: their text, their parameters, and what their answer must be.

use super::acknowledged::{self, Acknowledged};
use super::mix::{self, Mix, Mixture, RowsLike, Transaction};
use super::{Parameters, table_name};
use load::sql_load::{Class, PARAMS_MAX, Script};
use load::workload::Error;
use std::time::Instant;
use wire::{Conflict, Param, Value};

/// A statement for one table, or one around the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sql {
    Point,
    Range,
    Sum,
    Ordered,
    Distinct,
    UpdateK,
    UpdateC,
    Delete,
    DeleteAny,
    Insert,
    InsertNew,
    RandomPoints,
    RandomRanges,
    Begin,
    Commit,
}

/// The statements of a transaction, in order; a point select several times.
fn of(mixture: Mixture, in_transaction: bool) -> Vec<Sql> {
    const READS: [Sql; 4] = [Sql::Range, Sql::Sum, Sql::Ordered, Sql::Distinct];
    const WRITES: [Sql; 4] = [Sql::UpdateK, Sql::UpdateC, Sql::Delete, Sql::Insert];
    let points = || vec![Sql::Point; mixture.points()];
    let inner = match mixture {
        Mixture::ReadWrite => [points(), READS.to_vec(), WRITES.to_vec()].concat(),
        Mixture::ReadOnly => [points(), READS.to_vec()].concat(),
        Mixture::WriteOnly => WRITES.to_vec(),
        Mixture::PointSelect => points(),
        Mixture::UpdateIndex => vec![Sql::UpdateK],
        Mixture::UpdateNonIndex => vec![Sql::UpdateC],
        Mixture::Insert => vec![Sql::InsertNew],
        Mixture::Delete => vec![Sql::DeleteAny],
        Mixture::SelectRandomPoints => vec![Sql::RandomPoints],
        Mixture::SelectRandomRanges => vec![Sql::RandomRanges],
    };
    if in_transaction { [vec![Sql::Begin], inner, vec![Sql::Commit]].concat() } else { inner }
}

impl Sql {
    /// The text, parameters as `$1`; none for those that a database spells itself.
    fn text(self, table: &str) -> Option<String> {
        let list = |one: &dyn Fn(usize) -> String, between: &str| {
            (0..mix::RANDOM_COUNT).map(one).collect::<Vec<_>>().join(between)
        };
        Some(match self {
            Sql::Point => format!("SELECT c FROM {table} WHERE id = $1"),
            Sql::Range => format!("SELECT c FROM {table} WHERE id BETWEEN $1 AND $2"),
            Sql::Sum => format!("SELECT SUM(k) FROM {table} WHERE id BETWEEN $1 AND $2"),
            Sql::Ordered => format!("SELECT c FROM {table} WHERE id BETWEEN $1 AND $2 ORDER BY c"),
            Sql::Distinct => format!("SELECT DISTINCT c FROM {table} WHERE id BETWEEN $1 AND $2 ORDER BY c"),
            Sql::UpdateK => format!("UPDATE {table} SET k = k + 1 WHERE id = $1"),
            Sql::UpdateC => format!("UPDATE {table} SET c = $1 WHERE id = $2"),
            Sql::Delete | Sql::DeleteAny => format!("DELETE FROM {table} WHERE id = $1"),
            Sql::Insert => format!("INSERT INTO {table} (id, k, c, pad) VALUES ($1, $2, $3, $4)"),
            Sql::InsertNew => format!("INSERT INTO {table} (k, c, pad) VALUES ($1, $2, $3)"),
            Sql::RandomPoints => {
                let marks = list(&|index| format!("${}", index + 1), ", ");
                format!("SELECT id, k, c, pad FROM {table} WHERE k IN ({marks})")
            }
            Sql::RandomRanges => {
                let one = |index: usize| format!("k BETWEEN ${} AND ${}", 2 * index + 1, 2 * index + 2);
                format!("SELECT count(k) FROM {table} WHERE {}", list(&one, " OR "))
            }
            Sql::Begin | Sql::Commit => return None,
        })
    }

    /// How it counts.
    fn class(self) -> Class {
        match self {
            Sql::UpdateK | Sql::UpdateC | Sql::Delete | Sql::DeleteAny | Sql::Insert | Sql::InsertNew => Class::Write,
            Sql::Begin | Sql::Commit => Class::Other,
            _ => Class::Read,
        }
    }

    /// What of its data a database must keep, a number as 8 bytes.
    fn bytes_written(self, t: &Transaction) -> u64 {
        let bytes = match self {
            Sql::UpdateK => 8,
            Sql::UpdateC => t.new_c.len(),
            Sql::Insert | Sql::InsertNew => 16 + t.row.c.len() + t.row.pad.len(),
            _ => 0,
        };
        bytes as u64
    }

    /// Its parameters in a transaction; `nth` counts the point selects.
    fn params<'a>(self, t: &'a Transaction, nth: usize, params: &mut [Param<'a>; PARAMS_MAX]) -> usize {
        let mut count = 0;
        let mut put = |param| {
            params[count] = param;
            count += 1;
        };
        match self {
            Sql::Point => put(number(t.points[nth])),
            Sql::Range | Sql::Sum | Sql::Ordered | Sql::Distinct => {
                let (first, last) = self.range(t);
                put(number(first));
                put(number(last));
            }
            Sql::UpdateK => put(number(t.update_k)),
            Sql::UpdateC => {
                put(Param::Text(&t.new_c));
                put(number(t.update_c));
            }
            Sql::Delete | Sql::DeleteAny => put(number(t.replaced)),
            Sql::Insert | Sql::InsertNew => {
                if self == Sql::Insert {
                    put(number(t.replaced));
                }
                put(number(t.row.k));
                put(Param::Text(&t.row.c));
                put(Param::Text(&t.row.pad));
            }
            Sql::RandomPoints => t.random_ks.iter().for_each(|k| put(number(*k))),
            Sql::RandomRanges => t.random_ks.iter().for_each(|k| {
                put(number(*k));
                put(number(*k + mix::RANDOM_DELTA));
            }),
            Sql::Begin | Sql::Commit => {}
        }
        count
    }

    fn range(self, t: &Transaction) -> (u64, u64) {
        t.ranges[match self {
            Sql::Sum => 1,
            Sql::Ordered => 2,
            Sql::Distinct => 3,
            _ => 0,
        }]
    }

    /// Whether its rows are texts of this load, to be looked at.
    fn gives_texts(self) -> bool {
        matches!(self, Sql::Point | Sql::Range | Sql::Ordered | Sql::Distinct)
    }

    /// Whether the answer is the right one.
    fn judge(self, t: &Transaction, nth: usize, seen: &Seen, changed: u64, away: Away) -> Result<(), Error> {
        let wrong = |id: u64, expected: String, found: String| {
            let place = format!("{self:?} of id {id} in {}", table_name(t.table));
            Err(Error::wrong_data(place, expected, found))
        };
        if let Some(strange) = &seen.strange {
            return wrong(self.range(t).0, "text of this load".into(), strange.clone());
        }
        let (id, expected, found) = match self {
            Sql::Point => (t.points[nth], 1, seen.rows),
            Sql::Range => (t.ranges[0].0, t.range_rows[0], seen.rows),
            Sql::Ordered => (t.ranges[2].0, t.range_rows[2], seen.rows),
            Sql::UpdateK => (t.update_k, 1, changed),
            Sql::UpdateC => (t.update_c, 1, changed),
            Sql::Delete | Sql::Insert | Sql::InsertNew => (t.replaced, 1, changed),
            Sql::Distinct if seen.rows > t.range_rows[3] || seen.rows == 0 && t.range_rows[3] > away.rows => {
                return wrong(t.ranges[3].0, "from 1 row to the whole range".into(), format!("{} rows", seen.rows));
            }
            // The sum of no row is NULL.
            Sql::Sum if seen.integer.is_none() && t.range_rows[1] <= away.rows => return Ok(()),
            Sql::Sum | Sql::RandomRanges if seen.integer.is_none_or(|number| number < 0) => {
                return wrong(t.ranges[1].0, "a number of at least 0".into(), format!("{:?}", seen.integer));
            }
            // Of a row that an earlier one deleted, nothing is left to delete: sysbench's mix of deletes is so.
            Sql::DeleteAny if changed > 1 => {
                return wrong(t.replaced, "at most 1 row".into(), format!("{changed} rows"));
            }
            _ => return Ok(()),
        };
        let missing = if self.class() == Class::Write { u64::from(away.is_missed) } else { away.rows };
        if (expected.saturating_sub(missing)..=expected).contains(&found) {
            Ok(())
        } else {
            wrong(id, format!("{expected} rows"), format!("{found} rows"))
        }
    }
}

/// What connections may have taken away when a statement looks for it, and put back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Away {
    /// Rows that a read may not find, at most.
    rows: u64,
    /// Whether a write may not find its row.
    is_missed: bool,
}

impl Away {
    /// By so many connections. `misses_replaced`: the database finds no row where another replaced it meanwhile.
    fn of(connections: usize, misses_replaced: bool, steps: &[Sql]) -> Away {
        let has_others = connections > 1;
        // Each has one row between its DELETE and its INSERT, which all see where these stand on their own; so has one that is tried
        // again, as its INSERT met another.
        let is_seen = has_others && steps.contains(&Sql::Delete) && !steps.contains(&Sql::Begin);
        Away { rows: if is_seen { connections as u64 } else { 0 }, is_missed: is_seen || has_others && misses_replaced }
    }
}

/// What came of a statement's rows.
#[derive(Debug, Default)]
struct Seen {
    /// Number of rows.
    rows: u64,
    /// The last row's number, where it was one.
    integer: Option<i64>,
    /// A text that nobody here wrote.
    strange: Option<String>,
}

impl Seen {
    /// Looks at a row's first column.
    fn look(&mut self, value: Value, texts: bool, rows: RowsLike) {
        self.rows += 1;
        if !texts {
            self.integer = value.integer();
        } else if !value.text().is_some_and(|c| mix::is_plausible_c(rows, c)) {
            self.strange.get_or_insert_with(|| format!("{value:?}"));
        }
    }
}

fn number(value: u64) -> Param<'static> {
    Param::Integer(value as i64)
}

/// The transactions of one connection.
pub struct Oltp {
    mix: Mix,
    transaction: Transaction,
    steps: Vec<Sql>,
    /// By step, which of a table's statements it is.
    slots: Vec<usize>,
    /// Statements of a table.
    distinct: Vec<Sql>,
    tables: u32,
    rows: RowsLike,
    in_transaction: bool,
    away: Away,
    seen: Seen,
    pending: i64,
    /// Rows that acknowledged transactions added, minus those that they deleted.
    pub rows_added: i64,
    /// Of how many rows it is unknown whether they were added or deleted.
    pub rows_unknown: i64,
    /// What acknowledged transactions wrote to rows.
    pub acknowledged: Acknowledged,
    /// Whether this transaction's UPDATE of c found its row.
    updated_c: bool,
}

impl Oltp {
    /// With its own stream of transactions. `may_miss`: the database finds no row where another replaced it meanwhile.
    pub fn new(parameters: &Parameters, mix: Mix, may_miss: bool) -> Oltp {
        let in_transaction = parameters.in_transaction && parameters.mix.is_transaction();
        let steps = of(parameters.mix, in_transaction);
        let mut distinct: Vec<Sql> = Vec::new();
        let mut slot = |sql: &Sql| {
            let known = distinct.iter().position(|known| known == sql);
            known.unwrap_or_else(|| {
                distinct.push(*sql);
                distinct.len() - 1
            })
        };
        let slots = steps.iter().map(&mut slot).collect();
        let away = Away::of(parameters.load.threads, may_miss, &steps);
        Oltp {
            mix,
            transaction: Transaction::default(),
            steps,
            slots,
            distinct,
            tables: parameters.tables,
            rows: parameters.rows_like,
            in_transaction,
            away,
            seen: Seen::default(),
            pending: 0,
            rows_added: 0,
            rows_unknown: 0,
            // Statements on their own may be there in part when a later one meets another connection.
            acknowledged: if in_transaction || !parameters.mix.is_transaction() {
                let rows = parameters.table_size * u64::from(parameters.tables);
                Acknowledged::of_every(acknowledged::every(rows, parameters.load.threads))
            } else {
                Acknowledged::default()
            },
            updated_c: false,
        }
    }

    /// Transactions of no statements: what the driver itself costs.
    pub fn without_statements(parameters: &Parameters, mix: Mix) -> Oltp {
        let whole = Oltp::new(parameters, mix, false);
        Oltp { steps: Vec::new(), slots: Vec::new(), distinct: Vec::new(), in_transaction: false, ..whole }
    }

    /// Which of the point selects a step is.
    fn nth(&self, step: usize) -> usize {
        step.saturating_sub(usize::from(self.in_transaction))
    }

    /// What the transaction wrote to column c; `known`: it took place.
    fn remember(&mut self, known: bool, began: Instant, ended: Instant) {
        let t = &self.transaction;
        if std::mem::take(&mut self.updated_c) || !known && self.distinct.contains(&Sql::UpdateC) {
            self.acknowledged.write((t.table, t.update_c), known.then_some(&t.new_c), began, ended);
        }
        if self.distinct.contains(&Sql::Insert) {
            self.acknowledged.write((t.table, t.replaced), known.then_some(&t.row.c), began, ended);
        }
    }
}

impl Script for Oltp {
    fn texts(&self, begin: &str) -> Vec<String> {
        let other = |sql: Sql| if sql == Sql::Begin { begin.to_string() } else { "COMMIT".into() };
        let of_table = |table: u32| {
            self.distinct
                .iter()
                .map(move |sql| sql.text(&table_name(table)).unwrap_or_else(|| other(*sql)))
                .collect::<Vec<_>>()
        };
        (1..=self.tables).flat_map(of_table).collect()
    }

    fn draw(&mut self) {
        self.mix.draw(&mut self.transaction);
    }

    fn steps(&self) -> usize {
        self.steps.len()
    }

    fn is_transaction(&self) -> bool {
        self.in_transaction
    }

    fn text(&self, step: usize) -> usize {
        (self.transaction.table as usize - 1) * self.distinct.len() + self.slots[step]
    }

    fn class(&self, step: usize) -> Class {
        self.steps[step].class()
    }

    fn params<'a>(&'a self, step: usize, params: &mut [Param<'a>; PARAMS_MAX]) -> usize {
        self.steps[step].params(&self.transaction, self.nth(step), params)
    }

    fn row(&mut self, step: usize, value: Value) {
        self.seen.look(value, self.steps[step].gives_texts(), self.rows);
    }

    fn answered(&mut self, step: usize, changed: u64) -> Result<(), Error> {
        let sql = self.steps[step];
        let seen = std::mem::take(&mut self.seen);
        sql.judge(&self.transaction, self.nth(step), &seen, changed, self.away)?;
        match sql {
            Sql::InsertNew => self.pending += 1,
            Sql::DeleteAny => self.pending -= i64::from(changed == 1),
            Sql::UpdateC => self.updated_c = changed == 1,
            _ => {}
        }
        Ok(())
    }

    fn committed(&mut self, began: Instant, ended: Instant) -> u64 {
        self.rows_added += std::mem::take(&mut self.pending);
        self.remember(true, began, ended);
        self.steps.iter().map(|sql| sql.bytes_written(&self.transaction)).sum()
    }

    fn rolled_back(&mut self, _conflict: Option<Conflict>) {
        self.pending = 0;
        self.updated_c = false;
        self.seen = Seen::default();
    }

    fn unknown(&mut self, began: Instant, ended: Instant) {
        let changes_count = self.distinct.iter().any(|sql| matches!(sql, Sql::InsertNew | Sql::DeleteAny));
        self.rows_unknown += i64::from(changes_count);
        self.remember(false, began, ended);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_numbered_in_order() {
        let text = |sql: Sql| sql.text("t").expect("it has one");
        assert!(
            text(Sql::RandomPoints).ends_with("$9, $10)") && text(Sql::RandomRanges).ends_with("k BETWEEN $19 AND $20")
        );
    }

    /// Each of five connections may have a row between its DELETE and its INSERT, where no transaction stands around both.
    #[test]
    fn a_row_that_is_being_replaced_is_missed_and_no_more() {
        let away = |connections, in_transaction| Away::of(connections, false, &of(Mixture::ReadWrite, in_transaction));
        assert_eq!([away(5, true), away(1, false)], [Away::default(); 2]);
        let t = Transaction { range_rows: [3, 3, 100, 3], ..Transaction::default() };
        let is_right = |sql: Sql, found: u64, away: Away| {
            let seen = Seen { rows: found, integer: (found > 0).then_some(7), strange: None };
            sql.judge(&t, 0, &seen, found, away).is_ok()
        };
        for sql in [Sql::Point, Sql::Range, Sql::Sum, Sql::Distinct, Sql::UpdateK, Sql::UpdateC, Sql::Delete] {
            assert!(is_right(sql, 0, away(5, false)) && !is_right(sql, 0, away(5, true)), "{sql:?}");
        }
        let found = [100, 95, 94, 101].map(|found| is_right(Sql::Ordered, found, away(5, false)));
        assert_eq!(found, [true, true, false, false]);
        assert!(!is_right(Sql::Delete, 2, away(5, false)), "an id stands for one row");
        assert_eq!(Away::of(2, true, &of(Mixture::WriteOnly, true)), Away { rows: 0, is_missed: true });
    }

    #[test]
    fn the_read_write_mix_is_sysbenchs() {
        let count = |class: Class| of(Mixture::ReadWrite, true).iter().filter(|sql| sql.class() == class).count();
        assert_eq!((count(Class::Read), count(Class::Write), count(Class::Other)), (14, 4, 2));
    }
}
