//! The whole report as a document: for a page, and for paper.
//!
//! Who reads only the paper can do the study again: study file, machine, commands and every judged figure of every run are on it.

mod appendix;
mod explained;
mod explore;
mod faults;
mod health;
mod on_paper;
mod pictures;
mod power_cuts;
mod tables;

use crate::brief::warning;
use crate::document::{Block, Document, Medium, page, paper};
use crate::input::Input;
use crate::number::date;
use crate::warnings::warnings;
use crate::{answer, apply, limits, summary, tails};
use analysis::view::{Part, View};
use ledger::model::StudyRecord;

/// The page.
pub fn html(input: &Input) -> String {
    page(&document(input, String::new()))
}

/// The report on paper, as `surefoot-pdf` reads it; `runs` is every figure of every run as CSV, which is attached.
pub fn print(input: &Input, runs: String) -> String {
    paper(&document(input, runs))
}

/// All that there is to say.
pub(crate) fn document(input: &Input, runs: String) -> Document {
    let view = input.view();
    let mut blocks = vec![title(input), Block::Answer(summary::on_page(input)), Block::Section(found(input, view))];
    blocks.extend(limits::section(view, &input.contents));
    blocks.extend(in_place(input, view));
    blocks.extend(warned(input, view));
    blocks.push(Block::Only(Medium::Paper, on_paper::scenarios(input)));
    blocks.extend(measured(input, view));
    blocks.extend(appendix::failures(input));
    blocks.push(Block::Section(appendix::how_it_was_made(input, view)));
    blocks.push(Block::Only(Medium::Paper, on_paper::values_and_files(input, view, runs)));
    Document { short_names: on_paper::short_names(input), ..of_study(&input.contents.study, blocks) }
}

/// Blocks about a study, with what its document is called and what stands at its foot.
pub(crate) fn of_study(study: &StudyRecord, blocks: Vec<Block>) -> Document {
    let (name, version) = (&study.name, &study.surefoot_version);
    let hash: String = study.hash.chars().take(12).collect();
    Document {
        name: format!("{name} – surefoot"),
        author: format!("surefoot {version}"),
        footer: format!("{name} · study {hash} · seed {} · surefoot {version}", study.seed),
        blocks,
        ..Document::default()
    }
}

fn title(input: &Input) -> Block {
    let study = &input.contents.study;
    Block::Title {
        above: format!("surefoot study {} · {}", study.name, date(study.created)),
        title: if study.question.is_empty() { study.name.clone() } else { study.question.clone() },
        below: appendix::machine_line(input),
    }
}

/// All sentences of the answer.
fn found(input: &Input, view: &View) -> Vec<Block> {
    let mut lines = answer::answer(input);
    let limits = lines.pop().unwrap_or_default();
    let importance = view.parts.iter().enumerate().flat_map(|(i, part)| pictures::importance(i, part));
    let words = [Block::Heading(2, "What was found".into()), Block::List(lines)];
    words.into_iter().chain(importance).chain([Block::Note(limits)]).collect()
}

/// How what is picked is put in place, of each workload.
fn in_place(input: &Input, view: &View) -> Vec<Block> {
    let picks = view.parts.iter().filter_map(Part::pick);
    let all: Vec<Block> = picks.flat_map(|row| apply::on_page(input, &row.label)).collect();
    (!all.is_empty()).then(|| details("Put it in place: mkfs, fstab, settings, checks", all)).into_iter().collect()
}

/// All warnings, with what they do to the answer and what to do about them.
fn warned(input: &Input, view: &View) -> Vec<Block> {
    let all: Vec<Block> = warnings(view, &input.contents).iter().map(warning).collect();
    let heading = (!all.is_empty()).then(|| Block::Heading(2, "Warnings".into()));
    heading.into_iter().chain(all).collect()
}

/// What was measured, part by part, with the section to explore on a page.
fn measured(input: &Input, view: &View) -> Vec<Block> {
    let parts = view.parts.iter().enumerate().filter(|(_, part)| !is_of_safety_alone(part));
    let mut blocks: Vec<Block> = parts.map(|(i, part)| Block::Section(of_part(i, part, view, input))).collect();
    blocks.extend(tables::pivots(input));
    blocks.push(Block::Markup(explore::section(input, view)));
    blocks.extend(pictures::explanations(input, view));
    blocks.extend(power_cuts::section(view));
    blocks.extend(faults::section(view));
    blocks.push(tables::durability(input));
    blocks.extend(pictures::trust(input, view));
    blocks.extend(health::table(input, view));
    blocks
}

/// Whether power cuts or failing disks were measured and no trial was begun: there is no speed to show.
fn is_of_safety_alone(part: &Part) -> bool {
    let has_trials = part.rows.iter().any(|row| row.centre.is_some() || row.failed > 0);
    !has_trials && part.rows.iter().any(|row| row.power_cut.is_some() || row.faults.is_some())
}

/// One workload: claims, ranking, table.
fn of_part(i: usize, part: &Part, view: &View, input: &Input) -> Vec<Block> {
    let mut blocks = vec![Block::Heading(2, answer::heading(part))];
    blocks.extend(pictures::ranking_and_forest(i, part, view));
    blocks.extend(pictures::interplay(i, part, view));
    blocks.extend(tables::claims(i, part, view));
    blocks.extend(tails::on_page(i, part, view));
    blocks.extend(explained::what_changed(i, part, view));
    blocks.push(tables::scenarios(i, part, view));
    blocks.extend(tails::orders(part).into_iter().map(Block::Note));
    blocks.extend(tables::notes(i, part, input));
    blocks.extend(explained::ceilings(i, part, input));
    blocks.extend(tables::metrics(i, part, input));
    blocks
}

/// What a page shows when its summary is clicked on.
fn details(summary: impl Into<String>, blocks: impl IntoIterator<Item = Block>) -> Block {
    Block::Details { summary: summary.into(), is_open: false, blocks: blocks.into_iter().collect() }
}

/// The same, open at first.
fn open_details(summary: impl Into<String>, blocks: impl IntoIterator<Item = Block>) -> Block {
    Block::Details { summary: summary.into(), is_open: true, blocks: blocks.into_iter().collect() }
}
