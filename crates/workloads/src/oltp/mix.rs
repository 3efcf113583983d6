//! One transaction: which ids, which new values. Drawn before the clock starts.

use super::Parameters;
use super::keys::Keys;
use random::Random;
use serde::Deserialize;
use std::fmt::Write as _;

/// Whose rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum RowsLike {
    /// sysbench 1.0.
    #[serde(rename = "1.0")]
    One,
    /// sysbench 0.4.
    #[serde(rename = "0.4")]
    ZeroFour,
}

/// Point selects in a transaction.
pub const POINTS: usize = 10;

/// Keys of a `select-random-points` and ranges of a `select-random-ranges` (sysbench's `random_points`, `number_of_ranges`).
pub const RANDOM_COUNT: usize = 10;

/// Width of those ranges (sysbench's `delta`).
pub const RANDOM_DELTA: u64 = 5;

/// Which statements a transaction has: sysbench's scripts `oltp_*` and `select_random_*`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mixture {
    ReadWrite,
    ReadOnly,
    WriteOnly,
    PointSelect,
    UpdateIndex,
    UpdateNonIndex,
    Insert,
    Delete,
    SelectRandomPoints,
    SelectRandomRanges,
}

impl Mixture {
    /// Whether sysbench puts BEGIN and COMMIT around it.
    pub fn is_transaction(self) -> bool {
        matches!(self, Mixture::ReadWrite | Mixture::ReadOnly | Mixture::WriteOnly)
    }

    /// How many point selects it has.
    pub fn points(self) -> usize {
        match self {
            Mixture::ReadWrite | Mixture::ReadOnly => POINTS,
            Mixture::PointSelect => 1,
            _ => 0,
        }
    }

    /// Whether it selects ranges of ids.
    fn reads_ranges(self) -> bool {
        matches!(self, Mixture::ReadWrite | Mixture::ReadOnly)
    }

    /// Whether it changes rows.
    pub fn writes(self) -> bool {
        !matches!(
            self,
            Mixture::ReadOnly | Mixture::PointSelect | Mixture::SelectRandomPoints | Mixture::SelectRandomRanges
        )
    }
}

/// Everything that one transaction needs to know.
#[derive(Debug, Clone, Default)]
pub struct Transaction {
    /// Table, from 1.
    pub table: u32,
    /// Point selects.
    pub points: [u64; POINTS],
    /// First and last id of: range, sum, ordered, distinct.
    pub ranges: [(u64, u64); 4],
    /// Rows that lie in each range.
    pub range_rows: [u64; 4],
    /// Values of k, for the random selects.
    pub random_ks: [u64; RANDOM_COUNT],
    /// UPDATE k = k + 1.
    pub update_k: u64,
    /// UPDATE c …
    pub update_c: u64,
    /// … to this.
    pub new_c: String,
    /// DELETE and INSERT the same id …
    pub replaced: u64,
    /// … with this row.
    pub row: Row,
}

/// A row without its id.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Row {
    /// Indexed number.
    pub k: u64,
    /// 120 characters at most.
    pub c: String,
    /// 60 characters at most.
    pub pad: String,
}

/// Draws transactions.
pub struct Mix {
    keys: Keys,
    random: Random,
    tables: u32,
    table_size: u64,
    range_size: u64,
    ids: u64,
    rows: RowsLike,
    mixture: Mixture,
}

impl Mix {
    /// The stream of one thread in one run.
    pub fn new(parameters: &Parameters, seed: u64, run: u64, thread: u64) -> Mix {
        let Parameters { distribution, tables, table_size, range_size, rows_like: rows, mix: mixture, .. } =
            *parameters;
        let (ids, random) = (parameters.ids(), Random::of_stream(seed, run << 32 | thread));
        Mix { keys: Keys::new(distribution, ids), random, tables, table_size, range_size, ids, rows, mixture }
    }

