//! Everything that is read from the table while its rows are as they went in.

use super::Rows;
use crate::session::{Session, Sorted};
use load::workload::Error;
use std::collections::BTreeSet;

/// Values of a list of alternatives, at most.
const ALTERNATIVES: u64 = 48;

/// Conditions on a column `c` of rows from 0 to `{last}`, with `{half}` in their middle; each with its rows. The suite asks for
/// as many, of these kinds: alternatives, both ends, ranges that overlap, meet, contain or exclude each other.
const CONDITIONS: [(&str, u64); 20] = [
    ("c = 12 OR c = 2 OR c = 7 OR c = 5 OR c = 16 OR c = 9", 6),
    ("c < 1 OR c >= {last}", 2),
    ("c >= 3 AND c <= 4", 2),
    ("(c >= 3 AND c <= 4) OR (c >= 3 AND c <= 4)", 2),
    ("c >= 3 AND c <= 12 AND c <= 7", 5),
    ("(c > 3 AND c < 5) OR c >= {last}", 2),
    ("(c > 0 AND c < 2) OR (c >= {half} AND c <= {half} + 2) OR c = {half} - 1", 5),
    ("(c >= 6 AND c <= 11) OR (c >= 2 AND c <= 5)", 10),
    ("(c = 3 OR c = 4) AND (c = 5 OR c = 6)", 0),
    ("(c = 3 OR c = 4) AND (c = 4 OR c = 5)", 1),
    ("(c = 2 OR c = 7 OR c = 22 OR c = 41) AND (c = 2 OR c >= 22 OR c = 5)", 3),
    ("((c = 2 OR c = 4) OR (c > 2 AND c < 4)) AND c <= 3", 2),
    ("(c >= 1 AND c < 5) OR (c >= 5 AND c < 7)", 6),
    ("c <= -2 OR (c >= 1 AND c <= 6) OR (c >= 5 AND c < 7) OR (c >= 7 AND c <= 8) OR (c > 8 AND c <= 9)", 9),
    ("(c >= 2 AND c <= 3 OR c >= 5 AND c <= 6) OR (c >= 1 AND c <= 11)", 11),
    ("(c >= 2 AND c <= 3 OR c >= 5 AND c <= 6) OR (c > 3 AND c <= 11)", 10),
    ("(c > 2 OR c < 2) AND c <= 2", 2),
    ("c <= 2 AND (c > 2 OR c <= 2)", 3),
    ("(c >= 2 OR c < 2) AND c <= 2", 3),
    ("(c >= 2 OR c <= 3) AND c <= 2", 3),
];

pub fn run(s: &mut Session, rows: &mut Rows) -> Result<(), Error> {
    whole_table(s, rows)?;
    in_order(s, rows)?;
    let (third, shuffled) = (rows.third, &rows.shuffled);
    s.repeat("select_diff_key", rows.ranges, rows.ranges, |s, turn| {
        let other = shuffled[(turn % third) as usize];
        s.rows(&format!("SELECT id2 FROM bench1 WHERE id = {turn} OR id3 = {other}"), 2)
    })?;
    alternatives(s, rows, "id", "select_range_prefix")?;
    alternatives(s, rows, "id3", "select_range_key2")?;
    by_key(s, rows, "select_key_prefix", "*", &["id"])?;
    by_key(s, rows, "select_key", "*", &["id", "id2"])?;
    by_key(s, rows, "select_key_return_key", "id, id2", &["id", "id2"])?;
    by_key(s, rows, "select_key2", "*", &["id3"])?;
    by_key(s, rows, "select_key2_return_key", "id3", &["id3"])?;
    by_key(s, rows, "select_key2_return_prim", "id, id2", &["id3"])?;
    conditions(s, rows, "id", "select_range_prefix")?;
    conditions(s, rows, "id3", "select_range_key2")?;
    groups(s, rows)?;
    minima(s, rows)?;
    counts(s, rows)
}

