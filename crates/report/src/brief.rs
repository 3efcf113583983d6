//! The whole answer for a terminal or Markdown: all sentences, the warnings, then a table a workload.

use crate::document::{
    self, Block, Cell, Column, Columns, Fit, Medium, Table, head, interval_head, word_cell, word_head,
};
use crate::flushing::{DAGGER, DAGGER_NOTE, MARK};
use crate::input::Input;
use crate::number::{Scale, figure, ratio_ends, ratio_precise};
use crate::pivot::pivots;
use crate::warnings::{Warning, warnings};
use crate::{answer, ceilings, claims, errors, faults, limits, notes, safety, tails};
use analysis::row::{Centre, Row};
use analysis::view::{Part, View};
use observe::durability::Class;

/// Letters of a study's hash: enough to tell studies apart.
const HASH_LETTERS: usize = 12;
/// To so many letters the head above ratios is cut where room is scarce.
const AGAINST_MIN: usize = "vs baseline".len();

/// For a terminal, at most `width` columns where words can be broken.
pub fn terminal(input: &Input, width: usize, colour: bool) -> String {
    document::terminal(&blocks(input), width, colour)
}

/// For a wiki or a pull request.
pub fn markdown(input: &Input) -> String {
    document::markdown(&blocks(input))
}

fn blocks(input: &Input) -> Vec<Block> {
    let (view, study) = (input.view(), &input.contents.study);
    let title = Block::Title { above: String::new(), title: study.name.clone(), below: study.question.clone() };
    let mut blocks = vec![Block::Only(Medium::Markdown, vec![title])];
    blocks.extend(said(input, view));
    blocks.extend(warnings(view, &input.contents).iter().map(warning));
    blocks.extend(limits::section(view, &input.contents));
    for part in view.parts.iter().filter(|part| !part.rows.is_empty()) {
        blocks.extend([Block::Heading(2, answer::heading(part)), Block::Table(scenarios(part, view))]);
        let notes = notes::lines(part, input);
        blocks.extend((!notes.is_empty()).then_some(Block::List(notes)));
        let orders = tails::orders(part);
        blocks.extend((!orders.is_empty()).then_some(Block::List(orders)));
        blocks.extend(tails::in_brief(part, view));
    }
    for pivot in pivots(&input.contents, view) {
        let table = pivot.table(String::new(), &format!(" {DAGGER}"), |_| "  published".into(), Cell::default);
        blocks.extend([Block::Heading(2, pivot.title.clone()), Block::Table(table), Block::Note(pivot.note())]);
        blocks.extend(pivot.is_marked().then(|| Block::Note(DAGGER_NOTE.into())));
        blocks.extend((!pivot.source.is_empty()).then(|| Block::Note(format!("Published: {}", pivot.source))));
    }
    let hash: String = study.hash.chars().take(HASH_LETTERS).collect();
    let made = format!("Made by surefoot {} from the study {hash}, seed {}.", study.surefoot_version, study.seed);
    blocks.push(Block::Only(Medium::Markdown, vec![Block::Note(made)]));
    blocks
}

/// Something a reader of the answer must know.
pub fn warning(warning: &Warning) -> Block {
    let more = [Block::Paragraph(warning.effect.into()), Block::Note(warning.remedy.into())];
    Block::Warning(format!("{}.", warning.seen), more.into())
}

/// The answer: its first sentence, then all others, below the name of what they are about where that is more than one.
fn said(input: &Input, view: &View) -> Vec<Block> {
    let headings: Vec<String> = view.parts.iter().map(|part| format!("{}:", answer::heading(part))).collect();
    let mut blocks = Vec::new();
    for (i, line) in answer::answer(input).into_iter().enumerate() {
        match blocks.last_mut() {
            _ if i == 0 => blocks.push(Block::Lead(line)),
            _ if headings.contains(&line) => blocks.push(Block::Label(line)),
            Some(Block::List(items)) => items.push(line),
            _ => blocks.push(Block::List(vec![line])),
        }
    }
    blocks
}

