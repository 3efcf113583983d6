//! `transactions`: the same rows with one commit for all, with a commit each, and with rollbacks.

use super::Test;
use super::dialect::{Column, Key, Type, column};
use super::session::Session;
use load::workload::Error;

pub static TEST: Test = Test {
    name: "transactions",
    operations: "insert_commit insert_autocommit insert_rollback update_rollback delete_rollback update_commit \
        update_autocommit delete_commit delete_autocommit",
    run,
};

const COLUMNS: [Column; 5] = [
    column("idn", Type::Integer),
    column("rev_idn", Type::Integer),
    column("region", Type::Char(1)),
    column("grp", Type::Integer),
    column("updated", Type::Tiny),
];

/// From `A` on.
const REGIONS: u64 = 27;

/// The table whose rows are committed together, and the one whose rows are committed each.
const TOGETHER: &str = "bench1";
const EACH: &str = "bench2";

fn run(s: &mut Session) -> Result<(), Error> {
    let rows = s.loops.of(10_000, 100);
    let rolled_back = s.loops.of(100, 10).min(rows);
    s.connect()?;
    for table in [TOGETHER, EACH] {
        s.create(table, &COLUMNS, &[Key::Primary("idn"), Key::Unique("region, grp")])?;
    }
    let insert = |table: &str, id: u64| {
        // The region after `Z` is `[`, as there.
        let region = char::from(b'A' + (id % REGIONS) as u8);
        let rev_id = (2 * rows - id) % rows;
        format!("INSERT INTO {table} VALUES ({id}, {rev_id}, '{region}', {}, 0)", id / REGIONS)
    };
    let update = |to: u32| move |table: &str, id: u64| format!("UPDATE {table} SET updated = {to} WHERE idn = {id}");
    let delete = |table: &str, id: u64| format!("DELETE FROM {table} WHERE idn = {id}");

    both(s, ["insert_commit", "insert_autocommit"], rows, &insert)?;
    roll_back(s, "insert_rollback", rows..2 * rows, rolled_back, &insert)?;
    roll_back(s, "update_rollback", 0..rows, rolled_back, &update(2))?;
    roll_back(s, "delete_rollback", 0..rows, rolled_back, &delete)?;
    let left = format!("SELECT count(*) FROM {TOGETHER} WHERE updated = 0");
    s.integer(&left, Some(rows as i64))?;
    both(s, ["update_commit", "update_autocommit"], rows, &update(1))?;
    s.integer(&left, Some(0))?;
    both(s, ["delete_commit", "delete_autocommit"], rows, &delete)?;
    for table in [TOGETHER, EACH] {
        s.integer(&format!("SELECT count(*) FROM {table}"), Some(0))?;
        s.drop_table(table)?;
    }
    Ok(())
}

/// A change of every row in one transaction, and in one each.
fn both(
    s: &mut Session,
    [together, each]: [&'static str; 2],
    rows: u64,
    sql: &impl Fn(&str, u64) -> String,
) -> Result<(), Error> {
    s.time(together, rows, |s| {
        s.begin()?;
        (0..rows).try_for_each(|id| s.change(&sql(TOGETHER, id), 1))?;
        s.statement("COMMIT")
    })?;
    s.time(each, rows, |s| (0..rows).try_for_each(|id| s.change(&sql(EACH, id), 1)))
}

/// A change of every row that is taken back every few rows. The suite counts the times that it is.
fn roll_back(
    s: &mut Session,
    operation: &'static str,
    ids: std::ops::Range<u64>,
    at_once: u64,
    sql: &impl Fn(&str, u64) -> String,
) -> Result<(), Error> {
    let times = (ids.end - ids.start).div_ceil(at_once);
    s.repeat(operation, times, times, |s, time| {
        s.begin()?;
        let first = ids.start + time * at_once;
        (first..(first + at_once).min(ids.end)).try_for_each(|id| s.change(&sql(TOGETHER, id), 1))?;
        s.statement("ROLLBACK")
    })
}
