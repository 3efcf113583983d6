//! `select`: rows found by parts of keys of several columns, by hundreds of alternatives, counted and grouped.

use super::Test;
use super::dialect::{Column, Key, Type, column};
use super::session::Session;
use super::shuffle::Walk;
use load::workload::Error;
use std::collections::BTreeSet;

pub static TEST: Test = Test {
    name: "select",
    operations: "insert select_cache select_cache2 select_big select_range min_max_on_key count_on_key \
        count_group_on_key_parts count_distinct_key_prefix count_distinct count_distinct_2 \
        count_distinct_group_on_key count_distinct_group_on_key_parts count_distinct_group count_distinct_big",
    run,
};

const COLUMNS: [Column; 4] = [
    column("region", Type::Char(1)),
    column("idn", Type::Integer),
    column("rev_idn", Type::Integer),
    column("grp", Type::Integer),
];

const KEYS: [Key; 3] = [Key::Primary("region, idn"), Key::Unique("region, rev_idn"), Key::Unique("region, grp, idn")];

const REGIONS: u64 = 6;
const GROUPS: u64 = 100;

/// Answers repeat after so many rows: the least common multiple of both.
const PERIOD: u64 = 300;

/// Alternatives of a long condition.
const ALTERNATIVES: u64 = 500;

/// The table as we know it, to tell answers beforehand.
struct Model {
    count: u64,
}

#[derive(Clone, Copy)]
struct Row {
    region: char,
    idn: u64,
    rev_idn: u64,
    grp: u64,
}

impl Model {
    fn rows(&self) -> impl DoubleEndedIterator<Item = Row> + '_ {
        (0..self.count).map(|idn| Row {
            region: region(idn % REGIONS),
            idn,
            rev_idn: self.count - 1 - idn,
            grp: idn * 3 % GROUPS,
        })
    }

    fn count(&self, is_meant: impl Fn(Row) -> bool) -> u64 {
        self.rows().filter(|row| is_meant(*row)).count() as u64
    }
}

fn region(number: u64) -> char {
    char::from(b'A' + number as u8)
}

fn run(s: &mut Session) -> Result<(), Error> {
    let model = Model { count: s.loops.of(10_000, 100) };
    s.connect()?;
    s.create("bench1", &COLUMNS, &KEYS)?;
    let row = |row: Row| format!("('{}', {}, {}, {})", row.region, row.idn, row.rev_idn, row.grp);
    s.time("insert", model.count, |s| s.insert("bench1", model.rows().map(row)))?;
    caches(s, &model)?;
    parts_of_keys(s, &model)?;
    alternatives(s, &model)?;
    minima(s, &model)?;
    counts(s, &model)?;
    groups(s, &model)?;
    s.drop_table("bench1")
}

/// The same question again and again, and one that differs each time: a cache of answers knows the first only.
fn caches(s: &mut Session, model: &Model) -> Result<(), Error> {
    let loops = s.loops.of(10_000, 1);
    let ids: u64 = model.rows().map(|row| row.idn).sum();
    let question = |plus: u64| format!("SELECT sum(idn + {plus}), sum(rev_idn - {plus}) FROM bench1");
    let answer = |plus: u64| Some((ids + plus * model.count) as i64);
    s.integer(&question(1000), answer(1000))?;
    s.repeat("select_cache", loops, loops, |s, _| s.integer(&question(100), answer(100)))?;
    s.repeat("select_cache2", loops, loops, |s, turn| s.integer(&question(turn), answer(turn)))
}

