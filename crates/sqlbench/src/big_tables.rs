//! `big-tables`: a table of a thousand columns. All three databases take that many integers: a row of InnoDB may have 1,017
//! columns and 8,126 bytes, one of PostgreSQL 1,600 and 8 KiB, one of SQLite 2,000.

use super::Test;
use super::dialect::{Column, Type, optional};
use super::session::Session;
use load::workload::Error;

pub static TEST: Test = Test { name: "big-tables", operations: "select_many_fields insert_many_fields", run };

const COLUMNS: usize = 1000;

fn run(s: &mut Session) -> Result<(), Error> {
    let loops = s.loops.of(1000, 1);
    let names: Vec<String> = (1..=COLUMNS).map(|number| format!("i{number}")).collect();
    let columns: Vec<Column> = names.iter().map(|name| optional(name, Type::Integer)).collect();
    let (names, values) = (names.join(","), vec!["1"; COLUMNS].join(","));
    let insert = format!("INSERT INTO bench1 VALUES ({values})");
    s.connect()?;
    s.create("bench1", &columns, &[])?;
    s.change(&insert, 1)?;
    for select in ["SELECT * FROM bench1".to_string(), format!("SELECT {names} FROM bench1")] {
        s.repeat("select_many_fields", loops, loops, |s, _| s.integer(&select, Some(1)))?;
    }
    let mut rows = 1;
    for insert in [insert, format!("INSERT INTO bench1 ({names}) VALUES ({values})")] {
        s.repeat("insert_many_fields", loops, loops, |s, _| {
            rows += 1;
            s.change(&insert, 1)
        })?;
    }
    s.integer("SELECT count(*) FROM bench1", Some(rows))?;
    s.drop_table("bench1")
}
