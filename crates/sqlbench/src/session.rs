//! What every test of the suite works with: a connection, the clocks of its operations, and checks of what comes back.

use super::dialect::{self, Column, Key};
use load::sql::{Database, Dialect, Place};
use load::workload::{Context, Error};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use std::fmt::Display;
use std::ops::{AddAssign, Sub};
use std::time::{Duration, Instant};
use wire::{Conflict, Connection, Value};

/// A statement with several rows is about this long: below every server's limit.
const STATEMENT_BYTES: usize = 64 << 10;

/// A server that has no connection left just now is asked again so often, as the suite does: those that were closed a moment
/// ago may not have ended yet.
const CONNECT_TRIES: u32 = 20;

/// "Too many connections", of PostgreSQL and of MySQL.
const TOO_MANY_CONNECTIONS: [&str; 2] = ["53300", "1040"];

/// How much of a statement an error shows.
const SHOWN_CHARACTERS: usize = 160;

/// The suite's loop counts times a factor.
#[derive(Debug, Clone, Copy)]
pub struct Loops(pub f64);

impl Loops {
    /// A classic count times the factor, at least `least`.
    pub fn of(self, classic: u64, least: u64) -> u64 {
        ((classic as f64 * self.0).round() as u64).max(least)
    }

    /// The same for rows and columns, which a factor above 1 does not raise: statements name some of them.
    pub fn at_most(self, classic: u64, least: u64) -> u64 {
        Loops(self.0.min(1.0)).of(classic, least)
    }
}

/// Time by the clock, and of this thread's processor.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Spent {
    pub seconds: f64,
    pub user_seconds: f64,
    pub system_seconds: f64,
}

impl Spent {
    fn new(seconds: f64, [user_seconds, system_seconds]: [f64; 2]) -> Spent {
        Spent { seconds, user_seconds, system_seconds }
    }

    fn times(self, factor: f64) -> Spent {
        let of_processor = [self.user_seconds, self.system_seconds].map(|seconds| seconds * factor);
        Spent::new(self.seconds * factor, of_processor)
    }
}

impl AddAssign for Spent {
    fn add_assign(&mut self, other: Spent) {
        load::add_up! { self, other; seconds, user_seconds, system_seconds }
    }
}

impl Sub for Spent {
    type Output = Spent;

    fn sub(self, other: Spent) -> Spent {
        let of_processor = [self.user_seconds - other.user_seconds, self.system_seconds - other.system_seconds];
        Spent::new(self.seconds - other.seconds, of_processor)
    }
}

/// An operation as it was timed once.
#[derive(Debug, Clone)]
pub struct Timing {
    pub operation: &'static str,
    /// How often, as the suite counts it.
    pub count: u64,
    /// Of the whole loop, extrapolated where it was cut.
    pub spent: Spent,
    pub is_cut: bool,
    /// What the clocks said, where it was cut.
    measured: Spent,
}

/// How first columns must come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sorted {
    Up,
    Down,
}

/// A test at work.
pub struct Session<'a, 'b> {
    pub dialect: &'static Dialect,
    pub loops: Loops,
    /// Whether rows go in by statements of many rows, in one transaction.
    pub is_fast: bool,
    /// A loop that takes longer is cut, where nothing depends on its end.
    pub limit: Duration,
    database: &'a dyn Database,
    place: &'a Place,
    context: &'a mut Context<'b>,
    connection: Option<Box<dyn Connection>>,
    timings: Vec<Timing>,
    /// What went into checks of ours since the test began.
    apart: Spent,
    started: Instant,
    seconds_told: u64,
    /// Off for a database of tests that counts statements and answers none.
    checks_answers: bool,
}

impl<'a, 'b> Session<'a, 'b> {
    pub fn new(database: &'a dyn Database, place: &'a Place, context: &'a mut Context<'b>, loops: Loops) -> Self {
        Session {
            dialect: database.dialect(),
            loops,
            is_fast: false,
            limit: Duration::MAX,
            database,
            place,
            context,
            connection: None,
            timings: Vec::new(),
            apart: Spent::default(),
            started: Instant::now(),
            seconds_told: 0,
            checks_answers: true,
        }
    }

    /// What drawn data follow.
    pub fn seed(&self) -> u64 {
        self.context.seed
    }

    #[cfg(test)]
    pub fn unchecked(mut self) -> Self {
        self.checks_answers = false;
        self
    }

    /// Runs a whole test: its operations, and what it took in all. That has what the cut loops would have taken longer.
    pub fn test(&mut self, act: impl FnOnce(&mut Self) -> Result<(), Error>) -> Result<(Vec<Timing>, Spent), Error> {
        let began = Clocks::now();
        act(self)?;
        self.disconnect();
        let mut spent = began.since() - std::mem::take(&mut self.apart);
        let timings = std::mem::take(&mut self.timings);
        for timing in timings.iter().filter(|timing| timing.is_cut) {
            spent += timing.spent - timing.measured;
        }
        Ok((timings, spent))
    }

