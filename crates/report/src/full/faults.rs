//! What failing disks were measured to do: each fault by its ways on, and an example of each end.

use super::open_details;
use crate::document::{Block, Columns, head, no_cell, number_cell, word_head, wrapped_cell};
use crate::flushing::Marked as _;
use crate::number::{count, seconds};
use crate::words::each_once;
use analysis::row::Row;
use analysis::view::View;
use observe::faults::{Consequence, FaultsFound};

const ABOUT: &str = "A load of commits ran on a disk of its own, which failed at one of its requests. Then the load went on in one of four \
    ways: at once, after the kernel's caches were dropped, after the server was started again, or after the disk was mended and \
    mounted again. All rows were read at several moments and, at last, from the mended disk, and held against what had been acknowledged.";

/// The section; none where nothing of the kind was measured.
pub fn section(view: &View) -> Option<Block> {
    let mut blocks = Vec::new();
    for (i, part) in view.parts.iter().enumerate() {
        let rows = part.rows.iter().filter(|row| !row.control);
        let measured: Vec<(&Row, &FaultsFound)> = rows.filter_map(|row| Some((row, row.faults.as_ref()?))).collect();
        if measured.is_empty() {
            continue;
        }
        if view.parts.len() > 1 {
            blocks.push(Block::Heading(3, part.workload.clone()));
        }
        blocks.push(scenarios(i, &measured));
        blocks.push(by_fault(i, &measured));
        blocks.push(examples(i, &measured));
        blocks.extend(notes(&measured));
    }
    if blocks.is_empty() {
        return None;
    }
    let ends = Consequence::ALL.map(|end| format!("{}: {}", end.words(), end.help()));
    let about = [
        Block::Heading(2, "On a failing disk".into()),
        Block::Note(ABOUT.into()),
        Block::Note(format!("How a case can end, the best first: {}.", ends.join("; "))),
    ];
    Some(Block::Section(about.into_iter().chain(blocks).collect()))
}

fn scenarios(i: usize, measured: &[(&Row, &FaultsFound)]) -> Block {
    // Ends that nothing came to would only make the table wide.
    let came = |end: &Consequence| measured.iter().any(|(_, found)| found.count(*end) > 0);
    let table = Columns::of(format!("faults-{i}"), measured)
        .baseline(|(row, _)| row.baseline)
        .words("scenario", |(row, _)| row.marked())
        .counts("cases", |(_, found)| found.cases);
    let table = Consequence::ALL.into_iter().filter(came).fold(table, |table, end| {
        let cases = |found: &FaultsFound| Some(found.count(end) as f64).filter(|cases| *cases > 0.0);
        table.figures(end.words(), |(_, found)| cases(found), |cases| count(cases as u64))
    });
    let table = table
        .column(head("on a well disk"), |(_, found)| {
            let honest = format!("{} of {} wrong", count(found.honest_bad), count(found.honest));
            number_cell(&honest, found.honest_bad as f64)
        })
        .figures("time", |(_, found)| found.seconds, seconds);
    open_details("By scenario", [Block::Table(table.table())])
}

/// A row for each fault and each kind of block, with how each way on ended.
fn by_fault(i: usize, measured: &[(&Row, &FaultsFound)]) -> Block {
    let ways = each_once(measured.iter().flat_map(|(_, found)| &found.rows).map(|row| &*row.continuation));
    let mut faults = Vec::new();
    for (row, found) in measured {
        let mut keys: Vec<(&str, &str)> = found.rows.iter().map(|row| (&*row.fault, &*row.structure)).collect();
        keys.dedup();
        faults.extend(keys.into_iter().map(|key| (row, found, key)));
    }
    let table = Columns::of(format!("faults-by-kind-{i}"), &faults)
        .words("scenario", |(row, ..)| row.marked())
        .words("fault", |(_, _, key)| key.0)
        .words("block", |(_, _, key)| key.1);
    let table = ways.into_iter().fold(table, |table, way| {
        table.column(word_head(way), |(_, found, (fault, structure))| {
            let of = |row: &observe::faults::Row| row.fault == *fault && row.structure == *structure;
            let row = found.rows.iter().find(|row| of(row) && row.continuation == way);
            row.map_or_else(no_cell, |row| wrapped_cell(&counts(row)))
        })
    });
    open_details("By fault and block", [Block::Table(table.table())])
}

/// "3 told, 1 lost".
fn counts(row: &observe::faults::Row) -> String {
    let ends = row.counts.iter().map(|(end, number)| format!("{} {}", count(*number), end.words()));
    ends.collect::<Vec<_>>().join(", ")
}

/// Of each fault, the first example of each end worse than that somebody was told.
fn examples(i: usize, measured: &[(&Row, &FaultsFound)]) -> Block {
    let mut shown = Vec::new();
    for (row, found) in measured {
        let mut seen: Vec<(&str, Consequence)> = Vec::new();
        for kind in &found.rows {
            for (end, example) in kind.examples.iter().filter(|(end, _)| **end > Consequence::Told) {
                if !seen.contains(&(&*kind.fault, *end)) {
                    seen.push((&*kind.fault, *end));
                    shown.push((row, *end, example));
                }
            }
        }
    }
    let first = |lines: &[String]| match lines {
        [] => "nothing".to_string(),
        [line] => line.clone(),
        [line, rest @ ..] => format!("{line} (and {} more lines)", rest.len()),
    };
    let table = Columns::of(format!("faults-examples-{i}"), &shown)
        .words("scenario", |(row, ..)| row.marked())
        .words("end", |(_, end, _)| end.words())
        .words("case", |(.., example)| &example.case)
        .wrapped("what was seen", |(.., example)| &example.words)
        .wrapped("the client was told", |(.., example)| first(&example.client))
        .wrapped("the server's log", |(.., example)| first(&example.server))
        .wrapped("the kernel's log", |(.., example)| first(&example.kernel));
    let note = "`surefoot faults STUDY --scenario SCENARIO --replay CASE` runs a case again, step by step. Where no log has a line, an \
                administrator could not have known.";
    open_details("Examples", [Block::Note(note.into()), Block::Table(table.table())])
}

fn notes(measured: &[(&Row, &FaultsFound)]) -> Option<Block> {
    let of_row = |(row, found): &(&Row, &FaultsFound)| {
        let name = row.marked();
        found.notes.iter().map(|note| format!("{name}: {note}")).collect::<Vec<_>>()
    };
    let items: Vec<String> = measured.iter().flat_map(of_row).collect();
    (!items.is_empty()).then_some(Block::Notes(items))
}
