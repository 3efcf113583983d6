//! The table of how the runs went.

use crate::document::{Block, Cell, Table, head, no_cell, number_cell, word_cell, word_head};
use crate::flushing::Marked as _;
use crate::input::Input;
use crate::number::{figure, percent, span};
use crate::words::Words as _;
use analysis::health::{Cause, Health};
use analysis::row::Row;
use analysis::view::View;
use stats::Course;

/// A count of runs by their course.
type Kind = (&'static str, fn(&Course) -> bool);

const KINDS: [Kind; 6] = [
    ("steady", |course| matches!(course, Course::Steady)),
    ("steady, in cycles", |course| matches!(course, Course::Cyclic { .. })),
    ("slow at first", |course| matches!(course, Course::WarmUp { .. })),
    ("slower at the end", |course| matches!(course, Course::Slowdown { .. })),
    ("no steady state", |course| matches!(course, Course::Unsteady)),
    ("too short to say", |course| matches!(course, Course::TooShort)),
];

/// A figure, or a dash where there is none.
fn counted_cell(value: Option<f64>, words: impl Fn(f64) -> String) -> Cell {
    value.map_or_else(no_cell, |value| number_cell(&words(value), value))
}

/// Every scenario: its runs by class, and what it shared the machine with. Columns in which nothing stands are left out.
pub fn table(input: &Input, view: &View) -> Option<Block> {
    let rows: Vec<&Row> = view.parts.iter().flat_map(|part| part.measured()).collect();
    let has = |wanted: fn(&Health) -> bool| rows.iter().any(|row| wanted(&row.health));
    if !has(|health| !health.runs.is_empty() || !health.loads.is_empty()) {
        return None;
    }
    let kinds: Vec<&Kind> = KINDS.iter().filter(|kind| rows.iter().any(|row| row.health.count(kind.1) > 0)).collect();
    let (warm_up, cycles) = (has(|health| health.warm_up().is_some()), has(|health| health.period().is_some()));
    let (loads, disturbed) = (has(|health| !health.loads.is_empty()), has(|health| !health.disturbed.is_empty()));
    let mut heads = vec![word_head("scenario"), head("runs")];
    heads.extend(kinds.iter().map(|kind| head(kind.0)));
    let even = has(|health| health.even().1 > 0);
    heads.extend(even.then(|| head("pass SNIA\u{2019}s test")));
    heads.extend(warm_up.then(|| head("longest warm-up")));
    heads.extend(cycles.then(|| head("cycle")));
    if loads {
        heads.extend(["CPU time stolen", "other CPUs", "other MB/s on disk"].map(head));
    }
    heads.extend(disturbed.then(|| word_head("disturbed trials")));
    let mut table = Table::new("health", heads);
    for row in &rows {
        let health = &row.health;
        let count = |count: usize| number_cell(&count.to_string(), count as f64);
        let mut cells = vec![word_cell(&row.marked()), count(health.runs.len())];
        cells.extend(kinds.iter().map(|kind| count(health.count(kind.1))));
        let passed = health.even();
        cells.extend(even.then(|| number_cell(&format!("{} of {}", passed.0, passed.1), passed.0 as f64)));
        cells.extend(warm_up.then(|| counted_cell(health.warm_up(), span)));
        cells.extend(cycles.then(|| counted_cell(health.period(), span)));
        if loads {
            let steal = health.mean(|load| load.steal);
            let (cores, disk) = (health.mean(|load| load.other_cores), health.mean(|load| load.other_disk));
            cells.extend([
                counted_cell(steal, percent),
                counted_cell(cores, figure),
                counted_cell(disk.map(|bytes| bytes / 1e6), figure),
            ]);
        }
        let words = |(round, cause): &(u32, Cause)| format!("round {} ({})", round + 1, cause.words());
        cells.extend(disturbed.then(|| word_cell(&health.disturbed.iter().map(words).collect::<Vec<_>>().join(", "))));
        table.row(cells);
    }
    let details = &input.details;
    let some = if details.runs_read < details.runs_all {
        format!(" Looked at: {} of {} runs.", details.runs_read, details.runs_all)
    } else {
        String::new()
    };
    Some(Block::Section(vec![
        Block::Heading(2, "Health of the runs".into()),
        Block::Note(format!("{ABOUT}{some}")),
        Block::Table(table),
    ]))
}

/// How the runs were judged.
const ABOUT: &str = "By change points in each run's rate, second by second. SNIA's test asks of five parts of a run that their means lie \
    within 20 % and on a slope of 10 % at most; noise alone fails it at times. Other CPUs and disk traffic are what the machine did \
    beside load and server: other programs, or the kernel's own threads.";
