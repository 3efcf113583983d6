//! The tables that a study asks for: a metric by the levels of two factors, with figures that others published beside.

use crate::document::{self, Table, Tone, head, no_cell, number_cell, word_cell, word_head};
use crate::flushing::DAGGER;
use crate::number::{Scale, percent, words};
use crate::words::each_once;
use analysis::row::{Centre, centre};
use analysis::view::View;
use ledger::figure::{self, Zero};
use ledger::model::{Contents, Scenario, TableRecord};
use observe::metric::Direction;

/// A table, ready to be drawn.
#[derive(Debug)]
pub struct Pivot<'a> {
    /// Its title with the metric's unit.
    pub title: String,
    /// Its metric in words.
    pub metric: String,
    /// Levels across.
    pub columns: Vec<&'a str>,
    /// Level and cells of each row.
    pub rows: Vec<(&'a str, Vec<Cell>)>,
    /// Who published the other figures; empty: nobody.
    pub source: &'a str,
    /// How values are shown.
    pub scale: Scale,
}

/// What is known of one pair of levels.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Cell {
    /// Measured here, over rounds; none: not measured.
    pub ours: Option<Centre>,
    /// Published, of another machine.
    pub published: Option<f64>,
    /// Whether a scenario of ours in it does not flush.
    pub does_not_flush: bool,
}

impl Cell {
    /// Behind its figure, where there is no room for words.
    pub fn dagger(&self) -> String {
        if self.does_not_flush { format!(" {DAGGER}") } else { String::new() }
    }
}

impl Pivot<'_> {
    /// Whether a figure of it is marked.
    pub fn is_marked(&self) -> bool {
        self.rows.iter().flat_map(|(_, cells)| cells).any(|cell| cell.does_not_flush)
    }

    /// Whether a mean of it is arithmetic: of a count that is 0 in a round, and not in all.
    pub fn has_arithmetic(&self) -> bool {
        let mut ours = self.rows.iter().flat_map(|(_, cells)| cells).filter_map(|cell| cell.ours);
        ours.any(|ours| ours.min <= 0.0 && ours.mean != ours.min)
    }
}

impl Pivot<'_> {
    /// What stands below it. That all of n rounds lie on one side of the median has the chance of n coins on one side (W. J. Conover, Practical
    /// Nonparametric Statistics, 3.2).
    pub fn note(&self) -> String {
        let ours = self.rows.iter().flat_map(|(_, cells)| cells).filter_map(|cell| cell.ours);
        let fewest = ours.map(|ours| ours.count).min().unwrap_or(0);
        // A name that a study has wrong looks like this for good.
        if fewest == 0 {
            return format!("No run has {} so far: `report --csv` has the names of all metrics.", self.metric);
        }
        let text = "Median over rounds, in brackets the smallest and the largest";
        if fewest < 2 {
            return format!("{text}.");
        }
        let confidence = (1.0 - 0.5_f64.powi(fewest as i32 - 1)).min(0.999);
        format!("{text}: the median lies between them with {} confidence ({fewest} rounds).", percent(confidence))
    }

    /// Each row of levels, and below it what others published; `mark` stands behind the figures of what does not flush, and
    /// `missing` where nobody published one.
    pub fn table(
        &self,
        id: String,
        mark: &str,
        published: impl Fn(&str) -> String,
        missing: fn() -> document::Cell,
    ) -> Table {
        let number = |value: f64| self.scale.number(value);
        let ours = |cell: &Cell| match cell.ours {
            Some(ours) => {
                let mark = if cell.does_not_flush { mark } else { "" };
                let shown = format!("{} ({}–{}){mark}", number(ours.median), number(ours.min), number(ours.max));
                number_cell(&shown, ours.median)
            }
            None => no_cell(),
        };
        let theirs = |cell: &Cell| cell.published.map_or_else(missing, |value| number_cell(&number(value), value));
        let mut table = Table::new(id, [word_head("")].into_iter().chain(self.columns.iter().map(|name| head(name))));
        for (row, cells) in &self.rows {
            table.row([word_cell(row)].into_iter().chain(cells.iter().map(ours)));
            if cells.iter().any(|cell| cell.published.is_some()) {
                let name = word_cell(&published(row));
                table.toned_row(Tone::Published, [name].into_iter().chain(cells.iter().map(theirs)));
            }
        }
        table
    }
}

/// The tables of a study, in the order of its file.
pub fn pivots<'a>(contents: &'a Contents, view: &View) -> Vec<Pivot<'a>> {
    contents.study.tables.iter().map(|table| pivot(contents, view, table)).collect()
}