    /// Overwrites `transaction` with the next one, as far as its mixture looks at it; its strings keep their memory.
    pub fn draw(&mut self, transaction: &mut Transaction) {
        transaction.table = 1 + self.random.below(u64::from(self.tables)) as u32;
        for id in &mut transaction.points[..self.mixture.points()] {
            *id = self.keys.draw(&mut self.random);
        }
        if self.mixture.reads_ranges() {
            for index in 0..transaction.ranges.len() {
                let (first, last) = self.range(index == 3);
                transaction.ranges[index] = (first, last);
                transaction.range_rows[index] = last.min(self.table_size) + 1 - first;
            }
        }
        if matches!(self.mixture, Mixture::SelectRandomPoints | Mixture::SelectRandomRanges) {
            for k in &mut transaction.random_ks {
                *k = self.keys.draw(&mut self.random);
            }
        }
        if !self.mixture.writes() {
            return;
        }
        transaction.update_k = self.keys.draw(&mut self.random);
        transaction.update_c = self.keys.draw(&mut self.random);
        transaction.replaced = self.keys.draw(&mut self.random);
        new_c(self.rows, &mut self.random, &mut transaction.new_c);
        replaced_row(self.rows, self.table_size, &mut self.random, &mut transaction.row);
    }

    /// 0.4 clamps ranges into the table, and its DISTINCT reaches one id further; 1.0 lets them run over the end.
    fn range(&mut self, distinct: bool) -> (u64, u64) {
        let first = self.keys.draw(&mut self.random);
        match self.rows {
            RowsLike::One => (first, first + self.range_size - 1),
            RowsLike::ZeroFour => {
                let first =
                    if first + self.range_size > self.ids { (self.ids - self.range_size).max(1) } else { first };
                (first, first + self.range_size - u64::from(!distinct))
            }
        }
    }
}

/// The rows of a fresh table.
pub fn loaded_row(rows: RowsLike, table_size: u64, random: &mut Random, row: &mut Row) {
    match rows {
        RowsLike::One => replaced_row(rows, table_size, random, row),
        RowsLike::ZeroFour => row_of_0_4("qqqqqqqqqqwwwwwwwwwweeeeeeeeeerrrrrrrrrrtttttttttt", row),
    }
}

fn replaced_row(rows: RowsLike, table_size: u64, random: &mut Random, row: &mut Row) {
    match rows {
        RowsLike::One => {
            row.k = 1 + random.below(table_size);
            groups(random, 10, &mut row.c);
            groups(random, 5, &mut row.pad);
        }
        RowsLike::ZeroFour => row_of_0_4("aaaaaaaaaaffffffffffrrrrrrrrrreeeeeeeeeeyyyyyyyyyy", row),
    }
}

/// All rows of 0.4 are alike but for the text that tells replaced ones.
fn row_of_0_4(pad: &str, row: &mut Row) {
    row.k = 0;
    row.c.clear();
    row.c.push(' ');
    row.pad.clear();
    row.pad.push_str(pad);
}

fn new_c(rows: RowsLike, random: &mut Random, c: &mut String) {
    match rows {
        RowsLike::One => groups(random, 10, c),
        RowsLike::ZeroFour => {
            c.clear();
            for index in 0..10 {
                let separator = if index == 0 { "" } else { "-" };
                let _ = write!(c, "{separator}{}", random.next_u64() as u32);
            }
        }
    }
}

/// sysbench 1.0's `###########-` groups: eleven digits each, joined by dashes (119 characters for ten groups).
fn groups(random: &mut Random, count: usize, text: &mut String) {
    text.clear();
    for index in 0..count {
        if index > 0 {
            text.push('-');
        }
        let mut digits = random.below(100_000_000_000);
        let mut group = [b'0'; 11];
        for digit in group.iter_mut().rev() {
            *digit = b'0' + (digits % 10) as u8;
            digits /= 10;
        }
        text.push_str(std::str::from_utf8(&group).expect("digits are ASCII"));
    }
}

/// Whether a c that was read can have been written by anyone here.
pub fn is_plausible_c(rows: RowsLike, c: &str) -> bool {
    // A CHAR(120) may come with blanks at its end, or without its own.
    let c = c.trim_end();
    match rows {
        RowsLike::One => c.len() == 119,
        RowsLike::ZeroFour => c.is_empty() || c.bytes().filter(|byte| *byte == b'-').count() == 9,
    }
}
