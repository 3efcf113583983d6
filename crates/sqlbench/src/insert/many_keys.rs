//! A table in which every column is a key, and all together the first.

use super::Rows;
use crate::create::{KEYS, columns_of_every_type, numbered_columns};
use crate::dialect::{Key, Type, column};
use crate::session::Session;
use load::workload::Error;

/// Values of the column that rows are found by.
const GROUPS: u64 = 128;

/// Texts of a row: all columns but the first seven.
const TEXTS: usize = KEYS - 7;

/// Characters of such a text: six, as in the suite, or more where a factor above 5 makes keys longer.
fn text_width(third: u64) -> u32 {
    (2 * third - 1).to_string().len().max(6) as u32
}

/// A row by its number and its key, of which columns of two and three bytes hold as much as they can.
fn row(number: u64, key: u64) -> String {
    let (group, small, medium) = (number % GROUPS, number & 0x7fff, key & 0x7f_ffff);
    let texts = vec![format!("'{key}'"); TEXTS].join(", ");
    format!("({group}, {group}, {medium}, {small}, 'ABCDEF{key}', 0, {key}, {key}.0, {texts})")
}

pub fn run(s: &mut Session, rows: &Rows) -> Result<(), Error> {
    let third = rows.third;
    let names = numbered_columns();
    let mut columns = columns_of_every_type(&names, text_width(third));
    columns.insert(1, column("field_search", Type::Tiny));
    let all = names.join(", ");
    let mut keys = vec![Key::Primary(&all), Key::Index("field_search")];
    keys.extend(names[2..].iter().map(|name| Key::Index(name)));
    s.create("bench1", &columns, &keys)?;

    let all_rows = (0..).zip(&rows.shuffled).map(|(number, key)| row(number, *key));
    s.time("insert_key", third, |s| s.insert("bench1", all_rows))?;
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Servers refuse what a column does not hold, after all the hours that a large factor takes.
    #[test]
    fn a_row_fits_its_columns_whatever_the_factor() {
        for third in [100_000, 500_001, 100_000_000] {
            let row = row(third - 1, 2 * third - 1);
            let values: Vec<&str> = row.trim_matches(['(', ')']).split(", ").collect();
            let number = |at: usize| values[at].parse::<u64>().expect("a number");
            assert_eq!(values.len(), KEYS + 1, "one more, by which rows are found");
            assert!(number(0) < 128 && number(1) < 128 && number(2) < 1 << 23 && number(3) < 1 << 15, "{row}");
            let length = |text: &str| text.trim_matches('\'').len();
            assert!(length(values[4]) <= 16, "{row}");
            assert!(values[8..].iter().all(|text| length(text) <= text_width(third) as usize), "{row}");
        }
        assert_eq!(text_width(100_000), 6, "the suite's own");
        assert!(row(0, 199_999).starts_with("(0, 0, 199999, 0, 'ABCDEF199999', 0, 199999, 199999.0, '199999'"));
    }
}
