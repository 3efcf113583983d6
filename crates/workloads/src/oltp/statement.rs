//! The statements of sysbench's OLTP: their text, their parameters, and what their answer must be.

use super::mix::{self, Mixture, RowsLike, Transaction};
use super::table_name;
use crate::workload::Error;
use std::fmt::Write as _;
use wire::{Param, Value};

/// A statement for one table, or one around the others.
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
    DeleteAny,
    Insert,
    InsertNew,
    RandomPoints,
    RandomRanges,
    Begin,
    Commit,
}

/// How sysbench counts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    Read,
    Write,
    Other,
}

/// The most parameters that a statement has: two for each random range.
pub const PARAMS_MAX: usize = 2 * mix::RANDOM_COUNT;

/// The statements of a transaction, in order; a point select several times.
pub fn of(mixture: Mixture, in_transaction: bool) -> Vec<Sql> {
    const READS: [Sql; 4] = [Sql::Range, Sql::Sum, Sql::Ordered, Sql::Distinct];
    const WRITES: [Sql; 4] = [Sql::UpdateK, Sql::UpdateC, Sql::Delete, Sql::Insert];
    let points = || vec![Sql::Point; mix::POINTS];
    let inner = match mixture {
        Mixture::ReadWrite => [points(), READS.to_vec(), WRITES.to_vec()].concat(),
        Mixture::ReadOnly => [points(), READS.to_vec()].concat(),
        Mixture::WriteOnly => WRITES.to_vec(),
        Mixture::PointSelect => vec![Sql::Point],
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
    pub fn text(self, table: &str) -> Option<String> {
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
                format!("SELECT id, k, c, pad FROM {table} WHERE k IN ({})", list(&|index| format!("${}", index + 1), ", "))
            }
            Sql::RandomRanges => {
                let one = |index: usize| format!("k BETWEEN ${} AND ${}", 2 * index + 1, 2 * index + 2);
                format!("SELECT count(k) FROM {table} WHERE {}", list(&one, " OR "))
            }
            Sql::Begin | Sql::Commit => return None,
        })
    }

    /// How it counts.
    pub fn class(self) -> Class {
        match self {
            Sql::Point | Sql::Range | Sql::Sum | Sql::Ordered | Sql::Distinct | Sql::RandomPoints | Sql::RandomRanges => Class::Read,
            Sql::UpdateK | Sql::UpdateC | Sql::Delete | Sql::DeleteAny | Sql::Insert | Sql::InsertNew => Class::Write,
            Sql::Begin | Sql::Commit => Class::Other,
        }
    }

    /// Its parameters in a transaction; `nth` counts the point selects.
    pub fn params<'a>(self, t: &'a Transaction, nth: usize, params: &mut [Param<'a>; PARAMS_MAX]) -> usize {
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
    pub fn gives_texts(self) -> bool {
        matches!(self, Sql::Point | Sql::Range | Sql::Ordered | Sql::Distinct)
    }

    /// Whether the answer is the right one. `may_miss`: another may have replaced the row while the statement waited.
    pub fn judge(self, t: &Transaction, nth: usize, seen: &Seen, changed: u64, may_miss: bool) -> Result<(), Error> {
        let wrong = |id: u64, expected: String, found: String| {
            let place = format!("{self:?} of id {id} in {}", table_name(t.table));
            Err(Error::WrongData { place, expected, found })
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
            Sql::Delete => (t.replaced, 1, changed),
            Sql::Insert | Sql::InsertNew => (t.replaced, 1, changed),
            Sql::Distinct if seen.rows == 0 || seen.rows > t.range_rows[3] => {
                return wrong(t.ranges[3].0, "from 1 row to the whole range".into(), format!("{} rows", seen.rows));
            }
            Sql::Sum | Sql::RandomRanges if seen.integer.is_none_or(|number| number < 0) => {
                return wrong(t.ranges[1].0, "a number of at least 0".into(), format!("{:?}", seen.integer));
            }
            // Of a row that an earlier one deleted, nothing is left to delete: sysbench's mix of deletes is so.
            Sql::DeleteAny if changed > 1 => return wrong(t.replaced, "at most 1 row".into(), format!("{changed} rows")),
            _ => return Ok(()),
        };
        let missed = found == 0 && may_miss && self.class() == Class::Write;
        if found == expected || missed { Ok(()) } else { wrong(id, format!("{expected} rows"), format!("{found} rows")) }
    }
}

/// What came of a statement's rows.
#[derive(Debug, Default)]
pub struct Seen {
    /// Number of rows.
    pub rows: u64,
    /// The last row's number, where it was one.
    pub integer: Option<i64>,
    /// A text that nobody here wrote.
    pub strange: Option<String>,
}

impl Seen {
    /// Looks at a row's first column.
    pub fn look(&mut self, value: Value, texts: bool, rows: RowsLike) {
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

/// A statement with its parameters written out: what a client without prepared statements sends.
pub fn spell(sql: &str, params: &[Param], text: &mut String) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_spelled_with_its_parameters() {
        let mut text = String::new();
        spell(&Sql::UpdateC.text("sbtest1").expect("it has one"), &[Param::Text("abc"), Param::Integer(7)], &mut text);
        assert_eq!(text, "UPDATE sbtest1 SET c = 'abc' WHERE id = 7");
        let text = |sql: Sql| sql.text("t").expect("it has one");
        assert!(text(Sql::RandomPoints).ends_with("$9, $10)") && text(Sql::RandomRanges).ends_with("k BETWEEN $19 AND $20"));
    }

    #[test]
    fn the_read_write_mix_is_sysbenchs() {
        let count = |class: Class| of(Mixture::ReadWrite, true).iter().filter(|sql| sql.class() == class).count();
        assert_eq!((count(Class::Read), count(Class::Write), count(Class::Other)), (14, 4, 2));
    }
}
