//! Everything that changes the table: its keys, its texts, joins over changed keys, copies, and the end of its rows.

use super::{COLUMNS, PRIMARY, Rows};
use crate::dialect::Key;
use crate::session::Session;
use load::workload::Error;

/// By how much keys are divided, so that twenty rows share one.
const DIVISOR: u64 = 20;

pub fn run(s: &mut Session, rows: &Rows) -> Result<(), Error> {
    let ids = keys(s, rows)?;
    texts(s, rows)?;
    joins(s, rows, &ids)?;
    copies(s, rows)?;
    deletes(s, rows, ids)
}

/// Changes `id3` of nearly all rows, and gives what it is then, by `id`.
fn keys(s: &mut Session, rows: &Rows) -> Result<Vec<u64>, Error> {
    let (third, all) = (rows.third, rows.all);
    let half = third / 2;
    // Half of the highest third, one by one.
    s.time("update_of_key", half, |s| {
        rows.shuffled[..half as usize].iter().try_for_each(|key| {
            let id = key + third;
            s.change(&format!("UPDATE bench1 SET id3 = -{id} WHERE id3 = {id}"), 1)
        })
    })?;
    // The two lower thirds in pieces. The row with 0 stays what it is, and so is changed by each statement.
    let step = third / rows.ranges + 1;
    let pieces = third.div_ceil(step);
    let negate = |range: &str| format!("UPDATE bench1 SET id3 = 0 - id3 WHERE id3 >= {range}");
    let restore = format!("UPDATE bench1 SET id3 = (0 - id3) {} {DIVISOR} WHERE id3 < 0", s.dialect.quotient);
    let left = 1 + third - half;
    s.time("update_of_key_big", pieces + 3, |s| {
        for piece in 0..pieces {
            s.change(&negate(&format!("0 AND id3 <= {}", piece * step)), if piece == 0 { 1 } else { step + 1 })?;
        }
        s.change(&negate(&format!("0 AND id3 < {third}")), third - (pieces - 1) * step)?;
        s.change(&negate(&format!("{third} AND id3 < {}", 2 * third)), third)?;
        s.integer("SELECT count(*) FROM bench1 WHERE id3 >= 0", Some(left as i64))?;
        s.change(&restore, all - left)
    })?;
    let mut ids: Vec<u64> = (0..all).map(|id| if id < 2 * third { id / DIVISOR } else { id }).collect();
    for key in &rows.shuffled[..half as usize] {
        let id = key + third;
        ids[id as usize] = id / DIVISOR;
    }
    Ok(ids)
}

fn texts(s: &mut Session, rows: &Rows) -> Result<(), Error> {
    let (third, all) = (rows.third, rows.all);
    s.repeat("update_with_key", all, all, |s, id| {
        s.change(&format!("UPDATE bench1 SET dummy1 = 'updated' WHERE id = {id} AND id2 = {id}"), 1)
    })?;
    s.repeat("update_with_key_prefix", third, third, |s, turn| {
        s.change(&format!("UPDATE bench1 SET dummy1 = 'updated' WHERE id = {}", 3 * turn + 1), 1)
    })?;
    s.repeat("update_big", rows.few, rows.few, |s, turn| {
        s.change(&format!("UPDATE bench1 SET dummy1 = 'updated {turn}'"), all)
    })
}

/// The table with itself: some rows meet twenty, most none.
fn joins(s: &mut Session, rows: &Rows, ids: &[u64]) -> Result<(), Error> {
    let mut is_met = vec![false; ids.len()];
    ids.iter().for_each(|id3| is_met[*id3 as usize] = true);
    let alone = is_met.iter().filter(|is_met| !**is_met).count() as i64;
    let met = rows.all as i64;
    let join = "FROM bench1 a LEFT OUTER JOIN bench1 b ON (a.id2 = b.id3)";
    let texts = "SELECT count(a.dummy1), count(b.dummy1)";
    let few = rows.few;
    let count = format!("SELECT count(*) {join}");
    s.repeat("outer_join_on_key", few, few, |s, _| s.integer(&count, Some(met + alone)))?;
    let both = format!("{texts} {join}");
    s.repeat("outer_join", few, few, |s, _| s.integer(&both, Some(met + alone)))?;
    let found = format!("{texts} {join} WHERE b.id3 IS NOT NULL");
    s.repeat("outer_join_found", few, few, |s, _| s.integer(&found, Some(met)))?;
    let not_found = format!("{texts} {join} WHERE b.id3 IS NULL");
    // As often as the others; the suite prints its number of ranges.
    s.repeat("outer_join_not_found", rows.ranges, few, |s, _| s.integer(&not_found, Some(alone)))
}

fn copies(s: &mut Session, rows: &Rows) -> Result<(), Error> {
    s.create("bench2", &COLUMNS, &[PRIMARY])?;
    s.create("bench3", &COLUMNS, &[PRIMARY, Key::Index("id3")])?;
    for (operation, table) in [("insert_select_1_key", "bench2"), ("insert_select_2_keys", "bench3")] {
        s.time(operation, 1, |s| s.change(&format!("INSERT INTO {table} SELECT * FROM bench1"), rows.all))?;
        s.drop_table(table)?;
    }
    Ok(())
}

/// By keys of which half are gone since they were changed, then in ever larger ranges.
fn deletes(s: &mut Session, rows: &Rows, ids: Vec<u64>) -> Result<(), Error> {
    let (third, all) = (rows.third, rows.all);
    let mut left: Vec<(u64, u64)> = (0..).zip(ids).collect();
    let mut without = |is_deleted: &dyn Fn(u64, u64) -> bool| {
        let before = left.len();
        left.retain(|(id, id3)| !is_deleted(*id, *id3));
        (before - left.len()) as u64
    };
    let gone: Vec<u64> = rows.shuffled.iter().step_by(10).map(|key| key + third).collect();
    let there = gone.iter().skip(rows.shuffled[..(third / 2) as usize].len().div_ceil(10));
    let is_there: std::collections::BTreeSet<u64> = there.copied().collect();
    without(&|_, id3| is_there.contains(&id3));
    s.time("delete_key", gone.len() as u64, |s| {
        gone.iter().try_for_each(|id| {
            s.change(&format!("DELETE FROM bench1 WHERE id3 = {id}"), u64::from(is_there.contains(id)))
        })
    })?;
    let mut ranges: Vec<(String, u64)> = Vec::new();
    for end in (0..10).map(|tenth| tenth * (third / 10)).chain([third]) {
        ranges.push((format!("id3 >= 0 AND id3 <= {end}"), without(&|_, id3| id3 <= end)));
    }
    let middle = without(&|id, _| (third..=2 * third).contains(&id));
    ranges.push((format!("id >= {third} AND id <= {}", 2 * third), middle));
    // The suite does not count the last.
    let count = ranges.len() as u64;
    ranges.push((format!("id3 < {all}"), without(&|_, _| true)));
    s.time("delete_range", count, |s| {
        ranges.iter().try_for_each(|(range, rows)| s.change(&format!("DELETE FROM bench1 WHERE {range}"), *rows))
    })
}
