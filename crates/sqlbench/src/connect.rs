//! `connect`: how fast connections come and go, and how fast small answers and one of 65,000 bytes come back.

use super::Test;
use super::dialect::{Key, Type, column, optional};
use super::session::Session;
use load::workload::Error;

pub static TEST: Test = Test {
    name: "connect",
    operations: "connect connect+select_simple select_simple select_simple_cache connect+select_1_row select_1_row \
        select_1_row_cache select_2_rows select_column+column select_big_str",
    run,
};

/// Bytes of the long text.
const LONG_BYTES: usize = 65_000;

fn run(s: &mut Session) -> Result<(), Error> {
    let many = s.loops.of(100_000, 10);
    let few = many / 10;
    s.repeat("connect", few, few, |s, _| {
        s.connect()?;
        s.disconnect();
        Ok(())
    })?;
    s.repeat("connect+select_simple", few, few, |s, turn| {
        s.connect()?;
        s.integer(&format!("SELECT {turn}"), Some(turn as i64))?;
        s.disconnect();
        Ok(())
    })?;
    s.connect()?;
    s.repeat("select_simple", many, many, |s, turn| s.integer(&format!("SELECT {turn}"), Some(turn as i64)))?;
    s.repeat("select_simple_cache", many, many, |s, _| s.integer("SELECT 10000", Some(10_000)))?;
    small_answers(s, many, few)?;
    long_answers(s, few)
}

fn small_answers(s: &mut Session, many: u64, few: u64) -> Result<(), Error> {
    let columns = [column("a", Type::Integer), optional("i", Type::Integer), optional("s", Type::Char(10))];
    s.create("bench1", &columns, &[Key::Primary("a")])?;
    s.change("INSERT INTO bench1 VALUES (1, 100, 'AAA')", 1)?;
    s.disconnect();
    s.repeat("connect+select_1_row", few, few, |s, turn| {
        s.connect()?;
        s.rows(&format!("SELECT a, i, s, {turn} FROM bench1"), 1)?;
        s.disconnect();
        Ok(())
    })?;
    s.connect()?;
    s.repeat("select_1_row", many, many, |s, turn| s.rows(&format!("SELECT a, i, s, {turn} FROM bench1"), 1))?;
    s.repeat("select_1_row_cache", many, many, |s, _| s.rows("SELECT a, i, s FROM bench1", 1))?;
    s.change("INSERT INTO bench1 VALUES (2, 200, 'BBB')", 1)?;
    s.repeat("select_2_rows", many, many, |s, turn| s.rows(&format!("SELECT a, i, s, {turn} FROM bench1"), 2))?;
    s.repeat("select_column+column", many, many, |s, turn| {
        s.rows(&format!("SELECT a + a + a + a + a + a + a + a + a + {turn} FROM bench1"), 2)
    })?;
    s.drop_table("bench1")
}

fn long_answers(s: &mut Session, few: u64) -> Result<(), Error> {
    s.create("bench1", &[optional("b", Type::Blob)], &[])?;
    s.change(&format!("INSERT INTO bench1 VALUES ('{}')", "A".repeat(LONG_BYTES)), 1)?;
    s.repeat("select_big_str", few, few, |s, turn| {
        s.text_of_bytes(&format!("SELECT b, {turn} FROM bench1"), LONG_BYTES)
    })?;
    s.drop_table("bench1")
}