fn parts_of_keys(s: &mut Session, model: &Model) -> Result<(), Error> {
    let loops = s.loops.of(10, 1);
    let queries = |turn: u64| {
        // One region more than there are.
        let (of, grp) = (region(turn % (REGIONS + 1)), turn * 11 % GROUPS);
        let (is_of, is_group) = (|row: &Row| row.region == of, |row: &Row| row.grp == grp);
        let until = |last: char| {
            let rows = model.count(|row| ('B'..=last).contains(&row.region) && is_group(&row));
            (format!("region >= 'B' AND region <= '{last}' AND grp = {grp}"), rows)
        };
        [
            (format!("region = '{of}'"), model.count(|row| is_of(&row))),
            (format!("region = '{of}' AND idn = {turn}"), model.count(|row| is_of(&row) && row.idn == turn)),
            (format!("region = '{of}' AND rev_idn = {turn}"), model.count(|row| is_of(&row) && row.rev_idn == turn)),
            (format!("region = '{of}' AND grp = {grp}"), model.count(|row| is_of(&row) && is_group(&row))),
            until('C'),
            until('E'),
            (format!("grp = {grp}"), model.count(|row| is_group(&row))),
        ]
    };
    let asked: Vec<_> = (0..loops).map(queries).collect();
    s.repeat("select_big", 7 * loops, loops, |s, turn| {
        let queries = &asked[turn as usize];
        queries.iter().try_for_each(|(asked, rows)| s.rows(&format!("SELECT idn FROM bench1 WHERE {asked}"), *rows))
    })
}

/// Conditions of 500 alternatives, written with OR and with IN, over one part of a key and over two.
fn alternatives(s: &mut Session, model: &Model) -> Result<(), Error> {
    let loops = s.loops.of(10, 1);
    let mut walk = Walk::from(0);
    let mut queries = |turn: u64| {
        let of = region(turn % (REGIONS + 1));
        let mut pairs = vec![('A', 1)];
        pairs.extend((1..ALTERNATIVES).map(|counter| {
            let drawn = walk.step(counter, 100_000);
            (region(drawn % REGIONS), drawn % GROUPS)
        }));
        let (listed, groups): (BTreeSet<(char, u64)>, BTreeSet<u64>) =
            (pairs.iter().copied().collect(), pairs.iter().map(|pair| pair.1).collect());
        let joined = |words: Vec<String>, between: &str| words.join(between);
        let one = joined(pairs.iter().map(|(_, grp)| format!("grp = {grp}")).collect(), " OR ");
        let list = joined(pairs.iter().map(|(_, grp)| grp.to_string()).collect(), ", ");
        let two = joined(pairs.iter().map(|(of, grp)| format!("region = '{of}' AND grp = {grp}")).collect(), " OR ");
        let one = format!("region = '{of}' AND ({one})");
        let is_one = |row: &Row| row.region == of && groups.contains(&row.grp);
        let is_two = |row: &Row| listed.contains(&(row.region, row.grp));
        let harder = format!("(({one}) OR (region = 'A' AND grp < 10)) AND region <= 'B'");
        let once = (format!("region = '{of}' AND grp IN ({list})"), model.count(|row| is_one(&row)));
        let often = [
            (one.clone(), model.count(|row| is_one(&row))),
            (two, model.count(|row| is_two(&row))),
            (format!("({one}) AND idn < 50"), model.count(|row| is_one(&row) && row.idn < 50)),
            (harder, model.count(|row| (is_one(&row) || row.region == 'A' && row.grp < 10) && row.region <= 'B')),
        ];
        (once, often)
    };
    let asked: Vec<_> = (0..loops).map(&mut queries).collect();
    s.repeat("select_range", 41 * loops, loops, |s, turn| {
        let (once, often) = &asked[turn as usize];
        let mut ask = |(asked, rows): &(String, u64)| s.rows(&format!("SELECT * FROM bench1 WHERE {asked}"), *rows);
        ask(once)?;
        (0..10).try_for_each(|_| often.iter().try_for_each(&mut ask))
    })
}

/// The region and group that a turn asks for.
fn asked_in(turn: u64) -> (char, u64) {
    (region(turn % REGIONS), turn * 3 % GROUPS)
}

