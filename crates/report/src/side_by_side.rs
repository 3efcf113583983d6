//! Any number of results in one view: of each workload that several measured, every scenario's mean and interval by file.
//!
//! Means stand beside each other and no difference is claimed: what two files have in common is `compare.rs`'s to say.

use crate::chart::levels;
use crate::compare::check_benches;
use crate::document::{Block, Chart, Layout, Table, head, no_cell, number_cell, word_cell, word_head};
use crate::flushing::{MARK, NAME_MARK};
use crate::input::Input;
use crate::number::{Scale, words};
use crate::pivot::{Cell, Pivot};
use crate::words::{beside, each_once};
use analysis::row::Row;
use analysis::view::Part;

const CAUTION: &str = "Files were measured at different times: whatever differed between them is part of what differs here. \
    `surefoot compare` says of two of them what was shown.";

/// A piece of a document. Figures of different benches are not set beside each other; what is said then names the files.
pub fn side_by_side(results: &[(&str, &Input)]) -> Vec<Block> {
    for (i, (a, first)) in results.iter().enumerate() {
        for (b, second) in &results[i + 1..] {
            if let Err(error) = check_benches(first, second) {
                let which = Block::Paragraph(format!("A is {a}, B is {b}."));
                return vec![Block::Warning(format!("{error}."), vec![which])];
            }
        }
    }
    let mut blocks = Vec::new();
    let mut alone = Vec::new();
    for (workload, metric) in workloads(results) {
        let parts: Vec<(&str, &Part)> = results
            .iter()
            .filter_map(|(name, input)| {
                let mut parts = input.view().parts.iter();
                Some((*name, parts.find(|part| part.workload == workload && part.metric.name == metric)?))
            })
            .filter(|(_, part)| part.measured().next().is_some())
            .collect();
        match parts.as_slice() {
            [] => {}
            [(name, _)] => alone.push(format!("{workload}, {} (only in {name})", words(metric))),
            several => blocks.push(section(several, &format!("{workload}-{metric}"))),
        }
    }
    if blocks.is_empty() {
        blocks.push(Block::Paragraph("No two of these files have measured the same workload yet.".into()));
    }
    blocks.extend((!alone.is_empty()).then(|| Block::Note(format!("Not shown: {}.", alone.join("; ")))));
    blocks.push(Block::Note(CAUTION.into()));
    blocks
}

/// Workloads with their metrics, each once, in the order they are met.
fn workloads<'a>(results: &[(&'a str, &'a Input)]) -> Vec<(&'a str, &'a str)> {
    let parts = results.iter().flat_map(|(_, input)| &input.view().parts);
    each_once(parts.map(|part| (part.workload.as_str(), part.metric.name.as_ref())))
}

fn section(parts: &[(&str, &Part)], id: &str) -> Block {
    let first = parts[0].1;
    let rows = parts.iter().flat_map(|(_, part)| part.measured()).filter(|row| !row.control);
    let labels = each_once(rows.map(|row| row.label.as_str()));
    let cell = |part: &Part, label: &str| {
        let row = part.row(label);
        Cell {
            ours: row.and_then(|row| row.centre),
            published: None,
            does_not_flush: row.is_some_and(Row::does_not_flush),
        }
    };
    let rows: Vec<(&str, Vec<Cell>)> =
        labels.iter().map(|label| (*label, parts.iter().map(|(_, part)| cell(part, label)).collect())).collect();
    let largest =
        rows.iter().flat_map(|(_, cells)| cells).filter_map(|cell| cell.ours).map(|ours| ours.max).fold(0.0, f64::max);
    let scale = Scale::of(&first.metric, largest);
    let pivot = Pivot {
        title: crate::answer::heading(first),
        metric: beside(&first.metric, &scale),
        columns: parts.iter().map(|(name, _)| *name).collect(),
        rows,
        source: "",
        scale,
    };
    let picture = levels::draw(&format!("side-{id}"), &pivot);
    let chart =
        picture.map(|picture| Block::Charts(Layout::Below, vec![Chart::new(picture, levels::left_out(&pivot))]));
    let marked = format!(" † and ({MARK}): commits were acknowledged without flushes.");
    let marked = if pivot.is_marked() { marked.as_str() } else { "" };
    let note = Block::Note(format!("Geometric means with their intervals.{marked}"));
    let heading = Block::Heading(2, pivot.title.clone());
    Block::Section([heading].into_iter().chain(chart).chain([Block::Table(table(&pivot, id)), note]).collect())
}

fn table(pivot: &Pivot, id: &str) -> Table {
    let heads = [word_head("scenario")].into_iter().chain(pivot.columns.iter().map(|name| head(name)));
    let mut table = Table::new(format!("table-{id}"), heads);
    let figure = |cell: &Cell| {
        let Some(ours) = cell.ours else { return no_cell() };
        let mark = if cell.does_not_flush { NAME_MARK } else { "" };
        let mean = pivot.scale.with_interval(ours.mean, ours.low, ours.high);
        number_cell(&format!("{mean}{mark}"), ours.mean)
    };
    for (label, cells) in &pivot.rows {
        table.row([word_cell(label)].into_iter().chain(cells.iter().map(figure)));
    }
    table
}