    /// Does what is no part of the test, as it asks nothing of the database.
    pub fn apart<T>(&mut self, act: impl FnOnce() -> T) -> T {
        let began = Clocks::now();
        let result = act();
        self.apart += began.since();
        result
    }

    /// Times an operation that is done as a whole. `count` is what the suite prints for it.
    pub fn time<T>(
        &mut self,
        operation: &'static str,
        count: u64,
        act: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let began = Clocks::now();
        let result = act(self)?;
        let spent = began.since();
        self.timings.push(Timing { operation, count, spent, is_cut: false, measured: spent });
        Ok(result)
    }

    /// Times a loop that may be cut: `count` is what the suite prints for all `turns`.
    pub fn repeat(
        &mut self,
        operation: &'static str,
        count: u64,
        turns: u64,
        mut act: impl FnMut(&mut Self, u64) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let began = Clocks::now();
        let mut done = 0;
        while done < turns && (done == 0 || began.at.elapsed() < self.limit) {
            act(self, done)?;
            done += 1;
        }
        let measured = began.since();
        let is_cut = done < turns;
        let spent = if is_cut { measured.times(turns as f64 / done as f64) } else { measured };
        self.timings.push(Timing { operation, count, spent, is_cut, measured });
        Ok(())
    }

    /// Connects, with patience for servers that have no connection left for the moment.
    pub fn connect(&mut self) -> Result<(), Error> {
        for tried in 1.. {
            match self.database.connect(self.place) {
                Ok(connection) => {
                    self.connection = Some(connection);
                    break;
                }
                Err(error) if tried < CONNECT_TRIES && is_too_many(&error) => {
                    std::thread::sleep(Duration::from_millis(10) * tried);
                }
                Err(error) => return Err(error),
            }
        }
        self.tick()
    }

    pub fn disconnect(&mut self) {
        self.connection = None;
    }

    /// A statement whose answer is of no interest: CREATE, DROP, COMMIT.
    pub fn statement(&mut self, sql: &str) -> Result<(), Error> {
        self.execute(sql, &mut |_| {}).map(drop)
    }

    /// A statement that must change so many rows.
    pub fn change(&mut self, sql: &str, expected: u64) -> Result<(), Error> {
        let changed = self.execute(sql, &mut |_| {})?;
        self.same("changed rows of", sql, expected, changed)
    }

    /// A query that must give so many rows.
    pub fn rows(&mut self, sql: &str, expected: u64) -> Result<(), Error> {
        let mut found = 0;
        self.execute(sql, &mut |_| found += 1)?;
        self.same("rows of", sql, expected, found)
    }

    /// A query that must give so many rows, by their first column.
    pub fn sorted(&mut self, sql: &str, order: Sorted, expected: u64) -> Result<(), Error> {
        let (mut found, mut disorder, mut last) = (0, 0, None);
        self.execute(sql, &mut |value| {
            let this = value.integer();
            let is_right = match order {
                Sorted::Up => last <= this,
                Sorted::Down => last.is_none() || last >= this,
            };
            disorder += u64::from(!is_right);
            last = this;
            found += 1;
        })?;
        self.same("rows of", sql, expected, found)?;
        self.same("rows out of order in", sql, 0, disorder)
    }

    /// A query that must give one row with this number first, or NULL.
    pub fn integer(&mut self, sql: &str, expected: Option<i64>) -> Result<(), Error> {
        let mut found = Vec::new();
        self.execute(sql, &mut |value| found.push(value.integer()))?;
        self.same("answer of", sql, Listed(&[expected]), Listed(&found))
    }

    /// A query that must give one row with this text first, or NULL.
    pub fn word(&mut self, sql: &str, expected: Option<&str>) -> Result<(), Error> {
        let mut found = Vec::new();
        self.execute(sql, &mut |value| found.push(value.text().map(|text| text.trim_end().to_string())))?;
        self.same("answer of", sql, Listed(&[expected.map(String::from)]), Listed(&found))
    }

    /// A query that must give one row with a text of so many bytes first.
    pub fn text_of_bytes(&mut self, sql: &str, expected: usize) -> Result<(), Error> {
        let mut found = 0;
        self.execute(sql, &mut |value| found += value.text().map_or(0, str::len))?;
        self.same("bytes of the answer of", sql, expected, found)
    }

    /// An insert that must be refused because its key is there already.
    pub fn duplicate(&mut self, sql: &str) -> Result<(), Error> {
        self.tick()?;
        let found = match self.connection().execute_text(sql, &mut |_| {}) {
            Err(error) if error.conflict() == Some(Conflict::DuplicateKey) => return Ok(()),
            Err(error) => return Err(self.failed(sql, error)),
            Ok(_) => "it was taken",
        };
        self.same("answer of", sql, "a refusal of the duplicate key", found)
    }

