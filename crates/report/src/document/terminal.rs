//! A document on a terminal: its words, broken at its width, and its tables, made to fit where that can be.

use super::table::{Column, Fit, Table};
use super::{Block, in_one};
use crate::labels;
use std::fmt::Write;

/// Narrower than this no table can be read.
const WIDTH_MIN: usize = 40;
/// Lines after the first of a sentence begin with this.
const INDENT: &str = "  ";
/// Levels wider than this are cut as well.
const LEVELS_WIDTH_MAX: usize = 48;
/// Labels are cut to no less than this.
const LABELS_WIDTH_MIN: usize = 16;

/// How text is set off; nothing when there is no colour.
#[derive(Clone, Copy)]
struct Paint(bool);

impl Paint {
    fn with(self, code: &str, text: &str) -> String {
        if self.0 { format!("\x1b[{code}m{text}\x1b[0m") } else { text.into() }
    }
}

/// The blocks that are words or tables, at most `width` columns where words can be broken.
pub fn terminal(blocks: &[Block], width: usize, colour: bool) -> String {
    let (paint, width) = (Paint(colour), width.max(WIDTH_MIN));
    let mut out = String::new();
    for block in blocks {
        let _ = match block {
            Block::Heading(_, text) => writeln!(out, "\n{}", paint.with("1", &printable(text))),
            Block::Lead(text) => writeln!(out, "{}", paint.with("1", &wrapped(text, width))),
            Block::Label(text) | Block::Paragraph(text) | Block::Note(text) => {
                writeln!(out, "{}", wrapped(text, width))
            }
            Block::List(items) | Block::Notes(items) => {
                items.iter().try_for_each(|item| writeln!(out, "{}", wrapped(item, width)))
            }
            Block::Warning(seen, more) => {
                let text = wrapped(&format!("warning: {}", in_one(seen, more)), width);
                writeln!(out, "{}", text.replacen("warning:", &paint.with("33", "warning:"), 1))
            }
            Block::Table(found) => write!(out, "{}", table(found, width, paint)),
            // All else takes a page.
            _ => Ok(()),
        };
    }
    out
}

fn table(table: &Table, width: usize, paint: Paint) -> String {
    let mut table = table.clone();
    let texts = table.rows.iter_mut().flat_map(|row| &mut row.cells).map(|cell| &mut cell.text);
    texts.chain(table.columns.iter_mut().map(|column| &mut column.head)).for_each(|text| *text = printable(text));
    fit(&mut table, width);
    let widths: Vec<usize> = (0..table.columns.len()).map(|column| column_width(&table, column)).collect();
    let line = |texts: &mut dyn Iterator<Item = &String>| {
        let mut text = String::new();
        for ((cell, column), width) in texts.zip(&table.columns).zip(&widths) {
            let gap = " ".repeat(width - cell.chars().count());
            text.push_str(&if column.is_words { format!("{cell}{gap}  ") } else { format!("{gap}{cell}  ") });
        }
        text.trim_end().to_string()
    };
    let mut out = format!("{}\n", paint.with("2", &line(&mut table.columns.iter().map(|column| &column.head))));
    for row in &table.rows {
        out.push_str(&line(&mut row.cells.iter().map(|cell| &cell.text)));
        out.push('\n');
    }
    out
}

fn texts(table: &Table, column: usize) -> impl Iterator<Item = &String> {
    table.rows.iter().map(move |row| &row.cells[column].text)
}

fn widest<'a>(texts: impl Iterator<Item = &'a String>) -> usize {
    texts.map(|text| text.chars().count()).max().unwrap_or(0)
}

fn column_width(table: &Table, column: usize) -> usize {
    widest(texts(table, column).chain([&table.columns[column].head]))
}

/// Cuts long heads and labels so that the table fits; figures and verdicts are never cut.
fn fit(table: &mut Table, width: usize) {
    let total = |table: &Table| (0..table.columns.len()).map(|column| column_width(table, column) + 2).sum::<usize>();
    for column in 0..table.columns.len() {
        if let Fit::CutHead(least) = table.columns[column].fit {
            let room = widest(texts(table, column)).max(least);
            table.columns[column].head = labels::cut(&table.columns[column].head, room);
        }
    }
    let order = |column: &Column| if let Fit::Optional(order) = column.fit { Some(order) } else { None };
    while total(table).saturating_sub(2) > width {
        let Some(first) = table.columns.iter().filter_map(order).min() else { break };
        let kept = |place: &usize| order(&table.columns[*place]) != Some(first);
        let kept: Vec<usize> = (0..table.columns.len()).filter(kept).collect();
        table.keep_columns(&kept);
    }
    let excess = total(table).saturating_sub(width);
    let scenarios = table.columns.iter().position(|column| column.fit == Fit::Labels).filter(|_| excess > 0);
    if let Some(column) = scenarios {
        let cells: Vec<String> = texts(table, column).cloned().collect();
        // Levels tell scenarios apart, so they stay even where the table gets wider than the terminal.
        let levels = widest(labels::levels(&cells).iter()).min(LEVELS_WIDTH_MAX);
        let room = column_width(table, column).saturating_sub(excess).max(levels).max(LABELS_WIDTH_MIN);
        let cut = labels::shortened(&cells, room);
        table.rows.iter_mut().zip(cut).for_each(|(row, text)| row.cells[column].text = text);
    }
}

/// Text of a study may hold escape sequences that would steer the terminal, and marks that show a line in another order
/// than a shell reads it in (Unicode's embeddings, overrides and isolates; CVE-2021-42574).
pub fn printable(text: &str) -> String {
    let steers = |c: char| c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars().map(|c| if steers(c) { '\u{fffd}' } else { c }).collect()
}

/// Broken at spaces; lines after the first are indented.
fn wrapped(text: &str, width: usize) -> String {
    let mut lines = vec![String::new()];
    // A number stays on one line with its per cent sign.
    let text = printable(text).replace(" %", "\u{a0}%");
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is always a line");
        if !line.trim().is_empty() && line.chars().count() + 1 + word.chars().count() > width {
            lines.push(format!("{INDENT}{word}"));
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines.join("\n").replace('\u{a0}', " ")
}
