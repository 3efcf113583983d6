//! What power cuts were measured to take: speed against safety, a table of the scenarios, and what was found.

use super::open_details;
use super::tables::promise;
use crate::chart::{pareto, ranking};
use crate::document::{
    Block, Cell, Chart, Layout, Table, Tone, head, no_cell, number_cell, word_cell, word_head, wrapped_cell,
};
use crate::flushing::Marked as _;
use crate::number::{count, percent, percent_at_most, rounded, seconds};
use crate::safety::{explored, is_censored};
use analysis::row::Row;
use analysis::view::{Part, View};
use observe::safety::{Grade, Safety};

/// Findings shown of a scenario, the worst first.
const FINDINGS_MAX: usize = 8;

const ABOUT: &str = "A load that commits, or one that replaces files, was recorded on a disk of its own, write by write. Then the power \
    was cut, by showing that disk as a cut may leave it at each of its moments to the real recovery of filesystem and database; what \
    had been acknowledged had to be there. Moments are those just before each completed flush, and the end.";

const EXPECTED: &str = "The worst is searched for, so how many images are bad says nothing of how likely one is. The expected loss, and the \
    share of bad cuts with its bound, are of random cuts alone: power fails at any moment of the load, and each block holds what the \
    disk's drive had on its medium then. On a disk that has no drive's times, or whose cache lies, a coin decides for each block \
    whether it holds what was last written or what was durable. The mean is over random cuts after which all came up. Where a loss is \
    as long as the recording could show, it may be longer (\"or more\"), and a mean would be of the recording's length.";

/// The section; empty where nothing of the kind was measured.
pub fn section(view: &View) -> Option<Block> {
    let mut blocks = Vec::new();
    for (i, part) in view.parts.iter().enumerate() {
        let rows = part.rows.iter().filter(|row| !row.control);
        let measured: Vec<(&Row, &Safety)> = rows.filter_map(|row| Some((row, row.power_cut.as_ref()?))).collect();
        if measured.is_empty() {
            continue;
        }
        if view.parts.len() > 1 {
            blocks.push(Block::Heading(3, part.workload.clone()));
        }
        blocks.extend(picture(i, part, view));
        blocks.push(scenarios(i, &measured));
        blocks.extend(findings(i, &measured));
        blocks.push(notes(&measured));
    }
    if blocks.is_empty() {
        return None;
    }
    let class = |grade: &Grade| format!("{}, {}", grade.letter(), grade.words());
    let classes: Vec<String> = Grade::ALL.iter().map(class).collect();
    let about = [
        Block::Heading(2, "After a power cut".into()),
        Block::Note(ABOUT.into()),
        Block::Note(format!("The class is the worst of all images: {}.", classes.join("; "))),
        Block::Note(EXPECTED.into()),
    ];
    Some(Block::Section(about.into_iter().chain(blocks).collect()))
}

fn picture(i: usize, part: &Part, view: &View) -> Option<Block> {
    let picture = pareto::draw(&format!("pareto-{i}"), part)?;
    let drawn = match pareto::count(part) {
        all if all > ranking::ROWS_MAX => format!(" The best {} of {all} scenarios are drawn.", ranking::ROWS_MAX),
        _ => String::new(),
    };
    let caption = format!(
        "Speed with its {} interval, by what a power cut took. A filled mark is beaten by no other scenario in both; a hollow \
         one is, as another is at least as fast and as safe.{drawn}",
        percent(view.confidence)
    );
    Some(Block::Charts(Layout::Below, vec![Chart::new(picture, caption)]))
}

fn scenarios(i: usize, measured: &[(&Row, &Safety)]) -> Block {
    let heads = [
        word_head("scenario"),
        word_head("class"),
        head("worst loss, acknowledged commits"),
        head("worst loss, time"),
        head("expected loss, commits"),
        head("expected loss, time"),
        head("random cuts"),
        head("bad of these"),
        head("bad, at most (95 %)"),
        head("images searched"),
        word_head("looked at"),
        head("unmountable"),
        head("damaged"),
        head("wrong without a word"),
        word_head("by settings"),
        word_head("control group"),
    ];
    let mut table = Table::new(format!("power-cuts-{i}"), heads);
    for (row, found) in measured {
        table.toned_row(if row.baseline { Tone::Baseline } else { Tone::Plain }, cells(row, found));
    }
    open_details("Losses", [Block::Table(table)])
}