    /// Makes a table with its keys.
    pub fn create(&mut self, table: &str, columns: &[Column], keys: &[Key]) -> Result<(), Error> {
        dialect::create(self.dialect, table, columns, keys).iter().try_for_each(|sql| self.statement(sql))
    }

    pub fn drop_table(&mut self, table: &str) -> Result<(), Error> {
        self.statement(&format!("DROP TABLE {table}"))
    }

    /// Inserts rows, each written `(1, 'a')`: one statement and one commit each, or many of both where that is asked for.
    pub fn insert(&mut self, table: &str, mut rows: impl Iterator<Item = String>) -> Result<(), Error> {
        if self.is_fast {
            return self.insert_together(table, rows);
        }
        rows.try_for_each(|row| self.change(&format!("INSERT INTO {table} VALUES {row}"), 1))
    }

    /// Inserts rows by statements of many rows, in one transaction when that is asked for.
    pub fn insert_together(&mut self, table: &str, rows: impl Iterator<Item = String>) -> Result<(), Error> {
        let head = format!("INSERT INTO {table} VALUES ");
        let (mut sql, mut count) = (head.clone(), 0);
        if self.is_fast {
            self.begin()?;
        }
        for row in rows {
            if count > 0 {
                sql.push(',');
            }
            sql.push_str(&row);
            count += 1;
            if sql.len() > STATEMENT_BYTES {
                self.change(&sql, count)?;
                sql.clone_from(&head);
                count = 0;
            }
        }
        if count > 0 {
            self.change(&sql, count)?;
        }
        if self.is_fast { self.statement("COMMIT") } else { Ok(()) }
    }

    pub fn begin(&mut self) -> Result<(), Error> {
        let sql = self.database.begin();
        self.statement(sql)
    }

    /// Wrong data unless both read the same.
    fn same<T: Display + PartialEq>(&self, what: &str, sql: &str, expected: T, found: T) -> Result<(), Error> {
        if expected == found || !self.checks_answers {
            return Ok(());
        }
        let (expected, found) = (expected.to_string(), found.to_string());
        Err(Error::wrong_data(format!("{what} {:?}", shown(sql)), expected, found))
    }

    fn execute(&mut self, sql: &str, row: &mut dyn FnMut(Value)) -> Result<u64, Error> {
        self.tick()?;
        self.connection().execute_text(sql, row).map_err(|error| self.failed(sql, error))
    }

    fn connection(&mut self) -> &mut dyn Connection {
        &mut **self.connection.as_mut().expect("every test connects before its first statement")
    }

    fn failed(&self, sql: &str, error: wire::Error) -> Error {
        Error::engine(self.database.name(), format!("run {:?}", shown(sql)), error)
    }

    /// Tells the time once a second, and gives up when the user interrupts.
    fn tick(&mut self) -> Result<(), Error> {
        Error::if_interrupted(self.context.interrupted)?;
        let elapsed = self.started.elapsed();
        if elapsed.as_secs() > self.seconds_told {
            self.seconds_told = elapsed.as_secs();
            (self.context.progress)(elapsed.as_secs_f64(), elapsed.as_secs_f64());
        }
        Ok(())
    }
}

/// Values of an answer, to be compared and shown.
#[derive(PartialEq)]
struct Listed<'a, T>(&'a [Option<T>]);

impl<T: Display> Display for Listed<'_, T> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let words: Vec<String> =
            self.0.iter().map(|value| value.as_ref().map_or("NULL".into(), ToString::to_string)).collect();
        write!(out, "{}", if words.is_empty() { "no row".into() } else { words.join(", ") })
    }
}

/// Clocks when something began.
struct Clocks {
    at: Instant,
    processor_seconds: [f64; 2],
}

impl Clocks {
    fn now() -> Clocks {
        let usage = getrusage(UsageWho::RUSAGE_THREAD).expect("a thread may ask for its own usage");
        let processor_seconds =
            [usage.user_time(), usage.system_time()].map(|time| time.num_microseconds() as f64 / 1e6);
        Clocks { at: Instant::now(), processor_seconds }
    }

    fn since(&self) -> Spent {
        let now = Clocks::now();
        let of_processor = [0, 1].map(|clock| now.processor_seconds[clock] - self.processor_seconds[clock]);
        Spent::new((now.at - self.at).as_secs_f64(), of_processor)
    }
}

fn is_too_many(error: &Error) -> bool {
    let Error::Engine { source, .. } = error else { return false };
    let code = source.downcast_ref::<wire::Error>();
    matches!(code, Some(wire::Error::Refused { code, .. }) if TOO_MANY_CONNECTIONS.contains(&code.as_str()))
}

fn shown(sql: &str) -> String {
    let mut short: String = sql.chars().take(SHOWN_CHARACTERS).collect();
    if short.len() < sql.len() {
        short.push('…');
    }
    short
}