fn pivot<'a>(contents: &'a Contents, view: &View, table: &'a TableRecord) -> Pivot<'a> {
    let of_workload = || {
        let all = contents.scenarios.iter().enumerate();
        all.filter(|(_, scenario)| {
            let has = |(factor, level): &(String, String)| scenario.levels.get(factor) == Some(level);
            scenario.workload == table.workload && !scenario.control && table.only.iter().all(has)
        })
    };
    let levels = |factor: &str, published: Vec<&'a str>| {
        let ours = of_workload().filter_map(|(_, scenario)| scenario.levels.get(factor).map(String::as_str));
        // Published rows and columns stand in their own order, and what only we measured after them.
        each_once(published.into_iter().chain(ours))
    };
    let published_columns = table.published.iter().flat_map(|(_, cells)| cells).map(|(name, _)| name.as_str());
    let columns = levels(&table.columns, published_columns.collect());
    let rows = levels(&table.rows, table.published.iter().map(|(name, _)| name.as_str()).collect());
    let values = contents.values(&table.metric);
    let scenarios_of = |row: &str, column: &str| -> Vec<(usize, &Scenario)> {
        let is = |levels: &std::collections::BTreeMap<String, String>, factor: &str, level: &str| {
            levels.get(factor).is_some_and(|known| known == level)
        };
        let both = |scenario: &Scenario| {
            is(&scenario.levels, &table.rows, row) && is(&scenario.levels, &table.columns, column)
        };
        of_workload().filter(|(_, scenario)| both(scenario)).collect()
    };
    let ours = |scenarios: &[(usize, &Scenario)]| {
        let is_claimed = scenarios.iter().any(|(_, scenario)| scenario.primary_metric == table.metric);
        let columns: Vec<usize> = scenarios.iter().map(|(index, _)| *index).collect();
        let zero = if is_claimed { Zero::Stall } else { Zero::Count };
        let found = by_round(&values, &columns, zero);
        let mean = figure::mean(&found, zero);
        let centre = centre(found, contents.study.analysis.confidence)?;
        // Of a count that is 0 in a round the geometric mean would be 0, whatever it is in the others.
        Some(if centre.min > 0.0 { centre } else { Centre { mean, low: mean, high: mean, ..centre } })
    };
    let published = |row: &str, column: &str| {
        let (_, cells) = table.published.iter().find(|(name, _)| name == row)?;
        cells.iter().find(|(name, _)| name == column).map(|(_, value)| *value)
    };
    let cell = |row: &str, column: &str| {
        let scenarios = scenarios_of(row, column);
        let does_not_flush = scenarios.iter().any(|(_, scenario)| view.does_not_flush(&scenario.label));
        Cell { ours: ours(&scenarios), published: published(row, column), does_not_flush }
    };
    let rows: Vec<(&str, Vec<Cell>)> =
        rows.iter().map(|row| (*row, columns.iter().map(|column| cell(row, column)).collect())).collect();
    let metric = contents.metric(&table.metric, Direction::Neither);
    // Values of a table span orders of magnitude: each keeps its own digits.
    let scale = Scale::of(&metric, 1.0);
    let title =
        if table.title.is_empty() { format!("{}: {}", table.workload, table.metric) } else { table.title.clone() };
    let metric = words(&table.metric);
    Pivot { title: format!("{title}{}", scale.after_name()), metric, columns, rows, source: &table.source, scale }
}

/// One value a round, the mean over these scenarios: they are no repetitions of each other. Of rounds that lack one only where all do.
fn by_round(values: &[Vec<Option<f64>>], columns: &[usize], zero: Zero) -> Vec<f64> {
    let is_measured = |column: &usize| values.iter().any(|round| round[*column].is_some());
    let measured: Vec<usize> = columns.iter().copied().filter(is_measured).collect();
    let of_round = |round: &Vec<Option<f64>>| measured.iter().filter_map(|column| round[*column]).collect::<Vec<f64>>();
    let (whole, in_part): (Vec<Vec<f64>>, Vec<Vec<f64>>) =
        values.iter().map(of_round).filter(|round| !round.is_empty()).partition(|round| round.len() == measured.len());
    let mean = |round: &Vec<f64>| match round[..] {
        // As it is, to the last bit.
        [one] => one,
        _ => figure::mean(round, zero),
    };
    if whole.is_empty() { in_part.iter().map(mean).collect() } else { whole.iter().map(mean).collect() }
}
