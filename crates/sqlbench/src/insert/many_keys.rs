//! A table in which every column is a key, and all together the first.

use super::Rows;
use crate::create::{columns_of_every_type, numbered_columns};
use crate::dialect::{Key, Type, column};
use crate::session::Session;
use load::workload::Error;

/// Values of the column that rows are found by.
const GROUPS: u64 = 128;

pub fn run(s: &mut Session, rows: &Rows) -> Result<(), Error> {
    let names = numbered_columns();
    let mut columns = columns_of_every_type(&names, 6);
    columns.insert(1, column("field_search", Type::Tiny));
    let all = names.join(", ");
    let mut keys = vec![Key::Primary(&all), Key::Index("field_search")];
    keys.extend(names[2..].iter().map(|name| Key::Index(name)));
    s.create("bench1", &columns, &keys)?;

    let row = |(number, key): (u64, &u64)| {
        let (group, small) = (number % GROUPS, number & 0x7fff);
        let texts = vec![format!("'{key}'"); names.len() - 7].join(", ");
        format!("({group}, {group}, {key}, {small}, 'ABCDEF{key}', 0, {key}, {key}.0, {texts})")
    };
    let third = rows.third;
    s.time("insert_key", third, |s| s.insert("bench1", (0..).zip(&rows.shuffled).map(row)))?;
    let of_group = |group: u64| if group < GROUPS { (third + GROUPS - 1 - group) / GROUPS } else { 0 };
    s.repeat("update_of_primary_key_many_keys", 2 * GROUPS, 2 * GROUPS, |s, group| {
        s.change(&format!("UPDATE bench1 SET field5 = 1 WHERE field_search = {group}"), of_group(group))
    })?;
    s.time("delete_big_many_keys", GROUPS, |s| {
        (0..GROUPS).try_for_each(|group| {
            s.change(&format!("DELETE FROM bench1 WHERE field_search = {group}"), of_group(group))
        })
    })?;
    // Nothing is left to delete. The suite prints the time of the deletes before it here once more; ours is its own.
    s.time("delete_all_many_keys", 1, |s| s.change("DELETE FROM bench1 WHERE field1 > 0", 0))?;
    s.drop_table("bench1")
}
