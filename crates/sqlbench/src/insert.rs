//! `insert`: a table with a key of two columns and an index, filled in three orders, then read, changed, joined, copied and
//! emptied in forty ways; and a table with sixteen keys.
//!
//! With L the loop count there are 3 L rows, whose `id`, `id2` and `id3` are one number from 0 on: L go in upwards from 0, L
//! downwards from the top, L shuffled between. So every answer can be told beforehand.

mod change;
mod many_keys;
mod read;

use super::Test;
use super::dialect::{Column, Key, Type, column, optional};
use super::session::Session;
use super::shuffle::{self, Walk};
use load::workload::Error;

pub static TEST: Test = Test {
    name: "insert",
    operations: "insert insert_duplicates select_big order_by_big_key order_by_big_key_desc order_by_big_key_prefix \
        order_by_big_key2 order_by_big_key_diff order_by_big order_by_range order_by_key_prefix order_by_key2_diff \
        select_diff_key select_range_prefix select_range_key2 select_key_prefix select_key select_key_return_key \
        select_key2 select_key2_return_key select_key2_return_prim select_group min_max_on_key min_max count_on_key \
        count count_distinct_big update_of_key update_of_key_big update_with_key update_with_key_prefix update_big \
        outer_join_on_key outer_join outer_join_found outer_join_not_found insert_select_1_key insert_select_2_keys \
        delete_key delete_range insert_key update_of_primary_key_many_keys delete_big_many_keys delete_all_many_keys \
        multiple_value_insert",
    run,
};

const COLUMNS: [Column; 4] = [
    column("id", Type::Integer),
    column("id2", Type::Integer),
    column("id3", Type::Integer),
    optional("dummy1", Type::Char(30)),
];

const PRIMARY: Key = Key::Primary("id, id2");

/// What the phases share.
struct Rows {
    /// The loop count, L.
    third: u64,
    /// All rows, 3 L.
    all: u64,
    /// Loops over the whole table.
    few: u64,
    /// Loops over ranges.
    ranges: u64,
    /// The middle third's ids in the order they went in.
    shuffled: Vec<u64>,
    /// Goes on through all phases.
    walk: Walk,
}

fn run(s: &mut Session) -> Result<(), Error> {
    // Below 100 rows ranges would not hold what they must.
    let third = s.loops.of(100_000, 100);
    let (shuffled, walk) = shuffle::shuffled(third);
    let mut rows =
        Rows { third, all: 3 * third, few: s.loops.of(10, 1), ranges: s.loops.of(500, 1).min(third), shuffled, walk };
    s.connect()?;
    s.create("bench1", &COLUMNS, &[PRIMARY, Key::Index("id3")])?;
    fill(s, &mut rows)?;
    read::run(s, &mut rows)?;
    change::run(s, &rows)?;
    s.drop_table("bench1")?;
    many_keys::run(s, &rows)?;
    s.create("bench1", &COLUMNS, &[PRIMARY, Key::Index("id3")])?;
    s.time("multiple_value_insert", third, |s| s.insert_together("bench1", (0..third).map(|id| row(id, "EFGHIJKLM"))))?;
    s.integer("SELECT count(*) FROM bench1", Some(third as i64))?;
    s.drop_table("bench1")
}

fn row(id: u64, text: &str) -> String {
    format!("({id}, {id}, {id}, '{text}')")
}

fn fill(s: &mut Session, rows: &mut Rows) -> Result<(), Error> {
    let (third, all) = (rows.third, rows.all);
    let upwards = (0..third).map(|id| row(id, "ABCDEFGHIJ"));
    let downwards = (0..third).map(|place| row(all - 1 - place, "BCDEFGHIJK"));
    let between = rows.shuffled.iter().map(|id| row(*id, "CDEFGHIJKL"));
    s.time("insert", all, |s| s.insert("bench1", upwards.chain(downwards).chain(between)))?;
    let walk = &mut rows.walk;
    s.repeat("insert_duplicates", third, third, |s, turn| {
        let id = walk.step(turn, third) % all;
        s.duplicate(&format!("INSERT INTO bench1 VALUES ({id}, {id}, 2, 'D')"))
    })
}
