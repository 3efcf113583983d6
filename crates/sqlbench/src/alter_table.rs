//! `alter-table`: columns come and go in a table that has rows, and indexes, too.

use super::Test;
use super::dialect::{Column, Type, column};
use super::session::Session;
use load::workload::Error;

pub static TEST: Test =
    Test { name: "alter-table", operations: "alter_table_add create_index drop_index alter_table_drop", run };

/// Columns that the table begins with, each of which gets an index later.
const COLUMNS: u64 = 8;

/// Columns that are added, at most: a thousand are in the table then, which every database here allows.
const ADDED: u64 = 992;

/// Columns that one statement adds or drops, where a statement may.
const AT_ONCE: u64 = 10;

fn run(s: &mut Session) -> Result<(), Error> {
    let added = s.loops.at_most(ADDED, AT_ONCE);
    let rows = s.loops.at_most(1000, 10);
    let at_once = if s.dialect.alters_many_columns { AT_ONCE } else { 1 };
    let steps = added.div_ceil(at_once);
    let columns_of_step =
        |step: u64| COLUMNS + 1 + step * at_once..(COLUMNS + 1 + (step + 1) * at_once).min(COLUMNS + 1 + added);
    let add = |step: u64| {
        let parts: Vec<String> = columns_of_step(step).map(|number| format!("ADD i{number} INTEGER")).collect();
        format!("ALTER TABLE bench {}", parts.join(", "))
    };

    s.connect()?;
    let names: Vec<String> = (1..=COLUMNS).map(|number| format!("i{number}")).collect();
    let columns: Vec<Column> = names.iter().map(|name| column(name, Type::Integer)).collect();
    s.create("bench", &columns, &[])?;
    // The suite times this, but prints it in a form that its own totals do not read.
    s.insert("bench", (0..rows).map(|row| format!("({})", vec![row.to_string(); columns.len()].join(", "))))?;

    let mut done = 0;
    s.repeat("alter_table_add", steps, steps, |s, step| {
        done = step + 1;
        s.statement(&add(step))
    })?;
    // Whatever was cut: all columns must be there to be dropped.
    (done..steps).try_for_each(|step| s.statement(&add(step)))?;
    s.time("create_index", COLUMNS, |s| {
        (1..=COLUMNS)
            .try_for_each(|number| s.statement(&format!("CREATE INDEX bench_ind{number} ON bench (i{number})")))
    })?;
    s.rows("SELECT * FROM bench", rows)?;
    s.time("drop_index", COLUMNS, |s| {
        (1..=COLUMNS).try_for_each(|number| s.statement(&s.dialect.drop_index("bench", &format!("bench_ind{number}"))))
    })?;
    s.repeat("alter_table_drop", steps, steps, |s, step| {
        // From the last column to the first.
        let parts: Vec<String> =
            columns_of_step(steps - 1 - step).rev().map(|number| format!("DROP COLUMN i{number}")).collect();
        s.statement(&format!("ALTER TABLE bench {}", parts.join(", ")))
    })?;
    s.rows("SELECT * FROM bench", rows)?;
    s.drop_table("bench")
}