fn minima(s: &mut Session, model: &Model) -> Result<(), Error> {
    let loops = s.loops.of(10_000, 1);
    let first_and_last = |turn: u64| {
        let (of, grp) = asked_in(turn);
        let mine: Vec<Row> = model.rows().filter(|row| row.region == of).collect();
        let largest_idn = mine.iter().rev().find(|row| row.grp == grp).map(|row| row.idn as i64);
        let largest_group = mine.iter().map(|row| row.grp as i64).max();
        let smallest_rev_idn = mine.iter().map(|row| row.rev_idn as i64).min();
        (smallest_rev_idn, largest_group, largest_idn)
    };
    let answers: Vec<_> = (0..PERIOD.min(loops)).map(first_and_last).collect();
    let last = region(REGIONS - 1).to_string();
    s.repeat("min_max_on_key", 7 * loops, loops, |s, turn| {
        let (of, grp) = asked_in(turn);
        let (smallest_rev_idn, largest_group, largest_idn) = answers[(turn % PERIOD) as usize];
        s.word("SELECT min(region) FROM bench1", Some("A"))?;
        s.word("SELECT max(region) FROM bench1", Some(&last))?;
        s.word("SELECT min(region), max(region) FROM bench1", Some("A"))?;
        s.integer(&format!("SELECT min(rev_idn) FROM bench1 WHERE region = '{of}'"), smallest_rev_idn)?;
        s.integer(&format!("SELECT max(grp) FROM bench1 WHERE region = '{of}'"), largest_group)?;
        s.integer(&format!("SELECT max(idn) FROM bench1 WHERE region = '{of}' AND grp = {grp}"), largest_idn)?;
        let before = (of > 'A').then(|| char::from(of as u8 - 1).to_string());
        s.word(&format!("SELECT max(region) FROM bench1 WHERE region < '{of}'"), before.as_deref())
    })
}

fn counts(s: &mut Session, model: &Model) -> Result<(), Error> {
    let loops = s.loops.of(10_000, 1);
    let queries = |turn: u64| {
        let (of, grp) = asked_in(turn);
        let is_mine = |row: &Row| row.region == of;
        [
            (format!("region = '{of}'"), model.count(|row| is_mine(&row))),
            (format!("region = '{of}' AND grp = {grp}"), model.count(|row| is_mine(&row) && row.grp == grp)),
            (format!("region > '{of}'"), model.count(|row| row.region > of)),
            (format!("region <= '{of}'"), model.count(|row| row.region <= of)),
            (format!("region = '{of}' AND grp > {grp}"), model.count(|row| is_mine(&row) && row.grp > grp)),
        ]
    };
    let asked: Vec<_> = (0..PERIOD.min(loops)).map(queries).collect();
    s.repeat("count_on_key", 5 * loops, loops, |s, turn| {
        let queries = &asked[(turn % PERIOD) as usize];
        let mut count = |(asked, rows): &(String, u64)| {
            s.integer(&format!("SELECT count(*) FROM bench1 WHERE {asked}"), Some(*rows as i64))
        };
        queries.iter().try_for_each(&mut count)
    })
}

fn groups(s: &mut Session, model: &Model) -> Result<(), Error> {
    let loops = s.loops.of(1000, 1);
    let few = s.loops.of(100, 1);
    let groups = GROUPS.min(model.count);
    let grouped =
        |column: &str, counted: &str| format!("SELECT {column}, count({counted}) FROM bench1 GROUP BY {column}");
    for (operation, times, sql, rows) in [
        ("count_group_on_key_parts", loops, grouped("grp", "*"), groups),
        ("count_distinct_key_prefix", loops, "SELECT count(DISTINCT region) FROM bench1".into(), 1),
        ("count_distinct", loops, "SELECT count(DISTINCT grp) FROM bench1".into(), 1),
        ("count_distinct_2", loops, "SELECT count(DISTINCT grp), count(DISTINCT rev_idn) FROM bench1".into(), 1),
        ("count_distinct_group_on_key", loops, grouped("region", "DISTINCT idn"), REGIONS),
        ("count_distinct_group_on_key_parts", loops, grouped("grp", "DISTINCT idn"), groups),
        ("count_distinct_group", loops, grouped("grp", "DISTINCT rev_idn"), groups),
        ("count_distinct_big", few, grouped("idn", "DISTINCT region"), model.count),
    ] {
        s.repeat(operation, times, times, |s, _| s.rows(&sql, rows))?;
    }
    Ok(())
}
