//! The table of how the runs went.

use crate::document::{Block, Columns, head, number_cell};
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

/// Every scenario: its runs by class, and what it shared the machine with. Columns in which nothing stands are left out.
pub fn table(input: &Input, view: &View) -> Option<Block> {
    let rows: Vec<&Row> = view.parts.iter().flat_map(|part| part.measured()).collect();
    let has = |wanted: fn(&Health) -> bool| rows.iter().any(|row| wanted(&row.health));
    if !has(|health| !health.runs.is_empty() || !health.loads.is_empty()) {
        return None;
    }
    let table =
        Columns::of("health", &rows).words("scenario", |row| row.marked()).numbers("runs", |row| row.health.runs.len());
    let kinds = KINDS.iter().filter(|kind| rows.iter().any(|row| row.health.count(kind.1) > 0));
    let table = kinds.fold(table, |table, kind| table.numbers(kind.0, |row| row.health.count(kind.1)));
    let passed = |(even, of): (usize, usize)| number_cell(&format!("{even} of {of}"), even as f64);
    let disturbed = |(round, cause): &(u32, Cause)| format!("round {} ({})", round + 1, cause.words());
    let disturbed = |health: &Health| health.disturbed.iter().map(disturbed).collect::<Vec<_>>().join(", ");
    let table = table
        .when(has(|health| health.even().1 > 0), |table| {
            table.column(head("pass SNIA\u{2019}s test"), |row| passed(row.health.even()))
        })
        .when(has(|health| health.warm_up().is_some()), |table| {
            table.figures("longest warm-up", |row| row.health.warm_up(), span)
        })
        .when(has(|health| health.period().is_some()), |table| table.figures("cycle", |row| row.health.period(), span))
        .when(has(|health| !health.loads.is_empty()), |table| {
            let disk = |health: &Health| health.mean(|load| load.other_disk).map(|bytes| bytes / 1e6);
            table
                .figures("CPU time stolen", |row| row.health.mean(|load| load.steal), percent)
                .figures("other CPUs", |row| row.health.mean(|load| load.other_cores), figure)
                .figures("other MB/s on disk", |row| disk(&row.health), figure)
        })
        .when(has(|health| !health.disturbed.is_empty()), |table| {
            table.words("disturbed trials", |row| disturbed(&row.health))
        });
    let (read, all) = (input.details.runs_read, input.details.runs_all);
    let some = if read < all { format!(" Looked at: {read} of {all} runs.") } else { String::new() };
    Some(Block::Section(vec![
        Block::Heading(2, "Health of the runs".into()),
        Block::Note(format!("{ABOUT}{some}")),
        Block::Table(table.table()),
    ]))
}

/// How the runs were judged.
const ABOUT: &str = "By change points in each run's rate, second by second. SNIA's test asks of five parts of a run that their means lie \
    within 20 % and on a slope of 10 % at most; noise alone fails it at times. Other CPUs and disk traffic are what the machine did \
    beside load and server: other programs, or the kernel's own threads.";