fn whole_table(s: &mut Session, rows: &Rows) -> Result<(), Error> {
    let (few, all) = (rows.few, rows.all);
    s.repeat("select_big", few, few, |s, _| s.rows("SELECT id FROM bench1", all))?;
    for (operation, sql, order) in [
        ("order_by_big_key", "SELECT id, id2 FROM bench1 ORDER BY id, id2", Sorted::Up),
        ("order_by_big_key_desc", "SELECT id, id2 FROM bench1 ORDER BY id DESC, id2 DESC", Sorted::Down),
        ("order_by_big_key_prefix", "SELECT id FROM bench1 ORDER BY id DESC", Sorted::Down),
        ("order_by_big_key2", "SELECT id3 FROM bench1 ORDER BY id3", Sorted::Up),
        ("order_by_big_key_diff", "SELECT id2 FROM bench1 ORDER BY id3", Sorted::Up),
        ("order_by_big", "SELECT id FROM bench1 ORDER BY id2, id3", Sorted::Up),
    ] {
        s.repeat(operation, few, few, |s, _| s.sorted(sql, order, all))?;
    }
    Ok(())
}

/// Ranges that begin ever later, and of which the first two kinds grow.
fn in_order(s: &mut Session, rows: &Rows) -> Result<(), Error> {
    let (ranges, step) = (rows.ranges, rows.third / rows.ranges);
    for (operation, order) in [("order_by_range", "id3"), ("order_by_key_prefix", "id")] {
        s.repeat(operation, ranges, ranges, |s, turn| {
            let (start, end) = (step * (turn + 1), step * (turn + 1) + turn + 1);
            let sql = format!("SELECT dummy1 FROM bench1 WHERE id >= {start} AND id <= {end} ORDER BY {order}");
            s.rows(&sql, turn + 2)
        })?;
    }
    s.repeat("order_by_key2_diff", ranges, ranges, |s, turn| {
        let (start, end) = (step * (turn + 1), step * (turn + 1) + ranges);
        let sql = format!("SELECT id2 FROM bench1 WHERE id3 >= {start} AND id3 <= {end} ORDER BY id3");
        s.sorted(&sql, Sorted::Up, ranges + 1)
    })
}

/// Lists of up to 48 values, a quarter of which no row has, written with OR, with IN, and with another condition beside it.
fn alternatives(s: &mut Session, rows: &mut Rows, column: &str, operation: &'static str) -> Result<(), Error> {
    let (third, all, walk) = (rows.third, rows.all, &mut rows.walk);
    // Five lengths, three queries each.
    let turns = (rows.ranges * 10).div_ceil(15);
    s.repeat(operation, turns * 15, turns, |s, _| {
        for length in (0..=ALTERNATIVES).step_by(ALTERNATIVES as usize / 4) {
            let mut values = vec![1];
            values.extend((1..length).map(|counter| walk.step(counter, third) % (4 * third)));
            let words: Vec<String> = values.iter().map(|value| format!("{column} = {value}")).collect();
            let list: Vec<String> = values.iter().map(ToString::to_string).collect();
            let (either, list) = (words.join(" OR "), list.join(", "));
            let found: BTreeSet<u64> = values.into_iter().filter(|value| *value < all).collect();
            let (there, small) = (found.len() as u64, found.range(..10).count() as u64);
            s.rows(&format!("SELECT * FROM bench1 WHERE {either}"), there)?;
            s.rows(&format!("SELECT * FROM bench1 WHERE {column} IN ({list})"), there)?;
            s.rows(&format!("SELECT * FROM bench1 WHERE ({either}) AND {column} < 10"), small)?;
        }
        Ok(())
    })
}

/// One row that is there, and one that is not.
fn by_key(
    s: &mut Session,
    rows: &mut Rows,
    operation: &'static str,
    chosen: &str,
    columns: &[&str],
) -> Result<(), Error> {
    let (third, all, walk) = (rows.third, rows.all, &mut rows.walk);
    let query = |id: u64| {
        let words: Vec<String> = columns.iter().map(|column| format!("{column} = {id}")).collect();
        format!("SELECT {chosen} FROM bench1 WHERE {}", words.join(" AND "))
    };
    s.repeat(operation, 2 * third, third, |s, turn| {
        let id = walk.step(turn + 1, third) % all;
        s.integer(&query(id), Some(id as i64))?;
        s.rows(&query(id + all), 0)
    })
}

