//! `wisconsin`: the relations and queries of Bitton, DeWitt and Turbyfill (1983), in the suite's selection.

use super::Test;
use super::dialect::{Column, Key, Type, column, optional};
use super::session::Session;
use super::shuffle;
use load::workload::Error;

pub static TEST: Test = Test { name: "wisconsin", operations: "create_table insert delete_big wisc_benchmark", run };

/// Columns that hold a number, and those of 16 characters.
const NUMBERS: &str = "unique1 unique2 two four ten twenty hundred thousand twothousand fivethous tenthous odd even";
const TEXTS: &str = "stringu1 stringu2 string4";

/// All of a relation. Those with keys are not NULL.
fn columns() -> Vec<Column<'static>> {
    let has_key = |name: &str| ["unique1", "unique2", "hundred"].contains(&name);
    let number = |name| if has_key(name) { column(name, Type::Integer) } else { optional(name, Type::Integer) };
    let texts = TEXTS.split(' ').map(|name| optional(name, Type::Char(16)));
    NUMBERS.split(' ').map(number).chain(texts).collect()
}

const KEYS: [Key; 3] = [Key::Unique("unique1"), Key::Unique("unique2"), Key::Index("hundred")];

/// Rows of the large relations.
const ROWS: u64 = 10_000;

/// Below this the ids that statements name would fall together.
const ROWS_MIN: u64 = 1000;

/// The moduli of the columns from `two` to `tenthous`.
const MODULI: [u64; 9] = [2, 4, 10, 20, 100, 1000, 2000, 5000, 10_000];

/// A row: its first number is of a permutation, its second its place.
fn row(unique1: u64, unique2: u64) -> String {
    let moduli: String = MODULI.iter().map(|modulus| format!("{}, ", unique1 % modulus)).collect();
    let (odd, even) = (unique1 % 100 * 2, unique1 % 100 * 2 + 1);
    let (string1, string2) = (letters(unique1), letters(unique2));
    let string4 = ["AAAA", "HHHH", "OOOO", "VVVV"][(unique2 % 4) as usize];
    format!("({unique1}, {unique2}, {moduli}{odd}, {even}, '{string1}', '{string2}', '{string4}')")
}

/// A number in letters: four that change, the first of which changes most often, and three that do not.
fn letters(mut number: u64) -> String {
    let mut text = String::new();
    for _ in 0..4 {
        text.push(char::from(b'A' + (number % 26) as u8));
        number /= 26;
    }
    text + "AAA"
}

fn rows(count: u64) -> impl Iterator<Item = String> {
    let (keys, _) = shuffle::shuffled(count);
    keys.into_iter().enumerate().map(move |(place, key)| row(key - count, place as u64))
}

fn run(s: &mut Session) -> Result<(), Error> {
    let rows_large = s.loops.at_most(ROWS, ROWS_MIN);
    let rows_small = rows_large / 10;
    let tables = [("onek", rows_small), ("tenk1", rows_large), ("tenk2", rows_large), ("bprime", rows_large)];
    let columns = columns();
    s.connect()?;
    // Of four tables the suite counts three.
    s.time("create_table", 3, |s| tables.iter().try_for_each(|(name, _)| s.create(name, &columns, &KEYS)))?;
    s.time("insert", rows_small + 3 * rows_large, |s| {
        tables.iter().try_for_each(|(name, count)| s.insert(name, rows(*count)))
    })?;
    s.time("delete_big", 1, |s| {
        s.change(&format!("DELETE FROM bprime WHERE unique2 >= {rows_small}"), rows_large - rows_small)
    })?;
    let loops = s.loops.of(10, 1);
    let (queries, changes) = (queries(rows_large), changes(rows_large));
    let count = queries.len() as u64 * loops + changes.len() as u64;
    s.time("wisc_benchmark", count, |s| {
        for (sql, expected) in &queries {
            (0..loops).try_for_each(|_| s.rows(sql, *expected))?;
        }
        changes.iter().try_for_each(|sql| s.change(sql, 1))
    })?;
    tables.iter().try_for_each(|(name, _)| s.drop_table(name))
}

