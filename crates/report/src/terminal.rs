//! The report on a terminal: the answer in words, the warnings, then a table a workload.

use crate::answer;
use crate::flushing::DAGGER_NOTE;
use crate::input::Input;
use crate::labels;
use crate::notes;
use crate::pivot::{self, pivots};
use crate::table::{self, BOUND_BY, BY_SETTINGS, Column, PER_COMMIT};
use crate::warnings::warnings;
use std::fmt::Write;

/// Narrower than this no table can be read.
const WIDTH_MIN: usize = 40;

/// How text is set off; nothing when there is no colour.
#[derive(Clone, Copy)]
struct Paint(bool);

impl Paint {
    fn with(self, code: &str, text: &str) -> String {
        if self.0 { format!("\x1b[{code}m{text}\x1b[0m") } else { text.into() }
    }
}

/// The whole report, at most `width` columns where words can be broken.
#[must_use]
pub fn terminal(input: &Input, width: usize, colour: bool) -> String {
    let (paint, width) = (Paint(colour), width.max(WIDTH_MIN));
    let view = input.view();
    let mut out = String::new();
    for (i, line) in answer::answer(input).iter().enumerate() {
        let wrapped = wrap(&printable(line), width, "  ");
        let _ = writeln!(out, "{}", if i == 0 { paint.with("1", &wrapped) } else { wrapped });
    }
    for warning in warnings(view, &input.contents) {
        let text = format!("warning: {}. {} {}", warning.seen(), warning.effect(), warning.remedy());
        let wrapped = wrap(&printable(&text), width, "  ");
        let _ = writeln!(out, "{}", wrapped.replacen("warning:", &paint.with("33", "warning:"), 1));
    }
    for part in view.parts.iter().filter(|part| !part.rows.is_empty()) {
        let _ = writeln!(out, "\n{}", paint.with("1", &printable(&answer::heading(part))));
        let mut columns = table::of_part(part, view);
        fit(&mut columns, width);
        out.push_str(&print(&columns, paint));
        for line in notes::lines(part, input) {
            let _ = writeln!(out, "{}", wrap(&printable(&line), width, "  "));
        }
    }
    for pivot in pivots(&input.contents, view) {
        let _ = writeln!(out, "\n{}", paint.with("1", &printable(&pivot.title)));
        out.push_str(&print(&table::of_pivot(&pivot), paint));
        let _ = writeln!(out, "{}", wrap(pivot::NOTE, width, "  "));
        if pivot.is_marked() {
            let _ = writeln!(out, "{}", wrap(DAGGER_NOTE, width, "  "));
        }
        if !pivot.source.is_empty() {
            let _ = writeln!(out, "{}", wrap(&printable(&format!("Published: {}", pivot.source)), width, "  "));
        }
    }
    out
}

fn column_width(column: &Column) -> usize {
    column.cells.iter().chain([&column.head]).map(|text| text.chars().count()).max().unwrap_or(0)
}

/// Cuts long heads and labels so that the table fits; figures and verdicts are never cut.
fn fit(columns: &mut Vec<Column>, width: usize) {
    let total = |columns: &[Column]| columns.iter().map(|column| column_width(column) + 2).sum::<usize>();
    for column in columns.iter_mut().filter(|column| column.head.starts_with("vs ")) {
        let widest = column.cells.iter().map(|cell| cell.chars().count()).max().unwrap_or(0);
        column.head = labels::cut(&column.head, widest.max("vs baseline".len()));
    }
    // What explains or was only promised gives way to what was measured.
    for head in [PER_COMMIT, BY_SETTINGS, BOUND_BY] {
        let widest = total(columns).saturating_sub(2);
        columns.retain(|column| column.head != head || widest <= width);
    }
    let excess = total(columns).saturating_sub(width);
    if let Some(scenarios) = columns.iter_mut().find(|column| column.head == "scenario").filter(|_| excess > 0) {
        // Levels tell scenarios apart, so they stay even where the table gets wider than the terminal.
        let levels = labels::levels(&scenarios.cells).iter().map(|label| label.chars().count()).max().unwrap_or(0);
        let room = column_width(scenarios).saturating_sub(excess).max(levels.min(LEVELS_WIDTH_MAX)).max(16);
        scenarios.cells = labels::shortened(&scenarios.cells, room);
    }
}

/// Levels wider than this are cut as well.
const LEVELS_WIDTH_MAX: usize = 48;

fn print(columns: &[Column], paint: Paint) -> String {
    let widths: Vec<usize> = columns.iter().map(column_width).collect();
    let line = |texts: &mut dyn Iterator<Item = &String>| {
        let mut text = String::new();
        for ((cell, column), width) in texts.zip(columns).zip(&widths) {
            let gap = " ".repeat(width - cell.chars().count());
            text.push_str(&if column.right { format!("{gap}{cell}  ") } else { format!("{cell}{gap}  ") });
        }
        text.trim_end().to_string()
    };
    let mut out = format!("{}\n", paint.with("2", &line(&mut columns.iter().map(|column| &column.head))));
    for row in 0..columns.first().map_or(0, |column| column.cells.len()) {
        out.push_str(&line(&mut columns.iter().map(|column| &column.cells[row])));
        out.push('\n');
    }
    out
}

/// Text of a study may hold escape sequences that would steer the terminal.
#[must_use]
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// Breaks at spaces; lines after the first are indented.
fn wrap(text: &str, width: usize, indent: &str) -> String {
    let mut lines = vec![String::new()];
    // A number stays on one line with its per cent sign.
    let text = text.replace(" %", "\u{a0}%");
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is always a line");
        if !line.trim().is_empty() && line.chars().count() + 1 + word.chars().count() > width {
            lines.push(format!("{indent}{word}"));
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines.join("\n").replace('\u{a0}', " ")
}
