//! The cells of a report's tables, as the terminal and Markdown print them.

use crate::answer;
use crate::errors;
use crate::flushing::MARK;
use crate::number::{figure, percent, ratio_precise};
use crate::pivot::{self, Pivot};
use crate::safety;
use crate::terminal::printable;
use crate::view::{Part, Row, View};
use observe::durability::Class;

/// One column: its head, whether it is set right, its cells.
pub struct Column {
    pub head: String,
    pub right: bool,
    pub cells: Vec<String>,
}

/// Each scenario, the best on top; columns in which nothing stands are left out.
pub fn of_part(part: &Part, view: &View) -> Vec<Column> {
    let column = |head: &str, right: bool, cell: &dyn Fn(usize, &Row) -> String| Column {
        head: printable(head),
        right,
        cells: part.rows.iter().enumerate().map(|(rank, row)| printable(&cell(rank, row))).collect(),
    };
    let unit = if part.scale.unit.is_empty() { "mean".into() } else { format!("mean, {}", part.scale.unit) };
    let claim = |row: &Row| part.claim_of(&row.label);
    let any_is_bound = part.rows.iter().filter_map(|row| row.ceiling.as_ref()).any(|ceiling| ceiling.by.is_some());
    let any_is_cut = part.rows.iter().any(|row| row.power_cut.is_some());
    let against = part.baseline.as_deref().map_or_else(String::new, |label| format!("vs {}", short_label(part, label)));
    let mut columns = vec![
        column("", true, &|rank, row| if row.centre.is_some() { format!("{}", rank + 1) } else { String::new() }),
        column("scenario", false, &|_, row| short_label(part, &row.label).into()),
        column(&unit, true, &|_, row| {
            let mark = match (row.is_lower_bound(), part.more_is_better) {
                (true, true) => "≥ ",
                (true, false) => "≤ ",
                (false, _) => "",
            };
            row.centre.map_or_else(String::new, |centre| format!("{mark}{}", part.scale.number(centre.mean)))
        }),
        column(&format!("{} interval", percent(view.confidence)), true, &|_, row| {
            row.centre
                .map_or_else(String::new, |c| format!("{}–{}", part.scale.number(c.low), part.scale.number(c.high)))
        }),
        column(errors::HEAD, false, &|_, row| errors::cell(row)),
        column(&against, true, &|_, row| match claim(row) {
            Some(claim) => {
                format!("{} [{}, {}]", ratio_precise(claim.ratio), ratio_precise(claim.low), ratio_precise(claim.high))
            }
            None if row.baseline => "1".into(),
            None => String::new(),
        }),
        column("verdict", false, &|_, row| match claim(row) {
            Some(claim) => answer::verdict_words(claim, part),
            None if row.baseline => "baseline".into(),
            None => String::new(),
        }),
        column("after a power cut", false, &|_, row| {
            row.power_cut.as_ref().map_or_else(|| power_cut(row), safety::cell)
        }),
        column(BY_SETTINGS, false, &|_, row| if any_is_cut { power_cut(row) } else { String::new() }),
        column(PER_COMMIT, true, &|_, row| {
            row.flushing.as_ref().map_or_else(String::new, |flushing| figure(flushing.per_commit()))
        }),
        column(BOUND_BY, false, &|_, row| match &row.ceiling {
            Some(ceiling) if any_is_bound => ceiling.cell(),
            _ => String::new(),
        }),
        column("confirmed", true, &|_, row| {
            row.confirmed.map_or_else(String::new, |centre| part.scale.number(centre.mean))
        }),
        column("dropped", false, &|_, row| {
            row.dropped_after().map_or_else(String::new, |rounds| format!("after round {rounds}"))
        }),
        column("rounds", true, &|_, row| row.centre.map_or(0, |centre| centre.count).to_string()),
        column("stalled", true, &|_, row| {
            row.stalls.map_or_else(String::new, |stalls| format!("{} of {} runs", stalls.runs, stalls.of))
        }),
        column("failed", true, &|_, row| if row.failed > 0 { row.failed.to_string() } else { String::new() }),
    ];
    columns.retain(|column| column.cells.iter().any(|cell| !cell.is_empty()));
    columns
}

/// Each row of levels, and below it what others published.
pub fn of_pivot(pivot: &Pivot) -> Vec<Column> {
    let has_published = |cells: &[pivot::Cell]| cells.iter().any(|cell| cell.published.is_some());
    let mut heads = Column { head: String::new(), right: false, cells: Vec::new() };
    for (row, cells) in &pivot.rows {
        heads.cells.push(printable(row));
        heads.cells.extend(has_published(cells).then(|| "  published".into()));
    }
    let mut columns = vec![heads];
    for (index, name) in pivot.columns.iter().enumerate() {
        let mut column = Column { head: printable(name), right: true, cells: Vec::new() };
        for (_, cells) in &pivot.rows {
            let ours = cells[index].ours.map(|ours| {
                let number = |value: f64| pivot.scale.number(value);
                format!("{} ({}–{}){}", number(ours.median), number(ours.min), number(ours.max), cells[index].dagger())
            });
            column.cells.push(ours.unwrap_or_else(|| "–".into()));
            let other = cells[index].published.map_or_else(String::new, |value| pivot.scale.number(value));
            column.cells.extend(has_published(cells).then_some(other));
        }
        columns.push(column);
    }
    columns
}

/// What bound each scenario.
pub const BOUND_BY: &str = "bound by";

/// What settings promise, where power cuts were measured.
pub const BY_SETTINGS: &str = "by settings";

/// What explains a speed gives way to the speed.
pub const PER_COMMIT: &str = "flushes/commit";

/// What the settings promise, and whether the device got what that takes.
fn power_cut(row: &Row) -> String {
    let by_settings = durability_mark(row.durability);
    match (row.breaks_promise(), row.does_not_flush()) {
        (true, _) => MARK.into(),
        (false, true) => format!("{by_settings}, {MARK}"),
        (false, false) => by_settings.into(),
    }
}

/// A label without its workload, which the table's heading has.
fn short_label<'a>(part: &Part, label: &'a str) -> &'a str {
    label.strip_prefix(part.workload.as_str()).and_then(|rest| rest.strip_prefix(" · ")).unwrap_or(label)
}

fn durability_mark(class: Class) -> &'static str {
    match class {
        Class::KeepsAcknowledged => "keeps all",
        Class::LosesRecent => "loses seconds",
        Class::MayCorrupt => "MAY CORRUPT",
        Class::LosesAll => "LOSES ALL",
    }
}