fn conditions(s: &mut Session, rows: &Rows, column: &str, operation: &'static str) -> Result<(), Error> {
    let (last, half) = ((rows.all - 1).to_string(), (rows.third / 2).to_string());
    let queries = CONDITIONS.map(|(condition, expected)| {
        let named = |word: &str| match word.trim_matches(['(', ')']) {
            "c" => word.replace('c', column),
            _ => word.replace("{last}", &last).replace("{half}", &half),
        };
        let words: Vec<String> = condition.split(' ').map(named).collect();
        (format!("SELECT * FROM bench1 WHERE {}", words.join(" ")), expected)
    });
    // The suite counts each query twice.
    let count = rows.ranges * 2 * queries.len() as u64;
    s.repeat(operation, count, rows.ranges, |s, _| {
        queries.iter().try_for_each(|(sql, expected)| s.rows(sql, *expected))
    })
}

fn groups(s: &mut Session, rows: &Rows) -> Result<(), Error> {
    let (few, all, third) = (rows.few, rows.all as i64, rows.third);
    let sum = all * (all - 1) / 2;
    // The suite counts eleven for these ten, and one before the first.
    s.repeat("select_group", 1 + 11 * few, few, |s, _| {
        s.integer("SELECT count(*) FROM bench1", Some(all))?;
        s.integer("SELECT min(id) FROM bench1", Some(0))?;
        s.integer("SELECT max(id) FROM bench1", Some(all - 1))?;
        s.integer("SELECT sum(id + 0) FROM bench1", Some(sum))?;
        s.integer("SELECT sum(id3 - 0), min(id3), max(id3) FROM bench1", Some(sum))?;
        s.word("SELECT max(dummy1), min(dummy1) FROM bench1", Some("CDEFGHIJKL"))?;
        s.integer(&format!("SELECT count(*) FROM bench1 WHERE id >= {}", 2 * third), Some(third as i64))?;
        s.integer("SELECT sum(id + 0), count(*), min(id), max(id), avg(id - 0) FROM bench1", Some(sum))?;
        s.rows("SELECT id % 10 AS last_digit, count(*) FROM bench1 GROUP BY id % 10", 10)?;
        let sql =
            "SELECT id, id3, dummy1 FROM bench1 WHERE id < 100 GROUP BY id, id3, dummy1 ORDER BY id DESC, id3, dummy1";
        s.sorted(sql, Sorted::Down, 100)
    })
}

fn minima(s: &mut Session, rows: &Rows) -> Result<(), Error> {
    let (all, third) = (rows.all as i64, rows.third);
    let text = |id: u64| {
        let third_of_id = (id / third).min(2) as usize;
        ["ABCDEFGHIJ", "CDEFGHIJKL", "BCDEFGHIJK"][third_of_id]
    };
    for (operation, turns, key, other) in
        [("min_max_on_key", rows.ranges * 5, "id", "id2"), ("min_max", rows.few, "id2", "id3")]
    {
        let [smallest, largest] = ["min", "max"].map(|end| format!("SELECT {end}({key}) FROM bench1"));
        s.repeat(operation, 6 * turns, turns, |s, turn| {
            // Ids stay in the table, however few rows it has.
            let id = (turn + 1) % rows.all;
            s.integer(&smallest, Some(0))?;
            s.integer(&largest, Some(all - 1))?;
            s.integer(&format!("SELECT min({other}) FROM bench1 WHERE {key} = {id}"), Some(id as i64))?;
            s.integer(&format!("SELECT max({other}) FROM bench1 WHERE {key} = {id}"), Some(id as i64))?;
            s.word(&format!("SELECT min(dummy1) FROM bench1 WHERE {key} = {id}"), Some(text(id)))?;
            s.word(&format!("SELECT max(dummy1) FROM bench1 WHERE {key} = {id}"), Some(text(id)))
        })?;
    }
    Ok(())
}

fn counts(s: &mut Session, rows: &Rows) -> Result<(), Error> {
    let hundredth = rows.all / 100;
    for (operation, counted, column) in [("count_on_key", "id", "id"), ("count", "dummy1", "id2")] {
        s.repeat(operation, 100, 100, |s, turn| {
            let below = hundredth * turn;
            s.integer(&format!("SELECT count({counted}) FROM bench1 WHERE {column} < {below}"), Some(below as i64))
        })?;
    }
    s.repeat("count_distinct_big", 2 * rows.few, rows.few, |s, _| {
        s.integer("SELECT count(DISTINCT dummy1) FROM bench1", Some(3))?;
        s.rows("SELECT dummy1, count(DISTINCT id) FROM bench1 GROUP BY dummy1", 3)
    })
}
