//! A history as a page: sentences, a line chart a workload, tables.

use super::{Changes, History, LIMITS, Series, Workload, words as change_words};
use crate::chart::history;
use crate::document::{
    Block, Cell, Chart, Document, Layout, Table, Tone, head, no_cell, number_cell, page, word_cell, word_head,
};
use crate::flushing::NAME_MARK;
use crate::number::Scale;
use crate::words::beside;
use stats::Verdict;

const TITLE: &str = "Results over time";

impl History {
    /// The page.
    pub fn html(&self) -> String {
        let mut blocks = vec![Block::Title { above: String::new(), title: TITLE.into(), below: String::new() }];
        for (i, series) in self.series.iter().enumerate() {
            let answer = Block::Answer(vec![Block::List(series.sentences())]);
            let changes = series.changes();
            let mut of_series = vec![Block::Heading(2, series.heading()), answer];
            for (j, workload) in series.workloads().iter().enumerate() {
                of_series.extend(figures(&format!("{i}-{j}"), series, workload, &changes));
            }
            blocks.push(Block::Section(of_series));
        }
        blocks.push(Block::Note(LIMITS.into()));
        page(&Document { name: format!("{TITLE} – surefoot"), blocks, ..Document::default() })
    }
}

fn figures(id: &str, series: &Series, workload: &Workload, changes: &[[Changes; 2]]) -> Vec<Block> {
    let centres = |label: &str| series.rows(workload, label).into_iter().map(|row| row?.centre).collect::<Vec<_>>();
    let lines: Vec<history::Line> =
        workload.labels.iter().map(|label| history::Line { label, centres: centres(label) }).collect();
    // The day is enough for a picture.
    let dates: Vec<String> = (0..series.results.len()).map(|at| series.when(at).chars().take(10).collect()).collect();
    let scale = &Scale::of_part(workload.part);
    let metric = beside(&workload.part.metric, scale);
    let left_out = lines.len().saturating_sub(history::LINES_MAX);
    let note = if left_out > 0 { format!("{left_out} more scenarios in the table.") } else { String::new() };
    let picture = history::draw(&format!("history-{id}"), &lines, &dates, scale, &metric);
    let chart = picture.map(|picture| Block::Charts(Layout::Below, vec![Chart::new(picture, note)]));
    let table = Block::Table(table(id, series, workload, changes));
    [Block::Heading(3, workload.heading())].into_iter().chain(chart).chain([table]).collect()
}

fn table(id: &str, series: &Series, workload: &Workload, changes: &[[Changes; 2]]) -> Table {
    let mut heads = vec![word_head("scenario"), word_head("measured")];
    heads.extend(["mean", "interval", "rounds"].map(head));
    heads.extend(["to the one before", "to the first", "file"].map(word_head));
    let mut table = Table::new(format!("history-table-{id}"), heads);
    for label in &workload.labels {
        for (at, row) in series.rows(workload, label).into_iter().enumerate() {
            let Some((row, centre)) = row.and_then(|row| Some((row, row.centre?))) else { continue };
            let mark = if row.does_not_flush() { NAME_MARK } else { "" };
            let (name, _) = &series.results[at];
            let scale = &Scale::of_part(workload.part);
            let to = |from: usize| {
                let change = changes[at][from].get(&workload.key(label));
                let tone = match change.and_then(|change| change.verdict) {
                    Some(Verdict::Faster) => Tone::Faster,
                    Some(Verdict::Slower) => Tone::Slower,
                    _ => Tone::Plain,
                };
                Cell { tone, ..word_cell(&change.map_or_else(String::new, change_words)) }
            };
            table.row([
                word_cell(label),
                word_cell(&series.when(at)),
                number_cell(&format!("{}{mark}", scale.with_unit(centre.mean)), centre.mean),
                scale.interval(&centre).map_or_else(no_cell, |ends| number_cell(&ends, centre.low)),
                number_cell(&centre.count.to_string(), centre.count as f64),
                to(0),
                to(1),
                word_cell(name),
            ]);
        }
    }
    table
}