/// An id of the suite's, where the relations have fewer rows.
fn at(id: u64, rows: u64) -> u64 {
    id * rows / ROWS
}

/// Selections of 1 % and 10 %, of one row, joins of two and three relations, projections, a minimum; each with its rows.
fn queries(rows: u64) -> [(String, u64); 10] {
    let (hundredth, tenth) = (rows / 100, rows / 10);
    let between = |column: &str, after: u64, count: u64| {
        format!("SELECT * FROM tenk1 WHERE ({column} > {after}) AND ({column} < {})", after + count + 1)
    };
    let two = "SELECT t1.*, t2.* FROM tenk1 t1, tenk1 t2 WHERE t1.unique2 = t2.unique2 AND t2.unique2 <";
    let three =
        "SELECT t1.*, o.* FROM onek o, tenk1 t1, tenk1 t2 WHERE o.unique2 = t1.unique2 AND t1.unique2 = t2.unique2";
    [
        (between("unique2", at(301, rows), hundredth), hundredth),
        (between("unique1", at(647, rows), tenth), tenth),
        (format!("SELECT * FROM tenk1 WHERE unique2 = {}", at(2001, rows)), 1),
        (between("unique2", at(301, rows), hundredth), hundredth),
        (format!("{two} {tenth}"), tenth),
        ("SELECT t.*, b.* FROM tenk1 t, bprime b WHERE t.unique2 = b.unique2".into(), tenth),
        (format!("{three} AND t1.unique2 < {tenth} AND t2.unique2 < {tenth}"), tenth),
        ("SELECT two, four, ten, twenty, hundred, string4 FROM tenk1".into(), rows),
        ("SELECT * FROM onek".into(), tenth),
        ("SELECT min(unique2) FROM tenk1".into(), 1),
    ]
}

/// Inserts, deletes and updates of a row each, as they depend on one another.
fn changes(rows: u64) -> Vec<String> {
    let others = "0, 2, 0, 10, 50, 688, 1950, 4950, 9950, 1, 100, 'first', 'second', 'third'";
    let insert = |unique1, unique2| format!("INSERT INTO tenk1 VALUES ({unique1}, {unique2}, {others})");
    let delete = |id: u64| format!("DELETE FROM tenk1 WHERE unique2 = {id}");
    let update = |from: u64, to: u64| format!("UPDATE tenk1 SET unique2 = {to} WHERE unique2 = {from}");
    let id = |of_suite: u64| at(of_suite, rows);
    vec![
        insert(10_001, 74_001),
        insert(19_991, 60_001),
        delete(id(877)),
        delete(id(877) - 1),
        update(id(1491), 10_001),
        update(id(1491) - 1, 10_023),
        insert(20_002, 70_002),
        insert(50_002, 40_002),
        delete(10_001),
        delete(id(900)),
        update(id(187), 10_088),
        update(id(2000), 10_003),
        update(id(1974), 10_020),
        update(id(1140), 16_001),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_row_as_it_is_defined() {
        assert_eq!(row(8800, 5), "(8800, 5, 0, 0, 0, 0, 0, 800, 800, 3800, 8800, 0, 1, 'MANAAAA', 'FAAAAAA', 'HHHH')");
    }

    proptest! {
        // Up to 10,000 rows a case.
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn every_number_comes_once_and_changes_never_meet(tenths in 100u64..1000) {
            let count = tenths * 10;
            let firsts: BTreeSet<String> =
                rows(count).map(|row| row.split(',').next().unwrap_or_default().to_string()).collect();
            prop_assert_eq!(firsts.len() as u64, count);
            let ids = [877, 900, 187, 2000, 1974, 1140, 1491].map(|id| at(id, count));
            let all: BTreeSet<u64> = ids.into_iter().chain([ids[0] - 1, ids[6] - 1]).collect();
            prop_assert_eq!(all.len(), 9);
        }
    }
}