fn cells(row: &Row, found: &Safety) -> Vec<Cell> {
    let number = |number: u64| number_cell(&count(number), number as f64);
    let or_more = if is_censored(found) { " or more" } else { "" };
    let worst = format!("{} of {}", count(found.worst_lost_commits), count(found.acknowledged));
    let expected = |value: Option<f64>| value.filter(|_| !is_censored(found));
    let but = match (row.was_broken(), row.hides_damage()) {
        (true, _) => ": that is not what was measured",
        (_, true) => ": what was recorded did not contain it",
        _ => "",
    };
    vec![
        word_cell(&row.marked()),
        word_cell(&format!("{} · {}", found.grade.letter(), found.grade.words())),
        number_cell(&worst, found.worst_lost_commits as f64),
        number_cell(&format!("{}{or_more}", seconds(found.worst_lost_seconds)), found.worst_lost_seconds),
        known_cell(expected(found.expected_lost_commits), |commits| rounded(commits, 2).to_string()),
        known_cell(expected(found.expected_lost_seconds), seconds),
        number(found.random_cuts),
        number(found.random_cuts_bad),
        known_cell(found.bad_share_at_most(), percent_at_most),
        number(found.images),
        wrapped_cell(&format!("{}, at {} moments", explored(found), count(found.points))),
        number(found.unmountable),
        number(found.damaged),
        number(found.silent),
        wrapped_cell(&format!("{}{but}", promise(row))),
        wrapped_cell(&control(found)),
    ]
}

/// A figure that older results do not have, or that says nothing.
fn known_cell(value: Option<f64>, shown: impl Fn(f64) -> String) -> Cell {
    value.map_or_else(no_cell, |value| number_cell(&shown(value), value))
}

/// What images drawn at random, and bad ones run again, say of the search.
fn control(found: &Safety) -> String {
    let drawn = match (found.audited, found.audited_new) {
        (0, _) => "none drawn".into(),
        (audited, 0) => format!("{} drawn at random, nothing new", count(audited)),
        (audited, new) => format!("{} drawn at random, {} NOT FOUND before", count(audited), count(new)),
    };
    match found.unsteady {
        0 => drawn,
        unsteady => format!("{drawn}; {} bad ones came out otherwise when run again", count(unsteady)),
    }
}

/// Faults that were seen, each with the name of an image that has it.
fn findings(i: usize, measured: &[(&Row, &Safety)]) -> Option<Block> {
    if measured.iter().all(|(_, found)| found.findings.is_empty()) {
        return None;
    }
    let heads = [
        word_head("scenario"),
        word_head("what was seen"),
        head("images"),
        word_head("one of them"),
        word_head("which lacks"),
        word_head("the filesystem's checker"),
    ];
    let mut table = Table::new(format!("findings-{i}"), heads);
    let mut left_out = 0;
    for (row, found) in measured {
        for finding in found.findings.iter().take(FINDINGS_MAX) {
            table.row([
                word_cell(&row.marked()),
                wrapped_cell(&finding.what),
                number_cell(&count(finding.images), finding.images as f64),
                wrapped_cell(&finding.example),
                wrapped_cell(&finding.lacks),
                wrapped_cell(&finding.checked),
            ]);
        }
        left_out += found.findings.len().saturating_sub(FINDINGS_MAX);
    }
    let more = if left_out > 0 { format!(" {left_out} more are in `report --json`.") } else { String::new() };
    let note = format!(
        "`surefoot powercut STUDY --scenario SCENARIO --replay NAME` mounts the image of that name once more, where its log is still \
         kept.{more}"
    );
    Some(open_details("What was found", [Block::Note(note), Block::Table(table)]))
}

/// Under what disks it was, and what else a reader should know.
fn notes(measured: &[(&Row, &Safety)]) -> Block {
    let mut said: Vec<(String, Vec<String>)> = Vec::new();
    for (row, found) in measured {
        for note in [format!("disk: {}", found.disk)].into_iter().chain(found.notes.iter().cloned()) {
            match said.iter_mut().find(|known| known.0 == note) {
                Some((_, names)) => names.push(row.marked()),
                None => said.push((note, vec![row.marked()])),
            }
        }
    }
    let items = said.iter().map(|(note, names)| {
        let whose = if names.len() == measured.len() { String::new() } else { format!("{}: ", names.join(", ")) };
        format!("{whose}{note}")
    });
    Block::Notes(items.collect())
}
