//! A table: typed columns and cells, which each renderer sets as it can.

use crate::number::{count, percent};

/// Rows of cells below heads.
#[derive(Debug, Clone)]
pub struct Table {
    /// Unique on a page.
    pub id: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its rows.
    pub rows: Vec<Row>,
    /// On a page: what a box says in which rows are searched for; empty: there is none.
    pub filter: &'static str,
}

/// A column.
#[derive(Debug, Clone)]
pub struct Column {
    /// What stands at its top.
    pub head: String,
    /// Whether words stand in it, which are set left, and not figures.
    pub is_words: bool,
    /// What becomes of it where there is little room.
    pub fit: Fit,
}

/// What becomes of a column on a narrow terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fit {
    /// Nothing.
    Whole,
    /// Its head is cut, to no less than so many letters.
    CutHead(usize),
    /// Its cells are labels of scenarios, which are cut where that leaves them apart.
    Labels,
    /// It is left out, the lowest number first.
    Optional(u8),
}

/// A row.
#[derive(Debug, Clone)]
pub struct Row {
    /// How it is set off.
    pub tone: Tone,
    /// A cell a column.
    pub cells: Vec<Cell>,
}

/// How a row or a cell is set off from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tone {
    /// Not at all.
    #[default]
    Plain,
    /// The row of the baseline.
    Baseline,
    /// A row of figures that others published.
    Published,
    /// A verdict: faster.
    Faster,
    /// A verdict: slower.
    Slower,
}

/// A cell.
#[derive(Debug, Clone, Default)]
pub struct Cell {
    /// What it shows.
    pub text: String,
    /// The number that it is sorted by.
    pub value: Option<f64>,
    /// Whether it holds words.
    pub is_words: bool,
    /// Whether these may take several lines.
    pub is_wrapped: bool,
    /// How it is set off.
    pub tone: Tone,
    /// Said of it where a pointer is.
    pub hint: String,
}

/// In a cell: not known.
pub const NO_VALUE: &str = "–";

impl Table {
    /// Without rows.
    pub fn new(id: impl Into<String>, columns: impl IntoIterator<Item = Column>) -> Table {
        Table { id: id.into(), columns: columns.into_iter().collect(), rows: Vec::new(), filter: "" }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.toned_row(Tone::Plain, cells);
    }

    /// Adds a row that is set off.
    pub fn toned_row(&mut self, tone: Tone, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(Row { tone, cells: cells.into_iter().collect() });
    }

    /// Without the columns in which nothing stands.
    pub fn without_empty_columns(mut self) -> Table {
        let has_text = |column: &usize| self.rows.iter().any(|row| !row.cells[*column].text.is_empty());
        let kept: Vec<usize> = (0..self.columns.len()).filter(has_text).collect();
        self.keep_columns(&kept);
        self
    }

    /// Leaves out all columns but these.
    pub fn keep_columns(&mut self, kept: &[usize]) {
        let mut place = 0..;
        self.columns.retain(|_| place.next().is_some_and(|place| kept.contains(&place)));
        for row in &mut self.rows {
            let mut place = 0..;
            row.cells.retain(|_| place.next().is_some_and(|place| kept.contains(&place)));
        }
    }
}

/// A table in the making whose rows are alike: each column comes with its head and with what stands in it of a row.
pub struct Columns<'a, R> {
    table: Table,
    of: &'a [R],
}

impl<'a, R> Columns<'a, R> {
    /// A row of each of these.
    pub fn of(id: impl Into<String>, of: &'a [R]) -> Self {
        let mut table = Table::new(id, Vec::new());
        of.iter().for_each(|_| table.row(Vec::new()));
        Columns { table, of }
    }

    /// A column.
    pub fn column(mut self, column: Column, cell: impl Fn(&'a R) -> Cell) -> Self {
        self.table.columns.push(column);
        self.table.rows.iter_mut().zip(self.of).for_each(|(row, of)| row.cells.push(cell(of)));
        self
    }

    /// A column of words on one line.
    pub fn words<T: AsRef<str>>(self, head: &str, words: impl Fn(&'a R) -> T) -> Self {
        self.column(word_head(head), |of| word_cell(words(of).as_ref()))
    }

    /// A column of words that may take several lines.
    pub fn wrapped<T: AsRef<str>>(self, head: &str, words: impl Fn(&'a R) -> T) -> Self {
        self.column(word_head(head), |of| wrapped_cell(words(of).as_ref()))
    }

    /// A column of figures as they are shown, which have no number of their own.
    pub fn shown<T: Into<String>>(self, head: &str, shown: impl Fn(&'a R) -> T) -> Self {
        self.column(self::head(head), |of| Cell { text: shown(of).into(), ..Cell::default() })
    }

    /// A column of figures, and how each is shown.
    pub fn figures<V>(self, head: &str, value: impl Fn(&'a R) -> V, shown: impl Fn(f64) -> String) -> Self
    where
        V: Into<Option<f64>>,
    {
        self.column(self::head(head), |of| known_cell(value(of).into(), &shown))
    }

    /// A column of small numbers.
    pub fn numbers(self, head: &str, number: impl Fn(&'a R) -> usize) -> Self {
        self.figures(head, |of| number(of) as f64, |number| number.to_string())
    }

    /// A column of numbers that may be large.
    pub fn counts(self, head: &str, number: impl Fn(&'a R) -> u64) -> Self {
        self.column(self::head(head), |of| number_cell(&count(number(of)), number(of) as f64))
    }

    /// With what `more` adds, where it `is_there`.
    pub fn when(self, is_there: bool, more: impl FnOnce(Self) -> Self) -> Self {
        if is_there { more(self) } else { self }
    }

    /// Sets off the rows of the baseline.
    pub fn baseline(mut self, is_baseline: impl Fn(&'a R) -> bool) -> Self {
        for (row, of) in self.table.rows.iter_mut().zip(self.of) {
            row.tone = if is_baseline(of) { Tone::Baseline } else { Tone::Plain };
        }
        self
    }

    /// The table.
    pub fn table(self) -> Table {
        self.table
    }
}

/// The head of a column of figures.
pub fn head(text: &str) -> Column {
    Column { head: text.into(), is_words: false, fit: Fit::Whole }
}

/// The head of a column of intervals.
pub fn interval_head(confidence: f64) -> Column {
    head(&format!("{} interval", percent(confidence)))
}

/// The head of a column of words.
pub fn word_head(text: &str) -> Column {
    Column { is_words: true, ..head(text) }
}

/// A figure: what is shown, and the number to sort by; a dash where that is none.
pub fn number_cell(shown: &str, value: f64) -> Cell {
    if value.is_finite() { Cell { text: shown.into(), value: Some(value), ..Cell::default() } } else { no_cell() }
}

/// A figure in words; a dash where there is none.
pub fn known_cell(value: Option<f64>, shown: impl Fn(f64) -> String) -> Cell {
    value.map_or_else(no_cell, |value| number_cell(&shown(value), value))
}

/// A figure that is not known.
pub fn no_cell() -> Cell {
    Cell { text: NO_VALUE.into(), ..Cell::default() }
}

/// Words on one line.
pub fn word_cell(text: &str) -> Cell {
    Cell { text: text.into(), is_words: true, ..Cell::default() }
}

/// Words that may take several lines.
pub fn wrapped_cell(text: &str) -> Cell {
    Cell { is_wrapped: true, ..word_cell(text) }
}
