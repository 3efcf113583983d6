//! `create`: many tables at once, and tables that go as soon as they came.

use super::Test;
use super::dialect::{Column, Key, Type, column, optional};
use super::session::Session;
use load::workload::Error;

pub static TEST: Test = Test {
    name: "create",
    operations: "create_MANY_tables select_group_when_MANY_tables drop_table_when_MANY_tables create+drop \
        create_key+drop",
    run,
};

const COLUMNS: [Column; 5] = [
    column("i", Type::Integer),
    optional("d", Type::Double),
    optional("f", Type::Float),
    optional("s", Type::Char(10)),
    optional("v", Type::Varchar(100)),
];

/// The most columns that are keys by themselves, and that one key has.
pub const KEYS: usize = 16;

fn run(s: &mut Session) -> Result<(), Error> {
    let tables = s.loops.of(10_000, 1);
    s.connect()?;
    // Tables that are to be dropped must all be there: these loops are not cut.
    s.time("create_MANY_tables", tables, |s| {
        (0..tables).try_for_each(|table| s.create(&format!("bench_{table}"), &COLUMNS, &[Key::Primary("i")]))
    })?;
    s.repeat("select_group_when_MANY_tables", tables, tables, |s, table| {
        s.integer(&format!("SELECT count(*) FROM bench_{table}"), Some(0))
    })?;
    s.time("drop_table_when_MANY_tables", tables, |s| {
        (0..tables).try_for_each(|table| s.drop_table(&format!("bench_{table}")))
    })?;
    s.repeat("create+drop", tables, tables, |s, table| {
        s.create(&format!("bench_{table}"), &COLUMNS, &[Key::Primary("i")])?;
        s.drop_table(&format!("bench_{table}"))
    })?;
    let names = numbered_columns();
    let columns = columns_of_every_type(&names, 5);
    let all = names.join(", ");
    let keys: Vec<Key> =
        [Key::Primary(&all)].into_iter().chain(names[1..].iter().map(|name| Key::Index(name))).collect();
    s.repeat("create_key+drop", tables, tables, |s, table| {
        s.create(&format!("bench_{table}"), &columns, &keys)?;
        s.drop_table(&format!("bench_{table}"))
    })
}

/// `field1` to `field16`.
pub fn numbered_columns() -> Vec<String> {
    (1..=KEYS).map(|number| format!("field{number}")).collect()
}

/// Of the first seven columns each has a type of its own; the others are short texts.
pub fn columns_of_every_type(names: &[String], text: u32) -> Vec<Column<'_>> {
    let first =
        [Type::Tiny, Type::Medium, Type::Small, Type::Char(16), Type::Integer, Type::Float, Type::Double].into_iter();
    names.iter().zip(first.chain(std::iter::repeat(Type::Char(text)))).map(|(name, kind)| column(name, kind)).collect()
}