/// Each scenario, the best on top; columns in which nothing stands are left out.
fn scenarios(part: &Part, view: &View) -> Table {
    let scale = Scale::of_part(part);
    let claim = |row: &Row| part.claim_of(&row.label);
    let any_is_bound = part.rows.iter().filter_map(|row| row.ceiling.as_ref()).any(|ceiling| ceiling.by.is_some());
    let any_is_cut = part.rows.iter().any(|row| row.power_cut.is_some());
    let against = part.baseline.as_deref().map_or_else(String::new, |label| format!("vs {}", short_label(part, label)));
    let ratio = |row: &Row| match claim(row) {
        Some(claim) => {
            let ends = ratio_ends((claim.low, claim.high), ratio_precise).join(", ");
            format!("{} [{ends}]", ratio_precise(claim.ratio))
        }
        None if row.baseline => "1".into(),
        None => String::new(),
    };
    let verdict = |row: &Row| match claim(row) {
        Some(claim) => claims::verdict_words(claim, part),
        None if row.baseline => "baseline".into(),
        None => String::new(),
    };
    let by_settings = |row: &Row| if any_is_cut { power_cut(row) } else { String::new() };
    let per_commit = |row: &Row| row.flushing.as_ref().map(|flushing| figure(flushing.per_commit()));
    let bound_by = |row: &Row| row.ceiling.as_ref().filter(|_| any_is_bound).map(ceilings::cell);
    let interval = |row: &Row| row.centre.and_then(|centre| scale.interval(&centre));
    let dropped = |row: &Row| row.dropped_after().map(|rounds| format!("after round {rounds}"));
    let stalled = |row: &Row| row.stalls.map(|stalls| format!("{} of {} runs", stalls.runs, stalls.of));
    let mean = |row: &Row| row.centre.map(|centre| mean(row, centre, part));
    let cell = |text: Option<String>| word_cell(&text.unwrap_or_default());
    let ranked: Vec<(usize, &Row)> = (1..).zip(&part.rows).collect();
    let table = Columns::of("scenarios", &ranked)
        .shown("", |(rank, row)| row.centre.map_or_else(String::new, |_| rank.to_string()))
        .column(Column { fit: Fit::Labels, ..word_head("scenario") }, |(_, row)| {
            word_cell(short_label(part, &row.label))
        })
        .shown(&format!("mean{}", scale.after_name()), |(_, row)| mean(row).unwrap_or_default())
        .column(interval_head(view.confidence), |(_, row)| cell(interval(row)))
        .words(errors::HEAD, |(_, row)| errors::cell(row))
        .column(Column { fit: Fit::CutHead(AGAINST_MIN), ..head(&against) }, |(_, row)| word_cell(&ratio(row)))
        .words("verdict", |(_, row)| verdict(row))
        .words("after a power cut", |(_, row)| after_a_power_cut(row))
        .words("on a failing disk", |(_, row)| row.faults.as_ref().map_or_else(String::new, faults::cell))
        // What explains or was only promised gives way to what was measured.
        .column(Column { fit: Fit::Optional(1), ..word_head("by settings") }, |(_, row)| word_cell(&by_settings(row)))
        .column(Column { fit: Fit::Optional(0), ..head("flushes/commit") }, |(_, row)| cell(per_commit(row)))
        .column(Column { fit: Fit::Optional(2), ..word_head("bound by") }, |(_, row)| cell(bound_by(row)))
        .shown("confirmed", |(_, row)| row.confirmed.map_or_else(String::new, |centre| scale.number(centre.mean)))
        .words("dropped", |(_, row)| dropped(row).unwrap_or_default())
        .shown("rounds", |(_, row)| row.centre.map_or(0, |centre| centre.count).to_string())
        .shown("stalled", |(_, row)| stalled(row).unwrap_or_default())
        .shown("failed", |(_, row)| if row.failed > 0 { row.failed.to_string() } else { String::new() });
    table.table().without_empty_columns()
}

/// A scenario's mean, with the mark of a lower bound.
pub fn mean(row: &Row, centre: Centre, part: &Part) -> String {
    let mark = match (row.is_lower_bound(), part.more_is_better) {
        (true, true) => "≥ ",
        (true, false) => "≤ ",
        (false, _) => "",
    };
    format!("{mark}{}", Scale::of_part(part).number(centre.mean))
}

/// What a power cut was measured to take, else what the settings promise.
fn after_a_power_cut(row: &Row) -> String {
    row.power_cut.as_ref().map_or_else(|| power_cut(row), safety::cell)
}

/// What the settings promise, and whether the device got what that takes.
pub fn power_cut(row: &Row) -> String {
    let by_settings = if row.is_durability_unknown { "not known" } else { durability_mark(row.durability) };
    match (row.breaks_promise(), row.does_not_flush()) {
        (true, _) => MARK.into(),
        (false, true) => format!("{by_settings}, {MARK}"),
        (false, false) => by_settings.into(),
    }
}

/// A label without its workload, which the table's heading has.
pub fn short_label<'a>(part: &Part, label: &'a str) -> &'a str {
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
