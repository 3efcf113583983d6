//! What failing disks were measured to do: each fault by its ways on, and an example of each end.

use super::open_details;
use crate::document::{Block, Cell, Table, Tone, head, no_cell, number_cell, word_cell, word_head, wrapped_cell};
use crate::flushing::Marked as _;
use crate::number::{count, seconds};
use analysis::row::Row;
use analysis::view::View;
use observe::faults::{Consequence, Example, FaultsFound};

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
    let ends: Vec<Consequence> = Consequence::ALL.into_iter().filter(came).collect();
    let heads = [word_head("scenario"), head("cases")].into_iter().chain(ends.iter().map(|end| head(end.words())));
    let heads = heads.chain([head("on a well disk"), head("time")]);
    let mut table = Table::new(format!("faults-{i}"), heads);
    for (row, found) in measured {
        let number = |number: u64| number_cell(&count(number), number as f64);
        let mut cells = vec![word_cell(&row.marked()), number(found.cases)];
        cells.extend(ends.iter().map(|end| number_or_none(found.count(*end))));
        let honest = format!("{} of {} wrong", count(found.honest_bad), count(found.honest));
        cells.extend([
            number_cell(&honest, found.honest_bad as f64),
            number_cell(&seconds(found.seconds), found.seconds),
        ]);
        table.toned_row(if row.baseline { Tone::Baseline } else { Tone::Plain }, cells);
    }
    open_details("By scenario", [Block::Table(table)])
}

fn number_or_none(number: u64) -> Cell {
    if number == 0 { no_cell() } else { number_cell(&count(number), number as f64) }
}

/// A row for each fault and each kind of block, with how each way on ended.
fn by_fault(i: usize, measured: &[(&Row, &FaultsFound)]) -> Block {
    let mut ways: Vec<&str> = Vec::new();
    let all = || measured.iter().flat_map(|(_, found)| &found.rows);
    for row in all() {
        if !ways.contains(&&*row.continuation) {
            ways.push(&row.continuation);
        }
    }
    let heads = [word_head("scenario"), word_head("fault"), word_head("block")].into_iter();
    let mut table = Table::new(format!("faults-by-kind-{i}"), heads.chain(ways.iter().map(|way| word_head(way))));
    for (row, found) in measured {
        let mut keys: Vec<(&str, &str)> = found.rows.iter().map(|row| (&*row.fault, &*row.structure)).collect();
        keys.dedup();
        for (fault, structure) in keys {
            let of_way = |way: &&str| {
                let is_it = |row: &&observe::faults::Row| {
                    row.fault == fault && row.structure == structure && row.continuation == **way
                };
                found.rows.iter().find(is_it).map_or_else(no_cell, |row| wrapped_cell(&counts(row)))
            };
            let names = [word_cell(&row.marked()), word_cell(fault), word_cell(structure)];
            table.row(names.into_iter().chain(ways.iter().map(of_way)));
        }
    }
    open_details("By fault and block", [Block::Table(table)])
}

/// "3 told, 1 lost".
fn counts(row: &observe::faults::Row) -> String {
    let ends = row.counts.iter().map(|(end, number)| format!("{} {}", count(*number), end.words()));
    ends.collect::<Vec<_>>().join(", ")
}

/// Of each fault, the first example of each end worse than that somebody was told.
fn examples(i: usize, measured: &[(&Row, &FaultsFound)]) -> Block {
    let heads =
        ["scenario", "end", "case", "what was seen", "the client was told", "the server's log", "the kernel's log"];
    let mut table = Table::new(format!("faults-examples-{i}"), heads.map(word_head));
    for (row, found) in measured {
        let mut seen: Vec<(&str, Consequence)> = Vec::new();
        for kind in &found.rows {
            for (end, example) in kind.examples.iter().filter(|(end, _)| **end > Consequence::Told) {
                if seen.contains(&(&*kind.fault, *end)) {
                    continue;
                }
                seen.push((&*kind.fault, *end));
                table.row(example_cells(row, *end, example));
            }
        }
    }
    let note = "`surefoot faults STUDY --scenario SCENARIO --replay CASE` runs a case again, step by step. Where no log has a line, an \
                administrator could not have known.";
    open_details("Examples", [Block::Note(note.into()), Block::Table(table)])
}

fn example_cells(row: &Row, end: Consequence, example: &Example) -> [Cell; 7] {
    let first = |lines: &[String]| match lines {
        [] => "nothing".to_string(),
        [line] => line.clone(),
        [line, rest @ ..] => format!("{line} (and {} more lines)", rest.len()),
    };
    [
        word_cell(&row.marked()),
        word_cell(end.words()),
        word_cell(&example.case),
        wrapped_cell(&example.words),
        wrapped_cell(&first(&example.client)),
        wrapped_cell(&first(&example.server)),
        wrapped_cell(&first(&example.kernel)),
    ]
}

fn notes(measured: &[(&Row, &FaultsFound)]) -> Option<Block> {
    let of_row = |(row, found): &(&Row, &FaultsFound)| {
        let name = row.marked();
        found.notes.iter().map(|note| format!("{name}: {note}")).collect::<Vec<_>>()
    };
    let items: Vec<String> = measured.iter().flat_map(of_row).collect();
    (!items.is_empty()).then_some(Block::Notes(items))
}
